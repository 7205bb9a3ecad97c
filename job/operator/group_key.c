/* group_key.c - see group_key.h */
#include "job/operator/group_key.h"

#define KEY_TEXT_MAX 200u /* bytes of a key in a message */

static void key_schema(struct arena *a, const struct schema *input, const uint32_t *columns,
                       uint32_t count, struct schema *out)
{
    out->field_count = count;
    out->fields = ARENA_ARRAY(a, count + 1, struct schema_field);
    out->rowtime = -1;
    for (uint32_t i = 0; i < count; i++)
        out->fields[i] = input->fields[columns[i]];
}

const char *group_key_type(struct arena *a, const struct schema *input, const uint32_t *columns, uint32_t count)
{
    struct schema keys;

    key_schema(a, input, columns, count, &keys);
    for (uint32_t i = 0; i < count; i++)
        keys.fields[i].type.nullable = true; /* NOT NULL is not a part of the coding */
    return schema_str(a, &keys);
}

void group_key_init(struct group_key *g, const struct schema *input, const uint32_t *columns,
                    uint32_t count, uint32_t key_group_count, enum key_namespace ns)
{
    memset(g, 0, sizeof *g);
    g->arena = arena_new(0);
    g->columns = columns;
    g->count = count;
    g->key_group_count = key_group_count;
    g->ns = ns;
    key_schema(g->arena, input, columns, count, &g->schema);
    g->rows = row_key_new(input, count, columns, key_group_count, ns);
    g->type_text = group_key_type(g->arena, input, columns, count);
}

void group_key_release(struct group_key *g)
{
    row_key_free(g->rows);
    arena_free(g->arena);
    memset(g, 0, sizeof *g);
}

enum rc group_key_decode(const struct group_key *g, struct bytes key, struct batch_builder *out,
                         int64_t *window, uint32_t *group, struct err *err)
{
    const struct row_layout *l = row_key_layout(g->rows);
    struct key_parts parts;

    RETURN_IF_ERR(key_split(key, g->key_group_count, g->ns, &parts, err));
    RETURN_IF_ERR(binary_row_check(l, parts.row, "key in state", err));
    for (uint32_t i = 0; i < g->count; i++)
        row_field_append(l, parts.row.data, i, g->schema.fields[i].type, out, i);
    *window = parts.window;
    *group = parts.group;
    return RC_OK;
}

void group_key_print(const struct group_key *g, const struct column *keys, uint32_t row, struct buf *out)
{
    struct buf value = {0};

    buf_append_u8(out, '(');
    for (uint32_t i = 0; i < g->count; i++) {
        buf_clear(&value);
        column_print(&keys[i], row, &value);
        buf_printf(out, "%s%s = ", i > 0 ? ", " : "", g->schema.fields[i].name);
        buf_append(out, value.data, value.len < KEY_TEXT_MAX ? value.len : KEY_TEXT_MAX);
        if (value.len > KEY_TEXT_MAX)
            buf_printf(out, "... (%zu bytes)", value.len);
    }
    buf_append_u8(out, ')');
    buf_release(&value);
}
