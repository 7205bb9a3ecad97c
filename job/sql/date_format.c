/* date_format.c - see date_format.h */
#include "job/sql/date_format.h"

#include "job/number.h"

#include <stdlib.h>

struct format_item {
    char letter; /* 0: literal */
    uint8_t count;
    struct bytes literal;
};
struct time_format {
    uint32_t count;
    struct format_item *items;
};

static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};
static const char *const day_names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};

#define FORMAT_MAX 256u
#define LETTERS "yuMLdDEaHkKhmsSXxZ"

static void add_literal(struct time_format *f, struct arena *a, struct bytes text)
{
    struct format_item *last = f->count > 0 ? &f->items[f->count - 1] : NULL;

    if (text.len == 0)
        return;
    if (last != NULL && last->letter == 0) {
        uint8_t *both = arena_alloc(a, last->literal.len + text.len);

        memcpy(both, last->literal.data, last->literal.len);
        memcpy(both + last->literal.len, text.data, text.len);
        last->literal = bytes_of(both, last->literal.len + text.len);
        return;
    }
    f->items[f->count++].literal = arena_bytes_copy(a, text);
}

/* 'text' with '' for a quote; *at stands behind the opening quote and then behind the closing one.
 */
static enum rc add_quoted(struct time_format *f, struct arena *a, struct bytes p, size_t *at,
                          struct err *err)
{
    size_t start = *at, i = *at;

    if (i < p.len && p.data[i] == '\'') { /* '' outside of quotes */
        add_literal(f, a, bytes_of("'", 1));
        *at = i + 1;
        return RC_OK;
    }
    for (;; i++) {
        if (i == p.len)
            return err_set(err, RC_INVALID, "date format: a quote is not closed");
        if (p.data[i] != '\'')
            continue;
        add_literal(f, a, bytes_of(p.data + start, i - start));
        if (i + 1 == p.len || p.data[i + 1] != '\'')
            break;
        add_literal(f, a, bytes_of("'", 1));
        start = ++i + 1;
    }
    *at = i + 1;
    return RC_OK;
}

enum rc time_format_new(struct arena *a, struct bytes p, const struct time_format **out,
                        struct err *err)
{
    struct time_format *f = ARENA_NEW(a, struct time_format);
    char quoted[TEXT_QUOTE_MAX];

