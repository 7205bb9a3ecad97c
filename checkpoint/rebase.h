/* rebase.h - where files lie now whose absolute paths a _metadata names: for snapshots of others that
 * were moved. Plain values. */
#ifndef VARVE_CHECKPOINT_REBASE_H
#define VARVE_CHECKPOINT_REBASE_H

#include <stddef.h>

/* What is named below `from` lies below `to`; both absolute, without a slash at the end. */
struct rebase_rule {
    const char *from, *to;
};
/* The first that fits counts. `= {0}`: none. */
struct rebase {
    size_t count;
    const struct rebase_rule *rules;
};

#endif
