/* restart_strategy.h - whether and when a failed job starts again. Pure: time is passed in.
 * After: FixedDelay-, FailureRate-, ExponentialDelayRestartBackoffTimeStrategy (flink-runtime).
 * Thread: the driver's. */
#ifndef VARVE_CHECKPOINT_RESTART_STRATEGY_H
#define VARVE_CHECKPOINT_RESTART_STRATEGY_H

#include "base/rng.h"

enum restart_kind {
    RESTART_KIND_NONE,
    RESTART_KIND_FIXED_DELAY,
    RESTART_KIND_FAILURE_RATE,
    RESTART_KIND_EXPONENTIAL_DELAY
};
struct restart_config {
    enum restart_kind kind;
    int64_t fixed_attempts, fixed_delay_ms;
    int64_t rate_max_failures, rate_interval_ms, rate_delay_ms;
    int64_t exp_initial_ms, exp_max_ms, exp_reset_ms,
        exp_attempts; /* exp_attempts INT32_MAX: no limit */
    double exp_multiplier, exp_jitter;
};
struct restart_decision {
    bool restart;
    int64_t delay_ms; /* from now, when restart */
    char reason[160]; /* else: why not, for the job's failure message */
};
struct restart_strategy;
struct restart_strategy *restart_strategy_new(const struct restart_config *config, struct rng rng);
void restart_strategy_free(struct restart_strategy *r);
/* The job failed at `now_mono_ms` (never decreases). A failure that comes before the restart
 * already planned has happened belongs to the same attempt under exponential-delay. */
void restart_strategy_failed(struct restart_strategy *r, int64_t now_mono_ms,
                             struct restart_decision *out);
/* For REST: "Restart with exponential delay ...". */
void restart_strategy_describe(const struct restart_config *config, char out[256]);

#endif
