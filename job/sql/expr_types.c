/* expr_types.c - which type comes out: common types, DECIMAL arithmetic, implicit casts of INSERT.
 * After: LogicalTypeMerging, LogicalTypeCasts and FlinkTypeSystem (flink-table). */
#include "job/sql/expr_priv.h"

#define DECIMAL_SCALE_KEPT 6u /* when digits run out, so many of the scale stay */

struct type type_decimal_of(struct type t)
{
    static const uint8_t digits[] = {
        [TYPE_TINYINT] = 3, [TYPE_SMALLINT] = 5, [TYPE_INT] = 10, [TYPE_BIGINT] = 19};

    if (type_is_integer(t.kind))
        return (struct type){
            .kind = TYPE_DECIMAL, .nullable = t.nullable, .precision = digits[t.kind]};
    return t;
}

static struct type decimal_adjusted(uint32_t precision, uint32_t scale)
{
    struct type t = {.kind = TYPE_DECIMAL};

    if (precision > DECIMAL_PRECISION_MAX) {
        uint32_t whole = precision - scale;
        uint32_t least = scale < DECIMAL_SCALE_KEPT ? scale : DECIMAL_SCALE_KEPT;
        uint32_t left = whole > DECIMAL_PRECISION_MAX ? 0 : DECIMAL_PRECISION_MAX - whole;

        scale = left > least ? left : least;
        precision = DECIMAL_PRECISION_MAX;
    }
    t.precision = (uint8_t)precision;
    t.scale = (uint8_t)scale;
    return t;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The result of an operator on numbers that are not both exact with a DECIMAL among them; false:
 * DECIMAL rules apply. */
static bool type_plain(struct type a, struct type b, struct type *out)
{
    bool a_real = a.kind == TYPE_FLOAT || a.kind == TYPE_DOUBLE;
    bool b_real = b.kind == TYPE_FLOAT || b.kind == TYPE_DOUBLE;

    *out = (struct type){.kind = a.kind > b.kind ? a.kind : b.kind};
    if (a_real && b_real)
        return true;
    if (a_real || b_real) { /* with a DECIMAL: DOUBLE; with an integer: the floating type */
        struct type real = a_real ? a : b, exact = a_real ? b : a;

        out->kind = exact.kind == TYPE_DECIMAL ? TYPE_DOUBLE : real.kind;
        return true;
    }
    return a.kind != TYPE_DECIMAL && b.kind != TYPE_DECIMAL;
}

static struct type with_null_of(struct type t, struct type a, struct type b)
{
    t.nullable = a.nullable || b.nullable;
    return t;
}

struct type type_add(struct type a, struct type b)
{
    struct type t;

    if (!type_plain(a, b, &t)) {
        struct type x = type_decimal_of(a), y = type_decimal_of(b);
        uint32_t scale = max_u32(x.scale, y.scale);
        uint32_t whole =
            max_u32((uint32_t)(x.precision - x.scale), (uint32_t)(y.precision - y.scale));

        t = decimal_adjusted(whole + scale + 1, scale);
    }
    return with_null_of(t, a, b);
}

struct type type_mul(struct type a, struct type b)
{
    struct type t;

    if (!type_plain(a, b, &t)) {
        struct type x = type_decimal_of(a), y = type_decimal_of(b);

        t = decimal_adjusted((uint32_t)x.precision + y.precision + 1, (uint32_t)x.scale + y.scale);
    }
    return with_null_of(t, a, b);
}

struct type type_div(struct type a, struct type b)
{
    struct type t;

    if (!type_plain(a, b, &t)) {
        struct type x = type_decimal_of(a), y = type_decimal_of(b);
        uint32_t scale = max_u32(6, (uint32_t)x.scale + y.precision + 1);

        t = decimal_adjusted((uint32_t)x.precision - x.scale + y.scale + scale, scale);
    }
    return with_null_of(t, a, b);
}

/* Of two integers: the second's type, as Flink has it. */
struct type type_mod(struct type a, struct type b)
{
    struct type t;

    if (!type_plain(a, b, &t)) {
        struct type x = type_decimal_of(a), y = type_decimal_of(b);
        uint32_t scale = max_u32(x.scale, y.scale);
        uint32_t wx = (uint32_t)(x.precision - x.scale), wy = (uint32_t)(y.precision - y.scale);

        t = decimal_adjusted((wx < wy ? wx : wy) + scale, scale);
        if (t.precision == 0)
            t.precision = 1;
    } else if (type_is_integer(t.kind)) {
        t.kind = b.kind;
    }
    return with_null_of(t, a, b);
}

static struct type common_number(struct type a, struct type b)
{
    struct type t;

