/* links: checkpoint */
/* crash_publish.c - power fails at every operation of open, publish, complete, subsume, discard and
 * clean.
 *
 * After the reboot the newest visible checkpoint is the last one reported complete or the one under
 * way, whole; no visible checkpoint misses a file or holds another one's bytes; and the next run
 * opens the directory, finds nothing that nobody names, and goes on. Each point is crashed with
 * several seeds: what a disk keeps of the unsynced is its choice. */
#include "checkpoint/layout.h"
#include "checkpoint/recovery.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/crash_points.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <inttypes.h>

#define JOB_DIR "/ckpt/" SCENE_JOB_ID
#define SEEDS 4
#define LAST_ID 5

static enum rc run(struct scene *s, uint64_t first_id, uint64_t last_id, struct err *err)
{
    enum rc rc;

    rc = scene_open(s, err);
    for (uint64_t id = first_id; id <= last_id && rc == RC_OK; id++)
        rc = scene_step(s, id, err);
    scene_close(s);
    return rc;
}

static void blame(struct fs *fs, uint64_t k, uint64_t seed, const char *what)
{
    struct buf dump = {0};

    sim_fs_dump(fs, &dump);
    ck_abort_msg("crash at %" PRIu64 " seed %" PRIu64 ": %s\n%s", k, seed, what, buf_cstr(&dump));
}

/* The look, the sweep and the next run after a reboot. */
static void check_after(struct fs *fs, uint64_t k, uint64_t seed, uint64_t acked)
{
    struct arena *arena = arena_new(0);
    struct scene s;
    struct err err = {0};
    struct recovered r = {0};
    uint64_t newest;
    size_t orphans;
    const char *wrong = scene_audit(fs, JOB_DIR, arena, &newest, &orphans);

    if (wrong[0] != '\0')
        blame(fs, k, seed, wrong);
    if (newest != acked && newest != acked + 1)
        blame(fs, k, seed,
              arena_printf(arena, "newest is %" PRIu64 ", complete was %" PRIu64, newest, acked));
    scene_init(&s, fs, "/ckpt", "/local");
    if (newest > 0) {
        ck_assert_ok(recovery_open(&s.env, JOB_DIR, &(struct recovery_options){0}, &r, &err));
        ck_assert_uint_eq(r.meta->checkpoint_id, newest);
        ck_assert_uint_eq(r.skip_count, 0);
    }
    s.completed_id = newest;
    ck_assert_ok(scene_open(&s, &err));
    (void)scene_audit(fs, JOB_DIR, arena, &newest, &orphans);
    if (orphans != 0)
        blame(fs, k, seed, "opening the directory left orphans");
    ck_assert_uint_ge(storage_newest_seen_id(s.storage), newest);
    for (uint64_t id = storage_newest_seen_id(s.storage) + 1, end = id + 2; id < end; id++)
        ck_assert_ok(scene_step(&s, id, &err));
    wrong = scene_audit(fs, JOB_DIR, arena, &newest, &orphans);
    if (wrong[0] != '\0' || orphans != 0)
        blame(fs, k, seed, arena_printf(arena, "after two more: %s, %zu orphans", wrong, orphans));
    scene_close(&s);
    recovered_release(&r);
    arena_free(arena);
}

/* true: the scenario ended before operation k. */
static bool crash_at(uint64_t k, uint64_t seed, bool links)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct scene s;
    struct rng rng;
    enum rc rc;
    bool done;

    sim_fs_allow(fs, links, false);
    rng_seed(&rng, seed * 1000003 + k);
    sim_fs_crash_at(fs, k);
    scene_init(&s, fs, "/ckpt", "/local");
    rc = run(&s, 1, LAST_ID, &err);
    done = !sim_fs_down(fs);
    sim_fs_crash_at(fs, UINT64_MAX / 2); /* no more of them */
    ck_assert_msg(done == (rc == RC_OK) || s.completed_id == LAST_ID, "crash at %" PRIu64 ": %s", k,
                  err.msg);
    if (!done)
        sim_fs_crash(fs, &rng);
    check_after(fs, k, seed, s.completed_id);
    sim_fs_free(fs);
    return done;
}

static bool crash_with_links(uint64_t k, uint64_t seed)
{
    return crash_at(k, seed, true);
}

static bool crash_with_copies(uint64_t k, uint64_t seed)
{
    return crash_at(k, seed, false);
}

START_TEST(with_hard_links_every_crash_leaves_the_old_or_the_new_checkpoint_whole)
{
    ck_assert_uint_gt(crash_points(crash_with_links, SEEDS), 100);
}
END_TEST

START_TEST(with_copies_every_crash_leaves_the_old_or_the_new_checkpoint_whole)
{
    ck_assert_uint_gt(crash_points(crash_with_copies, SEEDS), 100);
}
END_TEST

/* The crash comes, reboots, and comes again while the next run cleans up. */
START_TEST(a_second_crash_while_opening_harms_nothing)
{
    for (uint64_t k = 40; k < 200; k += 13) {
        for (uint64_t j = 0; j < 30; j++) {
            struct fs *fs = sim_fs_new(NULL);
            struct err err = {0};
            struct scene s, again;
            struct rng rng;
            enum rc rc UNUSED;

            rng_seed(&rng, k * 100 + j);
            sim_fs_crash_at(fs, k);
            scene_init(&s, fs, "/ckpt", "/local");
            rc = run(&s, 1, LAST_ID, &err);
            sim_fs_crash(fs, &rng);
            sim_fs_crash_at(fs, j);
            scene_init(&again, fs, "/ckpt", "/local");
            rc = scene_open(&again, NULL);
            scene_close(&again);
            sim_fs_crash(fs, &rng);
            check_after(fs, k, j, s.completed_id);
            sim_fs_free(fs);
        }
    }
}
END_TEST

TEST_MAIN("crash_publish", tcase_set_timeout(tc, 240);
          tcase_add_test(tc,
                         with_hard_links_every_crash_leaves_the_old_or_the_new_checkpoint_whole);
          tcase_add_test(tc, with_copies_every_crash_leaves_the_old_or_the_new_checkpoint_whole);
          tcase_add_test(tc, a_second_crash_while_opening_harms_nothing);)
