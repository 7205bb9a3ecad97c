/* webhdfs_answer.c - see webhdfs_answer.h. */
#include "base/webhdfs_answer.h"

#include "base/json.h"

#include <errno.h>

#define SHOWN_MAX 400 /* of a server's words in a message */
#define LOCATION_MAX 8192

/* `what` may quote the answer. */
static enum rc no_answer(const char *what, struct err *err)
{
    struct buf words = {0};

    buf_append_escaped(&words, bytes_of_str(what), SHOWN_MAX);
    err_set(err, RC_CORRUPT, "the answer is no WebHDFS answer: %s", buf_cstr(&words));
    buf_release(&words);
    return RC_CORRUPT;
}

static enum rc parse(struct bytes body, json_t **out, struct err *err)
{
    struct err local = {0};
    enum rc rc = json_parse(body, WEBHDFS_ANSWER_MAX, out, &local);

    if (rc == RC_INVALID)
        return no_answer(local.msg, err);
    return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", local.msg);
}

static bool take_number(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(object, key);

    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static enum rc status_of(const json_t *object, struct webhdfs_status *out, struct err *err)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    uint64_t modified;

    *out = (struct webhdfs_status){.type = FS_OTHER};
    if (type == NULL)
        return no_answer("\"type\" is missing", err);
    if (strcmp(type, "FILE") == 0)
        out->type = FS_FILE;
    else if (strcmp(type, "DIRECTORY") == 0)
        out->type = FS_DIR;
    if (!take_number(object, "length", &out->size_bytes))
        return no_answer("\"length\" is no size", err);
    if (!take_number(object, "modificationTime", &modified))
        return no_answer("\"modificationTime\" is no time", err);
    out->modified_wall_ms = (int64_t)modified;
    if (!take_number(object, "fileId", &out->file_id))
        out->file_id = 0;
    return RC_OK;
}

enum rc webhdfs_status_parse(struct bytes body, struct webhdfs_status *out, struct err *err)
{
    json_t *root;
    enum rc rc;

    *out = (struct webhdfs_status){.type = FS_OTHER};
    RETURN_IF_ERR(parse(body, &root, err));
    rc = status_of(json_object_get(root, "FileStatus"), out, err);
    json_decref(root);
    return rc;
}

enum rc webhdfs_boolean_parse(struct bytes body, bool *out, struct err *err)
{
    const json_t *value;
    json_t *root;
    enum rc rc = RC_OK;

    *out = false;
    RETURN_IF_ERR(parse(body, &root, err));
    value = json_object_get(root, "boolean");
    if (json_is_boolean(value))
        *out = json_is_true(value);
    else
        rc = no_answer("\"boolean\" is missing", err);
    json_decref(root);
    return rc;
}

enum rc webhdfs_location_parse(struct bytes body, struct buf *out, struct err *err)
{
    const char *location;
    json_t *root;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(parse(body, &root, err));
    location = json_string_value(json_object_get(root, "Location"));
    if (location == NULL || strlen(location) > LOCATION_MAX)
        rc = no_answer("\"Location\" is missing", err);
    else
        buf_append_str(out, location);
    json_decref(root);
    return rc;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static enum rc give_entry(const json_t *entry, size_t count, webhdfs_entry_fn *fn, void *ctx,
                          struct webhdfs_page *out, struct err *err)
{
    struct webhdfs_status st;
    const char *name = json_string_value(json_object_get(entry, "pathSuffix"));
    size_t len = name == NULL ? 0 : strlen(name);

    if (name != NULL && len == 0 && count == 1) {
        err_set(err, RC_IO, "not a directory");
        if (err != NULL)
            err->os_errno = ENOTDIR;
        return RC_IO;
    }
    if (len == 0 || len > WEBHDFS_NAME_MAX || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return no_answer("\"pathSuffix\" is no name", err);
    RETURN_IF_ERR(status_of(entry, &st, err));
    memcpy(out->last, name, len + 1);
    return fn(ctx, name, &st, err);
}

enum rc webhdfs_page_parse(struct bytes body, webhdfs_entry_fn *fn, void *ctx,
                           struct webhdfs_page *out, struct err *err)
{
    const json_t *part, *listing, *entries;
    json_t *root;
    size_t count;
    enum rc rc = RC_OK;

