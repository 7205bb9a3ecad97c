/* s3_upload.h - writes objects: each appears whole under its name, or not at all.
 *
 * A small one is one PUT; a larger one a multipart upload, whose parts nobody sees until it is
 * completed. "New" is a condition that the server checks (If-None-Match: *), where it does; every
 * object carries its writer's mark, by which a writer whose answer was lost knows its own. Success
 * is the durability of content and name (C2). Thread: an upload belongs to one at a time.
 */
#ifndef VARVE_BASE_S3_UPLOAD_H
#define VARVE_BASE_S3_UPLOAD_H

#include "base/s3_client.h"

/* One object, whole. With `replace` it takes the place of what is there; else RC_EXISTS when that
 * is somebody else's. key_suffix: as in struct s3_call. */
MUST_USE enum rc s3_put(struct s3_client *c, const struct s3_name *name, const char *key_suffix,
                        struct bytes body, bool replace, struct err *err);
/* Puts the directory's mark that is there once more, as new: a server that keeps the condition
 * refuses. */
MUST_USE enum rc s3_probe_condition(struct s3_client *c, const struct s3_name *name,
                                    struct err *err);

struct s3_upload; /* opaque; open -> finished | failed */
/* Of a new object; RC_EXISTS when the name is taken, unless the server checks that in the end
 * anyway. */
MUST_USE enum rc s3_upload_new(struct s3_client *c, const struct s3_name *name,
                               struct s3_upload **out, struct err *err);
/* RC_UNSUPPORTED once finished; after a failure every later call fails. */
MUST_USE enum rc s3_upload_append(struct s3_upload *u, struct bytes data, struct err *err);
/* The object is there. Again: nothing. */
MUST_USE enum rc s3_upload_finish(struct s3_upload *u, struct err *err);
uint64_t s3_upload_bytes(const struct s3_upload *u);
/* Parts of an unfinished one are given up; should that fail, too, a sweep finds them. */
void s3_upload_free(struct s3_upload *u);

/* On the server. Without `replace` RC_EXISTS when `to` is there already, as far as a look before
 * can tell. */
MUST_USE enum rc s3_copy(struct s3_client *c, const struct s3_name *from, const struct s3_name *to,
                         bool replace, struct err *err);

/* Gives up the multipart uploads of keys below a directory that were begun before that time. A
 * server that cannot list them: none. */
MUST_USE enum rc s3_drop_uploads(struct s3_client *c, const struct s3_name *dir,
                                 int64_t before_wall_ms, size_t *dropped, struct err *err);

#endif
