/* flink_metadata.h - a _metadata that Flink wrote, formats 2 to 6, as a tree of its own.
 *
 * It shows all that the file says, in Flink's words; flink_view.h makes of it the tree that the
 * looking verbs share. Handles keep their tag: forms that later versions only read stay what they
 * are. Decoding never trusts a byte: counts and depths are bounded, an unknown tag or version is an
 * error with its offset. Texts are UTF-8 in the arena with a NUL behind them (data_input.h); inlined
 * bytes are borrowed from the file's. Thread: any.
 * After: MetadataV2V3SerializerBase, MetadataV6Serializer (flink-runtime). docs/FORMAT.md "Flink's
 * _metadata".
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_METADATA_H
#define VARVE_CHECKPOINT_FLINK_FLINK_METADATA_H

#include "checkpoint/flink/java_stream.h"

#define FLINK_MAGIC 0x4960672Du
#define FLINK_ID_BYTES 16
#define FLINK_GROUPS_MAX 32768u /* Flink's limit of key groups, and so of subtasks */

/* ---- streams: where bytes lie --------------------------------------------------------------- */

enum flink_stream_tag {
    FLINK_STREAM_NONE = 0,
    FLINK_STREAM_BYTES = 1,    /* inlined; the name is a would-be path */
    FLINK_STREAM_FILE = 2,     /* by absolute path */
    FLINK_STREAM_GROUPS = 3,   /* with key groups, an old form; groups */
    FLINK_STREAM_RELATIVE = 6, /* beside the _metadata */
    FLINK_STREAM_SEGMENT = 15, /* some bytes of a file that several streams share */
    FLINK_STREAM_EMPTY = 16,
};
struct flink_groups;
struct flink_stream {
    enum flink_stream_tag tag;
    struct bytes path;       /* or name */
    struct bytes data;       /* BYTES */
    int64_t size;            /* -1: not recorded */
    int64_t start;           /* SEGMENT */
    bool shared;             /* SEGMENT: its scope; else exclusive */
    struct bytes logical_id; /* SEGMENT */
    struct flink_groups *groups;
};
struct flink_range { /* key groups first .. first + count - 1 */
    uint32_t first, count;
};
struct flink_groups {
    struct flink_range range;
    int64_t *offsets; /* of each group in the stream */
    struct flink_stream stream;
};

/* ---- keyed state ---------------------------------------------------------------------------- */

enum flink_keyed_tag {
    FLINK_KEYED_NONE = 0,
    FLINK_KEYED_GROUPS_OLD = 3,      /* groups */
    FLINK_KEYED_INCREMENTAL_OLD = 5, /* incremental */
    FLINK_KEYED_SAVEPOINT = 7,       /* groups: a canonical savepoint's stream */
    FLINK_KEYED_CHANGELOG_OLD = 8,   /* changelog */
    FLINK_KEYED_CHANGES = 9,         /* changes, in memory */
    FLINK_KEYED_CHANGE_FILES_OLD = 10, /* parts */
    FLINK_KEYED_INCREMENTAL = 11,    /* incremental: files of a RocksDB or ForSt database */
    FLINK_KEYED_GROUPS = 12,         /* groups: a heap checkpoint */
    FLINK_KEYED_CHANGE_FILES = 13,   /* parts */
    FLINK_KEYED_CHANGELOG = 14,      /* changelog */
};
struct flink_db_file {
    struct bytes local_name; /* "000023.sst" */
    struct flink_stream stream;
};
struct flink_incremental {
    int64_t checkpoint_id;
    struct bytes backend_id;
    int64_t checkpointed_size; /* newly uploaded; -1: not known */
    struct flink_stream meta;
    size_t shared_count, private_count;
    struct flink_db_file *shared, *private;
};
struct flink_change {
    int32_t key_group; /* -1: a change of the states themselves */
    struct bytes bytes;
};
struct flink_change_part {
    int64_t offset;
    struct flink_stream stream;
};
struct flink_changes {
    int64_t from, to; /* CHANGES */
    size_t change_count;
    struct flink_change *changes;
    size_t part_count; /* CHANGE_FILES */
    struct flink_change_part *parts;
    int64_t size, checkpointed_size;
    struct bytes storage; /* "filesystem" */
};
struct flink_keyed;
struct flink_changelog {
    int64_t checkpointed_size, materialization_id, checkpoint_id;
    size_t materialized_count, change_count;
    struct flink_keyed *materialized, *changes;
};
struct flink_keyed {
    enum flink_keyed_tag tag;
    struct flink_range range;
    struct bytes handle_id; /* "" where the form has none */
    struct flink_groups *groups; /* that one of these which the tag names */
    struct flink_incremental *incremental;
    struct flink_changes *changes;
    struct flink_changelog *changelog;
};

