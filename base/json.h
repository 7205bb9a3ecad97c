/* json.h - thin cover over jansson for REST bodies and --json (not for rows).
 *
 * Values are jansson's (`json_t *`, reference counted); this adds a checked parse with limits and an
 * order-keeping compact dump. Include this file instead of jansson.h.
 */
#ifndef VARVE_BASE_JSON_H
#define VARVE_BASE_JSON_H

#include "base/bytes.h"

#include <jansson.h>

/* Depth <= 64, no duplicate keys, nothing after the value; RC_INVALID "line 1 column 7: ...". */
MUST_USE enum rc json_parse(struct bytes text, size_t limit_bytes, json_t **out, struct err *err);
/* Compact (or indented by two), keys in the order they were set, appended to out. */
void json_dump_to(const json_t *value, bool indent, struct buf *out);

#endif
