/* links: checkpoint */
#include "checkpoint/recovery.h"

#include "checkpoint/ended.h"
#include "checkpoint/layout.h"
#include "checkpoint/lineage.h"
#include "checkpoint/savepoint.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>
#include <inttypes.h>

#define JOB_DIR "/ckpt/" SCENE_JOB_ID
#define OTHER_DIR "/ckpt/ffffffffffffffffffffffffffffffff"

static struct fs *sim, *fs;
static struct scene scene;
static struct arena *arena;
static struct err err;
static struct recovered r;
static struct recovery_options options_of; /* of newest_of: a test sets what it needs more */
static const struct recovery_options plain, with_digests = {.digests = true};

/* Checkpoints 1, 2 and 3 retained. */
static void setup(void)
{
    sim = sim_fs_new(NULL);
    fs = fault_fs_new(sim);
    arena = arena_new(0);
    err = (struct err){0};
    r = (struct recovered){0};
    options_of = (struct recovery_options){0};
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
}

static void teardown(void)
{
    recovered_release(&r);
    scene_close(&scene);
    fault_fs_free(fs);
    sim_fs_free(sim);
    arena_free(arena);
}

static enum rc open_path(const char *path, const struct recovery_options *options)
{
    recovered_release(&r);
    return recovery_open(&scene.env, path, options, &r, &err);
}

#define MINE "the fingerprint of the statements that are resumed"

static enum rc newest_of(const char *root, const char *job_name)
{
    options_of.job_name = job_name;
    options_of.fingerprint = MINE;
    recovered_release(&r);
    scene_close(&scene); /* a running job is not resumed */
    return recovery_newest_of_job(&scene.env, root, &options_of, &r, &err);
}

static const char *shared_of(uint64_t i)
{
    char name[LAYOUT_NAME_MAX];

    layout_shared_name(digest_of(scene_content(arena, i)), name);
    return arena_printf(arena, JOB_DIR "/shared/%s", name);
}

static void cut(const char *path, uint64_t len)
{
    struct fs_file *file;

    ck_assert_ok(fs_open_append(sim, path, len, &file, &err));
    ck_assert_ok(fs_close(&file, &err));
}

/* ---- paths ---------------------------------------------------------------------------------- */

static const struct {
    const char *path;
    uint64_t id;
} paths[] = {
    {JOB_DIR "/chk-2", 2},
    {JOB_DIR "/chk-2/", 2},
    {JOB_DIR "/chk-2/_metadata", 2},
    {"file://" JOB_DIR "/chk-2", 2},
    {"file:" JOB_DIR "/chk-2/_metadata", 2},
    {JOB_DIR "/../" SCENE_JOB_ID "/chk-1", 1},
    {JOB_DIR, 3},
    {"/ckpt", 3},
    {"file:///ckpt", 3},
};

START_TEST(every_way_to_name_a_snapshot_finds_it)
{
    ck_assert_ok(open_path(paths[_i].path, &plain));
    ck_assert_uint_eq(r.meta->checkpoint_id, paths[_i].id);
    ck_assert_str_eq(r.dir, arena_printf(arena, JOB_DIR "/chk-%" PRIu64, paths[_i].id));
    ck_assert_uint_eq(r.newest_seen_id, 3);
    ck_assert_uint_gt(r.metadata_bytes, 64);
    ck_assert_uint_eq(r.skip_count, 0);
}
END_TEST

/* B13: final codes with one clear message. */
static const struct {
    const char *path;
    enum rc rc;
    const char *message;
} refusals[] = {
    {"/nowhere", RC_NOT_FOUND, "restore: stat /nowhere: "},
    {"/empty", RC_NOT_FOUND,
     "/empty: neither a checkpoint, a savepoint, a job's directory nor a directory of those"},
    {JOB_DIR "/chk-4", RC_NOT_FOUND, JOB_DIR "/chk-4"},
    {JOB_DIR "/chk-9", RC_NOT_FOUND,
     "chk-9: has no _metadata: this checkpoint was never completed"},
    {JOB_DIR "/LOCK", RC_INVALID, "LOCK: neither a directory nor a file named _metadata"},
    {"gs://host/ckpt", RC_UNSUPPORTED, "hdfs"},
};

START_TEST(what_is_no_snapshot_is_refused_for_good)
{
    ck_assert_ok(fs_mkdir(sim, "/empty", &err));
    ck_assert_ok(fs_mkdir(sim, JOB_DIR "/chk-9", &err));
    ck_assert_rc_msg(open_path(refusals[_i].path, &plain), refusals[_i].rc, refusals[_i].message);
}
END_TEST

