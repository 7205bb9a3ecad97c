/* flink_totals.c - see flink_totals.h */
#include "checkpoint/flink/flink_totals.h"

#include "checkpoint/state_types.h"

bool flink_totals_are(const struct state_desc *d)
{
    return strcmp(d->name, "accState") == 0 || strcmp(d->name, "window-aggs") == 0;
}

static uint32_t bytes_of_type(const char *type)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } narrow[] = {{"TINYINT", 1}, {"SMALLINT", 2}, {"INT", 4}};

    for (size_t i = 0; i < ARRAY_LEN(narrow); i++)
        if (strcmp(narrow[i].name, type) == 0)
            return narrow[i].bytes;
    return 0;
}

size_t flink_totals_narrow(const struct state_desc *d, struct arena *arena,
                           const struct narrow_slot **out)
{
    struct type_column *columns;
    struct narrow_slot *slots;
    size_t count, n = 0;
    uint32_t first;

    *out = NULL;
    if (!flink_totals_are(d) || strcmp(d->value_type, "ROW<>") == 0)
        return 0;
    count = type_columns(d->value_type, arena, &columns);
    slots = ARENA_ARRAY(arena, count + 1, struct narrow_slot);
    first = (d->ttl_ms > 0 ? 8u : 0u) + 4u + (uint32_t)((count + 63 + 8) / 64 * 8);
    for (size_t i = 0; i < count; i++) {
        uint32_t bytes = bytes_of_type(columns[i].type);

        if (bytes > 0)
            slots[n++] = (struct narrow_slot){first + 8 * (uint32_t)i, bytes};
    }
    *out = slots;
    return n;
}

void flink_totals_widen(const struct narrow_slot *slots, size_t count, uint8_t *value)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t unused = 64 - 8 * slots[i].bytes;
        uint8_t *at = value + slots[i].offset;

        put_le64(at, (uint64_t)((int64_t)(get_le64(at) << unused) >> unused));
    }
}
