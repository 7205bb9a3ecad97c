/* expr_cast.c - CAST and TRY_CAST between scalar types.
 *
 * Flink's table of what may be cast to what, and its texts. Where Flink wraps (INT to TINYINT) or
 * gives null (a DECIMAL that does not fit), CAST fails with the value in the message and TRY_CAST
 * gives null. A number with a fraction loses it when cast to an integer; a DECIMAL is rounded half
 * up to its scale; text longer than CHAR(n) or VARCHAR(n) is cut, shorter CHAR is padded. */
#include "job/sql/expr_priv.h"

#include <math.h>

static const struct zone *zone_of(struct call *c)
{
    return c->ev->zone;
}

static enum rc does_not_fit(struct call *c, uint32_t i)
{
    struct buf b = {0}, t = {0};
    enum rc rc;

    if (c->err == NULL)
        return RC_INVALID;
    column_print(&c->args[0].c, vec_at(&c->args[0], i), &b);
    type_print(c->e->type, false, &t);
    rc = err_set(c->err, RC_INVALID, "%s does not fit %s", buf_cstr(&b), buf_cstr(&t));
    buf_release(&b);
    buf_release(&t);
    return rc;
}

/* ---- to integers ----------------------------------------------------------------------------- */

static bool int_fits(enum type_kind kind, int64_t v)
{
    switch (kind) {
    case TYPE_TINYINT:
        return v == (int8_t)v;
    case TYPE_SMALLINT:
        return v == (int16_t)v;
    case TYPE_BIGINT:
        return true;
    default:
        return v == (int32_t)v;
    }
}

static enum rc put_int(struct call *c, uint32_t i, int64_t v)
{
    if (!int_fits(c->e->type.kind, v))
        return does_not_fit(c, i);
    out_int(c, i, v);
    return RC_OK;
}

#define WIDEN(T, F)                                                                                \
    do {                                                                                           \
        T *to = c->out.c.values;                                                                   \
        const F *from = c->args[0].c.values;                                                       \
        for (uint32_t i = 0; i < c->n; i++)                                                        \
            to[i] = (T)from[i];                                                                    \
    } while (0)
#define WIDEN_TO(T)                                                                                \
    switch (type_width(c->args[0].c.type.kind)) {                                                  \
    case 1:                                                                                        \
        WIDEN(T, int8_t);                                                                          \
        break;                                                                                     \
    case 2:                                                                                        \
        WIDEN(T, int16_t);                                                                         \
        break;                                                                                     \
    case 4:                                                                                        \
        WIDEN(T, int32_t);                                                                         \
        break;                                                                                     \
    default:                                                                                       \
        WIDEN(T, int64_t);                                                                         \
        break;                                                                                     \
    }

/* Integers to wider integers and floating point: nothing can go wrong. */
static enum rc kernel_widen(struct call *c)
{
    out_begin(c, c->e->type, c->n, c->out.single);
    out_strict_validity(c);
    switch (c->e->type.kind) {
    case TYPE_SMALLINT:
        WIDEN_TO(int16_t)
        break;
    case TYPE_INT:
        WIDEN_TO(int32_t)
        break;
    case TYPE_BIGINT:
        WIDEN_TO(int64_t)
        break;
    case TYPE_FLOAT:
        WIDEN_TO(float)
        break;
    default:
        WIDEN_TO(double)
        break;
    }
    return RC_OK;
}

static enum rc row_int_to_int(struct call *c, uint32_t i)
{
    return put_int(c, i, vec_int(&c->args[0], i));
}

#define NARROW(T, F)                                                                               \
    do {                                                                                           \
        T *to = c->out.c.values;                                                                   \
        const F *from = c->args[0].c.values;                                                       \
        F lost = 0;                                                                                \
        for (uint32_t i = 0; i < c->n; i++) {                                                      \
            to[i] = (T)from[i];                                                                    \
            lost = (F)(lost | (from[i] ^ to[i]));                                                  \
        }                                                                                          \
        whole = lost == 0;                                                                         \
    } while (0)

/* Integers to narrower ones: one loop, and if some value lost bits, row by row to find out whether
 * it counts. */
static bool narrow(struct call *c)
{
    uint32_t from_width = type_width(c->args[0].c.type.kind), width = type_width(c->e->type.kind);
    bool whole = false;

    out_begin(c, c->e->type, c->n, c->out.single);
    out_strict_validity(c);
    if (from_width == 8 && width == 4)
        NARROW(int32_t, int64_t);
    else if (from_width == 8 && width == 2)
        NARROW(int16_t, int64_t);
    else if (from_width == 8 && width == 1)
        NARROW(int8_t, int64_t);
    else if (from_width == 4 && width == 2)
        NARROW(int16_t, int32_t);
    else if (from_width == 4 && width == 1)
        NARROW(int8_t, int32_t);
    else if (from_width == 2 && width == 1)
        NARROW(int8_t, int16_t);
    return whole;
}