/* B02 and C9: never offered, and yet its id is not used again. */
START_TEST(an_incomplete_checkpoint_is_not_offered_but_its_id_counts)
{
    ck_assert_ok(fs_mkdir(sim, JOB_DIR "/chk-9", &err));
    ck_assert_ok(open_path(JOB_DIR, &plain));
    ck_assert_uint_eq(r.meta->checkpoint_id, 3);
    ck_assert_uint_eq(r.skip_count, 0);
    ck_assert_uint_eq(r.newest_seen_id, 9);
}
END_TEST

/* ---- damage --------------------------------------------------------------------------------- */

/* B15 */
START_TEST(a_cut_metadata_says_where)
{
    uint64_t lengths[] = {0, 1, 16, 63, 64, 128, 192};
    struct fs_stat st;

    ck_assert_ok(fs_stat(sim, JOB_DIR "/chk-3/_metadata", &st, &err));
    cut(JOB_DIR "/chk-3/_metadata", lengths[_i]);
    ck_assert_rc_msg(
        open_path(JOB_DIR "/chk-3", &plain), RC_CORRUPT,
        lengths[_i] < 64
            ? arena_printf(arena, JOB_DIR "/chk-3/_metadata: cut at byte %" PRIu64 " of 64",
                           lengths[_i])
            : arena_printf(arena, JOB_DIR "/chk-3/_metadata: cut at byte %" PRIu64 " of %" PRIu64,
                           lengths[_i], st.size_bytes));
}
END_TEST

/* B16: all of them, with size and operator, before anything starts. */
START_TEST(every_missing_file_is_listed)
{
    for (uint64_t i = 3; i <= 5; i++)
        ck_assert_ok(fs_unlink(sim, shared_of(i), &err));
    ck_assert_int_eq(open_path(JOB_DIR "/chk-3", &plain), RC_CORRUPT);
    ck_assert_uint_eq(r.fault_count, 3);
    ck_assert(strstr(err.msg, "3 of its files are missing:") != NULL);
    for (uint64_t i = 3; i <= 5; i++)
        ck_assert_msg(
            strstr(err.msg,
                   arena_printf(arena, "%s (%zu bytes, operator \"Toy[k]\" subtask 0): missing",
                                shared_of(i), scene_content(arena, i).len)) != NULL,
            "%s", err.msg);
    ck_assert_ptr_null(r.meta);
}
END_TEST

START_TEST(a_file_of_another_length_is_a_fault)
{
    cut(shared_of(5), 10);
    ck_assert_rc_msg(open_path(JOB_DIR "/chk-3", &plain), RC_CORRUPT, "10 bytes instead of");
}
END_TEST

/* B17: seen with digests on; without, the backend checks before use. */
START_TEST(a_flipped_bit_is_found_by_digest)
{
    ck_assert(sim_fs_flip(sim, shared_of(5), 100, 4));
    ck_assert_ok(open_path(JOB_DIR "/chk-3", &plain));
    ck_assert_rc_msg(open_path(JOB_DIR "/chk-3", &with_digests), RC_CORRUPT, "digest differs: ");
    ck_assert_ok(open_path(JOB_DIR "/chk-2", &with_digests));
}
END_TEST

/* B07: only chk-3 was copied: the list says what it needs. */
START_TEST(a_moved_directory_restores_and_a_part_of_it_does_not)
{
    ck_assert_ok(fs_mkdir(sim, "/alone", &err));
    ck_assert_ok(fs_mkdir(sim, "/alone/chk-3", &err));
    ck_assert_ok(fs_copy(sim, JOB_DIR "/chk-3/_metadata", "/alone/chk-3/_metadata", &err));
    ck_assert_rc_msg(open_path("/alone/chk-3", &plain), RC_CORRUPT,
                     "5 of its files are missing:");
    scene_close(&scene);
    ck_assert_ok(fs_rename(sim, JOB_DIR, "/moved", &err));
    ck_assert_ok(open_path("/moved/chk-3", &with_digests));
    ck_assert_str_eq(r.dir, "/moved/chk-3");
    ck_assert_ok(open_path("/moved", &plain));
}
END_TEST

/* B12 */
START_TEST(a_directory_gives_the_newest_that_verifies_and_says_what_it_skipped)
{
    ck_assert(sim_fs_flip(sim, shared_of(5), 3, 1)); /* chk-3's alone */
    cut(JOB_DIR "/chk-2/_metadata", 100);
    ck_assert_ok(open_path(_i == 0 ? JOB_DIR : "/ckpt", &plain));
    ck_assert_uint_eq(r.meta->checkpoint_id, 1);
    ck_assert_uint_eq(r.skip_count, 2);
    ck_assert_str_eq(r.skips[0].path, JOB_DIR "/chk-3");
    ck_assert(strstr(r.skips[0].reason, "digest differs") != NULL);
    ck_assert_str_eq(r.skips[1].path, JOB_DIR "/chk-2");
    ck_assert(strstr(r.skips[1].reason, "cut at byte 100") != NULL);
    ck_assert_uint_eq(r.fault_count, 0);
    ck_assert_uint_eq(r.newest_seen_id, 3);
    /* A given one is that one or an error. */
    ck_assert_rc(open_path(JOB_DIR "/chk-3", &with_digests), RC_CORRUPT);
    ck_assert_rc(open_path(JOB_DIR "/chk-2", &plain), RC_CORRUPT);
}
END_TEST

