/* plan_priv.h - inside of the planner: streams, single operators, the tree that EXPLAIN prints. All
 * in the graph's arena. */
#ifndef VARVE_JOB_SQL_PLAN_PRIV_H
#define VARVE_JOB_SQL_PLAN_PRIV_H

#include "job/operator/operators.h"
#include "job/sql/ast_util.h"
#include "job/sql/plan.h"
#include "job/sql/sql_error.h"

/* A line of an EXPLAIN section with the lines below it. */
struct plan_node {
    const char *text, *changelog; /* changelog: "I", "I,UB,UA"; NULL: not shown */
    uint32_t input_count;
    struct plan_node **inputs;
    const char *digest; /* of all that is below and this; NULL: not needed yet */
};
struct plan_op;
struct plan_input {
    struct plan_op *from;
    enum partitioning partitioning;
    uint32_t key_count;
    const uint32_t *keys;
    const struct schema *schema;
    bool updating; /* its rows may take back or change others */
};
/* One operator, before chaining. */
struct plan_op {
    struct operator_spec spec;
    uint32_t parallelism;
    uint32_t input_count;
    struct plan_input *inputs;
    uint32_t output_count;
    const char *ident, *detail; /* what its id is made of, see plan.h */
    const char *exact;          /* both, with a counter behind equal ones */
    bool shares_ident;          /* with another operator of the plan */
    uint32_t vertex;
    struct plan_op *next;
};
/* What is known of a column besides name and type. */
struct plan_field {
    const char *qualifier; /* table or alias it may be called by; NULL */
    const char *origin;    /* canonical text over columns of tables: "v", "(a + b)", "COUNT(*)" */
    const char *base;      /* names of the table columns in it, sorted, each ended by '\n' */
    uint32_t key;          /* which key of the GROUP BY it is, from 1; 0: none */
};
/* A projection that is not an operator yet, so that the sink's casts can join it. */
struct plan_calc {
    const struct schema *input;
    const struct expr *where; /* NULL: all rows */
    const struct expr **exprs;
    const char *detail; /* canonical text, see plan.h */
};
struct plan_window { /* TUMBLE not yet used by a GROUP BY */
    int64_t size_ms, offset_ms;
    uint32_t time_column; /* of the stream without the window columns */
};
struct plan_stream {
    struct plan_op *op;
    struct schema *schema;      /* rowtime set where known */
    struct plan_field *fields;  /* one a column */
    struct plan_calc *calc;     /* pending; its output is `schema` */
    struct plan_window *window; /* pending: the last three fields of `schema` are window_start,
                                   window_end, window_time */
    bool updating, bounded;
    uint32_t key_count;      /* updating: rows are known by these keys (plan_field.key); 0: unknown */
    const char *updating_by; /* "GroupAggregate(...)" */
    struct aggregate_spec
        *drop_update_before; /* aggregate whose -U rows nothing between it and here needs; NULL */
    const char *ident;
    const struct plan_node *logical, *physical;
};
struct plan_scan { /* a table read once, however often it is named */
    const struct catalog_entry *entry;
    const char *key; /* name and hint */
    struct plan_stream stream;
    struct plan_scan *next;
};
struct plan_held {
    const struct catalog_entry *entry;
    struct plan_held *next;
};
struct plan {
    const struct plan_context *ctx;
    struct arena *arena;
    struct err *err;
    const char
        *source; /* text that positions refer to, of the statement or of the view being expanded */
    const char *time_zone;
    uint32_t parallelism, op_count, depth;
    bool batch, any_unbounded;
    const char *unbounded_table; /* first one */
    struct plan_op *first, *last;
    struct plan_scan *scans;
    struct plan_held *held;
    uint32_t sink_count;
    struct plan_node *logical_sinks[64], *physical_sinks[64];
    struct buf tables; /* text of the CREATE statements used, for the job's sql */
};
#define PLAN_SINKS_MAX 64

/* plan_build.c */
MUST_USE enum rc plan_op_new(struct plan *p, const char *name, struct plan_op **out);
void plan_connect(struct plan *p, struct plan_op *to, struct plan_op *from,
                  enum partitioning partitioning, uint32_t key_count, const uint32_t *keys,
                  const struct schema *schema);
MUST_USE enum rc plan_finish(struct plan *p, const char *job_name, const char *sql,
                             struct graph **out);
/* In hex: two nodes have one digest when they are the same query in full. */
const char *plan_node_digest(struct plan *p, const struct plan_node *n);
const struct plan_node *plan_node_new(struct plan *p, const struct plan_node *input,
                                      const char *changelog, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
MUST_USE enum rc plan_bind(struct plan *p, const struct plan_stream *in, const struct ast_expr *ast,
                           struct expr **out);
/* Canonical text of a bound expression over table columns; names of those columns. */
const char *plan_origin(struct plan *p, const struct plan_stream *in, const struct expr *e);
const char *plan_base(struct plan *p, const struct plan_stream *in, const struct ast_expr *e);
int32_t plan_column_of(const struct plan_stream *in,
                       const struct ast_expr *column); /* -1: unknown or ambiguous */
const char *plan_join_base(struct plan *p, const char *a, const char *b);
/* Makes the pending calc an operator. */
MUST_USE enum rc plan_flush(struct plan *p, struct plan_stream *s);
struct schema *plan_schema_new(struct plan *p, uint32_t cap);
/* Names made distinct as Calcite does: a, a0, a1. */
void plan_unique_names(struct plan *p, struct schema *s);
const char *plan_names(struct plan *p, const struct schema *s); /* "a, b" */

/* plan_from.c */
MUST_USE enum rc plan_from(struct plan *p, const struct ast_from *from, struct plan_stream *out);
MUST_USE enum rc plan_values(struct plan *p, const struct ast_query *q, struct plan_stream *out);
MUST_USE enum rc plan_window_assign(struct plan *p,
                                    struct plan_stream *s); /* TUMBLE without GROUP BY */
/* plan_query.c */
MUST_USE enum rc plan_query(struct plan *p, const struct ast_query *q, struct plan_stream *out);
/* Projection of `in` to items (stars expanded); where NULL: all rows. */
MUST_USE enum rc plan_project(struct plan *p, struct plan_stream *in, uint32_t count,
                              const struct ast_select_item *items, const struct ast_expr *where);
/* plan_group.c */
bool plan_is_grouped(const struct ast_query *q);
MUST_USE enum rc plan_group(struct plan *p, const struct ast_query *q, uint32_t item_count,
                            const struct ast_select_item *items, struct plan_stream *s);
/* hint: the query whose hint names this aggregate; NULL: none. */
MUST_USE enum rc plan_distinct(struct plan *p, const struct ast_query *hint, struct plan_stream *s);

#endif
