/* big_history.h - a job's directory as years leave it: many checkpoints, many shared files, quickly.
 *
 * Checkpoint n (1..) names `window` shared files, of which `step` are new: file i is in the
 * checkpoints from i / step + 1 - (window / step - 1) on. Two subtasks of "GroupAggregate[k]" share
 * them out; a source has a position. All files are there with their digests; content is a few bytes
 * of text, no databases: what opens them finds none. Nothing is synced. */
#ifndef VARVE_TESTS_LIB_BIG_HISTORY_H
#define VARVE_TESTS_LIB_BIG_HISTORY_H

#include "checkpoint/metadata.h"

#define BIG_HISTORY_JOB_ID "b16a5ed1b16a5ed1b16a5ed1b16a5ed1"

struct big_history {
    const char *root; /* made if absent; the job's directory comes into it */
    uint64_t checkpoints;
    uint32_t window, step; /* window: a multiple of 2 * step */
    uint32_t strays;       /* shared files that nobody names */
};
/* Files in shared/. */
uint64_t big_history_files(const struct big_history *h);
MUST_USE enum rc big_history_make(struct fs *fs, const struct big_history *h, struct err *err);

#endif
