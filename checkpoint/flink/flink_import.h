/* flink_import.h - a snapshot of Flink's as one of ours, for a job that goes on from it: the way in.
 *
 * An operator of the job takes the state of that one of the snapshot which has its uid (one without a
 * uid: whose uid is its id): list and union states whose items are byte arrays, and keyed states of
 * its own names that fit (flink_fit.h), whichever form they lie in; of windows the timers are left
 * out, for they follow from the windows. What nobody takes over is refused by name, or dropped and
 * said, unless it has no entries. Keys and values keep their bytes, but of states that a mapping has
 * converted (flink_convert.h): those are sorted anew, since their keys hash elsewhere, and two of Flink's
 * keys that become one are refused.
 *
 * It is decided before anything is written. What is written is a savepoint of ours, complete with its
 * `_metadata` last (C2, C3); the snapshot itself is only read, as flink_keyed.h says (C13). The result
 * depends on the snapshot alone, not on its form or the order of its handles (C10). Memory: of one
 * key group's block; of an operator with converted states FLINK_IMPORT_SORT, the rest in scratch
 * files. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_H

#include "base/env.h"
#include "checkpoint/flink/flink_mapping.h"
#include "checkpoint/flink/flink_snapshot.h"
#include "checkpoint/metadata.h"

#define FLINK_IMPORT_SORT (64u << 20) /* bytes of entries that are sorted at a time */

/* An operator of the job that shall start. */
struct import_operator {
    const char *id;   /* 32 hex digits */
    const char *uid;  /* "": none */
    const char *name; /* as in the query */
    size_t state_count; /* keyed ones that it will open */
    const struct state_desc *states;
};
struct import_request {
    const struct env *env;
    const struct flink_snapshot *snapshot;
    size_t operator_count;
    const struct import_operator *operators;
    bool allow_non_restored; /* what nobody takes over is dropped */
    const struct flink_mapping *mapping; /* NULL: none */
    const char *scratch_dir; /* a directory that is there; what is made below it goes again */
};
struct flink_import; /* opaque */
/* Looks at every description, and decides; of a state whose name the job has none of, whether it has
 * entries. The request's pointers are borrowed until the release.
 * RC_INVALID: state that nobody takes over, or that does not fit, all of it by name; RC_UNSUPPORTED:
 * what cannot be read. */
MUST_USE enum rc flink_import_open(const struct import_request *r, struct flink_import **out,
                                   struct err *err);
void flink_import_free(struct flink_import *i); /* NULL is a no-op */
/* Our tree of it, as long as the import: its keyed handles have no files yet. */
const struct checkpoint_metadata *flink_import_tree(const struct flink_import *i);
/* "operator \"map\" (id ...): LIST state ...": what is dropped, a line each; as long as the import. */
const char *const *flink_import_dropped(const struct flink_import *i, size_t *count);

/* "operator \"totals\": state \"accState\" comes from \"counts\"; key k BIGINT: key, LongSerializer":
 * what is converted, a line for each column; in `arena`. */
const char **flink_import_converted(const struct flink_import *i, struct arena *arena,
                                    size_t *count);

/* Writes the savepoint, in a new directory below `below` that becomes `dir`; what a failure leaves of it
 * has no `_metadata`. RC_CORRUPT: bytes that are not what their description says. RC_INVALID: a value that
 * cannot go over, or two keys that become one. */
MUST_USE enum rc flink_import_write(struct flink_import *i, const char *below, char dir[FS_PATH_MAX],
                                    struct err *err);

#endif
