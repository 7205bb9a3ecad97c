/* layout.c - see layout.h */
#include "checkpoint/layout.h"

#include "base/transfer.h"

#include <inttypes.h>
#include <stdio.h>

#define EXCLUSIVE_PREFIX "s-"
#define EXCLUSIVE_SUFFIX ".bin"
#define CHECKPOINT_PREFIX "chk-"
#define SAVEPOINT_MARK_PREFIX "SAVEPOINT-"
#define SHARED_SUFFIX ".sst"
#define SAVEPOINT_PREFIX "savepoint-"
#define SAVEPOINT_JOB_HEX 6
#define SAVEPOINT_RANDOM_HEX 12

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The first `count` characters are lower-case hex digits. */
static bool is_hex(const char *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
            return false;
    return true;
}

/* Decimal without sign or leading zero, at most INT64_MAX; *end is set behind it. */
static bool parse_decimal(const char *s, uint64_t *out, const char **end)
{
    uint64_t v = 0;
    const char *p = s;

    while (*p >= '0' && *p <= '9') {
        uint64_t digit = (uint64_t)(*p - '0');

        if (v > (LAYOUT_CHECKPOINT_ID_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
        p++;
    }
    if (p == s || (s[0] == '0' && p != s + 1))
        return false;
    *out = v;
    *end = p;
    return true;
}

static void numbered(const char *prefix, uint64_t id, char out[LAYOUT_NAME_MAX])
{
    ASSERT(id >= 1 && id <= LAYOUT_CHECKPOINT_ID_MAX);
    snprintf(out, LAYOUT_NAME_MAX, "%s%" PRIu64, prefix, id);
}

static bool parse_numbered(const char *name, const char *prefix, uint64_t *id)
{
    const char *end;

    return starts_with(name, prefix) && parse_decimal(name + strlen(prefix), id, &end) &&
           *end == '\0' && *id >= 1;
}

void layout_checkpoint_name(uint64_t checkpoint_id, char out[LAYOUT_NAME_MAX])
{
    numbered(CHECKPOINT_PREFIX, checkpoint_id, out);
}

bool layout_parse_checkpoint(const char *name, uint64_t *checkpoint_id)
{
    return parse_numbered(name, CHECKPOINT_PREFIX, checkpoint_id);
}

void layout_savepoint_mark(uint64_t checkpoint_id, char out[LAYOUT_NAME_MAX])
{
    numbered(SAVEPOINT_MARK_PREFIX, checkpoint_id, out);
}

bool layout_parse_savepoint_mark(const char *name, uint64_t *checkpoint_id)
{
    return parse_numbered(name, SAVEPOINT_MARK_PREFIX, checkpoint_id);
}

void layout_shared_name(struct digest128 digest, char out[LAYOUT_NAME_MAX])
{
    char hex[DIGEST_HEX_LEN + 1];

    digest_hex(digest, hex);
    snprintf(out, LAYOUT_NAME_MAX, "%s" SHARED_SUFFIX, hex);
}

bool layout_parse_shared(const char *name, struct digest128 *digest)
{
    char hex[DIGEST_HEX_LEN + 1];

    if (strlen(name) != DIGEST_HEX_LEN + strlen(SHARED_SUFFIX) ||
        strcmp(name + DIGEST_HEX_LEN, SHARED_SUFFIX) != 0)
        return false;
    memcpy(hex, name, DIGEST_HEX_LEN);
    hex[DIGEST_HEX_LEN] = '\0';
    return digest_parse(hex, digest);
}

/* 8-4-4-4-12 lower-case hex digits. */
static bool is_uuid(const char *name)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < UUID_LEN; i++)
        if (form[i] == '-' ? name[i] != '-' : !is_hex(name + i, 1))
            return false;
    return true;
}

