/* rolling.c - see rolling.h */
#include "sink/rolling.h"

bool rolling_on_write(const struct rolling_policy *p, const struct part_age *part)
{
    return p->size_bytes > 0 && part->size_bytes > p->size_bytes;
}

bool rolling_on_checkpoint(const struct rolling_policy *p, const struct part_age *part)
{
    return p->on_checkpoint || rolling_on_write(p, part);
}

/* since + after, without wrapping; after 0: never. */
static int64_t due(int64_t since_wall_ms, int64_t after_ms)
{
    int64_t at;

    if (after_ms <= 0 || __builtin_add_overflow(since_wall_ms, after_ms, &at))
        return INT64_MAX;
    return at;
}

int64_t rolling_due_wall_ms(const struct rolling_policy *p, const struct part_age *part)
{
    int64_t by_age = due(part->created_wall_ms, p->rollover_ms);
    int64_t by_rest = due(part->last_write_wall_ms, p->inactivity_ms);

    return by_age < by_rest ? by_age : by_rest;
}

bool rolling_on_time(const struct rolling_policy *p, const struct part_age *part,
                     int64_t now_wall_ms)
{
    int64_t at = rolling_due_wall_ms(p, part);

    return at != INT64_MAX && now_wall_ms >= at;
}
