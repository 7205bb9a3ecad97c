/* links: sink */
/* fault_file_sink.c - each operation of a file sink fails once, in several ways: a clean error or
 * none, then the job fails over.
 *
 * Fail-over is what the supervisor does: abort the sink, open it again from the last complete
 * checkpoint, go on. Afterwards each row is visible exactly once. A failed commit is first tried
 * again by itself. */
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/sim_fs.h"
#include "tests/lib/sink_rig.h"

#include <errno.h>
#include <inttypes.h>

#define ROWS 40
#define ROWS_A_CHECKPOINT 10

static const struct {
    const char *name;
    struct fault fault; /* at: the test's */
} ways[] = {
    {"EIO", {.times = 1, .os_errno = EIO}},
    {"ENOSPC, three times", {.times = 3, .os_errno = ENOSPC}},
    {"half of the bytes", {.times = 1, .os_errno = EIO, .short_write = true}},
    {"done, but said to have failed", {.times = 1, .os_errno = EIO, .done = true}},
    {"for a while", {.times = 12, .os_errno = EIO}},
};
static const struct rolling_policy policies[] = {{.on_checkpoint = true}, {.size_bytes = 25}, {0}};

struct job {
    struct sink_snapshot checkpoint;
    bool has_checkpoint;
    uint64_t next_id;
    uint32_t row;
};

static enum rc run(struct sink_rig *rig, struct job *job, struct err *err)
{
    uint32_t row = job->has_checkpoint ? job->row : 0;
    struct sink *s = NULL;
    enum rc rc;

    GOTO_IF_ERR(
        file_sink_open(&rig->config, job->has_checkpoint ? &job->checkpoint : NULL, &s, err));
    while (row < ROWS) {
        struct sink_snapshot made;

        GOTO_IF_ERR(sink_rig_write(rig, s, row + 1, row + ROWS_A_CHECKPOINT, err));
        row += ROWS_A_CHECKPOINT;
        GOTO_IF_ERR(sink_rig_prepare(rig, s, ++job->next_id, row == ROWS, &made, err));
        job->checkpoint = made;
        job->has_checkpoint = true;
        job->row = row;
        GOTO_IF_ERR(sink_commit(s, job->next_id, err));
    }
    rc = sink_close(s, err);
    s = NULL;
out:
    sink_abort(s);
    return rc;
}

/* The end of the last run is lost to the job when its very last commit failed: one more opening
 * commits. */
static enum rc finish(struct sink_rig *rig, struct job *job, struct err *err)
{
    struct sink *s;

    RETURN_IF_ERR(file_sink_open(&rig->config, &job->checkpoint, &s, err));
    return sink_close(s, err);
}

static void check_end(struct fs *fs, const char *what, uint64_t k)
{
    struct sink_audit audit = {0};
    struct buf dump = {0};
    char wrong[200];

    sink_audit(fs, RIG_DIR, &audit);
    if (sink_audit_rows(&audit, ROWS, 1, wrong)[0] != '\0') {
        sim_fs_dump(fs, &dump);
        ck_abort_msg("%s, operation %" PRIu64 ": %s\n%s", what, k, wrong, buf_cstr(&dump));
    }
}

/* Fails operation k; false: there are fewer. */
static bool fail_at(int way, int policy, uint64_t k)
{
    struct fs *disk = sim_fs_new(NULL), *fs = fault_fs_new(disk);
    struct fault fault = ways[way].fault;
    struct sink_rig rig;
    struct job job = {0};
    struct err err = {0};
    enum rc rc = RC_IO;
    bool hit;

    fault.at = k;
    sink_rig_init(&rig, fs);
    rig.config.rolling = policies[policy];
    fault_fs_add(fs, fault);
    for (int tries = 0; rc != RC_OK && tries < 20; tries++) {
        err_clear(&err);
        rc = run(&rig, &job, &err);
        ck_assert_msg(rc == RC_OK || err.msg[0] != '\0', "no message");
    }
    ck_assert_msg(rc == RC_OK, "%s, operation %" PRIu64 ": never recovers: %s", ways[way].name, k,
                  err.msg);
    hit = fault_fs_hits(fs) > 0;
    fault_fs_clear(fs);
    ck_assert_ok(finish(&rig, &job, &err));
    check_end(disk, ways[way].name, k);
    sink_rig_release(&rig);
    fault_fs_free(fs);
    sim_fs_free(disk);
    return hit;
}

