/* bench_csv.c - MB a CPU second of the CSV decoder on lines like those of flights.csv, beside
 * memchr that only counts the lines: what memory and one pass over the bytes allow.
 *
 *     bench_csv [MB of text, default 64] [rounds, default 5] */
#include "base/rng.h"
#include "job/format/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,
 * distance,hour,minute,time_hour */
static const char kinds[] = "iiiiiiiiisisssiiiis";

static void make_text(struct buf *out, size_t size)
{
    static const char *const ports[] = {"EWR", "JFK", "LGA", "ORD", "ATL", "LAX", "MIA", "BOS"};
    struct rng r;

    rng_seed(&r, 1);
    while (out->len < size) {
        unsigned day = (unsigned)rng_below(&r, 28) + 1, month = (unsigned)rng_below(&r, 12) + 1,
                 hour = (unsigned)rng_below(&r, 24);

        if (rng_below(&r, 40) == 0)
            buf_printf(out,
                       "2013,%u,%u,NA,%u30,NA,NA,%u45,NA,UA,%u,N%05u,%s,%s,NA,%u,%u,30,2013-%02u-%"
                       "02u %02u:00:00\n",
                       month, day, hour, hour, (unsigned)rng_below(&r, 6000),
                       (unsigned)rng_below(&r, 90000), ports[rng_below(&r, 3)],
                       ports[rng_below(&r, 8)], (unsigned)rng_below(&r, 4000), hour, month, day,
                       hour);
        else
            buf_printf(out,
                       "2013,%u,%u,%u17,%u30,%d,%u50,%u45,%d,UA,%u,N%05u,%s,%s,%u,%u,%u,30,2013-%"
                       "02u-%02u %02u:00:00\n",
                       month, day, hour, hour, (int)rng_below(&r, 60) - 10, hour, hour,
                       (int)rng_below(&r, 60) - 20, (unsigned)rng_below(&r, 6000),
                       (unsigned)rng_below(&r, 90000), ports[rng_below(&r, 3)],
                       ports[rng_below(&r, 8)], (unsigned)rng_below(&r, 600),
                       (unsigned)rng_below(&r, 4000), hour, month, day, hour);
    }
}

static void make_schema(struct schema *s, struct schema_field *fields, const char *letters)
{
    static const char *const names[] = {"year",           "month",     "day",      "dep_time",
                                        "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time",
                                        "arr_delay",      "carrier",   "flight",   "tailnum",
                                        "origin",         "dest",      "air_time", "distance",
                                        "hour",           "minute",    "time_hour"};

    *s = (struct schema){(uint32_t)strlen(letters), fields, -1};
    for (uint32_t i = 0; i < s->field_count; i++)
        fields[i] =
            (struct schema_field){names[i], type_of(letters[i] == 's' ? TYPE_VARCHAR : TYPE_INT)};
}

static uint64_t decode(const struct format *format, const struct schema *schema,
                       const struct format_options *options, struct bytes text)
{
    struct decoder *d = format->decoder_new(schema, options);
    struct batch_builder *out = batch_builder_new(schema);
    struct err err = {0};
    uint64_t rows = 0;

    for (size_t at = 0, used; at < text.len; at += used) {
        size_t left = text.len - at, piece = left < (256u << 10) ? left : 256u << 10;

        if (d->ops->decode(d, bytes_of(text.data + at, piece), piece == left, out, &used, &err) !=
            RC_OK) {
            fprintf(stderr, "bench_csv: %s\n", err.msg);
            exit(EXIT_FAILURE);
        }
        rows += batch_builder_rows(out);
        batch_builder_clear(out);
    }
    d->ops->free(d);
    batch_builder_free(out);
    return rows;
}

static uint64_t count_lines(struct bytes text)
{
    uint64_t lines = 0;

    for (const uint8_t *p = text.data, *end = p + text.len; p < end; lines++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p == NULL ? end : p + 1;
    }
    return lines;
}

static void report(const char *what, struct bytes text, uint64_t rows, int64_t best_ns)
{
    printf("%-34s %8.0f MB/s %8.0f ns/row %10llu rows\n", what,
           (double)text.len * 1e3 / (double)best_ns, (double)best_ns / (double)rows,
           (unsigned long long)rows);
}

/* CPU time: other programs may run beside. */
#define BEST(rounds, best_ns, call)                                                                \
    for (int round_ = 0; round_ < (rounds); round_++) {                                            \
        clock_t from_ = clock();                                                                   \
        int64_t took_ns_;                                                                          \
                                                                                                   \
        call;                                                                                      \
        took_ns_ = (int64_t)((double)(clock() - from_) * 1e9 / CLOCKS_PER_SEC);                    \
        (best_ns) = round_ == 0 || took_ns_ < (best_ns) ? took_ns_ : (best_ns);                    \
    }

int main(int argc, char **argv)
{
    size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) << 20;
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    struct format_options options = {
        .field_delimiter = ',', .quote_character = '"', .null_literal = "NA"};
    struct schema_field fields[32];
    struct schema schema;
    struct buf text = {0}, json = {0};
    struct batch_builder *some;
    struct decoder *d;
    struct encoder *e;
    struct err err = {0};
    uint64_t rows = 0;
    int64_t best = 0;
    size_t used;

    make_text(&text, size);
    BEST(rounds, best, rows = count_lines(buf_bytes(&text)));
    report("memchr, lines counted", buf_bytes(&text), rows, best);
    make_schema(&schema, fields, "sssssssssssssssssss");
    BEST(rounds, best, rows = decode(&csv_format, &schema, &options, buf_bytes(&text)));
    report("csv, 19 STRING columns", buf_bytes(&text), rows, best);
    make_schema(&schema, fields, kinds);
    BEST(rounds, best, rows = decode(&csv_format, &schema, &options, buf_bytes(&text)));
    report("csv, 14 INT and 5 STRING columns", buf_bytes(&text), rows, best);

    /* The same rows as JSON and back. */
    some = batch_builder_new(&schema);
    d = csv_format.decoder_new(&schema, &options);
    e = json_format.encoder_new(&schema, &options, NULL);
    while (json.len < size / 2 && batch_builder_rows(some) == 0) {
        size_t piece = text.len < (256u << 10) ? text.len : 256u << 10;

        if (d->ops->decode(d, bytes_of(text.data, piece), false, some, &used, &err) != RC_OK)
            return EXIT_FAILURE;
        best = 0;
        BEST(1, best,
             while (json.len < size / 2) if (e->ops->encode(e, batch_builder_view(some), NULL,
                                                            batch_builder_rows(some), &json, NULL,
                                                            &err) != RC_OK) return EXIT_FAILURE);
    }
    rows = count_lines(buf_bytes(&json));
    report("json, written", buf_bytes(&json), rows, best);
    BEST(rounds, best, rows = decode(&json_format, &schema, &options, buf_bytes(&json)));
    report("json, read", buf_bytes(&json), rows, best);
    d->ops->free(d);
    e->ops->free(e);
    batch_builder_free(some);
    buf_release(&text);
    buf_release(&json);
    return EXIT_SUCCESS;
}
