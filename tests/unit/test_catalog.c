/* links: job */
#include "job/sql/catalog.h"
#include "job/sql/parser.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;
static struct catalog *catalog;
static struct config *config;

static void setup(void)
{
    arena = arena_new(0);
    catalog = catalog_new();
    config = config_new();
}

static void teardown(void)
{
    catalog_free(catalog);
    config_free(config);
    arena_free(arena);
}

/* Runs CREATE and DROP statements; the first failure is returned. */
static enum rc run(const char *sql, struct err *err)
{
    struct ast_script script;
    enum rc rc = sql_parse_script(arena, bytes_of_str(sql), &script, err);

    for (uint32_t i = 0; rc == RC_OK && i < script.count; i++) {
        const struct ast_statement *s = script.statements[i];

        if (s->kind == STMT_CREATE_TABLE)
            rc = catalog_create_table(catalog, s, config, err);
        else if (s->kind == STMT_CREATE_VIEW)
            rc = catalog_create_view(catalog, s, err);
        else
            rc = catalog_drop(catalog, s->name, s->kind == STMT_DROP_VIEW, s->if_exists, err);
    }
    return rc;
}

static const char *shown(const char *name)
{
    const struct catalog_entry *e = catalog_find(catalog, name);
    struct buf out = {0};
    const char *copy;

    ck_assert_ptr_nonnull(e);
    catalog_print(e, &out);
    catalog_release(e);
    copy = arena_strdup(arena, buf_cstr(&out));
    buf_release(&out);
    return copy;
}

#define BLACKHOLE " WITH ('connector' = 'blackhole')"

START_TEST(a_table_is_shown_as_it_was_made)
{
    const char *text = "CREATE TABLE `default_catalog`.`default_database`.`t` (\n"
                       "  `k` STRING NOT NULL COMMENT 'it''s the key',\n"
                       "  `ts` TIMESTAMP(3),\n"
                       "  `value` DECIMAL(10, 2),\n"
                       "  `twice` AS `value` * 2,\n"
                       "  WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND,\n"
                       "  PRIMARY KEY (`k`) NOT ENFORCED\n"
                       ") COMMENT 'all of it'\n"
                       "PARTITIONED BY (`k`)\n"
                       "WITH (\n"
                       "  'connector' = 'filesystem',\n"
                       "  'path' = '/tmp/x',\n"
                       "  'format' = 'csv',\n"
                       "  'csv.field-delimiter' = ';'\n"
                       ")\n";
    struct err err = {0};

    ck_assert_ok(run(text, &err));
    ck_assert_str_eq(shown("t"), text);
    ck_assert_ok(run("DROP TABLE t", &err));
    ck_assert_ptr_null(catalog_find(catalog, "t"));
}
END_TEST

START_TEST(an_entry_lives_until_it_is_released)
{
    const struct catalog_entry *e;
    struct err err = {0};

    ck_assert_ok(run("CREATE TABLE t (a INT)" BLACKHOLE, &err));
    e = catalog_find(catalog, "t");
    ck_assert_ok(run("DROP TABLE t; CREATE TABLE t (b INT)" BLACKHOLE, &err));
    ck_assert_str_eq(e->columns[0].name, "a");
    catalog_release(e);
}
END_TEST

START_TEST(names_are_taken_once)
{
    struct err err = {0};

    ck_assert_ok(run("CREATE TABLE t (a INT)" BLACKHOLE, &err));
    ck_assert_rc_msg(run("CREATE TABLE t (b INT)" BLACKHOLE, &err), RC_EXISTS,
                     "a table named t exists already");
    ck_assert_rc_msg(run("CREATE VIEW t AS SELECT 1", &err), RC_EXISTS,
                     "a table named t exists already");
    ck_assert_ok(run("CREATE TABLE IF NOT EXISTS t (b INT)" BLACKHOLE, &err));
    ck_assert_ok(run("CREATE TABLE T (b INT)" BLACKHOLE, &err)); /* names are case-sensitive */
    ck_assert_rc_msg(run("DROP VIEW t", &err), RC_INVALID, "t is a table: use DROP TABLE");
    ck_assert_rc_msg(run("DROP TABLE tt", &err), RC_NOT_FOUND,
                     "there is no table or view tt; did you mean");
    ck_assert_ok(run("DROP TABLE IF EXISTS tt", &err));
}
END_TEST

