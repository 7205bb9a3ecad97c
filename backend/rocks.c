#include "backend/rocks_intake_shim.h"
#include "backend/rocks_priv.h"
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_CF "default"

#if defined(__SANITIZE_THREAD__)
/* Threads of its own, and what they share with ours: see rocks_quiet.h. */
const char *__tsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__tsan_default_suppressions(void)
{
    return "race:rocksdb::\nrace:libstdc++.so\nrace:libzstd.so\nrace:liblz4.so\n";
}
#endif

/* ---- opening --------------------------------------------------------------------------------- */

struct rocks_cf *rocks_cf_adopt_take(struct rocks_db *db, const char *name,
                                     rocksdb_column_family_handle_t *handle)
{
    struct rocks_cf *cf = mem_calloc(1, sizeof *cf);

    *cf = (struct rocks_cf){.db = db, .handle = handle, .name = mem_strdup(name),
                            .options = rocks_options_of(db, name)};
    mutex_lock(&db->handles);
    db->cfs = mem_realloc(db->cfs, (db->cf_count + 1) * sizeof *db->cfs);
    db->cfs[db->cf_count++] = cf;
    mutex_unlock(&db->handles);
    return cf;
}

static enum rc open_families(struct rocks_db *db, const char *dir, const char *const *names,
                             size_t count, struct err *err)
{
    const rocksdb_options_t **options = mem_calloc(count, sizeof(rocksdb_options_t *));
    rocksdb_column_family_handle_t **handles =
        mem_calloc(count, sizeof(rocksdb_column_family_handle_t *));
    char *error = NULL;

    for (size_t i = 0; i < count; i++)
        options[i] = rocks_options_of(db, names[i]);
    if (db->read_only)
        db->db = rocksdb_open_for_read_only_column_families(db->options, dir, (int)count, names,
                                                            options, handles, 0, &error);
    else
        db->db = rocksdb_open_column_families(db->options, dir, (int)count, names, options, handles,
                                              &error);
    for (size_t pass = 0; error == NULL && pass < 2; pass++) { /* "default" first */
        for (size_t i = 0; i < count; i++) {
            if ((strcmp(names[i], DEFAULT_CF) == 0) == (pass == 0))
                rocks_cf_adopt_take(db, names[i], handles[i]);
        }
    }
    mem_free(options);
    mem_free(handles);
    return rocks_take_error(error, err, "open");
}

enum rc rocks_open(const struct rocks_config *config, struct rocks_db **out, struct err *err)
{
    struct rocks_db *db = mem_calloc(1, sizeof *db);
    const char *const only_default[] = {DEFAULT_CF};
    char **names = NULL;
    size_t count = 0;
    char *error = NULL;
    enum rc rc;

    db->read_only = config->read_only;
    db->is_totals = config->totals;
    mutex_init(&db->handles);
    rocks_options_make(db, config);
    if (config->create) {
        rc = open_families(db, config->dir, only_default, 1, err);
    } else {
        names = rocksdb_list_column_families(db->options, config->dir, &count, &error);
        rc = rocks_take_error(error, err, "list column families");
        if (rc == RC_OK)
            rc = open_families(db, config->dir, (const char *const *)names, count, err);
        if (names != NULL)
            rocksdb_list_column_families_destroy(names, count);
    }
    if (rc != RC_OK) {
        rocks_close(db);
        return err_wrap(err, rc, "%s", config->dir);
    }
    *out = db;
    return RC_OK;
}

void rocks_close(struct rocks_db *db)
{
    if (db == NULL)
        return;
    ASSERT(atomic_load(&db->open_handles) == 0);
    if (db->db != NULL)
        rocksdb_cancel_all_background_work(db->db, 1);
    buf_release(&db->got);
    for (size_t i = 0; i < db->cf_count; i++) {
        rocksdb_column_family_handle_destroy(db->cfs[i]->handle);
        mem_free(db->cfs[i]->name);
        mem_free(db->cfs[i]);
    }
    mem_free(db->cfs);
    if (db->db != NULL)
        rocksdb_close(db->db);
    rocks_options_free(db);
    mutex_release(&db->handles);
    mem_free(db);
}

