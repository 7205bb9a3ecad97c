/* expr_priv.h - inside of expr.h: bound nodes, vectors of values, and what functions are written
 * with.
 *
 * Evaluation gives a `vec`: a column with one value for each selected row, or one value that stands
 * for all of them (constants). A function is either a kernel over whole vectors or a `row` that is
 * called for each row, by default only where no argument is null.
 */
#ifndef VARVE_JOB_SQL_EXPR_PRIV_H
#define VARVE_JOB_SQL_EXPR_PRIV_H

#include "base/utf8.h"
#include "job/datetime.h"
#include "job/decimal.h"
#include "job/number.h"
#include "job/sql/date_format.h"
#include "job/sql/expr.h"

#include <locale.h>

enum node_kind {
    NODE_COLUMN,
    NODE_CONST,
    NODE_CALL, /* func */
    NODE_CAST,
    NODE_AND,
    NODE_OR,
    NODE_CASE,     /* when, then, ..., else */
    NODE_COALESCE, /* first that is not null */
    NODE_IN,       /* args[0] among `set` */
    NODE_REQUIRE,  /* args[0], which must not be null (INSERT into a NOT NULL column) */
};

struct vec {
    struct column c;
    bool single; /* c has one row, which stands for every row */
};

struct func;
struct value_set;
struct expr {
    enum node_kind kind;
    bool fallible; /* it or an operand may fail for some value */
    bool stable;   /* same arguments, same value: no clock, no time zone */
    bool try_cast; /* NODE_CAST: null instead of an error */
    bool negated;  /* NODE_IN */
    struct type type;
    struct sql_pos pos;
    const char *text; /* cut canonical text, for messages */
    uint32_t column;
    uint32_t arg_count;
    struct expr **args;
    const struct func *func;
    const struct cast_rule *cast;
    int32_t param;        /* meaning depends on func: time unit, comparison ... */
    const void *prepared; /* meaning depends on func: compiled pattern ... */
    struct vec value;     /* NODE_CONST, single */
    const struct value_set *set;
    const char *what; /* NODE_REQUIRE: the column's name */
};

struct rows { /* the rows that an evaluation is asked for */
    const struct batch *in;
    const uint32_t *sel; /* NULL: 0..n */
    uint32_t n;
};

struct expr_eval {
    struct arena *arena;
    struct clock *clock;
    struct zone *zone;
    locale_t upper_lower; /* (locale_t)0 until first used */
    bool has_now;
    int64_t now_ms;            /* one reading from reset to reset: all of a batch has one time */
    struct arena *zones_arena; /* zones opened by name for CONVERT_TZ and the like */
    struct named_zone *zones;
};
struct named_zone {
    struct named_zone *next;
    const char *name;
    struct zone *zone;
};
int64_t eval_now_ms(struct expr_eval *ev);
MUST_USE enum rc eval_zone(struct expr_eval *ev, struct bytes name, const struct zone **out,
                           struct err *err);

MUST_USE enum rc eval_node(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                           struct vec *out, struct err *err);

/* ---- reading vectors ---- */
static inline uint32_t vec_at(const struct vec *v, uint32_t i)
{
    return v->single ? 0 : i;
}
static inline bool vec_null(const struct vec *v, uint32_t i)
{
    return v->c.validity != NULL && !bit_get(v->c.validity, vec_at(v, i));
}
static inline bool vec_bool(const struct vec *v, uint32_t i)
{
    return bit_get(v->c.values, vec_at(v, i));
}
static inline struct bytes vec_bytes(const struct vec *v, uint32_t i)
{
    return column_bytes(&v->c, vec_at(v, i));
}
static inline int128 vec_decimal(const struct vec *v, uint32_t i)
{
    return ((const int128 *)v->c.values)[vec_at(v, i)];
}
static inline int64_t vec_int(const struct vec *v, uint32_t i)
{
    return column_int(&v->c, vec_at(v, i));
}
static inline double vec_double(const struct vec *v, uint32_t i) /* FLOAT, DOUBLE */
{
    if (v->c.type.kind == TYPE_FLOAT)
        return (double)((const float *)v->c.values)[vec_at(v, i)];
    return ((const double *)v->c.values)[vec_at(v, i)];
}
/* <0, 0, >0 of two values of one type, both present; NaN above all, as for sorting. */
int vec_compare(const struct vec *a, uint32_t i, const struct vec *b, uint32_t j);

