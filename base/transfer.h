/* transfer.h - bring a finished, immutable file under another name, durably: hard link, else
 * reflink, else copy.
 *
 * One transfer serves one target directory. A name is content (its digest), so finding it
 * taken is success, but only after length and digest of what lies there were checked, or when it is
 * the same file under two names; something else there is replaced. Copies are made under a
 * temporary name and renamed, unless files appear whole there (fs_appears_whole): a name never leads to half a
 * file. That links do not work on this machine is logged once (B41). Thread: transfer_place and transfer_file from any
 * thread.
 */
#ifndef VARVE_BASE_TRANSFER_H
#define VARVE_BASE_TRANSFER_H

#include "base/env.h"
#include "base/hash.h"
#include "base/thread.h"

enum transfer_how {
    TRANSFER_LINKED,
    TRANSFER_REFLINKED,
    TRANSFER_COPIED,
    TRANSFER_FOUND, /* was there, and proven now */
};
struct transfer {
    const struct env *env;
    char *dir;
    bool copies; /* nothing is to be shared with `from`: always copied, and the copy proven */
    struct mutex mutex;
    struct rng rng GUARDED_BY(mutex);
    bool said GUARDED_BY(mutex);
};
/* copies: false. */
void transfer_init(struct transfer *t, const struct env *env, const char *dir);
void transfer_release(struct transfer *t);
/* After RC_OK `<dir>/<name>` holds `size_bytes` of that digest, and its content is durable. Its
 * name is not yet: for who places many and syncs the directory once, before anything names one of
 * them (C2). The content of `from` itself is not read, except to copy it: the caller knows its
 * digest. RC_CORRUPT: `from` has another length; of copies alone: or another digest. */
MUST_USE enum rc transfer_place(struct transfer *t, const char *from, const char *name,
                                uint64_t size_bytes, struct digest128 digest,
                                enum transfer_how *how, struct err *err);
/* The same, and the name is durable, too. */
MUST_USE enum rc transfer_file(struct transfer *t, const char *from, const char *name,
                               uint64_t size_bytes, struct digest128 digest, enum transfer_how *how,
                               struct err *err);
/* Content of a file that may just have been written is made durable. */
MUST_USE enum rc transfer_sync_content(struct fs *fs, const char *path, uint64_t size_bytes,
                                       struct err *err);

/* Names of files that are not finished: ".tmp-" and 16 hex digits. */
#define TRANSFER_TEMP_LEN 21
void transfer_temp_name(struct rng *rng, char out[TRANSFER_TEMP_LEN + 1]);
bool transfer_is_temp(const char *name);

#endif
