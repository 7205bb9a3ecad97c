/* s3_sign.c - see s3_sign.h. The steps and their names are those of Amazon's description: canonical
 * request, string to sign, signing key. */
#include "base/s3_sign.h"

#include "base/s3_date.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#define SHA256_LEN 32
#define SIGNED_MAX (S3_HEADERS_MAX + 4)

static void put_hex(struct buf *out, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        buf_printf(out, "%02x", data[i]);
}

static void sha256(struct bytes data, uint8_t out[SHA256_LEN])
{
    int done = EVP_Digest(data.data == NULL ? (const void *)"" : data.data, data.len, out, NULL,
                          EVP_sha256(), NULL);

    ASSERT(done == 1); /* fails only without memory */
}

static void hmac(struct bytes key, struct bytes data, uint8_t out[SHA256_LEN])
{
    const uint8_t *done =
        HMAC(EVP_sha256(), key.data, (int)key.len, data.data, data.len, out, NULL);

    ASSERT(done != NULL);
}

void s3_sha256_hex(struct bytes data, char out[S3_SHA256_HEX_LEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_LEN];

    sha256(data, digest);
    for (size_t i = 0; i < SHA256_LEN; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[S3_SHA256_HEX_LEN] = '\0';
}

/* ---- canonical request ---------------------------------------------------------------------- */

struct url_parts {
    struct bytes host, path, query;
};

/* As the header Host has it. */
static struct bytes without_default_port(const char *url, struct bytes host)
{
    const char *port = strncmp(url, "https:", 6) == 0 ? ":443" : ":80";

    if (bytes_end_with(host, bytes_of_str(port)))
        host.len -= strlen(port);
    return host;
}

static struct url_parts split_url(const char *url)
{
    const char *host = strstr(url, "://");
    struct url_parts p;
    size_t len;

    ASSERT(host != NULL);
    host += 3;
    len = strcspn(host, "/?");
    p.host = without_default_port(url, bytes_of(host, len));
    host += len;
    len = strcspn(host, "?");
    p.path = len == 0 ? bytes_of_str("/") : bytes_of(host, len);
    host += len;
    p.query = bytes_of_str(*host == '?' ? host + 1 : "");
    return p;
}

/* A name without a value gets its "=". */
static void put_query(struct buf *out, struct bytes query)
{
    size_t at = 0;

    while (at < query.len) {
        const uint8_t *start = query.data + at;
        const uint8_t *end = memchr(start, '&', query.len - at);
        size_t len = end == NULL ? query.len - at : (size_t)(end - start);

        if (at > 0)
            buf_append_u8(out, '&');
        buf_append(out, start, len);
        if (memchr(start, '=', len) == NULL)
            buf_append_u8(out, '=');
        at += len + 1;
    }
}

struct signed_header {
    const char *name;
    struct bytes value;
};

static int by_name(const void *a, const void *b)
{
    return strcasecmp(((const struct signed_header *)a)->name,
                      ((const struct signed_header *)b)->name);
}

static void put_lower(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_append_u8(out, (uint8_t)tolower((unsigned char)*text));
}

/* Without spaces at both ends, a run of them inside as one. */
static void put_trimmed(struct buf *out, struct bytes value)
{
    bool space = false, begun = false;

    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] == ' ' || value.data[i] == '\t') {
            space = true;
            continue;
        }
        if (space && begun)
            buf_append_u8(out, ' ');
        buf_append_u8(out, value.data[i]);
        space = false;
        begun = true;
    }
}

static size_t collect_headers(const struct s3_credentials *c, const struct s3_to_sign *r,
                              struct bytes host, const char *date,
                              struct signed_header out[SIGNED_MAX])
{
    size_t count = 0;

    ASSERT(r->header_count <= S3_HEADERS_MAX);
    for (size_t i = 0; i < r->header_count; i++)
        out[count++] =
            (struct signed_header){r->headers[i].name, bytes_of_str(r->headers[i].value)};
    out[count++] = (struct signed_header){"host", host};
    out[count++] = (struct signed_header){"x-amz-content-sha256", bytes_of_str(r->payload_sha256)};
    out[count++] = (struct signed_header){"x-amz-date", bytes_of_str(date)};
    if (c->session_token != NULL)
        out[count++] =
            (struct signed_header){"x-amz-security-token", bytes_of_str(c->session_token)};
    qsort(out, count, sizeof *out, by_name);
    return count;
}

/* The request's digest, and "host;range;..": what is signed. */
static void canonical_request(const struct s3_credentials *c, const struct s3_to_sign *r,
                              const char *date, struct buf *names, uint8_t digest[SHA256_LEN])
{
    struct signed_header headers[SIGNED_MAX];
    struct url_parts url = split_url(r->url);
    struct buf text = {0};
    size_t count = collect_headers(c, r, url.host, date, headers);

    buf_printf(&text, "%s\n", r->method);
    buf_append(&text, url.path.data, url.path.len);
    buf_append_u8(&text, '\n');
    put_query(&text, url.query);
    buf_append_u8(&text, '\n');
    for (size_t i = 0; i < count; i++) {
        put_lower(&text, headers[i].name);
        buf_append_u8(&text, ':');
        put_trimmed(&text, headers[i].value);
        buf_append_u8(&text, '\n');
        if (i > 0)
            buf_append_u8(names, ';');
        put_lower(names, headers[i].name);
    }
    buf_append_u8(&text, '\n');
    buf_append(&text, names->data, names->len);
    buf_printf(&text, "\n%s", r->payload_sha256);
    sha256(buf_bytes(&text), digest);
    buf_release(&text);
}

/* ---- signature ------------------------------------------------------------------------------ */

static void signing_key(const char *secret, struct bytes day, const char *region,
                        uint8_t key[SHA256_LEN])
{
    struct buf first = {0};

    buf_printf(&first, "AWS4%s", secret);
    hmac(buf_bytes(&first), day, key);
    OPENSSL_cleanse(first.data, first.len);
    buf_release(&first);
    hmac(bytes_of(key, SHA256_LEN), bytes_of_str(region), key);
    hmac(bytes_of(key, SHA256_LEN), bytes_of_str("s3"), key);
    hmac(bytes_of(key, SHA256_LEN), bytes_of_str("aws4_request"), key);
}

void s3_sign(const struct s3_credentials *c, const struct s3_to_sign *request,
             struct s3_signature *out)
{
    uint8_t digest[SHA256_LEN], key[SHA256_LEN], signature[SHA256_LEN];
    struct buf names = {0}, scope = {0}, text = {0};

    *out = (struct s3_signature){0};
    s3_date_basic(request->wall_ms, out->date);
    buf_printf(&scope, "%.8s/%s/s3/aws4_request", out->date, request->region);
    canonical_request(c, request, out->date, &names, digest);
    buf_printf(&text, "AWS4-HMAC-SHA256\n%s\n%s\n", out->date, buf_cstr(&scope));
    put_hex(&text, digest, sizeof digest);
    signing_key(c->secret_key, bytes_of(out->date, 8), request->region, key);
    hmac(bytes_of(key, sizeof key), buf_bytes(&text), signature);
    buf_printf(&out->authorization,
               "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=", c->access_key,
               buf_cstr(&scope), buf_cstr(&names));
    put_hex(&out->authorization, signature, sizeof signature);
    (void)buf_cstr(&out->authorization);
    OPENSSL_cleanse(key, sizeof key);
    buf_release(&names);
    buf_release(&scope);
    buf_release(&text);
}

void s3_signature_release(struct s3_signature *s)
{
    buf_release(&s->authorization);
}
