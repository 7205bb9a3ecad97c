/* parser.c - drives lexer and grammar, and words the syntax errors; see parser.h. */
#include "job/sql/parser.h"

#include "base/nearest.h"
#include "base/utf8.h"
#include "job/sql/grammar.h"
#include "job/sql/parser_priv.h"
#include "job/sql/secret.h"

#include <stdio.h>
#include <strings.h>

#define EXPECTED_SHOWN_MAX 8
#define WORDS_MAX 200 /* candidates for "did you mean" */

/* Feeds tokens to the grammar. SET and RESET at the start of a statement switch to the words of
 * settings. */
struct feed {
    struct lexer lexer;
    void *parser;
    bool in_setting, at_start; /* at_start: the next token begins a statement */
    uint32_t fed;
    struct sql_token token, before; /* the last one read, and the one before it */
    bool statement_start;           /* of `token` */
};

void parse_fail(struct sql_parse *p, enum rc rc, struct sql_pos pos, const char *fmt, ...)
{
    char text[ERR_MSG_MAX / 2];
    va_list args;

    if (p->failed)
        return;
    p->failed = true;
    p->rc = rc;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sql_error_at(p->err, rc, p->source, pos, "%s", text);
}

void parse_unsupported(struct sql_parse *p, const struct sql_token *at, const char *what)
{
    parse_fail(p, RC_UNSUPPORTED, at->pos, "not supported by varve: %s", what);
}

void parse_syntax_error(struct sql_parse *p, const struct sql_token *at)
{
    (void)at;
    if (!p->failed)
        p->syntax_error = p->failed = true;
}

void parse_too_deep(struct sql_parse *p)
{
    parse_fail(p, RC_LIMIT, (struct sql_pos){1, 1, 0},
               "nested too deeply: more than 1500 open constructs");
}

static enum rc feed_init(struct feed *f, struct arena *arena, const char *source)
{
    *f = (struct feed){.at_start = true};
    lexer_init(&f->lexer, arena, source);
    f->parser = sql_grammarAlloc(mem_alloc);
    return RC_OK;
}

static void feed_release(struct feed *f)
{
    sql_grammarFree(f->parser, mem_free);
}

/* Reads the next token into f->token; the end of the text gives one last semicolon, then kind 0. */
static enum rc feed_read(struct feed *f, struct err *err)
{
    f->before = f->token;
    f->statement_start = f->at_start;
    RETURN_IF_ERR(f->in_setting ? lexer_next_setting(&f->lexer, &f->token, err)
                                : lexer_next(&f->lexer, &f->token, err));
    if (f->token.kind == 0 && f->before.kind != TK_SEMI && f->before.kind != 0)
        f->token.kind = TK_SEMI;
    if (f->at_start && (f->token.kind == TK_SET || f->token.kind == TK_RESET))
        f->in_setting = true;
    f->at_start = f->token.kind == TK_SEMI;
    if (f->at_start)
        f->in_setting = false;
    return RC_OK;
}

/* ---- wording of syntax errors ---------------------------------------------------------------- */