static void note_name(void *ctx, const struct catalog_entry *e)
{
    buf_printf(ctx, "%s ", e->name);
}

START_TEST(entries_are_listed_by_name)
{
    struct buf out = {0};
    struct err err = {0};

    ck_assert_ok(run("CREATE TABLE c (a INT)" BLACKHOLE
                     "; CREATE VIEW b AS SELECT 1; CREATE TABLE a (a INT)" BLACKHOLE,
                     &err));
    catalog_list(catalog, note_name, &out);
    ck_assert_str_eq(buf_cstr(&out), "a b c ");
    buf_release(&out);
}
END_TEST

#define LIKE_BASE                                                                                  \
    "CREATE TABLE base (k STRING, v INT, w AS v + 1, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, "    \
    "PRIMARY KEY (k) NOT ENFORCED) "                                                               \
    "WITH ('connector' = 'filesystem', 'path' = '/a', 'format' = 'csv'); "

START_TEST(like_takes_over_what_is_asked_for)
{
    const struct catalog_entry *e;
    struct err err = {0};

    ck_assert_ok(run(LIKE_BASE "CREATE TABLE t (x INT) WITH ('path' = '/b') LIKE base", &err));
    e = catalog_find(catalog, "t");
    ck_assert_uint_eq(e->column_count, 5);
    ck_assert_str_eq(e->columns[4].name, "x");
    ck_assert_int_eq(e->watermark_column, 3);
    ck_assert_uint_eq(e->primary_key_count, 1);
    ck_assert_uint_eq(e->option_count, 3);
    ck_assert_str_eq(e->options[1].value, "/b");
    catalog_release(e);
    ck_assert_ok(
        run("CREATE TABLE u WITH ('connector' = 'print') LIKE base (EXCLUDING ALL)", &err));
    e = catalog_find(catalog, "u");
    ck_assert_uint_eq(e->column_count, 3); /* without the computed one */
    ck_assert_int_eq(e->watermark_column, -1);
    ck_assert_uint_eq(e->primary_key_count, 0);
    catalog_release(e);
    ck_assert_rc_msg(run("CREATE TABLE w WITH ('path' = '/b') LIKE base (INCLUDING OPTIONS)", &err),
                     RC_INVALID,
                     "its LIKE table has this option too; say OVERWRITING OPTIONS: path");
    ck_assert_rc_msg(run("CREATE TABLE w (k INT) LIKE base", &err), RC_INVALID,
                     "two columns are named k");
    ck_assert_rc_msg(run("CREATE TABLE w (WATERMARK FOR ts AS ts) LIKE base", &err), RC_INVALID,
                     "has a WATERMARK too");
}
END_TEST

#define FILES(options)                                                                             \
    "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'filesystem', 'path' = '/x', 'format' "  \
    "= 'csv'" options ")"
#define GEN(options)                                                                               \
    "CREATE TABLE t (a INT, s STRING, ts TIMESTAMP(3)) WITH ('connector' = 'datagen'" options ")"

