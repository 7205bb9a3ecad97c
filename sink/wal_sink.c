/* wal_sink.c - see wal_sink.h. Keeps C7. Before prepare returns, content and name of every log that
 * it hands out are durable (C2). */
#include "sink/wal_sink.h"

#include <inttypes.h>
#include <stdio.h>

#define FIRST_WAIT_MS 100
#define WAIT_MAX_MS 5000
#define WAIT_STEP_MS 100 /* between two looks at `stop` */

struct pending { /* a closed log */
    struct log_entry entry;
    uint64_t hold;
    bool own;      /* of this writer; else of origins[origin] */
    bool assigned; /* entry.checkpoint_id holds */
    bool named;    /* a snapshot has it */
    size_t origin;
};
struct origin { /* a writer of the restored snapshot whose logs came here */
    struct log_record record;
    char writer[LOG_WRITER_MAX];
};
struct known { /* one of all writers of the restored snapshot, or of one that it went on from */
    struct log_position position;
    char writer[LOG_WRITER_MAX];
};
struct wal_sink {
    struct sink sink;
    struct wal_sink_config config; /* strings are ours */
    struct arena *arena;           /* of the above, of origins and known */
    struct pg_client *client;
    char writer[LOG_WRITER_MAX];
    struct log_head head; /* of new logs */
    struct log_writer *open;
    uint64_t last_number; /* of the open log, or of the one before */
    struct pending *list; /* in the order in which they are sent */
    size_t count, cap;
    struct origin *origins;
    size_t origin_count;
    struct known *known;
    size_t known_count;
    bool followed; /* marks of the restored writers say that this run went on from them */
    bool connected;
    bool failed; /* only abort is left */
    struct sink_stats stats;
};

static struct wal_sink *self(struct sink *sink)
{
    return (struct wal_sink *)sink;
}

static enum rc fail(struct wal_sink *s, enum rc rc, struct err *err)
{
    s->failed = true;
    return err_wrap(err, rc, "%s", s->config.name);
}

static enum rc check_usable(const struct wal_sink *s, struct err *err)
{
    return s->failed ? err_set(err, RC_STATE, "%s: failed before", s->config.name) : RC_OK;
}

static enum rc log_path(const struct wal_sink *s, const char *uuid, uint32_t subtask_index,
                        uint64_t number, char name[LOG_NAME_MAX], char path[FS_PATH_MAX],
                        struct err *err)
{
    log_name_make(uuid, subtask_index, number, name);
    return path_join(path, FS_PATH_MAX, s->config.dir, name, err);
}

static enum rc pending_path(const struct wal_sink *s, const struct pending *p,
                            char name[LOG_NAME_MAX], char path[FS_PATH_MAX], struct err *err)
{
    const struct log_record *r = p->own ? NULL : &s->origins[p->origin].record;

    return log_path(s, r == NULL ? s->config.uuid : r->uuid,
                    r == NULL ? s->config.subtask_index : r->subtask_index, p->entry.number, name,
                    path, err);
}

/* Known from now on; held until it is sent. */
static enum rc add_pending(struct wal_sink *s, struct pending p, struct err *err)
{
    char name[LOG_NAME_MAX], path[FS_PATH_MAX];

    RETURN_IF_ERR(pending_path(s, &p, name, path, err));
    RETURN_IF_ERR(s->config.hold(s->config.hold_ctx, name, p.entry.size_bytes, p.entry.digest,
                                 &p.hold, err));
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 4 : s->cap * 2;
        s->list = mem_realloc(s->list, s->cap * sizeof *s->list);
    }
    s->list[s->count++] = p;
    return RC_OK;
}

static void release_log(struct wal_sink *s, const struct pending *p)
{
    char name[LOG_NAME_MAX], path[FS_PATH_MAX];

    if (pending_path(s, p, name, path, NULL) == RC_OK) /* it was when it was held */
        s->config.release(s->config.hold_ctx, p->hold, name);
}

