/* state_diff_priv.h - what state_diff.c, for varve's own snapshots, and state_diff_flink.c, for
 * Flink's, share. For them only. */
#ifndef VARVE_JOB_CLI_STATE_DIFF_PRIV_H
#define VARVE_JOB_CLI_STATE_DIFF_PRIV_H

#include "checkpoint/recovery.h"
#include "checkpoint/state_difference.h"
#include "job/cli/cli.h"
#include "job/cli/meter.h"
#include "job/cli/row_writer.h"

struct comparing {
    struct cli *cli;
    const char *paths[2];
    char scratch[FS_PATH_MAX];
    struct recovered snapshots[2]; /* varve's own */
    struct row_writer *rows;
    struct meter *meter;
};
/* A state's row. operator_word: its uid, else its name. */
MUST_USE enum rc diff_put_row(struct comparing *c, struct bytes operator_word, struct bytes state,
                              const struct entry_sum sums[ENTRY_CHANGES], const char *operator_id,
                              struct err *err);
/* Where what is opened of a side lies; made. */
MUST_USE enum rc diff_scratch(struct comparing *c, int side, const char **dir, struct err *err);
void diff_show_progress(void *ctx, uint64_t done_groups, uint64_t all_groups); /* ctx: the meter */
/* RC_UNSUPPORTED when their key groups are not the same. */
MUST_USE enum rc diff_check_groups(const char *operator_name, uint32_t first, uint32_t second,
                                   struct err *err);
/* Both were written by Flink: the rows of all their states. dirs: where their _metadata lies. */
MUST_USE enum rc diff_flink(struct comparing *c, const char *const dirs[2], struct err *err);

#endif
