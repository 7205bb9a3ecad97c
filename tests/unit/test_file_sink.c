/* links: sink */
/* The file sink: names, when parts close and show, and every kind of restore. */
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"
#include "tests/lib/sink_rig.h"

#define UUID_2 "22222222-2222-4222-8222-222222222222"

static struct fs *fs;
static struct sink_rig rig;
static struct sink *s;
static struct err err;
static struct sink_snapshot made;

static void setup(void)
{
    fs = sim_fs_new(NULL);
    sink_rig_init(&rig, fs);
    err = (struct err){0};
    s = NULL;
}
static void teardown(void)
{
    sink_abort(s);
    sink_rig_release(&rig);
    sim_fs_free(fs);
}

static void open_sink(const struct sink_snapshot *from)
{
    sink_abort(s);
    s = NULL;
    ck_assert_ok(file_sink_open(&rig.config, from, &s, &err));
}
/* The next run of the job: another uuid. */
static void open_next_run(const struct sink_snapshot *from)
{
    rig.config.uuid = UUID_2;
    open_sink(from);
}
static void write_rows(uint32_t first, uint32_t last)
{
    ck_assert_ok(sink_rig_write(&rig, s, first, last, &err));
}
static struct sink_snapshot prepare(uint64_t id, bool end)
{
    ck_assert_ok(sink_rig_prepare(&rig, s, id, end, &made, &err));
    return made;
}
static void commit(uint64_t id)
{
    ck_assert_ok(sink_commit(s, id, &err));
}

/* Rows 1..last of `dir` are visible once each. */
static void rows_are(const char *dir, uint32_t last)
{
    struct sink_audit a = {0};
    char wrong[200];

    sink_audit(fs, dir, &a);
    ck_assert_msg(sink_audit_rows(&a, last, 1, wrong)[0] == '\0', "%s: %s", dir, wrong);
}
static struct sink_audit audit(void)
{
    struct sink_audit a = {0};

    sink_audit(fs, RIG_DIR, &a);
    return a;
}
static struct sink_stats stats(void)
{
    struct sink_stats out;

    sink_stats(s, &out);
    return out;
}

/* Path of the only file in a directory that is hidden, or not. */
struct pick {
    bool hidden;
    char name[300];
    int count;
};
static enum rc pick_name(void *ctx, const char *name, struct err *e)
{
    struct pick *p = ctx;

    (void)e;
    if ((name[0] == '.') == p->hidden) {
        p->count++;
        snprintf(p->name, sizeof p->name, "%s", name);
    }
    return RC_OK;
}
static const char *only_file(const char *dir, bool hidden)
{
    static char path[FS_PATH_MAX];
    struct pick p = {.hidden = hidden};

    ck_assert_ok(fs_list(fs, dir, pick_name, &p, &err));
    ck_assert_msg(p.count == 1, "%d %s files in %s", p.count, hidden ? "hidden" : "visible", dir);
    snprintf(path, sizeof path, "%s/%s", dir, p.name);
    return path;
}

/* ---- names and moments ----------------------------------------------------------------------- */

START_TEST(part_is_hidden_until_its_checkpoint_is_complete)
{
    rig.config.subtask_index = 3;
    open_sink(NULL);
    write_rows(1, 5);
    ck_assert_ptr_nonnull(
        strstr(only_file(RIG_DIR, true), RIG_DIR "/.part-" RIG_UUID "-3-0.inprogress."));
    prepare(1, false);
    ck_assert_uint_eq(stats().pending_parts, 1);
    ck_assert_uint_eq(audit().visible_files, 0);
    commit(1);
    ck_assert_str_eq(only_file(RIG_DIR, false), RIG_DIR "/part-" RIG_UUID "-3-0");
    ck_assert_uint_eq(audit().hidden_files, 0);
    rows_are(RIG_DIR, 5);
    commit(1); /* again changes nothing */
    commit(2);
    rows_are(RIG_DIR, 5);
    ck_assert_uint_eq(stats().finished_parts, 1);
    ck_assert_uint_eq(stats().finished_rows, 5);
    ck_assert_uint_eq(stats().rows_written, 5);
}
END_TEST

