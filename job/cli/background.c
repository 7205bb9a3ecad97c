/* background.c - see background.h */
#include "job/cli/background.h"

#include "job/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* daemon(3) makes the session and turns all three streams to /dev/null; the caller's stdout and
 * stderr are put back for as long as there is something to say. */
static bool become_daemon(struct background *b)
{
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

    if (out < 0 || err < 0 || daemon(1, 0) != 0)
        return false;
    b->null_fd = dup(STDIN_FILENO);
    if (b->null_fd < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        return false;
    close(out);
    close(err);
    return true;
}

static int wait_for_word(int fd)
{
    unsigned char code;
    ssize_t n;

    do
        n = read(fd, &code, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? code : EXIT_ENVIRONMENT;
}

bool background_start(struct background *b, int *exit_code)
{
    int ends[2];
    pid_t child;

    *exit_code = EXIT_ENVIRONMENT;
    fflush(stdout);
    fflush(stderr);
    if (pipe(ends) != 0) {
        perror("error: pipe");
        return false;
    }
    child = fork();
    if (child < 0) {
        perror("error: fork");
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (child == 0) {
        close(ends[0]);
        b->tell_fd = ends[1];
        if (become_daemon(b))
            return true;
        perror("error: detach from the terminal");
        _exit(EXIT_ENVIRONMENT);
    }
    close(ends[1]);
    *exit_code = wait_for_word(ends[0]);
    close(ends[0]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return false;
}

void background_tell(struct background *b, int exit_code)
{
    unsigned char code = (unsigned char)exit_code;
    ssize_t n;

    fflush(stdout);
    fflush(stderr);
    if (exit_code == EXIT_DONE) {
        dup2(b->null_fd, STDOUT_FILENO);
        dup2(b->null_fd, STDERR_FILENO);
    }
    do
        n = write(b->tell_fd, &code, 1);
    while (n < 0 && errno == EINTR);
    close(b->tell_fd);
    close(b->null_fd);
}
