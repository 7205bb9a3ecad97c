#include "backend/ttl.h"

void ttl_clock_init(struct ttl_clock *c, struct clock *clock)
{
    c->clock = clock;
    c->base_ms = INT64_MIN;
    c->base_mono_ns = clock_mono_ns(clock);
    atomic_init(&c->seen_ms, INT64_MIN);
}

static void say(struct ttl_clock *c, int64_t ms)
{
    atomic_store_explicit(&c->seen_ms, ms, memory_order_release);
}

int64_t ttl_clock_now(struct ttl_clock *c)
{
    int64_t mono_ns = clock_mono_ns(c->clock);
    int64_t wall_ms = clock_wall_ms(c->clock);
    int64_t now_ms = INT64_MIN;

    if (c->base_ms != INT64_MIN &&
        __builtin_add_overflow(c->base_ms, (mono_ns - c->base_mono_ns) / NS_PER_MS, &now_ms))
        now_ms = INT64_MAX;
    if (wall_ms > now_ms) {
        c->base_ms = now_ms = wall_ms;
        c->base_mono_ns = mono_ns;
    }
    say(c, now_ms);
    return now_ms;
}

void ttl_clock_raise(struct ttl_clock *c, int64_t ms)
{
    if (ms <= ttl_clock_seen(c))
        return;
    c->base_ms = ms;
    c->base_mono_ns = clock_mono_ns(c->clock);
    say(c, ms);
}
