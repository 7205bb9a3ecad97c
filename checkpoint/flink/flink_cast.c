/* flink_cast.c - see flink_cast.h */
#include "checkpoint/flink/flink_cast.h"

#include "base/utf8.h"

#include <math.h>

#define DAY_MS 86400000ll
#define DIGITS_MAX 38 /* of a number in 128 bits */
#define COMPACT_DIGITS 18
#define COMPACT_FRACTION 3
#define SHOWN_MAX 120u /* bytes of a value in a message */

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum cast_word word;
    int32_t precision; /* of one that is printed without */
} words[] = {
    {"BOOLEAN", CAST_BOOLEAN, 0},     {"TINYINT", CAST_TINYINT, 0},
    {"SMALLINT", CAST_SMALLINT, 0},   {"INT", CAST_INT, 0},
    {"BIGINT", CAST_BIGINT, 0},       {"FLOAT", CAST_FLOAT, 0},
    {"DOUBLE", CAST_DOUBLE, 0},       {"DECIMAL", CAST_DECIMAL, 10},
    {"CHAR", CAST_CHAR, 1},           {"VARCHAR", CAST_VARCHAR, 1},
    {"STRING", CAST_VARCHAR, INT32_MAX}, {"BINARY", CAST_BINARY, 1},
    {"VARBINARY", CAST_VARBINARY, 1}, {"BYTES", CAST_VARBINARY, INT32_MAX},
    {"DATE", CAST_DATE, 0},           {"TIME", CAST_TIME, 0},
    {"TIMESTAMP", CAST_TIMESTAMP, 6}, {"TIMESTAMP_LTZ", CAST_TIMESTAMP_LTZ, 6},
};

static bool parse_number(const char **s, int32_t *out)
{
    int64_t n = 0;
    const char *p = *s;

    for (; *p >= '0' && *p <= '9' && n <= INT32_MAX; p++)
        n = 10 * n + (*p - '0');
    if (p == *s || n > INT32_MAX)
        return false;
    *s = p;
    *out = (int32_t)n;
    return true;
}

static bool parse_arguments(const char **s, struct cast_type *out)
{
    if (**s != '(')
        return true;
    ++*s;
    if (!parse_number(s, &out->precision))
        return false;
    if (out->word == CAST_DECIMAL && strncmp(*s, ", ", 2) == 0) {
        *s += 2;
        if (!parse_number(s, &out->scale))
            return false;
    }
    return *(*s)++ == ')';
}

bool cast_type_parse(const char *text, struct cast_type *out)
{
    size_t len = strcspn(text, "( "), i = 0;
    const char *rest = text + len;

    while (i < ARRAY_LEN(words) &&
           (strlen(words[i].name) != len || memcmp(words[i].name, text, len) != 0))
        i++;
    if (i == ARRAY_LEN(words))
        return false;
    *out = (struct cast_type){
        .word = words[i].word, .precision = words[i].precision, .nullable = true, .text = text};
    if (!parse_arguments(&rest, out) ||
        (out->word == CAST_DECIMAL && (out->precision > DIGITS_MAX || out->scale > out->precision)))
        return false;
    if (strcmp(rest, " NOT NULL") == 0) {
        out->nullable = false;
        rest += strlen(rest);
    }
    return *rest == '\0';
}

enum field_kind cast_type_field(const struct cast_type *t)
{
    switch (t->word) {
    case CAST_BOOLEAN:
        return FIELD_BOOL;
    case CAST_TINYINT:
        return FIELD_I8;
    case CAST_SMALLINT:
        return FIELD_I16;
    case CAST_INT:
    case CAST_DATE:
    case CAST_TIME:
        return FIELD_I32;
    case CAST_FLOAT:
        return FIELD_F32;
    case CAST_DOUBLE:
        return FIELD_F64;
    case CAST_DECIMAL:
        return t->precision > COMPACT_DIGITS ? FIELD_DECIMAL_WIDE : FIELD_I64;
    case CAST_TIMESTAMP:
    case CAST_TIMESTAMP_LTZ:
        return t->precision > COMPACT_FRACTION ? FIELD_TIMESTAMP_WIDE : FIELD_I64;
    case CAST_CHAR:
    case CAST_VARCHAR:
    case CAST_BINARY:
    case CAST_VARBINARY:
        return FIELD_BYTES;
    default:
        return FIELD_I64;
    }
}

/* ---- which serializers ----------------------------------------------------------------------- */

