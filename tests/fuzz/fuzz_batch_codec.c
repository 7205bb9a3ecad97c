/* fuzz_batch_codec.c - any bytes as a block of rows in flight, and as a file of them. Hashes and checks are made to fit: what is
 * fuzzed is what stands behind them. What is decoded encodes and decodes again to the same bytes. */
#include "base/hash.h"
#include "job/batch_codec.h"
#include "job/runtime/inflight_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct schema_field fields[] = {
    {"b", {TYPE_BOOLEAN, true, 0, 0, 0}},   {"i", {TYPE_INT, true, 0, 0, 0}},
    {"m", {TYPE_DECIMAL, true, 38, 2, 0}},  {"v", {TYPE_VARCHAR, true, 0, 0, 100}},
    {"y", {TYPE_VARBINARY, true, 0, 0, 100}},
};
static struct schema schema = {ARRAY_LEN(fields), fields, -1};

static void encode_again(struct batch_builder *b)
{
    struct batch_builder *second = batch_builder_new(&schema);
    struct buf first_bytes = {0}, second_bytes = {0};
    struct reader in;
    struct err err = {0};

    ASSERT(batch_encode(batch_builder_view(b), &first_bytes, &err) == RC_OK);
    reader_init(&in, buf_bytes(&first_bytes), "fuzz");
    ASSERT(batch_decode(&in, &schema, second, &err) == RC_OK);
    ASSERT(batch_encode(batch_builder_view(second), &second_bytes, &err) == RC_OK);
    ASSERT(bytes_eq(buf_bytes(&first_bytes), buf_bytes(&second_bytes)));
    buf_release(&first_bytes);
    buf_release(&second_bytes);
    batch_builder_free(second);
}

static void block(const uint8_t *data, size_t size)
{
    struct batch_builder *b = batch_builder_new(&schema);
    uint32_t rows = 1 + data[0] % 40;
    struct buf in_bytes = {0};
    struct reader in;
    struct err err = {0};
    enum rc rc;

    buf_append_le32(&in_bytes, (uint32_t)(size - 1));
    buf_append_le32(&in_bytes, rows);
    buf_append_le64(&in_bytes, hash64_seed(bytes_of(data + 1, size - 1), rows));
    buf_append(&in_bytes, data + 1, size - 1);
    reader_init(&in, buf_bytes(&in_bytes), "fuzz");
    rc = batch_decode(&in, &schema, b, &err);
    if (rc == RC_OK)
        encode_again(b);
    else
        ASSERT(err.rc == rc && err.msg[0] != '\0' && batch_builder_rows(b) == 0);
    buf_release(&in_bytes);
    batch_builder_free(b);
}

static enum rc take(void *ctx, struct batch *b_take, struct err *err)
{
    (void)err;
    *(uint64_t *)ctx += b_take->rows;
    batch_free(b_take);
    return RC_OK;
}

static void file(const uint8_t *data, size_t size, bool with_head)
{
    struct arena *arena = arena_new(0);
    struct buf content = {0};
    struct err err = {0};
    uint64_t rows, seen = 0;
    enum rc rc;

    if (with_head)
        inflight_file_head(inflight_row_type(arena, &schema), &content);
    buf_append(&content, data, size);
    rc = inflight_file_decode(buf_bytes(&content), "fuzz", &schema, take, &seen, &rows, &err);
    ASSERT(rc == RC_OK ? rows == seen : err.rc == rc && err.msg[0] != '\0');
    buf_release(&content);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    block(data, size);
    file(data, size, false);
    file(data, size, true);
    return 0;
}
