/* toy_job.c - see toy_job.h */
#include "tests/lib/toy_job.h"

#include "job/operator/operators.h"
#include "job/row_key.h"

#define BATCH_ROWS 64u

void toy_board_init(struct toy_board *b)
{
    memset(b, 0, sizeof *b);
    mutex_init(&b->mutex);
    atomic_store(&b->rows_per_lane, UINT64_MAX);
    atomic_store(&b->fail_rc, RC_IO);
}

void toy_board_release(struct toy_board *b)
{
    while (b->committed != NULL) {
        struct toy_transaction *t = b->committed;

        b->committed = t->next;
        mem_free(t);
    }
    toy_target_release(b);
    mutex_release(&b->mutex);
}

struct toy_totals toy_board_totals(struct toy_board *b)
{
    struct toy_totals sum = {0};

    mutex_lock(&b->mutex);
    for (struct toy_transaction *t = b->committed; t != NULL; t = t->next) {
        sum.rows += t->rows;
        sum.sum += t->sum;
        sum.final_count += t->final_count;
        sum.final_sum += t->final_sum;
    }
    mutex_unlock(&b->mutex);
    return sum;
}

struct toy_totals toy_expected(uint64_t n)
{
    struct toy_totals t = {.rows = n * TOY_LANES, .sum = TOY_LANES * (n * (n - 1) / 2)};

    t.final_count = t.rows;
    t.final_sum = t.sum;
    return t;
}

/* Committing the same transaction again changes nothing (C7). */
void toy_board_commit(struct toy_board *b, const struct toy_transaction *t)
{
    struct toy_transaction *c;

    mutex_lock(&b->mutex);
    for (c = b->committed; c != NULL && c->id != t->id; c = c->next)
        ;
    if (c == NULL) {
        c = mem_alloc(sizeof *c);
        *c = *t;
        c->next = b->committed;
        b->committed = c;
    }
    mutex_unlock(&b->mutex);
}

static struct schema_field fields[] = {{"k", {TYPE_BIGINT, true, 0, 0, 0}},
                                       {"v", {TYPE_BIGINT, true, 0, 0, 0}}};
static struct schema schema = {2, fields, -1};

struct toy_spec {
    struct toy_board *board;
    uint32_t keys;
};

/* ---- source -----------------------------------------------------------------------------------
 */

struct toy_source {
    struct operator op;
    const struct toy_spec *spec;
    const struct operator_context *ctx;
    uint64_t next[TOY_LANES]; /* of its own lanes */
    uint32_t lane;
    struct batch_builder *rows;
    int64_t pause_until_ns;
};

static enum rc source_open(struct operator* op, const struct operator_context *ctx, struct err *err)
{
    struct toy_source *s = (struct toy_source *)op;
    const struct bytes *items;
    size_t n;

    (void)err;
    s->ctx = ctx;
    atomic_fetch_add(&s->spec->board->open_operators, 1);
    n = ctx->restored ? operator_state_restored(ctx->state, "lanes", &items) : 0;
    for (size_t i = 0; i < n; i++) {
        ASSERT(items[i].len == 12);
        s->next[get_le32(items[i].data)] = get_le64(items[i].data + 4);
    }
    return RC_OK;
}

static enum rc source_poll(struct operator* op, struct output *out, enum source_poll *what,
                           int64_t *retry, struct err *err)
{
    struct toy_source *s = (struct toy_source *)op;
    struct toy_board *b = s->spec->board;
    uint64_t limit = atomic_load(&b->rows_per_lane);
    int64_t now = clock_mono_ns(s->ctx->env->clock);

    if (now < s->pause_until_ns) {
        *what = SOURCE_IDLE;
        *retry = s->pause_until_ns;
        return RC_OK;
    }
    if (atomic_load(&b->fail_batches) > 0 && atomic_fetch_sub(&b->fail_batches, 1) == 1)
        return err_set(err, atomic_load(&b->fail_rc), "toy source fails as asked");
    for (uint32_t tries = 0; tries < TOY_LANES; tries++) {
        uint32_t lane = s->lane;

        s->lane = (s->lane + 1) % TOY_LANES;
        if (lane % s->ctx->parallelism != s->ctx->subtask_index || s->next[lane] >= limit)
            continue;
        batch_builder_clear(s->rows);
        for (uint32_t i = 0; i < BATCH_ROWS && s->next[lane] < limit; i++) {
            batch_append_int(s->rows, 0, (int64_t)(s->next[lane] % s->spec->keys));
            batch_append_int(s->rows, 1, (int64_t)s->next[lane]++);
            batch_row_end(s->rows, ROW_INSERT);
        }
        atomic_fetch_add(&b->emitted_rows, batch_builder_rows(s->rows));
        s->pause_until_ns = now + atomic_load(&b->pause_ns);
        *what = SOURCE_ROWS;
        return out->batch(out, batch_builder_view(s->rows), err);
    }
    *what = SOURCE_END;
    return RC_OK;
}

