import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.util.VersionInfo;

/**
 * An HDFS cluster of three data nodes in one process, for scripts/check-storage. Says "server" and "uri", then obeys lines on
 * its standard input ("restart": the name node ends and starts again; "kill": a data node goes for good), answers each by
 * "done", and ends with its input.
 */
public class MiniHdfs {
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(args[0]).getAbsolutePath());
        conf.set("dfs.ls.limit", "40"); // so that a listing has pages
        conf.set("dfs.replication", "2");
        conf.set("dfs.client.block.write.replace-datanode-on-failure.policy", "NEVER"); // three nodes are few
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(3).build();
        cluster.waitActive();
        cluster.getFileSystem().setPermission(new Path("/"), new FsPermission((short) 0777));
        System.out.println("server Hadoop " + VersionInfo.getVersion());
        System.out.println("uri hdfs://127.0.0.1:" + cluster.getNameNode().getHttpAddress().getPort());
        System.out.flush();
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("restart")) {
                cluster.restartNameNode(true);
            } else if (line.equals("kill")) {
                cluster.stopDataNode(0);
            }
            System.out.println("done");
            System.out.flush();
        }
        cluster.shutdown();
    }
}
