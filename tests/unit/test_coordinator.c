/* links: checkpoint */
/* The coordinator in invented time: when attempts start, what ends them, who is told, what is kept.
 * Each step's actions are compared as text: "begin 1; trigger 1>0; ...". */
#include "checkpoint/coordinator.h"

#include "tests/lib/check_ext.h"

/* Two vertices: sources 0, 1 -> (hash) sink 2, 3. */
static const struct stats_vertex vertices[] = {{"aa", "Source", 2}, {"bb", "Sink", 2}};
static const struct coordinator_edge edges[] = {{0, 1, false}};
#define TASKS 4

static struct coordinator *c;
static struct coordinator_actions actions;
static int64_t now;
static char shown[4096];

static struct coordinator_config config(void)
{
    struct coordinator_config k = {
        .interval_ms = 1000,
        .timeout_ms = 10000,
        .tolerable_failures = 0,
        .max_concurrent = 1,
        .num_retained = 1,
        .retention = RETAIN_ON_CANCELLATION,
        .exactly_once = true,
        .after_tasks_finish = true,
        .final_checkpoint = true,
        .savepoint_dir = "/sp",
        .first_id = 1,
        .vertex_count = 2,
        .edge_count = 1,
        .vertices = vertices,
        .edges = edges,
    };
    rng_seed(&k.rng, 7);
    return k;
}

static void show(const struct coordinator_action *a)
{
    static const char *const names[] = {
        [ACTION_BEGIN] = "begin",
        [ACTION_TRIGGER] = "trigger",
        [ACTION_FINALIZE] = "finalize",
        [ACTION_ADOPT] = "adopt",
        [ACTION_NOTIFY_COMPLETE] = "complete",
        [ACTION_NOTIFY_ABORTED] = "aborted",
        [ACTION_NOTIFY_SUBSUMED] = "subsumed",
        [ACTION_DISCARD_ATTEMPT] = "discard-attempt",
        [ACTION_DISCARD_CHECKPOINT] = "discard",
        [ACTION_FORGET_CHECKPOINT] = "forget",
        [ACTION_DELETE_SHARED] = "clean",
        [ACTION_FAIL_JOB] = "fail-job",
        [ACTION_ANSWER] = "answer",
        [ACTION_SHUTDOWN_DONE] = "done",
    };
    size_t at = strlen(shown);
    char text[600];

    switch (a->kind) {
    case ACTION_BEGIN:
        snprintf(text, sizeof text, "begin %d %s%s%s", (int)a->checkpoint_id,
                 a->barrier.kind == CHECKPOINT_PERIODIC    ? "cp"
                 : a->barrier.kind == CHECKPOINT_SAVEPOINT ? "sp"
                 : a->barrier.kind == CHECKPOINT_SUSPEND   ? "suspend"
                                                           : "terminate",
                 a->target_dir == NULL ? "" : " ", a->target_dir == NULL ? "" : a->target_dir);
        break;
    case ACTION_TRIGGER:
        snprintf(text, sizeof text, "trigger %d>%u", (int)a->checkpoint_id, a->task);
        break;
    case ACTION_ANSWER:
        snprintf(text, sizeof text, "answer %d %s%s%s", (int)a->request_id, rc_name(a->rc),
                 a->path == NULL ? "" : " ", a->path == NULL ? "" : a->path);
        ck_assert((a->rc == RC_OK) == (a->message == NULL));
        break;
    case ACTION_DELETE_SHARED:
    case ACTION_FAIL_JOB:
    case ACTION_SHUTDOWN_DONE:
        snprintf(text, sizeof text, "%s", names[a->kind]);
        break;
    default:
        snprintf(text, sizeof text, "%s %d", names[a->kind], (int)a->checkpoint_id);
    }
    snprintf(shown + at, sizeof shown - at, "%s%s", at > 0 ? "; " : "", text);
}

static const char *step(struct coordinator_event e)
{
    e.now_mono_ms = now;
    e.now_wall_ms = 1000000 + now;
    coordinator_step(c, &e, &actions);
    shown[0] = '\0';
    for (size_t i = 0; i < actions.count; i++)
        show(&actions.list[i]);
    return shown;
}
#define EV(k, ...) step((struct coordinator_event){.kind = (k), __VA_ARGS__})
static const char *tick_at(int64_t at)
{
    now = at;
    return EV(EVENT_TICK);
}
static const char *ack(uint64_t id, uint32_t task)
{
    return EV(EVENT_ACK, .checkpoint_id = id, .task = task,
              .ack = {.checkpointed_bytes = 10, .state_bytes = 100});
}
/* Message of the first action of a kind. */
static const char *message_of(enum action_kind kind)
{
    for (size_t i = 0; i < actions.count; i++)
        if (actions.list[i].kind == kind)
            return actions.list[i].message;
    return "(no such action)";
}

static void start_with(struct coordinator_config k)
{
    coordinator_free(c);
    c = coordinator_new(&k);
    now = 0;
    ck_assert_str_eq(EV(EVENT_START), "");
    for (uint32_t t = 0; t < TASKS; t++)
        ck_assert_str_eq(EV(EVENT_TASK_RUNNING, .task = t), "");
}
static void setup(void)
{
    struct coordinator_config k = config();

    k.min_pause_ms = k.interval_ms; /* the first delay is exact: 1000 */
    start_with(k);
}
/* The same with no pause: the next trigger is then at coordinator_next_mono_ms. */
static void setup_without_pause(void)
{
    start_with(config());
    now = coordinator_next_mono_ms(c);
}
static void teardown(void)
{
    coordinator_free(c);
    c = NULL;
    coordinator_actions_release(&actions);
}

/* From the trigger to the last ack; leaves attempt `id` finalizing. */
static void run_to_finalize(uint64_t id)
{
    char want[32];

    ck_assert_str_eq(
        EV(EVENT_BEGUN, .checkpoint_id = id),
        (snprintf(want, sizeof want, "trigger %d>0; trigger %d>1", (int)id, (int)id), want));
    for (uint32_t t = 0; t + 1 < TASKS; t++)
        ck_assert_str_eq(ack(id, t), "");
    snprintf(want, sizeof want, "finalize %d", (int)id);
    ck_assert_str_eq(ack(id, TASKS - 1), want);
}
static const char *finalized(uint64_t id)
{
    char path[32];

    snprintf(path, sizeof path, "/cp/chk-%d", (int)id);
    return EV(EVENT_FINALIZED, .checkpoint_id = id, .path = path);
}

/* ---- one attempt ----------------------------------------------------------------------------- */

START_TEST(attempt_goes_from_begin_to_notification)
{
    ck_assert_int_eq(coordinator_next_mono_ms(c), 1000);
    ck_assert_str_eq(tick_at(999), "");
    ck_assert_str_eq(tick_at(1000), "begin 1 cp");
    ck_assert_uint_eq(coordinator_pending_id(c), 1);
    run_to_finalize(1);
    ck_assert(coordinator_finalizing(c));
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean");
    ck_assert_uint_eq(coordinator_latest(c)->id, 1);
    ck_assert_uint_eq(coordinator_pending_id(c), 0);
}
END_TEST

