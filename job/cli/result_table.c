/* result_table.c - see result_table.h
 *
 * Rows are kept in the batches they came in; an entry a row knows where it lies and the hash of its
 * text. Dead entries are swept out when they are the most. */
#include "job/cli/result_table.h"

#include "base/hash.h"

struct entry {
    uint64_t hash;
    uint32_t row;
    struct batch *batch; /* NULL: taken away */
    size_t next;         /* older entry of this bucket + 1; 0: none */
};
struct result_table {
    struct arena *arena;
    const struct schema *schema;
    struct batch_builder *builder;
    uint32_t max_rows;
    struct batch **batches;
    size_t batch_count, batch_cap;
    struct entry *entries; /* in the order of their coming */
    size_t entry_count, entry_cap, alive, first_alive;
    size_t *buckets; /* newest entry + 1; a power of two of them */
    size_t bucket_count;
    uint64_t dropped;
    struct buf text, other;
};

struct result_table *result_table_new(const struct schema *schema, uint32_t max_rows)
{
    struct result_table *t = mem_calloc(1, sizeof *t);

    t->arena = arena_new(4096);
    t->schema = schema_copy(t->arena, schema);
    t->builder = batch_builder_new(t->schema);
    t->max_rows = max_rows;
    t->bucket_count = 1024;
    t->buckets = mem_calloc(t->bucket_count, sizeof *t->buckets);
    return t;
}

void result_table_free(struct result_table *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->batch_count; i++)
        batch_free(t->batches[i]);
    mem_free(t->batches);
    mem_free(t->entries);
    mem_free(t->buckets);
    batch_builder_free(t->builder);
    buf_release(&t->text);
    buf_release(&t->other);
    arena_free(t->arena);
    mem_free(t);
}

/* A text that differs for rows that differ: a mark for null, else length and value. */
static void row_text(const struct batch *b, uint32_t row, struct buf *out)
{
    buf_clear(out);
    for (uint32_t c = 0; c < b->column_count; c++) {
        size_t at = out->len;

        buf_append_le32(out, 0xffffffffu);
        if (b->columns[c].type.kind == TYPE_NULL || !column_present(&b->columns[c], row))
            continue;
        column_print(&b->columns[c], row, out);
        put_le32(out->data + at, (uint32_t)(out->len - at - 4));
    }
}

static void link_entry(struct result_table *t, size_t i)
{
    size_t *bucket = &t->buckets[t->entries[i].hash & (t->bucket_count - 1)];

    t->entries[i].next = *bucket;
    *bucket = i + 1;
}

/* Sweeps dead entries out and links the rest anew. */
static void rebuild(struct result_table *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->entry_count; i++)
        if (t->entries[i].batch != NULL)
            t->entries[n++] = t->entries[i];
    t->entry_count = n;
    t->first_alive = 0;
    while (t->bucket_count < n * 2)
        t->bucket_count *= 2;
    mem_free(t->buckets);
    t->buckets = mem_calloc(t->bucket_count, sizeof *t->buckets);
    for (size_t i = 0; i < n; i++)
        link_entry(t, i);
}

static void take_away(struct result_table *t, const struct batch *b, uint32_t row)
{
    uint64_t hash;
    size_t at;

    row_text(b, row, &t->text);
    hash = hash64(buf_bytes(&t->text));
    for (at = t->buckets[hash & (t->bucket_count - 1)]; at != 0; at = t->entries[at - 1].next) {
        struct entry *e = &t->entries[at - 1];

        if (e->batch == NULL || e->hash != hash)
            continue;
        row_text(e->batch, e->row, &t->other);
        if (!bytes_eq(buf_bytes(&t->text), buf_bytes(&t->other)))
            continue;
        e->batch = NULL;
        t->alive--;
        return;
    }
}

static void drop_oldest(struct result_table *t)
{
    while (t->entries[t->first_alive].batch == NULL)
        t->first_alive++;
    t->entries[t->first_alive].batch = NULL;
    t->alive--;
    t->dropped++;
}

