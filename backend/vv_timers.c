/* vv_timers.c - timers (varve_state.h). */
#include "backend/vv_priv.h"

#define SERVICE_LEN_MAX 200u
#define POP_MAX 65536u /* timers that one call takes out at most: a bound for its memory */

struct vv_timers {
    vv_store *store;
    vv_timers *next;
    struct timers *timers;
    enum timer_domain domain;
    char service[SERVICE_LEN_MAX + 1];
};

static enum rc timers_make(vv_store *store, vv_time time, const char *service, vv_namespace ns,
                           const char *key_type, vv_timers **out, struct err *err)
{
    enum timer_domain domain = time == VV_EVENT_TIME ? TIMER_EVENT : TIMER_PROCESSING;
    const char *namespace_type;
    struct timers *made;
    vv_timers *t;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(store);
    CHECK_NULL(service);
    if (time != VV_EVENT_TIME && time != VV_PROCESSING_TIME)
        return err_set(err, RC_INVALID, "time %d is no vv_time", (int)time);
    if (service[0] == '\0' || strlen(service) > SERVICE_LEN_MAX)
        return err_set(err, RC_INVALID, "service of %zu bytes: needs 1 to %u", strlen(service),
                       SERVICE_LEN_MAX);
    RETURN_IF_ERR(namespace_in(ns, &namespace_type, err));
    for (t = store->timers; t != NULL; t = t->next)
        if (t->domain == domain && strcmp(t->service, service) == 0)
            return err_set(err, RC_EXISTS, "timers %s are open already", service);
    RETURN_IF_ERR(timers_open(store->backend, store->group_count, domain, service,
                              key_type == NULL ? "" : key_type, namespace_type, &made, err));
    t = mem_calloc(1, sizeof *t);
    t->store = store;
    t->timers = made;
    t->domain = domain;
    memcpy(t->service, service, strlen(service) + 1);
    t->next = store->timers;
    store->timers = t;
    *out = t;
    return RC_OK;
}

vv_code vv_timers_open(vv_store *store, vv_time time, const char *service, vv_namespace ns,
                       const char *key_type, vv_timers **out, vv_error *error)
{
    ANSWER(timers_make(store, time, service, ns, key_type, out, err));
}

void timers_drop(vv_timers *t)
{
    t->store->timers = t->next; /* only ever the first: a store drops all */
    timers_close(t->timers);
    mem_free(t);
}

typedef enum rc change_fn(struct timers *, const struct key_batch *, const int64_t *, struct err *);

static enum rc change(vv_timers *t, const vv_keys *keys, const int64_t *at_ms, change_fn *fn,
                      struct err *err)
{
    struct key_batch batch;

    if (t == NULL)
        return err_set(err, RC_INVALID, "timers is NULL");
    RETURN_IF_ERR(check_keys(t->store, keys, err));
    if (keys->count == 0)
        return RC_OK;
    CHECK_NULL(at_ms);
    batch = batch_of(keys);
    return fn(t->timers, &batch, at_ms, err);
}

vv_code vv_timers_register(vv_timers *timers, const vv_keys *keys, const int64_t *at_ms,
                           vv_error *error)
{
    ANSWER(change(timers, keys, at_ms, timers_register, err));
}

vv_code vv_timers_delete(vv_timers *timers, const vv_keys *keys, const int64_t *at_ms,
                         vv_error *error)
{
    ANSWER(change(timers, keys, at_ms, timers_delete, err));
}

static enum rc pop(vv_timers *timers, int64_t until_ms, uint32_t max, vv_keys *keys,
                   const int64_t **at_ms, struct err *err)
{
    struct key_batch batch;

    CHECK_NULL(timers);
    CHECK_NULL(keys);
    CHECK_NULL(at_ms);
    if (max == 0)
        return err_set(err, RC_INVALID, "max is 0");
    RETURN_IF_ERR(
        timers_pop(timers->timers, until_ms, max < POP_MAX ? max : POP_MAX, &batch, at_ms, err));
    *keys = (vv_keys){batch.count, batch.data, batch.offsets};
    return RC_OK;
}

vv_code vv_timers_pop(vv_timers *timers, int64_t until_ms, uint32_t max, vv_keys *keys,
                      const int64_t **at_ms, vv_error *error)
{
    ANSWER(pop(timers, until_ms, max, keys, at_ms, err));
}

int64_t vv_timers_next_ms(vv_timers *t)
{
    return t == NULL ? INT64_MAX : timers_next_ms(t->timers);
}

uint64_t vv_timers_count(const vv_timers *t)
{
    return t == NULL ? 0 : timers_count(t->timers);
}