/* From when its barrier may overtake, on the clock of the event; savepoints and stops never do, nor anything at least once. */
static const struct {
    bool unaligned, exactly_once;
    int64_t timeout_ms;
    enum request_kind request;
    int64_t want_ns;
} overtaking[] = {
    {false, true, 0, REQUEST_CHECKPOINT, 0},
    {true, true, 0, REQUEST_CHECKPOINT, 400 * 1000000},
    {true, true, 30, REQUEST_CHECKPOINT, 430 * 1000000},
    {true, false, 0, REQUEST_CHECKPOINT, 0},
    {true, true, 0, REQUEST_SAVEPOINT, 0},
    {true, true, 30, REQUEST_STOP, 0},
};
START_TEST(a_barrier_says_from_when_it_may_overtake)
{
    struct coordinator_config k = config();

    k.unaligned = overtaking[_i].unaligned;
    k.exactly_once = overtaking[_i].exactly_once;
    k.aligned_timeout_ms = overtaking[_i].timeout_ms;
    start_with(k);
    now = 400;
    EV(EVENT_REQUEST, .request_id = 5, .request = overtaking[_i].request);
    ck_assert_int_eq(actions.list[0].kind, ACTION_BEGIN);
    ck_assert_int_eq(actions.list[0].barrier.overtake_mono_ns, overtaking[_i].want_ns);
}
END_TEST

START_TEST(older_checkpoint_is_subsumed_after_the_newer_is_notified)
{
    tick_at(1000);
    run_to_finalize(1);
    finalized(1);
    ck_assert_str_eq(tick_at(2000), "begin 2 cp");
    run_to_finalize(2);
    ck_assert_str_eq(finalized(2), "adopt 2; complete 2; subsumed 1; discard 1; clean");
    ck_assert_str_eq(EV(EVENT_DISCARDED, .checkpoint_id = 1), "");
}
END_TEST

START_TEST(no_metadata_before_the_last_ack_and_a_second_ack_counts_once)
{
    tick_at(1000);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    ck_assert_str_eq(ack(1, 0), "");
    ck_assert_str_eq(ack(1, 0), "");
    ck_assert_str_eq(ack(1, 0), "");
    ck_assert_str_eq(ack(1, 0), "");
    ck_assert_str_eq(ack(1, 1), "");
    ck_assert_str_eq(ack(7, 2), ""); /* never heard of */
    ck_assert_str_eq(ack(1, 2), "");
    ck_assert_str_eq(ack(1, 3), "finalize 1");
}
END_TEST

/* ---- several under way ----------------------------------------------------------------------- */

static void start_with_two(void)
{
    struct coordinator_config k = config();

    k.max_concurrent = 2;
    k.tolerable_failures = 1;
    start_with(k);
    now = coordinator_next_mono_ms(c);
    tick_at(now);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
}
static void begin_second(void)
{
    ck_assert_str_eq(tick_at(now + 1000), "begin 2 cp");
    ck_assert_str_eq(EV(EVENT_BEGUN, .checkpoint_id = 2), "trigger 2>0; trigger 2>1");
}
static void ack_but_last(uint64_t id)
{
    for (uint32_t t = 0; t + 1 < TASKS; t++)
        ck_assert_str_eq(ack(id, t), "");
}

START_TEST(as_many_as_allowed_are_under_way_and_complete_one_after_the_other)
{
    start_with_two();
    begin_second();
    ck_assert_str_eq(tick_at(now + 1000), ""); /* a third waits */
    ack_but_last(1);
    ack_but_last(2);
    ck_assert_str_eq(ack(1, TASKS - 1), "finalize 1");
    ck_assert_str_eq(ack(2, TASKS - 1), ""); /* one _metadata at a time */
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean; finalize 2; begin 3 cp");
    ck_assert_str_eq(finalized(2), "adopt 2; complete 2; subsumed 1; discard 1; clean");
    ck_assert_uint_eq(coordinator_pending_id(c), 3);
}
END_TEST

START_TEST(a_newer_one_that_completes_first_gives_the_older_up)
{
    start_with_two();
    begin_second();
    ack_but_last(2);
    ck_assert_str_eq(ack(2, TASKS - 1), "finalize 2");
    ck_assert_str_eq(finalized(2),
                     "adopt 2; aborted 1; discard-attempt 1; clean; complete 2; clean");
    ck_assert_str_eq(ack(1, 0), "discard-attempt 1; clean");
}
END_TEST

START_TEST(a_newer_checkpoint_leaves_a_savepoint_under_way_alone)
{
    struct coordinator_config k = config();

    k.max_concurrent = 2;
    start_with(k);
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 5, .request = REQUEST_SAVEPOINT),
                     "begin 1 sp /sp");
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    now = coordinator_next_mono_ms(c);
    ck_assert_str_eq(tick_at(now), "begin 2 cp");
    run_to_finalize(2);
    ck_assert_str_eq(finalized(2), "adopt 2; complete 2; clean");
    ack_but_last(1);
    ck_assert_str_eq(ack(1, TASKS - 1), "finalize 1");
    ck_assert_str_eq(EV(EVENT_FINALIZED, .checkpoint_id = 1, .path = "/sp/savepoint-x"),
                     "adopt 1; answer 5 ok /sp/savepoint-x");
}
END_TEST

START_TEST(each_attempt_has_its_own_time)
{
    start_with_two();
    begin_second();
    ck_assert_int_eq(coordinator_next_mono_ms(c), now + 1000); /* the periodic one */
    ck_assert_str_eq(tick_at(now + 9000), "aborted 1; discard-attempt 1; clean; begin 3 cp");
    ck_assert_uint_eq(coordinator_pending_id(c), 3);
}
END_TEST

/* 1 is late, 2 completes: that 1 failed says nothing of how it goes now. */
START_TEST(what_fails_behind_a_success_does_not_count)
{
    struct coordinator_config k = config();

    k.max_concurrent = 2;
    start_with(k);
    EV(EVENT_REQUEST, .request_id = 5, .request = REQUEST_SAVEPOINT);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    now = coordinator_next_mono_ms(c);
    tick_at(now);
    run_to_finalize(2);
    finalized(2);
    tick_at(now + 1000);
    ck_assert_str_eq(EV(EVENT_BEGIN_FAILED, .checkpoint_id = 3, .message = "x"),
                     "discard-attempt 3; clean; fail-job");
}
END_TEST

START_TEST(a_stop_is_alone_under_way)
{
    start_with_two();
    begin_second();
    ack_but_last(1);
    ck_assert_str_eq(ack(1, TASKS - 1), "finalize 1");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 5, .request = REQUEST_STOP),
                     "aborted 2; discard-attempt 2; clean"); /* 1 has to come to its end */
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean; begin 3 suspend /sp");
    ck_assert_str_eq(EV(EVENT_BEGUN, .checkpoint_id = 3), "trigger 3>0; trigger 3>1");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 6, .request = REQUEST_CHECKPOINT),
                     "answer 6 state");
}
END_TEST