/* ---- writing --------------------------------------------------------------------------------- */

static struct log_head head_of(const struct pg_table *t, struct arena *arena)
{
    const char **columns = ARENA_ARRAY(arena, t->column_count, const char *);

    for (uint32_t i = 0; i < t->column_count; i++)
        columns[i] = t->columns[i].name;
    return (struct log_head){.table = t->name,
                             .column_count = t->column_count,
                             .columns = columns,
                             .key_count = t->key_count,
                             .key = t->key};
}

static enum rc open_log(struct wal_sink *s, struct err *err)
{
    char name[LOG_NAME_MAX], path[FS_PATH_MAX];

    RETURN_IF_ERR(
        log_path(s, s->config.uuid, s->config.subtask_index, s->last_number + 1, name, path, err));
    RETURN_IF_ERR(log_writer_create(s->config.env->fs, path, &s->head, &s->open, err));
    s->last_number++;
    return RC_OK;
}

static enum rc wal_write(struct sink *sink, struct bytes bucket UNUSED, struct bytes data,
                         uint64_t row_count, int64_t now_wall_ms UNUSED, struct err *err)
{
    struct wal_sink *s = self(sink);
    enum rc rc = RC_OK;

    RETURN_IF_ERR(check_usable(s, err));
    if (row_count == 0)
        return RC_OK;
    if (s->open == NULL)
        rc = open_log(s, err);
    if (rc == RC_OK && log_writer_size(s->open) + data.len > s->config.log_bytes_max)
        rc = err_set(err, RC_LIMIT,
                     "more than %" PRIu64 " bytes of rows since the last checkpoint "
                     "(varve.sink.log.max-size)",
                     s->config.log_bytes_max);
    if (rc == RC_OK)
        rc = log_writer_append(s->open, data, (uint32_t)row_count, err);
    if (rc != RC_OK)
        return fail(s, rc, err);
    s->stats.bytes_written += data.len;
    s->stats.rows_written += row_count;
    return RC_OK;
}

static enum rc wal_on_time(struct sink *sink, int64_t now_wall_ms UNUSED, int64_t *next_wall_ms,
                           struct err *err)
{
    *next_wall_ms = INT64_MAX;
    return check_usable(self(sink), err);
}

static enum rc close_log(struct wal_sink *s, struct err *err)
{
    struct pending p = {.own = true, .entry = {.number = s->last_number}};
    struct log_writer *w = s->open;

    if (w == NULL)
        return RC_OK;
    s->open = NULL;
    RETURN_IF_ERR(log_writer_finish(w, &p.entry.size_bytes, &p.entry.row_count, &p.entry.digest, err));
    return add_pending(s, p, err);
}

/* Where this writer stands. While the restored ones may not be followed yet, one subtask hands them
 * on: rows of this snapshot's logs come after theirs, whoever sends them. */
static struct sink_items encode_positions(const struct wal_sink *s, struct arena *arena)
{
    bool hands_on = s->config.subtask_index == 0 && !s->followed;
    struct bytes *items = ARENA_ARRAY(arena, 1 + s->known_count, struct bytes);
    struct log_position own = {.subtask_index = s->config.subtask_index,
                               .last_number = s->last_number};
    size_t count = 0;

    memcpy(own.uuid, s->config.uuid, sizeof own.uuid);
    items[count++] = log_position_encode(&own, arena);
    for (size_t i = 0; hands_on && i < s->known_count; i++) {
        struct log_position p = s->known[i].position;

        if (p.earlier)
            continue; /* followed at open */
        p.earlier = true;
        items[count++] = log_position_encode(&p, arena);
    }
    return (struct sink_items){count, items};
}

static enum rc encode_snapshot(struct wal_sink *s, struct arena *arena, struct sink_snapshot *out,
                               struct err *err)
{
    struct log_record record = {.subtask_index = s->config.subtask_index,
                                .last_number = s->last_number,
                                .logs = ARENA_ARRAY(arena, s->count, struct log_entry)};
    struct bytes *item = ARENA_NEW(arena, struct bytes);
    struct sink_log *logs = ARENA_ARRAY(arena, s->count, struct sink_log);
    char name[LOG_NAME_MAX], path[FS_PATH_MAX];