static bool is_integer(enum flink_coding c)
{
    return c == FLINK_BYTE || c == FLINK_SHORT || c == FLINK_INT || c == FLINK_LONG;
}

static bool is_text(enum flink_coding c)
{
    return c == FLINK_STRING || c == FLINK_STRING_DATA || c == FLINK_CHAR || c == FLINK_ENUM;
}

static bool takes(const struct cast_type *t, enum flink_coding c)
{
    bool exact = is_integer(c) || c == FLINK_BIG_INT || c == FLINK_BIG_DEC || c == FLINK_DECIMAL_DATA;

    switch (t->word) {
    case CAST_BOOLEAN:
        return c == FLINK_BOOLEAN;
    case CAST_TINYINT:
    case CAST_SMALLINT:
    case CAST_INT:
    case CAST_BIGINT:
    case CAST_WIDE:
    case CAST_DECIMAL:
        return exact;
    case CAST_FLOAT:
        return c == FLINK_FLOAT;
    case CAST_DOUBLE:
        return c == FLINK_DOUBLE || c == FLINK_FLOAT || is_integer(c);
    case CAST_CHAR:
    case CAST_VARCHAR:
        return is_text(c);
    case CAST_BINARY:
    case CAST_VARBINARY:
        return c == FLINK_BYTES;
    case CAST_DATE: /* SQL's own are an int, as Flink has them */
        return c == FLINK_LOCAL_DATE || c == FLINK_INT;
    case CAST_TIME:
        return c == FLINK_LOCAL_TIME || c == FLINK_INT;
    case CAST_TIMESTAMP:
        return c == FLINK_LOCAL_DATE_TIME || c == FLINK_TIMESTAMP_DATA;
    case CAST_TIMESTAMP_LTZ:
        return c == FLINK_INSTANT || c == FLINK_DATE || c == FLINK_SQL_TIMESTAMP ||
               c == FLINK_TIMESTAMP_DATA;
    }
    return false;
}

bool flink_cast_fits(const struct flink_serializer *s, const struct cast_type *t)
{
    s = flink_serializer_bare(s);
    if (s->coding == FLINK_NULLABLE)
        s = flink_serializer_bare(s->children[0]);
    return takes(t, s->coding);
}

/* ---- values ---------------------------------------------------------------------------------- */

static enum rc refuse(const struct flink_value *v, const struct cast_type *t, const char *why,
                      struct err *err)
{
    struct buf json = {0};
    enum rc rc;

    flink_value_json(v, &json);
    if (json.len > SHOWN_MAX) {
        json.len = SHOWN_MAX;
        while (json.len > 0 && (json.data[json.len] & 0xC0) == 0x80)
            json.len--;
        buf_append_str(&json, "...");
    }
    rc = err_set(err, RC_INVALID, "%s is no %s: %s", buf_cstr(&json),
                 t->word == CAST_WIDE ? "total" : t->text, why);
    buf_release(&json);
    return rc;
}

static bool times_ten(int128 *n)
{
    return !__builtin_mul_overflow(*n, (int128)10, n);
}

/* "-12.50", "7E3" as an unscaled number with `scale` digits behind the point. */
static bool read_decimal(struct bytes text, int32_t scale, int128 *out, const char **why)
{
    bool negative = text.len > 0 && text.data[0] == '-', behind = false;
    size_t i = negative ? 1 : 0;
    int64_t shift = scale, power = 0;
    int128 n = 0;

    *why = "it has more than 38 digits";
    for (; i < text.len && text.data[i] != 'E'; i++) {
        if (text.data[i] == '.') {
            behind = true;
            continue;
        }
        if (!times_ten(&n) || __builtin_add_overflow(n, (int128)(text.data[i] - '0'), &n))
            return false;
        shift -= behind;
    }
    if (i < text.len) { /* of digits that were put there by flink_value_set_decimal */
        bool down = i + 1 < text.len && text.data[i + 1] == '-';

        for (i += down ? 2 : 1; i < text.len && power < INT32_MAX; i++)
            power = 10 * power + (text.data[i] - '0');
        shift += down ? -power : power;
    }
    for (; shift > 0 && n != 0; shift--)
        if (!times_ten(&n))
            return false;
    for (; shift < 0 && n != 0; shift++) {
        if (n % 10 != 0) {
            *why = "it has more digits behind the point";
            return false;
        }
        n /= 10;
    }
    *out = negative ? -n : n;
    return true;
}

