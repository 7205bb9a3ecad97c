/* datetime.h - dates, times of day, timestamps, intervals and time zones as plain numbers; text in
 * and out.
 *
 * Proleptic Gregorian calendar, years 1..9999 in text. A timestamp is an int64 in the unit of its
 * type's precision (job/type.h): the helpers below split it into days and nanoseconds of the day.
 * Parsers write no message when err is NULL. The zone of the process (TZ) is never looked at or
 * changed. Thread: any; a zone is immutable once opened.
 */
#ifndef VARVE_JOB_DATETIME_H
#define VARVE_JOB_DATETIME_H

#include "base/fs.h"
#include "job/type.h"

#define MS_PER_DAY 86400000LL
#define NS_PER_DAY 86400000000000LL

struct civil {
    int32_t year;       /* 1..9999 when from text */
    uint8_t month, day; /* from 1 */
};
int64_t civil_to_days(struct civil c); /* any month 1..12, any day: days past the end run on */
struct civil civil_of_days(int64_t days);
uint32_t days_of_month(int32_t year, uint32_t month);
bool civil_valid(int32_t year, uint32_t month, uint32_t day);
/* Months added, the day cut to the length of the month reached: 31 January + 1 = 28 or 29 February.
 */
int64_t days_add_months(int64_t days, int64_t months);

/* value / units, remainder >= 0 */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a ^ b) < 0);
}
static inline int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;

    return r != 0 && (r ^ b) < 0 ? r + b : r;
}

/* ---- timestamps ---- */
/* To another precision's unit, cut towards the past (Flink truncates). RC_INVALID when outside what
 * nanoseconds hold. */
MUST_USE enum rc timestamp_convert(int64_t value, uint8_t from_precision, uint8_t to_precision,
                                   int64_t *out, struct err *err);
/* Milliseconds, cut towards the past; never fails. */
int64_t timestamp_to_ms(int64_t value, uint8_t precision);
MUST_USE enum rc timestamp_of_ms(int64_t ms, uint8_t precision, int64_t *out, struct err *err);
/* Parts: days since 1970-01-01 and nanoseconds of the day; and back (RC_INVALID: outside the
 * range). */
void timestamp_split(int64_t value, uint8_t precision, int64_t *days, int64_t *ns_of_day);
MUST_USE enum rc timestamp_join(int64_t days, int64_t ns_of_day, uint8_t precision, int64_t *out,
                                struct err *err);

/* ---- text ---- */
/* "2026-01-31"; months and days of one digit are read too; blanks around it are not part of it. */
MUST_USE enum rc date_parse(struct bytes text, int32_t *days, struct err *err);
/* "10:15", "10:15:30", "10:15:30.123": ms of the day, digits past `precision` (at most 3) cut. */
MUST_USE enum rc time_parse(struct bytes text, uint8_t precision, int32_t *ms_of_day,
                            struct err *err);
/* "2026-01-31", then optionally 'T' or blank and a time with at most 9 fraction digits (those past
 * `precision` are cut), then, when `zoned` is not NULL, optionally 'Z' or +hh:mm, whose offset in
 * seconds is taken off and *zoned set (else it is cleared). */
MUST_USE enum rc timestamp_parse(struct bytes text, uint8_t precision, bool *zoned, int64_t *out,
                                 struct err *err);
void date_print(int64_t days, struct buf *out);
void time_print(int32_t ms_of_day, uint8_t precision, struct buf *out); /* "10:15:30.123" */
/* "2026-01-31 10:15:30.123" with exactly `precision` fraction digits. */
void timestamp_print(int64_t value, uint8_t precision, struct buf *out);
/* The same with separator `sep` ('T' or ' ') and at least min_digits, at most `precision` fraction
 * digits, others only if not zero. */
void timestamp_print_min(int64_t value, uint8_t precision, char sep, uint8_t min_digits,
                         struct buf *out);
void interval_day_print(int64_t ms, struct buf *out);      /* "+1 02:03:04.005" */
void interval_year_print(int32_t months, struct buf *out); /* "+1-02" */

/* ---- time zones ---- */
struct zone; /* opaque, immutable */
/* "UTC", "Z", "GMT+2", "+02:00", or a name of the system's database ("Europe/Berlin"), read from
 * /usr/share/zoneinfo through fs. RC_INVALID "unknown time zone 'X'". */
MUST_USE enum rc zone_open(struct fs *fs, const char *name, struct zone **out, struct err *err);
/* The decoder of a TZif file (RFC 8536), for zone_open and its fuzz target. */
MUST_USE enum rc zone_decode(struct bytes tzif, const char *name, struct zone **out,
                             struct err *err);
void zone_free(struct zone *z);
bool zone_is_utc(const struct zone *z);
/* Seconds east of Greenwich at that instant. */
int32_t zone_offset_s(const struct zone *z, int64_t utc_s);
/* Local wall time (seconds as if it were UTC) -> instant. In a gap the time moves forward by the
 * gap's length, in an overlap the earlier instant is taken, as java.time does. */
int64_t zone_to_utc_s(const struct zone *z, int64_t local_s);
/* Whole values of TIMESTAMP(p) <-> TIMESTAMP_LTZ(p). RC_INVALID when out of range. */
MUST_USE enum rc zone_timestamp_to_utc(const struct zone *z, int64_t local, uint8_t precision,
                                       int64_t *out, struct err *err);
MUST_USE enum rc zone_timestamp_to_local(const struct zone *z, int64_t instant, uint8_t precision,
                                         int64_t *out, struct err *err);

#endif