/* The tasks' last results are out: they take no part in the one that began before that. */
START_TEST(the_last_checkpoint_of_a_bounded_job_gives_newer_ones_up)
{
    start_with_two();
    for (uint32_t t = 0; t < TASKS; t++)
        ck_assert_str_eq(EV(EVENT_TASK_END_OF_DATA, .task = t), "");
    begin_second();
    ack_but_last(1);
    ck_assert_str_eq(ack(1, TASKS - 1), "finalize 1");
    ck_assert_str_eq(finalized(1),
                     "adopt 1; aborted 2; discard-attempt 2; clean; complete 1; clean");
    for (uint32_t t = 0; t < TASKS; t++)
        ck_assert_str_eq(EV(EVENT_TASK_FINISHED, .task = t), "");
}
END_TEST

START_TEST(all_that_is_under_way_goes_with_the_job)
{
    start_with_two();
    begin_second();
    ck_assert_str_eq(EV(EVENT_JOB_FAILING), "aborted 1; discard-attempt 1; clean; "
                                            "aborted 2; discard-attempt 2; clean");
}
END_TEST

/* ---- when ------------------------------------------------------------------------------------ */

START_TEST(first_trigger_is_random_within_pause_and_interval)
{
    struct coordinator_config k = config();
    bool differ = false;
    int64_t first = 0;

    k.min_pause_ms = 300;
    for (uint64_t seed = 0; seed < 50; seed++) {
        rng_seed(&k.rng, seed);
        start_with(k);
        ck_assert_int_ge(coordinator_next_mono_ms(c), 300);
        ck_assert_int_le(coordinator_next_mono_ms(c), 1000);
        differ = differ || (seed > 0 && coordinator_next_mono_ms(c) != first);
        first = coordinator_next_mono_ms(c);
    }
    ck_assert(differ);
}
END_TEST

START_TEST(periodic_triggers_keep_a_fixed_rate)
{
    int64_t first = coordinator_next_mono_ms(c);

    now = first + 300; /* the driver was late */
    ck_assert_str_eq(tick_at(now), "begin 1 cp");
    run_to_finalize(1);
    finalized(1);
    ck_assert_int_eq(coordinator_next_mono_ms(c), first + 1000);
    ck_assert_str_eq(tick_at(first + 1000), "begin 2 cp");
    run_to_finalize(2);
    finalized(2);
    EV(EVENT_DISCARDED, .checkpoint_id = 1);
    ck_assert_str_eq(tick_at(first + 5500), "begin 3 cp"); /* turns slept through are left out */
    run_to_finalize(3);
    finalized(3);
    ck_assert_int_eq(coordinator_next_mono_ms(c), first + 6000);
}
END_TEST

/* A whole attempt, at once. */
static void complete_now(uint64_t id)
{
    EV(EVENT_BEGUN, .checkpoint_id = id);
    for (uint32_t t = 0; t < TASKS; t++)
        ack(id, t);
    ck_assert_ptr_nonnull(
        strstr(EV(EVENT_FINALIZED, .checkpoint_id = id, .path = "/c"), "adopt"));
}

static void start_with_backlog_interval(int64_t backlog_ms)
{
    struct coordinator_config k = config();

    k.min_pause_ms = k.interval_ms;
    k.interval_during_backlog_ms = backlog_ms;
    coordinator_free(c);
    c = coordinator_new(&k);
    now = 0;
    EV(EVENT_START);
    EV(EVENT_BACKLOG, .task = 0, .backlog = true); /* before its RUNNING */
    EV(EVENT_BACKLOG, .task = 1, .backlog = true);
    for (uint32_t t = 0; t < TASKS; t++)
        EV(EVENT_TASK_RUNNING, .task = t);
}

/* While any source has one: as long as the last of them. */
START_TEST(during_a_backlog_its_own_interval_holds)
{
    start_with_backlog_interval(5000);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 1000); /* the first is never put off */
    ck_assert_str_eq(tick_at(1000), "begin 1 cp");
    complete_now(1);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 6000);
    ck_assert_str_eq(tick_at(2000), "");
    EV(EVENT_BACKLOG, .task = 1, .backlog = false);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 6000);
    now = 2500;
    EV(EVENT_BACKLOG, .task = 0, .backlog = false);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 3500); /* the usual interval from then on */
    ck_assert_str_eq(tick_at(3500), "begin 2 cp");
    complete_now(2);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 4500);
    /* One that begins anew takes effect behind the one that is planned. */
    EV(EVENT_BACKLOG, .task = 0, .backlog = true);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 4500);
    ck_assert_str_eq(tick_at(4500), "begin 3 cp");
    complete_now(3);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 9500);
}
END_TEST

START_TEST(none_at_all_during_a_backlog_but_what_is_asked_for)
{
    start_with_backlog_interval(0);
    ck_assert_int_eq(coordinator_next_mono_ms(c), INT64_MAX);
    ck_assert_str_eq(tick_at(50000), "");
    ck_assert_str_eq(
        EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_CHECKPOINT, .target_dir = NULL),
        "begin 1 cp");
    complete_now(1);
    ck_assert_int_eq(coordinator_next_mono_ms(c), INT64_MAX);
    EV(EVENT_BACKLOG, .task = 1, .backlog = false);
    ck_assert_int_eq(coordinator_next_mono_ms(c), INT64_MAX);
    EV(EVENT_TASK_END_OF_DATA, .task = 0); /* has none any more either */
    ck_assert_int_eq(coordinator_next_mono_ms(c), 51000);
    ck_assert_str_eq(tick_at(51000), "begin 2 cp");
}
END_TEST

/* Tasks that are gone have no backlog; those of the next deployment tell theirs. */
START_TEST(a_failure_forgets_backlogs)
{
    start_with_backlog_interval(0);
    EV(EVENT_JOB_FAILING);
    EV(EVENT_BACKLOG, .task = 0, .backlog = true); /* the last words of a task that is torn down */
    now = 100;
    EV(EVENT_START);
    for (uint32_t t = 0; t < TASKS; t++)
        EV(EVENT_TASK_RUNNING, .task = t);
    ck_assert_int_eq(coordinator_next_mono_ms(c), 1100);
    ck_assert_str_eq(tick_at(1100), "begin 1 cp");
}
END_TEST

START_TEST(one_periodic_request_waits_while_a_slow_attempt_runs)
{
    int64_t first = coordinator_next_mono_ms(c);

    tick_at(first);
    for (int i = 1; i <= 5; i++)
        ck_assert_str_eq(tick_at(first + i * 1000), "");
    now += 500;
    run_to_finalize(1);
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean; begin 2 cp");
    run_to_finalize(2);
    ck_assert_str_eq(finalized(2),
                     "adopt 2; complete 2; subsumed 1; discard 1; clean"); /* only one had waited */
}
END_TEST

START_TEST(trigger_within_the_pause_is_dropped_and_planned_anew)
{
    struct coordinator_config k = config();

    k.min_pause_ms = k.interval_ms;
    start_with(k);
    tick_at(1000);
    now = 1800;
    run_to_finalize(1);
    finalized(1);
    ck_assert_str_eq(tick_at(2000), ""); /* 200 ms after the end: too early */
    ck_assert_int_eq(coordinator_next_mono_ms(c), 2800);
    ck_assert_str_eq(tick_at(2799), "");
    ck_assert_str_eq(tick_at(2800), "begin 2 cp");
}
END_TEST

