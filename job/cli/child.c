/* child.c - see child.h */
#include "job/cli/child.h"

#include "base/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cli_in_child(struct cli *cli, const char *what, int (*work)(struct cli *cli, void *ctx),
                 void *ctx)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    fflush(stderr);
    child = fork();
    if (child < 0)
        return cli_error(cli, EXIT_ENVIRONMENT, "fork: %s", strerror(errno));
    if (child == 0)
        exit(cli_finish_output(cli, work(cli, ctx)));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return cli_error(cli, EXIT_WRONG, "%s: the process that read it was ended by signal %d (%s)",
                     what, WTERMSIG(status), strsignal(WTERMSIG(status)));
}

enum rc cli_scratch_make(struct cli *cli, char dir[FS_PATH_MAX], struct fs_file **lock,
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

int cli_with_scratch(struct cli *cli, const char *path,
                     int (*look)(struct cli *cli, const char *path, const char *scratch_dir))
{
    char scratch[FS_PATH_MAX];
    struct fs_file *lock = NULL;
    struct err err = {0};
    int code;

    if (cli_scratch_make(cli, scratch, &lock, &err) != RC_OK)
        return cli_fail(cli, &err);
    code = look(cli, path, scratch);
    scratch_remove(&cli->env, scratch, &lock);
    return code;
}
