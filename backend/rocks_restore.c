#include "backend/rocks_restore.h"

#include "backend/rocks_backend_priv.h"

#define SCAN_BATCH 1024u
#define SOURCE_FILES 64 /* open at a time of a database that is read once */
#define SCAN_BYTES (4u << 20)
#define FAN_BYTES_MIN (8u << 20) /* what is digested by several threads */

/* ---- files of a handle into a directory ------------------------------------------------------ */

/* Names come from outside: plain ones only, so that nothing is written elsewhere. */
static bool name_is_plain(const char *name)
{
    if (name == NULL || name[0] == '\0' || name[0] == '.' || strlen(name) > 100)
        return false;
    for (const char *p = name; *p != '\0'; p++) {
        bool ok = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                  (*p >= 'A' && *p <= 'Z') || *p == '-' || *p == '.' || *p == '_';

        if (!ok)
            return false;
    }
    return true;
}

static bool is_sst(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && strcmp(name + n - 4, ".sst") == 0;
}

static enum rc write_small(struct fs *fs, const char *path, struct bytes content, struct err *err)
{
    struct fs_file *f = NULL;
    enum rc rc;

    GOTO_IF_ERR(fs_create(fs, path, &f, err));
    GOTO_IF_ERR(fs_append(f, content, err));
    GOTO_IF_ERR(fs_close(&f, err));
out:
    fs_abandon(&f);
    return rc;
}

/* A copy that need not outlive a crash: unlike fs_copy it is not synced. */
static enum rc copy_small(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct buf content = {0};
    enum rc rc = fs_read_all(fs, from, ROCKS_SMALL_FILE_BYTES_MAX, &content, err);

    if (rc == RC_OK)
        rc = write_small(fs, to, buf_bytes(&content), err);
    buf_release(&content);
    return rc;
}

/* SSTs are never written to: a link will do, and *linked says that it is one. Whatever RocksDB
 * replaces or appends to is copied. */
static enum rc bring(struct fs *fs, const struct state_file *f, bool symbolic, const char *to,
                     bool *linked, struct err *err)
{
    struct err tried = {0};
    enum rc rc;

    *linked = false;
    if (f->scope == FILE_INLINE)
        return write_small(fs, to, f->inline_bytes, err);
    if (!is_sst(f->local_name))
        return copy_small(fs, f->resolved_path, to, err);
    rc = symbolic ? fs_symlink(fs, f->resolved_path, to, &tried)
                  : fs_link(fs, f->resolved_path, to, &tried);
    *linked = rc == RC_OK;
    if (rc == RC_NO_LINK) {
        err_clear(&tried);
        rc = fs_reflink(fs, f->resolved_path, to, &tried);
    }
    if (rc == RC_NO_LINK)
        return fs_copy(fs, f->resolved_path, to, err);
    return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", tried.msg);
}

/* Fetched once: the copy is proven, not what it came from. */
static enum rc fetch(struct fs *fs, const struct state_file *f, const char *to, struct err *err)
{
    struct state_file copy = *f;
    enum rc rc;

    RETURN_IF_ERR(fs_copy(fs, f->resolved_path, to, err));
    copy.resolved_path = to;
    rc = state_file_prove(fs, &copy, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "copy of %s", f->resolved_path);
}

/* Proven first, or, `later`, not yet: an SST that is linked; then its size alone is looked at. */
static enum rc bring_file(struct fs *fs, const struct state_file *f, enum rocks_bring how,
                          const char *to, struct local_file *out, struct err *err)
{
    bool linked, later = (how == BRING_LATER || how == BRING_LOOK) && is_sst(f->local_name);
    bool symbolic = how == BRING_LOOK || how == BRING_LOOK_PROVEN;
    struct fs_stat st;

    if (f->scope != FILE_INLINE && is_sst(f->local_name) && path_is_remote(f->resolved_path)) {
        RETURN_IF_ERR(fetch(fs, f, to, err));
        RETURN_IF_ERR(fs_stat(fs, to, &st, err));
        *out = (struct local_file){st.device, st.inode, true};
        return RC_OK;
    }
    RETURN_IF_ERR(later ? state_file_measure(fs, f, err) : state_file_prove(fs, f, err));
    RETURN_IF_ERR(bring(fs, f, symbolic, to, &linked, err));
    if (later && !linked)
        RETURN_IF_ERR(state_file_prove(fs, f, err));
    RETURN_IF_ERR(fs_stat(fs, to, &st, err));
    *out = (struct local_file){st.device, st.inode, !later || !linked};
    return RC_OK;
}

