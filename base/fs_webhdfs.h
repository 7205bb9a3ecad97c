/* fs_webhdfs.h - the file system of an HDFS cluster by its REST interface: "hdfs://host:port/path", the port being that of
 * the name node's HTTP server. "host:port,host:port" names several: the one that is active answers.
 *
 * A new file is written under a temporary name (transfer_temp_name) in its directory, in pieces of 16 MiB of which the
 * first creates and the others append, and gets its name by one rename, which fails when the name is taken: files
 * appear whole. A closed file's blocks have the least number of replicas that the cluster wants (dfs.namenode.replication.min);
 * names are in the name node's log when it answers. WebHDFS has no hsync: a data node that loses
 * power may lose what its disk had not written yet; replicas are what HDFS sets against that.
 * A rename whose answer was lost is told from a name that was taken by the file's id. Locks are leases (remote_lease.h).
 * No symbolic or hard links, no reopening of a file. fs_mkdir of one name by two clients at once may succeed for both.
 * Only simple authentication (user.name). Thread: any; a file belongs to one at a time.
 */
#ifndef VARVE_BASE_FS_WEBHDFS_H
#define VARVE_BASE_FS_WEBHDFS_H

#include "base/env.h"
#include "base/fs.h"
#include "base/http_client.h"

struct webhdfs_config {
    const struct env *env; /* borrowed: clock, log, seed */
    struct http_client_config http;
    const char *user; /* NULL: none is said, and the cluster takes its default; copied */
    bool tls;         /* https */
    int64_t lease_ttl_ms;
};
struct fs *fs_webhdfs_new(const struct webhdfs_config *config);
void fs_webhdfs_free(struct fs *fs);

#endif
