import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** An HDFS cluster in one process for scripts/check-storage: prints the name node's HTTP address, ends with its standard input. */
public class MiniHdfs {
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(args[0]).getAbsolutePath());
        conf.set("dfs.ls.limit", "100"); // so that a listing has pages
        conf.set("dfs.replication", "2");
        conf.set("dfs.permissions.enabled", "true");
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(3).build();
        cluster.waitActive();
        cluster.getFileSystem().setPermission(new org.apache.hadoop.fs.Path("/"),
                new org.apache.hadoop.fs.permission.FsPermission((short) 0777));
        System.out.println("uri hdfs://127.0.0.1:" + cluster.getNameNode().getHttpAddress().getPort());
        System.out.flush();
        while (System.in.read() >= 0) {
            // until whoever started it closes its end
        }
        cluster.shutdown();
    }
}
