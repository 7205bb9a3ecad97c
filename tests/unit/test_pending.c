/* links: checkpoint */
/* One checkpoint under way: acks and the table of transitions. */
#include "checkpoint/pending.h"

#include "tests/lib/check_ext.h"

#include <signal.h>

static const struct barrier barrier = {.checkpoint_id = 7, .kind = CHECKPOINT_PERIODIC};

START_TEST(is_complete_with_the_last_expected_ack)
{
    const bool expected[] = {true, false, true};
    struct pending *p = pending_new(&barrier, expected, 3, 99);

    ck_assert_int_eq(pending_deadline_mono_ms(p), 99);
    ck_assert_uint_eq(pending_barrier(p)->checkpoint_id, 7);
    ck_assert_uint_eq(pending_missing_count(p), 2);
    ck_assert_int_eq(pending_ack(p, 1), PENDING_ACK_UNKNOWN);
    ck_assert_int_eq(pending_ack(p, 3), PENDING_ACK_UNKNOWN);
    ck_assert_int_eq(pending_ack(p, 0), PENDING_ACK_OK);
    ck_assert_int_eq(pending_ack(p, 0), PENDING_ACK_DUPLICATE);
    ck_assert(pending_has_acked(p, 0) && !pending_has_acked(p, 2) && !pending_fully_acked(p));
    ck_assert_uint_eq(pending_first_missing(p), 2);
    ck_assert_int_eq(pending_ack(p, 2), PENDING_ACK_OK);
    ck_assert(pending_fully_acked(p));
    ck_assert_uint_eq(pending_first_missing(p), 3);
    pending_free(p);
    pending_free(NULL);
}
END_TEST

/* Every pair of states: what the drawing in pending.h shows and nothing else. */
START_TEST(only_drawn_transitions_are_allowed)
{
    enum pending_state from = (enum pending_state)(_i / 5), to = (enum pending_state)(_i % 5);
    bool drawn = (from == PENDING_BEGINNING && to == PENDING_RUNNING) ||
                 (from == PENDING_RUNNING && to == PENDING_FINALIZING) ||
                 (from == PENDING_FINALIZING && to == PENDING_COMPLETED) ||
                 (to == PENDING_ABORTED && from < PENDING_COMPLETED);

    ck_assert_msg(pending_may_move(from, to) == drawn, "%s -> %s", pending_state_str(from),
                  pending_state_str(to));
}
END_TEST

START_TEST(forbidden_move_breaks_a_promise)
{
    const bool expected[] = {true};

    pending_move(pending_new(&barrier, expected, 1, 0), PENDING_COMPLETED);
}
END_TEST

TEST_MAIN("pending", {
    tcase_add_test(tc, is_complete_with_the_last_expected_ack);
    tcase_add_loop_test(tc, only_drawn_transitions_are_allowed, 0, 25);
    tcase_add_test_raise_signal(tc, forbidden_move_breaks_a_promise, SIGABRT);
})
