/* zone.c - time zones of datetime.h: fixed offsets, and TZif files (RFC 8536) of the system's
 * database.
 *
 * A named zone is a sorted table of transitions and, for the years after the last one, the rule of
 * the file's footer (a POSIX TZ string). The files belong to the system, not to a job. */
#include "job/datetime.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

#define ZONE_DIR "/usr/share/zoneinfo/"
#define ZONE_FILE_MAX (1u << 20)
#define ZONE_NAME_MAX 64u
#define ZONE_TRANSITIONS_MAX 10000u
#define ZONE_OFFSET_MAX_S 93599 /* RFC 8536: just below 26 hours */

/* One end of daylight saving time in a POSIX TZ string. */
struct zone_rule {
    enum { RULE_MONTH_WEEK_DAY, RULE_JULIAN, RULE_DAY_OF_YEAR } kind;
    int32_t month, week, day; /* Mm.w.d; Jn and n in day */
    int32_t time_s;           /* after local midnight; may be negative or past a day */
};
struct zone {
    uint32_t count;
    int64_t *at_s;      /* instants, rising */
    int32_t *offsets_s; /* in force from at_s[i] on */
    int32_t first_s;    /* before at_s[0]; the only one of a fixed zone */
    bool has_footer, has_dst;
    int32_t std_s, dst_s;
    struct zone_rule start, end; /* of daylight saving time, in local time before the change */
};

/* ---- the footer ------------------------------------------------------------------------------ */

static bool footer_number(const char **p, int32_t min, int32_t max, int32_t *out)
{
    int32_t v = 0;
    const char *at = *p;

    while (*at >= '0' && *at <= '9' && v <= 100000)
        v = v * 10 + (*at++ - '0');
    if (at == *p || v < min || v > max)
        return false;
    *p = at;
    *out = v;
    return true;
}

/* [+-]hh[:mm[:ss]] in seconds */
static bool footer_time(const char **p, int32_t *out_s)
{
    int32_t sign = 1, h, m = 0, s = 0;

    if (**p == '-' || **p == '+')
        sign = *(*p)++ == '-' ? -1 : 1;
    if (!footer_number(p, 0, 167, &h))
        return false;
    if (**p == ':') {
        (*p)++;
        if (!footer_number(p, 0, 59, &m))
            return false;
        if (**p == ':') {
            (*p)++;
            if (!footer_number(p, 0, 59, &s))
                return false;
        }
    }
    *out_s = sign * (h * 3600 + m * 60 + s);
    return true;
}

static bool footer_name(const char **p)
{
    const char *at = *p;

    if (*at == '<') {
        while (*at != '\0' && *at != '>')
            at++;
        if (*at != '>')
            return false;
        at++;
    } else {
        while ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z')
            at++;
    }
    if (at - *p < 3)
        return false;
    *p = at;
    return true;
}

static bool footer_rule(const char **p, struct zone_rule *r)
{
    *r = (struct zone_rule){.time_s = 7200};
    if (*(*p)++ != ',')
        return false;
    if (**p == 'M') {
        (*p)++;
        if (!footer_number(p, 1, 12, &r->month) || *(*p)++ != '.' ||
            !footer_number(p, 1, 5, &r->week) || *(*p)++ != '.' || !footer_number(p, 0, 6, &r->day))
            return false;
    } else if (**p == 'J') {
        (*p)++;
        r->kind = RULE_JULIAN;
        if (!footer_number(p, 1, 365, &r->day))
            return false;
    } else {
        r->kind = RULE_DAY_OF_YEAR;
        if (!footer_number(p, 0, 365, &r->day))
            return false;
    }
    if (**p == '/') {
        (*p)++;
        return footer_time(p, &r->time_s);
    }
    return true;
}

/* "CET-1CEST,M3.5.0,M10.5.0/3" */
static bool footer_parse(const char *text, struct zone *z)
{
    const char *p = text;
    int32_t west_s;

    if (!footer_name(&p) || !footer_time(&p, &west_s))
        return false;
    z->std_s = -west_s;
    z->has_footer = true;
    if (*p == '\0')
        return true;
    z->has_dst = true;
    if (!footer_name(&p))
        return false;
    z->dst_s = z->std_s + 3600;
    if (*p != ',') {
        if (!footer_time(&p, &west_s))
            return false;
        z->dst_s = -west_s;
    }
    return footer_rule(&p, &z->start) && footer_rule(&p, &z->end) && *p == '\0';
}

