/* links: job */
#include "job/sql/parser.h"
#include "job/sql/preview.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

/* Whole statements against real jobs, with what a user sees as the expected text. */

static struct env env;
static struct config *config;
static struct dispatcher *dispatcher;
static struct session *session;
static struct arena *arena;
static struct preview *preview;
static struct buf shown;
static struct tmpdir tmp;

static enum rc show(void *ctx, struct bytes text, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append(&shown, text.data, text.len);
    return RC_OK;
}

static void start(const struct session_options *options)
{
    session = session_new(&env, dispatcher, config, options);
}

static void setup(void)
{
    tmpdir_make(&tmp);
    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    arena = arena_new(0);
    config = config_new();
    dispatcher = dispatcher_new(&env);
    preview = preview_new(env.fs, show, NULL, 5);
    start(NULL);
}

static void teardown(void)
{
    preview_free(preview);
    session_free(session);
    dispatcher_free(dispatcher);
    config_free(config);
    arena_free(arena);
    buf_release(&shown);
    tmpdir_remove(&tmp);
}

/* Executes all statements; `shown` holds what they print. DIR stands for the test's directory. */
static enum rc run(const char *sql, struct err *err)
{
    struct ast_script script;
    struct buf text = {0};
    const char *at;
    enum rc rc;

    for (; (at = strstr(sql, "DIR")) != NULL; sql = at + 3) {
        buf_append(&text, sql, (size_t)(at - sql));
        buf_append_str(&text, tmp.path);
    }
    buf_append_str(&text, sql);
    rc = sql_parse_script(arena, buf_bytes(&text), &script, err);
    buf_release(&text);
    buf_clear(&shown);
    for (uint32_t i = 0; rc == RC_OK && i < script.count; i++) {
        struct result_handler handler = preview_handler(preview);
        struct statement_result result;

        rc = session_execute(session, script.statements[i], &handler, &result, err);
        if (rc == RC_OK && (result.kind == RESULT_ROWS || result.kind == RESULT_QUERY))
            rc = preview_end(preview, &result, err);
    }
    return rc;
}

#define SEQ                                                                                        \
    "CREATE TABLE seq (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '0', "        \
    "'fields.id.kind' = 'sequence', "                                                              \
    "'fields.id.start' = '1', 'fields.id.end' = '10');"

