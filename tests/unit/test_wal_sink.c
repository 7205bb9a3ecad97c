/* links: sink */
/* wal_sink.c over a double of the target: when rows go in, what is tried again, and what a restore
 * from an older snapshot, or a fork, may do. */
#include "sink/wal_sink.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/pg_double.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/sim_fs.h"

static struct sim_clock sim;
static struct fs *fs;
static struct env env;
static struct arena *arena;
static struct err err;
static struct pg_double pg;
static struct pg_column column = {.name = "id", .type = "BIGINT", .taken = " int8 "};
static struct pg_table table;
static struct wal_sink_config config;
static _Atomic bool stop;
static int held;

static enum rc hold(void *ctx UNUSED, const char *name UNUSED, uint64_t size UNUSED,
                    struct digest128 digest UNUSED, uint64_t *out, struct err *e UNUSED)
{
    *out = 1;
    held++;
    return RC_OK;
}
static void release(void *ctx UNUSED, uint64_t id, const char *name UNUSED)
{
    ck_assert_uint_eq(id, 1);
    held--;
}

static void setup(void)
{
    fs = sim_fs_new(NULL);
    arena = arena_new(0);
    err = (struct err){0};
    sim_clock_init(&sim, 1000);
    env = (struct env){.fs = fs, .clock = &sim.clock};
    pg_double_init(&pg);
    atomic_store(&stop, false);
    held = 0;
    ck_assert_ok(fs_mkdir(fs, "/logs", &err));
    table = (struct pg_table){.name = "t", .column_count = 1, .columns = &column};
    config = (struct wal_sink_config){.env = &env,
                                      .dir = "/logs",
                                      .uuid = "aaaaaaaa-1111-4111-8111-111111111111",
                                      .name = "Sink[t]",
                                      .table = &table,
                                      .batch_rows = 3,
                                      .tries = 2,
                                      .retry_ms = 10000,
                                      .log_bytes_max = 1 << 20,
                                      .stop = &stop,
                                      .hold = hold,
                                      .release = release};
}
static void teardown(void)
{
    sim_fs_free(fs);
    arena_free(arena);
}

static enum rc open_sink(const struct sink_snapshot *restored, struct sink **out)
{
    return wal_sink_open(&config, pg_double_client(&pg), restored, out, &err);
}

static struct sink *opened(const struct sink_snapshot *restored)
{
    struct sink *s;

    ck_assert_ok(open_sink(restored, &s));
    return s;
}

static void write_rows(struct sink *s, unsigned first, unsigned last)
{
    char line[16];

    for (unsigned i = first; i <= last; i++) {
        snprintf(line, sizeof line, "%u\n", i);
        ck_assert_ok(sink_write(s, bytes_of_str(""), bytes_of_str(line), 1, 0, &err));
    }
}

static struct sink_snapshot prepare(struct sink *s, uint64_t id)
{
    struct sink_snapshot out;

    ck_assert_ok(sink_prepare(s, id, false, 0, arena, &out, &err));
    return out;
}

static void check_rows(unsigned last)
{
    for (unsigned i = 1; i < PG_DOUBLE_ROWS; i++)
        ck_assert_msg(pg.seen[i] == (i <= last), "row %u of 1..%u: %u times", i, last, pg.seen[i]);
}

START_TEST(rows_go_in_when_their_checkpoint_is_complete_and_not_before)
{
    struct sink *s = opened(NULL);
    struct sink_snapshot one, two;

    write_rows(s, 1, 4);
    one = prepare(s, 1);
    write_rows(s, 5, 9);
    two = prepare(s, 2);
    ck_assert_uint_eq(one.log_count, 1);
    ck_assert(one.logs[0].newly_written);
    ck_assert_uint_eq(two.log_count, 2);
    ck_assert(!two.logs[0].newly_written && two.logs[1].newly_written);
    check_rows(0);
    ck_assert_ok(sink_commit(s, 1, &err)); /* the second waits for its own */
    check_rows(4);
    ck_assert_int_eq(held, 1);
    ck_assert_ok(sink_commit(s, 2, &err));
    check_rows(9);
    ck_assert_uint_eq(pg.flushes, 2 + 2); /* batches of three */
    ck_assert_ok(sink_commit(s, 2, &err));
    check_rows(9);
    ck_assert_int_eq(held, 0);
    ck_assert_ok(sink_close(s, &err));
}
END_TEST

START_TEST(no_rows_make_no_log)
{
    struct sink *s = opened(NULL);

    ck_assert_uint_eq(prepare(s, 1).log_count, 0);
    ck_assert_ok(sink_commit(s, 1, &err));
    ck_assert_uint_eq(pg.commits, 0);
    sink_abort(s);
}
END_TEST

