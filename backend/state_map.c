/* state_map.c - map state: one entry a map key; iteration in pages. */
#include "backend/state_priv.h"

#define PAGE_LEAST 16u
#define PAGE_MOST 4096u
#define PAGE_BYTES_MOST (1u << 20)
#define CLEAR_PAGE 1024u

/* keys and map keys -> entry keys in s->joined. */
static enum rc join_keys(struct state *s, const struct key_batch *keys,
                         const struct bytes *user_keys, struct key_batch *out, struct err *err)
{
    RETURN_IF_ERR(state_check_kind(s, STATE_MAP, "no map", err));
    key_builder_clear(&s->joined);
    for (uint32_t i = 0; i < keys->count; i++)
        RETURN_IF_ERR(
            key_builder_add_joined(&s->joined, key_batch_at(keys, i), user_keys[i], err));
    *out = key_builder_batch(&s->joined);
    return RC_OK;
}

enum rc state_map_get(struct state *s, const struct key_batch *keys, const struct bytes *user_keys,
                      struct bytes *values, uint8_t *present, struct err *err)
{
    struct key_batch entries;

    RETURN_IF_ERR(join_keys(s, keys, user_keys, &entries, err));
    state_reserve(s, entries.count);
    return rows_get(s, &entries, values == NULL ? s->values : values,
                    present == NULL ? s->marks : present, err);
}

enum rc state_map_put(struct state *s, const struct key_batch *keys, const struct bytes *user_keys,
                      const struct bytes *values, struct err *err)
{
    struct key_batch entries;

    RETURN_IF_ERR(join_keys(s, keys, user_keys, &entries, err));
    return rows_put(s, &entries, values, err);
}

enum rc state_map_remove(struct state *s, const struct key_batch *keys,
                         const struct bytes *user_keys, struct err *err)
{
    struct key_batch entries;

    RETURN_IF_ERR(join_keys(s, keys, user_keys, &entries, err));
    return keyed_del(s->rows, &entries, err);
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct page {
    struct buf data;
    struct bytes keys[PAGE_MOST], values[PAGE_MOST]; /* whole entry keys, stored values */
    uint32_t count;
    bool last;
};

/* Up to `max` entries of the map behind the entry key `after` (empty: from the first on), copied. */
static enum rc read_page(struct state *s, struct bytes owner, struct buf *after, uint32_t max,
                         struct page *page, struct err *err)
{
    struct keyed_cursor *c;
    uint32_t got;
    size_t at = 0;
    enum rc rc;

    page->count = 0;
    buf_clear(&page->data);
    if (after->len > 0)
        buf_append_u8(after, 0); /* the smallest key above it */
    RETURN_IF_ERR(keyed_scan_range(s->rows, owner, buf_bytes(after), (struct bytes){0}, &c, err));
    do {
        struct bytes *keys = page->keys + page->count, *values = page->values + page->count;

        rc = keyed_scan_next(c, max - page->count < PAGE_LEAST ? max - page->count : PAGE_LEAST,
                             keys, values, &got, err);
        for (uint32_t i = 0; rc == RC_OK && i < got; i++) {
            buf_append(&page->data, keys[i].data, keys[i].len);
            buf_append(&page->data, values[i].data, values[i].len);
        }
        page->count += rc == RC_OK ? got : 0;
    } while (rc == RC_OK && got > 0 && page->count < max && page->data.len < PAGE_BYTES_MOST);
    keyed_scan_close(c);
    page->last = got == 0;
    for (uint32_t i = 0; i < page->count; i++) { /* the data holds still now */
        page->keys[i].data = page->data.data + at;
        at += page->keys[i].len;
        page->values[i].data = page->data.data + at;
        at += page->values[i].len;
    }
    if (page->count > 0) {
        struct bytes last = page->keys[page->count - 1];

        buf_clear(after);
        buf_append(after, last.data, last.len);
    }
    return rc;
}

struct state_map_iter {
    struct state *state;
    struct buf owner, after;
    uint32_t next_max; /* entries of the next page */
    uint32_t at;
    struct page page;
};

struct state_map_iter *state_map_iter_new(struct state *s, struct bytes key)
{
    struct state_map_iter *it = mem_calloc(1, sizeof *it);

    it->state = s;
    it->next_max = PAGE_LEAST;
    buf_append(&it->owner, key.data, key.len);
    return it;
}

bool state_map_iter_next(struct state_map_iter *it, struct bytes *user_key, struct bytes *value,
                         enum rc *rc, struct err *err)
{
    struct state *s = it->state;
    enum row_sight sight = ROW_NONE;

    *rc = state_check_kind(s, STATE_MAP, "no map to iterate", err);
    while (*rc == RC_OK) {
        if (it->at == it->page.count) {
            if (it->page.last)
                return false;
            it->at = 0;
            *rc = read_page(s, buf_bytes(&it->owner), &it->after, it->next_max, &it->page, err);
            if (it->next_max < PAGE_MOST)
                it->next_max *= 4;
            continue;
        }
        *user_key = bytes_of(it->page.keys[it->at].data + it->owner.len,
                             it->page.keys[it->at].len - it->owner.len);
        *rc = row_look(s, it->page.values[it->at++], state_now(s), &sight, value, err);
        if (*rc == RC_OK && (sight != ROW_EXPIRED || shows_expired(s)))
            return true;
    }
    return false;
}

void state_map_iter_free(struct state_map_iter *it)
{
    if (it == NULL)
        return;
    buf_release(&it->owner);
    buf_release(&it->after);
    buf_release(&it->page.data);
    mem_free(it);
}

enum rc state_map_is_empty(struct state *s, struct bytes key, bool *empty, struct err *err)
{
    struct state_map_iter *it = state_map_iter_new(s, key);
    struct bytes user_key, value;
    enum rc rc;

    *empty = !state_map_iter_next(it, &user_key, &value, &rc, err);
    state_map_iter_free(it);
    return rc;
}

enum rc map_clear(struct state *s, struct bytes key, struct err *err)
{
    struct page *page = mem_calloc(1, sizeof *page);
    struct buf after = {0};
    enum rc rc;

    do {
        struct key_batch entries;

        GOTO_IF_ERR(read_page(s, key, &after, CLEAR_PAGE, page, err));
        key_builder_clear(&s->joined);
        for (uint32_t i = 0; i < page->count; i++)
            GOTO_IF_ERR(key_builder_add_raw(&s->joined, page->keys[i], err));
        entries = key_builder_batch(&s->joined);
        GOTO_IF_ERR(keyed_del(s->rows, &entries, err));
    } while (!page->last);
out:
    buf_release(&page->data);
    buf_release(&after);
    mem_free(page);
    return rc;
}
