/* fuzz_flink_mapping.c - any bytes as a mapping file: refused with a reason, or read, and then each of
 * its states against one of Flink's and one of a job's, with an entry of those that fit. */
#include "checkpoint/flink/flink_convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct flink_serializer string = {.coding = FLINK_STRING, .length = -1}, integer = {.coding = FLINK_LONG, .length = 8};
static const struct flink_serializer *parts[] = {&string, &integer};
static const struct flink_serializer tuple = {.coding = FLINK_TUPLE, .child_count = 2, .children = parts, .length = -1};

static void convert(const struct mapped_state *mapped, struct arena *arena)
{
    const struct state_desc wanted = {.name = "accState", .kind = STATE_VALUE, .key_type = "ROW<`k` STRING, `d` DECIMAL(20, 2)>", .namespace_type = "VOID",
                                      .user_key_type = "", .value_type = "ROW<`COUNT(*)` BIGINT, `SUM(v)$low` BIGINT, `SUM(v)$high` BIGINT, `SUM(v)$count` BIGINT, `MAX(t)` DOUBLE>"};
    const struct flink_state state = {.name = bytes_of_str("s"), .kind = FLINK_STATE_KEYED, .type = FLINK_TYPE_VALUE, .value = &tuple};
    const struct convert_request r = {.file = "fuzz", .mapped = mapped, .key = &tuple, .state = &state, .wanted = &wanted, .key_group_count = 128};
    struct flink_value values[] = {{.kind = FLINK_VALUE_TEXT, .text = bytes_of_str("x"), .name = bytes_of_str("f0")},
                                   {.kind = FLINK_VALUE_INTEGER, .integer = 7, .name = bytes_of_str("f1")}};
    struct flink_key key = {.key = {.kind = FLINK_VALUE_RECORD, .part_count = 2, .parts = values}};
    struct flink_entry entry = {.value = key.key};
    struct buf said = {0}, k = {0}, v = {0};
    const struct flink_convert *c = flink_convert_make(&r, arena, &said);
    struct err err = {0};
    bool none;

    ASSERT((c == NULL) == (said.len > 0));
    if (c != NULL) {
        for (size_t i = 0; i < flink_convert_columns(c); i++)
            buf_append_str(&said, flink_convert_column(c, i, arena));
        if (flink_convert_entry(c, &key, &entry, &k, &v, &none, &err) == RC_OK)
            flink_convert_print_key(c, buf_bytes(&k), &said);
        else
            ASSERT(err.msg[0] != '\0');
    }
    buf_release(&said);
    buf_release(&k);
    buf_release(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct flink_mapping m;
    struct err err = {0};

    if (flink_mapping_read(bytes_of(data, size), "fuzz", arena, &m, &err) == RC_OK) {
        for (size_t i = 0; i < m.operator_count; i++)
            for (size_t k = 0; k < m.operators[i].state_count; k++)
                convert(&m.operators[i].states[k], arena);
    } else {
        ASSERT(err.msg[0] != '\0');
    }
    arena_free(arena);
    return 0;
}
