/* snapshot_read.c - see snapshot_read.h */
#include "checkpoint/snapshot_read.h"

#include "checkpoint/flink/flink_files.h"
#include "checkpoint/flink/flink_view.h"
#include "checkpoint/layout.h"
#include "checkpoint/recovery.h"
#include "checkpoint/recovery_priv.h"

#include <inttypes.h>

static enum rc read_flink(struct fs *fs, const char *dir, const char *path,
                          const struct rebase *rebase, struct bytes file, struct arena *arena,
                          struct checkpoint_metadata *out, struct err *err)
{
    struct flink_metadata *m = ARENA_NEW(arena, struct flink_metadata);
    struct fs_stat st = {0};

    RETURN_IF_ERR(flink_metadata_decode(file, arena, path, m, err));
    RETURN_IF_ERR(flink_metadata_check(m, path, err));
    RETURN_IF_ERR(fs_stat(fs, path, &st, err));
    return flink_view_make(fs, m, dir, rebase, st.mtime_wall_ms, arena, out, err);
}

/* Bytes that begin as nobody's, in a directory that has Flink's files: what varve misses in them says
 * nothing. */
static enum rc blame_flink(struct fs *fs, const char *dir, const char *path, struct bytes file,
                           struct arena *arena, enum rc rc, struct err *err)
{
    const char *why;

    if (metadata_own_recognise(file) || !flink_snapshot_directory(fs, dir, arena, &why))
        return rc;
    err_clear(err);
    return err_set(err, RC_CORRUPT,
                   "%s: its first bytes are neither Flink's nor varve's, and %s: a _metadata of "
                   "Flink's that is damaged", path, why);
}

enum rc snapshot_read(struct fs *fs, const char *dir, const struct rebase *rebase,
                      struct arena *arena, struct checkpoint_metadata *out,
                      uint64_t *metadata_bytes, struct err *err)
{
    char path[FS_PATH_MAX];
    struct buf file = {0};
    enum rc rc;

    *metadata_bytes = 0;
    GOTO_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    GOTO_IF_ERR(fs_read_all(fs, path, METADATA_BYTES_MAX, &file, err));
    *metadata_bytes = file.len;
    if (flink_metadata_recognise(buf_bytes(&file)))
        rc = read_flink(fs, dir, path, rebase, arena_bytes_copy(arena, buf_bytes(&file)), arena,
                        out, err);
    else
        rc = recovery_decode_metadata(dir, path, buf_bytes(&file), arena, out, err);
    if (rc != RC_OK && !flink_metadata_recognise(buf_bytes(&file)))
        rc = blame_flink(fs, dir, path, buf_bytes(&file), arena, rc, err);
out:
    buf_release(&file);
    return rc;
}

enum rc snapshot_look_at_file(struct fs *fs, const struct state_file *file, struct arena *arena,
                              struct fs_stat *st, const char **reason, struct err *err)
{
    uint64_t end = file->start + file->size_bytes;

    if (!file->at_least)
        return recovery_look_at_file(fs, file->resolved_path, file->size_bytes, arena, st, reason,
                                     err);
    RETURN_IF_ERR(recovery_look_at_file(fs, file->resolved_path, 0, arena, st, reason, err));
    if (st->type != FS_FILE || st->inode == 0)
        return RC_OK; /* said already */
    *reason = st->size_bytes >= end ? NULL
                                    : arena_printf(arena, "%" PRIu64 " bytes, not %" PRIu64
                                                          " as it is to have at least",
                                                   st->size_bytes, end);
    return RC_OK;
}
