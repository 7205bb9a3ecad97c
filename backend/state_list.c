/* state_list.c - list state: elements one after the other in one value, joined by ','. */
#include "backend/state_priv.h"

/* Appends one stored element to `out`. */
static void store_element(const struct state *s, struct bytes element, int64_t now_ms,
                          struct buf *out)
{
    if (has_ttl(s))
        buf_append_be64(out, (uint64_t)now_ms);
    if (desc_of(s)->fixed_value_bytes == 0)
        buf_append_be32(out, (uint32_t)element.len);
    buf_append(out, element.data, element.len);
}

static enum rc check_element(const struct state *s, struct bytes key, struct bytes element,
                             struct err *err)
{
    uint32_t fixed = desc_of(s)->fixed_value_bytes;

    if (fixed != 0 && element.len != fixed)
        return err_set(err, RC_INVALID, "state %s: an element of %zu bytes, its elements have %u",
                       desc_of(s)->name, element.len, fixed);
    if (element.len > s->value_bytes_max)
        return state_limit_error(s, key, element.len, err);
    return RC_OK;
}

static enum rc append(struct state *s, const struct key_batch *keys, const struct bytes *stored,
                      struct err *err)
{
    struct err why = {0};
    uint32_t done;
    enum rc rc = keyed_append(s->rows, keys, stored, s->value_bytes_max, &done, &why);
    struct buf text = {0};

    if (rc == RC_OK)
        return RC_OK;
    if (rc != RC_LIMIT || done == keys->count)
        return err_set(err, rc, "%s", why.msg);
    key_text(key_batch_at(keys, done), s->core->key_group_count, s->known->ns, &text);
    err_set(err, rc, "state %s, list of %s (%s): %s", desc_of(s)->name, buf_cstr(&text),
            desc_of(s)->key_type, why.msg);
    buf_release(&text);
    return rc;
}

enum rc state_list_add(struct state *s, const struct key_batch *keys, const struct bytes *elements,
                       struct err *err)
{
    int64_t now_ms = state_now(s);
    size_t at = 0;

    RETURN_IF_ERR(state_check_kind(s, STATE_LIST, "no list to add to", err));
    state_reserve(s, keys->count);
    buf_clear(&s->data);
    for (uint32_t i = 0; i < keys->count; i++) {
        size_t start = s->data.len;

        RETURN_IF_ERR(check_element(s, key_batch_at(keys, i), elements[i], err));
        store_element(s, elements[i], now_ms, &s->data);
        s->values[i].len = s->data.len - start;
    }
    for (uint32_t i = 0; i < keys->count; i++) { /* the data holds still now */
        s->values[i].data = s->data.data + at;
        at += s->values[i].len;
    }
    return append(s, keys, s->values, err);
}

/* All elements, joined, in s->data. */
static enum rc join_elements(struct state *s, struct bytes key, const struct bytes *elements,
                             size_t count, struct err *err)
{
    int64_t now_ms = state_now(s);

    RETURN_IF_ERR(state_check_kind(s, STATE_LIST, "no list to add to", err));
    buf_clear(&s->data);
    for (size_t i = 0; i < count; i++) {
        RETURN_IF_ERR(check_element(s, key, elements[i], err));
        if (i > 0)
            buf_append_u8(&s->data, LIST_DELIMITER);
        store_element(s, elements[i], now_ms, &s->data);
        if (s->data.len > s->value_bytes_max)
            return state_limit_error(s, key, s->data.len, err);
    }
    return RC_OK;
}

enum rc state_list_add_all(struct state *s, struct bytes key, const struct bytes *elements,
                           size_t count, struct err *err)
{
    uint32_t offsets[2];
    struct key_batch one = key_batch_one(key, offsets);
    struct bytes stored;

    RETURN_IF_ERR(join_elements(s, key, elements, count, err));
    stored = buf_bytes(&s->data);
    return count == 0 ? RC_OK : append(s, &one, &stored, err);
}

