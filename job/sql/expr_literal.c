/* expr_literal.c - literals and intervals of a SQL text as constants; constants as SQL text. */
#include "job/sql/expr_bind_priv.h"

static struct expr *constant(struct bind *b, struct call *c, struct sql_pos pos)
{
    struct expr *e = node_new(b, NODE_CONST, c->out.c.type, pos, 0);

    e->value = c->out;
    return e;
}

static enum rc bind_number(struct bind *b, const struct ast_expr *ast, struct bytes text,
                           struct call *c)
{
    struct type t = {.kind = TYPE_DECIMAL};
    int64_t v;

    if (ast->literal == LIT_DOUBLE) {
        double d;

        out_begin(c, (struct type){.kind = TYPE_DOUBLE}, 1, true);
        RETURN_IF_ERR(number_parse_double(text, &d, b->err));
        out_double(c, 0, d);
        return RC_OK;
    }
    if (ast->literal == LIT_INT &&
        number_parse_int(text, INT64_MIN, INT64_MAX, &v, NULL) == RC_OK) {
        out_begin(c, (struct type){.kind = v == (int32_t)v ? TYPE_INT : TYPE_BIGINT}, 1, true);
        out_int(c, 0, v);
        return RC_OK;
    }
    { /* digits as written: 0.50 is DECIMAL(3, 2) */
        const uint8_t *point = memchr(text.data, '.', text.len);
        size_t digits = text.len - (point != NULL);
        size_t scale = point == NULL ? 0 : (size_t)(text.data + text.len - point) - 1;
        int128 d;

        if (digits > DECIMAL_PRECISION_MAX)
            return bind_error(b, ast->pos, RC_INVALID,
                              "a number of %zu digits, expected at most %d", digits,
                              DECIMAL_PRECISION_MAX);
        t.precision = (uint8_t)(digits == 0 ? 1 : digits);
        t.scale = (uint8_t)scale;
        out_begin(c, t, 1, true);
        RETURN_IF_ERR(decimal_parse(text, t.precision, t.scale, &d, b->err));
        out_decimal(c, 0, d);
    }
    return RC_OK;
}

static uint8_t fraction_digits(struct bytes text)
{
    const uint8_t *p = memchr(text.data, '.', text.len), *end = text.data + text.len;
    uint8_t n = 0;

    for (p = p == NULL ? end : p + 1; p < end && *p >= '0' && *p <= '9' && n < 9; p++)
        n++;
    return n;
}

uint8_t bind_fraction_digits(const struct expr *e)
{
    if (e->kind != NODE_CONST || !type_is_text(e->type.kind) || vec_null(&e->value, 0) ||
        vec_bytes(&e->value, 0).len == 0)
        return 0;
    return fraction_digits(vec_bytes(&e->value, 0));
}

static enum rc bind_time(struct bind *b, const struct ast_expr *ast, struct bytes text,
                         struct call *c)
{
    struct err inner = {0};
    struct type t = {.kind = TYPE_DATE};
    int64_t v = 0;
    int32_t v32 = 0;
    enum rc rc;

    if (ast->literal == LIT_DATE) {
        rc = date_parse(text, &v32, &inner);
        v = v32;
    } else if (ast->literal == LIT_TIME) {
        t.kind = TYPE_TIME;
        t.precision = fraction_digits(text);
        if (t.precision > 3)
            t.precision = 3;
        rc = time_parse(text, t.precision, &v32, &inner);
        v = v32;
    } else {
        t.kind = TYPE_TIMESTAMP;
        t.precision = fraction_digits(text);
        rc = timestamp_parse(text, t.precision, NULL, &v, &inner);
    }
    if (rc != RC_OK)
        return bind_error(b, ast->pos, rc, "%s", inner.msg);
    out_begin(c, t, 1, true);
    out_int(c, 0, v);
    return RC_OK;
}

static uint8_t hex_digit(uint8_t ch)
{
    return (uint8_t)(ch <= '9' ? ch - '0' : (ch | 0x20) - 'a' + 10);
}