START_TEST(rows_go_to_the_directory_of_their_bucket)
{
    rig.buckets = 3;
    open_sink(NULL);
    write_rows(1, 30);
    ck_assert_uint_eq(stats().open_parts, 3);
    prepare(1, true);
    commit(1);
    rows_are(RIG_DIR, 30);
    ck_assert_ptr_nonnull(strstr(only_file(RIG_DIR "/b=2", false), "/b=2/part-"));
}
END_TEST

START_TEST(bucket_outside_the_directory_is_refused)
{
    open_sink(NULL);
    ck_assert_rc_msg(sink_write(s, bytes_of_str("../x"), bytes_of_str("1\n"), 1, 0, &err),
                     RC_INVALID, "../x");
}
END_TEST

/* What is committed is what was complete: a part closed after the barrier belongs to the next
 * checkpoint (C7). */
START_TEST(part_closed_after_the_barrier_waits_for_the_next_checkpoint)
{
    rig.config.rolling = (struct rolling_policy){.size_bytes = 4};
    open_sink(NULL);
    write_rows(1, 2);
    prepare(1, false);
    write_rows(3, 9); /* closes several */
    commit(1);
    ck_assert_uint_eq(audit().visible_files, 0);
    prepare(2, true);
    commit(2);
    rows_are(RIG_DIR, 9);
}
END_TEST

/* B35: nobody commits a savepoint; what it prepared goes out with the next checkpoint. */
START_TEST(savepoint_in_between_commits_nothing)
{
    open_sink(NULL);
    write_rows(1, 3);
    prepare(1, false);
    commit(1);
    write_rows(4, 6);
    prepare(2, false); /* a savepoint */
    write_rows(7, 8);
    rows_are(RIG_DIR, 3);
    prepare(3, false);
    ck_assert_uint_eq(made.committables.count, 2);
    commit(3);
    rows_are(RIG_DIR, 8);
}
END_TEST

START_TEST(checkpoint_that_failed_is_made_good_by_the_next)
{
    open_sink(NULL);
    write_rows(1, 3);
    prepare(1, false);
    prepare(2, false); /* nothing new */
    ck_assert_uint_eq(made.committables.count, 1);
    write_rows(4, 4);
    prepare(3, false);
    commit(3);
    rows_are(RIG_DIR, 4);
}
END_TEST

/* B37 */
START_TEST(end_of_input_closes_what_the_policy_left_open)
{
    rig.config.rolling = (struct rolling_policy){0};
    rig.buckets = 2;
    open_sink(NULL);
    write_rows(1, 10);
    prepare(1, false);
    commit(1);
    ck_assert_uint_eq(audit().visible_files, 0);
    prepare(UINT64_MAX, true);
    commit(UINT64_MAX);
    rows_are(RIG_DIR, 10);
    ck_assert_uint_eq(audit().hidden_files, 0);
    ck_assert_ok(sink_close(s, &err));
    s = NULL;
}
END_TEST

START_TEST(parts_close_by_age_and_rest_when_time_is_told)
{
    int64_t next, start = clock_wall_ms(rig.env.clock);

    rig.config.rolling = (struct rolling_policy){.rollover_ms = 1000, .inactivity_ms = 300};
    open_sink(NULL);
    write_rows(1, 1);
    ck_assert_ok(sink_on_time(s, start + 299, &next, &err));
    ck_assert_int_eq(next, start + 300);
    ck_assert_uint_eq(stats().open_parts, 1);
    ck_assert_ok(sink_on_time(s, start + 300, &next, &err));
    ck_assert_int_eq(next, INT64_MAX);
    ck_assert_uint_eq(stats().open_parts, 0);
    ck_assert_uint_eq(stats().pending_parts, 1);
}
END_TEST

