#include "backend/timers.h"

#include "backend/timer_index.h"
#include "base/arena.h"

#define TIME_BYTES 8u
#define SCAN_ROWS 1024u

struct timers {
    struct keyed_state *state;
    uint32_t prefix_len;
    struct timer_index *index;
    struct key_builder timer_keys, out_keys;
    int64_t *out_ms;
    struct bytes *empty; /* values of a put */
    uint32_t out_cap;
};

/* ---- the state ------------------------------------------------------------------------------- */

static enum rc add_timer_key(struct timers *t, struct bytes key, int64_t at_ms, struct err *err)
{
    uint8_t small[256];
    uint8_t *p = small;
    size_t len = key.len + TIME_BYTES;
    enum rc rc;

    if (len > sizeof small)
        p = mem_alloc(len);
    memcpy(p, key.data, t->prefix_len);
    key_put_sortable(p + t->prefix_len, at_ms);
    memcpy(p + t->prefix_len + TIME_BYTES, key.data + t->prefix_len, key.len - t->prefix_len);
    rc = key_builder_add_raw(&t->timer_keys, bytes_of(p, len), err);
    if (p != small)
        mem_free(p);
    return rc;
}

static enum rc load(struct timers *t, struct bytes timer_key, struct buf *key, struct err *err)
{
    bool added;

    if (timer_key.len < t->prefix_len + TIME_BYTES)
        return err_set(err, RC_CORRUPT, "timer of %zu bytes", timer_key.len);
    buf_clear(key);
    buf_append(key, timer_key.data, t->prefix_len);
    buf_append(key, timer_key.data + t->prefix_len + TIME_BYTES,
               timer_key.len - t->prefix_len - TIME_BYTES);
    return timer_index_add(t->index, key_get_sortable(timer_key.data + t->prefix_len),
                           buf_bytes(key), &added, err);
}

static enum rc load_all(struct timers *t, struct err *err)
{
    struct keyed_cursor *c;
    struct bytes keys[SCAN_ROWS], values[SCAN_ROWS];
    struct buf key = {0};
    uint32_t got;
    enum rc rc;

    RETURN_IF_ERR(keyed_scan_open(t->state, (struct bytes){0}, &c, err));
    do {
        GOTO_IF_ERR(keyed_scan_next(c, SCAN_ROWS, keys, values, &got, err));
        for (uint32_t i = 0; i < got; i++)
            GOTO_IF_ERR(load(t, keys[i], &key, err));
    } while (got > 0);
out:
    keyed_scan_close(c);
    buf_release(&key);
    return rc;
}

enum rc timers_open(struct keyed_backend *b, uint32_t key_group_count, enum timer_domain domain,
                    const char *service, const char *key_type, const char *namespace_type,
                    struct timers **out, struct err *err)
{
    struct timers *t = mem_calloc(1, sizeof *t);
    struct buf name = {0};
    struct state_desc desc = {.kind = STATE_TIMER,
                              .key_type = key_type,
                              .namespace_type = namespace_type,
                              .user_key_type = "",
                              .value_type = "",
                              .operand_operator = ""};
    enum rc rc;

    t->prefix_len = keygroup_prefix_len(key_group_count);
    t->index = timer_index_new();
    key_builder_init(&t->timer_keys, key_group_count, KEY_NS_VOID);
    key_builder_init(&t->out_keys, key_group_count, KEY_NS_VOID);
    buf_printf(&name, "_timer_state/%s_%s", domain == TIMER_EVENT ? "event" : "processing",
               service);
    desc.name = buf_cstr(&name);
    rc = keyed_state_open(b, &desc, &t->state, err);
    if (rc == RC_OK)
        rc = load_all(t, err);
    if (rc != RC_OK) {
        rc = err_wrap(err, rc, "timers %s", desc.name);
        timers_close(t);
        t = NULL;
    }
    buf_release(&name);
    *out = t;
    return rc;
}

void timers_close(struct timers *t)
{
    if (t == NULL)
        return;
    timer_index_free(t->index);
    key_builder_release(&t->timer_keys);
    key_builder_release(&t->out_keys);
    mem_free(t->out_ms);
    mem_free(t->empty);
    mem_free(t);
}

static void reserve_out(struct timers *t, uint32_t count)
{
    if (count <= t->out_cap)
        return;
    t->out_ms = mem_realloc(t->out_ms, count * sizeof *t->out_ms);
    t->empty = mem_realloc(t->empty, count * sizeof *t->empty);
    for (uint32_t i = 0; i < count; i++)
        t->empty[i] = bytes_of("", 0);
    t->out_cap = count;
}

enum rc timers_register(struct timers *t, const struct key_batch *keys, const int64_t *at_ms,
                        struct err *err)
{
    struct key_batch timers;

    key_builder_clear(&t->timer_keys);
    for (uint32_t i = 0; i < keys->count; i++) {
        struct bytes key = key_batch_at(keys, i);
        bool added;

        ASSERT(key.len >= t->prefix_len);
        RETURN_IF_ERR(timer_index_add(t->index, at_ms[i], key, &added, err));
        if (added)
            RETURN_IF_ERR(add_timer_key(t, key, at_ms[i], err));
    }
    timers = key_builder_batch(&t->timer_keys);
    if (timers.count == 0)
        return RC_OK;
    reserve_out(t, timers.count);
    return keyed_put(t->state, &timers, t->empty, err);
}

enum rc timers_delete(struct timers *t, const struct key_batch *keys, const int64_t *at_ms,
                      struct err *err)
{
    struct key_batch timers;

    key_builder_clear(&t->timer_keys);
    for (uint32_t i = 0; i < keys->count; i++) {
        if (timer_index_remove(t->index, at_ms[i], key_batch_at(keys, i)))
            RETURN_IF_ERR(add_timer_key(t, key_batch_at(keys, i), at_ms[i], err));
    }
    timers = key_builder_batch(&t->timer_keys);
    return timers.count == 0 ? RC_OK : keyed_del(t->state, &timers, err);
}

enum rc timers_pop(struct timers *t, int64_t until_ms, uint32_t max, struct key_batch *keys,
                   const int64_t **at_ms, struct err *err)
{
    struct key_batch timers;
    struct bytes key;
    uint32_t got = 0;

    key_builder_clear(&t->timer_keys);
    key_builder_clear(&t->out_keys);
    reserve_out(t, max);
    while (got < max && timer_index_first(t->index, &t->out_ms[got], &key) &&
           t->out_ms[got] <= until_ms) {
        RETURN_IF_ERR(key_builder_add_raw(&t->out_keys, key, err));
        RETURN_IF_ERR(add_timer_key(t, key, t->out_ms[got], err));
        timer_index_drop_first(t->index);
        got++;
    }
    *keys = key_builder_batch(&t->out_keys);
    *at_ms = t->out_ms;
    timers = key_builder_batch(&t->timer_keys);
    return got == 0 ? RC_OK : keyed_del(t->state, &timers, err);
}

int64_t timers_next_ms(struct timers *t)
{
    struct bytes key;
    int64_t at_ms;

    return timer_index_first(t->index, &at_ms, &key) ? at_ms : INT64_MAX;
}

uint64_t timers_count(const struct timers *t)
{
    return timer_index_count(t->index);
}

size_t timers_bytes(const struct timers *t)
{
    return timer_index_bytes(t->index);
}
