/* expr_bind_priv.h - between the files of the binder. */
#ifndef VARVE_JOB_SQL_EXPR_BIND_PRIV_H
#define VARVE_JOB_SQL_EXPR_BIND_PRIV_H

#include "job/sql/expr_priv.h"

MUST_USE enum rc bind_literal(struct bind *b, const struct ast_expr *ast, struct expr **out);
MUST_USE enum rc bind_interval(struct bind *b, const struct ast_expr *ast, struct expr **out);
/* Digits behind the point of a constant text; 0 when it is no constant. */
uint8_t bind_fraction_digits(const struct expr *e);
MUST_USE enum rc bind_arithmetic(struct bind *b, enum ast_op op, struct sql_pos pos, struct expr *x,
                                 struct expr *y, struct expr **out);
MUST_USE enum rc bind_predicate(struct bind *b, const struct ast_expr *ast,
                                struct expr **out); /* IS, BETWEEN, IN, LIKE */
MUST_USE enum rc bind_case(struct bind *b, const struct ast_expr *ast, struct expr **out);
struct expr *bind_not(struct bind *b, struct expr *x, struct sql_pos pos);
/* BOOLEAN or NULL, cast to BOOLEAN; else "expected a condition". */
MUST_USE enum rc bind_condition(struct bind *b, const struct ast_expr *ast, struct expr **out);
/* All to their common type; the position of the first that has none is in the message. */
MUST_USE enum rc bind_unify(struct bind *b, struct expr **items, uint32_t count, const char *what,
                            struct type *out);

#endif
