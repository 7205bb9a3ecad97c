/* wal_sink.h - exactly once into a target that has transactions, but none over a checkpoint: rows
 * wait in a log until their checkpoint is complete.
 *
 *     write  -> the open log            prepare(n) -> the log is closed, durable, held, and n's
 *     commit(n) -> each log of n and before, in order, in one transaction with its mark -> released
 *
 * A log is named by every snapshot from the one that closed it to the last before it was sent; a
 * restore from any of them sends it, and the mark tells that it is in (pg_client.h): also when the
 * run that made it goes on, or another restore came before. What a restore finds, it sends at open,
 * before it takes a row. Rows that came after the restored snapshot come again: with a key they are
 * put over what is there; without one that would make them twice, so it is refused when the marks
 * show that some are in, or may be. For this each subtask knows all writers of the restored snapshot,
 * and tells the target, before it sends rows of its own, that they were gone on from. A snapshot
 * that was made before has those writers too: whoever restores it tells the target in its place.
 *
 * `write` takes rows as the target's COPY takes them (log_file.h). After: GenericWriteAheadSink,
 * CheckpointCommitter (Flink); differs: the mark is in the target's transaction.
 */
#ifndef VARVE_SINK_WAL_SINK_H
#define VARVE_SINK_WAL_SINK_H

#include "sink/log_record.h"
#include "sink/pg_client.h"
#include "sink/sink.h"

#include <stdatomic.h>

struct wal_sink_config {
    const struct env *env;
    const char *dir;  /* of the logs; there, and empty of this uuid's */
    const char *uuid; /* one a deployment of a job */
    uint32_t subtask_index;
    const char *name; /* for messages */
    const struct pg_table *table; /* borrowed while open */
    uint32_t batch_rows;    /* that go into the table by one statement */
    uint32_t tries;         /* of a transaction that the server gives up */
    int64_t retry_ms;       /* how long a server that is gone is looked for */
    uint64_t log_bytes_max; /* of one log: rows between two checkpoints */
    bool repeat_rows;       /* without a key: go on although rows come twice */
    const _Atomic bool *stop; /* NULL, or: set when waiting is to end */
    /* Keeps a log for this sink; release deletes it unless a checkpoint needs it. */
    enum rc (*hold)(void *ctx, const char *name, uint64_t size_bytes, struct digest128 digest,
                    uint64_t *hold, struct err *err);
    void (*release)(void *ctx, uint64_t hold, const char *name);
    void *hold_ctx;
};
/* Takes the client, whatever the code. Connects, checks the table, sends what is restored. RC_STATE:
 * rows would come twice. RC_CORRUPT, RC_NOT_FOUND: a restored log. */
MUST_USE enum rc wal_sink_open(const struct wal_sink_config *config, struct pg_client *client_take,
                               const struct sink_snapshot *restored, struct sink **out,
                               struct err *err);

#endif