/* A server that is gone for a while, or gives a transaction up; and an answer that never came. */
START_TEST(each_call_of_the_target_may_fail_for_a_while)
{
    for (int late = 0; late < 2; late++)
        for (uint64_t k = 0;; k++) {
            struct sink *s;
            uint64_t calls;

            pg_double_init(&pg);
            pg.fail_at = k;
            pg.fail_times = 2;
            pg.fail_late = late != 0;
            pg.fail_rc = k % 2 == 0 ? RC_IO : RC_TIMEOUT;
            config.uuid = arena_printf(arena, "%08u-%04u-4111-8111-111111111111", (unsigned)k, late);
            s = opened(NULL);
            write_rows(s, 1, 7);
            prepare(s, 1);
            ck_assert_ok(sink_commit(s, 1, &err));
            check_rows(7);
            calls = pg.calls;
            sink_abort(s);
            if (k >= calls)
                break;
        }
}
END_TEST

START_TEST(a_server_that_stays_away_fails_the_sink_in_the_time_that_was_given)
{
    struct sink *s = opened(NULL);
    int64_t from_ns;

    write_rows(s, 1, 2);
    prepare(s, 1);
    pg.fail_at = pg.calls;
    pg.fail_times = UINT32_MAX;
    from_ns = clock_mono_ns(env.clock);
    ck_assert_rc_msg(sink_commit(s, 1, &err), RC_IO, "Sink[t]: call");
    ck_assert_int_ge(clock_mono_ns(env.clock) - from_ns, 10 * NS_PER_S);
    ck_assert_int_lt(clock_mono_ns(env.clock) - from_ns, 20 * NS_PER_S);
    pg.fail_at = UINT64_MAX;
    ck_assert_ok(sink_commit(s, 1, &err)); /* nothing is lost */
    check_rows(2);
    sink_abort(s);
}
END_TEST

START_TEST(a_transaction_that_is_given_up_again_and_again_fails_the_sink)
{
    struct sink *s = opened(NULL);
    uint64_t calls;

    write_rows(s, 1, 2);
    prepare(s, 1);
    calls = pg.fail_at = pg.calls;
    pg.fail_times = UINT32_MAX;
    pg.fail_rc = RC_TIMEOUT;
    ck_assert_rc_msg(sink_commit(s, 1, &err), RC_TIMEOUT, "call");
    ck_assert_uint_eq(pg.calls - calls, 1 + config.tries);
    sink_abort(s);
}
END_TEST

START_TEST(a_refusal_is_final)
{
    struct sink *s = opened(NULL);
    uint64_t calls;

    write_rows(s, 1, 2);
    prepare(s, 1);
    calls = pg.fail_at = pg.calls;
    pg.fail_times = UINT32_MAX;
    pg.fail_rc = RC_INVALID;
    ck_assert_rc_msg(sink_commit(s, 1, &err), RC_INVALID, "call");
    ck_assert_uint_eq(pg.calls - calls, 1);
    sink_abort(s);
}
END_TEST

START_TEST(a_task_that_is_to_end_does_not_wait_for_the_server)
{
    struct sink *s = opened(NULL);
    int64_t from_ns;

    write_rows(s, 1, 2);
    prepare(s, 1);
    pg.fail_at = pg.calls;
    pg.fail_times = UINT32_MAX;
    atomic_store(&stop, true);
    from_ns = clock_mono_ns(env.clock);
    ck_assert_rc_msg(sink_commit(s, 1, &err), RC_IO, "call");
    ck_assert_int_lt(clock_mono_ns(env.clock) - from_ns, NS_PER_S);
    sink_abort(s);
}
END_TEST

START_TEST(a_restore_sends_what_its_snapshot_holds_before_the_first_row)
{
    struct sink *s = opened(NULL);
    struct sink_snapshot one;

    write_rows(s, 1, 4);
    one = prepare(s, 1);
    write_rows(s, 5, 6); /* after it: come again */
    sink_abort(s);
    check_rows(0);
    config.uuid = "bbbbbbbb-1111-4111-8111-111111111111";
    s = opened(&one);
    check_rows(4);
    write_rows(s, 5, 8);
    prepare(s, 2);
    ck_assert_ok(sink_commit(s, 2, &err));
    check_rows(8);
    sink_abort(s);
    ck_assert_int_eq(held, 0);
}
END_TEST

/* The savepoint's log goes in once, whoever sends it first. */
START_TEST(a_fork_and_its_origin_send_a_log_once)
{
    struct sink *s = opened(NULL), *fork;
    struct sink_snapshot savepoint;

    write_rows(s, 1, 4);
    savepoint = prepare(s, 1); /* not notified */
    config.uuid = "bbbbbbbb-1111-4111-8111-111111111111";
    fork = opened(&savepoint);
    check_rows(4);
    ck_assert_ok(sink_commit(s, 1, &err));
    check_rows(4);
    sink_abort(s);
    sink_abort(fork);
}
END_TEST

