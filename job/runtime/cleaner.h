/* cleaner.h - does deletions one after the other on a thread of its own, off the way of the next
 * checkpoint.
 *
 * In order of submission, so that what the coordinator decided first goes first. Without a thread
 * (a job stepped by hand) a task runs at once. Thread: submit and drain on one thread at a time;
 * the work runs on the cleaner's. */
#ifndef VARVE_JOB_RUNTIME_CLEANER_H
#define VARVE_JOB_RUNTIME_CLEANER_H

#include "base/status.h"

#include <stdint.h>

struct cleaner;
struct cleaner *cleaner_new(bool threaded);
void cleaner_free(struct cleaner *c); /* does what is left first */
/* `run` gets ctx and id. */
void cleaner_submit(struct cleaner *c, void (*run)(void *ctx, uint64_t id), void *ctx, uint64_t id);
void cleaner_drain(struct cleaner *c); /* until all that was submitted is done */

#endif
