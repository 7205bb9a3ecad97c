/* line_reader.c - see line_reader.h */
#include "job/cli/line_reader.h"

#include "job/sql/secret.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>

#define HISTORY_SIZE 1000
#define IDLE_MS 60000
#define WORD_MAX_BYTES 128
#define CANDIDATES_MAX 200

struct line_reader {
    struct sql_engine *engine;
    EditLine *el;
    History *history;
    const char *history_path;
    const char *prompt;
    bool abandoned, eof;
};

static const char *const words[] = {
    "ALTER",
    "AND",
    "AS",
    "AVG",
    "BEGIN STATEMENT SET;",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BY",
    "BYTES",
    "CASE",
    "CAST",
    "COALESCE",
    "COUNT",
    "CREATE TABLE",
    "CREATE VIEW",
    "CURRENT_TIMESTAMP",
    "DATE",
    "DECIMAL",
    "DESCRIBE",
    "DESCRIPTOR",
    "DISTINCT",
    "DOUBLE",
    "DROP TABLE",
    "DROP VIEW",
    "ELSE",
    "END",
    "EXECUTE STATEMENT SET BEGIN",
    "EXPLAIN",
    "FALSE",
    "FILTER",
    "FIRST_VALUE",
    "FLOAT",
    "FROM",
    "GROUP BY",
    "HAVING",
    "HELP",
    "IF EXISTS",
    "IF NOT EXISTS",
    "INSERT INTO",
    "INT",
    "INTERVAL",
    "IS NOT NULL",
    "IS NULL",
    "LAST_VALUE",
    "LIKE",
    "MAX",
    "MIN",
    "MOD",
    "NOT",
    "NOT ENFORCED",
    "NULL",
    "NULLIF",
    "OR",
    "PARTITIONED BY",
    "PRIMARY KEY",
    "QUIT",
    "RESET",
    "SELECT",
    "SET",
    "SHOW CREATE TABLE",
    "SHOW JOBS",
    "SHOW TABLES",
    "SHOW VIEWS",
    "STOP JOB",
    "STRING",
    "SUM",
    "TABLE",
    "TEMPORARY",
    "THEN",
    "TIMESTAMP",
    "TRUE",
    "TRY_CAST",
    "TUMBLE",
    "UNION ALL",
    "VALUES",
    "WATERMARK FOR",
    "WHEN",
    "WHERE",
    "WITH DRAIN",
    "WITH SAVEPOINT",
};

static struct line_reader *self(EditLine *el)
{
    struct line_reader *r = NULL;

    el_get(el, EL_CLIENTDATA, &r);
    return r;
}

static char *prompt_of(EditLine *el)
{
    return (char *)(uintptr_t)self(el)->prompt;
}

/* ---- keys
 * ------------------------------------------------------------------------------------------ */

/* One byte of standard input; -1: SIGTERM or the end. */
static int next_byte(struct line_reader *r)
{
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = r->engine->signals->fd, .events = POLLIN}};
    unsigned char c;
    ssize_t n;

    for (;;) {
        int ready = poll(fds, 2, IDLE_MS);

        if (ready == 0)
            r->engine->ops->idle(r->engine);
        if (ready < 0 && errno != EINTR)
            return -1;
        if (ready > 0 && (fds[1].revents & POLLIN) &&
            signals_take(r->engine->signals, 0) == SIGTERM) {
            r->eof = true;
            return -1;
        }
        if (ready > 0 && (fds[0].revents & (POLLIN | POLLHUP)))
            break;
    }
    do
        n = read(STDIN_FILENO, &c, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? c : -1;
}

static int next_char(EditLine *el, wchar_t *out)
{
    struct line_reader *r = self(el);
    mbstate_t state = {0};

    for (;;) {
        int byte = next_byte(r);
        char c = (char)byte;
        size_t n;

        if (byte < 0)
            return 0;
        n = mbrtowc(out, &c, 1, &state);
        if (n == (size_t)-2)
            continue;
        if (n == (size_t)-1) { /* no character of this locale: the byte is dropped */
            memset(&state, 0, sizeof state);
            continue;
        }
        return 1;
    }
}

static unsigned char abandon_line(EditLine *el, int key)
{
    (void)key;
    self(el)->abandoned = true;
    fputs("^C\n", stdout);
    fflush(stdout);
    return CC_NEWLINE;
}

/* ---- completion
 * ------------------------------------------------------------------------------------ */

struct candidates {
    const char *prefix;
    size_t prefix_len;
    bool lower; /* the prefix is in lower case: words follow */
    size_t count;
    char names[CANDIDATES_MAX][WORD_MAX_BYTES];
};

static void add_candidate(void *ctx, const char *name)
{
    struct candidates *c = ctx;

    if (c->count < CANDIDATES_MAX && strlen(name) < WORD_MAX_BYTES)
        snprintf(c->names[c->count++], WORD_MAX_BYTES, "%s", name);
}

