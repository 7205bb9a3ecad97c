#include "backend/keyed_core.h"

#include "backend/blind.h"
#include "base/rng.h"

/* ---- dispatch -------------------------------------------------------------------------------- */

static void end_changes(struct backend_core *core, int64_t restore_ns)
{
    for (size_t i = 0; i < core->state_count; i++)
        if (core->states[i]->changed_rows > 0)
            log_line(core->env->log, LOG_INFO,
                     "state rewritten for another type task=\"%s\" state=\"%s\" rows=%llu "
                     "restore_ms=%lld",
                     core->name, core->states[i]->desc.name,
                     (unsigned long long)core->states[i]->changed_rows,
                     (long long)(restore_ns / NS_PER_MS));
    core->change_count = 0;
    core->changes = NULL;
}

enum rc keyed_backend_open(const struct keyed_backend_config *config, struct keyed_backend **out,
                           struct err *err)
{
    int64_t start = clock_mono_ns(config->env->clock);
    enum rc rc;

    *out = NULL;
    ASSERT(config->range.first <= config->range.last &&
           config->range.last < config->key_group_count &&
           config->key_group_count <= KEY_GROUP_COUNT_MAX);
    rc = config->kind == BACKEND_ROCKSDB ? rocks_backend_open(config, out, err)
                                         : heap_backend_open(config, out, err);
    if (rc == RC_OK) {
        core_of(*out)->restoring = false;
        core_of(*out)->stop = NULL;
        end_changes(core_of(*out), clock_mono_ns(config->env->clock) - start);
        return RC_OK;
    }
    if (config->restore_count > 0)
        return err_wrap(err, rc, "restore %s", config->restore_operator);
    return err_wrap(err, rc, "open state of %s", config->name);
}

void keyed_backend_close(struct keyed_backend *b)
{
    if (b != NULL)
        b->ops->close(b);
}

enum rc keyed_state_open(struct keyed_backend *b, const struct state_desc *desc,
                         struct keyed_state **out, struct err *err)
{
    return b->ops->state_open(b, desc, out, err);
}

enum rc keyed_state_blind(struct keyed_state *state, const char *pattern, struct err *err)
{
    struct core_state *s = core_state_of(state);
    struct backend_core *core = core_of(state->backend);

    if (s->desc.ttl_ms != 0 || !state_desc_has_totals(&s->desc) ||
        !blind_pattern_fits(pattern, state_desc_row_bytes(&s->desc)))
        return err_set(err, RC_INVALID, "state %s: no blind updates by the pattern \"%s\"",
                       s->desc.name, pattern);
    if (state->backend->ops->blind == NULL)
        return RC_OK;
    s->desc.operand_operator = arena_strdup(core->arena, BLIND_OPERATOR);
    s->desc.operand_version = BLIND_VERSION;
    state->backend->ops->blind(state, pattern);
    return RC_OK;
}

int64_t keyed_ttl_now(struct keyed_backend *b)
{
    return ttl_clock_now(&core_of(b)->ttl);
}

size_t keyed_state_count(const struct keyed_backend *b)
{
    return ((const struct backend_core *)b)->state_count;
}

const struct state_desc *keyed_state_at(const struct keyed_backend *b, size_t index)
{
    const struct backend_core *core = (const struct backend_core *)b;

    ASSERT(index < core->state_count);
    return &core->states[index]->desc;
}

enum rc keyed_upsert(struct keyed_state *s, const struct key_batch *keys, void **rows,
                     uint8_t *fresh, struct err *err)
{
    core_check_keys(core_of(s->backend), keys);
    return s->backend->ops->upsert(s, keys, rows, fresh, err);
}

enum rc keyed_get(struct keyed_state *s, const struct key_batch *keys, struct bytes *values,
                  struct err *err)
{
    core_check_keys(core_of(s->backend), keys);
    return s->backend->ops->get(s, keys, values, err);
}

enum rc keyed_put(struct keyed_state *s, const struct key_batch *keys, const struct bytes *values,
                  struct err *err)
{
    core_check_keys(core_of(s->backend), keys);
    return s->backend->ops->put(s, keys, values, err);
}

enum rc keyed_del(struct keyed_state *s, const struct key_batch *keys, struct err *err)
{
    core_check_keys(core_of(s->backend), keys);
    return s->backend->ops->del(s, keys, err);
}

