/* api_error.h - our result codes and messages as those of the public API, and back. Any thread. */
#ifndef VARVE_BASE_API_ERROR_H
#define VARVE_BASE_API_ERROR_H

#include "base/status.h"

#include "varve_common.h"

/* Fills the caller's error (NULL: nobody asked); returns its code. */
vv_code api_answer(enum rc rc, const struct err *err, vv_error *out);
/* The answer of a caller's function; its message counts when it is not VV_OK. `what` names the
 * function. */
MUST_USE enum rc api_callback_rc(vv_code code, vv_error *error, const char *what, struct err *err);

#endif