START_TEST(when_none_verifies_every_reason_is_said)
{
    for (uint64_t id = 1; id <= 3; id++)
        cut(arena_printf(arena, JOB_DIR "/chk-%" PRIu64 "/_metadata", id), 70 + id);
    ck_assert_int_eq(open_path(JOB_DIR, &plain), RC_CORRUPT);
    ck_assert_msg(strstr(err.msg, "none of the 3 snapshots") != NULL &&
                      strstr(err.msg, "cut at byte 71") != NULL &&
                      strstr(err.msg, "cut at byte 73") != NULL,
                  "%s", err.msg);
}
END_TEST

/* B14: what may pass is not taken for damage: no older one is chosen because the newest cannot be
 * read right now. */
START_TEST(a_read_error_names_file_and_errno_and_passes_nothing_over)
{
    static const char *const given[] = {JOB_DIR "/chk-3", JOB_DIR, "/ckpt"};

    fault_fs_add(fs, (struct fault){.kinds = FAULT_OPEN_READ,
                                    .path = "*chk-3/_metadata",
                                    .times = UINT64_MAX,
                                    .os_errno = EACCES});
    ck_assert_rc_msg(open_path(given[_i], &plain), RC_IO,
                     "chk-3/_metadata (injected): Permission denied");
    fault_fs_clear(fs);
    ck_assert_ok(open_path(given[_i], &plain));
    ck_assert_uint_eq(r.meta->checkpoint_id, 3);
}
END_TEST

START_TEST(looking_writes_nothing)
{
    struct buf before = {0}, after = {0};
    uint64_t ops = sim_fs_op_count(sim);

    sim_fs_dump(sim, &before);
    ck_assert_ok(open_path(JOB_DIR, &with_digests));
    ck_assert_rc(open_path("/nowhere", &plain), RC_NOT_FOUND);
    sim_fs_dump(sim, &after);
    ck_assert_str_eq(buf_cstr(&before), buf_cstr(&after));
    ck_assert_uint_eq(sim_fs_op_count(sim), ops);
    buf_release(&before);
    buf_release(&after);
}
END_TEST

/* ---- several jobs, savepoints --------------------------------------------------------------- */

static void make_savepoint(uint64_t id, struct storage_attempt **a)
{
    struct checkpoint_metadata m;

    ck_assert_ok(savepoint_begin(scene.storage, id, "/ckpt", a, &err));
    ck_assert_ok(scene_publish(&scene, *a, id, arena, &m, &err));
    m.kind = CHECKPOINT_SAVEPOINT;
    ck_assert_ok(storage_attempt_complete(*a, &m, &err));
}

START_TEST(a_savepoint_stands_alone_and_counts_in_a_root)
{
    struct storage_attempt *a;
    const char *dir;

    make_savepoint(4, &a);
    dir = arena_strdup(arena, storage_attempt_dir(a));
    storage_attempt_free(a);
    ck_assert(layout_is_savepoint(path_base(dir)));
    ck_assert_ok(open_path("/ckpt", &plain));
    ck_assert_str_eq(r.dir, dir);
    ck_assert_int_eq(r.meta->kind, CHECKPOINT_SAVEPOINT);
    scene_close(&scene);
    ck_assert_ok(fs_remove_tree(sim, JOB_DIR, &err)); /* it needs nothing of the job */
    ck_assert_ok(open_path(dir, &with_digests));
    ck_assert_str_eq(r.dir, dir);
}
END_TEST

START_TEST(resume_takes_the_newest_checkpoint_of_that_job_over_all_directories)
{
    struct storage_attempt *a;

    make_savepoint(8, &a); /* newer, but the user's */
    storage_attempt_free(a);
    scene_close(&scene);
    ck_assert_ok(fs_rename(sim, JOB_DIR, OTHER_DIR, &err));
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert_ok(scene_checkpoint(&scene, 7, &err));
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-7");
    recovered_release(&r);
    ck_assert(sim_fs_flip(sim, JOB_DIR "/chk-7/_metadata", 90, 1));
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, OTHER_DIR "/chk-3");
    ck_assert_uint_eq(r.skip_count, 1); /* it says what it passes over */
    ck_assert_str_eq(r.skips[0].path, JOB_DIR "/chk-7");
    recovered_release(&r);
    ck_assert(sim_fs_flip(sim, JOB_DIR "/chk-7/_metadata", 90, 1)); /* back */
    ck_assert_rc_msg(newest_of("/ckpt", "another"), RC_NOT_FOUND,
                     "no completed checkpoint or savepoint of job \"another\"");
    recovered_release(&r);
    ck_assert_rc(newest_of("/nowhere", "scene"), RC_NOT_FOUND);
}
END_TEST

