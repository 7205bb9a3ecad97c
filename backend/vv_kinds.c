/* vv_kinds.c - value, list, map, reducing and aggregating state, keys (varve_state.h): arguments
 * are checked here, the work is backend/state.h's. */
#include "backend/vv_priv.h"

/* ---- functions of the caller ----------------------------------------------------------------- */

struct vv_accumulator {
    struct buf *buf;
    uint32_t fixed_bytes; /* 0: it may grow */
};

_Static_assert(VV_VALUE_MAX == STATE_VALUE_BYTES_MAX, "one limit");

uint8_t *vv_accumulator_data(vv_accumulator *acc)
{
    return acc == NULL || acc->buf->len == 0 ? NULL : acc->buf->data;
}

size_t vv_accumulator_len(const vv_accumulator *acc)
{
    return acc == NULL ? 0 : acc->buf->len;
}

vv_code vv_accumulator_set(vv_accumulator *acc, const void *data, size_t len)
{
    if (acc == NULL || (data == NULL && len > 0) ||
        (acc->fixed_bytes != 0 && len != acc->fixed_bytes))
        return VV_INVALID;
    if (len > VV_VALUE_MAX)
        return VV_LIMIT;
    if (len > acc->buf->len)
        buf_reserve(acc->buf, len - acc->buf->len);
    if (len > 0)
        memmove(acc->buf->data, data, len); /* may be a part of itself */
    acc->buf->len = len;
    return VV_OK;
}

/* 2 KB need no zeroes for each element. */
static void no_error(vv_error *error)
{
    error->code = VV_OK;
    error->message[0] = '\0';
}

static enum rc call_add(void *ctx, struct buf *acc, bool fresh, struct bytes element,
                        struct err *err)
{
    const vv_state *s = ctx;
    vv_accumulator a = {acc, s->fixed_bytes};
    vv_error answer;

    no_error(&answer);
    return api_callback_rc(
        s->functions.add(s->functions.ctx, &a, fresh, bytes_out(element), &answer), &answer, "add",
        err);
}

static enum rc call_merge(void *ctx, struct buf *acc, struct bytes other, struct err *err)
{
    const vv_state *s = ctx;
    vv_accumulator a = {acc, s->fixed_bytes};
    vv_error answer;

    no_error(&answer);
    return api_callback_rc(s->functions.merge(s->functions.ctx, &a, bytes_out(other), &answer),
                           &answer, "merge", err);
}

/* `out` may hold other results already. */
static enum rc call_result(void *ctx, struct bytes acc, struct buf *out, struct err *err)
{
    const vv_state *s = ctx;
    struct buf one = {0};
    vv_accumulator a = {&one, 0};
    vv_error answer;
    enum rc rc;

    no_error(&answer);
    rc = api_callback_rc(s->functions.result(s->functions.ctx, bytes_out(acc), &a, &answer),
                         &answer, "result", err);
    if (rc == RC_OK)
        buf_append(out, one.data, one.len);
    buf_release(&one);
    return rc;
}

enum rc state_make(vv_state *s, const struct state_desc *desc, const vv_state_desc *given,
                   struct err *err)
{
    struct state_functions functions = {s, call_add, call_merge, NULL};
    struct state_options options = {
        .ttl_update = given->ttl_update == VV_TTL_ON_READ_AND_WRITE ? TTL_ON_READ_AND_WRITE
                                                                    : TTL_ON_CREATE_AND_WRITE,
        .ttl_visibility = given->ttl_visibility == VV_TTL_NEVER_RETURN_EXPIRED
                              ? TTL_NEVER_RETURN_EXPIRED
                              : TTL_RETURN_EXPIRED_IF_NOT_CLEANED_UP,
    };

    if (desc->kind == STATE_REDUCING || desc->kind == STATE_AGGREGATING) {
        if (given->functions == NULL)
            return keyed_state_open(s->store->backend, desc, &s->rows, err);
        CHECK_NULL(given->functions->add);
        CHECK_NULL(given->functions->merge);
        s->functions = *given->functions;
        functions.result = s->functions.result == NULL ? NULL : call_result;
        options.functions = &functions;
    } else if (given->functions != NULL) {
        return err_set(err, RC_INVALID, "state %s: functions are for reducing and aggregating",
                       desc->name);
    }
    RETURN_IF_ERR(state_open(s->store->backend, desc, &options, &s->typed, err));
    s->rows = state_rows(s->typed);
    return RC_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum rc check_typed(const vv_state *s, struct err *err)
{
    if (s == NULL)
        return err_set(err, RC_INVALID, "state is NULL");
    if (s->typed == NULL)
        return err_set(err, RC_INVALID, "state %s was opened without functions", s->name);
    return RC_OK;
}

/* A read of a state with time-to-live may remove or renew what it reads. */
static enum rc enter(const vv_state *s, const vv_keys *keys, bool changes, struct key_batch *batch,
                     struct err *err)
{
    RETURN_IF_ERR(check_typed(s, err));
    RETURN_IF_ERR(changes || s->has_ttl ? check_change(s, keys, err)
                                        : check_keys(s->store, keys, err));
    *batch = batch_of(keys);
    return RC_OK;
}

static enum rc enter_one(const vv_state *s, vv_bytes key, bool changes, struct err *err)
{
    struct key_batch batch;
    struct one_key one;

