#include "backend/ttl.h"

void ttl_clock_init(struct ttl_clock *c, struct clock *clock)
{
    c->clock = clock;
    c->base_ms = INT64_MIN;
    c->base_mono_ns = clock_mono_ns(clock);
    atomic_init(&c->seen_ms, INT64_MIN);
}

static void say(struct ttl_clock *c, int64_t ms)
{
    atomic_store_explicit(&c->seen_ms, ms, memory_order_release);
}

int64_t ttl_clock_now(struct ttl_clock *c)
{
    int64_t mono_ns = clock_mono_ns(c->clock);
    int64_t wall_ms = clock_wall_ms(c->clock);
    int64_t now_ms = INT64_MIN;

    if (c->base_ms != INT64_MIN &&
        __builtin_add_overflow(c->base_ms, (mono_ns - c->base_mono_ns) / NS_PER_MS, &now_ms))
        now_ms = INT64_MAX;
    if (wall_ms > now_ms) {
        c->base_ms = now_ms = wall_ms;
        c->base_mono_ns = mono_ns;
    }
    say(c, now_ms);
    return now_ms;
}

void ttl_clock_raise(struct ttl_clock *c, int64_t ms)
{
    if (ms <= ttl_clock_seen(c))
        return;
    c->base_ms = ms;
    c->base_mono_ns = clock_mono_ns(c->clock);
    say(c, ms);
}

/* ---- stored values --------------------------------------------------------------------------- */

#define LIST_DELIMITER ','

bool ttl_take_element(const struct ttl_shape *s, struct bytes *rest, bool first,
                      struct bytes *whole, int64_t *time_ms, struct bytes *element)
{
    size_t at = first ? 0 : 1, len = s->fixed_value_bytes;

    if (!first && (rest->len < 1 || rest->data[0] != LIST_DELIMITER))
        return false;
    *whole = bytes_of(rest->data + at, rest->len - at);
    at = 0;
    if (s->ttl_ms != 0) {
        if (whole->len < TTL_TIME_BYTES)
            return false;
        *time_ms = (int64_t)get_be64(whole->data);
        at = TTL_TIME_BYTES;
    }
    if (len == 0) {
        if (whole->len - at < 4)
            return false;
        len = 4 + (size_t)get_be32(whole->data + at);
    }
    if (len > whole->len - at)
        return false;
    *element = bytes_of(whole->data + at, len);
    whole->len = at + len;
    *rest = bytes_of(element->data + len, (size_t)(rest->data + rest->len - element->data) - len);
    return true;
}

static void put_element(struct buf *out, size_t start, struct bytes element)
{
    if (out->len > start)
        buf_append_u8(out, LIST_DELIMITER);
    buf_append(out, element.data, element.len);
}

/* Where the first element that has expired begins; SIZE_MAX: nowhere, or this is no list. */
static size_t first_expired(const struct ttl_shape *s, struct bytes stored, int64_t now_ms)
{
    struct bytes rest = stored, whole, element;
    size_t found = SIZE_MAX;
    int64_t time_ms;

    for (bool first = true; first || rest.len > 0; first = false) {
        if (!ttl_take_element(s, &rest, first, &whole, &time_ms, &element))
            return SIZE_MAX;
        if (found == SIZE_MAX && ttl_expired(time_ms, s->ttl_ms, now_ms))
            found = (size_t)(whole.data - stored.data);
    }
    return found;
}

static enum ttl_verdict filter_list(const struct ttl_shape *s, struct bytes stored, int64_t now_ms,
                                    struct buf *out)
{
    size_t start = out->len, expired = first_expired(s, stored, now_ms);
    struct bytes rest = stored, whole, element;
    int64_t time_ms = 0;

    if (expired == SIZE_MAX)
        return TTL_KEEP;
    for (bool first = true; first || rest.len > 0; first = false) {
        ASSERT(ttl_take_element(s, &rest, first, &whole, &time_ms, &element)); /* it was a list */
        if (!ttl_expired(time_ms, s->ttl_ms, now_ms))
            put_element(out, start, whole);
    }
    return out->len > start ? TTL_CHANGED : TTL_DROP;
}

enum ttl_verdict ttl_filter(const struct ttl_shape *shape, struct bytes stored, int64_t now_ms,
                            struct buf *out)
{
    size_t at = shape->kind == STATE_MAP ? 1 : 0;

    if (shape->ttl_ms == 0)
        return TTL_KEEP;
    if (shape->kind == STATE_LIST)
        return filter_list(shape, stored, now_ms, out);
    if (stored.len < at + TTL_TIME_BYTES)
        return TTL_KEEP;
    return ttl_expired((int64_t)get_be64(stored.data + at), shape->ttl_ms, now_ms) ? TTL_DROP
                                                                                     : TTL_KEEP;
}