/* What Flink has and varve has not, recognised by the token where the grammar gave up. */
static const struct {
    int kind;
    const char *what;
} unsupported_tokens[] = {
    {TK_JOIN, "JOIN"},
    {TK_INNER, "JOIN"},
    {TK_LEFT, "JOIN"},
    {TK_RIGHT, "JOIN"},
    {TK_FULL, "JOIN"},
    {TK_CROSS, "JOIN"},
    {TK_NATURAL, "JOIN"},
    {TK_LATERAL, "LATERAL"},
    {TK_UNNEST, "UNNEST"},
    {TK_ORDER, "ORDER BY"},
    {TK_LIMIT, "LIMIT"},
    {TK_OFFSET, "OFFSET"},
    {TK_FETCH, "FETCH"},
    {TK_INTERSECT, "INTERSECT"},
    {TK_EXCEPT, "EXCEPT"},
    {TK_MINUS_WORD, "MINUS"},
    {TK_OVER, "OVER (window aggregates over rows)"},
    {TK_WINDOW, "WINDOW"},
    {TK_MATCH_RECOGNIZE, "MATCH_RECOGNIZE"},
    {TK_TABLESAMPLE, "TABLESAMPLE"},
    {TK_QUALIFY, "QUALIFY"},
    {TK_EXISTS, "EXISTS (a subquery in a condition)"},
    {TK_SIMILAR, "SIMILAR TO"},
    {TK_LBRACKET, "ARRAY and MAP values"},
    {TK_ARROW, "named arguments"},
    {TK_FOR, "FOR SYSTEM_TIME AS OF"},
    {TK_HINT_BEGIN, "a hint here; OPTIONS('key'='value') may stand behind the name of a table"},
};
/* The same by a plain word, at the start of a statement or behind another word (NULL: anywhere). */
static const struct {
    const char *before, *word, *what;
} unsupported_words[] = {
    {"", "ALTER", "ALTER"},
    {"", "USE", "USE"},
    {"", "ADD", "ADD JAR"},
    {"", "REMOVE", "REMOVE JAR"},
    {"", "LOAD", "LOAD MODULE"},
    {"", "UNLOAD", "UNLOAD MODULE"},
    {"", "COMPILE", "COMPILE PLAN"},
    {"", "ANALYZE", "ANALYZE TABLE"},
    {"", "UPDATE", "UPDATE"},
    {"", "DELETE", "DELETE"},
    {"", "TRUNCATE", "TRUNCATE TABLE"},
    {"", "CALL", "CALL"},
    {"", "MERGE", "MERGE"},
    {"", "SOURCE", "SOURCE"},
    {"", "WITH", "WITH (common table expressions); use CREATE VIEW"},
    {"", "CLEAR", "CLEAR"},
    {"AS", "WITH", "WITH (common table expressions); use CREATE VIEW"},
    {"CREATE", "FUNCTION", "CREATE FUNCTION"},
    {"CREATE", "DATABASE", "CREATE DATABASE"},
    {"CREATE", "CATALOG", "CREATE CATALOG"},
    {"CREATE", "MODEL", "CREATE MODEL"},
    {"CREATE", "OR", "CREATE OR REPLACE"},
    {"CREATE", "MATERIALIZED", "materialized tables"},
    {"CREATE", "CONNECTION", "CREATE CONNECTION"},
    {"TEMPORARY", "FUNCTION", "user-defined functions"},
    {"TEMPORARY", "SYSTEM", "user-defined functions"},
    {"DROP", "FUNCTION", "DROP FUNCTION"},
    {"DROP", "DATABASE", "DROP DATABASE"},
    {"DROP", "CATALOG", "DROP CATALOG"},
    {"DROP", "MODEL", "DROP MODEL"},
    {"DROP", "MATERIALIZED", "materialized tables"},
    {"SHOW", "CATALOGS", "SHOW CATALOGS"},
    {"SHOW", "DATABASES", "SHOW DATABASES"},
    {"SHOW", "FUNCTIONS", "SHOW FUNCTIONS"},
    {"SHOW", "MODULES", "SHOW MODULES"},
    {"SHOW", "COLUMNS", "SHOW COLUMNS; use DESCRIBE"},
    {"SHOW", "PARTITIONS", "SHOW PARTITIONS"},
    {"SHOW", "CURRENT", "SHOW CURRENT"},
    {"SHOW", "FULL", "SHOW FULL"},
    {"SHOW", "USER", "SHOW USER FUNCTIONS"},
    {"SHOW", "JARS", "SHOW JARS"},
    {"SHOW", "PROCEDURES", "SHOW PROCEDURES"},
    {"SHOW", "MODELS", "SHOW MODELS"},
    {"EXPLAIN", "ESTIMATED_COST", "EXPLAIN ESTIMATED_COST"},
    {"EXPLAIN", "JSON_EXECUTION_PLAN", "EXPLAIN JSON_EXECUTION_PLAN"},
    {"EXPLAIN", "PLAN_ADVICE", "EXPLAIN PLAN_ADVICE"},
    {"GROUPING", "SETS", "GROUPING SETS"},
    {"EXECUTE", "PLAN", "EXECUTE PLAN"},
    {"TABLES", "FROM", "SHOW TABLES FROM"},
    {"TABLES", "LIKE", "SHOW TABLES LIKE"},
    {")", "WITHIN", "WITHIN GROUP"},
    {")", "IGNORE", "IGNORE NULLS"},
    {")", "RESPECT", "RESPECT NULLS"},
    {")", "DISTRIBUTED", "DISTRIBUTED BY"},
    {NULL, "PARTITION", "INSERT ... PARTITION"},
    {NULL, "UNIQUE", "UNIQUE"},
    {NULL, "PIVOT", "PIVOT"},
    {"UNION", NULL, "UNION without ALL; use SELECT DISTINCT over UNION ALL"},
};