    RETURN_IF_ERR(one_key(key, &one, err));
    return enter(s, &one.keys, changes, &batch, err);
}

static enum rc check_parts(const vv_state *s, const char *what, const vv_bytes *parts, size_t count,
                           bool may_be_null, struct err *err)
{
    if (parts == NULL && count > 0)
        return err_set(err, RC_INVALID, "%s is NULL", what);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].data == NULL && (!may_be_null || parts[i].len > 0))
            return err_set(err, RC_INVALID, "state %s: %s[%zu] is NULL", s->name, what, i);
        if (parts[i].len > KEY_BATCH_BYTES_MAX)
            return err_set(err, RC_LIMIT, "state %s: %s[%zu] of %zu bytes exceeds %u", s->name,
                           what, i, parts[i].len, KEY_BATCH_BYTES_MAX);
    }
    return RC_OK;
}

static enum rc clear(vv_state *state, const vv_keys *keys, struct err *err)
{
    struct key_batch batch;

    CHECK_NULL(state);
    RETURN_IF_ERR(check_change(state, keys, err));
    if (keys->count == 0)
        return RC_OK;
    batch = batch_of(keys);
    return state->typed == NULL ? keyed_del(state->rows, &batch, err)
                                : state_clear(state->typed, &batch, err);
}

vv_code vv_clear(vv_state *state, const vv_keys *keys, vv_error *error)
{
    ANSWER(clear(state, keys, err));
}

/* ---- value ----------------------------------------------------------------------------------- */

static enum rc value_get(vv_state *state, const vv_keys *keys, vv_bytes *values, struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, false, &batch, err));
    if (batch.count > 0)
        CHECK_NULL(values);
    return state_value_get(state->typed, &batch, (struct bytes *)values, err);
}

vv_code vv_value_get(vv_state *state, const vv_keys *keys, vv_bytes *values, vv_error *error)
{
    ANSWER(value_get(state, keys, values, err));
}

static enum rc value_put(vv_state *state, const vv_keys *keys, const vv_bytes *values,
                         struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, true, &batch, err));
    RETURN_IF_ERR(check_parts(state, "values", values, batch.count, true, err));
    return state_value_put(state->typed, &batch, (const struct bytes *)values, err);
}

vv_code vv_value_put(vv_state *state, const vv_keys *keys, const vv_bytes *values, vv_error *error)
{
    ANSWER(value_put(state, keys, values, err));
}

static enum rc value_upsert(vv_state *state, const vv_keys *keys, void **rows, uint8_t *fresh,
                            struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, true, &batch, err));
    if (batch.count > 0) {
        CHECK_NULL(rows);
        CHECK_NULL(fresh);
    }
    return state_upsert(state->typed, &batch, rows, fresh, err);
}

vv_code vv_value_upsert(vv_state *state, const vv_keys *keys, void **rows, uint8_t *fresh,
                        vv_error *error)
{
    ANSWER(value_upsert(state, keys, rows, fresh, err));
}

/* ---- list ------------------------------------------------------------------------------------ */

static enum rc list_add(vv_state *state, const vv_keys *keys, const vv_bytes *elements,
                        struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, true, &batch, err));
    RETURN_IF_ERR(check_parts(state, "elements", elements, batch.count, false, err));
    return state_list_add(state->typed, &batch, (const struct bytes *)elements, err);
}

vv_code vv_list_add(vv_state *state, const vv_keys *keys, const vv_bytes *elements, vv_error *error)
{
    ANSWER(list_add(state, keys, elements, err));
}

static enum rc list_all(vv_state *state, vv_bytes key, const vv_bytes *elements, size_t count,
                        bool add, struct err *err)
{
    RETURN_IF_ERR(enter_one(state, key, true, err));
    RETURN_IF_ERR(check_parts(state, "elements", elements, count, false, err));
    return (add ? state_list_add_all : state_list_put)(state->typed, bytes_in(key),
                                                       (const struct bytes *)elements, count, err);
}

vv_code vv_list_add_all(vv_state *state, vv_bytes key, const vv_bytes *elements, size_t count,
                        vv_error *error)
{
    ANSWER(list_all(state, key, elements, count, true, err));
}

