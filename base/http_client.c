/* http_client.c - see http_client.h. */
#include "base/http_client.h"

#include "base/arena.h"
#include "base/rng.h"
#include "base/thread.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define IDLE_MAX 32
#define HEADERS_MAX_BYTES ((size_t)64 << 10)
#define REFUSAL_MAX_BYTES ((size_t)64 << 10) /* kept of an answer that is not 2xx */
#define REDIRECTS_MAX 5L

struct http_client {
    struct http_client_config config;
    char *user_agent, *ca_file;
    struct mutex mutex;
    struct rng rng GUARDED_BY(mutex);
    CURL *idle[IDLE_MAX] GUARDED_BY(mutex); /* each keeps its connection */
    size_t idle_count GUARDED_BY(mutex);
    pid_t pid GUARDED_BY(mutex); /* whose connections they are */
    _Atomic bool down; /* a request's tries were used up, and nothing worked since */
};

struct http_headers_out {
    struct curl_slist *list;
};

/* One try under way. */
struct exchange {
    struct http_client *client;
    const struct http_request *request;
    struct http_answer *answer;
    CURL *curl;
    bool too_long, stalled;
    curl_off_t moved;
    int64_t moved_mono_ns; /* when `moved` last grew */
    char reason[CURL_ERROR_SIZE];
};

/* ---- pure parts ------------------------------------------------------------------------------ */

