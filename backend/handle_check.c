/* handle_check.c - see handle_check.h */
#include "backend/handle_check.h"

#include "backend/rocks_backend_priv.h"
#include "backend/rocks_sst.h"

/* ---- a stream -------------------------------------------------------------------------------- */

struct count {
    uint64_t entries;
};

static enum rc count_entries(void *ctx, uint32_t state_id UNUSED, uint32_t count,
                             const struct bytes *keys UNUSED, const struct bytes *values UNUSED,
                             struct err *err UNUSED)
{
    ((struct count *)ctx)->entries += count;
    return RC_OK;
}

static enum rc check_stream(struct fs *fs, const struct keyed_handle *h,
                            const struct handle_check_files *files, struct err *err)
{
    struct count count = {0};
    struct err local = {0};
    enum rc rc;

    if (!files->begin(files->ctx, 0))
        return RC_OK;
    rc = keyed_stream_read(fs, h, h->range, count_entries, &count, &local);
    if (rc == RC_OK && count.entries != h->entry_count)
        rc = err_set(&local, RC_CORRUPT, "%llu entries, its handle says %llu",
                     (unsigned long long)count.entries, (unsigned long long)h->entry_count);
    if (rc == RC_OK)
        return RC_OK;
    if (rc != RC_CORRUPT)
        return err_set(err, rc, "%s", local.msg);
    files->fault(files->ctx, 0, local.msg);
    return RC_OK;
}

/* ---- a database ------------------------------------------------------------------------------ */

struct check {
    const struct keyed_handle *h;
    const char *dir;
    const struct handle_check_files *files;
    struct rocks_bounds bounds;
};

/* Of a live file: it is one of the handle's, rocks_source_open has seen to that. */
static size_t index_of(const struct keyed_handle *h, const char *name)
{
    size_t i = 0;

    while (strcmp(h->files[i].local_name, name) != 0)
        i++;
    return i;
}

static enum rc check_sst(void *ctx, const struct rocks_file *f, struct err *err)
{
    const struct check *c = ctx;
    char path[FS_PATH_MAX];
    struct err local = {0};
    size_t i = index_of(c->h, f->name);
    uint64_t entries;
    enum rc rc;

    if (rocks_file_place(f, c->bounds) != ROCKS_INSIDE) {
        err_set(&local, RC_CORRUPT, "its keys do not lie in the key groups %u..%u of its handle",
                c->h->range.first, c->h->range.last);
        c->files->fault(c->files->ctx, i, local.msg);
        return RC_OK;
    }
    if (!c->files->begin(c->files->ctx, i))
        return RC_OK;
    RETURN_IF_ERR(path_join(path, sizeof path, c->dir, f->name, err));
    rc = rocks_sst_check(path, c->bounds.lower, c->bounds.upper, &entries, &local);
    if (rc == RC_OK)
        return RC_OK;
    if (rc != RC_CORRUPT)
        return err_set(err, rc, "%s", local.msg);
    c->files->fault(c->files->ctx, i, local.msg);
    return RC_OK;
}

static enum rc check_database(struct fs *fs, const struct keyed_handle *h, const char *dir,
                              const struct handle_check_files *files, struct err *err)
{
    struct check check = {.h = h, .dir = dir, .files = files};
    struct rocks_source source;
    struct err ignored = {0};
    uint8_t room[4] = {0};
    enum rc rc;

    check.bounds = rocks_bounds_of(h->range, keygroup_prefix_len(h->key_group_count), room);
    rc = rocks_source_open(fs, NULL, h, dir, BRING_LOOK, -1, &source, err);
    for (size_t i = 0; rc == RC_OK && i < rocks_cf_count(source.db); i++)
        rc = rocks_cf_files(rocks_cf_at(source.db, i), check_sst, &check, err);
    rocks_source_close(&source);
    (void)!fs_remove_tree(fs, dir, &ignored); /* scratch: swept with its parent else */
    return rc;
}

enum rc handle_check(struct fs *fs, const struct keyed_handle *h, const char *dir,
                     const struct handle_check_files *files, struct err *err)
{
    return h->kind == KEYED_STREAM ? check_stream(fs, h, files, err)
                                   : check_database(fs, h, dir, files, err);
}

/* ---- whose files they are -------------------------------------------------------------------- */

struct owners {
    const struct keyed_handle *h;
    const char *state;
    handle_file_state_fn *fn;
    void *ctx;
};

static enum rc tell_owner(void *ctx, const struct rocks_file *f, struct err *err UNUSED)
{
    const struct owners *o = ctx;

    o->fn(o->ctx, index_of(o->h, f->name), o->state);
    return RC_OK;
}

enum rc handle_file_states(struct fs *fs, const struct keyed_handle *h, const char *dir,
                           handle_file_state_fn *fn, void *ctx, struct err *err)
{
    struct owners owners = {.h = h, .fn = fn, .ctx = ctx};
    struct rocks_source source;
    struct err ignored = {0};
    enum rc rc;

    if (h->kind != KEYED_ROCKS)
        return RC_OK;
    rc = rocks_source_open(fs, NULL, h, dir, BRING_LOOK, -1, &source, err);
    for (size_t i = 0; rc == RC_OK && i < rocks_cf_count(source.db); i++) {
        owners.state = rocks_cf_name(rocks_cf_at(source.db, i));
        rc = rocks_cf_files(rocks_cf_at(source.db, i), tell_owner, &owners, err);
    }
    rocks_source_close(&source);
    (void)!fs_remove_tree(fs, dir, &ignored); /* scratch: swept with its parent else */
    return rc;
}