/* A first start would replay all its input over results that are out. */
START_TEST(resume_does_not_start_afresh_over_what_it_cannot_read)
{
    for (uint64_t id = 1; id <= 2; id++)
        ck_assert_ok(
            fs_remove_tree(sim, arena_printf(arena, JOB_DIR "/chk-%" PRIu64, id), &err));
    cut(JOB_DIR "/chk-3/_metadata", 100);
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_CORRUPT,
                     JOB_DIR "/chk-3/_metadata: cut at byte 100");
    ck_assert_uint_eq(r.skip_count, 1);
    recovered_release(&r);
    /* Nothing says that it is not this one's. */
    ck_assert_rc(newest_of("/ckpt", "another"), RC_CORRUPT);
}
END_TEST

START_TEST(what_another_job_cannot_read_is_not_in_the_way_of_this_one)
{
    cut(JOB_DIR "/chk-3/_metadata", 100); /* beside readable ones of job "scene" */
    ck_assert_rc(newest_of("/ckpt", "another"), RC_NOT_FOUND);
}
END_TEST

/* What the savepoint of a stop holds is committed: nothing older takes its place. */
START_TEST(the_savepoint_of_a_stop_is_newer_than_the_checkpoints_before_it)
{
    struct storage_attempt *a;
    struct ended stop = {.checkpoint_id = 4, .wall_ms = 1, .job_id = SCENE_JOB_ID, .job_name = "scene", .fingerprint = MINE};
    const char *dir;

    make_savepoint(4, &a);
    dir = arena_strdup(arena, storage_attempt_dir(a));
    storage_attempt_free(a);
    stop.savepoint_dir = dir;
    ck_assert_ok(ended_write(fs, JOB_DIR, &stop, &err));
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, dir);
    ck_assert_uint_eq(r.skip_count, 0);
    ck_assert_ok(open_path(JOB_DIR, &plain));
    ck_assert_str_eq(r.dir, dir);
    ck_assert_ok(open_path(JOB_DIR "/chk-2", &plain)); /* as asked for */
    ck_assert_uint_eq(r.meta->checkpoint_id, 2);
    recovered_release(&r);
    ck_assert_rc(newest_of("/ckpt", "another"), RC_NOT_FOUND);

    ck_assert_ok(fs_rename(sim, dir, "/gone", &err));
    ck_assert_rc_msg(open_path(JOB_DIR, &plain), RC_STATE, dir);
    recovered_release(&r);
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_STATE, dir);
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert_ok(scene_checkpoint(&scene, 5, &err)); /* the job went on */
    ck_assert_ok(open_path(JOB_DIR, &plain));
    ck_assert_uint_eq(r.meta->checkpoint_id, 5);
}
END_TEST

START_TEST(a_note_of_an_end_that_cannot_be_read_is_refused)
{
    static const uint64_t lengths[] = {0, 1, 2, 9, 50};

    ck_assert_ok(note_write(fs, JOB_DIR, "ENDED", bytes_of_str("state=FINISHED\ncheckpoint_id=4\n"),
                            &err));
    cut(JOB_DIR "/ENDED", lengths[_i]);
    ck_assert_rc_msg(open_path(JOB_DIR, &plain), RC_CORRUPT,
                     _i < 3 ? "ENDED: not the lines that say how a job ended; an older checkpoint "
                              "could repeat results"
                            : "ENDED: digest differs from that of its first line; an older "
                              "checkpoint could repeat results");
}
END_TEST

/* ---- what has ended -------------------------------------------------------------------------
 * JOB_DIR is an earlier run of job "scene", dead, with checkpoints 1 to 3. */

static int64_t newest_wall_ms(void)
{
    int64_t wall_ms;

    ck_assert_ok(open_path(JOB_DIR "/chk-3", &plain));
    wall_ms = r.meta->completed_wall_ms;
    recovered_release(&r);
    return wall_ms;
}

#define BEGUN_DIR "/ckpt/dddddddddddddddddddddddddddddddd"

