/* expr_time.c - functions of dates, times and timestamps. TIMESTAMP_LTZ shows its fields in the
 * zone of the evaluation (table.local-time-zone); adding to it moves the instant, as the reference
 * does. */
#include "job/sql/expr_priv.h"

#include <stdio.h>

#define NS_PER_SECOND 1000000000LL
#define ARG_UNIX_MS_MAX 253402300799999LL   /* 9999-12-31 23:59:59.999 */
#define ARG_UNIX_MS_MIN (-62135596800000LL) /* 0001-01-01 */

/* Fields of an argument as local days and nanoseconds of the day, and its offset from UTC. */
struct parts {
    int64_t days, ns;
    int32_t offset_s;
};

static enum rc parts_of(struct call *c, const struct vec *x, uint32_t i, struct parts *out)
{
    int64_t v = vec_int(x, i);
    uint8_t p = x->c.type.precision;

    *out = (struct parts){0};
    switch (x->c.type.kind) {
    case TYPE_DATE:
        out->days = v;
        return RC_OK;
    case TYPE_TIME:
        out->ns = v * 1000000;
        return RC_OK;
    case TYPE_TIMESTAMP_LTZ:
        out->offset_s = zone_offset_s(c->ev->zone, floor_div(v, 1000 * timestamp_units_per_ms(p)));
        RETURN_IF_ERR(zone_timestamp_to_local(c->ev->zone, v, p, &v, c->err));
        break;
    default:
        break;
    }
    timestamp_split(v, p, &out->days, &out->ns);
    return RC_OK;
}

/* Local days and nanoseconds as a value of the result's type. */
static enum rc put_parts(struct call *c, uint32_t i, int64_t days, int64_t ns)
{
    struct type t = c->e->type;
    int64_t v;

    switch (t.kind) {
    case TYPE_DATE:
        if (days != (int32_t)days)
            return call_fail(c, i, RC_INVALID, "the date is out of range");
        out_int(c, i, days);
        return RC_OK;
    case TYPE_TIME:
        out_int(c, i, ns / 1000000);
        return RC_OK;
    default:
        if (timestamp_join(days, ns, t.precision, &v, NULL) != RC_OK)
            return call_fail(c, i, RC_INVALID, "the time is out of the range of TIMESTAMP(%u)",
                             t.precision);
        if (t.kind == TYPE_TIMESTAMP_LTZ &&
            zone_timestamp_to_utc(c->ev->zone, v, t.precision, &v, NULL) != RC_OK)
            return call_fail(c, i, RC_INVALID, "the time is out of the range of TIMESTAMP_LTZ(%u)",
                             t.precision);
        out_int(c, i, v);
        return RC_OK;
    }
}

/* Letter x: any date, time or timestamp, text read as TIMESTAMP(3). */
static enum rc want_time(struct bind *b, struct expr *e, uint32_t k)
{
    struct expr *x = e->args[k];
    struct type ts = {.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 3};

    if (x->type.kind == TYPE_NULL || type_is_text(x->type.kind))
        return node_cast(b, x, ts, false, x->pos, &e->args[k]);
    if (x->type.kind != TYPE_DATE && x->type.kind != TYPE_TIME && !type_is_timestamp(x->type.kind))
        return bind_error(b, x->pos, RC_INVALID,
                          "%s: argument %u is %s, expected a date, time or timestamp",
                          e->func->name, k + 1, type_str(b->arena, x->type, false));
    return RC_OK;
}

/* ---- adding intervals ------------------------------------------------------------------------ */

