/* s3_reader.c - see s3_reader.h */
#include "base/s3_reader.h"

#include "base/arena.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define AHEAD_MIN ((size_t)64 << 10)
#define AHEAD_MAX ((size_t)8 << 20)
#define AHEAD_GROWTH 4
#define ETAG_MAX 256

struct s3_reader {
    struct s3_client *client;
    struct s3_name name;
    uint64_t bytes;
    char *etag; /* NULL: the server gave none */
    struct buf piece;
    uint64_t piece_at; /* where it lies in the object */
    size_t ahead;
};

/* "bytes 0-65535/146515"; *all: what stands behind the slash. */
static bool parse_content_range(const char *text, uint64_t *first, uint64_t *all)
{
    char *end;

    if (text == NULL || strncmp(text, "bytes ", 6) != 0)
        return false;
    errno = 0;
    *first = strtoull(text + 6, &end, 10);
    if (errno != 0 || end == text + 6 || *end != '-')
        return false;
    text = strchr(end, '/');
    if (text == NULL || text[1] < '0' || text[1] > '9')
        return false;
    *all = strtoull(text + 1, &end, 10);
    return errno == 0 && *end == '\0' && *all <= INT64_MAX;
}

static enum rc wrong_range(const struct s3_reader *r, uint64_t offset, struct err *err)
{
    return err_set(err, RC_CORRUPT,
                   "s3://%s/%s: the answer is not the range from %" PRIu64 " on that was asked for",
                   r->name.bucket, r->name.key, offset);
}

/* One request for `want` bytes at `offset`; the answer as it came. */
static enum rc get_range(struct s3_reader *r, uint64_t offset, size_t want,
                         struct http_answer *answer, struct s3_call *call, struct err *err)
{
    struct http_header headers[2] = {{"range", NULL}, {"if-match", r->etag}};
    char range[64];

    snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, offset, offset + want - 1);
    headers[0].value = range;
    *call = (struct s3_call){.method = "GET",
                             .name = &r->name,
                             .headers = headers,
                             .header_count = r->etag == NULL ? 1 : 2,
                             .answer_max_bytes = AHEAD_MAX};
    RETURN_IF_ERR(s3_send(r->client, call, answer, err));
    call->headers = NULL;
    call->header_count = 0;
    return RC_OK;
}

/* What was answered becomes the piece; want: at most, so many are left. */
static enum rc take_piece(struct s3_reader *r, uint64_t offset, size_t want,
                          struct http_answer *answer, struct err *err)
{
    uint64_t first, all;

    if (answer->status != 206 ||
        !parse_content_range(http_answer_header(answer, "content-range"), &first, &all) ||
        first != offset || all != r->bytes || answer->body.len != want)
        return wrong_range(r, offset, err);
    buf_release(&r->piece);
    r->piece = answer->body;
    answer->body = (struct buf){0};
    r->piece_at = offset;
    return RC_OK;
}

static void take_etag(struct s3_reader *r, const struct http_answer *answer)
{
    const char *etag = http_answer_header(answer, "etag");

    if (etag != NULL && etag[0] != '\0' && strlen(etag) <= ETAG_MAX)
        r->etag = mem_strdup(etag);
}

/* A range of an empty object cannot be satisfied. */
static enum rc look_at_empty(struct s3_reader *r, struct err *err)
{
    struct s3_call call = {.method = "HEAD", .name = &r->name};
    struct http_answer answer = {0};
    enum rc rc;

    GOTO_IF_ERR(s3_do(r->client, &call, &answer, err));
    GOTO_IF_ERR(s3_length(&r->name, &answer, &r->bytes, err));
    if (r->bytes > 0)
        rc = wrong_range(r, 0, err);
out:
    http_answer_release(&answer);
    return rc;
}

enum rc s3_reader_open(struct s3_client *c, const struct s3_name *name, struct s3_reader **out,
                       struct err *err)
{
    struct s3_reader *r = mem_calloc(1, sizeof *r);
    struct http_answer answer = {0};
    struct s3_call call;
    uint64_t first;
    enum rc rc;

    *out = NULL;
    r->client = c;
    r->name = *name;
    r->ahead = AHEAD_MIN;
    GOTO_IF_ERR(get_range(r, 0, AHEAD_MIN, &answer, &call, err));
    if (answer.status == 416) {
        GOTO_IF_ERR(look_at_empty(r, err));
    } else if (answer.status == 206) {
        if (!parse_content_range(http_answer_header(&answer, "content-range"), &first, &r->bytes))
            GOTO_IF_ERR(wrong_range(r, 0, err));
        take_etag(r, &answer);
        GOTO_IF_ERR(
            take_piece(r, 0, r->bytes < AHEAD_MIN ? (size_t)r->bytes : AHEAD_MIN, &answer, err));
    } else if (answer.status == 200 && answer.body.len == 0) {
        r->bytes = 0; /* another way to answer for an empty one */
    } else {
        rc = answer.status == 200 ? wrong_range(r, 0, err) : s3_refused(c, &call, &answer, err);
    }
    if (rc == RC_OK) {
        *out = r;
        r = NULL;
    }
out:
    http_answer_release(&answer);
    s3_reader_free(r);
    return rc;
}

uint64_t s3_reader_bytes(const struct s3_reader *r)
{
    return r->bytes;
}

static enum rc fetch(struct s3_reader *r, uint64_t offset, size_t len, struct err *err)
{
    bool reads_on = r->piece.len > 0 && offset == r->piece_at + r->piece.len;
    struct http_answer answer = {0};
    struct s3_call call;
    size_t want;
    enum rc rc;

    r->ahead = !reads_on ? AHEAD_MIN : r->ahead < AHEAD_MAX ? r->ahead * AHEAD_GROWTH : AHEAD_MAX;
    want = len > r->ahead ? len : r->ahead;
    want = want > AHEAD_MAX ? AHEAD_MAX : want;
    if (want > r->bytes - offset)
        want = (size_t)(r->bytes - offset);
    GOTO_IF_ERR(get_range(r, offset, want, &answer, &call, err));
    if (answer.status == 412)
        rc = err_set(err, RC_IO, "s3://%s/%s: was replaced while it was read", r->name.bucket,
                     r->name.key);
    else if (!s3_succeeded(&answer))
        rc = s3_refused(r->client, &call, &answer, err);
    else
        rc = take_piece(r, offset, want, &answer, err);
out:
    http_answer_release(&answer);
    return rc;
}

enum rc s3_reader_read(struct s3_reader *r, uint64_t offset, void *out, size_t len, size_t *got,
                       struct err *err)
{
    *got = 0;
    if (offset >= r->bytes)
        return RC_OK;
    if (len > r->bytes - offset)
        len = (size_t)(r->bytes - offset);
    while (*got < len) {
        uint64_t at = offset + *got;
        size_t skip, n;

        if (r->piece.len == 0 || at < r->piece_at || at >= r->piece_at + r->piece.len)
            RETURN_IF_ERR(fetch(r, at, len - *got, err));
        skip = (size_t)(at - r->piece_at);
        n = r->piece.len - skip < len - *got ? r->piece.len - skip : len - *got;
        memcpy((uint8_t *)out + *got, r->piece.data + skip, n);
        *got += n;
    }
    return RC_OK;
}

void s3_reader_free(struct s3_reader *r)
{
    if (r == NULL)
        return;
    buf_release(&r->piece);
    mem_free(r->etag);
    mem_free(r);
}
