/* vv_dir.c - the ready-made directory for snapshots (varve_state.h) over state_dir.h. */
#include "backend/vv_priv.h"

#include "backend/state_dir.h"

struct vv_dir {
    struct env env;
    struct state_dir *dir;
};

static enum rc dir_open(const char *path, vv_dir **out, struct err *err)
{
    vv_dir *d;
    enum rc rc;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(path);
    if (path[0] == '\0')
        return err_set(err, RC_INVALID, "path is empty");
    d = mem_calloc(1, sizeof *d);
    store_env(&d->env);
    rc = state_dir_open(&d->env, path, &d->dir, err);
    if (rc != RC_OK) {
        vv_dir_close(d);
        return rc;
    }
    *out = d;
    return RC_OK;
}

vv_code vv_dir_open(const char *path, vv_dir **out, vv_error *error)
{
    ANSWER(dir_open(path, out, err));
}

void vv_dir_close(vv_dir *d)
{
    if (d == NULL)
        return;
    state_dir_close(d->dir);
    log_free(d->env.log);
    mem_free(d);
}

static enum rc dir_write(vv_dir *dir, vv_snapshot *snapshot, const char *name, vv_handle **out,
                         struct err *err)
{
    struct state_dir_write w;
    vv_handle *h = NULL;
    enum rc rc;

    if (out != NULL)
        *out = NULL;
    CHECK_NULL(dir);
    CHECK_NULL(snapshot);
    CHECK_NULL(name);
    RETURN_IF_ERR(state_dir_begin(dir->dir, name, snapshot_cancel_flag(snapshot), &w, err));
    rc = snapshot_write(snapshot, &w.target, &h, err);
    if (rc == RC_OK)
        rc = state_dir_publish(&w, &h->h, err);
    state_dir_end(&w);
    if (rc == RC_OK && out != NULL)
        *out = h;
    else
        vv_handle_free(h);
    return rc;
}

vv_code vv_dir_write(vv_dir *dir, vv_snapshot *snapshot, const char *name, vv_handle **out,
                     vv_error *error)
{
    ANSWER(dir_write(dir, snapshot, name, out, err));
}

static enum rc dir_load(vv_dir *dir, const char *name, vv_handle **out, struct err *err)
{
    vv_handle *h;
    enum rc rc;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(dir);
    CHECK_NULL(name);
    h = handle_new();
    rc = state_dir_load(dir->dir, name, h->arena, &h->h, err);
    if (rc == RC_OK)
        *out = h;
    else
        vv_handle_free(h);
    return rc;
}

vv_code vv_dir_load(vv_dir *dir, const char *name, vv_handle **out, vv_error *error)
{
    ANSWER(dir_load(dir, name, out, err));
}

static enum rc dir_remove(vv_dir *dir, const char *name, struct err *err)
{
    CHECK_NULL(dir);
    CHECK_NULL(name);
    return state_dir_remove(dir->dir, name, err);
}

vv_code vv_dir_remove(vv_dir *dir, const char *name, vv_error *error)
{
    ANSWER(dir_remove(dir, name, err));
}

static enum rc dir_sweep(vv_dir *dir, uint64_t *deleted_bytes, struct err *err)
{
    uint64_t ignored;

    CHECK_NULL(dir);
    return state_dir_sweep(dir->dir, deleted_bytes == NULL ? &ignored : deleted_bytes, err);
}

vv_code vv_dir_sweep(vv_dir *dir, uint64_t *deleted_bytes, vv_error *error)
{
    ANSWER(dir_sweep(dir, deleted_bytes, err));
}
