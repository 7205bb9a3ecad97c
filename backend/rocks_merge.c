/* Merge operators: lists as Flink's databases have them, and totals (blind.h). Called by RocksDB's
 * threads and by readers; a value that cannot be merged is RocksDB's "Corruption: merge operator",
 * never an abort. */
#include "backend/blind.h"
#include "backend/rocks_priv.h"
#include "base/arena.h"

#include <rocksdb/c.h>

#define OPERATOR_NAME "StringAppendTESTOperator" /* that Flink's databases carry */
#define DELIMITER ','
#define OPERANDS_INLINE 16u

static void merged_free(void *state, const char *value, size_t len)
{
    (void)state, (void)len;
    mem_free((void *)(uintptr_t)value);
}

static const char *merge_name(void *state)
{
    (void)state;
    return OPERATOR_NAME;
}

static void merge_gone(void *state)
{
    (void)state;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* existing value, if any, and operands joined by the delimiter: what Flink's operator does. */
static char *join(void *state, const char *key, size_t key_len, const char *existing,
                  size_t existing_len, const char *const *operands, const size_t *lens, int count,
                  unsigned char *success, size_t *out_len)
{
    size_t total = existing != NULL ? existing_len : 0;
    bool first = existing == NULL;
    char *out, *p;

    (void)state, (void)key, (void)key_len;
    for (int i = 0; i < count; i++)
        total += lens[i] + 1;
    out = p = mem_alloc(total);
    if (existing != NULL && existing_len > 0)
        memcpy(p, existing, existing_len);
    p += existing != NULL ? existing_len : 0;
    for (int i = 0; i < count; i++) {
        if (!first)
            *p++ = DELIMITER;
        first = false;
        if (lens[i] > 0)
            memcpy(p, operands[i], lens[i]);
        p += lens[i];
    }
    *out_len = (size_t)(p - out);
    *success = 1;
    return out;
}

static char *join_nothing(void *state, const char *key, size_t key_len, const char *const *operands,
                          const size_t *lens, int count, unsigned char *success, size_t *out_len)
{
    (void)state, (void)key, (void)key_len, (void)operands, (void)lens, (void)count;
    *success = 0;
    *out_len = 0;
    return NULL;
}

rocksdb_mergeoperator_t *rocks_merge_lists(void)
{
    return rocksdb_mergeoperator_create(NULL, merge_gone, join, join_nothing, merged_free,
                                        merge_name);
}

/* ---- totals ---------------------------------------------------------------------------------- */

static char *total(struct bytes below, const char *const *operands, const size_t *lens, int count,
                   bool partial, unsigned char *success, size_t *out_len)
{
    struct bytes few[OPERANDS_INLINE];
    size_t n = count < 0 ? 0 : (size_t)count;
    struct bytes *slices = n <= OPERANDS_INLINE ? few : mem_alloc(n * sizeof *slices);
    struct buf out = {0};

    for (size_t i = 0; i < n; i++)
        slices[i] = bytes_of(operands[i], lens[i]);
    *success = blind_merge(below, slices, n, partial, &out);
    *out_len = *success ? out.len : 0;
    if (slices != few)
        mem_free(slices);
    if (*success)
        return (char *)out.data; /* merged_free frees it */
    buf_release(&out);
    return NULL;
}

static char *total_full(void *state, const char *key, size_t key_len, const char *existing,
                        size_t existing_len, const char *const *operands, const size_t *lens,
                        int count, unsigned char *success, size_t *out_len)
{
    struct bytes below = {(const uint8_t *)existing, existing_len};

    (void)state, (void)key, (void)key_len;
    return total(below, operands, lens, count, false, success, out_len);
}

static char *total_partial(void *state, const char *key, size_t key_len,
                           const char *const *operands, const size_t *lens, int count,
                           unsigned char *success, size_t *out_len)
{
    (void)state, (void)key, (void)key_len;
    return total((struct bytes){0}, operands, lens, count, true, success, out_len);
}

rocksdb_mergeoperator_t *rocks_merge_totals(void)
{
    return rocksdb_mergeoperator_create(NULL, merge_gone, total_full, total_partial, merged_free,
                                        merge_name);
}
