/* key_text.h - a SQL key as text -> its bytes: for who asks for one by hand. Pure; any thread. */
#ifndef VARVE_JOB_KEY_TEXT_H
#define VARVE_JOB_KEY_TEXT_H

#include "job/batch.h"

/* Appends what composite keys of that key begin with: key-group prefix, size, binary row. The text
 * of a key of one column is its value; of several, or of a null, a JSON array of as many: ["a", 3].
 * Values are spelled as in CSV (format/field.h). RC_INVALID says which column and why. */
MUST_USE enum rc key_text_parse(const struct schema *columns, const char *text,
                                uint32_t key_group_count, struct buf *out, struct err *err);

#endif
