import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/**
 * Flink's own RocksDB and key classes judge databases that varve wrote.
 *
 * <p>{@code compare EXPECTED ROOT}: every "directory family entries digest" of the file EXPECTED holds below ROOT.
 * {@code keys DIR GROUPS FIRST LAST SHAPES}: each entry of a SQL state lies in FIRST..LAST under the key group that Flink computes for
 * its key, key and value being whole binary rows, the value once it is unpacked; prints "family entries digest" of what is stored.
 */
public class JudgeRocks {
    /** As in entries.h. */
    static final class EntryDigest {
        long count = 0;
        long digest = 0xcbf29ce484222325L;

        private void part(byte[] bytes) {
            for (byte b : ByteBuffer.allocate(4 + bytes.length).putInt(bytes.length).put(bytes).array()) {
                digest = (digest ^ (b & 0xff)) * 0x100000001b3L;
            }
        }

        void add(byte[] key, byte[] value) {
            count++;
            part(key);
            part(value);
        }

        @Override
        public String toString() {
            return String.format("%d %016x", count, digest);
        }
    }

    interface EntryCheck {
        void entry(String family, byte[] key, byte[] value);
    }

    /** Opens read-only with all families, as Flink sets them, and reads everything. */
    static Map<String, EntryDigest> read(String dir, EntryCheck check) throws RocksDBException {
        Map<String, EntryDigest> found = new HashMap<>();
        List<ColumnFamilyDescriptor> families = new ArrayList<>();
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        try (Options options = new Options();
                DBOptions dbOptions = new DBOptions();
                ColumnFamilyOptions cfOptions = new ColumnFamilyOptions().setMergeOperatorName("stringappendtest")) {
            for (byte[] name : RocksDB.listColumnFamilies(options, dir)) {
                families.add(new ColumnFamilyDescriptor(name, cfOptions));
            }
            if (families.isEmpty()) { // unreadable: opening says why
                families.add(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, cfOptions));
            }
            try (RocksDB db = RocksDB.openReadOnly(dbOptions, dir, families, handles)) {
                for (int i = 0; i < handles.size(); i++) {
                    String family = new String(families.get(i).getName());
                    EntryDigest d = new EntryDigest();
                    try (RocksIterator it = db.newIterator(handles.get(i))) {
                        for (it.seekToFirst(); it.isValid(); it.next()) {
                            d.add(it.key(), it.value());
                            check.entry(family, it.key(), it.value());
                        }
                        it.status();
                    }
                    found.put(family, d);
                }
                handles.forEach(ColumnFamilyHandle::close);
            }
        }
        return found;
    }

    static boolean compare(Path expected, String root) throws Exception {
        Map<String, Map<String, String>> wanted = new java.util.LinkedHashMap<>();
        int refused = 0, differing = 0;
        for (String line : Files.readAllLines(expected)) {
            String[] f = line.split(" ");
            wanted.computeIfAbsent(f[0], k -> new HashMap<>()).put(f[1], f[2] + " " + f[3]);
        }
        for (Map.Entry<String, Map<String, String>> chk : wanted.entrySet()) {
            try {
                Map<String, EntryDigest> found = read(root + "/" + chk.getKey(), (family, key, value) -> {});
                for (Map.Entry<String, String> want : chk.getValue().entrySet()) {
                    String got = String.valueOf(found.get(want.getKey()));
                    if (!want.getValue().equals(got)) {
                        differing++;
                        System.out.printf("%s %s: %s instead of %s%n", chk.getKey(), want.getKey(), got, want.getValue());
                    }
                }
            } catch (RocksDBException e) {
                if (refused++ == 0) {
                    System.out.println("refused: " + chk.getKey() + ": " + e.getMessage());
                }
            }
        }
        System.out.printf("%d checkpoints: %d opened by Flink's library, %d refused, %d families differ%n",
                wanted.size(), wanted.size() - refused, refused, differing);
        return refused == 0 && differing == 0 && !wanted.isEmpty();
    }

    /** The bytes behind an i32 size, big-endian, as a row. */
    static BinaryRowData row(ByteBuffer from, String what) {
        int size = from.getInt();
        if (size < 16 || size % 8 != 0 || size > from.remaining()) {
            throw new IllegalStateException(what + ": a row of " + size + " bytes");
        }
        byte[] bytes = new byte[size];
        from.get(bytes);
        MemorySegment segment = MemorySegmentFactory.wrap(bytes);
        BinaryRowData row = new BinaryRowData(1); // the hash needs no fields
        row.pointTo(segment, 0, size);
        return row;
    }

    /** What unpack_checkpoint.py says of a state: the size of a value, and how much of it is never packed. */
    record Shape(int bytes, int head) {}

    static Map<String, Shape> shapes(String text) {
        Map<String, Shape> found = new HashMap<>();
        for (String one : text.equals("-") ? new String[0] : text.split(",")) {
            String[] f = one.split("[=:]");
            String name = new String(java.util.HexFormat.of().parseHex(f[0]), java.nio.charset.StandardCharsets.UTF_8);
            found.put(name, new Shape(Integer.parseInt(f[1]), Integer.parseInt(f[2])));
        }
        return found;
    }

    /** A packed value, by docs/FORMAT.md alone. */
    static byte[] unpack(Shape shape, byte[] stored) {
        if (shape == null || stored.length == shape.bytes) {
            return stored;
        }
        ByteBuffer out = ByteBuffer.allocate(shape.bytes + 8).order(java.nio.ByteOrder.BIG_ENDIAN);
        out.put(stored, 0, shape.head);
        int first = stored[shape.head] & 15;
        if ((first & 1) == 1) {
            out.putInt(shape.bytes - shape.head - 4);
        }
        int words = (shape.bytes - out.position() + 7) / 8;
        int at = shape.head + (words + 2) / 2;
        if (first >> 1 != words % 8) {
            throw new IllegalStateException("a packed value of " + (first >> 1) + " words instead of " + words);
        }
        out.order(java.nio.ByteOrder.LITTLE_ENDIAN);
        for (int i = 1; i <= words; i++) {
            int code = stored[shape.head + i / 2] >> (i % 2 * 4) & 15;
            int bytes = code <= 8 ? code : code <= 11 ? code - 7 : code - 11;
            long word = 0;
            for (int b = 0; b < bytes; b++) {
                word |= (stored[at++] & 0xFFL) << (8 * b);
            }
            word = code <= 8 ? word : code <= 11 ? word << (64 - 8 * bytes) : word | -1L << (8 * bytes);
            out.putLong(word);
        }
        if (at != stored.length) {
            throw new IllegalStateException("a packed value of " + stored.length + " bytes instead of " + at);
        }
        return Arrays.copyOf(out.array(), shape.bytes);
    }

    static void checkEntry(String family, byte[] key, byte[] value, int groups, int first, int last) {
        ByteBuffer k = ByteBuffer.wrap(key);
        ByteBuffer v = ByteBuffer.wrap(value);
        int prefix = groups <= 128 ? k.get() & 0xff : k.getShort() & 0xffff;
        int group = KeyGroupRangeAssignment.assignToKeyGroup(row(k, "key"), groups);
        if (group != prefix || prefix < first || prefix > last) {
            throw new IllegalStateException(family + ": key group " + prefix + ", Flink says " + group + "; range " + first
                    + ".." + last + "; key " + Arrays.toString(key));
        }
        if (!(k.remaining() == 1 && k.get() == 0) && k.remaining() != 8) { // VoidNamespace or a window's end
            throw new IllegalStateException(family + ": " + k.remaining() + " bytes of namespace");
        }
        row(v, "value");
        if (v.hasRemaining()) {
            throw new IllegalStateException(family + ": " + v.remaining() + " bytes behind the value");
        }
    }

    public static void main(String[] args) throws Exception {
        RocksDB.loadLibrary();
        if (args.length == 3 && args[0].equals("compare")) {
            System.exit(compare(Path.of(args[1]), args[2]) ? 0 : 1);
        } else if (args.length == 6 && args[0].equals("keys")) {
            int groups = Integer.parseInt(args[2]), first = Integer.parseInt(args[3]), last = Integer.parseInt(args[4]);
            Map<String, Shape> shapes = shapes(args[5]);
            Map<String, EntryDigest> found = read(args[1],
                    (family, key, value) -> checkEntry(family, key, unpack(shapes.get(family), value), groups, first, last));
            found.remove("default");
            found.forEach((family, d) -> System.out.println(family + " " + d));
        } else {
            System.err.println("usage: JudgeRocks compare EXPECTED ROOT | keys DIR GROUPS FIRST LAST SHAPES");
            System.exit(2);
        }
    }
}
