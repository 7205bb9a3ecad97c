/* sim_fs.h - a file system in memory that can lose power.
 *
 * It keeps two images. Every call reads and changes the *written* one, as processes see it. The
 * *durable* one is what a disk holds for certain: content and length of a file come into it by
 * fs_sync, names by fs_sync_dir of the directory that holds them, and nothing else does (a file's
 * fs_sync makes no name durable, not even its own).
 *
 * sim_fs_crash(fs, rng) is a power loss and the boot after it. What was made durable is there. Of
 * the rest, a seeded choice is, independently
 *   - for each file's content: the durable one, the written one, or a torn one: cut anywhere in
 * what was added since the last fs_sync, or with zeroes in place of a stretch of it;
 *   - for each change of a name (create, link, mkdir, rename, unlink, rmdir): made or not. Changes
 * of one name keep their order: a later one implies the earlier. A rename changes both its names or
 * neither, and becomes durable by fs_sync_dir of the directory it goes to. A quarter of the crashes
 * keep nothing that was not durable (the worst disk), some keep everything. sim_fs_restart(fs) is
 * the death of the process alone: the written image stays. After either, locks are gone and files
 * opened before give RC_IO until they are closed.
 *
 * To crash a scenario at every point of it:
 *
 *     for (k = 0;; k++) {
 *         struct fs *fs = sim_fs_new(NULL);   and its preparation
 *         sim_fs_crash_at(fs, k);
 *         rc = scenario(fs, &err);
 *         if (!sim_fs_down(fs)) break;        fewer than k operations: done, rc must be RC_OK
 *         sim_fs_crash(fs, &rng);             reboot
 *         ... look, recover, scenario again
 *     }
 *
 * Operations are the calls that change something or make it durable: create, open_append, append,
 * sync, rename, link, reflink, unlink, rmdir, mkdir, sync_dir, lock. The k-th has no effect, but an
 * append leaves a part of its bytes; from then on every call, reads too, fails with RC_IO and
 * os_errno EIO, and a message that names the operation.
 *
 * Paths are absolute (a relative one starts at "/"), "." and ".." are resolved; there are no
 * symbolic links. "/" exists and is durable. Codes and os_errno are those of fs_posix(). Thread:
 * any, as fs.h says.
 */
#ifndef VARVE_TESTS_LIB_SIM_FS_H
#define VARVE_TESTS_LIB_SIM_FS_H

#include "base/clock.h"
#include "base/fs.h"
#include "base/rng.h"

/* clock: borrowed; for mtime and ctime; NULL: they count operations. Hard links are allowed,
 * reflinks are not. */
struct fs *sim_fs_new(struct clock *clock);
void sim_fs_free(struct fs *fs); /* every file closed; NULL is a no-op */

void sim_fs_crash(struct fs *fs, struct rng *rng);
void sim_fs_restart(struct fs *fs);

uint64_t sim_fs_op_count(const struct fs *fs);   /* operations since sim_fs_new */
void sim_fs_crash_at(struct fs *fs, uint64_t k); /* k = 0: the next operation */
bool sim_fs_down(const struct fs *fs);           /* operation k has come, and no reboot yet */

/* What fs_link and fs_reflink can do here; where they cannot they give RC_NO_LINK. */
void sim_fs_allow(struct fs *fs, bool hard_links, bool reflinks);
/* Room for so many bytes of content (hard links count once); past it appends fail with ENOSPC. */
void sim_fs_set_capacity(struct fs *fs, uint64_t bytes);

/* Damage on the disk: xor one byte in both images. false: no such byte. */
bool sim_fs_flip(struct fs *fs, const char *path, uint64_t offset, uint8_t mask);
/* Content of a file in the durable image, appended to out; false when no durable name leads to it.
 */
bool sim_fs_durable(const struct fs *fs, const char *path, struct buf *out);
/* Both images as lines "W 1234 /a/b" (written), "D 1000 /a/b" (durable), "W dir /a", sorted; for
 * messages. */
void sim_fs_dump(const struct fs *fs, struct buf *out);

#endif
