/* graph.h - vertices, edges, parallelism, stable operator ids: what the planner makes and the supervisor deploys.
 *
 * A vertex is a chain of operators that run in one task per subtask; its first operator is a source, or it has one or more input edges.
 * Immutable once built; everything in its arena. Thread: any (read only).
 */
#ifndef VARVE_JOB_RUNTIME_GRAPH_H
#define VARVE_JOB_RUNTIME_GRAPH_H

#include "checkpoint/metadata.h"
#include "job/operator/operator.h"
#include "job/operator/state_fit.h"

enum partitioning {
    PARTITION_FORWARD, /* subtask i to subtask i; equal parallelism */
    PARTITION_REBALANCE,
    PARTITION_HASH,    /* by key group of the key columns */
    PARTITION_GLOBAL,  /* everything to subtask 0 */
};
struct operator_spec {
    char id[OPERATOR_ID_LEN + 1]; /* from uid if given, else from the meaning of its part of the query */
    char exact_id[OPERATOR_ID_LEN + 1]; /* of its full text, whatever else the job has; "" with a uid */
    const char *uid;              /* "" : none */
    const char *name;             /* "GroupAggregate[k]", as EXPLAIN and messages show it */
    const char *description;      /* one line for EXPLAIN and REST */
    const char *blind; /* whether its totals are updated blindly, and why, for EXPLAIN; NULL: no question */
    bool stateful, keyed, is_source;
    const struct schema *input; /* of its first input; NULL: a source, or not said */
    bool input_updates;         /* rows that come to it may take back or change others */
    struct operator *(*make)(const void *spec);
    const void *spec;
    /* Looks at the world that the restored list states name (part files), before anything starts; changes nothing. NULL: nothing to
     * look at. `lists` of all subtasks together. */
    enum rc (*check_restored)(const void *spec, const struct env *env, const struct config *config,
                              const struct list_state *lists, size_t list_count, struct err *err);
    /* What it needs besides, before anything starts; changes nothing. checkpoint_dir: "" for checkpoints in memory. ask: also whom
     * it will speak to (a dry run; else the start does). NULL: nothing. */
    enum rc (*check_start)(const void *spec, const char *checkpoint_dir, bool ask, struct err *err);
    size_t state_count;           /* keyed states it will open, for the pre-flight check */
    const struct state_desc *states;
    /* What becomes of the keyed states that a snapshot has of it. NULL: they must be the same (state_fit_same). */
    enum rc (*fit_states)(const void *spec, const struct fit_request *r, struct state_fit *out, struct err *err);
};
struct graph_edge {
    uint32_t from_vertex, to_vertex;
    enum partitioning partitioning;
    uint32_t key_count;
    const uint32_t *keys; /* PARTITION_HASH: columns of the batch that crosses */
    const struct schema *schema;
};
struct graph_vertex {
    char id[OPERATOR_ID_LEN + 1]; /* of its first operator */
    const char *name;             /* "Source: seq -> Calc(...)" */
    uint32_t parallelism;
    uint32_t operator_count;
    struct operator_spec *operators;
};
struct graph {
    struct arena *arena;
    const char *job_name;
    const char *sql;                 /* the statements that made the job, stored in _metadata */
    uint32_t key_group_count;        /* maxParallelism */
    bool key_group_count_explicit;   /* pipeline.max-parallelism was set */
    uint32_t vertex_count, edge_count;
    struct graph_vertex *vertices;   /* topological order */
    struct graph_edge *edges;
};
void graph_free(struct graph *g);
/* C1 and shape rules; an error here is a planner's mistake reported as RC_INVALID. */
MUST_USE enum rc graph_check(const struct graph *g, struct err *err);
/* Its place among the edges between the same two vertices. */
uint32_t graph_edge_ordinal(const struct graph *g, uint32_t edge);
/* How an edge spreads rows, with its key columns: "HASH(0,2)", "FORWARD"; equal texts spread alike. In arena. */
const char *graph_partitioning_str(struct arena *arena, const struct graph_edge *e);
/* Which job it is, whatever its name: a digest of its statements and of how many of the same text
 * came before it. */
void graph_fingerprint(const struct graph *g, uint32_t occurrence, char out[OPERATOR_ID_LEN + 1]);
/* 32 hex digits from text: XXH3-128. */
void operator_id_of(const char *text, char out[OPERATOR_ID_LEN + 1]);

#endif
