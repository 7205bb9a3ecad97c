/* fuzz_rest_body.c - requests of any method, path and body through the REST handlers, without a
 * socket: first line "METHOD path", the rest is the body. The file system refuses everything, so
 * that a savepoint-path can't reach a real one. */
#include "job/rest/routes.h"
#include "job/rest/sql_gateway.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rc none(struct err *err, const char *path)
{
    return err_set(err, RC_NOT_FOUND, "%s: nothing is there", path);
}
static enum rc no_open(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    (void)fs;
    *out = NULL;
    return none(err, path);
}
static enum rc no_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx, struct err *err)
{
    (void)fs;
    (void)fn;
    (void)ctx;
    return none(err, path);
}
static enum rc no_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err)
{
    (void)fs;
    (void)out;
    return none(err, path);
}
static const struct fs_ops nothing_ops = {
    .open_read = no_open, .create = no_open, .lock = no_open, .list = no_list, .stat = no_stat};

static const char *const methods[] = {"GET", "POST", "PATCH", "DELETE", "PUT", "HEAD"};

/* Sessions that it opened end again, with their threads. */
static void close_session(struct gateway *g, struct bytes answer)
{
    static const char key[] = "{\"sessionHandle\":\"";
    char handle[UUID_LEN + 1];
    struct err err = {0};

    if (answer.len < sizeof key + UUID_LEN || memcmp(answer.data, key, sizeof key - 1) != 0)
        return;
    memcpy(handle, answer.data + sizeof key - 1, UUID_LEN);
    handle[UUID_LEN] = '\0';
    if (gateway_close_session(g, handle, &err) != RC_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fs nothing = {&nothing_ops};
    struct env env = {.fs = &nothing, .clock = clock_posix(), .seed = 1};
    struct dispatcher *d = dispatcher_new(&env);
    struct config *config = config_new();
    struct gateway *g = gateway_new(&env, d, config);
    struct rest_api *api = rest_api_new(&env, d, config, g);
    struct arena *a = arena_new(0);
    const uint8_t *end = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL;
    struct http_request request = {.arena = a};
    struct http_answer answer = {.status = 200, .content_type = ""};

    if (end != NULL) {
        request.method = methods[data[0] % ARRAY_LEN(methods)];
        request.path = arena_strndup(a, (const char *)data + 1, (size_t)(end - data - 1));
        request.body = bytes_of(end + 1, size - (size_t)(end - data) - 1);
        rest_api_handle(api, &request, &answer);
        if (answer.status < 200 || answer.status > 599)
            abort();
        close_session(g, buf_bytes(&answer.body));
    }
    buf_release(&answer.body);
    arena_free(a);
    rest_api_free(api);
    gateway_free(g);
    dispatcher_free(d);
    config_free(config);
    return 0;
}
