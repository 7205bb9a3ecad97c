/* links: checkpoint */
/* prop_coordinator.c - laws of the coordinator under random orders of everything that can happen to
 * a job (B01, B42, B50).
 *
 * A driver in miniature performs the actions with random delays and failures: tasks come up, ack,
 * decline, end, fail; users ask for checkpoints, savepoints, stops; the job is cancelled or
 * suspended at any moment. Checked all along:
 *   - no more attempts at a time than allowed, one of them finalized, ids grow; metadata is asked for only after all expected acks
 *   - nobody is notified of an attempt whose metadata is not durable, and never of a plain
 * savepoint
 *   - every attempt is adopted or discarded, never both; what was adopted is discarded at most once
 *   - every request is answered exactly once, with RC_OK only if its snapshot exists
 *   - the job always reaches its end within bounded steps, and what is left on "disk" is what the
 * retention table says
 */
#include "checkpoint/coordinator.h"

#include "tests/lib/check_ext.h"

#define TASKS 5
#define IDS 4096
#define REQUESTS 4096

static const struct stats_vertex vertices[] = {{"a", "src", 2}, {"b", "agg", 2}, {"c", "sink", 1}};
static const struct coordinator_edge edges[] = {{0, 1, false}, {1, 2, false}};

enum disk { NOTHING, DIRECTORY, DURABLE, ADOPTED };
enum phase { OFF, COMING, RUNNING, AT_END, ACK_DUE, GOING, GONE };
struct world {
    struct coordinator *c;
    struct coordinator_actions actions;
    struct rng rng;
    int64_t now;
    struct coordinator_config config;
    /* the "disk" and what was said about each attempt */
    enum disk disk[IDS];
    enum checkpoint_kind kind[IDS];
    bool discarded[IDS], notified[IDS], aborted_said[IDS];
    bool running[IDS];
    uint64_t last_id, running_count, adopted_id; /* newest checkpoint that completed */
    /* tasks */
    enum phase task[TASKS];
    uint64_t barrier[TASKS]; /* met, ack to be sent; 0: none */
    uint64_t met[TASKS];     /* newest barrier */
    bool end_with[TASKS][IDS]; /* its ack was given at its end */
    bool up, cancelled, suspended, fail_asked, stopping;
    /* what the driver still has to report */
    uint64_t begin_due, finalize_due, discard_due[16];
    size_t discard_count;
    bool answered[REQUESTS], asked[REQUESTS];
    uint64_t request_count;
    bool done;
    int ends;
};

static void perform(struct world *w);

static void send(struct world *w, struct coordinator_event e)
{
    e.now_mono_ms = w->now;
    e.now_wall_ms = 5000 + w->now;
    coordinator_step(w->c, &e, &w->actions);
    perform(w);
}
#define SEND(w, k, ...) send(w, (struct coordinator_event){.kind = (k), __VA_ARGS__})

static void on_answer(struct world *w, const struct coordinator_action *a)
{
    ck_assert_uint_lt(a->request_id, REQUESTS);
    ck_assert_msg(w->asked[a->request_id], "request %d was never made", (int)a->request_id);
    ck_assert_msg(!w->answered[a->request_id], "request %d is answered twice", (int)a->request_id);
    w->answered[a->request_id] = true;
    if (a->rc == RC_OK) {
        ck_assert_ptr_nonnull(a->path);
        ck_assert_int_eq(w->disk[strtol(a->path + 1, NULL, 10)], ADOPTED);
    }
}

static void end_running(struct world *w, uint64_t id)
{
    ck_assert(w->running[id]);
    w->running[id] = false;
    w->running_count--;
}