bool http_status_may_pass(int status)
{
    return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

int64_t http_backoff_ms(int64_t first_ms, int64_t max_ms, uint32_t tries_made, uint64_t random)
{
    int64_t pause = first_ms;

    for (uint32_t i = 1; i < tries_made && pause < max_ms; i++)
        pause = pause > max_ms / 2 ? max_ms : pause * 2;
    if (pause > max_ms)
        pause = max_ms;
    return pause - (int64_t)(random % ((uint64_t)pause / 4 + 1));
}

static bool grants_something(const char *name, size_t len)
{
    static const char *const secret[] = {"delegation", "token", "signature", "x-amz-signature",
                                         "x-amz-credential", "x-amz-security-token"};

    for (size_t i = 0; i < ARRAY_LEN(secret); i++)
        if (strlen(secret[i]) == len && strncasecmp(secret[i], name, len) == 0)
            return true;
    return false;
}

void http_url_shown(const char *url, struct buf *out)
{
    size_t scheme = strcspn(url, ":/?#"), authority, user = 0;
    const char *query;

    if (strncmp(url + scheme, "://", 3) == 0) {
        buf_append(out, url, scheme + 3);
        url += scheme + 3;
        authority = strcspn(url, "/?#");
        for (size_t i = 0; i < authority; i++)
            if (url[i] == '@')
                user = i + 1;
        url += user;
    }
    query = strchr(url, '?');
    if (query == NULL) {
        buf_append_escaped(out, bytes_of_str(url), 1024);
        return;
    }
    buf_append_escaped(out, bytes_of(url, (size_t)(query - url)), 1024);
    do {
        const char *parameter = query + 1;
        size_t len = strcspn(parameter, "&"), name = strcspn(parameter, "=&");

        buf_append(out, query, 1);
        if (name < len && grants_something(parameter, name)) {
            buf_append(out, parameter, name);
            buf_append_str(out, "=***");
        } else {
            buf_append_escaped(out, bytes_of(parameter, len), 1024);
        }
        query = parameter + len;
    } while (*query != '\0');
}

void http_escape(struct buf *out, struct bytes text, const char *keep)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c != '\0' && (strchr("-._~", c) != NULL || strchr(keep, c) != NULL));

        if (plain)
            buf_append_u8(out, c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

enum rc http_date_parse(const char *text, int64_t *wall_ms, struct err *err)
{
    /* curl's parser takes more than the header may hold, none of which matters here. */
    time_t seconds = curl_getdate(text, NULL);

    if (seconds < 0)
        return err_set(err, RC_CORRUPT, "\"%.64s\" is no date", text);
    *wall_ms = (int64_t)seconds * 1000;
    return RC_OK;
}

/* ---- client ---------------------------------------------------------------------------------- */

struct http_client *http_client_new(const struct http_client_config *config)
{
    struct http_client *client = mem_calloc(1, sizeof *client);

    ASSERT(config->tries >= 1);
    ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    client->config = *config;
    client->pid = getpid();
    client->user_agent = mem_strdup(config->user_agent);
    client->ca_file = config->ca_file == NULL ? NULL : mem_strdup(config->ca_file);
    mutex_init(&client->mutex);
    rng_seed(&client->rng, config->seed);
    return client;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    for (size_t i = 0; i < client->idle_count; i++)
        curl_easy_cleanup(client->idle[i]);
    curl_global_cleanup();
    mutex_release(&client->mutex);
    mem_free(client->user_agent);
    mem_free(client->ca_file);
    mem_free(client);
}

/* *used: it has a connection. */
static CURL *take_handle(struct http_client *client, bool *used)
{
    CURL *curl = NULL;

    mutex_lock(&client->mutex);
    if (client->pid != getpid()) { /* a child of who made them: the parent goes on with them */
        client->pid = getpid();
        client->idle_count = 0;
    }
    if (client->idle_count > 0)
        curl = client->idle[--client->idle_count];
    *used = curl != NULL;
    mutex_unlock(&client->mutex);
    if (curl == NULL)
        curl = curl_easy_init();
    ASSERT(curl != NULL); /* out of memory */
    return curl;
}

static void give_handle_back(struct http_client *client, CURL *curl)
{
    bool kept = false;

    curl_easy_reset(curl); /* the connection stays */
    mutex_lock(&client->mutex);
    if (client->idle_count < IDLE_MAX) {
        client->idle[client->idle_count++] = curl;
        kept = true;
    }
    mutex_unlock(&client->mutex);
    if (!kept)
        curl_easy_cleanup(curl);
}

static uint64_t random_number(struct http_client *client)
{
    uint64_t number;

    mutex_lock(&client->mutex);
    number = rng_u64(&client->rng);
    mutex_unlock(&client->mutex);
    return number;
}

/* ---- answers --------------------------------------------------------------------------------- */

void http_answer_release(struct http_answer *answer)
{
    buf_release(&answer->body);
    buf_release(&answer->headers);
    *answer = (struct http_answer){0};
}

static void answer_clear(struct http_answer *answer)
{
    answer->status = 0;
    buf_clear(&answer->body);
    buf_clear(&answer->headers);
}

/* Headers lie as "name\0value\0". */
const char *http_answer_header(const struct http_answer *answer, const char *name)
{
    const char *at = (const char *)answer->headers.data;
    const char *end;

    if (answer->headers.len == 0)
        return NULL;
    end = at + answer->headers.len;
    while (at < end) {
        const char *value = at + strlen(at) + 1;

        if (strcasecmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

static size_t on_header(char *line, size_t one UNUSED, size_t len, void *ctx)
{
    struct exchange *x = ctx;
    struct buf *headers = &x->answer->headers;
    size_t name, from, to = len;

    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) { /* of a redirect or a 100 before: forgotten */
        answer_clear(x->answer);
        return len;
    }
    for (name = 0; name < len && line[name] != ':'; name++)
        ;
    if (name == 0 || name == len || memchr(line, '\0', len) != NULL)
        return len;
    if (headers->len + len + 2 > HEADERS_MAX_BYTES) {
        x->too_long = true;
        return 0;
    }
    for (from = name + 1; from < len && (line[from] == ' ' || line[from] == '\t'); from++)
        ;
    while (to > from && strchr(" \t\r\n", line[to - 1]) != NULL)
        to--;
    buf_append(headers, line, name);
    buf_append_u8(headers, '\0');
    buf_append(headers, line + from, to - from);
    buf_append_u8(headers, '\0');
    return len;
}

static size_t on_body(char *data, size_t one UNUSED, size_t len, void *ctx)
{
    struct exchange *x = ctx;
    struct buf *body = &x->answer->body;
    long status = 0;
    size_t room;

    curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) {
        if (len > x->request->answer_max_bytes - body->len) {
            x->too_long = true;
            return 0;
        }
        buf_append(body, data, len);
        return len;
    }
    room = body->len < REFUSAL_MAX_BYTES ? REFUSAL_MAX_BYTES - body->len : 0;
    buf_append(body, data, len < room ? len : room);
    return len;
}

/* Called often while bytes move, and about once a second while none do. */
static int on_progress(void *ctx, curl_off_t down_all UNUSED, curl_off_t down,
                       curl_off_t up_all UNUSED, curl_off_t up)
{
    struct exchange *x = ctx;
    int64_t now = clock_mono_ns(x->client->config.clock);

    if (down + up != x->moved) {
        x->moved = down + up;
        x->moved_mono_ns = now;
    }
    x->stalled = now - x->moved_mono_ns > x->client->config.stall_timeout_ms * NS_PER_MS;
    return x->stalled;
}

/* ---- one try --------------------------------------------------------------------------------- */

enum rc http_headers_out_add(struct http_headers_out *out, const char *name, const char *value,
                             struct err *err)
{
    struct buf line = {0};

    if (name[strcspn(name, "\r\n:")] != '\0' || value[strcspn(value, "\r\n")] != '\0')
        return err_set(err, RC_INVALID, "header %.32s: holds a line end", name);
    /* curl takes "name:" for "not this one", "name;" for an empty one */
    buf_printf(&line, value[0] == '\0' ? "%s;%s" : "%s: %s", name, value);
    out->list = curl_slist_append(out->list, buf_cstr(&line));
    ASSERT(out->list != NULL);
    buf_release(&line);
    return RC_OK;
}

static void leave_header_out(struct http_headers_out *out, const char *line)
{
    out->list = curl_slist_append(out->list, line);
    ASSERT(out->list != NULL);
}

static enum rc make_headers(const struct http_request *request, struct http_headers_out *out,
                            struct err *err)
{
    bool type = false;

    leave_header_out(out, "Expect:");
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];

        type = type || strcasecmp(header->name, "Content-Type") == 0;
        RETURN_IF_ERR(http_headers_out_add(out, header->name, header->value, err));
    }
    if (!type)
        leave_header_out(out, "Content-Type:");
    return request->sign == NULL ? RC_OK : request->sign(request->sign_ctx, request, out, err);
}

