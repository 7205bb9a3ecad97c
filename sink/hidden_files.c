/* hidden_files.c - see hidden_files.h */
#include "sink/hidden_files.h"

#include "base/arena.h"
#include "sink/committable.h"

#define DEPTH_MAX 32 /* of partition directories */

struct walk {
    struct fs *fs;
    hidden_file_fn *fn;
    void *ctx;
};
/* One directory: its names are taken before anything is done with them. */
struct listing {
    struct fs *fs;
    const char *dir;
    struct buf found, subdirs; /* names, NUL-terminated */
};

static enum rc note_name(void *ctx, const char *name, struct err *err)
{
    struct listing *l = ctx;
    char path[FS_PATH_MAX], uuid[UUID_LEN + 1];
    struct fs_stat st;
    uint64_t counter;
    uint32_t subtask;

    if (part_temp_name_parse(name, uuid, &subtask, &counter)) {
        buf_append(&l->found, name, strlen(name) + 1);
        return RC_OK;
    }
    if (name[0] == '.' || name[0] == '_' || strchr(name, '=') == NULL)
        return RC_OK;
    RETURN_IF_ERR(path_join(path, sizeof path, l->dir, name, err));
    if (fs_stat(l->fs, path, &st, NULL) == RC_OK && st.type == FS_DIR)
        buf_append(&l->subdirs, name, strlen(name) + 1);
    return RC_OK;
}

static enum rc give(const struct walk *w, const char *dir, const char *name, char *path,
                    struct err *err)
{
    struct hidden_file f = {.path = path, .name = name};

    RETURN_IF_ERR(path_join(path, FS_PATH_MAX, dir, name, err));
    if (!part_temp_name_parse(name, f.uuid, &f.subtask_index, &f.counter))
        return RC_OK;
    return w->fn(w->ctx, &f, err);
}

static enum rc walk_dir(const struct walk *w, const char *dir, unsigned depth, struct err *err)
{
    struct listing l = {.fs = w->fs, .dir = dir};
    char *path = mem_alloc(FS_PATH_MAX);
    enum rc rc;

    GOTO_IF_ERR(fs_list(w->fs, dir, note_name, &l, err));
    for (size_t at = 0; at < l.found.len; at += strlen((char *)l.found.data + at) + 1)
        GOTO_IF_ERR(give(w, dir, (char *)l.found.data + at, path, err));
    for (size_t at = 0; at < l.subdirs.len && depth < DEPTH_MAX;
         at += strlen((char *)l.subdirs.data + at) + 1) {
        GOTO_IF_ERR(path_join(path, FS_PATH_MAX, dir, (char *)l.subdirs.data + at, err));
        GOTO_IF_ERR(walk_dir(w, path, depth + 1, err));
    }
out:
    buf_release(&l.found);
    buf_release(&l.subdirs);
    mem_free(path);
    return rc;
}

enum rc hidden_files_each(struct fs *fs, const char *base, hidden_file_fn *fn, void *ctx,
                          struct err *err)
{
    struct walk w = {fs, fn, ctx};

    return walk_dir(&w, base, 0, err);
}
