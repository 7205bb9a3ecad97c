/* api_error.c - see api_error.h */
#include "base/api_error.h"

#include <stdio.h>
#include <string.h>

const char *vv_version(void)
{
    return VARVE_VERSION;
}

static const vv_code codes[] = {
    [RC_OK] = VV_OK,
    [RC_IO] = VV_IO,
    [RC_NOT_FOUND] = VV_NOT_FOUND,
    [RC_EXISTS] = VV_EXISTS,
    [RC_NO_LINK] = VV_IO,
    [RC_CORRUPT] = VV_CORRUPT,
    [RC_VERSION] = VV_VERSION,
    [RC_LIMIT] = VV_LIMIT,
    [RC_INVALID] = VV_INVALID,
    [RC_UNSUPPORTED] = VV_UNSUPPORTED,
    [RC_STATE] = VV_STATE,
    [RC_CANCELLED] = VV_CANCELLED,
    [RC_TIMEOUT] = VV_TIMEOUT,
    [RC_DONE] = VV_OK,
};

vv_code api_answer(enum rc rc, const struct err *err, vv_error *out)
{
    ASSERT((size_t)rc < ARRAY_LEN(codes));
    if (out != NULL) {
        out->code = codes[rc];
        out->message[0] = '\0';
        if (codes[rc] != VV_OK)
            snprintf(out->message, sizeof out->message, "%s", err->msg);
    }
    return codes[rc];
}

enum rc api_callback_rc(vv_code code, vv_error *error, const char *what, struct err *err)
{
    if (code == VV_OK)
        return RC_OK;
    error->message[sizeof error->message - 1] = '\0';
    if (error->message[0] == '\0')
        snprintf(error->message, sizeof error->message, "code %d", (int)code);
    for (size_t rc = 1; rc < ARRAY_LEN(codes); rc++) {
        if (codes[rc] == code)
            return err_set(err, (enum rc)rc, "%s: %s", what, error->message);
    }
    return err_set(err, RC_INVALID, "%s: answered with the unknown code %d: %s", what, (int)code,
                   error->message);
}
