/* client.c - see client.h */
#include "job/cli/client.h"

#include "base/arena.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

struct client {
    const struct env *env;
    CURL *curl;
    char target[300];
};

enum rc client_open(const struct env *env, const char *target, struct client **out, struct err *err)
{
    const char *rest = strncmp(target, "http://", 7) == 0 ? target + 7 : target;
    size_t len = strcspn(rest, "/");
    const char *colon = memchr(rest, ':', len);
    size_t port_len = colon != NULL ? (size_t)(rest + len - colon - 1) : 0;
    struct client *c;

    *out = NULL;
    if (len == 0 || len > 255 || (rest[len] == '/' && rest[len + 1] != '\0') || colon == rest ||
        (colon != NULL &&
         (port_len == 0 || port_len > 5 || strspn(colon + 1, "0123456789") < port_len)))
        return err_set(err, RC_INVALID, "\"%s\" is no address: give HOST:PORT", target);
    c = mem_calloc(1, sizeof *c);
    c->env = env;
    snprintf(c->target, sizeof c->target, "%.*s%s", (int)len, rest, colon == NULL ? ":8081" : "");
    c->curl = curl_easy_init();
    if (c->curl == NULL) {
        mem_free(c);
        return err_set(err, RC_IO, "the HTTP client could not be started");
    }
    *out = c;
    return RC_OK;
}

void client_close(struct client *c)
{
    if (c == NULL)
        return;
    curl_easy_cleanup(c->curl);
    mem_free(c);
}

const char *client_target(const struct client *c)
{
    return c->target;
}

static size_t on_data(char *data, size_t size, size_t count, void *ctx)
{
    struct buf *out = ctx;

    if (out->len + size * count > CLIENT_ANSWER_MAX)
        return 0;
    buf_append(out, data, size * count);
    return size * count;
}

/* The first line of each error that the server lists. */
static enum rc server_error(const struct client *c, long status, struct bytes text, struct err *err)
{
    enum rc rc = status == 404                   ? RC_NOT_FOUND
                 : status == 409                 ? RC_STATE
                 : status >= 400 && status < 500 ? RC_INVALID
                                                 : RC_CORRUPT;
    struct buf message = {0};
    struct err ignored = {0};
    json_t *answer = NULL, *errors, *one;
    size_t i;

    if (json_parse(text, CLIENT_ANSWER_MAX, &answer, &ignored) == RC_OK) {
        errors = json_object_get(answer, "errors");
        json_array_foreach(errors, i, one)
        {
            const char *s = json_string_value(one);

            if (s != NULL && s[0] != '\0' &&
                (i == 0 || json_array_size(errors) == 1 ||
                 strcmp(s, "Internal server error.") != 0))
                buf_printf(&message, "%s%s", message.len > 0 ? " " : "", s);
        }
        json_decref(answer);
    }
    if (message.len == 0)
        buf_printf(&message, "%s answers with status %ld", c->target, status);
    err_set(err, rc, "%s", buf_cstr(&message));
    buf_release(&message);
    return rc;
}

static enum rc perform(struct client *c, struct buf *text, long *status, struct err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    CURLcode code;

    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, reason);
    code = curl_easy_perform(c->curl);
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, NULL);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, RC_TIMEOUT, "%s does not answer: %s", c->target, reason);
    if (code == CURLE_WRITE_ERROR)
        return err_set(err, RC_LIMIT, "%s answers with more than %u bytes", c->target,
                       CLIENT_ANSWER_MAX);
    if (code != CURLE_OK)
        return err_set(err, RC_IO, "no varve answers at %s: %s", c->target,
                       reason[0] != '\0' ? reason : curl_easy_strerror(code));
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, status);
    (void)text;
    return RC_OK;
}

enum rc client_call(struct client *c, const char *method, const char *path, const json_t *body,
                    json_t **answer, struct err *err)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    struct buf url = {0}, sent = {0}, text = {0};
    struct err bad = {0};
    long status = 0;
    enum rc rc;

    *answer = NULL;
    headers = curl_slist_append(headers, "Expect:");
    buf_printf(&url, "http://%s%s", c->target, path);
    if (body != NULL)
        json_dump_to(body, false, &sent);
    curl_easy_reset(c->curl);
    curl_easy_setopt(c->curl, CURLOPT_URL, buf_cstr(&url));
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CLIENT_CONNECT_TIMEOUT_MS);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)CLIENT_CALL_TIMEOUT_MS);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &text);
    if (body != NULL || strcmp(method, "POST") == 0) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)sent.len);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, buf_cstr(&sent));
    }
    rc = perform(c, &text, &status, err);
    if (rc == RC_OK && (status < 200 || status >= 300)) {
        rc = server_error(c, status, buf_bytes(&text), err);
    } else if (rc == RC_OK && text.len == 0) {
        *answer = json_object();
    } else if (rc == RC_OK &&
               json_parse(buf_bytes(&text), CLIENT_ANSWER_MAX, answer, &bad) != RC_OK) {
        rc = err_set(err, RC_CORRUPT, "%s does not answer as varve does: %s", c->target, bad.msg);
    }
    curl_slist_free_all(headers);
    buf_release(&url);
    buf_release(&sent);
    buf_release(&text);
    return rc;
}

void client_back_off(struct client *c, uint32_t tries)
{
    int64_t ms = tries >= 6 ? 1000 : 20LL << tries;

    clock_sleep_ns(c->env->clock, (ms > 1000 ? 1000 : ms) * NS_PER_MS);
}
