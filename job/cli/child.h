/* child.h - work of a verb in a process of its own: what reads a database that may be damaged in
 * ways nobody looked for can end the child, not the tool.
 *
 * The child shares stdout and stderr and comes back with an exit code. Only before the process has
 * made a thread. Thread: main's. */
#ifndef VARVE_JOB_CLI_CHILD_H
#define VARVE_JOB_CLI_CHILD_H

#include "job/cli/cli.h"

/* The code that `work` returned in the child; EXIT_WRONG, and that it was said, when the child was
 * ended by a signal while it read `what`. SIGINT, SIGTERM and SIGHUP end the child first, then this
 * process. */
int cli_in_child(struct cli *cli, const char *what, int (*work)(struct cli *cli, void *ctx),
                 void *ctx);

/* The same, with a scratch directory in $TMPDIR (else /tmp) for what the child opens: `scratch` is its
 * path while `work` runs. It goes afterwards, also when a signal asked for the end. */
int cli_in_child_with_scratch(struct cli *cli, const char *what, char scratch[FS_PATH_MAX],
                              int (*work)(struct cli *cli, void *ctx), void *ctx);
/* The same for look(cli, path, scratch). */
int cli_with_scratch(struct cli *cli, const char *path,
                     int (*look)(struct cli *cli, const char *path, const char *scratch_dir));

#endif