struct bringing {
    struct fs *fs;
    const struct keyed_handle *h;
    const char *dir;
    enum rocks_bring how;
    struct local_file *local;
};

/* On any thread. */
static enum rc bring_one(void *ctx, size_t i, struct err *err)
{
    const struct bringing *x = ctx;
    const struct state_file *f = &x->h->files[i];
    char to[FS_PATH_MAX];

    if (!name_is_plain(f->local_name))
        return err_set(err, RC_CORRUPT, "handle names the file \"%s\"",
                       f->local_name == NULL ? "" : f->local_name);
    RETURN_IF_ERR(path_join(to, sizeof to, x->dir, f->local_name, err));
    return bring_file(x->fs, f, x->how, to, &x->local[i], err);
}

/* Whether bringing is more than a link: a thread costs more than that. */
static bool reads_files(const struct keyed_handle *h, enum rocks_bring how)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < h->file_count; i++) {
        if (h->files[i].scope != FILE_INLINE && path_is_remote(h->files[i].resolved_path))
            return true;
        bytes += h->files[i].size_bytes;
    }
    return (how == BRING_PROVEN || how == BRING_LOOK_PROVEN) && bytes >= FAN_BYTES_MIN;
}

static enum rc bring_files(struct fs *fs, struct fan_out *fan, const struct keyed_handle *h,
                           const char *dir, enum rocks_bring how, struct local_file *local,
                           struct err *err)
{
    struct bringing x = {fs, h, dir, how, local};

    RETURN_IF_ERR(rocks_scratch_dir(fs, dir, err));
    return fan_out_run(reads_files(h, how) ? fan : NULL, h->file_count, bring_one, &x, err);
}

/* ---- live files against the handle (C13) ----------------------------------------------------- */

struct live_check {
    const struct keyed_handle *h;
    size_t live;
};

static enum rc check_live(void *ctx, const char *name, uint64_t size_bytes, struct err *err)
{
    struct live_check *x = ctx;

    for (size_t i = 0; i < x->h->file_count; i++) {
        if (strcmp(x->h->files[i].local_name, name) == 0) {
            if (x->h->files[i].size_bytes != size_bytes)
                return err_set(err, RC_CORRUPT, "MANIFEST says %s has %llu bytes, the handle %llu",
                               name, (unsigned long long)size_bytes,
                               (unsigned long long)x->h->files[i].size_bytes);
            x->live++;
            return RC_OK;
        }
    }
    return err_set(err, RC_CORRUPT, "MANIFEST names %s, the handle does not", name);
}

static enum rc check_live_files(struct rocks_db *db, const struct keyed_handle *h, struct err *err)
{
    struct live_check x = {h, 0};
    size_t named = 0;

    for (size_t i = 0; i < h->file_count; i++)
        named += is_sst(h->files[i].local_name);
    RETURN_IF_ERR(rocks_live_files(db, check_live, &x, err));
    if (x.live != named)
        return err_set(err, RC_CORRUPT,
                       "MANIFEST ends early: %zu of the handle's %zu SST files are live", x.live,
                       named);
    return RC_OK;
}

/* Each state has its family (or none, when it never held a row), each family its state. */
static enum rc check_families(const struct rocks_db *db, const struct keyed_handle *h,
                              struct err *err)
{
    for (size_t i = 0; i < rocks_cf_count(db); i++) {
        const char *name = rocks_cf_name(rocks_cf_at(db, i));
        bool found = false;

        for (size_t j = 0; j < h->state_count && !found; j++)
            found = strcmp(h->states[j].name, name) == 0;
        if (!found)
            return err_set(err, RC_CORRUPT, "the database has a state %s, the handle does not",
                           name);
    }
    return RC_OK;
}

/* A database of the handle's files in the directory of `config`. */
static enum rc open_handle(struct fs *fs, struct fan_out *fan, const struct keyed_handle *h,
                           enum rocks_bring how, struct local_file *local, const struct rocks_config *config,
                           struct rocks_db **out, struct err *err)
{
    enum rc rc;

    RETURN_IF_ERR(bring_files(fs, fan, h, config->dir, how, local, err));
    RETURN_IF_ERR(rocks_open(config, out, err));
    rc = check_live_files(*out, h, err);
    if (rc == RC_OK)
        rc = check_families(*out, h, err);
    if (rc != RC_OK) {
        rocks_close(*out);
        *out = NULL;
    }
    return rc;
}

