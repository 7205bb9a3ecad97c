/* bench_limit.c - the limit: workload W in plain memory, on one or two threads. No formats, no
 * operators, no checkpoints.
 *
 *     bench_limit W [--threads 1|2] [--keys K] [--rows N] [--json FILE]      W: small mid large
 * zipf window
 *
 * Gives the checksum that everything else must give for the same W, K and N. Two threads: each
 * makes every second event and owns half of the keys; events for the other one travel in batches
 * through a ring, as in an engine. Each event reads the updated row, which stands for the sink that
 * drops it. */
#include "base/arena.h"
#include "base/status.h"
#include "tests/bench/workload.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#define BATCH 1024
#define RING_BATCHES 16

struct event {
    uint64_t key, i;
};
struct slot {
    uint64_t key;
    int64_t count, sum; /* count 0: free */
    int32_t min, max;
};
/* One thread's half of the keys. */
struct part {
    _Alignas(128) struct slot *slots;
    uint64_t mask, used, window;
    uint64_t checksum, results;
    volatile uint64_t dropped;
};
/* Batches from one thread to another: head is the producer's, tail the consumer's. */
struct ring {
    _Alignas(64) atomic_uint_fast64_t head;
    _Alignas(64) atomic_uint_fast64_t tail;
    _Alignas(64) uint32_t counts[RING_BATCHES];
    struct event events[RING_BATCHES][BATCH];
};
struct run {
    struct workload w;
    struct part parts[2];
    struct ring *to[2];            /* to[p]: from the other thread to p */
    atomic_uint_fast64_t ended[2]; /* windows whose events thread p has all made */
    pthread_barrier_t window_over;
};
struct worker {
    struct run *run;
    uint32_t me;
};

/* ---- a part
 * ----------------------------------------------------------------------------------------- */

/* Zeroed, on huge pages where there are some. */
static void *pages(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ASSERT(p != MAP_FAILED);
    madvise(p, size, MADV_HUGEPAGE);
    return p;
}

static void part_init(struct part *p, uint64_t capacity)
{
    p->slots = pages(capacity * sizeof *p->slots);
    p->mask = capacity - 1;
    p->used = 0;
}

static uint64_t home_of(const struct part *p, uint64_t key)
{
    return (splitmix64(key) >> 8) & p->mask;
}

static void part_grow(struct part *p)
{
    struct slot *old = p->slots;
    uint64_t capacity = p->mask + 1, used = p->used, at;

    part_init(p, 2 * capacity);
    p->used = used;
    for (uint64_t i = 0; i < capacity; i++) {
        if (old[i].count == 0)
            continue;
        for (at = home_of(p, old[i].key); p->slots[at].count != 0;)
            at = (at + 1) & p->mask;
        p->slots[at] = old[i];
    }
    munmap(old, capacity * sizeof *old);
}

/* Folds the results in and, for a window, starts anew. */
static void part_finish(struct part *p, bool window)
{
    for (uint64_t i = 0; i <= p->mask; i++) {
        struct slot *s = &p->slots[i];

        if (s->count == 0)
            continue;
        p->checksum ^= w_mix(window ? s->key ^ splitmix64(p->window) : s->key, (uint64_t)s->count,
                             (uint64_t)s->sum);
        p->results++;
    }
    memset(p->slots, 0, (p->mask + 1) * sizeof *p->slots);
    p->used = 0;
}

static void part_add(struct part *p, bool window, const struct event *events, uint32_t n)
{
    uint64_t home[BATCH];

    if (p->used + n > (p->mask + 1) / 10 * 6)
        part_grow(p);
    for (uint32_t k = 0; k < n; k++) {
        home[k] = home_of(p, events[k].key);
        __builtin_prefetch(&p->slots[home[k]], 1);
    }
    for (uint32_t k = 0; k < n; k++) {
        const struct event *e = &events[k];
        int32_t v = (int32_t)w_value(e->i);
        struct slot *s = &p->slots[home[k]];

        if (window && e->i / W_WINDOW_EVENTS != p->window) {
            part_finish(p, true);
            p->window = e->i / W_WINDOW_EVENTS;
        }
        for (uint64_t at = home[k]; s->count != 0 && s->key != e->key; s = &p->slots[at])
            at = (at + 1) & p->mask;
        if (s->count == 0) {
            *s = (struct slot){.key = e->key, .min = v, .max = v};
            p->used++;
        }
        s->count++;
        s->sum += v;
        s->min = v < s->min ? v : s->min;
        s->max = v > s->max ? v : s->max;
        p->dropped = s->key ^ (uint64_t)s->count ^ (uint64_t)s->sum;
    }
}

/* ---- one thread, two threads
 * --------------------------------------------------------------------------- */

static void run_one(struct run *r)
{
    struct event events[BATCH];
    uint32_t n = 0;

    for (uint64_t i = 0; i < r->w.rows; i++) {
        events[n++] = (struct event){w_key(&r->w, i), i};
        if (n == BATCH || i + 1 == r->w.rows) {
            part_add(&r->parts[0], r->w.window, events, n);
            n = 0;
        }
    }
}