static void perform(struct world *w)
{
    for (size_t i = 0; i < w->actions.count; i++) {
        const struct coordinator_action *a = &w->actions.list[i];
        uint64_t id = a->checkpoint_id;

        ck_assert_msg(!w->done, "action %d after the end", a->kind);
        ck_assert_uint_lt(id, IDS);
        switch (a->kind) {
        case ACTION_BEGIN:
            ck_assert_uint_gt(id, w->last_id);
            ck_assert_uint_lt(w->running_count, w->config.max_concurrent);
            ck_assert(w->begin_due == 0 || w->discarded[w->begin_due]);
            w->last_id = id;
            w->running[id] = true;
            w->running_count++;
            w->kind[id] = a->barrier.kind;
            w->begin_due = id;
            break;
        case ACTION_TRIGGER:
            ck_assert(w->running[id]);
            ck_assert_int_eq(w->disk[id], DIRECTORY);
            break;
        case ACTION_FINALIZE:
            ck_assert(w->running[id]);
            ck_assert_uint_eq(w->finalize_due, 0);
            ck_assert_uint_gt(id, w->adopted_id);
            w->finalize_due = id;
            break;
        case ACTION_ADOPT:
            ck_assert_int_eq(w->disk[id], DURABLE);
            ck_assert(!w->discarded[id]);
            w->disk[id] = ADOPTED;
            if (w->kind[id] == CHECKPOINT_PERIODIC)
                w->adopted_id = id;
            end_running(w, id);
            break;
        case ACTION_NOTIFY_COMPLETE:
            ck_assert_int_eq(w->disk[id], ADOPTED);
            ck_assert_int_ne(w->kind[id], CHECKPOINT_SAVEPOINT);
            ck_assert(!w->cancelled && !w->suspended);
            w->notified[id] = true;
            for (int t = 0; t < TASKS; t++)
                if ((w->task[t] == AT_END && w->end_with[t][id]) ||
                    (checkpoint_kind_is_sync(w->kind[id]) && w->task[t] != GONE &&
                     w->task[t] != OFF))
                    w->task[t] = GOING;
            break;
        case ACTION_NOTIFY_ABORTED:
            ck_assert(!w->aborted_said[id]);
            w->aborted_said[id] = true;
            break;
        case ACTION_NOTIFY_SUBSUMED:
            ck_assert_int_eq(w->disk[id], ADOPTED);
            break;
        case ACTION_DISCARD_ATTEMPT:
            ck_assert_int_ne(w->disk[id], ADOPTED);
            w->discarded[id] = true;
            w->disk[id] = NOTHING;
            if (w->running[id]) {
                end_running(w, id);
                for (int t = 0; t < TASKS; t++)
                    if (w->barrier[t] == id && rng_below(&w->rng, 2) == 0)
                        w->barrier[t] = 0; /* else a straggler */
            }
            break;
        case ACTION_DISCARD_CHECKPOINT:
            ck_assert_int_eq(w->disk[id], ADOPTED);
            ck_assert_int_eq(w->kind[id], CHECKPOINT_PERIODIC);
            ck_assert(!w->discarded[id] && !w->suspended);
            w->discarded[id] = true;
            w->disk[id] = NOTHING;
            ck_assert_uint_lt(w->discard_count, 16);
            w->discard_due[w->discard_count++] = id;
            break;
        case ACTION_FORGET_CHECKPOINT:
            ck_abort_msg("nothing was restored");
            break;
        case ACTION_DELETE_SHARED:
            break;
        case ACTION_FAIL_JOB:
            ck_assert(w->up);
            w->fail_asked = true;
            break;
        case ACTION_ANSWER:
            on_answer(w, a);
            break;
        case ACTION_SHUTDOWN_DONE:
            ck_assert_uint_eq(w->running_count, 0);
            w->done = true;
            break;
        }
    }
}

static bool chance(struct world *w, unsigned one_in)
{
    return rng_below(&w->rng, one_in) == 0;
}

/* The next barrier that reaches the task; 0: none. Now and then an older one was lost to it. */
static uint64_t next_barrier(struct world *w, uint32_t t)
{
    for (uint64_t id = w->met[t] + 1; id <= w->last_id; id++)
        if (w->running[id] && w->disk[id] == DIRECTORY && !chance(w, 200))
            return id;
    return 0;
}

