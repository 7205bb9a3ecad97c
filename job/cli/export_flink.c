/* export_flink.c - what an export reads of a snapshot of Flink's, after --drop and --rename. See export_to.h */
#include "job/cli/export_to.h"

enum rc export_open_flink(struct cli *cli, const struct export_request *e, const char *dir,
                          struct flink_snapshot *from, struct flink_metadata *edited,
                          struct err *err)
{
    RETURN_IF_ERR(flink_snapshot_open(cli->env.fs, dir, &cli->rebase, cli->arena, from, err));
    return flink_edit(&from->meta, &e->edits, cli->arena, edited, err);
}
