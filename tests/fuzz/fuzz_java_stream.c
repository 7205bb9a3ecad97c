/* fuzz_java_stream.c - any bytes as a Java object: refused with a reason, or a tree that can be walked; what was read whole is
 * the same without the bytes behind it, and is refused at one byte less. Seeds: what Flink wrote. */
#include "checkpoint/flink/java_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Trees share branches: `left` bounds the walk. */
static uint64_t walk(const struct java_value *v, uint32_t depth, uint32_t *left)
{
    uint64_t sum = 0;

    if (depth > JAVA_DEPTH_MAX || *left == 0)
        return 0;
    --*left;
    for (size_t i = 0; i < v->text.len; i++)
        sum += v->text.data[i];
    for (size_t i = 0; i < v->class_name.len; i++)
        sum += v->class_name.data[i];
    for (size_t i = 0; i < v->field_count; i++) {
        ASSERT(v->fields[i].name.data != NULL);
        sum += walk(v->fields[i].value, depth + 1, left);
    }
    for (size_t i = 0; i < v->item_count; i++)
        sum += walk(v->items[i], depth + 1, left);
    return sum + (uint64_t)v->integer + v->kind;
}

static enum rc read(struct bytes b, struct arena *arena, size_t *end, uint64_t *sum)
{
    const struct java_value *value = NULL;
    uint32_t left = 10000;
    struct err err = {0};
    struct reader r;
    enum rc rc;

    reader_init(&r, b, "fuzz");
    rc = java_stream_read(&r, arena, &value, &err);
    ASSERT(r.pos <= b.len);
    ASSERT(rc == RC_OK ? value != NULL : err.rc == rc && err.msg[0] != '\0');
    *end = r.pos;
    *sum = rc == RC_OK ? walk(value, 0, &left) : 0;
    if (rc == RC_OK)
        (void)java_field(value, "checkpointType");
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    size_t end, again;
    uint64_t sum, same;

    if (read(bytes_of(data, size), arena, &end, &sum) == RC_OK) {
        ASSERT(read(bytes_of(data, end), arena, &again, &same) == RC_OK && again == end && same == sum);
        ASSERT(read(bytes_of(data, end - 1), arena, &again, &same) == RC_CORRUPT);
    }
    arena_free(arena);
    return 0;
}
