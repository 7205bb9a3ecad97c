/* file_walk.c - see file_walk.h */
#include "job/source/file_walk.h"

#include <stdlib.h>

struct walk {
    struct fs *fs;
    const char *root;
    struct arena *arena;
    const char **paths;
    size_t count, cap;
    /* names of the folder being listed */
    const char **names;
    size_t name_count, name_cap;
};

static void push(struct arena *arena, const char ***list, size_t *count, size_t *cap,
                 const char *item)
{
    if (*count == *cap) {
        const char **wider = ARENA_ARRAY(arena, *cap * 2 + 64, const char *);

        if (*count > 0)
            memcpy(wider, *list, *count * sizeof *wider);
        *list = wider;
        *cap = *cap * 2 + 64;
    }
    (*list)[(*count)++] = item;
}

static enum rc on_name(void *ctx, const char *name, struct err *err)
{
    struct walk *w = ctx;

    (void)err;
    if (name[0] != '.' && name[0] != '_')
        push(w->arena, &w->names, &w->name_count, &w->name_cap, arena_strdup(w->arena, name));
    return RC_OK;
}

/* `below` is "" or ends without '/'. */
static enum rc walk_folder(struct walk *w, const char *below, uint32_t depth, struct err *err)
{
    const char *folder =
        below[0] == '\0' ? w->root : arena_printf(w->arena, "%s/%s", w->root, below);
    struct err gone = {0};
    const char **names;
    size_t count;
    enum rc rc;

    if (depth > FILE_WALK_DEPTH_MAX)
        return err_set(err, RC_LIMIT, "%s: folders are nested more than %u deep", folder,
                       FILE_WALK_DEPTH_MAX);
    w->names = NULL;
    w->name_count = w->name_cap = 0;
    rc = fs_list(w->fs, folder, on_name, w, &gone);
    if (rc == RC_NOT_FOUND && below[0] != '\0')
        return RC_OK;
    if (rc != RC_OK)
        return err_set(err, rc, "%s", gone.msg);
    names = w->names;
    count = w->name_count;
    for (size_t i = 0; i < count; i++) {
        const char *path =
            below[0] == '\0' ? names[i] : arena_printf(w->arena, "%s/%s", below, names[i]);
        const char *full = arena_printf(w->arena, "%s/%s", w->root, path);
        struct fs_stat st;

        rc = fs_stat(w->fs, full, &st, &gone);
        if (rc == RC_NOT_FOUND)
            err_clear(&gone);
        if (rc == RC_NOT_FOUND)
            continue;
        if (rc != RC_OK)
            return err_set(err, rc, "%s", gone.msg);
        if (st.type == FS_FILE)
            push(w->arena, &w->paths, &w->count, &w->cap, path);
        else if (st.type == FS_DIR)
            RETURN_IF_ERR(walk_folder(w, path, depth + 1, err));
    }
    return RC_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum rc file_walk(struct fs *fs, const char *root, struct arena *arena, const char ***paths,
                  size_t *count, struct err *err)
{
    struct walk w = {.fs = fs, .root = root, .arena = arena};
    struct fs_stat st;

    RETURN_IF_ERR(fs_stat(fs, root, &st, err));
    if (st.type == FS_FILE)
        push(arena, &w.paths, &w.count, &w.cap, "");
    else if (st.type == FS_DIR)
        RETURN_IF_ERR(walk_folder(&w, "", 0, err));
    else
        return err_set(err, RC_UNSUPPORTED, "%s: neither a file nor a folder", root);
    if (w.count > 1)
        qsort(w.paths, w.count, sizeof *w.paths, by_bytes);
    *paths = w.paths;
    *count = w.count;
    return RC_OK;
}
