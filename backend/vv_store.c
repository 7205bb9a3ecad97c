/* vv_store.c - stores, their options and their states (varve_state.h). */
#include "backend/vv_priv.h"

#include "backend/files_plan.h"
#include "backend/handle_codec.h"
#include "backend/state_dir.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCRATCH_PREFIX ".varve-state-"
#define MEMORY_DEFAULT (256ull << 20)

/* ---- options --------------------------------------------------------------------------------- */

struct store_options {
    enum backend_kind kind;
    const char *local_dir;              /* NULL: none */
    uint64_t slot_bytes, managed_bytes; /* 0: not set */
    int max_open_files;
    enum restore_verify verify;
    bool load_cache;
};

static enum rc set_type(struct store_options *o, const char *value, struct err *err)
{
    if (strcmp(value, "hashmap") == 0)
        o->kind = BACKEND_HASHMAP;
    else if (strcmp(value, "rocksdb") == 0)
        o->kind = BACKEND_ROCKSDB;
    else
        return err_set(err, RC_INVALID, "\"%.60s\" is neither hashmap nor rocksdb", value);
    return RC_OK;
}

static enum rc set_local_dir(struct store_options *o, const char *value, struct err *err)
{
    if (value[0] == '\0')
        return err_set(err, RC_INVALID, "it is empty");
    o->local_dir = value;
    return RC_OK;
}

static enum rc set_memory(uint64_t *bytes, const char *value, struct err *err)
{
    RETURN_IF_ERR(memory_size_parse(value, bytes, err));
    if (*bytes < memory_plan_least(1))
        return err_set(err, RC_INVALID, "%llu bytes: a store needs at least %llu",
                       (unsigned long long)*bytes, (unsigned long long)memory_plan_least(1));
    return RC_OK;
}

static enum rc set_slot_memory(struct store_options *o, const char *value, struct err *err)
{
    return set_memory(&o->slot_bytes, value, err);
}

static enum rc set_managed_memory(struct store_options *o, const char *value, struct err *err)
{
    return set_memory(&o->managed_bytes, value, err);
}

static enum rc set_open_files(struct store_options *o, const char *value, struct err *err)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || n < -1 || n > INT32_MAX)
        return err_set(err, RC_INVALID, "\"%.60s\" is not a number from -1 on", value);
    o->max_open_files = (int)n;
    return RC_OK;
}

static enum rc set_verify(struct store_options *o, const char *value, struct err *err)
{
    static const char *const words[] = {[RESTORE_VERIFY_AUTO] = "auto",
                                        [RESTORE_VERIFY_FIRST] = "first",
                                        [RESTORE_VERIFY_BACKGROUND] = "background"};

    for (unsigned i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(value, words[i]) == 0) {
            o->verify = (enum restore_verify)i;
            return RC_OK;
        }
    }
    return err_set(err, RC_INVALID, "\"%.60s\" is none of auto, first, background", value);
}

static enum rc set_load(struct store_options *o, const char *value, struct err *err)
{
    return bool_parse(value, &o->load_cache, err);
}

static const struct {
    const char *key;
    enum rc (*set)(struct store_options *, const char *value, struct err *);
} option_table[] = {
    {"state.backend.type", set_type},
    {"state.backend.rocksdb.localdir", set_local_dir},
    {"state.backend.rocksdb.memory.fixed-per-slot", set_slot_memory},
    {"taskmanager.memory.managed.size", set_managed_memory},
    {"state.backend.rocksdb.files.open", set_open_files},
    {"varve.restore.verify-files", set_verify},
    {"varve.restore.load-cache", set_load},
};

static enum rc refuse_option(const char *key, struct err *err)
{
    struct buf known = {0};

    for (size_t i = 0; i < ARRAY_LEN(option_table); i++)
        buf_printf(&known, "%s%s", i == 0 ? "" : ", ", option_table[i].key);
    err_set(err, RC_INVALID, "unknown option %.200s; a store knows %s", key, buf_cstr(&known));
    buf_release(&known);
    return RC_INVALID;
}

