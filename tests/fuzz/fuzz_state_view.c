/* Entries of keyed state by types that a _metadata has: shown, whatever the types and the bytes are. The input: a byte for kind and
 * namespace, one for the size of values, one for a time-to-live; lines: key type, map key type, value type; u16 length of the key,
 * key, value. Then the value's bytes as the text of a key. */
#include "job/state_view.h"

#include <stdlib.h>

static const char *line(struct arena *a, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *from = *at, *to = from;

    while (to < end && *to != '\n' && *to != '\0')
        to++;
    *at = to < end ? to + 1 : end;
    return arena_strndup(a, (const char *)from, (size_t)(to - from));
}

/* What was appended has to be printable. */
static void print_all(const struct schema *s, struct batch_builder *b)
{
    const struct batch *batch = batch_builder_view(b);
    struct buf text = {0};

    for (uint32_t r = 0; r < batch->rows; r++)
        for (uint32_t c = 0; c < s->field_count; c++)
            column_print(&batch->columns[c], r, &text);
    buf_release(&text);
}

static void look(struct state_view *v, struct bytes key, struct bytes value, struct arena *a)
{
    struct batch_builder *b = batch_builder_new(state_view_schema(v));
    struct err err = {0};
    struct buf prefix = {0};
    bool whole;

    if (state_view_append(v, key, value, b, &err) == RC_OK)
        print_all(state_view_schema(v), b);
    err_clear(&err);
    if (state_view_key(v, arena_strndup(a, (const char *)value.data, value.len), &prefix, &whole, &err) == RC_OK && prefix.len == 0)
        abort();
    buf_release(&prefix);
    batch_builder_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const namespaces[] = {"VOID", "BIGINT", "BYTES"};
    const uint8_t *at = data + 3, *end = data + size;
    struct state_desc d = {.name = "s", .operand_operator = ""};
    struct arena *a = arena_new(0);
    struct state_view *v;
    struct err err = {0};
    size_t key_len;

    if (size >= 3) {
        d.kind = (enum state_kind)(1 + data[0] % 6);
        d.namespace_type = namespaces[data[0] / 6 % 3];
        d.fixed_value_bytes = data[1];
        d.ttl_ms = data[2];
        d.key_type = line(a, &at, end);
        d.user_key_type = line(a, &at, end);
        d.value_type = line(a, &at, end);
        key_len = end - at < 2 ? 0 : get_be16(at);
        at += end - at < 2 ? 0 : 2;
        if (key_len > (size_t)(end - at))
            key_len = (size_t)(end - at);
        if (state_view_new(&d, data[0] & 0x80 ? 128 : 4096, false, &v, &err) == RC_OK) {
            look(v, bytes_of(at, key_len), bytes_of(at + key_len, (size_t)(end - at) - key_len), a);
            state_view_free(v);
        }
    }
    arena_free(a);
    return 0;
}