static const struct {
    const char *sql;
    enum rc rc;
    const char *message;
} mistakes[] = {
    {"CREATE TABLE t (a INT)", RC_INVALID, "table t: the option 'connector' is missing"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'prnt')", RC_INVALID,
     "line 1 column 30: table t: there is no connector 'prnt'"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'prnt')", RC_INVALID, "did you mean print?"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'kafka')", RC_UNSUPPORTED,
     "varve has the connectors datagen, filesystem, print"},
    {"CREATE TABLE t (a INT, a INT)" BLACKHOLE, RC_INVALID,
     "line 1 column 24: table t: two columns are named a"},
    {"CREATE TABLE t ()" BLACKHOLE, RC_INVALID, "it has no columns"},
    {"CREATE TABLE t (b AS 1)" BLACKHOLE, RC_INVALID, "computed columns only"},
    {"CREATE TABLE t (a INT, b AS c + 1)" BLACKHOLE, RC_INVALID, "line 1 column 29"},
    {"CREATE TABLE t (a INT, b AS a + 1, c AS b + 1)" BLACKHOLE, RC_INVALID, "line 1 column 41"},
    {"CREATE TABLE t (a INT, m INT METADATA)" BLACKHOLE, RC_UNSUPPORTED,
     "metadata columns are not supported by varve: m"},
    {"CREATE TABLE t (a INT, WATERMARK FOR a AS a)" BLACKHOLE, RC_INVALID,
     "must be TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p from 0 to 3, not INT"},
    {"CREATE TABLE t (a TIMESTAMP(6), WATERMARK FOR a AS a)" BLACKHOLE, RC_INVALID,
     "p from 0 to 3, not TIMESTAMP(6)"},
    {"CREATE TABLE t (a TIMESTAMP(3), WATERMARK FOR b AS a)" BLACKHOLE, RC_INVALID,
     "WATERMARK: there is no column b"},
    {"CREATE TABLE t (a TIMESTAMP(3), b INT, WATERMARK FOR a AS b)" BLACKHOLE, RC_INVALID,
     "the WATERMARK is of type INT, its column a of TIMESTAMP(3)"},
    {"CREATE TABLE t (abc INT, PRIMARY KEY (abd) NOT ENFORCED)" BLACKHOLE, RC_INVALID,
     "PRIMARY KEY: there is no column abd; did you mean abc?"},
    {"CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT PRIMARY KEY NOT ENFORCED)" BLACKHOLE,
     RC_INVALID, "more than one PRIMARY KEY"},
    {"CREATE TABLE t (a INT, b INT) PARTITIONED BY (c) WITH ('connector' = 'filesystem', 'path' = "
     "'/x', 'format' = 'csv')",
     RC_INVALID, "PARTITIONED BY: there is no column c"},
    {"CREATE TABLE t (a INT, b INT) PARTITIONED BY (a, a) WITH ('connector' = 'filesystem', 'path' "
     "= '/x', 'format' = 'csv')",
     RC_INVALID, "PARTITIONED BY names a column twice"},
    {"CREATE TABLE t (a INT) PARTITIONED BY (a) WITH ('connector' = 'filesystem', 'path' = '/x', "
     "'format' = 'csv')",
     RC_INVALID, "all columns are partition columns"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv')", RC_INVALID,
     "the option 'path' is missing"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '/x')", RC_INVALID,
     "the option 'format' is missing"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 's3://b/x', 'format' = "
     "'csv')",
     RC_UNSUPPORTED, "s3"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '/x', 'format' = "
     "'parquet')",
     RC_UNSUPPORTED, "varve has the formats csv and json"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '/x', 'format' = 'cvs')",
     RC_INVALID, "there is no such format"},
    {FILES(", 'pth' = 'y'"), RC_INVALID,
     "connector 'filesystem' has no option 'pth'; did you mean path?"},
    {FILES(", 'path' = 'y'"), RC_INVALID, "option 'path' = 'y': the option is given twice"},
    {FILES(", 'csv.field-delimter' = ';'"), RC_INVALID, "the nearest is 'csv.field-delimiter'"},
    {FILES(", 'json.ignore-parse-errors' = 'true'"), RC_INVALID,
     "has no option 'json.ignore-parse-errors'"},
    {FILES(", 'sink.rolling-policy.file-size' = '1 potato'"), RC_INVALID,
     "option 'sink.rolling-policy.file-size' = '1 potato'"},
    {FILES(", 'source.monitor-interval' = '0 s'"), RC_INVALID, "must be at least 1"},
    {FILES(", 'sink.parallelism' = '0'"), RC_INVALID, "must be between 1 and 1024"},
    {FILES(", 'auto-compaction' = 'true'"), RC_UNSUPPORTED,
     "compaction of part files is not built"},
    {FILES(", 'sink.partition-commit.policy.kind' = 'success-file'"), RC_UNSUPPORTED,
     "partition commit is not built"},
    {GEN(", 'rows-per-second' = 'many'"), RC_INVALID, "must be a whole number"},
    {GEN(", 'rows-per-seconds' = '1'"), RC_INVALID, "did you mean rows-per-second?"},
    {GEN(", 'fields.b.min' = '1'"), RC_INVALID, "'fields.b.min' is not 'fields.<column>.<option>'"},
    {GEN(", 'fields.a.mni' = '1'"), RC_INVALID, "did you mean min?"},
    {GEN(", 'fields.a.kind' = 'sequence'"), RC_INVALID,
     "the sequence a needs 'fields.a.start' and 'fields.a.end'"},
    {GEN(", 'fields.a.kind' = 'sequence', 'fields.a.start' = '2', 'fields.a.end' = '1'"),
     RC_INVALID, "cannot end before it starts"},
    {GEN(", 'fields.ts.kind' = 'sequence'"), RC_INVALID, "sequences are for numbers and text"},
    {GEN(", 'fields.a.min' = '5', 'fields.a.max' = '4'"), RC_INVALID, "min is above max"},
    {GEN(", 'fields.s.min' = '5'"), RC_INVALID, "only numbers have bounds"},
    {GEN(", 'fields.a.null-rate' = '2'"), RC_INVALID, "must be between 0 and 1"},
    {GEN(", 'fields.s.var-len' = 'true'"), RC_UNSUPPORTED, "text of varying length is not built"},
    {"CREATE TABLE t (a INT) WITH ('connector' = 'print', 'standard-error' = 'maybe')", RC_INVALID,
     "'standard-error' = 'maybe'"},
};