static enum rc set_option(struct store_options *o, const vv_option *option, struct err *err)
{
    if (option->key == NULL || option->value == NULL)
        return err_set(err, RC_INVALID, "an option without a %s",
                       option->key == NULL ? "key" : "value");
    for (size_t i = 0; i < ARRAY_LEN(option_table); i++) {
        enum rc rc;

        if (strcmp(option->key, option_table[i].key) != 0)
            continue;
        rc = option_table[i].set(o, option->value, err);
        return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s", option->key);
    }
    return refuse_option(option->key, err);
}

static enum rc read_options(const vv_store_config *config, struct store_options *o, struct err *err)
{
    *o = (struct store_options){
        .kind = BACKEND_HASHMAP, .max_open_files = -1, .load_cache = true};
    if (config->options == NULL && config->option_count > 0)
        return err_set(err, RC_INVALID, "options is NULL");
    for (size_t i = 0; i < config->option_count; i++)
        RETURN_IF_ERR(set_option(o, &config->options[i], err));
    if (config->memory != NULL && (o->slot_bytes != 0 || o->managed_bytes != 0))
        return err_set(err, RC_INVALID, "memory and an option of the store's own memory");
    return RC_OK;
}

/* ---- handles to restore ---------------------------------------------------------------------- */

static enum rc resolve(const vv_restore *r, const struct state_file *f, char path[FS_PATH_MAX],
                       struct err *err)
{
    vv_error answer = {0};
    vv_file file;

    _Static_assert(VV_PATH_MAX == FS_PATH_MAX, "paths of the API fit");
    if (r->dir != NULL)
        return state_dir_resolve(r->dir, f, path, err);
    file_out(f, &file);
    path[0] = '\0';
    RETURN_IF_ERR(api_callback_rc(r->resolve(r->ctx, r->handle, &file, path, &answer), &answer,
                                  "resolve", err));
    if (path[0] == '\0' || memchr(path, '\0', FS_PATH_MAX) == NULL)
        return err_set(err, RC_INVALID, "resolve gave no path for %s", f->path);
    return RC_OK;
}

/* Copies of the handles whose files have their paths, in `arena`. */
static enum rc resolve_all(const vv_store_config *config, struct key_group_range range,
                           struct arena *arena, struct keyed_handle **out, size_t *count,
                           struct err *err)
{
    *count = 0;
    if (config->restore == NULL && config->restore_count > 0)
        return err_set(err, RC_INVALID, "restore is NULL");
    *out = ARENA_ARRAY(arena, config->restore_count, struct keyed_handle);
    for (size_t i = 0; i < config->restore_count; i++) {
        const vv_restore *r = &config->restore[i];
        struct keyed_handle *h = &(*out)[*count];
        struct key_group_range mine;

        if (r->handle == NULL)
            return err_set(err, RC_INVALID, "restore[%zu]: handle is NULL", i);
        if (r->dir == NULL && r->resolve == NULL)
            return err_set(err, RC_INVALID, "restore[%zu]: neither dir nor resolve", i);
        mine = key_group_range_meet(r->handle->h.range, range);
        if (mine.first > mine.last)
            continue; /* of other stores alone */
        (*count)++;
        keyed_handle_copy(arena, &r->handle->h, h);
        for (size_t j = 0; j < h->file_count; j++) {
            char path[FS_PATH_MAX];
            enum rc rc;

            if (h->files[j].scope == FILE_INLINE)
                continue;
            rc = resolve(r, &h->files[j], path, err);
            if (rc != RC_OK)
                return err_wrap(err, rc, "restore[%zu]: file %s", i, h->files[j].path);
            h->files[j].resolved_path = arena_strdup(arena, path);
        }
    }
    return RC_OK;
}

/* ---- stores ---------------------------------------------------------------------------------- */

void store_env(struct env *env)
{
    *env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    env->log = log_new(STDERR_FILENO, LOG_WARN, env->clock);
}

static enum rc check_config(const vv_store_config *c, struct err *err)
{
    if (c->group_count < 1 || c->group_count > VV_KEY_GROUPS_MAX)
        return err_set(err, RC_INVALID, "group_count %u is not in 1..%u", c->group_count,
                       VV_KEY_GROUPS_MAX);
    if (c->first_group > c->last_group || c->last_group >= c->group_count)
        return err_set(err, RC_INVALID, "key groups %u..%u are no range of the %u there are",
                       c->first_group, c->last_group, c->group_count);
    return RC_OK;
}