static enum rc row_bool_to_int(struct call *c, uint32_t i)
{
    out_int(c, i, vec_bool(&c->args[0], i));
    return RC_OK;
}

static enum rc row_double_to_int(struct call *c, uint32_t i)
{
    double v = trunc(vec_double(&c->args[0], i));

    if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0))
        return does_not_fit(c, i);
    return put_int(c, i, (int64_t)v);
}

static enum rc row_decimal_to_int(struct call *c, uint32_t i)
{
    int128 v = decimal_integer(vec_decimal(&c->args[0], i), c->args[0].c.type.scale);

    if (v < INT64_MIN || v > INT64_MAX)
        return does_not_fit(c, i);
    return put_int(c, i, (int64_t)v);
}

/* Also "12.7": the digits after the point are checked and left out, as Flink does. */
static enum rc row_text_to_int(struct call *c, uint32_t i)
{
    static const int64_t max[] = {[TYPE_TINYINT] = INT8_MAX,
                                  [TYPE_SMALLINT] = INT16_MAX,
                                  [TYPE_INT] = INT32_MAX,
                                  [TYPE_BIGINT] = INT64_MAX};
    struct bytes t = vec_bytes(&c->args[0], i), whole = t;
    int64_t limit = max[c->e->type.kind], v;
    const uint8_t *point = t.len == 0 ? NULL : memchr(t.data, '.', t.len);

    if (point != NULL) {
        const uint8_t *p = point + 1, *end = t.data + t.len;

        while (end > p && end[-1] <= 0x20)
            end--;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
        if (p == end && point > t.data && point[-1] >= '0' && point[-1] <= '9')
            whole.len = (size_t)(point - t.data);
    }
    if (number_parse_int(whole, -limit - 1, limit, &v, c->err) != RC_OK)
        return RC_INVALID;
    out_int(c, i, v);
    return RC_OK;
}

/* ---- to floating point ----------------------------------------------------------------------- */

static enum rc row_to_double(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    double v;

    switch (x->c.type.kind) {
    case TYPE_BOOLEAN:
        v = vec_bool(x, i);
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        v = vec_double(x, i);
        break;
    case TYPE_DECIMAL:
        v = decimal_to_double(vec_decimal(x, i), x->c.type.scale);
        break;
    default:
        if (number_parse_double(vec_bytes(x, i), &v, c->err) != RC_OK)
            return RC_INVALID;
        break;
    }
    out_double(c, i, v);
    return RC_OK;
}

/* ---- to DECIMAL ------------------------------------------------------------------------------ */

static enum rc row_to_decimal(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    struct type t = c->e->type;
    int128 v;
    bool ok;

    switch (x->c.type.kind) {
    case TYPE_BOOLEAN:
        ok = decimal_rescale(vec_bool(x, i), 0, t.precision, t.scale, &v);
        break;
    case TYPE_FLOAT:
        /* Through the float's own shortest text: 0.1 as FLOAT is 0.1, not 0.100000001490116. */
        ok = false;
        {
            uint8_t room[64];
            struct buf text = {room, 0, sizeof room};

            number_print_float(((const float *)x->c.values)[vec_at(x, i)], &text);
            ok = decimal_parse(buf_bytes(&text), t.precision, t.scale, &v, NULL) == RC_OK;
        }
        break;
    case TYPE_DOUBLE:
        ok = decimal_from_double(vec_double(x, i), t.precision, t.scale, &v);
        break;
    case TYPE_DECIMAL:
        ok = decimal_rescale(vec_decimal(x, i), x->c.type.scale, t.precision, t.scale, &v);
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        if (decimal_parse(vec_bytes(x, i), t.precision, t.scale, &v, c->err) != RC_OK)
            return RC_INVALID;
        ok = true;
        break;
    default:
        ok = decimal_rescale(vec_int(x, i), 0, t.precision, t.scale, &v);
        break;
    }
    if (!ok)
        return does_not_fit(c, i);
    out_decimal(c, i, v);
    return RC_OK;
}

/* ---- to BOOLEAN ------------------------------------------------------------------------------ */

static bool is_word(struct bytes t, const char *word)
{
    size_t n = strlen(word);

    if (t.len != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint8_t ch = t.data[i];

        if (ch >= 'A' && ch <= 'Z')
            ch = (uint8_t)(ch + 32);
        if (ch != (uint8_t)word[i])
            return false;
    }
    return true;
}