static void origin(const char *dir, const char *fingerprint, int64_t started_wall_ms,
                   const char *after)
{
    const char *ancestors[] = {after == NULL ? NULL : path_base(after)};
    struct run_origin o = {.job_id = SCENE_JOB_ID,
                           .job_name = "scene",
                           .fingerprint = fingerprint,
                           .started_wall_ms = started_wall_ms,
                           .from = after == NULL ? "" : "/somewhere",
                           .ancestor_count = after != NULL,
                           .ancestors = ancestors};

    if (!fs_exists(sim, dir))
        ck_assert_ok(fs_mkdir(fs, dir, &err));
    ck_assert_ok(origin_write(fs, dir, &o, &err));
}

static void ended_at(const char *dir, enum job_end end, const char *fingerprint, int64_t wall_ms)
{
    struct ended e = {end, 9, wall_ms, NULL, SCENE_JOB_ID, "scene", fingerprint};

    ck_assert_ok(ended_write(fs, dir, &e, &err));
}

/* A run of `fingerprint` that was resumed from JOB_DIR's chk-3 and has come to `end` at its checkpoint
 * 9, all its checkpoints deleted. */
static void over(enum job_end end, const char *fingerprint)
{
    int64_t wall_ms = newest_wall_ms() + 1;

    origin(JOB_DIR, MINE, 1, NULL);
    origin(OTHER_DIR, fingerprint, wall_ms, JOB_DIR);
    ended_at(OTHER_DIR, end, fingerprint, wall_ms);
}

START_TEST(nothing_of_a_finished_job_is_resumed)
{
    over(JOB_END_FINISHED, MINE);
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_DONE,
                     "job \"scene\" (" SCENE_JOB_ID ") has finished at checkpoint 9 (");
    ck_assert_rc_msg(open_path("/ckpt", &plain), RC_STATE,
                     OTHER_DIR "/ENDED: job \"scene\" (" SCENE_JOB_ID
                             ") has finished at checkpoint 9; an older checkpoint would repeat");
    ck_assert_rc_msg(open_path(OTHER_DIR, &plain), RC_STATE, "there is nothing to resume");
    ck_assert_ok(open_path(JOB_DIR, &plain)); /* as asked for */
    ck_assert_ok(open_path(JOB_DIR "/chk-2", &plain));
    ck_assert_rc(newest_of("/ckpt", "another"), RC_NOT_FOUND);
}
END_TEST

/* The clock was set back between the two. */
START_TEST(what_went_on_from_a_run_is_newer_whatever_the_clock_says)
{
    over(JOB_END_FINISHED, MINE);
    ended_at(OTHER_DIR, JOB_END_FINISHED, MINE, 0);
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_DONE);
}
END_TEST

START_TEST(nothing_older_than_a_deleted_checkpoint_is_resumed)
{
    const char *text = _i == 0 ? "was cancelled at checkpoint 9, and its retention had"
                               : "failed at checkpoint 9, and its retention had";

    over(_i == 0 ? JOB_END_CANCELED : JOB_END_FAILED, MINE);
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_STATE, text);
    ck_assert_rc_msg(open_path("/ckpt", &plain), RC_STATE, text);
}
END_TEST

/* Statements that were changed: not the job that has finished. They begin. */
START_TEST(other_statements_are_not_called_finished)
{
    over(JOB_END_FINISHED, "others");
    origin(JOB_DIR, "others", 1, NULL);
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_NOT_FOUND);
}
END_TEST

/* Changed in between, and changed back: what is over is over. */
START_TEST(changed_statements_that_finished_bar_what_they_went_on_from)
{
    over(JOB_END_FINISHED, "changed");
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_STATE, "an older checkpoint would repeat");
}
END_TEST

/* Without a run of these statements that of changed ones is gone on from, unless it is that of
 * another INSERT of the script, or may be. */
START_TEST(snapshots_of_another_statement_are_left_alone)
{
    static const char *const claimed[] = {"others"};

    origin(JOB_DIR, "others", 1, NULL);
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-3");
    options_of.names_shared = true;
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_STATE, "set another pipeline.name");
    options_of.claimed = claimed;
    options_of.claimed_count = 1;
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_NOT_FOUND);
    origin(JOB_DIR, MINE, 1, NULL);
    ck_assert_ok(newest_of("/ckpt", "scene"));
}
END_TEST

/* Two INSERTs into one table have one name: the second was not there yet when the first finished. */
START_TEST(another_job_of_the_same_name_begins)
{
    scene_close(&scene);
    ck_assert_ok(fs_remove_tree(sim, JOB_DIR, &err));
    origin(OTHER_DIR, "others", 1, NULL);
    ended_at(OTHER_DIR, JOB_END_FINISHED, "others", 2);
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_NOT_FOUND);
}
END_TEST

