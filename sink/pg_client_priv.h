/* pg_client_priv.h - what pg_client.c and pg_check.c share. For this folder only. */
#ifndef VARVE_SINK_PG_CLIENT_PRIV_H
#define VARVE_SINK_PG_CLIENT_PRIV_H

#include "sink/pg_client.h"

#include <libpq-fe.h>

struct pg_libpq {
    struct pg_client base;
    struct arena *arena; /* of the strings of pg_config */
    const char *host, *database, *user, *password, *sslmode, *marks_table;
    uint16_t port;
    int64_t timeout_ms;
    PGconn *conn; /* NULL: never connected */
    char *marks;  /* quoted, with its schema; set by check */
    /* Of the log that is loaded. */
    char *table;
    bool staged, copying;
    struct buf copy_sql, delete_sql, upsert_sql;
};
/* RC_OK also for COPY FROM STDIN. *out (may be NULL) is the caller's to PQclear. `doing` stands
 * before what the server says. */
MUST_USE enum rc pg_exec(struct pg_libpq *c, const char *sql, int count, const char *const *values,
                         const char *doing, PGresult **out, struct err *err);
void pg_put_name(struct buf *out, const char *name);  /* "a""b" */
void pg_put_table(struct buf *out, const char *name); /* s.t: "s"."t" */
/* pg_client_ops.check: pg_check.c. Sets `marks`. */
MUST_USE enum rc pg_check_table(struct pg_libpq *c, const struct pg_table *t, bool only_look,
                                struct err *err);

#endif
