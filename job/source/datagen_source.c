/* datagen_source.c - rows from nothing: sequences and random values; see source.h.
 *
 * Row number n (from 0) has start + n in its sequence columns, and a pure function of (seed, n,
 * column) in its random ones, so what was emitted is known from which numbers were. A subtask emits
 * the numbers of its splits: next, next + step, next + 2 step ... below the row count, which is the
 * least of number-of-rows and the lengths of the sequences. The position is 16 bytes a split: be64
 * next, be64 step. A restore at a higher parallelism halves splits ((next, 2 step) and (next +
 * step, 2 step)), at a lower one gives a subtask several. Dates and times are relative to the
 * clock, as in Flink, and so no function of n.
 *
 * After: DataGenTableSource (flink-connector-datagen), whose sequence source keeps every number in
 * memory. */
#include "job/datetime.h"
#include "job/decimal.h"
#include "job/number.h"
#include "job/source/source.h"

#include <float.h>
#include <stdlib.h>

#define POSITION_LEN 16u
#define STEP_MAX (1ull << 40) /* parallelism times the halvings that a sane history holds */
#define TEXT_LENGTH_DEFAULT 100u
#define INTERVAL_MONTHS_MAX 120000

struct split {
    uint64_t next, step;
};
/* What a column needs, made once. */
struct column_plan {
    const struct datagen_field *field;
    struct type type;
    uint64_t key;        /* the column's share of the seed */
    uint64_t null_below; /* null when a hash is below this */
    int64_t min;
    uint64_t range; /* max - min + 1; 0: all 64 bits */
    double real_min, real_width;
    int128 decimal_min, decimal_range;
    int128 sequence_unit; /* DECIMAL sequences: 10^scale */
    uint32_t length;
};
struct datagen_source {
    struct source base;
    struct datagen_config config;
    const struct env *env;
    struct column_plan *plans;
    uint64_t row_count; /* UINT64_MAX: without end */
    struct split *splits;
    size_t split_count;
    int64_t wall_ms; /* of this poll */
    struct buf text;
};

/* ---- plans ----------------------------------------------------------------------------------- */

static void plan_integers(struct column_plan *p, int64_t least, int64_t largest)
{
    int64_t max = p->field->has_max ? p->field->max : largest;

    p->min = p->field->has_min ? p->field->min : least;
    p->range = (uint64_t)max - (uint64_t)p->min + 1;
}

static bool integer_limits(enum type_kind kind, int64_t *least, int64_t *largest)
{
    switch (kind) {
    case TYPE_TINYINT:
        *least = INT8_MIN, *largest = INT8_MAX;
        return true;
    case TYPE_SMALLINT:
        *least = INT16_MIN, *largest = INT16_MAX;
        return true;
    case TYPE_INT:
        *least = INT32_MIN, *largest = INT32_MAX;
        return true;
    case TYPE_BIGINT:
    case TYPE_INTERVAL_DAY:
        *least = INT64_MIN, *largest = INT64_MAX;
        return true;
    case TYPE_INTERVAL_YEAR:
        *least = 0, *largest = INTERVAL_MONTHS_MAX;
        return true;
    default:
        return false;
    }
}

static enum rc plan_decimal(struct column_plan *p, const char *name, struct err *err)
{
    int128 limit = decimal_pow10(p->type.precision) - 1, max = limit;

    p->decimal_min = -limit;
    if ((p->field->has_min && !decimal_from_double(p->field->min_real, p->type.precision,
                                                   p->type.scale, &p->decimal_min)) ||
        (p->field->has_max &&
         !decimal_from_double(p->field->max_real, p->type.precision, p->type.scale, &max)) ||
        max < p->decimal_min)
        return err_set(err, RC_INVALID,
                       "datagen: field %s: min and max must fit DECIMAL(%u, %u), min first", name,
                       p->type.precision, p->type.scale);
    p->decimal_range = max - p->decimal_min + 1;
    return RC_OK;
}

static enum rc plan_real(struct column_plan *p, const char *name, struct err *err)
{
    bool is_float = p->type.kind == TYPE_FLOAT;
    double max = p->field->has_max ? p->field->max_real : is_float ? (double)FLT_MAX : DBL_MAX;

    p->real_min = p->field->has_min ? p->field->min_real
                  : is_float        ? (double)FLT_TRUE_MIN
                                    : DBL_TRUE_MIN;
    p->real_width = max - p->real_min;
    if (!(p->real_min <= max) || p->real_width > DBL_MAX)
        return err_set(err, RC_INVALID, "datagen: field %s: min %g and max %g are no range", name,
                       p->real_min, max);
    return RC_OK;
}

