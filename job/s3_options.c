/* s3_options.c - see s3_options.h */
#include "job/s3_options.h"

#define CREDENTIALS_BYTES_MAX ((size_t)1 << 20)

/* ---- profiles ------------------------------------------------------------------------------- */

static struct bytes trimmed(struct bytes b)
{
    while (b.len > 0 && memchr(" \t\r", b.data[0], 3) != NULL)
        b = bytes_of(b.data + 1, b.len - 1);
    while (b.len > 0 && memchr(" \t\r", b.data[b.len - 1], 3) != NULL)
        b.len--;
    return b;
}

static bool take_line(struct bytes *text, struct bytes *line)
{
    const uint8_t *end;

    if (text->len == 0)
        return false;
    end = memchr(text->data, '\n', text->len);
    *line = bytes_of(text->data, end == NULL ? text->len : (size_t)(end - text->data));
    *text = bytes_of(text->data + line->len + (end != NULL), text->len - line->len - (end != NULL));
    *line = trimmed(*line);
    return true;
}

static void take_setting(struct bytes line, struct arena *arena, struct s3_profile *p)
{
    const struct {
        const char *key;
        const char **value;
    } known[] = {{"aws_access_key_id", &p->access_key},
                 {"aws_secret_access_key", &p->secret_key},
                 {"aws_session_token", &p->session_token},
                 {"region", &p->region}};
    const uint8_t *equals = line.len == 0 ? NULL : memchr(line.data, '=', line.len);
    struct bytes key, value;

    if (equals == NULL)
        return;
    key = trimmed(bytes_of(line.data, (size_t)(equals - line.data)));
    value = trimmed(bytes_of(equals + 1, line.len - (size_t)(equals - line.data) - 1));
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (value.len > 0 && bytes_eq(key, bytes_of_str(known[i].key)))
            *known[i].value = arena_strndup(arena, (const char *)value.data, value.len);
}

bool s3_profile_find(struct bytes text, const char *name, struct arena *arena,
                     struct s3_profile *out)
{
    bool found = false, here = false;
    struct bytes line;

    *out = (struct s3_profile){0};
    while (take_line(&text, &line)) {
        if (line.len > 1 && line.data[0] == '[' && line.data[line.len - 1] == ']') {
            here = bytes_eq(trimmed(bytes_of(line.data + 1, line.len - 2)), bytes_of_str(name));
            found = found || here;
        } else if (here && line.len > 0 && line.data[0] != '#' && line.data[0] != ';') {
            take_setting(line, arena, out);
        }
    }
    return found;
}

static const char *credentials_path(env_get_fn *env, struct arena *arena)
{
    const char *path = env("AWS_SHARED_CREDENTIALS_FILE"), *home = env("HOME");

    if (path != NULL && path[0] != '\0')
        return path;
    return home == NULL || home[0] == '\0' ? NULL
                                           : arena_printf(arena, "%s/.aws/credentials", home);
}

/* No file, or no section "default": nothing. A profile that was asked for by name must be there. */
static enum rc read_profile(struct fs *local, env_get_fn *env, struct arena *arena,
                            struct s3_profile *out, struct err *err)
{
    const char *path = credentials_path(env, arena), *name = env("AWS_PROFILE");
    bool asked = name != NULL && name[0] != '\0', found;
    struct err local_err = {0};
    struct buf text = {0};
    enum rc rc;

    *out = (struct s3_profile){0};
    if (path == NULL)
        return RC_OK;
    rc = fs_read_all(local, path, CREDENTIALS_BYTES_MAX, &text, &local_err);
    if (rc == RC_OK) {
        found = s3_profile_find(buf_bytes(&text), asked ? name : "default", arena, out);
        if (asked && !found)
            rc = err_set(err, RC_INVALID, "%s: there is no profile [%.100s] (AWS_PROFILE)", path,
                         name);
    } else if (rc == RC_NOT_FOUND && !asked) {
        rc = RC_OK;
    } else {
        err_set(err, rc, "%s", local_err.msg);
    }
    buf_release(&text);
    return rc;
}

/* ---- options -------------------------------------------------------------------------------- */

static const char *option_text(const struct config *c, enum option_id id)
{
    const char *text = config_string(c, id);

    return text == NULL || text[0] == '\0' ? NULL : text;
}

static const char *variable(env_get_fn *env, const char *name)
{
    const char *text = env(name);

    return text == NULL || text[0] == '\0' ? NULL : text;
}

static const char *first_of(const char *a, const char *b, const char *c, const char *d)
{
    return a != NULL ? a : b != NULL ? b : c != NULL ? c : d;
}

static enum rc check_pair(const struct s3_credentials *keys, const char *access_name,
                          const char *secret_name, struct err *err)
{
    bool access = keys->access_key != NULL, secret = keys->secret_key != NULL;

    if (access == secret)
        return RC_OK;
    return err_set(err, RC_INVALID, "%s is set and %s is not", access ? access_name : secret_name,
                   access ? secret_name : access_name);
}

static enum rc take_keys(const struct config *c, env_get_fn *env, const struct s3_profile *profile,
                         struct s3_credentials *out, struct err *err)
{
    *out = (struct s3_credentials){option_text(c, OPT_S3_ACCESS_KEY),
                                   option_text(c, OPT_S3_SECRET_KEY), NULL};
    RETURN_IF_ERR(
        check_pair(out, option_at(OPT_S3_ACCESS_KEY)->key, option_at(OPT_S3_SECRET_KEY)->key, err));
    if (out->access_key != NULL)
        return RC_OK;
    *out = (struct s3_credentials){variable(env, "AWS_ACCESS_KEY_ID"),
                                   variable(env, "AWS_SECRET_ACCESS_KEY"),
                                   variable(env, "AWS_SESSION_TOKEN")};
    RETURN_IF_ERR(check_pair(out, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", err));
    if (out->access_key != NULL)
        return RC_OK;
    *out =
        (struct s3_credentials){profile->access_key, profile->secret_key, profile->session_token};
    return check_pair(out, "aws_access_key_id", "aws_secret_access_key", err);
}

enum rc s3_options(const struct config *c, struct fs *local, env_get_fn *env, struct arena *arena,
                   struct s3_config *out, struct err *err)
{
    struct s3_profile profile;

    RETURN_IF_ERR(read_profile(local, env, arena, &profile, err));
    *out = (struct s3_config){
        .endpoint = first_of(option_text(c, OPT_S3_ENDPOINT), variable(env, "AWS_ENDPOINT_URL_S3"),
                             variable(env, "AWS_ENDPOINT_URL"), NULL),
        .region = first_of(option_text(c, OPT_S3_REGION), variable(env, "AWS_REGION"),
                           variable(env, "AWS_DEFAULT_REGION"), profile.region),
        .path_style = config_bool(c, OPT_S3_PATH_STYLE),
        .part_bytes = (size_t)config_bytes(c, OPT_S3_PART_SIZE),
        .copy_part_bytes = S3_COPY_PART_BYTES_DEFAULT,
    };
    if (out->region == NULL)
        out->region = "us-east-1";
    return take_keys(c, env, &profile, &out->credentials, err);
}