enum rc state_list_put(struct state *s, struct bytes key, const struct bytes *elements,
                       size_t count, struct err *err)
{
    uint32_t offsets[2];
    struct key_batch one = key_batch_one(key, offsets);
    struct bytes stored;

    RETURN_IF_ERR(join_elements(s, key, elements, count, err));
    if (count == 0)
        return keyed_del(s->rows, &one, err);
    stored = buf_bytes(&s->data);
    return keyed_put(s->rows, &one, &stored, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Takes one stored element off *rest. */
static enum rc take_element(const struct state *s, struct bytes *rest, bool first, int64_t *time_ms,
                            struct bytes *element, struct err *err)
{
    struct ttl_shape shape = ttl_shape_of(desc_of(s));
    struct bytes whole;

    *time_ms = 0;
    if (!ttl_take_element(&shape, rest, first, &whole, time_ms, element))
        return err_set(err, RC_CORRUPT, "state %s: the last %zu bytes of a list are no elements",
                       desc_of(s)->name, rest->len);
    if (shape.fixed_value_bytes == 0)
        *element = bytes_of(element->data + 4, element->len - 4);
    return RC_OK;
}

bool state_list_next(struct state_list *l, struct bytes *element, enum rc *rc, struct err *err)
{
    int64_t time_ms;

    *rc = RC_OK;
    while (l->rest.data != NULL && (l->first || l->rest.len > 0)) {
        *rc = take_element(l->state, &l->rest, l->first, &time_ms, element, err);
        l->first = false;
        if (*rc != RC_OK)
            return false;
        if (!has_ttl(l->state) || !is_expired(l->state, time_ms, l->now_ms) ||
            shows_expired(l->state))
            return true;
    }
    return false;
}

enum rc list_look(struct state *s, struct bytes stored, int64_t now_ms, bool *any, struct err *err)
{
    struct bytes rest = stored, element;
    int64_t time_ms;
    bool first = true;

    *any = false;
    while (!*any && (first || rest.len > 0)) {
        RETURN_IF_ERR(take_element(s, &rest, first, &time_ms, &element, err));
        first = false;
        *any = !has_ttl(s) || !is_expired(s, time_ms, now_ms);
    }
    return RC_OK;
}

/* Appends what has not expired of a stored list to s->data, with a new time. */
static enum rc renew(struct state *s, struct bytes stored, int64_t now_ms, struct err *err)
{
    size_t start = s->data.len;
    struct bytes rest = stored, element;
    int64_t time_ms;
    bool first = true;

    while (first || rest.len > 0) {
        RETURN_IF_ERR(take_element(s, &rest, first, &time_ms, &element, err));
        first = false;
        if (is_expired(s, time_ms, now_ms))
            continue;
        if (s->data.len > start)
            buf_append_u8(&s->data, LIST_DELIMITER);
        store_element(s, element, now_ms, &s->data);
    }
    return RC_OK;
}

/* One list as a reader with time-to-live leaves it behind: without what has expired when that is
 * all, or when what is read is renewed. *stored becomes a copy in s->work. */
static enum rc get_ttl(struct state *s, struct bytes key, struct bytes *stored, int64_t now_ms,
                       struct err *err)
{
    uint32_t offsets[2];
    struct key_batch one = key_batch_one(key, offsets);
    struct bytes now;
    bool any;

    RETURN_IF_ERR(list_look(s, *stored, now_ms, &any, err));
    if (any && !renews_on_read(s))
        return RC_OK;
    buf_clear(&s->data);
    RETURN_IF_ERR(renew(s, *stored, now_ms, err));
    now = buf_bytes(&s->data);
    return now.len == 0 ? keyed_del(s->rows, &one, err) : keyed_put(s->rows, &one, &now, err);
}

enum rc state_list_get(struct state *s, const struct key_batch *keys, struct state_list *lists,
                       struct err *err)
{
    int64_t now_ms = state_now(s);
    size_t at = 0;

    RETURN_IF_ERR(state_check_kind(s, STATE_LIST, "no list to get", err));
    state_reserve(s, keys->count);
    RETURN_IF_ERR(keyed_get(s->rows, keys, s->values, err));
    buf_clear(&s->work);
    for (uint32_t i = 0; has_ttl(s) && i < keys->count; i++) /* they move when they are changed */
        buf_append(&s->work, s->values[i].data, s->values[i].len);
    for (uint32_t i = 0; i < keys->count; i++) {
        struct bytes stored = s->values[i];

        if (has_ttl(s) && stored.data != NULL) {
            stored.data = s->work.data + at;
            at += stored.len;
            RETURN_IF_ERR(get_ttl(s, key_batch_at(keys, i), &stored, now_ms, err));
        }
        lists[i] = (struct state_list){stored, s, now_ms, true};
    }
    return RC_OK;
}
