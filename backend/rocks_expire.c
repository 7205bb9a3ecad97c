#include "backend/rocks_expire.h"

#include "base/arena.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>

struct known_file {
    uint64_t number;
    int64_t since_ms;
    bool live; /* seen in this look */
};
struct key_span {
    struct rocks_cf *cf;
    struct buf first, last;
};
struct rocks_expire {
    const struct env *env;
    struct rocks_db *db;
    struct known_file *files; /* by number */
    size_t file_count, old_count, cap;
    int64_t now_ms;
    uint64_t ttl_ms;     /* of the family being looked at */
    struct rocks_cf *cf; /* that family */
    struct key_span *spans;
    size_t span_count, span_cap;
    struct thread *thread; /* compacts the spans; they are its own until it has ended */
    atomic_bool busy;
};

struct rocks_expire *rocks_expire_new(const struct env *env, struct rocks_db *db)
{
    struct rocks_expire *e = mem_calloc(1, sizeof *e);

    e->env = env;
    e->db = db;
    return e;
}

static void clear_spans(struct rocks_expire *e)
{
    for (size_t i = 0; i < e->span_count; i++) {
        buf_release(&e->spans[i].first);
        buf_release(&e->spans[i].last);
    }
    e->span_count = 0;
}

/* Waits until no compaction runs. */
static void join(struct rocks_expire *e)
{
    if (e->thread == NULL)
        return;
    thread_join(e->thread);
    e->thread = NULL;
    clear_spans(e);
}

void rocks_expire_free(struct rocks_expire *e)
{
    if (e == NULL)
        return;
    if (e->thread != NULL)
        rocks_stop_compact_range(e->db);
    join(e);
    clear_spans(e);
    mem_free(e->spans);
    mem_free(e->files);
    mem_free(e);
}

/* ---- a look at the files --------------------------------------------------------------------- */

void rocks_expire_begin(struct rocks_expire *e, int64_t now_ms)
{
    if (e->thread != NULL && !atomic_load_explicit(&e->busy, memory_order_acquire))
        join(e);
    e->now_ms = now_ms;
    e->old_count = e->file_count;
    for (size_t i = 0; i < e->file_count; i++)
        e->files[i].live = false;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct known_file *)a)->number, y = ((const struct known_file *)b)->number;

    return x < y ? -1 : x > y;
}

static struct known_file *file_of(struct rocks_expire *e, uint64_t number)
{
    struct known_file key = {.number = number};
    struct known_file *f = NULL;

    if (e->old_count > 0)
        f = bsearch(&key, e->files, e->old_count, sizeof *e->files, by_number);
    if (f != NULL)
        return f;
    if (e->file_count == e->cap) {
        e->cap = e->cap == 0 ? 64 : 2 * e->cap;
        e->files = mem_realloc(e->files, e->cap * sizeof *e->files);
    }
    f = &e->files[e->file_count++];
    *f = (struct known_file){.number = number, .since_ms = INT64_MAX}; /* _end says */
    return f;
}

static void add_span(struct rocks_expire *e, struct bytes first, struct bytes last)
{
    if (e->span_count == e->span_cap) {
        e->span_cap = e->span_cap == 0 ? 16 : 2 * e->span_cap;
        e->spans = mem_realloc(e->spans, e->span_cap * sizeof *e->spans);
    }
    e->spans[e->span_count] = (struct key_span){.cf = e->cf};
    buf_append(&e->spans[e->span_count].first, first.data, first.len);
    buf_append(&e->spans[e->span_count].last, last.data, last.len);
    e->span_count++;
}

static enum rc look_at(void *ctx, const struct rocks_file *file, struct err *err)
{
    struct rocks_expire *e = ctx;
    struct known_file *f = file_of(e, strtoull(file->name, NULL, 10)); /* "000023.sst" */
    int64_t end;

    (void)err;
    f->live = true;
    if (!__builtin_add_overflow(f->since_ms, (int64_t)e->ttl_ms, &end) && end <= e->now_ms &&
        e->thread == NULL)
        add_span(e, file->first, file->last);
    return RC_OK;
}

enum rc rocks_expire_look(struct rocks_expire *e, struct rocks_cf *cf, uint64_t ttl_ms,
                          struct err *err)
{
    e->cf = cf;
    e->ttl_ms = ttl_ms;
    return rocks_cf_files(cf, look_at, e, err);
}

/* ---- compacting ------------------------------------------------------------------------------ */

static int by_family_and_key(const void *a, const void *b)
{
    const struct key_span *x = a, *y = b;

    if (x->cf != y->cf)
        return strcmp(rocks_cf_name(x->cf), rocks_cf_name(y->cf));
    return bytes_cmp(buf_bytes(&x->first), buf_bytes(&y->first));
}

/* Spans of one family that overlap become one: nothing is compacted twice. */
static void join_spans(struct rocks_expire *e)
{
    size_t kept = 0;

    qsort(e->spans, e->span_count, sizeof *e->spans, by_family_and_key);
    for (size_t i = 1; i < e->span_count; i++) {
        struct key_span *to = &e->spans[kept], *s = &e->spans[i];

        if (s->cf != to->cf || bytes_cmp(buf_bytes(&s->first), buf_bytes(&to->last)) > 0) {
            e->spans[++kept] = *s;
            continue;
        }
        if (bytes_cmp(buf_bytes(&s->last), buf_bytes(&to->last)) > 0) {
            buf_clear(&to->last);
            buf_append(&to->last, s->last.data, s->last.len);
        }
        buf_release(&s->first);
        buf_release(&s->last);
    }
    e->span_count = kept + 1;
}

static void compact_spans(void *arg)
{
    struct rocks_expire *e = arg;
    struct err err = {0};
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < e->span_count; i++)
        rc = rocks_compact_range(e->spans[i].cf, buf_bytes(&e->spans[i].first),
                                 buf_bytes(&e->spans[i].last), &err);
    /* The next look tries again; a database whose background has given up fails at its next write. */
    if (rc != RC_OK && rc != RC_CANCELLED)
        log_line(e->env->log, LOG_WARN, "expired rows not compacted error=\"%s\"", err.msg);
    atomic_store_explicit(&e->busy, false, memory_order_release);
}

void rocks_expire_end(struct rocks_expire *e, int64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->file_count; i++) {
        struct known_file *f = &e->files[i];

        if (f->since_ms == INT64_MAX)
            f->since_ms = now_ms; /* no earlier than any time in the file */
        if (f->live)
            e->files[kept++] = *f;
    }
    e->file_count = kept;
    if (kept > 0)
        qsort(e->files, kept, sizeof *e->files, by_number);
    if (e->thread != NULL || e->span_count == 0)
        return;
    join_spans(e);
    atomic_store_explicit(&e->busy, true, memory_order_release);
    e->thread = thread_start("expire", compact_spans, e);
}