static enum rc source_drain(struct operator* op, struct output *out, struct err *err)
{
    (void)op;
    return out->watermark(out, WATERMARK_MAX, err);
}

static enum rc source_snapshot(struct operator* op, const struct barrier *barrier, struct err *err)
{
    struct toy_source *s = (struct toy_source *)op;
    uint8_t data[TOY_LANES][12];
    struct bytes items[TOY_LANES];
    size_t n = 0;

    (void)barrier;
    (void)err;
    for (uint32_t lane = 0; lane < TOY_LANES; lane++) {
        if (lane % s->ctx->parallelism != s->ctx->subtask_index)
            continue;
        put_le32(data[n], lane);
        put_le64(data[n] + 4, s->next[lane]);
        items[n] = bytes_of(data[n], 12);
        n++;
    }
    operator_state_set(s->ctx->state, "lanes", LIST_UNION, items, n);
    return RC_OK;
}

static void source_close(struct operator* op, bool clean)
{
    struct toy_source *s = (struct toy_source *)op;

    (void)clean;
    if (s->ctx != NULL)
        atomic_fetch_sub(&s->spec->board->open_operators, 1);
    batch_builder_free(s->rows);
    mem_free(s);
}

static const struct source_operator_ops source_ops = {
    .op = {.kind = "toy source",
           .open = source_open,
           .snapshot = source_snapshot,
           .close = source_close},
    .poll = source_poll,
    .drain_event_time = source_drain,
};
static struct operator* make_source(const void *spec)
{
    struct toy_source *s = mem_calloc(1, sizeof *s);

    s->op.ops = &source_ops.op;
    s->spec = spec;
    s->rows = batch_builder_new(&schema);
    return &s->op;
}

/* ---- keyed sum --------------------------------------------------------------------------------
 */

static const struct state_desc sum_state = {
    .name = "sum",
    .kind = STATE_VALUE,
    .key_type = "ROW<`k` BIGINT>",
    .namespace_type = "VOID",
    .user_key_type = "",
    .value_type = "ROW<`count` BIGINT, `sum` BIGINT>",
    .fixed_value_bytes = 16,
    .operand_operator = "",
};
struct toy_sum {
    struct operator op;
    const struct toy_spec *spec;
    const struct operator_context *ctx;
    struct keyed_state *state;
    struct row_key *key;
    struct batch_builder *rows;
    bool ended, given;
    uint8_t given_groups[128]; /* whose results have been given out: union state, so that a restore
                                  repeats none */
};

static enum rc sum_open(struct operator* op, const struct operator_context *ctx, struct err *err)
{
    static const uint32_t keys[] = {0};
    struct toy_sum *s = (struct toy_sum *)op;

    s->ctx = ctx;
    atomic_fetch_add(&s->spec->board->open_operators, 1);
    if (atomic_load(&s->spec->board->fail_opens) > 0 &&
        atomic_fetch_sub(&s->spec->board->fail_opens, 1) > 0)
        return err_set(err, atomic_load(&s->spec->board->fail_rc),
                       "toy sum does not open, as asked");
    s->key = row_key_new(&schema, 1, keys, ctx->key_group_count, KEY_NS_VOID);
    {
        const struct bytes *items;
        size_t n = ctx->restored ? operator_state_restored(ctx->state, "given", &items) : 0;

        for (size_t i = 0; i < n; i++)
            s->given_groups[items[i].data[0]] = 1;
    }
    return keyed_state_open(ctx->keyed, &sum_state, &s->state, err);
}