static bool same_word(const struct sql_token *t, const char *word)
{
    return t->text != NULL && !t->quoted && t->kind != TK_STRING && strlen(word) == t->len &&
           strncasecmp(t->text, word, t->len) == 0;
}

/* NULL: the token is no sign of something that is not supported. */
static const char *unsupported_what(const struct feed *f, const bool *expected)
{
    const struct sql_token *t = &f->token;

    if (t->kind == TK_SELECT && f->before.kind == TK_LP && expected[TK_INTEGER])
        return "a subquery in an expression";
    for (size_t i = 0; i < ARRAY_LEN(unsupported_words); i++) {
        const char *before = unsupported_words[i].before, *word = unsupported_words[i].word;

        if ((word == NULL ? !expected[t->kind] : same_word(t, word)) &&
            (before == NULL ||
             (*before == '\0' ? f->statement_start : same_word(&f->before, before))))
            return unsupported_words[i].what;
    }
    if (f->statement_start || (t->kind == TK_EXISTS && same_word(&f->before, "IF")))
        return NULL;
    if (expected[TK_IDENT] && !expected[TK_SEMI] && !expected[TK_INTEGER] &&
        t->kind != TK_LATERAL && t->kind != TK_UNNEST)
        return NULL; /* where a name must stand, the word was meant as one */
    for (size_t i = 0; i < ARRAY_LEN(unsupported_tokens); i++)
        if (unsupported_tokens[i].kind == t->kind)
            return unsupported_tokens[i].what;
    return NULL;
}

/* Token kinds that one word stands for, when `sign` of them are all expected. */
struct token_class {
    const char *words;
    int signs[3];
    int unless; /* not when this one is expected too; 0: none */
    int kinds[40];
};
static const struct token_class classes[] = {
    {"a statement",
     {TK_CREATE, TK_SELECT, TK_DROP},
     0,
     {TK_CREATE, TK_SELECT, TK_DROP, TK_SET, TK_RESET, TK_SHOW, TK_DESCRIBE, TK_DESC, TK_EXPLAIN,
      TK_INSERT, TK_EXECUTE, TK_BEGIN, TK_STOP, TK_QUIT, TK_EXIT, TK_HELP, TK_VALUES, TK_LP,
      TK_SEMI}},
    {"a query", {TK_SELECT, TK_VALUES, TK_LP}, TK_INTEGER, {TK_SELECT, TK_VALUES, TK_LP}},
    {"an expression",
     {TK_INTEGER, TK_CASE, TK_CAST},
     0,
     {TK_LP,        TK_NOT,       TK_NULL,    TK_TRUE,    TK_FALSE,        TK_INTEGER,
      TK_DECIMAL,   TK_DOUBLE,    TK_STRING,  TK_BINARY,  TK_DATE,         TK_TIME,
      TK_TIMESTAMP, TK_INTERVAL,  TK_CASE,    TK_CAST,    TK_TRY_CAST,     TK_LEFT,
      TK_RIGHT,     TK_FLOOR,     TK_CEIL,    TK_EXTRACT, TK_TIMESTAMPADD, TK_TIMESTAMPDIFF,
      TK_POSITION,  TK_SUBSTRING, TK_OVERLAY, TK_TRIM,    TK_PLUS,         TK_MINUS,
      TK_IDENT}},
    {"an operator",
     {TK_PLUS, TK_SLASH, TK_CONCAT},
     0,
     {TK_PLUS, TK_MINUS, TK_STAR, TK_SLASH, TK_PERCENT, TK_CONCAT, TK_EQ, TK_NE, TK_LT, TK_LE,
      TK_GT, TK_GE, TK_AND, TK_OR, TK_IS, TK_NOT, TK_BETWEEN, TK_IN, TK_LIKE}},
    {"a type",
     {TK_DATE, TK_TIMESTAMP, TK_IDENT},
     TK_INTEGER,
     {TK_DATE, TK_TIME, TK_TIMESTAMP, TK_INTERVAL, TK_IDENT}},
};

static const char *token_words(int kind)
{
    switch (kind) {
    case TK_IDENT:
        return "a name";
    case TK_STRING:
        return "a string in single quotes";
    case TK_INTEGER:
        return "a whole number";
    case TK_SETTING:
        return "a key or value";
    case TK_SEMI:
        return "the end of the statement";
    case TK_COMMA:
        return "','";
    case TK_DOT:
        return "'.'";
    case TK_LP:
        return "'('";
    case TK_RP:
        return "')'";
    case TK_EQ:
        return "'='";
    case TK_STAR:
        return "'*'";
    case TK_PLUS:
        return "'+'";
    case TK_MINUS:
        return "'-'";
    case TK_LT:
        return "'<'";
    case TK_ARROW:
        return "'=>'";
    case TK_HINT_END:
        return "'*/'";
    default:
        return lexer_keyword_of(kind);
    }
}

