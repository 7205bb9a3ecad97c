/* pg_client.c - see pg_client.h: the calls, over libpq. What a table must be like: pg_check.c.
 *
 * Rows come by COPY in text form. With a key they go into a temporary table first, and from there,
 * the last one of each key, by DELETE and INSERT .. ON CONFLICT. Calls block, at most for
 * pg_config.timeout_ms when the server's machine does not answer. */
#include "sink/pg_client_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- answers --------------------------------------------------------------------------------- */

static enum rc lost(struct pg_libpq *c, const char *doing, struct err *err)
{
    const char *said = c->conn == NULL ? "" : PQerrorMessage(c->conn);
    int len = (int)strcspn(said, "\n");

    return err_set(err, RC_IO, "%s: %s:%u: %s: %.*s", c->database, c->host, c->port, doing, len, said);
}

/* By class of SQLSTATE: what may pass. */
static enum rc code_of(const char *state)
{
    static const char *const again[] = {"40001", "40P01", "55P03", "57014"};

    if (state == NULL || strncmp(state, "08", 2) == 0 || strncmp(state, "57P", 3) == 0 ||
        strncmp(state, "53", 2) == 0 || strncmp(state, "58", 2) == 0)
        return RC_IO;
    for (size_t i = 0; i < ARRAY_LEN(again); i++)
        if (strcmp(state, again[i]) == 0)
            return RC_TIMEOUT;
    return RC_INVALID;
}

static void add_field(struct buf *text, const PGresult *r, int field, const char *before)
{
    const char *said = PQresultErrorField(r, field);

    if (said != NULL && said[0] != '\0')
        buf_printf(text, "%s%.500s", before, said);
}

static enum rc refused(struct pg_libpq *c, const PGresult *r, const char *doing, struct err *err)
{
    const char *state = r == NULL ? NULL : PQresultErrorField(r, PG_DIAG_SQLSTATE);
    struct buf text = {0};
    enum rc rc;

    if (PQstatus(c->conn) != CONNECTION_OK || state == NULL)
        return lost(c, doing, err);
    add_field(&text, r, PG_DIAG_MESSAGE_PRIMARY, "");
    buf_printf(&text, " (%s)", state);
    add_field(&text, r, PG_DIAG_MESSAGE_DETAIL, ": ");
    add_field(&text, r, PG_DIAG_CONTEXT, "; ");
    rc = err_set(err, code_of(state), "%s: %s", doing, buf_cstr(&text));
    buf_release(&text);
    return rc;
}

enum rc pg_exec(struct pg_libpq *c, const char *sql, int count, const char *const *values,
                const char *doing, PGresult **out, struct err *err)
{
    PGresult *r;
    ExecStatusType status;
    enum rc rc = RC_OK;

    if (c->conn == NULL)
        return err_set(err, RC_IO, "%s: no connection", doing);
    r = PQexecParams(c->conn, sql, count, NULL, values, NULL, NULL, 0);
    status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN)
        rc = refused(c, r, doing, err);
    if (rc == RC_OK && out != NULL)
        *out = r;
    else
        PQclear(r);
    return rc;
}

static enum rc run(struct pg_libpq *c, const char *sql, const char *doing, struct err *err)
{
    return pg_exec(c, sql, 0, NULL, doing, NULL, err);
}

/* A column of one row as a number; NULL and no row: 0. */
static uint64_t number_at(const PGresult *r, int column)
{
    return PQntuples(r) == 0 || PQgetisnull(r, 0, column) ? 0
                                                          : strtoull(PQgetvalue(r, 0, column), NULL, 10);
}

/* ---- names ----------------------------------------------------------------------------------- */

void pg_put_name(struct buf *out, const char *name)
{
    buf_append_u8(out, '"');
    for (; *name != '\0'; name++) {
        if (*name == '"')
            buf_append_u8(out, '"');
        buf_append_u8(out, (uint8_t)*name);
    }
    buf_append_u8(out, '"');
}

