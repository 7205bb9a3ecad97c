/* vv_scan.c - scans (varve_state.h): a cursor of the engine, or a copy of all it gives. */
#include "backend/vv_priv.h"

#define COPY_ROWS 1024u

struct entry {
    size_t at; /* of the key in `data`; the value is behind it */
    size_t key_len, value_len;
};
struct vv_scan {
    vv_state *state;
    vv_scan *next;               /* in state->scans or state->copies */
    struct keyed_cursor *cursor; /* live; NULL: a copy */
    bool failed;
    struct buf data;
    struct entry *entries;
    size_t count, cap, given;
};

static void copy_entry(vv_scan *s, struct bytes key, struct bytes value)
{
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? COPY_ROWS : s->cap * 2;
        s->entries = mem_realloc(s->entries, s->cap * sizeof *s->entries);
    }
    s->entries[s->count++] = (struct entry){s->data.len, key.len, value.len};
    buf_append(&s->data, key.data, key.len);
    buf_append(&s->data, value.data, value.len);
}

static enum rc copy_all(vv_scan *s, struct err *err)
{
    struct bytes keys[COPY_ROWS], values[COPY_ROWS];
    uint32_t got;

    do {
        RETURN_IF_ERR(keyed_scan_next(s->cursor, COPY_ROWS, keys, values, &got, err));
        for (uint32_t i = 0; i < got; i++)
            copy_entry(s, keys[i], values[i]);
    } while (got > 0);
    keyed_scan_close(s->cursor);
    s->cursor = NULL;
    buf_append_u8(&s->data, 0); /* so that an empty value at the end has data */
    return RC_OK;
}

static enum rc scan_open(vv_state *state, vv_bytes prefix, unsigned flags, vv_scan **out,
                         struct err *err)
{
    vv_scan *s;
    enum rc rc;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(state);
    if (flags != VV_SCAN_LIVE && flags != VV_SCAN_COPY)
        return err_set(err, RC_INVALID, "flags %u", flags);
    if (prefix.data == NULL && prefix.len > 0)
        return err_set(err, RC_INVALID, "prefix is NULL");
    s = mem_calloc(1, sizeof *s);
    s->state = state;
    rc = keyed_scan_range(state->rows, bytes_in(prefix), (struct bytes){0}, (struct bytes){0},
                          &s->cursor, err);
    if (rc == RC_OK && flags == VV_SCAN_COPY)
        rc = copy_all(s, err);
    s->next = s->cursor != NULL ? state->scans : state->copies;
    *(s->cursor != NULL ? &state->scans : &state->copies) = s;
    if (rc != RC_OK) {
        vv_scan_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

vv_code vv_scan_open(vv_state *state, vv_bytes prefix, unsigned flags, vv_scan **out,
                     vv_error *error)
{
    ANSWER(scan_open(state, prefix, flags, out, err));
}

static enum rc scan_open_group(vv_state *state, uint32_t group, unsigned flags, vv_scan **out,
                               struct err *err)
{
    uint8_t prefix[2];

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(state);
    if (!key_group_range_has(state->store->range, group))
        return err_set(err, RC_INVALID, "key group %u is outside %u..%u", group,
                       state->store->range.first, state->store->range.last);
    keygroup_put_prefix(prefix, state->store->prefix_len, group);
    return scan_open(state, (vv_bytes){prefix, state->store->prefix_len}, flags, out, err);
}

vv_code vv_scan_open_group(vv_state *state, uint32_t group, unsigned flags, vv_scan **out,
                           vv_error *error)
{
    ANSWER(scan_open_group(state, group, flags, out, err));
}

static enum rc scan_next(vv_scan *s, uint32_t max, vv_bytes *keys, vv_bytes *values, uint32_t *got,
                         struct err *err)
{
    CHECK_NULL(got);
    *got = 0;
    CHECK_NULL(s);
    CHECK_NULL(keys);
    CHECK_NULL(values);
    if (max == 0)
        return err_set(err, RC_INVALID, "max is 0");
    if (s->failed)
        return err_set(err, RC_STATE, "an earlier call on the scan failed");
    if (s->cursor != NULL) {
        enum rc rc =
            keyed_scan_next(s->cursor, max, (struct bytes *)keys, (struct bytes *)values, got, err);

        if (rc != RC_OK) {
            s->failed = true; /* what comes behind the failure is not all */
            *got = 0;
        }
        return rc;
    }
    for (; *got < max && s->given < s->count; (*got)++, s->given++) {
        const struct entry *e = &s->entries[s->given];

        keys[*got] = (vv_bytes){s->data.data + e->at, e->key_len};
        values[*got] = (vv_bytes){s->data.data + e->at + e->key_len, e->value_len};
    }
    return RC_OK;
}

vv_code vv_scan_next(vv_scan *scan, uint32_t max, vv_bytes *keys, vv_bytes *values, uint32_t *got,
                     vv_error *error)
{
    ANSWER(scan_next(scan, max, keys, values, got, err));
}

static void unlink_scan(vv_scan **list, const vv_scan *s)
{
    for (; *list != NULL; list = &(*list)->next) {
        if (*list == s) {
            *list = s->next;
            return;
        }
    }
}

void vv_scan_close(vv_scan *s)
{
    if (s == NULL)
        return;
    unlink_scan(&s->state->scans, s);
    unlink_scan(&s->state->copies, s);
    keyed_scan_close(s->cursor);
    buf_release(&s->data);
    mem_free(s->entries);
    mem_free(s);
}
