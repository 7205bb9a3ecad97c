/* verify.c - see verify.h
 *
 * Three walks: over the snapshots, to gather what they name; over the files, by inode, in threads;
 * and, when something is wrong, over the snapshots again, to say which of them share it. */
#include "checkpoint/verify_priv.h"

#include "base/thread.h"
#include "checkpoint/ended.h"
#include "checkpoint/layout.h"
#include "checkpoint/lineage.h"
#include "checkpoint/recovery.h"
#include "checkpoint/snapshot_read.h"

#include <stdatomic.h>

#define PROGRESS_INTERVAL_MS 100
#define THREADS_MAX 64u

const char *verify_status_str(enum verify_status s)
{
    static const char *const names[] = {"clean", "damaged", "incomplete"};

    return names[s];
}

/* ---- faults --------------------------------------------------------------------------------- */

struct verify_fault *verify_add_fault(struct verify *v, struct verify_fault fault)
{
    if (v->fault_count == v->fault_cap) {
        v->fault_cap = v->fault_cap == 0 ? 16 : v->fault_cap * 2;
        v->faults = mem_realloc(v->faults, v->fault_cap * sizeof *v->faults);
    }
    v->faults[v->fault_count] = fault;
    return &v->faults[v->fault_count++];
}

/* Grows by doubling: its room is the next power of two. */
void verify_add_sharer(struct verify *v, struct verify_fault *f, uint32_t snapshot)
{
    size_t n = f->snapshot_count;

    if (n > 0 && f->snapshots[n - 1] == snapshot)
        return;
    if ((n & (n - 1)) == 0)
        f->snapshots = mem_realloc(f->snapshots, (n == 0 ? 1 : n * 2) * sizeof *f->snapshots);
    f->snapshots[f->snapshot_count++] = snapshot;
    v->report->snapshots[snapshot].fault_count++;
    v->report->snapshots[snapshot].status = VERIFY_DAMAGED;
}

/* ---- the snapshots -------------------------------------------------------------------------- */

/* "<dir>/<name>" does not read: `message` says why, mostly with the path before it. */
static struct verify_fault *add_unreadable(struct verify *v, const char *dir, const char *name,
                                           const char *message)
{
    const char *path = arena_printf(v->report->arena, "%s/%s", dir, name);
    size_t len = strlen(path);

    if (strncmp(message, path, len) == 0 && strncmp(message + len, ": ", 2) == 0)
        message += len + 2;
    return verify_add_fault(v, (struct verify_fault){
                                   .path = path,
                                   .reason = arena_strdup(v->report->arena, message),
                               });
}

/* When it is there no more the snapshot is incomplete. */
bool verify_read_snapshot(struct verify *v, uint32_t snapshot, struct checkpoint_metadata *m)
{
    struct verified_snapshot *s = &v->report->snapshots[snapshot];
    uint64_t metadata_bytes;
    struct err local = {0};
    enum rc rc;

    arena_reset(v->scratch);
    rc = snapshot_read(v->fs, s->dir, v->options->rebase, v->scratch, m, &metadata_bytes, &local);
    if (rc == RC_NOT_FOUND)
        s->status = VERIFY_INCOMPLETE;
    else if (rc != RC_OK)
        verify_add_sharer(v, add_unreadable(v, s->dir, LAYOUT_METADATA, local.msg), snapshot);
    return rc == RC_OK;
}

