/* s3_client.h - one S3 server: which, with whose keys, and requests to it.
 *
 * Every request is signed at each try, and may be tried again: what is not idempotent by itself is
 * made so by its caller (a condition, and a mark by which a writer knows its own object). An answer
 * of 200 that holds an error is an error. Thread: any.
 */
#ifndef VARVE_BASE_S3_CLIENT_H
#define VARVE_BASE_S3_CLIENT_H

#include "base/env.h"
#include "base/http_client.h"
#include "base/s3_sign.h"

struct s3_config {
    const char *endpoint; /* "http://127.0.0.1:9000"; NULL or "": Amazon's of that region */
    const char *region;
    struct s3_credentials credentials;
    bool path_style;          /* http://host/bucket/key, not http://bucket.host/key */
    size_t part_bytes;        /* of a multipart upload, and what an open file buffers */
    uint64_t copy_part_bytes; /* what one copy on the server may move; larger objects go in parts */
};
#define S3_PART_BYTES_DEFAULT ((size_t)8 << 20)
#define S3_COPY_PART_BYTES_DEFAULT ((uint64_t)5 << 30) /* what Amazon allows */
#define S3_PARTS_MAX 10000                             /* as well */

struct s3_client; /* opaque */
/* Copies what config holds; env is borrowed, for its life. RC_INVALID: an endpoint that is none, a
 * key missing. */
MUST_USE enum rc s3_client_new(const struct s3_config *config,
                               const struct http_client_config *http, const struct env *env,
                               struct s3_client **out, struct err *err);
void s3_client_free(struct s3_client *c);
const struct s3_config *s3_client_config(const struct s3_client *c);
const struct env *s3_client_env(const struct s3_client *c);
/* After `tries` of what http_client does not try again by itself: waits, or false: that was the
 * last. */
bool s3_client_try_again(struct s3_client *c, uint32_t tries);

/* "s3://bucket/a/b": bucket, and the key without slashes at its ends; key "": the bucket itself. */
#define S3_BUCKET_MAX 64
struct s3_name {
    char bucket[S3_BUCKET_MAX];
    char key[FS_PATH_MAX];
};
MUST_USE enum rc s3_name_of(const char *path, struct s3_name *out, struct err *err);

struct s3_call {
    const char *method;
    const struct s3_name *name;
    const char *key_suffix; /* NULL, or "/" for a directory's mark */
    const char *query;      /* NULL, or built by s3_query_add in byte order of the names */
    size_t header_count;
    const struct http_header *headers;
    struct bytes body;
    bool error_in_200;       /* the answer of 200 begins before the work is done: look into it */
    size_t answer_max_bytes; /* 0: S3_ANSWER_BYTES_MAX */
};
/* Where the call goes: a bucket with a dot stands in the path on https, where no certificate would
 * fit it. */
void s3_url(const struct s3_client *c, const struct s3_call *call, struct buf *out);
void s3_query_add(struct buf *query, const char *name, const char *value);
/* RC_OK: an answer came, whatever its status: s3_refused makes an error of it. Released by the
 * caller whatever the code. */
MUST_USE enum rc s3_send(struct s3_client *c, const struct s3_call *call, struct http_answer *out,
                         struct err *err);
static inline bool s3_succeeded(const struct http_answer *a)
{
    return a->status / 100 == 2;
}
/* The error that an answer is: RC_NOT_FOUND for 404, RC_EXISTS for 412, RC_UNSUPPORTED for 501,
 * RC_IO for all else (403 with EACCES). Names request, status, the server's code and message,
 * tries. */
enum rc s3_refused(struct s3_client *c, const struct s3_call *call,
                   const struct http_answer *answer, struct err *err);
/* s3_send, and s3_refused unless it succeeded. */
MUST_USE enum rc s3_do(struct s3_client *c, const struct s3_call *call, struct http_answer *out,
                       struct err *err);

/* Content-Length of an answer to HEAD; RC_CORRUPT: it has none. */
MUST_USE enum rc s3_length(const struct s3_name *name, const struct http_answer *answer,
                           uint64_t *bytes, struct err *err);

/* Whether the server keeps the condition "only if there is none yet" (If-None-Match: *), as far as
 * is known, at a PUT (also of a lease) and at the end of a multipart upload: some keep it at one of
 * them alone. */
enum s3_condition { S3_CONDITION_UNKNOWN, S3_CONDITION_KEPT, S3_CONDITION_IGNORED };
enum s3_condition_at { S3_AT_PUT, S3_AT_COMPLETE, S3_CONDITION_PLACES };
enum s3_condition s3_client_condition(struct s3_client *c, enum s3_condition_at at);
void s3_client_learn_condition(struct s3_client *c, enum s3_condition_at at,
                               enum s3_condition condition); /* says IGNORED once */
#define S3_WRITER_LEN 32
/* A mark that no other writer has. */
void s3_client_writer(struct s3_client *c, char out[S3_WRITER_LEN + 1]);
#define S3_WRITER_HEADER "x-amz-meta-varve-writer"

#endif
