/* key_text.c - see key_text.h */
#include "job/key_text.h"

#include "base/json.h"
#include "job/format/field.h"
#include "job/row_key.h"

#define KEY_JSON_MAX (1u << 20)

static enum rc append_text(const struct schema_field *f, uint32_t column, const char *text,
                           size_t len, struct batch_builder *out, struct err *err)
{
    struct buf scratch = {0}, why = {0};
    struct bytes b = bytes_of(text, len);
    enum field_fault fault = field_append(out, column, &f->type, b, false, &scratch);
    enum rc rc = RC_OK;

    if (fault != FIELD_OK) {
        field_fault_print(fault, &f->type, b, &why);
        rc = err_set(err, RC_INVALID, "key column %s: %s", f->name, buf_cstr(&why));
    }
    buf_release(&scratch);
    buf_release(&why);
    return rc;
}

static enum rc append_json(const struct schema_field *f, uint32_t column, const json_t *value,
                           struct batch_builder *out, struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    if (json_is_null(value)) {
        batch_append_null(out, column);
        return RC_OK;
    }
    if (json_is_string(value))
        return append_text(f, column, json_string_value(value), json_string_length(value), out,
                           err);
    json_dump_to(value, false, &text);
    rc = append_text(f, column, buf_cstr(&text), text.len, out, err);
    buf_release(&text);
    return rc;
}

/* From an array of as many values as there are columns, or the text of the only one. */
static enum rc append_key(const struct schema *s, const char *text, struct batch_builder *out,
                          struct err *err)
{
    struct err not_json = {0};
    json_t *array = NULL;
    enum rc rc = json_parse(bytes_of_str(text), KEY_JSON_MAX, &array, &not_json);

    if (rc == RC_OK && json_is_array(array) && json_array_size(array) == s->field_count) {
        for (uint32_t i = 0; rc == RC_OK && i < s->field_count; i++)
            rc = append_json(&s->fields[i], i, json_array_get(array, i), out, err);
    } else if (s->field_count == 1) {
        rc = append_text(&s->fields[0], 0, text, strlen(text), out, err);
    } else {
        rc = err_set(err, RC_INVALID, "key %s: it has %u columns, give a JSON array of as many",
                     text, s->field_count);
    }
    json_decref(array);
    return rc;
}

enum rc key_text_parse(const struct schema *columns, const char *text, uint32_t key_group_count,
                       struct buf *out, struct err *err)
{
    uint32_t *all = mem_calloc(columns->field_count + 1, sizeof *all);
    struct batch_builder *b = batch_builder_new(columns);
    struct row_key *rows;
    struct key_batch keys;
    enum rc rc;

    for (uint32_t i = 0; i < columns->field_count; i++)
        all[i] = i;
    rows = row_key_new(columns, columns->field_count, all, key_group_count, KEY_NS_VOID);
    rc = append_key(columns, text, b, err);
    if (rc == RC_OK) {
        batch_row_end(b, ROW_INSERT);
        rc = row_key_keys(rows, batch_builder_view(b), NULL, 0, 1, NULL, &keys, err);
    }
    if (rc == RC_OK) {
        struct bytes key = key_batch_at(&keys, 0);

        buf_append(out, key.data, key.len - 1); /* without its namespace */
    }
    row_key_free(rows);
    batch_builder_free(b);
    mem_free(all);
    return rc;
}