static const struct {
    const char *sql, *shown;
} cases[] = {
    {"SHOW TABLES", "Empty set\n"},
    {SEQ "CREATE VIEW v AS SELECT 1 AS one; SHOW TABLES; SHOW VIEWS",
     "+------------+\n| table name |\n+------------+\n|        seq |\n|          v "
     "|\n+------------+\n2 rows in set\n"
     "+-----------+\n| view name |\n+-----------+\n|         v |\n+-----------+\n1 row in set\n"},
    {"SELECT 1 + 1 AS two, CAST(NULL AS STRING) AS nothing, TRUE AS yes, X'0a' AS b",
     "+----+-------------+--------------------------------+-------+--------------------------------"
     "+\n"
     "| op |         two |                        nothing |   yes |                              b "
     "|\n"
     "+----+-------------+--------------------------------+-------+--------------------------------"
     "+\n"
     "| +I |           2 |                         <NULL> |  TRUE |                           [10] "
     "|\n"
     "+----+-------------+--------------------------------+-------+--------------------------------"
     "+\n"
     "Received a total of 1 row\n"},
    {SEQ "SELECT id % 2 AS m, COUNT(*) AS n FROM seq WHERE id < 4 GROUP BY id % 2",
     "+----+-------------+----------------------+\n"
     "| op |           m |                    n |\n"
     "+----+-------------+----------------------+\n"
     "| +I |           1 |                    1 |\n"
     "| +I |           0 |                    1 |\n"
     "| -U |           1 |                    1 |\n"
     "| +U |           1 |                    2 |\n"
     "+----+-------------+----------------------+\n"
     "Received a total of 4 rows\n"},
    {"SET 'execution.runtime-mode' = 'batch';" SEQ
     "SELECT id % 2 AS m, SUM(id) AS s FROM seq GROUP BY id % 2 HAVING SUM(id) > 25",
     "+---+----+\n| m |  s |\n+---+----+\n| 0 | 30 |\n+---+----+\n1 row in set\n"},
    {"SET 'execution.runtime-mode' = 'batch'; SELECT s FROM (VALUES ('long text that is wider than "
     "thirty columns'), ('\xe6\xbc\xa2')) AS v (s)",
     "+---------------------------------------------+\n|                                           "
     "s |\n+---------------------------------------------+\n"
     "| long text that is wider than thirty columns |\n"},
    {"SELECT s FROM (VALUES ('long text that is wider than thirty columns'), "
     "(CAST('\xe6\xbc\xa2\xe5\xad\x97' AS STRING))) AS v (s)",
     "+----+--------------------------------+\n"
     "| op |                              s |\n"
     "+----+--------------------------------+\n"
     "| +I | long text that is wider tha... |\n"
     "| +I |                           \xe6\xbc\xa2\xe5\xad\x97 |\n"
     "+----+--------------------------------+\n"
     "Received a total of 2 rows\n"},
    {"SET 'execution.runtime-mode' = 'batch';" SEQ "SELECT id FROM seq",
     "+----+\n| id |\n+----+\n|  1 |\n|  2 |\n|  3 |\n|  4 |\n|  5 |\n+----+\n10 rows in "
     "set\n[WARN] only the first 5 rows are shown\n"},
    {"CREATE TABLE t (k STRING NOT NULL COMMENT 'c', ts TIMESTAMP(3), d AS UPPER(k), WATERMARK FOR "
     "ts AS ts - INTERVAL '1' SECOND, "
     "PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'filesystem', 'path' = 'DIR/x', 'format' = "
     "'csv'); DESCRIBE t",
     "+------+------------------------+-------+--------+---------------+---------------------------"
     "-+---------+\n"
     "| name |                   type |  null |    key |        extras |                  "
     "watermark | comment |\n"
     "+------+------------------------+-------+--------+---------------+---------------------------"
     "-+---------+\n"
     "|    k |                 STRING | FALSE | PRI(k) |        <NULL> |                     "
     "<NULL> |       c |\n"
     "|   ts | TIMESTAMP(3) *ROWTIME* |  TRUE | <NULL> |        <NULL> | `ts` - INTERVAL '1' "
     "SECOND |  <NULL> |\n"
     "|    d |                 STRING | FALSE | <NULL> | AS UPPER(`k`) |                     "
     "<NULL> |  <NULL> |\n"
     "+------+------------------------+-------+--------+---------------+---------------------------"
     "-+---------+\n"
     "3 rows in set\n"},
    {"SET 'parallelism.default' = '2'; SET pipeline.name = x; RESET pipeline.name; SET",
     "+---------------------+-------+\n|                 key | value "
     "|\n+---------------------+-------+\n| parallelism.default |     2 |\n"
     "+---------------------+-------+\n1 row in set\n"},
    {"CREATE VIEW v AS SELECT 1 AS one; SHOW CREATE VIEW v", "CREATE VIEW v AS SELECT 1 AS one\n"},
};

START_TEST(a_statement_shows_this)
{
    struct err err = {0};

    ck_assert_ok(run(cases[_i].sql, &err));
    ck_assert_msg(strncmp(buf_cstr(&shown), cases[_i].shown, strlen(cases[_i].shown)) == 0,
                  "got\n%s\nexpected\n%s", buf_cstr(&shown), cases[_i].shown);
}
END_TEST

/* ---- jobs ------------------------------------------------------------------------------------ */

START_TEST(insert_and_select_go_through_files)
{
    struct err err = {0};

    tmpdir_write(&tmp, "in.csv", "a,1\nb,2\na,3\n,0\n", 15);
    ck_assert_ok(run("SET 'execution.runtime-mode' = 'batch'; SET 'table.dml-sync' = 'true';"
                     "CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = "
                     "'DIR/in.csv', 'format' = 'csv');"
                     "CREATE TABLE o (k STRING, n BIGINT, s INT) WITH ('connector' = 'filesystem', "
                     "'path' = 'DIR/out', 'format' = 'csv', 'csv.null-literal' = 'NULL');"
                     "INSERT INTO o SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k;"
                     "INSERT INTO o (s, k) VALUES (7, 'z');"
                     "SELECT COUNT(*) AS n, SUM(n) AS rows_in, SUM(s) AS s, MAX(k) AS k FROM o",
                     &err));
    ck_assert_str_eq(buf_cstr(&shown), "+---+---------+----+---+\n| n | rows_in |  s | k "
                                       "|\n+---+---------+----+---+\n| 4 |       4 | 13 | z |\n"
                                       "+---+---------+----+---+\n1 row in set\n");
}
END_TEST