    if (p.len > FORMAT_MAX)
        return err_set(err, RC_LIMIT, "date format of %zu bytes, at most %u", p.len, FORMAT_MAX);
    f->items = ARENA_ARRAY(a, p.len + 1, struct format_item);
    for (size_t i = 0; i < p.len;) {
        uint8_t ch = p.data[i];
        size_t n = 1;

        if (ch == '\'') {
            i++;
            RETURN_IF_ERR(add_quoted(f, a, p, &i, err));
            continue;
        }
        if (!((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z')) {
            add_literal(f, a, bytes_of(&p.data[i], 1));
            i++;
            continue;
        }
        while (i + n < p.len && p.data[i + n] == ch)
            n++;
        if (strchr(LETTERS, ch) == NULL || n > 9)
            return err_set(err, RC_INVALID,
                           "date format %s: '%c' is not supported, expected letters of %s",
                           text_quote(p, quoted), ch, LETTERS);
        f->items[f->count].letter = (char)ch;
        f->items[f->count++].count = (uint8_t)n;
        i += n;
    }
    *out = f;
    return RC_OK;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void put_padded(uint32_t v, uint32_t width, struct buf *out)
{
    buf_printf(out, "%0*u", (int)width, v);
}

static void put_offset(char letter, uint8_t count, int32_t offset_s, struct buf *out)
{
    uint32_t u = (uint32_t)(offset_s < 0 ? -offset_s : offset_s);
    bool colon = letter != 'Z' && (count == 3 || count == 5);

    if (letter == 'X' && offset_s == 0) {
        buf_append_u8(out, 'Z');
        return;
    }
    buf_printf(out, "%c%02u", offset_s < 0 ? '-' : '+', u / 3600);
    if (count > 1 || letter == 'Z' || u / 60 % 60 != 0)
        buf_printf(out, "%s%02u", colon ? ":" : "", u / 60 % 60);
}

static void print_item(const struct format_item *f, int64_t days, int64_t ns, int32_t offset_s,
                       struct buf *out)
{
    struct civil c = civil_of_days(days);
    uint32_t hour = (uint32_t)(ns / 3600000000000), weekday = (uint32_t)floor_mod(days + 3, 7);
    uint32_t second = (uint32_t)(ns / 1000000000 % 60), fraction = (uint32_t)(ns % 1000000000);

    switch (f->letter) {
    case 0:
        buf_append(out, f->literal.data, f->literal.len);
        break;
    case 'y':
    case 'u':
        put_padded(f->count == 2 ? (uint32_t)floor_mod(c.year, 100) : (uint32_t)c.year, f->count,
                   out);
        break;
    case 'M':
    case 'L':
        if (f->count <= 2)
            put_padded(c.month, f->count, out);
        else
            buf_printf(out, "%.*s", f->count == 3 ? 3 : 20, month_names[c.month - 1]);
        break;
    case 'd':
        put_padded(c.day, f->count, out);
        break;
    case 'D':
        put_padded((uint32_t)(days - civil_to_days((struct civil){c.year, 1, 1}) + 1), f->count,
                   out);
        break;
    case 'E':
        buf_printf(out, "%.*s", f->count <= 3 ? 3 : 20, day_names[weekday]);
        break;
    case 'a':
        buf_append_str(out, hour < 12 ? "AM" : "PM");
        break;
    case 'H':
        put_padded(hour, f->count, out);
        break;
    case 'k':
        put_padded(hour == 0 ? 24 : hour, f->count, out);
        break;
    case 'K':
        put_padded(hour % 12, f->count, out);
        break;
    case 'h':
        put_padded(hour % 12 == 0 ? 12 : hour % 12, f->count, out);
        break;
    case 'm':
        put_padded((uint32_t)(ns / 60000000000 % 60), f->count, out);
        break;
    case 's':
        put_padded(second, f->count, out);
        break;
    case 'S':
        for (uint8_t k = f->count; k < 9; k++)
            fraction /= 10;
        put_padded(fraction, f->count, out);
        break;
    default:
        put_offset(f->letter, f->count, offset_s, out);
        break;
    }
}

void time_format_print(const struct time_format *f, int64_t days, int64_t ns_of_day,
                       int32_t offset_s, struct buf *out)
{
    for (uint32_t i = 0; i < f->count; i++)
        print_item(&f->items[i], days, ns_of_day, offset_s, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct parsed {
    int64_t year, month, day, day_of_year, hour, hour12, minute, second, ns, offset_s;
    bool has_hour12, pm;
};

/* A letter alone takes all digits, two or more take so many. */
static bool take_number(const uint8_t **p, const uint8_t *end, uint8_t count, int64_t *out)
{
    int64_t v = 0;
    int n = 0, max = count == 1 ? 9 : count;

    while (*p < end && **p >= '0' && **p <= '9' && n < max) {
        v = v * 10 + *(*p)++ - '0';
        n++;
    }
    *out = v;
    return n > 0 && (count == 1 || n == count);
}

/* One of the names, in full or its first three letters; index from 1. */
static bool take_name(const uint8_t **p, const uint8_t *end, const char *const *names, size_t count,
                      bool full, int64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = full ? strlen(names[i]) : 3;

        if ((size_t)(end - *p) >= n && memcmp(*p, names[i], n) == 0) {
            *p += n;
            *out = (int64_t)i + 1;
            return true;
        }
    }
    return false;
}

static bool take_offset(const uint8_t **p, const uint8_t *end, int64_t *out_s)
{
    int64_t hour, minute = 0;
    bool minus;

    if (*p < end && **p == 'Z') {
        (*p)++;
        *out_s = 0;
        return true;
    }
    if (*p == end || (**p != '+' && **p != '-'))
        return false;
    minus = *(*p)++ == '-';
    if (!take_number(p, end, 2, &hour))
        return false;
    if (*p < end && **p == ':')
        (*p)++;
    if (*p < end && **p >= '0' && **p <= '9' && !take_number(p, end, 2, &minute))
        return false;
    *out_s = (hour * 3600 + minute * 60) * (minus ? -1 : 1);
    return hour <= 18 && minute <= 59;
}

static bool take_fraction(const uint8_t **p, const uint8_t *end, uint8_t count, int64_t *ns)
{
    *ns = 0;
    for (uint8_t k = 0; k < 9; k++) {
        *ns *= 10;
        if (k >= count)
            continue;
        if (*p == end || **p < '0' || **p > '9')
            return false;
        *ns += *(*p)++ - '0';
    }
    return true;
}

static bool take_item(const struct format_item *f, const uint8_t **p, const uint8_t *end,
                      struct parsed *v)
{
    int64_t ignored;

    switch (f->letter) {
    case 0:
        if ((size_t)(end - *p) < f->literal.len || memcmp(*p, f->literal.data, f->literal.len) != 0)
            return false;
        *p += f->literal.len;
        return true;
    case 'y':
    case 'u':
        if (!take_number(p, end, f->count, &v->year))
            return false;
        v->year += f->count == 2 ? 2000 : 0;
        return true;
    case 'M':
    case 'L':
        return f->count <= 2 ? take_number(p, end, f->count, &v->month)
                             : take_name(p, end, month_names, 12, f->count > 3, &v->month);
    case 'd':
        return take_number(p, end, f->count, &v->day);
    case 'D':
        return take_number(p, end, f->count, &v->day_of_year);
    case 'E':
        return take_name(p, end, day_names, 7, f->count > 3, &ignored);
    case 'a':
        if (end - *p < 2 || ((*p)[1] | 0x20) != 'm')
            return false;
        v->pm = ((*p)[0] | 0x20) == 'p';
        *p += 2;
        return true;
    case 'H':
    case 'k':
        if (!take_number(p, end, f->count, &v->hour))
            return false;
        if (f->letter == 'k' && v->hour == 24)
            v->hour = 0;
        return true;
    case 'h':
    case 'K':
        v->has_hour12 = true;
        return take_number(p, end, f->count, &v->hour12) && v->hour12 <= 12;
    case 'm':
        return take_number(p, end, f->count, &v->minute);
    case 's':
        return take_number(p, end, f->count, &v->second);
    case 'S':
        return take_fraction(p, end, f->count, &v->ns);
    default:
        return take_offset(p, end, &v->offset_s);
    }
}

bool time_format_parse(const struct time_format *f, struct bytes text, int64_t *days,
                       int64_t *ns_of_day)
{
    const uint8_t *p = text.data, *end = text.data + text.len;
    struct parsed v = {.year = 1970, .month = 1, .day = 1};
    int64_t ns;

    for (uint32_t i = 0; i < f->count; i++) {
        if (!take_item(&f->items[i], &p, end, &v))
            return false;
    }
    if (v.has_hour12)
        v.hour = v.hour12 % 12 + (v.pm ? 12 : 0);
    if (p != end || v.month > 12 || v.day > 31 || v.year > 9999 ||
        !civil_valid((int32_t)v.year, (uint32_t)v.month, (uint32_t)v.day) || v.hour > 23 ||
        v.minute > 59 || v.second > 59)
        return false;
    *days = civil_to_days((struct civil){(int32_t)v.year, (uint8_t)v.month, (uint8_t)v.day});
    if (v.day_of_year > 0)
        *days = civil_to_days((struct civil){(int32_t)v.year, 1, 1}) + v.day_of_year - 1;
    ns = ((v.hour * 3600 + v.minute * 60 + v.second - v.offset_s) * 1000000000) + v.ns;
    *days += floor_div(ns, NS_PER_DAY);
    *ns_of_day = floor_mod(ns, NS_PER_DAY);
    return true;
}
