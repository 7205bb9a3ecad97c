/* Types of keyed states, as a _metadata has them: taken apart, shown side by side, fitted to the calls of a query,
 * described as Flink does. The input is lines: key type, value type, bytes of a value, name of a further state, its value type. */
#include "checkpoint/flink/flink_describe.h"
#include "checkpoint/state_types.h"
#include "job/operator/totals_fit.h"

#include <stdlib.h>

static const char *line(struct arena *a, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *from = *at, *to = from;

    while (to < end && *to != '\n' && *to != '\0')
        to++;
    *at = to < end ? to + 1 : end;
    return arena_strndup(a, (const char *)from, (size_t)(to - from));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct schema_field fields[] = {{"k", {.kind = TYPE_BIGINT}}, {"v", {.kind = TYPE_INT}}, {"s", {.kind = TYPE_VARCHAR}}};
    static const struct schema input = {.field_count = 3, .fields = fields, .rowtime = -1};
    static const struct agg_call calls[] = {{AGG_COUNT_STAR, false, -1, -1, {.kind = TYPE_BIGINT}, "COUNT(*)"},
                                            {AGG_MAX, false, 1, -1, {.kind = TYPE_INT}, "MAX(v)"},
                                            {AGG_MIN, false, 2, -1, {.kind = TYPE_VARCHAR}, "MIN(s)"},
                                            {AGG_COUNT, true, 1, -1, {.kind = TYPE_BIGINT}, "COUNT(DISTINCT v)"}};
    static const uint32_t keys[] = {0};
    struct totals_config config = {.state_name = "accState", .input = &input, .key_count = 1, .keys = keys, .call_count = 4, .calls = calls};
    struct arena *a = arena_new(0);
    const uint8_t *at = data, *end = data + size;
    struct state_desc old[2] = {{.name = "accState", .kind = STATE_VALUE, .namespace_type = "VOID", .user_key_type = "", .operand_operator = ""}};
    struct fit_request r = {"op", 2, old, size % 2 == 0, a};
    struct state_fit fit;
    struct buf text = {0};
    struct err err = {0};

    old[1] = old[0];
    old[0].key_type = old[1].key_type = line(a, &at, end);
    old[0].value_type = line(a, &at, end);
    old[0].fixed_value_bytes = (uint32_t)strtoul(line(a, &at, end), NULL, 10);
    old[1].name = line(a, &at, end);
    old[1].value_type = old[1].user_key_type = line(a, &at, end);
    state_differences(&old[0], &old[1], &text);
    if (strcmp(old[1].name, "accState") != 0 && totals_fit(&r, &config, &fit, &err) == RC_OK)
        for (size_t i = 0; i < fit.change_count; i++) {
            const struct state_change *c = &fit.changes[i];

            if (c->is != NULL && c->was->fixed_value_bytes < 1u << 20) {
                uint8_t *from = arena_calloc(a, c->was->fixed_value_bytes + 4, 1), *to = arena_calloc(a, c->is->fixed_value_bytes, 1);

                put_be32(from, c->was->fixed_value_bytes - 4);
                (void)!c->convert(c->ctx, from, to, &err);
            }
        }
    buf_clear(&text);
    err_clear(&err);
    old[1].kind = size % 3 == 0 ? STATE_MAP : STATE_LIST;
    if (old[1].name[0] != '\0' && strlen(old[1].name) < 256)
        ASSERT(flink_describe_keyed(old, 2, &text, &err) == err.rc);
    buf_release(&text);
    arena_free(a);
    return 0;
}
