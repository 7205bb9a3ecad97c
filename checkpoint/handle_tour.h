/* handle_tour.h - every keyed handle of many snapshots, one after the other, in a process of its
 * own (apart.h): for looks into databases, which can end the process that opens them.
 *
 * A child that ends before its work is done had begun with some handle: that is told, and another
 * child goes on behind it. Snapshots are read one at a time. Thread: as apart_run.
 */
#ifndef VARVE_CHECKPOINT_HANDLE_TOUR_H
#define VARVE_CHECKPOINT_HANDLE_TOUR_H

#include "base/fs.h"
#include "checkpoint/apart.h"
#include "checkpoint/metadata.h"

struct tour_place { /* a handle */
    uint32_t snapshot, subtask;
    const char *operator_name; /* in the tour's arena; another string for each place */
};
struct handle_tour {
    struct fs *fs;
    struct arena *arena;
    uint32_t snapshot_count;
    void *ctx;
    /* Both in the child. dir_of: of a snapshot; NULL: it is left out. A handle that is not wanted
     * is passed over. */
    const char *(*dir_of)(void *ctx, uint32_t snapshot);
    bool (*wanted)(void *ctx, const struct keyed_handle *h);
    /* In the child: looks into a handle and tells by tour_tell. */
    void (*look)(void *ctx, struct apart_ear *ear, const struct keyed_handle *h);
    /* Here. Bytes of a message come from a process that may be damaged. */
    void (*heard)(void *ctx, const struct tour_place *at, struct bytes message);
    /* Here: the child was ended (apart_run's `end`) while it looked into a handle. */
    void (*ended)(void *ctx, const struct tour_place *at, const char *end);
};
void tour_tell(struct apart_ear *ear, struct bytes message);
MUST_USE enum rc handle_tour_run(const struct handle_tour *tour, struct err *err);

#endif
