/* sink_op.c - the end of a chain: encodes rows, hands bytes to a sink, and gives it its state and its notifications.
 *
 * Files: rows go to the bucket of their partition values; what a checkpoint must hold of the sink is prepared at its barrier and kept
 * as list states; the sink commits when the checkpoint is notified as complete (C7). Without checkpoints the end of
 * the input commits, unless it is that of a stop with drain, which takes its savepoint first. PostgreSQL: rows go into a write-ahead log in
 * taskowned/ (sink/wal_sink.h). Print shows each change as Flink's print connector does. See operators.h, sink/sink.h. */
#include "job/datetime.h"
#include "job/operator/copy_rows.h"
#include "job/operator/operators.h"
#include "sink/wal_sink.h"

#include <stdio.h>
#include <unistd.h>

#define BLOCK_BYTES (1u << 20) /* of a log, at least: a block ends behind it */
#define EARLIER_MAX 32 /* attempts whose hidden files are looked for */

/* Rows of one partition within a batch. */
struct bucket_rows {
    struct buf path;
    uint32_t *rows;
    uint32_t count;
};

struct sink_op {
    struct operator op;
    const struct sink_spec *spec;
    const struct operator_context *ctx;
    struct sink *sink;       /* NULL for blackhole and collect */
    struct encoder *encoder; /* SINK_FILES */
    struct buf bytes;        /* encoded rows of the batch at hand */
    bool checkpointing;      /* a checkpoint comes after the end of the input */
    bool input_ended;
    struct bucket_rows *buckets; /* of the batch at hand; slots are kept */
    uint32_t bucket_count, bucket_cap;
    char print_prefix[128];
};

/* ---- opening -------------------------------------------------------------------------------------- */

/* One uuid a deployment, the same in every subtask: from the job's id, which is new for each run, and the attempt. A restart so never
 * gives the name of a part that a savepoint newer than the restored checkpoint holds. */
void sink_deployment_uuid(const char *job_id, const char *operator_id, uint32_t attempt, char out[UUID_LEN + 1])
{
    struct buf text = {0};
    struct rng rng;

    buf_printf(&text, "sink %s %s %u", job_id, operator_id, attempt);
    rng_seed(&rng, hash64(buf_bytes(&text)));
    rng_uuid(&rng, out);
    buf_release(&text);
}

/* Earlier attempts of which nothing was restored. Each cleans up after those before it, so the last ones are enough. */
static uint32_t earlier_uuids(const struct operator_context *ctx, char uuids[EARLIER_MAX][UUID_LEN + 1],
                              const char *list[EARLIER_MAX])
{
    uint32_t count = ctx->restored ? 0 : ctx->attempt < EARLIER_MAX ? ctx->attempt : EARLIER_MAX;

    for (uint32_t i = 0; i < count; i++) {
        sink_deployment_uuid(ctx->job_id, ctx->operator_id, ctx->attempt - 1 - i, uuids[i]);
        list[i] = uuids[i];
    }
    return count;
}

static struct sink_items restored_items(const struct operator_context *ctx, const char *name)
{
    struct sink_items items = {0};

    items.count = operator_state_restored(ctx->state, name, &items.items);
    return items;
}

