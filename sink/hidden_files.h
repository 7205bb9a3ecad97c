/* hidden_files.h - the hidden part files below a file sink's directory: in itself, and in the
 * partition directories ("k=v") in it. Thread: any. */
#ifndef VARVE_SINK_HIDDEN_FILES_H
#define VARVE_SINK_HIDDEN_FILES_H

#include "base/fs.h"
#include "base/rng.h"

struct hidden_file {
    const char *path, *name;
    /* As its name says (committable.h): who writes it. */
    char uuid[UUID_LEN + 1];
    uint32_t subtask_index;
    uint64_t counter;
};
/* Holds for the call, in which it may be deleted; a non-OK code ends the walk. */
typedef enum rc hidden_file_fn(void *ctx, const struct hidden_file *file, struct err *err);
MUST_USE enum rc hidden_files_each(struct fs *fs, const char *base, hidden_file_fn *fn, void *ctx,
                                   struct err *err);

#endif
