/* export_to.h - what `varve export` was asked, and its formats other than varve's own; for
 * export_*.c only. Thread: main's. */
#ifndef VARVE_JOB_CLI_EXPORT_TO_H
#define VARVE_JOB_CLI_EXPORT_TO_H

#include "job/cli/cli.h"

struct export_request {
    const char *path;
    char dir[FS_PATH_MAX], scratch[FS_PATH_MAX];
    uint32_t key_group_count; /* 0: as they are */
};
/* In the child; exit codes. */
int export_to_flink_savepoint(struct cli *cli, const struct export_request *e);

#endif
