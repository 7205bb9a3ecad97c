#include "backend/rocks_restore.h"

#include "backend/rocks_backend_priv.h"

#define SCAN_BATCH 1024u
#define SCAN_BYTES (4u << 20)

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

/* SSTs are never written to: a link will do. Whatever RocksDB replaces or appends to is copied. */
static enum rc bring(struct fs *fs, const struct state_file *f, const char *to, struct err *err)
{
    struct err tried = {0};
    enum rc rc;

    if (f->scope == FILE_INLINE)
        return write_small(fs, to, f->inline_bytes, err);
    if (!is_sst(f->local_name))
        return fs_copy(fs, f->resolved_path, to, err);
    rc = fs_link(fs, f->resolved_path, to, &tried);
    if (rc == RC_NO_LINK) {
        err_clear(&tried);
        rc = fs_reflink(fs, f->resolved_path, to, &tried);
    }
    if (rc == RC_NO_LINK)
        return fs_copy(fs, f->resolved_path, to, err);
    return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", tried.msg);
}

static enum rc bring_files(struct fs *fs, const struct keyed_handle *h, const char *dir,
                           struct err *err)
{
    RETURN_IF_ERR(fs_mkdirs(fs, dir, err));
    for (size_t i = 0; i < h->file_count; i++) {
        char to[FS_PATH_MAX];

        if (!name_is_plain(h->files[i].local_name))
            return err_set(err, RC_CORRUPT, "handle names the file \"%s\"",
                           h->files[i].local_name == NULL ? "" : h->files[i].local_name);
        RETURN_IF_ERR(state_file_prove(fs, &h->files[i], err));
        RETURN_IF_ERR(path_join(to, sizeof to, dir, h->files[i].local_name, err));
        RETURN_IF_ERR(bring(fs, &h->files[i], to, err));
    }
    return RC_OK;
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

/* A database of the handle's files in `dir`, proven. */
static enum rc open_handle(struct fs *fs, const struct keyed_handle *h,
                           const struct rocks_config *config, struct rocks_db **out,
                           struct err *err)
{
    enum rc rc;