START_TEST(end_of_a_savepoint_counts_for_the_pause_but_a_savepoint_ignores_it)
{
    tick_at(1000);
    run_to_finalize(1);
    finalized(1);
    now = 1100;
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 9, .request = REQUEST_SAVEPOINT),
                     "begin 2 sp /sp");
    now = 1900;
    run_to_finalize(2);
    ck_assert_str_eq(EV(EVENT_FINALIZED, .checkpoint_id = 2, .path = "/sp/savepoint-x"),
                     "adopt 2; answer 9 ok /sp/savepoint-x");
    ck_assert_str_eq(tick_at(2000), "");
    ck_assert_int_eq(coordinator_next_mono_ms(c), 2900);
}
END_TEST

START_TEST(without_interval_only_requests_start_and_failures_never_fail_the_job)
{
    struct coordinator_config k = config();

    k.interval_ms = 0;
    k.tolerable_failures = COORDINATOR_UNLIMITED;
    start_with(k);
    ck_assert_int_eq(coordinator_next_mono_ms(c), INT64_MAX);
    ck_assert_str_eq(tick_at(1000000), "");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_CHECKPOINT),
                     "begin 1 cp");
    ck_assert_str_eq(EV(EVENT_BEGIN_FAILED, .checkpoint_id = 1, .message = "disk full"),
                     "discard-attempt 1; clean; answer 1 io");
    ck_assert_ptr_nonnull(strstr(message_of(ACTION_ANSWER), "disk full"));
    EV(EVENT_REQUEST, .request_id = 2, .request = REQUEST_CHECKPOINT);
    run_to_finalize(2);
    ck_assert_str_eq(finalized(2), "adopt 2; complete 2; clean; answer 2 ok /cp/chk-2");
}
END_TEST

START_TEST(periodic_trigger_waits_until_all_tasks_run_and_a_request_is_refused)
{
    struct coordinator_config k = config();

    coordinator_free(c);
    c = coordinator_new(&k);
    now = 0;
    EV(EVENT_START);
    for (uint32_t t = 0; t < 3; t++)
        EV(EVENT_TASK_RUNNING, .task = t);
    ck_assert_str_eq(tick_at(5000), "");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_SAVEPOINT),
                     "answer 1 state");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 2, .request = REQUEST_STOP), "answer 2 state");
    ck_assert_str_eq(EV(EVENT_TASK_RUNNING, .task = 3), "begin 1 cp");
}
END_TEST

/* ---- failures -------------------------------------------------------------------------------- */

/* B01, B42: every way an attempt can fail leaves a discard behind, and the default tolerates none.
 */
static const struct {
    const char *name;
    struct coordinator_event event;
    int64_t after_ms;
    const char *want, *part;
} failing[] = {
    {"timeout",
     {.kind = EVENT_TICK},
     10000,
     "aborted 1; discard-attempt 1; clean; fail-job",
     "1 of 4 tasks missing, among them Sink (2/2)"},
    {"decline",
     {.kind = EVENT_DECLINE,
      .checkpoint_id = 1,
      .task = 3,
      .failure = FAILURE_DECLINED,
      .message = "EIO"},
     1,
     "aborted 1; discard-attempt 1; clean; fail-job",
     "Sink (2/2): EIO"},
    {"async",
     {.kind = EVENT_DECLINE, .checkpoint_id = 1, .task = 3, .failure = FAILURE_ASYNC},
     1,
     "aborted 1; discard-attempt 1; clean; fail-job",
     "Asynchronous"},
    {"closing",
     {.kind = EVENT_DECLINE, .checkpoint_id = 1, .task = 3, .failure = FAILURE_TASK_CLOSING},
     1,
     "aborted 1; discard-attempt 1; clean",
     NULL},
    {"finished",
     {.kind = EVENT_TASK_FINISHED, .task = 3},
     1,
     "aborted 1; discard-attempt 1; clean",
     NULL},
};
START_TEST(failure_of_an_attempt_is_cleaned_up_and_counted_when_it_counts)
{
    tick_at(1000);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    for (uint32_t t = 0; t < 3; t++)
        ack(1, t);
    now = 1000 + failing[_i].after_ms;
    ck_assert_str_eq(step(failing[_i].event), failing[_i].want);
    if (failing[_i].part != NULL)
        ck_assert_ptr_nonnull(strstr(message_of(ACTION_FAIL_JOB), failing[_i].part));
    /* what comes late is discarded, again and again */
    ck_assert_str_eq(ack(1, 3), "discard-attempt 1; clean");
    ck_assert_str_eq(ack(1, 3), "discard-attempt 1; clean");
}
END_TEST

START_TEST(failed_metadata_counts_and_is_discarded)
{
    tick_at(1000);
    run_to_finalize(1);
    ck_assert_str_eq(EV(EVENT_FINALIZE_FAILED, .checkpoint_id = 1, .message = "no space"),
                     "aborted 1; discard-attempt 1; clean; fail-job");
    ck_assert_ptr_nonnull(strstr(message_of(ACTION_FAIL_JOB), "no space"));
    ck_assert_ptr_null(coordinator_latest(c));
}
END_TEST

START_TEST(timeout_does_not_interrupt_the_writing_of_metadata)
{
    tick_at(1000);
    run_to_finalize(1);
    ck_assert_str_eq(tick_at(500000), "");
    ck_assert_str_eq(finalized(1),
                     "adopt 1; complete 1; clean"); /* the pause keeps the next one back */
}
END_TEST

START_TEST(directory_made_after_the_attempt_was_given_up_is_discarded_again)
{
    tick_at(1000);
    ck_assert_str_eq(tick_at(11000),
                     "discard-attempt 1; clean; fail-job"); /* never begun: nobody to notify */
    ck_assert_str_eq(EV(EVENT_BEGUN, .checkpoint_id = 1), "discard-attempt 1; clean");
}
END_TEST

START_TEST(job_fails_only_above_the_tolerated_number_and_success_forgets)
{
    struct coordinator_config k = config();
    uint64_t id = 1;

    k.min_pause_ms = k.interval_ms;
    k.tolerable_failures = 2;
    start_with(k);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++, id++) {
            tick_at(coordinator_next_mono_ms(c));
            EV(EVENT_BEGIN_FAILED, .checkpoint_id = id, .message = "EACCES");
            ck_assert_ptr_null(strstr(shown, "fail-job"));
        }
        tick_at(coordinator_next_mono_ms(c));
        run_to_finalize(id);
        finalized(id);
        EV(EVENT_TICK);
        id++;
    }
    for (int i = 0; i < 3; i++, id++) {
        tick_at(coordinator_next_mono_ms(c));
        EV(EVENT_BEGIN_FAILED, .checkpoint_id = id, .message = "EACCES");
        ck_assert_int_eq(strstr(shown, "fail-job") != NULL, i == 2);
    }
    ck_assert_ptr_nonnull(strstr(message_of(ACTION_FAIL_JOB), "tolerable failure threshold (2)"));
    ck_assert_str_eq(tick_at(now + 100000), ""); /* nothing starts until the job is up again */
}
END_TEST