/* "A, B or C" of what could have come, classes first; the keywords also into `words`. */
static size_t expected_words(bool *expected, struct buf *out, const char **words)
{
    const char *shown[EXPECTED_SHOWN_MAX];
    size_t count = 0, word_count = 0, more = 0;

    for (int kind = 1; kind < (int)grammar_token_count(); kind++)
        if (expected[kind] && lexer_keyword_of(kind) != NULL && word_count < WORDS_MAX)
            words[word_count++] = lexer_keyword_of(kind);
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        const struct token_class *c = &classes[i];

        if (!expected[c->signs[0]] || !expected[c->signs[1]] || !expected[c->signs[2]] ||
            (c->unless != 0 && expected[c->unless]))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(c->kinds) && c->kinds[k] != 0; k++)
            expected[c->kinds[k]] = false;
        shown[count++] = c->words;
    }
    for (int keywords = 0; keywords < 2; keywords++)
        for (int kind = 1; kind < (int)grammar_token_count(); kind++) {
            const char *text = expected[kind] ? token_words(kind) : NULL;

            if (text == NULL || (lexer_keyword_of(kind) != NULL) != (keywords == 1))
                continue;
            if (count < EXPECTED_SHOWN_MAX)
                shown[count++] = text;
            else
                more++;
        }
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%s",
                   i == 0                        ? ""
                   : i + 1 == count && more == 0 ? " or "
                                                 : ", ",
                   shown[i]);
    if (more > 0)
        buf_append_str(out, " ...");
    return word_count;
}

/* Words that nobody means as a name. */
static bool is_structural(int kind)
{
    static const int kinds[] = {
        TK_FROM, TK_WHERE,   TK_GROUP,  TK_HAVING, TK_SELECT, TK_INTO, TK_WITH,   TK_AS,
        TK_BY,   TK_UNION,   TK_VALUES, TK_WHEN,   TK_THEN,   TK_ELSE, TK_AND,    TK_OR,
        TK_ON,   TK_SET,     TK_INSERT, TK_CREATE, TK_DROP,   TK_IN,   TK_IS,     TK_NOT,
        TK_LIKE, TK_BETWEEN, TK_CASE,   TK_TABLE,  TK_END,    TK_NULL, TK_EXISTS, TK_DISTINCT};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i] == kind)
            return true;
    return lexer_keyword_of(kind) == NULL;
}

/* Advice behind the message: a reserved word used as a name, a misspelt keyword here or taken for
 * an alias before. */
static void hint_for(const struct feed *bad, bool name_expected, const char *const *words,
                     size_t word_count, char hint[SQL_HINT_MAX])
{
    const struct sql_token *t = &bad->token, *before = &bad->before;
    int reserved = name_expected && !is_structural(t->kind) ? t->kind : 0;

    if (before->kind == TK_DATE || before->kind == TK_TIME || before->kind == TK_TIMESTAMP ||
        before->kind == TK_INTERVAL)
        reserved = before->kind;
    hint[0] = '\0';
    if (reserved != 0)
        snprintf(hint, SQL_HINT_MAX, "; %s is a reserved word, as a name it needs backticks",
                 lexer_keyword_of(reserved));
    else if (t->kind == TK_IDENT && !t->quoted)
        sql_nearest_hint(hint, t->text, words, word_count);
    if (hint[0] == '\0' && before->kind == TK_IDENT && !before->quoted) {
        const char *near = nearest_of(before->text, words, word_count);

        if (near != NULL)
            snprintf(hint, SQL_HINT_MAX, "; is %.40s before it meant to be %s?", before->text,
                     near);
    }
}

/* Replays the tokens before the bad one, so that no default reduction has hidden what else could
 * have come. */
