/* rocks_expire.h - so that what has expired leaves the database within a bounded time, read or not:
 * files that hold nothing else are compacted.
 *
 * A file that was there `ttl` ago holds only rows older than that: all of them have expired. Each
 * snapshot looks for such files and has one thread compact the key ranges they span, to the bottom,
 * with the filter that leaves expired rows out (rocks_cf_set_filter). So a row is gone from the
 * database at the latest its time-to-live and two snapshots after it expired; and a file is read
 * and written for it at most once in its time-to-live.
 *
 * Thread: the snapshot's writer, one at a time; rocks_expire_free when none runs.
 */
#ifndef VARVE_BACKEND_ROCKS_EXPIRE_H
#define VARVE_BACKEND_ROCKS_EXPIRE_H

#include "backend/rocks.h"
#include "base/env.h"

struct rocks_expire; /* opaque; of one database */
struct rocks_expire *rocks_expire_new(const struct env *env, struct rocks_db *db);
void rocks_expire_free(struct rocks_expire *e); /* ends a compaction; NULL is a no-op */

/* One look: begin, each family with a time-to-live, end, which may start the compaction. While one
 * runs, files are only noted. now_ms: what the clock of time-to-live says, asked anew for each. */
void rocks_expire_begin(struct rocks_expire *e, int64_t now_ms);
MUST_USE enum rc rocks_expire_look(struct rocks_expire *e, struct rocks_cf *cf, uint64_t ttl_ms,
                                   struct err *err);
void rocks_expire_end(struct rocks_expire *e, int64_t now_ms);

#endif