START_TEST(failed_savepoint_answers_and_never_counts)
{
    EV(EVENT_REQUEST, .request_id = 5, .request = REQUEST_SAVEPOINT, .target_dir = "/mine");
    ck_assert_str_eq(shown, "begin 1 sp /mine");
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    ck_assert_str_eq(EV(EVENT_DECLINE, .checkpoint_id = 1, .task = 0, .failure = FAILURE_DECLINED,
                        .message = "ENOSPC"),
                     "aborted 1; discard-attempt 1; clean; answer 5 io");
    ck_assert_ptr_nonnull(strstr(message_of(ACTION_ANSWER), "ENOSPC"));
}
END_TEST

/* ---- savepoints and the queue ---------------------------------------------------------------- */

/* B35: completion of a plain savepoint is told to nobody but the caller, and it enters no store. */
START_TEST(plain_savepoint_commits_nothing_and_stays_out_of_the_store)
{
    tick_at(1000);
    run_to_finalize(1);
    finalized(1);
    EV(EVENT_REQUEST, .request_id = 5, .request = REQUEST_SAVEPOINT);
    run_to_finalize(2);
    ck_assert_str_eq(EV(EVENT_FINALIZED, .checkpoint_id = 2, .path = "/sp/s"),
                     "adopt 2; answer 5 ok /sp/s");
    ck_assert_uint_eq(coordinator_latest(c)->id, 1);
}
END_TEST

START_TEST(savepoints_come_first_and_requests_queue_behind_the_attempt)
{
    now = coordinator_next_mono_ms(c);
    tick_at(now);
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_CHECKPOINT), "");
    ck_assert_str_eq(tick_at(now + 1000), "");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 2, .request = REQUEST_SAVEPOINT), "");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 3, .request = REQUEST_SAVEPOINT), "");
    run_to_finalize(1);
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean; begin 2 sp /sp");
    run_to_finalize(2);
    ck_assert_str_eq(EV(EVENT_FINALIZED, .checkpoint_id = 2, .path = "/sp/2"),
                     "adopt 2; answer 2 ok /sp/2; begin 3 sp /sp");
    run_to_finalize(3);
    ck_assert_str_eq(EV(EVENT_FINALIZED, .checkpoint_id = 3, .path = "/sp/3"),
                     "adopt 3; answer 3 ok /sp/3; begin 4 cp");
    run_to_finalize(4);
    ck_assert_str_eq(
        finalized(4),
        "adopt 4; complete 4; subsumed 1; discard 1; clean; answer 1 ok /cp/chk-4; begin 5 cp");
}
END_TEST

START_TEST(savepoint_without_a_directory_is_refused)
{
    struct coordinator_config k = config();

    k.savepoint_dir = NULL;
    start_with(k);
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 5, .request = REQUEST_SAVEPOINT),
                     "answer 5 invalid");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 6, .request = REQUEST_STOP),
                     "answer 6 invalid");
    ck_assert_str_eq(
        EV(EVENT_REQUEST, .request_id = 7, .request = REQUEST_STOP, .target_dir = "/d"),
        "begin 1 suspend /d");
}
END_TEST

START_TEST(queue_past_its_limit_turns_the_last_away)
{
    tick_at(coordinator_next_mono_ms(c));
    for (uint64_t i = 1; i <= COORDINATOR_QUEUE_MAX; i++)
        ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = i, .request = REQUEST_CHECKPOINT), "");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 5000, .request = REQUEST_CHECKPOINT),
                     "answer 5000 limit");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 5001, .request = REQUEST_SAVEPOINT),
                     "answer 1000 limit");
}
END_TEST

/* ---- stop with savepoint --------------------------------------------------------------------- */

START_TEST(stop_saves_notifies_and_is_answered_when_the_job_has_finished)
{
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_STOP_DRAIN),
                     "begin 1 terminate /sp");
    ck_assert_str_eq(tick_at(2000), ""); /* the scheduler is off */
    run_to_finalize(1);
    ck_assert_str_eq(EV(EVENT_FINALIZED, .checkpoint_id = 1, .path = "/sp/x"),
                     "adopt 1; complete 1");
    ck_assert_str_eq(coordinator_stop_path(c), "/sp/x");
    for (uint32_t t = 0; t < TASKS; t++)
        ck_assert_str_eq(EV(EVENT_TASK_FINISHED, .task = t), "");
    ck_assert_str_eq(EV(EVENT_SHUTDOWN, .end = JOB_END_FINISHED), "answer 1 ok /sp/x; clean; done");
}
END_TEST

START_TEST(stop_aborts_what_is_pending_and_queued)
{
    tick_at(1000);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    EV(EVENT_REQUEST, .request_id = 8, .request = REQUEST_SAVEPOINT);
    ck_assert_str_eq(
        EV(EVENT_REQUEST, .request_id = 9, .request = REQUEST_STOP),
        "aborted 1; discard-attempt 1; clean; answer 8 cancelled; begin 2 suspend /sp");
}
END_TEST

START_TEST(stop_waits_for_metadata_being_written)
{
    tick_at(1000);
    run_to_finalize(1);
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 9, .request = REQUEST_STOP), "");
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean; begin 2 suspend /sp");
}
END_TEST

/* B50: two stops give one savepoint and one clear answer. */
START_TEST(second_stop_joins_the_first_or_is_refused)
{
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_STOP);
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 2, .request = REQUEST_STOP), "");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 3, .request = REQUEST_STOP_DRAIN),
                     "answer 3 state");
    ck_assert_str_eq(
        EV(EVENT_REQUEST, .request_id = 4, .request = REQUEST_STOP, .target_dir = "/other"),
        "answer 4 state");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 5, .request = REQUEST_SAVEPOINT),
                     "answer 5 state");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 6, .request = REQUEST_CHECKPOINT),
                     "answer 6 state");
    run_to_finalize(1);
    EV(EVENT_FINALIZED, .checkpoint_id = 1, .path = "/sp/x");
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 7, .request = REQUEST_STOP), "");
    for (uint32_t t = 0; t < TASKS; t++)
        EV(EVENT_TASK_FINISHED, .task = t);
    ck_assert_str_eq(EV(EVENT_SHUTDOWN, .end = JOB_END_FINISHED),
                     "answer 1 ok /sp/x; answer 2 ok /sp/x; answer 7 ok /sp/x; clean; done");
}
END_TEST

START_TEST(stop_whose_savepoint_cannot_be_written_lets_the_job_go_on)
{
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_STOP);
    run_to_finalize(1);
    ck_assert_str_eq(EV(EVENT_FINALIZE_FAILED, .checkpoint_id = 1, .message = "no space"),
                     "aborted 1; discard-attempt 1; clean; answer 1 io");
    ck_assert_int_eq(coordinator_next_mono_ms(c), now + 1000);
    ck_assert_str_eq(tick_at(now + 1000), "begin 2 cp");
}
END_TEST

START_TEST(stop_that_a_task_declines_fails_the_job_over)
{
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_STOP);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    ck_assert_str_eq(EV(EVENT_DECLINE, .checkpoint_id = 1, .task = 2, .failure = FAILURE_ASYNC,
                        .message = "EIO"),
                     "aborted 1; discard-attempt 1; clean; answer 1 io; fail-job");
}
END_TEST

