/* file_position.h - how far the files of a source have been read: entries, and their bytes in a
 * checkpoint. Values; thread: any. */
#ifndef VARVE_JOB_SOURCE_FILE_POSITION_H
#define VARVE_JOB_SOURCE_FILE_POSITION_H

#include "job/source/input_file.h"
#include "job/source/source.h"

struct file_entry {
    const char *path;      /* below the root; "" when the root is a file */
    uint64_t offset;       /* decompressed bytes read */
    uint64_t line;         /* number of the line there, from 1 */
    struct file_head head; /* of the file when it was opened; len 0: not opened yet, or empty */
    bool done;
    bool mine; /* this subtask reads it, or, when done, keeps its position */
};
struct file_entries {
    struct file_entry *items; /* sorted by path, no path twice */
    size_t count;
};

/* One item for the folder and one for each entry that is `mine`. */
void file_positions_encode(const char *root, const struct file_entries *entries,
                           struct arena *arena, struct bytes **items, size_t *count);
/* The union of all subtasks' items, with mine set for the share of subtask_index: files to read are
 * dealt out in order of their paths, done ones by hash. *root: as it was then. RC_CORRUPT: damaged,
 * or a file that two subtasks had. */
MUST_USE enum rc file_positions_decode(const struct bytes *items, size_t count,
                                       uint32_t subtask_index, uint32_t parallelism,
                                       struct arena *arena, struct file_entries *out,
                                       const char **root, struct err *err);
/* Which subtask a file belongs to when no list says so. */
uint32_t file_owner(const char *path, uint32_t parallelism);

#endif
