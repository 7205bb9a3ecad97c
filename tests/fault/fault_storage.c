/* links: checkpoint */
/* fault_storage.c - each operation of a job's checkpoints fails once, for a while, or after it was
 * done.
 *
 * The failure is clean (an attempt fails, or only a deletion does), the next checkpoint works, and
 * in the end the directory holds the newest checkpoint, whole, and nothing that nobody names. Leaks
 * are the sanitizer's to find. */
#include "checkpoint/recovery.h"
#include "checkpoint/savepoint.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>
#include <inttypes.h>

#define JOB_DIR "/ckpt/" SCENE_JOB_ID
#define STEPS 5

struct world {
    struct fs *sim, *fs;
    struct scene scene;
};

static void world_init(struct world *w, bool links)
{
    w->sim = sim_fs_new(NULL);
    sim_fs_allow(w->sim, links, false);
    w->fs = fault_fs_new(w->sim);
    scene_init(&w->scene, w->fs, "/ckpt", "/local");
    w->scene.local_fs = w->sim;
}

static void world_release(struct world *w)
{
    scene_close(&w->scene);
    fault_fs_free(w->fs);
    sim_fs_free(w->sim);
}

/* Five checkpoints; one that fails is not repeated, the next has a new id. Returns how many failed.
 */
static int run_steps(struct world *w, uint64_t first_id)
{
    int failed = 0;

    for (uint64_t id = first_id; id < first_id + STEPS; id++) {
        struct err err = {0};
        enum rc rc = scene_step(&w->scene, id, &err);

        if (rc != RC_OK) {
            ck_assert_msg(err.rc == rc && err.msg[0] != '\0', "checkpoint %" PRIu64 ": %s", id,
                          rc_name(rc));
            failed++;
        }
    }
    return failed;
}

static void check_end(struct world *w, uint64_t k, uint64_t want_newest)
{
    struct arena *arena = arena_new(0);
    uint64_t newest;
    size_t orphans;
    const char *wrong = scene_audit(w->sim, JOB_DIR, arena, &newest, &orphans);
    struct buf dump = {0};

    sim_fs_dump(w->sim, &dump);
    *strstr((char *)(uintptr_t)buf_cstr(&dump), "\nD ") = '\0'; /* the written image */
    ck_assert_msg(wrong[0] == '\0' && orphans == 0 && newest == want_newest,
                  "fault at %" PRIu64 ": %s, %zu orphans, newest %" PRIu64 " instead of %" PRIu64
                  "\n%s",
                  k, wrong, orphans, newest, want_newest, (char *)dump.data);
    ck_assert_msg(strstr((char *)dump.data, "/chk-1/") == NULL, "chk-1 is left:\n%s",
                  (char *)dump.data);
    buf_release(&dump);
    arena_free(arena);
}

static const struct {
    const char *name;
    struct fault fault;
    bool links;
    int failures_max; /* attempts that one such fault may cost */
} kinds[] = {
    {"once", {.times = 1, .os_errno = EIO}, true, 1},
    {"once, copies", {.times = 1, .os_errno = EIO}, false, 1},
    {"once, answer lost", {.times = 1, .os_errno = EIO, .done = true}, true, 1},
    {"once, answer lost, copies", {.times = 1, .os_errno = EIO, .done = true}, false, 1},
    {"short write",
     {.kinds = FAULT_APPEND, .times = 1, .os_errno = ENOSPC, .short_write = true},
     true,
     1},
    {"twenty in a row", {.times = 20, .os_errno = EIO}, true, STEPS},
    {"disk full for ever",
     {.kinds = FAULT_APPEND | FAULT_CREATE | FAULT_LINK | FAULT_MKDIR,
      .times = UINT64_MAX,
      .os_errno = ENOSPC},
     true,
     STEPS},
    {"no deletion works",
     {.kinds = FAULT_UNLINK | FAULT_RMDIR, .times = UINT64_MAX, .os_errno = EACCES},
     true,
     0},
};

START_TEST(a_failed_operation_costs_at_most_its_checkpoint)
{
    for (uint64_t k = 0;; k++) {
        struct err err = {0};
        struct fault fault = kinds[_i].fault;
        struct world w;
        uint64_t hits;
        int failed;

        world_init(&w, kinds[_i].links);
        ck_assert_ok(scene_open(&w.scene, &err));
        fault.at = k;
        fault_fs_add(w.fs, fault);
        failed = run_steps(&w, 1);
        ck_assert_msg(failed <= kinds[_i].failures_max, "%s at %" PRIu64 ": %d checkpoints failed",
                      kinds[_i].name, k, failed);
        hits = fault_fs_hits(w.fs);
        fault_fs_clear(w.fs);
        /* Nothing visible may be broken even before the next one. */
        {
            struct arena *arena = arena_new(0);
            uint64_t newest;
            size_t orphans;
            const char *wrong = scene_audit(w.sim, JOB_DIR, arena, &newest, &orphans);

            ck_assert_msg(wrong[0] == '\0', "%s at %" PRIu64 ": %s", kinds[_i].name, k, wrong);
            ck_assert_uint_ge(newest, w.scene.completed_id);
            arena_free(arena);
        }
        ck_assert_int_eq(run_steps(&w, STEPS + 1), 0);
        check_end(&w, k, 2 * STEPS);
        world_release(&w);
        if (hits == 0) {
            ck_assert_msg(k > 5, "%s: the fault never came", kinds[_i].name);
            break;
        }
    }
}
END_TEST