static enum rc row_shift(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    bool months = c->args[1].c.type.kind == TYPE_INTERVAL_YEAR;
    int64_t v = vec_int(x, i), by = vec_int(&c->args[1], i), days, ns;
    struct type t = c->e->type;

    if (t.kind == TYPE_TIME) {
        out_int(c, i, floor_mod(v + floor_mod(by, MS_PER_DAY), MS_PER_DAY));
        return RC_OK;
    }
    if (t.kind == TYPE_DATE) {
        v = months ? days_add_months(v, by) : v + by / MS_PER_DAY;
        if (v != (int32_t)v)
            return call_fail(c, i, RC_INVALID, "the date is out of range");
        out_int(c, i, v);
        return RC_OK;
    }
    if (!months) {
        if (__builtin_mul_overflow(by, timestamp_units_per_ms(t.precision), &by) ||
            __builtin_add_overflow(v, by, &v))
            return call_fail(c, i, RC_INVALID, "the time is out of the range of TIMESTAMP(%u)",
                             t.precision);
        out_int(c, i, v);
        return RC_OK;
    }
    timestamp_split(v, t.precision, &days, &ns);
    if (days != (int32_t)days ||
        timestamp_join(days_add_months(days, by), ns, t.precision, &v, NULL) != RC_OK)
        return call_fail(c, i, RC_INVALID, "the time is out of the range of TIMESTAMP(%u)",
                         t.precision);
    out_int(c, i, v);
    return RC_OK;
}

/* The usual case, ts - INTERVAL '5' SECOND, as one loop. */
static enum rc kernel_shift(struct call *c)
{
    const struct vec *x = &c->args[0], *by = &c->args[1];
    const int64_t *from = x->c.values;
    int64_t *to, units, bad = 0;

    if (!type_is_timestamp(c->e->type.kind) || by->c.type.kind != TYPE_INTERVAL_DAY ||
        !by->single || x->single || vec_null(by, 0) ||
        __builtin_mul_overflow(vec_int(by, 0), timestamp_units_per_ms(c->e->type.precision),
                               &units))
        return call_rows(c, row_shift, true);
    out_begin(c, c->e->type, c->n, false);
    out_strict_validity(c);
    to = c->out.c.values;
    for (uint32_t i = 0; i < c->n; i++) {
        to[i] = (int64_t)((uint64_t)from[i] + (uint64_t)units);
        bad |= (from[i] ^ to[i]) & (units ^ to[i]);
    }
    return bad < 0 ? call_rows(c, row_shift, true) : RC_OK;
}

const struct func func_shift_time = {
    .name = "+", .args = "xx", .flags = FUNC_FALLIBLE, .kernel = kernel_shift};

/* ---- TIMESTAMPDIFF --------------------------------------------------------------------------- */

/* Whole months from a to b, a <= b: the most that can be added to a (days cut to the month's
 * length) without passing b. */
static int64_t months_between(struct parts a, struct parts b)
{
    struct civil ca = civil_of_days(a.days), cb = civil_of_days(b.days);
    int64_t m = ((int64_t)cb.year - ca.year) * 12 + cb.month - ca.month + 1, reached;

    do
        reached = days_add_months(a.days, --m);
    while (reached > b.days || (reached == b.days && a.ns > b.ns));
    return m;
}

static enum rc row_diff(struct call *c, uint32_t i)
{
    static const int64_t unit_ns[] = {
        [UNIT_WEEK] = 7 * NS_PER_DAY,       [UNIT_DAY] = NS_PER_DAY,
        [UNIT_HOUR] = 3600 * NS_PER_SECOND, [UNIT_MINUTE] = 60 * NS_PER_SECOND,
        [UNIT_SECOND] = NS_PER_SECOND,      [UNIT_MILLISECOND] = 1000000,
        [UNIT_MICROSECOND] = 1000,          [UNIT_NANOSECOND] = 1};
    enum time_unit unit = (enum time_unit)c->e->param;
    struct parts a = {0}, b = {0};
    int128 diff;

    if (unit >= UNIT_WEEK &&
        c->args[0].c.type.kind == TYPE_TIMESTAMP_LTZ) { /* instants, whatever the zone does */
        timestamp_split(vec_int(&c->args[0], i), c->args[0].c.type.precision, &a.days, &a.ns);
        timestamp_split(vec_int(&c->args[1], i), c->args[1].c.type.precision, &b.days, &b.ns);
    } else {
        RETURN_IF_ERR(parts_of(c, &c->args[0], i, &a));
        RETURN_IF_ERR(parts_of(c, &c->args[1], i, &b));
    }
    if (unit >= UNIT_WEEK) {
        diff = ((int128)(b.days - a.days) * NS_PER_DAY + (b.ns - a.ns)) / unit_ns[unit];
    } else {
        bool back = a.days > b.days || (a.days == b.days && a.ns > b.ns);

        diff = back ? -months_between(b, a) : months_between(a, b);
        diff /= unit == UNIT_YEAR ? 12 : unit == UNIT_QUARTER ? 3 : 1;
    }
    if (diff != (int32_t)diff)
        return call_fail(c, i, RC_INVALID, "the difference is out of the range of INT");
    out_int(c, i, (int64_t)diff);
    return RC_OK;
}