static enum rc open_files(struct sink_op *s, struct err *err)
{
    const struct sink_spec *spec = s->spec;
    const struct operator_context *ctx = s->ctx;
    struct sink_snapshot restored = {.writer = restored_items(ctx, SINK_STATE_WRITER),
                                     .committables = restored_items(ctx, SINK_STATE_COMMITTABLES)};
    char uuid[UUID_LEN + 1], name[256], earlier[EARLIER_MAX][UUID_LEN + 1];
    const char *earlier_list[EARLIER_MAX];
    struct file_sink_config config = {
        .env = ctx->env,
        .path = spec->path,
        .uuid = uuid,
        .subtask_index = ctx->subtask_index,
        .rolling = {.on_checkpoint = spec->roll_on_checkpoint,
                    .size_bytes = spec->roll_size_bytes,
                    .rollover_ms = spec->roll_age_ms,
                    .inactivity_ms = spec->roll_idle_ms},
        .ignore_missing_parts = config_bool(ctx->config, OPT_RESTORE_IGNORE_MISSING_PARTS),
        .remove_leftovers = (ctx->restored || ctx->attempt > 0) && ctx->earlier_run_dead,
        .earlier_uuids = earlier_list,
        .earlier_uuid_count = earlier_uuids(ctx, earlier, earlier_list),
        .name = name,
    };
    bool *skip = mem_calloc(spec->input->field_count + 1, sizeof *skip);

    sink_deployment_uuid(ctx->job_id, ctx->operator_id, ctx->attempt, uuid);
    snprintf(name, sizeof name, "%s (%u/%u)", ctx->operator_name, ctx->subtask_index + 1, ctx->parallelism);
    for (uint32_t i = 0; i < spec->partition_count; i++)
        skip[spec->partition_columns[i]] = true;
    s->encoder = spec->format->encoder_new(spec->input, spec->format_options, skip);
    mem_free(skip);
    return file_sink_open(&config, &restored, &s->sink, err);
}

static enum rc hold_log(void *ctx, const char *name, uint64_t size_bytes, struct digest128 digest, uint64_t *hold,
                        struct err *err)
{
    return storage_hold(ctx, name, size_bytes, digest, hold, err);
}

static void release_log(void *ctx, uint64_t hold, const char *name)
{
    storage_release_hold(ctx, hold, name);
}

static enum rc open_postgres(struct sink_op *s, struct err *err)
{
    const struct sink_spec *spec = s->spec;
    const struct operator_context *ctx = s->ctx;
    struct sink_snapshot restored = {.writer = restored_items(ctx, SINK_STATE_WRITER),
                                     .committables = restored_items(ctx, SINK_STATE_COMMITTABLES)};
    char uuid[UUID_LEN + 1], name[256];
    struct wal_sink_config config = {
        .env = ctx->env,
        .dir = storage_taskowned_dir(ctx->storage),
        .uuid = uuid,
        .subtask_index = ctx->subtask_index,
        .name = name,
        .table = spec->table,
        .batch_rows = spec->batch_rows,
        .tries = spec->tries,
        .retry_ms = spec->retry_ms,
        .log_bytes_max = spec->log_bytes_max,
        .repeat_rows = spec->repeat_rows,
        .stop = ctx->stop,
        .hold = hold_log,
        .release = release_log,
        .hold_ctx = ctx->storage,
    };

    ASSERT(config.dir != NULL); /* sink_op_check_start */
    sink_deployment_uuid(ctx->job_id, ctx->operator_id, ctx->attempt, uuid);
    snprintf(name, sizeof name, "%s (%u/%u)", ctx->operator_name, ctx->subtask_index + 1, ctx->parallelism);
    return wal_sink_open(&config, spec->connect(spec->server), &restored, &s->sink, err);
}

static enum rc sink_op_open(struct operator *op, const struct operator_context *ctx, struct err *err)
{
    struct sink_op *s = (struct sink_op *)op;
    const struct sink_spec *spec = s->spec;
    bool named = spec->print_identifier != NULL && spec->print_identifier[0] != '\0';

    s->ctx = ctx;
    s->checkpointing = config_has(ctx->config, OPT_CP_INTERVAL) && config_bool(ctx->config, OPT_CP_AFTER_FINISH);
    switch (spec->kind) {
    case SINK_FILES:
        return open_files(s, err);
    case SINK_PRINT:
        if (ctx->parallelism > 1)
            snprintf(s->print_prefix, sizeof s->print_prefix, "%s%s%u> ", named ? spec->print_identifier : "",
                     named ? ":" : "", ctx->subtask_index + 1);
        else if (named)
            snprintf(s->print_prefix, sizeof s->print_prefix, "%s> ", spec->print_identifier);
        s->sink = print_sink_new(spec->print_to_stderr ? STDERR_FILENO : STDOUT_FILENO, ctx->operator_name);
        return RC_OK;
    case SINK_POSTGRES:
        return open_postgres(s, err);
    case SINK_BLACKHOLE:
    case SINK_COLLECT:
        return RC_OK;
    }
    return RC_OK;
}

