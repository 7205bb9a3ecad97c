/* test_inflight.c - the law of a barrier that overtakes, over random orders of everything: what its consumer had taken when it
 * snapshot and what was recorded is, together, what each producer gave before its barrier; each row once, each channel in its order.
 *
 * Rows of producer p are (p, 0), (p, 1) ..; nothing but their number tells which side of the barrier they are on. */
#include "base/thread.h"
#include "job/batch_codec.h"
#include "job/runtime/input_gate.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

#include <sched.h>

enum { PRODUCERS = 4, DEADLINE = 1000 };

static struct schema_field fields[] = {{"p", {TYPE_BIGINT, true, 0, 0, 0}},
                                       {"n", {TYPE_BIGINT, true, 0, 0, 0}}};
static struct schema schema = {2, fields, -1};

struct producer {
    struct emitter *em;
    struct rng *rng;
    struct batch_builder *rows;
    uint32_t barrier_after; /* about so many steps */
    int64_t given, limit;
    int64_t at_barrier; /* rows given before it; -1: not yet */
    bool ended;
};
struct world {
    struct graph_vertex vertices[2];
    struct operator_spec ops[2];
    struct graph_edge edge;
    struct graph g;
    struct exchange *x;
    struct input_gate *gate;
    struct producer p[PRODUCERS];
    struct rng rng;
    struct batch_builder *rows;
    struct barrier barrier;
    int64_t now;
    int64_t taken[PRODUCERS];    /* rows processed */
    int64_t snapshot[PRODUCERS]; /* ... when the barrier was whole; -1: it is not */
    int64_t recorded[PRODUCERS]; /* next number expected among those recorded */
    struct inflight *f;
    uint32_t producers;
    bool never_looks; /* as if each barrier came just after the look: no element behind it may be given all the same (C6) */
    bool over; /* GATE_ENDED */
};

static void world_init(struct world *w, uint64_t seed, int64_t overtake_at, uint64_t max_bytes)
{
    memset(w, 0, sizeof *w);
    rng_seed(&w->rng, seed);
    w->producers = 1 + (uint32_t)rng_below(&w->rng, PRODUCERS);
    for (uint32_t i = 0; i < 2; i++) {
        w->ops[i] = (struct operator_spec){.name = i == 0 ? "from" : "to", .uid = ""};
        operator_id_of(w->ops[i].name, w->ops[i].id);
    }
    w->vertices[0] = (struct graph_vertex){.name = "from", .parallelism = w->producers, .operator_count = 1, .operators = &w->ops[0]};
    w->vertices[1] = (struct graph_vertex){.name = "to", .parallelism = 1, .operator_count = 1, .operators = &w->ops[1]};
    w->edge = (struct graph_edge){0, 1, PARTITION_GLOBAL, 0, NULL, &schema};
    w->g = (struct graph){.key_group_count = 128, .vertex_count = 2, .edge_count = 1, .vertices = w->vertices, .edges = &w->edge};
    w->x = exchange_new(&w->g, gen_chance(&w->rng, 50) ? 1 : 4);
    exchange_limit(w->x, max_bytes);
    w->gate = input_gate_new(w->x, &w->g, 1, 0);
    input_gate_overtaking(w->gate, max_bytes);
    w->rows = batch_builder_new(&schema);
    w->barrier = (struct barrier){.checkpoint_id = 7, .kind = CHECKPOINT_PERIODIC, .exactly_once = true, .overtake_mono_ns = overtake_at};
    for (uint32_t i = 0; i < w->producers; i++) {
        w->p[i] = (struct producer){.em = emitter_new(w->x, &w->g, 0, i), .rng = &w->rng, .rows = w->rows, .barrier_after = 20, .limit = (int64_t)rng_below(&w->rng, 400), .at_barrier = -1};
        w->snapshot[i] = -1;
    }
    w->now = 1;
}

static void world_release(struct world *w)
{
    for (uint32_t i = 0; i < w->producers; i++)
        emitter_free(w->p[i].em);
    input_gate_free(w->gate);
    inflight_free(w->f);
    exchange_free(w->x);
    batch_builder_free(w->rows);
}

