/* claims.c - see claims.h */
#include "checkpoint/claims.h"

#include "base/hash.h"
#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/layout.h"
#include "checkpoint/snapshot_read.h"

#include <stdlib.h>

struct claims {
    struct arena *arena;
    struct digest128 *names; /* sorted once they are asked for */
    size_t count, cap;
    bool sorted;
    size_t snapshot_count;
    const char *unreadable;
};

struct claims *claims_new(void)
{
    struct claims *c = mem_calloc(1, sizeof *c);

    c->arena = arena_new(0);
    return c;
}

void claims_free(struct claims *c)
{
    if (c == NULL)
        return;
    mem_free(c->names);
    arena_free(c->arena);
    mem_free(c);
}

size_t claims_snapshot_count(const struct claims *c)
{
    return c->snapshot_count;
}

const char *claims_unreadable(const struct claims *c)
{
    return c->unreadable;
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct digest128));
}

bool claims_have(struct claims *c, const char *name)
{
    struct digest128 d = digest_of(bytes_of_str(name));

    if (!c->sorted && c->count > 0)
        qsort(c->names, c->count, sizeof *c->names, by_digest);
    c->sorted = true;
    return c->count > 0 && bsearch(&d, c->names, c->count, sizeof d, by_digest) != NULL;
}

static enum rc add_stream(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    struct claims *c = ctx;
    struct bytes name = use->stream->path;

    for (size_t i = name.len; i > 0; i--)
        if (name.data[i - 1] == '/') {
            name = bytes_of(name.data + i, name.len - i);
            break;
        }
    if (name.len == 0)
        return RC_OK; /* inlined */
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 256 : c->cap * 2;
        c->names = mem_realloc(c->names, c->cap * sizeof *c->names);
    }
    c->names[c->count++] = digest_of(name);
    return RC_OK;
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
    struct claims *c;
    struct fs *fs;
    const struct rebase *rebase;
    const char *dir;
    unsigned depth;
    uint64_t seen; /* names in it that could be looked at */
    struct arena *one; /* of the snapshot at hand */
};

static enum rc add_snapshot(struct walk *w, struct err *err)
{
    struct checkpoint_metadata m;
    struct err local = {0};
    uint64_t bytes;
    enum rc rc;

    arena_reset(w->one);
    rc = snapshot_read(w->fs, w->dir, w->rebase, w->one, &m, &bytes, &local);
    if (rc == RC_NOT_FOUND)
        return RC_OK; /* gone meanwhile */
    if (rc != RC_OK) {
        if (w->c->unreadable == NULL)
            w->c->unreadable = arena_printf(w->c->arena, "%s: %s", w->dir, local.msg);
        return RC_OK;
    }
    w->c->snapshot_count++;
    return m.flink == NULL ? RC_OK
                           : flink_metadata_each_stream(m.flink, add_stream, w->c, err);
}

/* What cannot be looked at may be a snapshot, or lead to some. The first is kept. */
static void note_unseen(struct walk *w, const char *path, const char *why)
{
    if (w->c->unreadable == NULL)
        w->c->unreadable = arena_printf(w->c->arena, "%s: %s", path, why);
}

/* Files alone: no snapshot lies there, and of files there may be very many. */
static bool is_store(const struct walk *w, const char *name)
{
    return layout_is_job_id(path_base(w->dir)) &&
           (strcmp(name, LAYOUT_SHARED) == 0 || strcmp(name, LAYOUT_TASKOWNED) == 0);
}

static enum rc walk_dir(const struct walk *above, const char *dir, struct err *err);

static enum rc look_at(void *ctx, const char *name, const struct fs_stat *st, struct err *err)
{
    struct walk *w = ctx;
    char path[FS_PATH_MAX];

    w->seen++;
    if (st->type == FS_FILE)
        return strcmp(name, LAYOUT_METADATA) == 0 ? add_snapshot(w, err) : RC_OK;
    if (st->type != FS_DIR || is_store(w, name))
        return RC_OK;
    RETURN_IF_ERR(path_join(path, sizeof path, w->dir, name, err));
    if (w->depth < CLAIMS_DEPTH)
        return walk_dir(w, path, err);
    note_unseen(w, path, "lies too deep to be looked into");
    return RC_OK;
}

static enum rc count_name(void *ctx, const char *name UNUSED, struct err *err UNUSED)
{
    ++*(uint64_t *)ctx;
    return RC_OK;
}

static enum rc look_for_unseen(void *ctx, const char *name, struct err *err)
{
    struct walk *w = ctx;
    char path[FS_PATH_MAX];
    struct err why = {0};
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, w->dir, name, err));
    if (fs_stat(w->fs, path, &st, &why) != RC_OK)
        note_unseen(w, path, why.msg);
    return RC_OK;
}

/* A list with what is known of each name leaves out what cannot be looked at: a link to where nothing
 * is mounted now, a directory without the right to enter it. */
static enum rc list_all(struct walk *w, struct err *err)
{
    uint64_t listed = 0;

    RETURN_IF_ERR(fs_list(w->fs, w->dir, count_name, &listed, err));
    RETURN_IF_ERR(fs_list_stat(w->fs, w->dir, look_at, w, err));
    return w->seen >= listed ? RC_OK : fs_list(w->fs, w->dir, look_for_unseen, w, err);
}

static enum rc walk_dir(const struct walk *above, const char *dir, struct err *err)
{
    struct walk w = *above;
    struct err local = {0};
    enum rc rc;

    w.dir = dir;
    w.depth++;
    w.seen = 0;
    rc = list_all(&w, &local);
    if (rc == RC_NOT_FOUND && w.depth > 1)
        return RC_OK; /* gone meanwhile */
    return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", local.msg);
}

enum rc claims_add(struct claims *c, struct fs *fs, const char *dir, const struct rebase *rebase,
                   struct err *err)
{
    struct walk w = {.c = c, .fs = fs, .rebase = rebase, .one = arena_new(0)};
    enum rc rc = walk_dir(&w, dir, err);

    c->sorted = false;
    arena_free(w.one);
    return rc;
}