static enum rc sum_process(struct operator* op, struct batch *b, struct output *out,
                           struct err *err)
{
    struct toy_sum *s = (struct toy_sum *)op;
    struct key_batch keys;
    void *rows[BATCH_ROWS_MAX];
    uint8_t fresh[BATCH_ROWS_MAX];

    ASSERT(!s->ended);
    RETURN_IF_ERR(row_key_keys(s->key, b, NULL, 0, b->rows, NULL, &keys, err));
    RETURN_IF_ERR(keyed_upsert(s->state, &keys, rows, fresh, err));
    for (uint32_t i = 0; i < b->rows; i++) {
        uint64_t *acc = rows[i];

        acc[0]++;
        acc[1] += ((uint64_t *)b->columns[1].values)[i];
    }
    return out->batch(out, b, err);
}

static enum rc sum_end_input(struct operator* op, struct output *out, struct err *err)
{
    struct toy_sum *s = (struct toy_sum *)op;

    (void)out;
    (void)err;
    s->ended = true;
    return RC_OK;
}

/* The state of all keys as one row (-count, sum). */
static enum rc sum_drain(struct operator* op, struct output *out, bool *more, struct err *err)
{
    struct toy_sum *s = (struct toy_sum *)op;
    struct keyed_cursor *cursor;
    struct bytes keys[100], values[100];
    uint64_t count = 0, sum = 0;
    uint32_t got;

    *more = false;
    if (!s->ended || s->given)
        return RC_OK;
    s->given = true;
    RETURN_IF_ERR(keyed_scan_open(s->state, bytes_of(NULL, 0), &cursor, err));
    do {
        RETURN_IF_ERR(keyed_scan_next(cursor, 100, keys, values, &got, err));
        for (uint32_t i = 0; i < got; i++) {
            uint64_t acc[2];

            ASSERT(values[i].len == 16);
            if (s->given_groups[keys[i].data[0]])
                continue;
            memcpy(acc, values[i].data, 16);
            count += acc[0];
            sum += acc[1];
        }
    } while (got > 0);
    keyed_scan_close(cursor);
    for (uint32_t g = 0; g < 128; g++)
        s->given_groups[g] |= keygroup_owner(g, s->ctx->parallelism, 128) == s->ctx->subtask_index;
    batch_builder_clear(s->rows);
    batch_append_int(s->rows, 0, -(int64_t)count);
    batch_append_int(s->rows, 1, (int64_t)sum);
    batch_row_end(s->rows, ROW_INSERT);
    return count == 0 ? RC_OK : out->batch(out, batch_builder_view(s->rows), err);
}

static enum rc sum_snapshot(struct operator* op, const struct barrier *barrier, struct err *err)
{
    struct toy_sum *s = (struct toy_sum *)op;
    uint8_t groups[128];
    struct bytes items[128];
    size_t n = 0;

    (void)barrier;
    if (atomic_load(&s->spec->board->fail_snapshots) > 0 &&
        atomic_fetch_sub(&s->spec->board->fail_snapshots, 1) > 0)
        return err_set(err, RC_IO, "toy sum does not snapshot, as asked");
    for (uint32_t g = 0; g < 128; g++) {
        groups[g] = (uint8_t)g;
        if (s->given_groups[g])
            items[n++] = bytes_of(&groups[g], 1);
    }
    operator_state_set(s->ctx->state, "given", LIST_UNION, items, n);
    return RC_OK;
}

static void sum_close(struct operator* op, bool clean)
{
    struct toy_sum *s = (struct toy_sum *)op;

    (void)clean;
    if (s->ctx != NULL)
        atomic_fetch_sub(&s->spec->board->open_operators, 1);
    row_key_free(s->key);
    batch_builder_free(s->rows);
    mem_free(s);
}

static const struct operator_ops sum_ops = {
    .kind = "toy sum",
    .open = sum_open,
    .process = sum_process,
    .drain = sum_drain,
    .end_input = sum_end_input,
    .snapshot = sum_snapshot,
    .close = sum_close,
};
static struct operator* make_sum(const void *spec)
{
    struct toy_sum *s = mem_calloc(1, sizeof *s);