/* Barriers reach tasks behind the trigger, in any order: what matters here is who acks when. */
static void step_task(struct world *w, uint32_t t)
{
    uint64_t id;

    switch (w->task[t]) {
    case COMING:
        w->task[t] = RUNNING;
        SEND(w, EVENT_TASK_RUNNING, .task = t);
        return;
    case GOING:
        w->task[t] = GONE;
        SEND(w, EVENT_TASK_FINISHED, .task = t);
        return;
    case RUNNING:
        if (chance(w, 60)) {
            w->task[t] = AT_END;
            SEND(w, EVENT_TASK_END_OF_DATA, .task = t);
            return;
        }
        if (chance(w, 30))
            SEND(w, EVENT_BACKLOG, .task = t, .backlog = chance(w, 2));
        break;
    default:
        break;
    }
    if (w->task[t] != RUNNING && w->task[t] != AT_END)
        return;
    if (w->barrier[t] == 0 && (w->barrier[t] = next_barrier(w, t)) != 0)
        w->met[t] = w->barrier[t];
    if (w->barrier[t] == 0 || !chance(w, 3))
        return;
    id = w->barrier[t];
    w->barrier[t] = 0;
    w->end_with[t][id] = w->task[t] == AT_END;
    if (chance(w, 40)) {
        SEND(w, EVENT_DECLINE, .checkpoint_id = id, .task = t, .message = "x",
             .failure = chance(w, 2) ? FAILURE_DECLINED : FAILURE_ASYNC);
    } else {
        SEND(w, EVENT_ACK, .checkpoint_id = id, .task = t);
        if (chance(w, 10))
            SEND(w, EVENT_ACK, .checkpoint_id = id, .task = t);
    }
}

static void step_driver(struct world *w)
{
    char path[16];
    uint64_t id;

    if (w->begin_due != 0 && chance(w, 2)) {
        id = w->begin_due;
        w->begin_due = 0;
        if (chance(w, 30)) {
            SEND(w, EVENT_BEGIN_FAILED, .checkpoint_id = id, .message = "x");
        } else {
            w->disk[id] = DIRECTORY;
            SEND(w, EVENT_BEGUN, .checkpoint_id = id);
        }
    }
    if (w->finalize_due != 0 && chance(w, 3)) {
        id = w->finalize_due;
        w->finalize_due = 0;
        ck_assert(w->running[id]); /* never interrupted */
        if (chance(w, 20)) {
            SEND(w, EVENT_FINALIZE_FAILED, .checkpoint_id = id, .message = "x");
        } else {
            w->disk[id] = DURABLE;
            snprintf(path, sizeof path, "/%d", (int)id);
            SEND(w, EVENT_FINALIZED, .checkpoint_id = id, .path = path);
        }
    }
    if (w->discard_count > 0 && chance(w, 2))
        SEND(w, EVENT_DISCARDED, .checkpoint_id = w->discard_due[--w->discard_count]);
}

static void fail_over(struct world *w)
{
    SEND(w, EVENT_JOB_FAILING);
    w->up = w->fail_asked = false;
    for (int t = 0; t < TASKS; t++) {
        w->task[t] = OFF;
        w->barrier[t] = 0;
    }
}

static void deploy(struct world *w)
{
    SEND(w, EVENT_START);
    w->up = true;
    for (int t = 0; t < TASKS; t++)
        w->task[t] = COMING;
}

static void ask(struct world *w, enum request_kind kind)
{
    uint64_t id = ++w->request_count;

    ck_assert_uint_lt(id, REQUESTS);
    w->asked[id] = true;
    SEND(w, EVENT_REQUEST, .request_id = id, .request = kind,
         .target_dir = chance(w, 3) ? "/other" : NULL);
}

static bool all_gone(const struct world *w)
{
    for (int t = 0; t < TASKS; t++)
        if (w->task[t] != GONE)
            return false;
    return true;
}

