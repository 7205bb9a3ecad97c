/* clock.c - see clock.h: the real clock. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static int64_t posix_mono_ns(struct clock *c UNUSED)
{
    struct timespec t;

    ASSERT(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t posix_wall_ms(struct clock *c UNUSED)
{
    struct timespec t;

    ASSERT(clock_gettime(CLOCK_REALTIME, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / NS_PER_MS;
}

static void posix_sleep_ns(struct clock *c UNUSED, int64_t duration_ns)
{
    struct timespec left = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
    int failed;

    if (duration_ns <= 0)
        return;
    do
        failed = clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left);
    while (failed == EINTR);
    ASSERT(failed == 0);
}

static const struct clock_ops posix_ops = {posix_mono_ns, posix_wall_ms, posix_sleep_ns};

struct clock *clock_posix(void)
{
    static struct clock posix = {.ops = &posix_ops}; /* never changes */

    return &posix;
}
