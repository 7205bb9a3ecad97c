import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.util.Collector;

/** Reads, with Flink's own classes, the totals that a GROUP BY of varve's kept: key (INT, STRING), value COUNT, SUM, MAX of BIGINT. */
final class VarveRows {
    static final LogicalType[] KEY = {new IntType(), new VarCharType(Integer.MAX_VALUE)};
    static final ConcurrentLinkedQueue<String> found = new ConcurrentLinkedQueue<>();
    static volatile int expected;

    private VarveRows() {}

    static final class Keys extends RichParallelSourceFunction<RowData> {
        private final int count;
        private volatile boolean running = true;

        Keys(int count) {
            this.count = count;
        }

        @Override
        public void run(SourceContext<RowData> out) throws Exception {
            for (int k = 0; k < count; k++) out.collect(GenericRowData.of(k, StringData.fromString("name of " + k)));
            while (running) Thread.sleep(20);
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    static final class ToKey implements KeySelector<RowData, RowData>, org.apache.flink.api.java.typeutils.ResultTypeQueryable<RowData> {
        private transient RowDataSerializer serializer;

        @Override
        public RowData getKey(RowData row) {
            if (serializer == null) serializer = new RowDataSerializer(KEY);
            return serializer.toBinaryRow(row).copy();
        }

        @Override
        public InternalTypeInfo<RowData> getProducedType() {
            return InternalTypeInfo.ofFields(KEY);
        }
    }

    static final class Read extends KeyedProcessFunction<RowData, RowData, Long> {
        private final LogicalType[] types;
        private ValueState<RowData> totals;

        Read(LogicalType[] types) {
            this.types = types;
        }

        @Override
        public void open(OpenContext c) {
            totals = getRuntimeContext().getState(new ValueStateDescriptor<>("accState", InternalTypeInfo.ofFields(types)));
        }

        @Override
        public void processElement(RowData e, Context ctx, Collector<Long> out) throws Exception {
            StringBuilder line = new StringBuilder("ROW " + e.getInt(0));
            RowData row = totals.value();
            for (int i = 0; row != null && i < types.length; i++) line.append(' ').append(row.isNullAt(i) ? "null" : row.getLong(i));
            found.add(line.toString());
        }
    }

    static void build(StreamExecutionEnvironment env, String uid, int keys, int fields, int parallelism) {
        List<LogicalType> types = new ArrayList<>();
        for (int i = 0; i < fields; i++) types.add(new BigIntType());
        found.clear();
        expected = keys;
        env.setParallelism(parallelism);
        env.addSource(new Keys(keys), "keys", InternalTypeInfo.ofFields(KEY)).setParallelism(1).uid("keys")
                .keyBy(new ToKey(), InternalTypeInfo.ofFields(KEY)).process(new Read(types.toArray(new LogicalType[0]))).uid(uid)
                .sinkTo(new DiscardingSink<>()).uid("sink");
    }
}
