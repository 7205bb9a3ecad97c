/* rolling.h - when a part closes: by size, age, inactivity, checkpoint. Pure; times are wall ms, a
 * clock that went back closes nothing. After: DefaultRollingPolicy, OnCheckpointRollingPolicy,
 * FileSystemTableSink.TableRollingPolicy (Flink). */
#ifndef VARVE_SINK_ROLLING_H
#define VARVE_SINK_ROLLING_H

#include "sink/sink.h"

/* What a policy looks at. */
struct part_age {
    uint64_t size_bytes;     /* written so far */
    int64_t created_wall_ms; /* also across a restore */
    int64_t last_write_wall_ms;
};
/* Before more is written: it goes into the next part. */
bool rolling_on_write(const struct rolling_policy *p, const struct part_age *part);
bool rolling_on_checkpoint(const struct rolling_policy *p, const struct part_age *part);
bool rolling_on_time(const struct rolling_policy *p, const struct part_age *part,
                     int64_t now_wall_ms);
/* When rolling_on_time will say so if nothing more is written; INT64_MAX: never. */
int64_t rolling_due_wall_ms(const struct rolling_policy *p, const struct part_age *part);

#endif