static enum rc bind_diff(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    enum time_unit unit;
    struct type t;

    if (ast->unit == NULL || !time_unit_parse(ast->unit, &unit) || unit < UNIT_YEAR ||
        unit > UNIT_NANOSECOND)
        return bind_error(
            b, ast->pos, RC_INVALID,
            "TIMESTAMPDIFF of %s, expected YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND",
            ast->unit == NULL ? "nothing" : ast->unit);
    for (uint32_t k = 0; k < 2; k++)
        RETURN_IF_ERR(want_time(b, e, k));
    if (!type_common(e->args[0]->type, e->args[1]->type, &t))
        return bind_error(b, ast->pos, RC_INVALID,
                          "TIMESTAMPDIFF of %s and %s, expected a CAST of one of them",
                          type_str(b->arena, e->args[0]->type, false),
                          type_str(b->arena, e->args[1]->type, false));
    for (uint32_t k = 0; k < 2; k++)
        RETURN_IF_ERR(node_cast(b, e->args[k], t, false, ast->pos, &e->args[k]));
    e->param = (int32_t)unit;
    return RC_OK;
}

/* ---- EXTRACT --------------------------------------------------------------------------------- */

static int64_t extract_date(enum time_unit unit, int64_t days)
{
    struct civil c = civil_of_days(days);
    int64_t isodow = floor_mod(days + 3, 7) + 1, thursday = days + 4 - isodow;
    int32_t iso_year = civil_of_days(thursday).year;

    switch (unit) {
    case UNIT_MILLENNIUM:
        return (c.year + (c.year > 0 ? 999 : -999)) / 1000;
    case UNIT_CENTURY:
        return (c.year + (c.year > 0 ? 99 : -99)) / 100;
    case UNIT_DECADE:
        return floor_div(c.year, 10);
    case UNIT_YEAR:
        return c.year;
    case UNIT_QUARTER:
        return (c.month + 2) / 3;
    case UNIT_MONTH:
        return c.month;
    case UNIT_DAY:
        return c.day;
    case UNIT_DOY:
        return days - civil_to_days((struct civil){c.year, 1, 1}) + 1;
    case UNIT_DOW: /* 1 = Sunday */
        return isodow % 7 + 1;
    case UNIT_ISODOW:
        return isodow;
    case UNIT_ISOYEAR:
        return iso_year;
    default: /* UNIT_WEEK, of ISO 8601 */
        return (thursday - civil_to_days((struct civil){iso_year, 1, 1})) / 7 + 1;
    }
}

static enum rc row_extract(struct call *c, uint32_t i)
{
    enum time_unit unit = (enum time_unit)c->e->param;
    struct parts p;
    int64_t v;

    RETURN_IF_ERR(parts_of(c, &c->args[0], i, &p));
    switch (unit) {
    case UNIT_EPOCH:
        v = p.days * 86400 + p.ns / NS_PER_SECOND - p.offset_s;
        break;
    case UNIT_HOUR:
        v = p.ns / (3600 * NS_PER_SECOND);
        break;
    case UNIT_MINUTE:
        v = p.ns / (60 * NS_PER_SECOND) % 60;
        break;
    case UNIT_SECOND:
        v = p.ns / NS_PER_SECOND % 60;
        break;
    case UNIT_MILLISECOND:
        v = p.ns / 1000000 % 1000;
        break;
    case UNIT_MICROSECOND:
        v = p.ns / 1000 % 1000000;
        break;
    case UNIT_NANOSECOND:
        v = p.ns % NS_PER_SECOND;
        break;
    default:
        v = extract_date(unit, p.days);
        break;
    }
    out_int(c, i, v);
    return RC_OK;
}

