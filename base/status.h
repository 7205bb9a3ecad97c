/* status.h - result codes, error messages, assertions.
 *
 * Expected trouble (disk, bad bytes, bad config) is a returned `enum rc` with a message in
 * `struct err`; a broken promise of our own is an ASSERT, on in every build. Bytes from a disk, a
 * socket or a user are never asserted: they are checked and give RC_CORRUPT, RC_VERSION or
 * RC_INVALID. The deepest failure writes the message; each level that knows more adds a prefix.
 * Thread: everything here may be called from any thread on objects of its own.
 */
#ifndef VARVE_BASE_STATUS_H
#define VARVE_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))

/* What a caller can act on. What a human needs is in err->msg. */
enum rc {
    RC_OK = 0,
    RC_IO,          /* the environment refused; os_errno says how; may pass */
    RC_NOT_FOUND,   /* no such file, job, key, option */
    RC_EXISTS,      /* the name is taken */
    RC_NO_LINK,     /* hard link or reflink impossible here (EXDEV, EPERM, ENOTSUP, EMLINK): copy */
    RC_CORRUPT,     /* bytes are damaged or cut */
    RC_VERSION,     /* bytes of a version this program cannot read */
    RC_LIMIT,       /* a named limit would be exceeded */
    RC_INVALID,     /* the user's input is wrong: SQL, configuration, arguments, a bad row */
    RC_UNSUPPORTED, /* correct, but not built (yet); the message says so */
    RC_STATE,       /* not possible in the present state, e.g. stop of a job that has ended */
    RC_CANCELLED,   /* given up on request */
    RC_TIMEOUT,     /* took longer than the named limit */
    RC_DONE,        /* what was asked for is complete already: nothing was done, nothing is wrong */
};

/* Stable lower-case word for an rc ("corrupt"); for logs and tests. */
const char *rc_name(enum rc rc);

#define ERR_MSG_MAX 2048

/* Caller's memory; `= {0}` is "no error". msg is always a terminated string. */
struct err {
    enum rc rc;
    int os_errno; /* 0 when no system call was involved */
    char msg[ERR_MSG_MAX];
};

/* Write the message and return `rc`. A first error wins: a non-empty err is not overwritten. err may
 * be NULL (message dropped). A message too long is cut and ends in "...". */
enum rc err_set(struct err *err, enum rc rc, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same for a failed system call: appends ": <strerror>", keeps os_errno, chooses the code:
 * ENOENT/ENOTDIR RC_NOT_FOUND, EEXIST RC_EXISTS, EXDEV/EMLINK/ENOTSUP/EPERM RC_IO unless the caller maps
 * them, everything else RC_IO. */
enum rc err_os(struct err *err, int os_errno, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Put "<prefix>: " before the message; returns rc. */
enum rc err_wrap(struct err *err, enum rc rc, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Forget a handled error. */
void err_clear(struct err *err);

/* On in every build: prints file:line and the expression to stderr and aborts. */
#define ASSERT(cond) ((cond) ? (void)0 : assert_failed(__FILE__, __LINE__, #cond))
void assert_failed(const char *file, int line, const char *expr) NORETURN;

/* `return` with the call's code unless it is RC_OK. */
#define RETURN_IF_ERR(call)                                                                        \
    do {                                                                                           \
        enum rc rc_ = (call);                                                                      \
        if (rc_ != RC_OK)                                                                          \
            return rc_;                                                                            \
    } while (0)
/* Set the local `rc` and go to the local label `out` unless the call gave RC_OK. */
#define GOTO_IF_ERR(call)                                                                          \
    do {                                                                                           \
        rc = (call);                                                                               \
        if (rc != RC_OK)                                                                           \
            goto out;                                                                              \
    } while (0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
