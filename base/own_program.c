/* own_program.c - see own_program.h */
#include "base/own_program.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 50 /* at whether to end */
#define READ_BYTES (64u << 10)

/* ---- started --------------------------------------------------------------------------------- */

struct talk {
    pid_t child;
    int in, out; /* our ends: of its standard input (-1: closed), of its output */
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* In a group of its own, so that Ctrl-C on a terminal is for this process to obey; no signal is held
 * back in it or ignored. */
static void set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attr);
    posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(attr, 0);
    posix_spawnattr_setsigmask(attr, &none);
    posix_spawnattr_setsigdefault(attr, &all);
}

/* 0, or an errno. */
static int spawn_with(const struct own_program *program, const char *word, int in, int out,
                      pid_t *child)
{
    char pid[24], *argv[] = {mem_strdup(program->path), mem_strdup(word), pid, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int failed;

    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    set_attributes(&attr);
    failed = posix_spawn(child, program->path, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    mem_free(argv[0]);
    mem_free(argv[1]);
    return failed;
}

static enum rc start(const struct own_program *program, const char *word, struct talk *t,
                     struct err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, failed;

    if (pipe2(in, O_CLOEXEC) != 0)
        return err_os(err, errno, "pipe");
    if (pipe2(out, O_CLOEXEC) != 0) {
        failed = errno;
        close_end(&in[0]);
        close_end(&in[1]);
        return err_os(err, failed, "pipe");
    }
    failed = spawn_with(program, word, in[0], out[1], &t->child);
    close_end(&in[0]);
    close_end(&out[1]);
    t->in = in[1];
    t->out = out[0];
    if (failed != 0) {
        close_end(&t->in);
        close_end(&t->out);
        return err_os(err, failed, "start %s", program->path);
    }
    (void)fcntl(t->in, F_SETFL, O_NONBLOCK);
    return RC_OK;
}

/* ---- talked to ------------------------------------------------------------------------------- */

/* What it does not take any more it does not need: its end says why. */
static void give(struct talk *t, struct bytes *rest)
{
    ssize_t n = rest->len > 0 ? write(t->in, rest->data, rest->len) : 0;

    if (n > 0)
        *rest = bytes_of(rest->data + n, rest->len - (size_t)n);
    if (rest->len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&t->in);
}

/* false: the end. */
static bool take(struct talk *t, struct buf *answer)
{
    ssize_t n;

    buf_reserve(answer, READ_BYTES);
    n = read(t->out, answer->data + answer->len, READ_BYTES);
    if (n > 0)
        answer->len += (size_t)n;
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

static enum rc talk(const struct own_program *program, struct talk *t, struct bytes request,
                    size_t answer_max, struct buf *answer, struct err *err)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = t->out, .events = POLLIN}, {.fd = t->in, .events = POLLOUT}};

        if (program->asked_to_end != NULL && program->asked_to_end(program->ctx))
            return err_set(err, RC_CANCELLED, "given up, as this process was asked to end");
        if (poll(fds, 2, LOOK_MS) < 0 && errno != EINTR)
            return err_os(err, errno, "poll");
        if (t->in >= 0 && fds[1].revents != 0)
            give(t, &request);
        if (fds[0].revents != 0 && !take(t, answer))
            return RC_OK;
        if (answer->len > answer_max)
            return err_set(err, RC_LIMIT, "an answer of more than %zu bytes", answer_max);
    }
}

static void say_end(int status, char end[OWN_PROGRAM_END_MAX])
{
    end[0] = '\0';
    if (WIFSIGNALED(status))
        snprintf(end, OWN_PROGRAM_END_MAX, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        snprintf(end, OWN_PROGRAM_END_MAX, "exit code %d", WEXITSTATUS(status));
}

enum rc own_program_run(const struct own_program *program, const char *word, struct bytes request,
                        size_t answer_max, struct buf *answer, char end[OWN_PROGRAM_END_MAX],
                        struct err *err)
{
    struct talk t = {.in = -1, .out = -1};
    int status = 0;
    enum rc rc;

    end[0] = '\0';
    buf_clear(answer);
    RETURN_IF_ERR(start(program, word, &t, err));
    rc = talk(program, &t, request, answer_max, answer, err);
    close_end(&t.in);
    close_end(&t.out);
    if (rc != RC_OK)
        kill(t.child, SIGKILL);
    while (waitpid(t.child, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc == RC_OK)
        say_end(status, end);
    return rc;
}

/* ---- the other side -------------------------------------------------------------------------- */

enum rc own_program_follow(const char *pid, struct err *err)
{
    char *rest;
    long parent = strtol(pid, &rest, 10);

    if (*rest != '\0' || parent <= 0)
        return err_set(err, RC_INVALID, "\"%s\" is no process", pid);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return err_os(err, errno, "prctl");
    if (getppid() != (pid_t)parent) /* it ended before this was asked for */
        return err_set(err, RC_STATE, "process %ld, which started this one, has ended", parent);
    return RC_OK;
}

enum rc own_program_request(size_t max, struct buf *out, struct err *err)
{
    struct talk t = {.in = -1, .out = STDIN_FILENO};

    while (take(&t, out))
        if (out->len > max)
            return err_set(err, RC_LIMIT, "a request of more than %zu bytes", max);
    return RC_OK;
}

enum rc own_program_answer(struct bytes answer, struct err *err)
{
    for (size_t at = 0; at < answer.len;) {
        ssize_t n = write(STDOUT_FILENO, answer.data + at, answer.len - at);

        if (n < 0 && errno != EINTR)
            return err_os(err, errno, "answer");
        at += n > 0 ? (size_t)n : 0;
    }
    return RC_OK;
}
