/* links: sink */
/* crash_file_sink.c - power fails, or the process dies, at every operation of open, write, prepare,
 * commit and recovery.
 *
 * The run writes rows, takes checkpoints and commits them. After the crash a new run opens the sink
 * from the last checkpoint that was complete, and goes on behind its last row. At the end each row
 * is visible exactly once and no hidden file of ours is left. Checked besides: after any crash no
 * row is visible that no checkpoint held, and none twice (C7, C8). Then the recovery itself is
 * crashed at every operation, and run again. */
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"
#include "tests/lib/sink_rig.h"

#include <inttypes.h>

#define ROWS 60
#define ROWS_A_CHECKPOINT 12

static const struct {
    const char *name;
    struct rolling_policy rolling;
    unsigned buckets;
    bool run_known_dead;
    unsigned failing_checkpoint; /* this one is prepared and never completes */
} variants[] = {
    {"a part a checkpoint", {.on_checkpoint = true}, 1, true, 0},
    {"parts go on over checkpoints", {.size_bytes = 40}, 1, true, 0},
    {"never closed before the end", {0}, 1, true, 2},
    {"two buckets, by size", {.size_bytes = 20}, 2, true, 3},
    {"by inactivity, old run may live", {.inactivity_ms = 2}, 1, false, 0},
    {"open parts are copied", {.size_bytes = 30}, 2, false, 2},
};

/* What is durable outside the sink's disk. */
struct job {
    struct sink_snapshot checkpoint;
    bool has_checkpoint;
    uint64_t checkpoint_id, next_id;
    uint32_t row; /* rows 1..row are in it */
    unsigned run; /* a new uuid each */
};

/* From the last checkpoint to the end; RC_OK when the end was reached. */
static enum rc run(struct sink_rig *rig, struct job *job, unsigned failing, struct err *err)
{
    char uuid[UUID_LEN + 1];
    uint32_t row = job->has_checkpoint ? job->row : 0;
    struct sink *s = NULL;
    enum rc rc;

    snprintf(uuid, sizeof uuid, "%08u-1111-4111-8111-111111111111", ++job->run);
    rig->config.uuid = uuid;
    GOTO_IF_ERR(
        file_sink_open(&rig->config, job->has_checkpoint ? &job->checkpoint : NULL, &s, err));
    while (row < ROWS) {
        int64_t next;
        struct sink_snapshot made;
        uint64_t id;

        for (int i = 0; i < ROWS_A_CHECKPOINT; i += 4, row += 4) {
            GOTO_IF_ERR(sink_rig_write(rig, s, row + 1, row + 4, err));
            sim_clock_advance_ms(&rig->clock, 2);
            GOTO_IF_ERR(sink_on_time(s, clock_wall_ms(rig->env.clock), &next, err));
        }
        id = ++job->next_id;
        GOTO_IF_ERR(sink_rig_prepare(rig, s, id, row == ROWS, &made, err));
        if (id == failing)
            continue; /* another task declined it */
        job->checkpoint = made;
        job->has_checkpoint = true;
        job->checkpoint_id = id;
        job->row = row;
        GOTO_IF_ERR(sink_commit(s, id, err));
    }
    rc = sink_close(s, err);
    s = NULL;
out:
    sink_abort(s);
    return rc;
}

static void blame(struct fs *fs, const char *variant, uint64_t k, uint64_t seed, const char *what)
{
    struct buf dump = {0};

    sim_fs_dump(fs, &dump);
    ck_abort_msg("%s: crash at %" PRIu64 " seed %" PRIu64 ": %s\n%s", variant, k, seed, what,
                 buf_cstr(&dump));
}

/* Between a crash and the recovery: nothing twice, nothing that no completed checkpoint holds. */
static const char *check_between(struct fs *fs, const struct job *job, char out[200])
{
    struct sink_audit audit = {0};
    uint32_t last = job->has_checkpoint ? job->row : 0;

    out[0] = '\0';
    sink_audit(fs, RIG_DIR, &audit);
    if (audit.broken_lines > 0)
        snprintf(out, 200, "%zu broken lines are visible", audit.broken_lines);
    for (uint32_t row = 1; row < RIG_ROWS_MAX; row++)
        if (audit.seen[row] > (row <= last ? 1 : 0))
            snprintf(out, 200, "row %u of 1..%u is visible %u times", row, last, audit.seen[row]);
    return out;
}

static void check_end(struct fs *fs, int variant, uint64_t k, uint64_t seed)
{
    struct sink_audit audit = {0};
    char wrong[200];

    sink_audit(fs, RIG_DIR, &audit);
    if (sink_audit_rows(&audit, ROWS, 1, wrong)[0] != '\0')
        blame(fs, variants[variant].name, k, seed, wrong);
}

