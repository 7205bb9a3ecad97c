/* cli.c - see cli.h */
#include "job/cli/cli.h"

#include "job/cli/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- messages
 * ------------------------------------------------------------------------------------- */

int cli_error(const struct cli *cli, int code, const char *fmt, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, cli->colour ? "\033[1;31merror:\033[0m " : "error: ");
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

int cli_exit_code_of(enum rc rc)
{
    switch (rc) {
    case RC_OK:
    case RC_DONE:
        return EXIT_DONE;
    case RC_INVALID:
    case RC_UNSUPPORTED:
    case RC_NOT_FOUND:
    case RC_EXISTS:
    case RC_LIMIT:
        return EXIT_USAGE;
    case RC_IO:
    case RC_NO_LINK:
    case RC_TIMEOUT:
        return EXIT_ENVIRONMENT;
    default:
        return EXIT_WRONG;
    }
}

int cli_fail(const struct cli *cli, const struct err *err)
{
    return cli_error(cli, cli_exit_code_of(err->rc), "%s", err->msg);
}

void cli_quote(struct buf *b, const char *word)
{
    if (word[0] != '\0' &&
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-") ==
            strlen(word)) {
        buf_append_str(b, word);
        return;
    }
    buf_append_u8(b, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buf_append_str(b, "'\\''");
        else
            buf_append_u8(b, (uint8_t)*word);
    }
    buf_append_u8(b, '\'');
}

void cli_say(const struct cli *cli, const char *fmt, ...)
{
    va_list args;

    if (cli->quiet)
        return;
    fflush(stdout);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputs(cli->err_tty ? "\033[K\n" : "\n", stderr); /* the rest of a progress line goes away */
}

void cli_print(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
}

void cli_print_bytes(struct bytes b)
{
    if (b.len > 0)
        fwrite(b.data, 1, b.len, stdout);
}

void cli_print_json(json_t *value_take)
{
    struct buf text = {0};

    json_dump_to(value_take, false, &text);
    buf_append_u8(&text, '\n');
    cli_print_bytes(buf_bytes(&text));
    fflush(stdout);
    buf_release(&text);
    json_decref(value_take);
}

int cli_finish_output(const struct cli *cli, int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    return cli_error(cli, EXIT_ENVIRONMENT, "standard output could not be written");
}

/* ---- numbers for people
 * --------------------------------------------------------------------------- */

const char *cli_size_text(uint64_t bytes, char out[CLI_NUMBER_MAX])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 1000 && u + 1 < ARRAY_LEN(units)) {
        v /= 1000;
        u++;
    }
    snprintf(out, CLI_NUMBER_MAX,
             u == 0 || v >= 100 ? "%.0f %s"
             : v >= 10          ? "%.1f %s"
                                : "%.2f %s",
             v, units[u]);
    return out;
}

const char *cli_duration_text(int64_t ms, char out[CLI_NUMBER_MAX])
{
    if (ms < 1000)
        snprintf(out, CLI_NUMBER_MAX, "%lld ms", (long long)(ms < 0 ? 0 : ms));
    else if (ms < 60000)
        snprintf(out, CLI_NUMBER_MAX, "%.1f s", (double)ms / 1000);
    else if (ms < 3600000)
        snprintf(out, CLI_NUMBER_MAX, "%lldm %02llds", (long long)(ms / 60000),
                 (long long)(ms / 1000 % 60));
    else
        snprintf(out, CLI_NUMBER_MAX, "%lldh %02lldm", (long long)(ms / 3600000),
                 (long long)(ms / 60000 % 60));
    return out;
}

const char *cli_count_text(uint64_t n, char out[CLI_NUMBER_MAX])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* ---- input
 * ---------------------------------------------------------------------------------------- */

static enum rc read_stdin(size_t limit_bytes, struct buf *out, struct err *err)
{
    char piece[65536];

    for (;;) {
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_os(err, errno, "read standard input");
        if (n == 0)
            return RC_OK;
        if (out->len + (size_t)n > limit_bytes)
            return err_set(err, RC_LIMIT, "standard input is longer than %zu bytes", limit_bytes);
        buf_append(out, piece, (size_t)n);
    }
}

enum rc cli_read_text(const struct cli *cli, const char *path, size_t limit_bytes, struct buf *out,
                      struct err *err)
{
    char real[FS_PATH_MAX];