/* Items of the lists of that name, of all subtasks together. */
static struct sink_items items_of(struct arena *a, const char *name, const struct list_state *lists, size_t count)
{
    struct sink_items out = {0};
    struct bytes *items;
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += strcmp(lists[i].name, name) == 0 ? lists[i].item_count : 0;
    items = ARENA_ARRAY(a, n + 1, struct bytes);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; strcmp(lists[i].name, name) == 0 && k < lists[i].item_count; k++)
            items[out.count++] = lists[i].items[k];
    out.items = items;
    return out;
}

static enum rc ask_postgres(const struct sink_spec *spec, struct err *err)
{
    struct pg_client *client = spec->connect(spec->server);
    enum rc rc = client->ops->connect(client, err);

    if (rc == RC_OK)
        rc = client->ops->check(client, spec->table, true, err);
    client->ops->free(client);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "table %s", spec->table_name);
}

enum rc sink_op_check_start(const void *spec, const char *checkpoint_dir, bool ask, struct err *err)
{
    const struct sink_spec *s = spec;

    if (s->kind != SINK_POSTGRES)
        return RC_OK;
    if (checkpoint_dir[0] == '\0')
        return err_set(err, RC_INVALID,
                       "table %s: the connector 'jdbc' needs execution.checkpointing.dir: rows wait there in a log "
                       "until their checkpoint is complete",
                       s->table_name);
    return ask ? ask_postgres(s, err) : RC_OK;
}

