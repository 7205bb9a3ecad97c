/* rebase.h - the option --rebase FROM=TO of the verbs that look at snapshots of Flink's, which name
 * shared files by absolute path. */
#ifndef VARVE_JOB_CLI_REBASE_H
#define VARVE_JOB_CLI_REBASE_H

#include "checkpoint/rebase.h"
#include "job/cli/cli.h"

#define REBASE_OPTION                                                                              \
    {                                                                                              \
        .name = "--rebase", .value = "FROM=TO", .repeats = true,                                   \
        .help = "what Flink named below FROM lies below TO now"                                    \
    }
/* Its rules, in cli->arena. RC_INVALID: no "FROM=TO" of two absolute paths. */
MUST_USE enum rc rebase_parse(struct cli *cli, const struct args *args, struct rebase *out,
                              struct err *err);

/* All that was given of an option, which may be given again, as `varve.restore.rebase` has it; in
 * cli->arena. */
const char *rebase_join(struct cli *cli, const struct arg_option *o);

#endif
