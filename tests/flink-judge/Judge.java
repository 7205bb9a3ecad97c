import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Real Flink in one JVM, driven by lines on stdin, each answered by one line:
 *     round R BACKEND PARALLELISM FORM DIR RESTORE MAX   with a max parallelism runs round R of Rounds from RESTORE (or -), takes a snapshot: SNAPSHOT path
 *     rows UID KEYS FIELDS BACKEND PARALLELISM RESTORE   reads totals of varve's: lines ROW key value..., then DONE
 *     totals UID KEYS FROM TO BACKEND PARALLELISM FORM DIR RESTORE TTL   takes ids into totals of varve's, with a snapshot: SNAPSHOT path
 * FORM: canonical, native: savepoints; else a checkpoint: checkpoint (incremental where the backend can), heap-timers, and, in files of their own however
 * small, files, full, merged, merged-across; changelog; with "-compressed" streams are. What goes wrong: FAILED reason.
 */
public final class Judge {
    static final long PATIENCE_MS = 120_000;

    static Configuration config(String backend, String form, String dir) {
        Configuration c = new Configuration();
        c.setString("state.backend.type", backend);
        c.setString("execution.checkpointing.interval", "1000 d");
        c.setString("execution.checkpointing.incremental", "true");
        c.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        if (dir != null) c.setString("execution.checkpointing.dir", Path.of(dir).toUri().toString());
        if (form.equals("heap-timers")) c.setString("state.backend.rocksdb.timer-service.factory", "HEAP");
        if (form.startsWith("full")) c.setString("execution.checkpointing.incremental", "false");
        if (form.startsWith("full") || form.startsWith("files") || form.startsWith("merged")) c.setString("execution.checkpointing.data-inline-threshold", "0 b");
        if (form.startsWith("merged")) c.setString("execution.checkpointing.file-merging.enabled", "true");
        if (form.startsWith("merged-across")) c.setString("execution.checkpointing.file-merging.across-checkpoint-boundary", "true");
        if (form.startsWith("changelog")) {
            c.setString("state.changelog.enabled", "true");
            c.setString("state.changelog.dstl.dfs.base-path", Path.of(dir).resolve("changes").toUri().toString());
        }
        c.setString("execution.checkpointing.snapshot-compression", String.valueOf(form.endsWith("-compressed")));
        c.setString("restart-strategy.type", "none");
        return c;
    }

    static Configuration cluster() {
        Configuration c = new Configuration();
        c.setString("taskmanager.memory.managed.size", "256m");
        c.setString("taskmanager.memory.network.min", "64m");
        c.setString("taskmanager.memory.network.max", "64m");
        for (String s : new String[] {"rest.address", "rest.bind-address"}) c.setString(s, "localhost");
        c.setString("rest.port", "0");
        return c;
    }

    static boolean isRunning(MiniCluster mc, JobID id) throws Exception {
        if (mc.getJobStatus(id).get() != JobStatus.RUNNING) return false;
        for (AccessExecutionVertex x : mc.getExecutionGraph(id).get().getAllExecutionVertices()) {
            if (x.getExecutionState() != ExecutionState.RUNNING) return false;
        }
        return true;
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static void await(MiniCluster mc, JobID id, Condition c) throws Exception {
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (!c.holds()) {
            if (mc.getJobStatus(id).get().isGloballyTerminalState()) {
                Throwable why = mc.requestJobResult(id).get().getSerializedThrowable().map(t -> t.deserializeError(Judge.class.getClassLoader())).orElse(null);
                while (why != null && why.getCause() != null) why = why.getCause();
                throw new IllegalStateException("the job ended: " + why);
            }
            if (System.currentTimeMillis() > end) throw new IllegalStateException("not in time");
            Thread.sleep(20);
        }
    }

    static JobID submit(MiniCluster mc, StreamExecutionEnvironment env, String restore) throws Exception {
        JobGraph graph = env.getStreamGraph().getJobGraph();
        if (!restore.equals("-")) graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(restore, false));
        return mc.submitJob(graph).get(60, TimeUnit.SECONDS).getJobID();
    }

    static void cancel(MiniCluster mc, JobID id) throws Exception {
        mc.cancelJob(id).get(60, TimeUnit.SECONDS);
        while (!mc.getJobStatus(id).get().isGloballyTerminalState()) Thread.sleep(20);
    }

    static void round(MiniCluster mc, String[] a) throws Exception {
        int parallelism = Integer.parseInt(a[3]);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(config(a[2], a[4], a[5]));
        Rounds.emitted.set(0);
        int sources = Rounds.build(env, Integer.parseInt(a[1]), parallelism, Integer.parseInt(a[7]));
        JobID id = submit(mc, env, a[6]);
        await(mc, id, () -> Rounds.emitted.get() == sources && isRunning(mc, id));
        answer(mc, id, a[4], a[5]);
    }

    static String snapshot(MiniCluster mc, JobID id, String form, String dir) throws Exception {
        String kind = form.replace("-compressed", "");
        return kind.equals("canonical") || kind.equals("native")
                ? mc.triggerSavepoint(id, dir, false, SavepointFormatType.valueOf(kind.toUpperCase())).get(120, TimeUnit.SECONDS)
                : mc.triggerCheckpoint(id).get(120, TimeUnit.SECONDS);
    }

    static void answer(MiniCluster mc, JobID id, String form, String dir) throws Exception {
        String path = snapshot(mc, id, form, dir);
        cancel(mc, id);
        System.out.println("SNAPSHOT " + (path.contains(":") ? java.net.URI.create(path).getPath() : path));
    }

    /** A checkpoint after the first half of the ids, so that an incremental one has files of two; the snapshot at their end. */
    static void totals(MiniCluster mc, String[] a) throws Exception {
        long from = Long.parseLong(a[3]), to = Long.parseLong(a[4]);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(config(a[5], a[7], a[8]));
        VarveTotals.build(env, a[1], Integer.parseInt(a[2]), from, to, a[10].equals("ttl"), Integer.parseInt(a[6]), 128);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        if (!a[9].equals("-")) graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(a[9], true)); // the other operators are varve's own
        JobID id = mc.submitJob(graph).get(60, TimeUnit.SECONDS).getJobID();
        await(mc, id, () -> isRunning(mc, id));
        for (long end : new long[] {(from + to) / 2, to}) {
            VarveTotals.allowed = end;
            await(mc, id, () -> VarveTotals.emitted == end);
            if (end < to) snapshot(mc, id, "checkpoint", a[8]);
        }
        answer(mc, id, a[7], a[8]);
    }

    static void rows(MiniCluster mc, String[] a) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(config(a[4], "", null));
        VarveRows.build(env, a[1], Integer.parseInt(a[2]), Integer.parseInt(a[3]), Integer.parseInt(a[5]));
        JobGraph graph = env.getStreamGraph().getJobGraph();
        graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(a[6], true)); // the other operators are varve's own
        JobID id = mc.submitJob(graph).get(60, TimeUnit.SECONDS).getJobID();
        await(mc, id, () -> VarveRows.found.size() == VarveRows.expected);
        cancel(mc, id);
        VarveRows.found.forEach(System.out::println);
        System.out.println("DONE");
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (MiniCluster mc = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(cluster()).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build())) {
            mc.start();
            System.out.println("READY");
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] a = line.split(" ");
                try {
                    if (a[0].equals("round")) round(mc, a);
                    else if (a[0].equals("totals")) totals(mc, a);
                    else rows(mc, a);
                } catch (Throwable t) {
                    System.out.println("FAILED " + String.valueOf(t).replace('\n', ' '));
                }
            }
        }
        System.exit(0);
    }
}
