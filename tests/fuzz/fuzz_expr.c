/* fuzz_expr.c - SQL expressions: parse, bind, print, evaluate over rows with nulls and extremes. Laws: canonical text, read again, stays
 * as it is; a batch gives what its rows give alone. */
#include "job/sql/expr.h"
#include "job/sql/parser.h"

#define S {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}
static struct schema_field fields[] = {
    {"a", {.kind = TYPE_TINYINT, .nullable = true}},
    {"b", {.kind = TYPE_BOOLEAN, .nullable = true}},
    {"c", {.kind = TYPE_DECIMAL, .nullable = true, .precision = 12, .scale = 3}},
    {"d", {.kind = TYPE_DOUBLE, .nullable = true}},
    {"f", {.kind = TYPE_FLOAT, .nullable = true}},
    {"i", {.kind = TYPE_INT, .nullable = true}},
    {"l", {.kind = TYPE_BIGINT, .nullable = true}},
    {"s", S},
    {"t", {.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 9}},
    {"u", {.kind = TYPE_DATE, .nullable = true}},
    {"v", {.kind = TYPE_TIME, .nullable = true}},
    {"y", {.kind = TYPE_VARBINARY, .nullable = true, .length = TYPE_LENGTH_MAX}},
    {"z", {.kind = TYPE_TIMESTAMP_LTZ, .nullable = true, .precision = 3}},
};
static const struct schema schema = {ARRAY_LEN(fields), fields, -1};

static int64_t mono_ns(struct clock *c)
{
    (void)c;
    return 0;
}
static int64_t wall_ms(struct clock *c)
{
    (void)c;
    return 1709206496789;
}
static void sleep_ns(struct clock *c, int64_t duration_ns)
{
    (void)c;
    (void)duration_ns;
}
static const struct clock_ops clock_ops = {mono_ns, wall_ms, sleep_ns};

static void fill(struct batch_builder *b)
{
    static const char *const words[] = {"", "ab", "é€", "12", "2024-02-29 10:11:12"};

    for (int64_t r = 0; r < 5; r++) {
        for (uint32_t c = 0; c < schema.field_count; c++) {
            if ((r + c) % 4 == 0) {
                batch_append_null(b, c);
                continue;
            }
            switch (fields[c].type.kind) {
            case TYPE_BOOLEAN:
                batch_append_bool(b, c, r & 1);
                break;
            case TYPE_DECIMAL:
                batch_append_decimal(b, c, r * 100000 - 200000);
                break;
            case TYPE_DOUBLE:
            case TYPE_FLOAT:
                batch_append_double(b, c, (double)r / 3 - 0.5);
                break;
            case TYPE_VARCHAR:
            case TYPE_VARBINARY:
                batch_append_bytes(b, c, bytes_of_str(words[r]));
                break;
            case TYPE_BIGINT:
                batch_append_int(b, c, r == 3 ? INT64_MAX : r == 4 ? INT64_MIN : r);
                break;
            default:
                batch_append_int(b, c, r * 20);
                break;
            }
        }
        batch_row_end(b, ROW_INSERT);
    }
}

/* Binds the only select item of the text; NULL when it is none. */
static struct expr *bind(struct arena *a, struct bytes text)
{
    const struct expr_scope scope = {&schema, NULL, "UTC"};
    struct ast_script script;
    struct ast_statement *st;
    struct expr *e;

    if (sql_parse_script(a, text, &script, NULL) != RC_OK || script.count != 1)
        return NULL;
    st = script.statements[0];
    if (st->kind != STMT_SELECT || st->query->item_count != 1 || st->query->items[0].expr->kind == EXPR_STAR)
        return NULL;
    return expr_bind(a, st->query->items[0].expr, &scope, &e, NULL) == RC_OK ? e : NULL;
}

/* Canonical text of what the text means; false when it cannot be bound (some constants have no literal). */
static bool canonical(struct arena *a, const struct buf *in, struct buf *out)
{
    struct expr *e = bind(a, buf_bytes(in));

    if (e == NULL)
        return false;
    buf_append_str(out, "SELECT ");
    expr_print(e, &schema, out);
    return true;
}

/* A narrow constant prints without its type, so the first text may mean a wider one; from then on nothing changes. */
static void check_print(struct arena *a, const struct expr *e)
{
    struct buf first = {0}, second = {0}, third = {0};

    buf_append_str(&first, "SELECT ");
    expr_print(e, &schema, &first);
    if (canonical(a, &first, &second) && canonical(a, &second, &third))
        ASSERT(bytes_eq(buf_bytes(&second), buf_bytes(&third)));
    buf_release(&first);
    buf_release(&second);
    buf_release(&third);
}

static void check_rows(const struct expr *e, struct batch *in)
{
    struct clock clock = {&clock_ops};
    struct err err = {0};
    struct expr_eval *all = expr_eval_new(&clock, "Europe/Berlin", &err), *one = expr_eval_new(&clock, "Europe/Berlin", &err);
    struct column batch, alone;
    enum rc rc = expr_evaluate(all, e, in, NULL, in->rows, &batch, &err);
    bool failed = false;

    for (uint32_t i = 0; i < in->rows; i++) {
        enum rc row_rc = expr_evaluate(one, e, in, &i, 1, &alone, NULL);
        struct buf x = {0}, y = {0};

        failed |= row_rc != RC_OK;
        if (rc == RC_OK && row_rc == RC_OK) {
            column_print(&batch, i, &x);
            column_print(&alone, 0, &y);
            ASSERT(bytes_eq(buf_bytes(&x), buf_bytes(&y)));
            ASSERT(expr_type(e).nullable || column_present(&alone, 0));
        }
        buf_release(&x);
        buf_release(&y);
        expr_eval_reset(one);
    }
    ASSERT(failed == (rc != RC_OK) && (rc == RC_OK || err.msg[0] != '\0'));
    expr_eval_free(all);
    expr_eval_free(one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new(0);
    struct batch_builder *b = batch_builder_new(&schema);
    struct buf text = {0};
    struct expr *e;

    buf_append_str(&text, "SELECT ");
    buf_append(&text, data, size < 2000 ? size : 2000);
    e = bind(a, buf_bytes(&text));
    if (e != NULL) {
        fill(b);
        check_print(a, e);
        check_rows(e, batch_builder_view(b));
    }
    buf_release(&text);
    batch_builder_free(b);
    arena_free(a);
    return 0;
}
