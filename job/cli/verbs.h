/* verbs.h - one function a verb of the `varve` command: parse its arguments, do it, return an exit
 * code (cli.h). */
#ifndef VARVE_JOB_CLI_VERBS_H
#define VARVE_JOB_CLI_VERBS_H

#include "job/cli/cli.h"

int verb_run(struct cli *cli, int argc, char **argv);   /* run_cmd.c */
int verb_sql(struct cli *cli, int argc, char **argv);   /* sql_cmd.c */
int verb_serve(struct cli *cli, int argc, char **argv); /* serve_cmd.c */
int verb_list(struct cli *cli, int argc, char **argv); /* control_cmd.c: clients of a REST server */
int verb_stop(struct cli *cli, int argc, char **argv);
int verb_savepoint(struct cli *cli, int argc, char **argv);
int verb_checkpoint(struct cli *cli, int argc, char **argv);
int verb_cancel(struct cli *cli, int argc, char **argv);
int verb_inspect(struct cli *cli, int argc,
                 char **argv); /* inspect_cmd.c: checkpoint directories */
int verb_orphans(struct cli *cli, int argc, char **argv);
int verb_verify(struct cli *cli, int argc, char **argv); /* verify_cmd.c */
int verb_du(struct cli *cli, int argc, char **argv);     /* du_cmd.c */
int verb_diff(struct cli *cli, int argc, char **argv);   /* diff_cmd.c */
int verb_state(struct cli *cli, int argc, char **argv); /* state_cmd.c */
int verb_export(struct cli *cli, int argc, char **argv); /* export_cmd.c */
/* import_cmd.c; none of cli_verbs: argv[1] is the process that started it for this. */
int verb_import(struct cli *cli, int argc, char **argv);

#endif
