#include "backend/rocks_warmup.h"

#include "backend/rocks_backend_priv.h"

struct unproven {
    struct state_file file; /* resolved_path: its link in the database */
    const char *shown;      /* its name in the checkpoint */
};
struct warmup {
    struct rocks_backend *backend;
    struct arena *arena;
    struct unproven *files;
    size_t file_count, proven; /* the first `proven` are */
    struct thread *thread;     /* NULL: not needed */
    atomic_bool stop;

    struct mutex mutex; /* over what follows */
    struct cond changed;
    bool running; /* the thread has not come to its end */
    struct err why;
};

struct warmup *warmup_new(struct rocks_backend *b)
{
    struct warmup *w = mem_calloc(1, sizeof *w);

    w->backend = b;
    w->arena = arena_new(0);
    mutex_init(&w->mutex);
    cond_init(&w->changed);
    return w;
}

void warmup_free(struct warmup *w)
{
    if (w == NULL)
        return;
    atomic_store(&w->stop, true);
    if (w->thread != NULL)
        thread_join(w->thread);
    mem_free(w->files);
    arena_free(w->arena);
    cond_release(&w->changed);
    mutex_release(&w->mutex);
    mem_free(w);
}

void warmup_add(struct warmup *w, const char *local_name, const struct state_file *f)
{
    struct unproven *u;

    ASSERT(w->thread == NULL);
    w->files = mem_realloc(w->files, (w->file_count + 1) * sizeof *w->files);
    u = &w->files[w->file_count++];
    *u = (struct unproven){
        .file = {.local_name = "",
                 .scope = FILE_SHARED,
                 .size_bytes = f->size_bytes,
                 .digest = f->digest,
                 .resolved_path = arena_printf(w->arena, "%s/%s", w->backend->db_dir, local_name)},
        .shown = arena_strdup(w->arena, f->resolved_path),
    };
}

enum rc warmup_prove(struct warmup *w, struct err *err)
{
    for (; w->proven < w->file_count && !atomic_load(&w->stop); w->proven++) {
        struct unproven *u = &w->files[w->proven];
        enum rc rc = state_file_prove(w->backend->core.env->fs, &u->file, err);

        if (rc != RC_OK)
            return err_wrap(err, rc, "%s", u->shown);
    }
    return RC_OK;
}

static void run(void *arg)
{
    struct warmup *w = arg;
    struct err err = {0};
    enum rc rc = warmup_prove(w, &err);

    if (rc == RC_OK && !atomic_load(&w->stop))
        rc = rocks_compact(w->backend->db, &err);
    if (rc != RC_OK)
        rocks_break(w->backend, rc, "restored files", &err);
    mutex_lock(&w->mutex);
    if (rc != RC_OK)
        err_set(&w->why, rc, "%s", err.msg);
    w->running = false;
    cond_broadcast(&w->changed);
    mutex_unlock(&w->mutex);
}

enum rc warmup_start(struct warmup *w, struct err *err)
{
    if (w->proven == w->file_count)
        return rocks_compact(w->backend->db, err);
    w->running = true;
    w->thread = thread_start("warmup", run, w);
    return RC_OK;
}

enum rc warmup_wait_proven(struct warmup *w, struct err *err)
{
    enum rc rc = RC_OK;

    mutex_lock(&w->mutex);
    while (w->running)
        cond_wait(&w->changed, &w->mutex);
    if (w->why.rc != RC_OK)
        rc = err_set(err, w->why.rc, "%s", w->why.msg);
    mutex_unlock(&w->mutex);
    return rc;
}
