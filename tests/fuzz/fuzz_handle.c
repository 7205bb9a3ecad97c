/* Handles from outside. The digest would stop every change, so header and digest are made to fit:
 * what is fuzzed is what stands behind them. What is accepted must come out the same again, and be
 * good enough to open a store from: an answer, never an abort. */
#include "backend/handle_codec.h"
#include "backend/varve_state.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static vv_code nowhere(void *ctx, const vv_handle *h, const struct vv_file *f, char *path,
                       vv_error *error)
{
    (void)ctx;
    (void)h;
    (void)f;
    (void)error;
    memcpy(path, "/nowhere", sizeof "/nowhere");
    return VV_OK;
}

static void open_store(struct bytes bytes, const struct keyed_handle *h)
{
    vv_restore restore = {.resolve = nowhere};
    vv_store_config config = {.first_group = h->range.first,
                              .last_group = h->range.last,
                              .group_count = h->key_group_count,
                              .restore = &restore,
                              .restore_count = 1};
    vv_handle *handle;
    vv_store *store;

    if (vv_handle_decode(bytes.data, bytes.len, &handle, NULL) != VV_OK)
        abort();
    restore.handle = handle;
    if (vv_store_open(&config, &store, NULL) == VV_OK)
        vv_store_close(store);
    vv_handle_free(handle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct buf bytes = {0}, again = {0};
    struct keyed_handle h;
    struct digest128 digest = digest_of(bytes_of(data, size));
    uint8_t header[48] = "VARVEHDL\1";

    put_le64(header + 16, size);
    memcpy(header + 24, digest.b, sizeof digest.b);
    put_le64(header + 40, hash64(bytes_of(header, 40)));
    buf_append(&bytes, header, sizeof header);
    buf_append(&bytes, data, size);
    if (handle_decode(buf_bytes(&bytes), arena, &h, NULL) == RC_OK) {
        handle_encode(&h, &again);
        if (again.len <= bytes.len && handle_decode(buf_bytes(&again), arena, &h, NULL) != RC_OK)
            abort();
        open_store(buf_bytes(&bytes), &h);
    }
    buf_release(&bytes);
    buf_release(&again);
    arena_free(arena);
    return 0;
}