static bool in_range(int128 n, const struct cast_type *t)
{
    int128 most = 1;

    switch (t->word) {
    case CAST_TINYINT:
        return n >= INT8_MIN && n <= INT8_MAX;
    case CAST_SMALLINT:
        return n >= INT16_MIN && n <= INT16_MAX;
    case CAST_INT:
    case CAST_DATE:
        return n >= INT32_MIN && n <= INT32_MAX;
    case CAST_TIME:
        return n >= 0 && n < DAY_MS;
    case CAST_BIGINT:
        return n >= INT64_MIN && n <= INT64_MAX;
    case CAST_DECIMAL:
        for (int32_t i = 0; i < t->precision; i++)
            most *= 10;
        return n > -most && n < most;
    default:
        return true;
    }
}

static enum rc cast_number(const struct flink_value *v, const struct cast_type *t,
                           struct cast_value *out, struct err *err)
{
    const char *why = NULL;
    bool fits = true;

    out->number = v->integer;
    if (v->kind == FLINK_VALUE_NUMBER)
        fits = read_decimal(v->text, t->scale, &out->number, &why);
    else if (v->kind != FLINK_VALUE_INTEGER)
        return refuse(v, t, "it is no exact number", err);
    else
        for (int32_t i = 0; i < t->scale && fits; i++)
            fits = times_ten(&out->number);
    if (!fits)
        return refuse(v, t, why != NULL ? why : "it has more than 38 digits", err);
    return in_range(out->number, t) ? RC_OK : refuse(v, t, "it is out of range", err);
}

static enum rc cast_real(const struct flink_value *v, const struct cast_type *t,
                         struct cast_value *out, struct err *err)
{
    out->real = v->kind == FLINK_VALUE_REAL ? v->real : (double)v->integer;
    if (v->kind == FLINK_VALUE_INTEGER &&
        (fabs(out->real) >= 9.2e18 || (int64_t)out->real != v->integer))
        return refuse(v, t, "it has more digits than a DOUBLE", err);
    if (v->kind != FLINK_VALUE_REAL && v->kind != FLINK_VALUE_INTEGER)
        return refuse(v, t, "it is no number", err);
    if (t->word == CAST_FLOAT && !v->single)
        return refuse(v, t, "it is no FLOAT", err);
    return RC_OK;
}

static enum rc cast_bytes(const struct flink_value *v, const struct cast_type *t,
                          struct cast_value *out, struct err *err)
{
    bool text = t->word == CAST_CHAR || t->word == CAST_VARCHAR;
    bool fixed = t->word == CAST_CHAR || t->word == CAST_BINARY;
    uint64_t len;

    if (v->kind != (text ? FLINK_VALUE_TEXT : FLINK_VALUE_BYTES))
        return refuse(v, t, text ? "it is no text" : "they are no bytes", err);
    if (text && !utf8_is_valid(v->text))
        return refuse(v, t, "it has half a surrogate pair, which UTF-8 has no bytes for", err);
    out->bytes = v->text;
    len = text ? utf8_count(v->text) : v->text.len;
    if (len > (uint64_t)t->precision || (fixed && len < (uint64_t)t->precision))
        return refuse(v, t, fixed ? "it has another length" : "it is too long", err);
    return RC_OK;
}

static enum rc cast_day(const struct flink_value *v, const struct cast_type *t,
                        struct cast_value *out, struct err *err)
{
    static const int64_t units[] = {1000, 100, 10, 1}; /* milliseconds, by precision */
    int64_t n = v->integer;

    if (v->is_time && t->word == CAST_DATE)
        n = n / DAY_MS - (n % DAY_MS < 0);
    else if (v->is_time && (v->nanos != 0 || n % units[t->precision < 3 ? t->precision : 3] != 0))
        return refuse(v, t, "it has more digits of a second", err);
    else if (!v->is_time && v->kind != FLINK_VALUE_INTEGER)
        return refuse(v, t,
                      t->word == CAST_DATE ? "it is no date and no number of days since 1970"
                                           : "it is no time and no number of milliseconds",
                      err);
    out->number = n;
    return in_range(n, t) ? RC_OK : refuse(v, t, "it is out of range", err);
}

static enum rc cast_time(const struct flink_value *v, const struct cast_type *t,
                         struct cast_value *out, struct err *err)
{
    int64_t within = v->integer % 1000;
    int64_t fraction = (within < 0 ? within + 1000 : within) * 1000000 + v->nanos, unit = 1;

