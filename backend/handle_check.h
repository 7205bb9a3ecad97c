/* handle_check.h - the inside of a keyed handle, beyond what the digests of its files say: that a
 * restore would find in them what the handle promises.
 *
 * Of a database: it opens, its live files and families are those of the handle; each SST's blocks
 * have their checksums, its keys are in order and lie in the handle's key groups, its entries are
 * as many as it says. Of a stream: every block, group and offset, and the number of entries.
 *
 * RocksDB may be ended by bytes that nobody looked for: for a process of its own
 * (checkpoint/apart.h). Nothing of the snapshot is touched; SSTs come into the scratch directory
 * by symbolic links. Thread: one.
 */
#ifndef VARVE_BACKEND_HANDLE_CHECK_H
#define VARVE_BACKEND_HANDLE_CHECK_H

#include "backend/state_handle.h"
#include "base/fs.h"

/* An SST or stream of several handles is looked into once. */
struct handle_check_files {
    bool (*begin)(void *ctx, size_t file);               /* false: it was looked into */
    void (*fault)(void *ctx, size_t file, const char *reason);
    void *ctx;
};
/* h: files have an absolute resolved_path, and their digests are right. dir: scratch, made and
 * removed here. Faults of one file go to files->fault; RC_CORRUPT: the handle as a whole is not
 * what it says. RC_IO: scratch or a file cannot be used now. */
MUST_USE enum rc handle_check(struct fs *fs, const struct keyed_handle *h, const char *dir,
                              const struct handle_check_files *files, struct err *err);

/* Which state each SST of a database belongs to, by its MANIFEST; the SSTs are not read. h and dir
 * as above. A stream has all states mixed, and gives nothing. */
typedef void handle_file_state_fn(void *ctx, size_t file, const char *state);
MUST_USE enum rc handle_file_states(struct fs *fs, const struct keyed_handle *h, const char *dir,
                                    handle_file_state_fn *fn, void *ctx, struct err *err);

#endif
