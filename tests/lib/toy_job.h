/* toy_job.h - a small job without SQL for tests of the runtime: a counting source, a keyed sum, a
 * transactional sink.
 *
 *     source (v = 0, 1, 2 .. per lane, k = v % keys)  --hash(k)-->  count and sum per key, rows
 * passed on; the sums at the end
 *                                                     --forward-->  sink: shows what complete
 * checkpoints hold
 *
 * The sink commits into a `toy_board` that outlives jobs, as a directory would; so exactly-once is
 * that the board shows each row once whatever happened between. Knobs of the board make things slow
 * or fail. Thread: any.
 */
#ifndef VARVE_TESTS_LIB_TOY_JOB_H
#define VARVE_TESTS_LIB_TOY_JOB_H

#include "base/thread.h"
#include "job/runtime/graph.h"

#include <stdatomic.h>

#define TOY_LANES                                                                                  \
    12u /* the input is so many sequences, dealt out to the source's subtasks; at restore dealt    \
           out anew */
struct toy_transaction {
    uint64_t id, rows, sum, final_count, final_sum;
    struct toy_transaction *next;
};
struct toy_totals {
    uint64_t rows, sum;              /* rows passed on */
    uint64_t final_count, final_sum; /* what the keyed state came to at the end of the input */
};
struct toy_board {
    struct mutex mutex;
    struct toy_transaction *committed GUARDED_BY(mutex);
    _Atomic uint64_t next_transaction;
    _Atomic uint64_t rows_per_lane; /* the input ends there; UINT64_MAX: never */
    _Atomic int64_t pause_ns;       /* between two batches of a source */
    _Atomic int fail_batches;   /* counts down with each batch of a source; that which makes it 0
                                   fails; 0: never */
    _Atomic int fail_opens;     /* so many openings of a sum fail */
    _Atomic int fail_snapshots; /* so many barriers fail at a sum, synchronously */
    _Atomic int drop_completes; /* so many notifications of completed checkpoints get lost at a sink,
                                   but for those past the end of its input */
    _Atomic enum rc fail_rc;
    bool writes_ahead;    /* the sink is a real one with a log (sink/wal_sink.h), the board its target */
    struct toy_mark *marks GUARDED_BY(mutex); /* toy_target.c */
    _Atomic uint64_t emitted_rows; /* repeats included */
    _Atomic int open_operators;
};
void toy_board_init(struct toy_board *b);
void toy_board_release(struct toy_board *b);
struct toy_totals toy_board_totals(struct toy_board *b);
/* What the whole input comes to. */
struct toy_totals toy_expected(uint64_t rows_per_lane);

/* A sink_spec of an operator whose target is the board; in `a`. */
const void *toy_target_sink(struct toy_board *b, const struct schema *input, struct arena *a);
void toy_target_release(struct toy_board *b);
/* It was not there before (C7): counts. */
void toy_board_commit(struct toy_board *b, const struct toy_transaction *t);

/* The board must outlive the graph. */
struct graph *toy_graph(struct toy_board *b, uint32_t source_parallelism, uint32_t sum_parallelism,
                        uint32_t keys);

#endif
