/* links: checkpoint */
/* The store of completed checkpoints: keep the newest N; who stays at the end. */
#include "checkpoint/completed.h"

#include "tests/lib/check_ext.h"

static size_t add(struct completed *c, uint64_t id, struct completed_checkpoint *removed)
{
    return completed_add(c, (struct completed_checkpoint){.id = id, .owned = true}, removed);
}

START_TEST(keeps_the_newest_n)
{
    struct completed *c = completed_new(2);
    struct completed_checkpoint removed[4];

    ck_assert_ptr_null(completed_latest(c));
    ck_assert_uint_eq(add(c, 1, removed), 0);
    ck_assert_uint_eq(add(c, 2, removed), 0);
    ck_assert_uint_eq(add(c, 5, removed), 1);
    ck_assert_uint_eq(removed[0].id, 1);
    ck_assert_uint_eq(completed_count(c), 2);
    ck_assert_uint_eq(completed_at(c, 0)->id, 2);
    ck_assert_uint_eq(completed_latest(c)->id, 5);
    completed_free(c);
}
END_TEST

/* The restored snapshot leaves at the first checkpoint after it, also where more are kept: what was
 * linked for it is in no `_metadata` of this job. Whether it is deleted says `owned`. */
START_TEST(restored_snapshot_leaves_at_the_first_checkpoint)
{
    struct completed *c = completed_new(_i == 0 ? 1 : 3);
    struct completed_checkpoint removed[4];

    ck_assert_uint_eq(
        completed_add(c,
                      (struct completed_checkpoint){.id = 9, .restored = true, .savepoint = true},
                      removed),
        0);
    ck_assert_uint_eq(completed_latest(c)->id, 9);
    ck_assert_uint_eq(add(c, 10, removed), 1);
    ck_assert(removed[0].id == 9 && removed[0].restored && !removed[0].owned);
    ck_assert_uint_eq(completed_count(c), 1);
    ck_assert_uint_eq(add(c, 11, removed), _i == 0 ? 1 : 0);
    completed_free(c);
}
END_TEST

START_TEST(shutdown_hands_back_what_the_table_does_not_keep)
{
    struct completed *c = completed_new(3);
    struct completed_checkpoint removed[4];

    add(c, 1, removed);
    add(c, 2, removed);
    ck_assert_uint_eq(completed_shutdown(c, RETAIN_DELETE_ON_CANCELLATION, JOB_END_FAILED, removed),
                      0);
    ck_assert_uint_eq(completed_count(c), 0);
    add(c, 3, removed);
    add(c, 4, removed);
    ck_assert_uint_eq(
        completed_shutdown(c, RETAIN_DELETE_ON_CANCELLATION, JOB_END_CANCELED, removed), 2);
    ck_assert(removed[0].id == 3 && removed[1].id == 4);
    completed_free(c);
}
END_TEST

/* Else its links in this job's shared/ would be nobody's, whatever the retention. */
START_TEST(a_restored_snapshot_of_the_user_is_forgotten_at_every_end_but_a_suspend)
{
    static const enum job_end ends[] = {JOB_END_FINISHED, JOB_END_CANCELED, JOB_END_FAILED,
                                        JOB_END_SUSPENDED};
    struct completed *c = completed_new(1);
    struct completed_checkpoint removed[4];

    ck_assert_uint_eq(
        completed_add(c, (struct completed_checkpoint){.id = 9, .restored = true}, removed), 0);
    ck_assert_uint_eq(completed_shutdown(c, RETAIN_ON_CANCELLATION, ends[_i], removed),
                      ends[_i] == JOB_END_SUSPENDED ? 0 : 1);
    ck_assert_uint_eq(completed_add(c,
                                    (struct completed_checkpoint){
                                        .id = 9, .restored = true, .owned = true},
                                    removed),
                      0);
    ck_assert_uint_eq(completed_shutdown(c, RETAIN_ON_CANCELLATION, ends[_i], removed),
                      ends[_i] == JOB_END_FINISHED ? 1 : 0);
    completed_free(c);
}
END_TEST

TEST_MAIN("completed", {
    tcase_add_test(tc, keeps_the_newest_n);
    tcase_add_loop_test(tc, restored_snapshot_leaves_at_the_first_checkpoint, 0, 2);
    tcase_add_test(tc, shutdown_hands_back_what_the_table_does_not_keep);
    tcase_add_loop_test(
        tc, a_restored_snapshot_of_the_user_is_forgotten_at_every_end_but_a_suspend, 0, 4);
})
