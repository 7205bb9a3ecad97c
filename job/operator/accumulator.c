/* accumulator.c - see accumulator.h */
#include "job/operator/accumulator.h"
#include "backend/blind.h"
#include "job/decimal.h"

#include <math.h>

#define STATE_NAME_CALL_BYTES 180 /* of a call, in the name of a state of its own */

/* ---- layout --------------------------------------------------------------------------------------- */

static enum acc_class class_of(enum type_kind kind)
{
    switch (kind) {
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return ACC_DOUBLE;
    case TYPE_DECIMAL:
        return ACC_WIDE;
    default:
        return type_is_varlen(kind) ? ACC_TEXT : ACC_INT;
    }
}

static bool is_extreme(enum agg_func f) { return f == AGG_MIN || f == AGG_MAX; }
static bool is_pick(enum agg_func f) { return f == AGG_FIRST_VALUE || f == AGG_LAST_VALUE; }
static bool is_total(enum agg_func f) { return f == AGG_SUM || f == AGG_AVG; }

static uint32_t fields_of(const struct acc_call *c)
{
    if (is_total(c->call.func))
        return c->arg_class == ACC_DOUBLE ? 2 : 3;
    if (is_extreme(c->call.func) || is_pick(c->call.func))
        return c->arg_class == ACC_TEXT ? 0 : c->arg_class == ACC_WIDE ? 2 : 1;
    return 1;
}

/* Fields are named after the call; where the slot's unit depends on the argument's type (a scale, a timestamp's precision), the type
 * is part of the name, so that a changed column is never read in another unit. */
void acc_field_describe(struct arena *a, const struct acc_call *c, uint32_t field, const char **name,
                        const char **type)
{
    static const char *const parts[] = {"$low", "$high", "$count"};
    bool counts = c->call.func == AGG_COUNT || c->call.func == AGG_COUNT_STAR;
    bool unit = c->arg_class == ACC_WIDE || (c->arg_class == ACC_INT && !type_is_integer(c->arg_type.kind));
    const char *part = c->field_count == 1 ? "" : parts[field];

    *type = "BIGINT";
    if (!counts && c->arg_class == ACC_DOUBLE) {
        *type = field == 0 ? "DOUBLE" : "BIGINT";
        part = c->field_count == 1 ? "" : field == 0 ? "$sum" : "$count";
    } else if (!counts && !is_total(c->call.func) && type_is_integer(c->arg_type.kind)) {
        *type = type_str(a, c->arg_type, false);
    }
    *name = unit && !counts ? arena_printf(a, "%s$%s%s", c->call.name, type_str(a, c->arg_type, false), part)
                            : arena_printf(a, "%s%s", c->call.name, part);
}

static void describe_call(struct arena *a, const struct acc_call *c, struct buf *text)
{
    for (uint32_t f = 0; f < c->field_count; f++) {
        const char *name, *type;

        acc_field_describe(a, c, f, &name, &type);
        buf_append_u8(text, '`');
        for (; *name != '\0'; name++) {
            if (*name == '`')
                buf_append_u8(text, '`');
            buf_append_u8(text, (uint8_t)*name);
        }
        buf_printf(text, "` %s, ", type);
    }
}

const char *acc_state_name(struct arena *a, const char *prefix, const char *call)
{
    size_t len = STATE_NAME_CALL_BYTES;
    char hex[DIGEST_HEX_LEN + 1];

    if (strlen(call) <= len)
        return arena_printf(a, "%s%s", prefix, call);
    while ((call[len] & 0xC0) == 0x80)
        len--;
    digest_hex(digest_of(bytes_of_str(call)), hex);
    return arena_printf(a, "%s%.*s...%s", prefix, (int)len, call, hex);
}

uint32_t acc_slots_offset(uint32_t field_count)
{
    return ACC_SIZE_BYTES + (field_count + 63 + 8) / 64 * 8;
}

