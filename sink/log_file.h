/* log_file.h - the log of a write-ahead sink: rows in the form that the target takes, in blocks.
 *
 * The head says where they go: table, columns, key. So a log is sent as it was meant, whatever the
 * job writes by then. Written once and never again; the digest of the whole file, which the state of
 * a checkpoint keeps, is proven before the last block counts. docs/FORMAT.md has the bytes. Memory:
 * one piece of 64 KiB. Thread: the task's.
 */
#ifndef VARVE_SINK_LOG_FILE_H
#define VARVE_SINK_LOG_FILE_H

#include "base/arena.h"
#include "base/hash.h"

#define LOG_FILE_VERSION 1
#define LOG_HEAD_BYTES_MAX (1u << 20)
#define LOG_COLUMNS_MAX 1600u           /* of a table in PostgreSQL */
#define LOG_BLOCK_BYTES_MAX (1u << 30) /* what PostgreSQL takes as a value */

struct log_head {
    const char *table; /* "t", "schema.t" */
    uint32_t column_count;
    const char *const *columns;
    uint32_t key_count; /* 0: rows are appended. Else each has 'U' or 'D' as its first field */
    const uint32_t *key; /* indices of columns, distinct */
};
void log_head_encode(const struct log_head *h, struct buf *out);
/* From the start of `file`; *end: behind it. Strings in `arena`. RC_CORRUPT, RC_VERSION. */
MUST_USE enum rc log_head_decode(struct bytes file, struct arena *arena, const char *what,
                                 struct log_head *out, size_t *end, struct err *err);

struct log_writer; /* opaque */
/* RC_EXISTS: the name is taken. */
MUST_USE enum rc log_writer_create(struct fs *fs, const char *path, const struct log_head *head,
                                   struct log_writer **out, struct err *err);
/* A block: complete rows. RC_LIMIT past LOG_BLOCK_BYTES_MAX. */
MUST_USE enum rc log_writer_append(struct log_writer *w, struct bytes rows, uint32_t row_count,
                                   struct err *err);
uint64_t log_writer_size(const struct log_writer *w); /* so far */
/* Content and name are durable after it. Frees, whatever the code. */
MUST_USE enum rc log_writer_finish(struct log_writer *w_take, uint64_t *size_bytes,
                                   uint64_t *row_count, struct digest128 *digest, struct err *err);
void log_writer_abandon(struct log_writer *w_take); /* the file stays; NULL is a no-op */

struct log_reader; /* opaque */
/* RC_NOT_FOUND; RC_CORRUPT: another length than recorded, or no head. */
MUST_USE enum rc log_reader_open(struct fs *fs, const char *path, uint64_t size_bytes,
                                 uint64_t row_count, struct digest128 digest,
                                 struct log_reader **out, struct err *err);
const struct log_head *log_reader_head(const struct log_reader *r); /* until free */
/* The next block. *row_count 0: there is none, and all that was read is proven; RC_CORRUPT if not. */
MUST_USE enum rc log_reader_block(struct log_reader *r, uint32_t *row_count, struct err *err);
/* A piece of the block at hand, not cut at rows; until the next call. Empty: the block's end. */
MUST_USE enum rc log_reader_piece(struct log_reader *r, struct bytes *piece, struct err *err);
void log_reader_free(struct log_reader *r); /* NULL is a no-op */

#endif
