/* state_look.h - what `varve state` was asked, and what its two readers share: state_cmd.c for
 * varve's own snapshots, state_flink.c for Flink's. Thread: main's. */
#ifndef VARVE_JOB_CLI_STATE_LOOK_H
#define VARVE_JOB_CLI_STATE_LOOK_H

#include "checkpoint/recovery.h"
#include "job/cli/meter.h"
#include "job/cli/row_writer.h"

struct look {
    struct cli *cli;
    const char *path, *operator_word, *name, *key; /* NULL: not given */
    int64_t group, limit, largest;                 /* -1: not given */
    bool count, per_group;
    enum row_format format;
    char scratch[FS_PATH_MAX];
    struct recovered snapshot;
    struct meter *meter;
};
/* Neither a state nor a key nor a number of entries was asked for: what states there are. */
static inline bool look_lists_states(const struct look *l)
{
    return l->name == NULL && l->key == NULL && l->group < 0 && l->limit < 0 && l->largest < 0;
}
static inline bool look_wants_name(const struct look *l, struct bytes name)
{
    return l->name == NULL || bytes_eq(name, bytes_of_str(l->name));
}
/* Shows how far a walk is; ctx: the meter. */
void look_progress(void *ctx, uint64_t done_groups, uint64_t all_groups);

/* ---- rows ---- */
struct plain_column {
    const char *name;
    enum type_kind kind;
};
struct schema look_schema(struct arena *a, const struct plain_column *columns, uint32_t count);
/* The next column of a row. */
void look_put_text(struct batch_builder *b, uint32_t *column, struct bytes text);
void look_put_str(struct batch_builder *b, uint32_t *column, const char *text);
void look_put_num(struct batch_builder *b, uint32_t *column, uint64_t n);

#define LOOK_LIST_COLUMNS 15u
#define LOOK_COUNT_COLUMNS 6u
extern const struct plain_column look_list_columns[LOOK_LIST_COLUMNS];   /* which states there are */
extern const struct plain_column look_count_columns[LOOK_COUNT_COLUMNS]; /* --count */

/* What --count counts: entries of one state, in all or by key group. */
struct look_tally {
    struct bytes operator_word, state;
    struct row_writer *w;
    bool per_group;
    int64_t group; /* -1: of all */
    uint64_t entries, key_bytes, value_bytes;
};
/* One more entry, in order of key groups; key: with its key group of prefix_len bytes. */
MUST_USE enum rc look_tally_add(struct look_tally *t, uint32_t prefix_len, struct bytes key,
                                struct bytes value, struct err *err);
/* Behind the last entry. */
MUST_USE enum rc look_tally_end(struct look_tally *t, struct err *err);

/* A look at a snapshot of Flink's (state_flink.c). dir: absolute, where its `_metadata` lies. */
MUST_USE enum rc look_at_flink(struct look *l, const char *dir, struct err *err);

#endif
