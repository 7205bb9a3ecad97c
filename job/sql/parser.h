/* parser.h - SQL text -> statements (ast.h), all in one arena.
 *
 * Limits: SQL_TEXT_MAX bytes, SQL_EXPR_HEIGHT_MAX and SQL_QUERY_HEIGHT_MAX levels of nesting:
 * RC_LIMIT past them. A mistake is RC_INVALID, what Flink has and varve has not RC_UNSUPPORTED; the
 * message has line, column, the source line and a caret (sql_error.h). Nothing is global; any
 * thread.
 */
#ifndef VARVE_JOB_SQL_PARSER_H
#define VARVE_JOB_SQL_PARSER_H

#include "job/sql/ast.h"

struct ast_script {
    const char *source; /* copy of the text, in the arena */
    uint32_t count;
    struct ast_statement **statements;
};
/* Statements are separated by semicolons; the last one needs none. */
MUST_USE enum rc sql_parse_script(struct arena *arena, struct bytes text, struct ast_script *out,
                                  struct err *err);
/* For an interactive client: how far the text goes that holds whole statements, each ended by a
 * semicolon (outside of quotes, comments and BEGIN .. END); 0: more has to come. */
size_t sql_complete_statements(struct bytes text);

#endif