START_TEST(open_parts_have_a_limit_and_the_idlest_makes_room)
{
    rig.config.rolling = (struct rolling_policy){0};
    rig.config.max_open_parts = 2;
    rig.buckets = 5;
    open_sink(NULL);
    for (uint32_t row = 1; row <= 50; row++) {
        write_rows(row, row);
        sim_clock_advance_ms(&rig.clock, 1);
        ck_assert_uint_le(stats().open_parts, 2);
    }
    prepare(1, true);
    commit(1);
    rows_are(RIG_DIR, 50);
}
END_TEST

START_TEST(large_writes_and_small_ones_keep_their_order)
{
    struct buf big = {0};
    struct buf got = {0}, want = {0};
    char path[FS_PATH_MAX];

    open_sink(NULL);
    for (int i = 0; i < 30; i++) {
        buf_clear(&big);
        for (int j = 0; j < (i % 3 == 0 ? 40000 : 3); j++)
            buf_printf(&big, "%d\n", i);
        buf_append(&want, big.data, big.len);
        ck_assert_ok(sink_write(s, bytes_of_str(""), buf_bytes(&big), 1, 0, &err));
    }
    prepare(1, true);
    commit(1);
    snprintf(path, sizeof path, "%s", only_file(RIG_DIR, false));
    ck_assert_ok(fs_read_all(fs, path, 1 << 24, &got, &err));
    ck_assert_bytes_eq(buf_bytes(&got), buf_bytes(&want));
    buf_release(&big);
    buf_release(&got);
    buf_release(&want);
}
END_TEST

/* ---- restore --------------------------------------------------------------------------------- */

START_TEST(restore_commits_pending_parts_at_their_old_path)
{
    struct sink_snapshot checkpoint;

    open_sink(NULL);
    write_rows(1, 5);
    checkpoint = prepare(1, false);
    rig.config.path = "/elsewhere";
    open_next_run(&checkpoint);
    rows_are(RIG_DIR, 5);
    write_rows(6, 9);
    prepare(2, true);
    commit(2);
    rows_are(RIG_DIR, 5);
    ck_assert_str_eq(only_file("/elsewhere", false),
                     "/elsewhere/part-" UUID_2 "-0-1"); /* the counter goes on */
}
END_TEST

START_TEST(restoring_again_and_again_gives_the_same_rows)
{
    struct sink_snapshot checkpoint;

    rig.config.rolling.on_checkpoint = _i == 0;
    open_sink(NULL);
    write_rows(1, 5);
    checkpoint = prepare(1, false);
    commit(1);
    for (int i = 0; i < 5; i++) { /* B10: killed each time */
        open_next_run(&checkpoint);
        write_rows(6, 7);
    }
    prepare(2, true);
    commit(2);
    rows_are(RIG_DIR, 7);
}
END_TEST

START_TEST(open_part_goes_on_where_the_checkpoint_was)
{
    struct sink_snapshot checkpoint;

    rig.config.rolling = (struct rolling_policy){0};
    open_sink(NULL);
    write_rows(1, 5);
    checkpoint = prepare(1, false);
    write_rows(6, 9); /* lost with the run */
    prepare(2, false);
    open_next_run(&checkpoint);
    ck_assert_uint_eq(stats().recovered_parts, 1);
    write_rows(6, 7);
    prepare(2, true);
    commit(2);
    rows_are(RIG_DIR, 7);
    ck_assert_str_eq(only_file(RIG_DIR, false),
                     RIG_DIR "/part-" RIG_UUID "-0-0"); /* under its old name */
}
END_TEST

/* Its age counts from its creation, not from the restore. */
START_TEST(open_part_keeps_its_age_over_a_restore)
{
    struct sink_snapshot checkpoint;
    int64_t next, start = clock_wall_ms(rig.env.clock);

    rig.config.rolling = (struct rolling_policy){.rollover_ms = 1000};
    open_sink(NULL);
    write_rows(1, 1);
    checkpoint = prepare(1, false);
    sim_clock_advance_ms(&rig.clock, 900);
    open_next_run(&checkpoint);
    ck_assert_ok(sink_on_time(s, start + 999, &next, &err));
    ck_assert_int_eq(next, start + 1000);
}
END_TEST

