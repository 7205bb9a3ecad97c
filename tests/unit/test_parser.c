/* links: job */
#include "job/sql/ast_util.h"
#include "job/sql/parser.h"
#include "tests/lib/check_ext.h"

/* ---- statements as text ---------------------------------------------------------------------- */

static void dump_query(const struct ast_query *q, struct buf *out);

static void dump_expr(const char *before, const struct ast_expr *e, struct buf *out)
{
    if (e != NULL) {
        buf_append_str(out, before);
        ast_expr_print(e, out);
    }
}

static void dump_options(uint32_t count, const struct ast_option *options, struct buf *out)
{
    for (uint32_t i = 0; i < count; i++)
        buf_printf(out, "{%s=%s}", options[i].key, options[i].value);
}

static void dump_from(const struct ast_from *f, struct buf *out)
{
    static const char *const kinds[] = {"", "sub", "tumble", "values"};

    buf_printf(out, " from %s", kinds[f->kind]);
    if (f->name != NULL)
        buf_printf(out, "<%s>", f->name);
    dump_options(f->option_count, f->options, out);
    if (f->query != NULL)
        dump_query(f->query, out);
    if (f->time_column != NULL)
        buf_printf(out, " on %s", f->time_column);
    dump_expr(" size ", f->size, out);
    dump_expr(" offset ", f->offset, out);
    if (f->alias != NULL)
        buf_printf(out, " as %s", f->alias);
    for (uint32_t i = 0; i < f->alias_column_count; i++)
        buf_printf(out, "%s%s", i == 0 ? "(" : ",", f->alias_columns[i]);
    buf_append_str(out, f->alias_column_count > 0 ? ")" : "");
}

static void dump_query(const struct ast_query *q, struct buf *out)
{
    buf_append_str(out, "(");
    for (uint32_t i = 0; i < q->values_rows * q->values_columns; i++)
        dump_expr(i % q->values_columns == 0 ? "|" : ",", q->values[i], out);
    dump_options(q->option_count, q->options, out);
    buf_append_str(out, q->distinct ? "distinct " : "");
    for (uint32_t i = 0; i < q->item_count; i++) {
        dump_expr(i == 0 ? "" : ", ", q->items[i].expr, out);
        if (q->items[i].alias != NULL)
            buf_printf(out, " as %s", q->items[i].alias);
    }
    if (q->from != NULL)
        dump_from(q->from, out);
    dump_expr(" where ", q->where, out);
    for (uint32_t i = 0; i < q->group_count; i++)
        dump_expr(i == 0 ? " group " : ", ", q->group_by[i], out);
    buf_append_str(out, q->has_group_by && q->group_count == 0 ? " group ()" : "");
    dump_expr(" having ", q->having, out);
    buf_append_str(out, ")");
    if (q->union_all != NULL) {
        buf_append_str(out, "+");
        dump_query(q->union_all, out);
    }
}

static void dump_type(struct type t, struct buf *out)
{
    buf_append_u8(out, ':');
    type_print(t, true, out);
}

static void dump_table(const struct ast_table *t, struct buf *out)
{
    for (uint32_t i = 0; i < t->column_count; i++) {
        const struct ast_column *c = &t->columns[i];

        buf_printf(out, "%s%s", i == 0 ? "(" : ", ", c->name);
        if (c->kind != COLUMN_COMPUTED)
            dump_type(c->type, out);
        buf_append_str(out, c->kind == COLUMN_METADATA ? " metadata" : "");
        dump_expr(" as ", c->computed, out);
        buf_append_str(out, c->primary_key ? " key" : "");
        if (c->comment != NULL)
            buf_printf(out, " '%s'", c->comment);
    }
    buf_append_str(out, ")");
    if (t->watermark_column != NULL)
        buf_printf(out, " wm %s", t->watermark_column);
    dump_expr(" as ", t->watermark, out);
    for (uint32_t i = 0; i < t->primary_key_count; i++)
        buf_printf(out, " pk %s", t->primary_key[i]);
    for (uint32_t i = 0; i < t->partition_count; i++)
        buf_printf(out, " by %s", t->partitioned_by[i]);
    if (t->comment != NULL)
        buf_printf(out, " '%s'", t->comment);
    dump_options(t->option_count, t->options, out);
    if (t->like != NULL) {
        buf_printf(out, " like %s %d", t->like, t->like_all);
        for (int i = 0; i < LIKE_FEATURES; i++)
            buf_printf(out, "%d", t->like_rules[i]);
    }
}

static void dump_insert(const struct ast_insert *i, struct buf *out)
{
    buf_printf(out, " %s<%s>", i->overwrite ? "over" : "into", i->table);
    dump_options(i->option_count, i->options, out);
    for (uint32_t c = 0; c < i->column_count; c++)
        buf_printf(out, "%s%s", c == 0 ? "(" : ",", i->columns[c]);
    buf_append_str(out, i->column_count > 0 ? ")" : "");
    dump_query(i->query, out);
}