static bool handle_has_totals(const void *handle, const char *family)
{
    const struct keyed_handle *h = handle;
    const struct state_desc *d = state_desc_find(h->states, h->state_count, family);

    return d != NULL && state_desc_has_totals(d);
}

enum rc rocks_source_open(struct fs *fs, struct fan_out *fan, const struct keyed_handle *h,
                          const char *dir, enum rocks_bring how, int max_open_files, struct rocks_source *out,
                          struct err *err)
{
    struct rocks_config config = {.dir = dir,
                                  .read_only = true,
                                  .block_cache_bytes = 8u << 20,
                                  .write_buffer_bytes = 1u << 20,
                                  .max_open_files = max_open_files >= 0 && max_open_files < SOURCE_FILES
                                                    ? max_open_files
                                                    : SOURCE_FILES,
                                  .totals = {handle_has_totals, h}};
    enum rc rc;

    *out = (struct rocks_source){.handle = h};
    RETURN_IF_ERR(fs_remove_tree(fs, dir, err));
    out->files = mem_calloc(h->file_count, sizeof *out->files);
    rc = open_handle(fs, fan, h, how, out->files, &config, &out->db, err);
    if (rc != RC_OK)
        rocks_source_close(out);
    return rc;
}

void rocks_source_close(struct rocks_source *s)
{
    rocks_close(s->db);
    mem_free(s->files);
    *s = (struct rocks_source){0};
}

/* ---- scanning a range ------------------------------------------------------------------------ */

struct rocks_bounds rocks_bounds_of(struct key_group_range r, uint32_t prefix_len, uint8_t buf[4])
{
    bool to_end = r.last + 1 >= 1u << (8 * prefix_len);

    keygroup_put_prefix(buf, prefix_len, r.first);
    if (!to_end)
        keygroup_put_prefix(buf + 2, prefix_len, r.last + 1);
    return (struct rocks_bounds){bytes_of(buf, prefix_len),
                                 bytes_of(buf + 2, to_end ? 0 : prefix_len)};
}

/* Iterator over the groups of a range. */
static struct rocks_iter *iter_of_range(struct rocks_cf *cf, struct key_group_range r,
                                        uint32_t prefix_len)
{
    uint8_t buf[4] = {0};
    struct rocks_bounds b = rocks_bounds_of(r, prefix_len, buf);

    return rocks_iter_new(cf, b.lower, b.upper);
}

/* Entries collected for one call of fn: copies, since the iterator moves on. */
struct scan_batch {
    struct buf data;
    struct bytes keys[SCAN_BATCH], values[SCAN_BATCH];
    uint32_t count;
};

static enum rc hand_out(struct scan_batch *b, uint32_t state_id, keyed_stream_fn *fn, void *ctx,
                        struct err *err)
{
    size_t at = 0;
    enum rc rc;

    if (b->count == 0)
        return RC_OK;
    for (uint32_t i = 0; i < b->count; i++) { /* the data holds still now */
        b->keys[i].data = b->data.data + at;
        at += b->keys[i].len;
        b->values[i].data = b->data.data + at;
        at += b->values[i].len;
    }
    rc = fn(ctx, state_id, b->count, b->keys, b->values, err);
    b->count = 0;
    buf_clear(&b->data);
    return rc;
}

static enum rc scan_state(struct rocks_cf *cf, uint32_t state_id, struct key_group_range range,
                          uint32_t prefix_len, keyed_stream_fn *fn, void *ctx, struct err *err)
{
    struct rocks_iter *it = iter_of_range(cf, range, prefix_len);
    struct scan_batch *b = mem_calloc(1, sizeof *b);
    struct bytes key, value;
    enum rc rc;

    while (rocks_iter_next(it, &key, &value, &rc, err)) {
        b->keys[b->count].len = key.len;
        b->values[b->count++].len = value.len;
        buf_append(&b->data, key.data, key.len);
        buf_append(&b->data, value.data, value.len);
        if (b->count == SCAN_BATCH || b->data.len >= SCAN_BYTES)
            GOTO_IF_ERR(hand_out(b, state_id, fn, ctx, err));
    }
    if (rc == RC_OK)
        rc = hand_out(b, state_id, fn, ctx, err);
out:
    buf_release(&b->data);
    mem_free(b);
    rocks_iter_free(it);
    return rc;
}

