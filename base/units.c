/* units.c - see units.h. After: TimeUtils, MemorySize (flink-core). */
#include "base/units.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <ctype.h>

/* The digits at the start of text; *rest is the first byte behind them and its blanks. */
static bool take_digits(const char *text, uint64_t *value, const char **rest)
{
    const char *p = text;
    uint64_t v = 0;

    while (isspace((unsigned char)*p))
        p++;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++) {
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return false;
    }
    while (isspace((unsigned char)*p))
        p++;
    *value = v;
    *rest = p;
    return true;
}

/* `word` without trailing blanks equals `name`, letter case aside. */
static bool word_is(const char *word, const char *name)
{
    size_t len = strlen(word);

    while (len > 0 && isspace((unsigned char)word[len - 1]))
        len--;
    return len == strlen(name) && strncasecmp(word, name, len) == 0;
}

/* ---- durations ------------------------------------------------------------------------------- */

static const struct {
    const char *names[7];
    int64_t ns;
} duration_units[] = {
    {{"d", "day", "days"}, 86400 * NS_PER_S},
    {{"h", "hour", "hours"}, 3600 * NS_PER_S},
    {{"min", "m", "minute", "minutes"}, 60 * NS_PER_S},
    {{"s", "sec", "secs", "second", "seconds"}, NS_PER_S},
    {{"", "ms", "milli", "millis", "millisecond", "milliseconds"}, NS_PER_MS},
    {{"\xc2\xb5s", "us", "micro", "micros", "microsecond", "microseconds"}, 1000},
    {{"ns", "nano", "nanos", "nanosecond", "nanoseconds"}, 1},
};

static enum rc fail_duration(const char *text, const char *why, struct err *err)
{
    return err_set(
        err, RC_INVALID,
        "\"%.60s\" is not a duration%s (like 500 ms, 10 s, 1 min, 2 h, 1 d, PT10S; a bare "
        "number is ms)",
        text, why);
}

/* Adds count * unit_ns to *ms and *ns; false when it does not fit. */
static bool add_duration(uint64_t count, int64_t unit_ns, int64_t *ms, int64_t *ns)
{
    int64_t whole, part = 0;

    if (count > INT64_MAX)
        return false;
    if (unit_ns >= NS_PER_MS) {
        if (__builtin_mul_overflow((int64_t)count, unit_ns / NS_PER_MS, &whole))
            return false;
    } else {
        int64_t per_ms = NS_PER_MS / unit_ns;

        whole = (int64_t)count / per_ms;
        part = (int64_t)count % per_ms * unit_ns;
    }
    *ns += part;
    return !__builtin_add_overflow(*ms, whole, ms);
}

/* "P1DT2H3M4.5S", behind the P. Weeks, months and years have no fixed length here. */
static bool parse_iso(const char *p, int64_t *ms, int64_t *ns)
{
    static const char order[] = "DHMS";
    static const int64_t unit_ns[] = {86400 * NS_PER_S, 3600 * NS_PER_S, 60 * NS_PER_S, NS_PER_S};
    int least = 0;
    bool in_time = false, any = false;

    while (*p != '\0') {
        uint64_t count, scale = 1, fraction = 0;
        const char *rest, *at;

        if ((*p == 'T' || *p == 't') && !in_time) {
            in_time = true;
            least = 1;
            p++;
            any = false;
            continue;
        }
        if (isspace((unsigned char)*p) || !take_digits(p, &count, &rest))
            return false;
        if (*rest == '.') {
            for (rest++; isdigit((unsigned char)*rest); rest++, scale *= 10) {
                if (scale >= 1000000000u)
                    return false;
                fraction = fraction * 10 + (uint64_t)(*rest - '0');
            }
            if (scale == 1 || toupper((unsigned char)*rest) != 'S')
                return false;
            fraction = fraction * (1000000000u / scale);
        }
        at = *rest == '\0' ? NULL : strchr(order, toupper((unsigned char)*rest));
        if (at == NULL || at - order < least || (at - order > 0) != in_time)
            return false;
        if (!add_duration(count, unit_ns[at - order], ms, ns) || !add_duration(fraction, 1, ms, ns))
            return false;
        least = (int)(at - order) + 1;
        any = true;
        p = rest + 1;
    }
    return any;
}

enum rc duration_parse(const char *text, int64_t *ms, struct err *err)
{
    uint64_t count;
    const char *rest;
    int64_t whole = 0, ns = 0;
    bool known = false;

    *ms = 0;
    if (toupper((unsigned char)text[0]) == 'P') {
        if (!parse_iso(text + 1, &whole, &ns))
            return fail_duration(text, "", err);
    } else {
        if (!take_digits(text, &count, &rest))
            return fail_duration(text, "", err);
        for (size_t u = 0; u < ARRAY_LEN(duration_units) && !known; u++)
            for (size_t n = 0; n < 7 && duration_units[u].names[n] != NULL && !known; n++) {
                known = word_is(rest, duration_units[u].names[n]);
                if (known && !add_duration(count, duration_units[u].ns, &whole, &ns))
                    return fail_duration(text, ": it is too long", err);
            }
        if (!known)
            return fail_duration(text, "", err);
    }
    if (ns % NS_PER_MS != 0)
        return fail_duration(text, ": it is finer than a millisecond", err);
    if (__builtin_add_overflow(whole, ns / NS_PER_MS, &whole) || whole > INT64_MAX / NS_PER_MS)
        return fail_duration(text, ": it is too long", err);
    *ms = whole;
    return RC_OK;
}

/* ---- sizes and booleans ---------------------------------------------------------------------- */

static const struct {
    const char *names[4];
    unsigned shift;
} size_units[] = {
    {{"", "b", "byte", "bytes"}, 0},       {{"k", "kb", "kib", "kibibytes"}, 10},
    {{"m", "mb", "mib", "mebibytes"}, 20}, {{"g", "gb", "gib", "gibibytes"}, 30},
    {{"t", "tb", "tib", "tebibytes"}, 40},
};

enum rc memory_size_parse(const char *text, uint64_t *size_bytes, struct err *err)
{
    uint64_t count;
    const char *rest;

    *size_bytes = 0;
    if (take_digits(text, &count, &rest))
        for (size_t u = 0; u < ARRAY_LEN(size_units); u++)
            for (size_t n = 0; n < 4; n++)
                if (word_is(rest, size_units[u].names[n]) &&
                    !__builtin_mul_overflow(count, UINT64_C(1) << size_units[u].shift,
                                            size_bytes) &&
                    *size_bytes <= INT64_MAX)
                    return RC_OK;
    *size_bytes = 0;
    return err_set(err, RC_INVALID,
                   "\"%.60s\" is not a size (like 20kb, 32 mb, 4 gb; a bare number is bytes)",
                   text);
}

enum rc bool_parse(const char *text, bool *out, struct err *err)
{
    *out = word_is(text, "true");
    if (*out || word_is(text, "false"))
        return RC_OK;
    return err_set(err, RC_INVALID, "\"%.60s\" is neither true nor false", text);
}
