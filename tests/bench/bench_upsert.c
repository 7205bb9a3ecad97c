/* bench_upsert.c - ns an event of read-modify-write on keyed state: 22-byte-payload keys, 56-byte
 * rows, batches.
 *
 *     bench_upsert [keys [events [batch]]]
 *
 * Beside both backends a plain open-addressing table with the same keys and rows: what memory alone
 * would cost. The event's key is splitmix64(i) mod keys. Prints the best of three passes of CPU
 * time. */
#include "backend/key_codec.h"
#include "base/fs.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VALUE_BYTES 56u
#define KEY_BYTES 30u /* prefix 1, size 4, row 24, namespace 1 */

struct plain_slot {
    uint64_t hash;
    uint8_t key[32];
    uint64_t value[VALUE_BYTES / 8];
};

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const struct err *err)
{
    fprintf(stderr, "bench_upsert: %s\n", err->msg);
    exit(3);
}

/* Keys of one batch, built as an operator does. */
static void build(struct key_builder *b, uint64_t from, uint32_t count, uint64_t key_space)
{
    struct err err = {0};
    uint8_t row[24] = {0};

    key_builder_clear(b);
    row[23] = 0x87;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t k = splitmix64(from + i) % key_space;

        put_le64(row + 8, k);
        memcpy(row + 16, "payload", 7);
        if (key_builder_add(b, key_group_of_row(bytes_of(row, 24), 128), bytes_of(row, 24), 0,
                            (struct bytes){0}, &err) != RC_OK)
            die(&err);
    }
}

static void update(uint64_t *row, uint64_t i)
{
    row[1]++;
    row[2] += i & 0xFFFF;
    row[3] = (i & 0xFFFF) < row[3] ? (i & 0xFFFF) : row[3];
    row[4] = (i & 0xFFFF) > row[4] ? (i & 0xFFFF) : row[4];
}

/* Seconds for making the keys alone, which all variants share. */
static double run_keys(uint64_t events, uint32_t batch, uint64_t key_space)
{
    struct key_builder keys;
    double t;

    key_builder_init(&keys, 128, KEY_NS_VOID);
    t = cpu_s();
    for (uint64_t i = 0; i < events; i += batch)
        build(&keys, i, batch, key_space);
    t = cpu_s() - t;
    key_builder_release(&keys);
    return t;
}

static double run_plain(uint64_t events, uint32_t batch, uint64_t key_space)
{
    struct key_builder keys;
    uint64_t size = 1, mask;
    struct plain_slot *slots;
    double t;

    while (size < 2 * key_space)
        size *= 2;
    mask = size - 1;
    slots = mem_calloc(size, sizeof *slots);
    key_builder_init(&keys, 128, KEY_NS_VOID);
    t = cpu_s();
    for (uint64_t i = 0; i < events; i += batch) {
        struct key_batch b;

        build(&keys, i, batch, key_space);
        b = key_builder_batch(&keys);
        for (uint32_t k = 0; k < b.count; k++) {
            struct bytes key = key_batch_at(&b, k);
            uint64_t h = hash64(key) | 1;
            uint64_t s = h & mask;

            while (slots[s].hash != 0 &&
                   (slots[s].hash != h || memcmp(slots[s].key, key.data, KEY_BYTES) != 0))
                s = (s + 1) & mask;
            if (slots[s].hash == 0) {
                slots[s].hash = h;
                memcpy(slots[s].key, key.data, KEY_BYTES);
            }
            update(slots[s].value, i + k);
        }
    }
    t = cpu_s() - t;
    key_builder_release(&keys);
    mem_free(slots);
    return t;
}

static double run_backend(enum backend_kind kind, uint64_t events, uint32_t batch,
                          uint64_t key_space)
{
    struct env env = {.fs = fs_posix(), .clock = clock_posix(), .seed = 1};
    struct state_desc desc = {"accState",
                              STATE_VALUE,
                              "ROW<BIGINT, STRING>",
                              "VOID",
                              "",
                              "ROW<BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT>",
                              VALUE_BYTES,
                              0,
                              "",
                              0};
    struct keyed_backend_config config = {.env = &env,
                                          .kind = kind,
                                          .range = {0, 127},
                                          .key_group_count = 128,
                                          .local_dir = "/tmp/varve-bench-upsert",
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "bench",
                                          .memory_bytes = 512u << 20,
                                          .max_open_files = -1,
                                          .restore_operator = "bench"};
    struct keyed_backend *backend;
    struct keyed_state *state;
    struct key_builder keys;
    void **rows = mem_alloc(batch * sizeof(void *));
    uint8_t *fresh = mem_alloc(batch);
    struct err err = {0};
    double t;

    if (keyed_backend_open(&config, &backend, &err) != RC_OK ||
        keyed_state_open(backend, &desc, &state, &err) != RC_OK)
        die(&err);
    key_builder_init(&keys, 128, KEY_NS_VOID);
    t = cpu_s();
    for (uint64_t i = 0; i < events; i += batch) {
        struct key_batch b;

        build(&keys, i, batch, key_space);
        b = key_builder_batch(&keys);
        if (keyed_upsert(state, &b, rows, fresh, &err) != RC_OK)
            die(&err);
        for (uint32_t k = 0; k < b.count; k++)
            update(rows[k], i + k);
    }
    t = cpu_s() - t;
    keyed_backend_close(backend);
    key_builder_release(&keys);
    mem_free(rows);
    mem_free(fresh);
    if (fs_remove_tree(env.fs, config.local_dir, &err) != RC_OK)
        die(&err);
    return t;
}

int main(int argc, char **argv)
{
    uint64_t key_space = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
    uint32_t batch = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 2048;
    double best[4] = {1e9, 1e9, 1e9, 1e9};

    if (key_space == 0 || batch == 0 || events < batch) {
        fprintf(stderr, "usage: bench_upsert [keys [events [batch]]]\n");
        return 2;
    }
    events -= events % batch;
    for (int pass = 0; pass < 3; pass++) {
        double t[4] = {run_keys(events, batch, key_space), run_plain(events, batch, key_space),
                       run_backend(BACKEND_HASHMAP, events, batch, key_space),
                       run_backend(BACKEND_ROCKSDB, events, batch, key_space)};

        for (int i = 0; i < 4; i++)
            best[i] = t[i] < best[i] ? t[i] : best[i];
    }
    printf("keys=%llu events=%llu batch=%u ns/event: making keys %.1f; with it: plain table %.1f "
           "hashmap %.1f rocksdb %.1f\n",
           (unsigned long long)key_space, (unsigned long long)events, batch,
           best[0] * 1e9 / (double)events, best[1] * 1e9 / (double)events,
           best[2] * 1e9 / (double)events, best[3] * 1e9 / (double)events);
    return 0;
}