static enum rc enable_compactions(struct rocks_cf *cf, struct err *err)
{
    const char *const keys[] = {"disable_auto_compactions"};
    const char *const values[] = {"false"};
    char *error = NULL;

    rocksdb_set_options_cf(cf->db->db, cf->handle, 1, keys, values, &error);
    return rocks_take_error(error, err, "set options");
}

enum rc rocks_compact(struct rocks_db *db, struct err *err)
{
    for (size_t i = 0; i < db->cf_count; i++)
        RETURN_IF_ERR(enable_compactions(db->cfs[i], err));
    rocksdb_options_set_disable_auto_compactions(db->options, 0); /* for families to come */
    rocksdb_options_set_disable_auto_compactions(db->totals, 0);
    return RC_OK;
}

static int64_t filter_begin(void *ctx)
{
    const struct rocks_cf *cf = ctx;

    return cf->filter.begin(cf->filter.ctx);
}

static enum shim_verdict filter_look(void *ctx, int64_t moment, struct shim_slice value,
                                     shim_emit *emit, void *out)
{
    const struct rocks_cf *cf = ctx;
    struct buf changed = {0};
    enum rocks_verdict v =
        cf->filter.look(cf->filter.ctx, moment, bytes_of(value.data, value.len), &changed);

    if (v == ROCKS_CHANGE)
        emit(out, changed.data, changed.len);
    buf_release(&changed);
    return v == ROCKS_CHANGE ? SHIM_CHANGE : v == ROCKS_REMOVE ? SHIM_REMOVE : SHIM_KEEP;
}

enum rc rocks_cf_set_filter(struct rocks_cf *cf, const struct rocks_filter *filter, struct err *err)
{
    struct shim_filter shim = {cf, filter_begin, filter_look};
    char *error = NULL;

    cf->filter = *filter;
    shim_filters_set(cf->db->filters, rocksdb_column_family_handle_get_id(cf->handle), &shim,
                     &error);
    return rocks_take_error(error, err, "set a filter");
}

enum rc rocks_compact_range(struct rocks_cf *cf, struct bytes lower, struct bytes upper,
                            struct err *err)
{
    struct shim_slice first = {lower.data, lower.len}, last = {upper.data, upper.len};
    char *error = NULL;

    shim_compact_range(cf->db->db, cf->handle, &first, &last, &error);
    if (error != NULL && strncmp(error, "Result incomplete", 17) == 0) {
        rocksdb_free(error);
        return err_set(err, RC_CANCELLED, "rocksdb: compaction stopped");
    }
    return rocks_take_error(error, err, "compact");
}

void rocks_stop_compact_range(struct rocks_db *db)
{
    shim_stop_compact_range(db->db);
}

struct rocks_db *rocks_db_of(const struct rocks_cf *cf)
{
    return cf->db;
}

/* ---- families -------------------------------------------------------------------------------- */

size_t rocks_cf_count(const struct rocks_db *db)
{
    return db->cf_count - 1;
}

struct rocks_cf *rocks_cf_at(const struct rocks_db *db, size_t i)
{
    return db->cfs[i + 1];
}

const char *rocks_cf_name(const struct rocks_cf *cf)
{
    return cf->name;
}

struct rocks_cf *rocks_cf_find(const struct rocks_db *db, const char *name)
{
    for (size_t i = 1; i < db->cf_count; i++) {
        if (strcmp(db->cfs[i]->name, name) == 0)
            return db->cfs[i];
    }
    return NULL;
}

enum rc rocks_cf_create(struct rocks_db *db, const char *name, struct rocks_cf **out,
                        struct err *err)
{
    rocksdb_column_family_handle_t *handle;
    char *error = NULL;