/* Local seconds of the change in `year`, counted as if local time were UTC. */
static int64_t rule_local_s(const struct zone_rule *r, int32_t year)
{
    int64_t day;

    if (r->kind == RULE_MONTH_WEEK_DAY) {
        struct civil first = {year, (uint8_t)r->month, 1};
        int64_t first_day = civil_to_days(first);
        int64_t weekday = floor_mod(first_day + 4, 7); /* 1970-01-01 was a Thursday; 0 = Sunday */

        day = first_day + floor_mod(r->day - weekday, 7) + (r->week - 1) * 7;
        if (day >= first_day + days_of_month(year, (uint32_t)r->month))
            day -= 7;
    } else {
        bool leap = days_of_month(year, 2) == 29;

        day = civil_to_days((struct civil){year, 1, 1}) + r->day;
        if (r->kind == RULE_JULIAN && !(leap && r->day >= 60))
            day--; /* J60 is always 1 March */
    }
    return day * 86400 + r->time_s;
}

static int32_t footer_offset_s(const struct zone *z, int64_t utc_s)
{
    int32_t year;
    int64_t start, end;
    bool dst;

    if (!z->has_dst)
        return z->std_s;
    year = civil_of_days(floor_div(utc_s + z->std_s, 86400)).year;
    start = rule_local_s(&z->start, year) - z->std_s;
    end = rule_local_s(&z->end, year) - z->dst_s;
    dst = start < end ? utc_s >= start && utc_s < end : !(utc_s >= end && utc_s < start);
    return dst ? z->dst_s : z->std_s;
}

/* ---- TZif ------------------------------------------------------------------------------------ */

struct tzif_header {
    uint8_t version;
    uint32_t isutc, isstd, leap, time, type, chars;
};

static enum rc read_header(struct reader *r, struct tzif_header *h, struct err *err)
{
    struct bytes magic, skip;

    RETURN_IF_ERR(reader_take(r, 4, &magic, "magic", err));
    if (!bytes_eq(magic, bytes_of_str("TZif")))
        return err_set(err, RC_CORRUPT, "%s: is no time zone file", r->what);
    RETURN_IF_ERR(reader_u8(r, &h->version, "version", err));
    RETURN_IF_ERR(reader_take(r, 15, &skip, "reserved", err));
    RETURN_IF_ERR(reader_be32(r, &h->isutc, "isutcnt", err));
    RETURN_IF_ERR(reader_be32(r, &h->isstd, "isstdcnt", err));
    RETURN_IF_ERR(reader_be32(r, &h->leap, "leapcnt", err));
    RETURN_IF_ERR(reader_be32(r, &h->time, "timecnt", err));
    RETURN_IF_ERR(reader_be32(r, &h->type, "typecnt", err));
    RETURN_IF_ERR(reader_be32(r, &h->chars, "charcnt", err));
    if (h->time > ZONE_TRANSITIONS_MAX || h->type == 0 || h->type > 256 || h->chars > 4096 ||
        h->leap > 4096 || h->isutc > 256 || h->isstd > 256)
        return err_set(err, RC_CORRUPT, "%s: %u transitions, %u types, %u letters", r->what,
                       h->time, h->type, h->chars);
    return RC_OK;
}

static size_t body_size(const struct tzif_header *h, size_t time_bytes)
{
    return h->time * time_bytes + h->time + (size_t)h->type * 6 + h->chars +
           h->leap * (time_bytes + 4) + h->isstd + h->isutc;
}

static enum rc read_body(struct reader *r, const struct tzif_header *h, struct zone *z,
                         struct err *err)
{
    struct bytes times, indices, types, rest;
    int32_t offsets[256];

