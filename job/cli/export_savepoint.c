/* export_savepoint.c - varve export --to flink-savepoint. See export_to.h */
#include "checkpoint/flink/flink_newest.h"
#include "checkpoint/flink/flink_of_varve.h"
#include "checkpoint/recovery.h"
#include "job/cli/export_to.h"
#include "job/cli/meter.h"
#include "job/rest/row_json.h"

static void show(void *ctx, uint64_t done_groups, uint64_t all_groups)
{
    meter_show(ctx, "key groups", done_groups, all_groups, false);
}

static void say_done(struct cli *cli, const struct export_request *e, const char *from,
                     const struct flink_savepoint_result *r)
{
    char size[CLI_NUMBER_MAX], count[CLI_NUMBER_MAX];

    cli_say(cli, "%s: a canonical savepoint, %llu files, %s, %s entries of keyed state, from %s",
            e->dir, (unsigned long long)r->file_count, cli_size_text(r->bytes, size),
            cli_count_text(r->entries, count), from);
    if (cli->json)
        cli_print_json(json_pack("{s: o, s: o, s: I, s: I, s: I}", "path", text_json(e->dir), "from",
                                 text_json(from), "files", (json_int_t)r->file_count, "bytes",
                                 (json_int_t)r->bytes, "entries", (json_int_t)r->entries));
    else
        cli_print("%s\n", e->dir);
}

/* dir: of a snapshot that Flink wrote. */
static enum rc of_flink(struct cli *cli, const struct export_request *e, const char *dir,
                        const struct flink_savepoint_options *options,
                        struct flink_savepoint_result *result, struct err *err)
{
    struct flink_snapshot from = {0};
    struct flink_metadata edited;
    enum rc rc = export_open_flink(cli, e, dir, &from, &edited, err);

    if (rc == RC_OK)
        rc = flink_savepoint_write(&cli->env, &edited, from.places, e->dir, options, result, err);
    flink_snapshot_release(&from);
    return rc;
}

static void say(void *ctx, const char *text)
{
    cli_say(ctx, "%s", text);
}

/* *dir: where it lies; in the command's arena. */
static enum rc of_varve(struct cli *cli, const struct export_request *e, const char **dir,
                        const struct flink_savepoint_options *options,
                        struct flink_savepoint_result *result, struct err *err)
{
    struct recovered from = {0};
    enum rc rc = recovery_open(&cli->env, e->path, &(struct recovery_options){0}, &from, err);

    if (rc == RC_OK) {
        *dir = arena_strdup(cli->arena, from.dir);
        rc = flink_of_varve(&cli->env, from.meta, e->dir, options, say, cli, result, err);
    }
    recovered_release(&from);
    return rc;
}

int export_to_flink_savepoint(struct cli *cli, const struct export_request *e)
{
    struct flink_savepoint_result result = {0};
    struct flink_savepoint_options options = {.key_group_count = e->key_group_count,
                                              .scratch_dir = e->scratch,
                                              .progress = show};
    struct err err = {0};
    const char *dir = flink_newest(cli->env.fs, e->path, cli->arena);
    enum rc rc;

    if (dir == NULL && e->key_group_count > 0)
        return cli_error(cli, EXIT_USAGE,
                         "--max-parallelism: of a snapshot of varve's own with --to varve first");
    if (dir == NULL && export_edits(e))
        return cli_error(cli, EXIT_USAGE,
                         "--drop and --rename: %s is no snapshot of Flink's, of which alone they are",
                         e->path);
    options.progress_ctx = meter_new(cli);
    rc = dir != NULL ? of_flink(cli, e, dir, &options, &result, &err)
                     : of_varve(cli, e, &dir, &options, &result, &err);
    meter_free(options.progress_ctx);
    if (rc != RC_OK)
        return cli_fail(cli, &err);
    say_done(cli, e, dir, &result);
    return EXIT_DONE;
}
