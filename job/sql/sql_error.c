/* sql_error.c - see sql_error.h. */
#include "job/sql/sql_error.h"

#include "base/nearest.h"
#include "job/sql/secret.h"
#include "job/sql/text_width.h"

#include <stdio.h>

#define SHOWN_BEFORE                                                                               \
    60 /* code points of the line that are shown left of the caret, and right of it */
#define SHOWN_AFTER 40

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

const char *sql_nearest_hint(char out[SQL_HINT_MAX], const char *word,
                             const char *const *candidates, size_t count)
{
    const char *found = nearest_of(word, candidates, count);

    out[0] = '\0';
    if (found != NULL)
        snprintf(out, SQL_HINT_MAX, "; did you mean %s?", found);
    return out;
}