    s->op.ops = &sum_ops;
    s->spec = spec;
    s->rows = batch_builder_new(&schema);
    return &s->op;
}

/* ---- sink -------------------------------------------------------------------------------------
 */

struct toy_sink {
    struct operator op;
    const struct toy_spec *spec;
    const struct operator_context *ctx;
    struct toy_transaction open;      /* rows since the last barrier */
    struct toy_transaction *prepared; /* not yet committed */
    uint64_t prepared_for[256];       /* checkpoint of each, newest first */
    uint32_t prepared_count;
    bool checkpointing, ended;
};

static void encode(const struct toy_transaction *t, uint8_t out[40])
{
    put_le64(out, t->id);
    put_le64(out + 8, t->rows);
    put_le64(out + 16, t->sum);
    put_le64(out + 24, t->final_count);
    put_le64(out + 32, t->final_sum);
}

static enum rc sink_open(struct operator* op, const struct operator_context *ctx, struct err *err)
{
    struct toy_sink *s = (struct toy_sink *)op;
    const struct bytes *items;
    size_t n;

    (void)err;
    s->ctx = ctx;
    s->checkpointing = config_has(ctx->config, OPT_CP_INTERVAL);
    atomic_fetch_add(&s->spec->board->open_operators, 1);
    n = ctx->restored ? operator_state_restored(ctx->state, "transactions", &items) : 0;
    for (size_t i = 0; i < n; i++) { /* of a complete checkpoint */
        struct toy_transaction t = {get_le64(items[i].data),      get_le64(items[i].data + 8),
                                    get_le64(items[i].data + 16), get_le64(items[i].data + 24),
                                    get_le64(items[i].data + 32), NULL};

        toy_board_commit(s->spec->board, &t);
    }
    return RC_OK;
}

static enum rc sink_process(struct operator* op, struct batch *b, struct output *out,
                            struct err *err)
{
    struct toy_sink *s = (struct toy_sink *)op;

    (void)out;
    (void)err;
    for (uint32_t i = 0; i < b->rows; i++) {
        int64_t k = ((int64_t *)b->columns[0].values)[i];
        uint64_t v = ((uint64_t *)b->columns[1].values)[i];

        if (k < 0) {
            s->open.final_count += (uint64_t)-k;
            s->open.final_sum += v;
        } else {
            s->open.rows++;
            s->open.sum += v;
        }
    }
    return RC_OK;
}

static void prepare(struct toy_sink *s, uint64_t checkpoint_id)
{
    struct toy_transaction *t = mem_alloc(sizeof *t);

    ASSERT(s->prepared_count < ARRAY_LEN(s->prepared_for));
    *t = s->open;
    t->id = 1 + atomic_fetch_add(&s->spec->board->next_transaction, 1);
    t->next = s->prepared;
    s->prepared = t;
    memmove(s->prepared_for + 1, s->prepared_for, s->prepared_count * sizeof s->prepared_for[0]);
    s->prepared_for[0] = checkpoint_id;
    s->prepared_count++;
    s->open = (struct toy_transaction){0};
}

static enum rc sink_snapshot(struct operator* op, const struct barrier *barrier, struct err *err)
{
    struct toy_sink *s = (struct toy_sink *)op;
    uint8_t data[256][40];
    struct bytes items[256];
    size_t n = 0;

    (void)err;
    prepare(s, barrier->checkpoint_id);
    for (struct toy_transaction *t = s->prepared; t != NULL; t = t->next) {
        encode(t, data[n]);
        items[n] = bytes_of(data[n], 40);
        n++;
    }
    operator_state_set(s->ctx->state, "transactions", LIST_SPLIT, items, n);
    return RC_OK;
}

static enum rc sink_complete(struct operator* op, uint64_t checkpoint_id, struct err *err)
{
    struct toy_sink *s = (struct toy_sink *)op;
    struct toy_transaction **at = &s->prepared;
    struct toy_board *b = s->spec->board;
    uint32_t i = 0;