static bool is_time_of_day(enum time_unit unit)
{
    return (unit >= UNIT_HOUR && unit <= UNIT_NANOSECOND) || unit == UNIT_EPOCH;
}

/* EXTRACT(unit FROM t) and YEAR(t), QUARTER(t) ..., whose unit is the param of their entry. */
static enum rc bind_extract(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    enum time_unit unit = (enum time_unit)e->param;

    if (e->func->param < 0) {
        if (ast->unit == NULL || !time_unit_parse(ast->unit, &unit))
            return bind_error(b, ast->pos, RC_INVALID,
                              "EXTRACT of %s, expected YEAR, QUARTER, MONTH, WEEK, DAY, DOY, DOW, "
                              "HOUR, MINUTE, SECOND, MILLISECOND or EPOCH",
                              ast->unit == NULL ? "nothing" : ast->unit);
    }
    RETURN_IF_ERR(want_time(b, e, 0));
    if (e->args[0]->type.kind == TYPE_TIME && !is_time_of_day(unit))
        return bind_error(b, ast->pos, RC_INVALID, "%s of a TIME",
                          e->func->param < 0 ? ast->unit : e->func->name);
    e->type.nullable = e->args[0]->type.nullable;
    e->param = (int32_t)unit;
    return RC_OK;
}

/* ---- FLOOR, CEIL ----------------------------------------------------------------------------- */

static int64_t floor_days(enum time_unit unit, int64_t days)
{
    struct civil c = civil_of_days(days);

    switch (unit) {
    case UNIT_MILLENNIUM:
        c = (struct civil){(int32_t)floor_div(c.year - 1, 1000) * 1000 + 1, 1, 1};
        break;
    case UNIT_CENTURY:
        c = (struct civil){(int32_t)floor_div(c.year - 1, 100) * 100 + 1, 1, 1};
        break;
    case UNIT_DECADE:
        c = (struct civil){(int32_t)floor_div(c.year, 10) * 10, 1, 1};
        break;
    case UNIT_YEAR:
        c.month = c.day = 1;
        break;
    case UNIT_QUARTER:
        c.month = (uint8_t)((c.month - 1) / 3 * 3 + 1);
        c.day = 1;
        break;
    case UNIT_MONTH:
        c.day = 1;
        break;
    case UNIT_WEEK: /* from Sunday, as the reference */
        return days - floor_mod(days + 4, 7);
    default:
        return days;
    }
    return civil_to_days(c);
}

static int64_t next_days(enum time_unit unit, int64_t floor)
{
    static const int32_t months[] = {
        [UNIT_MILLENNIUM] = 12000, [UNIT_CENTURY] = 1200, [UNIT_DECADE] = 120,
        [UNIT_YEAR] = 12,          [UNIT_QUARTER] = 3,    [UNIT_MONTH] = 1};

    if (unit <= UNIT_MONTH)
        return days_add_months(floor, months[unit]);
    return floor + (unit == UNIT_WEEK ? 7 : 1);
}

static enum rc row_floor_time(struct call *c, uint32_t i, bool ceil_it)
{
    static const int64_t step_ns[] = {
        [UNIT_HOUR] = 3600 * NS_PER_SECOND, [UNIT_MINUTE] = 60 * NS_PER_SECOND,
        [UNIT_SECOND] = NS_PER_SECOND,      [UNIT_MILLISECOND] = 1000000,
        [UNIT_MICROSECOND] = 1000,          [UNIT_NANOSECOND] = 1};
    enum time_unit unit = (enum time_unit)c->e->param;
    struct parts p;
    int64_t days, ns = 0;

    RETURN_IF_ERR(parts_of(c, &c->args[0], i, &p));
    if (unit >= UNIT_HOUR) {
        days = p.days;
        ns = p.ns - p.ns % step_ns[unit];
        if (ceil_it && ns != p.ns)
            ns += step_ns[unit];
    } else {
        days = floor_days(unit, p.days);
        if (ceil_it && (days != p.days || p.ns != 0))
            days = next_days(unit, days);
    }
    days += ns / NS_PER_DAY;
    return put_parts(c, i, days, ns % NS_PER_DAY);
}

