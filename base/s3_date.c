/* s3_date.c - see s3_date.h. Days by the proleptic Gregorian calendar, counted from March, so
 * that the leap day is a year's last. */
#include "base/s3_date.h"

#include <stdio.h>

#define MS_PER_DAY 86400000LL
#define DAYS_TO_1970 719468 /* from 0000-03-01 */
#define DAYS_PER_400_YEARS 146097

static int64_t days_of(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400, year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * DAYS_PER_400_YEARS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - DAYS_TO_1970;
}

static void date_of(int64_t days, int *year, int *month, int *day)
{
    int64_t z = days + DAYS_TO_1970;
    int64_t era = z / DAYS_PER_400_YEARS, day_of_era = z - era * DAYS_PER_400_YEARS;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t from_march = (5 * day_of_year + 2) / 153;

    *day = (int)(day_of_year - (153 * from_march + 2) / 5 + 1);
    *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    *year = (int)(year_of_era + era * 400 + (*month <= 2 ? 1 : 0));
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

struct moment {
    int year, month, day, hour, minute, second;
};

/* A leap second, :60, is the next second: as good as any for an age. */
static bool to_wall_ms(const struct moment *m, int64_t *wall_ms)
{
    if (m->month < 1 || m->month > 12 || m->day < 1 || m->day > days_in_month(m->year, m->month) ||
        m->hour > 23 || m->minute > 59 || m->second > 60)
        return false;
    *wall_ms = days_of(m->year, m->month, m->day) * MS_PER_DAY +
               ((m->hour * 60 + m->minute) * 60 + m->second) * 1000LL;
    return true;
}

/* Takes `count` digits off the front. */
static bool take_digits(struct bytes *t, size_t count, int *out)
{
    *out = 0;
    if (t->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (t->data[i] < '0' || t->data[i] > '9')
            return false;
        *out = *out * 10 + (t->data[i] - '0');
    }
    *t = bytes_of(t->data + count, t->len - count);
    return true;
}

static bool take_text(struct bytes *t, const char *text)
{
    if (!bytes_start_with(*t, bytes_of_str(text)))
        return false;
    *t = bytes_of(t->data + strlen(text), t->len - strlen(text));
    return true;
}

static bool take_clock(struct bytes *t, struct moment *m)
{
    return take_digits(t, 2, &m->hour) && take_text(t, ":") && take_digits(t, 2, &m->minute) &&
           take_text(t, ":") && take_digits(t, 2, &m->second);
}

bool s3_date_parse(struct bytes text, int64_t *wall_ms)
{
    struct moment m;
    int digit, scale = 100, ms = 0;

    if (!take_digits(&text, 4, &m.year) || !take_text(&text, "-") ||
        !take_digits(&text, 2, &m.month) || !take_text(&text, "-") ||
        !take_digits(&text, 2, &m.day) || !take_text(&text, "T") || !take_clock(&text, &m))
        return false;
    if (take_text(&text, ".")) {
        if (!take_digits(&text, 1, &digit))
            return false;
        do {
            ms += digit * scale;
            scale /= 10;
        } while (take_digits(&text, 1, &digit));
    }
    if (!take_text(&text, "Z") || text.len != 0 || !to_wall_ms(&m, wall_ms))
        return false;
    *wall_ms += ms;
    return true;
}

void s3_date_basic(int64_t wall_ms, char out[S3_DATE_BASIC_LEN + 1])
{
    int64_t second = wall_ms / 1000;
    int year, month, day;

    ASSERT(wall_ms >= 0);
    date_of(second / 86400, &year, &month, &day);
    ASSERT(year <= 9999);
    second %= 86400;
    snprintf(out, S3_DATE_BASIC_LEN + 1, "%04u%02u%02uT%02u%02u%02uZ", (unsigned)year % 10000,
             (unsigned)month % 100, (unsigned)day % 100, (unsigned)(second / 3600) % 100,
             (unsigned)(second / 60 % 60), (unsigned)(second % 60));
}