static void set_null_bit(uint8_t *row, uint32_t field)
{
    row[ACC_SIZE_BYTES + (field + 8) / 8] |= (uint8_t)(1u << ((field + 8) % 8));
}
static void clear_null_bit(uint8_t *row, uint32_t field)
{
    row[ACC_SIZE_BYTES + (field + 8) / 8] &= (uint8_t)~(1u << ((field + 8) % 8));
}
static bool null_bit(const uint8_t *row, uint32_t field)
{
    return (row[ACC_SIZE_BYTES + (field + 8) / 8] >> ((field + 8) % 8)) & 1;
}

static enum rc check_retractable(const struct agg_call *call, bool retracts, struct err *err)
{
    if (!retracts || (!is_extreme(call->func) && !is_pick(call->func)))
        return RC_OK;
    return err_set(err, RC_UNSUPPORTED,
                   "%s over a result that changes (an aggregate below it) is not supported yet: "
                   "an earlier value may be taken back, and only COUNT, SUM and AVG can follow that",
                   call->name);
}

enum rc acc_layout_make(struct arena *a, const struct agg_call *calls, uint32_t call_count,
                        const struct schema *input, bool retracts, struct acc_layout *out,
                        struct err *err)
{
    struct buf text = {0};
    uint32_t fields = 0, slots;
    uint8_t *row;

    memset(out, 0, sizeof *out);
    out->call_count = call_count;
    out->calls = ARENA_ARRAY(a, call_count + 1, struct acc_call);
    for (uint32_t i = 0; i < call_count; i++) {
        struct acc_call *c = &out->calls[i];

        RETURN_IF_ERR(check_retractable(&calls[i], retracts, err));
        c->call = calls[i];
        c->arg_type = calls[i].arg < 0 ? type_of(TYPE_BIGINT) : input->fields[calls[i].arg].type;
        c->arg_class = class_of(c->arg_type.kind);
        c->result_class = class_of(calls[i].result.kind);
        c->field = fields;
        c->field_count = fields_of(c);
        fields += c->field_count;
    }
    out->field_count = fields + (retracts ? 1 : 0);
    slots = acc_slots_offset(out->field_count);
    out->row_bytes = slots + 8 * out->field_count;
    out->rows_offset = retracts ? (int32_t)(slots + 8 * fields) : -1;
    row = arena_calloc(a, out->row_bytes, 1);
    put_be32(row, out->row_bytes - ACC_SIZE_BYTES);
    buf_append_str(&text, "ROW<");
    for (uint32_t i = 0; i < call_count; i++) {
        struct acc_call *c = &out->calls[i];

        c->offset = slots + 8 * c->field;
        describe_call(a, c, &text);
        if ((is_extreme(c->call.func) || is_pick(c->call.func)) && c->field_count > 0)
            set_null_bit(row, c->field);
    }
    if (retracts)
        buf_append_str(&text, "`" ACC_ROWS_FIELD "` BIGINT, ");
    if (text.len > 4)
        text.len -= 2;
    buf_append_str(&text, ">");
    out->template_row = row;
    out->value_type = arena_strdup(a, buf_cstr(&text));
    buf_release(&text);
    return RC_OK;
}

/* A call's fields; NULL: FIRST_VALUE and LAST_VALUE go by the order of rows, sums of floating point too; sums of decimals may pass
 * 128 bits; text and distinct values have states of their own. */
static const char *blind_fields(const struct acc_call *c)
{
    enum agg_func func = c->call.func;

    if (c->call.distinct || is_pick(func))
        return NULL;
    if (func == AGG_COUNT || func == AGG_COUNT_STAR)
        return "+";
    if (c->arg_class == ACC_INT)
        return is_total(func) ? "s.+" : func == AGG_MIN ? "<" : ">";
    if (c->arg_class == ACC_WIDE && is_extreme(func))
        return func == AGG_MIN ? "l." : "g.";
    return NULL;
}

