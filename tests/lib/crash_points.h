/* crash_points.h - a crash at each operation of something, with several seeds, until it ends before one. */
#ifndef VARVE_TESTS_LIB_CRASH_POINTS_H
#define VARVE_TESTS_LIB_CRASH_POINTS_H

#include <stdbool.h>
#include <stdint.h>

/* crash_at: true when all was done before operation k. How many operations there were. */
static inline uint64_t crash_points(bool (*crash_at)(uint64_t k, uint64_t seed), uint64_t seeds)
{
    for (uint64_t k = 0;; k++) {
        bool done = false;

        for (uint64_t seed = 0; seed < seeds; seed++)
            done = crash_at(k, seed);
        if (done)
            return k;
    }
}

#endif
