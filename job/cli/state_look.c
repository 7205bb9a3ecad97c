/* state_look.c - see state_look.h */
#include "job/cli/state_look.h"

const struct plain_column look_list_columns[LOOK_LIST_COLUMNS] = {
    {"operator", TYPE_VARCHAR},       {"state", TYPE_VARCHAR},        {"kind", TYPE_VARCHAR},
    {"entries", TYPE_BIGINT},         {"estimated", TYPE_BOOLEAN},    {"key_bytes", TYPE_BIGINT},
    {"value_bytes", TYPE_BIGINT},     {"ttl_ms", TYPE_BIGINT},        {"parallelism", TYPE_BIGINT},
    {"max_parallelism", TYPE_BIGINT}, {"operator_id", TYPE_VARCHAR},  {"key_type", TYPE_VARCHAR},
    {"namespace_type", TYPE_VARCHAR}, {"map_key_type", TYPE_VARCHAR}, {"value_type", TYPE_VARCHAR},
};
const struct plain_column look_count_columns[LOOK_COUNT_COLUMNS] = {
    {"operator", TYPE_VARCHAR}, {"state", TYPE_VARCHAR},    {"key_group", TYPE_BIGINT},
    {"entries", TYPE_BIGINT},   {"key_bytes", TYPE_BIGINT}, {"value_bytes", TYPE_BIGINT},
};

void look_progress(void *ctx, uint64_t done_groups, uint64_t all_groups)
{
    meter_show(ctx, "key groups", done_groups, all_groups, false);
}

struct schema look_schema(struct arena *a, const struct plain_column *columns, uint32_t count)
{
    struct schema s = {count, ARENA_ARRAY(a, count, struct schema_field), -1};

    for (uint32_t i = 0; i < count; i++)
        s.fields[i] = (struct schema_field){columns[i].name, type_of(columns[i].kind)};
    return s;
}

void look_put_text(struct batch_builder *b, uint32_t *column, struct bytes text)
{
    batch_append_bytes(b, (*column)++, text);
}

void look_put_str(struct batch_builder *b, uint32_t *column, const char *text)
{
    look_put_text(b, column, bytes_of_str(text));
}

void look_put_num(struct batch_builder *b, uint32_t *column, uint64_t n)
{
    batch_append_int(b, (*column)++, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static enum rc put_tally(struct look_tally *t, struct err *err)
{
    struct batch_builder *b = row_writer_rows(t->w);
    uint32_t c = 0;

    look_put_text(b, &c, t->operator_word);
    look_put_text(b, &c, t->state);
    if (t->group < 0)
        batch_append_null(b, c++);
    else
        look_put_num(b, &c, (uint64_t)t->group);
    look_put_num(b, &c, t->entries);
    look_put_num(b, &c, t->key_bytes);
    look_put_num(b, &c, t->value_bytes);
    batch_row_end(b, ROW_INSERT);
    t->entries = t->key_bytes = t->value_bytes = 0;
    return row_writer_next(t->w, err);
}

enum rc look_tally_add(struct look_tally *t, uint32_t prefix_len, struct bytes key,
                       struct bytes value, struct err *err)
{
    if (t->per_group && keygroup_get_prefix(key.data, prefix_len) != t->group) {
        if (t->entries > 0)
            RETURN_IF_ERR(put_tally(t, err));
        t->group = keygroup_get_prefix(key.data, prefix_len);
    }
    t->entries++;
    t->key_bytes += key.len;
    t->value_bytes += value.len;
    return RC_OK;
}

enum rc look_tally_end(struct look_tally *t, struct err *err)
{
    return t->per_group && t->entries == 0 ? RC_OK : put_tally(t, err);
}
