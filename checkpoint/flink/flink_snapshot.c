/* flink_snapshot.c - see flink_snapshot.h */
#include "checkpoint/flink/flink_snapshot.h"

#include "checkpoint/layout.h"

enum rc flink_snapshot_open(struct fs *fs, const char *dir, const struct rebase *rebase,
                            struct arena *arena, struct flink_snapshot *out, struct err *err)
{
    char path[FS_PATH_MAX];
    const char *what;

    *out = (struct flink_snapshot){0};
    RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    what = arena_strdup(arena, path);
    RETURN_IF_ERR(fs_read_all(fs, path, METADATA_BYTES_MAX, &out->file, err));
    RETURN_IF_ERR(flink_metadata_decode(buf_bytes(&out->file), arena, what, &out->meta, err));
    RETURN_IF_ERR(flink_metadata_check(&out->meta, what, err));
    out->places = flink_places_new(fs, &out->meta, dir, rebase, arena);
    return RC_OK;
}

void flink_snapshot_release(struct flink_snapshot *s)
{
    buf_release(&s->file);
}