enum rc keyed_append(struct keyed_state *s, const struct key_batch *keys,
                     const struct bytes *values, size_t max_bytes, uint32_t *done, struct err *err)
{
    core_check_keys(core_of(s->backend), keys);
    *done = 0;
    return s->backend->ops->append(s, keys, values, max_bytes, done, err);
}

enum rc keyed_scan_open(struct keyed_state *s, struct bytes prefix, struct keyed_cursor **out,
                        struct err *err)
{
    struct buf upper = {0};
    struct scan_bounds bounds = {.prefix = prefix, .lower = prefix};
    enum rc rc;

    key_prefix_end(prefix, &upper);
    bounds.upper = buf_bytes(&upper);
    rc = s->backend->ops->scan_open(s, &bounds, out, err);
    buf_release(&upper);
    return rc;
}

enum rc keyed_scan_range(struct keyed_state *s, struct bytes prefix, struct bytes lower,
                         struct bytes upper, struct keyed_cursor **out, struct err *err)
{
    struct buf end = {0};
    struct scan_bounds bounds = {.prefix = prefix, .lower = lower, .upper = upper, .ordered = true};
    enum rc rc;

    key_prefix_end(prefix, &end);
    if (bytes_cmp(prefix, lower) > 0)
        bounds.lower = prefix;
    if (upper.len == 0 || (end.len > 0 && bytes_cmp(buf_bytes(&end), upper) < 0))
        bounds.upper = buf_bytes(&end);
    rc = s->backend->ops->scan_open(s, &bounds, out, err);
    buf_release(&end);
    return rc;
}

enum rc keyed_scan_namespace(struct keyed_state *s, int64_t window, struct keyed_cursor **out,
                             struct err *err)
{
    uint8_t ns[8];
    struct scan_bounds bounds = {.ns = bytes_of(ns, sizeof ns)};

    ASSERT(core_state_of(s)->ns == KEY_NS_BIGINT);
    put_be64(ns, (uint64_t)window);
    return s->backend->ops->scan_open(s, &bounds, out, err);
}

bool keyed_in_memory(struct keyed_state *s)
{
    return s->backend->ops->in_memory(s);
}

enum rc keyed_scan_next(struct keyed_cursor *c, uint32_t max, struct bytes *keys,
                        struct bytes *values, uint32_t *got, struct err *err)
{
    return c->backend->ops->scan_next(c, max, keys, values, got, err);
}

void keyed_scan_close(struct keyed_cursor *c)
{
    if (c != NULL)
        c->backend->ops->scan_close(c);
}

bool keyed_may_snapshot(struct keyed_backend *b)
{
    return core_of(b)->snapshot == NULL ||
           (b->ops->may_snapshot != NULL && b->ops->may_snapshot(b));
}

enum rc keyed_snapshot_take(struct keyed_snapshot *s, struct err *err)
{
    return s->backend->ops->snapshot_take == NULL ? RC_OK
                                                  : s->backend->ops->snapshot_take(s, err);
}

enum rc keyed_snapshot_begin(struct keyed_backend *b, uint64_t checkpoint_id,
                             struct keyed_snapshot **out, struct err *err)
{
    ASSERT(keyed_may_snapshot(b));
    return b->ops->snapshot_begin(b, checkpoint_id, out, err);
}

enum rc keyed_snapshot_write(struct keyed_snapshot *s, struct snapshot_target *target,
                             struct arena *arena, struct keyed_handle *out, struct err *err)
{
    return s->backend->ops->snapshot_write(s, target, arena, out, err);
}

void keyed_snapshot_free(struct keyed_snapshot *s)
{
    if (s != NULL)
        s->backend->ops->snapshot_free(s);
}

void keyed_notify_complete(struct keyed_backend *b, uint64_t checkpoint_id)
{
    b->ops->notify_complete(b, checkpoint_id);
}

void keyed_notify_aborted(struct keyed_backend *b, uint64_t checkpoint_id)
{
    b->ops->notify_aborted(b, checkpoint_id);
}

void keyed_stats(struct keyed_backend *b, struct keyed_stats *out)
{
    b->ops->stats(b, out);
}

/* ---- core ------------------------------------------------------------------------------------ */

