/* flink_files.h - what Flink left in shared/ and taskowned/ of a job's directory, to find what no
 * _metadata names: files named by a random UUID, with file merging in directories below.
 *
 * Lists first, then takes notes of what is named, so that a file that comes to be named meanwhile is
 * not missed. Other names are strangers and are not listed. Thread: one at a time.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_FILES_H
#define VARVE_CHECKPOINT_FLINK_FLINK_FILES_H

#include "base/arena.h"
#include "base/fs.h"

struct flink_found {
    const char *path;
    uint64_t size_bytes;
    int64_t changed_wall_ms;
    bool named;
};
/* `= {0}`; items by path once listed. */
struct flink_files {
    size_t count, cap;
    struct flink_found *items;
};
/* "0f3c…": 36 characters, lower case. */
bool flink_is_file_name(const char *name);
/* Adds what lies in dir and one level below; no such directory: nothing. Paths in `arena`. */
MUST_USE enum rc flink_files_list(struct flink_files *f, struct fs *fs, const char *dir,
                                  struct arena *arena, struct err *err);
void flink_files_sort(struct flink_files *f); /* after the last list, before the first note */
void flink_files_note(struct flink_files *f, const char *path); /* it is named */
void flink_files_release(struct flink_files *f);
/* Whether a job's directory, or that of one snapshot, is Flink's, and *why, in the arena; NULL else. The
 * first _metadata there whose first bytes are anybody's tells; where there is none, a file that is
 * named as Flink names them does: varve gives no such name. What cannot be listed is nobody's. */
bool flink_directory(struct fs *fs, const char *job_dir, struct arena *arena, const char **why);
bool flink_snapshot_directory(struct fs *fs, const char *dir, struct arena *arena,
                              const char **why);

#endif
