/* pg_client.h - a target that keeps what it is told in one transaction: PostgreSQL, or a double of
 * it in tests.
 *
 * For each writer of logs the target keeps a mark in a table of its own: the number of the last log
 * that is in. Rows of a log and its mark come in together or not at all, so a log that is sent again
 * finds its number there and changes nothing (C7).
 *
 *     connect -> check -> [ mark | follow | begin -> load -> (rows* flush)* -> commit ]* -> free
 *                                             any failure: rollback
 *
 * Codes of every call: RC_IO, the connection is gone or not to be had: connect again, then try
 * again. RC_TIMEOUT, the server gave the transaction up (deadlock, serialization, lock), or lets
 * nobody in: try again, a few times.
 * RC_INVALID, it refuses: the message has the server's words, and the table. Never a password.
 * Thread: the task's.
 */
#ifndef VARVE_SINK_PG_CLIENT_H
#define VARVE_SINK_PG_CLIENT_H

#include "sink/log_file.h"

struct pg_column {
    const char *name;
    const char *type;  /* as the job's SQL says it, for messages */
    const char *taken; /* names of the target's types that take it: " int4 int8 numeric " */
    bool nullable;
    uint32_t digits;   /* DECIMAL: before the point; else 0 */
    uint32_t fraction; /* DECIMAL, TIME, TIMESTAMP: digits behind it */
};
struct pg_table {
    const char *name;
    uint32_t column_count;
    const struct pg_column *columns;
    uint32_t key_count;
    const uint32_t *key;
};
struct pg_mark {
    uint64_t last;     /* 0: none */
    uint64_t followed; /* 1 + the number that a later writer went on from with rows of its own; 0: none */
};

struct pg_client; /* first member is its ops */
struct pg_client_ops {
    /* Anew, whatever there was. */
    enum rc (*connect)(struct pg_client *, struct err *);
    /* The table fits: columns, types, nulls, key, rights. All faults at once. Makes the table of marks
     * when absent, unless only_look. */
    enum rc (*check)(struct pg_client *, const struct pg_table *, bool only_look, struct err *);
    enum rc (*mark)(struct pg_client *, const char *writer, struct pg_mark *, struct err *);
    /* Rows of writers that went on behind log `number` of this one are in, or will be. */
    enum rc (*follow)(struct pg_client *, const char *writer, uint64_t number, struct err *);
    /* A transaction begins; nobody else moves the writer's mark in it. *last as in the mark. */
    enum rc (*begin)(struct pg_client *, const char *writer, uint64_t *last, struct err *);
    enum rc (*load)(struct pg_client *, const struct log_head *, struct err *);
    enum rc (*rows)(struct pg_client *, struct bytes, struct err *);
    /* What came is in the table; complete rows. */
    enum rc (*flush)(struct pg_client *, struct err *);
    /* After RC_OK durable. After RC_IO nobody knows. */
    enum rc (*commit)(struct pg_client *, const char *writer, uint64_t number, uint64_t checkpoint_id,
                      uint64_t row_count, struct err *);
    void (*rollback)(struct pg_client *);
    void (*free)(struct pg_client *);
};
struct pg_client {
    const struct pg_client_ops *ops;
};

/* Where the server is. Strings are copied. */
struct pg_config {
    const char *host; /* name, address, or directory of a Unix socket */
    uint16_t port;
    const char *database;
    const char *user, *password; /* NULL: what libpq finds (PGUSER, PGPASSWORD, ~/.pgpass) */
    const char *sslmode;         /* NULL: libpq's */
    const char *marks_table;     /* in the schema of the target's table */
    int64_t timeout_ms;          /* of connecting, and of a peer that does not answer */
};
/* pg_client.c: over libpq. Connects later. */
struct pg_client *pg_client_new(const struct pg_config *config);

#endif
