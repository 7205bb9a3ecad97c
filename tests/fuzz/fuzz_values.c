/* fuzz_values.c - texts of numbers, dates and times, date formats, and TZif files from outside. The first byte chooses. What is read and
 * printed reads back as the same value. */
#include "job/datetime.h"
#include "job/decimal.h"
#include "job/number.h"
#include "job/sql/date_format.h"

static void numbers(struct bytes text)
{
    struct buf out = {0};
    int64_t i, again;
    double d, back;
    int128 v, w;

    if (number_parse_int(text, INT64_MIN, INT64_MAX, &i, NULL) == RC_OK) {
        number_print_int(i, &out);
        ASSERT(number_parse_int(buf_bytes(&out), INT64_MIN, INT64_MAX, &again, NULL) == RC_OK && again == i);
    }
    buf_clear(&out);
    if (number_parse_double(text, &d, NULL) == RC_OK) {
        number_print_double(d, &out);
        ASSERT(number_parse_double(buf_bytes(&out), &back, NULL) == RC_OK && (back == d || d != d));
        if (decimal_from_double(d, 38, 10, &v))
            ASSERT(decimal_fits(v, 38));
    }
    for (uint32_t scale = 0; scale <= 38; scale += 19) {
        buf_clear(&out);
        if (decimal_parse(text, 38, scale, &v, NULL) != RC_OK)
            continue;
        decimal_print(v, scale, &out);
        ASSERT(decimal_parse(buf_bytes(&out), 38, scale, &w, NULL) == RC_OK && w == v);
    }
    buf_release(&out);
}

static void times(struct bytes text)
{
    struct buf out = {0};
    int64_t v, w;
    int32_t d, e;
    bool zoned;

    for (uint8_t p = 0; p <= 9; p += 3) {
        buf_clear(&out);
        if (timestamp_parse(text, p, &zoned, &v, NULL) != RC_OK)
            continue;
        timestamp_print(v, p, &out);
        if (timestamp_parse(buf_bytes(&out), p, NULL, &w, NULL) == RC_OK) /* an offset may lead out of the years 1..9999 */
            ASSERT(v == w);
    }
    buf_clear(&out);
    if (date_parse(text, &d, NULL) == RC_OK) {
        date_print(d, &out);
        ASSERT(date_parse(buf_bytes(&out), &e, NULL) == RC_OK && d == e);
    }
    buf_clear(&out);
    if (time_parse(text, 3, &d, NULL) == RC_OK) {
        time_print(d, 3, &out);
        ASSERT(time_parse(buf_bytes(&out), 3, &e, NULL) == RC_OK && d == e);
    }
    buf_release(&out);
}

/* Format, a NUL, a text. */
static void formats(struct bytes data)
{
    const uint8_t *nul = data.len == 0 ? NULL : memchr(data.data, 0, data.len);
    struct bytes pattern = data, text = {0};
    const struct time_format *f;
    struct arena *a = arena_new(0);
    struct buf out = {0};
    int64_t days, ns;

    if (nul != NULL) {
        pattern.len = (size_t)(nul - data.data);
        text = bytes_of(nul + 1, data.len - pattern.len - 1);
    }
    if (time_format_new(a, pattern, &f, NULL) == RC_OK) {
        time_format_print(f, 19782, 45296789000000, 3600, &out);
        if (text.len > 0 && time_format_parse(f, text, &days, &ns))
            ASSERT(ns >= 0 && ns < NS_PER_DAY);
    }
    buf_release(&out);
    arena_free(a);
}

static void zones(struct bytes data)
{
    struct zone *z;

    if (zone_decode(data, "fuzz", &z, NULL) != RC_OK)
        return;
    for (int64_t s = -4000000000; s < 8000000000; s += 86400 * 301)
        zone_to_utc_s(z, s + zone_offset_s(z, s));
    zone_free(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes rest = bytes_of(data + 1, size - 1);

    if (size == 0)
        return 0;
    switch (data[0] % 4) {
    case 0:
        numbers(rest);
        break;
    case 1:
        times(rest);
        break;
    case 2:
        formats(rest);
        break;
    default:
        zones(rest);
        break;
    }
    return 0;
}
