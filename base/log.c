/* log.c - see log.h */
#include "base/log.h"

#include "base/arena.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

struct log {
    struct mutex mutex; /* keeps lines whole when a write is short */
    int fd;
    bool owned; /* log_free closes it */
    enum log_level least;
    struct clock *clock;
};

struct log *log_new(int fd, enum log_level least, struct clock *clock)
{
    struct log *log = mem_alloc(sizeof *log);

    *log = (struct log){.fd = fd, .least = least, .clock = clock};
    mutex_init(&log->mutex);
    return log;
}

enum rc log_open(const char *path, enum log_level least, struct clock *clock, struct log **out, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    *out = NULL;
    if (fd < 0)
        return err_os(err, errno, "open log file %s", path);
    *out = log_new(fd, least, clock);
    (*out)->owned = true;
    return RC_OK;
}

void log_free(struct log *log)
{
    if (log == NULL)
        return;
    if (log->owned)
        close(log->fd);
    mutex_release(&log->mutex);
    mem_free(log);
}

static void append_stamp(struct buf *line, int64_t wall_ms)
{
    int64_t ms = wall_ms % 1000;
    time_t s = (time_t)(wall_ms / 1000);
    struct tm tm;

    if (ms < 0) { /* before 1970 */
        ms += 1000;
        s--;
    }
    gmtime_r(&s, &tm);
    buf_printf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
               tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)ms);
}

static void append_escaped(struct buf *line, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            buf_printf(line, "\\x%02x", (unsigned char)*p);
        else
            buf_append(line, p, 1);
    }
}

/* A log that cannot be written is no reason to stop a job. */
static void write_whole(int fd, struct bytes b)
{
    while (b.len > 0) {
        ssize_t n = write(fd, b.data, b.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        b = bytes_of(b.data + n, b.len - (size_t)n);
    }
}

void log_line(struct log *log, enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"DEBUG", "INFO", "WARN", "ERROR"};
    char text[LINE_MAX_BYTES];
    struct buf line = {0};
    va_list args;
    int wanted;

    ASSERT(level < LOG_OFF);
    if (log == NULL || level < log->least)
        return;
    va_start(args, fmt);
    wanted = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (wanted >= (int)sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    append_stamp(&line, clock_wall_ms(log->clock));
    buf_printf(&line, " %s ", names[level]);
    append_escaped(&line, text);
    buf_append_str(&line, "\n");
    mutex_lock(&log->mutex);
    write_whole(log->fd, buf_bytes(&line));
    mutex_unlock(&log->mutex);
    buf_release(&line);
}
