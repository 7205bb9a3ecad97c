/* clock.c - see clock.h: the real clock. */
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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

const char *wall_text(int64_t wall_ms, char out[WALL_TEXT_MAX])
{
    time_t seconds = (time_t)(wall_ms / 1000 - (wall_ms % 1000 < 0));
    struct tm tm;
    size_t len = 0;

    if (gmtime_r(&seconds, &tm) != NULL)
        len = strftime(out, WALL_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    if (len == 0)
        snprintf(out, WALL_TEXT_MAX, "%" PRId64 " ms", wall_ms);
    else
        snprintf(out + len, WALL_TEXT_MAX - len, ".%03dZ",
                 (int)(wall_ms - (int64_t)seconds * 1000));
    return out;
}
