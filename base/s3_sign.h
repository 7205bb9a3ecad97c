/* s3_sign.h - signs requests to an S3 server: AWS Signature Version 4, in the Authorization header.
 *
 * Pure: the caller gives the time. The URL must be canonical already: path and query escaped once
 * by http_escape, the query's names in byte order. The body is always part of the signature, so
 * that a server refuses one that was damaged on the way. Thread: any.
 */
#ifndef VARVE_BASE_S3_SIGN_H
#define VARVE_BASE_S3_SIGN_H

#include "base/http_client.h"

struct s3_credentials {
    const char *access_key, *secret_key;
    const char *session_token; /* NULL: none */
};

#define S3_SHA256_HEX_LEN 64
void s3_sha256_hex(struct bytes data, char out[S3_SHA256_HEX_LEN + 1]);

struct s3_to_sign {
    const char *method;
    const char *url; /* "http://host:port/path?query" */
    size_t header_count;
    const struct http_header *headers; /* sent as well: all are signed; at most S3_HEADERS_MAX */
    const char *payload_sha256;        /* hex, of the body */
    int64_t wall_ms;
    const char *region;
};
#define S3_HEADERS_MAX 16
/* What is to be sent besides: x-amz-date, x-amz-content-sha256, with a session
 * x-amz-security-token, and authorization. */
struct s3_signature {
    char date[17];
    struct buf authorization; /* a string; holds no secret key */
};
void s3_sign(const struct s3_credentials *c, const struct s3_to_sign *request,
             struct s3_signature *out);
void s3_signature_release(struct s3_signature *s);

#endif
