/* flink_json.h - a Flink _metadata as JSON: all of the tree but inlined bytes, whose length stands
 * there. Names are stable (docs/inspect.schema.json, "flink"). Thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_JSON_H
#define VARVE_CHECKPOINT_FLINK_FLINK_JSON_H

#include "base/json.h"
#include "checkpoint/flink/flink_metadata.h"

/* A new reference. */
json_t *flink_metadata_json(const struct flink_metadata *m);
/* Text as JSON; what is not UTF-8 is escaped. */
json_t *flink_text_json(struct bytes text);
/* A Java object: by its fields, "class" and "data" (what its class wrote by hand) besides. What is
 * met again at another place is shown again, down to a depth and up to a number of values; beyond
 * them "...". */
json_t *java_value_json(const struct java_value *v);

#endif