enum rc bind_literal(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct expr_eval ev = {.arena = b->arena};
    struct call c = {.ev = &ev, .n = 1};
    struct bytes text = bytes_of(ast->text, ast->text_len);
    struct type t = {.kind = TYPE_CHAR};

    switch (ast->literal) {
    case LIT_NULL:
        *out = node_null(b, type_of(TYPE_NULL), ast->pos);
        return RC_OK;
    case LIT_BOOL:
        t.kind = TYPE_BOOLEAN;
        out_begin(&c, t, 1, true);
        out_bool(&c, 0, text.len > 0 && (text.data[0] | 0x20) == 't');
        break;
    case LIT_INT:
    case LIT_DECIMAL:
    case LIT_DOUBLE:
        RETURN_IF_ERR(bind_number(b, ast, text, &c));
        break;
    case LIT_STRING:
        t.length = (int32_t)utf8_count(text);
        out_begin(&c, t, 1, true);
        out_bytes(&c, 0, text);
        break;
    case LIT_BINARY:
        t.kind = TYPE_BINARY;
        t.length = (int32_t)(text.len / 2);
        out_begin(&c, t, 1, true);
        {
            uint8_t *to = out_room(&c, 0, text.len / 2);

            for (size_t i = 0; i + 1 < text.len; i += 2)
                to[i / 2] = (uint8_t)(hex_digit(text.data[i]) << 4 | hex_digit(text.data[i + 1]));
        }
        break;
    case LIT_DATE:
    case LIT_TIME:
    case LIT_TIMESTAMP:
        RETURN_IF_ERR(bind_time(b, ast, text, &c));
        break;
    }
    *out = constant(b, &c, ast->pos);
    return RC_OK;
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Fields of an interval in order; a text gives those from `first` to `last`. */
static const struct interval_field {
    const char *name;
    bool months;
    int64_t factor; /* months or ms */
    uint32_t limit; /* of a field that is not the first */
    char before;    /* separates it from the field before */
} fields[] = {
    {"YEAR", true, 12, 0, 0},          {"MONTH", true, 1, 11, '-'},
    {"DAY", false, MS_PER_DAY, 0, 0},  {"HOUR", false, 3600000, 23, ' '},
    {"MINUTE", false, 60000, 59, ':'}, {"SECOND", false, 1000, 59, ':'},
    {"QUARTER", true, 3, 0, 0},        {"WEEK", false, 7 * MS_PER_DAY, 0, 0},
    {"MILLISECOND", false, 1, 0, 0},
};

static int find_field(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (strlen(fields[i].name) == len && strncmp(fields[i].name, name, len) == 0)
            return (int)i;
    }
    return -1;
}

/* "1 02:03:04.5" by fields first..last. */
static bool scan_interval(struct bytes t, int first, int last, int64_t *out)
{
    size_t i = 0;
    bool negative = false;
    int64_t total = 0;

    while (i < t.len && t.data[i] == ' ')
        i++;
    if (i < t.len && (t.data[i] == '-' || t.data[i] == '+'))
        negative = t.data[i++] == '-';
    for (int f = first; f <= last; f++) {
        int64_t v = 0, part;
        size_t start;

        if (f > first && (i == t.len || t.data[i++] != (uint8_t)fields[f].before))
            return false;
        for (start = i; i < t.len && t.data[i] >= '0' && t.data[i] <= '9'; i++) {
            if (i - start >= 15)
                return false;
            v = v * 10 + (t.data[i] - '0');
        }
        if (i == start || (f > first && v > fields[f].limit) ||
            __builtin_mul_overflow(v, fields[f].factor, &part) ||
            __builtin_add_overflow(total, part, &total))
            return false;
    }
    if (fields[last].factor == 1000 && i < t.len && t.data[i] == '.') { /* seconds */
        int64_t weight = 100;

        for (i++; i < t.len && t.data[i] >= '0' && t.data[i] <= '9'; i++, weight /= 10)
            total += weight * (t.data[i] - '0');
    }
    while (i < t.len && t.data[i] == ' ')
        i++;
    *out = negative ? -total : total;
    return i == t.len;
}