static void dump_statement(const struct ast_statement *s, struct buf *out)
{
    static const char *const kinds[] = {"set",
                                        "reset",
                                        "create table",
                                        "create view",
                                        "drop table",
                                        "drop view",
                                        "show tables",
                                        "show views",
                                        "show jobs",
                                        "show create table",
                                        "show create view",
                                        "describe",
                                        "explain",
                                        "insert",
                                        "set of",
                                        "select",
                                        "stop",
                                        "describe job",
                                        "quit",
                                        "help"};

    buf_printf(out, "%s%s%s%s", kinds[s->kind], s->temporary ? " temp" : "",
               s->if_exists ? " ife" : "", s->if_not_exists ? " ifn" : "");
    if (s->key != NULL)
        buf_printf(out, " %s", s->key);
    if (s->value != NULL)
        buf_printf(out, "=%s", s->value);
    if (s->name != NULL)
        buf_printf(out, " <%s>", s->name);
    if (s->table != NULL)
        dump_table(s->table, out);
    for (uint32_t i = 0; i < s->view_column_count; i++)
        buf_printf(out, " %s", s->view_columns[i]);
    for (uint32_t i = 0; i < s->insert_count; i++)
        dump_insert(s->inserts[i], out);
    if (s->query != NULL)
        dump_query(s->query, out);
    if (s->job_id != NULL)
        buf_printf(out, " %s%s%s", s->job_id, s->with_savepoint ? " sp" : "",
                   s->with_drain ? " drain" : "");
    if (s->explained != NULL) {
        buf_append_str(out, s->explain_changelog_mode ? " cl [" : " [");
        dump_statement(s->explained, out);
        buf_append_str(out, "]");
    }
}

static enum rc dump_script(const char *sql, struct buf *out, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct ast_script script;
    enum rc rc = sql_parse_script(arena, bytes_of_str(sql), &script, err);

    for (uint32_t i = 0; rc == RC_OK && i < script.count; i++) {
        buf_append_str(out, i == 0 ? "" : "; ");
        dump_statement(script.statements[i], out);
    }
    arena_free(arena);
    return rc;
}

/* ---- what is right --------------------------------------------------------------------------- */