enum rc rocks_restore_read(const struct env *env, const char *scratch_dir,
                           const struct keyed_handle *h, struct key_group_range range,
                           keyed_stream_fn *fn, void *ctx, struct err *err)
{
    struct rocks_source source;
    char dir[FS_PATH_MAX];
    struct err ignored = {0};
    enum rc rc;

    if (scratch_dir == NULL)
        return err_set(err, RC_INVALID, "restoring a rocksdb handle needs a local directory");
    range = key_group_range_meet(range, h->range);
    RETURN_IF_ERR(path_join(dir, sizeof dir, scratch_dir, "from", err));
    rc = rocks_source_open(env->fs, env->fan, h, dir, BRING_LOOK_PROVEN, -1, &source, err);
    for (size_t i = 0; rc == RC_OK && i < h->state_count && range.first <= range.last; i++) {
        struct rocks_cf *cf = rocks_cf_find(source.db, h->states[i].name);

        if (cf == NULL)
            continue;
        rocks_cf_set_shape(cf, value_shape_of_desc(&h->states[i]));
        rc = scan_state(cf, (uint32_t)i, range, keygroup_prefix_len(h->key_group_count), fn, ctx,
                        err);
    }
    rocks_source_close(&source);
    (void)!fs_remove_tree(env->fs, dir, &ignored); /* scratch: goes with the directory else */
    return rc;
}

/* ---- into the backend's own database --------------------------------------------------------- */

/* Rows of an iterator for the flusher. */
struct iter_rows {
    struct row_source source; /* first */
    struct rocks_iter *it;
    const struct backend_core *core;
    struct core_state *state;
    const struct state_change *change; /* NULL: values are taken as they are */
    struct buf data;
    enum rc rc;
    struct err *err;
};

/* Appends a value as it is from now on. */
static enum rc take_value(struct iter_rows *r, struct bytes value)
{
    if (r->change != NULL)
        return core_convert(r->state, r->change, value, &r->data, r->err);
    RETURN_IF_ERR(core_check_value(r->state, value, r->err));
    buf_append(&r->data, value.data, value.len);
    return RC_OK;
}

static uint32_t iter_rows_next(struct row_source *source, struct row_view *out, uint32_t max)
{
    struct iter_rows *r = (struct iter_rows *)source;
    uint32_t got = 0;
    struct bytes key, value;

    buf_clear(&r->data);
    r->rc = core_go_on(r->core, r->err);
    while (got < max && r->data.len < SCAN_BYTES && r->rc == RC_OK &&
           rocks_iter_next(r->it, &key, &value, &r->rc, r->err)) {
        size_t key_end;

        buf_append(&r->data, key.data, key.len);
        key_end = r->data.len;
        r->rc = take_value(r, value);
        if (r->rc == RC_OK)
            out[got++] = (struct row_view){
                .key.len = key.len, .value.len = r->data.len - key_end, .dirty = true};
    }
    for (uint32_t i = 0, at = 0; i < got; i++) {
        out[i].key.data = r->data.data + at;
        at += (uint32_t)out[i].key.len;
        out[i].value.data = r->data.data + at;
        at += (uint32_t)out[i].value.len;
    }
    return got;
}

/* Rows of a family, which lie as `was` says: of a source, or the state's own. */
static enum rc copy_state(struct rocks_backend *b, struct core_state *s, struct rocks_cf *from,
                          const struct state_desc *was, struct key_group_range range,
                          struct err *err)
{
    struct iter_rows rows = {
        .source = {.next = iter_rows_next, .rows_max = UINT64_MAX, .bytes_max = UINT64_MAX},
        .core = &b->core,
        .state = s,
        .change = core_change_of(&b->core, s->desc.name),
        .err = err,
    };
    enum rc rc;

    rocks_cf_set_shape(from, value_shape_of_desc(was));
    rows.it = iter_of_range(from, range, b->core.prefix_len);
    rocks_cf_set_shape(below_of(s)->cf, value_shape_of_desc(&s->desc));
    rc = flusher_write(b->flusher, below_of(s)->cf, &rows.source, err);
    if (rc == RC_OK)
        rc = rows.rc;
    below_of(s)->complete = false;
    below_of(s)->written = true;
    rocks_iter_free(rows.it);
    buf_release(&rows.data);
    return rc;
}

