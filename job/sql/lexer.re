/* lexer.re - tokens by re2c; see lexer.h. */
#include "job/sql/lexer.h"

#include "job/sql/grammar.h"

#define YYCTYPE unsigned char

struct keyword {
    const char *word;
    int kind;
};
/* Sorted by word. Which of them may also be names is said by %fallback in grammar.y. */
static const struct keyword keywords[] = {
#define K(word) {#word, TK_##word}
    K(ALL), K(AND), K(AS), K(BEGIN), K(BETWEEN), K(BOTH), K(BY), K(CASE), K(CAST), K(CEIL),
    {"CEILING", TK_CEIL}, K(CHANGELOG_MODE), K(COMMENT), K(CONSTRAINT), K(CREATE), K(CROSS),
    K(DATE), K(DESC), K(DESCRIBE), K(DESCRIPTOR), K(DISTINCT), K(DRAIN), K(DROP), K(ELSE),
    K(END), K(ENFORCED), K(ESCAPE), K(EXCEPT), K(EXCLUDING), K(EXECUTE), K(EXISTS), K(EXIT),
    K(EXPLAIN), K(EXTENDED), K(EXTRACT), K(FALSE), K(FETCH), K(FILTER), K(FLOOR), K(FOR),
    K(FROM), K(FULL), K(GROUP), K(HAVING), K(HELP), K(IF), K(IN), K(INCLUDING), K(INNER),
    K(INSERT), K(INTERSECT), K(INTERVAL), K(INTO), K(IS), K(JOB), K(JOBS), K(JOIN), K(KEY),
    K(LATERAL), K(LEADING), K(LEFT), K(LIKE), K(LIMIT), K(LOCAL), K(MATCH_RECOGNIZE),
    K(METADATA), {"MINUS", TK_MINUS_WORD}, K(NATURAL), K(NOT), K(NULL), K(OFFSET), K(ON), K(OR),
    K(ORDER), K(OVER), K(OVERLAY), K(OVERWRITE), K(OVERWRITING), K(PARTITIONED), K(PLACING),
    K(PLAN), K(POSITION), K(PRECISION), K(PRIMARY), K(QUALIFY), K(QUIT), K(RESET), K(RIGHT),
    K(SAVEPOINT), K(SELECT), K(SET), K(SHOW), K(SIMILAR), K(STATEMENT), K(STOP), K(SUBSTRING),
    K(SYMMETRIC), K(TABLE), K(TABLES), K(TABLESAMPLE), K(TEMPORARY), K(THEN), K(TIME),
    K(TIMESTAMP), K(TIMESTAMPADD), K(TIMESTAMPDIFF), K(TO), K(TRAILING), K(TRIM), K(TRUE),
    K(TRY_CAST), K(UNION), K(UNKNOWN), K(UNNEST), K(VALUES), K(VIEW), K(VIEWS), K(VIRTUAL),
    K(WATERMARK), K(WHEN), K(WHERE), K(WINDOW), K(WITH), K(WITHOUT), K(ZONE),
#undef K
};

int lexer_keyword(const char *word, size_t len)
{
    char upper[32];
    size_t low = 0, high = ARRAY_LEN(keywords);

    if (len >= sizeof upper)
        return TK_IDENT;
    for (size_t i = 0; i < len; i++)
        upper[i] = word[i] >= 'a' && word[i] <= 'z' ? (char)(word[i] - 32) : word[i];
    upper[len] = '\0';
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(upper, keywords[mid].word);

        if (order == 0)
            return keywords[mid].kind;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return TK_IDENT;
}

const char *lexer_keyword_of(int kind)
{
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        if (keywords[i].kind == kind)
            return keywords[i].word;
    return NULL;
}

void lexer_init(struct lexer *lx, struct arena *arena, const char *text)
{
    *lx = (struct lexer){.arena = arena, .text = text, .cursor = text, .mark = text};
    lx->line = lx->column = 1;
}

/* Line and column of `at`, counted on from the last asked place. */
static struct sql_pos position(struct lexer *lx, const char *at)
{
    while (lx->mark < at) {
        unsigned char c = (unsigned char)*lx->mark++;

        if (c == '\n') {
            lx->line++;
            lx->column = 1;
        } else if ((c & 0xC0) != 0x80) {
            lx->column++;
        }
    }
    return (struct sql_pos){lx->line, lx->column, (uint32_t)(at - lx->text)};
}

/* Text between start and end with each doubled quote made one. */
static void take_quoted(struct lexer *lx, const char *start, const char *end, char quote,
                        struct sql_token *out)
{
    char *copy = arena_alloc(lx->arena, (size_t)(end - start) + 1);
    uint32_t n = 0;

    for (const char *p = start; p < end; p++) {
        copy[n++] = *p;
        if (*p == quote)
            p++;
    }
    copy[n] = '\0';
    out->text = copy;
    out->len = n;
}

static enum rc finish(struct lexer *lx, const char *start, int kind, struct sql_token *out)
{
    out->kind = kind;
    out->pos = position(lx, start);
    out->end = (uint32_t)(lx->cursor - lx->text);
    if (out->text == NULL) {
        out->len = (uint32_t)(lx->cursor - start);
        out->text = arena_strndup(lx->arena, start, out->len);
    }
    return RC_OK;
}

/* RC_INVALID with the position of the fault in *out. */
static enum rc fail(struct lexer *lx, const char *at, const char *what, struct sql_token *out,
                    struct err *err)
{
    out->pos = position(lx, at);
    return err_set(err, RC_INVALID, "%s", what);
}

/* Behind the opening of a comment: to its end; false when the text ends first. */
static bool skip_comment(struct lexer *lx)
{
    const char *end = strstr(lx->cursor, "*/");

    if (end == NULL)
        return false;
    lx->cursor = end + 2;
    return true;
}

