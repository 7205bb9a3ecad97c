/* links: base */
/* test_thread.c - mutex, condition, thread. */
#include "base/thread.h"

#include "base/clock.h"
#include "tests/lib/check_ext.h"

#include <signal.h>

struct shared {
    struct mutex mutex;
    struct cond changed;
    uint64_t sum;
    bool ready, seen;
    char name[16];
    bool term_blocked;
};

static void shared_init(struct shared *s)
{
    *s = (struct shared){0};
    mutex_init(&s->mutex);
    cond_init(&s->changed);
}

static void shared_release(struct shared *s)
{
    cond_release(&s->changed);
    mutex_release(&s->mutex);
}

static void add_many(void *arg)
{
    struct shared *s = arg;

    for (int i = 0; i < 20000; i++) {
        mutex_lock(&s->mutex);
        s->sum++;
        mutex_unlock(&s->mutex);
    }
}

START_TEST(a_mutex_loses_no_update)
{
    struct thread *t[4];
    struct shared s;

    shared_init(&s);
    for (size_t i = 0; i < 4; i++)
        t[i] = thread_start("adder", add_many, &s);
    for (size_t i = 0; i < 4; i++)
        thread_join(t[i]);
    ck_assert_uint_eq(s.sum, 80000);
    shared_release(&s);
}
END_TEST

static void answer(void *arg)
{
    struct shared *s = arg;

    mutex_lock(&s->mutex);
    while (!s->ready)
        cond_wait(&s->changed, &s->mutex);
    s->seen = true;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->mutex);
}

START_TEST(a_condition_wakes_who_waits)
{
    struct thread *t;
    struct shared s;

    shared_init(&s);
    t = thread_start("answer", answer, &s);
    mutex_lock(&s.mutex);
    s.ready = true;
    cond_signal(&s.changed);
    while (!s.seen)
        ck_assert(cond_wait_ns(&s.changed, &s.mutex, 20 * NS_PER_S));
    mutex_unlock(&s.mutex);
    thread_join(t);
    shared_release(&s);
}
END_TEST

START_TEST(waiting_ends_at_its_time)
{
    static const int64_t durations_ns[] = {0, 1, 30 * NS_PER_MS, 1001 * NS_PER_MS};
    int64_t before = clock_mono_ns(clock_posix()), waited;
    struct shared s;

    shared_init(&s);
    mutex_lock(&s.mutex);
    while (cond_wait_ns(&s.changed, &s.mutex, durations_ns[_i]))
        ; /* a spurious wake-up */
    mutex_unlock(&s.mutex);
    waited = clock_mono_ns(clock_posix()) - before;
    ck_assert_int_ge(waited, durations_ns[_i]);
    ck_assert_int_lt(waited, durations_ns[_i] + 10 * NS_PER_S);
    shared_release(&s);
}
END_TEST

static void look_around(void *arg)
{
    struct shared *s = arg;
    sigset_t blocked;

    pthread_getname_np(pthread_self(), s->name, sizeof s->name);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    s->term_blocked = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGSEGV) == 0;
}

/* SIGTERM means suspend, and only the main thread knows how. */
START_TEST(a_thread_has_its_name_and_leaves_signals_to_main)
{
    sigset_t blocked;
    struct shared s;

    shared_init(&s);
    thread_join(thread_start("fifteen-letters", look_around, &s));
    ck_assert_str_eq(s.name, "fifteen-letters");
    ck_assert(s.term_blocked);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ck_assert_int_eq(sigismember(&blocked, SIGTERM), 0);
    shared_release(&s);
}
END_TEST

static void nothing(void *arg UNUSED) {}

START_TEST(a_longer_name_is_a_broken_promise)
{
    thread_join(thread_start("sixteen-letters!", nothing, NULL));
}
END_TEST

TEST_MAIN("thread", tcase_add_test(tc, a_mutex_loses_no_update);
          tcase_add_test(tc, a_condition_wakes_who_waits);
          tcase_add_loop_test(tc, waiting_ends_at_its_time, 0, 4);
          tcase_add_test(tc, a_thread_has_its_name_and_leaves_signals_to_main);
          tcase_add_test_raise_signal(tc, a_longer_name_is_a_broken_promise, SIGABRT))
