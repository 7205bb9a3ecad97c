/* test_executor.c - workers: nobody is forgotten, nobody runs on two threads, order by seed. Run it
 * under tsan. */
#include "base/thread.h"
#include "job/runtime/executor.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"

#include <stdio.h>

static struct env env;

static void setup(void)
{
    env = (struct env){.fs = fs_posix(), .clock = clock_posix(), .seed = 1};
}

/* Passes a token to the next of a ring, `rounds` times. A lost wake-up stops the ring. */
struct ring {
    struct runnable r;
    struct ring *next;
    _Atomic int tokens;
    int seen, rounds; /* the worker's alone */
    _Atomic int running;
    _Atomic int *done;
};
static enum step_result ring_step(struct runnable *r, int64_t now, int64_t *deadline)
{
    struct ring *n = (struct ring *)r;

    (void)now;
    (void)deadline;
    ck_assert_int_eq(atomic_fetch_add(&n->running, 1), 0);
    if (atomic_load(&n->tokens) > 0) {
        atomic_fetch_sub(&n->tokens, 1);
        n->seen++;
        atomic_fetch_add(&n->next->tokens, 1);
        executor_wake(&n->next->r);
    }
    atomic_fetch_sub(&n->running, 1);
    if (n->seen == n->rounds) {
        atomic_fetch_add(n->done, 1);
        return STEP_DONE;
    }
    return STEP_WAIT;
}

START_TEST(no_wake_up_is_lost)
{
    enum { N = 5 };
    struct ring ring[N] = {0};
    _Atomic int done = 0;
    struct executor *ex = executor_new(&env, 3, 1);

    for (int i = 0; i < N; i++) {
        ring[i].r.step = ring_step;
        ring[i].next = &ring[(i + 1) % N];
        ring[i].rounds = 3000;
        ring[i].done = &done;
        executor_add(ex, &ring[i].r, (uint32_t)i);
    }
    atomic_store(&ring[0].tokens, 1);
    executor_start(ex);
    while (atomic_load(&done) < N)
        clock_sleep_ns(env.clock, NS_PER_MS);
    executor_free(ex);
}
END_TEST

/* A deadline wakes without anybody's help. */
struct timer {
    struct runnable r;
    int64_t start, fired;
    _Atomic bool done;
};
static enum step_result timer_step(struct runnable *r, int64_t now, int64_t *deadline)
{
    struct timer *t = (struct timer *)r;

    if (t->start == 0)
        t->start = now;
    if (now < t->start + 20 * NS_PER_MS) {
        *deadline = t->start + 20 * NS_PER_MS;
        return STEP_WAIT;
    }
    t->fired = now;
    atomic_store(&t->done, true);
    return STEP_DONE;
}

START_TEST(a_deadline_wakes)
{
    struct timer t = {.r.step = timer_step};
    struct executor *ex = executor_new(&env, 1, 1);

    executor_add(ex, &t.r, 0);
    executor_start(ex);
    while (!atomic_load(&t.done))
        clock_sleep_ns(env.clock, NS_PER_MS);
    executor_free(ex);
    ck_assert_int_ge(t.fired - t.start, 20 * NS_PER_MS);
}
END_TEST

struct counted {
    struct async_job job;
    _Atomic int *count;
};
static void count_job(struct async_job *j)
{
    atomic_fetch_add(((struct counted *)j)->count, 1);
}

START_TEST(every_submitted_job_runs_even_at_the_end)
{
    _Atomic int count = 0;
    struct counted jobs[200];
    struct executor *ex = executor_new(&env, 1, 3);

    executor_start(ex);
    for (int i = 0; i < 200; i++) {
        jobs[i] = (struct counted){.job.run = count_job, .count = &count};
        executor_submit(ex, &jobs[i].job);
    }
    executor_free(ex);
    ck_assert_int_eq(count, 200);
}
END_TEST

/* By hand: the same seed steps in the same order, and time only passes when the test says so. */
struct noted {
    struct runnable r;
    char name;
    int left;
    struct buf *trace;
};
static enum step_result noted_step(struct runnable *r, int64_t now, int64_t *deadline)
{
    struct noted *n = (struct noted *)r;

    (void)now;
    (void)deadline;
    buf_append_u8(n->trace, (uint8_t)n->name);
    return --n->left == 0 ? STEP_DONE : STEP_AGAIN;
}
static void trace_of(uint64_t seed, struct buf *trace)
{
    struct noted n[3];
    struct executor *ex = executor_new(&env, 0, 1);
    struct rng rng;

    rng_seed(&rng, seed);
    for (int i = 0; i < 3; i++) {
        n[i] = (struct noted){
            .r.step = noted_step, .name = (char)('a' + i), .left = 5, .trace = trace};
        executor_add(ex, &n[i].r, 0);
    }
    executor_start(ex);
    while (executor_step(ex, &rng))
        ;
    executor_free(ex);
    ck_assert_uint_eq(trace->len, 15);
}

START_TEST(a_seed_decides_the_order_by_hand)
{
    struct buf a = {0}, b = {0}, c = {0};

    trace_of(1, &a);
    trace_of(1, &b);
    trace_of(2, &c);
    ck_assert_bytes_eq(buf_bytes(&a), buf_bytes(&b));
    ck_assert(!bytes_eq(buf_bytes(&a), buf_bytes(&c)));
    buf_release(&a);
    buf_release(&b);
    buf_release(&c);
}
END_TEST

START_TEST(by_hand_nothing_runs_before_its_deadline)
{
    struct sim_clock clock;
    struct timer t = {.r.step = timer_step};
    struct executor *ex;
    struct rng rng;

    sim_clock_init(&clock, 0);
    env.clock = &clock.clock;
    rng_seed(&rng, 1);
    ex = executor_new(&env, 0, 1);
    executor_add(ex, &t.r, 0);
    executor_start(ex);
    ck_assert(executor_step(ex, &rng));
    ck_assert(!executor_step(ex, &rng));
    ck_assert_int_eq(executor_next_mono_ns(ex), t.start + 20 * NS_PER_MS);
    sim_clock_advance_ms(&clock, 20);
    ck_assert(executor_step(ex, &rng));
    ck_assert(t.done);
    executor_free(ex);
}
END_TEST

TEST_MAIN("executor", tcase_add_checked_fixture(tc, setup, NULL);
          tcase_add_test(tc, no_wake_up_is_lost); tcase_add_test(tc, a_deadline_wakes);
          tcase_add_test(tc, every_submitted_job_runs_even_at_the_end);
          tcase_add_test(tc, a_seed_decides_the_order_by_hand);
          tcase_add_test(tc, by_hand_nothing_runs_before_its_deadline))
