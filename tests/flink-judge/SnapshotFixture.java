import java.io.ByteArrayOutputStream;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.TtlStateFactory;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.apache.flink.table.runtime.typeutils.InternalSerializers;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.*;

/** Prints what Flink writes of the serializers that flink_sql_type.c has: a type, a tab, the versioned snapshot in hex. Made with Flink 2.3.0. */
public class SnapshotFixture {
    static final LogicalType[] TYPES = {new BooleanType(), new TinyIntType(), new SmallIntType(), new IntType(), new BigIntType(), new FloatType(),
        new DoubleType(), new DecimalType(10, 2), new DecimalType(38, 18), new CharType(3), new VarCharType(VarCharType.MAX_LENGTH), new VarCharType(7),
        new BinaryType(3), new VarBinaryType(VarBinaryType.MAX_LENGTH), new VarBinaryType(9), new DateType(), new TimeType(0), new TimestampType(6),
        new TimestampType(3), new LocalZonedTimestampType(3), new BigIntType(false), new TimestampType(false, 9)};

    static void print(String name, TypeSerializer<?> serializer) throws Exception {
        ByteArrayOutputStream b = new ByteArrayOutputStream();
        TypeSerializerSnapshot.writeVersionedSnapshot(new DataOutputViewStreamWrapper(b), serializer.snapshotConfiguration());
        StringBuilder s = new StringBuilder(name).append('\t');
        for (byte x : b.toByteArray()) s.append(String.format("%02x", x));
        System.out.println(s);
    }

    /** As varve prints it. */
    static String name(LogicalType t) {
        return t.asSummaryString().replace("VARCHAR(2147483647)", "STRING").replace("VARBINARY(2147483647)", "BYTES");
    }

    public static void main(String[] args) throws Exception {
        StringBuilder row = new StringBuilder("ROW<");
        for (int i = 0; i < TYPES.length; i++) {
            print(name(TYPES[i]), InternalSerializers.create(TYPES[i]));
            row.append(i == 0 ? "" : ", ").append("`f").append(i).append("` ").append(name(TYPES[i]));
        }
        print(row.append(">").toString(), new RowDataSerializer(TYPES));
        print("ROW<>", new RowDataSerializer(new LogicalType[0]));
        print("VOID", VoidNamespaceSerializer.INSTANCE);
        print("bytes", BytePrimitiveArraySerializer.INSTANCE);
        print("list of BIGINT", new ListSerializer<>(LongSerializer.INSTANCE));
        print("map of INT, BIGINT", new MapSerializer<>(InternalSerializers.create(new IntType()), LongSerializer.INSTANCE));
        print("ttl of BIGINT", new TtlStateFactory.TtlSerializer<>(LongSerializer.INSTANCE, LongSerializer.INSTANCE));
        print("timer of BIGINT, VOID", new TimerSerializer<>(LongSerializer.INSTANCE, VoidNamespaceSerializer.INSTANCE));
    }
}