/* Rows after an older snapshot are in already: by its own writer, or by one that went on from it. */
START_TEST(a_restore_from_an_older_snapshot_is_refused_without_a_key)
{
    struct sink *s = opened(NULL), *again;
    struct sink_snapshot one, none;

    none = prepare(s, 1);
    write_rows(s, 1, 4);
    one = prepare(s, 2);
    ck_assert_ok(sink_commit(s, 2, &err));
    sink_abort(s);
    config.uuid = "bbbbbbbb-1111-4111-8111-111111111111";
    ck_assert_rc_msg(open_sink(&none, &again), RC_STATE, "they would be there twice");
    again = opened(&one); /* the newest: all is well, also twice while nothing came after it */
    sink_abort(again);
    config.uuid = "cccccccc-1111-4111-8111-111111111111";
    again = opened(&one);
    write_rows(again, 5, 6);
    prepare(again, 3);
    ck_assert_ok(sink_commit(again, 3, &err));
    sink_abort(again);
    config.uuid = "dddddddd-1111-4111-8111-111111111111";
    ck_assert_rc_msg(open_sink(&one, &again), RC_STATE, "varve.sink.repeat-rows");
    config.repeat_rows = true;
    again = opened(&one);
    sink_abort(again);
    check_rows(6);
}
END_TEST

static void run_again(const char *uuid, uint32_t subtask_index)
{
    config.uuid = uuid;
    config.subtask_index = subtask_index;
}

/* Scaled up: no log of the snapshot comes to the second subtask, which alone sends rows after it. */
START_TEST(a_subtask_that_was_added_keeps_its_snapshot_from_being_restored_again)
{
    struct sink *s = opened(NULL), *first, *second;
    struct sink_snapshot one, writers;

    write_rows(s, 1, 4);
    one = prepare(s, 1);
    ck_assert_ok(sink_commit(s, 1, &err));
    sink_abort(s);
    writers = (struct sink_snapshot){.writer = one.writer};
    run_again("bbbbbbbb-1111-4111-8111-111111111111", 0);
    first = opened(&one);
    run_again("bbbbbbbb-1111-4111-8111-111111111111", 1);
    second = opened(&writers);
    write_rows(second, 5, 6);
    prepare(first, 2);
    prepare(second, 2);
    ck_assert_ok(sink_commit(second, 2, &err));
    check_rows(6);
    sink_abort(first); /* before it learns of the checkpoint */
    sink_abort(second);
    for (uint32_t i = 0; i < 2; i++) { /* each of its subtasks sees it */
        run_again("cccccccc-1111-4111-8111-111111111111", i);
        ck_assert_rc_msg(open_sink(i == 0 ? &one : &writers, &s), RC_STATE, "would be there twice");
        err_clear(&err);
    }
}
END_TEST

/* Without checkpoints one can be at the end of its input while another opens. */
START_TEST(a_subtask_may_open_when_another_of_its_run_has_sent_rows)
{
    struct sink *s = opened(NULL), *first;
    struct sink_snapshot one, writers;

    one = prepare(s, 1);
    sink_abort(s);
    writers = (struct sink_snapshot){.writer = one.writer};
    run_again("bbbbbbbb-1111-4111-8111-111111111111", 0);
    first = opened(&one);
    write_rows(first, 1, 3);
    prepare(first, UINT64_MAX);
    ck_assert_ok(sink_commit(first, UINT64_MAX, &err));
    run_again("bbbbbbbb-1111-4111-8111-111111111111", 1);
    s = opened(&writers);
    sink_abort(s);
    sink_abort(first);
    run_again("cccccccc-1111-4111-8111-111111111111", 1);
    ck_assert_rc_msg(open_sink(&writers, &s), RC_STATE, "would be there twice");
}
END_TEST

/* A run that ends between its checkpoint and the commit: the next one sends its rows. */
START_TEST(rows_that_a_later_run_sends_keep_the_snapshot_before_them_from_being_restored)
{
    struct sink *s = opened(NULL);
    struct sink_snapshot one, two, writers;

    one = prepare(s, 1);
    sink_abort(s);
    run_again("bbbbbbbb-1111-4111-8111-111111111111", 0);
    s = opened(&one);
    write_rows(s, 1, 3);
    two = prepare(s, 2);
    sink_abort(s);
    run_again("cccccccc-1111-4111-8111-111111111111", 0);
    s = opened(&two);
    check_rows(3);
    sink_abort(s);
    writers = (struct sink_snapshot){.writer = two.writer};
    run_again("cccccccc-1111-4111-8111-111111111111", 1);
    s = opened(&writers); /* nothing came after `two` */
    sink_abort(s);
    run_again("dddddddd-1111-4111-8111-111111111111", 0);
    ck_assert_rc_msg(open_sink(&one, &s), RC_STATE, "would be there twice");
    err_clear(&err);
    s = opened(&two);
    sink_abort(s);
}
END_TEST

