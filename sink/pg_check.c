/* pg_check.c - what a sink's table must be like in the server, looked at before any row is sent; and
 * the table of marks beside it. See pg_client.h */
#include "sink/pg_client_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FRACTION_MAX 6u /* digits of a second in PostgreSQL */

enum { COL_NAME, COL_TYPE, COL_KIND, COL_NOT_NULL, COL_FILLED, COL_COMPUTED, COL_SHOWN, COL_MOD };

struct check {
    struct pg_libpq *c;
    const struct pg_table *t;
    char oid[32];
    char *schema;
    PGresult *columns;
    struct buf faults; /* each on a line */
    struct err *err;
};

static void fault(struct check *k, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void fault(struct check *k, const char *fmt, ...)
{
    char line[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    buf_printf(&k->faults, "\n  %s", line);
}

static enum rc ask(struct check *k, const char *sql, const char *value, PGresult **out)
{
    return pg_exec(k->c, sql, 1, &value, k->t->name, out, k->err);
}

static enum rc find_table(struct check *k)
{
    struct buf name = {0};
    PGresult *r = NULL;
    enum rc rc;

    pg_put_table(&name, k->t->name);
    rc = ask(k,
             "SELECT c.oid, n.nspname, c.relkind, current_user FROM pg_class c JOIN pg_namespace n ON "
             "n.oid = c.relnamespace WHERE c.oid = to_regclass($1)",
             buf_cstr(&name), &r);
    buf_release(&name);
    RETURN_IF_ERR(rc);
    if (PQntuples(r) == 0)
        rc = err_set(k->err, RC_INVALID, "there is no table %s in database %s", k->t->name,
                     k->c->database);
    else if (strchr("rp", PQgetvalue(r, 0, 2)[0]) == NULL)
        rc = err_set(k->err, RC_INVALID, "%s in database %s is not a table", k->t->name,
                     k->c->database);
    if (rc == RC_OK) {
        snprintf(k->oid, sizeof k->oid, "%s", PQgetvalue(r, 0, 0));
        k->schema = mem_strdup(PQgetvalue(r, 0, 1));
    }
    PQclear(r);
    return rc;
}

static int column_at(const struct check *k, const char *name)
{
    for (int i = 0; i < PQntuples(k->columns); i++)
        if (strcmp(PQgetvalue(k->columns, i, COL_NAME), name) == 0)
            return i;
    return -1;
}

static bool is_true(const PGresult *r, int row, int column)
{
    return PQgetvalue(r, row, column)[0] == 't';
}

static bool takes(const struct pg_column *c, const char *type, const char *kind)
{
    char word[80];

    snprintf(word, sizeof word, " %s ", kind[0] == 'e' ? "enum" : type);
    return strstr(c->taken, word) != NULL;
}

/* numeric(p, s), time(p), timestamp(p): values must fit without being rounded. */
static bool fits(const struct pg_column *c, const char *type, int64_t modifier)
{
    if (strcmp(type, "numeric") == 0) {
        int64_t precision = ((modifier - 4) >> 16) & 0xffff, scale = (modifier - 4) & 0x7ff;

        return modifier < 4 || (scale >= c->fraction && precision - scale >= c->digits);
    }
    if (strncmp(type, "time", 4) == 0)
        return c->fraction <= (modifier < 0 ? FRACTION_MAX : modifier);
    return true;
}

static void check_column(struct check *k, const struct pg_column *c)
{
    int at = column_at(k, c->name);
    const char *shown;

    if (at < 0) {
        fault(k, "column %s %s: there is none", c->name, c->type);
        return;
    }
    shown = PQgetvalue(k->columns, at, COL_SHOWN);
    if (is_true(k->columns, at, COL_COMPUTED))
        fault(k, "column %s: the server computes it, it cannot be written", c->name);
    else if (!takes(c, PQgetvalue(k->columns, at, COL_TYPE), PQgetvalue(k->columns, at, COL_KIND)))
        fault(k, "column %s: %s does not go into %s", c->name, c->type, shown);
    else if (!fits(c, PQgetvalue(k->columns, at, COL_TYPE),
                   strtoll(PQgetvalue(k->columns, at, COL_MOD), NULL, 10)))
        fault(k, "column %s: %s would lose digits in %s", c->name, c->type, shown);
    else if (c->nullable && is_true(k->columns, at, COL_NOT_NULL))
        fault(k, "column %s: may be null here and is NOT NULL there; say %s NOT NULL", c->name,
              c->type);
}

static enum rc check_columns(struct check *k)
{
    RETURN_IF_ERR(ask(
        k,
        "SELECT a.attname, b.typname, b.typtype, a.attnotnull OR t.typnotnull,"
        " a.atthasdef OR a.attidentity <> '', a.attgenerated <> '' OR a.attidentity = 'a',"
        " format_type(a.atttypid, a.atttypmod),"
        " CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END FROM pg_attribute a"
        " JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b ON b.oid ="
        " CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END"
        " WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped",
        k->oid, &k->columns));
    for (uint32_t i = 0; i < k->t->column_count; i++)
        check_column(k, &k->t->columns[i]);
    for (int i = 0; i < PQntuples(k->columns); i++) {
        const char *name = PQgetvalue(k->columns, i, COL_NAME);
        bool written = false;

        for (uint32_t c = 0; c < k->t->column_count; c++)
            written = written || strcmp(k->t->columns[c].name, name) == 0;
        if (!written && is_true(k->columns, i, COL_NOT_NULL) && !is_true(k->columns, i, COL_FILLED))
            fault(k, "column %s: is NOT NULL there without a default, and not written", name);
    }
    return RC_OK;
}

/* ON CONFLICT needs a unique index over exactly the key. */
static enum rc check_key(struct check *k)
{
    struct buf names = {0};
    bool found = false;
    PGresult *r;

    if (k->t->key_count == 0)
        return RC_OK;
    RETURN_IF_ERR(ask(k,
                      "SELECT a.attname, i.indexrelid, i.indnkeyatts FROM pg_index i JOIN pg_attribute a"
                      " ON a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])"
                      "[0:i.indnkeyatts - 1]) WHERE i.indrelid = $1::oid AND i.indisunique AND"
                      " i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL"
                      " ORDER BY i.indexrelid",
                      k->oid, &r));
    for (int from = 0, to; from < PQntuples(r); from = to) {
        uint32_t shared = 0;

        for (to = from; to < PQntuples(r) &&
                        strcmp(PQgetvalue(r, to, 1), PQgetvalue(r, from, 1)) == 0;
             to++)
            for (uint32_t i = 0; i < k->t->key_count; i++)
                shared += strcmp(PQgetvalue(r, to, 0), k->t->columns[k->t->key[i]].name) == 0;
        found = found || (shared == k->t->key_count && (uint32_t)(to - from) == k->t->key_count);
    }
    PQclear(r);
    for (uint32_t i = 0; i < k->t->key_count; i++)
        buf_printf(&names, "%s%s", i == 0 ? "" : ", ", k->t->columns[k->t->key[i]].name);
    if (!found)
        fault(k, "it has no PRIMARY KEY or UNIQUE index on (%s), the PRIMARY KEY here",
              buf_cstr(&names));
    buf_release(&names);
    return RC_OK;
}

static enum rc check_rights(struct check *k)
{
    static const char *const rights[] = {"INSERT", "SELECT", "UPDATE", "DELETE"};
    PGresult *r;

    RETURN_IF_ERR(ask(k,
                      "SELECT has_table_privilege($1::oid, 'INSERT'), has_table_privilege($1::oid,"
                      " 'SELECT'), has_table_privilege($1::oid, 'UPDATE'),"
                      " has_table_privilege($1::oid, 'DELETE'), current_user,"
                      " has_database_privilege(current_database(), 'TEMPORARY')",
                      k->oid, &r));
    for (int i = 0; i < (k->t->key_count == 0 ? 1 : 4); i++)
        if (!is_true(r, 0, i))
            fault(k, "user %s may not %s", PQgetvalue(r, 0, 4), rights[i]);
    if (k->t->key_count > 0 && !is_true(r, 0, 5))
        fault(k, "user %s may not make temporary tables in the database", PQgetvalue(r, 0, 4));
    PQclear(r);
    return RC_OK;
}

/* Two that make it at once would collide in the catalog: one after the other. */
static enum rc make_marks(struct check *k)
{
    struct pg_libpq *c = k->c;
    struct buf name = {0}, sql = {0};
    PGresult *r = NULL;
    bool absent;
    enum rc rc;

    pg_put_name(&name, k->schema);
    buf_append_u8(&name, '.');
    pg_put_name(&name, c->marks_table);
    mem_free(c->marks);
    c->marks = mem_strdup(buf_cstr(&name));
    GOTO_IF_ERR(ask(k, "SELECT to_regclass($1) IS NULL", c->marks, &r));
    absent = is_true(r, 0, 0);
    buf_printf(&sql,
               "CREATE TABLE IF NOT EXISTS %s (writer text PRIMARY KEY, last_log bigint NOT NULL "
               "DEFAULT 0, checkpoint_id bigint, row_count bigint NOT NULL DEFAULT 0, followed_at "
               "bigint, committed_at timestamptz)",
               c->marks);
    if (absent) {
        GOTO_IF_ERR(pg_exec(c, "BEGIN", 0, NULL, c->marks, NULL, k->err));
        GOTO_IF_ERR(pg_exec(c, "SELECT pg_advisory_xact_lock(hashtext('varve marks'))", 0, NULL,
                            c->marks, NULL, k->err));
        rc = pg_exec(c, buf_cstr(&sql), 0, NULL, "make the table of marks", NULL, k->err);
        if (rc == RC_INVALID)
            err_wrap(k->err, rc, "run this once with the rights it needs: %s", buf_cstr(&sql));
        if (rc == RC_OK)
            rc = pg_exec(c, "COMMIT", 0, NULL, c->marks, NULL, k->err);
    }
out:
    PQclear(r);
    buf_release(&name);
    buf_release(&sql);
    return rc;
}

enum rc pg_check_table(struct pg_libpq *c, const struct pg_table *t, bool only_look,
                       struct err *err)
{
    struct check k = {.c = c, .t = t, .err = err};
    enum rc rc;

    GOTO_IF_ERR(find_table(&k));
    GOTO_IF_ERR(check_columns(&k));
    GOTO_IF_ERR(check_key(&k));
    GOTO_IF_ERR(check_rights(&k));
    if (k.faults.len > 0)
        GOTO_IF_ERR(err_set(err, RC_INVALID, "table %s in database %s does not fit:%s", t->name,
                            c->database, buf_cstr(&k.faults)));
    if (!only_look)
        GOTO_IF_ERR(make_marks(&k));
out:
    PQclear(k.columns);
    buf_release(&k.faults);
    mem_free(k.schema);
    return rc;
}
