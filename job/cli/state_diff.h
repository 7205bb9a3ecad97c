/* state_diff.h - varve diff --state: keys added, changed and removed, of each keyed state of two
 * snapshots. Thread: main's. */
#ifndef VARVE_JOB_CLI_STATE_DIFF_H
#define VARVE_JOB_CLI_STATE_DIFF_H

#include "job/cli/cli.h"

/* From the snapshot at path a to that at b, as rows on stdout; an exit code. */
int state_diff(struct cli *cli, const char *a, const char *b);

#endif