static void add_row(struct result_table *t, struct batch *b, uint32_t row)
{
    struct entry *e;

    if (t->entry_count == t->entry_cap) {
        t->entry_cap = t->entry_cap == 0 ? 1024 : t->entry_cap * 2;
        t->entries = mem_realloc(t->entries, t->entry_cap * sizeof *t->entries);
    }
    row_text(b, row, &t->text);
    e = &t->entries[t->entry_count++];
    *e = (struct entry){.hash = hash64(buf_bytes(&t->text)), .row = row, .batch = b};
    t->alive++;
    link_entry(t, t->entry_count - 1);
    if (t->alive > t->max_rows)
        drop_oldest(t);
}

/* Batches of which no row is left. */
static void sweep_batches(struct result_table *t)
{
    size_t n = 0, e = 0;

    rebuild(t);
    for (size_t i = 0; i < t->batch_count; i++) { /* entries come in the order of their batches */
        bool used = false;

        for (; e < t->entry_count && t->entries[e].batch == t->batches[i]; e++)
            used = true;
        if (used)
            t->batches[n++] = t->batches[i];
        else
            batch_free(t->batches[i]);
    }
    t->batch_count = n;
}

static struct batch *copy_rows(struct result_table *t, const struct batch *b, const uint32_t *idx,
                               uint32_t n)
{
    batch_gather(t->builder, b, idx, n, NULL);
    if (t->batch_count == t->batch_cap) {
        t->batch_cap = t->batch_cap == 0 ? 64 : t->batch_cap * 2;
        t->batches = mem_realloc(t->batches, t->batch_cap * sizeof *t->batches);
    }
    t->batches[t->batch_count] = batch_take(t->builder);
    return t->batches[t->batch_count++];
}

void result_table_add(struct result_table *t, const struct batch *b)
{
    uint32_t *idx = mem_alloc((b->rows + 1) * sizeof *idx), n = 0, next = 0;
    struct batch *copy = NULL;

    for (uint32_t i = 0; i < b->rows; i++)
        if (batch_kind(b, i) == ROW_INSERT || batch_kind(b, i) == ROW_UPDATE_AFTER)
            idx[n++] = i;
    if (n > 0)
        copy = copy_rows(t, b, idx, n);
    for (uint32_t i = 0; i < b->rows; i++) {
        if (next < n && idx[next] == i)
            add_row(t, copy, next++);
        else
            take_away(t, b, i);
    }
    mem_free(idx);
    if (t->entry_count > 2 * t->alive + 1024)
        sweep_batches(t);
    else if (t->entry_count > 2 * t->bucket_count)
        rebuild(t);
}

uint64_t result_table_rows(const struct result_table *t)
{
    return t->alive;
}
uint64_t result_table_dropped(const struct result_table *t)
{
    return t->dropped;
}

enum rc result_table_emit(struct result_table *t,
                          enum rc (*rows)(void *ctx, const struct batch *, struct err *), void *ctx,
                          struct err *err)
{
    uint32_t *idx = mem_alloc((BATCH_ROWS_MAX + 1) * sizeof *idx);
    enum rc rc = RC_OK;
    size_t e = 0;

    rebuild(t);
    while (rc == RC_OK && e < t->entry_count) {
        const struct batch *b = t->entries[e].batch;
        uint32_t n = 0;

        for (; e < t->entry_count && t->entries[e].batch == b && n < BATCH_ROWS_MAX; e++)
            idx[n++] = t->entries[e].row;
        batch_gather(t->builder, b, idx, n, NULL);
        {
            struct batch *all = batch_builder_view(t->builder);
            uint8_t *kinds = all->kinds;

            all->kinds = NULL; /* they are rows of a table now */
            rc = rows(ctx, all, err);
            all->kinds = kinds;
        }
        batch_builder_clear(t->builder);
    }
    mem_free(idx);
    return rc;
}
