/* remote_lease.h - a lock that is a small object of a remote file system: who holds it writes it anew from time to
 * time; one that was not written for its time-to-live is deserted.
 *
 * Ages are the server's: its date against the object's modification time, never a clock of this machine. A holder
 * that is a process of this machine and is gone holds nothing: who is restarted after a kill -9 need not wait. The
 * lock guards against mistakes (two commands at work in one directory), not against a holder that stands still for
 * longer than the time-to-live: the server refuses nothing that such a holder does afterwards. It learns of its loss by the
 * next write, or by lease_check, and has to stop by itself.
 *
 * Text: what lease_say gave, at the end of its first line LEASE_WORD "<16 hex> ttl_ms=<n> by=<process mark>"; ttl_ms=0:
 * given back.
 * Thread: any; one thread, "lease", writes those of a keeper anew. Its mutex is not held over a request.
 */
#ifndef VARVE_BASE_REMOTE_LEASE_H
#define VARVE_BASE_REMOTE_LEASE_H

#include "base/fs.h"
#include "base/log.h"
#include "base/process_mark.h"

#define LEASE_VERSION_MAX 128
#define LEASE_WORD " lease="
#define LEASE_TEXT_MAX (FS_LOCK_TEXT_MAX + 192)

struct lease_store_ops {
    /* Appends the object's text (at most LEASE_TEXT_MAX bytes) and gives its version and its age. RC_NOT_FOUND. */
    enum rc (*read)(void *ctx, const char *path, struct buf *text, char version[LEASE_VERSION_MAX],
                    int64_t *age_ms, struct err *);
    /* The object becomes `text`. version: of what is replaced, "" when nothing may be there; then the new one's.
     * RC_EXISTS: there is another one than that. */
    enum rc (*write)(void *ctx, const char *path, struct bytes text,
                     char version[LEASE_VERSION_MAX], struct err *);
};
struct lease_config {
    struct clock *clock; /* borrowed */
    struct log *log;     /* borrowed; NULL: none. A lease that was lost is said there */
    int64_t ttl_ms;
    uint64_t seed;
};
struct lease_keeper; /* opaque */
struct lease;        /* opaque; one owner */
struct lease_keeper *lease_keeper_new(const struct lease_store_ops *ops, void *ctx,
                                      const struct lease_config *config);
void lease_keeper_free(struct lease_keeper *keeper); /* no lease may be out */

/* RC_STATE: somebody holds it. */
MUST_USE enum rc lease_take(struct lease_keeper *keeper, const char *path, struct lease **out,
                            struct err *err);
MUST_USE enum rc lease_say(struct lease *lease, struct bytes text, struct err *err);
/* RC_STATE: it is known to be lost, for good: the message says to whom.
 *   confirm  false: no request is made, RC_OK: no loss is known. true: one that was not written for two thirds of its
 *            time-to-live is written now; any other code: that failed, and nobody knows. */
MUST_USE enum rc lease_check(struct lease *lease, bool confirm, struct err *err);
/* Gives it back, if that can be done now (else it is deserted after a while), and frees it. NULL is a no-op. */
void lease_release(struct lease *lease);
/* RC_OK and false when there is no such object. */
MUST_USE enum rc lease_probe(struct lease_keeper *keeper, const char *path, bool *held,
                             struct err *err);

/* What the text of an object says; pure. false: it is no lease's (then nobody holds it). */
bool lease_parse(struct bytes text, uint64_t *id, int64_t *ttl_ms, char by[PROCESS_MARK_MAX]);
void lease_format(struct buf *out, struct bytes said, uint64_t id, int64_t ttl_ms, const char *by);

#endif
