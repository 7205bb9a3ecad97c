/* links: checkpoint */
#include "checkpoint/savepoint.h"

#include "checkpoint/layout.h"
#include "checkpoint/recovery.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>
#include <inttypes.h>

#define JOB_DIR "/ckpt/" SCENE_JOB_ID

static struct fs *sim, *fs;
static struct scene scene;
static struct arena *arena;
static struct err err;

static void setup(void)
{
    sim = sim_fs_new(NULL);
    fs = fault_fs_new(sim);
    arena = arena_new(0);
    err = (struct err){0};
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
}

static void teardown(void)
{
    scene_close(&scene);
    fault_fs_free(fs);
    sim_fs_free(sim);
    arena_free(arena);
}

static const char *make(uint64_t id, const char *directory, struct checkpoint_metadata *m)
{
    struct storage_attempt *a;
    const char *dir;

    ck_assert_ok(savepoint_begin(scene.storage, id, directory, &a, &err));
    ck_assert_ok(scene_publish(&scene, a, id, arena, m, &err));
    m->kind = CHECKPOINT_SAVEPOINT;
    ck_assert_ok(storage_attempt_complete(a, m, &err));
    dir = arena_strdup(arena, storage_attempt_dir(a));
    ck_assert_ok(storage_attempt_abort(a, &err)); /* no-op now */
    storage_attempt_free(a);
    return dir;
}

/* Every file lies beside _metadata: the directory can be moved, and the job's shared/ is not
 * needed. */
START_TEST(a_savepoint_names_nothing_outside_its_directory)
{
    struct checkpoint_metadata m;
    struct recovered r = {0};
    const char *dir = make(1, "/user/saves", &m);
    const struct state_file *f = m.operators[0].subtasks[0].keyed[0].files;
    struct fs_stat st;

    ck_assert(strncmp(path_base(dir), "savepoint-012345-", 17) == 0);
    for (size_t i = 0; i < SCENE_FILES + 3; i++)
        ck_assert(f[i].scope == FILE_INLINE ||
                  (f[i].scope == FILE_EXCLUSIVE && strchr(f[i].path, '/') == NULL));
    ck_assert_ok(fs_stat(sim, arena_printf(arena, "%s/%s", dir, f[0].path), &st, &err));
    ck_assert_uint_eq(st.link_count, 2); /* a hard link of the local file */
    ck_assert_ok(fs_rename(sim, dir, "/elsewhere", &err));
    ck_assert_ok(recovery_open(&scene.env, "/elsewhere",
                               &(struct recovery_options){.digests = true}, &r, &err));
    ck_assert_uint_eq(r.meta->checkpoint_id, 1);
    recovered_release(&r);
}
END_TEST

START_TEST(a_savepoint_survives_a_power_loss_whole)
{
    struct checkpoint_metadata m;
    struct recovered r = {0};
    struct rng rng;
    const char *dir;

    sim_fs_allow(sim, _i % 2 == 0, false); /* linked, copied */
    dir = make(1, "/user/saves", &m);
    scene_close(&scene);
    rng_seed(&rng, (uint64_t)_i);
    sim_fs_crash(sim, &rng);
    ck_assert_ok(
        recovery_open(&scene.env, dir, &(struct recovery_options){.digests = true}, &r, &err));
    recovered_release(&r);
}
END_TEST

/* Crash at each operation: no savepoint that can be restored without its mark in the job's
 * directory, whose id is taken (C9). */
START_TEST(a_savepoint_is_marked_before_it_can_be_restored)
{
    bool done = false;
    uint64_t k;

    ck_assert_ok(scene_checkpoint(&scene, 1, &err));
    for (k = 0; !done; k++) {
        struct checkpoint_metadata m;
        struct storage_attempt *a;
        struct recovered r = {0};
        struct rng rng;
        char mark[LAYOUT_NAME_MAX];
        uint64_t id = 2 + k, newest;
        const char *dir;

        rng_seed(&rng, k);
        ck_assert_ok(savepoint_begin(scene.storage, id, "/user", &a, &err));
        dir = arena_strdup(arena, storage_attempt_dir(a));
        ck_assert_ok(scene_publish(&scene, a, id, arena, &m, &err));
        m.kind = CHECKPOINT_SAVEPOINT;
        sim_fs_crash_at(sim, k);
        done = storage_attempt_complete(a, &m, &err) == RC_OK;
        err_clear(&err);
        (void)!storage_attempt_abort(a, &err); /* the disk is gone */
        err_clear(&err);
        storage_attempt_free(a);
        if (!done) {
            scene_close(&scene);
            sim_fs_crash(sim, &rng);
            ck_assert_ok(scene_open(&scene, &err));
        }
        layout_savepoint_mark(id, mark);
        if (recovery_open(&scene.env, dir, &(struct recovery_options){0}, &r, &err) == RC_OK) {
            ck_assert(fs_exists(sim, arena_printf(arena, JOB_DIR "/%s", mark)));
            ck_assert_ok(recovery_newest_id(sim, JOB_DIR, &newest, &err));
            ck_assert_uint_eq(newest, id);
        }
        ck_assert(!done || r.meta != NULL);
        err_clear(&err);
        recovered_release(&r);
    }
    ck_assert_uint_ge(k, 8);
}
END_TEST

