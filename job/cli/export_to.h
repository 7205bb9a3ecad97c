/* export_to.h - what `varve export` was asked, and its formats other than varve's own; for
 * export_*.c only. Thread: main's. */
#ifndef VARVE_JOB_CLI_EXPORT_TO_H
#define VARVE_JOB_CLI_EXPORT_TO_H

#include "checkpoint/flink/flink_edit.h"
#include "checkpoint/flink/flink_snapshot.h"
#include "job/cli/cli.h"

struct export_request {
    const char *path;
    char dir[FS_PATH_MAX], scratch[FS_PATH_MAX];
    uint32_t key_group_count; /* 0: as they are */
    bool link; /* of flink-native */
    struct flink_edits edits; /* --drop, --rename: of snapshots of Flink's */
};
/* In the child; exit codes. */
int export_to_flink_savepoint(struct cli *cli, const struct export_request *e);
int export_to_flink_native(struct cli *cli, const struct export_request *e);

static inline bool export_edits(const struct export_request *e)
{
    return e->edits.drop_count + e->edits.rename_count > 0;
}
/* dir: of a snapshot that Flink wrote. *edited: its tree after the edits, in the command's arena. Release
 * `from` also after an error (export_flink.c). */
MUST_USE enum rc export_open_flink(struct cli *cli, const struct export_request *e, const char *dir,
                                   struct flink_snapshot *from, struct flink_metadata *edited,
                                   struct err *err);

#endif