enum rc sink_op_check_restored(const void *spec, const struct env *env, const struct config *config,
                               const struct list_state *lists, size_t list_count, struct err *err)
{
    const struct sink_spec *s = spec;
    struct arena *a = arena_new(0);
    struct sink_snapshot restored = {
        .writer = items_of(a, SINK_STATE_WRITER, lists, list_count),
        .committables = items_of(a, SINK_STATE_COMMITTABLES, lists, list_count)};
    struct file_sink_config look = {.env = env,
                                    .path = s->path,
                                    .uuid = "",
                                    .ignore_missing_parts = config_bool(config, OPT_RESTORE_IGNORE_MISSING_PARTS),
                                    .name = s->table_name};
    enum rc rc = s->kind == SINK_FILES ? file_sink_check_restored(&look, &restored, err) : RC_OK;

    arena_free(a);
    return rc;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* Appends a partition value with the characters escaped that Flink escapes in partition paths. */
static void append_escaped(struct buf *path, struct bytes value)
{
    for (size_t i = 0; i < value.len; i++) {
        uint8_t c = value.data[i];

        if (c < 0x20 || c == 0x7f || strchr("\"#%'*/:=?\\{}[]^", c) != NULL)
            buf_printf(path, "%%%02X", c);
        else
            buf_append_u8(path, c);
    }
}

static void partition_path(const struct sink_spec *spec, const struct batch *in, uint32_t row, struct buf *path)
{
    struct buf value = {0};

    for (uint32_t i = 0; i < spec->partition_count; i++) {
        const struct column *c = &in->columns[spec->partition_columns[i]];

        buf_clear(&value);
        if (column_present(c, row))
            column_print(c, row, &value);
        if (value.len == 0)
            buf_append_str(&value, spec->partition_default_name);
        if (i > 0)
            buf_append_u8(path, '/');
        append_escaped(path, bytes_of_str(spec->input->fields[spec->partition_columns[i]].name));
        buf_append_u8(path, '=');
        append_escaped(path, buf_bytes(&value));
    }
    buf_release(&value);
}

static struct bucket_rows *find_bucket(struct sink_op *s, struct bytes path)
{
    struct bucket_rows *b;

    for (uint32_t i = 0; i < s->bucket_count; i++)
        if (bytes_eq(buf_bytes(&s->buckets[i].path), path))
            return &s->buckets[i];
    if (s->bucket_count == s->bucket_cap) {
        uint32_t cap = s->bucket_cap == 0 ? 4 : s->bucket_cap * 2;

        s->buckets = mem_realloc(s->buckets, cap * sizeof *s->buckets);
        memset(s->buckets + s->bucket_cap, 0, (cap - s->bucket_cap) * sizeof *s->buckets);
        s->bucket_cap = cap;
    }
    b = &s->buckets[s->bucket_count++];
    if (b->rows == NULL)
        b->rows = mem_alloc(BATCH_ROWS_MAX * sizeof *b->rows);
    buf_clear(&b->path);
    buf_append(&b->path, path.data, path.len);
    b->count = 0;
    return b;
}

static enum rc write_rows(struct sink_op *s, struct bytes bucket, const struct batch *in,
                          const uint32_t *sel, uint32_t n, struct err *err)
{
    buf_clear(&s->bytes);
    RETURN_IF_ERR(s->encoder->ops->encode(s->encoder, in, sel, n, &s->bytes, NULL, err));
    s->ctx->metrics->bytes_out += s->bytes.len;
    return sink_write(s->sink, bucket, buf_bytes(&s->bytes), n, clock_wall_ms(s->ctx->env->clock), err);
}

static enum rc write_files(struct sink_op *s, const struct batch *in, struct err *err)
{
    struct buf path = {0};
    enum rc rc = RC_OK;

    if (s->spec->partition_count == 0)
        return write_rows(s, bytes_of_str(""), in, NULL, in->rows, err);
    s->bucket_count = 0;
    for (uint32_t i = 0; i < in->rows; i++) {
        struct bucket_rows *b;

        buf_clear(&path);
        partition_path(s->spec, in, i, &path);
        b = find_bucket(s, buf_bytes(&path));
        b->rows[b->count++] = i;
    }
    for (uint32_t i = 0; i < s->bucket_count && rc == RC_OK; i++)
        rc = write_rows(s, buf_bytes(&s->buckets[i].path), in, s->buckets[i].rows, s->buckets[i].count, err);
    buf_release(&path);
    return rc;
}

/* As java.time prints, which Flink's print shows: seconds only where not zero (an instant has them always), fractions in groups of
 * three digits: "2026-01-01T10:00", "2026-01-01T10:00:00.120", "2026-01-01T10:00:00Z". */
static void print_java_timestamp(int64_t value, uint8_t precision, bool instant, struct buf *out)
{
    size_t start = out->len;

    timestamp_print_min(value, precision, 'T', 0, out);
    if (memchr(out->data + start, '.', out->len - start) != NULL) {
        size_t digits = out->len - (size_t)((uint8_t *)memchr(out->data + start, '.', out->len - start) - out->data) - 1;

        for (; digits % 3 != 0; digits++)
            buf_append_u8(out, '0');
    } else if (!instant && memcmp(out->data + out->len - 3, ":00", 3) == 0) {
        out->len -= 3;
    }
    if (instant)
        buf_append_u8(out, 'Z');
}

static void print_value(const struct column *c, uint32_t row, struct buf *out)
{
    if (type_is_timestamp(c->type.kind) && column_present(c, row))
        print_java_timestamp(((const int64_t *)c->values)[row], c->type.precision,
                             c->type.kind == TYPE_TIMESTAMP_LTZ, out);
    else
        column_print(c, row, out);
}

/* "2> +I[a, 1]" */
static enum rc print_rows(struct sink_op *s, const struct batch *in, struct err *err)
{
    buf_clear(&s->bytes);
    for (uint32_t i = 0; i < in->rows; i++) {
        buf_append_str(&s->bytes, s->print_prefix);
        buf_append_str(&s->bytes, row_kind_str(batch_kind(in, i)));
        buf_append_u8(&s->bytes, '[');
        for (uint32_t c = 0; c < in->column_count; c++) {
            if (c > 0)
                buf_append_str(&s->bytes, ", ");
            print_value(&in->columns[c], i, &s->bytes);
        }
        buf_append_str(&s->bytes, "]\n");
    }
    s->ctx->metrics->bytes_out += s->bytes.len;
    return sink_write(s->sink, bytes_of_str(""), buf_bytes(&s->bytes), in->rows,
                      clock_wall_ms(s->ctx->env->clock), err);
}

/* Blocks of a log: at most a batch of what goes into the table at once. */
static enum rc write_log(struct sink_op *s, const struct batch *in, struct err *err)
{
    uint32_t rows = 0;

    buf_clear(&s->bytes);
    for (uint32_t i = 0; i < in->rows; i++) {
        RETURN_IF_ERR(copy_row_append(in, i, s->spec->table, &s->bytes, err));
        if (++rows < s->spec->batch_rows && s->bytes.len < BLOCK_BYTES && i + 1 < in->rows)
            continue;
        s->ctx->metrics->bytes_out += s->bytes.len;
        RETURN_IF_ERR(sink_write(s->sink, bytes_of_str(""), buf_bytes(&s->bytes), rows,
                                 clock_wall_ms(s->ctx->env->clock), err));
        buf_clear(&s->bytes);
        rows = 0;
    }
    return RC_OK;
}

static enum rc sink_op_process(struct operator *op, struct batch *in, struct output *out,
                               struct err *err)
{
    struct sink_op *s = (struct sink_op *)op;

    (void)out;
    s->ctx->metrics->records_in += in->rows;
    if (in->rows == 0)
        return RC_OK;
    switch (s->spec->kind) {
    case SINK_FILES:
        return write_files(s, in, err);
    case SINK_PRINT:
        return print_rows(s, in, err);
    case SINK_POSTGRES:
        return write_log(s, in, err);
    case SINK_COLLECT:
        return s->spec->collect(s->spec->collect_ctx, in, err);
    case SINK_BLACKHOLE:
        break;
    }
    return RC_OK;
}

static enum rc sink_op_watermark(struct operator *op, int64_t watermark_ms, struct output *out,
                                 struct err *err)
{
    (void)out;
    (void)err;
    ((struct sink_op *)op)->ctx->metrics->watermark_ms = watermark_ms;
    return RC_OK;
}

/* ---- checkpoints ---------------------------------------------------------------------------------- */

static void set_logs(struct operator_state *state, const struct sink_snapshot *snapshot)
{
    struct state_file *logs = mem_calloc(snapshot->log_count, sizeof *logs);

    for (size_t i = 0; i < snapshot->log_count; i++) {
        const struct sink_log *from = &snapshot->logs[i];

        logs[i] = (struct state_file){.resolved_path = from->path,
                                      .size_bytes = from->size_bytes,
                                      .digest = from->digest,
                                      .newly_written = from->newly_written};
    }
    operator_state_set_logs(state, logs, snapshot->log_count);
    mem_free(logs);
}

static enum rc prepare(struct sink_op *s, uint64_t checkpoint_id, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct sink_snapshot snapshot = {0};
    enum rc rc = sink_prepare(s->sink, checkpoint_id, s->input_ended, clock_wall_ms(s->ctx->env->clock),
                              arena, &snapshot, err);

    if (rc == RC_OK) {
        operator_state_set(s->ctx->state, SINK_STATE_WRITER,
                           s->spec->kind == SINK_POSTGRES ? LIST_UNION : LIST_SPLIT,
                           snapshot.writer.items, snapshot.writer.count);
        operator_state_set(s->ctx->state, SINK_STATE_COMMITTABLES, LIST_SPLIT,
                           snapshot.committables.items, snapshot.committables.count);
        set_logs(s->ctx->state, &snapshot);
    }
    arena_free(arena);
    return rc;
}

static enum rc sink_op_end_input(struct operator *op, struct output *out, struct err *err)
{
    struct sink_op *s = (struct sink_op *)op;

    (void)out;
    s->input_ended = true;
    if (s->sink == NULL || s->checkpointing || s->ctx->draining)
        return RC_OK;
    /* Nobody will take a checkpoint: the end of the input is the only commit there is. */
    RETURN_IF_ERR(prepare(s, UINT64_MAX, err));
    return sink_commit(s->sink, UINT64_MAX, err);
}

static enum rc sink_op_snapshot(struct operator *op, const struct barrier *barrier, struct err *err)
{
    struct sink_op *s = (struct sink_op *)op;

    return s->sink == NULL ? RC_OK : prepare(s, barrier->checkpoint_id, err);
}

static enum rc sink_op_notify_complete(struct operator *op, uint64_t checkpoint_id, struct err *err)
{
    struct sink_op *s = (struct sink_op *)op;

    return s->sink == NULL ? RC_OK : sink_commit(s->sink, checkpoint_id, err);
}

static enum rc sink_op_tick(struct operator *op, int64_t now_mono_ns, int64_t *next_mono_ns,
                            struct output *out, struct err *err)
{
    struct sink_op *s = (struct sink_op *)op;
    int64_t now_wall_ms, next_wall_ms = INT64_MAX, wait_ms;

    (void)out;
    *next_mono_ns = INT64_MAX;
    if (s->sink == NULL)
        return RC_OK;
    now_wall_ms = clock_wall_ms(s->ctx->env->clock);
    RETURN_IF_ERR(sink_on_time(s->sink, now_wall_ms, &next_wall_ms, err));
    if (next_wall_ms == INT64_MAX)
        return RC_OK;
    wait_ms = next_wall_ms > now_wall_ms ? next_wall_ms - now_wall_ms : 0;
    if (s->spec->roll_check_ms > 0 && wait_ms < s->spec->roll_check_ms)
        wait_ms = s->spec->roll_check_ms; /* sink.rolling-policy.check-interval */
    *next_mono_ns = now_mono_ns + wait_ms * NS_PER_MS;
    return RC_OK;
}

static void sink_op_close(struct operator *op, bool clean)
{
    struct sink_op *s = (struct sink_op *)op;
    struct err err = {0};

    if (s->sink != NULL && clean) {
        if (sink_close(s->sink, &err) != RC_OK)
            log_line(s->ctx->env->log, LOG_WARN, "sink close failed name=%s reason=%s",
                     s->ctx->operator_name, err.msg);
    } else {
        sink_abort(s->sink);
    }
    if (s->encoder != NULL)
        s->encoder->ops->free(s->encoder);
    for (uint32_t i = 0; i < s->bucket_cap; i++) {
        buf_release(&s->buckets[i].path);
        mem_free(s->buckets[i].rows);
    }
    mem_free(s->buckets);
    buf_release(&s->bytes);
    mem_free(s);
}

static const struct operator_ops sink_op_ops = {
    .kind = "sink",
    .open = sink_op_open,
    .process = sink_op_process,
    .watermark = sink_op_watermark,
    .end_input = sink_op_end_input,
    .snapshot = sink_op_snapshot,
    .notify_complete = sink_op_notify_complete,
    .tick = sink_op_tick,
    .close = sink_op_close,
};

struct operator *sink_op_new(const struct sink_spec *spec)
{
    struct sink_op *s = mem_calloc(1, sizeof *s);

    s->op.ops = &sink_op_ops;
    s->spec = spec;
    return &s->op;
}
