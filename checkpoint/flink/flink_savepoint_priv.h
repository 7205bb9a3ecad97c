/* flink_savepoint_priv.h - what the parts of flink_savepoint.h share; for flink_savepoint*.c only */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SAVEPOINT_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SAVEPOINT_PRIV_H

#include "checkpoint/flink/flink_canonical.h"
#include "checkpoint/flink/flink_copy.h"
#include "checkpoint/flink/flink_keyed.h"
#include "checkpoint/flink/flink_savepoint.h"
#include "checkpoint/flink/flink_target.h"

struct flink_saving {
    const struct env *env;
    struct flink_places *places;
    const struct flink_savepoint_options *options;
    struct flink_savepoint_result *result;
    struct arena *arena; /* of the new tree */
    struct flink_target *target;
    struct flink_copy copy; /* as it lies, into the target */
    uint64_t done_groups, all_groups;
};

/* After the last operator. */
enum rc flink_saving_publish(struct flink_saving *v, const struct flink_metadata *out,
                             struct err *err);
/* rc: how it went. Counts what was written, or removes it; then target and arena are gone. */
enum rc flink_saving_end(struct flink_saving *v, const char *dir, enum rc rc, struct err *err);

/* A canonical stream under way, for *out; `= {0}`, and released whatever came. */
struct flink_keyed_writing {
    struct flink_file file;
    struct flink_canonical stream;
    struct flink_keyed *out;
};
void flink_keyed_begin(struct flink_saving *v, struct bytes description, struct flink_range range,
                       uint32_t key_group_count, struct flink_keyed *out,
                       struct flink_keyed_writing *w);
enum rc flink_keyed_end(struct flink_saving *v, struct flink_keyed_writing *w, struct err *err);
void flink_keyed_release(struct flink_keyed_writing *w);

/* ---- what a subtask has: the backend's handle, and timers beside it ---- */
#define FLINK_PARTS_MAX 2u
struct flink_part { /* one handle: its states follow those of the ones before it */
    struct flink_reader *reader;
    struct flink_scan *scan;
    uint32_t first_state;
    bool in_order;
    struct bytes key, value; /* of the next entry; key.data NULL: the end */
    uint32_t group;          /* UINT32_MAX: the end */
    bool given;              /* the caller has it: it goes on first */
};
struct flink_parts {
    struct flink_saving *v;
    const struct flink_operator *op;
    struct arena *arena; /* descriptions */
    size_t count;
    struct flink_part parts[FLINK_PARTS_MAX];
    struct flink_header headers[FLINK_PARTS_MAX];
    struct flink_range range;
};
/* Close also after an error. RC_UNSUPPORTED: changes of a changelog, states that are cut off. */
enum rc flink_parts_open(struct flink_saving *v, const struct flink_operator *op,
                         const struct flink_subtask *from, struct flink_parts *out,
                         struct err *err);
void flink_parts_close(struct flink_parts *p);
/* Before the first entry; all parts' entries, key group by key group. *next NULL: the end. */
enum rc flink_parts_begin(struct flink_parts *p, struct err *err);
enum rc flink_parts_next(struct flink_parts *p, struct flink_part **next, struct err *err);
/* The state of the last entry of a part, in a description of all parts. */
static inline uint32_t flink_part_state(const struct flink_part *p)
{
    return p->first_state + flink_scan_state_id(p->scan);
}

/* Keyed state of all subtasks into as many key groups as out has: `subtasks` of it are there already,
 * as many as its parallelism. */
enum rc flink_savepoint_regroup(struct flink_saving *v, const struct flink_operator *from,
                                struct flink_operator *out, struct err *err);

/* Both keyed handles of a subtask -> one; *out of tag NONE: there is no keyed state. */
enum rc flink_savepoint_keyed(struct flink_saving *v, const struct flink_operator *op,
                              const struct flink_subtask *from, struct flink_keyed *out,
                              struct err *err);

#endif