static enum rc plan_random(struct column_plan *p, const char *name, struct err *err)
{
    int64_t least, largest;

    if (!(p->field->null_rate >= 0 && p->field->null_rate <= 1))
        return err_set(err, RC_INVALID, "datagen: field %s: null rate %g is not in 0..1", name,
                       p->field->null_rate);
    p->null_below =
        p->field->null_rate >= 1 ? UINT64_MAX : (uint64_t)(p->field->null_rate * 0x1p64);
    p->length = p->field->length;
    if (p->length == 0 && (p->type.kind == TYPE_CHAR || p->type.kind == TYPE_BINARY))
        p->length = (uint32_t)p->type.length;
    else if (p->length == 0)
        p->length = p->type.length < (int32_t)TEXT_LENGTH_DEFAULT ? (uint32_t)p->type.length
                                                                  : TEXT_LENGTH_DEFAULT;
    if (type_is_varlen(p->type.kind) && p->length > VALUE_BYTES_MAX)
        return err_set(err, RC_LIMIT, "datagen: field %s: length %u is over %u", name, p->length,
                       VALUE_BYTES_MAX);
    if (p->type.kind == TYPE_DECIMAL)
        return plan_decimal(p, name, err);
    if (p->type.kind == TYPE_FLOAT || p->type.kind == TYPE_DOUBLE)
        return plan_real(p, name, err);
    if (!integer_limits(p->type.kind, &least, &largest))
        return RC_OK;
    if ((p->field->has_min && p->field->min < least) ||
        (p->field->has_max && p->field->max > largest) ||
        (p->field->has_min ? p->field->min : least) > (p->field->has_max ? p->field->max : largest))
        return err_set(err, RC_INVALID,
                       "datagen: field %s: min and max must lie in %lld..%lld, min first", name,
                       (long long)least, (long long)largest);
    plan_integers(p, least, largest);
    return RC_OK;
}

static enum rc plan_sequence(struct column_plan *p, const char *name, uint64_t *row_count,
                             struct err *err)
{
    int64_t least = INT64_MIN, largest = INT64_MAX;
    const struct datagen_field *f = p->field;
    uint64_t length;

    if (f->start > f->end)
        return err_set(err, RC_INVALID, "datagen: field %s: start %lld is after end %lld", name,
                       (long long)f->start, (long long)f->end);
    switch (p->type.kind) {
    case TYPE_DECIMAL:
        p->sequence_unit = decimal_pow10(p->type.scale);
        if (!decimal_fits(f->start, (uint32_t)(p->type.precision - p->type.scale)) ||
            !decimal_fits(f->end, (uint32_t)(p->type.precision - p->type.scale)))
            return err_set(
                err, RC_INVALID,
                "datagen: field %s: the sequence %lld..%lld does not fit DECIMAL(%u, %u)", name,
                (long long)f->start, (long long)f->end, p->type.precision, p->type.scale);
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        break;
    default:
        if (!integer_limits(p->type.kind, &least, &largest) || !type_is_integer(p->type.kind))
            return err_set(err, RC_UNSUPPORTED,
                           "datagen: field %s: a sequence can be a number or a text only", name);
        if (f->start < least || f->end > largest)
            return err_set(
                err, RC_INVALID, "datagen: field %s: the sequence %lld..%lld leaves %lld..%lld",
                name, (long long)f->start, (long long)f->end, (long long)least, (long long)largest);
        break;
    }
    length = (uint64_t)f->end - (uint64_t)f->start;
    length += length < UINT64_MAX;
    *row_count = length < *row_count ? length : *row_count;
    return RC_OK;
}

static enum rc make_plans(struct datagen_source *s, struct err *err)
{
    const struct schema *schema = s->config.schema;

    s->row_count = s->config.number_of_rows < 0 ? UINT64_MAX : (uint64_t)s->config.number_of_rows;
    s->plans = mem_calloc(schema->field_count, sizeof *s->plans);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        struct column_plan *p = &s->plans[i];

        p->field = &s->config.fields[i];
        p->type = schema->fields[i].type;
        p->key = splitmix64(s->config.seed ^ splitmix64(i + 1));
        if (p->field->kind == DATAGEN_SEQUENCE)
            RETURN_IF_ERR(plan_sequence(p, schema->fields[i].name, &s->row_count, err));
        else
            RETURN_IF_ERR(plan_random(p, schema->fields[i].name, err));
    }
    return RC_OK;
}

/* ---- splits ---------------------------------------------------------------------------------- */