    memcpy(record.uuid, s->config.uuid, sizeof record.uuid);
    for (size_t i = 0; i < s->count; i++) {
        struct pending *p = &s->list[i];

        ASSERT(p->own); /* those of the restored snapshot were sent at open */
        RETURN_IF_ERR(pending_path(s, p, name, path, err));
        logs[i] = (struct sink_log){arena_strdup(arena, path), p->entry.size_bytes, p->entry.digest,
                                    !p->named};
        p->named = true;
        record.logs[record.log_count++] = p->entry;
    }
    *item = log_record_encode(&record, arena);
    *out = (struct sink_snapshot){.writer = encode_positions(s, arena),
                                  .committables = {1, item},
                                  .log_count = s->count,
                                  .logs = logs};
    return RC_OK;
}

static enum rc wal_prepare(struct sink *sink, uint64_t checkpoint_id, bool end_of_input UNUSED,
                           int64_t now_wall_ms UNUSED, struct arena *arena,
                           struct sink_snapshot *out, struct err *err)
{
    struct wal_sink *s = self(sink);
    enum rc rc;

    *out = (struct sink_snapshot){0};
    RETURN_IF_ERR(check_usable(s, err));
    rc = close_log(s, err);
    for (size_t i = 0; i < s->count && rc == RC_OK; i++)
        if (!s->list[i].assigned) {
            s->list[i].assigned = true;
            s->list[i].entry.checkpoint_id = checkpoint_id;
        }
    if (rc == RC_OK)
        rc = encode_snapshot(s, arena, out, err);
    return rc == RC_OK ? RC_OK : fail(s, rc, err);
}

/* ---- sending --------------------------------------------------------------------------------- */

struct patience { /* with a server that is gone, or gives up, or a disk that fails */
    int64_t deadline_mono_ns, wait_ms;
    uint32_t tries_left;
};

static bool is_stopped(const struct wal_sink *s)
{
    return s->config.stop != NULL && atomic_load(s->config.stop);
}

/* Waits before the next try; false: no more tries. */
static bool try_again(struct wal_sink *s, struct patience *p, enum rc rc, const struct err *why)
{
    struct clock *clock = s->config.env->clock;
    int64_t now_ns = clock_mono_ns(clock);

    if ((rc != RC_IO && rc != RC_TIMEOUT) || is_stopped(s))
        return false;
    if (rc == RC_IO) {
        s->connected = false;
        if (now_ns >= p->deadline_mono_ns)
            return false;
    } else if (p->tries_left-- == 0) {
        return false;
    }
    log_line(s->config.env->log, LOG_WARN, "sink tries again name=\"%s\" wait_ms=%" PRId64
             " reason=\"%s\"", s->config.name, p->wait_ms, why->msg);
    for (int64_t waited = 0; waited < p->wait_ms && !is_stopped(s); waited += WAIT_STEP_MS)
        clock_sleep_ns(clock, WAIT_STEP_MS * NS_PER_MS);
    p->wait_ms = p->wait_ms * 2 > WAIT_MAX_MS ? WAIT_MAX_MS : p->wait_ms * 2;
    return true;
}

static enum rc connect(struct wal_sink *s, struct err *err)
{
    if (!s->connected)
        RETURN_IF_ERR(s->client->ops->connect(s->client, err));
    s->connected = true;
    return RC_OK;
}

/* `what` over and over while it makes sense. */
static enum rc with_patience(struct wal_sink *s,
                             enum rc (*what)(struct wal_sink *, void *, struct err *), void *arg,
                             struct err *err)
{
    struct patience p = {.deadline_mono_ns = clock_mono_ns(s->config.env->clock) +
                                             s->config.retry_ms * NS_PER_MS,
                         .wait_ms = FIRST_WAIT_MS,
                         .tries_left = s->config.tries};
    struct err why;
    enum rc rc;