static const struct {
    const char *sql, *tree;
} statements[] = {
    {"", ""},
    {";;", ""},
    {"SET 'a.b' = 'c d'", "set a.b=c d"},
    {"set a.b-c = 10s;", "set a.b-c=10s"},
    {"SET", "set"},
    {"SET;SET x=y", "set; set x=y"},
    {"RESET", "reset"},
    {"RESET 'a.b'; reset a.b", "reset a.b; reset a.b"},
    {"DROP TABLE t", "drop table <t>"},
    {"drop temporary view if exists v", "drop view temp ife <v>"},
    {"DROP TABLE default_catalog.default_database.t", "drop table <t>"},
    {"SHOW TABLES; SHOW VIEWS; SHOW JOBS", "show tables; show views; show jobs"},
    {"SHOW CREATE TABLE t; SHOW CREATE VIEW v", "show create table <t>; show create view <v>"},
    {"DESCRIBE t; DESC t; DESCRIBE EXTENDED t", "describe <t>; describe <t>; describe <t>"},
    {"DESCRIBE JOB 'ab'; STOP JOB 'ab'; STOP JOB 'ab' WITH SAVEPOINT; stop job 'ab' with savepoint "
     "with drain",
     "describe job ab; stop ab; stop ab sp; stop ab sp drain"},
    {"QUIT; EXIT; HELP", "quit; quit; help"},
    {"CREATE TABLE t (a INT)", "create table <t>(a:INT)"},
    {"CREATE TEMPORARY TABLE IF NOT EXISTS db (a INT) WITH ('x'='y', 'z'='''')",
     "create table temp ifn <db>(a:INT){x=y}{z='}"},
    {"CREATE TABLE t (a BOOLEAN, b TINYINT, c SMALLINT, d INTEGER, e BIGINT, f FLOAT, g DOUBLE, h "
     "DOUBLE PRECISION)",
     "create table <t>(a:BOOLEAN, b:TINYINT, c:SMALLINT, d:INT, e:BIGINT, f:FLOAT, g:DOUBLE, "
     "h:DOUBLE)"},
    {"CREATE TABLE t (a DECIMAL, b DEC(5), c NUMERIC(38, 38), d CHAR, e CHAR(3), f VARCHAR(7), g "
     "STRING, h BYTES, i VARBINARY(9), j BINARY(2))",
     "create table <t>(a:DECIMAL(10, 0), b:DECIMAL(5, 0), c:DECIMAL(38, 38), d:CHAR(1), e:CHAR(3), "
     "f:VARCHAR(7), g:STRING, h:BYTES, "
     "i:VARBINARY(9), j:BINARY(2))"},
    {"CREATE TABLE t (a DATE, b TIME, c TIME(3), d TIMESTAMP, e TIMESTAMP(0) WITHOUT TIME ZONE, f "
     "TIMESTAMP(9) WITH LOCAL TIME ZONE, "
     "g TIMESTAMP_LTZ(3))",
     "create table <t>(a:DATE, b:TIME(0), c:TIME(3), d:TIMESTAMP(6), e:TIMESTAMP(0), "
     "f:TIMESTAMP_LTZ(9), g:TIMESTAMP_LTZ(3))"},
    {"CREATE TABLE t (a INT NOT NULL, b INT NULL, c INT NOT NULL PRIMARY KEY NOT ENFORCED COMMENT "
     "'the key')",
     "create table <t>(a:INT NOT NULL, b:INT, c:INT NOT NULL key 'the key')"},
    {"CREATE TABLE t (a INT, ts AS TO_TIMESTAMP(s), WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS, "
     "PRIMARY KEY (a, ts) NOT ENFORCED)",
     "create table <t>(a:INT, ts as TO_TIMESTAMP(`s`)) wm ts as `ts` - INTERVAL '5' SECOND pk a pk "
     "ts"},
    {"CREATE TABLE t (a INT, CONSTRAINT c PRIMARY KEY (a) NOT ENFORCED)",
     "create table <t>(a:INT) pk a"},
    {"CREATE TABLE t (a INT, o BIGINT METADATA FROM 'offset' VIRTUAL)",
     "create table <t>(a:INT, o:BIGINT metadata)"},
    {"CREATE TABLE t (a INT, b INT) COMMENT 'c' PARTITIONED BY (a, b) WITH ('k' = 'v')",
     "create table <t>(a:INT, b:INT) by a by b 'c'{k=v}"},
    {"CREATE TABLE t LIKE u", "create table <t>) like u 0000000"},
    {"CREATE TABLE t WITH ('k' = 'v') LIKE u (INCLUDING ALL OVERWRITING OPTIONS EXCLUDING "
     "WATERMARKS)",
     "create table <t>){k=v} like u 1000302"},
    {"CREATE VIEW v AS SELECT 1", "create view <v>(1)"},
    {"CREATE TEMPORARY VIEW IF NOT EXISTS v (a, b) COMMENT 'x' AS SELECT 1, 2",
     "create view temp ifn <v> a b(1, 2)"},
    {"INSERT INTO t SELECT a FROM u", "insert into<t>(`a` from <u>)"},
    {"INSERT INTO t (a, b) VALUES (1, 'x'), (2, NULL)", "insert into<t>(a,b)(|1,'x'|2,NULL)"},
    {"INSERT OVERWRITE t (SELECT a FROM u)", "insert over<t>(`a` from <u>)"},
    {"INSERT INTO t /*+ OPTIONS('k'='v') */ SELECT * FROM u /*+ OPTIONS('a'='b','c'='d') */ AS x",
     "insert into<t>{k=v}(* from <u>{a=b}{c=d} as x)"},
    {"EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; INSERT INTO u SELECT 2; END",
     "set of into<t>(1) into<u>(2)"},
    {"BEGIN STATEMENT SET; INSERT INTO t SELECT 1; END; SHOW JOBS", "set of into<t>(1); show jobs"},
    {"EXECUTE INSERT INTO t SELECT 1", "insert into<t>(1)"},
    {"EXPLAIN SELECT 1", "explain [select(1)]"},
    {"EXPLAIN PLAN FOR INSERT INTO t SELECT 1", "explain [insert into<t>(1)]"},
    {"EXPLAIN CHANGELOG_MODE SELECT 1", "explain cl [select(1)]"},
    {"EXPLAIN STATEMENT SET BEGIN INSERT INTO t SELECT 1; END", "explain [set of into<t>(1)]"},
    {"SELECT DISTINCT a AS b, t.c d, t.*, * FROM t",
     "select(distinct `a` as b, `t`.`c` as d, `t`.*, * from <t>)"},
    {"SELECT /*+ OPTIONS('varve.uid'='u') */ DISTINCT a FROM t",
     "select({varve.uid=u}distinct `a` from <t>)"},
    {"SELECT ALL a FROM t AS x (p, q)", "select(`a` from <t> as x(p,q))"},
    {"SELECT a FROM (SELECT b FROM t) WHERE a > 1 GROUP BY a, b + 1 HAVING COUNT(*) > 2",
     "select(`a` from sub(`b` from <t>) where `a` > 1 group `a`, `b` + 1 having COUNT(*) > 2)"},
    {"SELECT COUNT(*) FROM t GROUP BY ()", "select(COUNT(*) from <t> group ())"},
    {"SELECT * FROM (VALUES (1, 2)) AS v (a, b)", "select(* from values(|1,2) as v(a,b))"},
    {"SELECT 1 UNION ALL SELECT 2 UNION ALL (SELECT 3)", "select(1)+(2)+(3)"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECONDS))",
     "select(* from tumble<t> on ts size INTERVAL '10' SECOND)"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '2' HOUR)) w",
     "select(* from tumble<t> on ts size INTERVAL '1' DAY offset INTERVAL '2' HOUR as w)"},
    {"SELECT * FROM TABLE(TUMBLE(SIZE => INTERVAL '1' MINUTE, DATA => TABLE t, TIMECOL => "
     "DESCRIPTOR(ts)))",
     "select(* from tumble<t> on ts size INTERVAL '1' MINUTE)"},
    {"SELECT * FROM TABLE(TUMBLE((SELECT a FROM t), DESCRIPTOR(a), INTERVAL '1' MINUTE))",
     "select(* from tumble(`a` from <t>) on a size INTERVAL '1' MINUTE)"},
    {"SELECT `value`, `count`, `select` FROM `order`",
     "select(`value`, `count`, `select` from <order>)"},
    {"SELECT value, count, key, job, plan, position FROM t",
     NULL}, /* position: a function's name */
    {"SELECT value, count, key, job, plan, comment FROM t",
     "select(`value`, `count`, `key`, `job`, `plan`, `comment` from <t>)"},
};

