/* state_handle.h - value types that say where the bytes of a snapshot lie. No behaviour, no I/O.
 *
 * Everything a handle points to lives in the arena of whoever made it (a snapshot's, or a decoded
 * _metadata's); handles are copied deep with the functions at the end when they move to another
 * lifetime.
 */
#ifndef VARVE_BACKEND_STATE_HANDLE_H
#define VARVE_BACKEND_STATE_HANDLE_H

#include "backend/keygroup.h"
#include "base/arena.h"
#include "base/hash.h"

enum file_scope {
    FILE_INLINE,    /* content in _metadata itself */
    FILE_EXCLUSIVE, /* in chk-<n>/ (or in the savepoint's directory): belongs to this snapshot alone
                     */
    FILE_SHARED,    /* in shared/: may belong to several checkpoints */
    FILE_TASKOWNED, /* in taskowned/: a log that a list state names; never of keyed state */
};
/* Some bytes of a snapshot. */
struct state_file {
    const char *local_name; /* name inside a RocksDB directory ("000023.sst"); "" for a stream */
    enum file_scope scope;
    const char *path; /* relative to the directory of _metadata ("../shared/<hex>.sst", "s-0.bin",
                         "../taskowned/<log>");
                         NULL inline */
    struct bytes inline_bytes; /* FILE_INLINE only */
    uint64_t size_bytes;
    struct digest128 digest;   /* XXH3-128 of the whole content */
    bool newly_written;        /* by this snapshot; false: an earlier checkpoint had it */
    /* Only in the view of a snapshot that Flink wrote (checkpoint/flink/flink_view.h); not stored: */
    bool no_digest;            /* digest tells files apart by their names and proves nothing */
    bool at_least;             /* size_bytes: what the file holds at least; it may be longer */
    uint64_t start;            /* where its bytes begin in a file that several share */
    const char *resolved_path; /* after recovery: where it lies now; not stored */
};

enum state_kind {
    STATE_VALUE = 1, /* numbers are stored: never reuse one */
    STATE_LIST = 2,
    STATE_MAP = 3,
    STATE_REDUCING = 4,
    STATE_AGGREGATING = 5,
    STATE_TIMER = 6,
};
#define STATE_FIXED_BYTES_MAX 65537u /* 2^16, and a map's null flag */
/* What a keyed state holds; part of every snapshot, so that a reader needs no job. Types are SQL
 * types in text ("ROW<`k` STRING, `d` BIGINT>"), compared on restore and shown side by side. */
struct state_desc {
    const char *name; /* "accState"; at most 255 bytes; the column family's name */
    enum state_kind kind;
    const char *key_type;
    const char *namespace_type; /* "VOID", "BIGINT" (a window's end) or "BYTES" */
    const char *user_key_type;  /* STATE_MAP; else "" */
    const char *value_type;     /* "ROW<`count` BIGINT, ...>"; "" for timers */
    /* Of each value as it is stored, a map's null flag included, the time of a time-to-live not; of
     * a list: of each element. 0: they vary in size. */
    uint32_t fixed_value_bytes; /* at most STATE_FIXED_BYTES_MAX */
    uint64_t ttl_ms; /* 0: none */
    const char
        *operand_operator; /* name of the merge operator whose operands may be in files; "" none */
    uint32_t operand_version;
};

/* Size of each stored row; 0: rows vary in size. */
static inline uint32_t state_desc_row_bytes(const struct state_desc *d)
{
    if (d->kind == STATE_LIST || d->fixed_value_bytes == 0)
        return 0;
    return d->fixed_value_bytes + (d->ttl_ms == 0 ? 0 : 8);
}

/* NULL: there is none of that name. */
const struct state_desc *state_desc_find(const struct state_desc *states, size_t count,
                                         const char *name);
/* Whether its values are rows of totals: a database merges their operands by blind.h. */
bool state_desc_has_totals(const struct state_desc *d);

enum keyed_handle_kind {
    KEYED_ROCKS = 1,  /* files of one RocksDB database */
    KEYED_STREAM = 2, /* one stream of entries ordered by key group, docs/FORMAT.md */
};
/* Keyed state of one operator's subtask (or a part of it after a rescale). */
struct keyed_handle {
    enum keyed_handle_kind kind;
    struct key_group_range range;
    uint32_t key_group_count;
    const char *backend_id; /* identity of the local database, 32 hex digits: names are only equal
                               within it */
    size_t state_count;
    struct state_desc *states; /* KEYED_STREAM: index = state id in the stream */
    size_t file_count;
    struct state_file *files;  /* KEYED_STREAM: exactly one */
    size_t group_offset_count; /* KEYED_STREAM: range size; offset of each group's entries */
    uint64_t *group_offsets;
    uint64_t entry_count; /* live entries when known, else 0 */
    /* How far the clock of time-to-live had come (ttl.h): nothing that is left out expired later. 0:
     * not recorded. */
    int64_t ttl_clock_ms;
};

enum list_mode {
    LIST_SPLIT = 1,     /* items are dealt out anew on restore */
    LIST_UNION = 2,     /* every subtask gets all items */
    LIST_BROADCAST = 3, /* every subtask has the same items; one copy is used */
};
/* One operator state without keys: a list of opaque items. */
struct list_state {
    const char *name;
    enum list_mode mode;
    size_t item_count;
    struct bytes *items;
};

/* Rows on their way to a subtask when it snapshot ahead of them: of one edge into the first operator of its chain. The
 * bytes are job/runtime/inflight_file.h's. */
struct channel_handle {
    const char *from_id; /* of the operator that sent them, 32 hex digits */
    uint32_t ordinal;    /* among the edges between these two operators */
    const char *partitioning; /* how the edge spread rows: "HASH(0)", "FORWARD", "REBALANCE", "GLOBAL" */
    const char *row_type;     /* SQL types of the columns: "BIGINT, STRING" */
    uint64_t row_count;
    bool updates; /* some of the rows take back or change others: their order counts */
    struct state_file file;
};

/* Everything one subtask of one operator hands to a checkpoint. */
struct subtask_state {
    uint32_t subtask_index;
    bool finished; /* had ended before the barrier; has no state */
    size_t keyed_count;
    struct keyed_handle *keyed;
    size_t list_count;
    struct list_state *lists;
    size_t log_count; /* files that items of its lists name: logs of a write-ahead sink */
    struct state_file *logs;
    size_t channel_count; /* rows in flight to it (unaligned checkpoints) */
    struct channel_handle *channels;
    /* Of a snapshot that Flink wrote: streams of lists, channels and coordinators. */
    size_t stream_count;
    struct state_file *streams;
};

void keyed_handle_copy(struct arena *to, const struct keyed_handle *from, struct keyed_handle *out);
void state_file_copy(struct arena *to, const struct state_file *from, struct state_file *out);
void channel_handle_copy(struct arena *to, const struct channel_handle *from,
                         struct channel_handle *out);
void list_state_copy(struct arena *to, const struct list_state *from, struct list_state *out);
void subtask_state_copy(struct arena *to, const struct subtask_state *from,
                        struct subtask_state *out);
/* Sizes for REST and inspect: all bytes named; and of those the ones this snapshot wrote. */
void subtask_state_sizes(const struct subtask_state *s, uint64_t *full_bytes, uint64_t *new_bytes);

#endif
