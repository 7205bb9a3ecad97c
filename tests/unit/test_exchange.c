/* test_exchange.c - rows arrive once, at their owner, in order; a full channel keeps the rest in
 * the outbox; the gate gives barriers, event time and the end in their place. */
#include "job/row_key.h"
#include "job/runtime/input_gate.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

static struct schema_field fields[] = {{"k", {TYPE_BIGINT, true, 0, 0, 0}},
                                       {"v", {TYPE_VARCHAR, true, 0, 0, 100}}};
static struct schema schema = {2, fields, -1};
static uint32_t keys[] = {0};

struct net {
    struct graph_vertex vertices[2];
    struct graph_edge edge;
    struct graph g;
    struct exchange *x;
};
static void net_init(struct net *n, enum partitioning p, uint32_t from, uint32_t to,
                     uint32_t capacity)
{
    memset(n, 0, sizeof *n);
    n->vertices[0] = (struct graph_vertex){.name = "from", .parallelism = from};
    n->vertices[1] = (struct graph_vertex){.name = "to", .parallelism = to};
    n->edge = (struct graph_edge){0, 1, p, p == PARTITION_HASH, keys, &schema};
    n->g = (struct graph){.key_group_count = 128,
                          .vertex_count = 2,
                          .edge_count = 1,
                          .vertices = n->vertices,
                          .edges = &n->edge};
    n->x = exchange_new(&n->g, capacity);
}

static void append(struct batch_builder *b, int64_t k)
{
    char text[32];

    snprintf(text, sizeof text, "value-%lld", (long long)k);
    batch_append_int(b, 0, k);
    batch_append_bytes(b, 1, bytes_of_str(text));
    batch_row_end(b, k % 7 == 0 ? ROW_UPDATE_AFTER : ROW_INSERT);
}

/* Takes all batches that wait for subtask `to`; each row must be its own and whole. Returns the
 * rows; last[f] is the newest key seen. */
static uint32_t take_rows(struct input_gate *gate, struct row_key *rk, uint32_t to,
                          uint32_t parallelism, bool hash, uint8_t *seen)
{
    uint32_t rows = 0, groups[BATCH_ROWS_MAX];
    struct gate_item item;
    struct err err = {0};

    for (;;) {
        input_gate_next(gate, 1, &item);
        if (item.kind == GATE_NOTHING)
            return rows;
        ck_assert_int_eq(item.kind, GATE_BATCH);
        ck_assert_uint_le(item.batch->rows, BATCH_ROWS_MAX);
        ck_assert_ok(row_key_groups(rk, item.batch, groups, &err));
        for (uint32_t i = 0; i < item.batch->rows; i++) {
            int64_t k = ((int64_t *)item.batch->columns[0].values)[i];
            char text[32];

            if (hash)
                ck_assert_uint_eq(keygroup_owner(groups[i], parallelism, 128), to);
            snprintf(text, sizeof text, "value-%lld", (long long)k);
            ck_assert_bytes_str(column_bytes(&item.batch->columns[1], i), text);
            ck_assert_int_eq(batch_kind(item.batch, i), k % 7 == 0 ? ROW_UPDATE_AFTER : ROW_INSERT);
            ck_assert_uint_eq(seen[k], 0);
            seen[k] = 1;
        }
        rows += item.batch->rows;
        batch_free(item.batch);
    }
}

static const struct {
    enum partitioning p;
    uint32_t from, to, capacity;
} shapes[] = {
    {PARTITION_HASH, 1, 1, 2},   {PARTITION_HASH, 2, 3, 2},      {PARTITION_HASH, 3, 2, 1},
    {PARTITION_HASH, 1, 7, 1},   {PARTITION_REBALANCE, 2, 3, 2}, {PARTITION_FORWARD, 2, 2, 1},
    {PARTITION_GLOBAL, 3, 2, 4},
};

