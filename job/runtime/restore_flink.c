/* restore_flink.c - see restore_flink.h */
#include "job/runtime/restore_flink.h"

#include "base/scratch.h"
#include "checkpoint/flink/flink_draft.h"
#include "checkpoint/flink/flink_files.h"
#include "checkpoint/flink/flink_import.h"
#include "checkpoint/snapshot_list.h"

#include <stdlib.h>

#define PREFIX ".varve-import-"

/* ---- which ----------------------------------------------------------------------------------- */

bool restore_flink_find(const struct env *env, const char *uri, char dir[FS_PATH_MAX])
{
    struct arena *arena = arena_new(0);
    struct snapshot_list list = {0};
    struct err ignored = {0};
    bool found = false;

    if (snapshot_list_make(env->fs, uri, arena, &list, &ignored) == RC_OK &&
        list.type != LIST_OF_ROOT) {
        size_t newest = list.count;

        for (size_t i = 0; i < list.count; i++)
            if (list.items[i].complete) /* ids ascend */
                newest = i;
        if (newest < list.count && flink_has_metadata(env->fs, list.items[newest].dir)) {
            found = true;
            snprintf(dir, FS_PATH_MAX, "%s", list.items[newest].dir);
        }
    }
    arena_free(arena);
    return found;
}

/* ---- where to -------------------------------------------------------------------------------- */

/* Beside the checkpoints, so that files can be hard-linked from there; else where temporary files go. */
static enum rc make_dir(const struct env *env, const struct config *config, struct restore_plan *p,
                        struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char base[FS_PATH_MAX], id[SCRATCH_ID_LEN + 1];
    struct rng rng;

    if (config_has(config, OPT_CP_DIR))
        RETURN_IF_ERR(path_from_uri(base, sizeof base, config_string(config, OPT_CP_DIR), err));
    if (!config_has(config, OPT_CP_DIR) || path_is_remote(base))
        snprintf(base, sizeof base, "%s", tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp);
    rng_seed(&rng, env->seed ^ rng_seed_from_os());
    rng_hex(&rng, id, SCRATCH_ID_LEN);
    p->import_env = env;
    return scratch_make(env, base, PREFIX, id, p->import_dir, &p->import_lock, err);
}

void restore_flink_forget(struct restore_plan *p)
{
    if (p->import_dir[0] != '\0')
        scratch_remove(p->import_env, p->import_dir, &p->import_lock);
    p->import_dir[0] = '\0';
}

/* ---- the way in ------------------------------------------------------------------------------ */

static void operators_of(const struct graph *g, struct arena *arena, struct import_request *r)
{
    struct import_operator *ops;
    size_t count = 0;

    for (uint32_t v = 0; v < g->vertex_count; v++)
        count += g->vertices[v].operator_count;
    r->operators = ops = ARENA_ARRAY(arena, count, struct import_operator);
    for (uint32_t v = 0; v < g->vertex_count; v++)
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++) {
            const struct operator_spec *spec = &g->vertices[v].operators[o];

            ops[r->operator_count++] = (struct import_operator){
                spec->id, spec->uid, spec->name, spec->state_count, spec->states};
        }
}

/* What was written is restored from as any savepoint: proven, and its files found. */
static enum rc take_written(const struct env *env, const char *written, struct restore_plan *p,
                            struct err *err)
{
    const struct recovery_options options = {0};

    return recovery_open(env, written, &options, &p->recovered, err);
}

static void take_dropped(const struct flink_import *import, struct restore_plan *p)
{
    const char *const *lines = flink_import_dropped(import, &p->import_dropped_count);

    p->import_dropped = ARENA_ARRAY(p->arena, p->import_dropped_count, const char *);
    for (size_t i = 0; i < p->import_dropped_count; i++)
        p->import_dropped[i] = arena_strdup(p->arena, lines[i]);
}

static void take_tree(const struct flink_import *import, struct restore_plan *p)
{
    p->recovered.arena = arena_new(0);
    p->recovered.meta = ARENA_NEW(p->recovered.arena, struct checkpoint_metadata);
    metadata_copy(p->recovered.arena, flink_import_tree(import), p->recovered.meta);
}

/* It is the snapshot of Flink's that the job goes on from, for whoever asks; and ids go on from there
 * (C9). */
static enum rc name_origin(const struct env *env, const char *dir, struct restore_plan *p,
                           struct err *err)
{
    uint64_t newest = 0;
    char parent[FS_PATH_MAX];