    do {
        why = (struct err){0};
        rc = connect(s, &why);
        if (rc == RC_OK)
            rc = what(s, arg, &why);
        if (rc != RC_OK)
            s->client->ops->rollback(s->client);
    } while (rc != RC_OK && try_again(s, &p, rc, &why));
    if (rc != RC_OK && err != NULL && err->rc == RC_OK)
        *err = why;
    return rc;
}

/* Our disk is not the server: a connection made anew would not help, another try may. */
static enum rc of_disk(enum rc rc, struct err *err)
{
    if (rc != RC_IO)
        return rc;
    if (err != NULL)
        err->rc = RC_TIMEOUT;
    return RC_TIMEOUT;
}

static enum rc send_blocks(struct wal_sink *s, struct log_reader *r, struct err *err)
{
    const struct pg_client_ops *pg = s->client->ops;
    uint32_t rows, in_batch = 0;
    struct bytes piece;

    RETURN_IF_ERR(pg->load(s->client, log_reader_head(r), err));
    for (;;) {
        RETURN_IF_ERR(of_disk(log_reader_block(r, &rows, err), err));
        if (in_batch > 0 && (rows == 0 || in_batch >= s->config.batch_rows)) {
            RETURN_IF_ERR(pg->flush(s->client, err));
            in_batch = 0;
        }
        if (rows == 0)
            return RC_OK;
        in_batch += rows;
        do {
            RETURN_IF_ERR(of_disk(log_reader_piece(r, &piece, err), err));
            if (piece.len > 0)
                RETURN_IF_ERR(pg->rows(s->client, piece, err));
        } while (piece.len > 0);
    }
}

/* One transaction; nothing of it counts unless all of the log was proven (C13). */
static enum rc send_once(struct wal_sink *s, void *arg, struct err *err)
{
    const struct pending *p = arg;
    const char *writer = p->own ? s->writer : s->origins[p->origin].writer;
    const struct pg_client_ops *pg = s->client->ops;
    char name[LOG_NAME_MAX], path[FS_PATH_MAX];
    struct log_reader *r = NULL;
    uint64_t last;
    enum rc rc;

    GOTO_IF_ERR(pg->begin(s->client, writer, &last, err));
    if (p->entry.number <= last) { /* it is in */
        pg->rollback(s->client);
        return RC_OK;
    }
    GOTO_IF_ERR(pending_path(s, p, name, path, err));
    rc = of_disk(log_reader_open(s->config.env->fs, path, p->entry.size_bytes, p->entry.row_count,
                                 p->entry.digest, &r, err),
                 err);
    if (rc == RC_OK)
        rc = send_blocks(s, r, err);
    if (rc == RC_OK)
        rc = pg->commit(s->client, writer, p->entry.number, p->entry.checkpoint_id,
                        p->entry.row_count, err);
out:
    log_reader_free(r);
    return rc;
}

static enum rc follow_once(struct wal_sink *s, void *arg, struct err *err)
{
    const bool *earlier = arg;
    const struct pg_client_ops *pg = s->client->ops;

    if (!*earlier) /* first: a subtask that is still to open finds that it was its own deployment */
        RETURN_IF_ERR(pg->follow(s->client, s->config.uuid, 0, err));
    for (size_t i = 0; i < s->known_count; i++)
        if (s->known[i].position.earlier == *earlier)
            RETURN_IF_ERR(pg->follow(s->client, s->known[i].writer,
                                     s->known[i].position.last_number, err));
    return RC_OK;
}

/* The marks of writers: before rows come in that were written after theirs. */
static enum rc follow(struct wal_sink *s, bool earlier, struct err *err)
{
    if (s->config.table->key_count > 0 || s->known_count == 0)
        return RC_OK;
    return with_patience(s, follow_once, &earlier, err);
}

