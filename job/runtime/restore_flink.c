/* restore_flink.c - see restore_flink.h */
#include "job/runtime/restore_flink.h"

#include "base/scratch.h"
#include "checkpoint/flink/flink_draft.h"
#include "checkpoint/flink/flink_import_order.h"
#include "checkpoint/flink/flink_newest.h"

#include <stdlib.h>

#define PREFIX ".varve-import-"
#define ANSWER_BYTES_MAX METADATA_BYTES_MAX

/* ---- where to -------------------------------------------------------------------------------- */

/* Beside the checkpoints, so that files can be hard-linked from there; else, as of no config, where
 * temporary files go. */
static enum rc make_dir(const struct env *env, const struct config *config, struct restore_plan *p,
                        struct err *err)
{
    bool beside = config != NULL && config_has(config, OPT_CP_DIR);
    const char *tmp = getenv("TMPDIR");
    char base[FS_PATH_MAX], id[SCRATCH_ID_LEN + 1];
    struct rng rng;

    if (beside)
        RETURN_IF_ERR(path_from_uri(base, sizeof base, config_string(config, OPT_CP_DIR), err));
    if (!beside || path_is_remote(base))
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

/* ---- what is asked for ----------------------------------------------------------------------- */

static const struct import_operator *operators_of(const struct graph *g, struct arena *arena,
                                                  size_t *count)
{
    struct import_operator *ops;
    size_t most = 0;

    for (uint32_t v = 0; v < g->vertex_count; v++)
        most += g->vertices[v].operator_count;
    ops = ARENA_ARRAY(arena, most, struct import_operator);
    *count = 0;
    for (uint32_t v = 0; v < g->vertex_count; v++)
        for (uint32_t k = 0; k < g->vertices[v].operator_count; k++) {
            const struct operator_spec *spec = &g->vertices[v].operators[k];

            ops[(*count)++] = (struct import_operator){spec->id, spec->uid, spec->name,
                                                       spec->state_count, spec->states};
        }
    return ops;
}

static void settings_of(const struct config *config, struct arena *arena, struct import_order *o)
{
    struct metadata_pair *pairs = ARENA_ARRAY(arena, OPTION_COUNT, struct metadata_pair);

    o->settings = pairs;
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        if (config_source(config, (enum option_id)i) != CONFIG_DEFAULT)
            pairs[o->setting_count++] = (struct metadata_pair){
                option_at((enum option_id)i)->key, config_string(config, (enum option_id)i)};
}

static enum rc mapping_of(const struct env *env, const struct config *config, struct arena *arena,
                          struct import_order *o, struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    o->mapping = bytes_of_str("");
    o->mapping_path = config_has(config, OPT_RESTORE_MAPPING)
                          ? arena_strdup(arena, config_string(config, OPT_RESTORE_MAPPING))
                          : "";
    if (o->mapping_path[0] == '\0')
        return RC_OK;
    rc = fs_read_all(env->fs, o->mapping_path, YAML_TREE_BYTES_MAX, &text, err);
    if (rc == RC_OK)
        o->mapping = arena_bytes_copy(arena, buf_bytes(&text));
    buf_release(&text);
    return rc;
}

static enum rc rebase_of(const struct config *config, struct arena *arena, struct rebase *out,
                         struct err *err)
{
    const char *key = option_at(OPT_RESTORE_REBASE)->key;
    enum rc rc = RC_OK;

    *out = (struct rebase){0};
    if (config_has(config, OPT_RESTORE_REBASE))
        rc = rebase_list_parse(config_string(config, OPT_RESTORE_REBASE), arena, out, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s", key);
}

/* ---- by whom --------------------------------------------------------------------------------- */

/* C13: RocksDB may fall over bytes that its checksums do not cover, and then it is not this process
 * that falls. */
static enum rc ask_other(const struct env *env, const struct import_order *o, struct arena *arena,
                         struct import_answer *out, struct err *err)
{
    struct buf request = {0}, answer = {0};
    char end[OWN_PROGRAM_END_MAX];
    enum rc rc;