START_TEST(open_part_of_another_directory_is_closed_and_committed_there)
{
    struct sink_snapshot checkpoint;

    rig.config.rolling = (struct rolling_policy){0};
    open_sink(NULL);
    write_rows(1, 5);
    checkpoint = prepare(1, false);
    rig.config.path = "/elsewhere";
    open_next_run(&checkpoint);
    write_rows(6, 6);
    prepare(2, false);
    commit(2);
    rows_are(RIG_DIR, 5);
}
END_TEST

/* Two jobs restored from one snapshot, or the old one still running: neither may write into the
 * other's part. */
START_TEST(open_part_of_a_run_that_may_live_is_copied)
{
    struct sink_snapshot savepoint;
    struct sink *old;
    struct sink_audit a = {0};
    char wrong[200];

    rig.config.rolling = (struct rolling_policy){0};
    open_sink(NULL);
    write_rows(1, 5);
    savepoint = prepare(1, false);
    old = s;
    s = NULL;
    rig.config.remove_leftovers = false;
    open_next_run(&savepoint);
    ck_assert_ok(sink_rig_write(&rig, old, 6, 7, &err));
    write_rows(6, 7);
    prepare(2, true);
    commit(2);
    rows_are(RIG_DIR, 7); /* of the new one; the old one's are hidden still */
    ck_assert_ok(sink_rig_prepare(&rig, old, 2, true, &made, &err));
    ck_assert_ok(sink_commit(old, 2, &err));
    sink_audit(fs, RIG_DIR, &a);
    ck_assert_str_eq(sink_audit_rows(&a, 7, 2, wrong),
                     ""); /* both made whole rows of all they had */
    sink_abort(old);
}
END_TEST

/* The user goes back behind a checkpoint whose part a later one has finished: its rows are in view
 * already. */
START_TEST(open_part_that_a_later_run_finished_counts_as_done)
{
    struct sink_snapshot older;

    rig.config.rolling = (struct rolling_policy){0};
    open_sink(NULL);
    write_rows(1, 5);
    older = prepare(1, false);
    prepare(2, true);
    commit(2);
    open_next_run(&older);
    write_rows(6, 8);
    prepare(3, true);
    commit(3);
    rows_are(RIG_DIR, 8);
}
END_TEST

/* Forward again to a checkpoint whose open part was cut and rewritten meanwhile: other bytes, same
 * length. */
START_TEST(open_part_with_other_bytes_is_refused)
{
    struct sink_snapshot older, newer;

    rig.config.rolling = (struct rolling_policy){0};
    open_sink(NULL);
    write_rows(1, 3);
    older = prepare(1, false);
    write_rows(4, 6);
    newer = prepare(2, false);
    open_next_run(&older);
    write_rows(7, 9); /* a fork: not what the newer one holds */
    prepare(2, false);
    sink_abort(s);
    s = NULL;
    ck_assert_rc_msg(file_sink_open(&rig.config, &newer, &s, &err), RC_CORRUPT,
                     "(6 rows): holds other bytes than the checkpoint wrote");
}
END_TEST

START_TEST(bytes_behind_a_pending_part_never_show)
{
    struct sink_snapshot checkpoint;
    struct fs_file *f;
    char path[FS_PATH_MAX];

    open_sink(NULL);
    write_rows(1, 3);
    checkpoint = prepare(1, false);
    snprintf(path, sizeof path, "%s", only_file(RIG_DIR, true));
    ck_assert_ok(fs_open_append(fs, path, 6, &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str("999\n4"), &err));
    ck_assert_ok(fs_close(&f, &err));
    open_next_run(&checkpoint);
    rows_are(RIG_DIR, 3);
}
END_TEST

START_TEST(moved_directory_is_found_under_the_new_path)
{
    struct sink_snapshot checkpoint;

    rig.config.rolling = (struct rolling_policy){.size_bytes = 4};
    rig.buckets = 2;
    open_sink(NULL);
    write_rows(1, 9); /* some parts are pending, some open */
    checkpoint = prepare(1, false);
    sink_abort(s);
    s = NULL;
    ck_assert_ok(fs_rename(fs, RIG_DIR, "/moved", &err));
    rig.config.path = "/moved";
    open_next_run(&checkpoint);
    write_rows(10, 12);
    prepare(2, true);
    commit(2);
    rows_are("/moved", 12);
    ck_assert(!fs_exists(fs, RIG_DIR));
}
END_TEST