    if (!v->is_time)
        return refuse(v, t, "it is no time", err);
    for (int32_t i = t->precision; i < 9; i++)
        unit *= 10;
    if (fraction % unit != 0)
        return refuse(v, t, "it has more digits of a second", err);
    out->number = v->integer;
    out->nanos = (uint32_t)v->nanos;
    return RC_OK;
}

enum rc flink_cast(const struct flink_value *v, const struct cast_type *t, struct cast_value *out,
                   struct err *err)
{
    *out = (struct cast_value){.null = v->kind == FLINK_VALUE_NULL};
    if (out->null)
        return t->nullable ? RC_OK : refuse(v, t, "null has no place there", err);
    switch (t->word) {
    case CAST_BOOLEAN:
        out->number = v->integer != 0;
        return v->kind == FLINK_VALUE_BOOL ? RC_OK : refuse(v, t, "it is neither true nor false", err);
    case CAST_FLOAT:
    case CAST_DOUBLE:
        return cast_real(v, t, out, err);
    case CAST_CHAR:
    case CAST_VARCHAR:
    case CAST_BINARY:
    case CAST_VARBINARY:
        return cast_bytes(v, t, out, err);
    case CAST_DATE:
    case CAST_TIME:
        return cast_day(v, t, out, err);
    case CAST_TIMESTAMP:
    case CAST_TIMESTAMP_LTZ:
        return cast_time(v, t, out, err);
    default:
        return cast_number(v, t, out, err);
    }
}

/* ---- where they go --------------------------------------------------------------------------- */

void cast_value_field(const struct cast_value *v, const struct cast_type *t, struct row_writer *w,
                      uint32_t field)
{
    if (v->null) {
        row_write_null(w, field);
        return;
    }
    switch (cast_type_field(t)) {
    case FIELD_F32:
        row_write_f32(w, field, (float)v->real);
        return;
    case FIELD_F64:
        row_write_f64(w, field, v->real);
        return;
    case FIELD_BYTES:
        row_write_bytes(w, field, v->bytes);
        return;
    case FIELD_DECIMAL_WIDE:
        row_write_decimal(w, field, v->number);
        return;
    case FIELD_TIMESTAMP_WIDE:
        row_write_timestamp(w, field, (int64_t)v->number, v->nanos);
        return;
    default:
        row_write_int(w, field, (int64_t)v->number);
        return;
    }
}

/* As few bytes as keep the sign: BigInteger.toByteArray. */
static void put_big(int128 n, struct buf *out)
{
    uint8_t bytes[16];
    size_t first = 0;

    put_be64(bytes, (uint64_t)(n >> 64));
    put_be64(bytes + 8, (uint64_t)n);
    while (first < 15 && bytes[first] == (n < 0 ? 0xFF : 0) && (bytes[first + 1] & 0x80) == (n < 0 ? 0x80 : 0))
        first++;
    buf_append_be32(out, (uint32_t)(16 - first));
    buf_append(out, bytes + first, 16 - first);
}

static void put_bits(uint64_t bits, uint32_t width, struct buf *out)
{
    uint8_t bytes[8];

    put_be64(bytes, bits);
    buf_append(out, bytes + 8 - width, width);
}

void cast_value_put(const struct cast_value *v, const struct cast_type *t, struct buf *out)
{
    static const uint32_t widths[] = {
        [FIELD_BOOL] = 1, [FIELD_I8] = 1, [FIELD_I16] = 2, [FIELD_I32] = 4, [FIELD_I64] = 8};
    enum field_kind kind = cast_type_field(t);
    float single = (float)v->real;
    uint64_t bits = 0;
    uint32_t low;

    switch (kind) {
    case FIELD_F32:
        memcpy(&low, &single, sizeof low);
        put_bits(low, 4, out);
        return;
    case FIELD_F64:
        memcpy(&bits, &v->real, sizeof bits);
        put_bits(bits, 8, out);
        return;
    case FIELD_BYTES:
        buf_append_be32(out, (uint32_t)v->bytes.len);
        buf_append(out, v->bytes.data, v->bytes.len);
        return;
    case FIELD_DECIMAL_WIDE:
        put_big(v->number, out);
        return;
    case FIELD_TIMESTAMP_WIDE:
        put_bits((uint64_t)(int64_t)v->number, 8, out);
        put_bits(v->nanos, 4, out);
        return;
    default:
        put_bits((uint64_t)(int64_t)v->number, widths[kind], out);
        return;
    }
}
