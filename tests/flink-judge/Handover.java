import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.util.Collector;

/**
 * The half of scripts/handover that runs in Flink: COUNT(*), SUM(id), SUM(id * id) for each key, as a DataStream job that keeps them where varve's
 * GROUP BY keeps them. Driven by lines on stdin, each answered by one line:
 *     leg FILE KEYS BACKEND PARALLELISM FORM DIR RESTORE UID   goes on from RESTORE with the numbers in FILE, one a line, takes a snapshot: SNAPSHOT path
 * FORM: as of Judge. What goes wrong: FAILED reason.
 */
public final class Handover {
    /** Of COUNT: how many. Of each SUM: low and high 64 bits, how many. */
    static final LogicalType[] TOTALS = {new BigIntType(), new BigIntType(), new BigIntType(), new BigIntType(), new BigIntType(), new BigIntType(), new BigIntType()};
    static final AtomicInteger finished = new AtomicInteger(); // subtasks of the source that have sent all of theirs

    private Handover() {}

    /** Its share of the lines of the file, then nothing until the job is cancelled. */
    static final class Lines extends RichParallelSourceFunction<Long> {
        private final String file;
        private volatile boolean running = true;

        Lines(String file) {
            this.file = file;
        }

        @Override
        public void run(SourceContext<Long> out) throws Exception {
            int mine = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(), of = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
            try (BufferedReader in = Files.newBufferedReader(Path.of(file))) {
                int n = 0;
                for (String line = in.readLine(); line != null && running; line = in.readLine()) {
                    if (n++ % of != mine) continue;
                    synchronized (out.getCheckpointLock()) {
                        out.collect(Long.parseLong(line));
                    }
                }
            }
            finished.incrementAndGet();
            while (running) Thread.sleep(20);
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    static final class Totals extends KeyedProcessFunction<RowData, Long, Long> {
        private ValueState<RowData> totals;

        @Override
        public void open(OpenContext c) {
            totals = getRuntimeContext().getState(new ValueStateDescriptor<>("accState", InternalTypeInfo.ofFields(TOTALS)));
        }

        /** Adds to the sum that begins at field `at`. */
        private static void add(RowData from, GenericRowData to, int at, long v) {
            long low = from == null ? 0 : from.getLong(at), high = from == null ? 0 : from.getLong(at + 1);
            long sum = low + v;
            boolean carry = Long.compareUnsigned(sum, low) < 0;

            to.setField(at, sum);
            to.setField(at + 1, high + (v < 0 ? -1 : 0) + (carry ? 1 : 0));
            to.setField(at + 2, (from == null ? 0 : from.getLong(at + 2)) + 1);
        }

        @Override
        public void processElement(Long id, Context ctx, Collector<Long> out) throws Exception {
            RowData old = totals.value();
            GenericRowData row = new GenericRowData(TOTALS.length);

            row.setField(0, (old == null ? 0 : old.getLong(0)) + 1);
            add(old, row, 1, id);
            add(old, row, 4, id * id);
            totals.update(row);
        }
    }

    static void leg(MiniCluster mc, String[] a) throws Exception {
        int parallelism = Integer.parseInt(a[4]);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(Judge.config(a[3], a[5], a[6]));
        env.setParallelism(parallelism);
        env.setMaxParallelism(128);
        env.addSource(new Lines(a[1]), "numbers", Types.LONG).uid("numbers")
                .keyBy(new VarveTotals.ToKey(Integer.parseInt(a[2])), InternalTypeInfo.ofFields(VarveTotals.KEY)).process(new Totals()).returns(Types.LONG).uid(a[8])
                .sinkTo(new DiscardingSink<>()).uid("sink");
        JobGraph graph = env.getStreamGraph().getJobGraph();
        graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(a[7], true)); // varve's positions in its files are nobody's here
        finished.set(0);
        JobID id = mc.submitJob(graph).get(60, TimeUnit.SECONDS).getJobID();
        Judge.await(mc, id, () -> Judge.isRunning(mc, id));
        if (a[5].equals("files")) Judge.snapshot(mc, id, a[5], a[6]); // the next one shares files with it
        Judge.await(mc, id, () -> finished.get() == parallelism);
        Judge.answer(mc, id, a[5], a[6]);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (MiniCluster mc = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(Judge.cluster()).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build())) {
            mc.start();
            System.out.println("READY");
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                try {
                    leg(mc, line.split(" "));
                } catch (Throwable t) {
                    System.out.println("FAILED " + String.valueOf(t).replace('\n', ' '));
                }
            }
        }
        System.exit(0);
    }
}
