/* varve_common.h - what varve.h (jobs) and varve_state.h (keyed state) share: version, errors,
 * options. Included by both; installed beside them. */
#ifndef VARVE_COMMON_H
#define VARVE_COMMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VV_API __attribute__((visibility("default")))
#else
#define VV_API
#endif

/* Of these headers. While the first number is 0, the second one changes with every change that
 * breaks callers. */
#define VV_VERSION_MAJOR 0
#define VV_VERSION_MINOR 1
VV_API const char *vv_version(void); /* of the library: "0.1.0"; any thread */

/* What a caller can act on; the message says the rest. */
typedef enum vv_code {
    VV_OK = 0,
    VV_IO,          /* the environment refused; may pass */
    VV_NOT_FOUND,   /* no such table, job, file */
    VV_EXISTS,      /* the name is taken */
    VV_CORRUPT,     /* a checkpoint is damaged */
    VV_VERSION,     /* written by a version that this one can't read */
    VV_LIMIT,       /* a named limit would be exceeded */
    VV_INVALID,     /* a mistake in SQL, an option, an argument */
    VV_UNSUPPORTED, /* correct, but not built */
    VV_STATE,       /* not possible now: a job that has ended, a snapshot that is written already */
    VV_CANCELLED,
    VV_TIMEOUT
} vv_code;
/* Filled by every call that gets one: code VV_OK and an empty message when all went well. */
typedef struct vv_error {
    vv_code code;
    char
        message[2048]; /* terminated; mistakes in SQL have line, column and the line with a caret */
} vv_error;

/* A setting, with Flink's keys: {"state.backend.type", "rocksdb"}. */
typedef struct vv_option {
    const char *key, *value;
} vv_option;

#ifdef __cplusplus
}
#endif

#endif
