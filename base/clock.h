/* clock.h - monotonic and wall time behind the seam; sleeping and wake-ups.
 * Monotonic time measures and schedules; wall time is shown and stored. Thread: any. */
#ifndef VARVE_BASE_CLOCK_H
#define VARVE_BASE_CLOCK_H

#include "base/status.h"

struct clock; /* function table plus its data; posix_clock() or tests/lib/sim_clock.h */
struct clock_ops {
    int64_t (*mono_ns)(struct clock *c);
    int64_t (*wall_ms)(struct clock *c);
    void (*sleep_ns)(struct clock *c, int64_t duration_ns);
};
struct clock {
    const struct clock_ops *ops;
};
static inline int64_t clock_mono_ns(struct clock *c) { return c->ops->mono_ns(c); }
static inline int64_t clock_wall_ms(struct clock *c) { return c->ops->wall_ms(c); }
static inline void clock_sleep_ns(struct clock *c, int64_t duration_ns) { c->ops->sleep_ns(c, duration_ns); }

#define WALL_TEXT_MAX 32
/* "2026-11-30T19:50:00.000Z"; returns out. */
const char *wall_text(int64_t wall_ms, char out[WALL_TEXT_MAX]);

/* The real clock; static lifetime. */
struct clock *clock_posix(void);

#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

#endif
