/* s3_client.c - see s3_client.h */
#include "base/s3_client.h"

#include "base/arena.h"
#include "base/s3_answer.h"
#include "base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SCHEME "s3://"
#define URL_TEXT_MAX 300

struct s3_client {
    struct s3_config config; /* its strings are ours */
    struct http_client_config http_config;
    struct http_client *http;
    struct env env;
    bool https;
    char *host; /* of the endpoint, with its port */
    atomic_int conditions[S3_CONDITION_PLACES];
    struct mutex mutex;
    struct rng rng GUARDED_BY(mutex);
};

static char *copied(const char *s)
{
    return s == NULL ? NULL : mem_strdup(s);
}

/* ---- client --------------------------------------------------------------------------------- */

/* Scheme and host of the endpoint; a path in it is refused rather than ignored. */
static enum rc take_endpoint(struct s3_client *c, struct err *err)
{
    const char *endpoint = c->config.endpoint, *host;
    struct buf own = {0};
    size_t len;

    if (endpoint == NULL || endpoint[0] == '\0') {
        buf_printf(&own, "s3.%s.amazonaws.com", c->config.region);
        c->host = mem_strdup(buf_cstr(&own));
        buf_release(&own);
        c->https = true;
        return RC_OK;
    }
    c->https = strncmp(endpoint, "http://", 7) != 0;
    host = strstr(endpoint, "://");
    if (host != NULL && strncmp(endpoint, "http://", 7) != 0 &&
        strncmp(endpoint, "https://", 8) != 0)
        return err_set(err, RC_INVALID, "s3.endpoint: %.100s: neither http:// nor https://",
                       endpoint);
    host = host == NULL ? endpoint : host + 3;
    len = strcspn(host, "/?#");
    if (len == 0 || (host[len] != '\0' && strcmp(host + len, "/") != 0) ||
        memchr(host, '@', len) != NULL)
        return err_set(err, RC_INVALID, "s3.endpoint: wants http://host:port or https://host:port");
    c->host = mem_strdup(host);
    c->host[len] = '\0';
    return RC_OK;
}

/* A bucket cannot be put before a number. */
static bool is_address(const char *host)
{
    return host[0] == '[' || strspn(host, "0123456789.:") == strlen(host) ||
           strncmp(host, "localhost", 9) == 0;
}

enum rc s3_client_new(const struct s3_config *config, const struct http_client_config *http,
                      const struct env *env, struct s3_client **out, struct err *err)
{
    const struct s3_credentials *keys = &config->credentials;
    struct s3_client *c;
    enum rc rc;

    *out = NULL;
    ASSERT(config->part_bytes > 0 && config->copy_part_bytes > 0);
    if (keys->access_key == NULL || keys->access_key[0] == '\0' || keys->secret_key == NULL ||
        keys->secret_key[0] == '\0')
        return err_set(err, RC_INVALID,
                       "no keys for s3://: set s3.access-key and s3.secret-key, or "
                       "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment");
    c = mem_calloc(1, sizeof *c);
    c->config = *config;
    c->config.endpoint = copied(config->endpoint);
    c->config.region = mem_strdup(config->region);
    c->config.credentials = (struct s3_credentials){
        mem_strdup(keys->access_key), mem_strdup(keys->secret_key), copied(keys->session_token)};
    c->http_config = *http;
    c->http_config.user_agent = c->http_config.ca_file = NULL; /* the client's own now */
    c->http = http_client_new(http);
    c->env = *env;
    mutex_init(&c->mutex);
    env_rng(env, "s3-writer", &c->rng);
    rc = take_endpoint(c, err);
    if (rc != RC_OK) {
        s3_client_free(c);
        return rc;
    }
    c->config.path_style = config->path_style || is_address(c->host);
    *out = c;
    return RC_OK;
}

void s3_client_free(struct s3_client *c)
{
    if (c == NULL)
        return;
    mem_free((char *)(uintptr_t)c->config.endpoint);
    mem_free((char *)(uintptr_t)c->config.region);
    mem_free((char *)(uintptr_t)c->config.credentials.access_key);
    mem_free((char *)(uintptr_t)c->config.credentials.secret_key);
    mem_free((char *)(uintptr_t)c->config.credentials.session_token);
    mem_free(c->host);
    http_client_free(c->http);
    mutex_release(&c->mutex);
    mem_free(c);
}

const struct s3_config *s3_client_config(const struct s3_client *c)
{
    return &c->config;
}

const struct env *s3_client_env(const struct s3_client *c)
{
    return &c->env;
}