START_TEST(a_wrong_table_is_refused_with_the_reason)
{
    struct err err = {0};

    ck_assert_rc_msg(run(mistakes[_i].sql, &err), mistakes[_i].rc, mistakes[_i].message);
    ck_assert_ptr_null(catalog_find(catalog, "t"));
}
END_TEST

static const char *const right[] = {
    FILES(", 'csv.field-delimiter' = ';', 'csv.ignore-parse-errors' = 'true', 'sink.parallelism' = "
          "'2', 'varve.uid' = 'x'"),
    FILES(", 'varve.bad-rows' = 'skip', 'source.monitor-interval' = '10 s', 'auto-compaction' = "
          "'false'"),
    GEN(", 'fields.a.kind' = 'sequence', 'fields.a.start' = '-5', 'fields.a.end' = '5', "
        "'fields.s.length' = '10'"),
    GEN(", 'fields.ts.max-past' = '1 h', 'fields.a.null-rate' = '0.5', 'number-of-rows' = '0', "
        "'varve.seed' = '7'"),
    "CREATE TABLE t (`fields.x` INT) WITH ('connector' = 'datagen', 'fields.fields.x.min' = '1')",
};

START_TEST(a_right_table_is_taken)
{
    struct err err = {0};

    ck_assert_ok(run(right[_i], &err));
}
END_TEST

TEST_MAIN("catalog", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_table_is_shown_as_it_was_made);
          tcase_add_test(tc, an_entry_lives_until_it_is_released);
          tcase_add_test(tc, names_are_taken_once); tcase_add_test(tc, entries_are_listed_by_name);
          tcase_add_test(tc, like_takes_over_what_is_asked_for);
          tcase_add_loop_test(tc, a_wrong_table_is_refused_with_the_reason, 0, ARRAY_LEN(mistakes));
          tcase_add_loop_test(tc, a_right_table_is_taken, 0, ARRAY_LEN(right)))