/* The windows have fired: going on would count them twice. */
START_TEST(drain_that_fails_after_its_barrier_fails_the_job_over)
{
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_STOP_DRAIN);
    ck_assert_str_eq(EV(EVENT_BEGIN_FAILED, .checkpoint_id = 1, .message = "EACCES"),
                     "discard-attempt 1; clean; answer 1 io"); /* no barrier was out yet */
    EV(EVENT_REQUEST, .request_id = 2, .request = REQUEST_STOP_DRAIN);
    run_to_finalize(2);
    ck_assert_str_eq(EV(EVENT_FINALIZE_FAILED, .checkpoint_id = 2, .message = "no space"),
                     "aborted 2; discard-attempt 2; clean; answer 2 io; fail-job");
}
END_TEST

START_TEST(failure_after_the_savepoint_of_a_stop_names_it)
{
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_STOP);
    run_to_finalize(1);
    EV(EVENT_FINALIZED, .checkpoint_id = 1, .path = "/sp/x");
    ck_assert_str_eq(EV(EVENT_JOB_FAILING), "answer 1 state /sp/x");
    ck_assert_ptr_nonnull(strstr(message_of(ACTION_ANSWER), "/sp/x is complete"));
    EV(EVENT_START);
    ck_assert_ptr_null(coordinator_stop_path(c));
}
END_TEST

START_TEST(cancel_wins_over_a_stop_in_every_phase)
{
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_STOP);
    if (_i >= 1)
        EV(EVENT_BEGUN, .checkpoint_id = 1);
    for (uint32_t t = 0; t < TASKS && _i >= 2; t++)
        ack(1, t);
    if (_i >= 3)
        EV(EVENT_FINALIZED, .checkpoint_id = 1, .path = "/sp/x");
    switch (_i) {
    case 0:
        ck_assert_str_eq(EV(EVENT_CANCEL), "discard-attempt 1; clean; answer 1 cancelled");
        break;
    case 1:
        ck_assert_str_eq(EV(EVENT_CANCEL),
                         "aborted 1; discard-attempt 1; clean; answer 1 cancelled");
        break;
    case 2:
        ck_assert_str_eq(EV(EVENT_CANCEL), "");
        ck_assert_str_eq(EV(EVENT_FINALIZED, .checkpoint_id = 1, .path = "/sp/x"),
                         "adopt 1; answer 1 cancelled /sp/x");
        break;
    default:
        ck_assert_str_eq(EV(EVENT_CANCEL), "answer 1 cancelled /sp/x");
    }
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 2, .request = REQUEST_STOP), "answer 2 state");
    ck_assert_str_eq(EV(EVENT_SHUTDOWN, .end = JOB_END_CANCELED), "clean; done");
}
END_TEST

/* ---- restarts -------------------------------------------------------------------------------- */

START_TEST(failing_job_aborts_everything_and_starts_again_after_the_pause)
{
    struct coordinator_config k = config();

    k.min_pause_ms = 400;
    start_with(k);
    tick_at(coordinator_next_mono_ms(c));
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    EV(EVENT_REQUEST, .request_id = 3, .request = REQUEST_SAVEPOINT);
    ck_assert_str_eq(EV(EVENT_JOB_FAILING), "aborted 1; discard-attempt 1; clean; answer 3 state");
    ck_assert_int_eq(coordinator_next_mono_ms(c), INT64_MAX);
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 4, .request = REQUEST_SAVEPOINT),
                     "answer 4 state");
    ck_assert_str_eq(EV(EVENT_TASK_RUNNING, .task = 0), ""); /* last words of the old deployment */
    now += 5000;
    EV(EVENT_START);
    ck_assert_int_eq(coordinator_next_mono_ms(c), now + 400);
    for (uint32_t t = 0; t < TASKS; t++)
        EV(EVENT_TASK_RUNNING, .task = t);
    ck_assert_str_eq(tick_at(now + 400), "begin 2 cp"); /* ids grow (C9) */
}
END_TEST

START_TEST(metadata_written_while_the_job_fails_is_what_the_restart_goes_back_to)
{
    tick_at(1000);
    run_to_finalize(1);
    ck_assert_str_eq(EV(EVENT_JOB_FAILING), "");
    ck_assert(coordinator_finalizing(c));
    ck_assert_str_eq(finalized(1), "adopt 1; clean"); /* nobody runs who could be told */
    ck_assert_uint_eq(coordinator_latest(c)->id, 1);
}
END_TEST

/* ---- ends ------------------------------------------------------------------------------------ */

START_TEST(retention_table)
{
    static const bool keeps[3][4] = {
        /*                     FINISHED CANCELED FAILED SUSPENDED */
        [RETAIN_NONE] = {false, false, false, true},
        [RETAIN_DELETE_ON_CANCELLATION] = {false, false, true, true},
        [RETAIN_ON_CANCELLATION] = {false, true, true, true},
    };
    enum checkpoint_retention retention = (enum checkpoint_retention)(_i / 4);
    enum job_end end = (enum job_end)(_i % 4);
    struct coordinator_config k = config();

    k.retention = retention;
    k.num_retained = 2;
    start_with(k);
    for (uint64_t id = 1; id <= 3; id++) {
        tick_at(coordinator_next_mono_ms(c));
        run_to_finalize(id);
        finalized(id);
        if (id == 3)
            EV(EVENT_DISCARDED, .checkpoint_id = 1);
    }
    tick_at(coordinator_next_mono_ms(c)); /* one more is under way */
    ck_assert_uint_eq(coordinator_pending_id(c), 4);
    EV(EVENT_SHUTDOWN, .end = end);
    ck_assert_int_eq(retention_keeps(retention, end), keeps[retention][end]);
    if (keeps[retention][end])
        ck_assert_str_eq(shown, end == JOB_END_SUSPENDED ? "discard-attempt 4; clean; done"
                                                         : "discard-attempt 4; clean; clean; done");
    else
        ck_assert_str_eq(shown, "discard-attempt 4; clean; discard 2; discard 3; clean; done");
    ck_assert_str_eq(EV(EVENT_SHUTDOWN, .end = end), "");
    ck_assert_int_eq(coordinator_next_mono_ms(c), INT64_MAX);
}
END_TEST

START_TEST(shutdown_waits_for_the_outcome_of_metadata)
{
    tick_at(1000);
    run_to_finalize(1);
    EV(EVENT_CANCEL);
    ck_assert_str_eq(EV(EVENT_SHUTDOWN, .end = JOB_END_CANCELED), "");
    if (_i == 0)
        ck_assert_str_eq(finalized(1), "adopt 1; clean; clean; done"); /* retained */
    else
        ck_assert_str_eq(EV(EVENT_FINALIZE_FAILED, .checkpoint_id = 1, .message = "EIO"),
                         "aborted 1; discard-attempt 1; clean; clean; done");
}
END_TEST

START_TEST(suspend_starts_nothing_more_and_deletes_nothing)
{
    tick_at(1000);
    run_to_finalize(1);
    finalized(1);
    tick_at(2000);
    EV(EVENT_BEGUN, .checkpoint_id = 2);
    ck_assert_str_eq(EV(EVENT_SUSPEND), "aborted 2; discard-attempt 2; clean");
    ck_assert_str_eq(tick_at(9000), "");
    ck_assert_str_eq(EV(EVENT_SHUTDOWN, .end = JOB_END_SUSPENDED), "done");
}
END_TEST

/* ---- bounded input --------------------------------------------------------------------------- */

