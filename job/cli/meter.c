/* meter.c - see meter.h */
#include "job/cli/meter.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PATIENCE_MS 1000 /* what ends earlier needs no bar */
#define INTERVAL_MS 200
#define BAR_WIDTH 20

struct meter {
    const struct cli *cli;
    const char *doing;
    int64_t start_mono_ns; /* of the whole */
    int64_t doing_mono_ns; /* of this part */
    int64_t drawn_mono_ns;
    bool drawn;
};

size_t meter_terminal_width(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 10 ? w.ws_col : 80;
}

struct meter *meter_new(const struct cli *cli)
{
    struct meter *m = mem_calloc(1, sizeof *m);

    m->cli = cli;
    m->start_mono_ns = clock_mono_ns(cli->env.clock);
    return m;
}

static const char *amount(uint64_t n, bool in_bytes, char out[CLI_NUMBER_MAX])
{
    return in_bytes ? cli_size_text(n, out) : cli_count_text(n, out);
}

void meter_line(const char *doing, uint64_t done, uint64_t all, bool in_bytes, int64_t ms,
                size_t width, struct buf *out)
{
    char a[CLI_NUMBER_MAX], b[CLI_NUMBER_MAX];
    double share = all == 0 ? 1 : done >= all ? 1 : (double)done / (double)all;
    size_t start = out->len;

    buf_append_str(out, "[");
    for (int i = 0; i < BAR_WIDTH; i++)
        buf_append_u8(out, i < (int)(share * BAR_WIDTH) ? '#' : '.');
    buf_printf(out, "] %3.0f%%  %s of %s %s", share * 100, amount(done, in_bytes, a),
               amount(all, in_bytes, b), doing);
    if (ms > 0 && done > 0) {
        double per_ms = (double)done / (double)ms;

        buf_printf(out, ", %s/s", amount((uint64_t)(per_ms * 1000), in_bytes, a));
        if (share < 1)
            buf_printf(out, ", %s left",
                       cli_duration_text((int64_t)((double)(all - done) / per_ms), a));
    }
    if (out->len - start > width)
        out->len = start + width;
}

void meter_show(struct meter *m, const char *doing, uint64_t done, uint64_t all, bool in_bytes)
{
    int64_t now;
    struct buf line = {0};

    if (m->cli->quiet || !m->cli->err_tty)
        return;
    now = clock_mono_ns(m->cli->env.clock);
    if (m->doing == NULL || strcmp(m->doing, doing) != 0) {
        m->doing = doing;
        m->doing_mono_ns = now;
    }
    if (now - m->start_mono_ns < PATIENCE_MS * NS_PER_MS ||
        (m->drawn && now - m->drawn_mono_ns < INTERVAL_MS * NS_PER_MS))
        return;
    meter_line(doing, done, all, in_bytes, (now - m->doing_mono_ns) / NS_PER_MS,
               meter_terminal_width() - 1, &line);
    fprintf(stderr, "\r%s\033[K\r", buf_cstr(&line));
    fflush(stderr);
    buf_release(&line);
    m->drawn = true;
    m->drawn_mono_ns = now;
}

static void show_look(void *ctx, const struct look_progress *p)
{
    meter_show(ctx, p->doing, p->done, p->all, p->in_bytes);
}

struct look_watch meter_watch(struct meter *m)
{
    return (struct look_watch){show_look, m};
}

void meter_free(struct meter *m)
{
    if (m == NULL)
        return;
    if (m->drawn) {
        fputs("\033[K", stderr);
        fflush(stderr);
    }
    mem_free(m);
}
