/* file_set.h - the files that several snapshots name, each once, however many name it.
 *
 * A file is what a _metadata says of it: path, length, digest. Two that disagree about one path
 * are two files here. Inline content is no file. Memory: about 200 bytes and the path for each
 * file, nothing for each use, so that snapshots can be read one after the other and forgotten.
 * Thread: one at a time.
 */
#ifndef VARVE_CHECKPOINT_FILE_SET_H
#define VARVE_CHECKPOINT_FILE_SET_H

#include "checkpoint/metadata.h"

#define FILE_SET_NONE SIZE_MAX

/* An operator of any of the snapshots, told apart by its id. */
struct named_operator {
    char id[OPERATOR_ID_LEN + 1];
    const char *name;
    size_t index; /* in order of first use */
};
struct named_file {
    const char *path;                /* as resolved */
    const struct named_operator *op; /* that named it first; lives as long as the set */
    uint64_t size_bytes;
    struct digest128 digest;
    bool no_digest, at_least; /* as state_file has them */
    uint64_t start;
    uint32_t subtask_index;
    uint32_t first_snapshot, last_snapshot; /* that name it; equal: one alone does */
    uint64_t device, inode, link_count;     /* file_set_look; 0: not there */
    const char *fault;                      /* NULL: none known; in the set's arena */
};
struct file_set; /* opaque */
struct file_set *file_set_new(void);
void file_set_free(struct file_set *s); /* NULL is a no-op */
struct arena *file_set_arena(struct file_set *s);

/* Notes that snapshot number `snapshot` (ascending) names the file; op and subtask say where.
 * false: it was known to name it, or the content is inline. */
bool file_set_use(struct file_set *s, uint32_t snapshot, const struct operator_meta *op,
                  const struct subtask_state *subtask, const struct state_file *file);
size_t file_set_operator_count(const struct file_set *s);
const struct named_operator *file_set_operator(const struct file_set *s, size_t i);
size_t file_set_count(const struct file_set *s);
struct named_file *file_set_at(struct file_set *s, size_t i); /* in order of first use */
/* Its index; FILE_SET_NONE: not in the set. */
size_t file_set_find(const struct file_set *s, const struct state_file *file);

/* Looks at a file: fills device, inode and link_count, and `fault` when it is not there, no plain
 * file, of another length or cannot be looked at. */
void file_set_look(struct file_set *s, struct fs *fs, struct named_file *f);
/* Indices of all files (count of them, owned by the caller: mem_free) ordered by device and inode:
 * names of one file are neighbours. Those that are not there come first. */
uint32_t *file_set_by_inode(const struct file_set *s);

#endif
