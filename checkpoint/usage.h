/* usage.h - how many bytes the snapshots at a path take on disk, whose they are, and what deleting
 * each would free.
 *
 * Bytes are counted by inode: a file with several names is there once. What lies below the path
 * and no readable _metadata names is counted apart. Of one chk-<n> the others of its job are
 * looked at as well: only so can be said what it shares. Nothing is written or locked. Memory
 * grows with the files, not with their uses. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_USAGE_H
#define VARVE_CHECKPOINT_USAGE_H

#include "base/env.h"
#include "checkpoint/metadata.h"
#include "checkpoint/rebase.h"
#include "checkpoint/snapshot_list.h"

struct usage_sum {
    uint64_t count, bytes; /* of files */
};
enum usage_status { USAGE_COMPLETE, USAGE_UNREADABLE, USAGE_INCOMPLETE };
const char *usage_status_str(enum usage_status s);
struct snapshot_usage {
    const char *dir;
    uint64_t checkpoint_id;
    enum usage_status status;
    const char *reason;          /* why it is unreadable; else "" */
    struct usage_sum named;      /* files that its _metadata names, as recorded there */
    struct usage_sum alone;      /* of those, what no other names, there or not */
    uint64_t inline_bytes;       /* in the _metadata itself */
    struct usage_sum exclusive;  /* files on disk that only it names, and its _metadata */
    struct usage_sum shared;     /* that others name as well */
    /* That deleting it alone would give back: exclusive, and without another name anywhere. */
    struct usage_sum freed;
};
struct operator_usage {
    char id[OPERATOR_ID_LEN + 1];
    const char *name;
    struct usage_sum exclusive, shared; /* its files on disk that one snapshot names; several */
};
/* Of the files of an operator: those of one state, where that was asked for. */
struct state_usage {
    const char *operator_id, *operator_name;
    /* NULL: files of no one state: a database's own, streams of all states, unknown ones. */
    const char *state;
    struct usage_sum exclusive, shared;
};
#define USAGE_ALL SIZE_MAX
struct usage_report {
    struct arena *arena; /* owns all below */
    struct snapshot_list list; /* of one checkpoint: its job's */
    size_t only;               /* the one that was asked for; USAGE_ALL */
    size_t snapshot_count;
    struct snapshot_usage *snapshots;
    size_t operator_count; /* of all, or of the one */
    struct operator_usage *operators;
    size_t state_count; /* with a scratch directory; else 0 */
    struct state_usage *states;
    struct usage_sum all;     /* below the path, and what is named elsewhere */
    /* Of those, what no readable _metadata names; LOCK, notes and taskowned/ apart. */
    struct usage_sum unnamed;
    /* Of those, what has names elsewhere too: deleting frees nothing of it. */
    struct usage_sum linked;
    struct usage_sum missing; /* named, and not there */
    /* What they name is not known: it counts as unnamed, or as not shared. */
    size_t unreadable_count;
};
/* scratch_dir: also tells states apart, for which each database with files not yet known is
 * opened, in a process of its own (handle_tour.h); a directory that is there, what is made in it
 * goes again; NULL: no. rebase: for snapshots of Flink's; NULL: none. Codes as snapshot_list_make. Release after every call. */
MUST_USE enum rc usage_look(struct fs *fs, const char *path, const char *scratch_dir,
                            const struct rebase *rebase, struct look_watch watch,
                            struct usage_report *out, struct err *err);
void usage_report_release(struct usage_report *r);

#endif
