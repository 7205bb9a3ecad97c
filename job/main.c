/* main.c - the `varve` command: fills the environment with the real things, finds the verb, hands
 * over. */
#include "job/cli/verbs.h"

#include "backend/keyed_backend.h"
#include "job/runtime/restore_flink.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Read by jemalloc. What one thread has freed is of use to others, and goes back to the system after a
 * second, not ten, also when nobody asks for memory any more (its own thread sees to that): flushes and
 * restores take and give a lot at once (B38). MALLOC_CONF overrides it. */
__attribute__((visibility("default"))) const char *const malloc_conf =
    "percpu_arena:percpu,dirty_decay_ms:1000,background_thread:true";

static int help(struct cli *cli, int argc, char **argv)
{
    char word[] = "--help";
    char *words[] = {NULL, word, NULL};
    const struct verb *verb;

    if (argc < 3) {
        cli_print_usage(cli, true);
        return cli_finish_output(cli, EXIT_DONE);
    }
    verb = cli_find_verb(argv[2]);
    if (verb == NULL)
        return cli_error(cli, EXIT_USAGE, "there is no verb %s; varve help lists them", argv[2]);
    words[0] = argv[2];
    cli->verb = verb;
    return verb->run(cli, 2, words);
}

static int unknown(const struct cli *cli, const char *word)
{
    const char *nearest = cli_nearest_verb(word);

    if (nearest != NULL)
        return cli_error(cli, EXIT_USAGE, "there is no verb %s; did you mean varve %s?", word,
                         nearest);
    return cli_error(cli, EXIT_USAGE, "there is no verb %s; varve help lists them", word);
}

static int dispatch(struct cli *cli, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;

    if (word == NULL) {
        cli_print_usage(cli, false);
        return EXIT_USAGE;
    }
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(cli, argc, argv);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-v") == 0 || strcmp(word, "version") == 0) {
        cli_print("varve %s (RocksDB %s)\n", VARVE_VERSION, keyed_backend_rocksdb_version());
        return cli_finish_output(cli, EXIT_DONE);
    }
    if (strcmp(word, IMPORT_WORD) == 0)
        return verb_import(cli, argc - 1, argv + 1);
    cli->verb = cli_find_verb(word);
    if (cli->verb == NULL)
        return unknown(cli, word);
    return cli->verb->run(cli, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    const char *no_color = getenv("NO_COLOR");
    struct cli cli = {
        .env = {.fs = fs_posix(), .clock = clock_posix(), .program = &cli.program},
        .program = {.path = OWN_PROGRAM_SELF},
        .arena = arena_new(0),
        .err_tty = isatty(STDERR_FILENO),
        .out_tty = isatty(STDOUT_FILENO),
        .log_level = LOG_WARN,
    };
    int code;

    /* LC_NUMERIC stays "C": setlocale is never called. A closed pipe is an error of write, not the
     * end. */
    signal(SIGPIPE, SIG_IGN);
    fs_posix_raise_open_files();
    cli.remote = remote_fs_new(&cli.env);
    cli.colour = cli.err_tty && (no_color == NULL || no_color[0] == '\0');
    code = dispatch(&cli, argc, argv);
    remote_fs_free(cli.remote);
    cli_end(&cli);
    return code;
}
