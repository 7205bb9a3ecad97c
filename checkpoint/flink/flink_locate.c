/* flink_locate.c - see flink_locate.h */
#include "checkpoint/flink/flink_locate.h"

/* Without "file:" and its empty authority; NULL: of another scheme. */
static const char *local_path(const char *path)
{
    const char *p = path;

    if (strncmp(p, "file:", 5) == 0)
        p += 5;
    if (strncmp(p, "///", 3) == 0)
        p += 2;
    return p[0] == '/' ? p : NULL;
}

static const char *last_of(const char *path, const char *part)
{
    const char *found = NULL;

    for (const char *p = strstr(path, part); p != NULL; p = strstr(p + 1, part))
        found = p;
    return found;
}

/* What stands behind the job's directory: "shared/..", "taskowned/..", "chk-<n>/..". */
static const char *inside_job(const char *path)
{
    static const char *const parts[] = {"/shared/", "/taskowned/", "/chk-"};
    const char *found = NULL;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *p = last_of(path, parts[i]);

        if (p != NULL && (found == NULL || p > found))
            found = p;
    }
    return found == NULL ? NULL : found + 1;
}

static bool is_there(struct fs *fs, const char *path)
{
    struct err ignored = {0};
    struct fs_stat st;

    return fs_stat(fs, path, &st, &ignored) == RC_OK;
}

/* A name below a directory, which it must not leave. */
static bool stays_inside(const char *name)
{
    if (name[0] == '/' || name[0] == '\0' || strcmp(name, "..") == 0 ||
        strncmp(name, "../", 3) == 0 || strstr(name, "/../") != NULL)
        return false;
    return strlen(name) < 3 || strcmp(name + strlen(name) - 3, "/..") != 0;
}

static enum rc place_absolute(struct fs *fs, const char *snapshot_dir, const char *path,
                              struct arena *arena, const char **out, struct err *err)
{
    const char *inside = inside_job(path), *local = local_path(path), *moved;
    const char *slash = strrchr(snapshot_dir, '/');
    size_t job_len = slash == NULL ? 0 : (size_t)(slash - snapshot_dir);

    if (inside != NULL && stays_inside(inside) && slash != NULL) {
        moved = arena_printf(arena, "%.*s/%s", (int)job_len, snapshot_dir, inside);
        if (is_there(fs, moved)) {
            *out = moved;
            return RC_OK;
        }
    }
    if (local == NULL)
        return err_set(err, RC_UNSUPPORTED,
                       "%s: not on this machine, nor at the same place beside %s", path,
                       snapshot_dir);
    *out = arena_strdup(arena, local);
    return RC_OK;
}

enum rc flink_locate(struct fs *fs, const char *snapshot_dir, const struct flink_stream *stream,
                    struct arena *arena, const char **out, struct err *err)
{
    const char *path = (const char *)stream->path.data; /* has its NUL */

    *out = NULL;
    switch (stream->tag) {
    case FLINK_STREAM_RELATIVE:
        if (!stays_inside(path))
            return err_set(err, RC_CORRUPT, "a relative file \"%s\"", path);
        *out = arena_printf(arena, "%s/%s", snapshot_dir, path);
        return RC_OK;
    case FLINK_STREAM_FILE:
    case FLINK_STREAM_SEGMENT:
        return place_absolute(fs, snapshot_dir, path, arena, out, err);
    case FLINK_STREAM_GROUPS:
        return flink_locate(fs, snapshot_dir, &stream->groups->stream, arena, out, err);
    default:
        return RC_OK;
    }
}
