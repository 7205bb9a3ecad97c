/* tumble.c - see tumble.h */
#include "job/operator/tumble.h"

enum rc tumble_open(struct tumble *t, const struct window_spec *spec, struct fs *fs, struct err *err)
{
    memset(t, 0, sizeof *t);
    t->spec = spec;
    t->time_type = spec->input->fields[spec->time_column].type;
    t->units_per_ms = timestamp_units_per_ms(t->time_type.precision);
    if (t->time_type.kind != TYPE_TIMESTAMP_LTZ)
        return RC_OK;
    RETURN_IF_ERR(zone_open(fs, spec->time_zone, &t->zone, err));
    if (zone_is_utc(t->zone)) {
        zone_free(t->zone);
        t->zone = NULL;
    }
    return RC_OK;
}

void tumble_close(struct tumble *t)
{
    zone_free(t->zone);
    memset(t, 0, sizeof *t);
}

enum rc tumble_end(const struct tumble *t, int64_t time, int64_t *end_ms, struct err *err)
{
    int64_t ms, since, start;

    if (t->zone != NULL)
        RETURN_IF_ERR(zone_timestamp_to_local(t->zone, time, t->time_type.precision, &time, err));
    ms = floor_div(time, t->units_per_ms);
    if (__builtin_sub_overflow(ms, t->spec->offset_ms, &since) ||
        __builtin_add_overflow(floor_div(since, t->spec->size_ms) * t->spec->size_ms, t->spec->offset_ms, &start) ||
        __builtin_add_overflow(start, t->spec->size_ms, end_ms))
        return err_set(err, RC_INVALID, "event time %lld ms lies outside what a window can hold", (long long)ms);
    return RC_OK;
}

int64_t tumble_fires_at(const struct tumble *t, int64_t end_ms)
{
    int64_t last_ms = end_ms - 1;

    if (t->zone == NULL)
        return last_ms;
    return zone_to_utc_s(t->zone, floor_div(last_ms, 1000)) * 1000 + (last_ms - floor_div(last_ms, 1000) * 1000);
}

enum rc tumble_ends(const struct tumble *t, const struct batch *in, int64_t *ends, struct err *err)
{
    const struct column *time = &in->columns[t->spec->time_column];
    const int64_t *values = time->values;

    for (uint32_t i = 0; i < in->rows; i++) {
        if (!column_present(time, i))
            return err_set(err, RC_INVALID,
                           "a row has no event time: column '%s' is null; filter such rows out (WHERE %s IS NOT NULL)",
                           t->spec->input->fields[t->spec->time_column].name,
                           t->spec->input->fields[t->spec->time_column].name);
        RETURN_IF_ERR(tumble_end(t, values[i], &ends[i], err));
    }
    return RC_OK;
}

void tumble_columns(const struct tumble *t, const int64_t *ends, uint32_t n, struct column *columns,
                    int64_t *values)
{
    const struct window_spec *spec = t->spec;
    uint32_t c = 0;

    if (spec->emit_start) {
        for (uint32_t i = 0; i < n; i++)
            values[i] = ends[i] - spec->size_ms;
        columns[c++] = (struct column){.type = type_of(TYPE_TIMESTAMP), .values = values};
        columns[c - 1].type.precision = 3;
        values += n;
    }
    if (spec->emit_end) {
        memcpy(values, ends, n * sizeof *ends);
        columns[c++] = (struct column){.type = type_of(TYPE_TIMESTAMP), .values = values};
        columns[c - 1].type.precision = 3;
        values += n;
    }
    if (spec->emit_time) {
        for (uint32_t i = 0; i < n; i++)
            values[i] = tumble_fires_at(t, ends[i]);
        columns[c++] = (struct column){.type = t->time_type, .values = values};
        columns[c - 1].type.precision = 3;
    }
}
