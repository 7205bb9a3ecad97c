#include "backend/keyed_regroup.h"

#include "base/rng.h"

#define REGROUP_MEMORY_BYTES (256ull << 20)

static enum backend_kind kind_of(const struct regroup *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->handles[i].kind != KEYED_STREAM)
            return BACKEND_ROCKSDB;
    return BACKEND_HASHMAP;
}

static enum rc write_snapshot(const struct regroup *r, struct keyed_backend *b,
                              struct snapshot_target *target, struct arena *arena,
                              struct keyed_handle *out, struct err *err)
{
    struct keyed_snapshot *s;
    enum rc rc;

    RETURN_IF_ERR(keyed_snapshot_begin(b, r->checkpoint_id, &s, err));
    rc = keyed_snapshot_write(s, target, arena, out, err);
    keyed_snapshot_free(s);
    return rc;
}

enum rc keyed_regroup(const struct regroup *r, struct snapshot_target *target, struct arena *arena,
                      struct keyed_handle *out, struct err *err)
{
    char id[DIGEST_HEX_LEN + 1];
    struct keyed_backend_config config = {
        .env = r->env,
        .kind = kind_of(r),
        .range = r->range,
        .key_group_count = r->key_group_count,
        .local_dir = r->local_dir,
        .backend_id = id,
        .name = r->name,
        .memory_bytes = REGROUP_MEMORY_BYTES,
        .max_open_files = -1,
        .restore_count = r->count,
        .restore = r->handles,
        .restore_group_count = r->count == 0 ? 0 : r->handles[0].key_group_count,
        .restore_operator = r->name,
        .no_load = true,
    };
    struct keyed_backend *b = NULL;
    struct err ignored = {0};
    struct rng rng;
    enum rc rc;

    env_rng(r->env, "regroup", &rng);
    rng_hex(&rng, id, DIGEST_HEX_LEN);
    rc = keyed_backend_open(&config, &b, err);
    if (rc == RC_OK)
        rc = write_snapshot(r, b, target, arena, out, err);
    keyed_backend_close(b);
    (void)!fs_remove_tree(r->env->fs, r->local_dir, &ignored); /* scratch */
    return rc;
}