    p->recovered.dir = arena_strdup(p->recovered.arena, dir);
    RETURN_IF_ERR(path_dir(parent, sizeof parent, dir, err));
    RETURN_IF_ERR(recovery_newest_id(env->fs, parent, &newest, err));
    if (newest > p->recovered.newest_seen_id)
        p->recovered.newest_seen_id = newest;
    return RC_OK;
}

static enum rc read_mapping(const struct env *env, const struct config *config,
                            struct restore_plan *p, struct import_request *r, struct err *err)
{
    struct flink_mapping *mapping;
    struct buf text = {0};
    const char *path;
    enum rc rc;

    if (!config_has(config, OPT_RESTORE_MAPPING))
        return RC_OK;
    path = arena_strdup(p->arena, config_string(config, OPT_RESTORE_MAPPING));
    if (path[0] == '\0')
        return RC_OK;
    r->mapping = mapping = ARENA_NEW(p->arena, struct flink_mapping);
    rc = fs_read_all(env->fs, path, YAML_TREE_BYTES_MAX, &text, err);
    if (rc == RC_OK)
        rc = flink_mapping_read(buf_bytes(&text), path, p->arena, mapping, err);
    buf_release(&text);
    return rc;
}

static enum rc import_all(const struct import_request *r, bool look_only, struct restore_plan *p,
                          struct err *err)
{
    char written[FS_PATH_MAX];
    struct flink_import *import;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(flink_import_open(r, &import, err));
    take_dropped(import, p);
    p->import_converted = flink_import_converted(import, p->arena, &p->import_converted_count);
    if (look_only)
        take_tree(import, p);
    else
        rc = flink_import_write(import, p->import_dir, written, err);
    flink_import_free(import);
    return rc == RC_OK && !look_only ? take_written(r->env, written, p, err) : rc;
}

enum rc restore_flink_draft(const struct env *env, const struct config *config,
                            const struct graph *g, const char *uri, struct buf *out, struct err *err)
{
    struct restore_plan p = {.arena = arena_new(0)};
    struct flink_snapshot snapshot = {0};
    struct import_request r = {.env = env, .snapshot = &snapshot};
    char dir[FS_PATH_MAX];
    enum rc rc;

    if (!restore_flink_find(env, uri, dir)) {
        arena_free(p.arena);
        return err_set(err, RC_INVALID, "%s: no snapshot that Flink wrote; a mapping is of one", uri);
    }
    if (g != NULL)
        operators_of(g, p.arena, &r);
    GOTO_IF_ERR(make_dir(env, config, &p, err));
    r.scratch_dir = p.import_dir;
    GOTO_IF_ERR(flink_snapshot_open(env->fs, dir, NULL, p.arena, &snapshot, err));
    rc = flink_draft(&r, out, err);
out:
    flink_snapshot_release(&snapshot);
    restore_flink_forget(&p);
    arena_free(p.arena);
    return rc;
}

enum rc restore_flink(const struct env *env, const struct config *config, const struct graph *g,
                      const char *dir, bool look_only, struct restore_plan *p, struct err *err)
{
    struct flink_snapshot snapshot = {0};
    struct import_request r = {
        .env = env, .snapshot = &snapshot, .allow_non_restored = p->allow_non_restored};
    char scratch[FS_PATH_MAX];
    enum rc rc;

    p->from_flink = true;
    if (p->claim_mode == CLAIM_CLAIM)
        return err_set(err, RC_INVALID,
                       "%s was written by Flink and cannot be claimed: its files are not those "
                       "that checkpoints of this job name; NO_CLAIM reads it and leaves it as it is",
                       dir);
    operators_of(g, p->arena, &r);
    RETURN_IF_ERR(read_mapping(env, config, p, &r, err));
    GOTO_IF_ERR(make_dir(env, config, p, err));
    GOTO_IF_ERR(path_join(scratch, sizeof scratch, p->import_dir, "look", err));
    GOTO_IF_ERR(fs_mkdirs(env->fs, scratch, err));
    r.scratch_dir = scratch;
    GOTO_IF_ERR(flink_snapshot_open(env->fs, dir, NULL, p->arena, &snapshot, err));
    GOTO_IF_ERR(import_all(&r, look_only, p, err));
    GOTO_IF_ERR(name_origin(env, dir, p, err));
out:
    flink_snapshot_release(&snapshot);
    if (rc != RC_OK || look_only)
        restore_flink_forget(p);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "restore %s, which Flink wrote", dir);
}
