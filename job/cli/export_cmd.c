/* export_cmd.c - varve export: a snapshot as one directory of its own. See verbs.h */
#include "job/cli/verbs.h"

#include "checkpoint/export.h"
#include "checkpoint/recovery.h"
#include "job/cli/child.h"
#include "job/cli/export_to.h"
#include "job/cli/meter.h"
#include "job/cli/rebase.h"
#include "job/number.h"
#include "job/rest/row_json.h"

#define FORMATS "varve, flink-savepoint or flink-native"

struct exporting {
    struct export_request request;
    int (*to)(struct cli *cli, const struct export_request *e); /* NULL: varve's own format */
    struct export_options options;
};

static void show(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
    meter_show(ctx, "copied", done_bytes, done_bytes > all_bytes ? done_bytes : all_bytes, true);
}

static enum rc export_it(struct cli *cli, struct exporting *e, struct recovered *from,
                         struct export_result *result, struct err *err)
{
    const struct recovery_options options = {0};
    struct meter *meter;
    enum rc rc;

    RETURN_IF_ERR(recovery_open(&cli->env, e->request.path, &options, from, err));
    meter = meter_new(cli);
    e->options.progress = show;
    e->options.progress_ctx = meter;
    rc = export_snapshot(&cli->env, from->meta, e->request.dir, &e->options, result, err);
    meter_free(meter);
    return rc;
}

static int export_in_child(struct cli *cli, void *ctx)
{
    struct exporting *e = ctx;
    struct recovered from = {0};
    struct export_result result;
    const char *dir = e->request.dir;
    char size[CLI_NUMBER_MAX];
    struct err err = {0};
    enum rc rc;

    if (e->to != NULL)
        return e->to(cli, &e->request);
    rc = export_it(cli, e, &from, &result, &err);
    if (rc == RC_OK) {
        cli_say(cli, "%s: %llu files, %s, from %s", dir, (unsigned long long)result.file_count,
                cli_size_text(result.bytes, size), from.dir);
        if (cli->json)
            cli_print_json(json_pack("{s: o, s: o, s: I, s: I}", "path", text_json(dir), "from",
                                     text_json(from.dir), "files", (json_int_t)result.file_count,
                                     "bytes", (json_int_t)result.bytes));
        else
            cli_print("%s\n", dir);
    }
    recovered_release(&from);
    return rc == RC_OK ? EXIT_DONE : cli_fail(cli, &err);
}

static enum rc take_format(struct exporting *e, const struct args *args, struct err *err)
{
    const char *to = args_get(args, "--to")->text;

    if (to == NULL)
        return err_set(err, RC_INVALID, "--to is missing: give " FORMATS);
    if (strcmp(to, "varve") == 0)
        return RC_OK;
    if (strcmp(to, "flink-native") == 0)
        e->to = export_to_flink_native;
    else if (strcmp(to, "flink-savepoint") == 0)
        e->to = export_to_flink_savepoint;
    else
        return err_set(err, RC_INVALID, "--to %s: give " FORMATS, to);
    return RC_OK;
}

static enum rc take_link(struct exporting *e, const struct args *args, struct err *err)
{
    e->request.link = args_get(args, "--link")->given;
    if (e->request.link && e->to != export_to_flink_native)
        return err_set(err, RC_INVALID,
                       "--link: with --to flink-native; what the others write are no files that there are");
    return RC_OK;
}

static enum rc take_edits(struct exporting *e, const struct args *args, struct arena *arena,
                          struct err *err)
{
    const struct arg_option *drop = args_get(args, "--drop"), *rename = args_get(args, "--rename");
    struct flink_rename *renames = ARENA_ARRAY(arena, rename->count + 1, struct flink_rename);
    enum rc rc;

    if (e->to == NULL && (drop->given || rename->given || args_get(args, "--rebase")->given))
        return err_set(err, RC_INVALID,
                       "--drop, --rename and --rebase: with --to flink-native or flink-savepoint");
    for (uint32_t i = 0; i < rename->count; i++) {
        rc = flink_rename_parse(rename->all[i], arena, &renames[i], err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "--rename");
    }
    e->request.edits = (struct flink_edits){drop->count, rename->count, drop->all, renames};
    return RC_OK;
}

static enum rc take_arguments(struct exporting *e, const struct args *args, struct arena *arena,
                              struct err *err)
{
    const struct arg_option *most = args_get(args, "--max-parallelism");
    char dir[FS_PATH_MAX];
    int64_t n = 0;
    enum rc rc;

    RETURN_IF_ERR(take_format(e, args, err));
    RETURN_IF_ERR(take_link(e, args, err));
    RETURN_IF_ERR(take_edits(e, args, arena, err));
    e->request.path = args->positional[0];
    if (most->given) {
        rc = number_parse_int(bytes_of_str(most->text), 1, KEY_GROUP_COUNT_MAX, &n, err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "--max-parallelism");
    }
    e->options.key_group_count = e->request.key_group_count = (uint32_t)n;
    RETURN_IF_ERR(path_from_uri(dir, sizeof dir, args->positional[1], err));
    return path_absolute(e->request.dir, sizeof e->request.dir, dir, err);
}

int verb_export(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--to",
         .value = "FORMAT",
         .help = "varve; flink-savepoint: a canonical savepoint; flink-native: a native one"},
        {.name = "--max-parallelism",
         .value = "N",
         .help = "rewrite keyed state for this many key groups"},
        {.name = "--link",
         .help = "with --to flink-native: hard links of the source's files where that works"},
        {.name = "--drop",
         .value = "UID|ID",
         .repeats = true,
         .help = "of a snapshot of Flink's: without this operator; again for more"},
        {.name = "--rename",
         .value = "OLD=NEW",
         .repeats = true,
         .help = "of a snapshot of Flink's: the operator with uid or id OLD has uid NEW; again for more"},
        REBASE_OPTION,
    };
    struct exporting e = {0};
    struct args args;
    struct err err = {0};
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 2, 2);
    if (code >= 0)
        return code;
    if (take_arguments(&e, &args, cli->arena, &err) != RC_OK ||
        rebase_parse(cli, &args, &cli->rebase, &err) != RC_OK)
        return cli_fail(cli, &err);
    e.options.scratch_dir = e.request.scratch;
    return cli_in_child_with_scratch(cli, e.request.path, e.request.scratch, export_in_child, &e);
}