const char *acc_blind_pattern(struct arena *a, const struct acc_layout *layout)
{
    struct buf text = {0};
    const char *pattern = NULL;

    if (layout->rows_offset >= 0 || layout->field_count > BLIND_FIELDS_MAX)
        return NULL;
    for (uint32_t i = 0; i < layout->call_count; i++) {
        const char *fields = blind_fields(&layout->calls[i]);

        if (fields == NULL)
            goto out;
        buf_append_str(&text, fields);
    }
    if (blind_pattern_fits(buf_cstr(&text), layout->row_bytes))
        pattern = arena_strdup(a, buf_cstr(&text));
out:
    buf_release(&text);
    return pattern;
}

/* ---- scratch -------------------------------------------------------------------------------------- */

static size_t class_width(enum acc_class c) { return c == ACC_WIDE ? 16 : 8; }

void acc_scratch_init(struct acc_scratch *s, const struct acc_layout *layout, uint32_t rows_max)
{
    memset(s, 0, sizeof *s);
    s->rows_max = rows_max;
    s->arg = mem_alloc(rows_max * sizeof *s->arg);
    s->wide_arg = mem_alloc(rows_max * sizeof *s->wide_arg);
    s->use = mem_alloc(rows_max);
    s->sign = mem_alloc(rows_max);
    s->changed = mem_alloc(rows_max);
    s->result = mem_calloc(layout->call_count + 1, sizeof *s->result);
    for (uint32_t i = 0; i < layout->call_count; i++) {
        s->result[i].type = layout->calls[i].call.result;
        if (layout->calls[i].result_class == ACC_TEXT)
            continue;
        s->result[i].values = mem_calloc(2 * (size_t)rows_max, class_width(layout->calls[i].result_class));
        s->result[i].validity = mem_calloc(bit_words(2 * rows_max), sizeof(uint64_t));
    }
}

void acc_scratch_release(struct acc_scratch *s, const struct acc_layout *layout)
{
    for (uint32_t i = 0; s->result != NULL && i < layout->call_count; i++) {
        mem_free(s->result[i].values);
        mem_free(s->result[i].validity);
    }
    mem_free(s->arg);
    mem_free(s->wide_arg);
    mem_free(s->use);
    mem_free(s->sign);
    mem_free(s->changed);
    mem_free(s->result);
    memset(s, 0, sizeof *s);
}

/* ---- arguments ------------------------------------------------------------------------------------ */

void acc_select(struct acc_scratch *s, const struct acc_call *c, const struct batch *in,
                uint32_t from, uint32_t n)
{
    memset(s->use, 1, n);
    if (c->call.filter >= 0) {
        const struct column *f = &in->columns[c->call.filter];

        for (uint32_t i = 0; i < n; i++)
            s->use[i] = column_present(f, from + i) && bit_get(f->values, from + i);
    }
    if (c->call.arg >= 0 && in->columns[c->call.arg].validity != NULL) {
        const struct column *v = &in->columns[c->call.arg];

        for (uint32_t i = 0; i < n; i++)
            s->use[i] &= bit_get(v->validity, from + i);
    }
}

/* The argument's values as int64 (doubles: their bits); rows not in use may hold anything. */
static const int64_t *load_args(struct acc_scratch *s, const struct column *col, uint32_t from, uint32_t n)
{
    const void *v = col->values;

    switch (col->type.kind) {
    case TYPE_BOOLEAN:
        for (uint32_t i = 0; i < n; i++)
            s->arg[i] = bit_get(v, from + i);
        return s->arg;
    case TYPE_FLOAT:
        for (uint32_t i = 0; i < n; i++) {
            double d = (double)((const float *)v)[from + i];

            memcpy(&s->arg[i], &d, sizeof d);
        }
        return s->arg;
    default:
        break;
    }
    switch (type_width(col->type.kind)) {
    case 1:
        for (uint32_t i = 0; i < n; i++)
            s->arg[i] = ((const int8_t *)v)[from + i];
        return s->arg;
    case 2:
        for (uint32_t i = 0; i < n; i++)
            s->arg[i] = ((const int16_t *)v)[from + i];
        return s->arg;
    case 4:
        for (uint32_t i = 0; i < n; i++)
            s->arg[i] = ((const int32_t *)v)[from + i];
        return s->arg;
    default:
        return (const int64_t *)v + from;
    }
}

