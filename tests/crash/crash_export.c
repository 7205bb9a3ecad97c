/* links: checkpoint */
/* crash_export.c - power fails at every operation of an export. After the reboot the copy is there,
 * whole, or has no _metadata; once it was reported done it is there. The source is as it was. */
#include "checkpoint/export.h"

#include "checkpoint/recovery.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/crash_points.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <inttypes.h>

#define JOB_DIR "/ckpt/" SCENE_JOB_ID
#define OUT "/out/copy"
#define SEEDS 6

static void blame(struct fs *fs, uint64_t k, uint64_t seed, const char *what)
{
    struct buf dump = {0};

    sim_fs_dump(fs, &dump);
    ck_abort_msg("crash at %" PRIu64 " seed %" PRIu64 ": %s\n%s", k, seed, what, buf_cstr(&dump));
}

static void check_after(struct fs *fs, const struct env *env, uint64_t k, uint64_t seed, bool done)
{
    struct arena *arena = arena_new(0);
    struct recovered r = {0};
    struct err err = {0};
    uint64_t newest;
    size_t orphans;
    const char *wrong = scene_audit(fs, JOB_DIR, arena, &newest, &orphans);

    if (wrong[0] != '\0' || newest != 2)
        blame(fs, k, seed, arena_printf(arena, "the source: %s", wrong));
    if (fs_exists(fs, OUT "/_metadata")) {
        if (recovery_open(env, OUT, &(struct recovery_options){.digests = true}, &r, &err) != RC_OK)
            blame(fs, k, seed, err.msg);
    } else if (done) {
        blame(fs, k, seed, "it was reported done");
    }
    recovered_release(&r);
    arena_free(arena);
}

/* true: the export ended before operation k. */
static bool crash_at(uint64_t k, uint64_t seed)
{
    struct fs *fs = sim_fs_new(NULL);
    const struct export_options options = {0};
    struct export_result result;
    struct recovered from;
    struct err err = {0};
    struct scene s;
    struct rng rng;
    enum rc rc;
    bool done;

    scene_init(&s, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&s, &err));
    ck_assert_ok(scene_checkpoint(&s, 1, &err));
    ck_assert_ok(scene_step(&s, 2, &err));
    scene_close(&s);
    ck_assert_ok(recovery_open(&s.env, JOB_DIR, &(struct recovery_options){0}, &from, &err));
    rng_seed(&rng, seed * 1000003 + k);
    sim_fs_crash_at(fs, k);
    rc = export_snapshot(&s.env, from.meta, OUT, &options, &result, &err);
    done = !sim_fs_down(fs);
    ck_assert_msg(!done || rc == RC_OK, "crash at %" PRIu64 ": %s", k, err.msg);
    sim_fs_crash_at(fs, UINT64_MAX / 2);
    sim_fs_crash(fs, &rng);
    check_after(fs, &s.env, k, seed, rc == RC_OK);
    recovered_release(&from);
    sim_fs_free(fs);
    return done;
}

START_TEST(every_crash_leaves_a_whole_copy_or_none)
{
    ck_assert_uint_gt(crash_points(crash_at, SEEDS), 25);
}
END_TEST

TEST_MAIN("crash_export", tcase_add_test(tc, every_crash_leaves_a_whole_copy_or_none);)