static int by_next(const void *a, const void *b)
{
    const struct split *x = a, *y = b;

    if (x->next != y->next)
        return x->next < y->next ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Halves the densest split; the first of them in order. */
static void halve_one(struct split *all, size_t *count)
{
    size_t densest = 0;

    for (size_t i = 1; i < *count; i++) {
        if (all[i].step < all[densest].step)
            densest = i;
    }
    all[*count] = (struct split){all[densest].next + all[densest].step, all[densest].step * 2};
    all[densest].step *= 2;
    ++*count;
}

bool datagen_position_parse(struct bytes item, uint64_t *next, uint64_t *step)
{
    if (item.len != POSITION_LEN)
        return false;
    *next = get_be64(item.data);
    *step = get_be64(item.data + 8);
    return *step > 0 && *step <= STEP_MAX && *next <= UINT64_MAX - 2 * STEP_MAX;
}

static enum rc restore_splits(struct datagen_source *s, const struct source_context *ctx,
                              struct err *err)
{
    size_t count = ctx->restored_count, room = count > ctx->parallelism ? count : ctx->parallelism;
    struct split *all = mem_calloc(room, sizeof *all);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < count; i++) {
        struct bytes item = ctx->restored_items[i];

        if (!datagen_position_parse(item, &all[i].next, &all[i].step)) {
            rc = err_set(err, RC_CORRUPT,
                         "datagen position %zu of table %s: %zu bytes, next %llu, step %llu", i,
                         ctx->table_name, item.len, (unsigned long long)all[i].next,
                         (unsigned long long)all[i].step);
            goto out;
        }
    }
    qsort(all, count, sizeof *all, by_next);
    while (count < ctx->parallelism)
        halve_one(all, &count);
    qsort(all, count, sizeof *all, by_next);
    s->splits = mem_calloc(count, sizeof *s->splits);
    for (size_t i = ctx->subtask_index; i < count; i += ctx->parallelism)
        s->splits[s->split_count++] = all[i];
out:
    mem_free(all);
    return rc;
}

static enum rc datagen_open(struct source *base, const struct source_context *ctx, struct err *err)
{
    struct datagen_source *s = (struct datagen_source *)base;

    s->env = ctx->env;
    RETURN_IF_ERR(make_plans(s, err));
    if (ctx->restored && ctx->restored_count > 0)
        return restore_splits(s, ctx, err);
    s->splits = mem_calloc(1, sizeof *s->splits);
    s->splits[0] = (struct split){ctx->subtask_index, ctx->parallelism};
    s->split_count = 1;
    return RC_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static inline uint64_t hash_of(const struct column_plan *p, uint64_t row, uint64_t salt)
{
    return splitmix64(p->key ^ splitmix64(row + salt * 0xD1B54A32D192ED03ULL));
}

/* Uniform in 0..range-1 by the high half of a product. */
static inline uint64_t scale_to(uint64_t hash, uint64_t range)
{
    return range == 0 ? hash : (uint64_t)(((unsigned __int128)hash * range) >> 64);
}

static void append_random_text(struct datagen_source *s, uint32_t column,
                               const struct column_plan *p, uint64_t row, bool hex,
                               struct batch_builder *out)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;

    buf_clear(&s->text);
    buf_reserve(&s->text, p->length);
    for (uint32_t i = 0; i < p->length; i++) {
        if (i % (hex ? 16 : 8) == 0)
            bits = hash_of(p, row, 2 + i);
        s->text.data[i] = hex ? (uint8_t)digits[bits & 15] : (uint8_t)bits;
        bits >>= hex ? 4 : 8;
    }
    batch_append_bytes(out, column, bytes_of(s->text.data, p->length));
}

static enum rc append_clock(struct datagen_source *s, uint32_t column, const struct column_plan *p,
                            uint64_t hash, struct batch_builder *out, struct err *err)
{
    uint64_t past =
        p->field->max_past_ms > 0 ? scale_to(hash, (uint64_t)p->field->max_past_ms + 1) : 0;
    int64_t ms = s->wall_ms - (int64_t)past, v;

    if (p->type.kind == TYPE_DATE)
        v = floor_div(ms, MS_PER_DAY);
    else if (p->type.kind == TYPE_TIME)
        v = floor_mod(ms, MS_PER_DAY);
    else
        RETURN_IF_ERR(timestamp_of_ms(ms, p->type.precision, &v, err));
    batch_append_int(out, column, v);
    return RC_OK;
}

static enum rc append_random(struct datagen_source *s, uint32_t column, uint64_t row,
                             struct batch_builder *out, struct err *err)
{
    const struct column_plan *p = &s->plans[column];
    uint64_t hash = hash_of(p, row, 0);

