/* links: checkpoint */
/* crash_flink_orphans.c - power fails at every operation of `orphans --delete` in a directory of Flink's. After the reboot
 * all that a snapshot names is there, whole, and its _metadata; the next run deletes the rest. */
#include "checkpoint/orphans_search.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/crash_points.h"
#include "tests/lib/flink_dir.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/sim_fs.h"

#define JOB "/root/0123456789abcdef0123456789abcdef"
#define OTHER "/root/fedcba9876543210fedcba9876543210"
#define NAME(last) "00000000-0000-0000-0000-0000000000" last
#define HOUR_MS (3600 * 1000)
#define SEEDS 8

static const char *const named[] = {JOB "/shared/" NAME("01"), JOB "/shared/" NAME("02"), JOB "/shared/" NAME("03")};
static const char *const claimed[] = {JOB "/shared/" NAME("04"), JOB "/chk-3/" NAME("05")};
static const char *const unnamed[] = {JOB "/shared/" NAME("11"), JOB "/shared/" NAME("12"), JOB "/taskowned/" NAME("13"),
                                      JOB "/chk-4/" NAME("14"), JOB "/chk-4/" NAME("15"), JOB "/chk-5/" NAME("16")};

struct run {
    size_t deleted;
    enum rc rc;
};

static enum rc note_place(void *ctx, const struct orphan_place *p, struct err *err UNUSED)
{
    struct run *run = ctx;

    if (strcmp(p->dir, JOB) == 0)
        *run = (struct run){p->deleted, p->delete_rc};
    return RC_OK;
}

static enum rc clean_up(struct fs *fs, struct clock *clock, struct run *run, struct err *err)
{
    struct env env = {.fs = fs, .clock = clock};
    struct orphan_search how = {.min_age_ms = HOUR_MS, .remove = true, .flink_is_stopped = true};

    *run = (struct run){.rc = RC_OK};
    return orphans_search(&env, JOB, &how, note_place, run, err);
}

static void put_all(struct fs *fs, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        flink_dir_put(fs, paths[i]);
}

static void check_named(struct fs *fs, uint64_t k, uint64_t seed)
{
    static const char *const metadata[] = {JOB "/chk-5/_metadata", OTHER "/chk-1/_metadata"};
    struct buf content = {0};

    for (size_t i = 0; i < ARRAY_LEN(named) + ARRAY_LEN(claimed); i++) {
        const char *path = i < ARRAY_LEN(named) ? named[i] : claimed[i - ARRAY_LEN(named)];

        buf_clear(&content);
        ck_assert_msg(sim_fs_durable(fs, path, &content), "operation %llu, seed %llu: %s is gone",
                      (unsigned long long)k, (unsigned long long)seed, path);
        ck_assert_bytes_eq(buf_bytes(&content), bytes_of_str(path));
    }
    for (size_t i = 0; i < ARRAY_LEN(metadata); i++)
        ck_assert_msg(sim_fs_durable(fs, metadata[i], &content), "%s is gone", metadata[i]);
    buf_release(&content);
}

static bool crash_at(uint64_t k, uint64_t seed)
{
    struct sim_clock clock;
    struct fs *fs;
    struct run run;
    struct rng rng;
    struct err err = {0};
    bool done;

    sim_clock_init(&clock, 1700000000000);
    fs = sim_fs_new(&clock.clock);
    put_all(fs, named, ARRAY_LEN(named));
    put_all(fs, claimed, ARRAY_LEN(claimed));
    put_all(fs, unnamed, ARRAY_LEN(unnamed));
    sim_clock_advance_ms(&clock, 1000);
    flink_dir_snapshot(fs, JOB "/chk-5", 5, named, ARRAY_LEN(named));
    flink_dir_snapshot(fs, OTHER "/chk-1", 1, claimed, ARRAY_LEN(claimed));
    sim_clock_advance_ms(&clock, 2 * HOUR_MS);
    sim_fs_crash_at(fs, k);
    (void)!clean_up(fs, &clock.clock, &run, &err);
    done = !sim_fs_down(fs);
    if (done)
        ck_assert_msg(run.rc == RC_OK && run.deleted == 5, "%zu deleted", run.deleted);
    rng_seed(&rng, seed);
    sim_fs_crash(fs, &rng);
    check_named(fs, k, seed);
    err_clear(&err);
    sim_clock_advance_ms(&clock, 2 * HOUR_MS);
    ck_assert_ok(clean_up(fs, &clock.clock, &run, &err));
    ck_assert_int_eq(run.rc, RC_OK);
    check_named(fs, k, seed);
    for (size_t i = 0; i < ARRAY_LEN(unnamed); i++)
        ck_assert_msg(!fs_exists(fs, unnamed[i]), "operation %llu, seed %llu: %s is left", (unsigned long long)k,
                      (unsigned long long)seed, unnamed[i]);
    sim_fs_free(fs);
    return done;
}

START_TEST(what_a_snapshot_names_outlives_every_crash)
{
    ck_assert_uint_ge(crash_points(crash_at, SEEDS), 7); /* six files and a directory */
}
END_TEST

TEST_MAIN("crash_flink_orphans", tcase_add_test(tc, what_a_snapshot_names_outlives_every_crash);)