START_TEST(each_statement_gives_its_tree)
{
    struct buf out = {0};
    struct err err = {0};

    if (statements[_i].tree == NULL) {
        ck_assert_rc(dump_script(statements[_i].sql, &out, &err), RC_INVALID);
    } else {
        ck_assert_ok(dump_script(statements[_i].sql, &out, &err));
        ck_assert_str_eq(buf_cstr(&out), statements[_i].tree);
    }
    buf_release(&out);
}
END_TEST

static const struct {
    const char *sql, *text;
} expressions[] = {
    {"1 + 2 * 3", "1 + (2 * 3)"},
    {"(1 + 2) * 3", "(1 + 2) * 3"},
    {"a - b - c", "(`a` - `b`) - `c`"},
    {"-a + +b", "(-`a`) + (+`b`)"},
    {"a || b || 'c'", "(`a` || `b`) || 'c'"},
    {"a OR b AND NOT c", "`a` OR (`b` AND (NOT `c`))"},
    {"NOT a = 1 OR b", "(NOT (`a` = 1)) OR `b`"},
    {"a = 1 IS TRUE", "(`a` = 1) IS TRUE"},
    {"a IS NOT NULL AND b IS NOT DISTINCT FROM c",
     "(`a` IS NOT NULL) AND (`b` IS NOT DISTINCT FROM `c`)"},
    {"a IS UNKNOWN", "`a` IS UNKNOWN"},
    {"a <> 1 AND b != 2 AND c >= 3", "((`a` <> 1) AND (`b` <> 2)) AND (`c` >= 3)"},
    {"a BETWEEN 1 AND 2 AND b", "(`a` BETWEEN 1 AND 2) AND `b`"},
    {"a NOT BETWEEN SYMMETRIC 1 + 1 AND 2", "`a` NOT BETWEEN SYMMETRIC (1 + 1) AND 2"},
    {"a IN (1, 2, x)", "`a` IN (1, 2, `x`)"},
    {"a NOT IN ('x')", "`a` NOT IN ('x')"},
    {"a LIKE 'x%' OR a NOT LIKE 'y!%' ESCAPE '!'",
     "(`a` LIKE 'x%') OR (`a` NOT LIKE 'y!%' ESCAPE '!')"},
    {"CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END",
     "CASE WHEN `a` THEN 1 WHEN `b` THEN 2 ELSE 3 END"},
    {"CASE a WHEN 1 THEN 'x' END", "CASE `a` WHEN 1 THEN 'x' END"},
    {"CAST(a AS DECIMAL(10, 2))", "CAST(`a` AS DECIMAL(10, 2))"},
    {"TRY_CAST(a AS TIMESTAMP(3))", "TRY_CAST(`a` AS TIMESTAMP(3))"},
    {"count(*)", "COUNT(*)"},
    {"sum(DISTINCT a) FILTER (WHERE b > 1)", "SUM(DISTINCT `a`) FILTER (WHERE `b` > 1)"},
    {"avg(ALL a)", "AVG(`a`)"},
    {"coalesce(a, b, 1)", "COALESCE(`a`, `b`, 1)"},
    {"left(a, 2) || right(a, 1)", "LEFT(`a`, 2) || RIGHT(`a`, 1)"},
    {"if(a, 1, 2)", "IF(`a`, 1, 2)"},
    {"EXTRACT(day FROM ts)", "EXTRACT(DAY FROM `ts`)"},
    {"FLOOR(ts TO HOUR)", "FLOOR(`ts` TO HOUR)"},
    {"ceiling(a)", "CEIL(`a`)"},
    {"TIMESTAMPADD(DAYS, 1, ts)", "TIMESTAMPADD(DAY, 1, `ts`)"},
    {"POSITION('a' IN b)", "POSITION('a' IN `b`)"},
    {"SUBSTRING(a FROM 2 FOR 3)", "SUBSTRING(`a`, 2, 3)"},
    {"substring(a, 2)", "SUBSTRING(`a`, 2)"},
    {"OVERLAY(a PLACING b FROM 1 FOR 2)", "OVERLAY(`a` PLACING `b` FROM 1 FOR 2)"},
    {"TRIM(a)", "TRIM(BOTH  FROM `a`)"},
    {"TRIM(LEADING 'x' FROM a)", "TRIM(LEADING 'x' FROM `a`)"},
    {"CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"},
    {"`CURRENT_DATE`", "`CURRENT_DATE`"},
    {"DATE '2020-01-02'", "DATE '2020-01-02'"},
    {"TIMESTAMP '2020-01-02 03:04:05.678'", "TIMESTAMP '2020-01-02 03:04:05.678'"},
    {"INTERVAL -'1 10' DAY TO HOUR", "INTERVAL '-1 10' DAY TO HOUR"},
    {"INTERVAL '1' SECOND(3)", "INTERVAL '1' SECOND(3)"},
    {"X'0aFF'", "X'0aFF'"},
    {"'it''s'", "'it''s'"},
    {"TRUE AND false", "TRUE AND FALSE"},
    {"NULL", "NULL"},
    {"1.50", "1.50"},
    {"1e3", "1e3"},
};

