/* parser_priv.h - between grammar.y, the builders of parser_build.c and the driver of parser.c. */
#ifndef VARVE_JOB_SQL_PARSER_PRIV_H
#define VARVE_JOB_SQL_PARSER_PRIV_H

#include "job/sql/lexer.h"
#include "job/sql/sql_error.h"

struct sql_list { /* growing array in the arena */
    uint32_t count, cap;
    void **items;
};
/* One parse. After the first failure the driver feeds no more tokens; builders still return usable
 * nodes. */
struct sql_parse {
    struct arena *arena;
    const char *source;
    struct sql_list *statements;
    bool failed, syntax_error; /* syntax_error: the driver words the message */
    enum rc rc;
    struct err *err;
};

struct table_parts {
    bool temporary, if_not_exists;
    const struct sql_token *name;
    struct column_parts *columns;
    const char *comment;
    struct sql_list *partitioned, *with; /* names; struct ast_option */
    struct like_parts *like;
};
struct like_parts {
    struct sql_token name;
    enum ast_like_rule all, rules[LIKE_FEATURES];
};
struct column_parts {
    struct sql_list *columns; /* struct ast_column */
    struct sql_token watermark_column;
    struct ast_expr *watermark;
    struct sql_list *primary_key; /* names */
};
struct table_part { /* WATERMARK or PRIMARY KEY */
    struct sql_token token;
    struct ast_expr *watermark;
    struct sql_list *key;
};
struct unit_parts {
    struct sql_token first, first_precision, last, last_precision;
};
struct comparison_parts {
    enum ast_op op;
    struct sql_token token;
};
struct alias_parts {
    const char *name;
    struct sql_list *columns;
};
struct group_parts {
    bool given;
    struct sql_list *exprs;
};
struct select_parts {
    const struct sql_token *at;
    struct sql_list *hint;
    bool distinct;
    struct sql_list *items;
    struct ast_from *from;
    struct ast_expr *where;
    const struct group_parts *group;
    struct ast_expr *having;
};
struct tvf_arg { /* argument of TUMBLE: one of the four */
    struct sql_pos pos;
    const char *name; /* NAME => value; NULL: by position */
    struct ast_from *table;
    struct ast_query *query;
    const char *column;
    struct ast_expr *expr;
};

