/* bench_state.c - workload W through backend/varve_state.h alone: the state backend without SQL,
 * operators and exchange.
 *
 *     bench_state W [--backend hashmap|rocksdb] [--memory MB] [--interval MS] [--keys K] [--rows N]
 * [--dir DIR] [--json FILE]
 *
 * W: small mid large zipf. Two threads with a store each, which hold the two halves of the key
 * groups; every thread goes over all events and takes those of its groups, 2048 a batch. Every
 * --interval both take a snapshot into a directory; a thread of the store writes it while the owner
 * goes on. --memory is that of both stores together. The checksum is of a scan of everything at the
 * end, which does not count. */
#include "backend/varve_state.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/fs.h"
#include "tests/bench/workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define STORES 2
#define GROUPS 128
#define BATCH 2048
#define SCAN 4096

struct row {
    int64_t count, sum, min, max;
};
struct run {
    struct workload w;
    const char *backend, *dir, *memory;
    char local_dir[FS_PATH_MAX], snapshot_dir[FS_PATH_MAX], memory_option[32];
    double interval_s;
    vv_dir *snapshots;
};
/* One store, its owner's thread, and the thread that writes its snapshot. */
struct part {
    struct run *run;
    uint32_t me, first_group, last_group;
    vv_store *store;
    vv_state *state;
    vv_key_builder *keys;
    uint64_t numbers[BATCH], events[BATCH]; /* keys, and the events they came with */
    void *rows[BATCH];
    uint8_t fresh[BATCH];
    uint32_t count;
    uint64_t checksum, results;
    volatile uint64_t dropped;
    /* snapshots */
    double next_s, began_s;
    uint64_t taken;
    vv_snapshot *snapshot;
    pthread_t writer;
    atomic_bool written;
    double took_s, first_ms, later_ms;
    uint64_t new_bytes, first_bytes, later_bytes;
    char name[64], previous[64];
};

static void must(vv_code code, const vv_error *error)
{
    if (code == VV_OK)
        return;
    fprintf(stderr, "bench_state: %s\n", error->message);
    exit(1);
}

/* Flink's group of a BIGINT's Long.hashCode(). */
static uint32_t group_of(uint64_t key)
{
    return vv_key_group_of_hash((uint32_t)(key ^ key >> 32), GROUPS);
}

/* ---- a store --------------------------------------------------------------------------------- */

static void open_store(struct part *p)
{
    const struct run *r = p->run;
    const vv_option options[] = {{"state.backend.type", r->backend},
                                 {"state.backend.rocksdb.localdir", r->local_dir},
                                 {"state.backend.rocksdb.memory.fixed-per-slot", r->memory_option}};
    const vv_state_desc desc = {.name = "totals",
                                .kind = VV_VALUE,
                                .key_type = "BIGINT",
                                .value_type = "count, sum, min, max",
                                .fixed_value_bytes = sizeof(struct row)};
    vv_store_config config = {
        .name = "bench", .group_count = GROUPS, .options = options, .option_count = 3};
    vv_error error;

    must(vv_key_group_range(p->me, STORES, GROUPS, &p->first_group, &p->last_group, &error),
         &error);
    config.first_group = p->first_group;
    config.last_group = p->last_group;
    must(vv_store_open(&config, &p->store, &error), &error);
    must(vv_state_open(p->store, &desc, &p->state, &error), &error);
    must(vv_key_builder_new(GROUPS, VV_NS_NONE, &p->keys, &error), &error);
}

/* The batch at hand: every event's updated row is looked at, and so dropped. */
static void apply(struct part *p)
{
    vv_keys keys = vv_key_builder_keys(p->keys);
    vv_error error;

    must(vv_raw_upsert(p->state, &keys, p->rows, p->fresh, &error), &error);
    for (uint32_t i = 0; i < p->count; i++) {
        struct row *row = p->rows[i];
        int64_t v = w_value(p->events[i]);

        if (row->count == 0)
            *row = (struct row){.min = v, .max = v};
        row->count++;
        row->sum += v;
        row->min = v < row->min ? v : row->min;
        row->max = v > row->max ? v : row->max;
        p->dropped = (uint64_t)row->count ^ (uint64_t)row->sum;
    }
    p->count = 0;
    vv_key_builder_clear(p->keys);
}