    handle = rocksdb_create_column_family(db->db, rocks_options_of(db, name), name, &error);
    RETURN_IF_ERR(rocks_take_error(error, err, "create column family"));
    *out = rocks_cf_adopt_take(db, name, handle);
    return RC_OK;
}

void rocks_cf_set_shape(struct rocks_cf *cf, struct value_shape shape)
{
    cf->shape = shape;
}

struct value_shape rocks_cf_shape(const struct rocks_cf *cf)
{
    return cf->shape;
}

static void add_compactions(const struct rocks_cf *cf, struct rocks_compactions *sum)
{
    struct shim_compactions c;

    if (shim_compactions(cf->db->db, cf->handle, &c) != 0)
        return;
    sum->count += c.count;
    sum->deepest += c.deepest_count;
    sum->written_bytes += c.written_bytes;
}

enum rc rocks_cf_drop(struct rocks_cf *cf, struct err *err)
{
    struct rocks_db *db = cf->db;
    char *error = NULL;
    size_t i = 0;

    rocksdb_drop_column_family(db->db, cf->handle, &error);
    RETURN_IF_ERR(rocks_take_error(error, err, "drop column family"));
    mutex_lock(&db->handles);
    add_compactions(cf, &db->gone);
    while (db->cfs[i] != cf)
        i++;
    memmove(db->cfs + i, db->cfs + i + 1, (--db->cf_count - i) * sizeof(struct rocks_cf *));
    mutex_unlock(&db->handles);
    rocksdb_column_family_handle_destroy(cf->handle);
    mem_free(cf->name);
    mem_free(cf);
    return RC_OK;
}

/* By a new family in its place: nothing is read or written but the MANIFEST, and the old files go. */
enum rc rocks_cf_clear(struct rocks_cf *cf, struct err *err)
{
    struct rocks_db *db = cf->db;
    rocksdb_column_family_handle_t *fresh = NULL;
    char *error = NULL;

    mutex_lock(&db->handles);
    rocksdb_drop_column_family(db->db, cf->handle, &error);
    if (error == NULL)
        fresh = rocksdb_create_column_family(db->db, cf->options, cf->name, &error);
    if (error == NULL) {
        add_compactions(cf, &db->gone);
        rocksdb_column_family_handle_destroy(cf->handle);
        cf->handle = fresh;
    }
    mutex_unlock(&db->handles);
    return rocks_take_error(error, err, "replace column family");
}

/* ---- the whole database ---------------------------------------------------------------------- */

enum rc rocks_checkpoint(struct rocks_db *db, const char *dir, struct err *err)
{
    char *error = NULL;
    rocksdb_checkpoint_t *c = rocksdb_checkpoint_object_create(db->db, &error);

    RETURN_IF_ERR(rocks_take_error(error, err, "checkpoint"));
    rocksdb_checkpoint_create(c, dir, 0, &error); /* 0: flush, since there is no log */
    rocksdb_checkpoint_object_destroy(c);
    return rocks_take_error(error, err, "checkpoint");
}

enum rc rocks_live_files(struct rocks_db *db, rocks_file_fn *fn, void *ctx, struct err *err)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(db->db);
    enum rc rc = RC_OK;

    for (int i = 0; rc == RC_OK && i < rocksdb_livefiles_count(files); i++) {
        const char *name = rocksdb_livefiles_name(files, i);

        rc = fn(ctx, name[0] == '/' ? name + 1 : name, rocksdb_livefiles_size(files, i), err);
    }
    rocksdb_livefiles_destroy(files);
    return rc;
}

struct file_walk {
    rocks_cf_file_fn *fn;
    void *ctx;
    enum rc rc;
    struct err *err;
};

static void visit_file(void *ctx, const struct shim_file *f)
{
    struct file_walk *w = ctx;
    const struct rocks_file out = {f->name, f->size_bytes, bytes_of(f->first.data, f->first.len),
                                   bytes_of(f->last.data, f->last.len), f->last_open != 0};

    if (w->rc == RC_OK)
        w->rc = w->fn(w->ctx, &out, w->err);
}

