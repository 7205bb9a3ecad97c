/* cli.h - what the verbs of the `varve` command share: common options, messages, exit codes.
 *
 * Data goes to stdout, everything else to stderr. Colours only on a terminal and not with NO_COLOR.
 * Thread: main's.
 */
#ifndef VARVE_JOB_CLI_CLI_H
#define VARVE_JOB_CLI_CLI_H

#include "base/env.h"
#include "base/json.h"
#include "checkpoint/rebase.h"
#include "job/cli/args.h"
#include "job/remote_fs.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_WRONG = 1,       /* the thing asked about is wrong: a failed job, a damaged checkpoint */
    EXIT_USAGE = 2,       /* bad usage or configuration, a mistake in SQL */
    EXIT_ENVIRONMENT = 3, /* disk, network, port */
};
struct cli; /* below */
struct verb {
    const char *name;
    const char *arguments; /* "[OPTIONS] PATH" */
    const char *summary;   /* one line */
    const char *details;   /* paragraphs of the usage text; "" */
    enum log_level log_level;
    int (*run)(struct cli *cli, int argc,
               char **argv); /* argv[0] is the verb; returns an exit code */
};
struct cli {
    struct env env;
    struct own_program program; /* env.program, in main */
    struct remote_fs *remote; /* behind env.fs; NULL in tests */
    struct arena *arena; /* lives as long as the process */
    const struct verb *verb;
    bool quiet;  /* -q */
    bool json;   /* --json */
    bool colour; /* of stderr */
    bool err_tty, out_tty;
    struct rebase rebase; /* --rebase of the verb at hand */
    const char *log_file; /* --log-file; NULL: stderr */
    enum log_level log_level;
};

/* Parses argv[1..] with the verb's options and the common ones (-h, -q, --json, --log-level,
 * --log-file) and opens the log. -1: go on; else return this exit code: help was printed, or the
 * usage was wrong and that was said. */
int cli_begin(struct cli *cli, const struct arg_option *options, size_t option_count, int argc,
              char **argv, struct args *out);
/* Also -1 or an exit code: between least and most positional arguments. */
int cli_expect(struct cli *cli, const struct args *args, uint32_t least, uint32_t most);
void cli_end(struct cli *cli);

/* "error: ..." on stderr; returns `code`. */
int cli_error(const struct cli *cli, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same for an err, with the exit code that fits its rc. */
int cli_fail(const struct cli *cli, const struct err *err);
int cli_exit_code_of(enum rc rc);
/* A word as a shell takes it, quoted where it must be. */
void cli_quote(struct buf *b, const char *word);
/* A line for people on stderr; nothing with -q. */
void cli_say(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Data for stdout, buffered by stdio. */
void cli_print(const char *fmt, ...) PRINTF_LIKE(1, 2);
void cli_print_bytes(struct bytes b);
/* One JSON value and a line end on stdout. */
void cli_print_json(json_t *value_take);
/* EXIT_ENVIRONMENT and a message when stdout could not be written, else `code`. */
int cli_finish_output(const struct cli *cli, int code);

/* "1.2 MB", "12.3 M", "1m 12s" */
#define CLI_NUMBER_MAX 32
const char *cli_size_text(uint64_t bytes, char out[CLI_NUMBER_MAX]);
const char *cli_duration_text(int64_t ms, char out[CLI_NUMBER_MAX]);
/* 12,345,678 */
const char *cli_count_text(uint64_t n, char out[CLI_NUMBER_MAX]);

/* Whole file; RC_LIMIT past limit_bytes. "-" is standard input. */
MUST_USE enum rc cli_read_text(const struct cli *cli, const char *path, size_t limit_bytes,
                               struct buf *out, struct err *err);

/* The verbs; verbs.c. */
extern const struct verb *const cli_verbs[];
const struct verb *cli_find_verb(const char *name); /* NULL */
/* Nearest verb by edit distance; NULL: nothing near. */
const char *cli_nearest_verb(const char *name);
void cli_print_usage(const struct cli *cli, bool to_stdout);

#endif