START_TEST(each_row_arrives_once_at_its_owner)
{
    enum { ROWS = 30000 };
    struct net n;
    struct emitter *em[4];
    struct input_gate *gate[8];
    uint32_t from = shapes[_i].from, to = shapes[_i].to, given = 0, taken = 0, per[8] = {0};
    struct batch_builder *b = batch_builder_new(&schema);
    struct row_key *rk = row_key_new(&schema, 1, keys, 128, KEY_NS_VOID);
    uint8_t *seen = calloc(ROWS, 1);
    struct rng rng;
    struct err err = {0};

    rng_seed(&rng, gen_seed(3));
    net_init(&n, shapes[_i].p, from, to, shapes[_i].capacity);
    for (uint32_t i = 0; i < from; i++)
        em[i] = emitter_new(n.x, &n.g, 0, i);
    for (uint32_t i = 0; i < to; i++)
        gate[i] = input_gate_new(n.x, &n.g, 1, i);
    while (taken < ROWS) {
        uint32_t e = (uint32_t)rng_below(&rng, from), t = (uint32_t)rng_below(&rng, to), got;

        if (given < ROWS && emitter_push_outbox(em[e])) {
            uint32_t rows = 1 + (uint32_t)rng_below(&rng, gen_chance(&rng, 10) ? 9000 : 500);

            batch_builder_clear(b);
            for (uint32_t i = 0; i < rows && given < ROWS; i++)
                append(b, given++);
            ck_assert_ok(emitter_batch(em[e], batch_builder_view(b), &err));
            emitter_flush(em[e]);
        }
        for (uint32_t i = 0; i < from && given == ROWS; i++)
            emitter_push_outbox(em[i]);
        got = take_rows(gate[t], rk, t, to, shapes[_i].p == PARTITION_HASH, seen);
        per[t] += got;
        taken += got;
    }
    for (uint32_t t = 0; t < to; t++) {
        if (shapes[_i].p == PARTITION_GLOBAL)
            ck_assert_uint_eq(per[t], t == 0 ? ROWS : 0);
        else
            ck_assert_uint_gt(per[t], 0);
    }
    for (uint32_t i = 0; i < from; i++)
        emitter_free(em[i]);
    for (uint32_t i = 0; i < to; i++)
        input_gate_free(gate[i]);
    exchange_free(n.x);
    row_key_free(rk);
    batch_builder_free(b);
    free(seen);
}
END_TEST

/* Backpressure: what does not fit waits in order, behind it everything else, and nothing is lost
 * when the exchange is torn down. */
START_TEST(a_full_channel_keeps_order_in_the_outbox)
{
    struct net n;
    struct emitter *em;
    struct input_gate *gate;
    struct batch_builder *b = batch_builder_new(&schema);
    struct gate_item item;
    struct err err = {0};
    int64_t next = 0;

    net_init(&n, PARTITION_FORWARD, 1, 1, 2);
    em = emitter_new(n.x, &n.g, 0, 0);
    gate = input_gate_new(n.x, &n.g, 1, 0);
    for (int64_t i = 0; i < 5; i++) {
        batch_builder_clear(b);
        append(b, i);
        ck_assert_ok(emitter_batch(em, batch_builder_view(b), &err));
        emitter_flush(em);
    }
    emitter_watermark(em, 99);
    emitter_barrier(em, &(struct barrier){.checkpoint_id = 4, .exactly_once = true}, 0);
    emitter_end(em);
    ck_assert_uint_eq(emitter_outbox_len(em), 6);
    ck_assert(!emitter_push_outbox(em));
    for (;;) {
        input_gate_next(gate, 1, &item);
        if (item.kind == GATE_NOTHING) {
            emitter_push_outbox(em);
            continue;
        }
        if (item.kind == GATE_BATCH) {
            ck_assert_int_eq(((int64_t *)item.batch->columns[0].values)[0], next++);
            batch_free(item.batch);
        } else if (item.kind == GATE_WATERMARK) {
            ck_assert_int_eq(next, 5);
            ck_assert_int_eq(item.watermark_ms, 99);
        } else if (item.kind == GATE_BARRIER) {
            ck_assert_uint_eq(item.barrier.checkpoint_id, 4);
            next++;
        } else if (item.kind == GATE_ENDED) {
            break;
        }
    }
    ck_assert_int_eq(next, 6);
    input_gate_next(gate, 1, &item);
    ck_assert_int_eq(item.kind, GATE_NOTHING);
    emitter_barrier(em, &(struct barrier){.checkpoint_id = 5}, 0);
    batch_builder_clear(b);
    append(b, 7);
    ck_assert_ok(emitter_batch(em, batch_builder_view(b), &err));
    emitter_flush(em);
    emitter_flush(em);
    emitter_free(em); /* with what its outbox holds; the exchange frees the rest */
    input_gate_free(gate);
    exchange_free(n.x);
    batch_builder_free(b);
}
END_TEST