void core_init(struct backend_core *core, const struct keyed_backend_ops *ops,
               const struct keyed_backend_config *config, enum row_mode mode, uint32_t slab_bytes)
{
    struct rng rng;

    env_rng(config->env, "keyed-backend", &rng);
    core->base.ops = ops;
    core->env = config->env;
    core->range = config->range;
    core->key_group_count = config->key_group_count;
    core->prefix_len = keygroup_prefix_len(config->key_group_count);
    core->arena = arena_new(4096);
    ttl_clock_init(&core->ttl, config->env->clock);
    core->name = arena_strdup(core->arena, config->name);
    core->backend_id = arena_strdup(core->arena, config->backend_id);
    core->rows = row_group_new(mode, rng_u64(&rng));
    core->slab_bytes = slab_bytes;
    core->restoring = true;
    core->change_count = config->change_count;
    core->changes = config->changes;
    core->stop = config->stop;
    mutex_init(&core->write_mutex);
    cond_init(&core->write_ended);
}

enum rc core_go_on(const struct backend_core *core, struct err *err)
{
    if (core->stop == NULL || !atomic_load_explicit(core->stop, memory_order_relaxed))
        return RC_OK;
    return err_set(err, RC_CANCELLED, "the restore was given up");
}

void core_release(struct backend_core *core)
{
    row_group_free(core->rows);
    for (size_t i = 0; i < core->state_count; i++) {
        buf_release(&core->states[i]->trimmed);
        mem_free(core->states[i]);
    }
    mem_free(core->states);
    arena_free(core->arena);
    cond_release(&core->write_ended);
    mutex_release(&core->write_mutex);
}

void core_write_begins(struct backend_core *core)
{
    mutex_lock(&core->write_mutex);
    core->writes++;
    mutex_unlock(&core->write_mutex);
}

void core_write_ends(struct backend_core *core)
{
    mutex_lock(&core->write_mutex);
    core->writes--;
    cond_broadcast(&core->write_ended);
    mutex_unlock(&core->write_mutex);
}

void core_wait_write(struct backend_core *core)
{
    mutex_lock(&core->write_mutex);
    while (core->writes > 0)
        cond_wait(&core->write_ended, &core->write_mutex);
    mutex_unlock(&core->write_mutex);
    keyed_snapshot_free(core->snapshot);
}

struct core_state *core_find(const struct backend_core *core, const char *name)
{
    for (size_t i = 0; i < core->state_count; i++) {
        if (strcmp(core->states[i]->desc.name, name) == 0)
            return core->states[i];
    }
    return NULL;
}

static const char *text(const char *s)
{
    return s == NULL ? "" : s;
}

static enum rc check_desc(const struct state_desc *d, struct err *err)
{
    size_t len = strlen(text(d->name));

    if (len == 0 || len > 255 || strcmp(d->name, "default") == 0)
        return err_set(err, RC_INVALID, "state name \"%s\": needs 1 to 255 bytes, not \"default\"",
                       text(d->name));
    if (d->kind < STATE_VALUE || d->kind > STATE_TIMER)
        return err_set(err, RC_CORRUPT, "state %s: kind %d", d->name, (int)d->kind);
    if (d->fixed_value_bytes > STATE_FIXED_BYTES_MAX)
        return err_set(err, RC_LIMIT, "state %s: values of %u bytes, at most %u", d->name,
                       d->fixed_value_bytes, STATE_FIXED_BYTES_MAX);
    if (d->ttl_ms > INT64_MAX)
        return err_set(err, RC_INVALID, "state %s: time-to-live of %llu ms", d->name,
                       (unsigned long long)d->ttl_ms);
    if (d->ttl_ms != 0 && d->kind == STATE_TIMER)
        return err_set(err, RC_INVALID, "state %s: timers have no time-to-live", d->name);
    return RC_OK;
}

static void copy_desc(struct arena *to, const struct state_desc *from, struct state_desc *out)
{
    *out = *from;
    out->name = arena_strdup(to, from->name);
    out->key_type = arena_strdup(to, text(from->key_type));
    out->namespace_type = arena_strdup(to, text(from->namespace_type));
    out->user_key_type = arena_strdup(to, text(from->user_key_type));
    out->value_type = arena_strdup(to, text(from->value_type));
    out->operand_operator = arena_strdup(to, text(from->operand_operator));
}

