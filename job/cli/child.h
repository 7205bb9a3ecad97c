/* child.h - work of a verb in a process of its own: what reads a database that may be damaged in
 * ways nobody looked for can end the child, not the tool.
 *
 * The child shares stdout and stderr and comes back with an exit code. Only before the process has
 * made a thread. Thread: main's. */
#ifndef VARVE_JOB_CLI_CHILD_H
#define VARVE_JOB_CLI_CHILD_H

#include "job/cli/cli.h"

/* The code that `work` returned in the child; EXIT_WRONG, and that it was said, when the child was
 * ended by a signal while it read `what`. */
int cli_in_child(struct cli *cli, const char *what, int (*work)(struct cli *cli, void *ctx),
                 void *ctx);

/* A scratch directory in $TMPDIR (else /tmp) for what a child opens there; scratch_remove takes it
 * away (base/scratch.h). */
MUST_USE enum rc cli_scratch_make(struct cli *cli, char dir[FS_PATH_MAX], struct fs_file **lock,
                                  struct err *err);
/* The code of look(cli, path, scratch), with a scratch directory that goes afterwards. */
int cli_with_scratch(struct cli *cli, const char *path,
                     int (*look)(struct cli *cli, const char *path, const char *scratch_dir));

#endif