static void add_word(struct candidates *c, const char *word)
{
    char text[WORD_MAX_BYTES];
    size_t i;

    if (strncasecmp(word, c->prefix, c->prefix_len) != 0)
        return;
    for (i = 0; word[i] != '\0' && i + 1 < sizeof text; i++)
        text[i] = (char)(c->lower && word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
    text[i] = '\0';
    add_candidate(c, text);
}

static size_t common_length(const struct candidates *c)
{
    size_t len = strlen(c->names[0]);

    for (size_t i = 1; i < c->count; i++) {
        size_t same = 0;

        while (same < len && c->names[i][same] == c->names[0][same])
            same++;
        len = same;
    }
    return len;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static unsigned char complete(EditLine *el, int key)
{
    const LineInfo *line = el_line(el);
    const char *start = line->cursor;
    struct candidates *c = mem_calloc(1, sizeof *c);
    char prefix[WORD_MAX_BYTES] = "";
    unsigned char result = CC_ERROR;
    size_t common;

    (void)key;
    while (start > line->buffer && is_word_char(start[-1]))
        start--;
    c->prefix_len = (size_t)(line->cursor - start);
    if (c->prefix_len > 0 && c->prefix_len < sizeof prefix) {
        memcpy(prefix, start, c->prefix_len);
        c->prefix = prefix;
        c->lower = prefix[c->prefix_len - 1] >= 'a' && prefix[c->prefix_len - 1] <= 'z';
        self(el)->engine->ops->complete(self(el)->engine, prefix, add_candidate, c);
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            add_word(c, words[i]);
    }
    common = c->count > 0 ? common_length(c) : 0;
    if (common > c->prefix_len || c->count == 1) {
        char text[WORD_MAX_BYTES + 1];

        el_deletestr(el, (int)c->prefix_len); /* the case may differ */
        snprintf(text, sizeof text, "%.*s%s", (int)common, c->names[0], c->count == 1 ? " " : "");
        if (el_insertstr(el, text) == 0)
            result = CC_REFRESH;
    } else if (c->count > 1) {
        fputc('\n', stdout);
        for (size_t i = 0; i < c->count; i++)
            printf("%s%s", c->names[i], i % 6 == 5 || i + 1 == c->count ? "\n" : "   ");
        fflush(stdout);
        result = CC_REDISPLAY;
    }
    mem_free(c);
    return result;
}

/* ---- life
 * ------------------------------------------------------------------------------------------ */

enum rc line_reader_open(const struct cli *cli, struct sql_engine *engine, const char *history_path,
                         struct line_reader **out, struct err *err)
{
    struct line_reader *r = mem_calloc(1, sizeof *r);
    HistEvent event;

    (void)cli;
    setlocale(LC_CTYPE, "");
    r->engine = engine;
    r->history_path = history_path;
    r->prompt = "";
    r->el = el_init("varve", stdin, stdout, stderr);
    r->history = history_init();
    if (r->el == NULL || r->history == NULL) {
        line_reader_close(r);
        return err_set(err, RC_IO, "the terminal can't be used for line editing");
    }
    history(r->history, &event, H_SETSIZE, HISTORY_SIZE);
    history(r->history, &event, H_SETUNIQUE, 1);
    if (r->history_path != NULL)
        history(r->history, &event, H_LOAD, r->history_path);
    el_set(r->el, EL_CLIENTDATA, r);
    el_set(r->el, EL_PROMPT, prompt_of);
    el_set(r->el, EL_EDITOR, "emacs");
    el_set(r->el, EL_HIST, history, r->history);
    el_set(r->el, EL_GETCFN, next_char);
    el_set(r->el, EL_ADDFN, "varve-complete", "complete the word", complete);
    el_set(r->el, EL_ADDFN, "varve-abandon", "give the line up", abandon_line);
    el_set(r->el, EL_SETTY, "-d", "-isig", NULL);
    el_source(r->el, NULL); /* ~/.editrc */
    el_set(r->el, EL_BIND, "^I", "varve-complete", NULL);
    el_set(r->el, EL_BIND, "^C", "varve-abandon", NULL);
    el_set(r->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    *out = r;
    return RC_OK;
}

void line_reader_close(struct line_reader *r)
{
    HistEvent event;

    if (r == NULL)
        return;
    if (r->history != NULL) {
        if (r->history_path != NULL)
            history(r->history, &event, H_SAVE, r->history_path);
        history_end(r->history);
    }
    if (r->el != NULL)
        el_end(r->el);
    mem_free(r);
}

enum line_end line_reader_next(struct line_reader *r, const char *prompt, struct bytes *line)
{
    int len = 0;
    const char *text;

    r->prompt = prompt;
    r->abandoned = false;
    text = el_gets(r->el, &len);
    if (r->abandoned)
        return LINE_ABANDONED;
    if (text == NULL || len <= 0 || r->eof)
        return LINE_EOF;
    *line = bytes_of(text, (size_t)len);
    return LINE_WHOLE;
}

void line_reader_remember(struct line_reader *r, struct bytes statement)
{
    HistEvent event;
    struct buf text = {0};

    if (secret_within(statement)) /* nor in its file */
        return;
    for (size_t i = 0; i < statement.len; i++) /* one line of history each */
        buf_append_u8(&text, statement.data[i] == '\n' ? ' ' : statement.data[i]);
    while (text.len > 0 && text.data[text.len - 1] == ' ')
        text.len--;
    if (text.len > 0)
        history(r->history, &event, H_ENTER, buf_cstr(&text));
    buf_release(&text);
}
