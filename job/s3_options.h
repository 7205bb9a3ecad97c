/* s3_options.h - which S3 server and whose keys: the options s3.*, else the variables of Amazon's
 * tools, else a profile of ~/.aws/credentials.
 *
 * Keys come whole from one place: a name from here is never paired with a secret from there.
 * Thread: any.
 */
#ifndef VARVE_JOB_S3_OPTIONS_H
#define VARVE_JOB_S3_OPTIONS_H

#include "base/s3_client.h"
#include "job/config.h"

/* The process's environment, or a test's; NULL: not set. */
typedef const char *env_get_fn(const char *name);

/* Strings hold as long as the arena and until the next change of c. Without any keys those of *out
 * stay NULL, which s3_client_new refuses. RC_INVALID: half a pair; a profile that is named and is
 * not there. */
MUST_USE enum rc s3_options(const struct config *c, struct fs *local, env_get_fn *env,
                            struct arena *arena, struct s3_config *out, struct err *err);

/* A section of the text of a credentials file. */
struct s3_profile {
    const char *access_key, *secret_key, *session_token, *region; /* NULL: not there */
};
/* false: there is no such section. */
bool s3_profile_find(struct bytes text, const char *name, struct arena *arena,
                     struct s3_profile *out);

#endif