struct row_cache *core_new_cache(struct backend_core *core, const struct core_state *s)
{
    struct row_cache_config config = {
        .fixed_value_bytes = state_desc_row_bytes(&s->desc),
        .prefix_len = core->prefix_len,
        .chain = s->desc.kind == STATE_MAP ? ROW_CHAIN_OWNER
                 : s->desc.kind != STATE_TIMER && s->ns == KEY_NS_BIGINT ? ROW_CHAIN_NAMESPACE
                                                                         : ROW_CHAIN_NONE,
        .ns = s->ns,
        .slab_bytes = core->slab_bytes,
    };

    return row_cache_new(core->rows, &config);
}

enum rc core_add(struct backend_core *core, const struct state_desc *desc, struct core_state **out,
                 struct err *err)
{
    struct core_state *s;
    enum key_namespace ns;

    RETURN_IF_ERR(check_desc(desc, err));
    RETURN_IF_ERR(key_namespace_parse(text(desc->namespace_type), &ns, err));
    if (core->state_count >= KEYED_STATES_MAX)
        return err_set(err, RC_LIMIT, "more than %u states in one backend", KEYED_STATES_MAX);
    s = mem_calloc(1, sizeof *s);
    s->base.backend = &core->base;
    s->id = (uint32_t)core->state_count;
    s->ns = ns;
    copy_desc(core->arena, desc, &s->desc);
    s->cache = core_new_cache(core, s);
    core->states = mem_realloc(core->states, (core->state_count + 1) * sizeof *core->states);
    core->states[core->state_count++] = s;
    *out = s;
    return RC_OK;
}

static const char *kind_name(enum state_kind k)
{
    static const char *const names[] = {"?",        "VALUE",       "LIST", "MAP",
                                        "REDUCING", "AGGREGATING", "TIMER"};

    return (size_t)k < ARRAY_LEN(names) ? names[k] : "?";
}

static void describe(const struct state_desc *d, struct buf *out)
{
    buf_printf(out, "%s, key %s, namespace %s", kind_name(d->kind), text(d->key_type),
               text(d->namespace_type));
    if (text(d->user_key_type)[0] != '\0')
        buf_printf(out, ", map key %s", d->user_key_type);
    if (text(d->value_type)[0] != '\0')
        buf_printf(out, ", value %s", d->value_type);
    if (d->fixed_value_bytes != 0)
        buf_printf(out, " (%u bytes)", d->fixed_value_bytes);
    if (d->ttl_ms != 0)
        buf_printf(out, ", time-to-live %llu ms", (unsigned long long)d->ttl_ms);
}

static bool same_desc(const struct state_desc *a, const struct state_desc *b)
{
    return a->kind == b->kind && strcmp(text(a->key_type), text(b->key_type)) == 0 &&
           strcmp(text(a->namespace_type), text(b->namespace_type)) == 0 &&
           strcmp(text(a->user_key_type), text(b->user_key_type)) == 0 &&
           strcmp(text(a->value_type), text(b->value_type)) == 0 &&
           a->fixed_value_bytes == b->fixed_value_bytes;
}

static enum rc differ(const struct state_desc *old, const struct state_desc *now, enum rc rc,
                      const char *old_word, const char *new_word, struct err *err)
{
    struct buf a = {0}, b = {0};

    describe(old, &a);
    describe(now, &b);
    err_set(err, rc, "state %s differs:\n  %s: %s\n  %s: %s", now->name, old_word, buf_cstr(&a),
            new_word, buf_cstr(&b));
    buf_release(&a);
    buf_release(&b);
    return rc;
}

enum rc core_open(struct backend_core *core, const struct state_desc *desc, struct core_state **out,
                  struct ttl_shape *was, struct err *err)
{
    struct core_state *s;

    RETURN_IF_ERR(check_desc(desc, err));
    s = core_find(core, desc->name);
    if (s == NULL)
        RETURN_IF_ERR(core_add(core, desc, &s, err));
    else if (!same_desc(&s->desc, desc))
        return differ(&s->desc, desc, RC_INVALID, "restored", "job", err);
    else if (s->opened && s->desc.ttl_ms != desc->ttl_ms)
        return differ(&s->desc, desc, RC_INVALID, "opened before", "now", err);
    if (core->snapshot != NULL && (s->desc.ttl_ms == 0) != (desc->ttl_ms == 0))
        return err_set(err, RC_STATE,
                       "state %s: its values are rewritten to turn time-to-live on or off, which has "
                       "to wait for the snapshot that is being written",
                       desc->name);
    *was = ttl_shape_of(&s->desc);
    *out = s;
    return RC_OK;
}