/* ... and each of the two has its own checkpoints. */
START_TEST(of_two_jobs_of_one_name_each_goes_on_with_its_own)
{
    int64_t later = newest_wall_ms() + 1;

    origin(JOB_DIR, MINE, 1, NULL);
    origin(OTHER_DIR, "others", 1, NULL);
    ended_at(OTHER_DIR, JOB_END_FINISHED, "others", later);
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-3");
    origin(JOB_DIR, "others", 1, NULL);
    origin(OTHER_DIR, MINE, 1, NULL);
    ended_at(OTHER_DIR, JOB_END_FINISHED, MINE, 2); /* before the other's checkpoint */
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_DONE);
}
END_TEST

/* The statements were changed for a run in between, and changed back: its checkpoints are newer. */
START_TEST(a_run_of_changed_statements_that_went_on_counts)
{
    scene_close(&scene);
    ck_assert_ok(fs_rename(sim, JOB_DIR, OTHER_DIR, &err));
    origin(OTHER_DIR, MINE, 1, NULL);
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert_ok(scene_checkpoint(&scene, 7, &err));
    origin(JOB_DIR, "changed", 1, OTHER_DIR);
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-7");
    origin(JOB_DIR, "unrelated", 1, NULL);
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, OTHER_DIR "/chk-3");
}
END_TEST

/* The statements were changed, and the first run of the new ones ended before its first checkpoint: its results are
 * those of the run that it went on from. From nothing they would come again. */
START_TEST(changed_statements_that_completed_nothing_go_on_where_they_began)
{
    static const char *const claimed[] = {"before"};

    origin(JOB_DIR, "before", 1, NULL);
    origin(BEGUN_DIR, MINE, newest_wall_ms() + 1, JOB_DIR);
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-3");
    options_of.names_shared = true; /* it is known which of them it is */
    ck_assert_ok(newest_of("/ckpt", "scene"));
    options_of.claimed = claimed; /* now a job of its own of the script: which is meant? */
    options_of.claimed_count = 1;
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_STATE, "the newest run was started from /somewhere");
    origin(OTHER_DIR, "before", newest_wall_ms() + 2, JOB_DIR); /* it went on, and is no run of these */
    options_of.claimed_count = 0;
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-3");
}
END_TEST

/* Its snapshot lies elsewhere. */
START_TEST(a_start_from_a_path_that_completed_nothing_is_not_begun_from_nothing)
{
    scene_close(&scene);
    ck_assert_ok(fs_remove_tree(sim, JOB_DIR, &err));
    origin(BEGUN_DIR, MINE, 1, "/elsewhere/ffffffffffffffffffffffffffffffff");
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_STATE,
                     "the newest run was started from /somewhere and completed no checkpoint");
    origin(BEGUN_DIR, MINE, 1, NULL);
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_NOT_FOUND, "began from nothing");
}
END_TEST

/* Two runs at once would show its results twice; another job of that name begins all the same. */
START_TEST(a_running_job_is_not_resumed)
{
    const struct recovery_options mine = {.job_name = "scene", .fingerprint = MINE},
                                  other = {.job_name = "scene", .fingerprint = "others"};

    origin(JOB_DIR, MINE, 1, NULL);
    ck_assert_rc_msg(recovery_newest_of_job(&scene.env, "/ckpt", &mine, &r, &err), RC_STATE,
                     JOB_DIR ": job \"scene\" is running there (");
    recovered_release(&r);
    ck_assert_rc(recovery_newest_of_job(&scene.env, "/ckpt", &other, &r, &err), RC_NOT_FOUND);
    ck_assert_ok(open_path(JOB_DIR, &plain)); /* as asked for */
    ck_assert_ok(newest_of("/ckpt", "scene"));
}
END_TEST

/* Whether it runs cannot be told: that is no reason to go on from it. */
START_TEST(a_job_whose_lock_cannot_be_looked_at_is_not_resumed)
{
    origin(JOB_DIR, MINE, 1, NULL);
    fault_fs_add(fs, (struct fault){.kinds = FAULT_STAT,
                                    .path = "*/LOCK",
                                    .times = UINT64_MAX,
                                    .os_errno = EIO});
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_IO, "LOCK");
    fault_fs_clear(fs);
    ck_assert_ok(newest_of("/ckpt", "scene"));
}
END_TEST

START_TEST(of_several_jobs_in_a_root_that_of_the_same_name_is_taken)
{
    struct recovery_options by_name = {.preferred_name = "another"};

    ck_assert_ok(open_path("/ckpt", &by_name)); /* there is none */
    by_name.preferred_name = "scene";
    ck_assert_ok(open_path("/ckpt", &by_name));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-3");
    origin(OTHER_DIR, MINE, 1, NULL);
    ended_at(OTHER_DIR, JOB_END_FINISHED, MINE, 2);
    by_name.preferred_name = "scene";
    ck_assert_ok(open_path("/ckpt", &by_name));
}
END_TEST

