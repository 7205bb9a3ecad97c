/* restart_strategy.c - see restart_strategy.h */
#include "checkpoint/restart_strategy.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct restart_strategy {
    struct restart_config config;
    struct rng rng;
    int64_t attempts;          /* fixed-delay, exponential-delay */
    bool planned;              /* exponential-delay: a restart was planned before */
    int64_t planned_mono_ms;   /* ... for when */
    int64_t *failures_mono_ms; /* failure-rate: a ring of the last max + 1 */
    int64_t failure_count;
};

struct restart_strategy *restart_strategy_new(const struct restart_config *config, struct rng rng)
{
    struct restart_strategy *r = mem_calloc(1, sizeof *r);

    r->config = *config;
    r->rng = rng;
    if (config->kind == RESTART_KIND_FAILURE_RATE) {
        ASSERT(config->rate_max_failures >= 1 && config->rate_max_failures < INT32_MAX);
        r->failures_mono_ms = mem_calloc((size_t)config->rate_max_failures + 1, sizeof(int64_t));
    }
    return r;
}

void restart_strategy_free(struct restart_strategy *r)
{
    if (r == NULL)
        return;
    mem_free(r->failures_mono_ms);
    mem_free(r);
}

static void fixed_delay(struct restart_strategy *r, struct restart_decision *out)
{
    r->attempts++;
    out->restart = r->attempts <= r->config.fixed_attempts;
    out->delay_ms = r->config.fixed_delay_ms;
    if (!out->restart)
        snprintf(out->reason, sizeof out->reason, "fixed-delay: all %lld restarts are used up",
                 (long long)r->config.fixed_attempts);
}

static void failure_rate(struct restart_strategy *r, int64_t now_mono_ms,
                         struct restart_decision *out)
{
    int64_t ring = r->config.rate_max_failures + 1;
    int64_t oldest_at;

    r->failures_mono_ms[r->failure_count % ring] = now_mono_ms;
    r->failure_count++;
    out->restart = true;
    out->delay_ms = r->config.rate_delay_ms;
    if (r->failure_count < ring)
        return;
    oldest_at = r->failures_mono_ms[r->failure_count % ring];
    if (now_mono_ms - oldest_at > r->config.rate_interval_ms)
        return;
    out->restart = false;
    snprintf(out->reason, sizeof out->reason,
             "failure-rate: more than %lld failures within %lld ms",
             (long long)r->config.rate_max_failures, (long long)r->config.rate_interval_ms);
}

/* initial * multiplier^attempt, a random part more or less, within [initial, max]. */
static int64_t backoff_ms(struct restart_strategy *r)
{
    const struct restart_config *k = &r->config;
    double ms = (double)k->exp_initial_ms * pow(k->exp_multiplier, (double)r->attempts);

    if (!(ms < (double)k->exp_max_ms))
        ms = (double)k->exp_max_ms;
    ms += ms * k->exp_jitter * (2 * rng_double(&r->rng) - 1);
    if (ms > (double)k->exp_max_ms)
        ms = (double)k->exp_max_ms;
    return ms < (double)k->exp_initial_ms ? k->exp_initial_ms : (int64_t)ms;
}

static void exponential_delay(struct restart_strategy *r, int64_t now_mono_ms,
                              struct restart_decision *out)
{
    const struct restart_config *k = &r->config;

    if (!r->planned || now_mono_ms > r->planned_mono_ms) {
        if (r->planned && now_mono_ms - r->planned_mono_ms >= k->exp_reset_ms)
            r->attempts = 0;
        r->planned = true;
        r->planned_mono_ms = now_mono_ms + backoff_ms(r);
        r->attempts++;
    }
    out->restart = r->attempts <= k->exp_attempts;
    out->delay_ms = r->planned_mono_ms - now_mono_ms;
    if (!out->restart)
        snprintf(out->reason, sizeof out->reason,
                 "exponential-delay: all %lld restarts are used up", (long long)k->exp_attempts);
}

void restart_strategy_failed(struct restart_strategy *r, int64_t now_mono_ms,
                             struct restart_decision *out)
{
    memset(out, 0, sizeof *out);
    switch (r->config.kind) {
    case RESTART_KIND_FIXED_DELAY:
        fixed_delay(r, out);
        break;
    case RESTART_KIND_FAILURE_RATE:
        failure_rate(r, now_mono_ms, out);
        break;
    case RESTART_KIND_EXPONENTIAL_DELAY:
        exponential_delay(r, now_mono_ms, out);
        break;
    case RESTART_KIND_NONE:
        snprintf(out->reason, sizeof out->reason, "restart strategy none");
        break;
    }
}

void restart_strategy_describe(const struct restart_config *k, char out[256])
{
    switch (k->kind) {
    case RESTART_KIND_FIXED_DELAY:
        snprintf(out, 256, "Restart with fixed delay (%lld ms). #%lld restart attempts.",
                 (long long)k->fixed_delay_ms, (long long)k->fixed_attempts);
        break;
    case RESTART_KIND_FAILURE_RATE:
        snprintf(
            out, 256,
            "Restart with failure rate (at most %lld failures in %lld ms), fixed delay (%lld ms).",
            (long long)k->rate_max_failures, (long long)k->rate_interval_ms,
            (long long)k->rate_delay_ms);
        break;
    case RESTART_KIND_EXPONENTIAL_DELAY:
        snprintf(
            out, 256,
            "Restart with exponential delay: starting at %lld ms, increasing by %g, with maximum "
            "%lld ms.",
            (long long)k->exp_initial_ms, k->exp_multiplier, (long long)k->exp_max_ms);
        break;
    case RESTART_KIND_NONE:
        snprintf(out, 256, "Restart deactivated.");
        break;
    }
}
