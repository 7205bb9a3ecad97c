/* sim_clock.c - see sim_clock.h */
#include "tests/lib/sim_clock.h"

/* `clock` is the first member. */
static struct sim_clock *sim(struct clock *c)
{
    return (struct sim_clock *)c;
}

static int64_t sim_mono_ns(struct clock *c)
{
    return atomic_load(&sim(c)->mono_ns);
}

static int64_t sim_wall_ms(struct clock *c)
{
    int64_t ns = atomic_load(&sim(c)->wall_ns);

    return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

static void sim_sleep_ns(struct clock *c, int64_t duration_ns)
{
    if (duration_ns > 0)
        sim_clock_advance_ns(sim(c), duration_ns);
}

static const struct clock_ops sim_ops = {sim_mono_ns, sim_wall_ms, sim_sleep_ns};

void sim_clock_init(struct sim_clock *c, int64_t wall_ms)
{
    c->clock.ops = &sim_ops;
    atomic_init(&c->mono_ns, NS_PER_S);
    atomic_init(&c->wall_ns, wall_ms * NS_PER_MS);
}

void sim_clock_advance_ns(struct sim_clock *c, int64_t duration_ns)
{
    ASSERT(duration_ns >= 0);
    atomic_fetch_add(&c->mono_ns, duration_ns);
    atomic_fetch_add(&c->wall_ns, duration_ns);
}

void sim_clock_advance_ms(struct sim_clock *c, int64_t duration_ms)
{
    sim_clock_advance_ns(c, duration_ms * NS_PER_MS);
}

void sim_clock_set_wall_ms(struct sim_clock *c, int64_t wall_ms)
{
    atomic_store(&c->wall_ns, wall_ms * NS_PER_MS);
}