static void prove_notes(struct verify *v, const char *job_dir)
{
    struct err origin_err = {0}, ended_err = {0};
    struct run_origin origin;
    struct ended ended;
    enum rc rc;

    arena_reset(v->scratch);
    rc = origin_read(v->fs, job_dir, v->scratch, &origin, &origin_err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        add_unreadable(v, job_dir, LAYOUT_ORIGIN, origin_err.msg);
    rc = ended_read(v->fs, job_dir, v->scratch, &ended, &ended_err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        add_unreadable(v, job_dir, LAYOUT_ENDED, ended_err.msg);
}

struct user {
    struct verify *v;
    uint32_t snapshot;
    const uint32_t *fault_of; /* of each file: index + 1 into v->faults; 0: none */
};

static enum rc use_file(void *ctx, const struct operator_meta *op,
                        const struct subtask_state *subtask, struct state_file *file,
                        struct err *err UNUSED)
{
    struct user *u = ctx;

    (void)file_set_use(u->v->files, u->snapshot, op, subtask, file);
    return RC_OK;
}

static const char *job_name_of(struct verify *v, uint32_t snapshot, const char *name)
{
    const char *before = snapshot == 0 ? NULL : v->report->snapshots[snapshot - 1].job_name;

    return before != NULL && strcmp(before, name) == 0 ? before
                                                       : arena_strdup(v->report->arena, name);
}

static enum rc survey_one(struct verify *v, uint32_t snapshot, struct err *err)
{
    struct verified_snapshot *s = &v->report->snapshots[snapshot];
    struct user user = {.v = v, .snapshot = snapshot};
    struct checkpoint_metadata m;
    struct metadata_sizes sizes;

    if (s->status == VERIFY_INCOMPLETE || !verify_read_snapshot(v, snapshot, &m))
        return RC_OK;
    metadata_sizes_of(&m, &sizes);
    s->checkpoint_id = m.checkpoint_id;
    s->job_name = job_name_of(v, snapshot, m.job_name);
    s->flink = m.flink != NULL;
    s->file_count = sizes.file_count;
    s->size_bytes = sizes.full_bytes;
    return metadata_each_file(&m, use_file, &user, err);
}

static enum rc survey(struct verify *v, struct err *err)
{
    struct verify_report *r = v->report;

    r->snapshot_count = r->list.count;
    r->snapshots = ARENA_ARRAY(r->arena, r->list.count, struct verified_snapshot);
    for (size_t i = 0; i < r->list.job_count; i++)
        prove_notes(v, r->list.job_dirs[i]);
    for (uint32_t i = 0; i < r->list.count; i++) {
        const struct listed_snapshot *item = &r->list.items[i];

        r->snapshots[i] = (struct verified_snapshot){
            .dir = item->dir,
            .checkpoint_id = item->checkpoint_id,
            .job = item->job,
            .status = item->complete ? VERIFY_CLEAN : VERIFY_INCOMPLETE,
        };
        RETURN_IF_ERR(survey_one(v, i, err));
        look_tell(&v->options->watch, "checkpoints", i + 1, r->list.count, false);
    }
    return RC_OK;
}

/* ---- the files ------------------------------------------------------------------------------ */

/* What the readers share. */
struct reading {
    struct verify *v;
    const uint32_t *order; /* by inode: one file is read once, whatever its names */
    _Atomic uint64_t done_bytes;
    struct mutex mutex;
    struct cond ended;
    size_t next GUARDED_BY(mutex);     /* in order */
    uint32_t running GUARDED_BY(mutex); /* threads */
    /* and the arena of the set of files */
};

static struct named_file *file_at(const struct reading *r, size_t i)
{
    return file_set_at(r->v->files, r->order[i]);
}

/* One past the names of the file at `from`; *to_read: one of them has the right length. */
static size_t names_end(const struct reading *r, size_t from, bool *to_read)
{
    const struct named_file *first = file_at(r, from);
    size_t i = from;

    *to_read = false;
    do {
        *to_read = *to_read || (file_at(r, i)->fault == NULL && !file_at(r, i)->no_digest);
        i++;
    } while (i < file_set_count(r->v->files) && first->inode != 0 &&
             file_at(r, i)->inode == first->inode && file_at(r, i)->device == first->device);
    return i;
}

static void count_bytes(void *ctx, uint64_t bytes)
{
    struct reading *r = ctx;

    atomic_fetch_add_explicit(&r->done_bytes, bytes, memory_order_relaxed);
}

/* order[from..to) are names of one file. */
static void prove_file(struct reading *r, size_t from, size_t to)
{
    struct arena *arena = file_set_arena(r->v->files);
    struct digest128 found;
    struct err local = {0};
    uint64_t size;
    enum rc rc = digest_file_seen(r->v->fs, file_at(r, from)->path, count_bytes, r, &found, &size,
                                  &local);

    mutex_lock(&r->mutex);
    for (size_t i = from; i < to; i++) {
        struct named_file *f = file_at(r, i);

        if (f->fault != NULL || f->no_digest)
            continue;
        f->fault = rc == RC_OK          ? recovery_digest_fault(found, f->digest, arena)
                   : rc == RC_NOT_FOUND ? "missing"
                                        : arena_strdup(arena, local.msg);
    }
    mutex_unlock(&r->mutex);
}

static void reader_run(void *arg)
{
    struct reading *r = arg;
    size_t count = file_set_count(r->v->files);
    bool to_read;

    mutex_lock(&r->mutex);
    while (r->next < count) {
        size_t from = r->next, to = names_end(r, from, &to_read);

        r->next = to;
        mutex_unlock(&r->mutex);
        if (to_read)
            prove_file(r, from, to);
        mutex_lock(&r->mutex);
    }
    r->running--;
    cond_signal(&r->ended);
    mutex_unlock(&r->mutex);
}

static uint64_t bytes_to_read(const struct reading *r)
{
    uint64_t sum = 0;
    bool to_read;

    for (size_t i = 0; i < file_set_count(r->v->files);) {
        uint64_t size = file_at(r, i)->size_bytes;

        i = names_end(r, i, &to_read);
        sum += to_read ? size : 0;
    }
    return sum;
}

static void wait_for_readers(struct reading *r, uint64_t all_bytes)
{
    mutex_lock(&r->mutex);
    while (r->running > 0) {
        (void)cond_wait_ns(&r->ended, &r->mutex, PROGRESS_INTERVAL_MS * NS_PER_MS);
        mutex_unlock(&r->mutex);
        look_tell(&r->v->options->watch, "files",
                  atomic_load_explicit(&r->done_bytes, memory_order_relaxed), all_bytes, true);
        mutex_lock(&r->mutex);
    }
    mutex_unlock(&r->mutex);
}

static void prove_files(struct verify *v)
{
    uint32_t wanted = v->options->threads, count;
    struct thread *threads[THREADS_MAX];
    struct reading r = {.v = v};
    uint32_t *order;
    uint64_t all_bytes;

    for (size_t i = 0; i < file_set_count(v->files); i++)
        file_set_look(v->files, v->fs, file_set_at(v->files, i));
    r.order = order = file_set_by_inode(v->files);
    all_bytes = bytes_to_read(&r);
    mutex_init(&r.mutex);
    cond_init(&r.ended);
    count = wanted == 0 ? 1 : wanted < THREADS_MAX ? wanted : THREADS_MAX;
    r.running = count;
    for (uint32_t i = 0; i < count; i++)
        threads[i] = thread_start("verify", reader_run, &r);
    wait_for_readers(&r, all_bytes);
    for (uint32_t i = 0; i < count; i++)
        thread_join(threads[i]);
    mutex_release(&r.mutex);
    cond_release(&r.ended);
    mem_free(order);
    v->report->read_bytes = atomic_load_explicit(&r.done_bytes, memory_order_relaxed);
    look_tell(&v->options->watch, "files", v->report->read_bytes, all_bytes, true);
}

/* ---- whose faults they are ------------------------------------------------------------------ */

static enum rc blame_file(void *ctx, const struct operator_meta *op UNUSED,
                          const struct subtask_state *subtask UNUSED, struct state_file *file,
                          struct err *err UNUSED)
{
    struct user *u = ctx;
    size_t i = file_set_find(u->v->files, file);

    if (i != FILE_SET_NONE && u->fault_of[i] != 0)
        verify_add_sharer(u->v, &u->v->faults[u->fault_of[i] - 1], u->snapshot);
    return RC_OK;
}

/* Every file at fault becomes a fault; true when there are some. */
static bool note_files_at_fault(struct verify *v, uint32_t *fault_of)
{
    size_t before = v->fault_count;

    for (size_t i = 0; i < file_set_count(v->files); i++) {
        const struct named_file *f = file_set_at(v->files, i);

        if (f->fault == NULL)
            continue;
        verify_add_fault(v, (struct verify_fault){
                                .path = arena_strdup(v->report->arena, f->path),
                                .reason = arena_strdup(v->report->arena, f->fault),
                                .operator_name = arena_strdup(v->report->arena, f->op->name),
                                .subtask_index = f->subtask_index,
                                .size_bytes = f->size_bytes,
                            });
        fault_of[i] = (uint32_t)v->fault_count;
    }
    return v->fault_count > before;
}

static enum rc blame(struct verify *v, struct err *err)
{
    uint32_t *fault_of = mem_calloc(file_set_count(v->files), sizeof *fault_of);
    struct user user = {.v = v, .fault_of = fault_of};
    bool any = note_files_at_fault(v, fault_of);
    struct checkpoint_metadata m;
    enum rc rc = RC_OK;

    for (uint32_t i = 0; any && i < v->report->snapshot_count && rc == RC_OK; i++) {
        user.snapshot = i;
        if (v->report->snapshots[i].job_name != NULL && verify_read_snapshot(v, i, &m))
            rc = metadata_each_file(&m, blame_file, &user, err);
    }
    mem_free(fault_of);
    return rc;
}

/* ---- the report ----------------------------------------------------------------------------- */

/* What no snapshot names any more was deleted meanwhile, with its last one. */
static void move_faults(struct verify *v)
{
    struct verify_report *r = v->report;

    r->faults = ARENA_ARRAY(r->arena, v->fault_count, struct verify_fault);
    for (size_t i = 0; i < v->fault_count; i++) {
        struct verify_fault *f = &v->faults[i];
        uint32_t *snapshots = f->snapshots;

        if (f->snapshot_count == 0 && f->operator_name != NULL)
            continue;
        f->snapshots = arena_copy(r->arena, snapshots, f->snapshot_count * sizeof *snapshots);
        mem_free(snapshots);
        r->faults[r->fault_count++] = *f;
    }
    mem_free(v->faults);
    r->unproven = arena_copy(r->arena, v->unproven, v->unproven_count * sizeof *v->unproven);
    r->unproven_count = v->unproven_count;
    mem_free(v->unproven);
    r->left_over = arena_copy(r->arena, v->left_over, v->left_over_count * sizeof *v->left_over);
    r->left_over_count = v->left_over_count;
    mem_free(v->left_over);
}

static void sum_up(struct verify_report *r)
{
    r->newest_clean = ARENA_ARRAY(r->arena, r->list.job_count, size_t);
    for (size_t i = 0; i < r->list.job_count; i++)
        r->newest_clean[i] = VERIFY_NONE;
    for (size_t i = 0; i < r->snapshot_count; i++) {
        const struct verified_snapshot *s = &r->snapshots[i];

        r->damaged_count += s->status == VERIFY_DAMAGED;
        r->incomplete_count += s->status == VERIFY_INCOMPLETE;
        if (s->status == VERIFY_CLEAN && s->job != SNAPSHOT_ALONE)
            r->newest_clean[s->job] = i; /* ids ascend */
    }
}

enum rc verify_path(const struct env *env, const char *path, const struct verify_options *options,
                    struct verify_report *out, struct err *err)
{
    struct verify v = {.fs = env->fs, .options = options, .report = out};
    enum rc rc;

    *out = (struct verify_report){.arena = arena_new(0)};
    v.scratch = arena_new(0);
    v.files = file_set_new();
    GOTO_IF_ERR(snapshot_list_make(env->fs, path, out->arena, &out->list, err));
    GOTO_IF_ERR(survey(&v, err));
    prove_files(&v);
    GOTO_IF_ERR(verify_flink(&v, err));
    if (options->scratch_dir != NULL) {
        GOTO_IF_ERR(verify_deep(&v, err));
        GOTO_IF_ERR(verify_flink_deep(&v, err));
    }
    GOTO_IF_ERR(blame(&v, err));
    out->file_count = file_set_count(v.files);
out:
    move_faults(&v);
    if (rc == RC_OK)
        sum_up(out);
    file_set_free(v.files);
    arena_free(v.scratch);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "verify");
}

void verify_report_release(struct verify_report *r)
{
    arena_free(r->arena);
    *r = (struct verify_report){0};
}

bool verify_found_damage(const struct verify_report *r)
{
    return r->fault_count > 0 || (r->list.type == LIST_OF_ONE && r->incomplete_count > 0);
}