    if (h->leap != 0)
        return err_set(err, RC_UNSUPPORTED, "%s: counts leap seconds", r->what);
    RETURN_IF_ERR(reader_take(r, (size_t)h->time * 8, &times, "transition times", err));
    RETURN_IF_ERR(reader_take(r, h->time, &indices, "transition types", err));
    RETURN_IF_ERR(reader_take(r, (size_t)h->type * 6, &types, "types", err));
    RETURN_IF_ERR(reader_take(r, (size_t)h->chars + h->isstd + h->isutc, &rest, "names", err));
    for (uint32_t i = 0; i < h->type; i++) {
        offsets[i] = (int32_t)get_be32(types.data + (size_t)i * 6);
        if (offsets[i] < -ZONE_OFFSET_MAX_S || offsets[i] > ZONE_OFFSET_MAX_S)
            return err_set(err, RC_CORRUPT, "%s: offset of %d s", r->what, offsets[i]);
    }
    z->first_s = offsets[0];
    z->count = h->time;
    z->at_s = mem_calloc(h->time, sizeof *z->at_s);
    z->offsets_s = mem_calloc(h->time, sizeof *z->offsets_s);
    for (uint32_t i = 0; i < h->time; i++) {
        z->at_s[i] = (int64_t)get_be64(times.data + (size_t)i * 8);
        if (indices.data[i] >= h->type || (i > 0 && z->at_s[i] <= z->at_s[i - 1]))
            return err_set(err, RC_CORRUPT, "%s: transition %u is out of order", r->what, i);
        z->offsets_s[i] = offsets[indices.data[i]];
    }
    return RC_OK;
}

static enum rc read_footer(struct reader *r, struct zone *z, struct err *err)
{
    struct bytes text;
    char copy[256];

    RETURN_IF_ERR(reader_take(r, reader_left(r), &text, "footer", err));
    if (text.len < 2 || text.len > sizeof copy || text.data[0] != '\n' ||
        text.data[text.len - 1] != '\n')
        return err_set(err, RC_CORRUPT, "%s: no footer", r->what);
    if (text.len == 2) /* empty: the last transition holds for ever */
        return RC_OK;
    memcpy(copy, text.data + 1, text.len - 2);
    copy[text.len - 2] = '\0';
    if (strlen(copy) != text.len - 2 || !footer_parse(copy, z))
        return err_set(err, RC_CORRUPT, "%s: the footer is not a rule", r->what);
    return RC_OK;
}

enum rc zone_decode(struct bytes tzif, const char *name, struct zone **out, struct err *err)
{
    struct zone *z = mem_calloc(1, sizeof *z);
    struct tzif_header h;
    struct reader r;
    struct bytes skip;
    enum rc rc;

    reader_init(&r, tzif, name);
    GOTO_IF_ERR(read_header(&r, &h, err));
    if (h.version < '2') {
        rc = err_set(err, RC_VERSION, "%s: TZif version 1 lacks 64-bit times", name);
        goto out;
    }
    GOTO_IF_ERR(reader_take(&r, body_size(&h, 4), &skip, "32-bit data", err));
    GOTO_IF_ERR(read_header(&r, &h, err));
    GOTO_IF_ERR(read_body(&r, &h, z, err));
    GOTO_IF_ERR(read_footer(&r, z, err));
    *out = z;
    return RC_OK;
out:
    zone_free(z);
    return rc;
}

void zone_free(struct zone *z)
{
    if (z == NULL)
        return;
    mem_free(z->at_s);
    mem_free(z->offsets_s);
    mem_free(z);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* "", "Z", "+2", "+02", "+02:00", "+0200" */
static bool parse_fixed(const char *p, int32_t *out_s)
{
    int32_t sign, hour = 0, minute = 0;
    int digits = 0;

    *out_s = 0;
    if (*p == '\0')
        return true;
    if (*p != '+' && *p != '-')
        return false;
    sign = *p++ == '-' ? -1 : 1;
    for (; digits < 2 && *p >= '0' && *p <= '9'; digits++)
        hour = hour * 10 + (*p++ - '0');
    if (digits == 0 || hour > 18)
        return false;
    if (*p != '\0') {
        if (*p == ':')
            p++;
        if (p[0] < '0' || p[0] > '5' || p[1] < '0' || p[1] > '9' || p[2] != '\0')
            return false;
        minute = (p[0] - '0') * 10 + (p[1] - '0');
    }
    *out_s = sign * (hour * 3600 + minute * 60);
    return true;
}

static bool is_fixed(const char *name, int32_t *out_s)
{
    static const char *const prefixes[] = {"UTC", "GMT", "UT", ""};

    if (strcmp(name, "Z") == 0) {
        *out_s = 0;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        size_t n = strlen(prefixes[i]);

        if (strncmp(name, prefixes[i], n) == 0 && (n > 0 || *name != '\0') &&
            parse_fixed(name + n, out_s))
            return true;
    }
    return false;
}

/* Letters, digits, '_', '-', '+', and '/' between parts; no part begins with a dot. */
static bool is_safe_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > ZONE_NAME_MAX || name[0] == '/')
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];

        if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
              c == '-' || c == '+' || c == '/'))
            return false;
    }
    return true;
}

