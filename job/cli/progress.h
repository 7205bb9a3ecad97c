/* progress.h - what the jobs of this process do, for people: a line while they run, a report at the
 * end.
 *
 * The line goes to stderr: on a terminal one that is rewritten a few times a second, elsewhere a
 * plain one about every second. Thread: main's. */
#ifndef VARVE_JOB_CLI_PROGRESS_H
#define VARVE_JOB_CLI_PROGRESS_H

#include "job/cli/cli.h"
#include "job/runtime/dispatcher.h"

/* Sums over a job's tasks. Counters start anew when a job restarts. */
struct job_totals {
    uint64_t rows_in, rows_out; /* given out by sources, taken by sinks */
    uint64_t bad_rows, null_fields, late_dropped;
    uint64_t busy_ms, idle_ms, backpressured_ms; /* of the task that waits most for others */
};
void job_totals_of(const struct job_view *v, struct job_totals *out);

struct progress;
struct progress *progress_new(const struct cli *cli, struct dispatcher *dispatcher);
/* Writes the line when it is due. */
void progress_tick(struct progress *p);
/* Takes the line away (terminal). */
void progress_clear(struct progress *p);
void progress_free(struct progress *p);

/* A job that has ended: on stderr, or with --json one object on stdout. */
void report_job(const struct cli *cli, struct job *job);
/* Path from which a job that was suspended or failed can go on; "" when there is none. */
void job_resume_path(struct job *job, char out[FS_PATH_MAX]);

#endif