static enum rc row_floor(struct call *c, uint32_t i)
{
    return c->e->param < 0 ? row_floor_number(c, i) : row_floor_time(c, i, false);
}

static enum rc row_ceil(struct call *c, uint32_t i)
{
    return c->e->param < 0 ? row_ceil_number(c, i) : row_floor_time(c, i, true);
}

static enum rc bind_floor(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    enum time_unit unit;

    if (ast->unit == NULL) {
        if (e->args[0]->type.kind == TYPE_NULL)
            e->args[0] = node_null(b, type_of(TYPE_INT), ast->pos);
        if (!type_is_numeric(e->args[0]->type.kind))
            return bind_error(b, e->args[0]->pos, RC_INVALID,
                              "%s: argument 1 is %s, expected a number, or a time TO a unit",
                              e->func->name, type_str(b->arena, e->args[0]->type, false));
        e->type = e->args[0]->type;
        e->type.scale = 0;
        if (e->type.kind == TYPE_DECIMAL && e->args[0]->type.scale > 0 && /* 9.5 goes up to 10 */
            e->type.precision == e->args[0]->type.scale)
            e->type.precision = e->type.precision < DECIMAL_PRECISION_MAX
                                    ? (uint8_t)(e->type.precision + 1)
                                    : DECIMAL_PRECISION_MAX;
        e->param = -1;
        return RC_OK;
    }
    RETURN_IF_ERR(want_time(b, e, 0));
    if (!time_unit_parse(ast->unit, &unit) || unit > UNIT_NANOSECOND ||
        (e->args[0]->type.kind == TYPE_TIME && unit < UNIT_HOUR) ||
        (e->args[0]->type.kind == TYPE_DATE && unit > UNIT_DAY))
        return bind_error(
            b, ast->pos, RC_INVALID,
            "%s of %s TO %s, expected YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND",
            e->func->name, type_str(b->arena, e->args[0]->type, false), ast->unit);
    e->type = e->args[0]->type;
    e->param = (int32_t)unit;
    return RC_OK;
}

/* ---- now ------------------------------------------------------------------------------------- */

enum { NOW_DATE, NOW_TIME, NOW_TIMESTAMP, NOW_INSTANT, NOW_UNIX };

static enum rc row_now(struct call *c, uint32_t i)
{
    int64_t ms = eval_now_ms(c->ev), local = 0;

    if (c->e->param <= NOW_TIMESTAMP)
        RETURN_IF_ERR(zone_timestamp_to_local(c->ev->zone, ms, 3, &local, c->err));
    switch (c->e->param) {
    case NOW_DATE:
        out_int(c, i, floor_div(local, MS_PER_DAY));
        break;
    case NOW_TIME:
        out_int(c, i, floor_mod(local, MS_PER_DAY) / 1000 * 1000);
        break;
    case NOW_TIMESTAMP:
        out_int(c, i, local);
        break;
    case NOW_UNIX:
        out_int(c, i, floor_div(ms, 1000));
        break;
    default:
        out_int(c, i, ms);
        break;
    }
    return RC_OK;
}

/* ---- text and back --------------------------------------------------------------------------- */

static enum rc bind_format(struct bind *b, const struct ast_expr *ast, struct expr *e, uint32_t k)
{
    struct err inner = {0};
    const struct time_format *f;
    enum rc rc;

    if (e->arg_count <= k || e->args[k]->kind != NODE_CONST || vec_null(&e->args[k]->value, 0))
        return RC_OK;
    rc = time_format_new(b->arena, vec_bytes(&e->args[k]->value, 0), &f, &inner);
    if (rc != RC_OK)
        return bind_error(b, e->args[k]->pos.line == 0 ? ast->pos : e->args[k]->pos, rc, "%s",
                          inner.msg);
    e->prepared = f;
    return RC_OK;
}

static enum rc bind_format_1(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    return bind_format(b, ast, e, 1);
}

