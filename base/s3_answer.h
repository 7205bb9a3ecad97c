/* s3_answer.h - what an S3 server answers in XML, read with limits: lists, multipart uploads,
 * errors.
 *
 * Answers are bytes from outside: no document type (so no entities but the five of XML), at most
 * S3_ANSWER_DEPTH_MAX elements deep, S3_ANSWER_TEXT_MAX bytes in each; the caller limits the whole.
 * RC_CORRUPT: no XML, another root element, a number or time that is none. `what` names the request
 * in messages. Pure. Thread: any. After: the API reference of Amazon S3.
 */
#ifndef VARVE_BASE_S3_ANSWER_H
#define VARVE_BASE_S3_ANSWER_H

#include "base/bytes.h"

#define S3_ANSWER_DEPTH_MAX 8
#define S3_ANSWER_TEXT_MAX 8192
/* A list of 1,000 keys of 1,024 bytes, each of them escaped. */
#define S3_ANSWER_BYTES_MAX ((size_t)8 << 20)

/* An <Error>; empty strings for what it does not say. Printable ASCII only. */
struct s3_problem {
    char code[64];
    char message[512];
};
/* false: the body is something else. */
bool s3_answer_problem(struct bytes body, struct s3_problem *out);

/* One line of ListObjectsV2 with encoding-type=url: a key, or with a delimiter a prefix of many. */
struct s3_entry {
    const char *key; /* for the call */
    bool is_prefix;
    uint64_t size_bytes;   /* 0 of a prefix */
    int64_t mtime_wall_ms; /* 0 of a prefix */
};
typedef enum rc s3_entry_fn(void *ctx, const struct s3_entry *e, struct err *err);
/* *next: the token of the next page; empty: this was the last. */
MUST_USE enum rc s3_answer_list(struct bytes body, const char *what, s3_entry_fn *fn, void *ctx,
                                struct buf *next, struct err *err);

/* One line of ListMultipartUploads with encoding-type=url. */
struct s3_upload_line {
    const char *key, *id; /* for the call */
    int64_t begun_wall_ms;
};
typedef enum rc s3_upload_fn(void *ctx, const struct s3_upload_line *u, struct err *err);
/* Markers of the next page; next_key empty: this was the last. */
MUST_USE enum rc s3_answer_uploads(struct bytes body, const char *what, s3_upload_fn *fn, void *ctx,
                                   struct buf *next_key, struct buf *next_id, struct err *err);

/* One element that must be there, appended: "UploadId" of InitiateMultipartUploadResult, "ETag" of
 * CopyPartResult, CopyObjectResult and CompleteMultipartUploadResult. */
MUST_USE enum rc s3_answer_value(struct bytes body, const char *what, const char *root,
                                 const char *element, struct buf *out, struct err *err);

#endif