/* It was started anew after the end, and killed before its first checkpoint: nothing is out. */
START_TEST(a_start_from_nothing_after_the_end_begins_again)
{
    int64_t later = newest_wall_ms() + 2;

    over(JOB_END_FINISHED, MINE);
    origin(BEGUN_DIR, MINE, later, NULL);
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_NOT_FOUND, "began from nothing");
    origin(BEGUN_DIR, MINE, 1, NULL); /* before it */
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_DONE);
    origin(BEGUN_DIR, "others", later, NULL);
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_DONE);
    origin(BEGUN_DIR, MINE, later, "/elsewhere/ffffffffffffffffffffffffffffffff"); /* from a path */
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_STATE,
                     "the newest run was started from /somewhere and completed no checkpoint");
}
END_TEST

/* A start that completed nothing put nothing out: what was killed before it can be gone on from. */
START_TEST(a_mistaken_start_from_nothing_loses_nothing)
{
    int64_t later = newest_wall_ms() + 2;

    origin(JOB_DIR, MINE, 1, NULL);
    origin(BEGUN_DIR, MINE, later, NULL);
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, JOB_DIR "/chk-3");
}
END_TEST

/* The clock was set back, and the later run killed. */
START_TEST(the_later_run_has_the_newer_checkpoint_whatever_the_clock_says)
{
    scene_close(&scene);
    ck_assert_ok(fs_rename(sim, JOB_DIR, OTHER_DIR, &err));
    origin(OTHER_DIR, MINE, 1, BEGUN_DIR); /* its checkpoints 1 to 3 are the later ones */
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert_ok(scene_checkpoint(&scene, 7, &err));
    ck_assert_ok(fs_rename(sim, JOB_DIR, BEGUN_DIR, &err));
    origin(BEGUN_DIR, MINE, 1, NULL);
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_str_eq(r.dir, OTHER_DIR "/chk-3");
    ck_assert_ok(fs_rename(sim, BEGUN_DIR, JOB_DIR, &err));
}
END_TEST

/* Which run it is of cannot be read, and that it is newer only by its file. */
START_TEST(an_unreadable_end_stops_the_runs_before_it)
{
    over(JOB_END_FINISHED, MINE);
    cut(OTHER_DIR "/ENDED", 3);
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_CORRUPT, OTHER_DIR "/ENDED: not the lines");
    ck_assert_rc(open_path("/ckpt", &plain), RC_CORRUPT);
}
END_TEST

/* The run stopped with a savepoint, which another went on from to its end. */
START_TEST(the_savepoint_of_a_stop_is_over_when_a_run_from_it_is)
{
    struct storage_attempt *a;
    struct ended e = {.end = JOB_END_FINISHED, .checkpoint_id = 4, .wall_ms = INT64_MAX / 2,
                      .job_id = SCENE_JOB_ID, .job_name = "scene", .fingerprint = MINE};

    make_savepoint(4, &a);
    e.savepoint_dir = arena_strdup(arena, storage_attempt_dir(a));
    storage_attempt_free(a);
    over(JOB_END_FINISHED, MINE);
    ck_assert_ok(ended_write(fs, JOB_DIR, &e, &err));
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_DONE);
}
END_TEST

/* The process died between the note and the deletion. */
START_TEST(a_checkpoint_beside_the_note_serves_a_cancelled_job_and_not_a_finished_one)
{
    struct ended e = {JOB_END_CANCELED, 3, 1, NULL, SCENE_JOB_ID, "scene", MINE};

    ck_assert_ok(ended_write(fs, JOB_DIR, &e, &err));
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_uint_eq(r.meta->checkpoint_id, 3);
    e.end = JOB_END_FINISHED;
    ck_assert_ok(ended_write(fs, JOB_DIR, &e, &err));
    ck_assert_rc(newest_of("/ckpt", "scene"), RC_DONE);
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert_ok(scene_checkpoint(&scene, 4, &err)); /* it went on */
    ck_assert_ok(newest_of("/ckpt", "scene"));
    ck_assert_uint_eq(r.meta->checkpoint_id, 4);
}
END_TEST