static void set_method(CURL *curl, const struct http_request *request)
{
    bool sends = request->has_body || strcmp(request->method, "PUT") == 0 ||
                 strcmp(request->method, "POST") == 0;

    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (sends) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                         request->body.len == 0 ? "" : (const char *)request->body.data);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_options(struct exchange *x, const struct http_headers_out *headers)
{
    const struct http_client_config *config = &x->client->config;
    CURL *curl = x->curl;

    set_method(curl, x->request);
    curl_easy_setopt(curl, CURLOPT_URL, x->request->url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers->list);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, x->client->user_agent);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)config->connect_timeout_ms);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, x->request->retry ? 0L : 1L);
    if (x->request->follow_redirects) {
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    }
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, x);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, x->reason);
    if (x->client->ca_file != NULL)
        curl_easy_setopt(curl, CURLOPT_CAINFO, x->client->ca_file);
}

/* Nothing was sent: to try again can do no harm. */
static bool was_not_sent(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY;
}

/* Another try would end the same way. */
static bool is_final(CURLcode code)
{
    return code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
           code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_TOO_MANY_REDIRECTS;
}

static enum rc explain(const struct exchange *x, CURLcode code, struct err *err)
{
    const char *reason;

    if (x->too_long)
        return err_set(err, RC_LIMIT, "the answer is longer than %zu bytes (or its headers than %zu)",
                       x->request->answer_max_bytes, HEADERS_MAX_BYTES);
    if (x->stalled)
        return err_set(err, RC_TIMEOUT, "not a byte for %lld ms",
                       (long long)x->client->config.stall_timeout_ms);
    reason = x->reason[0] != '\0' ? x->reason : curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return err_set(err, RC_IO, "%s; trusted are the certificates in %s", reason,
                       x->client->ca_file != NULL ? x->client->ca_file : "the system's store");
    return err_set(err, code == CURLE_OPERATION_TIMEDOUT ? RC_TIMEOUT : RC_IO, "%s", reason);
}

/* When a connection that was kept ends without a word, curl sends the request once more on a new one by itself. (Not
 * on a new one, so what must not be repeated always gets one.) */
