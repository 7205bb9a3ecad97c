/* vv_key.c - key groups and composite keys (varve_state.h). */
#include "backend/vv_priv.h"

struct vv_key_builder {
    struct key_builder keys;
};

/* ---- key groups ------------------------------------------------------------------------------ */

uint32_t vv_key_group_of_hash(uint32_t java_hash, uint32_t group_count)
{
    if (group_count < 1 || group_count > VV_KEY_GROUPS_MAX)
        return VV_NO_GROUP;
    return keygroup_of_hash(java_hash, group_count);
}

uint32_t vv_key_group(vv_bytes key, uint32_t group_count)
{
    uint8_t small[256], *padded = small;
    size_t len = (key.len + 3) & ~(size_t)3;
    uint32_t hash;

    if (group_count < 1 || group_count > VV_KEY_GROUPS_MAX || (key.data == NULL && key.len > 0))
        return VV_NO_GROUP;
    if (key.len == len)
        return keygroup_of_hash(keygroup_row_hash(bytes_in(key)), group_count);
    if (len > sizeof small)
        padded = mem_alloc(len);
    memset(padded + len - 4, 0, 4);
    memcpy(padded, key.data, key.len);
    hash = keygroup_row_hash(bytes_of(padded, len));
    if (padded != small)
        mem_free(padded);
    return keygroup_of_hash(hash, group_count);
}

uint32_t vv_key_group_owner(uint32_t group, uint32_t parallelism, uint32_t group_count)
{
    if (group_count < 1 || group_count > VV_KEY_GROUPS_MAX || group >= group_count ||
        parallelism < 1 || parallelism > group_count)
        return VV_NO_GROUP;
    return keygroup_owner(group, parallelism, group_count);
}

static enum rc group_range(uint32_t index, uint32_t parallelism, uint32_t group_count,
                           uint32_t *first_group, uint32_t *last_group, struct err *err)
{
    struct key_group_range r;

    CHECK_NULL(first_group);
    CHECK_NULL(last_group);
    if (group_count < 1 || group_count > VV_KEY_GROUPS_MAX)
        return err_set(err, RC_INVALID, "group_count %u is not in 1..%u", group_count,
                       VV_KEY_GROUPS_MAX);
    if (parallelism > group_count || index >= parallelism)
        return err_set(err, RC_INVALID, "store %u of %u, with %u key groups", index, parallelism,
                       group_count);
    r = keygroup_range_of(index, parallelism, group_count);
    *first_group = r.first;
    *last_group = r.last;
    return RC_OK;
}

vv_code vv_key_group_range(uint32_t index, uint32_t parallelism, uint32_t group_count,
                           uint32_t *first_group, uint32_t *last_group, vv_error *error)
{
    ANSWER(group_range(index, parallelism, group_count, first_group, last_group, err));
}

/* ---- builders -------------------------------------------------------------------------------- */

static enum rc engine_namespace(vv_namespace ns, enum key_namespace *out, struct err *err)
{
    const char *type;

    RETURN_IF_ERR(namespace_in(ns, &type, err));
    return key_namespace_parse(type, out, err);
}

static enum rc builder_new(uint32_t group_count, vv_namespace ns, vv_key_builder **out,
                           struct err *err)
{
    enum key_namespace engine_ns;

    CHECK_NULL(out);
    *out = NULL;
    if (group_count < 1 || group_count > VV_KEY_GROUPS_MAX)
        return err_set(err, RC_INVALID, "group_count %u is not in 1..%u", group_count,
                       VV_KEY_GROUPS_MAX);
    RETURN_IF_ERR(engine_namespace(ns, &engine_ns, err));
    *out = mem_calloc(1, sizeof **out);
    key_builder_init(&(*out)->keys, group_count, engine_ns);
    return RC_OK;
}

vv_code vv_key_builder_new(uint32_t group_count, vv_namespace ns, vv_key_builder **out,
                           vv_error *error)
{
    ANSWER(builder_new(group_count, ns, out, err));
}

void vv_key_builder_free(vv_key_builder *b)
{
    if (b == NULL)
        return;
    key_builder_release(&b->keys);
    mem_free(b);
}

void vv_key_builder_clear(vv_key_builder *b)
{
    if (b != NULL)
        key_builder_clear(&b->keys);
}

static enum rc check_part(const char *what, vv_bytes part, struct err *err)
{
    if (part.data == NULL && part.len > 0)
        return err_set(err, RC_INVALID, "%s is NULL", what);
    if (part.len > KEY_BATCH_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%s of %zu bytes exceeds %u", what, part.len,
                       KEY_BATCH_BYTES_MAX);
    return RC_OK;
}