    (void)err;
    if (!s->ended && atomic_load(&b->drop_completes) > 0 &&
        atomic_fetch_sub(&b->drop_completes, 1) > 0)
        return RC_OK;
    while (i < s->prepared_count && s->prepared_for[i] > checkpoint_id) {
        at = &(*at)->next;
        i++;
    }
    s->prepared_count = i;
    while (*at != NULL) {
        struct toy_transaction *t = *at;

        *at = t->next;
        toy_board_commit(b, t);
        mem_free(t);
    }
    return RC_OK;
}

static enum rc sink_end_input(struct operator* op, struct output *out, struct err *err)
{
    struct toy_sink *s = (struct toy_sink *)op;

    (void)out;
    s->ended = true;
    if (s->checkpointing)
        return RC_OK;
    prepare(s, 0);
    return sink_complete(op, UINT64_MAX, err);
}

static void sink_close(struct operator* op, bool clean)
{
    struct toy_sink *s = (struct toy_sink *)op;

    (void)clean;
    if (s->ctx != NULL)
        atomic_fetch_sub(&s->spec->board->open_operators, 1);
    while (s->prepared != NULL) {
        struct toy_transaction *t = s->prepared;

        s->prepared = t->next;
        mem_free(t);
    }
    mem_free(s);
}

static const struct operator_ops sink_ops = {
    .kind = "toy sink",
    .open = sink_open,
    .process = sink_process,
    .end_input = sink_end_input,
    .snapshot = sink_snapshot,
    .notify_complete = sink_complete,
    .close = sink_close,
};
static struct operator* make_sink(const void *spec)
{
    struct toy_sink *s = mem_calloc(1, sizeof *s);

    s->op.ops = &sink_ops;
    s->spec = spec;
    return &s->op;
}

static struct operator* make_ahead(const void *spec)
{
    return sink_op_new(spec);
}

/* ---- graph ------------------------------------------------------------------------------------
 */

struct graph *toy_graph(struct toy_board *b, uint32_t source_parallelism, uint32_t sum_parallelism,
                        uint32_t keys)
{
    static const char *const names[] = {"Source: toy", "Sum[k]", "Sink: toy"};
    static struct operator* (*const makes[])(const void *) = {make_source, make_sum, make_sink};
    static const uint32_t key_columns[] = {0};
    struct arena *a = arena_new(0);
    struct graph *g = ARENA_NEW(a, struct graph);
    struct toy_spec *spec = ARENA_NEW(a, struct toy_spec);

    *spec = (struct toy_spec){b, keys};
    *g = (struct graph){
        .arena = a,
        .job_name = "toy",
        .sql = "-- toy",
        .key_group_count = 128,
        .vertex_count = 3,
        .edge_count = 2,
        .vertices = ARENA_ARRAY(a, 3, struct graph_vertex),
        .edges = ARENA_ARRAY(a, 2, struct graph_edge),
    };
    for (uint32_t i = 0; i < 3; i++) {
        struct operator_spec *op = ARENA_NEW(a, struct operator_spec);

        *op = (struct operator_spec){
            .uid = "",
            .name = names[i],
            .description = names[i],
            .stateful = true,
            .keyed = i == 1,
            .is_source = i == 0,
            .make = makes[i],
            .spec = spec,
            .state_count = i == 1,
            .states = i == 1 ? &sum_state : NULL,
        };
        operator_id_of(names[i], op->id);
        g->vertices[i] =
            (struct graph_vertex){.name = names[i],
                                  .parallelism = i == 0 ? source_parallelism : sum_parallelism,
                                  .operator_count = 1,
                                  .operators = op};
        memcpy(g->vertices[i].id, op->id, sizeof op->id);
    }
    if (b->writes_ahead) {
        struct operator_spec *op = (struct operator_spec *)(uintptr_t)g->vertices[2].operators;

        op->make = make_ahead;
        op->spec = toy_target_sink(b, &schema, a);
    }
    g->edges[0] = (struct graph_edge){0, 1, PARTITION_HASH, 1, key_columns, &schema};
    g->edges[1] = (struct graph_edge){1, 2, PARTITION_FORWARD, 0, NULL, &schema};
    return g;
}
