/* verify_priv.h - what verify.c, verify_deep.c, verify_flink.c and verify_flink_deep.c share. For them only. */
#ifndef VARVE_CHECKPOINT_VERIFY_PRIV_H
#define VARVE_CHECKPOINT_VERIFY_PRIV_H

#include "checkpoint/file_set.h"
#include "checkpoint/verify.h"

struct verify {
    struct fs *fs;
    const struct verify_options *options;
    struct verify_report *report;
    struct file_set *files;
    struct arena *scratch; /* one snapshot's _metadata at a time */
    struct verify_fault *faults;
    size_t fault_count, fault_cap;
    struct verify_unproven *unproven;
    size_t unproven_count, unproven_cap;
    struct verify_left_over *left_over;
    size_t left_over_count, left_over_cap;
};

struct verify_fault *verify_add_fault(struct verify *v, struct verify_fault fault);
/* The snapshot shares the fault; in ascending order. */
void verify_add_sharer(struct verify *v, struct verify_fault *f, uint32_t snapshot);
/* Reads the _metadata of a snapshot into scratch memory. false: it cannot be used, which is
 * noted. */
bool verify_read_snapshot(struct verify *v, uint32_t snapshot, struct checkpoint_metadata *m);

/* Looks into the databases and streams of all snapshots that are clean so far, in a child: faults
 * of files are set in v->files, of whole handles are added. An SST that several share is looked
 * into once. */
MUST_USE enum rc verify_deep(struct verify *v, struct err *err);

/* Proves what can be proven of the streams of Flink's snapshots, in a child: faults of files are set
 * in v->files, of what is inlined are added, and what nothing proves is noted. */
MUST_USE enum rc verify_flink(struct verify *v, struct err *err);
void verify_add_unproven(struct verify *v, struct verify_unproven u);
bool verify_has_flinks(const struct verify *v); /* a snapshot that Flink wrote */

/* Then reads the entries of Flink's keyed state whose files are right so far, in a child: faults are
 * added, what cannot be judged and what a rescale left is noted. */
MUST_USE enum rc verify_flink_deep(struct verify *v, struct err *err);

#endif
