/* connector_priv.h - options of a table, for the connectors that have a file of their own. */
#ifndef VARVE_JOB_SQL_CONNECTOR_PRIV_H
#define VARVE_JOB_SQL_CONNECTOR_PRIV_H

#include "job/sql/connector.h"

const struct ast_option *connector_option(const struct connector_table *t, const char *key);
/* The message names option and value; the value of a secret is masked. */
enum rc connector_option_bad(const struct connector_table *t, const struct ast_option *o, enum rc rc,
                             const char *reason, struct err *err);
/* Options were checked before. */
int64_t connector_option_number(const struct connector_table *t, const char *key,
                                int64_t otherwise);

/* connector_jdbc.c */
MUST_USE enum rc connector_jdbc_sink(struct arena *arena, const struct connector_table *t,
                                     struct connector_sink *out, struct err *err);

#endif