/* Crash at operation k of the first run, and at operation j of the second (UINT64_MAX: not at all).
 * Returns false when the first run has fewer operations; *recovery_ran: the second run was hit. */
static bool crash_twice(int variant, uint64_t k, uint64_t j, uint64_t seed, bool power,
                        bool *recovery_hit)
{
    struct fs *fs = sim_fs_new(NULL);
    struct sink_rig rig;
    struct job job = {0};
    struct err err = {0};
    struct rng rng;
    char wrong[200];
    bool hit;
    enum rc rc;

    rng_seed(&rng, seed * 1000003 + k);
    sink_rig_init(&rig, fs);
    rig.config.rolling = variants[variant].rolling;
    rig.config.remove_leftovers = variants[variant].run_known_dead;
    rig.buckets = variants[variant].buckets;
    sim_fs_crash_at(fs, k);
    rc = run(&rig, &job, variants[variant].failing_checkpoint, &err);
    hit = sim_fs_down(fs);
    *recovery_hit = false;
    if (!hit) {
        ck_assert_msg(rc == RC_OK, "%s", err.msg);
    } else {
        for (int round = 0; round < 2; round++) {
            if (power)
                sim_fs_crash(fs, &rng);
            else
                sim_fs_restart(fs);
            if (check_between(fs, &job, wrong)[0] != '\0')
                blame(fs, variants[variant].name, k, seed, wrong);
            if (round == 0 && j != UINT64_MAX)
                sim_fs_crash_at(fs, j);
            err_clear(&err);
            rc = run(&rig, &job, variants[variant].failing_checkpoint, &err);
            if (!sim_fs_down(fs))
                break;
            *recovery_hit = true;
        }
        if (rc != RC_OK)
            blame(fs, variants[variant].name, k, seed, err.msg);
    }
    sim_fs_crash(
        fs, &rng); /* what was committed is durable, also what a dead process had begun to commit */
    check_end(fs, variant, k, seed);
    sink_rig_release(&rig);
    sim_fs_free(fs);
    return hit;
}

/* Loop index: variant * 2 + (power failure or death of the process). */
START_TEST(every_row_is_visible_exactly_once_after_a_crash_anywhere)
{
    uint64_t seeds = 4;
    bool recovery_hit;
    uint64_t k = 0;

    for (bool hit = true; hit; k++)
        for (uint64_t seed = 0; seed < seeds; seed++)
            hit = crash_twice(_i / 2, k, UINT64_MAX, seed, _i % 2 == 0, &recovery_hit);
    ck_assert_uint_gt(k, 15);
}
END_TEST

START_TEST(recovery_may_crash_anywhere_too)
{
    bool recovery_hit;

    for (uint64_t k = 7; crash_twice(_i, k, UINT64_MAX, 1, true, &recovery_hit); k += 9)
        for (uint64_t j = 0; j < 400; j++) {
            crash_twice(_i, k, j, j, true, &recovery_hit);
            if (!recovery_hit)
                break;
        }
}
END_TEST

/* The audit itself: without recovery rows are missing at some point, else the two tests above prove
 * nothing. */
START_TEST(without_recovery_rows_would_be_missing)
{
    struct fs *fs = sim_fs_new(NULL);
    struct sink_rig rig;
    struct sink_audit audit = {0};
    struct sink_snapshot made;
    struct sink *s;
    struct err err = {0};
    char wrong[200];

    sink_rig_init(&rig, fs);
    ck_assert_ok(file_sink_open(&rig.config, NULL, &s, &err));
    ck_assert_ok(sink_rig_write(&rig, s, 1, 5, &err));
    ck_assert_ok(sink_rig_prepare(&rig, s, 1, true, &made, &err));
    sink_abort(s);
    sim_fs_restart(fs);
    sink_audit(fs, RIG_DIR, &audit);
    ck_assert_str_ne(sink_audit_rows(&audit, 5, 1, wrong), "");
    ck_assert_uint_eq(audit.hidden_files, 1);
    sink_rig_release(&rig);
    sim_fs_free(fs);
}
END_TEST

TEST_MAIN("crash: file sink", {
    tcase_add_loop_test(tc, every_row_is_visible_exactly_once_after_a_crash_anywhere, 0,
                        2 * ARRAY_LEN(variants));
    tcase_add_loop_test(tc, recovery_may_crash_anywhere_too, 0, ARRAY_LEN(variants));
    tcase_add_test(tc, without_recovery_rows_would_be_missing);
})
