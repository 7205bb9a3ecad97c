/* secret.h - what must not be shown: values of options whose key names a secret. Pure; any thread.
 * After: GlobalConfiguration.isSensitive (Flink). */
#ifndef VARVE_JOB_SQL_SECRET_H
#define VARVE_JOB_SQL_SECRET_H

#include "base/bytes.h"

#define SECRET_SHOWN "******"

bool secret_key(const char *key); /* "password", "s3.secret-key" */
/* SQL text with the values of such options ('key' = 'value') shown as ******. */
void secret_mask(const char *sql, struct buf *out);
/* Whether that would change the text; or what lies at [from, to) of it. */
bool secret_within(struct bytes text);
bool secret_overlaps(struct bytes text, size_t from, size_t to);

#endif