/* ---- one call under evaluation ---- */
struct call {
    struct expr_eval *ev;
    const struct expr *e;
    const struct vec *args;
    uint32_t n;     /* rows to compute: 1 when all arguments are single */
    struct vec out; /* under construction, rows in order */
    size_t bytes_cap;
    struct err *err; /* may be NULL */
};
typedef enum rc row_fn(struct call *c, uint32_t row);
typedef enum rc kernel_fn(struct call *c);

/* Room for n values of type; validity NULL; BOOLEAN bits zero. */
void out_begin(struct call *c, struct type type, uint32_t n, bool single);
void out_null(struct call *c, uint32_t row); /* the row's value is null */
static inline void out_int(struct call *c, uint32_t row, int64_t v)
{
    switch (type_width(c->out.c.type.kind)) {
    case 8:
        ((int64_t *)c->out.c.values)[row] = v;
        break;
    case 4:
        ((int32_t *)c->out.c.values)[row] = (int32_t)v;
        break;
    case 2:
        ((int16_t *)c->out.c.values)[row] = (int16_t)v;
        break;
    default:
        ((int8_t *)c->out.c.values)[row] = (int8_t)v;
        break;
    }
}
void out_bytes(struct call *c, uint32_t row, struct bytes v);
uint8_t *out_room(struct call *c, uint32_t row, size_t len); /* len bytes to be filled in at once */
void out_trim(struct call *c, uint32_t row,
              size_t len); /* the row's room was too large: keep len */
static inline void out_bool(struct call *c, uint32_t row, bool v)
{
    if (v)
        bit_set(c->out.c.values, row);
}
static inline void out_double(struct call *c, uint32_t row, double v)
{
    if (c->out.c.type.kind == TYPE_FLOAT)
        ((float *)c->out.c.values)[row] = (float)v;
    else
        ((double *)c->out.c.values)[row] = v;
}
static inline void out_decimal(struct call *c, uint32_t row, int128 v)
{
    ((int128 *)c->out.c.values)[row] = v;
}

/* Validity that is the AND of the arguments'; NULL when all are present. Sets c->out.c.validity. */
void out_strict_validity(struct call *c);
/* All rows through `fn`, nulls kept away from it when strict. */
enum rc call_rows(struct call *c, row_fn *fn, bool strict);
/* "a + b: <message> (a = 1, b = 2)": wraps err with the expression and the row's argument values.
 */
enum rc call_fail(struct call *c, uint32_t row, enum rc rc, const char *fmt, ...) PRINTF_LIKE(4, 5);

void *scratch(struct expr_eval *ev, size_t size);
/* Value i of the result is value pos[i] of pieces[which[i]]; which[i] == UINT16_MAX: null. */
void vec_merge(struct expr_eval *ev, struct type type, uint32_t n, const struct vec *pieces,
               const uint16_t *which, const uint32_t *pos, struct vec *out);
void vec_gather(struct expr_eval *ev, const struct column *from, const uint32_t *sel, uint32_t n,
                struct vec *out);
void vec_expand(struct expr_eval *ev, struct vec *v, uint32_t n); /* single -> n rows */

/* ---- functions ---- */
struct bind {
    struct arena *arena;
    const struct expr_scope *scope;
    struct err *err;
};
enum {
    FUNC_LENIENT = 1,   /* row is called for null arguments too */
    FUNC_FALLIBLE = 2,  /* may return an error */
    FUNC_UNSTABLE = 4,  /* depends on clock or time zone */
    FUNC_ZONED = 32,    /* depends on the time zone when an argument is TIMESTAMP_LTZ */
    FUNC_NULLABLE = 8,  /* may be null although no argument is */
    FUNC_NOT_NULL = 16, /* never null, whatever the arguments */
};
/* Arguments, one letter each: s text, y text or binary, i integer, n any number, d number taken as
 * DOUBLE, b boolean, t date or timestamp or text taken as TIMESTAMP(3), x anything, c anything but
 * all c of one common type; '?': the rest may be absent; '*': the last may repeat. */