/* ---- operator state and channels ------------------------------------------------------------ */

enum flink_mode { FLINK_SPLIT_DISTRIBUTE, FLINK_UNION, FLINK_BROADCAST };
const char *flink_mode_str(enum flink_mode mode);
struct flink_list {
    struct bytes name;
    enum flink_mode mode;
    size_t offset_count;
    int64_t *offsets;
};
#define FLINK_LISTS 4u
#define FLINK_LISTS_MERGED 17u
struct flink_operator_state {
    uint8_t tag; /* 0: none; FLINK_LISTS, or _MERGED with file merging */
    size_t list_count;
    struct flink_list *lists;
    struct bytes taskowned_dir, shared_dir; /* 17 */
    bool empty;                             /* 17 */
    struct flink_stream stream;
};
struct flink_channel {
    int32_t a, b; /* input: gate and channel; output: partition and subpartition */
    int64_t size;
    size_t offset_count;
    int64_t *offsets;
};
struct flink_channel_handle {
    bool merged; /* several channels of one stream; else one */
    int32_t subtask_index;
    int64_t size;
    struct flink_stream stream;
    size_t channel_count;
    struct flink_channel *channels;
};

/* ---- operators ------------------------------------------------------------------------------ */

struct flink_subtask {
    uint32_t index;
    bool finished; /* had ended: no state */
    bool has_managed, has_raw;
    struct flink_operator_state managed, raw;
    struct flink_keyed managed_keyed, raw_keyed;
    size_t input_count, output_count;
    struct flink_channel_handle *inputs, *outputs;
};
struct flink_operator {
    struct bytes name, uid; /* "" before version 5 */
    uint8_t id[FLINK_ID_BYTES];
    int32_t parallelism, max_parallelism;
    struct flink_stream coordinator;
    bool finished; /* all subtasks had ended */
    size_t subtask_count;
    struct flink_subtask *subtasks;
};
struct flink_master_state {
    int32_t version;
    struct bytes name, bytes;
};
struct flink_metadata {
    int32_t version;
    int64_t checkpoint_id;
    size_t master_count;
    struct flink_master_state *masters;
    size_t operator_count;
    struct flink_operator *operators;
    const struct java_value *properties; /* NULL before version 4 */
    size_t properties_offset, length, trailing_bytes;
};

/* true when the first bytes are Flink's magic. */
bool flink_metadata_recognise(struct bytes file);
/* Everything in `arena`, inlined bytes borrowed from `file`. `what` names the file in messages and
 * lives as long as the call. RC_CORRUPT with the offset, RC_VERSION, RC_LIMIT. */
MUST_USE enum rc flink_metadata_decode(struct bytes file, struct arena *arena, const char *what,
                                       struct flink_metadata *out, struct err *err);
/* The rules between its parts: parallelism, subtask indices, ranges of key groups, offsets within
 * their streams, nothing behind the end. RC_CORRUPT names operator, subtask and rule. */
MUST_USE enum rc flink_metadata_check(const struct flink_metadata *m, const char *what,
                                      struct err *err);
void flink_id_hex(const uint8_t id[FLINK_ID_BYTES], char out[2 * FLINK_ID_BYTES + 1]);
/* Every stream that names or holds bytes, with who owns it; a non-OK code stops. Handles of older
 * forms included. `role`: what the bytes are. */
enum flink_role {
    FLINK_ROLE_COORDINATOR,
    FLINK_ROLE_OPERATOR_STATE,
    FLINK_ROLE_KEYED_STREAM,
    FLINK_ROLE_DB_META,   /* what the states of a database are */
    FLINK_ROLE_DB_SHARED, /* its files; local_name */
    FLINK_ROLE_DB_PRIVATE,
    FLINK_ROLE_CHANGES, /* a change log: may be a little longer than recorded */
    FLINK_ROLE_CHANNEL,
};
struct flink_stream_use {
    const struct flink_operator *op;
    const struct flink_subtask *subtask; /* NULL: the coordinator's */
    enum flink_role role;
    struct bytes local_name;
    const struct flink_keyed *keyed; /* NULL: no keyed state */
    const struct flink_operator_state *lists;
    bool raw;
    const struct flink_stream *stream;
};
typedef enum rc flink_stream_fn(void *ctx, const struct flink_stream_use *use, struct err *err);
MUST_USE enum rc flink_metadata_each_stream(const struct flink_metadata *m, flink_stream_fn *fn,
                                            void *ctx, struct err *err);

#endif