static enum rc row_text_to_bool(struct call *c, uint32_t i)
{
    static const char *const yes[] = {"true", "t", "yes", "y", "1"};
    static const char *const no[] = {"false", "f", "no", "n", "0"};
    struct bytes t = vec_bytes(&c->args[0], i);
    char quoted[TEXT_QUOTE_MAX];

    while (t.len > 0 && t.data[0] <= 0x20)
        t = bytes_of(t.data + 1, t.len - 1);
    while (t.len > 0 && t.data[t.len - 1] <= 0x20)
        t.len--;
    for (size_t k = 0; k < ARRAY_LEN(yes); k++) {
        if (is_word(t, yes[k]) || is_word(t, no[k])) {
            out_bool(c, i, is_word(t, yes[k]));
            return RC_OK;
        }
    }
    if (c->err == NULL)
        return RC_INVALID;
    return err_set(c->err, RC_INVALID,
                   "%s is not a BOOLEAN (true, t, yes, y, 1, false, f, no, n, 0)",
                   text_quote(t, quoted));
}

static enum rc row_number_to_bool(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];

    switch (x->c.type.kind) {
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        out_bool(c, i, vec_double(x, i) != 0);
        break;
    case TYPE_DECIMAL:
        out_bool(c, i, vec_decimal(x, i) != 0);
        break;
    default:
        out_bool(c, i, vec_int(x, i) != 0);
        break;
    }
    return RC_OK;
}

/* ---- to text --------------------------------------------------------------------------------- */

/* Text cut to, and for CHAR padded to, the length of the type. */
static void put_text(struct call *c, uint32_t i, struct bytes t)
{
    struct type type = c->e->type;
    uint64_t points;
    uint8_t *to;

    if (type.length == TYPE_LENGTH_MAX) {
        out_bytes(c, i, t);
        return;
    }
    t.len = utf8_offset(t, (uint64_t)type.length);
    points = type.kind == TYPE_CHAR ? utf8_count(t) : (uint64_t)type.length;
    to = out_room(c, i, t.len + (size_t)((uint64_t)type.length - points));
    if (t.len > 0)
        memcpy(to, t.data, t.len);
    memset(to + t.len, ' ', (size_t)((uint64_t)type.length - points));
}

static enum rc row_text_to_text(struct call *c, uint32_t i)
{
    put_text(c, i, vec_bytes(&c->args[0], i));
    return RC_OK;
}

static enum rc row_binary_to_text(struct call *c, uint32_t i)
{
    struct bytes b = vec_bytes(&c->args[0], i);

    if (!utf8_is_valid(b)) {
        if (c->err == NULL)
            return RC_INVALID;
        return err_set(c->err, RC_INVALID, "%zu bytes that are not UTF-8", b.len);
    }
    put_text(c, i, b);
    return RC_OK;
}

static enum rc row_to_text(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    uint8_t room[96]; /* longer than any number, date or interval as text */
    struct buf text = {room, 0, sizeof room};
    int64_t local;

    switch (x->c.type.kind) {
    case TYPE_BOOLEAN:
        buf_append_str(&text, vec_bool(x, i) ? "TRUE" : "FALSE");
        break;
    case TYPE_TIMESTAMP_LTZ:
        if (zone_timestamp_to_local(zone_of(c), vec_int(x, i), x->c.type.precision, &local,
                                    c->err) != RC_OK)
            return RC_INVALID;
        timestamp_print(local, x->c.type.precision, &text);
        break;
    default:
        column_print(&x->c, vec_at(x, i), &text);
        break;
    }
    put_text(c, i, buf_bytes(&text));
    return RC_OK;
}

/* ---- to binary ------------------------------------------------------------------------------- */

static enum rc row_to_binary(struct call *c, uint32_t i)
{
    struct bytes b = vec_bytes(&c->args[0], i);
    struct type type = c->e->type;
    size_t len = b.len, pad = 0;
    uint8_t *to;

    if (type.length != TYPE_LENGTH_MAX) {
        if (len > (size_t)type.length)
            len = (size_t)type.length;
        else if (type.kind == TYPE_BINARY)
            pad = (size_t)type.length - len;
    }
    to = out_room(c, i, len + pad);
    if (len > 0)
        memcpy(to, b.data, len);
    memset(to + len, 0, pad);
    return RC_OK;
}

/* ---- dates and times ------------------------------------------------------------------------- */

/* A timestamp with or without zone as local days and nanoseconds. */
static enum rc local_parts(struct call *c, uint32_t i, int64_t *days, int64_t *ns)
{
    const struct vec *x = &c->args[0];
    int64_t v = vec_int(x, i);