/* ---- slots ---------------------------------------------------------------------------------------- */

static inline int64_t slot(const uint8_t *row, uint32_t offset)
{
    int64_t v;

    memcpy(&v, row + offset, sizeof v);
    return v;
}
static inline void set_slot(uint8_t *row, uint32_t offset, int64_t v) { memcpy(row + offset, &v, sizeof v); }
static inline int128 slot_wide(const uint8_t *row, uint32_t offset)
{
    int128 v;

    memcpy(&v, row + offset, sizeof v);
    return v;
}
static inline void set_slot_wide(uint8_t *row, uint32_t offset, int128 v) { memcpy(row + offset, &v, sizeof v); }
static inline double slot_double(const uint8_t *row, uint32_t offset)
{
    double v;

    memcpy(&v, row + offset, sizeof v);
    return v;
}
static inline void set_slot_double(uint8_t *row, uint32_t offset, double v) { memcpy(row + offset, &v, sizeof v); }
static inline double as_double(int64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

/* A total order: -0.0 before 0.0, NaN after everything, so that MIN and MAX do not depend on the order of rows. */
static inline int64_t double_rank(int64_t bits)
{
    if (isnan(as_double(bits)))
        return INT64_MAX;
    return bits < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits) - 1 : bits;
}

/* ---- results -------------------------------------------------------------------------------------- */

static void int_range(enum type_kind kind, int64_t *lo, int64_t *hi)
{
    switch (kind) {
    case TYPE_TINYINT:
        *lo = INT8_MIN, *hi = INT8_MAX;
        break;
    case TYPE_SMALLINT:
        *lo = INT16_MIN, *hi = INT16_MAX;
        break;
    case TYPE_INT:
        *lo = INT32_MIN, *hi = INT32_MAX;
        break;
    default:
        *lo = INT64_MIN, *hi = INT64_MAX;
    }
}

static enum rc out_of_range(const struct acc_call *c, int128 sum, struct err *err)
{
    struct buf digits = {0}, type = {0};
    enum rc rc;

    decimal_print(sum, c->result_class == ACC_WIDE ? c->call.result.scale : 0, &digits);
    type_print(c->call.result, false, &type);
    rc = err_set(err, RC_INVALID, "%s: the exact result %s does not fit %s", c->call.name, buf_cstr(&digits),
                 buf_cstr(&type));
    buf_release(&digits);
    buf_release(&type);
    return rc;
}

/* The result of one accumulator row; false = null. Exactly one of int_out, wide_out is set, by the result's class. */
static inline enum rc result_of(const struct acc_call *c, const uint8_t *row, bool *present,
                                int64_t *int_out, int128 *wide_out, struct err *err)
{
    int64_t count, lo, hi;
    int128 sum;
    double d;

    *present = true;
    switch (c->call.func) {
    case AGG_COUNT_STAR:
    case AGG_COUNT:
        *int_out = slot(row, c->offset);
        return RC_OK;
    case AGG_MIN:
    case AGG_MAX:
    case AGG_FIRST_VALUE:
    case AGG_LAST_VALUE:
        *present = !null_bit(row, c->field);
        if (c->arg_class == ACC_WIDE)
            *wide_out = slot_wide(row, c->offset);
        else
            *int_out = slot(row, c->offset);
        return RC_OK;
    case AGG_SUM:
    case AGG_AVG:
        break;
    }
    if (c->arg_class == ACC_DOUBLE) {
        count = slot(row, c->offset + 8);
        d = slot_double(row, c->offset);
        *present = count != 0;
        if (c->call.func == AGG_AVG && count != 0)
            d /= (double)count;
        memcpy(int_out, &d, sizeof d);
        return RC_OK;
    }
    sum = slot_wide(row, c->offset);
    count = slot(row, c->offset + 16);
    *present = count != 0;
    if (count == 0)
        return RC_OK;
    if (c->result_class == ACC_WIDE) {
        *wide_out = sum;
        if (c->call.func == AGG_AVG ? !decimal_div(sum, c->arg_type.scale, count, 0, c->call.result.precision,
                                                   c->call.result.scale, wide_out)
                                    : !decimal_fits(sum, c->call.result.precision))
            return out_of_range(c, sum, err);
        return RC_OK;
    }
    if (c->call.func == AGG_AVG)
        sum /= count;
    int_range(c->call.result.kind, &lo, &hi);
    if (sum < lo || sum > hi)
        return out_of_range(c, sum, err);
    *int_out = (int64_t)sum;
    return RC_OK;
}