    if (p->null_below > 0 && hash_of(p, row, 1) < p->null_below) {
        batch_append_null(out, column);
        return RC_OK;
    }
    switch (p->type.kind) {
    case TYPE_NULL:
        batch_append_null(out, column);
        break;
    case TYPE_BOOLEAN:
        batch_append_bool(out, column, hash >> 63 != 0);
        break;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
    case TYPE_INTERVAL_DAY:
    case TYPE_INTERVAL_YEAR:
        batch_append_int(out, column, (int64_t)((uint64_t)p->min + scale_to(hash, p->range)));
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        batch_append_double(out, column,
                            p->real_min + p->real_width * ((double)(hash >> 11) * 0x1p-53));
        break;
    case TYPE_DECIMAL: {
        unsigned __int128 wide = (unsigned __int128)hash << 64 | hash_of(p, row, 2);

        batch_append_decimal(out, column,
                             p->decimal_min + (int128)(wide % (unsigned __int128)p->decimal_range));
        break;
    }
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        append_random_text(s, column, p, row, true, out);
        break;
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        append_random_text(s, column, p, row, false, out);
        break;
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return append_clock(s, column, p, hash, out, err);
    }
    return RC_OK;
}

static void append_sequence(struct datagen_source *s, uint32_t column, uint64_t row,
                            struct batch_builder *out)
{
    const struct column_plan *p = &s->plans[column];
    int64_t v = (int64_t)((uint64_t)p->field->start + row);

    switch (p->type.kind) {
    case TYPE_DECIMAL:
        batch_append_decimal(out, column, (int128)v * p->sequence_unit);
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        batch_append_double(out, column, (double)v);
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        buf_clear(&s->text);
        number_print_int(v, &s->text);
        batch_append_bytes(out, column, buf_bytes(&s->text));
        break;
    default:
        batch_append_int(out, column, v);
        break;
    }
}

/* ---- the source ------------------------------------------------------------------------------ */

static struct split *lowest_split(struct datagen_source *s)
{
    struct split *lowest = NULL;

    for (size_t i = 0; i < s->split_count; i++) {
        if (s->splits[i].next < s->row_count &&
            (lowest == NULL || s->splits[i].next < lowest->next))
            lowest = &s->splits[i];
    }
    return lowest;
}

static enum rc datagen_poll(struct source *base, struct batch_builder *out, uint32_t max_rows,
                            enum source_result *result, int64_t *retry_ns, struct err *err)
{
    struct datagen_source *s = (struct datagen_source *)base;
    uint32_t columns = s->config.schema->field_count;
    struct split *split = lowest_split(s);

    *retry_ns = 0;
    *result = split == NULL ? SOURCE_ENDED : SOURCE_GOT_ROWS;
    s->wall_ms = clock_wall_ms(s->env->clock);
    while (split != NULL && batch_builder_rows(out) < max_rows && !batch_builder_full(out)) {
        for (uint32_t c = 0; c < columns; c++) {
            if (s->plans[c].field->kind == DATAGEN_SEQUENCE)
                append_sequence(s, c, split->next, out);
            else
                RETURN_IF_ERR(append_random(s, c, split->next, out, err));
        }
        batch_row_end(out, ROW_INSERT);
        split->next += split->step;
        if (s->split_count > 1 || split->next >= s->row_count)
            split = lowest_split(s);
    }
    return RC_OK;
}

static enum rc datagen_position(struct source *base, struct arena *arena, struct bytes **items,
                                size_t *count, struct err *err)
{
    struct datagen_source *s = (struct datagen_source *)base;

    (void)err;
    *count = s->split_count;
    *items = ARENA_ARRAY(arena, s->split_count, struct bytes);
    for (size_t i = 0; i < s->split_count; i++) {
        uint8_t *item = arena_alloc(arena, POSITION_LEN);

        put_be64(item, s->splits[i].next);
        put_be64(item + 8, s->splits[i].step);
        (*items)[i] = bytes_of(item, POSITION_LEN);
    }
    return RC_OK;
}

static void datagen_close(struct source *base)
{
    struct datagen_source *s = (struct datagen_source *)base;

    mem_free(s->plans);
    mem_free(s->splits);
    buf_release(&s->text);
    mem_free(s);
}

static bool datagen_bounded(const struct source *base)
{
    const struct datagen_source *s = (const struct datagen_source *)base;
    bool bounded = s->config.number_of_rows >= 0;

    for (uint32_t i = 0; i < s->config.schema->field_count; i++)
        bounded |= s->config.fields[i].kind == DATAGEN_SEQUENCE;
    return bounded;
}

struct source *datagen_source_new(const struct datagen_config *config)
{
    static const struct source_ops ops = {datagen_open, datagen_poll, datagen_position,
                                          datagen_close, datagen_bounded, NULL};
    struct datagen_source *s = mem_calloc(1, sizeof *s);

    s->base.ops = &ops;
    s->config = *config;
    return &s->base;
}
