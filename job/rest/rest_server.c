/* rest_server.c - see rest_server.h */
#include "job/rest/rest_server.h"

#include "job/rest/routes.h"
#include "job/sql/sql_error.h"

#include <stdio.h>

struct rest_server {
    struct rest_api *api;
    struct http_server *http;
    bool moved;
    char url[128];
};

enum rc rest_server_start(const struct env *env, struct dispatcher *dispatcher,
                          const struct config *config, struct gateway *gateway,
                          struct rest_server **out, struct err *err)
{
    const char *address = config_string(config, OPT_REST_BIND_ADDRESS);
    int32_t port = config_int(config, OPT_REST_PORT);
    struct rest_server *s = mem_calloc(1, sizeof *s);
    struct err first = {0};
    enum rc rc;

    *out = NULL;
    s->api = rest_api_new(env, dispatcher, config, gateway);
    rc = http_server_start(env, address, (uint16_t)port, rest_api_handle, s->api, &s->http, &first);
    if (rc == RC_EXISTS && config_source(config, OPT_REST_PORT) == CONFIG_DEFAULT) {
        err_clear(&first);
        rc = http_server_start(env, address, 0, rest_api_handle, s->api, &s->http, &first);
        s->moved = true;
    }
    if (rc != RC_OK) {
        rest_api_free(s->api);
        mem_free(s);
        return err_set(err, rc, "%s", first.msg);
    }
    snprintf(s->url, sizeof s->url, "http://%.100s:%u",
             strcmp(address, "0.0.0.0") == 0 ? "localhost" : address, http_server_port(s->http));
    log_line(env->log, LOG_INFO, "rest server started url=%s", s->url);
    *out = s;
    return RC_OK;
}

uint16_t rest_server_port(const struct rest_server *s)
{
    return http_server_port(s->http);
}
bool rest_server_moved(const struct rest_server *s)
{
    return s->moved;
}
const char *rest_server_url(const struct rest_server *s)
{
    return s->url;
}
uint32_t rest_server_unanswered(const struct rest_server *s)
{
    return rest_api_unanswered(s->api);
}

void rest_server_stop(struct rest_server *s)
{
    if (s == NULL)
        return;
    http_server_stop(s->http);
    rest_api_free(s->api);
    mem_free(s);
}

static bool is_of_rest(enum option_id id)
{
    return id == OPT_REST_ADDRESS || id == OPT_REST_BIND_ADDRESS || id == OPT_REST_PORT;
}

enum rc rest_check_statement(const struct ast_statement *s, struct err *err)
{
    enum option_id id;

    if ((s->kind != STMT_SET && s->kind != STMT_RESET) || s->key == NULL ||
        !option_find(s->key, &id) || !is_of_rest(id))
        return RC_OK;
    return sql_error_at(
        err, RC_UNSUPPORTED, s->source, s->pos,
        "%s belongs to the process, which has started: give it with -D %s=... or in the file of -c",
        s->key, option_at(id)->key);
}