static void end_job(struct world *w, enum job_end end)
{
    bool keeps = retention_keeps(w->config.retention, end);
    uint64_t newest = 0;

    w->up = false;
    w->suspended = w->suspended && end == JOB_END_SUSPENDED;
    SEND(w, EVENT_SHUTDOWN, .end = end);
    for (int i = 0; i < 50 && !w->done; i++)
        step_driver(w);
    ck_assert_msg(w->done, "the end never came");
    for (uint64_t id = 1; id <= w->request_count; id++)
        ck_assert_msg(w->answered[id], "request %d was never answered", (int)id);
    for (uint64_t id = 1; id <= w->last_id; id++) {
        ck_assert_msg(w->disk[id] == NOTHING || w->disk[id] == ADOPTED ||
                          (int)id == (int)w->begin_due,
                      "attempt %d is left half done", (int)id);
        ck_assert(w->disk[id] == ADOPTED || w->discarded[id]);
        if (w->disk[id] == ADOPTED && w->kind[id] == CHECKPOINT_PERIODIC)
            newest++;
    }
    /* a suspend may come between a checkpoint and its predecessor's end */
    ck_assert_uint_le(newest, keeps ? w->config.num_retained + (end == JOB_END_SUSPENDED) : 0);
}

/* One step of the whole; true when the job ended. */
static bool step_world(struct world *w)
{
    int64_t due = coordinator_next_mono_ms(w->c);

    w->now += (int64_t)rng_below(&w->rng, 40);
    if (due != INT64_MAX && due > w->now && chance(w, 6))
        w->now = due;
    SEND(w, EVENT_TICK);
    step_driver(w);
    if (w->cancelled || w->suspended) {
        end_job(w, w->cancelled ? JOB_END_CANCELED : JOB_END_SUSPENDED);
        return true;
    }
    if (!w->up) {
        if (coordinator_finalizing(w->c) || !chance(w, 3))
            return false;
        if (chance(w, 30)) {
            end_job(w, JOB_END_FAILED);
            return true;
        }
        deploy(w);
        return false;
    }
    if (w->fail_asked || chance(w, 400)) {
        fail_over(w);
        return false;
    }
    step_task(w, (uint32_t)rng_below(&w->rng, TASKS));
    step_task(w, (uint32_t)rng_below(&w->rng, TASKS));
    if (chance(w, 60))
        ask(w, chance(w, 2) ? REQUEST_SAVEPOINT : REQUEST_CHECKPOINT);
    if (chance(w, 400))
        for (int i = 0; i < 3; i++) /* within the same moment, in any order */
            ask(w, (enum request_kind)rng_below(&w->rng, 4));
    if (chance(w, 1500)) {
        w->cancelled = true;
        SEND(w, EVENT_CANCEL);
    } else if (chance(w, 1500)) {
        w->suspended = true;
        SEND(w, EVENT_SUSPEND);
    } else if (all_gone(w)) {
        end_job(w, JOB_END_FINISHED);
        return true;
    }
    return false;
}

static struct world *world_new(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);

    ck_assert_ptr_nonnull(w);
    rng_seed(&w->rng, seed);
    w->config = (struct coordinator_config){
        .interval_ms = (int64_t)(10 + rng_below(&w->rng, 300)),
        .timeout_ms = (int64_t)(50 + rng_below(&w->rng, 2000)),
        .min_pause_ms = 0,
        .tolerable_failures = (uint32_t)rng_below(&w->rng, 4),
        .max_concurrent = 1 + (uint32_t)rng_below(&w->rng, 3),
        .num_retained = 1 + (uint32_t)rng_below(&w->rng, 3),
        .retention = (enum checkpoint_retention)rng_below(&w->rng, 3),
        .exactly_once = true,
        .after_tasks_finish = true,
        .final_checkpoint = true,
        .savepoint_dir = "/sp",
        .first_id = 1,
        .vertex_count = 3,
        .edge_count = 2,
        .vertices = vertices,
        .edges = edges,
    };
    w->config.interval_during_backlog_ms = chance(w, 2) ? 0 : 2 * w->config.interval_ms;
    w->config.min_pause_ms = (int64_t)rng_below(&w->rng, (uint64_t)w->config.interval_ms + 1);
    rng_seed(&w->config.rng, seed);
    w->c = coordinator_new(&w->config);
    deploy(w);
    return w;
}