static void scan(struct part *p)
{
    static const vv_bytes everything = {0};
    vv_bytes *keys = mem_calloc(2 * SCAN, sizeof *keys), *values = keys + SCAN;
    vv_key_parts parts;
    vv_scan *s;
    vv_error error;
    uint32_t got;

    must(vv_scan_open(p->state, everything, VV_SCAN_LIVE, &s, &error), &error);
    do {
        must(vv_scan_next(s, SCAN, keys, values, &got, &error), &error);
        for (uint32_t i = 0; i < got; i++) {
            struct row row;

            must(vv_key_split(keys[i], GROUPS, VV_NS_NONE, &parts, &error), &error);
            memcpy(&row, values[i].data, sizeof row);
            p->checksum ^= w_mix(get_be64(parts.key.data), (uint64_t)row.count, (uint64_t)row.sum);
            p->results++;
        }
    } while (got > 0);
    vv_scan_close(s);
    mem_free(keys);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void *write_snapshot(void *arg)
{
    struct part *p = arg;
    vv_handle_info info;
    vv_handle *handle;
    vv_error error;

    must(vv_dir_write(p->run->snapshots, p->snapshot, p->name, &handle, &error), &error);
    must(vv_handle_info_get(handle, &info, &error), &error);
    p->new_bytes = info.new_bytes;
    p->took_s = wall_s() - p->began_s;
    vv_handle_free(handle);
    atomic_store(&p->written, true);
    return NULL;
}

static void end_snapshot(struct part *p)
{
    vv_error error;

    pthread_join(p->writer, NULL);
    vv_snapshot_free(p->snapshot);
    p->snapshot = NULL;
    must(vv_store_notify_complete(p->store, p->taken, &error), &error);
    if (p->taken == 1) {
        p->first_ms = 1e3 * p->took_s;
        p->first_bytes = p->new_bytes;
    } else { /* the one before is not needed any more */
        must(vv_dir_remove(p->run->snapshots, p->previous, &error), &error);
        p->later_ms += 1e3 * p->took_s;
        p->later_bytes += p->new_bytes;
    }
    memcpy(p->previous, p->name, sizeof p->previous);
}

/* Begins one when it is time, ends the one that has been written. */
static void look_after_snapshots(struct part *p)
{
    vv_error error;

    if (p->snapshot != NULL) {
        if (atomic_load(&p->written))
            end_snapshot(p);
        return;
    }
    if (p->run->interval_s <= 0 || wall_s() < p->next_s)
        return;
    p->began_s = wall_s();
    p->next_s = p->began_s + p->run->interval_s;
    p->taken++;
    snprintf(p->name, sizeof p->name, "%u-%llu", p->me, (unsigned long long)p->taken);
    must(vv_snapshot_begin(p->store, p->taken, &p->snapshot, &error), &error);
    atomic_store(&p->written, false);
    ASSERT(pthread_create(&p->writer, NULL, write_snapshot, p) == 0);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void *work(void *arg)
{
    struct part *p = arg;
    const struct workload *w = &p->run->w;
    vv_error error;
    uint8_t key[8];

    p->next_s = wall_s() + p->run->interval_s;
    for (uint64_t i = 0; i < w->rows; i++) {
        uint64_t k = w_key(w, i);
        uint32_t group = group_of(k);

        if (group < p->first_group || group > p->last_group)
            continue;
        put_be64(key, k);
        must(vv_key_builder_add(p->keys, group, (vv_bytes){key, sizeof key}, (vv_bytes){0}, &error),
             &error);
        p->events[p->count++] = i;
        if (p->count == BATCH) {
            apply(p);
            look_after_snapshots(p);
        }
    }
    apply(p);
    if (p->snapshot != NULL)
        end_snapshot(p);
    return NULL;
}

static void report(const struct run *r, struct part parts[STORES], struct report *out, double wall,
                   double cpu)
{
    double later = (double)(parts[0].taken + parts[1].taken) - 2;

    report_text(out, "program", "bench_state");
    report_text(out, "backend", r->backend);
    report_text(out, "memory", r->memory_option);
    report_run(out, &r->w, STORES, wall, cpu);
    report_number(out, "checkpoints_completed",
                  fmax((double)parts[0].taken, (double)parts[1].taken));
    report_number(out, "first_checkpoint_ms", fmax(parts[0].first_ms, parts[1].first_ms));
    report_number(out, "first_checkpoint_bytes",
                  (double)(parts[0].first_bytes + parts[1].first_bytes));
    if (later > 0) {
        report_number(out, "later_checkpoint_ms", (parts[0].later_ms + parts[1].later_ms) / later);
        report_number(out, "later_checkpoint_bytes",
                      2 * (double)(parts[0].later_bytes + parts[1].later_bytes) / later);
    }
    report_number(out, "results", (double)(parts[0].results + parts[1].results));
}

static bool parse(int argc, char **argv, struct run *r, const char **json)
{
    const char *memory = "4096", *interval = "10000", *keys = NULL, *rows = NULL;
    const struct arg args[] = {{"--backend", &r->backend},
                               {"--memory", &memory},
                               {"--interval", &interval},
                               {"--keys", &keys},
                               {"--rows", &rows},
                               {"--dir", &r->dir},
                               {"--json", json}};

    if (!args_parse(argc, argv, &r->w, args, ARRAY_LEN(args)) || r->w.window)
        return false;
    workload_resize(&r->w, arg_number(keys), arg_number(rows));
    r->interval_s = (double)arg_number(interval) / 1000;
    snprintf(r->memory_option, sizeof r->memory_option, "%llu kb",
             (unsigned long long)(arg_number(memory) * 1024 / STORES));
    return true;
}

int main(int argc, char **argv)
{
    static struct part parts[STORES];
    static struct run r = {.backend = "rocksdb"};
    char dir[] = "/tmp/bench-state.XXXXXX";
    struct report out = {0};
    pthread_t owners[STORES];
    double wall, cpu;
    vv_error error;
    bool own_dir;

    if (!parse(argc, argv, &r, &out.path)) {
        fprintf(stderr, "usage: see the head of tests/bench/bench_state.c\n");
        return 2;
    }
    own_dir = r.dir == NULL;
    if (own_dir)
        r.dir = mkdtemp(dir);
    snprintf(r.local_dir, sizeof r.local_dir, "%s/local", r.dir);
    snprintf(r.snapshot_dir, sizeof r.snapshot_dir, "%s/snapshots", r.dir);
    must(vv_dir_open(r.snapshot_dir, &r.snapshots, &error), &error);
    for (uint32_t t = 0; t < STORES; t++) {
        parts[t].run = &r;
        parts[t].me = t;
        open_store(&parts[t]);
    }
    wall = wall_s();
    cpu = cpu_s();
    for (uint32_t t = 0; t < STORES; t++)
        ASSERT(pthread_create(&owners[t], NULL, work, &parts[t]) == 0);
    for (uint32_t t = 0; t < STORES; t++)
        pthread_join(owners[t], NULL);
    wall = wall_s() - wall;
    cpu = cpu_s() - cpu;
    for (uint32_t t = 0; t < STORES; t++) {
        scan(&parts[t]);
        vv_key_builder_free(parts[t].keys);
        vv_store_close(parts[t].store);
    }
    vv_dir_close(r.snapshots);
    report(&r, parts, &out, wall, cpu);
    if (own_dir && fs_remove_tree(fs_posix(), dir, NULL) != RC_OK)
        fprintf(stderr, "bench_state: %s stays\n", dir);
    return report_end(&out, &r.w, parts[0].checksum ^ parts[1].checksum);
}