bool layout_is_log(const char *name)
{
    const char *end = name + UUID_LEN;
    uint64_t subtask, number;

    return is_uuid(name) && *end == '-' && parse_decimal(end + 1, &subtask, &end) &&
           subtask <= UINT32_MAX && *end == '-' && parse_decimal(end + 1, &number, &end) &&
           strcmp(end, ".log") == 0;
}

bool layout_is_log_path(const char *path)
{
    return starts_with(path, LAYOUT_LOG_PREFIX) && layout_is_log(path + strlen(LAYOUT_LOG_PREFIX));
}

void layout_exclusive_name(uint64_t index, char out[LAYOUT_NAME_MAX])
{
    snprintf(out, LAYOUT_NAME_MAX, EXCLUSIVE_PREFIX "%" PRIu64 EXCLUSIVE_SUFFIX, index);
}

bool layout_parse_exclusive(const char *name, uint64_t *index)
{
    const char *end;

    return starts_with(name, EXCLUSIVE_PREFIX) &&
           parse_decimal(name + strlen(EXCLUSIVE_PREFIX), index, &end) &&
           strcmp(end, EXCLUSIVE_SUFFIX) == 0;
}

bool layout_is_note_temp(const char *name)
{
    return strcmp(name, "._" LAYOUT_ORIGIN ".tmp") == 0 ||
           strcmp(name, "._" LAYOUT_ENDED ".tmp") == 0 || transfer_is_temp(name);
}

bool layout_is_temp(const char *name)
{
    return strcmp(name, LAYOUT_METADATA_TEMP) == 0 || transfer_is_temp(name);
}

void layout_savepoint_name(const char *job_id, struct rng *rng, char out[LAYOUT_NAME_MAX])
{
    char hex[SAVEPOINT_RANDOM_HEX + 1];

    ASSERT(layout_is_job_id(job_id));
    rng_hex(rng, hex, SAVEPOINT_RANDOM_HEX);
    snprintf(out, LAYOUT_NAME_MAX, SAVEPOINT_PREFIX "%.*s-%s", SAVEPOINT_JOB_HEX, job_id, hex);
}

bool layout_is_savepoint(const char *name)
{
    const char *job = name + strlen(SAVEPOINT_PREFIX);
    size_t len = strlen(SAVEPOINT_PREFIX) + SAVEPOINT_JOB_HEX + 1 + SAVEPOINT_RANDOM_HEX;

    return starts_with(name, SAVEPOINT_PREFIX) && strlen(name) == len &&
           is_hex(job, SAVEPOINT_JOB_HEX) && job[SAVEPOINT_JOB_HEX] == '-' &&
           is_hex(job + SAVEPOINT_JOB_HEX + 1, SAVEPOINT_RANDOM_HEX);
}

bool layout_is_job_id(const char *name)
{
    return strlen(name) == JOB_ID_LEN && is_hex(name, JOB_ID_LEN);
}

enum rc layout_job_dir(char *out, size_t cap, const char *dir, const char *job_id, struct err *err)
{
    ASSERT(layout_is_job_id(job_id));
    return path_join(out, cap, dir, job_id, err);
}

enum rc layout_checkpoint_dir(char *out, size_t cap, const char *job_dir, uint64_t checkpoint_id,
                              struct err *err)
{
    char name[LAYOUT_NAME_MAX];

    layout_checkpoint_name(checkpoint_id, name);
    return path_join(out, cap, job_dir, name, err);
}

bool layout_is_plain_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > LAYOUT_FILE_NAME_MAX || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0 || strcmp(name, LAYOUT_METADATA) == 0)
        return false;
    for (size_t i = 0; i < len; i++)
        if (name[i] == '/' || (unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return false;
    return true;
}

bool layout_is_exclusive_path(const char *path)
{
    return layout_is_plain_name(path);
}

bool layout_parse_shared_path(const char *path, struct digest128 *digest)
{
    return starts_with(path, LAYOUT_SHARED_PREFIX) &&
           layout_parse_shared(path + strlen(LAYOUT_SHARED_PREFIX), digest);
}
