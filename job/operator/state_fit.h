/* state_fit.h - what becomes of the keyed states that a snapshot has of an operator: which are taken
 * as they are, which are rewritten, which start empty, which are dropped, and what is refused (B24,
 * B25). Looks at descriptions alone, before anything starts; keyed_backend_open does the rest. Pure;
 * any thread. */
#ifndef VARVE_JOB_OPERATOR_STATE_FIT_H
#define VARVE_JOB_OPERATOR_STATE_FIT_H

#include "checkpoint/assign.h"

struct fit_request {
    const char *operator_name;
    size_t old_count; /* states in the snapshot */
    const struct state_desc *old;
    bool allow_non_restored; /* what does not fit may be dropped where that gives no wrong result */
    struct arena *arena;     /* of what is given back; outlives the restore, as do the old states */
};
/* States that must be the same: a new one starts empty, one that is gone is dropped if that is
 * allowed. RC_INVALID shows old and new side by side, column by column, and what can be done. */
MUST_USE enum rc state_fit_same(const struct fit_request *r, const struct state_desc *states,
                                size_t count, struct state_fit *out, struct err *err);
/* RC_INVALID with the lines that say what does not fit ("\n state ...:\n  key ..."). way_out: what
 * can be done about it. */
MUST_USE enum rc state_fit_refuse(const struct fit_request *r, const char *lines,
                                  const char *way_out, struct err *err);
/* The way out when nothing of the operator's state can be kept. */
#define STATE_FIT_START_ANEW                                                                       \
    "change the query back, or give the changed operator another 'varve.uid' and start with -n "   \
    "(--allow-non-restored-state): it then starts empty"

#endif