START_TEST(a_job_is_shown_and_stopped)
{
    struct err err = {0};
    struct job *jobs[2];
    const char *id;
    size_t count;

    ck_assert_ok(
        run("CREATE TABLE g (v INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');"
            "CREATE TABLE b (v INT) WITH ('connector' = 'blackhole'); SET 'pipeline.name' = "
            "'mine'; INSERT INTO b SELECT v FROM g; SHOW JOBS",
            &err));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&shown), "|     mine |"));
    count = dispatcher_list(dispatcher, jobs, 2);
    ck_assert_uint_eq(count, 1);
    id = arena_strdup(arena, job_id(jobs[0]));
    ck_assert_ok(run(arena_printf(arena, "DESCRIBE JOB '%s'", id), &err));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&shown), id));
    ck_assert_rc_msg(run(arena_printf(arena, "STOP JOB '%s' WITH SAVEPOINT", id), &err), RC_INVALID,
                     "savepoint");
    ck_assert_ok(run(arena_printf(arena, "STOP JOB '%s'", id), &err));
    ck_assert(job_wait(jobs[0], 20000));
    ck_assert_int_eq(job_state(jobs[0]), JOB_CANCELED);
    ck_assert_rc_msg(run(arena_printf(arena, "STOP JOB '%s'", id), &err), RC_STATE,
                     "has ended: it is CANCELED");
    dispatcher_release(dispatcher, jobs[0]);
    ck_assert_rc_msg(run("STOP JOB '00000000000000000000000000000000'", &err), RC_NOT_FOUND,
                     "there is no job 0000");
}
END_TEST

START_TEST(a_job_stopped_with_a_savepoint_goes_on_from_it)
{
    struct err err = {0};
    struct job *job;
    const char *path;
    char *end;

    ck_assert_ok(run(
        "SET 'execution.checkpointing.savepoint-dir' = 'DIR/sp'; SET 'parallelism.default' = '2';"
        "CREATE TABLE g (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '400', "
        "'fields.id.kind' = 'sequence', "
        "'fields.id.start' = '1', 'fields.id.end' = '400');"
        "CREATE TABLE o (m BIGINT, n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'DIR/out', "
        "'format' = 'csv');"
        "SET 'execution.runtime-mode' = 'batch'; INSERT INTO o SELECT id % 7, COUNT(*) FROM g "
        "GROUP BY id % 7",
        &err));
    ck_assert_uint_eq(dispatcher_list(dispatcher, &job, 1), 1);
    clock_sleep_ns(env.clock, 300 * NS_PER_MS);
    ck_assert_ok(run(arena_printf(arena, "STOP JOB '%s' WITH SAVEPOINT", job_id(job)), &err));
    dispatcher_release(dispatcher, job);
    path = strstr(buf_cstr(&shown), "file:/");
    ck_assert_ptr_nonnull(path);
    end = strchr(path, ' ');
    path = arena_strndup(arena, path, (size_t)(end - path));
    ck_assert_ok(run(
        arena_printf(arena,
                     "SET 'execution.state-recovery.path' = '%s'; SET 'table.dml-sync' = 'true';"
                     "INSERT INTO o SELECT id %% 7, COUNT(*) FROM g GROUP BY id %% 7",
                     path),
        &err));
    ck_assert_ok(run("SELECT COUNT(*) AS groups_out, SUM(n) AS n FROM o", &err));
    ck_assert_str_eq(
        buf_cstr(&shown),
        "+------------+-----+\n| groups_out |   n |\n+------------+-----+\n|          7 | 400 |\n"
        "+------------+-----+\n1 row in set\n");
    ck_assert_rc(run("SET 'execution.state-recovery.path' = 'DIR/nowhere'; INSERT INTO o SELECT 1, "
                     "id FROM g",
                     &err),
                 RC_NOT_FOUND);
}
END_TEST