/* A task's order of things: barrier, overtaking, room, rows. */
static void produce(struct world *w, uint32_t i, bool barriers)
{
    struct producer *p = &w->p[i];
    struct err err = {0};

    if (barriers && p->at_barrier < 0 && rng_below(p->rng, p->barrier_after) == 0) {
        p->at_barrier = p->given;
        emitter_barrier(p->em, &w->barrier, w->now);
    }
    emitter_overtake(p->em, w->now);
    if (!emitter_push_outbox(p->em) || p->ended)
        return;
    if (p->given >= p->limit) {
        p->ended = true;
        emitter_end(p->em);
        return;
    }
    batch_builder_clear(p->rows);
    for (uint64_t n = 1 + rng_below(p->rng, 5); n > 0; n--) {
        batch_append_int(p->rows, 0, i);
        batch_append_int(p->rows, 1, p->given++);
        batch_row_end(p->rows, ROW_INSERT);
    }
    ck_assert_ok(emitter_batch(p->em, batch_builder_view(p->rows), &err));
    emitter_flush(p->em);
    if (gen_chance(p->rng, 30)) /* several elements from one call of an operator */
        emitter_watermark(p->em, p->given);
}

static void snapshot(struct world *w, const struct gate_item *item)
{
    ck_assert_uint_eq(item->barrier.checkpoint_id, 7);
    ck_assert_int_eq(w->snapshot[0], -1);
    memcpy(w->snapshot, w->taken, sizeof w->snapshot);
    w->f = item->recording;
}

static void consume(struct world *w, bool may_take)
{
    struct gate_item item;
    bool overdue = w->snapshot[0] < 0 && barrier_overtakes(&w->barrier, w->now);

    if (!w->never_looks && input_gate_look(w->gate, w->now, overdue ? 7 : 0, &item)) {
        ck_assert_int_eq(item.kind, GATE_BARRIER);
        ck_assert_ptr_nonnull(item.recording);
        snapshot(w, &item);
        return;
    }
    if (!may_take || w->over)
        return;
    input_gate_next(w->gate, w->now, &item);
    if (item.kind == GATE_BARRIER)
        snapshot(w, &item);
    w->over |= item.kind == GATE_ENDED;
    if (item.kind != GATE_BATCH)
        return;
    for (uint32_t i = 0; i < item.batch->rows; i++) {
        int64_t p = ((int64_t *)item.batch->columns[0].values)[i], n = ((int64_t *)item.batch->columns[1].values)[i];

        ck_assert_int_eq(n, w->taken[p]); /* once, in order */
        w->taken[p]++;
    }
    batch_free(item.batch);
}

static void read_recorded(struct world *w)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct reader in;
    struct err err = {0};

    for (uint32_t i = 0; i < w->producers; i++)
        w->recorded[i] = w->snapshot[i];
    for (uint32_t e = 0; w->f != NULL && e < w->f->edge_count; e++) {
        reader_init(&in, buf_bytes(&w->f->edges[e].blocks), "recorded");
        while (reader_left(&in) > 0) {
            batch_builder_clear(b);
            ck_assert_ok(batch_decode(&in, &schema, b, &err));
            for (uint32_t i = 0; i < batch_builder_rows(b); i++) {
                const struct batch *v = batch_builder_view(b);
                int64_t p = ((int64_t *)v->columns[0].values)[i];

                ck_assert_int_eq(((int64_t *)v->columns[1].values)[i], w->recorded[p]);
                w->recorded[p]++;
            }
        }
    }
    batch_builder_free(b);
}

static void check_law(struct world *w, uint64_t seed)
{
    ck_assert_msg(w->f == NULL || inflight_whole(w->f), "seed %llu: not whole", (unsigned long long)seed);
    if (w->snapshot[0] < 0)
        return; /* all had ended before: the barrier comes by message, to a task that has read all */
    read_recorded(w);
    for (uint32_t i = 0; i < w->producers; i++) {
        int64_t want = w->p[i].at_barrier < 0 ? w->p[i].given : w->p[i].at_barrier;

        ck_assert_msg(w->recorded[i] == want, "seed %llu, producer %u of %u: snapshot %lld, recorded to %lld, barrier after %lld",
                      (unsigned long long)seed, i, w->producers, (long long)w->snapshot[i], (long long)w->recorded[i],
                      (long long)want);
    }
}

