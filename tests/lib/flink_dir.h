/* flink_dir.h - directories of Flink's jobs, made small: files by name, and snapshots that name them.
 * All of it durable. Failures abort the test. Thread: one. */
#ifndef VARVE_TESTS_LIB_FLINK_DIR_H
#define VARVE_TESTS_LIB_FLINK_DIR_H

#include "base/fs.h"

/* A file of a few bytes, with the directories above it. */
void flink_dir_put(struct fs *fs, const char *path);
/* A _metadata of one subtask whose database consists of these: an absolute path is a shared file, another
 * one lies beside the _metadata. They are not made. */
void flink_dir_snapshot(struct fs *fs, const char *dir, int64_t id, const char *const *files,
                        size_t count);

#endif