START_TEST(a_failed_query_gives_the_jobs_reason)
{
    struct err err = {0};

    ck_assert_rc_msg(run("CREATE TABLE t (v INT) WITH ('connector' = 'filesystem', 'path' = "
                         "'DIR/missing', 'format' = 'csv'); SELECT v FROM t",
                         &err),
                     RC_NOT_FOUND, "missing");
    ck_assert_rc_msg(run(SEQ "SELECT 1 / (id - 5) FROM seq", &err), RC_INVALID, "zero");
}
END_TEST

static void cancel_it(void *ctx, struct job *job)
{
    (void)ctx;
    clock_sleep_ns(env.clock, 100 * NS_PER_MS);
    session_interrupt(session); /* as another thread would */
    job_wait(job, -1);
}

START_TEST(a_query_can_be_interrupted)
{
    struct result_handler handler = {.wait = cancel_it};
    struct statement_result result;
    struct ast_script script;
    struct err err = {0};

    ck_assert_ok(run(
        "CREATE TABLE g (v INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10')", &err));
    ck_assert_ok(sql_parse_script(arena, bytes_of_str("SELECT v FROM g"), &script, &err));
    ck_assert_rc_msg(session_execute(session, script.statements[0], &handler, &result, &err),
                     RC_CANCELLED, "was cancelled");
    session_interrupt(session); /* nothing to cancel: no-op */
}
END_TEST

START_TEST(a_query_writes_no_checkpoints)
{
    struct err err = {0};

    ck_assert_ok(run("SET 'execution.checkpointing.dir' = 'DIR/cp'; SET "
                     "'execution.checkpointing.interval' = '10 ms';" SEQ "SELECT COUNT(*) FROM seq",
                     &err));
    ck_assert(!fs_exists(env.fs, tmpdir_at(&tmp, "cp")));
}
END_TEST

static enum rc refuse(void *ctx, const struct graph *g, struct err *err)
{
    (void)ctx;
    return err_set(err, RC_LIMIT, "no room for %s", g->job_name);
}

START_TEST(a_server_may_refuse_jobs)
{
    struct session_options options = {.may_submit = refuse};
    struct err err = {0};

    session_free(session);
    start(&options);
    ck_assert_rc_msg(run(SEQ "CREATE TABLE b (v BIGINT) WITH ('connector' = 'blackhole'); INSERT "
                             "INTO b SELECT id FROM seq",
                         &err),
                     RC_LIMIT, "no room for insert-into_default_catalog.default_database.b");
    ck_assert_rc(run("SELECT id FROM seq", &err), RC_LIMIT);
}
END_TEST

START_TEST(a_dry_run_starts_nothing)
{
    struct session_options options = {.dry_run = true};
    struct err err = {0};
    struct job *job;

    session_free(session);
    start(&options);
    ck_assert_ok(run(SEQ "CREATE TABLE o (v BIGINT) WITH ('connector' = 'filesystem', 'path' = "
                         "'DIR/out', 'format' = 'csv'); INSERT INTO o SELECT id FROM seq",
                     &err));
    ck_assert_uint_gt(shown.len, 0);
    ck_assert_uint_eq(dispatcher_list(dispatcher, &job, 1), 0);
    ck_assert(!fs_exists(env.fs, tmpdir_at(&tmp, "out")));
}
END_TEST

TEST_MAIN("session", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, a_statement_shows_this, 0, ARRAY_LEN(cases));
          tcase_add_test(tc, insert_and_select_go_through_files);
          tcase_add_test(tc, a_job_is_shown_and_stopped);
          tcase_add_test(tc, a_job_stopped_with_a_savepoint_goes_on_from_it);
          tcase_add_test(tc, a_failed_query_gives_the_jobs_reason);
          tcase_add_test(tc, a_query_can_be_interrupted);
          tcase_add_test(tc, a_query_writes_no_checkpoints);
          tcase_add_test(tc, a_server_may_refuse_jobs);
          tcase_add_test(tc, a_dry_run_starts_nothing))
