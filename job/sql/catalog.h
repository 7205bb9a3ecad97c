/* catalog.h - the tables and views of a session.
 *
 * An entry owns its memory: it is a deep copy of its CREATE statement, checked in full (types,
 * options, expressions) before it is kept. Entries are shared by reference count, so that a plan
 * may use one while it is dropped. Names are case-sensitive, as in Flink. Thread: one at a time.
 */
#ifndef VARVE_JOB_SQL_CATALOG_H
#define VARVE_JOB_SQL_CATALOG_H

#include "job/config.h"
#include "job/sql/ast.h"
#include "job/sql/connector.h"

#define CATALOG_ENTRIES_MAX 10000
#define CATALOG_COLUMNS_MAX 1000

struct catalog_column {
    const char *name;
    enum ast_column_kind kind; /* physical or computed */
    struct type type;          /* of a computed one: what its expression gives */
    const struct ast_expr *computed;
    const char *comment; /* NULL: none */
};
struct catalog_entry {
    const char *name;
    bool is_view, temporary;
    const char *comment;
    const char *source; /* the SQL text that positions refer to */
    const char *text;   /* the CREATE statement */
    struct sql_pos pos;
    /* Table */
    uint32_t column_count;
    struct catalog_column *columns; /* in declared order */
    const struct schema *row;       /* all columns; rowtime is the watermark's column */
    const struct schema *physical;  /* physical columns */
    int32_t watermark_column;       /* index into columns; -1: none */
    const struct ast_expr *watermark;
    uint32_t primary_key_count, partition_count;
    uint32_t *primary_key;       /* indices into columns */
    uint32_t *partition_columns; /* indices into physical */
    uint32_t option_count;
    struct ast_option *options;
    /* View */
    uint32_t view_column_count;
    const char **view_columns; /* CREATE VIEW v (a, b) */
    const struct ast_query *query;
};

struct catalog; /* opaque */
struct catalog *catalog_new(void);
void catalog_free(struct catalog *c);
/* Checks and adds a table. RC_EXISTS without IF NOT EXISTS. config: time zone of expressions. */
MUST_USE enum rc catalog_create_table(struct catalog *c, const struct ast_statement *s,
                                      const struct config *config, struct err *err);
/* Adds a view; the caller has planned its query once, so that a mistake shows now. */
MUST_USE enum rc catalog_create_view(struct catalog *c, const struct ast_statement *s,
                                     struct err *err);
MUST_USE enum rc catalog_drop(struct catalog *c, const char *name, bool view, bool if_exists,
                              struct err *err);
/* NULL: no such table or view. Held until released. */
const struct catalog_entry *catalog_find(struct catalog *c, const char *name);
void catalog_release(const struct catalog_entry *e); /* NULL is a no-op */
/* RC_NOT_FOUND with the nearest name, line and caret (pos.line 0: without). */
MUST_USE enum rc catalog_get(struct catalog *c, const char *name, const char *source,
                             struct sql_pos pos, const struct catalog_entry **out, struct err *err);
/* Names in byte order; views and tables. */
typedef void catalog_list_fn(void *ctx, const struct catalog_entry *e);
void catalog_list(struct catalog *c, catalog_list_fn *fn, void *ctx);
/* CREATE TABLE text as SHOW CREATE TABLE prints it. */
void catalog_print(const struct catalog_entry *e, struct buf *out);
/* The entry as its connector sees it, with the options of a hint over its own (in arena). */
MUST_USE enum rc catalog_connector_table(struct arena *arena, const struct catalog_entry *e,
                                         uint32_t hint_count, const struct ast_option *hint,
                                         const char *source, const char *time_zone,
                                         struct connector_table *out, struct err *err);

#endif