static bool was_repeated(CURL *curl, bool used)
{
    long connects = 0;

    curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &connects);
    return used && connects > 0;
}

/* *again: this end may be another one at the next try. */
static enum rc try_once(struct http_client *client, const struct http_request *request,
                        struct http_answer *answer, bool *again, struct err *err)
{
    struct http_headers_out headers = {0};
    struct exchange x = {.client = client, .request = request, .answer = answer};
    long status = 0;
    CURLcode code;
    bool used;
    enum rc rc;

    *again = false;
    answer_clear(answer);
    GOTO_IF_ERR(make_headers(request, &headers, err));
    x.curl = take_handle(client, &used);
    x.moved_mono_ns = clock_mono_ns(client->config.clock);
    set_options(&x, &headers);
    code = curl_easy_perform(x.curl);
    answer->tries += request->retry && was_repeated(x.curl, used) ? 2 : 1;
    if (code == CURLE_OK) {
        curl_easy_getinfo(x.curl, CURLINFO_RESPONSE_CODE, &status);
        answer->status = (int)status;
        *again = request->retry && http_status_may_pass(answer->status);
        if (!http_status_may_pass(answer->status))
            atomic_store(&client->down, false);
    } else {
        *again = !x.too_long && !is_final(code) && (request->retry || was_not_sent(code));
        rc = explain(&x, code, err);
    }
    give_handle_back(client, x.curl);
out:
    curl_slist_free_all(headers.list);
    return rc;
}

/* ---- with retries ---------------------------------------------------------------------------- */

/* Seconds that the server asks to wait, as ms; 0: none said. A date is not taken. */
static int64_t retry_after_ms(const struct http_answer *answer)
{
    const char *value = http_answer_header(answer, "retry-after");
    char *end;
    long seconds;

    if (value == NULL)
        return 0;
    errno = 0;
    seconds = strtol(value, &end, 10);
    if (errno != 0 || *end != '\0' || end == value || seconds < 0 || seconds > 3600)
        return 0;
    return (int64_t)seconds * 1000;
}

/* false: no further try. Waits at least as long as the server asked for. */
static bool pause_before_next(struct http_client *client, int64_t start_mono_ns,
                              uint32_t tries_made, int64_t asked_ms)
{
    const struct http_client_config *config = &client->config;
    int64_t pause = http_backoff_ms(config->backoff_first_ms, config->backoff_max_ms, tries_made,
                                    random_number(client));
    int64_t spent = (clock_mono_ns(config->clock) - start_mono_ns) / NS_PER_MS;

    if (asked_ms > config->backoff_max_ms)
        asked_ms = config->backoff_max_ms;
    if (asked_ms > pause)
        pause = asked_ms;
    if (tries_made >= config->tries ||
        (config->total_timeout_ms > 0 && spent + pause > config->total_timeout_ms))
        atomic_store(&client->down, true);
    if (atomic_load(&client->down))
        return false;
    clock_sleep_ns(config->clock, pause * NS_PER_MS);
    return true;
}

bool http_client_pause(struct http_client *client, int64_t start_mono_ns, uint32_t tries_made)
{
    return pause_before_next(client, start_mono_ns, tries_made, 0);
}

enum rc http_send(struct http_client *client, const struct http_request *request,
                  struct http_answer *out, struct err *err)
{
    int64_t start = clock_mono_ns(client->config.clock);
    struct err local;
    struct buf shown = {0};
    uint32_t made;
    bool again;
    enum rc rc;

    out->tries = 0;
    for (made = 1;; made++) {
        local = (struct err){0};
        rc = try_once(client, request, out, &again, &local);
        if (!again || request->once ||
            !pause_before_next(client, start, made, retry_after_ms(out)))
            break;
    }
    if (rc == RC_OK)
        return RC_OK;
    http_url_shown(request->url, &shown);
    if (request->once)
        rc = err_set(err, rc, "%s %s: %s", request->method, buf_cstr(&shown), local.msg);
    else
        rc = err_set(err, rc, "%s %s: %s (%u %s)", request->method, buf_cstr(&shown), local.msg,
                     (unsigned)made, made == 1 ? "try" : "tries");
    buf_release(&shown);
    return rc;
}
