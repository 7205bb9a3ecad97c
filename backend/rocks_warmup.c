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
    bool compacts;             /* compactions may run */
    struct thread *thread;     /* NULL: not needed */
    atomic_bool stop;

    struct mutex mutex; /* over what follows */
    struct cond changed;
    bool running; /* the thread has not come to its end */
    bool proving; /* nor to the end of the files */
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
    load_wake(w->backend->load);
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

/* Proves what is left, and lets compactions run. */
static enum rc go_live(struct warmup *w, struct err *err)
{
    RETURN_IF_ERR(warmup_prove(w, err));
    if (!atomic_load(&w->stop) && !w->compacts) {
        RETURN_IF_ERR(rocks_compact(w->backend->db, err));
        w->compacts = true;
    }
    return RC_OK;
}

/* What is proven or failed is seen by those who wait. */
static void note(struct warmup *w, enum rc rc, const struct err *err)
{
    if (rc != RC_OK)
        rocks_break(w->backend, rc, "restored files", err);
    mutex_lock(&w->mutex);
    if (rc != RC_OK)
        err_set(&w->why, rc, "%s", err->msg);
    w->proving = false;
    cond_broadcast(&w->changed);
    mutex_unlock(&w->mutex);
}

/* true: the thread may end. */
static bool nothing_left(struct warmup *w, enum rc rc)
{
    bool end;

    mutex_lock(&w->mutex);
    end = rc != RC_OK || atomic_load(&w->stop) || !load_pending(w->backend->load);
    w->running = !end;
    mutex_unlock(&w->mutex);
    return end;
}

static void run(void *arg)
{
    struct warmup *w = arg;
    struct err err = {0};
    enum rc rc = go_live(w, &err);

    note(w, rc, &err);
    while (!nothing_left(w, rc)) {
        rc = load_run(w->backend->load, &w->stop, &err);
        if (rc != RC_OK)
            note(w, rc, &err);
    }
}

static void start(struct warmup *w)
{
    bool runs;

    mutex_lock(&w->mutex);
    runs = w->running;
    w->running = true;
    mutex_unlock(&w->mutex);
    if (runs)
        return;
    if (w->thread != NULL)
        thread_join(w->thread);
    w->thread = thread_start("warmup", run, w);
}

enum rc warmup_start(struct warmup *w, struct err *err)
{
    if (w->proven == w->file_count)
        return go_live(w, err);
    w->proving = true;
    start(w);
    return RC_OK;
}

void warmup_load(struct warmup *w, struct core_state *s)
{
    load_add(w->backend->load, s);
    start(w);
}

enum rc warmup_wait_proven(struct warmup *w, struct err *err)
{
    enum rc rc = RC_OK;

    mutex_lock(&w->mutex);
    while (w->proving)
        cond_wait(&w->changed, &w->mutex);
    if (w->why.rc != RC_OK)
        rc = err_set(err, w->why.rc, "%s", w->why.msg);
    mutex_unlock(&w->mutex);
    return rc;
}
