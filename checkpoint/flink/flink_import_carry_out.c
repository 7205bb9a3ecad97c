/* flink_import_carry_out.c - see flink_import_order.h: an order carried out. */
#include "base/hash.h"
#include "checkpoint/flink/flink_import_order.h"

#include <stdio.h>

static const char **lines_of(const struct flink_import *import, struct arena *arena, size_t *count)
{
    const char *const *lines = flink_import_dropped(import, count);
    const char **out = ARENA_ARRAY(arena, *count, const char *);

    for (size_t i = 0; i < *count; i++)
        out[i] = arena_strdup(arena, lines[i]);
    return out;
}

/* A tree must be whole to be read: of a look, each handle has a stream without an entry. */
static void make_empty(struct arena *arena, struct keyed_handle *h)
{
    h->file_count = 1;
    h->files = ARENA_NEW(arena, struct state_file);
    h->files[0] = (struct state_file){
        .local_name = "", .scope = FILE_INLINE, .inline_bytes = bytes_of_str(""), .digest = digest_of(bytes_of_str(""))};
    h->group_offset_count = h->range.last - h->range.first + 1;
    h->group_offsets = ARENA_ARRAY(arena, h->group_offset_count, uint64_t);
}

static struct bytes tree_of(const struct flink_import *import, struct arena *arena)
{
    struct checkpoint_metadata tree;
    struct buf encoded = {0};
    struct bytes out;

    metadata_copy(arena, flink_import_tree(import), &tree);
    tree.varve_version = VARVE_VERSION;
    for (size_t i = 0; i < tree.operator_count; i++)
        for (size_t s = 0; s < tree.operators[i].subtask_count; s++)
            for (size_t k = 0; k < tree.operators[i].subtasks[s].keyed_count; k++)
                make_empty(arena, &tree.operators[i].subtasks[s].keyed[k]);
    metadata_own_encode(&tree, &encoded);
    out = arena_bytes_copy(arena, buf_bytes(&encoded));
    buf_release(&encoded);
    return out;
}

static enum rc import_all(const struct import_request *r, const struct import_order *o,
                          struct arena *arena, struct import_answer *out, struct err *err)
{
    char written[FS_PATH_MAX] = "";
    struct flink_import *import;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(flink_import_open(r, &import, err));
    out->dropped = lines_of(import, arena, &out->dropped_count);
    out->converted = flink_import_converted(import, arena, &out->converted_count);
    if (o->look_only)
        out->tree = tree_of(import, arena);
    else
        rc = flink_import_write(import, o->below, written, err);
    flink_import_free(import);
    out->written = arena_strdup(arena, rc == RC_OK ? written : "");
    return rc;
}

void flink_import_carry_out(const struct env *env, const struct import_order *o, struct arena *arena,
                            struct import_answer *out)
{
    struct flink_snapshot snapshot = {0};
    struct import_request r = {
        .env = env,
        .snapshot = &snapshot,
        .operator_count = o->operator_count,
        .operators = o->operators,
        .allow_non_restored = o->allow_non_restored,
    };
    struct flink_mapping mapping;
    char scratch[FS_PATH_MAX];
    struct err err = {0};
    enum rc rc;

    *out = (struct import_answer){.message = "", .written = "", .tree = bytes_of_str("")};
    if (o->mapping_path[0] != '\0') {
        GOTO_IF_ERR(flink_mapping_read(o->mapping, o->mapping_path, arena, &mapping, &err));
        r.mapping = &mapping;
    }
    GOTO_IF_ERR(path_join(scratch, sizeof scratch, o->below, "look", &err));
    GOTO_IF_ERR(fs_mkdirs(env->fs, scratch, &err));
    r.scratch_dir = scratch;
    GOTO_IF_ERR(flink_snapshot_open(env->fs, o->dir, &o->rebase, arena, &snapshot, &err));
    GOTO_IF_ERR(import_all(&r, o, arena, out, &err));
out:
    flink_snapshot_release(&snapshot);
    out->rc = rc;
    out->message = rc == RC_OK ? "" : arena_strdup(arena, err.msg);
}
