/* Rows from outside: whatever binary_row_check lets through must be safe to read. First two bytes
 * choose the layout. */
#include "backend/binary_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum field_kind kinds[16];
    struct row_layout l;
    struct err err = {0};
    uint32_t count, seed, nanos;
    uint64_t sum = 0;

    if (size < 2)
        return 0;
    count = data[0] % 16u;
    seed = data[1];
    for (uint32_t i = 0; i < count; i++)
        kinds[i] = (enum field_kind)((seed + i * (1 + seed / 10)) % 10);
    row_layout_init(&l, kinds, count);
    if (binary_row_check(&l, bytes_of(data + 2, size - 2), "fuzz", &err) != RC_OK)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        struct bytes b;

        if (binary_row_is_null(data + 2, i))
            continue;
        switch (kinds[i]) {
        case FIELD_BYTES:
            b = binary_row_bytes(&l, data + 2, i);
            for (size_t j = 0; j < b.len; j++)
                sum += b.data[j];
            break;
        case FIELD_DECIMAL_WIDE:
            sum += (uint64_t)binary_row_decimal(&l, data + 2, i);
            break;
        case FIELD_TIMESTAMP_WIDE:
            sum += (uint64_t)binary_row_timestamp(&l, data + 2, i, &nanos) + nanos;
            break;
        case FIELD_F32:
            sum += binary_row_f32(&l, data + 2, i) > 0;
            break;
        case FIELD_F64:
            sum += binary_row_f64(&l, data + 2, i) > 0;
            break;
        default:
            sum += (uint64_t)binary_row_int(&l, data + 2, i);
        }
    }
    return sum == 0x123456789abcdefull ? 1 : 0;
}
