/* flink_files.c - see flink_files.h */
#include "checkpoint/flink/flink_files.h"

#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/layout.h"
#include "checkpoint/metadata.h"

#include <stdlib.h>

#define MAGIC_BYTES 32u /* as much as either sort is known by */
#define DEPTH_MAX 1u /* of directories: file merging makes one for each subtask */

bool flink_is_file_name(const char *name)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t i = 0;

    for (; shape[i] != '\0' && name[i] != '\0'; i++)
        if (shape[i] == '-' ? name[i] != '-' : strchr("0123456789abcdef", name[i]) == NULL)
            return false;
    return shape[i] == name[i];
}

struct list {
    struct flink_files *files;
    struct fs *fs;
    struct arena *arena;
    const char *dir;
    uint32_t depth;
};

static enum rc list_dir(struct list l, struct err *err);

static enum rc list_name(void *ctx, const char *name, const struct fs_stat *st, struct err *err)
{
    const struct list *l = ctx;
    struct flink_files *f = l->files;
    char path[FS_PATH_MAX];

    RETURN_IF_ERR(path_join(path, sizeof path, l->dir, name, err));
    if (st->type == FS_DIR && l->depth < DEPTH_MAX)
        return list_dir((struct list){f, l->fs, l->arena, path, l->depth + 1}, err);
    if (st->type != FS_FILE || !flink_is_file_name(name))
        return RC_OK;
    if (f->count == f->cap) {
        f->cap = f->cap == 0 ? 64 : f->cap * 2;
        f->items = mem_realloc(f->items, f->cap * sizeof *f->items);
    }
    f->items[f->count++] = (struct flink_found){arena_strdup(l->arena, path), st->size_bytes,
                                                fs_changed_wall_ms(st), false};
    return RC_OK;
}

static enum rc list_dir(struct list l, struct err *err)
{
    struct err local = {0};
    enum rc rc = fs_list_stat(l.fs, l.dir, list_name, &l, &local);

    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

enum rc flink_files_list(struct flink_files *f, struct fs *fs, const char *dir,
                         struct arena *arena, struct err *err)
{
    return list_dir((struct list){f, fs, arena, dir, 0}, err);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct flink_found *)a)->path, ((const struct flink_found *)b)->path);
}

void flink_files_sort(struct flink_files *f)
{
    if (f->count > 1)
        qsort(f->items, f->count, sizeof *f->items, by_path);
}

void flink_files_note(struct flink_files *f, const char *path)
{
    struct flink_found key = {.path = path}, *found = NULL;

    if (f->count > 0)
        found = bsearch(&key, f->items, f->count, sizeof key, by_path);
    if (found != NULL)
        found->named = true;
}

void flink_files_release(struct flink_files *f)
{
    mem_free(f->items);
    *f = (struct flink_files){0};
}

/* ---- whose directory it is ------------------------------------------------------------------ */

/* A look for the first file named as Flink names them, in a directory or one level below. */
struct trace {
    struct fs *fs;
    const char *dir;
    uint32_t depth;
    bool found;
    char path[FS_PATH_MAX];
};

static enum rc trace_name(void *ctx, const char *name, const struct fs_stat *st, struct err *err)
{
    struct trace *t = ctx;
    const char *dir = t->dir;
    char path[FS_PATH_MAX];

    if (t->found || path_join(path, sizeof path, dir, name, NULL) != RC_OK)
        return RC_OK;
    if (st->type == FS_FILE && flink_is_file_name(name)) {
        t->found = true;
        memcpy(t->path, path, sizeof path);
    } else if (st->type == FS_DIR && t->depth < DEPTH_MAX) {
        t->dir = path;
        t->depth++;
        (void)!fs_list_stat(t->fs, path, trace_name, t, NULL);
        t->depth--;
        t->dir = dir;
    }
    return t->found ? err_set(err, RC_DONE, "found") : RC_OK; /* no more of the list is needed */
}

static bool has_trace(struct fs *fs, const char *dir, char found[FS_PATH_MAX])
{
    struct trace t = {.fs = fs, .dir = dir};
    struct err ignored = {0};

    (void)!fs_list_stat(fs, dir, trace_name, &t, &ignored);
    if (t.found)
        memcpy(found, t.path, sizeof t.path);
    return t.found;
}

static bool has_trace_below(struct fs *fs, const char *dir, const char *name,
                            char found[FS_PATH_MAX])
{
    char path[FS_PATH_MAX];

    return path_join(path, sizeof path, dir, name, NULL) == RC_OK && has_trace(fs, path, found);
}

struct peek {
    struct fs *fs;
    const char *dir;
    bool known, flink;
    char found[FS_PATH_MAX]; /* what tells so */
};

/* By the first bytes of its _metadata: *known false when they are nobody's, or it has none. */
static void peek_metadata(struct peek *p, const char *dir)
{
    struct fs_file *f = NULL;
    char path[FS_PATH_MAX];
    uint8_t magic[MAGIC_BYTES];
    size_t got = 0;

    if (path_join(path, sizeof path, dir, LAYOUT_METADATA, NULL) != RC_OK ||
        fs_open_read(p->fs, path, &f, NULL) != RC_OK)
        return;
    if (fs_read_at(f, 0, magic, sizeof magic, &got, NULL) == RC_OK) {
        p->flink = flink_metadata_recognise(bytes_of(magic, got));
        p->known = p->flink || metadata_own_recognise(bytes_of(magic, got));
    }
    if (p->known)
        memcpy(p->found, path, sizeof path);
    fs_abandon(&f);
}

static enum rc peek_name(void *ctx, const char *name, struct err *err UNUSED)
{
    char dir[FS_PATH_MAX];
    struct peek *p = ctx;
    uint64_t id;

    if (!p->known && layout_parse_checkpoint(name, &id) &&
        path_join(dir, sizeof dir, p->dir, name, NULL) == RC_OK)
        peek_metadata(p, dir);
    return RC_OK;
}

static enum rc trace_checkpoint(void *ctx, const char *name, struct err *err UNUSED)
{
    struct peek *p = ctx;
    uint64_t id;

    p->flink = p->flink || (layout_parse_checkpoint(name, &id) &&
                            has_trace_below(p->fs, p->dir, name, p->found));
    return RC_OK;
}

static bool tell(const struct peek *p, struct arena *arena, const char **why)
{
    *why = NULL;
    if (p->flink)
        *why = p->known ? arena_printf(arena, "%s is Flink's", p->found)
                        : arena_printf(arena, "%s is named as Flink names files", p->found);
    return p->flink;
}

bool flink_directory(struct fs *fs, const char *job_dir, struct arena *arena, const char **why)
{
    struct peek p = {.fs = fs, .dir = job_dir};

    (void)!fs_list(fs, job_dir, peek_name, &p, NULL);
    if (!p.known)
        p.flink = has_trace_below(fs, job_dir, LAYOUT_SHARED, p.found) ||
                  has_trace_below(fs, job_dir, LAYOUT_TASKOWNED, p.found);
    if (!p.known && !p.flink)
        (void)!fs_list(fs, job_dir, trace_checkpoint, &p, NULL);
    return tell(&p, arena, why);
}

bool flink_snapshot_directory(struct fs *fs, const char *dir, struct arena *arena,
                              const char **why)
{
    struct peek p = {.fs = fs, .dir = dir};

    peek_metadata(&p, dir);
    if (!p.known)
        p.flink = has_trace(fs, dir, p.found);
    return tell(&p, arena, why);
}