START_TEST(one_mark_stays)
{
    struct checkpoint_metadata m;

    make(1, "/user", &m);
    make(2, "/user", &m);
    ck_assert(!fs_exists(sim, JOB_DIR "/SAVEPOINT-1"));
    ck_assert(fs_exists(sim, JOB_DIR "/SAVEPOINT-2"));
}
END_TEST

/* Several may be under way: C9 needs the newest. */
START_TEST(the_mark_of_a_newer_savepoint_stays_when_an_older_one_takes_longer)
{
    struct checkpoint_metadata m;
    struct storage_attempt *older;

    ck_assert_ok(savepoint_begin(scene.storage, 1, "/user", &older, &err));
    ck_assert_ok(scene_publish(&scene, older, 1, arena, &m, &err));
    m.kind = CHECKPOINT_SAVEPOINT;
    make(2, "/user", &(struct checkpoint_metadata){0});
    ck_assert_ok(storage_attempt_complete(older, &m, &err));
    storage_attempt_free(older);
    ck_assert(!fs_exists(sim, JOB_DIR "/SAVEPOINT-1"));
    ck_assert(fs_exists(sim, JOB_DIR "/SAVEPOINT-2"));
}
END_TEST

START_TEST(a_directory_may_be_a_uri_and_must_be_a_file_system)
{
    struct checkpoint_metadata m;
    struct storage_attempt *a;

    ck_assert(strncmp(make(1, "file:///user/saves", &m), "/user/saves/savepoint-", 22) == 0);
    ck_assert_rc_msg(savepoint_begin(scene.storage, 2, "gs://bucket/x", &a, &err), RC_UNSUPPORTED,
                     "gs");
}
END_TEST

START_TEST(jobmanager_storage_has_savepoints_too)
{
    struct checkpoint_metadata m;

    scene_close(&scene);
    scene.dir = NULL;
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert(fs_exists(sim, arena_printf(arena, "%s/_metadata", make(1, "/saves", &m))));
}
END_TEST

/* C12: neither subsuming nor cleaning touches it. */
START_TEST(checkpoints_leave_savepoints_alone)
{
    struct checkpoint_metadata m;
    struct recovered r = {0};
    const char *dir;

    ck_assert_ok(scene_step(&scene, 1, &err));
    dir = make(2, "/ckpt", &m);
    for (uint64_t id = 3; id < 8; id++)
        ck_assert_ok(scene_step(&scene, id, &err));
    ck_assert_ok(
        recovery_open(&scene.env, dir, &(struct recovery_options){.digests = true}, &r, &err));
    recovered_release(&r);
}
END_TEST

START_TEST(ten_taken_names_are_enough)
{
    struct storage_attempt *a;

    fault_fs_add(fs, (struct fault){.kinds = FAULT_MKDIR,
                                    .path = "*/savepoint-*",
                                    .times = UINT64_MAX,
                                    .os_errno = EEXIST});
    ck_assert_rc_msg(savepoint_begin(scene.storage, 1, "/saves", &a, &err), RC_EXISTS,
                     "no free name in /saves after 10 tries");
    ck_assert_uint_eq(fault_fs_hits(fs), 10);
    fault_fs_clear(fs);
    fault_fs_add(
        fs, (struct fault){
                .kinds = FAULT_MKDIR, .path = "*/savepoint-*", .times = 9, .os_errno = EEXIST});
    ck_assert_ok(savepoint_begin(scene.storage, 1, "/saves", &a, &err));
    ck_assert_ok(storage_attempt_abort(a, &err));
    storage_attempt_free(a);
}
END_TEST

/* B40: ENOSPC says so and leaves nothing; the next checkpoint works. */
START_TEST(a_full_disk_fails_the_savepoint_alone)
{
    struct checkpoint_metadata m;
    struct storage_attempt *a;
    size_t orphans;
    uint64_t newest;

    ck_assert_ok(scene_step(&scene, 1, &err));
    sim_fs_allow(sim, false, false);
    ck_assert_ok(savepoint_begin(scene.storage, 2, "/saves", &a, &err));
    sim_fs_set_capacity(sim, 1000);
    ck_assert_rc_msg(scene_publish(&scene, a, 2, arena, &m, &err), RC_IO,
                     "No space left on device");
    ck_assert_ok(storage_attempt_abort(a, &err));
    ck_assert(!fs_exists(sim, storage_attempt_dir(a)));
    storage_attempt_free(a);
    sim_fs_set_capacity(sim, UINT64_MAX);
    ck_assert_ok(scene_step(&scene, 3, &err));
    ck_assert_str_eq(scene_audit(sim, JOB_DIR, arena, &newest, &orphans), "");
    ck_assert_uint_eq(newest, 3);
}
END_TEST

