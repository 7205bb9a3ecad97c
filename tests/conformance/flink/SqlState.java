import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Savepoints of Flink SQL's own aggregations, stopped somewhere in a sequence: argument DIR. See tests/e2e/flink_sql_state.py. */
public class SqlState {
    static final String SOURCE = "CREATE TABLE source (id BIGINT, k AS MOD(id, 97), t AS CAST(MOD(id, 5) AS STRING), v AS CAST(MOD(id, 1000) - 500 AS INT), "
            + "d AS CAST(MOD(id, 777) AS DECIMAL(10, 2)) / 4, x AS CAST(MOD(id, 64) AS DOUBLE) / 8, n AS CASE WHEN MOD(id, 97) < 10 THEN NULL ELSE MOD(id, 31) END, "
            + "ts AS TIMESTAMPADD(SECOND, CAST(id AS INT), TIMESTAMP '2026-01-01 00:00:00.000'), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ("
            + "'connector' = 'datagen', 'rows-per-second' = '1000', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '9000')";
    static final String TOTALS = "SELECT k, t, COUNT(*), COUNT(n), SUM(v), SUM(CAST(d AS DECIMAL(12, 2))), SUM(x), SUM(n), AVG(v), AVG(x), MIN(v), MAX(x), MAX(t), MIN(ts) FROM source GROUP BY k, t";
    static final String DISTINCT = "SELECT k, COUNT(DISTINCT n), COUNT(*) FROM source GROUP BY k";
    static final String AGAIN = "SELECT t, SUM(c), COUNT(*), SUM(s) FROM (SELECT k, t, COUNT(*) AS c, SUM(v) AS s FROM source GROUP BY k, t) GROUP BY t";
    static final String TUMBLE = "SELECT k, window_end, COUNT(*), SUM(v), MAX(x) FROM TABLE(TUMBLE(TABLE source, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY k, window_start, window_end";

    static final String LEAST = "SELECT k, MIN(v), MAX(v) FROM source GROUP BY k";

    static void run(String name, String query, String ttl, SavepointFormatType form, Path out) throws Exception {
        Configuration c = new Configuration();
        c.setString("state.backend.type", "rocksdb");
        c.setString("parallelism.default", "2");
        c.setString("pipeline.max-parallelism", "128");
        c.setString("table.exec.state.ttl", ttl);
        c.setString("table.optimizer.agg-phase-strategy", "ONE_PHASE");
        c.setString("execution.checkpointing.data-inline-threshold", "200kb");
        StreamTableEnvironment t = StreamTableEnvironment.create(StreamExecutionEnvironment.getExecutionEnvironment(c));
        t.executeSql(SOURCE.replace("'connector' = 'datagen',", "'connector' = 'datagen', 'scan.parallelism' = '1',"));
        TableResult result = t.executeSql("CREATE TABLE gone WITH ('connector' = 'blackhole') AS " + query);
        JobClient job = result.getJobClient().get();
        Thread.sleep(5_500);
        System.out.println(name + " " + job.stopWithSavepoint(false, out.resolve(name).toUri().toString(), form).get());
    }

    public static void main(String[] args) throws Exception {
        Path out = Path.of(args[0]).toAbsolutePath();
        run("totals", TOTALS, "0 ms", SavepointFormatType.CANONICAL, out);
        run("totals-native", TOTALS, "0 ms", SavepointFormatType.NATIVE, out);
        run("totals-ttl", TOTALS, "36500 d", SavepointFormatType.CANONICAL, out);
        run("distinct", DISTINCT, "0 ms", SavepointFormatType.CANONICAL, out);
        run("again", AGAIN, "0 ms", SavepointFormatType.CANONICAL, out);
        run("tumble", TUMBLE, "0 ms", SavepointFormatType.CANONICAL, out);
        run("least", LEAST, "0 ms", SavepointFormatType.CANONICAL, out);
        System.exit(0); // the embedded cluster's threads
    }
}
