/* coordinator_period.c - when the next periodic checkpoint is due. See coordinator.h
 *
 * Two intervals: one for every day, one while a source works through a backlog. As in Flink a
 * change of the interval brings the next checkpoint forward when it would come later than that
 * interval from now, and never puts it off; but where there are to be none during a backlog, there
 * is none from its first word on. */
#include "checkpoint/coordinator_priv.h"

/* INT64_MAX: no periodic checkpoints now. */
static int64_t interval_now(const struct coordinator *c)
{
    if (c->backlog_count == 0)
        return c->config.interval_ms;
    return c->config.interval_during_backlog_ms == 0 ? INT64_MAX
                                                     : c->config.interval_during_backlog_ms;
}

void co_start_scheduler(struct coordinator *c)
{
    int64_t delay_ms = c->config.min_pause_ms;

    if (c->config.interval_ms == 0)
        return;
    if (!c->started_before)
        delay_ms += (int64_t)rng_below(
            &c->config.rng, (uint64_t)(c->config.interval_ms - c->config.min_pause_ms) + 1);
    c->periodic_on = true;
    c->next_periodic_mono_ms = c->now_mono_ms + delay_ms;
}

void co_plan_periodic(struct coordinator *c)
{
    int64_t late_ms, interval_ms = interval_now(c);

    if (!c->periodic_on || c->now_mono_ms < c->next_periodic_mono_ms)
        return;
    if (interval_ms == INT64_MAX) {
        c->next_periodic_mono_ms = INT64_MAX;
        return;
    }
    /* Fixed rate; turns that were slept through are left out. */
    late_ms = c->now_mono_ms - c->next_periodic_mono_ms;
    c->next_periodic_mono_ms += interval_ms * (late_ms / interval_ms + 1);
    if (!request_queue_has(c->queue, ORIGIN_PERIODIC))
        co_enqueue(c, (struct checkpoint_request){.origin = ORIGIN_PERIODIC});
}

void co_set_backlog(struct coordinator *c, uint32_t task, bool backlog)
{
    int64_t interval_ms;

    if (c->backlog[task] == backlog)
        return;
    c->backlog[task] = backlog;
    if (backlog)
        c->backlog_count++;
    else
        c->backlog_count--;
    if (!c->periodic_on)
        return;
    interval_ms = interval_now(c);
    if (interval_ms == INT64_MAX)
        c->next_periodic_mono_ms = INT64_MAX;
    else if (c->next_periodic_mono_ms - interval_ms > c->now_mono_ms)
        c->next_periodic_mono_ms = c->now_mono_ms + interval_ms;
}

void co_forget_backlogs(struct coordinator *c)
{
    memset(c->backlog, 0, c->task_count * sizeof *c->backlog);
    c->backlog_count = 0;
}
