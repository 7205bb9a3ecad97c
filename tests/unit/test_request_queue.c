/* links: checkpoint */
/* What comes next among requested checkpoints. */
#include "checkpoint/request_queue.h"

#include "tests/lib/check_ext.h"

static struct request_queue *q;

static void setup(void)
{
    q = request_queue_new(4);
}
static void teardown(void)
{
    request_queue_free(q);
}

static struct checkpoint_request user(enum request_kind kind, uint64_t id)
{
    return (struct checkpoint_request){
        .origin = ORIGIN_USER, .kind = kind, .request_id = id, .target_dir = mem_strdup("/x")};
}

/* Pushes what must find room. */
static void push(struct checkpoint_request r)
{
    struct checkpoint_request dropped;

    ck_assert(!request_queue_push(q, r, &dropped));
}

static uint64_t pop(void)
{
    struct checkpoint_request r = request_queue_pop(q);
    uint64_t id = r.request_id;

    checkpoint_request_release(&r);
    return id;
}

START_TEST(order_is_stop_savepoint_final_checkpoint_periodic_then_arrival)
{
    static const uint64_t want[] = {6, 4, 7, 3, 2, 5, 1};

    request_queue_free(q);
    q = request_queue_new(10);
    push((struct checkpoint_request){.origin = ORIGIN_PERIODIC, .request_id = 1});
    push(user(REQUEST_CHECKPOINT, 2));
    push((struct checkpoint_request){.origin = ORIGIN_FINAL, .request_id = 3});
    push(user(REQUEST_SAVEPOINT, 4));
    push(user(REQUEST_CHECKPOINT, 5));
    push(user(REQUEST_STOP_DRAIN, 6));
    push(user(REQUEST_SAVEPOINT, 7));
    ck_assert(request_queue_has(q, ORIGIN_FINAL) && request_queue_has(q, ORIGIN_PERIODIC));
    ck_assert_uint_eq(request_queue_peek(q)->request_id, 6);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        ck_assert_uint_eq(pop(), want[i]);
    ck_assert_ptr_null(request_queue_peek(q));
    ck_assert(!request_queue_has(q, ORIGIN_PERIODIC));
}
END_TEST

START_TEST(full_queue_drops_what_would_come_last)
{
    struct checkpoint_request dropped;

    for (uint64_t i = 1; i <= 4; i++)
        push(user(REQUEST_CHECKPOINT, i));
    ck_assert(request_queue_push(q, user(REQUEST_CHECKPOINT, 5), &dropped));
    ck_assert_uint_eq(dropped.request_id, 5);
    checkpoint_request_release(&dropped);
    ck_assert(request_queue_push(q, user(REQUEST_SAVEPOINT, 6), &dropped));
    ck_assert_uint_eq(dropped.request_id, 4);
    checkpoint_request_release(&dropped);
    ck_assert_uint_eq(request_queue_len(q), 4);
    ck_assert_uint_eq(pop(), 6);
}
END_TEST

TEST_MAIN("request_queue", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, order_is_stop_savepoint_final_checkpoint_periodic_then_arrival);
    tcase_add_test(tc, full_queue_drops_what_would_come_last);
})
