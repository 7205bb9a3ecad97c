/* metadata.h - a checkpoint as a tree of operators, subtasks and handles, all in one arena.
 *
 * The tree is what every reader and writer of a snapshot shares: own format in metadata_own.c, Flink's in
 * checkpoint/flink/. Decoding never trusts a byte; a decoded tree obeys the comments below.
 */
#ifndef VARVE_CHECKPOINT_METADATA_H
#define VARVE_CHECKPOINT_METADATA_H

#include "backend/state_handle.h"
#include "checkpoint/barrier.h"

#define JOB_ID_LEN 32      /* lower-case hex digits */
#define OPERATOR_ID_LEN 32 /* lower-case hex digits */
#define METADATA_BYTES_MAX (1024u * 1024u * 1024u)

struct metadata_pair {
    const char *key, *value;
};
/* One operator of the job that took part. */
struct operator_meta {
    char id[OPERATOR_ID_LEN + 1];
    /* The id by its full text: the same whatever other operators the job had. "" with a uid. */
    char exact_id[OPERATOR_ID_LEN + 1];
    const char *uid;  /* user-given; "" when the id comes from the query's meaning */
    const char *name; /* as in the query and EXPLAIN: "GroupAggregate[k]" */
    uint32_t parallelism;
    uint32_t key_group_count; /* Flink's maxParallelism */
    bool finished;            /* all subtasks had ended */
    size_t subtask_count;
    struct subtask_state *subtasks; /* each index < parallelism at most once */
};
struct flink_metadata;
struct checkpoint_metadata {
    /* Not NULL: Flink wrote it, and this tree is a view of that one (flink/flink_view.h): who wrote
     * it, times and SQL are not known, states not described; nothing restores from it. */
    const struct flink_metadata *flink;
    uint64_t checkpoint_id;
    enum checkpoint_kind kind;
    char job_id[JOB_ID_LEN + 1];
    const char *job_name;
    int64_t trigger_wall_ms, completed_wall_ms;
    const char *varve_version, *rocksdb_version;
    const char *sql; /* the statements that made the job */
    size_t setting_count;
    struct metadata_pair *settings; /* effective non-default configuration */
    size_t operator_count;
    struct operator_meta *operators; /* ids distinct */
};

/* Encode as our own _metadata (docs/FORMAT.md). */
void metadata_own_encode(const struct checkpoint_metadata *m, struct buf *out);
/* Decode; everything in `arena`. `what` names the file in messages. RC_CORRUPT says where ("cut at byte N of M",
 * "digest differs"), RC_VERSION for a newer format or one that is not ours. */
MUST_USE enum rc metadata_own_decode(struct bytes file, struct arena *arena, const char *what,
                                     struct checkpoint_metadata *out, struct err *err);
/* true when the first bytes are our magic. */
bool metadata_own_recognise(struct bytes file);
/* Every rule of the tree that this header and state_handle.h state, for trees whose bytes came from outside:
 * ids, names, ranges, enum values, digests of inline content, and that paths cannot leave the job directory.
 * RC_CORRUPT names operator, subtask and rule; `what` stands before it. */
MUST_USE enum rc metadata_check(const struct checkpoint_metadata *m, const char *what,
                                struct err *err);
/* Deep copy; everything in `to`. */
void metadata_copy(struct arena *to, const struct checkpoint_metadata *from,
                   struct checkpoint_metadata *out);
/* Bytes by where they lie, and those that this snapshot wrote. List items count as inline. */
struct metadata_sizes {
    uint64_t full_bytes, new_bytes;
    uint64_t shared_bytes, exclusive_bytes, inline_bytes, log_bytes; /* add up to full_bytes */
    uint64_t in_flight_bytes, in_flight_rows; /* of these: files of rows in flight, counted above too */
    uint64_t file_count, shared_count, exclusive_count, inline_count, log_count;
};
void metadata_sizes_of(const struct checkpoint_metadata *m, struct metadata_sizes *out);
void subtask_metadata_sizes(const struct subtask_state *s, struct metadata_sizes *sum); /* adds */
/* Every state_file of the tree in order; a non-OK code stops. */
typedef enum rc metadata_file_fn(void *ctx, const struct operator_meta *op,
                                 const struct subtask_state *subtask, struct state_file *file,
                                 struct err *err);
MUST_USE enum rc metadata_each_file(const struct checkpoint_metadata *m, metadata_file_fn *fn,
                                    void *ctx, struct err *err);

#endif