/*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = "lx->cursor";
    re2c:define:YYMARKER = marker;
    re2c:yyfill:enable = 0;

    space   = [ \t\r\n\f\v\ufeff\u00a0];
    digit   = [0-9];
    letter  = [A-Za-z_] | [\u0080-\U0010ffff] \ [\u00a0\ufeff];
    name    = letter (letter | digit | "$")*;
    string  = "'" ([^'\x00] | "''")* "'";
*/

enum rc lexer_next(struct lexer *lx, struct sql_token *out, struct err *err)
{
    const char *start, *marker;

    *out = (struct sql_token){0};
again:
    start = marker = lx->cursor;
    (void)marker;
    /*!re2c
    space+              { goto again; }
    "--" [^\n\x00]*     { goto again; }
    "/*+"               { lx->in_hint = true; return finish(lx, start, TK_HINT_BEGIN, out); }
    "/*"                { if (!skip_comment(lx))
                              return fail(lx, start, "this comment has no end", out, err);
                          goto again; }
    "*/"                { if (!lx->in_hint) {
                              lx->cursor--;
                              return finish(lx, start, TK_STAR, out);
                          }
                          lx->in_hint = false;
                          return finish(lx, start, TK_HINT_END, out); }
    "\x00"              { lx->cursor--; return finish(lx, start, 0, out); }

    name                { int kind = lexer_keyword(start, (size_t)(lx->cursor - start));
                          return finish(lx, start, kind, out); }
    "`" ([^`\x00] | "``")+ "`" {
                          take_quoted(lx, start + 1, lx->cursor - 1, '`', out);
                          out->quoted = true;
                          return finish(lx, start, TK_IDENT, out); }
    "``"                { return fail(lx, start, "a name between backticks cannot be empty", out,
                                      err); }
    "`"                 { return fail(lx, start, "this backtick has no partner", out, err); }
    string              { take_quoted(lx, start + 1, lx->cursor - 1, '\'', out);
                          return finish(lx, start, TK_STRING, out); }
    "'"                 { return fail(lx, start, "this string has no closing quote", out, err); }
    "\""                { return fail(lx, start, "names are quoted with backticks and strings with "
                                                 "single quotes, not with double quotes",
                                      out, err); }
    [xX] string         { take_quoted(lx, start + 2, lx->cursor - 1, '\'', out);
                          return finish(lx, start, TK_BINARY, out); }
    ([uU] "&" | [eEnN]) string {
                          return fail(lx, start, "strings with a prefix (U&, E, N) are not "
                                                 "supported; write the characters themselves", out, err); }
    digit+              { return finish(lx, start, TK_INTEGER, out); }
    digit+ "." digit* | "." digit+ { return finish(lx, start, TK_DECIMAL, out); }
    (digit+ "."? digit* | "." digit+) [eE] [+\-]? digit+ {
                          return finish(lx, start, TK_DOUBLE, out); }
    (digit+ | digit+ "." digit* | "." digit+) letter {
                          return fail(lx, start, "a number runs into a name here", out, err); }

    ";"                 { return finish(lx, start, TK_SEMI, out); }
    ","                 { return finish(lx, start, TK_COMMA, out); }
    "."                 { return finish(lx, start, TK_DOT, out); }
    "("                 { return finish(lx, start, TK_LP, out); }
    ")"                 { return finish(lx, start, TK_RP, out); }
    "["                 { return finish(lx, start, TK_LBRACKET, out); }
    "]"                 { return finish(lx, start, TK_RBRACKET, out); }
    "+"                 { return finish(lx, start, TK_PLUS, out); }
    "-"                 { return finish(lx, start, TK_MINUS, out); }
    "*"                 { return finish(lx, start, TK_STAR, out); }
    "/"                 { return finish(lx, start, TK_SLASH, out); }
    "%"                 { return finish(lx, start, TK_PERCENT, out); }
    "||"                { return finish(lx, start, TK_CONCAT, out); }
    "="                 { return finish(lx, start, TK_EQ, out); }
    "=>"                { return finish(lx, start, TK_ARROW, out); }
    "<>" | "!="         { return finish(lx, start, TK_NE, out); }
    "<"                 { return finish(lx, start, TK_LT, out); }
    "<="                { return finish(lx, start, TK_LE, out); }
    ">"                 { return finish(lx, start, TK_GT, out); }
    ">="                { return finish(lx, start, TK_GE, out); }
    "=="                { return fail(lx, start, "equality is written with one =", out, err); }
    *                   { return fail(lx, start, "no token begins with this character", out, err); }
    */
}

enum rc lexer_next_setting(struct lexer *lx, struct sql_token *out, struct err *err)
{
    const char *start, *marker;

    *out = (struct sql_token){0};
again:
    start = marker = lx->cursor;
    (void)marker;
    /*!re2c
    space+              { goto again; }
    "--" [^\n\x00]*     { goto again; }
    "/*"                { if (!skip_comment(lx))
                              return fail(lx, start, "this comment has no end", out, err);
                          goto again; }
    "\x00"              { lx->cursor--; return finish(lx, start, 0, out); }
    string              { take_quoted(lx, start + 1, lx->cursor - 1, '\'', out);
                          return finish(lx, start, TK_STRING, out); }
    "'"                 { return fail(lx, start, "this string has no closing quote", out, err); }
    ";"                 { return finish(lx, start, TK_SEMI, out); }
    "="                 { return finish(lx, start, TK_EQ, out); }
    [^ \t\r\n\f\v\ufeff\u00a0;='\x00]+ { return finish(lx, start, TK_SETTING, out); }
    *                   { return fail(lx, start, "a key or value is written here, in quotes or "
                                                 "without blanks", out, err); }
    */
}
