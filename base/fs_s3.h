/* fs_s3.h - files on an S3 server, behind fs.h: "s3://bucket/dir/name".
 *
 * What differs from a local disk: a file's name appears whole at fs_sync or fs_close, never before,
 * and nothing can be appended then; success is durable, fs_sync_dir does nothing; a directory is
 * there when its mark ("dir/", an empty object) or anything below it is, so that one without a mark
 * is gone with its last file (fs_rmdir of what is not there: RC_OK); fs_rename copies and then
 * deletes; there are no links, and fs_reflink copies on the server. fs_open_append: RC_UNSUPPORTED.
 * A lock is a lease (remote_lease.h). Thread: any.
 */
#ifndef VARVE_BASE_FS_S3_H
#define VARVE_BASE_FS_S3_H

#include "base/remote_lease.h"
#include "base/s3_client.h"

/* Takes the client. */
struct fs *fs_s3_new_take(struct s3_client *client, const struct lease_config *lease);
void fs_s3_free(struct fs *fs); /* no file may be open */

#endif