    if (!type_plain(a, b, &t)) {
        struct type x = type_decimal_of(a), y = type_decimal_of(b);
        uint32_t scale = max_u32(x.scale, y.scale);
        uint32_t whole =
            max_u32((uint32_t)(x.precision - x.scale), (uint32_t)(y.precision - y.scale));

        if (whole + scale >
            DECIMAL_PRECISION_MAX) /* whole digits are worth more than those behind the point */
            scale = DECIMAL_PRECISION_MAX - whole;
        t = (struct type){
            .kind = TYPE_DECIMAL, .precision = (uint8_t)(whole + scale), .scale = (uint8_t)scale};
    }
    return t;
}

bool type_common(struct type a, struct type b, struct type *out)
{
    struct type t = a;

    if (a.kind == TYPE_NULL || b.kind == TYPE_NULL) {
        t = a.kind == TYPE_NULL ? b : a;
        t.nullable = true;
        *out = t;
        return true;
    }
    if (type_is_numeric(a.kind) && type_is_numeric(b.kind)) {
        t = common_number(a, b);
    } else if (type_is_varlen(a.kind) && type_is_varlen(b.kind) &&
               type_is_text(a.kind) == type_is_text(b.kind)) {
        if (a.kind != b.kind || a.length != b.length) {
            t.kind = type_is_text(a.kind) ? TYPE_VARCHAR : TYPE_VARBINARY;
            t.length = a.length > b.length ? a.length : b.length;
        }
    } else if (a.kind == b.kind) {
        t.precision = a.precision > b.precision ? a.precision : b.precision;
    } else if (type_is_timestamp(a.kind) &&
               type_is_timestamp(
                   b.kind)) { /* a local time meets an instant: in the session's zone */
        t.kind = TYPE_TIMESTAMP_LTZ;
        t.precision = a.precision > b.precision ? a.precision : b.precision;
    } else if (a.kind == TYPE_DATE && type_is_timestamp(b.kind)) {
        t = b;
    } else if (b.kind == TYPE_DATE && type_is_timestamp(a.kind)) {
        t = a;
    } else {
        return false;
    }
    *out = with_null_of(t, a, b);
    return true;
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

static bool implicit_cast(struct type from, struct type to)
{
    if (from.kind == TYPE_NULL || from.kind == to.kind)
        return true;
    switch (to.kind) {
    case TYPE_CHAR: /* a CHAR(1) literal into CHAR(10) is fine, a STRING is not */
    case TYPE_BINARY:
        return false;
    case TYPE_VARCHAR:
        return from.kind == TYPE_CHAR;
    case TYPE_VARBINARY:
        return from.kind == TYPE_BINARY;
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        return type_is_integer(from.kind) && from.kind < to.kind;
    case TYPE_DECIMAL:
    case TYPE_DOUBLE:
        return type_is_numeric(from.kind);
    case TYPE_FLOAT:
        return type_is_numeric(from.kind) && from.kind != TYPE_DOUBLE;
    case TYPE_DATE:
    case TYPE_TIME:
        return from.kind == TYPE_TIMESTAMP;
    case TYPE_TIMESTAMP:
        return from.kind == TYPE_TIMESTAMP_LTZ;
    case TYPE_TIMESTAMP_LTZ:
        return from.kind == TYPE_TIMESTAMP;
    default:
        return false;
    }
}

enum rc expr_coerce(struct arena *a, struct expr *e, struct type to, const char *what,
                    struct expr **out, struct err *err)
{
    struct bind b = {a, NULL, err};
    struct expr *x = e;
    struct type target = to;

    if (!implicit_cast(e->type, to))
        return err_set(err, RC_INVALID,
                       "%s: the query gives %s, the column is %s: write CAST(... AS %s)", what,
                       type_str(a, e->type, false), type_str(a, to, false), type_str(a, to, false));
    target.nullable = true;
    if (type_is_varlen(e->type.kind)) { /* lengths are not enforced, as
                                           table.exec.sink.type-length-enforcer = IGNORE */
        x = arena_copy(a, e, sizeof *e);
        x->type = to;
        x->type.nullable = e->type.nullable;
    } else {
        RETURN_IF_ERR(node_cast(&b, e, target, false, e->pos, &x));
    }
    if (!to.nullable && x->type.nullable) {
        struct expr *require = node_new(&b, NODE_REQUIRE, to, e->pos, 1);

        require->args[0] = x;
        require->what = arena_strdup(a, what);
        x = node_done(&b, require);
    }
    *out = x;
    return RC_OK;
}