enum rc zone_open(struct fs *fs, const char *name, struct zone **out, struct err *err)
{
    char path[sizeof ZONE_DIR + ZONE_NAME_MAX];
    struct buf file = {0};
    struct err inner = {0};
    int32_t fixed_s;
    enum rc rc;

    if (is_fixed(name, &fixed_s)) {
        *out = mem_calloc(1, sizeof **out);
        (*out)->first_s = fixed_s;
        return RC_OK;
    }
    if (!is_safe_name(name))
        return err_set(
            err, RC_INVALID,
            "unknown time zone '%.80s', expected e.g. 'UTC', '+02:00' or 'Europe/Berlin'", name);
    snprintf(path, sizeof path, ZONE_DIR "%s", name);
    rc = fs_read_all(fs, path, ZONE_FILE_MAX, &file, &inner);
    if (rc == RC_OK)
        rc = zone_decode(buf_bytes(&file), path, out, &inner);
    if (rc != RC_OK)
        rc =
            err_set(err, RC_INVALID,
                    "unknown time zone '%s' (%s), expected e.g. 'UTC', '+02:00' or 'Europe/Berlin'",
                    name, inner.msg);
    buf_release(&file);
    return rc;
}

/* ---- conversion ------------------------------------------------------------------------------ */

bool zone_is_utc(const struct zone *z)
{
    return z->count == 0 && !z->has_footer && z->first_s == 0;
}

int32_t zone_offset_s(const struct zone *z, int64_t utc_s)
{
    uint32_t low = 0, high = z->count;

    if (z->has_footer && (z->count == 0 || utc_s >= z->at_s[z->count - 1]))
        return footer_offset_s(z, utc_s);
    while (low < high) { /* the first transition after utc_s */
        uint32_t mid = low + (high - low) / 2;

        if (z->at_s[mid] <= utc_s)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? z->first_s : z->offsets_s[low - 1];
}

int64_t zone_to_utc_s(const struct zone *z, int64_t local_s)
{
    /* The offsets in force a day before and a day after are the only candidates. */
    int32_t before = zone_offset_s(z, local_s - 86400), after = zone_offset_s(z, local_s + 86400);

    if (zone_offset_s(z, local_s - before) == before)
        return local_s - before;
    if (zone_offset_s(z, local_s - after) == after)
        return local_s - after;
    return local_s - before; /* in a gap */
}

static enum rc shift(int64_t value, int64_t by_s, uint8_t precision, int64_t *out, struct err *err)
{
    if (__builtin_add_overflow(value, by_s * 1000 * timestamp_units_per_ms(precision), out))
        return err_set(err, RC_INVALID, "the time is outside the range of TIMESTAMP(%u)",
                       precision);
    return RC_OK;
}

enum rc zone_timestamp_to_utc(const struct zone *z, int64_t local, uint8_t precision, int64_t *out,
                              struct err *err)
{
    int64_t local_s = floor_div(local, 1000 * timestamp_units_per_ms(precision));

    return shift(local, zone_to_utc_s(z, local_s) - local_s, precision, out, err);
}

enum rc zone_timestamp_to_local(const struct zone *z, int64_t instant, uint8_t precision,
                                int64_t *out, struct err *err)
{
    int64_t utc_s = floor_div(instant, 1000 * timestamp_units_per_ms(precision));

    return shift(instant, zone_offset_s(z, utc_s), precision, out, err);
}