static enum rc take_memory(vv_store *s, vv_memory *shared, const struct store_options *o,
                           struct err *err)
{
    uint64_t bytes = o->slot_bytes != 0 ? o->slot_bytes : o->managed_bytes;
    vv_memory *own = NULL;
    enum rc rc;

    if (shared == NULL)
        RETURN_IF_ERR(memory_own(bytes != 0 ? bytes : MEMORY_DEFAULT, &own, err));
    rc = memory_enter(shared != NULL ? shared : own, err);
    if (rc == RC_OK)
        s->memory = shared != NULL ? shared : own;
    vv_memory_free(own); /* the store has it now */
    return rc;
}

/* The store's share of what the process may open, or less. */
static enum rc divide_files(const vv_store *s, int wanted, int *out, struct err *err)
{
    uint64_t most = fs_open_files_max(s->env.fs);
    uint32_t stores = keyed_memory_plan(memory_engine(s->memory))->subtasks;
    uint64_t need = files_plan_least(FILES_RESERVE, stores);

    if (most < need)
        return err_set(err, RC_LIMIT,
                       "this process may have %llu open files (ulimit -n); %u databases need at "
                       "least %llu",
                       (unsigned long long)most, stores, (unsigned long long)need);
    *out = files_plan_each(most, FILES_RESERVE, stores, wanted);
    return RC_OK;
}

static enum rc make_scratch(vv_store *s, const char *local_dir, char db_dir[FS_PATH_MAX],
                            struct err *err)
{
    if (local_dir == NULL)
        return err_set(err, RC_INVALID,
                       "state.backend.rocksdb.localdir is not set: databases need a place");
    RETURN_IF_ERR(
        scratch_make(&s->env, local_dir, SCRATCH_PREFIX, s->id, s->dir, &s->dir_lock, err));
    return path_join(db_dir, FS_PATH_MAX, s->dir, "0", err);
}

static enum rc open_backend(vv_store *s, const vv_store_config *config,
                            const struct store_options *o, struct arena *arena, struct err *err)
{
    struct keyed_handle *handles;
    char db_dir[FS_PATH_MAX];
    struct keyed_backend_config c = {
        .env = &s->env,
        .kind = o->kind,
        .range = s->range,
        .key_group_count = s->group_count,
        .backend_id = s->id,
        .name = config->name == NULL ? "state" : config->name,
        .max_open_files = -1,
        .verify = o->verify,
        .no_load = !o->load_cache,
    };
    bool need_dir = o->kind == BACKEND_ROCKSDB;

    RETURN_IF_ERR(resolve_all(config, s->range, arena, &handles, &c.restore_count, err));
    c.restore = handles;
    c.restore_operator = c.name;
    for (size_t i = 0; i < c.restore_count; i++)
        need_dir = need_dir || handles[i].kind == KEYED_ROCKS;
    if (need_dir) {
        RETURN_IF_ERR(make_scratch(s, o->local_dir, db_dir, err));
        c.local_dir = db_dir;
    }
    if (o->kind == BACKEND_ROCKSDB) {
        RETURN_IF_ERR(take_memory(s, config->memory, o, err));
        RETURN_IF_ERR(divide_files(s, o->max_open_files, &c.max_open_files, err));
        c.memory = memory_engine(s->memory);
    }
    return keyed_backend_open(&c, &s->backend, err);
}