void core_opened(struct core_state *s, const struct state_desc *desc)
{
    if (core_of(s->base.backend)->restoring)
        return;
    s->opened = true;
    s->desc.ttl_ms = desc->ttl_ms;
    s->ttl = ttl_shape_of(&s->desc);
}

/* ---- rows of another shape ------------------------------------------------------------------- */

bool core_shape_differs(const struct ttl_shape *was, const struct state_desc *desc)
{
    return (was->ttl_ms == 0) != (desc->ttl_ms == 0);
}

enum rc core_convert_rows(struct core_state *s, const struct ttl_shape *was, int64_t now_ms,
                          struct row_view *rows, uint32_t count, struct buf *data, struct err *err)
{
    struct ttl_shape is = ttl_shape_of(&s->desc);
    size_t at = 0;

    buf_clear(data);
    for (uint32_t i = 0; i < count; i++) {
        size_t start = data->len;
        bool left;

        if (rows[i].tombstone)
            continue;
        RETURN_IF_ERR(ttl_convert(was, &is, rows[i].value, now_ms, &left, data, err));
        rows[i].tombstone = !left;
        rows[i].value.len = data->len - start;
    }
    for (uint32_t i = 0; i < count; i++) { /* the data holds still now */
        if (rows[i].tombstone)
            continue;
        rows[i].value.data = data->data + at;
        at += rows[i].value.len;
    }
    return RC_OK;
}

const struct state_change *core_change_of(const struct backend_core *core, const char *name)
{
    for (size_t i = 0; i < core->change_count; i++) {
        if (strcmp(core->changes[i].was->name, text(name)) == 0)
            return &core->changes[i];
    }
    return NULL;
}

enum rc core_convert(struct core_state *s, const struct state_change *change, struct bytes from,
                     struct buf *out, struct err *err)
{
    uint32_t size = state_desc_row_bytes(&s->desc), was_size = state_desc_row_bytes(change->was);
    uint32_t time_bytes = size - s->desc.fixed_value_bytes; /* its time goes along */
    uint8_t *to;

    if (from.len != was_size)
        return err_set(err, RC_CORRUPT, "state %s: value of %zu bytes instead of %u", s->desc.name,
                       from.len, was_size);
    buf_reserve(out, size);
    to = out->data + out->len;
    memcpy(to, from.data, time_bytes);
    RETURN_IF_ERR(change->convert(change->ctx, from.data + time_bytes, to + time_bytes, err));
    out->len += size;
    s->changed_rows++;
    return RC_OK;
}

/* Operands that we cannot merge must not be read at all. */
static enum rc check_operands(const struct state_desc *d, struct err *err)
{
    if (text(d->operand_operator)[0] == '\0' ||
        (strcmp(d->operand_operator, BLIND_OPERATOR) == 0 && d->operand_version == BLIND_VERSION))
        return RC_OK;
    return err_set(err, RC_VERSION,
                   "state %s: its files may hold operands of the merge operator %s, version %u; this "
                   "program knows %s, version %u",
                   d->name, d->operand_operator, d->operand_version, BLIND_OPERATOR, BLIND_VERSION);
}

static enum rc restore_state(struct backend_core *core, const struct state_desc *desc,
                             struct core_state **out, struct err *err)
{
    const struct state_change *change = core_change_of(core, desc->name);
    struct core_state *s = core_find(core, text(desc->name));
    struct state_desc is;

    *out = NULL;
    RETURN_IF_ERR(check_operands(desc, err));
    if (change != NULL && !same_desc(change->was, desc))
        return differ(change->was, desc, RC_CORRUPT, "another handle", "this handle", err);
    if (change != NULL && change->is == NULL)
        return RC_OK; /* dropped */
    if (change != NULL) {
        is = *change->is;
        is.ttl_ms = desc->ttl_ms; /* turned on or off when the job opens it */
        desc = &is;
    }
    if (s == NULL)
        RETURN_IF_ERR(core_add(core, desc, &s, err));
    else if (!same_desc(&s->desc, desc))
        return differ(&s->desc, desc, RC_CORRUPT, "another handle", "this handle", err);
    *out = s;
    return RC_OK;
}

