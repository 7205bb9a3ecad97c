/* bench_timers.c - what a timer costs: registering and firing, and the memory of those that wait.
 *
 *     bench_timers [count]      3 million by default
 *
 * Prints, for both backends and three ways that times lie, CPU time of the task's thread and
 * memory, each a timer. */
#include "backend/timers.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GROUPS 128u
#define BATCH 2048u

static const char *const ways[] = {"one time each", "ten times in all", "in order, 3 a ms"};

static int64_t time_of(int way, uint64_t i, uint64_t count)
{
    switch (way) {
    case 0:
        return (int64_t)(splitmix64(i) % (4 * count));
    case 1:
        return (int64_t)(splitmix64(i) % 10) * 60000;
    default:
        return (int64_t)(i / 3);
    }
}

/* CPU time of this thread: compactions apart. */
static int64_t cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void die(struct err *err)
{
    fprintf(stderr, "bench_timers: %s\n", err->msg);
    exit(1);
}

static void fill(struct timers *t, int way, uint64_t count)
{
    struct key_builder keys;
    int64_t at_ms[BATCH];
    struct err err = {0};

    key_builder_init(&keys, GROUPS, KEY_NS_VOID);
    for (uint64_t i = 0; i < count;) {
        struct key_batch batch;

        key_builder_clear(&keys);
        for (; keys.count < BATCH && i < count; i++) {
            uint8_t row[16] = {0};

            put_le64(row + 8, i);
            at_ms[keys.count] = time_of(way, i, count);
            if (key_builder_add(&keys, key_group_of_row(bytes_of(row, 16), GROUPS),
                                bytes_of(row, 16), 0, (struct bytes){0}, &err) != RC_OK)
                die(&err);
        }
        batch = key_builder_batch(&keys);
        if (timers_register(t, &batch, at_ms, &err) != RC_OK)
            die(&err);
    }
    key_builder_release(&keys);
}

static uint64_t fire(struct timers *t)
{
    struct key_batch keys;
    const int64_t *at_ms;
    int64_t last = INT64_MIN;
    uint64_t n = 0;
    struct err err = {0};

    do {
        if (timers_pop(t, INT64_MAX, BATCH, &keys, &at_ms, &err) != RC_OK)
            die(&err);
        for (uint32_t i = 0; i < keys.count; i++) {
            ASSERT(at_ms[i] >= last);
            last = at_ms[i];
        }
        n += keys.count;
    } while (keys.count > 0);
    return n;
}

static void run(const struct env *env, enum backend_kind kind, int way, uint64_t count)
{
    struct keyed_backend_config config = {.env = env,
                                          .kind = kind,
                                          .range = {0, GROUPS - 1},
                                          .key_group_count = GROUPS,
                                          .local_dir = "/tmp/bench_timers",
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "bench",
                                          .memory_bytes = 256 << 20,
                                          .max_open_files = -1};
    struct keyed_backend *b;
    struct timers *t = NULL;
    struct keyed_stats stats;
    struct err err = {0};
    int64_t start, filled, fired;
    size_t bytes;

    if (keyed_backend_open(&config, &b, &err) != RC_OK ||
        timers_open(b, GROUPS, TIMER_EVENT, "bench", "ROW<BIGINT>", "VOID", &t, &err) != RC_OK)
        die(&err);
    start = cpu_ns();
    fill(t, way, count);
    filled = cpu_ns();
    bytes = timers_bytes(t);
    keyed_stats(b, &stats);
    ASSERT(timers_count(t) == count && fire(t) == count);
    fired = cpu_ns();
    printf("%-8s %-18s register %5.0f ns, fire %5.0f ns; %4.0f bytes in the index, %4.0f in the "
           "state\n",
           kind == BACKEND_ROCKSDB ? "rocksdb" : "hashmap", ways[way],
           (double)(filled - start) / (double)count, (double)(fired - filled) / (double)count,
           (double)bytes / (double)count, (double)stats.cache_bytes / (double)count);
    timers_close(t);
    keyed_backend_close(b);
}

int main(int argc, char **argv)
{
    struct env env = {.fs = fs_posix(), .clock = clock_posix(), .seed = 1};
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000000;

    for (int kind = 0; kind < 2; kind++)
        for (int way = 0; way < 3; way++)
            run(&env, kind == 0 ? BACKEND_HASHMAP : BACKEND_ROCKSDB, way, count);
    return 0;
}