static inline void store_result(struct column *col, enum acc_class cls, uint32_t at, bool present,
                                int64_t v, int128 wide)
{
    if (present)
        bit_set(col->validity, at);
    else
        bit_clear(col->validity, at);
    if (cls == ACC_WIDE)
        ((int128 *)col->values)[at] = present ? wide : 0;
    else
        ((int64_t *)col->values)[at] = present ? v : 0;
}

/* int64 results to the width of their type, in place: the narrow value never lies behind its source. */
static void narrow(struct column *col, uint32_t n)
{
    const int64_t *from = col->values;

    if (col->type.kind == TYPE_BOOLEAN) {
        uint64_t *bits = col->values;

        for (uint32_t w = 0; w < bit_words(n); w++) {
            uint64_t word = 0;

            for (uint32_t i = w * 64; i < n && i < w * 64 + 64; i++)
                word |= (uint64_t)(from[i] & 1) << (i & 63);
            bits[w] = word;
        }
        return;
    }
    if (col->type.kind == TYPE_FLOAT) {
        for (uint32_t i = 0; i < n; i++)
            ((float *)col->values)[i] = (float)as_double(from[i]);
        return;
    }
    switch (type_width(col->type.kind)) {
    case 1:
        for (uint32_t i = 0; i < n; i++)
            ((int8_t *)col->values)[i] = (int8_t)from[i];
        break;
    case 2:
        for (uint32_t i = 0; i < n; i++)
            ((int16_t *)col->values)[i] = (int16_t)from[i];
        break;
    case 4:
        for (uint32_t i = 0; i < n; i++)
            ((int32_t *)col->values)[i] = (int32_t)from[i];
        break;
    default:
        break;
    }
}

/* ---- one row's update ----------------------------------------------------------------------------- */

static inline enum rc update_total(const struct acc_call *c, uint8_t *row, int64_t v, int128 wide,
                                   int sign, struct err *err)
{
    int128 sum, add;

    if (c->arg_class == ACC_DOUBLE) {
        int64_t count = slot(row, c->offset + 8) + sign;

        set_slot_double(row, c->offset,
                        count == 0 ? 0.0 : slot_double(row, c->offset) + (sign < 0 ? -as_double(v) : as_double(v)));
        set_slot(row, c->offset + 8, count);
        return RC_OK;
    }
    add = c->arg_class == ACC_WIDE ? wide : v;
    if (__builtin_add_overflow(slot_wide(row, c->offset), sign < 0 ? -add : add, &sum))
        return err_set(err, RC_INVALID, "%s: the exact sum passed 128 bits", c->call.name);
    set_slot_wide(row, c->offset, sum);
    set_slot(row, c->offset + 16, slot(row, c->offset + 16) + sign);
    return RC_OK;
}