/* B37: with an interval of an hour the last rows would wait an hour. */
START_TEST(final_checkpoint_starts_when_the_last_task_is_at_its_end)
{
    struct coordinator_config k = config();

    k.interval_ms = k.min_pause_ms = 3600000;
    start_with(k);
    for (uint32_t t = 0; t + 1 < TASKS; t++)
        ck_assert_str_eq(EV(EVENT_TASK_END_OF_DATA, .task = t), "");
    ck_assert_str_eq(EV(EVENT_TASK_END_OF_DATA, .task = 3), "begin 1 cp");
    run_to_finalize(1);
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean");
    ck_assert_str_eq(tick_at(100), ""); /* no second one while the tasks go */
    for (uint32_t t = 0; t < TASKS; t++)
        ck_assert_str_eq(EV(EVENT_TASK_FINISHED, .task = t), "");
    ck_assert_str_eq(EV(EVENT_SHUTDOWN, .end = JOB_END_FINISHED), "discard 1; clean; done");
}
END_TEST

START_TEST(checkpoint_begun_before_the_end_is_not_the_final_one)
{
    tick_at(1000);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    for (uint32_t t = 0; t < TASKS; t++)
        ack(1, t); /* all acked, then all reach their end */
    for (uint32_t t = 0; t < TASKS; t++)
        EV(EVENT_TASK_END_OF_DATA, .task = t);
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean; begin 2 cp");
}
END_TEST

START_TEST(checkpoint_that_met_every_task_at_its_end_is_the_final_one)
{
    tick_at(1000);
    EV(EVENT_BEGUN, .checkpoint_id = 1);
    for (uint32_t t = 0; t < TASKS; t++) {
        EV(EVENT_TASK_END_OF_DATA, .task = t);
        ack(1, t);
    }
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean");
    ck_assert_str_eq(tick_at(5000), "");
}
END_TEST

START_TEST(failed_final_checkpoint_is_tried_again)
{
    struct coordinator_config k = config();

    k.tolerable_failures = 1;
    k.interval_ms = k.min_pause_ms = 3600000;
    start_with(k);
    for (uint32_t t = 0; t < TASKS; t++)
        EV(EVENT_TASK_END_OF_DATA, .task = t);
    ck_assert_str_eq(EV(EVENT_BEGIN_FAILED, .checkpoint_id = 1, .message = "EIO"),
                     "discard-attempt 1; clean");
    ck_assert_int_eq(coordinator_next_mono_ms(c), 1000);
    ck_assert_str_eq(tick_at(999), "");
    ck_assert_str_eq(tick_at(1000), "begin 2 cp");
    ck_assert_str_eq(EV(EVENT_BEGIN_FAILED, .checkpoint_id = 2, .message = "EIO"),
                     "discard-attempt 2; clean; fail-job");
}
END_TEST

/* One source has ended: its barrier enters nowhere, nobody waits for its ack. */
START_TEST(checkpoints_go_on_after_some_tasks_have_finished)
{
    EV(EVENT_TASK_END_OF_DATA, .task = 0);
    tick_at(1000);
    run_to_finalize(1);
    ck_assert_str_eq(finalized(1), "adopt 1; complete 1; clean");
    ck_assert_str_eq(tick_at(2000), ""); /* task 0 is on its way out */
    ck_assert_str_eq(EV(EVENT_TASK_FINISHED, .task = 0), "begin 2 cp");
    ck_assert_str_eq(EV(EVENT_BEGUN, .checkpoint_id = 2), "trigger 2>1");
    ack(2, 1);
    ack(2, 2);
    ck_assert_str_eq(ack(2, 3), "finalize 2");
    finalized(2);
    EV(EVENT_TASK_END_OF_DATA, .task = 1);
    EV(EVENT_DISCARDED, .checkpoint_id = 1);
    tick_at(3000);
    EV(EVENT_BEGUN, .checkpoint_id = 3);
    for (uint32_t t = 1; t < TASKS; t++)
        ack(3, t);
    finalized(3);
    EV(EVENT_DISCARDED, .checkpoint_id = 2);
    EV(EVENT_TASK_FINISHED, .task = 1);
    tick_at(4000);
    ck_assert_str_eq(EV(EVENT_BEGUN, .checkpoint_id = 4),
                     "trigger 4>2; trigger 4>3"); /* now they are the heads */
}
END_TEST

START_TEST(pointwise_edge_feeds_only_its_own_subtask)
{
    static const struct coordinator_edge pointwise[] = {{0, 1, true}};
    struct coordinator_config k = config();

    k.edges = pointwise;
    start_with(k);
    EV(EVENT_TASK_FINISHED, .task = 0);
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_CHECKPOINT);
    ck_assert_str_eq(EV(EVENT_BEGUN, .checkpoint_id = 1), "trigger 1>1; trigger 1>2");
}
END_TEST

START_TEST(finished_tasks_block_checkpoints_where_that_is_configured)
{
    struct coordinator_config k = config();

    k.after_tasks_finish = false;
    k.final_checkpoint = false;
    start_with(k);
    EV(EVENT_TASK_FINISHED, .task = 0);
    ck_assert_str_eq(EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_SAVEPOINT),
                     "answer 1 state");
    ck_assert_str_eq(tick_at(5000), "");
}
END_TEST

/* ---- restored snapshots, statistics ---------------------------------------------------------- */

START_TEST(restored_snapshot_is_the_fallback_until_the_first_checkpoint)
{
    struct coordinator_config k = config();
    struct completed_checkpoint restored = {
        .id = 41, .restored = true, .savepoint = true, .owned = _i == 1};

    coordinator_free(c);
    k.first_id = 42;
    c = coordinator_new(&k);
    now = 0;
    coordinator_restored(c, restored, "/sp/old", 5);
    ck_assert_uint_eq(coordinator_latest(c)->id, 41);
    EV(EVENT_START);
    for (uint32_t t = 0; t < TASKS; t++)
        EV(EVENT_TASK_RUNNING, .task = t);
    tick_at(1000);
    run_to_finalize(42);
    ck_assert_str_eq(finalized(42), _i == 1 ? "adopt 42; complete 42; discard 41; clean"
                                            : "adopt 42; complete 42; forget 41; clean");
}
END_TEST

