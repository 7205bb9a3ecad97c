/* status.c - see status.h */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rc_name(enum rc rc)
{
    switch (rc) {
    case RC_OK:
        return "ok";
    case RC_IO:
        return "io";
    case RC_NOT_FOUND:
        return "not-found";
    case RC_EXISTS:
        return "exists";
    case RC_NO_LINK:
        return "no-link";
    case RC_CORRUPT:
        return "corrupt";
    case RC_VERSION:
        return "version";
    case RC_LIMIT:
        return "limit";
    case RC_INVALID:
        return "invalid";
    case RC_UNSUPPORTED:
        return "unsupported";
    case RC_STATE:
        return "state";
    case RC_CANCELLED:
        return "cancelled";
    case RC_TIMEOUT:
        return "timeout";
    case RC_DONE:
        return "done";
    }
    return "unknown";
}

/* Marks a message that vsnprintf had to cut. */
static void mark_cut(char *msg, int wanted)
{
    if (wanted >= ERR_MSG_MAX)
        memcpy(msg + ERR_MSG_MAX - 4, "...", 4);
}

enum rc err_set(struct err *err, enum rc rc, const char *fmt, ...)
{
    va_list args;

    ASSERT(rc != RC_OK);
    if (err == NULL || err->rc != RC_OK)
        return rc;
    err->rc = rc;
    err->os_errno = 0;
    va_start(args, fmt);
    mark_cut(err->msg, vsnprintf(err->msg, sizeof err->msg, fmt, args));
    va_end(args);
    return rc;
}

enum rc err_os(struct err *err, int os_errno, const char *fmt, ...)
{
    enum rc rc = RC_IO;
    char what[ERR_MSG_MAX], reason[128];
    va_list args;

    if (os_errno == ENOENT || os_errno == ENOTDIR)
        rc = RC_NOT_FOUND;
    else if (os_errno == EEXIST)
        rc = RC_EXISTS;
    if (err == NULL || err->rc != RC_OK)
        return rc;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    err_set(err, rc, "%s: %s", what, strerror_r(os_errno, reason, sizeof reason));
    err->os_errno = os_errno;
    return rc;
}

enum rc err_wrap(struct err *err, enum rc rc, const char *fmt, ...)
{
    char prefix[ERR_MSG_MAX], old[ERR_MSG_MAX];
    va_list args;

    ASSERT(rc != RC_OK);
    if (err == NULL)
        return rc;
    va_start(args, fmt);
    vsnprintf(prefix, sizeof prefix, fmt, args);
    va_end(args);
    memcpy(old, err->msg, sizeof old);
    mark_cut(err->msg, snprintf(err->msg, sizeof err->msg, "%s: %s", prefix,
                                err->rc == RC_OK ? rc_name(rc) : old));
    if (err->rc == RC_OK)
        err->rc = rc;
    return rc;
}

void err_clear(struct err *err)
{
    if (err != NULL) {
        err->rc = RC_OK;
        err->os_errno = 0;
        err->msg[0] = '\0';
    }
}

void assert_failed(const char *file, int line, const char *expr)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, expr);
    fflush(stderr);
    abort();
}
