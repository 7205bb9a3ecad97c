/* units.h - option values as text: durations, memory sizes, booleans, in the words that Flink
 * accepts. RC_INVALID shows the text and says what is allowed. Pure; any thread. */
#ifndef VARVE_BASE_UNITS_H
#define VARVE_BASE_UNITS_H

#include "base/status.h"

/* "500 ms", "10s", "1 min", "1h", "PT10S"; a bare number is milliseconds. */
MUST_USE enum rc duration_parse(const char *text, int64_t *ms, struct err *err);
/* "20kb", "32 mb"; a bare number is bytes. */
MUST_USE enum rc memory_size_parse(const char *text, uint64_t *size_bytes, struct err *err);
MUST_USE enum rc bool_parse(const char *text, bool *out, struct err *err);

#endif
