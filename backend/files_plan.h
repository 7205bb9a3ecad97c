/* files_plan.h - how the open files of a process are divided among RocksDB databases. Pure; any thread. */
#ifndef VARVE_BACKEND_FILES_PLAN_H
#define VARVE_BACKEND_FILES_PLAN_H

#include <stdint.h>

#define FILES_RESERVE 64u /* of the process: its own, REST, locks, files on their way into a snapshot */

/* What the process must be allowed to open; reserve: beside the databases. */
uint64_t files_plan_least(uint64_t reserve, uint32_t databases);
/* What each of them (at least 1) may have open of `most`, which is not below the least; or less, if less
 * is wanted (-1: no wish). */
int files_plan_each(uint64_t most, uint64_t reserve, uint32_t databases, int wanted);

#endif