/* First failure wins. */
void parse_fail(struct sql_parse *p, enum rc rc, struct sql_pos pos, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void parse_unsupported(struct sql_parse *p, const struct sql_token *at, const char *what);
void parse_syntax_error(struct sql_parse *p, const struct sql_token *at);
void parse_too_deep(struct sql_parse *p);

const char *parse_text(struct sql_parse *p, const struct sql_token *t);
struct sql_list *parse_list(struct sql_parse *p, struct sql_list *list, const void *item);
struct sql_list *parse_list_if(struct sql_parse *p, struct sql_list *list,
                               const void *item); /* item NULL: not added */

struct ast_statement *parse_statement(struct sql_parse *p, enum ast_statement_kind kind,
                                      const struct sql_token *at);
void parse_statement_text(struct sql_parse *p, struct ast_statement *s, uint32_t end);
void parse_statement_end(struct sql_parse *p, struct ast_statement *s,
                         const struct sql_token *semicolon);
struct ast_statement *parse_create_table(struct sql_parse *p, const struct sql_token *at,
                                         const struct table_parts *parts);
struct ast_statement *parse_create_view(struct sql_parse *p, const struct sql_token *at,
                                        bool temporary, bool if_not_exists,
                                        const struct sql_token *name, struct sql_list *columns,
                                        const char *comment, struct ast_query *query);
struct ast_statement *parse_insert_statement(struct sql_parse *p, struct ast_insert *insert);
struct ast_statement *parse_select_statement(struct sql_parse *p, struct ast_query *query);
struct ast_statement *parse_statement_set(struct sql_parse *p, const struct sql_token *at,
                                          struct sql_list *inserts);
struct ast_option *parse_option(struct sql_parse *p, const struct sql_token *key,
                                const struct sql_token *value);
/* The options of a hint behind those of the hints before it. */
struct sql_list *parse_hint(struct sql_parse *p, struct sql_list *before,
                            const struct sql_token *name, struct sql_list *options);
struct like_parts *parse_like(struct sql_parse *p, const struct sql_token *name);
void parse_like_rule(struct sql_parse *p, struct like_parts *like, enum ast_like_rule rule,
                     const struct sql_token *feature);
struct column_parts *parse_columns(struct sql_parse *p);
void parse_column_add(struct sql_parse *p, struct column_parts *columns, struct ast_column *column);
void parse_table_part_add(struct sql_parse *p, struct column_parts *columns,
                          struct table_part part);
struct ast_column *parse_column(struct sql_parse *p, enum ast_column_kind kind,
                                const struct sql_token *name, const char *comment);
struct type parse_type(struct sql_parse *p, const struct sql_token *name,
                       const struct sql_token *length, const struct sql_token *scale);
struct type parse_type_double_precision(struct sql_parse *p, const struct sql_token *name);
struct type parse_type_time(struct sql_parse *p, enum type_kind kind, const struct sql_token *at,
                            struct sql_token precision);
struct sql_token parse_table_name(struct sql_parse *p, const struct sql_token *catalog,
                                  const struct sql_token *database, const struct sql_token *name);

struct ast_insert *parse_insert(struct sql_parse *p, const struct sql_token *at, bool overwrite,
                                const struct sql_token *table, struct sql_list *hint,
                                struct sql_list *columns, struct ast_query *query);
struct ast_query *parse_union(struct sql_parse *p, struct ast_query *left, struct ast_query *right);
struct ast_query *parse_values(struct sql_parse *p, const struct sql_token *at,
                               struct sql_list *rows);
struct ast_query *parse_select(struct sql_parse *p, const struct select_parts *parts);
struct ast_select_item *parse_item(struct sql_parse *p, struct ast_expr *expr,
                                   const struct sql_token *alias);
struct ast_from *parse_from_table(struct sql_parse *p, const struct sql_token *name,
                                  struct sql_list *hint, const struct alias_parts *alias);
struct ast_from *parse_from_query(struct sql_parse *p, const struct sql_token *at,
                                  struct ast_query *query, const struct alias_parts *alias);
struct ast_from *parse_from_window(struct sql_parse *p, const struct sql_token *function,
                                   struct sql_list *args, const struct alias_parts *alias);
struct tvf_arg *parse_tvf_table(struct sql_parse *p, const struct sql_token *at,
                                const struct sql_token *name, struct sql_list *hint);
struct tvf_arg *parse_tvf_query(struct sql_parse *p, const struct sql_token *at,
                                struct ast_query *query);
struct tvf_arg *parse_tvf_column(struct sql_parse *p, const struct sql_token *name);
struct tvf_arg *parse_tvf_expr(struct sql_parse *p, struct ast_expr *expr);

/* Expressions: parser_expr.c. */
struct ast_expr *parse_literal(struct sql_parse *p, enum literal_kind kind,
                               const struct sql_token *t);
struct ast_expr *parse_interval(struct sql_parse *p, const struct sql_token *at, bool negative,
                                const struct sql_token *text, const struct unit_parts *unit);
struct ast_expr *parse_column_ref(struct sql_parse *p, const struct sql_token *qualifier,
                                  const struct sql_token *name);
struct ast_expr *parse_star(struct sql_parse *p, const struct sql_token *at,
                            const struct sql_token *qualifier);
struct ast_expr *parse_unary(struct sql_parse *p, enum ast_op op, const struct sql_token *at,
                             struct ast_expr *e);
struct ast_expr *parse_binary(struct sql_parse *p, enum ast_op op, const struct sql_token *at,
                              struct ast_expr *left, struct ast_expr *right);
struct ast_expr *parse_is(struct sql_parse *p, const struct sql_token *at, struct ast_expr *e,
                          bool negated, enum ast_is what, struct ast_expr *other);
struct ast_expr *parse_between(struct sql_parse *p, const struct sql_token *at, struct ast_expr *e,
                               bool negated, bool symmetric, struct ast_expr *low,
                               struct ast_expr *high);
struct ast_expr *parse_in(struct sql_parse *p, const struct sql_token *at, struct ast_expr *e,
                          bool negated, struct sql_list *list);
struct ast_expr *parse_like_expr(struct sql_parse *p, const struct sql_token *at,
                                 struct ast_expr *e, bool negated, struct ast_expr *pattern,
                                 struct ast_expr *escape);
struct ast_expr *parse_case(struct sql_parse *p, const struct sql_token *at,
                            struct ast_expr *operand, struct sql_list *whens,
                            struct ast_expr *otherwise);
struct ast_expr *parse_cast(struct sql_parse *p, const struct sql_token *at, bool try_cast,
                            struct ast_expr *e, struct type type);
struct ast_expr *parse_call(struct sql_parse *p, const struct sql_token *name, bool distinct,
                            struct sql_list *args);
struct ast_expr *parse_unit_call(struct sql_parse *p, const struct sql_token *name,
                                 const struct sql_token *unit, struct sql_list *args);
struct ast_expr *parse_trim(struct sql_parse *p, const struct sql_token *name,
                            const struct sql_token *side, struct ast_expr *chars,
                            struct ast_expr *text);
struct ast_expr *parse_filter(struct sql_parse *p, struct ast_expr *call,
                              struct ast_expr *condition);

/* grammar.y */
void *sql_grammarAlloc(void *(*alloc)(size_t));
void sql_grammarFree(void *parser, void (*release)(void *));
void sql_grammar(void *parser, int kind, struct sql_token token, struct sql_parse *p);
size_t grammar_token_count(void);
/* out[kind] for all kinds: whether that token could come next. */
void grammar_expected(const void *parser, bool *out);

#endif