static void run(struct world *w)
{
    for (int step = 0; step < 200000 && !w->over; step++) {
        if (gen_chance(&w->rng, 40))
            consume(w, gen_chance(&w->rng, 60)); /* else its own outbox is full */
        else
            produce(w, (uint32_t)rng_below(&w->rng, w->producers), true);
        w->now += (int64_t)rng_below(&w->rng, 5);
    }
    ck_assert(w->over);
    for (uint32_t i = 0; i < w->producers; i++)
        ck_assert_int_eq(w->taken[i], w->p[i].given);
}

START_TEST(what_is_taken_and_what_is_recorded_is_all_before_the_barrier)
{
    static const int64_t from[] = {1, DEADLINE, 200, 100000000};
    uint64_t seed = gen_seed(100) + (uint64_t)_i;
    struct world w;

    world_init(&w, seed, from[_i % 4], IN_FLIGHT_MAX_DEFAULT);
    w.never_looks = _i % 8 >= 4;
    run(&w);
    check_law(&w, seed);
    world_release(&w);
}
END_TEST

/* The same with producers that run at the same time: whatever comes between the consumer's look at a channel and its pop. */
struct running {
    struct world *w;
    uint32_t i;
    struct rng rng;
    struct thread *thread;
};

static void run_producer(void *arg)
{
    struct running *r = arg;
    struct producer *p = &r->w->p[r->i];

    while (!p->ended || p->at_barrier < 0 || emitter_outbox_len(p->em) > 0) {
        produce(r->w, r->i, true);
        if (emitter_outbox_len(p->em) > 0)
            sched_yield();
    }
}

START_TEST(the_law_holds_when_all_run_at_once)
{
    uint64_t seed = gen_seed(7000) + (uint64_t)_i;
    struct running r[PRODUCERS];
    struct world w;

    world_init(&w, seed, 1, IN_FLIGHT_MAX_DEFAULT);
    for (uint32_t i = 0; i < w.producers; i++) {
        r[i] = (struct running){.w = &w, .i = i};
        rng_seed(&r[i].rng, seed * PRODUCERS + i);
        w.p[i].rng = &r[i].rng;
        w.p[i].rows = batch_builder_new(&schema);
        w.p[i].limit = 200;
        w.p[i].barrier_after = i == 0 ? 5 : 50; /* most of it is recorded */
        r[i].thread = thread_start("producer", run_producer, &r[i]);
    }
    for (int idle = 0; !w.over; idle = input_gate_queued(w.gate) == 0 ? idle + 1 : 0) {
        consume(&w, true);
        if (idle % 2048 == 2047)
            sched_yield();
    }
    for (uint32_t i = 0; i < w.producers; i++) {
        thread_join(r[i].thread);
        batch_builder_free(w.p[i].rows);
        ck_assert_int_eq(w.taken[i], w.p[i].given);
    }
    check_law(&w, seed);
    world_release(&w);
}
END_TEST

/* The snapshot does not wait for the queue to be worked off: that is what it is for. The consumer takes nothing at all. */
START_TEST(a_barrier_overtakes_a_queue_that_nobody_reads)
{
    bool in_time = _i == 1; /* it lies in the queue, in band, and gets old there */
    struct world w;
    struct gate_item item;

    world_init(&w, 3, in_time ? 50 : 1, IN_FLIGHT_MAX_DEFAULT);
    for (uint32_t i = 0; i < w.producers; i++) {
        w.p[i].limit = 1000;
        for (int k = 0; k < 40; k++)
            produce(&w, i, false);
        ck_assert_uint_gt(emitter_outbox_len(w.p[i].em), 0);
        w.p[i].at_barrier = w.p[i].given;
        emitter_barrier(w.p[i].em, &w.barrier, w.now);
    }
    if (in_time) {
        ck_assert(!input_gate_look(w.gate, w.now, 0, &item));
        ck_assert_int_eq(emitter_overtake_at(w.p[0].em), 50);
        w.now = 50;
        for (uint32_t i = 0; i < w.producers; i++)
            emitter_overtake(w.p[i].em, w.now);
        ck_assert_int_eq(emitter_overtake_at(w.p[0].em), INT64_MAX);
    }
    consume(&w, false);
    ck_assert_int_eq(w.snapshot[0], 0);
    ck_assert(inflight_whole(w.f));
    check_law(&w, 3);
    world_release(&w);
}
END_TEST