vv_code vv_list_put(vv_state *state, vv_bytes key, const vv_bytes *elements, size_t count,
                    vv_error *error)
{
    ANSWER(list_all(state, key, elements, count, false, err));
}

static enum rc list_get(vv_state *state, const vv_keys *keys, vv_list *lists, struct err *err)
{
    struct state_list *read;
    struct key_batch batch;
    enum rc rc;

    RETURN_IF_ERR(enter(state, keys, false, &batch, err));
    if (batch.count > 0)
        CHECK_NULL(lists);
    read = mem_alloc(batch.count * sizeof *read);
    rc = state_list_get(state->typed, &batch, read, err);
    for (uint32_t i = 0; rc == RC_OK && i < batch.count; i++)
        lists[i] = (vv_list){bytes_out(read[i].rest), read[i].state, read[i].now_ms, read[i].first};
    mem_free(read);
    return rc;
}

vv_code vv_list_get(vv_state *state, const vv_keys *keys, vv_list *lists, vv_error *error)
{
    ANSWER(list_get(state, keys, lists, err));
}

static enum rc list_next(vv_list *list, vv_bytes *element, struct err *err)
{
    struct state_list read;
    struct bytes next = {0};
    enum rc rc = RC_OK;

    CHECK_NULL(list);
    CHECK_NULL(element);
    *element = (vv_bytes){0};
    if (list->rest.data == NULL)
        return RC_OK;
    read = (struct state_list){bytes_in(list->rest), list->of, list->now_ms, list->first != 0};
    if (state_list_next(&read, &next, &rc, err))
        *element = next.len > 0 ? bytes_out(next) : (vv_bytes){(const uint8_t *)"", 0};
    list->rest = bytes_out(read.rest);
    list->first = read.first;
    return rc;
}

vv_code vv_list_next(vv_list *list, vv_bytes *element, vv_error *error)
{
    ANSWER(list_next(list, element, err));
}

/* ---- map ------------------------------------------------------------------------------------- */

static enum rc map_get(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                       vv_bytes *values, uint8_t *present, struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, false, &batch, err));
    RETURN_IF_ERR(check_parts(state, "user_keys", user_keys, batch.count, true, err));
    if (batch.count > 0 && values == NULL && present == NULL)
        return err_set(err, RC_INVALID, "values and present are NULL");
    return state_map_get(state->typed, &batch, (const struct bytes *)user_keys,
                         (struct bytes *)values, present, err);
}

vv_code vv_map_get(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                   vv_bytes *values, uint8_t *present, vv_error *error)
{
    ANSWER(map_get(state, keys, user_keys, values, present, err));
}

static enum rc map_put(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                       const vv_bytes *values, struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, true, &batch, err));
    RETURN_IF_ERR(check_parts(state, "user_keys", user_keys, batch.count, true, err));
    RETURN_IF_ERR(check_parts(state, "values", values, batch.count, true, err));
    return state_map_put(state->typed, &batch, (const struct bytes *)user_keys,
                         (const struct bytes *)values, err);
}

vv_code vv_map_put(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                   const vv_bytes *values, vv_error *error)
{
    ANSWER(map_put(state, keys, user_keys, values, err));
}

static enum rc map_remove(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                          struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, true, &batch, err));
    RETURN_IF_ERR(check_parts(state, "user_keys", user_keys, batch.count, true, err));
    return state_map_remove(state->typed, &batch, (const struct bytes *)user_keys, err);
}

vv_code vv_map_remove(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                      vv_error *error)
{
    ANSWER(map_remove(state, keys, user_keys, err));
}

static enum rc map_is_empty(vv_state *state, vv_bytes key, int *empty, struct err *err)
{
    bool is_empty = false;

    CHECK_NULL(empty);
    RETURN_IF_ERR(enter_one(state, key, false, err));
    RETURN_IF_ERR(state_map_is_empty(state->typed, bytes_in(key), &is_empty, err));
    *empty = is_empty;
    return RC_OK;
}

vv_code vv_map_is_empty(vv_state *state, vv_bytes key, int *empty, vv_error *error)
{
    ANSWER(map_is_empty(state, key, empty, err));
}

struct vv_map_iter {
    struct state_map_iter *iter;
};

static enum rc map_iter_new(vv_state *state, vv_bytes key, vv_map_iter **out, struct err *err)
{
    CHECK_NULL(out);
    *out = NULL;
    RETURN_IF_ERR(enter_one(state, key, false, err));
    if (state->kind != STATE_MAP)
        return err_set(err, RC_INVALID, "state %s is no map", state->name);
    *out = mem_calloc(1, sizeof **out);
    (*out)->iter = state_map_iter_new(state->typed, bytes_in(key));
    return RC_OK;
}

