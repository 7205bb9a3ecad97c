/* date_format.h - date formats with the letters of Java's DateTimeFormatter, as DATE_FORMAT and
 * TO_TIMESTAMP take them.
 *
 * y u year, M L month (MMM short, MMMM full English name), d day, D day of year, E weekday (EEEE
 * full), a AM/PM, H 0-23, k 1-24, K 0-11, h 1-12 hour, m minute, s second, S fraction, X x Z
 * offset; 'quoted' text; other letters are refused. A compiled format is immutable; any thread.
 */
#ifndef VARVE_JOB_SQL_DATE_FORMAT_H
#define VARVE_JOB_SQL_DATE_FORMAT_H

#include "job/datetime.h"

struct time_format; /* opaque, in the arena */
/* RC_INVALID names the letter that is not known; RC_LIMIT past 256 bytes. */
MUST_USE enum rc time_format_new(struct arena *a, struct bytes pattern,
                                 const struct time_format **out, struct err *err);
void time_format_print(const struct time_format *f, int64_t days, int64_t ns_of_day,
                       int32_t offset_s, struct buf *out);
/* What the format does not name is that of 1970-01-01 00:00:00; an offset is taken off. False: the
 * text does not fit. */
MUST_USE bool time_format_parse(const struct time_format *f, struct bytes text, int64_t *days,
                                int64_t *ns_of_day);

#endif
