/* pg_double.c - see pg_double.h */
#include "tests/lib/pg_double.h"

#include "tests/lib/sim_fs.h"

#include <stdio.h>
#include <stdlib.h>

struct client {
    struct pg_client base;
    struct pg_double *d;
    struct buf rows; /* of the transaction */
    bool keyed;
};

void pg_double_init(struct pg_double *d)
{
    *d = (struct pg_double){.fail_at = UINT64_MAX, .fail_rc = RC_IO, .fail_times = 1};
}

void pg_double_revive(struct pg_double *d)
{
    d->dead = false;
    d->fail_at = UINT64_MAX;
}

/* Of the call at hand: whether it fails before, or after, its effect. */
static enum rc fate(struct pg_double *d, bool *late, struct err *err)
{
    uint64_t call = d->calls++;

    *late = false;
    if (d->dead || (d->dies_with != NULL && sim_fs_down(d->dies_with)))
        return err_set(err, RC_CANCELLED, "the process is dead");
    if (call < d->fail_at || call >= d->fail_at + d->fail_times)
        return RC_OK;
    if (d->dies_with != NULL) {
        d->dead = true;
        sim_fs_crash_at(d->dies_with, 0);
    }
    *late = d->fail_late;
    return *late ? RC_OK
                 : err_set(err, d->dies_with != NULL ? RC_CANCELLED : d->fail_rc, "call %llu fails",
                           (unsigned long long)call);
}

static enum rc late_end(struct pg_double *d, bool late, struct err *err)
{
    if (!late)
        return RC_OK;
    return err_set(err, d->dead ? RC_CANCELLED : d->fail_rc, "the answer is lost");
}

#define BEGIN_CALL                                                                                 \
    struct client *c = (struct client *)client;                                                    \
    bool late;                                                                                     \
    RETURN_IF_ERR(fate(c->d, &late, err))

static enum rc d_connect(struct pg_client *client, struct err *err)
{
    BEGIN_CALL;
    c->d->connects++;
    buf_clear(&c->rows);
    return late_end(c->d, late, err);
}

static enum rc d_check(struct pg_client *client, const struct pg_table *t UNUSED,
                       bool only_look UNUSED, struct err *err)
{
    BEGIN_CALL;
    if (c->d->check_fault != NULL)
        return err_set(err, RC_INVALID, "%s", c->d->check_fault);
    return late_end(c->d, late, err);
}

static struct pg_mark *mark_of(struct pg_double *d, const char *writer)
{
    size_t i = 0;

    while (i < d->mark_count && strcmp(d->marks[i].writer, writer) != 0)
        i++;
    if (i == d->mark_count) {
        ASSERT(i < PG_DOUBLE_MARKS);
        snprintf(d->marks[d->mark_count++].writer, sizeof d->marks[0].writer, "%s", writer);
    }
    return &d->marks[i].mark;
}

static enum rc d_mark(struct pg_client *client, const char *writer, struct pg_mark *out,
                      struct err *err)
{
    BEGIN_CALL;
    *out = *mark_of(c->d, writer);
    return late_end(c->d, late, err);
}

static enum rc d_follow(struct pg_client *client, const char *writer, uint64_t number,
                        struct err *err)
{
    struct pg_mark *mark;

    BEGIN_CALL;
    mark = mark_of(c->d, writer);
    if (mark->followed < number + 1)
        mark->followed = number + 1;
    return late_end(c->d, late, err);
}

static enum rc d_begin(struct pg_client *client, const char *writer, uint64_t *last,
                       struct err *err)
{
    BEGIN_CALL;
    buf_clear(&c->rows);
    *last = mark_of(c->d, writer)->last;
    return late_end(c->d, late, err);
}

static enum rc d_load(struct pg_client *client, const struct log_head *h, struct err *err)
{
    BEGIN_CALL;
    c->keyed = h->key_count > 0;
    snprintf(c->d->table, sizeof c->d->table, "%s", h->table);
    c->d->columns[0] = '\0';
    for (uint32_t i = 0; i < h->column_count; i++)
        snprintf(c->d->columns + strlen(c->d->columns),
                 sizeof c->d->columns - strlen(c->d->columns), "%s ", h->columns[i]);
    return late_end(c->d, late, err);
}

static enum rc d_rows(struct pg_client *client, struct bytes rows, struct err *err)
{
    BEGIN_CALL;
    buf_append(&c->rows, rows.data, rows.len);
    return late_end(c->d, late, err);
}

static enum rc d_flush(struct pg_client *client, struct err *err)
{
    BEGIN_CALL;
    ASSERT(c->rows.len > 0 && c->rows.data[c->rows.len - 1] == '\n');
    c->d->flushes++;
    return late_end(c->d, late, err);
}

static void apply(struct client *c)
{
    const char *line = buf_cstr(&c->rows);

    for (; *line != '\0'; line = strchr(line, '\n') + 1) {
        char *end;
        unsigned long row = strtoul(line + (c->keyed ? 2 : 0), &end, 10);

        ASSERT(row < PG_DOUBLE_ROWS);
        if (!c->keyed)
            c->d->seen[row]++;
        else
            c->d->value[row] = line[0] == 'D' ? 0 : (uint32_t)strtoul(end + 1, NULL, 10);
    }
}

static enum rc d_commit(struct pg_client *client, const char *writer, uint64_t number,
                        uint64_t checkpoint_id UNUSED, uint64_t row_count UNUSED, struct err *err)
{
    BEGIN_CALL;
    apply(c);
    buf_clear(&c->rows);
    mark_of(c->d, writer)->last = number;
    c->d->commits++;
    return late_end(c->d, late, err);
}

static void d_rollback(struct pg_client *client)
{
    buf_clear(&((struct client *)client)->rows);
}

static void d_free(struct pg_client *client)
{
    struct client *c = (struct client *)client;

    buf_release(&c->rows);
    mem_free(c);
}

static const struct pg_client_ops ops = {
    .connect = d_connect,
    .check = d_check,
    .mark = d_mark,
    .follow = d_follow,
    .begin = d_begin,
    .load = d_load,
    .rows = d_rows,
    .flush = d_flush,
    .commit = d_commit,
    .rollback = d_rollback,
    .free = d_free,
};

struct pg_client *pg_double_client(struct pg_double *d)
{
    struct client *c = mem_calloc(1, sizeof *c);

    c->base.ops = &ops;
    c->d = d;
    return &c->base;
}
