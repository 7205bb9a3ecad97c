/* rebase.h - where files lie now whose absolute paths a _metadata names: for snapshots of others that
 * were moved. Plain values. */
#ifndef VARVE_CHECKPOINT_REBASE_H
#define VARVE_CHECKPOINT_REBASE_H

#include "base/arena.h"
#include "base/status.h"

/* What is named below `from` lies below `to`; both absolute, without a slash at the end. */
struct rebase_rule {
    const char *from, *to;
};
/* The first that fits counts. `= {0}`: none. */
struct rebase {
    size_t count;
    const struct rebase_rule *rules;
};

/* "FROM=TO", two absolute paths or URIs; in `arena`. RC_INVALID: it is none. */
MUST_USE enum rc rebase_rule_parse(const char *text, struct arena *arena, struct rebase_rule *out,
                                   struct err *err);
/* Several, separated by REBASE_SEPARATOR, which no path of theirs can hold then. "": none. */
#define REBASE_SEPARATOR ';'
MUST_USE enum rc rebase_list_parse(const char *text, struct arena *arena, struct rebase *out,
                                   struct err *err);

#endif