void pg_put_table(struct buf *out, const char *name)
{
    const char *dot = strchr(name, '.');
    char schema[256];

    if (dot != NULL && dot > name && (size_t)(dot - name) < sizeof schema) {
        memcpy(schema, name, (size_t)(dot - name));
        schema[dot - name] = '\0';
        pg_put_name(out, schema);
        buf_append_u8(out, '.');
        name = dot + 1;
    }
    pg_put_name(out, name);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void be_quiet(void *ctx UNUSED, const PGresult *r UNUSED) {}

/* Who waits for a lock of others gives up and tries again, so that a task can come to its end. */
static enum rc set_up(struct pg_libpq *c, const char *lock_timeout_ms, struct err *err)
{
    PQsetNoticeReceiver(c->conn, be_quiet, NULL);
    return pg_exec(c,
                   "SELECT set_config('client_encoding', 'UTF8', false),"
                   " set_config('datestyle', 'ISO, YMD', false),"
                   " set_config('timezone', 'UTC', false),"
                   " set_config('standard_conforming_strings', 'on', false),"
                   " set_config('lock_timeout', $1, false),"
                   " CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')"
                   " THEN set_config('synchronous_commit', 'on', false) END",
                   1, &lock_timeout_ms, "set up the session", NULL, err);
}

static enum rc pg_connect(struct pg_client *client, struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;
    char port[16], seconds[32], ms[32];
    enum rc rc;
    const char *const keys[] = {"host", "port", "dbname", "user", "password", "sslmode",
                                "connect_timeout", "tcp_user_timeout", "keepalives_idle",
                                "keepalives_interval", "fallback_application_name", NULL};
    const char *const values[] = {c->host, port, c->database, c->user, c->password, c->sslmode,
                                  seconds, ms, "10", "10", "varve", NULL};

    snprintf(port, sizeof port, "%u", c->port);
    snprintf(seconds, sizeof seconds, "%" PRId64, (c->timeout_ms + 999) / 1000);
    snprintf(ms, sizeof ms, "%" PRId64, c->timeout_ms);
    PQfinish(c->conn);
    c->copying = false;
    c->conn = PQconnectdbParams(keys, values, 0);
    if (PQstatus(c->conn) == CONNECTION_OK)
        return set_up(c, ms, err);
    rc = lost(c, "connect", err);
    /* It is there and does not want us: a wrong password, no such database, too many of us. */
    if (PQpingParams(keys, values, 0) == PQPING_OK)
        rc = err == NULL ? RC_TIMEOUT : (err->rc = RC_TIMEOUT);
    return rc;
}

static enum rc pg_check(struct pg_client *client, const struct pg_table *t, bool only_look,
                        struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;

    return pg_check_table(c, t, only_look, err);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static enum rc on_marks(struct pg_libpq *c, const char *fmt, int count, const char *const *values,
                        PGresult **out, struct err *err)
{
    struct buf sql = {0};
    enum rc rc;

    ASSERT(c->marks != NULL); /* check came before */
    buf_printf(&sql, fmt, c->marks);
    rc = pg_exec(c, buf_cstr(&sql), count, values, c->marks, out, err);
    buf_release(&sql);
    return rc;
}

static enum rc pg_mark(struct pg_client *client, const char *writer, struct pg_mark *out,
                       struct err *err)
{
    const char *values[] = {writer};
    PGresult *r;

    RETURN_IF_ERR(on_marks((struct pg_libpq *)client,
                           "SELECT last_log, followed_at + 1 FROM %s WHERE writer = $1", 1, values, &r,
                           err));
    *out = (struct pg_mark){number_at(r, 0), number_at(r, 1)};
    PQclear(r);
    return RC_OK;
}

static enum rc pg_follow(struct pg_client *client, const char *writer, uint64_t number,
                         struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;
    char text[32];
    const char *values[] = {writer, text};
    struct buf sql = {0};
    enum rc rc;

    snprintf(text, sizeof text, "%" PRIu64, number);
    buf_printf(&sql,
               "INSERT INTO %s AS m (writer, followed_at) VALUES ($1, $2) ON CONFLICT (writer) DO "
               "UPDATE SET followed_at = GREATEST(m.followed_at, EXCLUDED.followed_at)",
               c->marks);
    rc = pg_exec(c, buf_cstr(&sql), 2, values, c->marks, NULL, err);
    buf_release(&sql);
    return rc;
}

static enum rc pg_begin(struct pg_client *client, const char *writer, uint64_t *last,
                        struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;
    const char *values[] = {writer};
    PGresult *r;

    RETURN_IF_ERR(run(c, "BEGIN ISOLATION LEVEL READ COMMITTED", "begin", err));
    RETURN_IF_ERR(on_marks(c, "INSERT INTO %s (writer) VALUES ($1) ON CONFLICT (writer) DO NOTHING", 1,
                           values, NULL, err));
    RETURN_IF_ERR(on_marks(c, "SELECT last_log FROM %s WHERE writer = $1 FOR UPDATE", 1, values, &r,
                           err));
    *last = number_at(r, 0);
    PQclear(r);
    return RC_OK;
}

static enum rc pg_commit(struct pg_client *client, const char *writer, uint64_t number,
                         uint64_t checkpoint_id, uint64_t row_count, struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;
    char number_text[32], checkpoint_text[32], rows_text[32];
    const char *values[] = {writer, number_text, checkpoint_text, rows_text};
    PGresult *r;
    enum rc rc = RC_OK;

    snprintf(number_text, sizeof number_text, "%" PRIu64, number);
    snprintf(checkpoint_text, sizeof checkpoint_text, "%" PRIu64, checkpoint_id & INT64_MAX);
    snprintf(rows_text, sizeof rows_text, "%" PRIu64, row_count);
    RETURN_IF_ERR(on_marks(c,
                           "UPDATE %s SET last_log = $2, checkpoint_id = $3, row_count = row_count + $4,"
                           " committed_at = now() WHERE writer = $1",
                           4, values, NULL, err));
    RETURN_IF_ERR(pg_exec(c, "COMMIT", 0, NULL, c->table == NULL ? "commit" : c->table, &r, err));
    if (strcmp(PQcmdStatus(r), "COMMIT") != 0)
        rc = err_set(err, RC_INVALID, "commit: the server said %s", PQcmdStatus(r));
    PQclear(r);
    return rc;
}

static void end_copy_by_force(struct pg_libpq *c)
{
    PGresult *r;

    if (!c->copying)
        return;
    c->copying = false;
    (void)PQputCopyEnd(c->conn, "given up");
    while ((r = PQgetResult(c->conn)) != NULL)
        PQclear(r);
}

static void pg_rollback(struct pg_client *client)
{
    struct pg_libpq *c = (struct pg_libpq *)client;

    if (c->conn == NULL || PQstatus(c->conn) != CONNECTION_OK)
        return;
    end_copy_by_force(c);
    if (PQtransactionStatus(c->conn) != PQTRANS_IDLE)
        PQclear(PQexec(c->conn, "ROLLBACK"));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_columns(struct buf *out, const struct log_head *h, const char *before, bool key)
{
    uint32_t count = key ? h->key_count : h->column_count;

    for (uint32_t i = 0; i < count; i++) {
        buf_append_str(out, i == 0 ? "" : ", ");
        buf_append_str(out, before);
        pg_put_name(out, h->columns[key ? h->key[i] : i]);
    }
}

static bool is_key(const struct log_head *h, uint32_t column)
{
    for (uint32_t i = 0; i < h->key_count; i++)
        if (h->key[i] == column)
            return true;
    return false;
}

/* The temporary table: types of the target's columns, nulls allowed, in the order of arrival. */
static enum rc make_stage(struct pg_libpq *c, const struct log_head *h, struct err *err)
{
    struct buf sql = {0};
    enum rc rc;

    buf_append_str(&sql, "CREATE TEMPORARY TABLE varve_rows ON COMMIT DROP AS SELECT ");
    put_columns(&sql, h, "", false);
    buf_append_str(&sql, " FROM ");
    pg_put_table(&sql, h->table);
    buf_append_str(&sql, " WITH NO DATA");
    rc = run(c, buf_cstr(&sql), h->table, err);
    buf_release(&sql);
    RETURN_IF_ERR(rc);
    return run(c,
               "ALTER TABLE pg_temp.varve_rows ADD COLUMN varve_op \"char\", ADD COLUMN varve_seq "
               "bigint GENERATED ALWAYS AS IDENTITY",
               h->table, err);
}

/* The last row of each key decides. */
static void make_merge(struct pg_libpq *c, const struct log_head *h)
{
    struct buf *d = &c->delete_sql, *u = &c->upsert_sql;
    bool sets = false;

    buf_clear(d);
    buf_append_str(d, "DELETE FROM ");
    pg_put_table(d, h->table);
    buf_append_str(d, " AS t USING (SELECT DISTINCT ON (");
    put_columns(d, h, "", true);
    buf_append_str(d, ") * FROM pg_temp.varve_rows ORDER BY ");
    put_columns(d, h, "", true);
    buf_append_str(d, ", varve_seq DESC) AS s WHERE s.varve_op = 'D'");
    for (uint32_t i = 0; i < h->key_count; i++) {
        buf_append_str(d, " AND t.");
        pg_put_name(d, h->columns[h->key[i]]);
        buf_append_str(d, " = s.");
        pg_put_name(d, h->columns[h->key[i]]);
    }
    buf_clear(u);
    buf_append_str(u, "INSERT INTO ");
    pg_put_table(u, h->table);
    buf_append_str(u, " (");
    put_columns(u, h, "", false);
    buf_append_str(u, ") SELECT ");
    put_columns(u, h, "s.", false);
    buf_append_str(u, " FROM (SELECT DISTINCT ON (");
    put_columns(u, h, "", true);
    buf_append_str(u, ") * FROM pg_temp.varve_rows ORDER BY ");
    put_columns(u, h, "", true);
    buf_append_str(u, ", varve_seq DESC) AS s WHERE s.varve_op = 'U' ON CONFLICT (");
    put_columns(u, h, "", true);
    buf_append_str(u, ") DO ");
    for (uint32_t i = 0; i < h->column_count; i++) {
        if (is_key(h, i))
            continue;
        buf_append_str(u, sets ? ", " : "UPDATE SET ");
        pg_put_name(u, h->columns[i]);
        buf_append_str(u, " = EXCLUDED.");
        pg_put_name(u, h->columns[i]);
        sets = true;
    }
    if (!sets)
        buf_append_str(u, "NOTHING");
}

static enum rc pg_load(struct pg_client *client, const struct log_head *h, struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;

    mem_free(c->table);
    c->table = mem_strdup(h->table);
    c->staged = h->key_count > 0;
    buf_clear(&c->copy_sql);
    buf_append_str(&c->copy_sql, "COPY ");
    if (c->staged)
        buf_append_str(&c->copy_sql, "pg_temp.varve_rows (varve_op, ");
    else
        pg_put_table(&c->copy_sql, h->table);
    buf_append_str(&c->copy_sql, c->staged ? "" : " (");
    put_columns(&c->copy_sql, h, "", false);
    buf_append_str(&c->copy_sql, ") FROM STDIN");
    if (!c->staged)
        return RC_OK;
    make_merge(c, h);
    return make_stage(c, h, err);
}

static enum rc pg_rows(struct pg_client *client, struct bytes rows, struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;

    if (!c->copying)
        RETURN_IF_ERR(run(c, buf_cstr(&c->copy_sql), c->table, err));
    c->copying = true;
    ASSERT(rows.len <= INT32_MAX);
    if (PQputCopyData(c->conn, (const char *)rows.data, (int)rows.len) != 1)
        return lost(c, c->table, err);
    return RC_OK;
}

static enum rc end_copy(struct pg_libpq *c, struct err *err)
{
    PGresult *r;
    enum rc rc = RC_OK;

    if (!c->copying)
        return RC_OK;
    c->copying = false;
    if (PQputCopyEnd(c->conn, NULL) != 1)
        return lost(c, c->table, err);
    while ((r = PQgetResult(c->conn)) != NULL) {
        if (PQresultStatus(r) != PGRES_COMMAND_OK && rc == RC_OK)
            rc = refused(c, r, c->table, err);
        PQclear(r);
    }
    return rc;
}

static enum rc pg_flush(struct pg_client *client, struct err *err)
{
    struct pg_libpq *c = (struct pg_libpq *)client;
    PGresult *deletes;
    bool any;

    RETURN_IF_ERR(end_copy(c, err));
    if (!c->staged)
        return RC_OK;
    RETURN_IF_ERR(pg_exec(c, "SELECT FROM pg_temp.varve_rows WHERE varve_op = 'D' LIMIT 1", 0, NULL,
                          c->table, &deletes, err));
    any = PQntuples(deletes) > 0;
    PQclear(deletes);
    if (any)
        RETURN_IF_ERR(run(c, buf_cstr(&c->delete_sql), c->table, err));
    RETURN_IF_ERR(run(c, buf_cstr(&c->upsert_sql), c->table, err));
    return run(c, "TRUNCATE pg_temp.varve_rows", c->table, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void pg_free(struct pg_client *client)
{
    struct pg_libpq *c = (struct pg_libpq *)client;

    PQfinish(c->conn);
    buf_release(&c->copy_sql);
    buf_release(&c->delete_sql);
    buf_release(&c->upsert_sql);
    mem_free(c->marks);
    mem_free(c->table);
    arena_free(c->arena);
    mem_free(c);
}

static const struct pg_client_ops pg_ops = {
    .connect = pg_connect,
    .check = pg_check,
    .mark = pg_mark,
    .follow = pg_follow,
    .begin = pg_begin,
    .load = pg_load,
    .rows = pg_rows,
    .flush = pg_flush,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .free = pg_free,
};

static const char *copy_of(struct arena *a, const char *text)
{
    return text == NULL ? NULL : arena_strdup(a, text);
}

struct pg_client *pg_client_new(const struct pg_config *config)
{
    struct pg_libpq *c = mem_calloc(1, sizeof *c);

    c->base.ops = &pg_ops;
    c->arena = arena_new(512);
    c->host = copy_of(c->arena, config->host);
    c->port = config->port;
    c->database = copy_of(c->arena, config->database);
    c->user = copy_of(c->arena, config->user);
    c->password = copy_of(c->arena, config->password);
    c->sslmode = copy_of(c->arena, config->sslmode);
    c->marks_table = copy_of(c->arena, config->marks_table);
    c->timeout_ms = config->timeout_ms;
    return &c->base;
}
