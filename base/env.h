/* env.h - the only door to the outside world: file system, clock, random numbers, log.
 * main fills it with the real ones; a test with doubles. Passed down, never global. */
#ifndef VARVE_BASE_ENV_H
#define VARVE_BASE_ENV_H

#include "base/clock.h"
#include "base/fan_out.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/own_program.h"
#include "base/rng.h"

struct env {
    struct fs *fs;
    struct clock *clock;
    struct log *log;
    struct fan_out *fan; /* for work on many files; NULL: all on the caller's thread */
    /* For work that may end its process; NULL (a program that is not ours, a test): it is done here. */
    const struct own_program *program;
    uint64_t seed; /* who needs random numbers seeds its own rng from this (0: from the OS) and its name */
};
/* A generator of its own for `purpose` ("job-id", "sink-uuid"): seeded by env->seed and purpose, or by the
 * OS when the seed is 0. */
void env_rng(const struct env *env, const char *purpose, struct rng *out);

#endif
