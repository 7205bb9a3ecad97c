/* dir_set.c - see dir_set.h */
#include "sink/dir_set.h"

#include <stdlib.h>

void dir_set_add(struct dir_set *s, const char *dir)
{
    if (s->count > 0 && strcmp(s->dirs[s->count - 1], dir) == 0)
        return;
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 8 : s->cap * 2;
        s->dirs = mem_realloc(s->dirs, s->cap * sizeof(char *));
    }
    s->dirs[s->count++] = mem_strdup(dir);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void forget(struct dir_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        mem_free(s->dirs[i]);
    s->count = 0;
}

enum rc dir_set_sync(struct dir_set *s, struct fs *fs, struct err *err)
{
    if (s->count == 0)
        return RC_OK;
    qsort(s->dirs, s->count, sizeof(char *), by_name);
    for (size_t i = 0; i < s->count; i++)
        if (i == 0 || strcmp(s->dirs[i - 1], s->dirs[i]) != 0)
            RETURN_IF_ERR(fs_sync_dir(fs, s->dirs[i], err));
    forget(s);
    return RC_OK;
}

void dir_set_release(struct dir_set *s)
{
    forget(s);
    mem_free(s->dirs);
    *s = (struct dir_set){0};
}