/* The format of argument k: compiled at bind time, or now when it is a column. */
static enum rc format_of(struct call *c, uint32_t i, uint32_t k, const struct time_format **out)
{
    *out = c->e->prepared;
    if (*out != NULL)
        return RC_OK;
    return time_format_new(c->ev->arena, vec_bytes(&c->args[k], i), out, c->err);
}

static void put_format(struct call *c, uint32_t i, const struct time_format *f, struct parts p)
{
    struct buf text = {0};

    time_format_print(f, p.days, p.ns, p.offset_s, &text);
    out_bytes(c, i, buf_bytes(&text));
    buf_release(&text);
}

static enum rc row_date_format(struct call *c, uint32_t i)
{
    const struct time_format *f;
    struct parts p;

    RETURN_IF_ERR(parts_of(c, &c->args[0], i, &p));
    RETURN_IF_ERR(format_of(c, i, 1, &f));
    put_format(c, i, f, p);
    return RC_OK;
}

/* Text by a format (argument k when there is one, else as a timestamp's text); *ok false: it does
 * not fit. */
static enum rc parse_text(struct call *c, uint32_t i, uint32_t k, bool *ok, struct parts *p)
{
    struct bytes text = vec_bytes(&c->args[0], i);
    const struct time_format *f;
    int64_t v;

    *p = (struct parts){0};
    if (c->e->arg_count > k) {
        RETURN_IF_ERR(format_of(c, i, k, &f));
        *ok = time_format_parse(f, text, &p->days, &p->ns);
        return RC_OK;
    }
    *ok = timestamp_parse(text, 3, NULL, &v, NULL) == RC_OK;
    if (*ok)
        timestamp_split(v, 3, &p->days, &p->ns);
    return RC_OK;
}

/* TO_DATE, TO_TIMESTAMP: null for text that is none. */
static enum rc row_to_time(struct call *c, uint32_t i)
{
    struct parts p;
    bool ok;

    RETURN_IF_ERR(parse_text(c, i, 1, &ok, &p));
    if (ok)
        return put_parts(c, i, p.days, p.ns);
    out_null(c, i);
    return RC_OK;
}

/* TO_TIMESTAMP_LTZ(text [, format [, zone]]), or (number [, 0 seconds | 3 milliseconds]); null
 * outside of the years 1 to 9999. */
static enum rc row_to_ltz(struct call *c, uint32_t i)
{
    const struct zone *zone = c->ev->zone;
    struct parts p;
    int64_t v;
    bool ok;

    if (type_is_numeric(c->args[0].c.type.kind)) {
        int64_t scale = c->e->arg_count > 1 ? vec_int(&c->args[1], i) : 3;

        v = vec_int(&c->args[0], i);
        if (scale != 0 && scale != 3)
            return call_fail(c, i, RC_INVALID,
                             "the precision is %lld, expected 0 (seconds) or 3 (milliseconds)",
                             (long long)scale);
        if ((scale == 0 && __builtin_mul_overflow(v, 1000, &v)) || v > ARG_UNIX_MS_MAX ||
            v < ARG_UNIX_MS_MIN)
            out_null(c, i);
        else
            out_int(c, i, v);
        return RC_OK;
    }
    RETURN_IF_ERR(parse_text(c, i, 1, &ok, &p));
    if (!ok) {
        out_null(c, i);
        return RC_OK;
    }
    if (c->e->arg_count > 2)
        RETURN_IF_ERR(eval_zone(c->ev, vec_bytes(&c->args[2], i), &zone, c->err));
    RETURN_IF_ERR(timestamp_join(p.days, p.ns, 3, &v, c->err));
    RETURN_IF_ERR(zone_timestamp_to_utc(zone, v, 3, &v, c->err));
    out_int(c, i, v);
    return RC_OK;
}

