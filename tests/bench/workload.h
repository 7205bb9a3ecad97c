/* workload.h - workload W, the same events for every program of this folder and for the peers.
 *
 * Event i of [0, N): key = splitmix64(i) mod K, value = i & 0xFFFF; "zipf" takes its keys by rank,
 * "window" has event time i / 100 ms and windows of 10 s. Per key (and window) count, sum, min,
 * max. The checksum of a run is the XOR over all final results of w_mix(key, count, sum); for
 * windows the key is first mixed with the window's index. */
#ifndef VARVE_TESTS_BENCH_WORKLOAD_H
#define VARVE_TESTS_BENCH_WORKLOAD_H

#include "base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define W_EVENTS_A_MS 100
#define W_WINDOW_MS 10000
#define W_WINDOW_EVENTS ((uint64_t)W_EVENTS_A_MS * W_WINDOW_MS)

struct workload {
    const char *name;
    uint64_t keys, rows;
    bool zipf, window;
    uint64_t checksum; /* of these keys and rows */
    double ln_keys;
};

/* false: no workload of that name. */
static inline bool workload_find(const char *name, struct workload *out)
{
    static const struct workload all[] = {
        {"small", 100000, 20000000, false, false, 0x65767ae586bb3746ULL, 0},
        {"mid", 10000000, 20000000, false, false, 0xa4ef564c33e37e68ULL, 0},
        {"large", 50000000, 50000000, false, false, 0x967c4abb7af324b6ULL, 0},
        {"zipf", 10000000, 20000000, true, false, 0x1c349f36f07c3ffcULL, 0},
        {"window", 1000000, 20000000, false, true, 0x437af7f14b76f488ULL, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(name, all[i].name) == 0) {
            *out = all[i];
            out->ln_keys = log((double)out->keys);
            return true;
        }
    return false;
}

/* Another size (0: as it is): its checksum is that of bench_limit. */
static inline void workload_resize(struct workload *w, uint64_t keys, uint64_t rows)
{
    struct workload was = *w;

    w->keys = keys == 0 ? w->keys : keys;
    w->rows = rows == 0 ? w->rows : rows;
    w->ln_keys = log((double)w->keys);
    if (w->keys != was.keys || w->rows != was.rows)
        w->checksum = 0;
}

static inline uint64_t w_key(const struct workload *w, uint64_t i)
{
    uint64_t h = splitmix64(i);

    if (!w->zipf)
        return h % w->keys;
    return splitmix64((uint64_t)floor(exp((double)(h >> 11) * 0x1.0p-53 * w->ln_keys)));
}
static inline uint32_t w_value(uint64_t i)
{
    return (uint32_t)(i & 0xFFFF);
}
static inline uint64_t w_mix(uint64_t key, uint64_t count, uint64_t sum)
{
    return splitmix64(key ^ count * 0x9E3779B97F4A7C15ULL ^ sum * 0xC2B2AE3D27D4EB4FULL);
}

/* ---- clocks
 * ----------------------------------------------------------------------------------------- */

static inline double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* CPU seconds of the whole process so far, all its threads. */
static inline double cpu_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
static inline double peak_rss_mb(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

/* ---- arguments
 * -------------------------------------------------------------------------------------- */

struct arg {
    const char *name;   /* "--keys" */
    const char **value; /* the word after it */
};
/* A workload's name (w NULL: none is wanted) and `args` in any order; false: something else is
 * there. */
static inline bool args_parse(int argc, char **argv, struct workload *w, const struct arg *args,
                              size_t count)
{
    bool found = w == NULL;

    for (int i = 1; i < argc; i++) {
        size_t a = 0;

        if (w != NULL && workload_find(argv[i], w)) {
            found = true;
            continue;
        }
        while (a < count && strcmp(args[a].name, argv[i]) != 0)
            a++;
        if (a == count || i + 1 == argc)
            return false;
        *args[a].value = argv[++i];
    }
    return found;
}
static inline uint64_t arg_number(const char *text)
{
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* ---- the report
 * ------------------------------------------------------------------------------------- */

/* Figures by name: lines on standard output, and one JSON object in a file. */
struct report {
    const char *path; /* NULL: lines only */
    FILE *file;
    bool any;
};
static inline void report_raw(struct report *r, const char *name, const char *json)
{
    if (r->path != NULL && r->file == NULL && (r->file = fopen(r->path, "w")) == NULL)
        perror(r->path);
    if (r->file != NULL)
        fprintf(r->file, "%s\"%s\":%s", r->any ? "," : "{", name, json);
    r->any = true;
    printf("  %-32s %s\n", name, json);
}
static inline void report_number(struct report *r, const char *name, double value)
{
    char text[64];

    snprintf(text, sizeof text, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.6g",
             value);
    report_raw(r, name, isfinite(value) ? text : "null");
}
static inline void report_text(struct report *r, const char *name, const char *text)
{
    char quoted[512];

    snprintf(quoted, sizeof quoted, "\"%s\"", text); /* words of ours: nothing to escape */
    report_raw(r, name, quoted);
}
/* What every program says of a run: what it was, its speed and its memory. */
static inline void report_run(struct report *r, const struct workload *w, uint32_t threads,
                              double wall, double cpu)
{
    report_text(r, "workload", w->name);
    report_number(r, "keys", (double)w->keys);
    report_number(r, "rows", (double)w->rows);
    report_number(r, "threads", threads);
    report_number(r, "seconds", wall);
    report_number(r, "cpu_seconds", cpu);
    report_number(r, "events_per_s", (double)w->rows / wall);
    report_number(r, "cpu_ns_per_event", 1e9 * cpu / (double)w->rows);
    report_number(r, "peak_rss_mb", peak_rss_mb());
}
/* The second half of a run alone, when the state has most of its keys. */
struct half_way {
    uint64_t events;
    double wall, cpu;
};
static inline void half_way_now(struct half_way *h, uint64_t events)
{
    *h = (struct half_way){events, wall_s(), cpu_s()};
}
/* Called at the end. Nothing was noted: nothing is reported. */
static inline void half_way_report(struct report *r, const struct half_way *h,
                                   const struct workload *w)
{
    double events = (double)w->rows - (double)h->events;

    if (h->events == 0 || events <= 0)
        return;
    report_number(r, "late_events_per_s", events / (wall_s() - h->wall));
    report_number(r, "late_cpu_ns_per_event", 1e9 * (cpu_s() - h->cpu) / events);
}
/* The last call. w: the checksum is reported; NULL: there is none. The exit code: 1 when it is
 * known and another. */
static inline int report_end(struct report *r, const struct workload *w, uint64_t checksum)
{
    bool right = w == NULL || w->checksum == 0 || checksum == w->checksum;
    char text[32];

    snprintf(text, sizeof text, "%016" PRIx64, checksum);
    if (w != NULL)
        report_text(r, "checksum", text);
    if (r->file != NULL) {
        fprintf(r->file, "}\n");
        if (fclose(r->file) != 0)
            perror(r->path);
    }
    if (!right)
        fprintf(stderr, "the checksum is %s instead of %016" PRIx64 "\n", text, w->checksum);
    return right ? 0 : 1;
}

#endif
