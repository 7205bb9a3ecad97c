/* operators.h - the operators a plan is made of: their specifications and constructors.
 *
 * A spec is made by the planner in the graph's arena, is immutable, and is shared by all subtasks; `_new` makes
 * one subtask's operator from it.
 */
#ifndef VARVE_JOB_OPERATOR_OPERATORS_H
#define VARVE_JOB_OPERATOR_OPERATORS_H

#include "base/rng.h"
#include "job/format/format.h"
#include "job/operator/operator.h"
#include "job/operator/state_fit.h"
#include "job/source/source.h"
#include "job/sql/expr.h"
#include "sink/pg_client.h"

/* Projection and filter in one: WHERE first, then the output columns. Keeps row kinds. */
struct calc_spec {
    const struct schema *input, *output;
    const struct expr *where; /* NULL: all rows */
    uint32_t expr_count;      /* = output fields */
    const struct expr **exprs;
    const char *time_zone;
};
struct operator *calc_new(const struct calc_spec *spec);

enum agg_func { AGG_COUNT_STAR, AGG_COUNT, AGG_SUM, AGG_MIN, AGG_MAX, AGG_AVG, AGG_FIRST_VALUE, AGG_LAST_VALUE };
struct agg_call {
    enum agg_func func;
    bool distinct;
    int32_t arg;    /* input column; -1 for COUNT(*) */
    int32_t filter; /* BOOLEAN input column that must be TRUE; -1: none */
    struct type result;
    const char *name; /* canonical: "SUM(v) FILTER (WHERE v > 0)": names its accumulator fields in state */
};
/* GROUP BY without a window: keyed running totals. Output columns: keys, then calls. Changelog: +I, then -U +U per input row (per
 * key of a mini-batch: a batch of the input, cut at mini_batch_rows), -D when a group of an updating input becomes empty. final_only
 * (batch mode): nothing until the end of input, then +I of each group by drain. The input may carry -U/-D rows when `retracts`. */
struct aggregate_spec {
    const struct schema *input, *output;
    uint32_t key_count;
    const uint32_t *keys; /* input columns */
    uint32_t call_count;
    const struct agg_call *calls;
    bool final_only, retracts, blind; /* blind: see totals_config */
    uint64_t ttl_ms;      /* a group that gets no row for so long is forgotten (its next row is its first); 0: never */
    uint32_t mini_batch_rows; /* 0: no mini-batches */
    bool emit_update_before; /* false where the consumer does not need -U (then only +I, +U) */
};
struct operator *aggregate_new(const struct aggregate_spec *spec);
/* The keyed states it will open, for the plan (pre-flight check, EXPLAIN); in `a`. RC_UNSUPPORTED: a call that cannot be kept. */
MUST_USE enum rc aggregate_states(struct arena *a, const struct aggregate_spec *spec,
                                  struct state_desc **out, size_t *count, struct err *err);
/* operator_spec.fit_states: totals_fit.h. */
MUST_USE enum rc aggregate_fit(const void *spec, const struct fit_request *r, struct state_fit *out, struct err *err);

/* GROUP BY window_start, window_end [, keys] over TUMBLE with event time: results when the watermark passes the window's end; later rows
 * are counted and dropped. Output columns: keys, then calls, then window_start, window_end, window_time as asked. */
struct window_spec {
    const struct schema *input, *output;
    uint32_t key_count;
    const uint32_t *keys;
    uint32_t call_count;
    const struct agg_call *calls;
    uint32_t time_column; /* TIMESTAMP(p) or TIMESTAMP_LTZ(p) input column */
    int64_t size_ms, offset_ms;
    bool emit_start, emit_end, emit_time;
    bool blind; /* every window ends with the input; see totals_config */
    const char *time_zone; /* windows of TIMESTAMP_LTZ align to local time */
};
struct operator *window_new(const struct window_spec *spec);
MUST_USE enum rc window_states(struct arena *a, const struct window_spec *spec,
                               struct state_desc **out, size_t *count, struct err *err);
MUST_USE enum rc window_fit(const void *spec, const struct fit_request *r, struct state_fit *out, struct err *err);
/* operator_spec.check_restored: every open window is one of these, by its end. RC_INVALID names one that is not. */
MUST_USE enum rc window_check_restored(const void *spec, const struct env *env, const struct config *config,
                                       const struct list_state *lists, size_t list_count, struct err *err);
/* TUMBLE without aggregation: appends window_start, window_end, window_time columns. */
struct operator *window_assign_new(const struct window_spec *spec);

/* Watermarks from an expression over the row (WATERMARK FOR), in the source's chain. */
struct watermark_spec {
    const struct schema *input;
    uint32_t time_column;
    const struct expr *watermark; /* of the same time type */
    int64_t emit_interval_ms;     /* pipeline.auto-watermark-interval; 0: after every batch, evaluated row by row so that late rows do not depend on batch borders */
    int64_t idle_timeout_ms;      /* 0: never idle */
    const char *time_zone;
};
struct operator *watermark_new(const struct watermark_spec *spec);

/* Source head: drives a source, see source.h. */
struct source_spec {
    const struct schema *output; /* physical columns */
    const char *table_name;
    struct source *(*make)(const void *config); /* one per subtask */
    const void *config;
    int64_t rows_per_second; /* 0: as fast as it goes; over all subtasks */
};
struct operator *source_op_new(const struct source_spec *spec);

/* Sinks: the end of a chain. */
struct sink_spec {
    const struct schema *input;
    const char *table_name;
    enum sink_kind { SINK_FILES, SINK_PRINT, SINK_BLACKHOLE, SINK_COLLECT, SINK_POSTGRES } kind;
    /* SINK_PRINT */
    const char *print_identifier; /* "" : none */
    bool print_to_stderr;
    /* SINK_FILES */
    const char *path;
    const struct format *format;        /* encoder */
    const struct format_options *format_options;
    uint32_t partition_count;
    const uint32_t *partition_columns;  /* not written into the files */
    const char *partition_default_name;
    uint64_t roll_size_bytes;
    int64_t roll_age_ms, roll_idle_ms, roll_check_ms;
    bool roll_on_checkpoint;
    /* SINK_POSTGRES */
    const struct pg_config *server;
    const struct pg_table *table;
    struct pg_client *(*connect)(const struct pg_config *); /* pg_client_new; tests: a double */
    uint32_t batch_rows, tries; /* wal_sink.h */
    int64_t retry_ms;
    uint64_t log_bytes_max;
    bool repeat_rows;
    /* SINK_COLLECT: results of a SELECT, handed to the session from the task's thread */
    enum rc (*collect)(void *ctx, const struct batch *, struct err *);
    void *collect_ctx;
};
struct operator *sink_op_new(const struct sink_spec *spec);
/* In the names of hidden files that a run's attempt makes. */
void sink_deployment_uuid(const char *job_id, const char *operator_id, uint32_t attempt, char out[UUID_LEN + 1]);
/* operator_spec.check_restored of a sink: every part that the restored state names is there. */
MUST_USE enum rc sink_op_check_start(const void *spec, const char *checkpoint_dir, bool ask, struct err *err);
MUST_USE enum rc sink_op_check_restored(const void *spec, const struct env *env, const struct config *config,
                                        const struct list_state *lists, size_t list_count, struct err *err);

#endif