static enum rc check_add(const vv_key_builder *b, enum key_namespace ns, uint32_t group,
                         vv_bytes key, vv_bytes ns_bytes, vv_bytes user_key, struct err *err)
{
    if (b == NULL)
        return err_set(err, RC_INVALID, "builder is NULL");
    if (b->keys.ns != ns)
        return err_set(err, RC_INVALID, "the builder was made for another kind of namespace");
    if (group >= b->keys.key_group_count)
        return err_set(err, RC_INVALID, "key group %u of %u", group, b->keys.key_group_count);
    if (b->keys.count >= VV_BATCH_MAX)
        return err_set(err, RC_LIMIT, "more than %u keys in a batch", VV_BATCH_MAX);
    RETURN_IF_ERR(check_part("key", key, err));
    RETURN_IF_ERR(check_part("ns", ns_bytes, err));
    return check_part("user_key", user_key, err);
}

static enum rc builder_add(vv_key_builder *b, enum key_namespace ns_kind, uint32_t group,
                           vv_bytes key, int64_t ns, vv_bytes user_key, struct err *err)
{
    RETURN_IF_ERR(check_add(b, ns_kind, group, key, (vv_bytes){0}, user_key, err));
    return key_builder_add(&b->keys, group, bytes_in(key), ns, bytes_in(user_key), err);
}

vv_code vv_key_builder_add(vv_key_builder *builder, uint32_t group, vv_bytes key, vv_bytes user_key,
                           vv_error *error)
{
    ANSWER(builder_add(builder, KEY_NS_VOID, group, key, 0, user_key, err));
}

vv_code vv_key_builder_add_int64(vv_key_builder *builder, uint32_t group, vv_bytes key, int64_t ns,
                                 vv_bytes user_key, vv_error *error)
{
    ANSWER(builder_add(builder, KEY_NS_BIGINT, group, key, ns, user_key, err));
}

static enum rc builder_add_bytes(vv_key_builder *b, uint32_t group, vv_bytes key, vv_bytes ns,
                                 vv_bytes user_key, struct err *err)
{
    RETURN_IF_ERR(check_add(b, KEY_NS_BYTES, group, key, ns, user_key, err));
    return key_builder_add_ns(&b->keys, group, bytes_in(key), bytes_in(ns), bytes_in(user_key),
                              err);
}

vv_code vv_key_builder_add_bytes(vv_key_builder *builder, uint32_t group, vv_bytes key, vv_bytes ns,
                                 vv_bytes user_key, vv_error *error)
{
    ANSWER(builder_add_bytes(builder, group, key, ns, user_key, err));
}

static enum rc builder_add_raw(vv_key_builder *b, vv_bytes key, struct err *err)
{
    if (b == NULL)
        return err_set(err, RC_INVALID, "builder is NULL");
    if (b->keys.count >= VV_BATCH_MAX)
        return err_set(err, RC_LIMIT, "more than %u keys in a batch", VV_BATCH_MAX);
    RETURN_IF_ERR(check_part("composite_key", key, err));
    return key_builder_add_raw(&b->keys, bytes_in(key), err);
}

vv_code vv_key_builder_add_raw(vv_key_builder *builder, vv_bytes composite_key, vv_error *error)
{
    ANSWER(builder_add_raw(builder, composite_key, err));
}

vv_keys vv_key_builder_keys(const vv_key_builder *b)
{
    struct key_batch k;

    if (b == NULL)
        return (vv_keys){0};
    k = key_builder_batch(&b->keys);
    return (vv_keys){k.count, k.data, k.offsets};
}

/* ---- taking keys apart ----------------------------------------------------------------------- */

static enum rc split(vv_bytes key, uint32_t group_count, vv_namespace ns, vv_key_parts *out,
                     struct err *err)
{
    enum key_namespace engine_ns;
    struct key_parts p;

    CHECK_NULL(out);
    if (group_count < 1 || group_count > VV_KEY_GROUPS_MAX)
        return err_set(err, RC_INVALID, "group_count %u is not in 1..%u", group_count,
                       VV_KEY_GROUPS_MAX);
    RETURN_IF_ERR(check_part("composite_key", key, err));
    RETURN_IF_ERR(engine_namespace(ns, &engine_ns, err));
    RETURN_IF_ERR(key_split(bytes_in(key), group_count, engine_ns, &p, err));
    *out = (vv_key_parts){
        .group = p.group,
        .key = bytes_out(p.row),
        .ns = bytes_out(p.ns),
        .user_key = bytes_out(p.user_key),
        .ns_int64 = p.window,
    };
    return RC_OK;
}

vv_code vv_key_split(vv_bytes composite_key, uint32_t group_count, vv_namespace ns,
                     vv_key_parts *out, vv_error *error)
{
    ANSWER(split(composite_key, group_count, ns, out, err));
}
