/* source.h - contract of a source: poll rows, tell position, seek.
 *
 * A source's position is its state: a few opaque items per subtask. On restore every subtask gets the items of all old subtasks
 * (union) and takes its share by a rule that needs no coordinator, so parallelism may change. Thread: the task's.
 */
#ifndef VARVE_JOB_SOURCE_SOURCE_H
#define VARVE_JOB_SOURCE_SOURCE_H

#include "base/env.h"
#include "base/thread.h"
#include "job/batch.h"

struct source_context {
    const struct env *env;
    uint32_t subtask_index, parallelism;
    const char *table_name;
    const struct schema *schema;
    size_t restored_count; /* with `restored` true: positions of all old subtasks */
    const struct bytes *restored_items;
    bool restored;
    _Atomic uint64_t *bad_rows, *null_fields, *bytes_in; /* counters to add to */
};
enum source_result { SOURCE_GOT_ROWS, SOURCE_NOTHING_NOW, SOURCE_ENDED };

#define SOURCE_POSITIONS_LIST "source-positions" /* the list state that keeps them */

struct source; /* first member is its ops */
struct source_ops {
    enum rc (*open)(struct source *, const struct source_context *, struct err *);
    /* Appends up to max_rows to out (empty on entry). SOURCE_NOTHING_NOW: ask again after *retry_ns nanoseconds.
     * SOURCE_ENDED may come together with last rows never: it is told by a call that adds none. */
    enum rc (*poll)(struct source *, struct batch_builder *out, uint32_t max_rows, enum source_result *,
                    int64_t *retry_ns, struct err *);
    /* Position after the last row polled; items in `arena`. */
    enum rc (*position)(struct source *, struct arena *arena, struct bytes **items, size_t *count,
                        struct err *);
    void (*close)(struct source *);
    bool (*bounded)(const struct source *);
    /* Whether it still works through what lay there when it began (from open on), so that results of now are not to be had
     * yet; once false it stays so. NULL: never. After: SplitEnumeratorContext.setIsProcessingBacklog. */
    bool (*backlog)(const struct source *);
};
struct source {
    const struct source_ops *ops;
};

/* "datagen" with Flink's options. */
struct datagen_field {
    enum { DATAGEN_RANDOM, DATAGEN_SEQUENCE } kind;
    bool has_min, has_max;
    int64_t start, end;   /* sequence, inclusive */
    double min_real, max_real;
    int64_t min, max;     /* random integers */
    int64_t max_past_ms;  /* random timestamps */
    uint32_t length;      /* random text */
    double null_rate;
};
struct datagen_config {
    const struct schema *schema;
    struct datagen_field *fields; /* one a column */
    int64_t number_of_rows;       /* -1: for ever, unless a sequence ends */
    uint64_t seed;                /* random kinds are a function of seed and row number: the same after a restore */
};
struct source *datagen_source_new(const struct datagen_config *config);
/* A split: the rows next, next + step, .. are still to come. false: it is none. */
MUST_USE bool datagen_position_parse(struct bytes item, uint64_t *next, uint64_t *step);

/* "filesystem". Which subtask reads a file is settled without a coordinator: dealt out in the order of their names from one common
 * listing, or, without `listing`, by a hash of the path. A file found later (watched) goes by the hash. Positions of a
 * restore are dealt out anew. */
struct format;
struct format_options;
/* The first listing, taken once for all subtasks of a source, so that a file that comes or goes meanwhile is read once or not at all.
 * Lies in the graph's arena; the subtasks use it under its lock and leave it empty. */
struct file_listing {
    struct mutex lock;
    uint32_t users;      /* sources made and not closed */
    struct arena *arena; /* NULL: not listed */
    size_t count;
    const char **paths; /* below the root, sorted */
};
void file_listing_init(struct file_listing *l);
struct file_source_config {
    const struct schema *schema;
    const char *path; /* file or directory; sub-folders are read; names that start with . or _ are skipped */
    const struct format *format;
    const struct format_options *format_options;
    int64_t monitor_interval_ms; /* 0: bounded */
    struct file_listing *listing; /* NULL: every subtask lists for itself and shares by hash */
};
struct source *file_source_new(const struct file_source_config *config);

/* "values": rows of a VALUES clause, for INSERT INTO t VALUES. */
struct values_config {
    const struct schema *schema;
    struct batch *rows; /* borrowed */
};
struct source *values_source_new(const struct values_config *config);
MUST_USE bool values_position_parse(struct bytes item, uint64_t *rows_emitted);

#endif
