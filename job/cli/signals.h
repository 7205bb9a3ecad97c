/* signals.h - SIGINT and SIGTERM as something to ask for instead of a handler. SIGHUP (the terminal
 * is gone) counts as SIGTERM, unless it is ignored (nohup).
 *
 * They are blocked before any other thread starts (threads inherit that), then read by the main
 * thread where it waits. */
#ifndef VARVE_JOB_CLI_SIGNALS_H
#define VARVE_JOB_CLI_SIGNALS_H

#include "base/status.h"

struct signals {
    int fd; /* -1: not open */
};
MUST_USE enum rc signals_open(struct signals *s, struct err *err);
/* SIGINT, SIGTERM, or 0: none came. Waits up to wait_ms. */
int signals_take(struct signals *s, int wait_ms);
/* Whether one waits to be taken; it stays. Thread: any. */
bool signals_wait(const struct signals *s);
void signals_close(struct signals *s); /* they do what they did before */

#endif