/* What one subtask may record is bounded, whichever side it comes from; the consumer goes on. */
START_TEST(too_much_in_flight_is_not_kept)
{
    struct world w;
    struct err err = {0};

    world_init(&w, 5, 1, (uint64_t)_i * 40);
    for (uint32_t i = 0; i < w.producers; i++)
        w.p[i].limit = 1000;
    run(&w);
    ck_assert_int_ge(w.snapshot[0], 0);
    ck_assert(inflight_whole(w.f));
    ck_assert_rc_msg(inflight_check(w.f, &err), RC_LIMIT, "varve.checkpoint.in-flight.max-size");
    ck_assert_uint_eq(w.f->edges[0].blocks.len, 0);
    world_release(&w);
}
END_TEST

/* A later attempt's announcement takes the place of one that nobody looked at. */
START_TEST(the_newest_announcement_counts)
{
    struct world w;
    struct gate_item item;
    struct barrier next;

    world_init(&w, 9, 1, IN_FLIGHT_MAX_DEFAULT);
    next = w.barrier;
    next.checkpoint_id = 8;
    emitter_barrier(w.p[0].em, &w.barrier, 1);
    emitter_barrier(w.p[0].em, &next, 1);
    ck_assert(input_gate_look(w.gate, 1, 0, &item));
    ck_assert_uint_eq(item.barrier.checkpoint_id, 8);
    w.f = item.recording;
    inflight_drop(w.f, RC_CANCELLED);
    input_gate_stop_recording(w.gate, w.f);
    ck_assert(inflight_whole(w.f));
    ck_assert(!input_gate_look(w.gate, 1, 0, &item));
    world_release(&w);
}
END_TEST

/* The word that an attempt was given up may come when the next one's barrier has been found: that one's recording goes on. */
START_TEST(giving_up_one_recording_leaves_the_next_alone)
{
    struct barrier next;
    struct inflight *first;
    struct gate_item item;
    struct world w;

    world_init(&w, 4, 1, IN_FLIGHT_MAX_DEFAULT);
    ck_assert_uint_gt(w.producers, 1);
    next = w.barrier;
    next.checkpoint_id = 8;
    emitter_barrier(w.p[0].em, &w.barrier, 1);
    ck_assert(input_gate_look(w.gate, 1, 0, &item));
    first = item.recording;
    ck_assert(!inflight_whole(first));
    emitter_barrier(w.p[0].em, &next, 1);
    ck_assert(input_gate_look(w.gate, 1, 0, &item));
    ck_assert_uint_eq(item.barrier.checkpoint_id, 8);
    w.f = item.recording;
    input_gate_stop_recording(w.gate, first);
    inflight_free(first);
    for (uint32_t i = 1; i < w.producers; i++)
        emitter_barrier(w.p[i].em, &next, 1);
    ck_assert(!input_gate_look(w.gate, 1, 0, &item));
    ck_assert(inflight_whole(w.f));
    world_release(&w);
}
END_TEST

TEST_MAIN("inflight", tcase_add_loop_test(tc, what_is_taken_and_what_is_recorded_is_all_before_the_barrier, 0, gen_length(400, 50));
          tcase_add_loop_test(tc, the_law_holds_when_all_run_at_once, 0, gen_length(200, 20));
          tcase_add_loop_test(tc, a_barrier_overtakes_a_queue_that_nobody_reads, 0, 2);
          tcase_add_loop_test(tc, too_much_in_flight_is_not_kept, 0, 3); tcase_add_test(tc, the_newest_announcement_counts);
          tcase_add_test(tc, giving_up_one_recording_leaves_the_next_alone))
