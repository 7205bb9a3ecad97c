import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.time.Duration;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.util.Collector;

/** A job with state of every kind, one round of input at a time. What it holds after R rounds are formulas of R: scripts/check-flink has them. */
final class Rounds {
    static final int KEYS = 300;
    static final int RULES = 5;
    static final long BASE = 1_700_000_000_000L; // event time of key 0
    static final AtomicInteger emitted = new AtomicInteger(); // sources that have emitted their round; one job at a time in this JVM

    private Rounds() {}

    /** (k, r) for every key of the round, then nothing until the job is cancelled. */
    static final class Source extends RichParallelSourceFunction<Tuple2<Integer, Integer>> implements CheckpointedFunction {
        private final int round;
        private final int count;
        private volatile boolean running = true;
        private final List<Long> mine = new ArrayList<>();
        private final List<Long> all = new ArrayList<>();
        private transient ListState<Long> list;
        private transient ListState<Long> union;

        Source(int round, int count) {
            this.round = round;
            this.count = count;
        }

        @Override
        public void run(SourceContext<Tuple2<Integer, Integer>> out) throws Exception {
            int s = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            int of = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
            synchronized (out.getCheckpointLock()) {
                for (int k = s; k < count; k += of) {
                    out.collectWithTimestamp(Tuple2.of(k, round), BASE + k * 60_000L);
                }
                mine.add(round * 100L + s);
                all.add(-(round * 100L + s));
                emitted.incrementAndGet();
            }
            while (running) Thread.sleep(20);
        }

        @Override
        public void cancel() {
            running = false;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext c) throws Exception {
            list.update(mine);
            union.update(all);
        }

        @Override
        public void initializeState(FunctionInitializationContext c) throws Exception {
            list = c.getOperatorStateStore().getListState(new ListStateDescriptor<>("list", Types.LONG));
            union = c.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("union", Types.LONG));
            list.get().forEach(mine::add);
            if (getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 0) union.get().forEach(all::add); // all of them come to everybody
        }
    }

    static final class Mean implements AggregateFunction<Long, Tuple2<Long, Long>, Double> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(Long v, Tuple2<Long, Long> a) {
            return Tuple2.of(a.f0 + v, a.f1 + 1);
        }

        @Override
        public Double getResult(Tuple2<Long, Long> a) {
            return (double) a.f0 / a.f1;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> a, Tuple2<Long, Long> b) {
            return Tuple2.of(a.f0 + b.f0, a.f1 + b.f1);
        }
    }

    static final class Keyed extends KeyedProcessFunction<String, Tuple2<Integer, Integer>, Long> {
        private ValueState<Long> value;
        private ListState<Long> list;
        private MapState<String, Long> map;
        private ReducingState<Long> reducing;
        private AggregatingState<Long, Double> mean;
        private ValueState<Long> ttl;

        @Override
        public void open(OpenContext c) {
            ValueStateDescriptor<Long> expiring = new ValueStateDescriptor<>("ttl", Types.LONG);
            expiring.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(10000)).build());
            value = getRuntimeContext().getState(new ValueStateDescriptor<>("value", Types.LONG));
            list = getRuntimeContext().getListState(new ListStateDescriptor<>("list", Types.LONG));
            map = getRuntimeContext().getMapState(new MapStateDescriptor<>("map", Types.STRING, Types.LONG));
            reducing = getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("reducing", (ReduceFunction<Long>) Long::sum, Types.LONG));
            mean = getRuntimeContext().getAggregatingState(new AggregatingStateDescriptor<>("mean", new Mean(), Types.TUPLE(Types.LONG, Types.LONG)));
            ttl = getRuntimeContext().getState(expiring);
        }

        @Override
        public void processElement(Tuple2<Integer, Integer> e, Context ctx, Collector<Long> out) throws Exception {
            long k = e.f0, r = e.f1;
            value.update(k * 1000 + r);
            list.add(k + r);
            map.put("m" + r, k * r);
            map.put("last", r);
            reducing.add(k + r);
            mean.add(k * r);
            ttl.update(k - r);
            ctx.timerService().registerEventTimeTimer(4_000_000_000_000L + k + r * 1_000_000);
            if (k % 3 == 0) ctx.timerService().registerProcessingTimeTimer(5_000_000_000_000L + k);
        }
    }

    static final class Sum implements AggregateFunction<Tuple2<Integer, Integer>, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Tuple2<Integer, Integer> e, Long a) {
            return a + e.f0;
        }

        @Override
        public Long getResult(Long a) {
            return a;
        }

        @Override
        public Long merge(Long a, Long b) {
            return a + b;
        }
    }

    static final MapStateDescriptor<String, Long> RULES_STATE = new MapStateDescriptor<>("rules", Types.STRING, Types.LONG);

    static final class Rules extends BroadcastProcessFunction<Tuple2<Integer, Integer>, Tuple2<Integer, Integer>, Long> {
        @Override
        public void processElement(Tuple2<Integer, Integer> e, ReadOnlyContext ctx, Collector<Long> out) {}

        @Override
        public void processBroadcastElement(Tuple2<Integer, Integer> e, Context ctx, Collector<Long> out) throws Exception {
            ctx.getBroadcastState(RULES_STATE).put("rule" + e.f0, e.f0 * 100L + e.f1);
        }
    }

    /** How many source subtasks there are, each of which emits once. */
    static int build(StreamExecutionEnvironment env, int round, int parallelism, int maxParallelism) {
        env.setParallelism(parallelism);
        env.setMaxParallelism(maxParallelism);
        DataStream<Tuple2<Integer, Integer>> in =
                env.addSource(new Source(round, KEYS), "source", Types.TUPLE(Types.INT, Types.INT)).uid("source");
        DataStream<Tuple2<Integer, Integer>> rules =
                env.addSource(new Source(round, RULES), "rules-source", Types.TUPLE(Types.INT, Types.INT)).setParallelism(1).uid("rules-source");
        in.keyBy(e -> "k" + e.f0, Types.STRING).process(new Keyed()).returns(Types.LONG).uid("keyed").sinkTo(new DiscardingSink<>()).uid("sink-1");
        in.keyBy(e -> "w" + e.f0 % 10, Types.STRING).window(TumblingEventTimeWindows.of(Duration.ofHours(1))).aggregate(new Sum()).uid("window")
                .sinkTo(new DiscardingSink<>()).uid("sink-2");
        in.connect(rules.broadcast(RULES_STATE)).process(new Rules()).returns(Types.LONG).uid("broadcast").sinkTo(new DiscardingSink<>()).uid("sink-3");
        return parallelism + 1;
    }
}
