import java.time.Duration;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.util.Collector;

/**
 * Goes on with the totals of a varve job and keeps them as varve does:
 * SELECT MOD(id, KEYS), COUNT(*), SUM(id), MAX(CAST(id AS STRING)), COUNT(DISTINCT MOD(id, 13)) ... GROUP BY MOD(id, KEYS).
 */
final class VarveTotals {
    static final LogicalType[] KEY = {new IntType()};
    static volatile long allowed; // ids below it may be emitted
    static volatile long emitted; // ids below it have been

    private VarveTotals() {}

    static final class Ids extends RichParallelSourceFunction<Long> {
        private final long from;
        private final long to;
        private volatile boolean running = true;

        Ids(long from, long to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public void run(SourceContext<Long> out) throws Exception {
            long next = from;
            while (running) {
                synchronized (out.getCheckpointLock()) {
                    for (; next < Math.min(allowed, to); next++) out.collect(next);
                    emitted = next;
                }
                Thread.sleep(5);
            }
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    static final class ToKey implements KeySelector<Long, RowData>, ResultTypeQueryable<RowData> {
        private final int keys;
        private transient RowDataSerializer serializer;

        ToKey(int keys) {
            this.keys = keys;
        }

        @Override
        public RowData getKey(Long id) {
            if (serializer == null) serializer = new RowDataSerializer(KEY);
            return serializer.toBinaryRow(GenericRowData.of((int) (id % keys))).copy();
        }

        @Override
        public InternalTypeInfo<RowData> getProducedType() {
            return InternalTypeInfo.ofFields(KEY);
        }
    }

    static final class Add extends KeyedProcessFunction<RowData, Long, Long> {
        private final boolean expires;
        private ValueState<RowData> totals;
        private ValueState<StringData> most;
        private MapState<Integer, Long> distinct;

        Add(boolean expires) {
            this.expires = expires;
        }

        private <D extends StateDescriptor<?, ?>> D described(D d) {
            if (expires) d.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(10000)).build());
            return d;
        }

        @Override
        public void open(OpenContext c) {
            LogicalType n = new BigIntType();
            totals = getRuntimeContext().getState(described(new ValueStateDescriptor<>("accState", InternalTypeInfo.ofFields(n, n, n, n, n))));
            most = getRuntimeContext().getState(described(new ValueStateDescriptor<StringData>("acc_MAX(CAST(id AS STRING))",
                    InternalTypeInfo.of(new VarCharType(VarCharType.MAX_LENGTH)))));
            distinct = getRuntimeContext().getMapState(described(new MapStateDescriptor<>("distinctAcc_COUNT(DISTINCT CAST(id % 13 AS INT))",
                    Types.INT, Types.LONG)));
        }

        @Override
        public void processElement(Long id, Context ctx, Collector<Long> out) throws Exception {
            RowData row = totals.value();
            Long seen = distinct.get((int) (id % 13));
            long kinds = (row == null ? 0 : row.getLong(4)) + (seen == null ? 1 : 0);
            distinct.put((int) (id % 13), seen == null ? 1 : seen + 1);
            totals.update(GenericRowData.of((row == null ? 0 : row.getLong(0)) + 1, (row == null ? 0 : row.getLong(1)) + id, 0L,
                    (row == null ? 0 : row.getLong(3)) + 1, kinds));
            StringData text = StringData.fromString(Long.toString(id));
            if (most.value() == null || most.value().compareTo(text) < 0) most.update(text);
        }
    }

    static void build(StreamExecutionEnvironment env, String uid, int keys, long from, long to, boolean expires, int parallelism, int maxParallelism) {
        env.setParallelism(parallelism);
        env.setMaxParallelism(maxParallelism);
        allowed = emitted = from;
        env.addSource(new Ids(from, to), "ids", Types.LONG).setParallelism(1).uid("ids")
                .keyBy(new ToKey(keys), InternalTypeInfo.ofFields(KEY)).process(new Add(expires)).returns(Types.LONG).uid(uid)
                .sinkTo(new DiscardingSink<>()).uid("sink");
    }
}
