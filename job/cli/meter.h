/* meter.h - a bar on a terminal's stderr for work that takes over a second.
 *
 * Without a terminal, and with -q, there is none. It is rewritten in place and takes itself away.
 * Thread: one. */
#ifndef VARVE_JOB_CLI_METER_H
#define VARVE_JOB_CLI_METER_H

#include "checkpoint/snapshot_list.h"
#include "job/cli/cli.h"

struct meter;
struct meter *meter_new(const struct cli *cli);
/* So much of so much of `doing` ("files"; borrowed) is done: bytes, or a count. Cheap: draws a few
 * times a second. */
void meter_show(struct meter *m, const char *doing, uint64_t done, uint64_t all, bool in_bytes);
struct look_watch meter_watch(struct meter *m); /* shows what it is told */
void meter_free(struct meter *m); /* takes the bar away; NULL is a no-op */

/* What meter_show would draw, `width` columns wide at most, after so many ms at `doing`. */
void meter_line(const char *doing, uint64_t done, uint64_t all, bool in_bytes, int64_t ms,
                size_t width, struct buf *out);
/* Columns of the terminal that stderr is. */
size_t meter_terminal_width(void);

#endif