/* In order; what was sent is forgotten at once, so that a failure goes on behind it. */
static enum rc send_due(struct wal_sink *s, uint64_t checkpoint_id, struct err *err)
{
    size_t done = 0;
    enum rc rc = RC_OK;

    while (done < s->count && s->list[done].assigned &&
           s->list[done].entry.checkpoint_id <= checkpoint_id) {
        rc = with_patience(s, send_once, &s->list[done], err);
        if (rc != RC_OK)
            break;
        s->stats.finished_parts++;
        s->stats.finished_rows += s->list[done].entry.row_count;
        release_log(s, &s->list[done++]);
    }
    s->count -= done;
    if (done > 0)
        memmove(s->list, s->list + done, s->count * sizeof *s->list);
    return rc;
}

static enum rc wal_commit(struct sink *sink, uint64_t checkpoint_id, struct err *err)
{
    struct wal_sink *s = self(sink);
    enum rc rc = s->followed ? RC_OK : follow(s, false, err);

    s->followed = s->followed || rc == RC_OK;
    if (rc == RC_OK)
        rc = send_due(s, checkpoint_id, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s", s->config.name);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void wal_stats(const struct sink *sink, struct sink_stats *out)
{
    const struct wal_sink *s = (const struct wal_sink *)sink;

    *out = s->stats;
    out->open_parts = s->open != NULL;
    out->pending_parts = s->count;
}

/* A log that is still open is in no snapshot: its rows come again, or are not wanted. Closed ones
 * are the checkpoints' to keep. */
static void wal_abort(struct sink *sink)
{
    struct wal_sink *s = self(sink);
    char name[LOG_NAME_MAX], path[FS_PATH_MAX];
    enum rc gone UNUSED;

    if (s->open != NULL) {
        log_writer_abandon(s->open);
        if (log_path(s, s->config.uuid, s->config.subtask_index, s->last_number, name, path,
                     NULL) == RC_OK)
            gone = fs_unlink(s->config.env->fs, path, NULL); /* else an orphan */
    }
    for (size_t i = 0; i < s->count; i++)
        release_log(s, &s->list[i]);
    s->client->ops->free(s->client);
    mem_free(s->list);
    arena_free(s->arena);
    mem_free(s);
}

static enum rc wal_close(struct sink *sink, struct err *err UNUSED)
{
    wal_abort(sink);
    return RC_OK;
}

static const struct sink_ops wal_sink_ops = {
    .write = wal_write,
    .on_time = wal_on_time,
    .prepare = wal_prepare,
    .commit = wal_commit,
    .stats = wal_stats,
    .abort = wal_abort,
    .close = wal_close,
};

/* ---- opening --------------------------------------------------------------------------------- */

static enum rc take_known(struct wal_sink *s, const struct sink_items *items, struct err *err)
{
    s->known = ARENA_ARRAY(s->arena, items->count, struct known);
    for (size_t i = 0; i < items->count; i++) {
        struct known *k = &s->known[i];
        const char *what = arena_printf(s->arena, "writer %zu", i);

        RETURN_IF_ERR(log_position_decode(items->items[i], what, &k->position, err));
        log_writer_name(k->position.uuid, k->position.subtask_index, k->writer);
        s->known_count++;
    }
    return RC_OK;
}

static enum rc check_known(const struct wal_sink *s, const struct origin *o, const char *what,
                           struct err *err)
{
    for (size_t i = 0; i < s->known_count; i++)
        if (strcmp(s->known[i].writer, o->writer) == 0 && !s->known[i].position.earlier &&
            s->known[i].position.last_number == o->record.last_number)
            return RC_OK;
    return err_set(err, RC_CORRUPT,
                   "%s: writer %s with last log %" PRIu64 " is not in the list %s", what, o->writer,
                   o->record.last_number, SINK_STATE_WRITER);
}

static enum rc take_origins(struct wal_sink *s, const struct sink_items *items, struct err *err)
{
    s->origins = ARENA_ARRAY(s->arena, items->count, struct origin);
    for (size_t i = 0; i < items->count; i++) {
        struct origin *o = &s->origins[i];
        const char *what = arena_printf(s->arena, "item %zu", i);

        RETURN_IF_ERR(log_record_decode(items->items[i], s->arena, what, &o->record, err));
        log_writer_name(o->record.uuid, o->record.subtask_index, o->writer);
        s->origin_count++;
        RETURN_IF_ERR(check_known(s, o, what, err));
        for (size_t k = 0; k < o->record.log_count; k++)
            RETURN_IF_ERR(add_pending(s,
                                      (struct pending){.entry = o->record.logs[k],
                                                       .assigned = true,
                                                       .named = true,
                                                       .origin = i},
                                      err));
    }
    return RC_OK;
}

/* Whether rows that were written behind that log are in, or may be, by another deployment. */
static enum rc look_behind(struct wal_sink *s, const struct known *k, bool *rows, struct err *err)
{
    uint64_t last = k->position.last_number;
    struct pg_mark mark, own;

    RETURN_IF_ERR(s->client->ops->mark(s->client, k->writer, &mark, err));
    *rows = mark.last > last;
    if (*rows || mark.followed <= last)
        return RC_OK;
    RETURN_IF_ERR(s->client->ops->mark(s->client, s->config.uuid, &own, err));
    *rows = own.followed == 0;
    return RC_OK;
}

/* Without a key rows after the restored snapshot would come twice. */
static enum rc check_marks(struct wal_sink *s, struct err *err)
{
    for (size_t i = 0; i < s->known_count && s->config.table->key_count == 0; i++) {
        bool rows;

        if (s->known[i].position.earlier)
            continue; /* rows behind it are those that are to be sent */
        RETURN_IF_ERR(look_behind(s, &s->known[i], &rows, err));
        if (!rows)
            continue;
        if (!s->config.repeat_rows)
            return err_set(err, RC_STATE,
                           "a run that went on from the restored snapshot has sent rows to table %s, "
                           "they would be there twice: restore a newer snapshot, or give the table a "
                           "PRIMARY KEY, or accept it with 'varve.sink.repeat-rows' = 'true'",
                           s->config.table->name);
        log_line(s->config.env->log, LOG_WARN, "rows come twice name=\"%s\" table=%s",
                 s->config.name, s->config.table->name);
        break;
    }
    return RC_OK;
}

static enum rc check_target(struct wal_sink *s, void *arg UNUSED, struct err *err)
{
    RETURN_IF_ERR(s->client->ops->check(s->client, s->config.table, false, err));
    return check_marks(s, err);
}

enum rc wal_sink_open(const struct wal_sink_config *config, struct pg_client *client,
                      const struct sink_snapshot *restored, struct sink **out, struct err *err)
{
    struct wal_sink *s = mem_calloc(1, sizeof *s);
    enum rc rc = RC_OK;

    *out = NULL;
    s->sink.ops = &wal_sink_ops;
    s->client = client;
    s->arena = arena_new(0);
    s->config = *config;
    s->config.dir = arena_strdup(s->arena, config->dir);
    s->config.uuid = arena_strdup(s->arena, config->uuid);
    s->config.name = arena_strdup(s->arena, config->name);
    s->head = head_of(config->table, s->arena);
    log_writer_name(config->uuid, config->subtask_index, s->writer);
    if (restored != NULL) {
        GOTO_IF_ERR(take_known(s, &restored->writer, err));
        GOTO_IF_ERR(take_origins(s, &restored->committables, err));
    }
    GOTO_IF_ERR(with_patience(s, check_target, NULL, err));
    GOTO_IF_ERR(follow(s, true, err));
    GOTO_IF_ERR(send_due(s, UINT64_MAX, err));
out:
    if (rc != RC_OK) {
        wal_abort(&s->sink);
        return err_wrap(err, rc, "open %s", config->name);
    }
    *out = &s->sink;
    return RC_OK;
}
