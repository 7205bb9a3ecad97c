/* export_native.c - varve export --to flink-native. See export_to.h */
#include "checkpoint/flink/flink_native.h"
#include "checkpoint/flink/flink_newest.h"
#include "job/cli/export_to.h"
#include "job/cli/meter.h"
#include "job/rest/row_json.h"

static void show(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
    meter_show(ctx, "copied", done_bytes, done_bytes > all_bytes ? done_bytes : all_bytes, true);
}

static void say_done(struct cli *cli, const struct export_request *e, const char *from,
                     const struct flink_native_result *r)
{
    char size[CLI_NUMBER_MAX], linked[CLI_NUMBER_MAX];

    cli_say(cli, "%s: a native savepoint, %llu files, %s, %llu databases, from %s", e->dir,
            (unsigned long long)r->file_count, cli_size_text(r->bytes, size),
            (unsigned long long)r->databases, from);
    if (e->link)
        cli_say(cli, "%s: %s of it are the files of the source%s", e->dir,
                cli_size_text(r->linked_bytes, linked),
                r->linked_bytes == 0 ? ": no link leads here from there, everything was copied" : "");
    if (cli->json)
        cli_print_json(json_pack("{s: o, s: o, s: I, s: I, s: I, s: I}", "path", text_json(e->dir), "from",
                                 text_json(from), "files", (json_int_t)r->file_count, "bytes",
                                 (json_int_t)r->bytes, "linked", (json_int_t)r->linked_bytes,
                                 "databases", (json_int_t)r->databases));
    else
        cli_print("%s\n", e->dir);
}

int export_to_flink_native(struct cli *cli, const struct export_request *e)
{
    struct flink_native_options options = {.link = e->link, .progress = show};
    struct flink_native_result result = {0};
    struct flink_snapshot from = {0};
    struct flink_metadata edited;
    struct err err = {0};
    const char *dir;
    enum rc rc;

    if (e->key_group_count > 0)
        return cli_error(cli, EXIT_USAGE,
                         "--max-parallelism: with --to flink-native key groups stay as they are, they are "
                         "the beginning of every key in the files; --to flink-savepoint rewrites them");
    if (flink_newest_only(cli->env.fs, e->path, cli->arena, &dir, &err) != RC_OK)
        return cli_fail(cli, &err);
    if (dir == NULL)
        return cli_error(cli, EXIT_USAGE,
                         "%s is no snapshot of Flink's; --to flink-native copies only what Flink wrote, of a "
                         "snapshot of varve's own --to flink-savepoint makes one for Flink",
                         e->path);
    options.progress_ctx = meter_new(cli);
    rc = export_open_flink(cli, e, dir, &from, &edited, &err);
    if (rc == RC_OK)
        rc = flink_native_write(&cli->env, &edited, from.places, e->dir, &options, &result, &err);
    flink_snapshot_release(&from);
    meter_free(options.progress_ctx);
    if (rc != RC_OK)
        return cli_fail(cli, &err);
    say_done(cli, e, dir, &result);
    return EXIT_DONE;
}
