/* mapping_draft.h - `varve inspect --mapping`: a mapping of a snapshot of Flink's to a job, drafted. Thread: main's. */
#ifndef VARVE_JOB_CLI_MAPPING_DRAFT_H
#define VARVE_JOB_CLI_MAPPING_DRAFT_H

#include "job/cli/cli.h"

/* Of the snapshot at `path` and the first INSERT of a script (NULL: of no job), on stdout. The exit
 * code. args: those of cli_begin, which has -c and -D, and REBASE_OPTION. */
int mapping_draft(struct cli *cli, const struct args *args, const char *path, const char *job_file);

#endif