enum rc rocks_cf_files(struct rocks_cf *cf, rocks_cf_file_fn *fn, void *ctx, struct err *err)
{
    struct file_walk w = {fn, ctx, RC_OK, err};
    char *error = NULL;

    shim_files(cf->db->db, cf->handle, visit_file, &w, &error);
    RETURN_IF_ERR(rocks_take_error(error, err, "list files"));
    return w.rc;
}

enum rc rocks_cf_size(struct rocks_cf *cf, bool all_levels, struct rocks_size *out, struct err *err)
{
    struct shim_rows rows;
    char *error = NULL;

    shim_level_rows(cf->db->db, cf->handle, all_levels, &rows, &error);
    *out = (struct rocks_size){rows.rows, rows.key_bytes, rows.value_bytes};
    if (cf->shape.bytes != 0)
        out->value_bytes = rows.rows * cf->shape.bytes;
    return rocks_take_error(error, err, "table properties");
}

enum rc rocks_verify(struct rocks_db *db, struct err *err)
{
    char *error = NULL;

    shim_verify(db->db, &error);
    return rocks_take_error(error, err, "verify");
}

static uint64_t cf_number(const struct rocks_cf *cf, const char *property)
{
    uint64_t v = 0;

    return rocksdb_property_int_cf(cf->db->db, cf->handle, property, &v) == 0 ? v : 0;
}

static uint64_t cf_l0_files(const struct rocks_cf *cf)
{
    char *text = rocksdb_property_value_cf(cf->db->db, cf->handle, "rocksdb.num-files-at-level0");
    uint64_t v = text == NULL ? 0 : strtoull(text, NULL, 10);

    rocksdb_free(text);
    return v;
}

static enum rc count_file(void *ctx, const char *name, uint64_t size_bytes, struct err *err)
{
    struct rocks_stats *s = ctx;

    (void)name, (void)err;
    s->sst_files++;
    s->live_sst_bytes += size_bytes;
    return RC_OK;
}

void rocks_stats(struct rocks_db *db, struct rocks_stats *out)
{
    struct err err = {0};
    uint64_t errors = 0;

    *out = (struct rocks_stats){0};
    (void)!rocks_live_files(db, count_file, out, &err);
    mutex_lock(&db->handles);
    for (size_t i = 0; i < db->cf_count; i++) {
        uint64_t l0 = cf_l0_files(db->cfs[i]);

        out->l0_files = l0 > out->l0_files ? l0 : out->l0_files;
        out->pending_compaction_bytes +=
            cf_number(db->cfs[i], "rocksdb.estimate-pending-compaction-bytes");
        out->write_buffer_bytes += cf_number(db->cfs[i], "rocksdb.cur-size-all-mem-tables");
    }
    mutex_unlock(&db->handles);
    out->running_compactions = cf_number(db->cfs[0], "rocksdb.num-running-compactions");
    out->block_cache_bytes = rocksdb_cache_get_usage(db->shared->cache);
    out->stopped = shim_background_errors(db->db, &errors) == 0 && errors > 0;
}

enum rc rocks_tell_stopped(struct rocks_db *db, struct err *err)
{
    char why[512];

    if (shim_trouble_tell(db->trouble, why, sizeof why) == 0)
        snprintf(why, sizeof why, "it does not say on which");
    return err_set(err, strncmp(why, "Corruption", 10) == 0 ? RC_CORRUPT : RC_IO,
                   "rocksdb: its background work stopped on an error: %s", why);
}

void rocks_compactions(struct rocks_db *db, struct rocks_compactions *out)
{
    mutex_lock(&db->handles);
    *out = db->gone;
    for (size_t i = 0; i < db->cf_count; i++)
        add_compactions(db->cfs[i], out);
    mutex_unlock(&db->handles);
}