START_TEST(a_snapshot_whose_writers_are_not_listed_is_refused)
{
    struct sink *s = opened(NULL);
    struct sink_snapshot one = prepare(s, 1);

    sink_abort(s);
    one.writer.count = 0;
    ck_assert_rc_msg(open_sink(&one, &s), RC_CORRUPT, "item 0: writer aaaaaaaa-1111-4111-8111-111111111111-0 "
                     "with last log 0 is not in the list sink-writer");
    err_clear(&err);
    one.writer = one.committables;
    ck_assert_rc_msg(open_sink(&one, &s), RC_CORRUPT, "writer 0: not an item of a write-ahead sink");
}
END_TEST

START_TEST(with_a_key_an_older_snapshot_is_put_over_what_is_there)
{
    static const uint32_t key = 0;
    struct sink *s;
    struct sink_snapshot none;

    table.key_count = 1;
    table.key = &key;
    s = opened(NULL);
    none = prepare(s, 1);
    ck_assert_ok(sink_write(s, bytes_of_str(""), bytes_of_str("U\t1\t5\nU\t2\t6\nD\t2\t6\n"), 3, 0, &err));
    prepare(s, 2);
    ck_assert_ok(sink_commit(s, 2, &err));
    sink_abort(s);
    ck_assert_uint_eq(pg.value[1], 5);
    ck_assert_uint_eq(pg.value[2], 0);
    config.uuid = "bbbbbbbb-1111-4111-8111-111111111111";
    s = opened(&none);
    sink_abort(s);
}
END_TEST

START_TEST(a_table_that_does_not_fit_fails_at_open)
{
    struct sink *s;

    pg.check_fault = "table t does not fit";
    ck_assert_rc_msg(open_sink(NULL, &s), RC_INVALID, "open Sink[t]: table t does not fit");
}
END_TEST

START_TEST(a_damaged_log_sends_nothing)
{
    struct sink *s = opened(NULL);
    struct sink_snapshot one;

    write_rows(s, 1, 4);
    one = prepare(s, 1);
    ck_assert(sim_fs_flip(fs, one.logs[0].path, one.logs[0].size_bytes - 2, 1));
    ck_assert_rc_msg(sink_commit(s, 1, &err), RC_CORRUPT, "digest differs");
    check_rows(0);
    sink_abort(s);
}
END_TEST

START_TEST(rows_between_two_checkpoints_have_a_limit_with_a_name)
{
    struct sink *s;
    char line[200];

    config.log_bytes_max = 100;
    s = opened(NULL);
    memset(line, 'x', sizeof line);
    ck_assert_rc_msg(sink_write(s, bytes_of_str(""), bytes_of(line, sizeof line), 1, 0, &err), RC_LIMIT,
                     "varve.sink.log.max-size");
    sink_abort(s);
}
END_TEST

TEST_MAIN("wal_sink", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, rows_go_in_when_their_checkpoint_is_complete_and_not_before);
          tcase_add_test(tc, no_rows_make_no_log);
          tcase_add_test(tc, each_call_of_the_target_may_fail_for_a_while);
          tcase_add_test(tc, a_server_that_stays_away_fails_the_sink_in_the_time_that_was_given);
          tcase_add_test(tc, a_transaction_that_is_given_up_again_and_again_fails_the_sink);
          tcase_add_test(tc, a_refusal_is_final);
          tcase_add_test(tc, a_task_that_is_to_end_does_not_wait_for_the_server);
          tcase_add_test(tc, a_restore_sends_what_its_snapshot_holds_before_the_first_row);
          tcase_add_test(tc, a_fork_and_its_origin_send_a_log_once);
          tcase_add_test(tc, a_restore_from_an_older_snapshot_is_refused_without_a_key);
          tcase_add_test(tc, a_subtask_that_was_added_keeps_its_snapshot_from_being_restored_again);
          tcase_add_test(tc, a_subtask_may_open_when_another_of_its_run_has_sent_rows);
          tcase_add_test(tc, rows_that_a_later_run_sends_keep_the_snapshot_before_them_from_being_restored);
          tcase_add_test(tc, a_snapshot_whose_writers_are_not_listed_is_refused);
          tcase_add_test(tc, with_a_key_an_older_snapshot_is_put_over_what_is_there);
          tcase_add_test(tc, a_table_that_does_not_fit_fails_at_open);
          tcase_add_test(tc, a_damaged_log_sends_nothing);
          tcase_add_test(tc, rows_between_two_checkpoints_have_a_limit_with_a_name);)