static inline bool takes_over(const struct acc_call *c, const uint8_t *row, int64_t v, int128 wide)
{
    if (c->call.func == AGG_LAST_VALUE || null_bit(row, c->field))
        return true;
    if (c->call.func == AGG_FIRST_VALUE)
        return false;
    if (c->arg_class == ACC_WIDE) {
        int128 old = slot_wide(row, c->offset);

        return c->call.func == AGG_MIN ? wide < old : wide > old;
    } else {
        int64_t old = slot(row, c->offset);

        if (c->arg_class == ACC_DOUBLE) {
            old = double_rank(old);
            v = double_rank(v);
        }
        return c->call.func == AGG_MIN ? v < old : v > old;
    }
}

static inline void update_value(const struct acc_call *c, uint8_t *row, int64_t v, int128 wide)
{
    if (!takes_over(c, row, v, wide))
        return;
    clear_null_bit(row, c->field);
    if (c->arg_class == ACC_WIDE)
        set_slot_wide(row, c->offset, wide);
    else
        set_slot(row, c->offset, v);
}

/* ---- batches -------------------------------------------------------------------------------------- */

/* The calls that most queries are made of, each as one loop. */
static void count_rows(struct acc_scratch *s, const struct acc_call *c, uint32_t index, uint32_t n,
                       void *const *rows, bool emit)
{
    int64_t *result = s->result[index].values;

    for (uint32_t i = 0; i < n; i++) {
        int64_t before = slot(rows[i], c->offset), after = before + (s->use[i] ? s->sign[i] : 0);

        set_slot(rows[i], c->offset, after);
        if (emit) {
            result[2 * i] = before;
            result[2 * i + 1] = after;
            s->changed[i] |= (uint8_t)(before != after);
        }
    }
    if (emit)
        memset(s->result[index].validity, 0xff, bit_words(2 * n) * 8);
}

/* SUM of integers: the sum of 2^63 rows of int64 fits 128 bits, so adding needs no check; a result that leaves does. */
static enum rc sum_integers(struct acc_scratch *s, const struct acc_call *c, uint32_t index, uint32_t n,
                            void *const *rows, const int64_t *args, bool emit, uint32_t *bad_row,
                            struct err *err)
{
    int64_t *result = s->result[index].values, lo, hi;
    uint64_t *validity = s->result[index].validity;

    int_range(c->call.result.kind, &lo, &hi);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *row = rows[i];
        int128 before = slot_wide(row, c->offset), after = before;
        int64_t count = slot(row, c->offset + 16);
        uint64_t present = count != 0;

        if (s->use[i]) {
            after += s->sign[i] < 0 ? -(int128)args[i] : args[i];
            count += s->sign[i];
            set_slot_wide(row, c->offset, after);
            set_slot(row, c->offset + 16, count);
        }
        if (!emit)
            continue;
        present |= (uint64_t)(count != 0) << 1;
        if (count != 0 && (after < lo || after > hi)) {
            *bad_row = i;
            return out_of_range(c, after, err);
        }
        result[2 * i] = (int64_t)before;
        result[2 * i + 1] = (int64_t)after;
        s->changed[i] |= (uint8_t)(before != after || present == 1 || present == 2);
        validity[i >> 5] = i % 32 == 0 ? present : validity[i >> 5] | present << (2 * (i % 32));
    }
    return RC_OK;
}

/* MIN and MAX of integers, dates, times and timestamps. */
static void extreme_integers(struct acc_scratch *s, const struct acc_call *c, uint32_t index, uint32_t n,
                             void *const *rows, const int64_t *args, bool emit)
{
    int64_t *result = s->result[index].values;
    uint64_t *validity = s->result[index].validity;
    bool min = c->call.func == AGG_MIN;

    for (uint32_t i = 0; i < n; i++) {
        uint8_t *row = rows[i];
        int64_t before = slot(row, c->offset), after = before;
        bool was = !null_bit(row, c->field), is = was;

        if (s->use[i] && (!was || (min ? args[i] < before : args[i] > before))) {
            after = args[i];
            is = true;
            set_slot(row, c->offset, after);
            clear_null_bit(row, c->field);
        }
        if (!emit)
            continue;
        result[2 * i] = before;
        result[2 * i + 1] = after;
        s->changed[i] |= (uint8_t)(before != after || was != is);
        validity[i >> 5] = (i % 32 == 0 ? 0 : validity[i >> 5]) | (uint64_t)(was | is << 1) << (2 * (i % 32));
    }
}

