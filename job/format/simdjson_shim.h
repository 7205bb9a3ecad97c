/* simdjson_shim.h - one JSON object in a line of text: which of the wanted fields it has, as plain
 * C.
 *
 * The parser is strict: everything in the line is checked, also values nobody wants. Of a key given
 * twice the last one counts. Thread: one at a time. No C++ exception leaves it. */
#ifndef VARVE_JOB_FORMAT_SIMDJSON_SHIM_H
#define VARVE_JOB_FORMAT_SIMDJSON_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So many bytes behind the line must be readable (their content does not matter). */
#define JSON_LINE_PADDING 64u

enum json_slot_kind {
    JSON_SLOT_MISSING,
    JSON_SLOT_NULL,
    JSON_SLOT_TRUE,
    JSON_SLOT_FALSE,
    JSON_SLOT_NUMBER,
    JSON_SLOT_STRING,
    JSON_SLOT_NESTED
};
/* What a field holds. text: the number as written; the string without its escapes; of an array or
 * object its first byte in the line. Valid until the next line, while the line is. */
struct json_slot {
    enum json_slot_kind kind;
    const uint8_t *text;
    size_t len;
};
struct json_name {
    const char *text;
    size_t len;
};

enum json_fault { JSON_FINE, JSON_BROKEN, JSON_NO_OBJECT, JSON_BAD_UTF8 };

struct json_parser;                        /* opaque */
struct json_parser *json_parser_new(void); /* aborts when memory is gone */
void json_parser_free(struct json_parser *p);
/* slots[i] gets the field names[i]. *reason, static text: what is wrong unless JSON_FINE. */
enum json_fault json_parser_line(struct json_parser *p, const uint8_t *line, size_t len,
                                 const struct json_name *names, size_t name_count,
                                 struct json_slot *slots, const char **reason);

#ifdef __cplusplus
}
#endif

#endif