    if (x->c.type.kind == TYPE_TIMESTAMP_LTZ)
        RETURN_IF_ERR(zone_timestamp_to_local(zone_of(c), v, x->c.type.precision, &v, c->err));
    timestamp_split(v, x->c.type.precision, days, ns);
    return RC_OK;
}

static int32_t cut_ms(int64_t ns_of_day, uint8_t precision)
{
    static const int32_t step[] = {1000, 100, 10, 1};

    return (int32_t)(ns_of_day / 1000000) / step[precision > 3 ? 3 : precision] *
           step[precision > 3 ? 3 : precision];
}

static enum rc row_to_date(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    int64_t days, ns;

    if (type_is_text(x->c.type.kind)) {
        struct bytes t = vec_bytes(x, i);
        int32_t d;

        if (date_parse(t, &d, NULL) == RC_OK) {
            days = d;
        } else {
            int64_t ts; /* the date of a timestamp's text */

            if (timestamp_parse(t, 0, NULL, &ts, NULL) != RC_OK)
                return date_parse(t, &d, c->err);
            timestamp_split(ts, 0, &days, &ns);
        }
    } else {
        RETURN_IF_ERR(local_parts(c, i, &days, &ns));
    }
    if (days != (int32_t)days)
        return does_not_fit(c, i);
    out_int(c, i, days);
    return RC_OK;
}

static enum rc row_to_time(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    uint8_t p = c->e->type.precision;
    int64_t days, ns;
    int32_t ms;

    if (type_is_text(x->c.type.kind)) {
        RETURN_IF_ERR(time_parse(vec_bytes(x, i), p, &ms, c->err));
        out_int(c, i, ms);
        return RC_OK;
    }
    if (x->c.type.kind == TYPE_TIME)
        ns = vec_int(x, i) * 1000000;
    else
        RETURN_IF_ERR(local_parts(c, i, &days, &ns));
    out_int(c, i, cut_ms(ns, p));
    return RC_OK;
}

/* Date, time, text as the local time of a TIMESTAMP of the result's precision; *zoned: it is an
 * instant already. */
static enum rc to_local(struct call *c, uint32_t i, bool *zoned, int64_t *out)
{
    const struct vec *x = &c->args[0];
    uint8_t p = c->e->type.precision;

    *zoned = false;
    switch (x->c.type.kind) {
    case TYPE_DATE:
        return timestamp_join(vec_int(x, i), 0, p, out, c->err);
    case TYPE_TIME:
        return timestamp_join(0, vec_int(x, i) * 1000000, p, out, c->err);
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return timestamp_parse(vec_bytes(x, i), p,
                               c->e->type.kind == TYPE_TIMESTAMP_LTZ ? zoned : NULL, out, c->err);
    default:
        *zoned = x->c.type.kind == TYPE_TIMESTAMP_LTZ;
        return timestamp_convert(vec_int(x, i), x->c.type.precision, p, out, c->err);
    }
}

static enum rc row_to_timestamp(struct call *c, uint32_t i)
{
    uint8_t p = c->e->type.precision;
    bool want_instant = c->e->type.kind == TYPE_TIMESTAMP_LTZ, instant;
    int64_t v;