/* ---- B31, B30 -------------------------------------------------------------------------------- */

/* A checkpoint with one part finished, one pending and one open; one of the last two is deleted. */
static struct sink_snapshot three_parts(char *pending_path, char *open_path)
{
    struct sink_snapshot checkpoint;

    rig.buckets = 2;
    rig.config.rolling = (struct rolling_policy){.size_bytes = 5};
    open_sink(NULL);
    ck_assert_ok(sink_write(s, bytes_of_str("b=0"), bytes_of_str("1\n2\n3\n"), 3, 0, &err));
    prepare(1, false); /* b=0 is past its size: pending */
    ck_assert_ok(sink_write(s, bytes_of_str("b=1"), bytes_of_str("4\n5\n"), 2, 0, &err));
    checkpoint = prepare(2, false);
    ck_assert_uint_eq(checkpoint.committables.count, 1);
    ck_assert_uint_eq(checkpoint.writer.count, 2);
    snprintf(pending_path, FS_PATH_MAX, "%s", only_file(RIG_DIR "/b=0", true));
    snprintf(open_path, FS_PATH_MAX, "%s", only_file(RIG_DIR "/b=1", true));
    return checkpoint;
}

START_TEST(missing_parts_are_all_named_with_their_rows_and_nothing_is_touched)
{
    char pending_path[FS_PATH_MAX], open_path[FS_PATH_MAX];
    struct sink_snapshot checkpoint = three_parts(pending_path, open_path);
    struct buf before = {0}, after = {0};
    enum rc rc;

    sink_abort(s);
    s = NULL;
    if (_i != 1)
        ck_assert_ok(fs_unlink(fs, pending_path, &err));
    if (_i != 0)
        ck_assert_ok(fs_unlink(fs, open_path, &err));
    rig.config.uuid = UUID_2;
    sim_fs_dump(fs, &before);
    rc = file_sink_check_restored(&rig.config, &checkpoint, &err);
    ck_assert_int_eq(rc, RC_NOT_FOUND);
    err_clear(&err);
    rc = file_sink_open(&rig.config, &checkpoint, &s, &err);
    ck_assert_int_eq(rc, RC_NOT_FOUND);
    if (_i == 0)
        ck_assert_msg(strstr(err.msg, "3 rows at stake: " RIG_DIR "/b=0/part-") != NULL, "%s",
                      err.msg);
    else if (_i == 1)
        ck_assert_msg(strstr(err.msg, "2 rows at stake: " RIG_DIR "/b=1/.part-") != NULL, "%s",
                      err.msg);
    else
        ck_assert_msg(
            strstr(err.msg, "2 part files of the checkpoint cannot be taken over, 5 rows") != NULL,
            "%s", err.msg);
    sim_fs_dump(fs, &after);
    ck_assert_str_eq(buf_cstr(&after), buf_cstr(&before)); /* never half-start */
    err_clear(&err);

    rig.config.ignore_missing_parts = true;
    ck_assert_ok(file_sink_check_restored(&rig.config, &checkpoint, &err));
    open_sink(&checkpoint);
    ck_assert_uint_eq(stats().lost_parts, _i == 2 ? 2 : 1);
    ck_assert_uint_eq(stats().lost_rows, _i == 0 ? 3 : _i == 1 ? 2 : 5);
    buf_release(&before);
    buf_release(&after);
}
END_TEST

