/* inspect_cmd.c - the verbs that look at checkpoint directories without running anything. See
 * verbs.h */
#include "job/cli/verbs.h"

#include "checkpoint/inspect.h"
#include "checkpoint/layout.h"
#include "checkpoint/orphans.h"
#include "job/config.h"
#include "job/rest/row_json.h"

/* A file: URI or a path -> absolute path. */
static enum rc local_path(const char *given, char out[FS_PATH_MAX], struct err *err)
{
    char path[FS_PATH_MAX];

    RETURN_IF_ERR(path_from_uri(path, sizeof path, given, err));
    return path_absolute(out, FS_PATH_MAX, path, err);
}

int verb_inspect(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--files", .help = "every file by name"},
        {.name = "--digests", .help = "read every named file and compare its digest"},
    };
    struct inspect_options how = {0};
    struct buf text = {0};
    bool damaged = false;
    struct args args;
    struct err err = {0};
    enum rc rc;
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 1, 1);
    if (code >= 0)
        return code;
    how.json = cli->json;
    how.files = args_get(&args, "--files")->given;
    how.digests = args_get(&args, "--digests")->given;
    rc = inspect_path(&cli->env, args.positional[0], &how, &text, &damaged, &err);
    cli_print_bytes(buf_bytes(&text));
    buf_release(&text);
    if (rc == RC_OK)
        code = damaged ? EXIT_WRONG : EXIT_DONE;
    else if (rc == RC_CORRUPT || rc == RC_VERSION)
        code = cli_error(cli, EXIT_WRONG, "%s", err.msg);
    else
        code = cli_fail(cli, &err);
    return cli_finish_output(cli, code);
}

/* ---- orphans
 * -------------------------------------------------------------------------------------- */

static void print_orphans(const struct cli *cli, const struct orphan_report *r)
{
    char size[CLI_NUMBER_MAX];

    if (cli->json) {
        json_t *list = json_array();

        for (size_t i = 0; i < r->orphan_count; i++)
            json_array_append_new(list, json_pack("{s: s, s: o, s: I, s: I}", "kind",
                                                  orphan_kind_str(r->orphans[i].kind), "path",
                                                  text_json(r->orphans[i].path), "size",
                                                  (json_int_t)r->orphans[i].size_bytes, "changed",
                                                  (json_int_t)r->orphans[i].changed_wall_ms));
        cli_print_json(list);
        return;
    }
    for (size_t i = 0; i < r->orphan_count; i++)
        cli_print("%-22s %10s  %s\n", orphan_kind_str(r->orphans[i].kind),
                  cli_size_text(r->orphans[i].size_bytes, size), r->orphans[i].path);
}

static int report_orphans(struct cli *cli, const char *dir, bool remove, int64_t min_age_ms)
{
    struct orphan_report r = {0};
    char size[CLI_NUMBER_MAX];
    struct err err = {0};
    size_t deleted = 0;
    enum rc rc = orphans_scan(cli->env.fs, dir, &r, &err);
    int code;

    if (rc != RC_OK) {
        orphan_report_release(&r);
        return cli_fail(cli, &err);
    }
    print_orphans(cli, &r);
    for (size_t i = 0; i < r.checkpoint_count; i++)
        if (r.checkpoints[i].meta == NULL)
            cli_say(cli, "unreadable: %s: %s", r.checkpoints[i].dir, r.checkpoints[i].reason);
    cli_say(cli, "%zu orphans, %s, beside %zu checkpoints", r.orphan_count,
            cli_size_text(r.orphan_bytes, size), r.checkpoint_count);
    code = r.unreadable_count > 0 ? EXIT_WRONG : EXIT_DONE;
    if (remove) {
        rc = orphans_delete(&cli->env, &r, min_age_ms, &deleted, &err);
        cli_say(cli, "%zu deleted", deleted);
        if (rc != RC_OK)
            code = cli_fail(cli, &err);
    }
    orphan_report_release(&r);
    return code;
}

int verb_orphans(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--delete", .help = "delete them"},
        {.name = "--min-age",
         .value = "DURATION",
         .help = "only what was last changed before (default 1h)"},
    };
    char dir[FS_PATH_MAX], lock_path[FS_PATH_MAX];
    struct fs_file *lock = NULL;
    int64_t min_age_ms = 3600 * 1000;
    struct args args;
    struct err err = {0};
    bool remove;
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 1, 1);
    if (code >= 0)
        return code;
    remove = args_get(&args, "--delete")->given;
    if (args_get(&args, "--min-age")->given && !remove)
        return cli_error(cli, EXIT_USAGE, "--min-age goes with --delete");
    if ((args_get(&args, "--min-age")->given &&
         duration_parse(args_get(&args, "--min-age")->text, &min_age_ms, &err) != RC_OK) ||
        local_path(args.positional[0], dir, &err) != RC_OK)
        return cli_fail(cli, &err);
    if (!fs_exists(cli->env.fs, dir))
        return cli_error(cli, EXIT_USAGE, "%s: there is no such directory", dir);
    if (!layout_is_job_id(path_base(dir)))
        return cli_error(cli, EXIT_USAGE,
                         "%s is no job's directory: its name is not a job id of %d hex digits", dir,
                         JOB_ID_LEN);
    if (remove && (path_join(lock_path, sizeof lock_path, dir, LAYOUT_LOCK, &err) != RC_OK ||
                   fs_lock(cli->env.fs, lock_path, &lock, &err) != RC_OK)) {
        err_wrap(&err, err.rc, "nothing was deleted");
        return cli_fail(cli, &err);
    }
    code = report_orphans(cli, dir, remove, min_age_ms);
    fs_abandon(&lock);
    return cli_finish_output(cli, code);
}