/* Every other call. */
static enum rc apply_rows(struct acc_scratch *s, const struct acc_call *c, uint32_t index,
                          uint32_t n, void *const *rows, const int64_t *args, const int128 *wide_args,
                          bool emit, uint32_t *bad_row, struct err *err)
{
    struct column *col = &s->result[index];
    bool total = is_total(c->call.func), was, is;
    int64_t before = 0, after = 0;
    int128 wide_before = 0, wide_after = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint8_t *row = rows[i];

        *bad_row = i;
        if (emit) {
            RETURN_IF_ERR(result_of(c, row, &was, &before, &wide_before, err));
            store_result(col, c->result_class, 2 * i, was, before, wide_before);
        }
        if (s->use[i] && total)
            RETURN_IF_ERR(update_total(c, row, args != NULL ? args[i] : 0,
                                       wide_args != NULL ? wide_args[i] : 0, s->sign[i], err));
        else if (s->use[i])
            update_value(c, row, args != NULL ? args[i] : 0, wide_args != NULL ? wide_args[i] : 0);
        if (emit) {
            RETURN_IF_ERR(result_of(c, row, &is, &after, &wide_after, err));
            store_result(col, c->result_class, 2 * i + 1, is, after, wide_after);
            s->changed[i] |= (uint8_t)(was != is || (is && (c->result_class == ACC_WIDE ? wide_before != wide_after
                                                                                         : before != after)));
        }
    }
    return RC_OK;
}

enum rc acc_apply(struct acc_scratch *s, const struct acc_layout *layout, uint32_t index,
                  const struct batch *in, uint32_t from, uint32_t n, void *const *rows, bool emit,
                  uint32_t *bad_row, struct err *err)
{
    const struct acc_call *c = &layout->calls[index];
    const int64_t *args = NULL;
    const int128 *wide_args = NULL;

    ASSERT(n <= s->rows_max && c->field_count > 0);
    if (c->call.func == AGG_COUNT || c->call.func == AGG_COUNT_STAR) {
        count_rows(s, c, index, n, rows, emit);
        return RC_OK;
    }
    if (c->arg_class == ACC_WIDE)
        wide_args = (const int128 *)in->columns[c->call.arg].values + from;
    else
        args = load_args(s, &in->columns[c->call.arg], from, n);
    if (c->call.func == AGG_SUM && c->arg_class == ACC_INT && c->result_class == ACC_INT)
        RETURN_IF_ERR(sum_integers(s, c, index, n, rows, args, emit, bad_row, err));
    else if (is_extreme(c->call.func) && c->arg_class == ACC_INT)
        extreme_integers(s, c, index, n, rows, args, emit);
    else
        RETURN_IF_ERR(apply_rows(s, c, index, n, rows, args, wide_args, emit, bad_row, err));
    if (emit && c->result_class != ACC_WIDE)
        narrow(&s->result[index], 2 * n);
    return RC_OK;
}

enum rc acc_results(struct acc_scratch *s, const struct acc_layout *layout, uint32_t index,
                    const void *const *rows, uint32_t n, struct column *out, uint32_t *bad_row,
                    struct err *err)
{
    const struct acc_call *c = &layout->calls[index];
    int64_t v = 0;
    int128 wide = 0;
    bool present;

    ASSERT(n <= 2 * s->rows_max && c->field_count > 0);
    for (uint32_t i = 0; i < n; i++) {
        *bad_row = i;
        RETURN_IF_ERR(result_of(c, rows[i], &present, &v, &wide, err));
        store_result(&s->result[index], c->result_class, i, present, v, wide);
    }
    if (c->result_class != ACC_WIDE)
        narrow(&s->result[index], n);
    *out = s->result[index];
    return RC_OK;
}