enum rc bind_interval(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    const char *to = strstr(ast->unit, " TO ");
    size_t first_len = to == NULL ? strlen(ast->unit) : (size_t)(to - ast->unit);
    int first = find_field(ast->unit, first_len),
        last = to == NULL ? first : find_field(to + 4, strlen(to + 4));
    struct bytes text = bytes_of(ast->text, ast->text_len);
    char quoted[TEXT_QUOTE_MAX];
    struct type t = {.kind = TYPE_INTERVAL_DAY};
    int64_t v;

    if (first < 0 || last < first || fields[first].months != fields[last].months ||
        (last > first && last > 5))
        return bind_error(
            b, ast->pos, RC_INVALID,
            "an interval of %s, expected e.g. DAY, HOUR, YEAR TO MONTH, DAY TO SECOND", ast->unit);
    if (!scan_interval(text, first, last, &v))
        return bind_error(b, ast->pos, RC_INVALID, "%s is not an interval of %s",
                          text_quote(text, quoted), ast->unit);
    if (fields[first].months) {
        t.kind = TYPE_INTERVAL_YEAR;
        if (v != (int32_t)v)
            return bind_error(b, ast->pos, RC_INVALID, "%s is too long an interval",
                              text_quote(text, quoted));
    }
    *out = node_int(b, t, v, ast->pos);
    return RC_OK;
}

/* ---- constants as text ----------------------------------------------------------------------- */

static void print_quoted(struct bytes b, struct buf *out)
{
    buf_append_u8(out, '\'');
    for (size_t i = 0; i < b.len; i++) {
        if (b.data[i] == '\'')
            buf_append_u8(out, '\'');
        buf_append_u8(out, b.data[i]);
    }
    buf_append_u8(out, '\'');
}

/* With an exponent, so that it is no DECIMAL: 1.5E0. */
static void print_double(const struct column *c, uint32_t row, struct buf *out)
{
    struct buf plain = {0};

    column_print(c, row, &plain);
    if (memchr("NI-", plain.data[plain.data[0] == '-' ? 1 : 0], 2) != NULL)
        buf_printf(out, "CAST('%s' AS DOUBLE)", buf_cstr(&plain)); /* NaN, Infinity: no literals */
    else
        buf_printf(out, "%s%s", buf_cstr(&plain),
                   memchr(plain.data, 'E', plain.len) == NULL ? "E0" : "");
    buf_release(&plain);
}

void value_print_sql(const struct column *c, uint32_t row, struct buf *out)
{
    struct bytes b;

    if (c->type.kind == TYPE_NULL || !column_present(c, row)) {
        buf_append_str(out, "NULL");
        return;
    }
    switch (c->type.kind) {
    case TYPE_BOOLEAN:
        buf_append_str(out, bit_get(c->values, row) ? "TRUE" : "FALSE");
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        print_double(c, row, out);
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        print_quoted(column_bytes(c, row), out);
        break;
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        b = column_bytes(c, row);
        buf_append_str(out, "X'");
        for (size_t i = 0; i < b.len; i++)
            buf_printf(out, "%02x", b.data[i]);
        buf_append_u8(out, '\'');
        break;
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
    case TYPE_INTERVAL_DAY:
    case TYPE_INTERVAL_YEAR: {
        static const char *const words[] = {[TYPE_DATE] = "DATE",
                                            [TYPE_TIME] = "TIME",
                                            [TYPE_TIMESTAMP] = "TIMESTAMP",
                                            [TYPE_TIMESTAMP_LTZ] = "TIMESTAMP_LTZ",
                                            [TYPE_INTERVAL_DAY] = "INTERVAL",
                                            [TYPE_INTERVAL_YEAR] = "INTERVAL"};

        buf_printf(out, "%s '", words[c->type.kind]);
        column_print(c, row, out);
        buf_append_str(out, c->type.kind == TYPE_INTERVAL_DAY    ? "' DAY TO SECOND"
                            : c->type.kind == TYPE_INTERVAL_YEAR ? "' YEAR TO MONTH"
                                                                 : "'");
        break;
    }
    default:
        column_print(c, row, out);
        break;
    }
}
