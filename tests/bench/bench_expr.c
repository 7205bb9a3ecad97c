/* bench_expr.c - nanoseconds of CPU a row of common expressions over batches of 4096 rows. Usage: bench_expr [million rows] */
#include "base/rng.h"
#include "job/sql/expr.h"
#include "job/sql/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct schema_field fields[] = {
    {"a", {.kind = TYPE_BIGINT, .nullable = true}},
    {"b", {.kind = TYPE_BIGINT, .nullable = true}},
    {"d", {.kind = TYPE_DOUBLE, .nullable = true}},
    {"c", {.kind = TYPE_DECIMAL, .nullable = true, .precision = 15, .scale = 2}},
    {"s", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}},
    {"t", {.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 3}},
    {"n", {.kind = TYPE_BIGINT, .nullable = true}}, /* every fourth is null */
};
static const struct schema schema = {ARRAY_LEN(fields), fields, -1};

static const char *const exprs[] = {
    "a + b", "a * 3", "a / 7", "a % 1000", "a % b", "MOD(a, 200003)", "a > 500", "a > b", "n + 1", "d * 1.5e0", "c + c", "c * 2", "a > 100 AND b < 900",
    "CASE WHEN a > 500 THEN b ELSE 0 END", "COALESCE(n, 0)", "CAST(a AS INT)", "CAST(a AS STRING)", "s = 'key-17'", "s LIKE 'key-1%'", "UPPER(s)", "s || 'x'",
    "t - INTERVAL '5' SECOND", "EXTRACT(HOUR FROM t)", "a IN (1, 5, 9, 200)",
};

static void fill(struct batch_builder *b)
{
    struct rng r;
    char key[32];

    rng_seed(&r, 1);
    for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) {
        int64_t v = (int64_t)rng_below(&r, 1000);
        int len = snprintf(key, sizeof key, "key-%lld", (long long)v);

        batch_append_int(b, 0, v);
        batch_append_int(b, 1, v + 1);
        batch_append_double(b, 2, (double)v / 3);
        batch_append_decimal(b, 3, v * 100 + 7);
        batch_append_bytes(b, 4, bytes_of(key, (size_t)len));
        batch_append_int(b, 5, 1700000000000 + v * 1000);
        if (i % 4 == 0)
            batch_append_null(b, 6);
        else
            batch_append_int(b, 6, v);
        batch_row_end(b, ROW_INSERT);
    }
}

int main(int argc, char **argv)
{
    uint64_t batches = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000 / BATCH_ROWS_MAX;
    struct err err = {0};
    struct clock *wall = clock_posix();
    struct batch_builder *b = batch_builder_new(&schema);
    struct expr_eval *ev = expr_eval_new(wall, "UTC", &err);
    struct expr_scope scope = {&schema, NULL, "UTC"};

    fill(b);
    for (size_t k = 0; k < ARRAY_LEN(exprs); k++) {
        struct arena *a = arena_new(0);
        struct ast_script script;
        struct column out;
        struct expr *e;
        char *text = arena_printf(a, "SELECT %s", exprs[k]);
        double start, ns;

        if (sql_parse_script(a, bytes_of_str(text), &script, &err) != RC_OK ||
            expr_bind(a, script.statements[0]->query->items[0].expr, &scope, &e, &err) != RC_OK) {
            fprintf(stderr, "%s\n", err.msg);
            return 1;
        }
        start = (double)clock();
        for (uint64_t i = 0; i < batches; i++) {
            if (expr_evaluate(ev, e, batch_builder_view(b), NULL, BATCH_ROWS_MAX, &out, &err) != RC_OK) {
                fprintf(stderr, "%s\n", err.msg);
                return 1;
            }
            expr_eval_reset(ev);
        }
        ns = ((double)clock() - start) * (1e9 / CLOCKS_PER_SEC);
        printf("%-40s %7.2f ns/row\n", exprs[k], ns / (double)(batches * BATCH_ROWS_MAX));
        arena_free(a);
    }
    expr_eval_free(ev);
    batch_builder_free(b);
    return 0;
}
