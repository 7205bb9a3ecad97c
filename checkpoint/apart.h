/* apart.h - work in a process of its own, which tells what it finds: RocksDB can be ended by a
 * damaged database in ways that nobody looked for, and then it is the child that ends.
 *
 * The child is a copy of the process as it is, with one thread: only for a process that has no
 * others now, and has not opened a database. It must not write to streams of the parent's.
 */
#ifndef VARVE_CHECKPOINT_APART_H
#define VARVE_CHECKPOINT_APART_H

#include "base/bytes.h"

#define APART_MESSAGE_MAX (1u << 20)

struct apart_ear; /* opaque: the parent's, in the child */
/* In the child; when nobody listens any more the child ends. At most APART_MESSAGE_MAX bytes. */
void apart_tell(struct apart_ear *ear, struct bytes message);

#define APART_END_MAX 64
/* Runs work(ctx, ear) in a child, which ends when it returns. heard is called here for each
 * message, in order. end: "" when it came to its end; else what ended the child before: "signal 11
 * (Segmentation fault)", "exit code 1". RC_IO: no child could be made. */
MUST_USE enum rc apart_run(void (*work)(void *ctx, struct apart_ear *ear), void *ctx,
                           void (*heard)(void *heard_ctx, struct bytes message), void *heard_ctx,
                           char end[APART_END_MAX], struct err *err);

#endif