/* A run after the finished one, nothing of which can be read: to say "finished" would be wrong. */
START_TEST(a_finished_run_is_no_answer_for_a_later_one_that_is_damaged)
{
    over(JOB_END_FINISHED, MINE);
    scene_close(&scene);
    ck_assert_ok(fs_rename(sim, JOB_DIR, "/ckpt/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee", &err));
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert_ok(scene_checkpoint(&scene, 12, &err));
    origin(JOB_DIR, MINE, 1, NULL);
    origin(OTHER_DIR, MINE, 1, "/ckpt/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
    ck_assert_ok(fs_unlink(sim, shared_of(12), &err));
    ck_assert_rc_msg(newest_of("/ckpt", "scene"), RC_CORRUPT, shared_of(12));
    ck_assert_uint_eq(r.skip_count, 1);
}
END_TEST

START_TEST(the_newest_id_of_a_directory_counts_incomplete_ones)
{
    uint64_t id;

    ck_assert_ok(fs_mkdir(sim, JOB_DIR "/chk-41", &err));
    ck_assert_ok(recovery_newest_id(fs, JOB_DIR, &id, &err));
    ck_assert_uint_eq(id, 41);
    ck_assert_ok(recovery_newest_id(fs, "/nowhere", &id, &err));
    ck_assert_uint_eq(id, 0);
}
END_TEST

TEST_MAIN("recovery", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, every_way_to_name_a_snapshot_finds_it, 0, ARRAY_LEN(paths));
          tcase_add_loop_test(tc, what_is_no_snapshot_is_refused_for_good, 0, ARRAY_LEN(refusals));
          tcase_add_test(tc, an_incomplete_checkpoint_is_not_offered_but_its_id_counts);
          tcase_add_loop_test(tc, a_cut_metadata_says_where, 0, 7);
          tcase_add_test(tc, every_missing_file_is_listed);
          tcase_add_test(tc, a_file_of_another_length_is_a_fault);
          tcase_add_test(tc, a_flipped_bit_is_found_by_digest);
          tcase_add_test(tc, a_moved_directory_restores_and_a_part_of_it_does_not);
          tcase_add_loop_test(tc,
                              a_directory_gives_the_newest_that_verifies_and_says_what_it_skipped,
                              0, 2);
          tcase_add_test(tc, when_none_verifies_every_reason_is_said);
          tcase_add_loop_test(tc, a_read_error_names_file_and_errno_and_passes_nothing_over, 0, 3);
          tcase_add_test(tc, looking_writes_nothing);
          tcase_add_test(tc, a_savepoint_stands_alone_and_counts_in_a_root);
          tcase_add_test(tc, resume_takes_the_newest_checkpoint_of_that_job_over_all_directories);
          tcase_add_test(tc, resume_does_not_start_afresh_over_what_it_cannot_read);
          tcase_add_test(tc, what_another_job_cannot_read_is_not_in_the_way_of_this_one);
          tcase_add_test(tc, the_savepoint_of_a_stop_is_newer_than_the_checkpoints_before_it);
          tcase_add_loop_test(tc, a_note_of_an_end_that_cannot_be_read_is_refused, 0, 5);
          tcase_add_test(tc, nothing_of_a_finished_job_is_resumed);
          tcase_add_test(tc, what_went_on_from_a_run_is_newer_whatever_the_clock_says);
          tcase_add_loop_test(tc, nothing_older_than_a_deleted_checkpoint_is_resumed, 0, 2);
          tcase_add_test(tc, other_statements_are_not_called_finished);
          tcase_add_test(tc, changed_statements_that_finished_bar_what_they_went_on_from);
          tcase_add_test(tc, snapshots_of_another_statement_are_left_alone);
          tcase_add_test(tc, another_job_of_the_same_name_begins);
          tcase_add_test(tc, of_two_jobs_of_one_name_each_goes_on_with_its_own);
          tcase_add_test(tc, a_run_of_changed_statements_that_went_on_counts);
          tcase_add_test(tc, changed_statements_that_completed_nothing_go_on_where_they_began);
          tcase_add_test(tc, a_start_from_a_path_that_completed_nothing_is_not_begun_from_nothing);
          tcase_add_test(tc, a_running_job_is_not_resumed);
          tcase_add_test(tc, a_job_whose_lock_cannot_be_looked_at_is_not_resumed);
          tcase_add_test(tc, of_several_jobs_in_a_root_that_of_the_same_name_is_taken);
          tcase_add_test(tc, a_start_from_nothing_after_the_end_begins_again);
          tcase_add_test(tc, a_mistaken_start_from_nothing_loses_nothing);
          tcase_add_test(tc, the_later_run_has_the_newer_checkpoint_whatever_the_clock_says);
          tcase_add_test(tc, an_unreadable_end_stops_the_runs_before_it);
          tcase_add_test(tc, the_savepoint_of_a_stop_is_over_when_a_run_from_it_is);
          tcase_add_test(
              tc, a_checkpoint_beside_the_note_serves_a_cancelled_job_and_not_a_finished_one);
          tcase_add_test(tc, a_finished_run_is_no_answer_for_a_later_one_that_is_damaged);
          tcase_add_test(tc, the_newest_id_of_a_directory_counts_incomplete_ones);)
