/* w_job.h - workload W as a job of the whole engine, for bench_w and bench_checkpoint.
 *
 * The statements are planned as a user's INSERT INTO a blackhole table is (`retract`: into one that
 * wants -U as well, which makes the checksum possible); only the generator that stands in for the
 * source, and the sink that folds what it drops into the checksum, are ours. */
#ifndef VARVE_TESTS_BENCH_W_JOB_H
#define VARVE_TESTS_BENCH_W_JOB_H

#include "job/runtime/dispatcher.h"
#include "job/sql/catalog.h"
#include "tests/bench/workload.h"

#define W_SUBTASKS_MAX 64

/* Of one subtask; written by its generator and its sink, read by others. */
struct w_part {
    _Alignas(128) _Atomic uint64_t next;    /* the first event that the generator has not made */
    _Alignas(128) _Atomic uint64_t results; /* rows that the sink dropped: +I and +U only */
    uint64_t checksum;                      /* XOR over all rows; read when the job has ended */
};
struct w_job {
    /* set before w_job_start */
    const struct env *env;
    struct workload w;
    const char *backend, *memory, *interval, *dir;
    const char *set; /* one more option, KEY=VALUE; NULL: none */
    uint32_t parallelism;
    bool final_only, retract;
    bool stays;           /* at `end` the generators wait for a new one: the job does not finish */
    _Atomic uint64_t end; /* events; UINT64_MAX: as many as it takes. May be raised at any time */
    /* since then */
    struct w_part parts[W_SUBTASKS_MAX];
    struct config *config;
    struct catalog *catalog;
    struct dispatcher *dispatcher;
    struct job *job;
};
MUST_USE enum rc w_job_start(struct w_job *j, struct err *err);
void w_job_release(struct w_job *j); /* cancels it if it runs */
/* Waits for the end; not FINISHED is an error. */
MUST_USE enum rc w_job_finish(struct w_job *j, struct err *err);

uint64_t w_job_made(const struct w_job *j);    /* events: all below are made or being made */
uint64_t w_job_results(const struct w_job *j); /* rows dropped so far, -U apart */
uint64_t w_job_checksum(const struct w_job *j);

struct w_state_sizes {
    uint64_t compactions, compacted_bytes, pending_compaction_bytes, sst_bytes, row_cache_bytes;
    uint64_t deepest_compactions; /* of the subtask that has the fewest */
};
void w_job_state(const struct w_job *j, struct w_state_sizes *out);

#endif