static enum rc copy_handle(struct rocks_backend *b, const struct keyed_handle *h, int max_open_files,
                           struct err *err)
{
    struct key_group_range range = key_group_range_meet(b->core.range, h->range);
    struct arena *arena = arena_new(0);
    struct core_state **states;
    struct rocks_source source = {0};
    char dir[FS_PATH_MAX];
    struct err ignored = {0};
    enum rc rc;

    GOTO_IF_ERR(core_restore_states(&b->core, h, "handle", arena, &states, err));
    GOTO_IF_ERR(path_join(dir, sizeof dir, b->local_dir, "from", err));
    rc = rocks_source_open(b->core.env->fs, b->core.env->fan, h, dir, BRING_PROVEN, max_open_files,
                           &source, err);
    for (size_t i = 0; rc == RC_OK && i < h->state_count && range.first <= range.last; i++) {
        struct rocks_cf *from = rocks_cf_find(source.db, h->states[i].name);

        if (states[i] == NULL)
            continue; /* dropped */
        rc = rocks_attach(b, states[i], err);
        if (rc == RC_OK && from != NULL)
            rc = copy_state(b, states[i], from, &h->states[i], range, err);
    }
    rocks_source_close(&source);
    (void)!fs_remove_tree(b->core.env->fs, dir, &ignored);
out:
    arena_free(arena);
    return rc;
}

void rocks_take_known(struct rocks_backend *b, const char *local_name, const struct state_file *f,
                      bool proven)
{
    incremental_add(b->known, local_name, f->size_bytes, f->digest);
    if (!proven)
        warmup_add(b->warmup, local_name, f);
}

/* Whether a file has keys outside. */
struct across {
    struct rocks_bounds bounds;
    bool any;
};

static enum rc note_across(void *ctx, const struct rocks_file *f, struct err *err)
{
    struct across *a = ctx;

    (void)err;
    a->any = a->any || rocks_file_place(f, a->bounds) != ROCKS_INSIDE;
    return RC_OK;
}

/* true when every file holds keys of the backend's range only. */
static enum rc all_in_range(const struct backend_core *core, struct rocks_db *db, bool *in,
                            struct err *err)
{
    uint8_t buf[4] = {0};
    struct across a = {rocks_bounds_of(core->range, core->prefix_len, buf), false};

    for (size_t i = 0; i < rocks_cf_count(db); i++)
        RETURN_IF_ERR(rocks_cf_files(rocks_cf_at(db, i), note_across, &a, err));
    *in = !a.any;
    return RC_OK;
}

static enum rc drop_state(struct rocks_db *db, const char *name, struct err *err)
{
    struct rocks_cf *cf = rocks_cf_find(db, name);

    return cf == NULL ? RC_OK : rocks_cf_drop(cf, err);
}

/* In files that were taken over values lie as before: rewritten in one pass, whose rows hide the
 * old ones. */
static enum rc rewrite_states(struct rocks_backend *b, struct err *err)
{
    for (size_t i = 0; i < b->core.state_count; i++) {
        struct core_state *s = b->core.states[i];
        const struct state_change *change = core_change_of(&b->core, s->desc.name);

        if (change != NULL && below_of(s) != NULL && below_of(s)->written)
            RETURN_IF_ERR(copy_state(b, s, below_of(s)->cf, change->was, b->core.range, err));
    }
    return RC_OK;
}

/* The handle's files become the database. *done false: one holds entries of other ranges. */
static enum rc take_over(struct rocks_backend *b, const struct keyed_handle *h, bool later,
                         const struct rocks_config *rocks, struct arena *arena, bool *done,
                         struct err *err)
{
    struct local_file *local = ARENA_ARRAY(arena, h->file_count, struct local_file);
    struct rocks_config config = *rocks;
    struct core_state **states;
    enum rc rc;

    config.create = false;
    b->opening = h;
    rc = open_handle(b->core.env->fs, b->core.env->fan, h, later ? BRING_LATER : BRING_PROVEN, local,
                     &config, &b->db, err);
    b->opening = NULL;
    if (rc != RC_OK)
        return rc;
    RETURN_IF_ERR(all_in_range(&b->core, b->db, done, err));
    if (!*done) {
        rocks_close(b->db);
        b->db = NULL;
        return fs_remove_tree(b->core.env->fs, rocks->dir, err);
    }
    RETURN_IF_ERR(core_restore_states(&b->core, h, "handle", arena, &states, err));
    for (size_t i = 0; i < h->state_count; i++)
        RETURN_IF_ERR(states[i] == NULL ? drop_state(b->db, h->states[i].name, err)
                                        : rocks_attach(b, states[i], err));
    for (size_t i = 0; i < h->file_count; i++) {
        if (is_sst(h->files[i].local_name))
            rocks_take_known(b, h->files[i].local_name, &h->files[i], local[i].proven);
    }
    return RC_OK;
}