static enum rc store_open(const vv_store_config *config, vv_store **out, struct err *err)
{
    struct store_options options;
    struct arena *arena;
    struct rng rng;
    vv_store *s;
    enum rc rc;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(config);
    RETURN_IF_ERR(check_config(config, err));
    RETURN_IF_ERR(read_options(config, &options, err));
    s = mem_calloc(1, sizeof *s);
    store_env(&s->env);
    env_rng(&s->env, "store-id", &rng);
    rng_hex(&rng, s->id, SCRATCH_ID_LEN);
    s->range = (struct key_group_range){config->first_group, config->last_group};
    s->group_count = config->group_count;
    s->prefix_len = keygroup_prefix_len(config->group_count);
    arena = arena_new(0);
    rc = open_backend(s, config, &options, arena, err);
    arena_free(arena);
    if (rc != RC_OK) {
        vv_store_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

vv_code vv_store_open(const vv_store_config *config, vv_store **out, vv_error *error)
{
    ANSWER(store_open(config, out, err));
}

void vv_store_close(vv_store *s)
{
    if (s == NULL)
        return;
    snapshot_detach(s->snapshot);
    while (s->timers != NULL)
        timers_drop(s->timers);
    while (s->states != NULL) {
        vv_state *state = s->states;

        while (state->scans != NULL)
            vv_scan_close(state->scans);
        while (state->copies != NULL)
            vv_scan_close(state->copies);
        s->states = state->next;
        state_close(state->typed);
        mem_free(state);
    }
    keyed_backend_close(s->backend);
    if (s->memory != NULL)
        memory_leave(s->memory);
    scratch_remove(&s->env, s->dir, &s->dir_lock);
    log_free(s->env.log);
    mem_free(s);
}

const char *vv_store_id(const vv_store *s)
{
    return s == NULL ? "" : s->id;
}

static enum rc store_stats(vv_store *store, vv_stats *out, struct err *err)
{
    struct keyed_stats s;

    CHECK_NULL(store);
    CHECK_NULL(out);
    keyed_stats(store->backend, &s);
    *out = (vv_stats){
        .entries_cached = s.entries_cached,
        .cache_bytes = s.cache_bytes,
        .dirty_rows = s.dirty_rows,
        .lookups = s.lookups,
        .misses = s.misses,
        .flushes = s.flushes,
        .evictions = s.evictions,
        .flush_wait_ns = s.flush_wait_ns,
        .db_bytes = s.db_live_sst_bytes,
        .db_files = s.db_sst_files,
        .level0_files = s.l0_files,
        .pending_compaction_bytes = s.pending_compaction_bytes,
        .block_cache_bytes = s.block_cache_bytes,
        .write_buffer_bytes = s.write_buffer_bytes,
        .loaded_rows = s.loaded_rows,
        .compactions = s.compactions,
        .deepest_compactions = s.deepest_compactions,
        .compacted_bytes = s.compacted_bytes,
    };
    return RC_OK;
}

vv_code vv_store_stats(vv_store *store, vv_stats *out, vv_error *error)
{
    ANSWER(store_stats(store, out, err));
}

vv_memory *vv_store_memory(const vv_store *store)
{
    return store == NULL ? NULL : store->memory;
}

/* ---- states ---------------------------------------------------------------------------------- */

static const char *const namespace_types[] = {
    [VV_NS_NONE] = "VOID", [VV_NS_INT64] = "BIGINT", [VV_NS_BYTES] = "BYTES"};

enum rc namespace_in(vv_namespace ns, const char **type, struct err *err)
{
    if ((unsigned)ns >= ARRAY_LEN(namespace_types))
        return err_set(err, RC_INVALID, "ns %d is no vv_namespace", (int)ns);
    *type = namespace_types[ns];
    return RC_OK;
}

/* The engine counts a map's null flag to its values. */
static uint32_t flag_bytes(enum state_kind kind, uint32_t fixed_value_bytes)
{
    return kind == STATE_MAP && fixed_value_bytes != 0 ? 1 : 0;
}

void desc_out(const struct state_desc *d, vv_state_desc *out)
{
    *out = (vv_state_desc){
        .name = d->name,
        .kind = (vv_kind)d->kind,
        .key_type = d->key_type,
        .user_key_type = d->user_key_type,
        .value_type = d->value_type,
        .fixed_value_bytes = d->fixed_value_bytes - flag_bytes(d->kind, d->fixed_value_bytes),
        .ttl_ms = d->ttl_ms,
    };
    for (unsigned ns = 0; ns < ARRAY_LEN(namespace_types); ns++)
        if (strcmp(d->namespace_type, namespace_types[ns]) == 0)
            out->ns = (vv_namespace)ns;
}

static enum rc check_text(const char *what, const char *text, struct err *err)
{
    if (text != NULL && strlen(text) > HANDLE_TEXT_MAX)
        return err_set(err, RC_LIMIT, "%s of %zu bytes exceeds %u", what, strlen(text),
                       HANDLE_TEXT_MAX);
    return RC_OK;
}

static enum rc desc_in(const vv_state_desc *d, struct state_desc *out, struct err *err)
{
    CHECK_NULL(d->name);
    if (d->kind < VV_VALUE || d->kind > VV_AGGREGATING)
        return err_set(err, RC_INVALID, "state %.200s: kind %d", d->name, (int)d->kind);
    if (d->fixed_value_bytes > VV_FIXED_MAX)
        return err_set(err, RC_LIMIT, "state %.200s: values of %u bytes exceed %u", d->name,
                       d->fixed_value_bytes, VV_FIXED_MAX);
    if (d->ttl_ms > INT64_MAX)
        return err_set(err, RC_LIMIT, "state %.200s: ttl_ms exceeds %lld", d->name,
                       (long long)INT64_MAX);
    if ((unsigned)d->ttl_update > VV_TTL_ON_READ_AND_WRITE ||
        (unsigned)d->ttl_visibility > VV_TTL_RETURN_EXPIRED_IF_NOT_CLEANED_UP)
        return err_set(err, RC_INVALID, "state %.200s: ttl_update %d, ttl_visibility %d", d->name,
                       (int)d->ttl_update, (int)d->ttl_visibility);
    RETURN_IF_ERR(check_text("key_type", d->key_type, err));
    RETURN_IF_ERR(check_text("user_key_type", d->user_key_type, err));
    RETURN_IF_ERR(check_text("value_type", d->value_type, err));
    *out = (struct state_desc){
        .name = d->name,
        .kind = (enum state_kind)d->kind,
        .key_type = d->key_type == NULL ? "" : d->key_type,
        .user_key_type = d->user_key_type == NULL ? "" : d->user_key_type,
        .value_type = d->value_type == NULL ? "" : d->value_type,
        .fixed_value_bytes =
            d->fixed_value_bytes + flag_bytes((enum state_kind)d->kind, d->fixed_value_bytes),
        .ttl_ms = d->ttl_ms,
        .operand_operator = "",
    };
    return namespace_in(d->ns, &out->namespace_type, err);
}

static enum rc attach(vv_store *store, const vv_state_desc *desc, vv_state **out, struct err *err)
{
    struct state_desc d;
    vv_state *s;
    enum rc rc;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(store);
    CHECK_NULL(desc);
    RETURN_IF_ERR(desc_in(desc, &d, err));
    for (s = store->states; s != NULL; s = s->next)
        if (strcmp(s->name, d.name) == 0)
            return err_set(err, RC_EXISTS, "state %s is open already", d.name);
    s = mem_calloc(1, sizeof *s + strlen(d.name) + 1);
    memcpy(s + 1, d.name, strlen(d.name) + 1);
    s->name = (const char *)(s + 1);
    s->store = store;
    s->kind = d.kind;
    s->fixed_bytes = desc->fixed_value_bytes;
    s->row_bytes = state_desc_row_bytes(&d);
    s->has_ttl = d.ttl_ms != 0;
    rc = state_make(s, &d, desc, err);
    if (rc != RC_OK) {
        mem_free(s);
        return rc;
    }
    s->next = store->states;
    store->states = s;
    *out = s;
    return RC_OK;
}

vv_code vv_state_open(vv_store *store, const vv_state_desc *desc, vv_state **out, vv_error *error)
{
    ANSWER(attach(store, desc, out, err));
}

size_t vv_store_state_count(const vv_store *store)
{
    return store == NULL ? 0 : keyed_state_count(store->backend);
}

static enum rc state_at(const vv_store *store, size_t index, vv_state_desc *out, struct err *err)
{
    CHECK_NULL(store);
    CHECK_NULL(out);
    if (index >= keyed_state_count(store->backend))
        return err_set(err, RC_NOT_FOUND, "state %zu of %zu", index,
                       keyed_state_count(store->backend));
    desc_out(keyed_state_at(store->backend, index), out);
    return RC_OK;
}

vv_code vv_store_state_at(const vv_store *store, size_t index, vv_state_desc *out, vv_error *error)
{
    ANSWER(state_at(store, index, out, err));
}