/* ---- dispose -------------------------------------------------------------------------------- */

START_TEST(a_disposed_savepoint_is_gone)
{
    struct checkpoint_metadata m;
    const char *dir = make(1, "/saves", &m);
    const char *const given[] = {dir, arena_printf(arena, "%s/_metadata", dir),
                                 arena_printf(arena, "file://%s", dir)};

    ck_assert_ok(savepoint_dispose(&scene.env, given[_i], &err));
    ck_assert(!fs_exists(sim, dir));
    ck_assert_rc(savepoint_dispose(&scene.env, given[_i], &err), RC_NOT_FOUND);
}
END_TEST

START_TEST(dispose_leaves_strangers_and_what_it_cannot_read)
{
    struct checkpoint_metadata m;
    const char *dir = make(1, "/saves", &m), *note;
    struct fs_file *file;

    ck_assert(sim_fs_flip(sim, arena_printf(arena, "%s/_metadata", dir), 80, 1));
    ck_assert_rc(savepoint_dispose(&scene.env, dir, &err), RC_CORRUPT);
    ck_assert(fs_exists(
        sim, arena_printf(arena, "%s/%s", dir, m.operators[0].subtasks[0].keyed[0].files[0].path)));
    ck_assert(sim_fs_flip(sim, arena_printf(arena, "%s/_metadata", dir), 80, 1));
    note = arena_printf(arena, "%s/notes.txt", dir);
    ck_assert_ok(fs_create(sim, note, &file, &err));
    ck_assert_ok(fs_close(&file, &err));
    ck_assert_ok(savepoint_dispose(&scene.env, dir, &err));
    ck_assert(fs_exists(sim, note));
    ck_assert(!fs_exists(sim, arena_printf(arena, "%s/_metadata", dir)));
}
END_TEST

START_TEST(a_retained_checkpoint_is_disposed_with_what_it_names_alone)
{
    uint64_t newest;
    size_t orphans;

    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
    ck_assert_rc_msg(savepoint_dispose(&scene.env, JOB_DIR "/chk-2", &err), RC_STATE,
                     "in use by a running job");
    scene_close(&scene);
    ck_assert_ok(savepoint_dispose(&scene.env, JOB_DIR "/chk-2", &err));
    ck_assert_ok(savepoint_dispose(&scene.env, JOB_DIR "/chk-3", &err));
    ck_assert_str_eq(scene_audit(sim, JOB_DIR, arena, &newest, &orphans), "");
    ck_assert_uint_eq(newest, 1);
    ck_assert_uint_eq(orphans, 0);
}
END_TEST

/* An unreadable neighbour may name any of them. */
START_TEST(beside_an_unreadable_metadata_no_shared_file_is_deleted)
{
    uint64_t newest;
    size_t orphans;

    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
    scene_close(&scene);
    ck_assert(sim_fs_flip(sim, JOB_DIR "/chk-1/_metadata", 80, 1));
    ck_assert_ok(savepoint_dispose(&scene.env, JOB_DIR "/chk-3", &err));
    ck_assert_ok(savepoint_dispose(&scene.env, JOB_DIR "/chk-2", &err));
    ck_assert(sim_fs_flip(sim, JOB_DIR "/chk-1/_metadata", 80, 1));
    ck_assert_str_eq(scene_audit(sim, JOB_DIR, arena, &newest, &orphans), "");
    ck_assert_uint_eq(newest, 1);
}
END_TEST

TEST_MAIN("savepoint", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_savepoint_names_nothing_outside_its_directory);
          tcase_add_loop_test(tc, a_savepoint_survives_a_power_loss_whole, 0, 20);
          tcase_add_test(tc, one_mark_stays);
          tcase_add_test(tc, the_mark_of_a_newer_savepoint_stays_when_an_older_one_takes_longer);
          tcase_add_test(tc, a_savepoint_is_marked_before_it_can_be_restored);
          tcase_add_test(tc, a_directory_may_be_a_uri_and_must_be_a_file_system);
          tcase_add_test(tc, jobmanager_storage_has_savepoints_too);
          tcase_add_test(tc, checkpoints_leave_savepoints_alone);
          tcase_add_test(tc, ten_taken_names_are_enough);
          tcase_add_test(tc, a_full_disk_fails_the_savepoint_alone);
          tcase_add_loop_test(tc, a_disposed_savepoint_is_gone, 0, 3);
          tcase_add_test(tc, dispose_leaves_strangers_and_what_it_cannot_read);
          tcase_add_test(tc, a_retained_checkpoint_is_disposed_with_what_it_names_alone);
          tcase_add_test(tc, beside_an_unreadable_metadata_no_shared_file_is_deleted);)
