/* sql_cmd.c - varve sql. See verbs.h */
#include "job/cli/verbs.h"
int verb_sql(struct cli *cli, int argc, char **argv) { (void)argc; (void)argv; return cli_error(cli, 2, "not yet"); }
