/* dir_set.h - directories in which names came or changed and are not durable yet. */
#ifndef VARVE_SINK_DIR_SET_H
#define VARVE_SINK_DIR_SET_H

#include "base/arena.h"
#include "base/fs.h"

struct dir_set { /* = {0} is empty */
    size_t count, cap;
    char **dirs; /* owned; the same one may stand there twice */
};
void dir_set_add(struct dir_set *s, const char *dir);
/* Sync each once and forget them. On an error all stay, to be tried again. */
MUST_USE enum rc dir_set_sync(struct dir_set *s, struct fs *fs, struct err *err);
void dir_set_release(struct dir_set *s);

#endif
