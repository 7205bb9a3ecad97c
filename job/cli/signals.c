/* signals.c - see signals.h */
#include "job/cli/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void the_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

enum rc signals_open(struct signals *s, struct err *err)
{
    sigset_t set;

    the_set(&set);
    s->fd = -1;
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return err_set(err, RC_IO, "signals can't be blocked");
    s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s->fd < 0)
        return err_os(err, errno, "signalfd");
    return RC_OK;
}

int signals_take(struct signals *s, int wait_ms)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    struct signalfd_siginfo info;

    if (poll(&p, 1, wait_ms) <= 0)
        return 0;
    if (read(s->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    return info.ssi_signo == SIGHUP ? SIGTERM : (int)info.ssi_signo;
}

bool signals_wait(const struct signals *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};

    return s->fd >= 0 && poll(&p, 1, 0) > 0;
}

void signals_close(struct signals *s)
{
    sigset_t set;

    if (s->fd < 0)
        return;
    close(s->fd);
    s->fd = -1;
    the_set(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