START_TEST(operators_bind_as_in_flink_and_print_back)
{
    const char *text = expressions[_i].sql;
    struct err err = {0};

    for (int round = 0; round < 2; round++) { /* what is printed means the same */
        struct arena *arena = arena_new(0);
        struct ast_script script;
        struct buf out = {0};

        ck_assert_ok(sql_parse_script(arena, bytes_of_str(arena_printf(arena, "SELECT %s", text)),
                                      &script, &err));
        ast_expr_print(script.statements[0]->query->items[0].expr, &out);
        ck_assert_str_eq(buf_cstr(&out), expressions[_i].text);
        buf_release(&out);
        arena_free(arena);
        text = expressions[_i].text;
        if (strstr(text, "BOTH  FROM") != NULL)
            break; /* Flink's TRIM(BOTH FROM a) is parsed too, but printed with two blanks */
    }
}
END_TEST

/* ---- what is wrong --------------------------------------------------------------------------- */

static const struct {
    const char *sql;
    enum rc rc;
    const char *message; /* a part */
} mistakes[] = {
    {"SELEC a FROM t", RC_INVALID,
     "line 1 column 1: expected a statement, found 'SELEC'; did you mean SELECT?\n  SELEC a FROM "
     "t\n  ^"},
    {"SELECT a FORM t", RC_INVALID,
     "line 1 column 15: expected the end of the statement, ',', FROM, UNION, WHERE, GROUP or "
     "HAVING, found 't'; is FORM "
     "before it meant to be FROM?\n  SELECT a FORM t\n                ^"},
    {"SELECT\n  a,\n  FROM t", RC_INVALID,
     "line 3 column 3: expected an expression or '*', found 'FROM'\n    FROM t\n    ^"},
    {"SELECT FROM t", RC_INVALID,
     "column 8: expected an expression, '*', ALL or DISTINCT, found 'FROM'\n"},
    {"SELECT a FROM t WHERE", RC_INVALID,
     "column 22: expected an expression, found the end of the text"},
    {"SELECT a FROM t GROUP a", RC_INVALID, "column 23: expected BY, found 'a'"},
    {"SELECT a FROM", RC_INVALID,
     "column 14: expected a name, '(' or TABLE, found the end of the text"},
    {"SELECT (1 + 2 FROM t", RC_INVALID, "column 15: expected an operator or ')', found 'FROM'"},
    {"SELECT a b c FROM t", RC_INVALID, "column 12: expected the end of the statement, ',', FROM,"},
    {"SELECT CASE a WHEN 1 THEN 2 FROM t", RC_INVALID,
     "column 29: expected an operator, END, WHEN or ELSE, found 'FROM'"},
    {"SELECT timestamp FROM t", RC_INVALID,
     "expected a string in single quotes, found 'FROM'; TIMESTAMP is a reserved word, as a name it "
     "needs backticks"},
    {"SELECT a AS order FROM t", RC_INVALID,
     "expected a name, found 'order'; ORDER is a reserved word, as a name it needs backticks"},
    {"SELECT EXTRACT(DAY, x) FROM t", RC_INVALID, "column 19: expected FROM, found ','"},
    {"SELECT INTERVAL '1' SECNOD", RC_INVALID,
     "SECNOD is not a unit of intervals; did you mean SECOND?"},
    {"SELECT X'0'", RC_INVALID, "pairs of hexadecimal digits"},
    {"SELECT 'a FROM t", RC_INVALID,
     "line 1 column 8: this string has no closing quote\n  SELECT 'a FROM t\n         ^"},
    {"SELECT \"a\" FROM t", RC_INVALID, "column 8: names are quoted with backticks"},
    {"SELECT 10abc", RC_INVALID, "column 8: a number runs into a name"},
    {"SELECT a /* b", RC_INVALID, "column 10: this comment has no end"},
    {"SELECT a ? b", RC_INVALID, "column 10: no token begins with this character"},
    {"SELECT \xc3\xa4 '\xc3\xb6", RC_INVALID,
     "line 1 column 10: this string has no closing quote\n  SELECT \xc3\xa4 '\xc3\xb6\n           "
     "^"},
    {"SELECT '\xe6\xbc\xa2' x y", RC_INVALID,
     "column 14: "}, /* wide characters: the caret follows */
    {"\tSELECT x y z", RC_INVALID, "\n  \tSELECT x y z\n  \t           ^"},
    {"CREATE TABLE t (a INTT)", RC_INVALID, "column 19: there is no type INTT; did you mean INT?"},
    {"CREATE TABLE t (a DECIMAL(39, 2))", RC_INVALID,
     "column 27: DECIMAL(39): the number must be between 1 and 38"},
    {"CREATE TABLE t (a DECIMAL(5, 6))", RC_INVALID,
     "DECIMAL(5, 6): the scale must be between 0 and the precision"},
    {"CREATE TABLE t (a TIMESTAMP(10))", RC_INVALID,
     "TIMESTAMP(10): the precision must be between 0 and 9"},
    {"CREATE TABLE t (a VARCHAR(0))", RC_INVALID,
     "VARCHAR(0): the number must be between 1 and 2147483647"},
    {"CREATE TABLE t (a INT(4))", RC_INVALID, "INT takes no length"},
    {"CREATE TABLE t (a STRING PRECISION)", RC_INVALID, "only DOUBLE is followed by PRECISION"},
    {"CREATE TABLE t (a INT b INT)", RC_INVALID, "found 'b'"},
    {"CREATE TABLE t (a INT) WITH (connector = 'x')", RC_INVALID,
     "column 30: expected a string in single quotes, found 'connector'"},
    {"CREATE TABLE t (a INT) WITH ('a' = 1)", RC_INVALID,
     "expected a string in single quotes, found '1'"},
    {"CREATE TABLE t (a INT, WATERMARK FOR a AS a, WATERMARK FOR a AS a)", RC_INVALID,
     "at most one WATERMARK"},
    {"CREATE TABLE t LIKE u (INCLUDING OPTION)", RC_INVALID,
     "expected ALL, CONSTRAINTS, GENERATED"},
    {"INSERT t SELECT 1", RC_INVALID, "column 8: expected OVERWRITE or INTO, found 't'"},
    {"INSERT INTO t VALUES (1, 2), (3)", RC_INVALID,
     "row 2 of VALUES has 1 values, the first has 2"},
    {"SHOW TABLE", RC_INVALID, "expected JOBS, TABLES, VIEWS or CREATE, found 'TABLE'"},
    {"STOP JOB abc", RC_INVALID, "column 10: expected a string in single quotes, found 'abc'"},
    {"SET a.b", RC_INVALID, "column 8: expected '=', found the end of the text"},
    {"SET a = b c", RC_INVALID, "column 11: expected the end of the statement, found 'c'"},
    {"EXECUTE STATEMENT SET BEGIN SELECT 1; END", RC_INVALID, "expected INSERT, found 'SELECT'"},
    {"DROP TABLE IF EXIST t", RC_INVALID,
     "column 15: expected EXISTS, found 'EXIST'; did you mean EXISTS?"},
    {"SELECT * FROM TABLE(TUMBEL(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))", RC_INVALID,
     "no table function TUMBEL"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE t, ts, INTERVAL '1' DAY))", RC_INVALID,
     "the second argument of TUMBLE is the time column"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts)))", RC_INVALID,
     "the third argument of TUMBLE is the size"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE t, DATA => TABLE u))", RC_INVALID,
     "argument DATA of TUMBLE is given twice"},
    /* Flink's, not ours: named, never a bare syntax error. */
    {"SELECT a FROM t JOIN u ON t.a = u.a", RC_UNSUPPORTED,
     "column 17: not supported by varve: JOIN"},
    {"SELECT a FROM t LEFT JOIN u ON t.a = u.a", RC_UNSUPPORTED, "JOIN"},
    {"SELECT a FROM t, u", RC_UNSUPPORTED, "a join (several tables in FROM)"},
    {"SELECT a FROM t ORDER BY a", RC_UNSUPPORTED, "ORDER BY"},
    {"SELECT a FROM t LIMIT 10", RC_UNSUPPORTED, "LIMIT"},
    {"SELECT a FROM t UNION SELECT b FROM u", RC_UNSUPPORTED, "UNION without ALL"},
    {"SELECT a FROM t INTERSECT SELECT b FROM u", RC_UNSUPPORTED, "INTERSECT"},
    {"SELECT SUM(a) OVER (PARTITION BY b) FROM t", RC_UNSUPPORTED, "OVER"},
    {"SELECT a FROM t WHERE a IN (SELECT b FROM u)", RC_UNSUPPORTED, "a subquery in an expression"},
    {"SELECT (SELECT 1) FROM t", RC_UNSUPPORTED, "a subquery in an expression"},
    {"SELECT a FROM t WHERE EXISTS (SELECT 1)", RC_UNSUPPORTED, "EXISTS"},
    {"SELECT a FROM t WHERE a SIMILAR TO 'x'", RC_UNSUPPORTED, "SIMILAR TO"},
    {"SELECT a[1] FROM t", RC_UNSUPPORTED, "ARRAY and MAP"},
    {"SELECT * FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))", RC_UNSUPPORTED,
     "HOP windows"},
    {"SELECT * FROM TABLE(SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))", RC_UNSUPPORTED,
     "SESSION windows"},
    {"SELECT * FROM t MATCH_RECOGNIZE (x)", RC_UNSUPPORTED, "MATCH_RECOGNIZE"},
    {"SELECT a FROM t GROUP BY GROUPING SETS ((a))", RC_UNSUPPORTED, "GROUPING SETS"},
    {"WITH x AS (SELECT 1) SELECT * FROM x", RC_UNSUPPORTED,
     "WITH (common table expressions); use CREATE VIEW"},
    {"CREATE TABLE t (a ARRAY<INT>)", RC_UNSUPPORTED, "the type ARRAY"},
    {"CREATE TABLE t (a ROW<b INT>)", RC_UNSUPPORTED, "the type ROW"},
    {"CREATE TABLE t (a TIMESTAMP WITH TIME ZONE)", RC_UNSUPPORTED, "TIMESTAMP WITH TIME ZONE"},
    {"CREATE TABLE t (a INT PRIMARY KEY)", RC_UNSUPPORTED, "an enforced PRIMARY KEY"},
    {"CREATE TABLE t WITH ('a'='b') AS SELECT 1", RC_UNSUPPORTED, "CREATE TABLE ... AS SELECT"},
    {"CREATE FUNCTION f AS 'x'", RC_UNSUPPORTED, "CREATE FUNCTION"},
    {"CREATE OR REPLACE TABLE t (a INT)", RC_UNSUPPORTED, "CREATE OR REPLACE"},
    {"ALTER TABLE t ADD c INT", RC_UNSUPPORTED, "ALTER"},
    {"USE CATALOG c", RC_UNSUPPORTED, "USE"},
    {"SHOW CATALOGS", RC_UNSUPPORTED, "SHOW CATALOGS"},
    {"EXPLAIN ESTIMATED_COST SELECT 1", RC_UNSUPPORTED, "ESTIMATED_COST"},
    {"SELECT /*+ BROADCAST(t) */ a FROM t", RC_UNSUPPORTED, "a hint other than OPTIONS"},
    {"SELECT a /*+ OPTIONS('a'='b') */ FROM t", RC_UNSUPPORTED, "a hint here"},
    {"SELECT a FROM t /*+ OPTIONS(b) */", RC_INVALID, "OPTIONS takes pairs"},
    {"SELECT a FROM t /*+ STATE_TTL('t'='1d') */", RC_INVALID, "STATE_TTL stands behind SELECT"},
    {"INSERT INTO t /*+ STATE_TTL('t'='1d') */ SELECT 1", RC_INVALID, "STATE_TTL stands behind SELECT"},
    {"SELECT /*+ STATE_TTL(t) */ a FROM t", RC_INVALID, "STATE_TTL takes pairs: STATE_TTL('table'='time')"},
    {"SELECT /*+ OPTIONS('a'='b'), BROADCAST(t) */ a FROM t", RC_UNSUPPORTED, "a hint other than OPTIONS"},
    {"SELECT a FROM other.t", RC_UNSUPPORTED,
     "catalogs and databases other than default_catalog.default_database"},
};