    *out = (struct webhdfs_page){0};
    RETURN_IF_ERR(parse(body, &root, err));
    part = root;
    listing = json_object_get(root, "DirectoryListing");
    if (listing != NULL) {
        part = json_object_get(listing, "partialListing");
        if (!take_number(listing, "remainingEntries", &out->left))
            GOTO_IF_ERR(no_answer("\"remainingEntries\" is no count", err));
    }
    entries = json_object_get(json_object_get(part, "FileStatuses"), "FileStatus");
    if (!json_is_array(entries))
        GOTO_IF_ERR(no_answer("\"FileStatuses\" is missing", err));
    count = json_array_size(entries);
    for (size_t i = 0; i < count; i++)
        GOTO_IF_ERR(give_entry(json_array_get(entries, i), count, fn, ctx, out, err));
out:
    json_decref(root);
    return rc;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Simple names of Java exceptions and what they mean for a caller. */
static const struct {
    const char *exception;
    enum rc rc;
    int os_errno;
    enum webhdfs_refusal kind;
} refusals[] = {
    {"FileNotFoundException", RC_NOT_FOUND, ENOENT, WEBHDFS_FINAL},
    {"FileAlreadyExistsException", RC_EXISTS, EEXIST, WEBHDFS_FINAL},
    {"ParentNotDirectoryException", RC_NOT_FOUND, ENOTDIR, WEBHDFS_FINAL},
    {"PathIsNotDirectoryException", RC_NOT_FOUND, ENOTDIR, WEBHDFS_FINAL},
    {"PathIsNotEmptyDirectoryException", RC_IO, ENOTEMPTY, WEBHDFS_FINAL},
    {"AccessControlException", RC_IO, EACCES, WEBHDFS_FINAL},
    {"AuthorizationException", RC_IO, EACCES, WEBHDFS_FINAL},
    {"SecurityException", RC_IO, EACCES, WEBHDFS_FINAL},
    {"DSQuotaExceededException", RC_IO, EDQUOT, WEBHDFS_FINAL},
    {"NSQuotaExceededException", RC_IO, EDQUOT, WEBHDFS_FINAL},
    {"QuotaByStorageTypeExceededException", RC_IO, EDQUOT, WEBHDFS_FINAL},
    {"UnsupportedOperationException", RC_UNSUPPORTED, 0, WEBHDFS_FINAL},
    {"IllegalArgumentException", RC_INVALID, 0, WEBHDFS_FINAL},
    {"StandbyException", RC_IO, 0, WEBHDFS_STANDBY},
    {"ObserverRetryOnActiveException", RC_IO, 0, WEBHDFS_STANDBY},
    {"RetriableException", RC_IO, 0, WEBHDFS_PASSES},
    {"SafeModeException", RC_IO, EROFS, WEBHDFS_PASSES},
    {"RecoveryInProgressException", RC_IO, EBUSY, WEBHDFS_PASSES},
    {"AlreadyBeingCreatedException", RC_IO, EBUSY, WEBHDFS_PASSES},
    {"NotReplicatedYetException", RC_IO, EBUSY, WEBHDFS_PASSES},
    /* What a data node says when the name node that it asks on our behalf goes or comes (NetUtils.wrapException). */
    {"EOFException", RC_IO, 0, WEBHDFS_BROKEN},
    {"ConnectException", RC_IO, ECONNREFUSED, WEBHDFS_BROKEN},
    {"SocketException", RC_IO, 0, WEBHDFS_BROKEN},
    {"SocketTimeoutException", RC_IO, ETIMEDOUT, WEBHDFS_BROKEN},
    {"ConnectTimeoutException", RC_IO, ETIMEDOUT, WEBHDFS_BROKEN},
    {"NoRouteToHostException", RC_IO, EHOSTUNREACH, WEBHDFS_BROKEN},
    {"ClosedChannelException", RC_IO, 0, WEBHDFS_BROKEN},
};

/* Without a RemoteException: a proxy's page, a login. */
static enum rc plain_refusal(int status, struct bytes body, struct err *err)
{
    struct buf words = {0};
    enum rc rc = RC_IO;

    if (status == 401)
        return err_set(err, RC_UNSUPPORTED,
                       "status 401: the server asks for a login (Kerberos?); only simple authentication "
                       "(HADOOP_USER_NAME) is built");
    if (status == 404)
        return err_set(err, RC_UNSUPPORTED, "status 404 without a RemoteException: no WebHDFS server is there");
    buf_append_escaped(&words, body, SHOWN_MAX);
    err_set(err, rc, "status %d: %s", status, buf_cstr(&words));
    buf_release(&words);
    return rc;
}

static enum rc exception_refusal(int status, const char *exception, const char *message,
                                 enum webhdfs_refusal *kind, struct err *err)
{
    struct buf words = {0};
    enum rc rc = status == 400 ? RC_INVALID : RC_IO; /* 400: an operation that it does not know */
    int os_errno = 0;

    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        if (strcmp(refusals[i].exception, exception) == 0) {
            rc = refusals[i].rc;
            os_errno = refusals[i].os_errno;
            *kind = refusals[i].kind;
        }
    }
    if (strcmp(exception, "IOException") == 0 && message != NULL &&
        strstr(message, "Failed on local exception") != NULL)
        *kind = WEBHDFS_BROKEN; /* the same, of any other kind */
    buf_append_escaped(&words, bytes_of_str(exception), 100);
    if (message != NULL) { /* its first line: what follows is a stack trace */
        buf_append_str(&words, ": ");
        buf_append_escaped(&words, bytes_of(message, strcspn(message, "\r\n")), SHOWN_MAX);
    }
    if (err != NULL && err->rc == RC_OK) {
        err_set(err, rc, "status %d: %s", status, buf_cstr(&words));
        err->os_errno = os_errno;
    }
    buf_release(&words);
    return rc;
}

enum rc webhdfs_refusal_parse(int status, struct bytes body, enum webhdfs_refusal *kind,
                              struct err *err)
{
    const json_t *remote;
    const char *exception;
    json_t *root = NULL;
    enum rc rc;

    *kind = WEBHDFS_FINAL;
    if (json_parse(body, WEBHDFS_ANSWER_MAX, &root, NULL) != RC_OK)
        return plain_refusal(status, body, err);
    remote = json_object_get(root, "RemoteException");
    exception = json_string_value(json_object_get(remote, "exception"));
    rc = exception == NULL
             ? plain_refusal(status, body, err)
             : exception_refusal(status, exception,
                                 json_string_value(json_object_get(remote, "message")), kind, err);
    json_decref(root);
    return rc;
}
