/* rocks_load.h - after a restore, rows of states that fit into the row cache are read into it by
 * one scan, behind the task: a row by scan costs a tenth of a row by lookup.
 *
 *     reading thread  scans a family, hands over batches of rows in a bounded queue
 *     task            between its own batches puts them into the cache, where keys are not cached
 *                     yet (row_cache_load); after the last one the state is complete
 *
 * A state whose load does not come to its end (no room, an eviction) goes on as one of which some
 * rows are cached.
 *
 * Thread: the task's, but for load_run: the reading thread.
 */
#ifndef VARVE_BACKEND_ROCKS_LOAD_H
#define VARVE_BACKEND_ROCKS_LOAD_H

#include "backend/keyed_core.h"

#include <stdatomic.h>

struct rocks_backend;

struct load; /* opaque */
struct load *load_new(struct rocks_backend *b);
void load_free(struct load *l); /* load_run has returned; NULL is a no-op */
/* The state is to be loaded, from its rows as they are from now on. */
void load_add(struct load *l, struct core_state *s);
/* Reads all states that were added, until there is none or *stop. */
MUST_USE enum rc load_run(struct load *l, const atomic_bool *stop, struct err *err);
bool load_pending(struct load *l); /* a state was added and not begun */
/* Wakes load_run after *stop was set. Any thread. */
void load_wake(struct load *l);
/* The task looked rows up for so long, which a scan would have read: the next step waits as long
 * for rows to come, if need be. So a load gets its share of a processor where there is none to
 * spare, and a task at most halves its rate for it. */
void load_owe(struct load *l, int64_t lookup_ns);
/* Before a batch of the task: takes in what has been read, some ten thousand rows of it, or what
 * comes in the time owed; at most 20 ms. */
MUST_USE enum rc load_step(struct load *l, struct err *err);
uint64_t load_rows(const struct load *l); /* that came in */

#endif
