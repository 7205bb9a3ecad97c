import java.io.DataInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Runs SQL jobs in Flink and keeps the RocksDB databases of their native savepoints: arguments WORK GOLDEN. */
public class SqlFixture {
    /** Keys of every kind of slot of a binary row, each a function of MOD(id, 500). */
    static final String SOURCE = "CREATE TABLE source (id BIGINT, k AS MOD(id, 500), "
            + "ts AS TIMESTAMPADD(SECOND, CAST(MOD(id, 3600) AS INT), TIMESTAMP '2026-01-01 00:00:00.000'), "
            + "WATERMARK FOR ts AS ts - INTERVAL '1' DAY) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', "
            + "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '200000')";
    static final String GROUP_BY = "SELECT b, i, s, l, d, w, t, f, u, y, COUNT(*), SUM(id), MIN(id), MAX(id) FROM (SELECT id, k AS b, "
            + "CASE WHEN MOD(k, 3) = 0 THEN CAST(NULL AS INT) ELSE CAST(k - 250 AS INT) END AS i, "
            + "CASE WHEN MOD(k, 7) = 0 THEN CAST(NULL AS STRING) ELSE CAST(k AS STRING) END AS s, "
            + "'a longer name, ' || CAST(k * k AS STRING) AS l, CAST(k AS DECIMAL(18, 2)) AS d, CAST(k - 100 AS DECIMAL(30, 4)) AS w, "
            + "CAST(TIMESTAMPADD(SECOND, CAST(k AS INT), TIMESTAMP '1999-12-31 23:59:59.123456') AS TIMESTAMP(6)) AS t, "
            + "CAST(k AS DOUBLE) / 8 AS f, MOD(k, 2) = 1 AS u, CAST(MOD(k, 100) AS TINYINT) AS y FROM source) "
            + "GROUP BY b, i, s, l, d, w, t, f, u, y";
    static final String TUMBLE = "SELECT k, window_end, COUNT(*), SUM(id) FROM TABLE(TUMBLE(TABLE source, DESCRIPTOR(ts), "
            + "INTERVAL '10' MINUTE)) GROUP BY k, window_start, window_end";

    static void run(String query, Path work, Path golden) throws Exception {
        Configuration c = new Configuration();
        c.setString("state.backend.type", "rocksdb");
        c.setString("parallelism.default", "1");
        c.setString("execution.checkpointing.data-inline-threshold", "0b");
        c.setString("table.optimizer.agg-phase-strategy", "ONE_PHASE");
        StreamTableEnvironment t = StreamTableEnvironment.create(StreamExecutionEnvironment.getExecutionEnvironment(c));
        t.executeSql(SOURCE);
        TableResult result = t.executeSql("CREATE TABLE gone WITH ('connector' = 'blackhole') AS " + query);
        JobClient job = result.getJobClient().get();
        Thread.sleep(15_000);
        String savepoint = job.stopWithSavepoint(false, work.toUri().toString(), SavepointFormatType.NATIVE).get();
        keep(Path.of(java.net.URI.create(savepoint)), golden);
    }

    static void keep(Path savepoint, Path golden) throws Exception {
        CheckpointMetadata metadata;
        try (DataInputStream in = new DataInputStream(Files.newInputStream(savepoint.resolve("_metadata")))) {
            metadata = Checkpoints.loadCheckpointMetadata(in, SqlFixture.class.getClassLoader(), savepoint.toUri().toString());
        }
        int kept = 0;
        for (OperatorState operator : metadata.getOperatorStates()) {
            for (OperatorSubtaskState subtask : operator.getStates()) {
                for (KeyedStateHandle handle : subtask.getManagedKeyedState()) {
                    IncrementalRemoteKeyedStateHandle h = (IncrementalRemoteKeyedStateHandle) handle;
                    Files.createDirectories(golden);
                    for (HandleAndLocalPath f : h.getSharedState()) {
                        copy(f, golden);
                    }
                    for (HandleAndLocalPath f : h.getPrivateState()) {
                        copy(f, golden);
                    }
                    kept++;
                }
            }
        }
        if (kept != 1) {
            throw new IllegalStateException(kept + " keyed states, one was expected");
        }
    }

    static void copy(HandleAndLocalPath f, Path to) throws Exception {
        if (f.getLocalPath().startsWith("OPTIONS")) {
            return; // not needed to open the database
        }
        try (InputStream in = f.getHandle().openInputStream()) {
            Files.copy(in, to.resolve(f.getLocalPath()), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    public static void main(String[] args) throws Exception {
        Path work = Path.of(args[0]).toAbsolutePath(), golden = Path.of(args[1]).toAbsolutePath();
        String[][] jobs = {{"flink-2.3.0-group-by", GROUP_BY}, {"flink-2.3.0-tumble", TUMBLE}};
        for (String[] job : jobs) {
            run(job[1], work.resolve(job[0]), golden.resolve(job[0]));
        }
        System.exit(0); // the embedded cluster's threads
    }
}
