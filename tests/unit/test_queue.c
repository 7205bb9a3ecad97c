/* links: base */
/* test_queue.c - both queues, alone and between threads (run it under ThreadSanitizer). */
#include "base/queue.h"

#include "base/arena.h"
#include "base/thread.h"
#include "tests/lib/check_ext.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#define ITEM(n) ((void *)(uintptr_t)(n))

START_TEST(a_queue_is_first_in_first_out_and_bounded)
{
    struct queue *q = queue_new(3);

    for (uintptr_t round = 0; round < 10; round++) { /* the slots wrap around */
        for (uintptr_t i = 1; i <= 3; i++)
            ck_assert(queue_try_push(q, ITEM(round * 10 + i)));
        ck_assert(!queue_try_push(q, ITEM(99)));
        ck_assert_uint_eq(queue_len(q), 3);
        ck_assert_ptr_eq(queue_try_pop(q), ITEM(round * 10 + 1));
        ck_assert(queue_try_push(q, ITEM(round * 10 + 4)));
        for (uintptr_t i = 2; i <= 4; i++)
            ck_assert_ptr_eq(queue_try_pop(q), ITEM(round * 10 + i));
        ck_assert_ptr_null(queue_try_pop(q));
        ck_assert_uint_eq(queue_len(q), 0);
    }
    queue_free(q);
    queue_free(NULL);
}
END_TEST

START_TEST(a_ring_is_first_in_first_out_and_bounded)
{
    struct spsc *q = spsc_new(3); /* 4 slots */

    for (uintptr_t round = 0; round < 10; round++) {
        ck_assert_ptr_null(spsc_peek(q));
        for (uintptr_t i = 1; i <= 4; i++) {
            ck_assert(!spsc_full(q));
            ck_assert(spsc_try_push(q, ITEM(round * 10 + i)));
            ck_assert_uint_eq(spsc_len(q), i);
        }
        ck_assert(spsc_full(q));
        ck_assert(!spsc_try_push(q, ITEM(99)));
        for (uintptr_t i = 1; i <= 4; i++) {
            ck_assert_ptr_eq(spsc_peek(q), ITEM(round * 10 + i));
            ck_assert_ptr_eq(spsc_peek(q), ITEM(round * 10 + i));
            ck_assert_ptr_eq(spsc_try_pop(q), ITEM(round * 10 + i));
        }
        ck_assert_ptr_null(spsc_try_pop(q));
        ck_assert_uint_eq(spsc_len(q), 0);
    }
    spsc_free(q);
    spsc_free(NULL);
}
END_TEST

START_TEST(a_ring_of_one_alternates)
{
    struct spsc *q = spsc_new(1);

    for (uintptr_t i = 1; i < 100; i++) {
        ck_assert(spsc_try_push(q, ITEM(i)));
        ck_assert(!spsc_try_push(q, ITEM(i)));
        ck_assert_ptr_eq(spsc_try_pop(q), ITEM(i));
    }
    spsc_free(q);
}
END_TEST

/* What is handed over is a block that the producer wrote and the consumer reads and frees: without
 * release and acquire ThreadSanitizer reports a race on it, and a lost or doubled item shows in the
 * sums. */
struct message {
    uint64_t from, number;
};

#define MESSAGES 30000

struct producer {
    struct queue *queue;
    struct spsc *ring;
    uint64_t id;
};

static void produce(void *arg)
{
    struct producer *p = arg;

    for (uint64_t i = 0; i < MESSAGES; i++) {
        struct message *m = mem_alloc(sizeof *m);

        *m = (struct message){p->id, i};
        while (p->queue != NULL ? !queue_try_push(p->queue, m) : !spsc_try_push(p->ring, m))
            sched_yield();
    }
}

START_TEST(a_ring_hands_over_each_item_once_and_in_order)
{
    struct producer p = {.ring = spsc_new((size_t)1 << _i)};
    struct thread *t = thread_start("producer", produce, &p);

    for (uint64_t i = 0; i < MESSAGES; i++) {
        struct message *m;

        while ((m = spsc_try_pop(p.ring)) == NULL) {
            ck_assert_uint_le(spsc_len(p.ring), (size_t)1 << _i);
            sched_yield();
        }
        ck_assert_uint_eq(m->number, i);
        mem_free(m);
    }
    thread_join(t);
    ck_assert_ptr_null(spsc_try_pop(p.ring));
    spsc_free(p.ring);
}
END_TEST

struct consumer {
    struct queue *queue;
    _Atomic uint64_t *left;
    uint64_t sum, last[3];
    bool in_order;
};

static void consume(void *arg)
{
    struct consumer *c = arg;

    c->in_order = true;
    while (atomic_load(c->left) > 0) {
        struct message *m = queue_try_pop(c->queue);

        if (m == NULL) {
            sched_yield();
            continue;
        }
        atomic_fetch_sub(c->left, 1);
        c->sum += m->number;
        if (m->number + 1 <= c->last[m->from])
            c->in_order = false;
        c->last[m->from] = m->number + 1;
        mem_free(m);
    }
}

START_TEST(a_queue_hands_over_each_item_once)
{
    struct queue *q = queue_new(64);
    _Atomic uint64_t left = 3 * MESSAGES;
    struct producer p[3];
    struct consumer c[2] = {{.queue = q, .left = &left}, {.queue = q, .left = &left}};
    struct thread *t[5];

    for (size_t i = 0; i < 3; i++) {
        p[i] = (struct producer){.queue = q, .id = i};
        t[i] = thread_start("producer", produce, &p[i]);
    }
    for (size_t i = 0; i < 2; i++)
        t[3 + i] = thread_start("consumer", consume, &c[i]);
    for (size_t i = 0; i < 5; i++)
        thread_join(t[i]);
    ck_assert_uint_eq(c[0].sum + c[1].sum, 3 * ((uint64_t)MESSAGES * (MESSAGES - 1) / 2));
    ck_assert(c[0].in_order && c[1].in_order);
    ck_assert_uint_eq(queue_len(q), 0);
    queue_free(q);
}
END_TEST

START_TEST(null_is_no_item)
{
    ck_assert(spsc_try_push(spsc_new(4), NULL));
}
END_TEST

TEST_MAIN("queue", tcase_add_test(tc, a_queue_is_first_in_first_out_and_bounded);
          tcase_add_test(tc, a_ring_is_first_in_first_out_and_bounded);
          tcase_add_test(tc, a_ring_of_one_alternates);
          tcase_add_loop_test(tc, a_ring_hands_over_each_item_once_and_in_order, 0, 7);
          tcase_add_test(tc, a_queue_hands_over_each_item_once);
          tcase_add_test_raise_signal(tc, null_is_no_item, SIGABRT))
