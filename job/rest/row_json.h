/* row_json.h - values and columns of results as JSON, for the SQL gateway and --json.
 *
 * BOOLEAN and numbers come as JSON's; DECIMAL, times and all else as text, as printed; BYTES as
 * base64 (Flink's gateway). NaN and infinities as text. Thread: any. */
#ifndef VARVE_JOB_REST_ROW_JSON_H
#define VARVE_JOB_REST_ROW_JSON_H

#include "base/json.h"
#include "job/batch.h"

/* Any bytes as a JSON string: U+FFFD stands for what is not UTF-8. Whatever came from outside
 * (paths, names, messages that quote data or were cut) goes through here: jansson makes no string
 * of such bytes. */
json_t *text_json(const char *s);
json_t *value_json(const struct column *c, uint32_t row);
/* {"name": value, ...} */
json_t *row_object_json(const struct schema *schema, const struct batch *b, uint32_t row);
/* {"name", "logicalType": {"type", "nullable", ...}, "comment": null} */
json_t *column_json(const struct schema_field *f);

#endif