static enum rc convert_list(const struct ttl_shape *from, const struct ttl_shape *to,
                            struct bytes stored, int64_t now_ms, struct buf *out, struct err *err)
{
    struct bytes rest = stored, whole, element;
    size_t start = out->len;

    for (bool first = true; first || rest.len > 0; first = false) {
        int64_t time_ms = now_ms;

        if (!ttl_take_element(from, &rest, first, &whole, &time_ms, &element))
            return err_set(err, RC_CORRUPT, "a list of %zu bytes is none from byte %zu on",
                           stored.len, stored.len - rest.len);
        if (from->ttl_ms != 0 && ttl_expired(time_ms, from->ttl_ms, now_ms))
            continue;
        if (out->len > start)
            buf_append_u8(out, LIST_DELIMITER);
        if (to->ttl_ms != 0)
            buf_append_be64(out, (uint64_t)time_ms);
        buf_append(out, element.data, element.len);
    }
    return RC_OK;
}

enum rc ttl_convert(const struct ttl_shape *from, const struct ttl_shape *to, struct bytes stored,
                    int64_t now_ms, bool *left, struct buf *out, struct err *err)
{
    size_t flag = from->kind == STATE_MAP ? 1 : 0;
    size_t head = flag + (from->ttl_ms != 0 ? TTL_TIME_BYTES : 0), start = out->len;
    int64_t time_ms = now_ms;
    enum rc rc;

    if (from->kind == STATE_LIST) {
        rc = convert_list(from, to, stored, now_ms, out, err);
        *left = out->len > start;
        return rc;
    }
    *left = false;
    if (stored.len < head)
        return err_set(err, RC_CORRUPT, "a value of %zu bytes, at least %zu", stored.len, head);
    if (from->ttl_ms != 0)
        time_ms = (int64_t)get_be64(stored.data + flag);
    if (from->ttl_ms != 0 && ttl_expired(time_ms, from->ttl_ms, now_ms))
        return RC_OK;
    buf_append(out, stored.data, flag);
    if (to->ttl_ms != 0)
        buf_append_be64(out, (uint64_t)time_ms);
    buf_append(out, stored.data + head, stored.len - head);
    *left = true;
    return RC_OK;
}

/* ---- rows on their way ----------------------------------------------------------------------- */

/* false: nothing is left to be written. A changed value is at its offset in r->changed, made a
 * pointer when that no longer grows. */
static bool filter_row(struct ttl_rows *r, struct row_view *v)
{
    size_t at = r->changed.len;

    if (v->tombstone)
        return true;
    switch (ttl_filter(&r->shape, v->value, r->now_ms, &r->changed)) {
    case TTL_KEEP:
        return true;
    case TTL_CHANGED:
        v->value = (struct bytes){NULL, r->changed.len - at};
        return true;
    case TTL_DROP:
        break;
    }
    v->tombstone = true;
    v->value = bytes_of("", 0);
    return r->tombstones && !v->never_below;
}

static uint32_t ttl_rows_next(struct row_source *source, struct row_view *out, uint32_t max)
{
    struct ttl_rows *r = (struct ttl_rows *)source;
    uint32_t got, kept = 0;
    size_t at = 0;

    buf_clear(&r->changed);
    do {
        got = r->from->next(r->from, out, max);
        for (uint32_t i = 0; i < got; i++) {
            if (filter_row(r, &out[i]))
                out[kept++] = out[i];
        }
    } while (got > 0 && kept == 0);
    for (uint32_t i = 0; i < kept; i++) {
        if (out[i].value.data != NULL)
            continue;
        out[i].value.data = r->changed.data + at;
        at += out[i].value.len;
    }
    return kept;
}

void ttl_rows_init(struct ttl_rows *r, struct row_source *from, const struct ttl_shape *shape,
                   int64_t now_ms, bool tombstones)
{
    *r = (struct ttl_rows){
        .source = {ttl_rows_next, from->rows_max, from->bytes_max, from->whole, {0}},
        .from = from,
        .shape = *shape,
        .now_ms = now_ms,
        .tombstones = tombstones,
    };
}

void ttl_rows_release(struct ttl_rows *r)
{
    buf_release(&r->changed);
}

/* ---- in place -------------------------------------------------------------------------------- */

void ttl_touch(const struct ttl_shape *shape, int64_t now_ms, bool keep_expired, uint32_t count,
               void **rows, uint8_t *fresh)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *row = rows[i];

        /* A fresh row's time is 0, and has been set when its key comes again in this batch. */
        if (!fresh[i] && !keep_expired &&
            ttl_expired((int64_t)get_be64(row), shape->ttl_ms, now_ms)) {
            fresh[i] = 1;
            memset(row + TTL_TIME_BYTES, 0, shape->fixed_value_bytes);
        }
        put_be64(row, (uint64_t)now_ms);
        rows[i] = row + TTL_TIME_BYTES;
    }
}