struct func {
    const char *name;      /* as called, upper case */
    const char *canonical; /* NULL: name */
    const char *args;
    char result; /* s STRING, y BYTES, b BOOLEAN, i INT, l BIGINT, d DOUBLE, D DATE, T TIMESTAMP(3),
                    Z TIMESTAMP_LTZ(3), M TIME(0), 0 as argument 0, 1 as argument 1, c the common
                    type, h the bind hook sets it */
    uint32_t flags;
    row_fn *row; /* one of row, kernel */
    kernel_fn *kernel;
    /* After arguments are bound and coerced: checks them, sets e->type, param, prepared. NULL:
     * nothing to do. */
    enum rc (*bind)(struct bind *b, const struct ast_expr *ast, struct expr *e);
    int32_t param; /* given to e->param */
};
extern const struct func math_funcs[], text_funcs[], time_funcs[],
    hash_funcs[]; /* end with name NULL */
extern const struct func func_add, func_sub, func_mul, func_div, func_mod, func_neg, func_compare,
    func_not, func_is_null, func_is_bool, func_distinct, func_concat_op, func_shift_time;

/* Words of EXTRACT, FLOOR TO, TIMESTAMPADD ... */
enum time_unit {
    UNIT_MILLENNIUM,
    UNIT_CENTURY,
    UNIT_DECADE,
    UNIT_YEAR,
    UNIT_QUARTER,
    UNIT_MONTH,
    UNIT_WEEK,
    UNIT_DAY,
    UNIT_HOUR,
    UNIT_MINUTE,
    UNIT_SECOND,
    UNIT_MILLISECOND,
    UNIT_MICROSECOND,
    UNIT_NANOSECOND,
    UNIT_DOY,
    UNIT_DOW,
    UNIT_ISODOW,
    UNIT_ISOYEAR,
    UNIT_EPOCH,
};
row_fn row_floor_number, row_ceil_number; /* of a number; of a time: expr_time.c */
bool time_unit_parse(const char *word, enum time_unit *out);

/* ---- types ---- */
bool type_common(struct type a, struct type b,
                 struct type *out);                 /* of CASE, COALESCE, IN ...; false: none */
struct type type_decimal_of(struct type t);         /* an integer type as DECIMAL(p, 0) */
struct type type_add(struct type a, struct type b); /* both numeric */
struct type type_mul(struct type a, struct type b);
struct type type_div(struct type a, struct type b);
struct type type_mod(struct type a, struct type b);

/* ---- making nodes ---- */
struct expr *node_new(struct bind *b, enum node_kind kind, struct type type, struct sql_pos pos,
                      uint32_t arg_count);
/* Sets flags from arguments, the message text, and folds what is constant. */
struct expr *node_done(struct bind *b, struct expr *e);
struct expr *node_null(struct bind *b, struct type type, struct sql_pos pos);
struct expr *node_int(struct bind *b, struct type type, int64_t v, struct sql_pos pos);
struct expr *node_call(struct bind *b, const struct func *f, struct type type, struct sql_pos pos,
                       struct expr *x, struct expr *y);
/* Explicit or implicit cast; the same type: e itself. RC_INVALID when there is none. */
MUST_USE enum rc node_cast(struct bind *b, struct expr *e, struct type to, bool try_cast,
                           struct sql_pos pos, struct expr **out);
enum rc bind_error(struct bind *b, struct sql_pos pos, enum rc rc, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
MUST_USE enum rc bind_expr(struct bind *b, const struct ast_expr *ast, struct expr **out);
MUST_USE enum rc bind_call(struct bind *b, const struct ast_expr *ast, struct expr **out);
MUST_USE enum rc bind_compare(struct bind *b, enum ast_op op, struct sql_pos pos, struct expr *x,
                              struct expr *y, struct expr **out);
bool func_is_niladic(const char *upper_name); /* may be written without parentheses */

/* ---- casts ---- */
struct cast_rule {
    kernel_fn *kernel; /* NULL: row for each row */
    row_fn *row;
    bool fallible, zone;
    bool keeps; /* the value stays as it is: no node is made */
};
const struct cast_rule *cast_find(struct type from, struct type to); /* NULL: not possible */
enum rc cast_eval(struct call *c);
kernel_fn set_eval; /* NODE_IN */
const struct value_set *set_new(struct bind *b, struct type type, struct expr **items,
                                uint32_t count);
void set_print(const struct value_set *s, struct buf *out);

/* ---- text ---- */
void value_print_sql(const struct column *c, uint32_t row, struct buf *out); /* as a literal */
void name_print(const char *name, struct buf *out); /* in backticks where needed */

#endif