    if (strcmp(path, "-") == 0)
        return read_stdin(limit_bytes, out, err);
    RETURN_IF_ERR(path_from_uri(real, sizeof real, path, err));
    return fs_read_all(cli->env.fs, real, limit_bytes, out, err);
}

/* ---- options that every verb takes
 * ----------------------------------------------------------------- */

static const struct arg_option common[] = {
    {.name = "--quiet", .alias = "-q", .help = "results and errors only"},
    {.name = "--json", .help = "results as JSON"},
    {.name = "--log-level", .value = "LEVEL", .help = "debug, info, warn, error or off"},
    {.name = "--log-file",
     .value = "FILE",
     .help = "log to this file (appended) instead of stderr"},
    {.name = "--help", .alias = "-h", .help = "this text"},
};

/* For verbs without a configuration of their own. */
static const struct arg_option settings[] = {HOST_CONFIG_OPTIONS};

static bool has_option(const struct arg_option *options, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0)
            return true;
    return false;
}

/* What paths on hdfs:// need of it. */
static enum rc configure_remote(struct cli *cli, const struct args *args, struct err *err)
{
    struct config *config;

    RETURN_IF_ERR(host_config(cli, args, &config, err));
    config_free(config);
    return RC_OK;
}

static void print_help(const struct cli *cli, const struct arg_option *options, size_t count)
{
    struct buf text = {0};

    buf_printf(&text, "varve %s %s\n\n%s\n", cli->verb->name, cli->verb->arguments,
               cli->verb->summary);
    if (cli->verb->details[0] != '\0')
        buf_printf(&text, "\n%s\n", cli->verb->details);
    buf_append_str(&text, "\nOptions:\n");
    args_usage(options, count, &text);
    cli_print_bytes(buf_bytes(&text));
    buf_release(&text);
}

static bool log_level_of(const char *word, enum log_level *out)
{
    static const char *const words[] = {"debug", "info", "warn", "error", "off"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i], word) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

int cli_begin(struct cli *cli, const struct arg_option *options, size_t option_count, int argc,
              char **argv, struct args *out)
{
    size_t count = option_count + ARRAY_LEN(common);
    bool configured = has_option(options, option_count, "--config");
    struct arg_option *all = ARENA_ARRAY(cli->arena, count + ARRAY_LEN(settings), struct arg_option);
    const struct arg_option *level;
    struct err err = {0};

    if (option_count > 0)
        memcpy(all, options, option_count * sizeof *all);
    memcpy(all + option_count, common, sizeof common);
    if (!configured) {
        memcpy(all + count, settings, sizeof settings);
        count += ARRAY_LEN(settings);
    }
    if (args_parse(cli->arena, argc, argv, 1, all, count, out, &err) != RC_OK)
        return cli_error(cli, EXIT_USAGE, "%s; varve help %s lists the options", err.msg,
                         cli->verb->name);
    if (args_get(out, "--help")->given) {
        print_help(cli, all, count);
        return cli_finish_output(cli, EXIT_DONE);
    }
    if (!configured && configure_remote(cli, out, &err) != RC_OK)
        return cli_error(cli, EXIT_USAGE, "%s", err.msg);
    cli->quiet = args_get(out, "--quiet")->given;
    cli->json = args_get(out, "--json")->given;
    cli->log_level = cli->verb->log_level;
    level = args_get(out, "--log-level");
    if (level->given && !log_level_of(level->text, &cli->log_level))
        return cli_error(cli, EXIT_USAGE, "--log-level %s: give debug, info, warn, error or off",
                         level->text);
    cli->log_file = args_get(out, "--log-file")->text;
    if (cli->log_file == NULL) {
        cli->env.log = log_new(STDERR_FILENO, cli->log_level, cli->env.clock);
        return -1;
    }
    if (log_open(cli->log_file, cli->log_level, cli->env.clock, &cli->env.log, &err) != RC_OK)
        return cli_fail(cli, &err);
    return -1;
}

int cli_expect(struct cli *cli, const struct args *args, uint32_t least, uint32_t most)
{
    if (args->positional_count >= least && args->positional_count <= most)
        return -1;
    return cli_error(cli, EXIT_USAGE, "%s; usage: varve %s %s",
                     args->positional_count < least ? "an argument is missing"
                                                    : "too many arguments",
                     cli->verb->name, cli->verb->arguments);
}

void cli_end(struct cli *cli)
{
    log_free(cli->env.log);
    cli->env.log = NULL;
    arena_free(cli->arena);
    cli->arena = NULL;
}
