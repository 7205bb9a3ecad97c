/* expr_case.h - SQL expressions as test rows: parse, bind against a table of one column a type, evaluate, print.
 *
 *     {"i + 1", "INT", "43"}               value and type
 *     {"l * l", "!", "out of the range"}   fails when evaluated, the message has this part
 *     {"s + 1", "?", "expected a number"}  refused when bound
 */
#ifndef VARVE_TESTS_LIB_EXPR_CASE_H
#define VARVE_TESTS_LIB_EXPR_CASE_H

#include "job/datetime.h"
#include "job/decimal.h"
#include "job/sql/expr.h"
#include "job/sql/parser.h"
#include "tests/lib/check_ext.h"

struct expr_case {
    const char *sql, *type, *value;
};

/* Wall clock stands at 2024-02-29 11:34:56.789 UTC. */
#define CASE_NOW_MS 1709206496789LL
static inline int64_t case_wall_ms(struct clock *c)
{
    (void)c;
    return CASE_NOW_MS;
}
static inline int64_t case_mono_ns(struct clock *c)
{
    (void)c;
    return 0;
}
static inline void case_sleep_ns(struct clock *c, int64_t duration_ns)
{
    (void)c;
    (void)duration_ns;
}
static const struct clock_ops case_clock_ops = {case_mono_ns, case_wall_ms, case_sleep_ns};
static struct clock case_clock = {&case_clock_ops};

#define P(kind_, p_, s_) {.kind = kind_, .nullable = true, .precision = p_, .scale = s_}
#define STR {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}
static struct schema_field case_fields[] = {
    {"b", P(TYPE_BOOLEAN, 0, 0)},  {"i8", P(TYPE_TINYINT, 0, 0)},   {"i16", P(TYPE_SMALLINT, 0, 0)},
    {"i", P(TYPE_INT, 0, 0)},      {"l", P(TYPE_BIGINT, 0, 0)},     {"f", P(TYPE_FLOAT, 0, 0)},
    {"d", P(TYPE_DOUBLE, 0, 0)},   {"dec", P(TYPE_DECIMAL, 10, 2)}, {"s", STR},
    {"bin", {.kind = TYPE_VARBINARY, .nullable = true, .length = TYPE_LENGTH_MAX}},
    {"dt", P(TYPE_DATE, 0, 0)},    {"tm", P(TYPE_TIME, 0, 0)},      {"ts", P(TYPE_TIMESTAMP, 3, 0)},
    {"ltz", P(TYPE_TIMESTAMP_LTZ, 3, 0)},
    {"n", P(TYPE_BIGINT, 0, 0)},   {"ns", STR},                     {"nb", P(TYPE_BOOLEAN, 0, 0)},
    {"nn", {.kind = TYPE_INT, .nullable = false}}, {"big", P(TYPE_BIGINT, 0, 0)}, {"Odd name", P(TYPE_INT, 0, 0)},
};
static const struct schema case_schema = {ARRAY_LEN(case_fields), case_fields, -1};

static inline void case_row(struct batch_builder *b)
{
    const uint8_t raw[] = {1, 2};
    uint32_t c = 0;

    batch_append_bool(b, c++, true);
    batch_append_int(b, c++, 7);
    batch_append_int(b, c++, 300);
    batch_append_int(b, c++, 42);
    batch_append_int(b, c++, 9000000000);
    batch_append_double(b, c++, 1.5);
    batch_append_double(b, c++, 2.25);
    batch_append_decimal(b, c++, 1234);
    batch_append_bytes(b, c++, bytes_of_str("Hello"));
    batch_append_bytes(b, c++, bytes_of(raw, 2));
    batch_append_int(b, c++, 19782); /* 2024-02-29 */
    batch_append_int(b, c++, 45296000);
    batch_append_int(b, c++, CASE_NOW_MS + 3600000); /* 12:34:56.789 */
    batch_append_int(b, c++, CASE_NOW_MS);
    batch_append_null(b, c++);
    batch_append_null(b, c++);
    batch_append_null(b, c++);
    batch_append_int(b, c++, 5);
    batch_append_int(b, c++, INT64_MAX);
    batch_append_int(b, c++, -8);
    batch_row_end(b, ROW_INSERT);
}

/* The expression alone of "SELECT <sql>". */
static inline const struct ast_expr *case_parse(struct arena *a, const char *sql)
{
    struct err err = {0};
    struct ast_script script;
    char *text = arena_printf(a, "SELECT %s", sql);

    ck_assert_msg(sql_parse_script(a, bytes_of_str(text), &script, &err) == RC_OK, "%s: %s", sql, err.msg);
    return script.statements[0]->query->items[0].expr;
}

/* Value and type into out, or a message with its code in *rc. stage: 0 bound, 1 evaluated. */
static inline enum rc case_run(struct arena *a, const char *sql, const char *zone, int *stage, struct buf *value, const char **type,
                               struct err *err)
{
    struct expr_scope scope = {&case_schema, NULL, zone};
    struct batch_builder *b = batch_builder_new(&case_schema);
    struct expr_eval *ev = expr_eval_new(&case_clock, zone, err);
    struct column out;
    struct expr *e;
    enum rc rc;

    ck_assert_msg(ev != NULL, "%s", err->msg);
    case_row(b);
    *stage = 0;
    rc = expr_bind(a, case_parse(a, sql), &scope, &e, err);
    if (rc == RC_OK) {
        *stage = 1;
        *type = type_str(a, expr_type(e), false);
        rc = expr_evaluate(ev, e, batch_builder_view(b), NULL, 1, &out, err);
    }
    if (rc == RC_OK) {
        ck_assert_msg(type_eq(out.type, expr_type(e), true), "%s: the column has another type than the expression", sql);
        ck_assert_msg(expr_type(e).nullable || column_present(&out, 0), "%s: null in a NOT NULL type", sql);
        column_print(&out, 0, value);
    }
    expr_eval_free(ev);
    batch_builder_free(b);
    return rc;
}

static inline void case_check(const struct expr_case *t, const char *zone)
{
    struct arena *a = arena_new(0);
    struct err err = {0};
    struct buf value = {0};
    const char *type = "";
    int stage;
    enum rc rc = case_run(a, t->sql, zone, &stage, &value, &type, &err);

    if (t->type[0] == '?' || t->type[0] == '!') {
        ck_assert_msg(rc != RC_OK, "%s: gave %s %s instead of an error", t->sql, type, buf_cstr(&value));
        ck_assert_msg(stage == (t->type[0] == '!'), "%s: failed at the wrong stage: %s", t->sql, err.msg);
        ck_assert_msg(strstr(err.msg, t->value) != NULL, "%s: message \"%s\" lacks \"%s\"", t->sql, err.msg, t->value);
    } else {
        ck_assert_msg(rc == RC_OK, "%s: %s", t->sql, err.msg);
        ck_assert_msg(strcmp(type, t->type) == 0, "%s: type %s, expected %s", t->sql, type, t->type);
        ck_assert_msg(strcmp(buf_cstr(&value), t->value) == 0, "%s: %s, expected %s", t->sql, buf_cstr(&value), t->value);
    }
    buf_release(&value);
    arena_free(a);
}

#endif
