/* toy_target.c - the board of a toy job as the target of a sink with a write-ahead log: transactions
 * with the marks of its writers, in memory that outlives jobs. See toy_job.h, sink/pg_client.h. */
#include "tests/lib/toy_job.h"

#include "job/operator/operators.h"

#include <stdio.h>
#include <stdlib.h>

struct toy_mark {
    char writer[80];
    struct pg_mark mark;
    struct toy_mark *next;
};
struct target { /* what `connect` gets */
    struct pg_config config;
    struct toy_board *board;
};
struct client {
    struct pg_client base;
    struct toy_board *board;
    struct buf rows; /* of the transaction */
};

static struct pg_mark *mark_of(struct toy_board *b, const char *writer) NO_THREAD_SAFETY
{
    struct toy_mark *m = b->marks;

    while (m != NULL && strcmp(m->writer, writer) != 0)
        m = m->next;
    if (m == NULL) {
        m = mem_calloc(1, sizeof *m);
        snprintf(m->writer, sizeof m->writer, "%s", writer);
        m->next = b->marks;
        b->marks = m;
    }
    return &m->mark;
}

void toy_target_release(struct toy_board *b) NO_THREAD_SAFETY
{
    while (b->marks != NULL) {
        struct toy_mark *m = b->marks;

        b->marks = m->next;
        mem_free(m);
    }
}

static struct client *self(struct pg_client *c)
{
    return (struct client *)c;
}

static enum rc t_connect(struct pg_client *c, struct err *err UNUSED)
{
    buf_clear(&self(c)->rows);
    return RC_OK;
}

static enum rc t_check(struct pg_client *c UNUSED, const struct pg_table *t UNUSED,
                       bool only_look UNUSED, struct err *err UNUSED)
{
    return RC_OK;
}

static enum rc t_mark(struct pg_client *c, const char *writer, struct pg_mark *out,
                      struct err *err UNUSED)
{
    struct toy_board *b = self(c)->board;

    mutex_lock(&b->mutex);
    *out = *mark_of(b, writer);
    mutex_unlock(&b->mutex);
    return RC_OK;
}

static enum rc t_follow(struct pg_client *c, const char *writer, uint64_t number,
                        struct err *err UNUSED)
{
    struct toy_board *b = self(c)->board;
    struct pg_mark *mark;

    mutex_lock(&b->mutex);
    mark = mark_of(b, writer);
    mark->followed = mark->followed > number + 1 ? mark->followed : number + 1;
    mutex_unlock(&b->mutex);
    return RC_OK;
}

static enum rc t_begin(struct pg_client *c, const char *writer, uint64_t *last, struct err *err)
{
    struct pg_mark mark;

    buf_clear(&self(c)->rows);
    RETURN_IF_ERR(t_mark(c, writer, &mark, err));
    *last = mark.last;
    return RC_OK;
}

static enum rc t_load(struct pg_client *c UNUSED, const struct log_head *h UNUSED,
                      struct err *err UNUSED)
{
    return RC_OK;
}

static enum rc t_rows(struct pg_client *c, struct bytes rows, struct err *err UNUSED)
{
    buf_append(&self(c)->rows, rows.data, rows.len);
    return RC_OK;
}

static enum rc t_flush(struct pg_client *c UNUSED, struct err *err UNUSED)
{
    return RC_OK;
}

/* "k\tv": a row, or with k below 0 the sum of the state at the end of the input. */
static enum rc t_commit(struct pg_client *c, const char *writer, uint64_t number,
                        uint64_t checkpoint_id UNUSED, uint64_t row_count UNUSED,
                        struct err *err UNUSED)
{
    struct toy_board *b = self(c)->board;
    struct toy_transaction t = {.id = 1 + atomic_fetch_add(&b->next_transaction, 1)};

    for (const char *line = buf_cstr(&self(c)->rows); *line != '\0';) {
        char *end;
        long long k = strtoll(line, &end, 10);
        uint64_t v = strtoull(end + 1, &end, 10);

        ASSERT(*end == '\n');
        *(k < 0 ? &t.final_count : &t.rows) += k < 0 ? (uint64_t)-k : 1;
        *(k < 0 ? &t.final_sum : &t.sum) += v;
        line = end + 1;
    }
    toy_board_commit(b, &t);
    mutex_lock(&b->mutex);
    mark_of(b, writer)->last = number;
    mutex_unlock(&b->mutex);
    return RC_OK;
}

static void t_rollback(struct pg_client *c)
{
    buf_clear(&self(c)->rows);
}

static void t_free(struct pg_client *c)
{
    buf_release(&self(c)->rows);
    mem_free(c);
}

static const struct pg_client_ops ops = {
    .connect = t_connect,
    .check = t_check,
    .mark = t_mark,
    .follow = t_follow,
    .begin = t_begin,
    .load = t_load,
    .rows = t_rows,
    .flush = t_flush,
    .commit = t_commit,
    .rollback = t_rollback,
    .free = t_free,
};

static struct pg_client *client_new(const struct pg_config *config)
{
    struct client *c = mem_calloc(1, sizeof *c);

    c->base.ops = &ops;
    c->board = ((const struct target *)config)->board;
    return &c->base;
}

const void *toy_target_sink(struct toy_board *b, const struct schema *input, struct arena *a)
{
    struct sink_spec *spec = ARENA_NEW(a, struct sink_spec);
    struct pg_column *columns = ARENA_ARRAY(a, 2, struct pg_column);
    struct pg_table *table = ARENA_NEW(a, struct pg_table);
    struct target *target = ARENA_NEW(a, struct target);

    columns[0].name = "k";
    columns[1].name = "v";
    *table = (struct pg_table){.name = "board", .column_count = 2, .columns = columns};
    target->board = b;
    *spec = (struct sink_spec){.input = input,
                               .table_name = "board",
                               .kind = SINK_POSTGRES,
                               .server = &target->config,
                               .table = table,
                               .connect = client_new,
                               .batch_rows = 100,
                               .tries = 2,
                               .retry_ms = 1000,
                               .log_bytes_max = 1 << 30};
    return spec;
}