bool s3_client_try_again(struct s3_client *c, uint32_t tries)
{
    const struct http_client_config *http = &c->http_config;
    uint64_t random;

    if (tries >= http->tries)
        return false;
    mutex_lock(&c->mutex);
    random = rng_u64(&c->rng);
    mutex_unlock(&c->mutex);
    clock_sleep_ns(c->env.clock,
                   http_backoff_ms(http->backoff_first_ms, http->backoff_max_ms, tries, random) *
                       NS_PER_MS);
    return true;
}

enum s3_condition s3_client_condition(struct s3_client *c, enum s3_condition_at at)
{
    return (enum s3_condition)atomic_load(&c->conditions[at]);
}

void s3_client_learn_condition(struct s3_client *c, enum s3_condition_at at,
                               enum s3_condition condition)
{
    if (atomic_exchange(&c->conditions[at], (int)condition) != (int)condition &&
        condition == S3_CONDITION_IGNORED)
        log_line(c->env.log, LOG_WARN,
                 "the S3 server does not keep the condition If-None-Match at %s: names are looked for "
                 "before they are taken, which does not stop two writers at one time host=%s",
                 at == S3_AT_PUT ? "a PUT" : "the end of a multipart upload", c->host);
}

void s3_client_writer(struct s3_client *c, char out[S3_WRITER_LEN + 1])
{
    mutex_lock(&c->mutex);
    rng_hex(&c->rng, out, S3_WRITER_LEN);
    mutex_unlock(&c->mutex);
}

/* ---- names ---------------------------------------------------------------------------------- */

enum rc s3_name_of(const char *path, struct s3_name *out, struct err *err)
{
    const char *bucket = path + strlen(SCHEME), *key;
    size_t len;