/* C6 through real channels: rows behind a barrier stay in their channel until the other channel's
 * barrier came. */
START_TEST(rows_behind_a_barrier_wait)
{
    struct net n;
    struct emitter *a, *c;
    struct input_gate *gate;
    struct batch_builder *b = batch_builder_new(&schema);
    struct barrier bar = {.checkpoint_id = 1, .exactly_once = true};
    struct gate_item item;
    struct err err = {0};

    net_init(&n, PARTITION_REBALANCE, 2, 1, 8);
    a = emitter_new(n.x, &n.g, 0, 0);
    c = emitter_new(n.x, &n.g, 0, 1);
    gate = input_gate_new(n.x, &n.g, 1, 0);
    emitter_barrier(a, &bar, 0);
    append(b, 1);
    ck_assert_ok(emitter_batch(a, batch_builder_view(b), &err));
    emitter_flush(a);
    batch_builder_clear(b);
    append(b, 2);
    ck_assert_ok(emitter_batch(c, batch_builder_view(b), &err));
    emitter_flush(c);
    input_gate_next(gate, 10, &item);
    ck_assert_int_eq(item.kind, GATE_SKIP); /* a's barrier */
    input_gate_next(gate, 20, &item);
    ck_assert_int_eq(item.kind, GATE_BATCH);
    ck_assert_int_eq(((int64_t *)item.batch->columns[0].values)[0], 2);
    batch_free(item.batch);
    input_gate_next(gate, 30, &item);
    ck_assert_int_eq(item.kind, GATE_NOTHING);
    emitter_barrier(c, &bar, 0);
    input_gate_next(gate, 40, &item);
    ck_assert_int_eq(item.kind, GATE_BARRIER);
    ck_assert_int_eq(item.alignment_ns, 30);
    ck_assert_uint_gt(item.aligned_bytes, 0);
    input_gate_next(gate, 50, &item);
    ck_assert_int_eq(item.kind, GATE_BATCH);
    ck_assert_int_eq(((int64_t *)item.batch->columns[0].values)[0], 1);
    batch_free(item.batch);
    emitter_free(a);
    emitter_free(c);
    input_gate_free(gate);
    exchange_free(n.x);
    batch_builder_free(b);
}
END_TEST

/* The end of a channel may complete a barrier and advance event time: both must be told. */
START_TEST(an_end_tells_barrier_and_event_time)
{
    struct net n;
    struct emitter *a, *c;
    struct input_gate *gate;
    struct barrier bar = {.checkpoint_id = 1, .exactly_once = true};
    struct gate_item item;

    net_init(&n, PARTITION_REBALANCE, 2, 1, 8);
    a = emitter_new(n.x, &n.g, 0, 0);
    c = emitter_new(n.x, &n.g, 0, 1);
    gate = input_gate_new(n.x, &n.g, 1, 0);
    emitter_watermark(a, 9);
    emitter_barrier(a, &bar, 0);
    emitter_watermark(c, 5);
    emitter_end(c);
    for (int i = 0; i < 3; i++) { /* two watermarks, one barrier, whose order is the gate's */
        input_gate_next(gate, 1, &item);
        ck_assert(item.kind == GATE_SKIP ||
                  (item.kind == GATE_WATERMARK && item.watermark_ms == 5));
    }
    input_gate_next(gate, 1, &item);
    ck_assert_int_eq(item.kind, GATE_BARRIER);
    input_gate_next(gate, 1, &item);
    ck_assert_int_eq(item.kind, GATE_WATERMARK);
    ck_assert_int_eq(item.watermark_ms, 9);
    emitter_free(a);
    emitter_free(c);
    input_gate_free(gate);
    exchange_free(n.x);
}
END_TEST

TEST_MAIN("exchange",
          tcase_add_loop_test(tc, each_row_arrives_once_at_its_owner, 0, ARRAY_LEN(shapes));
          tcase_add_test(tc, a_full_channel_keeps_order_in_the_outbox);
          tcase_add_test(tc, rows_behind_a_barrier_wait);
          tcase_add_test(tc, an_end_tells_barrier_and_event_time))
