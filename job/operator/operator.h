/* operator.h - contract of an operator inside a task's chain.
 *
 * A task owns a chain of operators and calls them on its one thread; an operator hands its results to `struct output`,
 * which is the next operator of the chain or the exchange. Batches are borrowed for the call. One call's output should be bounded
 * by its input; what can be large (fired windows, final results) is emitted piecewise by `drain`.
 */
#ifndef VARVE_JOB_OPERATOR_OPERATOR_H
#define VARVE_JOB_OPERATOR_OPERATOR_H

#include "backend/keyed_backend.h"
#include "backend/operator_state.h"
#include "checkpoint/storage.h"
#include "job/config.h"
#include "job/element.h"

/* Where an operator's results go. */
struct output {
    enum rc (*batch)(struct output *, struct batch *, struct err *);
    enum rc (*watermark)(struct output *, int64_t watermark_ms, struct err *);
    enum rc (*idle)(struct output *, struct err *); /* no rows for a while: sends ELEMENT_IDLE on; NULL: nobody cares */
};

/* Counters of one operator in one subtask: written by the task's thread, read by others (atomic, relaxed). */
struct operator_metrics {
    _Atomic uint64_t records_in, records_out;
    _Atomic uint64_t late_dropped;   /* numLateRecordsDropped */
    _Atomic uint64_t bad_rows;       /* skipped or dropped by a format's rule */
    _Atomic uint64_t null_fields;    /* made null by ignore-parse-errors */
    _Atomic int64_t watermark_ms;
    _Atomic uint64_t bytes_in, bytes_out;
};

/* What an operator may use; lives as long as the operator is open. */
struct operator_context {
    const struct env *env;
    const struct config *config;
    const char *job_id, *job_name;
    const char *operator_id, *operator_name; /* hex id; name as in EXPLAIN */
    uint32_t subtask_index, parallelism, key_group_count;
    uint32_t attempt;            /* deployments of this job before this one */
    bool restored;               /* from a checkpoint or savepoint */
    uint64_t restored_checkpoint_id;
    bool earlier_run_dead;       /* the run that took it is known to have ended (its directory's lock was free, or it was an
                                  * earlier attempt of this job), and no newer snapshot of it is known: its leftovers may be removed.
                                  * With nothing restored: so for this job's earlier attempts */
    struct keyed_backend *keyed; /* NULL unless the spec says keyed */
    struct operator_state *state;
    struct operator_metrics *metrics;
    struct storage *storage;     /* its logs in taskowned/ alone: storage_hold; NULL in tests */
    const _Atomic bool *stop;    /* set when the task is to end: what waits gives up; NULL in tests */
    bool draining;               /* set before end_input: a stop ends the data, and its savepoint follows and is notified */
    void (*backlog)(void *wake_ctx, bool backlog); /* of a source, when that changes; NULL in tests */
    void (*wake)(void *ctx); /* any thread: step the task again */
    void *wake_ctx;
};

struct hot_view;
struct operator; /* first member is its ops */
struct operator_ops {
    const char *kind; /* "aggregate", for messages */
    enum rc (*open)(struct operator *, const struct operator_context *, struct err *);
    enum rc (*process)(struct operator *, struct batch *, struct output *, struct err *);
    /* NULL: passed on. Event time has reached watermark_ms; who holds it back passes it on after its drain. */
    enum rc (*watermark)(struct operator *, int64_t watermark_ms, struct output *, struct err *);
    /* Goes on with results left over from watermark or end_input; called until *more is false before anything else is given to
     * the operator. NULL: never any. */
    enum rc (*drain)(struct operator *, struct output *, bool *more, struct err *);
    /* The input has ended for good (bounded input, or a stop with drain). NULL: nothing to do. */
    enum rc (*end_input)(struct operator *, struct output *, struct err *);
    /* At the barrier, in order along the chain, before the keyed snapshot begins: put positions, committables etc. into
     * ctx->state. NULL: nothing. */
    enum rc (*snapshot)(struct operator *, const struct barrier *, struct err *);
    enum rc (*notify_complete)(struct operator *, uint64_t checkpoint_id, struct err *); /* NULL: nothing */
    void (*notify_aborted)(struct operator *, uint64_t checkpoint_id);                   /* NULL: nothing */
    /* Processing time; called about every 100 ms and not later than *next_mono_ns once set (INT64_MAX: no wish). */
    enum rc (*tick)(struct operator *, int64_t now_mono_ns, int64_t *next_mono_ns, struct output *, struct err *);
    /* Which keys and key groups get most of its rows (hot_keys.h). NULL: it keeps nothing by key. */
    void (*hot)(struct operator *, struct hot_view *);
    /* clean: the job ended as planned; else failed or cancelled: commit nothing. Frees. */
    void (*close)(struct operator *, bool clean);
};
struct operator {
    const struct operator_ops *ops;
};

/* The head of a source task: rows come from it instead of from a gate. */
enum source_poll { SOURCE_ROWS, SOURCE_IDLE, SOURCE_END };
struct source_operator_ops {
    struct operator_ops op; /* open, snapshot, notify_*, close, tick as above; process unused */
    /* Emits at most one batch (and watermarks) to output. SOURCE_IDLE: nothing now; try again at *retry_mono_ns or on wake. */
    enum rc (*poll)(struct operator *, struct output *, enum source_poll *what, int64_t *retry_mono_ns, struct err *);
    /* A stop with drain: emit MAX watermark now. A stop without: nothing more is polled. */
    enum rc (*drain_event_time)(struct operator *, struct output *, struct err *);
};

#endif
