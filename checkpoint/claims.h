/* claims.h - which files of Flink's the snapshots below a directory name, whichever job's directory
 * they lie in: before anything is deleted from one of them. A snapshot that a job was started from in
 * mode CLAIM or LEGACY shares its files with that job's, which lie elsewhere.
 *
 * Files count by their own names, which Flink draws at random: a claim holds whatever path, link or
 * scheme leads to the file. Every _metadata counts down to CLAIMS_DEPTH directories below, also
 * where directories are named by nobody's rules; but for shared/ and taskowned/ of a job's. Memory: 16 bytes for each use of a file. Thread: one
 * owner.
 */
#ifndef VARVE_CHECKPOINT_CLAIMS_H
#define VARVE_CHECKPOINT_CLAIMS_H

#include "checkpoint/rebase.h"
#include "base/arena.h"
#include "base/fs.h"

#define CLAIMS_DEPTH 8u

struct claims; /* opaque */
struct claims *claims_new(void);
void claims_free(struct claims *c); /* NULL is a no-op */
/* All snapshots in `dir` and below. RC_NOT_FOUND: there is no such directory; else codes of who
 * cannot list it. A _metadata that cannot be read is noted. rebase NULL: no rules. */
MUST_USE enum rc claims_add(struct claims *c, struct fs *fs, const char *dir,
                            const struct rebase *rebase, struct err *err);
/* Whether a snapshot names a file of that name. */
bool claims_have(struct claims *c, const char *name);
size_t claims_snapshot_count(const struct claims *c);
/* One that cannot be read, and may name anything, or a place that was not looked into, since it lies
 * deeper or cannot be entered: its path and why. NULL: there is none. */
const char *claims_unreadable(const struct claims *c);

#endif
