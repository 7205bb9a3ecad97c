/* remote_fs.c - see remote_fs.h. */
#include "job/remote_fs.h"

#include "base/fs_mux.h"
#include "base/fs_s3.h"
#include "base/fs_webhdfs.h"
#include "base/http_client.h"
#include "job/s3_options.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#define USER_AGENT "varve/" VARVE_VERSION

struct remote_fs {
    struct env *env;
    struct fs *local;
    struct fs_mux *mux;
    struct config *config;
};

static const char *variable(const char *name)
{
    const char *text = getenv(name);

    return text == NULL || text[0] == '\0' ? NULL : text;
}

static const char *ca_file(const struct config *c, const char *more)
{
    if (config_has(c, OPT_REMOTE_CA_FILE))
        return config_string(c, OPT_REMOTE_CA_FILE);
    if (more != NULL)
        return more;
    return variable("SSL_CERT_FILE"); /* OpenSSL's; libcurl does not look at it by itself */
}

static struct http_client_config http_config(const struct remote_fs *r)
{
    const struct config *c = r->config;
    struct rng rng;

    env_rng(r->env, "remote-backoff", &rng);
    return (struct http_client_config){
        .clock = r->env->clock,
        .seed = rng_u64(&rng),
        .user_agent = USER_AGENT,
        .ca_file = ca_file(c, NULL),
        .connect_timeout_ms = config_duration_ms(c, OPT_REMOTE_CONNECT_TIMEOUT),
        .stall_timeout_ms = config_duration_ms(c, OPT_REMOTE_STALL_TIMEOUT),
        .total_timeout_ms = config_duration_ms(c, OPT_REMOTE_TOTAL_TIMEOUT),
        .tries = (uint32_t)config_int(c, OPT_REMOTE_TRIES),
        .backoff_first_ms = config_duration_ms(c, OPT_REMOTE_BACKOFF),
        .backoff_max_ms = config_duration_ms(c, OPT_REMOTE_BACKOFF_MAX),
    };
}

/* ---- hdfs:// --------------------------------------------------------------------------------- */

/* The option, else what Hadoop's own clients take. */
static char *hdfs_user(const struct config *c)
{
    const char *named = variable("HADOOP_USER_NAME");
    struct passwd entry, *found = NULL;
    char text[4096];

    if (config_has(c, OPT_HDFS_USER))
        return mem_strdup(config_string(c, OPT_HDFS_USER));
    if (named != NULL)
        return mem_strdup(named);
    if (getpwuid_r(geteuid(), &entry, text, sizeof text, &found) != 0 || found == NULL)
        return NULL;
    return mem_strdup(found->pw_name);
}

static enum rc make_webhdfs(const struct remote_fs *r, bool tls, struct fs **out)
{
    char *user = hdfs_user(r->config);

    *out = fs_webhdfs_new(&(struct webhdfs_config){
        .env = r->env,
        .http = http_config(r),
        .user = user,
        .tls = tls,
        .lease_ttl_ms = config_duration_ms(r->config, OPT_REMOTE_LOCK_TTL),
    });
    mem_free(user);
    return RC_OK;
}

static enum rc make_hdfs(void *ctx, struct fs **out, struct err *err UNUSED)
{
    return make_webhdfs(ctx, false, out);
}

static enum rc make_swebhdfs(void *ctx, struct fs **out, struct err *err UNUSED)
{
    return make_webhdfs(ctx, true, out);
}

/* ---- s3:// ----------------------------------------------------------------------------------- */

static const char *environment(const char *name)
{
    return getenv(name);
}

static struct lease_config lease_config(const struct remote_fs *r)
{
    struct rng rng;

    env_rng(r->env, "s3-lease", &rng);
    return (struct lease_config){
        .clock = r->env->clock,
        .log = r->env->log,
        .ttl_ms = config_duration_ms(r->config, OPT_REMOTE_LOCK_TTL),
        .seed = rng_u64(&rng),
    };
}

static enum rc make_s3(void *ctx, struct fs **out, struct err *err)
{
    const struct remote_fs *r = ctx;
    struct arena *arena = arena_new(0);
    struct http_client_config http = http_config(r);
    struct lease_config lease = lease_config(r);
    struct s3_client *client;
    struct s3_config config;
    enum rc rc;

    http.ca_file = ca_file(r->config, variable("AWS_CA_BUNDLE"));
    GOTO_IF_ERR(s3_options(r->config, r->local, environment, arena, &config, err));
    GOTO_IF_ERR(s3_client_new(&config, &http, r->env, &client, err));
    *out = fs_s3_new_take(client, &lease);
out:
    arena_free(arena);
    return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

static const struct {
    const char *scheme;
    struct fs_driver_ops ops;
} drivers[] = {
    {"hdfs", {make_hdfs, fs_webhdfs_free}},
    {"swebhdfs", {make_swebhdfs, fs_webhdfs_free}},
    {"s3", {make_s3, fs_s3_free}},
};

struct remote_fs *remote_fs_new(struct env *env)
{
    struct remote_fs *r = mem_calloc(1, sizeof *r);

    r->env = env;
    r->local = env->fs;
    r->config = config_new();
    r->mux = fs_mux_new(r->local);
    for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
        fs_mux_add(r->mux, drivers[i].scheme, &drivers[i].ops, r);
    env->fs = fs_mux_fs(r->mux);
    return r;
}

void remote_fs_free(struct remote_fs *r)
{
    if (r == NULL)
        return;
    r->env->fs = r->local;
    fs_mux_free(r->mux);
    config_free(r->config);
    mem_free(r);
}

void remote_fs_configure(struct remote_fs *r, const struct config *config)
{
    config_free(r->config);
    r->config = config_copy(config);
}
