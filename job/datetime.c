/* datetime.c - see datetime.h; time zones are in zone.c */
#include "job/datetime.h"

#include "job/number.h"

/* ---- calendar -------------------------------------------------------------------------------- */

/* Days are counted in eras of 400 years that begin on 1 March, so that the leap day is a year's
 * last. */
#define DAYS_PER_ERA 146097
#define EPOCH_IN_ERA_DAYS 719468 /* 1970-01-01 counted from 0000-03-01 */

int64_t civil_to_days(struct civil c)
{
    int64_t y = (int64_t)c.year - (c.month <= 2);
    int64_t era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;

    return era * DAYS_PER_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           EPOCH_IN_ERA_DAYS;
}

struct civil civil_of_days(int64_t days)
{
    int64_t z = days + EPOCH_IN_ERA_DAYS, era = floor_div(z, DAYS_PER_ERA);
    int64_t d = z - era * DAYS_PER_ERA;
    int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t of_year = d - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;

    return (struct civil){
        .year = (int32_t)(y + era * 400 + (m >= 10)),
        .month = (uint8_t)(m < 10 ? m + 3 : m - 9),
        .day = (uint8_t)(of_year - (153 * m + 2) / 5 + 1),
    };
}

uint32_t days_of_month(int32_t year, uint32_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

bool civil_valid(int32_t year, uint32_t month, uint32_t day)
{
    return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 &&
           day <= days_of_month(year, month);
}

int64_t days_add_months(int64_t days, int64_t months)
{
    struct civil c = civil_of_days(days);
    int64_t m = (int64_t)c.year * 12 + c.month - 1 + months;
    uint32_t last;

    c.year = (int32_t)floor_div(m, 12);
    c.month = (uint8_t)(floor_mod(m, 12) + 1);
    last = days_of_month(c.year, c.month);
    if (c.day > last)
        c.day = (uint8_t)last;
    return civil_to_days(c);
}

/* ---- timestamps ------------------------------------------------------------------------------ */

/* Nanoseconds of one unit of TIMESTAMP(precision): 1000000, 1000 or 1. */
static int64_t unit_ns(uint8_t precision)
{
    return 1000000 / timestamp_units_per_ms(precision);
}

/* Units between two values that differ in the last digit of the precision: TIMESTAMP(1) counts ms,
 * but shows tenths. */
static int64_t step_units(uint8_t precision)
{
    static const uint8_t steps[] = {1, 100, 10};

    return precision == 0 ? 1000 : steps[precision % 3];
}

static enum rc out_of_range(uint8_t precision, struct err *err)
{
    return err_set(err, RC_INVALID, "the time is outside the range of TIMESTAMP(%u)%s", precision,
                   precision > 6 ? ", which is 1677-09-21 to 2262-04-11" : "");
}

/* Down to a value of the precision. */
static enum rc cut_to(int64_t value, uint8_t precision, int64_t *out, struct err *err)
{
    if (__builtin_sub_overflow(value, floor_mod(value, step_units(precision)), out))
        return out_of_range(precision, err);
    return RC_OK;
}

enum rc timestamp_convert(int64_t value, uint8_t from_precision, uint8_t to_precision, int64_t *out,
                          struct err *err)
{
    int64_t from = unit_ns(from_precision), to = unit_ns(to_precision);

    if (from > to) {
        if (__builtin_mul_overflow(value, from / to, out))
            return out_of_range(to_precision, err);
        return RC_OK;
    }
    value = floor_div(value, to / from);
    return cut_to(value, to_precision, out, err);
}

int64_t timestamp_to_ms(int64_t value, uint8_t precision)
{
    return floor_div(value, timestamp_units_per_ms(precision));
}

enum rc timestamp_of_ms(int64_t ms, uint8_t precision, int64_t *out, struct err *err)
{
    if (__builtin_mul_overflow(ms, timestamp_units_per_ms(precision), out))
        return out_of_range(precision, err);
    return cut_to(*out, precision, out, err);
}

void timestamp_split(int64_t value, uint8_t precision, int64_t *days, int64_t *ns_of_day)
{
    int64_t unit = unit_ns(precision), per_day = NS_PER_DAY / unit;

    *days = floor_div(value, per_day);
    *ns_of_day = floor_mod(value, per_day) * unit;
}

enum rc timestamp_join(int64_t days, int64_t ns_of_day, uint8_t precision, int64_t *out,
                       struct err *err)
{
    int64_t unit = unit_ns(precision), whole, part = ns_of_day / unit;
    bool early = days < 0 && part > 0;

    /* The first day of the range begins before it: add in an order that does not leave it. */
    if (__builtin_mul_overflow(days + early, NS_PER_DAY / unit, &whole) ||
        __builtin_add_overflow(whole, early ? part - NS_PER_DAY / unit : part, out))
        return out_of_range(precision, err);
    return cut_to(*out, precision, out, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct scan {
    const uint8_t *at, *end;
};

static struct scan scan_of(struct bytes t)
{
    struct scan s = {t.data, t.data + t.len};

    while (s.at < s.end && *s.at <= 0x20)
        s.at++;
    while (s.end > s.at && s.end[-1] <= 0x20)
        s.end--;
    return s;
}

static bool scan_char(struct scan *s, char c)
{
    if (s->at == s->end || *s->at != (uint8_t)c)
        return false;
    s->at++;
    return true;
}

/* min..max digits as a number. */
static bool scan_digits(struct scan *s, int min, int max, uint32_t *out)
{
    int n = 0;

    *out = 0;
    while (s->at < s->end && n < max && *s->at >= '0' && *s->at <= '9') {
        *out = *out * 10 + (uint32_t)(*s->at++ - '0');
        n++;
    }
    return n >= min;
}

static bool scan_date(struct scan *s, int64_t *days)
{
    uint32_t year, month, day;

    if (!scan_digits(s, 4, 4, &year) || !scan_char(s, '-') || !scan_digits(s, 1, 2, &month) ||
        !scan_char(s, '-') || !scan_digits(s, 1, 2, &day) ||
        !civil_valid((int32_t)year, month, day))
        return false;
    *days = civil_to_days((struct civil){(int32_t)year, (uint8_t)month, (uint8_t)day});
    return true;
}

/* hh:mm[:ss[.fraction]] */
static bool scan_time(struct scan *s, int64_t *ns_of_day)
{
    uint32_t hour, minute, second = 0;
    int64_t ns = 0;

    if (!scan_digits(s, 1, 2, &hour) || !scan_char(s, ':') || !scan_digits(s, 1, 2, &minute))
        return false;
    if (scan_char(s, ':')) {
        if (!scan_digits(s, 1, 2, &second))
            return false;
        if (scan_char(s, '.')) {
            int64_t weight = 100000000;

            if (s->at == s->end || *s->at < '0' || *s->at > '9')
                return false;
            for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; weight /= 10) {
                if (weight == 0)
                    return false; /* more than nine digits */
                ns += weight * (*s->at++ - '0');
            }
        }
    }
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ns_of_day = ((int64_t)hour * 3600 + minute * 60 + second) * 1000000000 + ns;
    return true;
}

/* "Z", "+hh:mm", "-hh:mm", "+hhmm", "+hh" */
static bool scan_offset(struct scan *s, int64_t *offset_s)
{
    uint32_t hour, minute = 0;
    bool minus;

    if (scan_char(s, 'Z')) {
        *offset_s = 0;
        return true;
    }
    minus = scan_char(s, '-');
    if (!minus && !scan_char(s, '+'))
        return false;
    if (!scan_digits(s, 2, 2, &hour))
        return false;
    if (scan_char(s, ':') || s->at < s->end) {
        if (!scan_digits(s, 2, 2, &minute))
            return false;
    }
    if (hour > 18 || minute > 59)
        return false;
    *offset_s = (int64_t)(hour * 3600 + minute * 60) * (minus ? -1 : 1);
    return true;
}

static enum rc bad_text(struct bytes text, const char *what, struct err *err)
{
    char quoted[TEXT_QUOTE_MAX];

    if (err == NULL)
        return RC_INVALID;
    return err_set(err, RC_INVALID, "%s is not a %s", text_quote(text, quoted), what);
}

enum rc date_parse(struct bytes text, int32_t *days, struct err *err)
{
    struct scan s = scan_of(text);
    int64_t d;

    if (!scan_date(&s, &d) || s.at != s.end)
        return bad_text(text, "date (yyyy-mm-dd)", err);
    *days = (int32_t)d;
    return RC_OK;
}

enum rc time_parse(struct bytes text, uint8_t precision, int32_t *ms_of_day, struct err *err)
{
    struct scan s = scan_of(text);
    int64_t ns, step = precision == 0 ? 1000 : precision == 1 ? 100 : precision == 2 ? 10 : 1;

    if (!scan_time(&s, &ns) || s.at != s.end)
        return bad_text(text, "time (hh:mm:ss)", err);
    *ms_of_day = (int32_t)(ns / 1000000 / step * step);
    return RC_OK;
}

enum rc timestamp_parse(struct bytes text, uint8_t precision, bool *zoned, int64_t *out,
                        struct err *err)
{
    struct scan s = scan_of(text);
    int64_t days, ns = 0, offset_s;

    if (zoned != NULL)
        *zoned = false;
    if (!scan_date(&s, &days))
        goto bad;
    if (s.at != s.end) {
        if (!scan_char(&s, ' ') && !scan_char(&s, 'T'))
            goto bad;
        if (!scan_time(&s, &ns))
            goto bad;
        if (s.at != s.end && zoned != NULL) {
            scan_char(&s, ' ');
            if (!scan_offset(&s, &offset_s))
                goto bad;
            *zoned = true;
            ns -= offset_s * 1000000000;
            days += floor_div(ns, NS_PER_DAY);
            ns = floor_mod(ns, NS_PER_DAY);
        }
    }
    if (s.at == s.end)
        return timestamp_join(days, ns, precision, out, err);
bad:
    return bad_text(text, "timestamp (yyyy-mm-dd hh:mm:ss)", err);
}

/* ---- printing -------------------------------------------------------------------------------- */

static char *put_digits(char *at, uint32_t v, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        at[i] = (char)('0' + v % 10);
        v /= 10;
    }
    return at + digits;
}

static char *put_date(char *at, int64_t days)
{
    struct civil c = civil_of_days(days);
    uint32_t year = c.year < 0 ? 0u - (uint32_t)c.year : (uint32_t)c.year;
    int digits = 4;

    if (c.year < 0)
        *at++ = '-';
    for (uint32_t y = year / 10000; y != 0; y /= 10)
        digits++;
    at = put_digits(at, year, digits);
    *at++ = '-';
    at = put_digits(at, c.month, 2);
    *at++ = '-';
    return put_digits(at, c.day, 2);
}

/* hh:mm:ss and `digits` fraction digits. */
static char *put_time(char *at, int64_t ns_of_day, int digits)
{
    uint32_t s = (uint32_t)(ns_of_day / 1000000000), ns = (uint32_t)(ns_of_day % 1000000000);

    at = put_digits(at, s / 3600, 2);
    *at++ = ':';
    at = put_digits(at, s / 60 % 60, 2);
    *at++ = ':';
    at = put_digits(at, s % 60, 2);
    if (digits > 0) {
        *at++ = '.';
        for (int i = digits; i < 9; i++)
            ns /= 10;
        at = put_digits(at, ns, digits);
    }
    return at;
}

void date_print(int64_t days, struct buf *out)
{
    char text[24];

    buf_append(out, text, (size_t)(put_date(text, days) - text));
}

void time_print(int32_t ms_of_day, uint8_t precision, struct buf *out)
{
    char text[24];

    buf_append(out, text, (size_t)(put_time(text, (int64_t)ms_of_day * 1000000, precision) - text));
}

void timestamp_print(int64_t value, uint8_t precision, struct buf *out)
{
    timestamp_print_min(value, precision, ' ', precision, out);
}

void timestamp_print_min(int64_t value, uint8_t precision, char sep, uint8_t min_digits,
                         struct buf *out)
{
    char text[64], *at = text;
    int64_t days, ns, rest;
    int digits = 9;

    timestamp_split(value, precision, &days, &ns);
    rest = ns % 1000000000;
    while (digits > precision || (digits > min_digits && rest % 10 == 0)) {
        rest /= 10;
        digits--;
    }
    at = put_date(at, days);
    *at++ = sep;
    at = put_time(at, ns, digits);
    buf_append(out, text, (size_t)(at - text));
}

void interval_day_print(int64_t ms, struct buf *out)
{
    uint64_t u = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    char text[24];

    buf_append_u8(out, ms < 0 ? '-' : '+');
    number_print_int((int64_t)(u / MS_PER_DAY), out);
    buf_append_u8(out, ' ');
    buf_append(out, text, (size_t)(put_time(text, (int64_t)(u % MS_PER_DAY) * 1000000, 3) - text));
}

void interval_year_print(int32_t months, struct buf *out)
{
    uint32_t u = months < 0 ? 0 - (uint32_t)months : (uint32_t)months;

    buf_append_u8(out, months < 0 ? '-' : '+');
    number_print_int(u / 12, out);
    buf_append(out, u % 12 < 10 ? "-0" : "-", u % 12 < 10 ? 2 : 1);
    number_print_int(u % 12, out);
}
