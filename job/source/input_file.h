/* input_file.h - the content of one input file from any position, decompressed. Thread: one at a
 * time.
 *
 * Messages name the file. The position counts decompressed bytes; in a compressed file it is
 * reached by decompressing from the start. */
#ifndef VARVE_JOB_SOURCE_INPUT_FILE_H
#define VARVE_JOB_SOURCE_INPUT_FILE_H

#include "base/fs.h"

/* What a position keeps of a file, to see that it is still the same: hash of its first bytes as
 * stored. */
#define FILE_HEAD_BYTES_MAX 1024u
struct file_head {
    uint32_t len;
    uint64_t hash;
};

struct input_file; /* opaque */
MUST_USE enum rc input_file_open(struct fs *fs, const char *path, struct input_file **out,
                                 struct err *err);
void input_file_close(struct input_file *f); /* NULL is a no-op */
struct file_head input_file_head(const struct input_file *f);
/* RC_CORRUPT when the file begins differently than it did (head.len 0: not known), or, a plain one,
 * is shorter than offset. */
MUST_USE enum rc input_file_check(const struct input_file *f, struct file_head head,
                                  uint64_t offset, struct err *err);
/* Once, right after open. RC_CORRUPT: the file is shorter now; says both lengths. */
MUST_USE enum rc input_file_seek(struct input_file *f, uint64_t offset, struct err *err);
/* At most cap > 0 bytes; *at_end: they are the last ones. *raw: bytes read from the disk for it. */
MUST_USE enum rc input_file_read(struct input_file *f, uint8_t *out, size_t cap, size_t *got,
                                 bool *at_end, uint64_t *raw, struct err *err);

#endif
