/* child.c - see child.h */
#include "job/cli/child.h"

#include "base/scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals that ask for the end ------------------------------------------------------------ */

static sigset_t ends(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Waits for the child's end. A signal that asks for this process' is the child's to obey, and comes
 * again here when it is let through. */
static int wait_for(pid_t child)
{
    sigset_t set = ends();
    int status = 0, asked = 0;

    sigaddset(&set, SIGCHLD);
    while (waitpid(child, &status, WNOHANG) == 0) {
        int sig = sigwaitinfo(&set, NULL);

        if (sig > 0 && sig != SIGCHLD) {
            asked = sig;
            kill(child, sig);
        }
    }
    if (asked != 0)
        raise(asked);
    return status;
}

int cli_in_child(struct cli *cli, const char *what, int (*work)(struct cli *cli, void *ctx),
                 void *ctx)
{
    sigset_t held = ends(), before;
    pid_t child, parent = getpid();
    int status;

    fflush(stdout);
    fflush(stderr);
    sigaddset(&held, SIGCHLD);
    sigprocmask(SIG_BLOCK, &held, &before);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it works for who waits for it, also when that is killed */
        if (getppid() != parent)
            _exit(EXIT_WRONG);
        held = ends();
        sigprocmask(SIG_UNBLOCK, &held, NULL);
        exit(cli_finish_output(cli, work(cli, ctx)));
    }
    if (child < 0) {
        int os_errno = errno;

        sigprocmask(SIG_SETMASK, &before, NULL);
        return cli_error(cli, EXIT_ENVIRONMENT, "fork: %s", strerror(os_errno));
    }
    status = wait_for(child);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (sigismember(&held, WTERMSIG(status)) == 1)
        return EXIT_WRONG; /* as asked */
    return cli_error(cli, EXIT_WRONG, "%s: the process that read it was ended by signal %d (%s)",
                     what, WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* ---- a scratch directory --------------------------------------------------------------------- */

/* In $TMPDIR, else /tmp. */
static enum rc make_scratch(struct cli *cli, char dir[FS_PATH_MAX], struct fs_file **lock,
                            struct err *err)
{
    const char *base = getenv("TMPDIR");
    char id[SCRATCH_ID_LEN + 1];
    struct rng rng;

    rng_seed(&rng, rng_seed_from_os());
    rng_hex(&rng, id, SCRATCH_ID_LEN);
    return scratch_make(&cli->env, base == NULL || base[0] == '\0' ? "/tmp" : base,
                        ".varve-look-", id, dir, lock, err);
}

int cli_in_child_with_scratch(struct cli *cli, const char *what, char scratch[FS_PATH_MAX],
                              int (*work)(struct cli *cli, void *ctx), void *ctx)
{
    sigset_t held = ends(), before;
    struct fs_file *lock = NULL;
    struct err err = {0};
    int code;

    scratch[0] = '\0';
    sigprocmask(SIG_BLOCK, &held, &before);
    if (make_scratch(cli, scratch, &lock, &err) == RC_OK)
        code = cli_in_child(cli, what, work, ctx);
    else
        code = cli_fail(cli, &err);
    scratch_remove(&cli->env, scratch, &lock);
    sigprocmask(SIG_SETMASK, &before, NULL); /* here it ends, if it was asked to */
    return code;
}

struct looking {
    const char *path;
    char scratch[FS_PATH_MAX];
    int (*look)(struct cli *cli, const char *path, const char *scratch_dir);
};

static int look_in_child(struct cli *cli, void *ctx)
{
    struct looking *l = ctx;

    return l->look(cli, l->path, l->scratch);
}

int cli_with_scratch(struct cli *cli, const char *path,
                     int (*look)(struct cli *cli, const char *path, const char *scratch_dir))
{
    struct looking l = {.path = path, .look = look};

    return cli_in_child_with_scratch(cli, path, l.scratch, look_in_child, &l);
}