static void explain_syntax_error(struct sql_parse *p, const struct feed *bad)
{
    size_t kinds = grammar_token_count();
    bool *expected = mem_calloc(kinds, sizeof *expected), name_expected;
    struct sql_parse scratch = {.arena = p->arena, .source = p->source};
    const char *words[WORDS_MAX], *what;
    char hint[SQL_HINT_MAX], found[96];
    struct buf list = {0};
    struct feed again;
    size_t word_count;

    feed_init(&again, p->arena, p->source);
    scratch.statements = ARENA_NEW(p->arena, struct sql_list);
    while (again.fed + 1 < bad->fed && feed_read(&again, NULL) == RC_OK) {
        sql_grammar(again.parser, again.token.kind, again.token, &scratch);
        again.fed++;
    }
    grammar_expected(again.parser, expected);
    feed_release(&again);
    name_expected = expected[TK_IDENT];
    what = unsupported_what(bad, expected);
    word_count = expected_words(expected, &list, words);
    p->failed = false;
    if (what != NULL) {
        parse_unsupported(p, &bad->token, what);
    } else {
        const struct sql_token *t = &bad->token;
        bool at_end = p->source[t->pos.offset] == '\0';

        if (at_end || t->kind == TK_SEMI)
            snprintf(found, sizeof found,
                     at_end ? "the end of the text" : "the end of the statement");
        else if (secret_overlaps(bytes_of_str(p->source), t->pos.offset, t->pos.offset + 1))
            snprintf(found, sizeof found, "a string");
        else
            snprintf(found, sizeof found, t->kind == TK_STRING ? "the string '%.*s'" : "'%.*s'",
                     (int)(t->len < 60 ? t->len : 60), t->text);
        hint_for(bad, name_expected, words, word_count, hint);
        parse_fail(p, RC_INVALID, t->pos, "expected %s, found %s%s", buf_cstr(&list), found, hint);
    }
    buf_release(&list);
    mem_free(expected);
}

/* ---- driver ---------------------------------------------------------------------------------- */

static enum rc check_text(struct bytes text, struct err *err)
{
    size_t bad;

    if (text.len > SQL_TEXT_MAX)
        return err_set(err, RC_LIMIT, "the SQL text has %zu bytes, the limit is %u", text.len,
                       SQL_TEXT_MAX);
    bad = utf8_invalid_at(text);
    if (bad < text.len)
        return err_set(err, RC_INVALID, "the SQL text is not UTF-8: byte 0x%02x at offset %zu",
                       text.data[bad], bad);
    if (text.len > 0 && memchr(text.data, 0, text.len) != NULL)
        return err_set(err, RC_INVALID, "the SQL text holds a byte 0 at offset %zu",
                       (size_t)((const uint8_t *)memchr(text.data, 0, text.len) - text.data));
    return RC_OK;
}

enum rc sql_parse_script(struct arena *arena, struct bytes text, struct ast_script *out,
                         struct err *err)
{
    struct sql_parse parse = {.arena = arena, .err = err};
    struct err lex_err = {0};
    struct feed feed;

    *out = (struct ast_script){0};
    RETURN_IF_ERR(check_text(text, err));
    parse.source = arena_strndup(arena, text.len == 0 ? "" : (const char *)text.data, text.len);
    parse.statements = ARENA_NEW(arena, struct sql_list);
    feed_init(&feed, arena, parse.source);
    do {
        if (feed_read(&feed, &lex_err) != RC_OK) {
            parse_fail(&parse, lex_err.rc, feed.token.pos, "%s", lex_err.msg);
            break;
        }
        feed.fed++;
        sql_grammar(feed.parser, feed.token.kind, feed.token, &parse);
    } while (!parse.failed && feed.token.kind != 0);
    feed_release(&feed);
    if (parse.syntax_error)
        explain_syntax_error(&parse, &feed);
    if (parse.failed)
        return parse.rc;
    out->source = parse.source;
    out->count = parse.statements->count;
    out->statements = (struct ast_statement **)parse.statements->items;
    return RC_OK;
}

size_t sql_complete_statements(struct bytes text)
{
    struct arena *arena;
    struct feed f = {.at_start = true};
    size_t complete = 0;
    bool in_block = false;

    if (check_text(text, NULL) != RC_OK)
        return text.len; /* the parser will say why */
    arena = arena_new(0);
    lexer_init(&f.lexer, arena,
               arena_strndup(arena, text.len == 0 ? "" : (const char *)text.data, text.len));
    while (feed_read(&f, NULL) == RC_OK) {
        bool begins = f.token.kind == TK_BEGIN && (f.statement_start || f.before.kind == TK_SET);

        in_block = begins || (in_block && f.token.kind != TK_END);
        if (f.token.end == f.token.pos.offset) /* the end of the text */
            break;
        if (f.token.kind == TK_SEMI && !in_block)
            complete = f.token.end;
    }
    arena_free(arena);
    return complete;
}