START_TEST(cut_part_is_corrupt)
{
    char pending_path[FS_PATH_MAX], open_path[FS_PATH_MAX];
    struct sink_snapshot checkpoint = three_parts(pending_path, open_path);
    struct fs_file *f;

    sink_abort(s);
    s = NULL;
    ck_assert_ok(fs_open_append(fs, _i == 0 ? pending_path : open_path, 1, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_rc_msg(file_sink_open(&rig.config, &checkpoint, &s, &err), RC_CORRUPT,
                     _i == 0 ? "has 1 of 6 bytes" : "has 1 of 4 bytes");
}
END_TEST

START_TEST(damaged_part_is_corrupt)
{
    char pending_path[FS_PATH_MAX], open_path[FS_PATH_MAX];
    struct sink_snapshot checkpoint = three_parts(pending_path, open_path);

    sink_abort(s);
    s = NULL;
    ck_assert(sim_fs_flip(fs, _i == 0 ? pending_path : open_path, 2, 0x10));
    ck_assert_rc_msg(file_sink_open(&rig.config, &checkpoint, &s, &err), RC_CORRUPT, "other bytes");
}
END_TEST

/* Nothing of ours makes both names; whoever did, no byte of a finished file is ever replaced (C8).
 */
/* A pending part that is in view already must be what the checkpoint delivered: same length, same bytes. */
START_TEST(finished_part_with_other_content_is_corrupt)
{
    static const char *const content[] = {"1\n2\n3\n4\n", "1\n2\n", "1\n2\n4\n"};
    static const char *const why[] = {"(3 rows): has 8 of 6 bytes", "(3 rows): has 4 of 6 bytes",
                                      "(3 rows): holds other bytes than the checkpoint wrote"};
    struct sink_snapshot checkpoint;
    struct fs_file *f;
    char path[FS_PATH_MAX], want[FS_PATH_MAX + 100];

    open_sink(NULL);
    write_rows(1, 3);
    checkpoint = prepare(1, false);
    commit(1);
    open_sink(&checkpoint); /* as it was delivered: nothing to do */
    sink_abort(s);
    s = NULL;
    snprintf(path, sizeof path, "%s", only_file(RIG_DIR, false));
    ck_assert_ok(fs_unlink(fs, path, &err));
    ck_assert_ok(fs_create(fs, path, &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str(content[_i]), &err));
    ck_assert_ok(fs_close(&f, &err));
    snprintf(want, sizeof want, "%s %s", path, why[_i]);
    ck_assert_rc_msg(file_sink_open(&rig.config, &checkpoint, &s, &err), RC_CORRUPT, want);
}
END_TEST

START_TEST(finished_file_is_never_overwritten)
{
    char pending_path[FS_PATH_MAX], open_path[FS_PATH_MAX], final_path[FS_PATH_MAX];
    struct sink_snapshot checkpoint = three_parts(pending_path, open_path);
    char *dot, *end;
    struct fs_file *f;

    snprintf(final_path, sizeof final_path, "%s", pending_path);
    dot = strstr(final_path, "/.part-") + 1;
    end = strstr(final_path, ".inprogress.");
    memmove(dot, dot + 1, strlen(dot));
    end[-1] = '\0';
    ck_assert_ok(fs_create(fs, final_path, &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str("77\n"), &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_rc_msg(sink_commit(s, 2, &err), RC_EXISTS, "is not overwritten");
    sink_abort(s);
    s = NULL;
    ck_assert_rc_msg(file_sink_open(&rig.config, &checkpoint, &s, &err), RC_CORRUPT,
                     "as well as the hidden file");
}
END_TEST

START_TEST(leftovers_of_the_dead_run_are_removed_and_strangers_stay)
{
    static const char *const strangers[] = {
        RIG_DIR
        "/.part-33333333-3333-4333-8333-333333333333-0-9.inprogress." UUID_2, /* of another job */
        RIG_DIR "/.part-" RIG_UUID "-7-9.inprogress." UUID_2, /* of a subtask not restored here */
        RIG_DIR "/.hidden",
        RIG_DIR "/_SUCCESS",
    };
    struct sink_snapshot checkpoint;
    struct fs_file *f;

    rig.buckets = 2;
    open_sink(NULL);
    write_rows(1, 4);
    checkpoint = prepare(1, false);
    commit(1);
    write_rows(5, 8);
    prepare(2, false);
    write_rows(9, 12);
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        ck_assert_ok(fs_create(fs, strangers[i], &f, &err));
        ck_assert_ok(fs_close(&f, &err));
    }
    ck_assert_uint_eq(audit().hidden_files, 4 + 3);
    rig.config.remove_leftovers = _i == 1;
    open_next_run(&checkpoint);
    ck_assert_uint_eq(stats().removed_leftovers, _i == 1 ? 4 : 0);
    ck_assert_uint_eq(audit().hidden_files, _i == 1 ? 3 : 7);
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++)
        ck_assert_msg(fs_exists(fs, strangers[i]), "%s", strangers[i]);
    ck_assert_ok(fs_unlink(fs, RIG_DIR "/_SUCCESS", &err)); /* no rows in it */
    rows_are(RIG_DIR, 4);
}
END_TEST

/* A restart inside one run: the other subtasks' files have the same uuid and are alive. */
START_TEST(sweep_spares_the_other_subtasks_of_the_same_run)
{
    struct sink_snapshot checkpoint;
    struct sink *other;

    rig.config.subtask_index = 1;
    open_sink(NULL);
    checkpoint = prepare(1, false); /* says: subtask 1 goes on at counter 0 */
    ck_assert_ok(file_sink_open(&rig.config, NULL, &other, &err));
    ck_assert_ok(sink_rig_write(&rig, other, 1, 3, &err));
    rig.config.subtask_index = 0;
    open_sink(&checkpoint);
    ck_assert_uint_eq(stats().removed_leftovers, 0);
    ck_assert_uint_eq(audit().hidden_files, 1);
    sink_abort(other);
}
END_TEST

/* ---- rescale --------------------------------------------------------------------------------- */

START_TEST(parts_are_dealt_out_anew_at_another_parallelism)
{
    size_t before = _i == 0 ? 1 : _i == 1 ? 3 : 2, after = _i == 0 ? 3 : _i == 1 ? 1 : 2;
    struct sink *old[3], *new[3];
    struct sink_snapshot parts[3], all;
    uint32_t row = 0;

    rig.config.rolling = (struct rolling_policy){.size_bytes = 6};
    rig.buckets = 2;
    for (size_t i = 0; i < before; i++) {
        rig.config.subtask_index = (uint32_t)i;
        ck_assert_ok(file_sink_open(&rig.config, NULL, &old[i], &err));
        ck_assert_ok(sink_rig_write(&rig, old[i], row + 1, row + 13, &err));
        row += 13;
        ck_assert_ok(sink_rig_prepare(&rig, old[i], 1, false, &parts[i], &err));
        ck_assert_ok(sink_rig_write(&rig, old[i], 1000, 1005, &err)); /* lost */
    }
    for (size_t i = 0; i < before; i++)
        sink_abort(old[i]);
    all = sink_rig_join(&rig, parts, before);
    rig.config.uuid = UUID_2;
    for (size_t i = 0; i < after; i++) {
        rig.config.subtask_index = (uint32_t)i;
        parts[i] = sink_rig_deal(&rig, &all, i, after);
        ck_assert_ok(file_sink_open(&rig.config, &parts[i], &new[i], &err));
    }
    for (size_t i = 0; i < after; i++) {
        ck_assert_ok(sink_rig_write(&rig, new[i], row + 1, row + 5, &err));
        row += 5;
        ck_assert_ok(sink_rig_prepare(&rig, new[i], 2, true, &parts[i], &err));
    }
    for (size_t i = 0; i < after; i++) {
        ck_assert_ok(sink_commit(new[i], 2, &err));
        ck_assert_ok(sink_close(new[i], &err));
    }
    rows_are(RIG_DIR, row);
    ck_assert_uint_eq(audit().hidden_files, 0);
}
END_TEST

/* ---- opening --------------------------------------------------------------------------------- */

START_TEST(item_that_is_none_is_refused_with_its_place)
{
    struct bytes item = bytes_of_str("garbage");
    struct sink_snapshot bad = {.writer = {1, &item}};

    ck_assert_rc_msg(file_sink_open(&rig.config, &bad, &s, &err), RC_CORRUPT,
                     "restored writer item 0");
    ck_assert(!fs_exists(fs, RIG_DIR));
}
END_TEST

START_TEST(path_is_taken_in_its_plain_form)
{
    rig.config.path = "/a//b/./c/../d/";
    open_sink(NULL);
    write_rows(1, 2);
    prepare(1, true);
    commit(1);
    rows_are("/a/b/d", 2);
    rig.config.path = "/a\nb";
    sink_abort(s);
    s = NULL;
    ck_assert_rc_msg(file_sink_open(&rig.config, NULL, &s, &err), RC_INVALID,
                     "cannot be a sink's directory");
}
END_TEST

/* The job failed before its first checkpoint and began anew: the same uuid and counters, over files
 * of its first try. */
START_TEST(names_already_taken_are_skipped)
{
    open_sink(NULL);
    write_rows(1, 2);
    prepare(UINT64_MAX, true);
    commit(UINT64_MAX);
    open_sink(NULL);
    write_rows(3, 4);
    prepare(1, true);
    commit(1);
    rows_are(RIG_DIR, 4);
    ck_assert_uint_eq(audit().visible_files, 2);
}
END_TEST

static void add_moments(TCase *tc)
{
    tcase_add_test(tc, part_is_hidden_until_its_checkpoint_is_complete);
    tcase_add_test(tc, rows_go_to_the_directory_of_their_bucket);
    tcase_add_test(tc, bucket_outside_the_directory_is_refused);
    tcase_add_test(tc, part_closed_after_the_barrier_waits_for_the_next_checkpoint);
    tcase_add_test(tc, savepoint_in_between_commits_nothing);
    tcase_add_test(tc, checkpoint_that_failed_is_made_good_by_the_next);
    tcase_add_test(tc, end_of_input_closes_what_the_policy_left_open);
    tcase_add_test(tc, parts_close_by_age_and_rest_when_time_is_told);
    tcase_add_test(tc, open_parts_have_a_limit_and_the_idlest_makes_room);
    tcase_add_test(tc, large_writes_and_small_ones_keep_their_order);
}

static void add_restores(TCase *tc)
{
    tcase_add_test(tc, restore_commits_pending_parts_at_their_old_path);
    tcase_add_loop_test(tc, restoring_again_and_again_gives_the_same_rows, 0, 2);
    tcase_add_test(tc, open_part_goes_on_where_the_checkpoint_was);
    tcase_add_test(tc, open_part_keeps_its_age_over_a_restore);
    tcase_add_test(tc, open_part_of_another_directory_is_closed_and_committed_there);
    tcase_add_test(tc, open_part_of_a_run_that_may_live_is_copied);
    tcase_add_test(tc, open_part_that_a_later_run_finished_counts_as_done);
    tcase_add_test(tc, open_part_with_other_bytes_is_refused);
    tcase_add_test(tc, bytes_behind_a_pending_part_never_show);
    tcase_add_test(tc, moved_directory_is_found_under_the_new_path);
    tcase_add_loop_test(tc, missing_parts_are_all_named_with_their_rows_and_nothing_is_touched, 0,
                        3);
    tcase_add_loop_test(tc, cut_part_is_corrupt, 0, 2);
    tcase_add_loop_test(tc, damaged_part_is_corrupt, 0, 2);
    tcase_add_loop_test(tc, finished_part_with_other_content_is_corrupt, 0, 3);
    tcase_add_test(tc, finished_file_is_never_overwritten);
    tcase_add_loop_test(tc, leftovers_of_the_dead_run_are_removed_and_strangers_stay, 0, 2);
    tcase_add_test(tc, sweep_spares_the_other_subtasks_of_the_same_run);
    tcase_add_loop_test(tc, parts_are_dealt_out_anew_at_another_parallelism, 0, 3);
    tcase_add_test(tc, item_that_is_none_is_refused_with_its_place);
    tcase_add_test(tc, path_is_taken_in_its_plain_form);
    tcase_add_test(tc, names_already_taken_are_skipped);
}

TEST_MAIN("file_sink", {
    tcase_add_checked_fixture(tc, setup, teardown);
    add_moments(tc);
    add_restores(tc);
})
