/* print_sink.c - what is written goes to a file descriptor, for trials; or nowhere. At least once:
 * after a restore rows come again. The one place outside base/ that writes to a descriptor: stdout
 * is no file of the file system behind the seam. See sink.h. After: PrintTableSinkFactory,
 * BlackHoleTableSinkFactory (Flink). */
#include "sink/sink.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

struct print_sink {
    struct sink sink;
    int fd; /* borrowed; < 0: none */
    char *name;
    struct sink_stats stats;
};

/* All of it, however the descriptor cuts it up. */
static enum rc write_all(const struct print_sink *s, struct bytes data, struct err *err)
{
    while (data.len > 0) {
        ssize_t n = write(s->fd, data.data, data.len);

        if (n >= 0) {
            data.data += n;
            data.len -= (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = s->fd, .events = POLLOUT};

            if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                return err_os(err, errno, "%s: wait for fd %d", s->name, s->fd);
        } else if (errno != EINTR) {
            return err_os(err, errno, "%s: write to fd %d", s->name, s->fd);
        }
    }
    return RC_OK;
}

static enum rc print_write(struct sink *sink, struct bytes bucket, struct bytes data,
                           uint64_t row_count, int64_t now_wall_ms, struct err *err)
{
    struct print_sink *s = (struct print_sink *)sink;

    (void)bucket;
    (void)now_wall_ms;
    if (s->fd >= 0)
        RETURN_IF_ERR(write_all(s, data, err));
    s->stats.bytes_written += data.len;
    s->stats.rows_written += row_count;
    return RC_OK;
}

static enum rc print_on_time(struct sink *sink, int64_t now_wall_ms, int64_t *next_wall_ms,
                             struct err *err)
{
    (void)sink;
    (void)now_wall_ms;
    (void)err;
    *next_wall_ms = INT64_MAX;
    return RC_OK;
}

static enum rc print_prepare(struct sink *sink, uint64_t checkpoint_id, bool end_of_input,
                             int64_t now_wall_ms, struct arena *arena, struct sink_snapshot *out,
                             struct err *err)
{
    (void)sink;
    (void)checkpoint_id;
    (void)end_of_input;
    (void)now_wall_ms;
    (void)arena;
    (void)err;
    *out = (struct sink_snapshot){0};
    return RC_OK;
}

static enum rc print_commit(struct sink *sink, uint64_t checkpoint_id, struct err *err)
{
    (void)sink;
    (void)checkpoint_id;
    (void)err;
    return RC_OK;
}

static void print_stats(const struct sink *sink, struct sink_stats *out)
{
    *out = ((const struct print_sink *)sink)->stats;
}

static void print_abort(struct sink *sink)
{
    struct print_sink *s = (struct print_sink *)sink;

    mem_free(s->name);
    mem_free(s);
}

static enum rc print_close(struct sink *sink, struct err *err)
{
    (void)err;
    print_abort(sink);
    return RC_OK;
}

static const struct sink_ops print_ops = {
    .write = print_write,
    .on_time = print_on_time,
    .prepare = print_prepare,
    .commit = print_commit,
    .stats = print_stats,
    .abort = print_abort,
    .close = print_close,
};

struct sink *print_sink_new(int fd, const char *name)
{
    struct print_sink *s = mem_calloc(1, sizeof *s);

    s->sink.ops = &print_ops;
    s->fd = fd;
    s->name = mem_strdup(name);
    return &s->sink;
}