/* To the end; returns how many steps it took. */
static int world_finish(struct world *w, uint64_t seed, bool ended)
{
    int steps = 0;

    while (!ended && !step_world(w))
        ck_assert_msg(++steps < 200000, "seed %llu: no end", (unsigned long long)seed);
    coordinator_free(w->c);
    coordinator_actions_release(&w->actions);
    free(w);
    return steps;
}

START_TEST(every_order_of_events_keeps_the_laws)
{
    for (uint64_t i = 0; i < 25; i++)
        world_finish(world_new((uint64_t)_i * 1000 + i), (uint64_t)_i * 1000 + i, false);
}
END_TEST

/* B50: a checkpoint, a savepoint, two kinds of stop and a cancel within one moment, in each of
 * their 120 orders, with no attempt under way, one that runs, and one whose metadata is being
 * written. */
enum { ORDERS = 120, ORDERS_A_TEST = 20, SITUATIONS = 3 };

/* The order-th permutation of 0..4. */
static void permutation(int order, int out[5])
{
    int left[5] = {0, 1, 2, 3, 4};

    for (int n = 5; n > 0; n--) {
        int pick = order % n;

        order /= n;
        out[5 - n] = left[pick];
        memmove(left + pick, left + pick + 1, (size_t)(n - pick - 1) * sizeof left[0]);
    }
}

/* A job whose tasks run and whose newest attempt is where the situation wants it. */
static struct world *situation(int which, uint64_t seed)
{
    struct world *w = world_new(seed);

    for (uint32_t t = 0; t < TASKS; t++) {
        w->task[t] = RUNNING;
        SEND(w, EVENT_TASK_RUNNING, .task = t);
    }
    if (which == 0)
        return w;
    ask(w, REQUEST_CHECKPOINT);
    w->begin_due = 0;
    w->disk[w->last_id] = DIRECTORY;
    SEND(w, EVENT_BEGUN, .checkpoint_id = w->last_id);
    for (uint32_t t = 0; t < TASKS && which == 2; t++)
        SEND(w, EVENT_ACK, .checkpoint_id = w->last_id, .task = t);
    return w;
}

START_TEST(requests_of_one_moment_are_all_answered_in_every_order)
{
    for (int run = 0; run < ORDERS_A_TEST * SITUATIONS; run++) {
        int nth = _i * ORDERS_A_TEST + run / SITUATIONS;
        struct world *w = situation(run % SITUATIONS, (uint64_t)nth);
        int order[5];

        permutation(nth, order);
        for (int i = 0; i < 5; i++) {
            if (order[i] < 4) {
                ask(w, (enum request_kind)order[i]);
                continue;
            }
            w->cancelled = true;
            SEND(w, EVENT_CANCEL);
        }
        end_job(
            w, JOB_END_CANCELED); /* checks that each was answered once, and what is left on disk */
        world_finish(w, (uint64_t)nth, true);
    }
}
END_TEST

/* The same without the cancel: the job goes on to whatever end comes. */
START_TEST(requests_of_one_moment_lead_to_an_end_in_every_order)
{
    for (int run = 0; run < ORDERS_A_TEST * SITUATIONS; run++) {
        int nth = _i * ORDERS_A_TEST + run / SITUATIONS;
        struct world *w = situation(run % SITUATIONS, (uint64_t)nth);
        int order[5];

        permutation(nth, order);
        for (int i = 0; i < 5; i++)
            if (order[i] < 4)
                ask(w, (enum request_kind)order[i]);
        world_finish(w, (uint64_t)nth, false);
    }
}
END_TEST

TEST_MAIN("coordinator laws", {
    tcase_add_loop_test(tc, every_order_of_events_keeps_the_laws, 0, 20);
    tcase_add_loop_test(tc, requests_of_one_moment_are_all_answered_in_every_order, 0,
                        ORDERS / ORDERS_A_TEST);
    tcase_add_loop_test(tc, requests_of_one_moment_lead_to_an_end_in_every_order, 0,
                        ORDERS / ORDERS_A_TEST);
})
