/* links: backend */
/* Both backends against sorted maps: random batches on five states, snapshots written by another
 * thread while updates go on (C11), restores at other parallelisms and into the other backend
 * (C10). VARVE_TEST_SEED=n tries another seed. */
#include "tests/lib/check_ext.h"
#include "tests/lib/keyed_job.h"

static const struct {
    const char *kinds; /* of subtasks, drawn by lot: h hashmap, r rocksdb */
    uint64_t key_space, memory_bytes;
    uint32_t parallelism[4];
} runs[] = {
    {"h", 3000, 0, {1, 2, 3, 1}},        {"r", 3000, 512 << 10, {1, 2, 3, 1}},
    {"hr", 1000, 1 << 20, {1, 2, 3, 4}}, {"r", 20000, 1 << 20, {1, 1, 2, 1}},
    {"hr", 300, 8 << 20, {4, 2, 1, 3}},
};

START_TEST(backends_agree_with_sorted_maps_through_snapshots_and_rescales)
{
    struct keyed_job j = {.key_space = runs[_i].key_space, .memory_bytes = runs[_i].memory_bytes};
    struct keyed_checkpoint last = {0};

    keyed_job_init(&j, (uint64_t)_i + 1);
    for (int life = 0; life < 4; life++) {
        keyed_job_open(&j, runs[_i].parallelism[life], runs[_i].kinds, life == 0 ? NULL : &last);
        if (life > 0) {
            keyed_job_check(&j);
            keyed_checkpoint_release(&last);
        }
        for (int c = 0; c < 3; c++) {
            if (c > 0)
                keyed_checkpoint_release(&last);
            for (int i = 0; i < 40; i++)
                keyed_job_step(&j);
            keyed_job_checkpoint(&j, &last, 25);
        }
        keyed_job_check(&j);
        keyed_job_close(&j);
    }
    keyed_job_open(&j, 2, runs[_i].kinds, &last);
    keyed_job_check(&j);
    keyed_job_close(&j);
    keyed_checkpoint_release(&last);
    if (strcmp(runs[_i].kinds, "r") == 0) /* else the database was never asked */
        ck_assert_msg(j.evictions > 1000 && j.misses > 1000, "%llu evictions, %llu misses",
                      (unsigned long long)j.evictions, (unsigned long long)j.misses);
    keyed_job_release(&j);
}
END_TEST

/* Each holds what was there when it began, whichever is written first. */
START_TEST(a_checkpoint_that_begins_while_another_is_written_holds_its_own_moment)
{
    struct keyed_job j = {.key_space = _i == 0 ? 3000 : 20000, .memory_bytes = (uint64_t)(_i + 1) * (512u << 10)};
    struct keyed_checkpoint older, newer;

    keyed_job_init(&j, (uint64_t)_i + 100);
    keyed_job_open(&j, 2, "r", NULL);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 20; i++)
            keyed_job_step(&j);
        keyed_job_two_checkpoints(&j, &older, &newer, 20);
        keyed_job_close(&j);
        keyed_job_open(&j, 1 + (uint32_t)round % 3, "r", &older);
        keyed_job_check(&j);
        keyed_job_close(&j);
        keyed_job_open(&j, 2, "r", &newer);
        keyed_job_check(&j);
        keyed_checkpoint_release(&older);
        keyed_checkpoint_release(&newer);
    }
    keyed_job_close(&j);
    keyed_job_release(&j);
}
END_TEST

TEST_MAIN("backends_agree", tcase_set_timeout(tc, 300);
          tcase_add_loop_test(tc, backends_agree_with_sorted_maps_through_snapshots_and_rescales, 0,
                              ARRAY_LEN(runs));
          tcase_add_loop_test(tc, a_checkpoint_that_begins_while_another_is_written_holds_its_own_moment,
                              0, 2))
