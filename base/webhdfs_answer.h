/* webhdfs_answer.h - what a WebHDFS server answers, checked: bytes of others become values or RC_CORRUPT.
 *
 * Pure; any thread. After: JsonUtilClient, WebHdfsFileSystem.validateResponse (hadoop-hdfs-client).
 */
#ifndef VARVE_BASE_WEBHDFS_ANSWER_H
#define VARVE_BASE_WEBHDFS_ANSWER_H

#include "base/fs.h"

#define WEBHDFS_NAME_MAX 255
#define WEBHDFS_ANSWER_MAX ((size_t)256 << 20) /* a listing in one piece: some 600,000 names */

struct webhdfs_status {
    enum fs_type type;
    uint64_t size_bytes;
    int64_t modified_wall_ms;
    uint64_t file_id; /* stays through renames; 0: the server tells none (HttpFS) */
};
/* {"FileStatus": {...}} */
MUST_USE enum rc webhdfs_status_parse(struct bytes body, struct webhdfs_status *out, struct err *err);

typedef enum rc webhdfs_entry_fn(void *ctx, const char *name, const struct webhdfs_status *st,
                                 struct err *err);
/* One page of a directory. */
struct webhdfs_page {
    uint64_t left;                   /* entries that other pages have */
    char last[WEBHDFS_NAME_MAX + 1]; /* the next page begins behind it; "" when the page is empty */
};
/* {"FileStatuses": ..} or {"DirectoryListing": {"partialListing": {"FileStatuses": ..}, "remainingEntries": n}}: fn for each
 * name; a name that no directory can hold is RC_CORRUPT. RC_IO with ENOTDIR: it was a file. */
MUST_USE enum rc webhdfs_page_parse(struct bytes body, webhdfs_entry_fn *fn, void *ctx,
                                    struct webhdfs_page *out, struct err *err);
/* {"boolean": true} */
MUST_USE enum rc webhdfs_boolean_parse(struct bytes body, bool *out, struct err *err);
/* {"Location": "http://.."}: appended to out. */
MUST_USE enum rc webhdfs_location_parse(struct bytes body, struct buf *out, struct err *err);

/* An answer that is no 2xx: the code for what the server says, with its words as the message and, where one
 * fits, os_errno. */
enum webhdfs_refusal {
    WEBHDFS_FINAL,   /* it stays so */
    WEBHDFS_PASSES,  /* ask again in a while: safe mode, a lease being recovered */
    WEBHDFS_STANDBY, /* ask another name node */
    WEBHDFS_BROKEN,  /* a data node's connection to the name node broke: ask again; it may have been carried out */
};
enum rc webhdfs_refusal_parse(int status, struct bytes body, enum webhdfs_refusal *kind,
                              struct err *err);

#endif