    RETURN_IF_ERR(bring_files(fs, h, config->dir, err));
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

/* ---- scanning a range ------------------------------------------------------------------------ */

/* Iterator over the groups of a range. */
static struct rocks_iter *iter_of_range(struct rocks_cf *cf, struct key_group_range r,
                                        uint32_t prefix_len)
{
    uint8_t lower[2], upper[2] = {0};
    bool to_end = r.last + 1 >= 1u << (8 * prefix_len);

    keygroup_put_prefix(lower, prefix_len, r.first);
    if (!to_end)
        keygroup_put_prefix(upper, prefix_len, r.last + 1);
    return rocks_iter_new(cf, bytes_of(lower, prefix_len),
                          bytes_of(upper, to_end ? 0 : prefix_len));
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

/* A read-only database of the handle below scratch_dir, gone again at the end. */
static enum rc open_source(const struct env *env, const char *scratch_dir,
                           const struct keyed_handle *h, char dir[FS_PATH_MAX],
                           struct rocks_db **out, struct err *err)
{
    struct rocks_config config = {.dir = dir,
                                  .read_only = true,
                                  .block_cache_bytes = 8u << 20,
                                  .write_buffer_bytes = 1u << 20,
                                  .max_open_files = 64};

    if (scratch_dir == NULL)
        return err_set(err, RC_INVALID, "restoring a rocksdb handle needs a local directory");
    RETURN_IF_ERR(path_join(dir, FS_PATH_MAX, scratch_dir, "from", err));
    RETURN_IF_ERR(fs_remove_tree(env->fs, dir, err));
    return open_handle(env->fs, h, &config, out, err);
}

enum rc rocks_restore_read(const struct env *env, const char *scratch_dir,
                           const struct keyed_handle *h, struct key_group_range range,
                           keyed_stream_fn *fn, void *ctx, struct err *err)
{
    struct rocks_db *db = NULL;
    char dir[FS_PATH_MAX];
    struct err ignored = {0};
    enum rc rc;

    range = key_group_range_meet(range, h->range);
    rc = open_source(env, scratch_dir, h, dir, &db, err);
    for (size_t i = 0; rc == RC_OK && i < h->state_count && range.first <= range.last; i++) {
        struct rocks_cf *cf = rocks_cf_find(db, h->states[i].name);

        if (cf != NULL)
            rc = scan_state(cf, (uint32_t)i, range, keygroup_prefix_len(h->key_group_count), fn,
                            ctx, err);
    }
    rocks_close(db);
    if (scratch_dir != NULL)
        (void)!fs_remove_tree(env->fs, dir, &ignored); /* scratch: goes with the directory else */
    return rc;
}

/* ---- into the backend's own database --------------------------------------------------------- */

/* Rows of an iterator for the flusher. */
struct iter_rows {
    struct row_source source; /* first */
    struct rocks_iter *it;
    struct core_state *state;
    const struct state_change *change; /* NULL: values are taken as they are */
    struct buf data;
    enum rc rc;
    struct err *err;
};

/* Appends a value as it is from now on. */
static enum rc take_value(struct iter_rows *r, struct bytes value)
{
    uint32_t row_bytes = state_desc_row_bytes(&r->state->desc);

    if (r->change != NULL)
        return core_convert(r->state, r->change, value, &r->data, r->err);
    if (row_bytes != 0 && value.len != row_bytes)
        return err_set(r->err, RC_CORRUPT, "value of %zu bytes instead of %u", value.len, row_bytes);
    buf_append(&r->data, value.data, value.len);
    return RC_OK;
}

static uint32_t iter_rows_next(struct row_source *source, struct row_view *out, uint32_t max)
{
    struct iter_rows *r = (struct iter_rows *)source;
    uint32_t got = 0;
    struct bytes key, value;

    buf_clear(&r->data);
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

static enum rc copy_state(struct rocks_backend *b, struct core_state *s, struct rocks_cf *from,
                          struct key_group_range range, struct err *err)
{
    struct iter_rows rows = {
        .source = {.next = iter_rows_next, .rows_max = UINT64_MAX, .bytes_max = UINT64_MAX},
        .it = iter_of_range(from, range, b->core.prefix_len),
        .state = s,
        .change = core_change_of(&b->core, s->desc.name),
        .err = err,
    };
    enum rc rc = flusher_write(b->flusher, below_of(s)->cf, &rows.source, err);

    if (rc == RC_OK && rows.rc != RC_OK)
        rc = err_wrap(err, rows.rc, "state %s", s->desc.name);
    below_of(s)->complete = false;
    below_of(s)->written = true;
    rocks_iter_free(rows.it);
    buf_release(&rows.data);
    return rc;
}

static enum rc copy_handle(struct rocks_backend *b, const struct keyed_handle *h, struct err *err)
{
    struct key_group_range range = key_group_range_meet(b->core.range, h->range);
    struct arena *arena = arena_new(0);
    struct core_state **states;
    struct rocks_db *db = NULL;
    char dir[FS_PATH_MAX];
    struct err ignored = {0};
    enum rc rc;

    GOTO_IF_ERR(core_restore_states(&b->core, h, "handle", arena, &states, err));
    rc = open_source(b->core.env, b->local_dir, h, dir, &db, err);
    for (size_t i = 0; rc == RC_OK && i < h->state_count && range.first <= range.last; i++) {
        struct rocks_cf *from = rocks_cf_find(db, h->states[i].name);

        if (states[i] == NULL)
            continue; /* dropped */
        rc = rocks_attach(b, states[i], err);
        if (rc == RC_OK && from != NULL)
            rc = copy_state(b, states[i], from, range, err);
    }
    rocks_close(db);
    (void)!fs_remove_tree(b->core.env->fs, dir, &ignored);
out:
    arena_free(arena);
    return rc;
}

/* true when every key of the database lies in the range. */
static enum rc all_in_range(const struct backend_core *core, struct rocks_db *db, bool *in,
                            struct err *err)
{
    struct buf first = {0}, last = {0};
    enum rc rc = RC_OK;

    *in = true;
    for (size_t i = 0; rc == RC_OK && *in && i < rocks_cf_count(db); i++) {
        bool any;

        rc = rocks_key_bounds(rocks_cf_at(db, i), &any, &first, &last, err);
        if (rc == RC_OK && any)
            *in = first.len >= core->prefix_len && last.len >= core->prefix_len &&
                  keygroup_get_prefix(first.data, core->prefix_len) >= core->range.first &&
                  keygroup_get_prefix(last.data, core->prefix_len) <= core->range.last;
    }
    buf_release(&first);
    buf_release(&last);
    return rc;
}

static enum rc drop_state(struct rocks_db *db, const char *name, struct err *err)
{
    struct rocks_cf *cf = rocks_cf_find(db, name);

    return cf == NULL ? RC_OK : rocks_cf_drop(cf, err);
}

/* In a database that was taken over values lie as before: rewritten in one pass, whose rows hide the
 * old ones. */
static enum rc rewrite_states(struct rocks_backend *b, struct err *err)
{
    for (size_t i = 0; i < b->core.state_count; i++) {
        struct core_state *s = b->core.states[i];

        if (core_change_of(&b->core, s->desc.name) != NULL && below_of(s)->written)
            RETURN_IF_ERR(copy_state(b, s, below_of(s)->cf, b->core.range, err));
    }
    return RC_OK;
}

/* The handle's files become the database. *done false: it holds entries of other ranges, copy
 * instead. */
static enum rc take_over(struct rocks_backend *b, const struct keyed_handle *h,
                         const struct rocks_config *rocks, bool *done, struct err *err)
{
    struct rocks_config config = *rocks;
    struct arena *arena = NULL;
    struct core_state **states;
    enum rc rc;

    config.create = false;
    RETURN_IF_ERR(open_handle(b->core.env->fs, h, &config, &b->db, err));
    RETURN_IF_ERR(all_in_range(&b->core, b->db, done, err));
    if (!*done) {
        rocks_close(b->db);
        b->db = NULL;
        return fs_remove_tree(b->core.env->fs, rocks->dir, err);
    }
    arena = arena_new(0);
    rc = core_restore_states(&b->core, h, "handle", arena, &states, err);
    for (size_t i = 0; rc == RC_OK && i < h->state_count; i++)
        rc = states[i] == NULL ? drop_state(b->db, h->states[i].name, err)
                               : rocks_attach(b, states[i], err);
    for (size_t i = 0; rc == RC_OK && i < h->file_count; i++) {
        if (is_sst(h->files[i].local_name))
            incremental_add(b->known, h->files[i].local_name, h->files[i].size_bytes,
                            h->files[i].digest);
    }
    arena_free(arena);
    return rc;
}

static enum rc start_empty(struct rocks_backend *b, const struct rocks_config *rocks,
                           struct err *err)
{
    struct rocks_config config = *rocks;

    config.create = true;
    RETURN_IF_ERR(rocks_open(&config, &b->db, err));
    return RC_OK;
}

enum rc rocks_restore(struct rocks_backend *b, const struct keyed_backend_config *config,
                      const struct rocks_config *rocks, struct err *err)
{
    const struct keyed_handle *h = config->restore;
    bool taken = false;

    if (config->restore_count == 1 && h->kind == KEYED_ROCKS &&
        h->range.first == b->core.range.first && h->range.last == b->core.range.last)
        RETURN_IF_ERR(take_over(b, h, rocks, &taken, err));
    if (!taken)
        RETURN_IF_ERR(start_empty(b, rocks, err));
    RETURN_IF_ERR(rocks_make_flusher(b, err));
    RETURN_IF_ERR(rocks_compact(b->db, err)); /* before anything is written, which may wait for it */
    if (taken)
        return rewrite_states(b, err);
    for (size_t i = 0; i < config->restore_count; i++) {
        if (h[i].kind == KEYED_ROCKS)
            RETURN_IF_ERR(copy_handle(b, &h[i], err));
        else
            RETURN_IF_ERR(core_restore_entries(&b->core, config, &h[i], err));
    }
    return RC_OK;
}
