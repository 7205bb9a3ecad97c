/* flink_newest.c - see flink_newest.h */
#include "checkpoint/flink/flink_newest.h"

#include "checkpoint/flink/flink_files.h"
#include "checkpoint/layout.h"
#include "checkpoint/snapshot_list.h"

/* When its `_metadata` was written; INT64_MIN: that cannot be seen. */
static int64_t written_ms(struct fs *fs, const char *dir)
{
    char path[FS_PATH_MAX];
    struct fs_stat st;

    if (path_join(path, sizeof path, dir, LAYOUT_METADATA, NULL) != RC_OK ||
        fs_stat(fs, path, &st, NULL) != RC_OK)
        return INT64_MIN;
    return st.mtime_wall_ms;
}

/* Ids ascend in a job's directory; those of several jobs say nothing of each other. */
static const struct listed_snapshot *newest_of(struct fs *fs, const struct snapshot_list *list)
{
    const struct listed_snapshot *newest = NULL;
    int64_t newest_ms = INT64_MIN;

    for (size_t i = 0; i < list->count; i++) {
        const struct listed_snapshot *item = &list->items[i];
        int64_t ms = list->type == LIST_OF_ROOT && item->complete ? written_ms(fs, item->dir) : 0;

        if (!item->complete ||
            (newest != NULL && (ms < newest_ms || (ms == newest_ms && item->checkpoint_id <
                                                                          newest->checkpoint_id))))
            continue;
        newest = item;
        newest_ms = ms;
    }
    return newest;
}

/* A job of varve's has a LOCK there, also when it has ended. */
static bool is_job_of_ours(struct fs *fs, const char *path)
{
    char dir[FS_PATH_MAX], lock[FS_PATH_MAX];

    return path_from_uri(dir, sizeof dir, path, NULL) == RC_OK &&
           path_join(lock, sizeof lock, dir, LAYOUT_LOCK, NULL) == RC_OK && fs_exists(fs, lock);
}

enum rc flink_newest_only(struct fs *fs, const char *path, struct arena *arena, const char **out,
                          struct err *err)
{
    struct snapshot_list list = {0};

    *out = flink_newest(fs, path, arena);
    return *out != NULL ? RC_OK : snapshot_list_make(fs, path, arena, &list, err);
}

const char *flink_newest(struct fs *fs, const char *path, struct arena *arena)
{
    const struct listed_snapshot *newest;
    struct snapshot_list list = {0};
    struct err ignored = {0};
    const char *why;

    if (is_job_of_ours(fs, path) ||
        snapshot_list_make(fs, path, arena, &list, &ignored) != RC_OK)
        return NULL;
    newest = newest_of(fs, &list);
    return newest != NULL && flink_snapshot_directory(fs, newest->dir, arena, &why) ? newest->dir
                                                                                     : NULL;
}
