/* json.c - see json.h */
#include "base/json.h"

#define DEPTH_MAX 64

/* 1-based line and column of a byte position. */
static void locate(struct bytes text, size_t at, unsigned *line, unsigned *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < at && i < text.len; i++) {
        if (text.data[i] == '\n') {
            ++*line;
            *column = 1;
        } else {
            ++*column;
        }
    }
}

/* jansson parses by recursion, with a limit that is compiled into it: look before. Brackets in
 * strings do not count; a malformed string ends the look early or late, and jansson then names the
 * fault. */
static enum rc check_depth(struct bytes text, struct err *err)
{
    unsigned depth = 0, line, column;
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > DEPTH_MAX) {
                locate(text, i, &line, &column);
                return err_set(err, RC_INVALID, "line %u column %u: nested deeper than %d", line,
                               column, DEPTH_MAX);
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return RC_OK;
}

enum rc json_parse(struct bytes text, size_t limit_bytes, json_t **out, struct err *err)
{
    unsigned line, column;
    json_error_t failed;

    *out = NULL;
    if (text.len > limit_bytes)
        return err_set(err, RC_LIMIT, "JSON text of %zu bytes, the limit is %zu", text.len,
                       limit_bytes);
    RETURN_IF_ERR(check_depth(text, err));
    if (text.len == 0)
        return err_set(err, RC_INVALID, "line 1 column 1: no JSON value, the text is empty");
    *out = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                      &failed);
    if (*out == NULL) {
        locate(text, failed.position > 0 ? (size_t)failed.position - 1 : 0, &line, &column);
        return err_set(err, RC_INVALID, "line %u column %u: %s", line, column, failed.text);
    }
    return RC_OK;
}

static int append_piece(const char *piece, size_t len, void *out)
{
    buf_append(out, piece, len);
    return 0;
}

void json_dump_to(const json_t *value, bool indent, struct buf *out)
{
    size_t flags = JSON_ENCODE_ANY | (indent ? JSON_INDENT(2) : JSON_COMPACT);

    ASSERT(json_dump_callback(value, append_piece, out, flags) == 0);
}
