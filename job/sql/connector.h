/* connector.h - what stands in WITH (...): connectors and formats, their options, and the sources
 * and sinks made from them.
 *
 * One table lists every option; an unknown one is RC_INVALID and names the nearest, one that Flink
 * has and varve has not is RC_UNSUPPORTED. Messages carry line and caret of the option. Nothing is
 * opened here.
 */
#ifndef VARVE_JOB_SQL_CONNECTOR_H
#define VARVE_JOB_SQL_CONNECTOR_H

#include "job/operator/operators.h"

/* A table as its connector sees it; everything borrowed. */
struct connector_table {
    const char *name;
    const char *text;            /* SQL text that positions refer to; NULL: none */
    struct sql_pos pos;          /* of the statement */
    const struct schema *schema; /* physical columns */
    uint32_t option_count;
    const struct ast_option *options; /* keys distinct */
    uint32_t partition_count;
    const uint32_t *partition_columns;
    uint32_t key_count;
    const uint32_t *key; /* PRIMARY KEY: indices into schema */
    const char *time_zone;
};
struct connector_source {
    struct source_spec spec;
    uint32_t parallelism; /* scan.parallelism; 0: the job's */
    bool bounded;
    const char *uid; /* varve.uid; "" : none */
    const char *connector;
};
struct connector_sink {
    struct sink_spec spec;
    uint32_t parallelism; /* sink.parallelism; 0: that of its input */
    bool append_only;     /* refuses -U +U -D */
    bool needs_update_before;
    const char *uid;
    const char *connector;
};
/* CREATE TABLE: all options are known and their values make sense. */
MUST_USE enum rc connector_check(const struct connector_table *t, struct err *err);
/* RC_INVALID: the connector cannot be read from (written to). Results, with copies of all texts, in
 * `arena`. */
MUST_USE enum rc connector_source_of(struct arena *arena, const struct connector_table *t,
                                     struct connector_source *out, struct err *err);
MUST_USE enum rc connector_sink_of(struct arena *arena, const struct connector_table *t,
                                   struct connector_sink *out, struct err *err);

#endif