    ASSERT(strncmp(path, SCHEME, strlen(SCHEME)) == 0);
    len = strcspn(bucket, "/");
    if (len < 3 || len >= S3_BUCKET_MAX ||
        strspn(bucket, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") < len)
        return err_set(err, RC_INVALID, "%.200s: \"%.*s\" is no name of a bucket", path, (int)len,
                       bucket);
    memcpy(out->bucket, bucket, len);
    out->bucket[len] = '\0';
    key = bucket + len + strspn(bucket + len, "/");
    len = strlen(key);
    while (len > 0 && key[len - 1] == '/')
        len--;
    if (len > 1023) /* and a slash */
        return err_set(err, RC_LIMIT, "%.200s...: the key has %zu bytes, S3 takes 1023", path, len);
    memcpy(out->key, key, len);
    out->key[len] = '\0';
    return RC_OK;
}

void s3_query_add(struct buf *query, const char *name, const char *value)
{
    if (query->len > 0)
        buf_append_u8(query, '&');
    buf_printf(query, "%s=", name);
    http_escape(query, bytes_of_str(value), "");
}

void s3_url(const struct s3_client *c, const struct s3_call *call, struct buf *out)
{
    const struct s3_name *name = call->name;
    bool in_path = c->config.path_style || (c->https && strchr(name->bucket, '.') != NULL);
    const char *scheme = c->https ? "https" : "http";

    if (in_path)
        buf_printf(out, "%s://%s/%s", scheme, c->host, name->bucket);
    else
        buf_printf(out, "%s://%s.%s", scheme, name->bucket, c->host);
    if (name->key[0] != '\0' || !in_path)
        buf_append_u8(out, '/');
    http_escape(out, bytes_of_str(name->key), "/");
    if (call->key_suffix != NULL)
        buf_append_str(out, call->key_suffix);
    if (call->query != NULL)
        buf_printf(out, "?%s", call->query);
    (void)buf_cstr(out);
}

/* ---- requests ------------------------------------------------------------------------------- */

struct signing {
    const struct s3_client *client;
    char payload[S3_SHA256_HEX_LEN + 1];
};

static enum rc sign_try(void *ctx, const struct http_request *request, struct http_headers_out *out,
                        struct err *err)
{
    const struct signing *s = ctx;
    const struct s3_credentials *keys = &s->client->config.credentials;
    struct s3_to_sign what = {
        .method = request->method,
        .url = request->url,
        .header_count = request->header_count,
        .headers = request->headers,
        .payload_sha256 = s->payload,
        .wall_ms = clock_wall_ms(s->client->env.clock),
        .region = s->client->config.region,
    };
    struct s3_signature signature;
    enum rc rc;

    s3_sign(keys, &what, &signature);
    GOTO_IF_ERR(http_headers_out_add(out, "x-amz-date", signature.date, err));
    GOTO_IF_ERR(http_headers_out_add(out, "x-amz-content-sha256", s->payload, err));
    if (keys->session_token != NULL)
        GOTO_IF_ERR(http_headers_out_add(out, "x-amz-security-token", keys->session_token, err));
    GOTO_IF_ERR(http_headers_out_add(out, "authorization",
                                     (const char *)signature.authorization.data, err));
out:
    s3_signature_release(&signature);
    return rc;
}

/* Of what http_client takes for final, some may pass all the same: an error in an answer of 200,
 * and a request that the server did not get in time. */
static bool may_pass(const struct s3_call *call, const struct http_answer *answer)
{
    struct s3_problem problem;

    if (answer->status != 400 && !(answer->status == 200 && call->error_in_200))
        return false;
    return s3_answer_problem(buf_bytes(&answer->body), &problem) &&
           (answer->status == 200 || strcmp(problem.code, "RequestTimeout") == 0);
}

enum rc s3_send(struct s3_client *c, const struct s3_call *call, struct http_answer *out,
                struct err *err)
{
    struct signing signing = {.client = c};
    struct buf url = {0};
    struct http_request request = {
        .method = call->method,
        .headers = call->headers,
        .header_count = call->header_count,
        .body = call->body,
        .has_body = call->body.len > 0,
        .retry = true,
        .answer_max_bytes =
            call->answer_max_bytes == 0 ? S3_ANSWER_BYTES_MAX : call->answer_max_bytes,
        .sign = sign_try,
        .sign_ctx = &signing,
    };
    enum rc rc;

    s3_url(c, call, &url);
    request.url = (const char *)url.data;
    s3_sha256_hex(call->body, signing.payload);
    for (uint32_t tries = 1;; tries++) {
        rc = http_send(c->http, &request, out, err);
        if (rc != RC_OK || !may_pass(call, out))
            break;
        if (out->status == 200)
            out->status = 500; /* what it would have been, had it been known in time */
        if (!s3_client_try_again(c, tries))
            break;
    }
    buf_release(&url);
    return rc;
}

static enum rc code_of(int status)
{
    if (status == 404)
        return RC_NOT_FOUND;
    if (status == 412)
        return RC_EXISTS;
    return status == 501 ? RC_UNSUPPORTED : RC_IO;
}

enum rc s3_refused(struct s3_client *c, const struct s3_call *call,
                   const struct http_answer *answer, struct err *err)
{
    const char *region = http_answer_header(answer, "x-amz-bucket-region");
    struct buf url = {0}, shown = {0}, why = {0};
    struct s3_problem problem;
    enum rc rc = code_of(answer->status);
    bool first = err != NULL && err->rc == RC_OK;

    s3_url(c, call, &url);
    http_url_shown((const char *)url.data, &shown);
    if (s3_answer_problem(buf_bytes(&answer->body), &problem))
        buf_printf(&why, " %s: %s", problem.code, problem.message);
    if (region != NULL &&
        (answer->status == 301 || answer->status == 400 || answer->status == 307) &&
        strcmp(region, c->config.region) != 0)
        buf_printf(&why, "; the bucket lies in region %.64s: set s3.endpoint.region", region);
    err_set(err, rc, "%s %.*s: HTTP status %d%s (%u %s)", call->method, URL_TEXT_MAX,
            buf_cstr(&shown), answer->status, buf_cstr(&why), (unsigned)answer->tries,
            answer->tries == 1 ? "try" : "tries");
    if (first)
        err->os_errno = answer->status == 403 ? EACCES : answer->status == 404 ? ENOENT : 0;
    buf_release(&url);
    buf_release(&shown);
    buf_release(&why);
    return rc;
}

enum rc s3_do(struct s3_client *c, const struct s3_call *call, struct http_answer *out,
              struct err *err)
{
    RETURN_IF_ERR(s3_send(c, call, out, err));
    return s3_succeeded(out) ? RC_OK : s3_refused(c, call, out, err);
}

enum rc s3_length(const struct s3_name *name, const struct http_answer *answer, uint64_t *bytes,
                  struct err *err)
{
    const char *text = http_answer_header(answer, "content-length");
    char *end;

    errno = 0;
    if (text != NULL && text[0] >= '0' && text[0] <= '9') {
        *bytes = strtoull(text, &end, 10);
        if (errno == 0 && *end == '\0' && *bytes <= INT64_MAX)
            return RC_OK;
    }
    return err_set(err, RC_CORRUPT, "s3://%s/%s: the answer does not say how long it is",
                   name->bucket, name->key);
}