static enum rc bind_to_ltz(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    enum type_kind first = e->args[0]->type.kind;

    if (type_is_integer(first) && e->arg_count <= 2) {
        if (e->arg_count == 1 || type_is_integer(e->args[1]->type.kind))
            return RC_OK;
    } else if (type_is_text(first)) {
        for (uint32_t k = 1; k < e->arg_count; k++) {
            if (!type_is_text(e->args[k]->type.kind))
                return bind_error(
                    b, ast->pos, RC_INVALID,
                    "TO_TIMESTAMP_LTZ, expected (number [, 0 or 3]) or (text [, format [, zone]])");
        }
        return bind_format(b, ast, e, 1);
    }
    return bind_error(
        b, ast->pos, RC_INVALID,
        "TO_TIMESTAMP_LTZ, expected (number [, 0 or 3]) or (text [, format [, zone]])");
}

static enum rc default_format(struct call *c, const struct time_format **f)
{
    return time_format_new(c->ev->arena, bytes_of_str("yyyy-MM-dd HH:mm:ss"), f, c->err);
}

static enum rc row_from_unixtime(struct call *c, uint32_t i)
{
    int64_t s = vec_int(&c->args[0], i);
    const struct time_format *f;
    struct parts p = {0};

    if (s > ARG_UNIX_MS_MAX / 1000 || s < ARG_UNIX_MS_MIN / 1000)
        return call_fail(c, i, RC_INVALID, "the time is outside of the years 1 to 9999");
    RETURN_IF_ERR(c->e->arg_count > 1 ? format_of(c, i, 1, &f) : default_format(c, &f));
    p.offset_s = zone_offset_s(c->ev->zone, s);
    s += p.offset_s;
    p.days = floor_div(s, 86400);
    p.ns = floor_mod(s, 86400) * NS_PER_SECOND;
    put_format(c, i, f, p);
    return RC_OK;
}

/* Seconds; text that is no time gives null. */
static enum rc row_unix_timestamp(struct call *c, uint32_t i)
{
    struct parts p;
    bool ok;

    if (c->e->arg_count == 0)
        return row_now(c, i);
    RETURN_IF_ERR(parse_text(c, i, 1, &ok, &p));
    if (!ok) {
        out_null(c, i);
        return RC_OK;
    }
    out_int(c, i, zone_to_utc_s(c->ev->zone, p.days * 86400 + p.ns / NS_PER_SECOND));
    return RC_OK;
}

/* CONVERT_TZ(text, from, to) */
static enum rc row_convert_tz(struct call *c, uint32_t i)
{
    const struct zone *from, *to;
    const struct time_format *f;
    struct parts p;
    int64_t v, s;

    if (timestamp_parse(vec_bytes(&c->args[0], i), 0, NULL, &v, NULL) != RC_OK) {
        out_null(c, i);
        return RC_OK;
    }
    RETURN_IF_ERR(eval_zone(c->ev, vec_bytes(&c->args[1], i), &from, c->err));
    RETURN_IF_ERR(eval_zone(c->ev, vec_bytes(&c->args[2], i), &to, c->err));
    s = zone_to_utc_s(from, floor_div(v, 1000));
    p.offset_s = zone_offset_s(to, s);
    p.days = floor_div(s + p.offset_s, 86400);
    p.ns = floor_mod(s + p.offset_s, 86400) * NS_PER_SECOND;
    RETURN_IF_ERR(default_format(c, &f));
    put_format(c, i, f, p);
    return RC_OK;
}

#define CLOCKED (FUNC_FALLIBLE | FUNC_UNSTABLE)
#define EXTRACT_OF(name_, unit_)                                                                   \
    {                                                                                              \
        .name = name_, .canonical = "EXTRACT", .args = "x", .result = 'l',                         \
        .flags = FUNC_FALLIBLE | FUNC_ZONED, .row = row_extract, .bind = bind_extract,             \
        .param = unit_                                                                             \
    }

