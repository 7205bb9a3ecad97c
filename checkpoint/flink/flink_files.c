/* flink_files.c - see flink_files.h */
#include "checkpoint/flink/flink_files.h"

#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/layout.h"

#include <stdlib.h>

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

struct peek {
    struct fs *fs;
    const char *dir;
    bool known, flink;
};

static bool is_flinks(struct fs *fs, const char *path, bool *flink)
{
    struct fs_file *f = NULL;
    uint8_t magic[4];
    size_t got = 0;

    if (fs_open_read(fs, path, &f, NULL) != RC_OK)
        return false;
    *flink = fs_read_at(f, 0, magic, sizeof magic, &got, NULL) == RC_OK &&
             flink_metadata_recognise(bytes_of(magic, got));
    fs_abandon(&f);
    return true;
}

static enum rc peek_name(void *ctx, const char *name, struct err *err UNUSED)
{
    char dir[FS_PATH_MAX], path[FS_PATH_MAX];
    struct peek *p = ctx;
    uint64_t id;

    if (!p->known && layout_parse_checkpoint(name, &id) &&
        path_join(dir, sizeof dir, p->dir, name, NULL) == RC_OK &&
        path_join(path, sizeof path, dir, LAYOUT_METADATA, NULL) == RC_OK)
        p->known = is_flinks(p->fs, path, &p->flink);
    return RC_OK;
}

bool flink_directory(struct fs *fs, const char *job_dir)
{
    struct peek p = {.fs = fs, .dir = job_dir};

    return fs_list(fs, job_dir, peek_name, &p, NULL) == RC_OK && p.flink;
}
