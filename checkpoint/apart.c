/* apart.c - see apart.h. A message is its length, 4 bytes little-endian, and its bytes. */
#include "checkpoint/apart.h"

#include "base/arena.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_DEAF 3 /* nobody listens */

struct apart_ear {
    int fd;
};

void apart_tell(struct apart_ear *ear, struct bytes message)
{
    struct buf framed = {0};

    ASSERT(message.len <= APART_MESSAGE_MAX);
    buf_append_le32(&framed, (uint32_t)message.len);
    buf_append(&framed, message.data, message.len);
    for (size_t at = 0; at < framed.len;) {
        ssize_t n = write(ear->fd, framed.data + at, framed.len - at);

        if (n < 0 && errno != EINTR)
            _exit(EXIT_DEAF);
        at += n > 0 ? (size_t)n : 0;
    }
    buf_release(&framed);
}

/* false: the other end is closed before `len` bytes came. */
static bool read_whole(int fd, void *out, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = read(fd, (uint8_t *)out + at, len - at);

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void listen_to(int fd, void (*heard)(void *heard_ctx, struct bytes message),
                      void *heard_ctx)
{
    struct buf message = {0};
    uint8_t head[4];

    while (read_whole(fd, head, sizeof head)) {
        uint32_t len = get_le32(head);

        if (len > APART_MESSAGE_MAX)
            break; /* no message of ours */
        buf_clear(&message);
        buf_reserve(&message, len);
        if (!read_whole(fd, message.data, len))
            break;
        message.len = len;
        heard(heard_ctx, buf_bytes(&message));
    }
    buf_release(&message);
}

enum rc apart_run(void (*work)(void *ctx, struct apart_ear *ear), void *ctx,
                  void (*heard)(void *heard_ctx, struct bytes message), void *heard_ctx,
                  char end[APART_END_MAX], struct err *err)
{
    int ends[2], status = 0;
    pid_t child, parent = getpid();

    end[0] = '\0';
    if (pipe(ends) != 0)
        return err_os(err, errno, "pipe");
    child = fork();
    if (child < 0) {
        int os_errno = errno;

        close(ends[0]);
        close(ends[1]);
        return err_os(err, os_errno, "fork");
    }
    if (child == 0) {
        struct apart_ear ear = {ends[1]};

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* what it opens is the parent's to remove */
        if (getppid() != parent)
            _exit(EXIT_DEAF);
        close(ends[0]);
        work(ctx, &ear);
        _exit(0); /* nothing of the parent's is written or removed at its end */
    }
    close(ends[1]);
    listen_to(ends[0], heard, heard_ctx);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        snprintf(end, APART_END_MAX, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        snprintf(end, APART_END_MAX, "exit code %d", WEXITSTATUS(status));
    return RC_OK;
}