    RETURN_IF_ERR(to_local(c, i, &instant, &v));
    if (instant && !want_instant)
        RETURN_IF_ERR(zone_timestamp_to_local(zone_of(c), v, p, &v, c->err));
    else if (!instant && want_instant)
        RETURN_IF_ERR(zone_timestamp_to_utc(zone_of(c), v, p, &v, c->err));
    out_int(c, i, v);
    return RC_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct cast_rule same = {.keeps = true}, widen = {.kernel = kernel_widen},
                              int_to_int = {.row = row_int_to_int, .fallible = true},
                              bool_to_int = {.row = row_bool_to_int},
                              double_to_int = {.row = row_double_to_int, .fallible = true},
                              decimal_to_int = {.row = row_decimal_to_int, .fallible = true},
                              text_to_int = {.row = row_text_to_int, .fallible = true},
                              to_double = {.row = row_to_double},
                              text_to_double = {.row = row_to_double, .fallible = true},
                              to_decimal = {.row = row_to_decimal, .fallible = true},
                              text_to_bool = {.row = row_text_to_bool, .fallible = true},
                              number_to_bool = {.row = row_number_to_bool},
                              text_to_text = {.row = row_text_to_text},
                              binary_to_text = {.row = row_binary_to_text, .fallible = true},
                              to_text = {.row = row_to_text},
                              ltz_to_text = {.row = row_to_text, .fallible = true, .zone = true},
                              to_binary = {.row = row_to_binary},
                              to_date = {.row = row_to_date, .fallible = true},
                              ltz_to_date = {.row = row_to_date, .fallible = true, .zone = true},
                              to_time = {.row = row_to_time, .fallible = true},
                              ltz_to_time = {.row = row_to_time, .fallible = true, .zone = true},
                              to_timestamp = {.row = row_to_timestamp, .fallible = true},
                              zoned_timestamp = {
                                  .row = row_to_timestamp, .fallible = true, .zone = true};

static const struct cast_rule *to_integer(struct type from, struct type to)
{
    switch (from.kind) {
    case TYPE_BOOLEAN:
        return &bool_to_int;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return &double_to_int;
    case TYPE_DECIMAL:
        return &decimal_to_int;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return &text_to_int;
    case TYPE_INTERVAL_DAY:
    case TYPE_INTERVAL_YEAR:
        return &int_to_int;
    default:
        if (!type_is_integer(from.kind))
            return NULL;
        return type_width(from.kind) < type_width(to.kind) ? &widen : &int_to_int;
    }
}

static const struct cast_rule *to_floating(struct type from)
{
    if (type_is_integer(from.kind))
        return &widen;
    if (type_is_text(from.kind))
        return &text_to_double;
    return type_is_numeric(from.kind) || from.kind == TYPE_BOOLEAN ? &to_double : NULL;
}

static const struct cast_rule *to_texts(struct type from, struct type to)
{
    if (type_is_text(from.kind)) {
        bool keeps = to.kind == TYPE_VARCHAR && from.length <= to.length;

        return keeps ? &same : &text_to_text;
    }
    if (type_is_varlen(from.kind))
        return &binary_to_text;
    return from.kind == TYPE_TIMESTAMP_LTZ ? &ltz_to_text : &to_text;
}

static const struct cast_rule *to_times(struct type from, struct type to)
{
    bool text = type_is_text(from.kind), local = from.kind == TYPE_TIMESTAMP;
    bool instant = from.kind == TYPE_TIMESTAMP_LTZ;

    switch (to.kind) {
    case TYPE_DATE:
        if (instant)
            return &ltz_to_date;
        return from.kind == TYPE_DATE ? &same : text || local ? &to_date : NULL;
    case TYPE_TIME:
        if (instant)
            return &ltz_to_time;
        return text || local || from.kind == TYPE_TIME ? &to_time : NULL;
    case TYPE_TIMESTAMP:
        if (instant)
            return &zoned_timestamp;
        return text || local || from.kind == TYPE_DATE || from.kind == TYPE_TIME ? &to_timestamp
                                                                                 : NULL;
    default:
        if (instant)
            return &to_timestamp;
        return text || local || from.kind == TYPE_DATE || from.kind == TYPE_TIME ? &zoned_timestamp
                                                                                 : NULL;
    }
}

const struct cast_rule *cast_find(struct type from, struct type to)
{
    switch (to.kind) {
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        return to_integer(from, to);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return to_floating(from);
    case TYPE_DECIMAL:
        if (type_is_numeric(from.kind) || from.kind == TYPE_BOOLEAN || type_is_text(from.kind))
            return &to_decimal;
        return NULL;
    case TYPE_BOOLEAN:
        if (from.kind == TYPE_BOOLEAN)
            return &same;
        return type_is_text(from.kind)      ? &text_to_bool
               : type_is_numeric(from.kind) ? &number_to_bool
                                            : NULL;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return to_texts(from, to);
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return type_is_varlen(from.kind) ? &to_binary : NULL;
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return to_times(from, to);
    case TYPE_INTERVAL_DAY:
    case TYPE_INTERVAL_YEAR:
        return from.kind == to.kind ? &same : NULL;
    case TYPE_NULL:
        return NULL;
    }
    return NULL;
}

/* One row; for TRY_CAST what fails becomes null. */
static enum rc row_cast(struct call *c, uint32_t i)
{
    enum rc rc;

    if (!c->e->try_cast)
        return c->e->cast->row(c, i);
    rc = c->e->cast->row(c, i);
    if (rc == RC_OK)
        return RC_OK;
    out_null(c, i);
    return RC_OK;
}

enum rc cast_eval(struct call *c)
{
    struct err *err = c->err;
    enum rc rc;

    if (c->e->cast->kernel != NULL)
        return c->e->cast->kernel(c);
    if (c->e->cast == &int_to_int && narrow(c))
        return RC_OK;
    if (c->e->try_cast)
        c->err = NULL;
    rc = call_rows(c, row_cast, true);
    c->err = err;
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s", c->e->text);
}