    import_order_put(o, &request);
    rc = own_program_run(env->program, IMPORT_WORD, buf_bytes(&request), ANSWER_BYTES_MAX, &answer,
                         end, err);
    if (rc == RC_OK && end[0] != '\0')
        rc = err_set(err, RC_CORRUPT, "the process that read it was ended by %s", end);
    if (rc == RC_OK)
        rc = import_answer_get(buf_bytes(&answer), arena, out, err);
    buf_release(&request);
    buf_release(&answer);
    return rc;
}

static enum rc ask(const struct env *env, const struct import_order *o, struct arena *arena,
                   struct import_answer *out, struct err *err)
{
    if (env->program == NULL)
        flink_import_carry_out(env, o, arena, out);
    else
        RETURN_IF_ERR(ask_other(env, o, arena, out, err));
    return out->rc == RC_OK ? RC_OK : err_set(err, out->rc, "%s", out->message);
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

/* What was written is restored from as any savepoint: proven, and its files found. */
static enum rc take_written(const struct env *env, const char *written, struct restore_plan *p,
                            struct err *err)
{
    const struct recovery_options options = {0};

    return recovery_open(env, written, &options, &p->recovered, err);
}

static enum rc take_tree(struct bytes tree, struct restore_plan *p, struct err *err)
{
    p->recovered.arena = arena_new(0);
    p->recovered.meta = ARENA_NEW(p->recovered.arena, struct checkpoint_metadata);
    return metadata_own_decode(tree, p->recovered.arena, "what would be imported", p->recovered.meta,
                               err);
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

enum rc restore_flink_draft(const struct env *env, const struct config *config,
                            const struct graph *g, const char *uri, struct buf *out, struct err *err)
{
    struct restore_plan p = {.arena = arena_new(0)};
    struct flink_snapshot snapshot = {0};
    struct import_request r = {.env = env, .snapshot = &snapshot};
    struct rebase rebase;
    const char *dir;
    enum rc rc;

    GOTO_IF_ERR(flink_newest_only(env->fs, uri, p.arena, &dir, err));
    if (dir == NULL)
        GOTO_IF_ERR(err_set(err, RC_INVALID, "%s: no snapshot that Flink wrote; a mapping is of one", uri));
    if (g != NULL)
        r.operators = operators_of(g, p.arena, &r.operator_count);
    GOTO_IF_ERR(rebase_of(config, p.arena, &rebase, err));
    GOTO_IF_ERR(make_dir(env, NULL, &p, err)); /* whoever only looks leaves the job's directory alone */
    r.scratch_dir = p.import_dir;
    GOTO_IF_ERR(flink_snapshot_open(env->fs, dir, &rebase, p.arena, &snapshot, err));
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
    struct import_order o = {.dir = dir,
                             .below = p->import_dir,
                             .look_only = look_only,
                             .allow_non_restored = p->allow_non_restored};
    struct import_answer answer;
    enum rc rc;

    p->from_flink = true;
    if (p->claim_mode == CLAIM_CLAIM)
        return err_set(err, RC_INVALID,
                       "%s was written by Flink and cannot be claimed: its files are not those "
                       "that checkpoints of this job name; NO_CLAIM reads it and leaves it as it is",
                       dir);
    o.operators = operators_of(g, p->arena, &o.operator_count);
    settings_of(config, p->arena, &o);
    RETURN_IF_ERR(mapping_of(env, config, p->arena, &o, err));
    RETURN_IF_ERR(rebase_of(config, p->arena, &o.rebase, err));
    GOTO_IF_ERR(make_dir(env, config, p, err));
    GOTO_IF_ERR(ask(env, &o, p->arena, &answer, err));
    p->import_dropped = answer.dropped;
    p->import_dropped_count = answer.dropped_count;
    p->import_converted = answer.converted;
    p->import_converted_count = answer.converted_count;
    GOTO_IF_ERR(look_only ? take_tree(answer.tree, p, err) : take_written(env, answer.written, p, err));
    GOTO_IF_ERR(name_origin(env, dir, p, err));
out:
    if (rc != RC_OK || look_only)
        restore_flink_forget(p);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "restore %s, which Flink wrote", dir);
}
