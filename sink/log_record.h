/* log_record.h - what a write-ahead sink hands to a checkpoint, to bytes and back: one writer with
 * its logs that are not known to be sent; where writers stood; and the names of logs.
 *
 * One item a writer, so that a restore at another parallelism never parts its logs: they are sent in
 * the order of their numbers, and the target keeps one number a writer (pg_client.h). docs/FORMAT.md
 * has the bytes. Pure; any thread.
 */
#ifndef VARVE_SINK_LOG_RECORD_H
#define VARVE_SINK_LOG_RECORD_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/rng.h"

#define LOG_RECORD_VERSION 1
#define LOG_NAME_MAX 96
#define LOG_WRITER_MAX 64 /* "<uuid>-<subtask>" */

struct log_entry {
    uint64_t number;        /* from 1, ascending in its writer */
    uint64_t checkpoint_id; /* of the first prepare that held it */
    uint64_t size_bytes, row_count;
    struct digest128 digest; /* of the whole file */
};
struct log_record {
    char uuid[UUID_LEN + 1]; /* of the deployment */
    uint32_t subtask_index;
    uint64_t last_number; /* newest log that the writer had made; 0: none */
    size_t log_count;
    struct log_entry *logs; /* numbers ascend up to last_number */
};
struct bytes log_record_encode(const struct log_record *r, struct arena *arena);
/* The logs in `arena`. RC_CORRUPT names field and offset; RC_VERSION for a newer version. `what`
 * names the item in messages. */
MUST_USE enum rc log_record_decode(struct bytes item, struct arena *arena, const char *what,
                                   struct log_record *out, struct err *err);
bool log_record_recognise(struct bytes item); /* by its first bytes */

/* Where a writer stood; every subtask that is restored knows all of them. */
struct log_position {
    char uuid[UUID_LEN + 1];
    uint32_t subtask_index;
    uint64_t last_number; /* as in log_record */
    bool earlier; /* of a snapshot that the run went on from, which the target may not know yet */
};
struct bytes log_position_encode(const struct log_position *p, struct arena *arena);
/* Codes as log_record_decode. */
MUST_USE enum rc log_position_decode(struct bytes item, const char *what, struct log_position *out,
                                     struct err *err);
bool log_position_recognise(struct bytes item);

/* "<uuid>-<subtask>", and "<uuid>-<subtask>-<number>.log" */
void log_writer_name(const char *uuid, uint32_t subtask_index, char out[LOG_WRITER_MAX]);
void log_name_make(const char *uuid, uint32_t subtask_index, uint64_t number,
                   char out[LOG_NAME_MAX]);

#endif
