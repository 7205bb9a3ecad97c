/* sql_error.c - see sql_error.h. */
#include "job/sql/sql_error.h"

#include "job/sql/secret.h"
#include "job/sql/text_width.h"

#include <stdio.h>

#define SHOWN_BEFORE                                                                               \
    60 /* code points of the line that are shown left of the caret, and right of it */
#define SHOWN_AFTER 40
#define WORD_MAX 64

/* Start of line `line` (from 1); NULL when the text has fewer. */
static const char *line_start(const char *source, uint32_t line)
{
    for (; line > 1; line--) {
        source = strchr(source, '\n');
        if (source == NULL)
            return NULL;
        source++;
    }
    return source;
}

static void append(char *out, size_t *at, const char *text, size_t len)
{
    if (*at + len < ERR_MSG_MAX) {
        memcpy(out + *at, text, len);
        *at += len;
        out[*at] = '\0';
    }
}

/* "\n  <line>\n  <blanks>^" behind the message. */
static void add_source_line(struct err *err, const char *source, uint32_t line, uint32_t column)
{
    const char *start = line_start(source, line), *end;
    struct bytes text;
    size_t out = strlen(err->msg), at = 0, pad = 0;
    uint32_t here = 1;
    char blanks[4 * SHOWN_BEFORE];

    if (start == NULL)
        return;
    end = start + strcspn(start, "\r\n");
    text = bytes_of(start, (size_t)(end - start));
    if (secret_overlaps(bytes_of_str(source), (size_t)(start - source), (size_t)(end - source)))
        return;
    append(err->msg, &out, "\n  ", 3);
    for (; at < text.len && here < column + SHOWN_AFTER; here++) {
        uint32_t c;
        size_t len = utf8_next(text, at, &c);

        if (here + SHOWN_BEFORE >= column) {
            append(err->msg, &out, start + at, len);
            if (here < column)
                for (uint32_t w = code_point_width(c); w > 0 && pad < sizeof blanks; w--)
                    blanks[pad++] = c == '\t' ? '\t' : ' ';
        }
        at += len;
    }
    append(err->msg, &out, "\n  ", 3);
    append(err->msg, &out, blanks, pad);
    append(err->msg, &out, "^", 1);
}

enum rc sql_error_at(struct err *err, enum rc rc, const char *source, struct sql_pos pos,
                     const char *fmt, ...)
{
    char text[ERR_MSG_MAX / 2];
    va_list args;

    if (err == NULL || err->msg[0] != '\0')
        return rc;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (pos.line == 0)
        return err_set(err, rc, "%s", text);
    err_set(err, rc, "line %u column %u: %s", pos.line, pos.column, text);
    if (source != NULL)
        add_source_line(err, source, pos.line, pos.column);
    return rc;
}

enum rc sql_error_show(struct err *err, enum rc rc, const char *source)
{
    unsigned line, column;

    if (err != NULL && strchr(err->msg, '\n') == NULL &&
        sscanf(err->msg, "line %u column %u:", &line, &column) == 2)
        add_source_line(err, source, line, column);
    return rc;
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Edits (change, insert, drop, swap of neighbours) between two words of less than WORD_MAX bytes.
 */
static uint32_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    uint32_t rows[3][WORD_MAX + 1];

    for (uint32_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        uint32_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        now[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_len; j++) {
            uint32_t best = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                best = before[j - 2] + 1 < best ? before[j - 2] + 1 : best;
            now[j] = best;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *sql_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t len = strlen(word);
    uint32_t best = (uint32_t)(len < 3 ? 1 : len < 6 ? 2 : len / 3 + 1) + 1;
    const char *found = NULL;

    if (len == 0 || len >= WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        uint32_t d;

        if (other >= WORD_MAX)
            continue;
        d = distance(word, len, candidates[i], other);
        if (d < best && d < len) {
            best = d;
            found = candidates[i];
        }
    }
    return found;
}

const char *sql_nearest_hint(char out[SQL_HINT_MAX], const char *word,
                             const char *const *candidates, size_t count)
{
    const char *found = sql_nearest(word, candidates, count);

    out[0] = '\0';
    if (found != NULL)
        snprintf(out, SQL_HINT_MAX, "; did you mean %s?", found);
    return out;
}
