/* sim_lsm.h - a keyed backend whose snapshots share files, for jobs on a simulated disk: RocksDB
 * writes past every seam of ours.
 *
 * A program linked with -Wl,--wrap=keyed_backend_open gets it where its job opens a `hashmap`
 * backend. The rows are those of the hashmap; a snapshot is a handle of kind KEYED_ROCKS of
 *     - one file with all rows, new each time
 *     - LSM_WINDOW files that come and go as those of a database do: the window moves on by one with
 *       every second snapshot and round a ring of LSM_RING contents, so that successive checkpoints
 *       share files, a name that was deleted comes again, and all subtasks publish the same names
 *     - a MANIFEST with the rows' handle
 * Like a database it has its rows in an image when keyed_snapshot_take returns. A restore proves
 * every file. Thread: as keyed_backend.h; for jobs in one thread. */
#ifndef VARVE_TESTS_LIB_SIM_LSM_H
#define VARVE_TESTS_LIB_SIM_LSM_H

#include "backend/keyed_backend.h"

#define LSM_WINDOW 3u
#define LSM_RING 7u

/* Whether backends that are opened from now on are so; snapshots of one kind restore only into it. */
void sim_lsm_use(bool on);
/* How many files were named by a snapshot that its predecessor had named already. */
uint64_t sim_lsm_shared_files(void);

#endif
