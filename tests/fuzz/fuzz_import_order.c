/* fuzz_import_order.c - any bytes as what two processes of varve say to each other about an import: refused
 * with a reason, or read, and then written again it reads the same. */
#include "checkpoint/flink/flink_import_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_order(struct bytes in, struct arena *arena)
{
    struct import_order o = {0}, again = {0};
    struct buf out = {0}, second = {0};
    struct err err = {0};

    if (import_order_get(in, arena, &o, &err) != RC_OK) {
        ASSERT(err.rc == RC_CORRUPT && err.msg[0] != '\0');
        return;
    }
    import_order_put(&o, &out);
    ASSERT(import_order_get(buf_bytes(&out), arena, &again, &err) == RC_OK);
    import_order_put(&again, &second);
    ASSERT(bytes_eq(buf_bytes(&out), buf_bytes(&second)));
    buf_release(&out);
    buf_release(&second);
}

static void check_answer(struct bytes in, struct arena *arena)
{
    struct import_answer a = {0}, again = {0};
    struct buf out = {0}, second = {0};
    struct err err = {0};

    if (import_answer_get(in, arena, &a, &err) != RC_OK) {
        ASSERT(err.rc == RC_CORRUPT && err.msg[0] != '\0');
        return;
    }
    import_answer_put(&a, &out);
    ASSERT(import_answer_get(buf_bytes(&out), arena, &again, &err) == RC_OK);
    import_answer_put(&again, &second);
    ASSERT(bytes_eq(buf_bytes(&out), buf_bytes(&second)));
    buf_release(&out);
    buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);

    check_order(bytes_of(data, size), arena);
    check_answer(bytes_of(data, size), arena);
    arena_free(arena);
    return 0;
}
