/* own_program.h - this program once more, in a process of its own, for work that may end it: what a
 * library does with bytes of others can be stopped by nothing else. Any process may start one, whatever
 * threads it has: it is started anew, not copied.
 *
 * It is started with a word that says what it is for, gets a request on its standard input and answers
 * on its standard output, whole both; standard error is shared. It ends with the process that started it,
 * and never later. Thread: any. */
#ifndef VARVE_BASE_OWN_PROGRAM_H
#define VARVE_BASE_OWN_PROGRAM_H

#include "base/bytes.h"

#define OWN_PROGRAM_SELF "/proc/self/exe" /* also when its file was replaced meanwhile */

struct own_program {
    const char *path;
    /* Whether this process shall end, so that no answer is waited for any more; called by threads that
     * wait, as often as 20 times a second. NULL: never. */
    bool (*asked_to_end)(void *ctx);
    void *ctx;
};

#define OWN_PROGRAM_END_MAX 64
/* Runs `<path> <word> <pid of this process>` to its end. end: "" when it ended by itself with exit code
 * 0, then `answer` is whole; else what ended it: "signal 11 (Segmentation fault)", "exit code 1".
 * RC_CANCELLED: asked to end, so was it; RC_LIMIT: it answers more than answer_max bytes; RC_IO: it
 * cannot be started. */
MUST_USE enum rc own_program_run(const struct own_program *program, const char *word,
                                 struct bytes request, size_t answer_max, struct buf *answer,
                                 char end[OWN_PROGRAM_END_MAX], struct err *err);

/* ---- in the process that was started ---- */

/* First of all: from now on it ends with the process `pid` (as text), which started it. RC_STATE: that
 * has ended. */
MUST_USE enum rc own_program_follow(const char *pid, struct err *err);
MUST_USE enum rc own_program_request(size_t max, struct buf *out, struct err *err);
MUST_USE enum rc own_program_answer(struct bytes answer, struct err *err);

#endif
