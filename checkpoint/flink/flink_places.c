/* flink_places.c - where the files lie that a Flink _metadata names; see flink_view.h.
 *
 * A path is taken apart into a prefix, where the job's directory was when Flink wrote it, and a rest
 * below it. For each prefix it is decided once whether the job's directory of today stands for it:
 * when one file of that prefix is found there. */
#include "checkpoint/flink/flink_view.h"

#include "checkpoint/layout.h"

#define PREFIXES_MAX 64u /* more than one job's directory is rare; of others paths stay as they are */

struct prefix {
    const char *text; /* with the slash at its end */
    const char *here; /* what stands for it */
    bool moved;       /* found there */
};
struct flink_places {
    struct fs *fs;
    struct arena *arena;
    const char *dir, *job_dir; /* of the _metadata; above it */
    const struct rebase *rebase;
    struct prefix prefixes[PREFIXES_MAX];
    size_t count;
};

const char *flink_c_text(struct arena *arena, struct bytes text)
{
    struct buf escaped = {0};
    const char *s;

    if (memchr(text.data, '\0', text.len) == NULL)
        return arena_strndup(arena, (const char *)text.data, text.len);
    buf_append_escaped(&escaped, text, SIZE_MAX);
    s = arena_strdup(arena, buf_cstr(&escaped));
    buf_release(&escaped);
    return s;
}

/* A local path without its scheme; of other schemes as it is. */
static const char *plain_path(struct flink_places *p, struct bytes path)
{
    const char *text = flink_c_text(p->arena, path);
    char plain[FS_PATH_MAX];

    return path_from_uri(plain, sizeof plain, text, NULL) == RC_OK ? arena_strdup(p->arena, plain)
                                                                   : text;
}

/* The last place of "/<name>/" in the path; NULL. */
static const char *last_of(const char *path, const char *name)
{
    size_t len = strlen(name);
    const char *found = NULL;

    for (const char *at = path; len > 0 && (at = strchr(at, '/')) != NULL; at++)
        if (strncmp(at + 1, name, len) == 0 && at[1 + len] == '/')
            found = at;
    return found;
}

/* How much of the path is prefix; *here: the directory that may stand for it. */
static size_t split(const struct flink_places *p, const char *path, const char **here)
{
    const char *job_id = path_base(p->job_dir), *at = NULL;

    *here = p->job_dir;
    if (layout_is_job_id(job_id) && (at = last_of(path, job_id)) != NULL)
        return (size_t)(at - path) + strlen(job_id) + 2;
    at = last_of(path, LAYOUT_SHARED);
    if (at == NULL)
        at = last_of(path, LAYOUT_TASKOWNED);
    if (at != NULL)
        return (size_t)(at - path) + 1;
    *here = p->dir;
    at = strrchr(path, '/');
    return at == NULL ? 0 : (size_t)(at - path) + 1;
}

static struct prefix *prefix_of(struct flink_places *p, const char *path, size_t len,
                                const char *here, bool add)
{
    for (size_t i = 0; i < p->count; i++)
        if (strncmp(p->prefixes[i].text, path, len) == 0 && p->prefixes[i].text[len] == '\0')
            return &p->prefixes[i];
    if (!add || p->count == PREFIXES_MAX)
        return NULL;
    p->prefixes[p->count] = (struct prefix){arena_strndup(p->arena, path, len), here, false};
    return &p->prefixes[p->count++];
}

/* NULL: no rule fits. */
static const char *by_rule(const struct flink_places *p, const char *path)
{
    for (size_t i = 0; p->rebase != NULL && i < p->rebase->count; i++) {
        const struct rebase_rule *r = &p->rebase->rules[i];
        size_t len = strlen(r->from);

        if (strncmp(path, r->from, len) == 0 && (path[len] == '/' || path[len] == '\0'))
            return arena_printf(p->arena, "%s%s", r->to, path + len);
    }
    return NULL;
}

static bool is_absolute(const struct flink_stream *s)
{
    return s->tag == FLINK_STREAM_FILE || s->tag == FLINK_STREAM_SEGMENT;
}

/* One file of a prefix that is found here says that the prefix has moved. */
static enum rc learn(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    const struct flink_stream *s = use->stream;
    struct flink_places *p = ctx;
    struct prefix *prefix;
    const char *path, *here;
    char candidate[FS_PATH_MAX];
    size_t len;

    if (!is_absolute(s))
        return RC_OK;
    path = plain_path(p, s->path);
    len = split(p, path, &here);
    prefix = by_rule(p, path) == NULL ? prefix_of(p, path, len, here, true) : NULL;
    if (prefix == NULL || prefix->moved)
        return RC_OK;
    prefix->moved = path_join(candidate, sizeof candidate, here, path + len, NULL) == RC_OK &&
                    fs_exists(p->fs, candidate);
    return RC_OK;
}

struct flink_places *flink_places_new(struct fs *fs, const struct flink_metadata *m,
                                      const char *dir, const struct rebase *rebase,
                                      struct arena *arena)
{
    struct flink_places *p = ARENA_NEW(arena, struct flink_places);
    char above[FS_PATH_MAX];
    struct err never;
    enum rc rc;

    p->fs = fs;
    p->arena = arena;
    p->dir = arena_strdup(arena, dir);
    p->rebase = rebase;
    p->job_dir = path_dir(above, sizeof above, dir, NULL) == RC_OK ? arena_strdup(arena, above)
                                                                   : p->dir;
    rc = m == NULL ? RC_OK : flink_metadata_each_stream(m, learn, p, &never);
    ASSERT(rc == RC_OK); /* learning a stream does not fail */
    return p;
}

const char *flink_place(struct flink_places *p, const struct flink_stream *s)
{
    const struct prefix *prefix;
    const char *path, *here, *ruled;
    size_t len;

    if (s->tag == FLINK_STREAM_RELATIVE)
        return arena_printf(p->arena, "%s/%s", p->dir, flink_c_text(p->arena, s->path));
    if (!is_absolute(s))
        return "";
    path = plain_path(p, s->path);
    ruled = by_rule(p, path);
    if (ruled != NULL)
        return ruled;
    len = split(p, path, &here);
    prefix = prefix_of(p, path, len, here, false);
    return prefix != NULL && prefix->moved ? arena_printf(p->arena, "%s/%s", prefix->here, path + len)
                                           : path;
}
