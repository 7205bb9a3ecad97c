#include "tests/lib/state_rig.h"

#define RIG_BATCH 500u

size_t rig_options(const struct rig *r, vv_option *options)
{
    options[0] = (vv_option){"state.backend.type", r->backend};
    options[1] = (vv_option){"state.backend.rocksdb.localdir", tmpdir_at(r->tmp, "local")};
    options[2] = (vv_option){"state.backend.rocksdb.memory.fixed-per-slot",
                               r->memory != NULL ? r->memory : "32 mb"};
    return 3;
}

void rig_open(struct rig *r, struct tmpdir *tmp, const char *backend, uint32_t first, uint32_t last,
              const vv_restore *restore, size_t restore_count)
{
    *r = (struct rig){.tmp = tmp, .backend = backend};
    rig_open_as_set(r, first, last, restore, restore_count);
}

void rig_open_as_set(struct rig *r, uint32_t first, uint32_t last, const vv_restore *restore,
                     size_t restore_count)
{
    static const vv_state_desc desc = {.name = "counts",
                                       .kind = VV_VALUE,
                                       .key_type = "BIGINT",
                                       .value_type = "BIGINT",
                                       .fixed_value_bytes = 8};
    vv_error error;
    vv_option options[4];
    vv_store_config config = {.name = "counters",
                              .first_group = first,
                              .last_group = last,
                              .group_count = RIG_GROUPS,
                              .options = options,
                              .restore = restore,
                              .restore_count = restore_count};

    config.option_count = rig_options(r, options);
    ck_assert_vv(vv_store_open(&config, &r->store, &error));
    ck_assert_vv(vv_state_open(r->store, &desc, &r->counts, &error));
}

void rig_close(struct rig *r)
{
    vv_store_close(r->store);
    *r = (struct rig){0};
}

uint32_t rig_key(uint64_t id, uint8_t out[RIG_KEY_BYTES])
{
    uint32_t group;

    put_be64(out + 1, id);
    group = vv_key_group((vv_bytes){out + 1, 8}, RIG_GROUPS);
    out[0] = (uint8_t)group;
    return group;
}

static void add_batch(struct rig *r, const uint8_t *data, uint32_t count, uint64_t add)
{
    uint32_t offsets[RIG_BATCH + 1];
    vv_keys keys = {count, data, offsets};
    void *rows[RIG_BATCH];
    uint8_t fresh[RIG_BATCH];
    vv_error error;

    for (uint32_t i = 0; i <= count; i++)
        offsets[i] = i * RIG_KEY_BYTES;
    ck_assert_vv(vv_raw_upsert(r->counts, &keys, rows, fresh, &error));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t n;

        memcpy(&n, rows[i], 8);
        ck_assert(!fresh[i] || n == 0);
        n += add;
        memcpy(rows[i], &n, 8);
    }
}

void rig_add(struct rig *r, uint32_t first, uint32_t last, uint64_t from, uint64_t to, uint64_t add)
{
    uint8_t data[RIG_BATCH * RIG_KEY_BYTES];
    uint32_t count = 0;

    for (uint64_t id = from; id < to; id++) {
        uint32_t group = rig_key(id, data + count * RIG_KEY_BYTES);

        if (group < first || group > last)
            continue;
        if (++count == RIG_BATCH) {
            add_batch(r, data, count, add);
            count = 0;
        }
    }
    add_batch(r, data, count, add);
}

void rig_sum(struct rig *r, uint32_t first, uint32_t last, uint64_t *entries, uint64_t *sum)
{
    vv_error error;

    *entries = 0;
    *sum = 0;
    for (uint32_t group = first; group <= last; group++) {
        vv_bytes keys[100], values[100];
        vv_scan *scan;
        uint32_t got;

        ck_assert_vv(vv_scan_open_group(r->counts, group, VV_SCAN_LIVE, &scan, &error));
        do {
            ck_assert_vv(vv_scan_next(scan, 100, keys, values, &got, &error));
            for (uint32_t i = 0; i < got; i++, ++*entries) {
                uint64_t n;

                ck_assert_uint_eq(keys[i].data[0], group);
                ck_assert_uint_eq(values[i].len, 8);
                memcpy(&n, values[i].data, 8);
                *sum += n;
            }
        } while (got > 0);
        vv_scan_close(scan);
    }
}

vv_state *rig_state(struct rig *r, const char *name, vv_kind kind, uint32_t fixed_value_bytes,
                    const vv_functions *functions)
{
    vv_state_desc desc = {
        .name = name, .kind = kind, .fixed_value_bytes = fixed_value_bytes, .functions = functions};
    vv_error error;
    vv_state *s;

    ck_assert_vv(vv_state_open(r->store, &desc, &s, &error));
    return s;
}

vv_keys rig_keys(vv_key_builder *builder, const char *const *texts, uint32_t count)
{
    vv_error error;

    vv_key_builder_clear(builder);
    for (uint32_t i = 0; i < count; i++) {
        vv_bytes key = {(const uint8_t *)texts[i], strlen(texts[i])};

        ck_assert_vv(
            vv_key_builder_add(builder, vv_key_group(key, RIG_GROUPS), key, (vv_bytes){0}, &error));
    }
    return vv_key_builder_keys(builder);
}