START_TEST(a_mistake_is_named_at_its_place)
{
    struct buf out = {0};
    struct err err = {0};

    ck_assert_rc_msg(dump_script(mistakes[_i].sql, &out, &err), mistakes[_i].rc,
                     mistakes[_i].message);
    buf_release(&out);
}
END_TEST

/* The caret stands under a wide character's column. */
START_TEST(the_caret_counts_terminal_columns)
{
    struct buf out = {0};
    struct err err = {0};

    ck_assert_rc_msg(dump_script("SELECT '\xe6\xbc\xa2' x y", &out, &err), RC_INVALID,
                     "\n  SELECT '\xe6\xbc\xa2' x y\n                ^");
    buf_release(&out);
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

static enum rc parse_repeated(const char *head, const char *part, size_t times, const char *middle,
                              const char *tail, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct ast_script script;
    struct buf text = {0};
    enum rc rc;

    buf_append_str(&text, head);
    for (size_t i = 0; i < times; i++)
        buf_append_str(&text, part);
    buf_append_str(&text, middle);
    for (size_t i = 0; i < times; i++)
        buf_append_str(&text, tail);
    rc = sql_parse_script(arena, buf_bytes(&text), &script, err);
    buf_release(&text);
    arena_free(arena);
    return rc;
}

START_TEST(deep_nesting_meets_a_limit)
{
    struct err err = {0};

    ck_assert_ok(parse_repeated("SELECT ", "(", 300, "1", ")", &err));
    ck_assert_rc_msg(parse_repeated("SELECT ", "(", 100000, "1", ")", &err), RC_LIMIT,
                     "nested too deeply");
    ck_assert_ok(parse_repeated("SELECT 1", " + 1", 300, "", "", &err));
    ck_assert_rc_msg(parse_repeated("SELECT 1", " + 1", 1000, "", "", &err), RC_LIMIT,
                     "nested more than 400 deep");
    ck_assert_rc_msg(parse_repeated("SELECT ", "NOT ", 1000, "TRUE", "", &err), RC_LIMIT,
                     "nested more than 400 deep");
    ck_assert_ok(parse_repeated("SELECT 1 FROM ", "(SELECT 1 FROM ", 30, "t", ")", &err));
    ck_assert_rc_msg(parse_repeated("SELECT 1 FROM ", "(SELECT 1 FROM ", 100, "t", ")", &err),
                     RC_LIMIT, "queries are nested more than 32 deep");
    ck_assert_rc_msg(parse_repeated("SELECT 1 --", "xxxxxxxxxxxxxxxx", 300000, "", "", &err),
                     RC_LIMIT, "the limit is 4194304");
    ck_assert_ok(
        parse_repeated("SELECT a IN (1", ", 1", 20000, ")", "", &err)); /* wide is not deep */
}
END_TEST

START_TEST(text_that_is_not_utf8_is_refused)
{
    struct arena *arena = arena_new(0);
    struct ast_script script;
    struct err err = {0};

    ck_assert_rc_msg(sql_parse_script(arena, bytes_of_str("SELECT '\xff'"), &script, &err),
                     RC_INVALID, "byte 0xff at offset 8");
    ck_assert_rc_msg(sql_parse_script(arena, bytes_of("SELECT \0", 8), &script, &err), RC_INVALID,
                     "byte 0 at offset 7");
    arena_free(arena);
}
END_TEST

/* ---- texts of statements, and the interactive client ----------------------------------------- */

START_TEST(statements_keep_their_text)
{
    struct arena *arena = arena_new(0);
    struct ast_script script;
    struct err err = {0};

    ck_assert_ok(sql_parse_script(
        arena, bytes_of_str("  SHOW JOBS ;\n-- c\nSELECT 1 ,\n 2 -- d\n;EXPLAIN  SELECT 3"),
        &script, &err));
    ck_assert_uint_eq(script.count, 3);
    ck_assert_str_eq(script.statements[0]->text, "SHOW JOBS");
    ck_assert_str_eq(script.statements[1]->text, "SELECT 1 ,\n 2 -- d");
    ck_assert_uint_eq(script.statements[1]->pos.line, 3);
    ck_assert_str_eq(script.statements[2]->explained->text, "SELECT 3");
    arena_free(arena);
}
END_TEST

static const struct {
    const char *text;
    size_t complete;
} typed[] = {
    {"SELECT 1", 0},
    {"SELECT 1;", 9},
    {"SELECT 1; SELECT", 9},
    {"SELECT ';'", 0},
    {"SELECT ';';", 11},
    {"SELECT 1 -- ;\n", 0},
    {"SELECT 1 /* ; */ ;", 18},
    {"SELECT 'a;\n", 0},
    {"EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1;", 0},
    {"EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; END;", 56},
    {"BEGIN STATEMENT SET; INSERT INTO t SELECT 1;", 0},
    {"BEGIN STATEMENT SET; INSERT INTO t SELECT 1; END;", 49},
    {"SET a = b;", 10},
    {"", 0},
};

START_TEST(a_client_knows_when_statements_are_whole)
{
    ck_assert_uint_eq(sql_complete_statements(bytes_of_str(typed[_i].text)), typed[_i].complete);
}
END_TEST

TEST_MAIN("parser",
          tcase_add_loop_test(tc, each_statement_gives_its_tree, 0, ARRAY_LEN(statements));
          tcase_add_loop_test(tc, operators_bind_as_in_flink_and_print_back, 0,
                              ARRAY_LEN(expressions));
          tcase_add_loop_test(tc, a_mistake_is_named_at_its_place, 0, ARRAY_LEN(mistakes));
          tcase_add_test(tc, the_caret_counts_terminal_columns);
          tcase_add_test(tc, deep_nesting_meets_a_limit);
          tcase_add_test(tc, text_that_is_not_utf8_is_refused);
          tcase_add_test(tc, statements_keep_their_text);
          tcase_add_loop_test(tc, a_client_knows_when_statements_are_whole, 0, ARRAY_LEN(typed)))