const struct func time_funcs[] = {
    {.name = "FLOOR",
     .args = "x",
     .result = '0',
     .flags = FUNC_FALLIBLE | FUNC_ZONED,
     .row = row_floor,
     .bind = bind_floor},
    {.name = "CEIL",
     .args = "x",
     .result = '0',
     .flags = FUNC_FALLIBLE | FUNC_ZONED,
     .row = row_ceil,
     .bind = bind_floor},
    {.name = "CEILING",
     .canonical = "CEIL",
     .args = "x",
     .result = '0',
     .flags = FUNC_FALLIBLE | FUNC_ZONED,
     .row = row_ceil,
     .bind = bind_floor},
    {.name = "EXTRACT",
     .args = "x",
     .result = 'l',
     .flags = FUNC_FALLIBLE | FUNC_ZONED,
     .row = row_extract,
     .bind = bind_extract,
     .param = -1},
    EXTRACT_OF("YEAR", UNIT_YEAR),
    EXTRACT_OF("QUARTER", UNIT_QUARTER),
    EXTRACT_OF("MONTH", UNIT_MONTH),
    EXTRACT_OF("WEEK", UNIT_WEEK),
    EXTRACT_OF("DAYOFYEAR", UNIT_DOY),
    EXTRACT_OF("DAYOFMONTH", UNIT_DAY),
    EXTRACT_OF("DAYOFWEEK", UNIT_DOW),
    EXTRACT_OF("HOUR", UNIT_HOUR),
    EXTRACT_OF("MINUTE", UNIT_MINUTE),
    EXTRACT_OF("SECOND", UNIT_SECOND),
    {.name = "TIMESTAMPDIFF",
     .args = "xx",
     .result = 'i',
     .flags = FUNC_FALLIBLE | FUNC_ZONED,
     .row = row_diff,
     .bind = bind_diff},
    {.name = "CURRENT_DATE",
     .args = "",
     .result = 'D',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_DATE},
    {.name = "CURRENT_TIME",
     .args = "",
     .result = 'M',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_TIME},
    {.name = "LOCALTIME",
     .canonical = "CURRENT_TIME",
     .args = "",
     .result = 'M',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_TIME},
    {.name = "LOCALTIMESTAMP",
     .args = "",
     .result = 'T',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_TIMESTAMP},
    {.name = "CURRENT_TIMESTAMP",
     .args = "",
     .result = 'Z',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_INSTANT},
    {.name = "NOW",
     .canonical = "CURRENT_TIMESTAMP",
     .args = "",
     .result = 'Z',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_INSTANT},
    {.name = "CURRENT_ROW_TIMESTAMP",
     .canonical = "CURRENT_TIMESTAMP",
     .args = "",
     .result = 'Z',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_INSTANT},
    {.name = "PROCTIME",
     .canonical = "CURRENT_TIMESTAMP",
     .args = "",
     .result = 'Z',
     .flags = CLOCKED | FUNC_NOT_NULL,
     .row = row_now,
     .param = NOW_INSTANT},
    {.name = "DATE_FORMAT",
     .args = "ts",
     .result = 's',
     .flags = FUNC_FALLIBLE | FUNC_ZONED,
     .row = row_date_format,
     .bind = bind_format_1},
    {.name = "TO_DATE",
     .args = "s?s",
     .result = 'D',
     .flags = FUNC_FALLIBLE | FUNC_NULLABLE,
     .row = row_to_time,
     .bind = bind_format_1},
    {.name = "TO_TIMESTAMP",
     .args = "s?s",
     .result = 'T',
     .flags = FUNC_FALLIBLE | FUNC_NULLABLE,
     .row = row_to_time,
     .bind = bind_format_1},
    {.name = "TO_TIMESTAMP_LTZ",
     .args = "x?xs",
     .result = 'Z',
     .flags = CLOCKED | FUNC_NULLABLE,
     .row = row_to_ltz,
     .bind = bind_to_ltz},
    {.name = "FROM_UNIXTIME",
     .args = "i?s",
     .result = 's',
     .flags = CLOCKED,
     .row = row_from_unixtime,
     .bind = bind_format_1},
    {.name = "UNIX_TIMESTAMP",
     .args = "?ss",
     .result = 'l',
     .flags = CLOCKED | FUNC_NULLABLE,
     .row = row_unix_timestamp,
     .bind = bind_format_1,
     .param = NOW_UNIX},
    {.name = "CONVERT_TZ",
     .args = "sss",
     .result = 's',
     .flags = CLOCKED | FUNC_NULLABLE,
     .row = row_convert_tz},
    {.name = NULL},
};