/* false: nothing has come. */
static bool take_one(struct run *r, uint32_t me)
{
    struct ring *in = r->to[me];
    uint64_t tail = atomic_load_explicit(&in->tail, memory_order_relaxed);

    if (atomic_load_explicit(&in->head, memory_order_acquire) == tail)
        return false;
    part_add(&r->parts[me], r->w.window, in->events[tail % RING_BATCHES],
             in->counts[tail % RING_BATCHES]);
    atomic_store_explicit(&in->tail, tail + 1, memory_order_release);
    return true;
}

static void hand_over(struct run *r, uint32_t me, uint32_t to, const struct event *events,
                      uint32_t n)
{
    struct ring *out = r->to[to];
    uint64_t head;

    if (to == me) {
        part_add(&r->parts[me], r->w.window, events, n);
        return;
    }
    head = atomic_load_explicit(&out->head, memory_order_relaxed);
    while (head - atomic_load_explicit(&out->tail, memory_order_acquire) == RING_BATCHES)
        if (!take_one(r, me))
            sched_yield();
    memcpy(out->events[head % RING_BATCHES], events, n * sizeof *events);
    out->counts[head % RING_BATCHES] = n;
    atomic_store_explicit(&out->head, head + 1, memory_order_release);
}

/* All events of a window reach their part before one of the next does. Without windows there is
 * one, up to the end. */
static void *work(void *arg)
{
    struct worker *self = arg;
    struct run *r = self->run;
    uint32_t me = self->me;
    struct event events[2][BATCH];
    uint32_t counts[2] = {0, 0};
    uint64_t span = r->w.window ? W_WINDOW_EVENTS : r->w.rows;

    for (uint64_t i = me, window = 1; (window - 1) * span < r->w.rows; window++) {
        uint64_t end = window * span < r->w.rows ? window * span : r->w.rows;

        for (; i < end; i += 2) {
            uint64_t key = w_key(&r->w, i);
            uint32_t to = splitmix64(key) & 1;

            events[to][counts[to]++] = (struct event){key, i};
            if (counts[to] == BATCH) {
                hand_over(r, me, to, events[to], BATCH);
                counts[to] = 0;
                while (take_one(r, me))
                    ;
            }
        }
        for (uint32_t to = 0; to < 2; to++)
            hand_over(r, me, to, events[to], counts[to]);
        counts[0] = counts[1] = 0;
        atomic_store(&r->ended[me], window);
        while (atomic_load(&r->ended[1 - me]) < window)
            if (!take_one(r, me))
                sched_yield();
        while (take_one(r, me))
            ;
        pthread_barrier_wait(&r->window_over);
    }
    return NULL;
}

static void run_two(struct run *r)
{
    struct worker workers[2] = {{r, 0}, {r, 1}};
    pthread_t threads[2];

    pthread_barrier_init(&r->window_over, NULL, 2);
    for (uint32_t p = 0; p < 2; p++)
        r->to[p] = pages(sizeof(struct ring));
    for (uint32_t p = 0; p < 2; p++)
        ASSERT(pthread_create(&threads[p], NULL, work, &workers[p]) == 0);
    for (uint32_t p = 0; p < 2; p++)
        pthread_join(threads[p], NULL);
    pthread_barrier_destroy(&r->window_over);
}

static bool parse(int argc, char **argv, struct run *r, uint32_t *threads, const char **json)
{
    const char *count = "1", *keys = NULL, *rows = NULL;
    const struct arg args[] = {
        {"--threads", &count}, {"--keys", &keys}, {"--rows", &rows}, {"--json", json}};

    if (!args_parse(argc, argv, &r->w, args, ARRAY_LEN(args)))
        return false;
    workload_resize(&r->w, arg_number(keys), arg_number(rows));
    *threads = (uint32_t)arg_number(count);
    return *threads == 1 || *threads == 2;
}

int main(int argc, char **argv)
{
    static struct run run;
    struct run *r = &run;
    struct report report = {0};
    uint32_t threads = 1;
    double wall, cpu;
    uint64_t checksum, results;

    if (!parse(argc, argv, r, &threads, &report.path)) {
        fprintf(stderr, "usage: see the head of tests/bench/bench_limit.c\n");
        return 2;
    }
    wall = wall_s();
    cpu = cpu_s();
    for (uint32_t p = 0; p < threads; p++)
        part_init(&r->parts[p], 1 << 16);
    if (threads == 1)
        run_one(r);
    else
        run_two(r);
    wall = wall_s() - wall;
    cpu = cpu_s() - cpu;
    for (uint32_t p = 0; p < threads; p++)
        part_finish(&r->parts[p], r->w.window);
    checksum = r->parts[0].checksum ^ r->parts[1].checksum;
    results = r->parts[0].results + r->parts[1].results;
    report_text(&report, "program", "bench_limit");
    report_run(&report, &r->w, threads, wall, cpu);
    report_number(&report, "results", (double)results);
    return report_end(&report, &r->w, checksum);
}
