/* committer.c - see committer.h */
#include "sink/committer.h"

#include "sink/dir_set.h"

#define FIRST_WAIT_NS                                                                              \
    (10 * NS_PER_MS) /* before the second try; ten times as long before the third */

struct waiting {
    struct arena *arena; /* of the record's strings */
    struct part_record record;
    bool assigned; /* record.checkpoint_id holds */
    bool renamed;
};
struct committer {
    const struct env *env;
    size_t count, cap;
    struct waiting *list; /* oldest first */
};

struct committer *committer_new(const struct env *env)
{
    struct committer *c = mem_calloc(1, sizeof *c);

    c->env = env;
    return c;
}

void committer_free(struct committer *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->count; i++)
        arena_free(c->list[i].arena);
    mem_free(c->list);
    mem_free(c);
}

void committer_add(struct committer *c, const struct part_record *record)
{
    struct waiting *w;

    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 8 : c->cap * 2;
        c->list = mem_realloc(c->list, c->cap * sizeof *c->list);
    }
    w = &c->list[c->count++];
    *w = (struct waiting){.arena = arena_new(512)};
    w->record = part_record_copy(record, w->arena);
}

void committer_prepare(struct committer *c, uint64_t checkpoint_id)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i].assigned) {
            c->list[i].assigned = true;
            c->list[i].record.checkpoint_id = checkpoint_id;
        }
}

size_t committer_count(const struct committer *c)
{
    return c->count;
}

const struct part_record *committer_at(const struct committer *c, size_t i)
{
    ASSERT(i < c->count);
    return &c->list[i].record;
}

static bool is_due(const struct waiting *w, uint64_t checkpoint_id)
{
    return w->assigned && w->record.checkpoint_id <= checkpoint_id;
}

/* Waits before the next try of a transient failure; false: no more tries. */
static bool try_again(struct committer *c, int tries, enum rc rc)
{
    int64_t wait_ns = FIRST_WAIT_NS;

    if (rc != RC_IO || tries >= COMMIT_TRIES)
        return false;
    for (int i = 1; i < tries; i++)
        wait_ns *= 10;
    clock_sleep_ns(c->env->clock, wait_ns);
    return true;
}

/* The last try's error becomes the caller's, unless one was there before. */
static enum rc hand_on(struct err *err, const struct err *why)
{
    if (err != NULL && err->rc == RC_OK)
        *err = *why;
    return why->rc;
}

static enum rc rename_part(struct committer *c, struct waiting *w, struct err *err)
{
    struct err why;
    enum rc rc;
    int tries = 0;

    do {
        why = (struct err){0};
        rc = part_commit(c->env->fs, &w->record, &why);
        tries++;
    } while (try_again(c, tries, rc));
    if (rc != RC_OK)
        return hand_on(err, &why);
    w->renamed = true;
    return RC_OK;
}

static enum rc sync_dirs(struct committer *c, struct dir_set *dirs, struct err *err)
{
    struct err why;
    enum rc rc;
    int tries = 0;

    do {
        why = (struct err){0};
        rc = dir_set_sync(dirs, c->env->fs, &why);
        tries++;
    } while (try_again(c, tries, rc));
    return rc == RC_OK ? RC_OK : hand_on(err, &why);
}

/* Forget what is durably in view. */
static void forget_done(struct committer *c, uint64_t checkpoint_id, uint64_t *parts,
                        uint64_t *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        struct waiting *w = &c->list[i];

        if (is_due(w, checkpoint_id)) {
            *parts += 1;
            *rows += w->record.row_count;
            arena_free(w->arena);
        } else {
            c->list[kept++] = *w;
        }
    }
    c->count = kept;
}

enum rc committer_commit(struct committer *c, uint64_t checkpoint_id, uint64_t *parts,
                         uint64_t *rows, struct err *err)
{
    struct dir_set dirs = {0};
    char dir[FS_PATH_MAX];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < c->count; i++) {
        struct waiting *w = &c->list[i];

        if (!is_due(w, checkpoint_id))
            continue;
        if (!w->renamed)
            GOTO_IF_ERR(rename_part(c, w, err));
        GOTO_IF_ERR(part_dir(&w->record, NULL, dir, err));
        dir_set_add(&dirs, dir);
    }
    GOTO_IF_ERR(sync_dirs(c, &dirs, err));
    forget_done(c, checkpoint_id, parts, rows);
out:
    dir_set_release(&dirs);
    return rc;
}
