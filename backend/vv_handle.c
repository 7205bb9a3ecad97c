/* vv_handle.c - handles of snapshots (varve_state.h). */
#include "backend/vv_priv.h"

#include "backend/handle_codec.h"

vv_handle *handle_new(void)
{
    vv_handle *h = mem_calloc(1, sizeof *h);

    h->arena = arena_new(0);
    return h;
}

void vv_handle_free(vv_handle *h)
{
    if (h == NULL)
        return;
    arena_free(h->arena);
    mem_free(h);
}

void file_out(const struct state_file *f, vv_file *out)
{
    static const vv_scope scopes[] = {[FILE_INLINE] = VV_FILE_INLINE,
                                      [FILE_EXCLUSIVE] = VV_FILE_EXCLUSIVE,
                                      [FILE_SHARED] = VV_FILE_SHARED};

    *out = (vv_file){
        .local_name = f->local_name,
        .scope = scopes[f->scope],
        .reference = f->path == NULL ? "" : f->path,
        .size_bytes = f->size_bytes,
        .newly_written = f->newly_written,
    };
    memcpy(out->digest, f->digest.b, sizeof out->digest);
    if (f->scope == FILE_INLINE)
        out->content = bytes_out(f->inline_bytes);
}

static enum rc info_get(const vv_handle *handle, vv_handle_info *out, struct err *err)
{
    const struct keyed_handle *h;

    CHECK_NULL(handle);
    CHECK_NULL(out);
    h = &handle->h;
    *out = (vv_handle_info){
        .backend = h->kind == KEYED_ROCKS ? "rocksdb" : "hashmap",
        .store_id = h->backend_id,
        .first_group = h->range.first,
        .last_group = h->range.last,
        .group_count = h->key_group_count,
        .file_count = h->file_count,
        .state_count = h->state_count,
    };
    for (size_t i = 0; i < h->file_count; i++) {
        out->full_bytes += h->files[i].size_bytes;
        out->new_bytes += h->files[i].newly_written ? h->files[i].size_bytes : 0;
    }
    return RC_OK;
}

vv_code vv_handle_info_get(const vv_handle *handle, vv_handle_info *out, vv_error *error)
{
    ANSWER(info_get(handle, out, err));
}

static enum rc file_at(const vv_handle *handle, size_t index, vv_file *out, struct err *err)
{
    CHECK_NULL(handle);
    CHECK_NULL(out);
    if (index >= handle->h.file_count)
        return err_set(err, RC_NOT_FOUND, "file %zu of %zu", index, handle->h.file_count);
    file_out(&handle->h.files[index], out);
    return RC_OK;
}

vv_code vv_handle_file(const vv_handle *handle, size_t index, vv_file *out, vv_error *error)
{
    ANSWER(file_at(handle, index, out, err));
}

static enum rc state_of(const vv_handle *handle, size_t index, vv_state_desc *out, struct err *err)
{
    CHECK_NULL(handle);
    CHECK_NULL(out);
    if (index >= handle->h.state_count)
        return err_set(err, RC_NOT_FOUND, "state %zu of %zu", index, handle->h.state_count);
    desc_out(&handle->h.states[index], out);
    return RC_OK;
}

vv_code vv_handle_state(const vv_handle *handle, size_t index, vv_state_desc *out, vv_error *error)
{
    ANSWER(state_of(handle, index, out, err));
}

size_t vv_handle_encode(const vv_handle *handle, void *out, size_t cap)
{
    struct buf b = {0};
    size_t len;

    if (handle == NULL)
        return 0;
    handle_encode(&handle->h, &b);
    len = b.len;
    if (out != NULL && cap >= len)
        memcpy(out, b.data, len);
    buf_release(&b);
    return len;
}

static enum rc decode(const void *data, size_t len, vv_handle **out, struct err *err)
{
    vv_handle *h;
    enum rc rc;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(data);
    h = handle_new();
    rc = handle_decode(bytes_of(data, len), h->arena, &h->h, err);
    if (rc != RC_OK) {
        vv_handle_free(h);
        return rc;
    }
    *out = h;
    return RC_OK;
}

vv_code vv_handle_decode(const void *data, size_t len, vv_handle **out, vv_error *error)
{
    ANSWER(decode(data, len, out, err));
}
