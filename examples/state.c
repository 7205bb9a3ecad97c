/* state.c - a program that keeps counters in varve's keyed state: it counts in batches, writes a
 * snapshot into a directory, closes the store, and opens it again as two halves.
 *
 *     cc state.c -lvarve_state -o state && ./state /tmp/counters
 */
#include "varve_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS 128u /* fixed for the life of the state: the most stores it can be spread over */
#define KEYS 200000u
#define BATCH 4096u

static int fail(const char *doing, const vv_error *error)
{
    fprintf(stderr, "%s: %s\n", doing, error->message);
    return 1;
}

static int open_store(const char *dir, uint32_t first, uint32_t last, const vv_restore *restore,
                      vv_store **store, vv_state **counts)
{
    char scratch[3000];
    const vv_option options[] = {{"state.backend.type", "rocksdb"},
                                 {"state.backend.rocksdb.localdir", scratch},
                                 {"state.backend.rocksdb.memory.fixed-per-slot", "64 mb"}};
    const vv_store_config config = {.name = "counters",
                                    .first_group = first,
                                    .last_group = last,
                                    .group_count = GROUPS,
                                    .options = options,
                                    .option_count = 3,
                                    .restore = restore,
                                    .restore_count = restore == NULL ? 0 : 1};
    const vv_state_desc desc = {.name = "counts",
                                .kind = VV_VALUE,
                                .key_type = "BIGINT",
                                .value_type = "BIGINT",
                                .fixed_value_bytes = sizeof(uint64_t)};
    vv_error error;

    snprintf(scratch, sizeof scratch, "%s/scratch", dir);
    if (vv_store_open(&config, store, &error) != VV_OK)
        return fail("open", &error);
    if (vv_state_open(*store, &desc, counts, &error) != VV_OK)
        return fail("state", &error);
    return 0;
}

/* Adds 1 to the counters from .. to-1, a batch at a time: one call finds or makes 4096 rows, which
 * are then changed where they lie. */
static int count(vv_state *counts, vv_key_builder *keys, uint32_t from, uint32_t to)
{
    void *rows[BATCH];
    uint8_t fresh[BATCH];
    vv_error error;

    while (from < to) {
        vv_keys batch;

        vv_key_builder_clear(keys);
        for (uint32_t i = 0; i < BATCH && from < to; i++, from++) {
            uint64_t id = from;
            vv_bytes key = {(const uint8_t *)&id, sizeof id};

            if (vv_key_builder_add(keys, vv_key_group(key, GROUPS), key, (vv_bytes){0}, &error) !=
                VV_OK)
                return fail("key", &error);
        }
        batch = vv_key_builder_keys(keys);
        if (vv_raw_upsert(counts, &batch, rows, fresh, &error) != VV_OK)
            return fail("upsert", &error);
        for (uint32_t i = 0; i < batch.count; i++)
            ++*(uint64_t *)rows[i];
    }
    return 0;
}

static int add_up(vv_state *counts, uint64_t *entries, uint64_t *sum)
{
    vv_bytes keys[1000], values[1000];
    vv_scan *scan;
    uint32_t got;
    vv_error error;

    if (vv_scan_open(counts, (vv_bytes){0}, VV_SCAN_LIVE, &scan, &error) != VV_OK)
        return fail("scan", &error);
    do {
        if (vv_scan_next(scan, 1000, keys, values, &got, &error) != VV_OK)
            return fail("scan", &error);
        for (uint32_t i = 0; i < got; i++, ++*entries) {
            uint64_t n;

            memcpy(&n, values[i].data, sizeof n);
            *sum += n;
        }
    } while (got > 0);
    vv_scan_close(scan);
    return 0;
}

/* Counts, and leaves a snapshot of the name in the directory. */
static int first_life(const char *path, vv_dir *dir, const char *name)
{
    vv_key_builder *keys;
    vv_snapshot *snapshot;
    vv_handle *handle;
    vv_handle_info info;
    vv_store *store;
    vv_state *counts;
    vv_error error;

    if (vv_key_builder_new(GROUPS, VV_NS_NONE, &keys, &error) != VV_OK)
        return fail("keys", &error);
    if (open_store(path, 0, GROUPS - 1, NULL, &store, &counts) != 0 ||
        count(counts, keys, 0, KEYS) != 0)
        return 1;
    if (vv_snapshot_begin(store, 1, &snapshot, &error) != VV_OK) /* from here on it may change */
        return fail("snapshot", &error);
    if (vv_dir_write(dir, snapshot, name, &handle, &error) != VV_OK) /* usually another thread */
        return fail("write", &error);
    vv_snapshot_free(snapshot);
    if (vv_handle_info_get(handle, &info, &error) != VV_OK)
        return fail("handle", &error);
    printf("snapshot %s: %zu files, %" PRIu64 " bytes\n", name, info.file_count, info.full_bytes);
    vv_handle_free(handle);
    if (count(counts, keys, 0, KEYS / 2) != 0) /* after the snapshot: it does not see this */
        return 1;
    vv_key_builder_free(keys);
    vv_store_close(store);
    return 0;
}

/* The same counters in two stores, each with half of the key groups. */
static int second_life(const char *path, vv_dir *dir, const char *snapshots, const char *name)
{
    uint64_t entries = 0, sum = 0;
    vv_restore restore = {.dir = snapshots};
    vv_handle *handle;
    vv_error error;

    if (vv_dir_load(dir, name, &handle, &error) != VV_OK)
        return fail("load", &error);
    restore.handle = handle;
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t first, last;
        vv_store *store;
        vv_state *counts;

        if (vv_key_group_range(half, 2, GROUPS, &first, &last, &error) != VV_OK)
            return fail("range", &error);
        if (open_store(path, first, last, &restore, &store, &counts) != 0 ||
            add_up(counts, &entries, &sum) != 0)
            return 1;
        vv_store_close(store);
    }
    vv_handle_free(handle);
    printf("two halves: %" PRIu64 " counters, sum %" PRIu64 "\n", entries, sum);
    return entries == KEYS && sum == KEYS ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/tmp/varve-counters";
    char snapshots[3000], name[40];
    vv_error error;
    vv_dir *dir;
    int rc;

    printf("varve %s\n", vv_version());
    snprintf(snapshots, sizeof snapshots, "%s/snapshots", path);
    if (vv_dir_open(snapshots, &dir, &error) != VV_OK)
        return fail("directory", &error);
    snprintf(name, sizeof name, "chk-1");
    if (vv_dir_remove(dir, name, &error) != VV_OK &&
        error.code != VV_NOT_FOUND) /* an earlier run's */
        return fail("remove", &error);
    rc = first_life(path, dir, name);
    if (rc == 0)
        rc = second_life(path, dir, snapshots, name);
    if (rc == 0 && vv_dir_sweep(dir, NULL, &error) != VV_OK)
        rc = fail("sweep", &error);
    vv_dir_close(dir);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