static enum rc start_empty(struct rocks_backend *b, const struct rocks_config *rocks,
                           struct err *err)
{
    struct rocks_config config = *rocks;

    config.create = true;
    return rocks_open(&config, &b->db, err);
}

/* Whether linked files are proven in the background. */
static bool prove_later(const struct keyed_backend_config *config)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < config->restore_count; i++) {
        for (size_t j = 0; j < config->restore[i].file_count; j++)
            bytes += config->restore[i].files[j].size_bytes;
    }
    return config->verify == RESTORE_VERIFY_BACKGROUND ||
           (config->verify == RESTORE_VERIFY_AUTO && bytes > RESTORE_VERIFY_FIRST_BYTES);
}

/* RocksDB looks into files before they are proven, names its own copy of one that is damaged, and blames
 * the MANIFEST: which file of the snapshot it is, is said instead. */
static enum rc name_damaged(const struct keyed_backend_config *config, struct err *err)
{
    for (size_t i = 0; i < config->restore_count; i++) {
        for (size_t j = 0; j < config->restore[i].file_count; j++) {
            const struct state_file *f = &config->restore[i].files[j];
            struct err found = {0};

            if (f->scope == FILE_INLINE || path_is_remote(f->resolved_path))
                continue; /* proven before RocksDB saw it */
            if (state_file_prove(config->env->fs, f, &found) == RC_CORRUPT) {
                err_clear(err);
                return err_set(err, RC_CORRUPT, "%s", found.msg);
            }
        }
    }
    return RC_CORRUPT;
}

/* What is left when files are in place: rows to be rewritten, handles to be copied. */
static enum rc restore_rows(struct rocks_backend *b, const struct keyed_backend_config *config,
                            const bool *taken, struct err *err)
{
    RETURN_IF_ERR(warmup_prove(b->warmup, err)); /* writing may wait for compactions */
    RETURN_IF_ERR(rocks_compact(b->db, err));
    RETURN_IF_ERR(rewrite_states(b, err));
    for (size_t i = 0; i < config->restore_count; i++) {
        const struct keyed_handle *h = &config->restore[i];

        if (!taken[i])
            RETURN_IF_ERR(h->kind == KEYED_ROCKS && h->key_group_count == b->core.key_group_count
                              ? copy_handle(b, h, config->max_open_files, err)
                              : core_restore_entries(&b->core, config, h, err));
    }
    return RC_OK;
}

enum rc rocks_restore(struct rocks_backend *b, const struct keyed_backend_config *config,
                      const struct rocks_config *rocks, struct err *err)
{
    const struct keyed_handle *h = config->restore;
    struct arena *arena = arena_new(0);
    bool *taken = ARENA_ARRAY(arena, config->restore_count, bool);
    bool later = prove_later(config), all = true, same_groups = config->restore_group_count == 0;
    enum rc rc;

    if (config->restore_count == 1 && same_groups && h->kind == KEYED_ROCKS &&
        h->range.first == b->core.range.first && h->range.last == b->core.range.last)
        GOTO_IF_ERR(take_over(b, h, later, rocks, arena, &taken[0], err));
    if (b->db == NULL) {
        GOTO_IF_ERR(start_empty(b, rocks, err));
        if (same_groups)
            GOTO_IF_ERR(rocks_rescale(b, config, later, taken, err));
    }
    GOTO_IF_ERR(rocks_make_flusher(b, err));
    for (size_t i = 0; i < config->restore_count; i++)
        all = all && taken[i];
    if (!all || config->change_count > 0)
        GOTO_IF_ERR(restore_rows(b, config, taken, err));
    for (size_t i = 0; i < b->core.state_count && !config->no_load; i++) {
        struct core_state *s = b->core.states[i];

        /* Timers have a place of their own in memory. */
        if (below_of(s) != NULL && below_of(s)->written && s->desc.kind != STATE_TIMER)
            below_of(s)->to_load = true;
    }
    rc = warmup_start(b->warmup, err);
out:
    arena_free(arena);
    return rc == RC_CORRUPT && later ? name_damaged(config, err) : rc;
}
