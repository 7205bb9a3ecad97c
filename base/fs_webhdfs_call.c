/* fs_webhdfs_call.c - one call of the WebHDFS REST interface: which name node, the data node behind it, tries. */
#include "base/fs_webhdfs_priv.h"

#include "base/arena.h"

#include <strings.h>

#define NODES_MAX 8

const char *webhdfs_inner_path(const char *path)
{
    const char *authority = strstr(path, "://");
    const char *inner = authority == NULL ? path : strchr(authority + 3, '/');

    return inner == NULL ? "/" : inner;
}

void webhdfs_put_parameter(struct buf *query, const char *name, const char *value)
{
    buf_printf(query, "&%s=", name);
    http_escape(query, bytes_of_str(value), "/");
}

/* The authority of a path, taken apart at its commas. */
static uint32_t nodes_of(const char *path, struct bytes nodes[NODES_MAX])
{
    const char *at = strstr(path, "://");
    uint32_t count = 0;

    for (at = at == NULL ? "" : at + 3; count < NODES_MAX; at++) {
        size_t len = strcspn(at, ",/");

        if (len > 0)
            nodes[count++] = bytes_of(at, len);
        at += len;
        if (*at != ',')
            break;
    }
    return count;
}

static void make_url(const struct webhdfs *w, const struct webhdfs_call *call, struct bytes node,
                     struct buf *url)
{
    buf_printf(url, "%s://%.*s/webhdfs/v1", w->scheme, (int)node.len, (const char *)node.data);
    http_escape(url, bytes_of_str(webhdfs_inner_path(call->path)), "/");
    buf_printf(url, "?op=%s", call->op);
    if (w->user != NULL)
        webhdfs_put_parameter(url, "user.name", w->user);
    buf_append_str(url, call->query);
    if (call->has_data)
        buf_append_str(url, "&noredirect=true");
}

/* What became of one try. */
struct outcome {
    bool again;     /* the next may end otherwise */
    bool next_node; /* and should go to another name node */
    bool uncertain; /* it may have been carried out */
    bool repeated;  /* it was sent twice */
};

static enum rc judge(const struct http_answer *answer, struct outcome *o, struct err *err)
{
    enum webhdfs_refusal kind;
    enum rc rc;

    if (answer->status >= 200 && answer->status < 300)
        return RC_OK;
    rc = webhdfs_refusal_parse(answer->status, buf_bytes(&answer->body), &kind, err);
    o->next_node = kind == WEBHDFS_STANDBY;
    o->uncertain = http_status_may_pass(answer->status) || kind == WEBHDFS_BROKEN;
    o->again = kind != WEBHDFS_FINAL || o->uncertain;
    return rc;
}

/* The name node's part. */
static enum rc ask_name_node(struct webhdfs *w, const struct webhdfs_call *call, struct bytes node,
                             struct http_answer *out, struct outcome *o, struct err *err)
{
    struct http_request request = {.method = call->method,
                                   .retry = true, /* each call of ours can be told from its repetition */
                                   .once = true,
                                   .follow_redirects = !call->has_data,
                                   .answer_max_bytes = call->answer_max_bytes > 0
                                                           ? call->answer_max_bytes
                                                           : WEBHDFS_SMALL_ANSWER_MAX};
    struct buf url = {0};
    enum rc rc;

    make_url(w, call, node, &url);
    request.url = buf_cstr(&url);
    rc = http_send(w->client, &request, out, err);
    buf_release(&url);
    o->repeated = out->tries > 1;
    if (rc == RC_OK)
        return call->has_data && out->status == 307 ? RC_OK : judge(out, o, err);
    o->again = o->next_node = o->uncertain = rc != RC_LIMIT && rc != RC_INVALID;
    return rc;
}

/* Where the data goes: said in the body (noredirect), or, by older servers, in a header. */
static enum rc read_location(const struct http_answer *answer, struct buf *url, struct err *err)
{
    const char *header = http_answer_header(answer, "Location"), *text;

    if (answer->status == 307 && header != NULL)
        buf_append_str(url, header);
    else
        RETURN_IF_ERR(webhdfs_location_parse(buf_bytes(&answer->body), url, err));
    text = buf_cstr(url);
    if (strncasecmp(text, "http://", 7) != 0 && strncasecmp(text, "https://", 8) != 0)
        return err_set(err, RC_CORRUPT, "the answer is no WebHDFS answer: \"Location\" is no URL");
    return RC_OK;
}

static enum rc send_data(struct webhdfs *w, const struct webhdfs_call *call,
                         struct http_answer *out, struct outcome *o, struct err *err)
{
    const struct http_header type = {"Content-Type", "application/octet-stream"};
    struct http_request request = {.method = call->method,
                                   .headers = &type,
                                   .header_count = 1,
                                   .body = call->data,
                                   .has_body = true,
                                   .retry = strcmp(call->op, "CREATE") == 0,
                                   .once = true,
                                   .answer_max_bytes = WEBHDFS_SMALL_ANSWER_MAX};
    struct buf url = {0};
    enum rc rc;

    GOTO_IF_ERR(read_location(out, &url, err));
    request.url = buf_cstr(&url);
    rc = http_send(w->client, &request, out, err);
    if (rc == RC_OK)
        rc = judge(out, o, err);
    else
        o->again = o->uncertain = rc != RC_LIMIT && rc != RC_INVALID;
    if (rc != RC_OK && strcmp(call->op, "CREATE") != 0 && o->uncertain)
        o->again = false; /* what was appended must not be appended twice */
out:
    buf_release(&url);
    return rc;
}

static enum rc try_once(struct webhdfs *w, const struct webhdfs_call *call, struct bytes node,
                        struct http_answer *out, struct outcome *o, struct err *err)
{
    *o = (struct outcome){0};
    RETURN_IF_ERR(ask_name_node(w, call, node, out, o, err));
    return call->has_data ? send_data(w, call, out, o, err) : RC_OK;
}

enum rc webhdfs_call(struct webhdfs *w, const struct webhdfs_call *call, struct http_answer *out,
                     bool *repeated, struct err *err)
{
    int64_t start = clock_mono_ns(w->clock);
    struct bytes nodes[NODES_MAX];
    uint32_t count = nodes_of(call->path, nodes), skipped = 0, tries = 1;
    bool uncertain = false;
    struct outcome o;
    struct err local;
    enum rc rc;

    if (count == 0)
        return err_set(err, RC_INVALID, "%s: names no host", call->path);
    for (;;) {
        uint32_t node = atomic_load(&w->active) % count;

        local = (struct err){0};
        rc = try_once(w, call, nodes[node], out, &o, &local);
        uncertain = uncertain || o.repeated || (rc != RC_OK && o.uncertain);
        if (rc == RC_OK || !o.again)
            break;
        if (o.next_node && count > 1) {
            atomic_store(&w->active, (node + 1) % count);
            if (++skipped % count != 0) /* all others first, at once */
                continue;
        }
        if (!http_client_pause(w->client, start, tries))
            break;
        tries++;
    }
    if (repeated != NULL)
        *repeated = uncertain;
    if (rc == RC_OK || (err != NULL && err->rc != RC_OK))
        return rc;
    if (err != NULL)
        *err = local;
    return tries == 1 ? err_wrap(err, rc, "%s %s", call->op, call->path)
                      : err_wrap(err, rc, "%s %s: %u tries", call->op, call->path, tries);
}
