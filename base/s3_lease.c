/* s3_lease.c - see s3_lease.h */
#include "base/s3_lease.h"

#include "base/s3_upload.h"

static enum rc take_version(const struct s3_name *name, const struct http_answer *answer,
                            char version[LEASE_VERSION_MAX], struct err *err)
{
    const char *etag = http_answer_header(answer, "etag");

    if (etag == NULL || etag[0] == '\0' || strlen(etag) >= LEASE_VERSION_MAX)
        return err_set(err, RC_CORRUPT, "s3://%s/%s: the answer has no ETag", name->bucket,
                       name->key);
    memcpy(version, etag, strlen(etag) + 1);
    return RC_OK;
}

/* The server's date against the server's time of the last change. */
static enum rc take_age(const struct s3_name *name, const struct http_answer *answer,
                        int64_t *age_ms, struct err *err)
{
    const char *date = http_answer_header(answer, "date");
    const char *changed = http_answer_header(answer, "last-modified");
    int64_t now, then;

    if (date == NULL || changed == NULL)
        return err_set(err, RC_CORRUPT, "s3://%s/%s: the answer does not say how old it is",
                       name->bucket, name->key);
    RETURN_IF_ERR(http_date_parse(date, &now, err));
    RETURN_IF_ERR(http_date_parse(changed, &then, err));
    *age_ms = now - then;
    return RC_OK;
}

static enum rc read_lease(void *ctx, const char *path, struct buf *text,
                          char version[LEASE_VERSION_MAX], int64_t *age_ms, struct err *err)
{
    struct http_answer answer = {0};
    struct s3_name name;
    struct s3_call call = {.method = "GET", .name = &name, .answer_max_bytes = LEASE_TEXT_MAX};
    enum rc rc;

    RETURN_IF_ERR(s3_name_of(path, &name, err));
    GOTO_IF_ERR(s3_do(ctx, &call, &answer, err));
    GOTO_IF_ERR(take_version(&name, &answer, version, err));
    GOTO_IF_ERR(take_age(&name, &answer, age_ms, err));
    buf_append(text, answer.body.data, answer.body.len);
out:
    http_answer_release(&answer);
    return rc;
}

/* What lies there now; `writer`'s own: *ours, and its version. */
static enum rc look(struct s3_client *c, const struct s3_name *name, const char *writer,
                    char version[LEASE_VERSION_MAX], bool *there, bool *ours, struct err *err)
{
    struct s3_call call = {.method = "HEAD", .name = name};
    struct http_answer answer = {0};
    const char *mark;
    enum rc rc;

    *there = *ours = false;
    GOTO_IF_ERR(s3_send(c, &call, &answer, err));
    if (answer.status == 404)
        goto out;
    if (!s3_succeeded(&answer))
        GOTO_IF_ERR(s3_refused(c, &call, &answer, err));
    mark = http_answer_header(&answer, S3_WRITER_HEADER);
    *there = true;
    *ours = mark != NULL && strcmp(mark, writer) == 0;
    rc = take_version(name, &answer, version, err);
out:
    http_answer_release(&answer);
    return rc;
}

static enum rc taken(const struct s3_name *name, struct err *err)
{
    return err_set(err, RC_EXISTS, "s3://%s/%s: somebody else wrote it", name->bucket, name->key);
}

/* In place of a condition. */
static enum rc check_version(struct s3_client *c, const struct s3_name *name, const char *version,
                             struct err *err)
{
    char found[LEASE_VERSION_MAX];
    bool there, ours;

    RETURN_IF_ERR(look(c, name, "", found, &there, &ours, err));
    if (version[0] == '\0' ? !there : there && strcmp(version, found) == 0)
        return RC_OK;
    return taken(name, err);
}

static enum rc write_lease(void *ctx, const char *path, struct bytes text,
                           char version[LEASE_VERSION_MAX], struct err *err)
{
    char writer[S3_WRITER_LEN + 1], expected[LEASE_VERSION_MAX];
    const struct http_header headers[] = {
        {S3_WRITER_HEADER, writer},
        {version[0] == '\0' ? "if-none-match" : "if-match", version[0] == '\0' ? "*" : expected}};
    bool conditional = s3_client_condition(ctx, S3_AT_PUT) != S3_CONDITION_IGNORED, there, ours;
    struct http_answer answer = {0};
    struct s3_name name;
    struct s3_call call = {.method = "PUT",
                           .name = &name,
                           .headers = headers,
                           .header_count = conditional ? 2 : 1,
                           .body = text};
    enum rc rc;

    memcpy(expected, version, sizeof expected);
    s3_client_writer(ctx, writer);
    GOTO_IF_ERR(s3_name_of(path, &name, err));
    if (!conditional)
        GOTO_IF_ERR(check_version(ctx, &name, expected, err));
    GOTO_IF_ERR(s3_send(ctx, &call, &answer, err));
    if (s3_succeeded(&answer)) {
        GOTO_IF_ERR(take_version(&name, &answer, version, err));
        goto out;
    }
    if (answer.status != 412 && answer.status != 409 && answer.status != 404)
        GOTO_IF_ERR(s3_refused(ctx, &call, &answer, err));
    /* Somebody else's, or our own try whose answer was lost. */
    GOTO_IF_ERR(look(ctx, &name, writer, version, &there, &ours, err));
    if (!there && answer.status == 404 && expected[0] == '\0')
        rc = s3_refused(ctx, &call, &answer, err); /* there is no such bucket */
    else
        rc = ours ? RC_OK : taken(&name, err);
out:
    http_answer_release(&answer);
    return rc;
}

const struct lease_store_ops s3_lease_store = {read_lease, write_lease};