vv_code vv_map_iter_new(vv_state *state, vv_bytes key, vv_map_iter **out, vv_error *error)
{
    ANSWER(map_iter_new(state, key, out, err));
}

static enum rc map_iter_next(vv_map_iter *iter, vv_bytes *user_key, vv_bytes *value,
                             struct err *err)
{
    struct bytes k, v;
    enum rc rc = RC_OK;

    CHECK_NULL(iter);
    CHECK_NULL(user_key);
    CHECK_NULL(value);
    *user_key = (vv_bytes){0};
    *value = (vv_bytes){0};
    if (state_map_iter_next(iter->iter, &k, &v, &rc, err)) {
        *user_key = bytes_out(k);
        *value = bytes_out(v);
    }
    return rc;
}

vv_code vv_map_iter_next(vv_map_iter *iter, vv_bytes *user_key, vv_bytes *value, vv_error *error)
{
    ANSWER(map_iter_next(iter, user_key, value, err));
}

void vv_map_iter_free(vv_map_iter *iter)
{
    if (iter == NULL)
        return;
    state_map_iter_free(iter->iter);
    mem_free(iter);
}

/* ---- reducing, aggregating ------------------------------------------------------------------- */

static enum rc acc_add(vv_state *state, const vv_keys *keys, const vv_bytes *elements,
                       struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, true, &batch, err));
    RETURN_IF_ERR(check_parts(state, "elements", elements, batch.count, false, err));
    if (batch.count == 0)
        return RC_OK;
    return state_add(state->typed, &batch, (const struct bytes *)elements, err);
}

vv_code vv_acc_add(vv_state *state, const vv_keys *keys, const vv_bytes *elements, vv_error *error)
{
    ANSWER(acc_add(state, keys, elements, err));
}

static enum rc acc_get(vv_state *state, const vv_keys *keys, vv_bytes *results, struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter(state, keys, false, &batch, err));
    if (batch.count > 0)
        CHECK_NULL(results);
    return state_get(state->typed, &batch, (struct bytes *)results, err);
}

vv_code vv_acc_get(vv_state *state, const vv_keys *keys, vv_bytes *results, vv_error *error)
{
    ANSWER(acc_get(state, keys, results, err));
}

static enum rc merge(vv_state *state, vv_bytes target, const vv_keys *sources, struct err *err)
{
    struct key_batch batch;

    RETURN_IF_ERR(enter_one(state, target, true, err));
    RETURN_IF_ERR(enter(state, sources, true, &batch, err));
    return state_merge(state->typed, bytes_in(target), &batch, err);
}

vv_code vv_merge(vv_state *state, vv_bytes target, const vv_keys *sources, vv_error *error)
{
    ANSWER(merge(state, target, sources, err));
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct vv_key_iter {
    struct state_keys *keys;
};

static enum rc key_iter_new(vv_state *state, vv_bytes ns, uint32_t first_group, uint32_t last_group,
                            vv_key_iter **out, struct err *err)
{
    CHECK_NULL(out);
    *out = NULL;
    RETURN_IF_ERR(check_typed(state, err));
    if (ns.data == NULL && ns.len > 0)
        return err_set(err, RC_INVALID, "ns is NULL");
    if (first_group > last_group || !key_group_range_has(state->store->range, first_group) ||
        !key_group_range_has(state->store->range, last_group))
        return err_set(err, RC_INVALID, "key groups %u..%u are no range in %u..%u", first_group,
                       last_group, state->store->range.first, state->store->range.last);
    *out = mem_calloc(1, sizeof **out);
    (*out)->keys = state_keys_new(state->typed, bytes_in(ns),
                                  (struct key_group_range){first_group, last_group});
    return RC_OK;
}

vv_code vv_key_iter_new(vv_state *state, vv_bytes ns, uint32_t first_group, uint32_t last_group,
                        vv_key_iter **out, vv_error *error)
{
    ANSWER(key_iter_new(state, ns, first_group, last_group, out, err));
}

static enum rc key_iter_next(vv_key_iter *iter, uint32_t max, vv_bytes *keys, uint32_t *got,
                             struct err *err)
{
    CHECK_NULL(got);
    *got = 0;
    CHECK_NULL(iter);
    CHECK_NULL(keys);
    if (max == 0)
        return err_set(err, RC_INVALID, "max is 0");
    return state_keys_next(iter->keys, (struct bytes *)keys, max, got, err);
}

vv_code vv_key_iter_next(vv_key_iter *iter, uint32_t max, vv_bytes *keys, uint32_t *got,
                         vv_error *error)
{
    ANSWER(key_iter_next(iter, max, keys, got, err));
}

void vv_key_iter_free(vv_key_iter *iter)
{
    if (iter == NULL)
        return;
    state_keys_free(iter->keys);
    mem_free(iter);
}
