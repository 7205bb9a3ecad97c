/* sim_clock.h - a clock moved by hand.
 *
 * Monotonic time starts at 1 s and only grows; wall time may be set anywhere, also back (an
 * operator's `date -s`, a daylight rule gone wrong), and otherwise runs along with monotonic time.
 * Sleeping does not wait: it moves the clock on by the duration, so a single-threaded test of
 * time-outs takes no time. Thread: any.
 */
#ifndef VARVE_TESTS_LIB_SIM_CLOCK_H
#define VARVE_TESTS_LIB_SIM_CLOCK_H

#include "base/clock.h"

#include <stdatomic.h>

struct sim_clock {
    struct clock clock; /* pass &c->clock */
    _Atomic int64_t mono_ns, wall_ns;
};
void sim_clock_init(struct sim_clock *c, int64_t wall_ms);
void sim_clock_advance_ns(struct sim_clock *c, int64_t duration_ns); /* >= 0; both times */
void sim_clock_advance_ms(struct sim_clock *c, int64_t duration_ms);
void sim_clock_set_wall_ms(struct sim_clock *c, int64_t wall_ms); /* monotonic time stays */

#endif