START_TEST(statistics_tell_what_happened)
{
    struct arena *arena = arena_new(0);
    struct checkpoint_stats s;

    tick_at(1000);
    now = 1050;
    run_to_finalize(1);
    finalized(1);
    tick_at(2050);
    now = 2250;
    run_to_finalize(2);
    finalized(2);
    EV(EVENT_REQUEST, .request_id = 1, .request = REQUEST_SAVEPOINT);
    EV(EVENT_BEGUN, .checkpoint_id = 3);
    EV(EVENT_DECLINE, .checkpoint_id = 3, .task = 0, .failure = FAILURE_DECLINED, .message = "no");
    EV(EVENT_REQUEST, .request_id = 2, .request = REQUEST_SAVEPOINT);
    stats_tracker_view(coordinator_stats(c), arena, &s);
    ck_assert_uint_eq(s.total_count, 4);
    ck_assert_uint_eq(s.completed_count, 2);
    ck_assert_uint_eq(s.failed_count, 1);
    ck_assert_uint_eq(s.in_progress_count, 1);
    ck_assert_uint_eq(s.latest_completed->id, 2);
    ck_assert_str_eq(s.latest_completed->external_path, "/cp/chk-2");
    ck_assert_uint_eq(s.latest_completed->checkpointed_bytes, 40);
    ck_assert_uint_eq(s.latest_completed->vertices[1].state_bytes, 200);
    ck_assert_uint_eq(s.latest_failed->id, 3);
    ck_assert_ptr_nonnull(strstr(s.latest_failed->failure_message, "Source (1/2): no"));
    ck_assert_ptr_null(s.latest_savepoint);
    ck_assert_uint_eq(s.history_count, 4);
    ck_assert_uint_eq(s.history[0].id, 4);
    ck_assert(checkpoint_stats_find(&s, 1)->discarded);
    ck_assert_int_eq(s.end_to_end_ms.min, 50);
    ck_assert_int_eq(s.end_to_end_ms.max, 200);
    ck_assert_int_eq(s.end_to_end_ms.avg, 125);
    arena_free(arena);
}
END_TEST

START_TEST(restart_is_shown_as_a_restore)
{
    struct arena *arena = arena_new(0);
    struct checkpoint_stats s;

    tick_at(1000);
    run_to_finalize(1);
    finalized(1);
    EV(EVENT_JOB_FAILING);
    EV(EVENT_START);
    stats_tracker_view(coordinator_stats(c), arena, &s);
    ck_assert(s.restored);
    ck_assert_uint_eq(s.restored_id, 1);
    ck_assert_str_eq(s.restored_path, "/cp/chk-1");
    arena_free(arena);
}
END_TEST

static void add_cases(TCase *tc)
{
    tcase_add_test(tc, attempt_goes_from_begin_to_notification);
    tcase_add_loop_test(tc, a_barrier_says_from_when_it_may_overtake, 0, ARRAY_LEN(overtaking));
    tcase_add_test(tc, older_checkpoint_is_subsumed_after_the_newer_is_notified);
    tcase_add_test(tc, no_metadata_before_the_last_ack_and_a_second_ack_counts_once);
    tcase_add_test(tc, as_many_as_allowed_are_under_way_and_complete_one_after_the_other);
    tcase_add_test(tc, a_newer_one_that_completes_first_gives_the_older_up);
    tcase_add_test(tc, a_newer_checkpoint_leaves_a_savepoint_under_way_alone);
    tcase_add_test(tc, each_attempt_has_its_own_time);
    tcase_add_test(tc, what_fails_behind_a_success_does_not_count);
    tcase_add_test(tc, a_stop_is_alone_under_way);
    tcase_add_test(tc, the_last_checkpoint_of_a_bounded_job_gives_newer_ones_up);
    tcase_add_test(tc, all_that_is_under_way_goes_with_the_job);
    tcase_add_test(tc, first_trigger_is_random_within_pause_and_interval);
    tcase_add_test(tc, trigger_within_the_pause_is_dropped_and_planned_anew);
    tcase_add_test(tc, end_of_a_savepoint_counts_for_the_pause_but_a_savepoint_ignores_it);
    tcase_add_test(tc, without_interval_only_requests_start_and_failures_never_fail_the_job);
    tcase_add_test(tc, periodic_trigger_waits_until_all_tasks_run_and_a_request_is_refused);
    tcase_add_loop_test(tc, failure_of_an_attempt_is_cleaned_up_and_counted_when_it_counts, 0,
                        ARRAY_LEN(failing));
    tcase_add_test(tc, failed_metadata_counts_and_is_discarded);
    tcase_add_test(tc, timeout_does_not_interrupt_the_writing_of_metadata);
    tcase_add_test(tc, directory_made_after_the_attempt_was_given_up_is_discarded_again);
    tcase_add_test(tc, job_fails_only_above_the_tolerated_number_and_success_forgets);
    tcase_add_test(tc, failed_savepoint_answers_and_never_counts);
    tcase_add_test(tc, plain_savepoint_commits_nothing_and_stays_out_of_the_store);
    tcase_add_test(tc, savepoint_without_a_directory_is_refused);
    tcase_add_test(tc, stop_saves_notifies_and_is_answered_when_the_job_has_finished);
    tcase_add_test(tc, stop_aborts_what_is_pending_and_queued);
    tcase_add_test(tc, stop_waits_for_metadata_being_written);
    tcase_add_test(tc, second_stop_joins_the_first_or_is_refused);
    tcase_add_test(tc, stop_whose_savepoint_cannot_be_written_lets_the_job_go_on);
    tcase_add_test(tc, stop_that_a_task_declines_fails_the_job_over);
    tcase_add_test(tc, drain_that_fails_after_its_barrier_fails_the_job_over);
    tcase_add_test(tc, failure_after_the_savepoint_of_a_stop_names_it);
    tcase_add_loop_test(tc, cancel_wins_over_a_stop_in_every_phase, 0, 4);
    tcase_add_test(tc, failing_job_aborts_everything_and_starts_again_after_the_pause);
    tcase_add_test(tc, metadata_written_while_the_job_fails_is_what_the_restart_goes_back_to);
    tcase_add_loop_test(tc, retention_table, 0, 12);
    tcase_add_loop_test(tc, shutdown_waits_for_the_outcome_of_metadata, 0, 2);
    tcase_add_test(tc, suspend_starts_nothing_more_and_deletes_nothing);
    tcase_add_test(tc, final_checkpoint_starts_when_the_last_task_is_at_its_end);
    tcase_add_test(tc, checkpoint_begun_before_the_end_is_not_the_final_one);
    tcase_add_test(tc, checkpoint_that_met_every_task_at_its_end_is_the_final_one);
    tcase_add_test(tc, failed_final_checkpoint_is_tried_again);
    tcase_add_test(tc, checkpoints_go_on_after_some_tasks_have_finished);
    tcase_add_test(tc, pointwise_edge_feeds_only_its_own_subtask);
    tcase_add_test(tc, finished_tasks_block_checkpoints_where_that_is_configured);
    tcase_add_loop_test(tc, restored_snapshot_is_the_fallback_until_the_first_checkpoint, 0, 2);
    tcase_add_test(tc, statistics_tell_what_happened);
    tcase_add_test(tc, restart_is_shown_as_a_restore);
}

static TCase *cases_without_pause(void)
{
    TCase *tc = tcase_create("without pause");

    tcase_add_checked_fixture(tc, setup_without_pause, teardown);
    tcase_add_test(tc, periodic_triggers_keep_a_fixed_rate);
    tcase_add_test(tc, during_a_backlog_its_own_interval_holds);
    tcase_add_test(tc, none_at_all_during_a_backlog_but_what_is_asked_for);
    tcase_add_test(tc, a_failure_forgets_backlogs);
    tcase_add_test(tc, one_periodic_request_waits_while_a_slow_attempt_runs);
    tcase_add_test(tc, savepoints_come_first_and_requests_queue_behind_the_attempt);
    tcase_add_test(tc, queue_past_its_limit_turns_the_last_away);
    return tc;
}

TEST_MAIN("coordinator", {
    tcase_add_checked_fixture(tc, setup, teardown);
    add_cases(tc);
    suite_add_tcase(suite, cases_without_pause());
})