/* Opening fails at every operation: an error, no leak, and the next open works. */
START_TEST(a_failed_open_can_be_repeated)
{
    for (uint64_t k = 0;; k++) {
        struct err err = {0};
        struct world w;
        uint64_t hits;
        enum rc rc;

        world_init(&w, true);
        ck_assert_ok(scene_open(&w.scene, &err));
        ck_assert_int_eq(run_steps(&w, 1), 0);
        scene_close(&w.scene);
        fault_fs_add(w.fs, (struct fault){.at = k, .times = 1, .os_errno = EIO});
        rc = scene_open(&w.scene, &err);
        hits = fault_fs_hits(w.fs);
        fault_fs_clear(w.fs);
        if (rc != RC_OK) {
            ck_assert_msg(err.msg[0] != '\0', "at %" PRIu64, k);
            err_clear(&err);
            ck_assert_ptr_null(w.scene.storage);
            ck_assert_ok(scene_open(&w.scene, &err));
        }
        w.scene.completed_id = STEPS;
        ck_assert_int_eq(run_steps(&w, STEPS + 1), 0);
        check_end(&w, k, 2 * STEPS);
        world_release(&w);
        if (hits == 0)
            break;
    }
}
END_TEST

static enum rc savepoint_once(struct scene *s, uint64_t id, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct storage_attempt *a = NULL;
    struct checkpoint_metadata m;
    enum rc rc, logged UNUSED;

    GOTO_IF_ERR(savepoint_begin(s->storage, id, "/user/saves", &a, err));
    GOTO_IF_ERR(scene_publish(s, a, id, arena, &m, err));
    GOTO_IF_ERR(storage_attempt_complete(a, &m, err));
out:
    if (a != NULL) {
        logged = storage_attempt_abort(a, NULL);
        storage_attempt_free(a);
    }
    logged = storage_clean(s->storage, NULL, NULL);
    arena_free(arena);
    return rc;
}

static enum rc count_name(void *ctx, const char *name UNUSED, struct err *err UNUSED)
{
    (*(size_t *)ctx)++;
    return RC_OK;
}

/* B40: a savepoint that fails leaves nothing, and the job's own next checkpoint works. */
START_TEST(a_failed_savepoint_leaves_nothing)
{
    for (uint64_t k = 0;; k++) {
        struct err err = {0};
        struct world w;
        uint64_t hits;
        size_t left = 0;
        enum rc rc;

        world_init(&w, _i == 0);
        ck_assert_ok(scene_open(&w.scene, &err));
        ck_assert_ok(scene_step(&w.scene, 1, &err));
        fault_fs_add(w.fs,
                     (struct fault){.at = k, .times = 1, .os_errno = ENOSPC, .short_write = true});
        rc = savepoint_once(&w.scene, 2, &err);
        hits = fault_fs_hits(w.fs);
        fault_fs_clear(w.fs);
        if (rc != RC_OK) {
            enum rc logged UNUSED = storage_clean(w.scene.storage, NULL, NULL);

            if (fs_exists(w.sim, "/user/saves"))
                ck_assert_ok(
                    (err_clear(&err), fs_list(w.sim, "/user/saves", count_name, &left, &err)));
            ck_assert_msg(left == 0, "fault at %" PRIu64 " left %zu names", k, left);
            err_clear(&err);
        }
        ck_assert_ok(savepoint_once(&w.scene, 3, &err));
        ck_assert_ok(scene_step(&w.scene, 4, &err));
        check_end(&w, k, 4);
        world_release(&w);
        if (hits == 0)
            break;
    }
}
END_TEST

/* The last word of a publication is lost: rename is done, its directory not synced, and even the
 * way back fails. As long as the _metadata may come back, nothing that it names may go. */
START_TEST(files_stay_while_an_unwanted_metadata_cannot_be_removed)
{
    struct err err = {0};
    struct world w;
    struct arena *arena = arena_new(0);
    uint64_t newest;
    size_t orphans;

    world_init(&w, true);
    ck_assert_ok(scene_open(&w.scene, &err));
    ck_assert_ok(scene_step(&w.scene, 1, &err));
    fault_fs_add(w.fs,
                 (struct fault){.kinds = FAULT_RENAME, .times = 1, .os_errno = EIO, .done = true});
    fault_fs_add(w.fs, (struct fault){.kinds = FAULT_UNLINK,
                                      .path = "*/_metadata",
                                      .times = UINT64_MAX,
                                      .os_errno = EIO});
    ck_assert_rc(scene_step(&w.scene, 2, &err), RC_IO);
    ck_assert_str_eq(scene_audit(w.sim, JOB_DIR, arena, &newest, &orphans), "");
    ck_assert_uint_eq(newest, 2); /* visible, and whole */
    ck_assert_ok(scene_step(&w.scene, 3, &err));
    ck_assert_str_eq(scene_audit(w.sim, JOB_DIR, arena, &newest, &orphans), "");
    fault_fs_clear(w.fs);
    ck_assert_ok(storage_clean(w.scene.storage, NULL, &err));
    check_end(&w, 0, 3);
    world_release(&w);
    arena_free(arena);
}
END_TEST

TEST_MAIN("fault_storage", tcase_set_timeout(tc, 240);
          tcase_add_loop_test(tc, a_failed_operation_costs_at_most_its_checkpoint, 0,
                              ARRAY_LEN(kinds));
          tcase_add_test(tc, a_failed_open_can_be_repeated);
          tcase_add_loop_test(tc, a_failed_savepoint_leaves_nothing, 0, 2);
          tcase_add_test(tc, files_stay_while_an_unwanted_metadata_cannot_be_removed);)