START_TEST(every_row_is_visible_exactly_once_whatever_operation_failed)
{
    uint64_t k = 0;

    while (fail_at(_i / (int)ARRAY_LEN(policies), _i % (int)ARRAY_LEN(policies), k))
        k++;
    ck_assert_uint_gt(k, 15);
}
END_TEST

/* A hiccup of the disk at the moment of a commit is no reason to restart a job. */
START_TEST(transient_failure_of_a_commit_is_tried_again)
{
    struct fs *disk = sim_fs_new(NULL), *fs = fault_fs_new(disk);
    struct sink_rig rig;
    struct sink *s;
    struct sink_snapshot made;
    struct err err = {0};

    sink_rig_init(&rig, fs);
    ck_assert_ok(file_sink_open(&rig.config, NULL, &s, &err));
    ck_assert_ok(sink_rig_write(&rig, s, 1, ROWS, &err));
    ck_assert_ok(sink_rig_prepare(&rig, s, 1, true, &made, &err));
    fault_fs_add(fs, (struct fault){.kinds = FAULT_RENAME, .times = 2, .os_errno = EIO});
    fault_fs_add(fs, (struct fault){.kinds = FAULT_SYNC_DIR, .times = 2, .os_errno = EIO});
    ck_assert_ok(sink_commit(s, 1, &err));
    ck_assert_uint_eq(fault_fs_hits(fs), 4);
    check_end(disk, "retry", 0);
    ck_assert_ok(sink_close(s, &err));

    /* more often than it is tried: an error, and the same call works later */
    ck_assert_ok(file_sink_open(&rig.config, NULL, &s, &err));
    ck_assert_ok(sink_rig_write(&rig, s, ROWS + 1, ROWS + 1, &err));
    ck_assert_ok(sink_rig_prepare(&rig, s, 2, true, &made, &err));
    fault_fs_add(fs, (struct fault){.kinds = FAULT_SYNC_DIR, .times = 3, .os_errno = EIO});
    ck_assert_rc_msg(sink_commit(s, 2, &err), RC_IO, "/out");
    ck_assert_ok(sink_commit(s, 2, &err));
    ck_assert_ok(sink_close(s, &err));
    sink_rig_release(&rig);
    fault_fs_free(fs);
    sim_fs_free(disk);
}
END_TEST

/* Else a disk that is full for a moment would leave a torn row in the middle of a part. */
START_TEST(sink_that_failed_refuses_to_go_on)
{
    struct fs *disk = sim_fs_new(NULL), *fs = fault_fs_new(disk);
    struct sink_rig rig;
    struct sink *s;
    struct sink_snapshot made;
    struct err err = {0};

    sink_rig_init(&rig, fs);
    ck_assert_ok(file_sink_open(&rig.config, NULL, &s, &err));
    ck_assert_ok(sink_rig_write(&rig, s, 1, 3, &err));
    fault_fs_add(
        fs,
        (struct fault){.kinds = FAULT_APPEND, .times = 1, .os_errno = ENOSPC, .short_write = true});
    ck_assert_rc_msg(sink_rig_prepare(&rig, s, 1, false, &made, &err), RC_IO, "Sink[out] (1/1)");
    ck_assert_rc_msg(sink_rig_write(&rig, s, 4, 4, &err), RC_STATE, "failed before");
    ck_assert_rc_msg(sink_rig_prepare(&rig, s, 2, true, &made, &err), RC_STATE, "failed before");
    sink_abort(s);
    sink_rig_release(&rig);
    fault_fs_free(fs);
    sim_fs_free(disk);
}
END_TEST

TEST_MAIN("fault: file sink", {
    tcase_add_loop_test(tc, every_row_is_visible_exactly_once_whatever_operation_failed, 0,
                        ARRAY_LEN(ways) * ARRAY_LEN(policies));
    tcase_add_test(tc, transient_failure_of_a_commit_is_tried_again);
    tcase_add_test(tc, sink_that_failed_refuses_to_go_on);
})
