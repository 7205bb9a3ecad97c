/* rocks_warmup.h - what goes on behind a restored database while its task works already: files that
 * came by a link are proven (C13), then compactions may run, then rows are read into the row cache
 * (rocks_load.h).
 *
 * Until everything is proven, blocks are read one at a time for single keys, each against its
 * checksum, and nothing else: no compaction, no scan, and no checkpoint names a file. A file that
 * is not what the checkpoint named breaks the backend (rocks_break), and with it the job.
 *
 * Thread: the task's, but for warmup_wait_proven: any. One thread of its own.
 */
#ifndef VARVE_BACKEND_ROCKS_WARMUP_H
#define VARVE_BACKEND_ROCKS_WARMUP_H

#include "backend/state_handle.h"

struct rocks_backend;
struct core_state;

struct warmup; /* opaque */
struct warmup *warmup_new(struct rocks_backend *b);
void warmup_free(struct warmup *w); /* stops and waits; NULL is a no-op */
/* The file of the database with this name is to be what `f` says. Before warmup_start. */
void warmup_add(struct warmup *w, const char *local_name, const struct state_file *f);
/* Proves at once what was added so far. */
MUST_USE enum rc warmup_prove(struct warmup *w, struct err *err);
/* Lets compactions run, now or when all is proven. */
MUST_USE enum rc warmup_start(struct warmup *w, struct err *err);
/* The state, which is open now, is to be loaded. After warmup_start. */
void warmup_load(struct warmup *w, struct core_state *s);
/* Waits until all is proven; RC_CORRUPT names file and reason. */
MUST_USE enum rc warmup_wait_proven(struct warmup *w, struct err *err);

#endif