enum rc core_restore_states(struct backend_core *core, const struct keyed_handle *h,
                            const char *what, struct arena *arena, struct core_state ***states,
                            struct err *err)
{
    *states = ARENA_ARRAY(arena, h->state_count, struct core_state *);
    for (size_t i = 0; i < h->state_count; i++) {
        enum rc rc = restore_state(core, &h->states[i], &(*states)[i], err);

        if (rc != RC_OK)
            return err_wrap(err, rc, "%s", what);
    }
    return RC_OK;
}

/* ---- time-to-live ---------------------------------------------------------------------------- */

int64_t core_ttl_now(struct backend_core *core)
{
    for (size_t i = 0; i < core->state_count; i++) {
        if (core->states[i]->ttl.ttl_ms != 0)
            return ttl_clock_now(&core->ttl);
    }
    return ttl_clock_seen(&core->ttl);
}

static struct bytes trim(void *state, struct bytes value)
{
    struct core_state *s = state;

    buf_clear(&s->trimmed);
    switch (ttl_filter(&s->ttl, value, ttl_clock_seen(&core_of(s->base.backend)->ttl),
                       &s->trimmed)) {
    case TTL_KEEP:
        break;
    case TTL_CHANGED:
        return buf_bytes(&s->trimmed);
    case TTL_DROP:
        return (struct bytes){0};
    }
    return value;
}

bool core_is_gone(void *state, struct bytes value)
{
    return trim(state, value).data == NULL;
}

struct row_append_rules core_append_rules(struct core_state *s, size_t bytes_max)
{
    return (struct row_append_rules){bytes_max, s->ttl.ttl_ms == 0 ? NULL : trim, s};
}

/* ---- checks ---------------------------------------------------------------------------------- */

void core_check_keys(const struct backend_core *core, const struct key_batch *keys)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        ASSERT(keys->offsets[i + 1] - keys->offsets[i] >= core->prefix_len);
        ASSERT(key_group_range_has(
            core->range, keygroup_get_prefix(keys->data + keys->offsets[i], core->prefix_len)));
    }
}

enum rc core_check_value(const struct core_state *s, struct bytes value, struct err *err)
{
    uint32_t row_bytes = state_desc_row_bytes(&s->desc);

    if (row_bytes == 0 || value.len == row_bytes)
        return RC_OK;
    return err_set(err, RC_CORRUPT,
                   "state %s: stored value of %zu bytes, the state's values have %u", s->desc.name,
                   value.len, row_bytes);
}

struct state_desc *core_describe(const struct backend_core *core, size_t state_count,
                                 struct arena *arena)
{
    struct state_desc *d = ARENA_ARRAY(arena, state_count, struct state_desc);

    for (size_t i = 0; i < state_count; i++)
        copy_desc(arena, &core->states[i]->desc, &d[i]);
    return d;
}

struct key_group_range core_range_of(const struct backend_core *core, const struct keyed_handle *h)
{
    return h->key_group_count == core->key_group_count ? key_group_range_meet(core->range, h->range)
                                                       : h->range;
}

static enum rc check_handle(const struct backend_core *core, const struct keyed_handle *h,
                            uint32_t expected_count, struct err *err)
{
    if (h->key_group_count != (expected_count == 0 ? core->key_group_count : expected_count))
        return err_set(err, RC_INVALID,
                       "restored state has %u key groups (max parallelism), the job %u",
                       h->key_group_count, core->key_group_count);
    if (h->range.first > h->range.last || h->range.last >= h->key_group_count)
        return err_set(err, RC_CORRUPT, "handle of key groups %u..%u of %u", h->range.first,
                       h->range.last, h->key_group_count);
    return RC_OK;
}

enum rc core_check_handles(struct backend_core *core, const struct keyed_backend_config *config,
                           struct err *err)
{
    for (size_t i = 0; i < config->restore_count; i++) {
        struct key_group_range mine = core_range_of(core, &config->restore[i]);

        RETURN_IF_ERR(check_handle(core, &config->restore[i], config->restore_group_count, err));
        if (config->restore[i].ttl_clock_ms != 0)
            ttl_clock_raise(&core->ttl, config->restore[i].ttl_clock_ms);
        for (size_t j = 0; j < i; j++) {
            struct key_group_range both = key_group_range_meet(config->restore[j].range, mine);

            if (both.first <= both.last)
                return err_set(err, RC_CORRUPT, "two handles hold key groups %u..%u", both.first,
                               both.last);
        }
    }
    return RC_OK;
}
