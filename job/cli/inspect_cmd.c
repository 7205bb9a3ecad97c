/* inspect_cmd.c - the verbs that look at checkpoint directories without running anything. See
 * verbs.h */
#include "job/cli/verbs.h"

#include "checkpoint/inspect.h"
#include "checkpoint/orphans_search.h"
#include "job/cli/mapping_draft.h"
#include "job/cli/meter.h"
#include "job/cli/rebase.h"
#include "job/config.h"
#include "job/leftover_parts.h"
#include "job/list_items.h"
#include "job/rest/row_json.h"

/* ---- inspect -------------------------------------------------------------------------------- */

static enum rc to_stdout(void *ctx UNUSED, struct bytes piece, struct err *err UNUSED)
{
    cli_print_bytes(piece);
    return RC_OK;
}

static enum rc to_buf(void *ctx, struct bytes piece, struct err *err UNUSED)
{
    buf_append(ctx, piece.data, piece.len);
    return RC_OK;
}

/* The page appears whole or not at all. */
static enum rc write_page(struct cli *cli, const char *file, struct bytes page, struct err *err)
{
    char path[FS_PATH_MAX], dir[FS_PATH_MAX], temp[FS_PATH_MAX];
    const char *temp_name = arena_printf(cli->arena, ".%s.tmp", path_base(file));
    struct fs *fs = cli->env.fs;
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(path_absolute(path, sizeof path, file, err));
    RETURN_IF_ERR(path_dir(dir, sizeof dir, path, err));
    RETURN_IF_ERR(path_join(temp, sizeof temp, dir, temp_name, err));
    rc = fs_unlink(fs, temp, &local); /* of an earlier try */
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    return fs_publish(fs, dir, temp_name, path_base(path), page, FS_PUBLISH_REPLACE, err);
}

static enum rc inspect_to_page(struct cli *cli, const char *path, struct inspect_options *how,
                               const char *file, bool *damaged, struct err *err)
{
    char size[CLI_NUMBER_MAX];
    struct buf page = {0};
    enum rc rc;

    how->form = INSPECT_HTML;
    rc = inspect_path(&cli->env, path, how, to_buf, &page, damaged, err);
    if (rc == RC_OK)
        rc = write_page(cli, file, buf_bytes(&page), err);
    if (rc == RC_OK)
        cli_say(cli, "%s: %s", file, cli_size_text(page.len, size));
    buf_release(&page);
    return rc;
}

int verb_inspect(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--files", .help = "every checkpoint in full, every file by name"},
        {.name = "--digests", .help = "read every named file and compare its digest"},
        {.name = "--html", .value = "FILE", .help = "one page for a browser instead of text"},
        {.name = "--mapping",
         .help = "a draft of the file for run --mapping, of a snapshot of Flink's, instead"},
        {.name = "--job", .value = "JOB.sql", .help = "the job that --mapping is for"},
        REBASE_OPTION,
    };
    struct inspect_options how = {.describe = list_item_describe, .outside = leftover_parts};
    bool damaged = false;
    struct meter *meter;
    const char *page;
    struct args args;
    struct err err = {0};
    enum rc rc;
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 1, 1);
    if (code >= 0)
        return code;
    if (args_get(&args, "--job")->given && !args_get(&args, "--mapping")->given)
        return cli_error(cli, EXIT_USAGE, "--job goes with --mapping");
    if (args_get(&args, "--mapping")->given &&
        (args_get(&args, "--html")->given || cli->json || args_get(&args, "--files")->given ||
         args_get(&args, "--digests")->given))
        return cli_error(cli, EXIT_USAGE, "--mapping drafts a file instead of a report: it goes without "
                                          "--html, --json, --files and --digests");
    if (rebase_parse(cli, &args, &cli->rebase, &err) != RC_OK)
        return cli_fail(cli, &err);
    if (args_get(&args, "--mapping")->given)
        return cli_finish_output(cli, mapping_draft(cli, &args, args.positional[0],
                                                    args_get(&args, "--job")->text));
    page = args_get(&args, "--html")->given ? args_get(&args, "--html")->text : NULL;
    if (page != NULL && cli->json)
        return cli_error(cli, EXIT_USAGE, "--html writes a page, --json a text: give one of them");
    how.rebase = &cli->rebase;
    how.form = cli->json ? INSPECT_JSON : INSPECT_TEXT;
    how.files = args_get(&args, "--files")->given;
    how.digests = args_get(&args, "--digests")->given;
    meter = meter_new(cli);
    how.watch = meter_watch(meter);
    rc = page == NULL ? inspect_path(&cli->env, args.positional[0], &how, to_stdout, NULL, &damaged,
                                     &err)
                      : inspect_to_page(cli, args.positional[0], &how, page, &damaged, &err);
    meter_free(meter);
    if (rc == RC_OK)
        code = damaged ? EXIT_WRONG : EXIT_DONE;
    else if (rc == RC_CORRUPT || rc == RC_VERSION)
        code = cli_error(cli, EXIT_WRONG, "%s", err.msg);
    else
        code = cli_fail(cli, &err);
    return cli_finish_output(cli, code);
}

/* ---- orphans -------------------------------------------------------------------------------- */

struct orphan_print {
    struct cli *cli;
    const struct orphan_search *how;
    size_t place_count, count, young_count, deleted;
    uint64_t bytes;
    bool kinds[ORPHAN_TEMP + 1]; /* were listed */
    bool unreadable;
    enum rc delete_rc; /* the first one */
};

static json_t *orphan_json(const struct orphan_place *p, const struct orphan *o)
{
    return json_pack("{s: s, s: s, s: o, s: I, s: I, s: I}", "kind", orphan_kind_str(o->kind),
                     "reason", orphan_reason_str(o->kind), "path", text_json(o->path), "size",
                     (json_int_t)o->size_bytes, "changed_ms", (json_int_t)o->changed_wall_ms,
                     "age_ms", (json_int_t)(p->now_wall_ms - o->changed_wall_ms));
}

/* All of a place but its list. */
static json_t *place_json(const struct orphan_print *print, const struct orphan_place *p)
{
    const struct orphan_report *r = p->report;
    json_t *o = json_object(), *unreadable = json_array();

    json_object_set_new(o, "path", text_json(p->dir));
    json_object_set_new(o, "kind", json_string(p->savepoint ? "savepoint" : "job"));
    json_object_set_new(o, "held_by", p->held_by == NULL ? json_null() : text_json(p->held_by));
    for (size_t i = 0; r != NULL && i < r->checkpoint_count; i++)
        if (r->checkpoints[i].rc != RC_OK)
            json_array_append_new(
                unreadable, json_pack("{s: o, s: o}", "path", text_json(r->checkpoints[i].dir),
                                      "reason", text_json(r->checkpoints[i].reason)));
    json_object_set_new(o, "unreadable", unreadable);
    json_object_set_new(o, "young", json_integer((json_int_t)p->young_count));
    json_object_set_new(o, "young_size", json_integer((json_int_t)p->young_bytes));
    if (r != NULL && r->flink) {
        json_object_set_new(o, "claimed", json_integer((json_int_t)r->claimed_count));
        json_object_set_new(o, "claimed_size", json_integer((json_int_t)r->claimed_bytes));
        json_object_set_new(o, "claimants", json_integer((json_int_t)p->claimant_count));
        json_object_set_new(o, "newer", json_integer((json_int_t)p->newer));
    }
    if (print->how->remove) {
        json_object_set_new(o, "deleted", json_integer((json_int_t)p->deleted));
        json_object_set_new(o, "fault",
                            p->delete_rc == RC_OK ? json_null() : text_json(p->delete_fault));
    }
    return o;
}

static void print_place_json(const struct orphan_print *print, const struct orphan_place *p)
{
    const struct orphan_report *r = p->report;
    json_t *o = place_json(print, p);
    struct buf text = {0};
    bool first = true;

    json_dump_to(o, false, &text);
    json_decref(o);
    text.len--; /* the brace: the list is its last member */
    cli_print(print->place_count == 1 ? "\n%.*s" : ",\n%.*s", (int)text.len, buf_cstr(&text));
    cli_print(",\"orphans\":[");
    for (size_t i = 0; r != NULL && i < r->orphan_count; i++) {
        if (!orphan_is_old(&r->orphans[i], p->now_wall_ms, print->how->min_age_ms))
            continue;
        buf_clear(&text);
        o = orphan_json(p, &r->orphans[i]);
        json_dump_to(o, false, &text);
        json_decref(o);
        cli_print("%s\n%s", first ? "" : ",", buf_cstr(&text));
        first = false;
    }
    cli_print("]}");
    buf_release(&text);
}

static void say_of_flinks(const struct orphan_print *print, const struct orphan_place *p)
{
    const struct orphan_report *r = p->report;
    const struct cli *cli = print->cli;
    char size[CLI_NUMBER_MAX];

    if (r->flink_why != NULL)
        cli_say(cli, "%s: written by Flink: %s", p->dir, r->flink_why);
    if (r->claimed_count > 0)
        cli_say(cli, "%s: %zu more, %s, are named by snapshots elsewhere: they stay", p->dir,
                r->claimed_count, cli_size_text(r->claimed_bytes, size));
    if (!print->how->remove || !print->how->flink_is_stopped || r->orphan_count == 0)
        return;
    cli_say(cli,
            "%s: %zu snapshots were asked what they name; what went on from one of these elsewhere "
            "may share its files: --claimed-by PATH",
            p->dir, p->claimant_count);
    if (p->newer > 0)
        cli_say(cli, "%s: %zu stay: they are not older than the newest _metadata", p->dir,
                p->newer);
}

static void print_place_text(struct orphan_print *print, const struct orphan_place *p)
{
    char size[CLI_NUMBER_MAX], age[CLI_NUMBER_MAX];
    const struct orphan_report *r = p->report;
    const struct cli *cli = print->cli;

    if (r == NULL) {
        cli_say(cli, "%s: passed over: a running job holds it (%s)", p->dir,
                p->held_by[0] == '\0' ? "who does not say its name" : p->held_by);
        return;
    }
    for (size_t i = 0; i < r->orphan_count; i++) {
        const struct orphan *o = &r->orphans[i];

        if (!orphan_is_old(o, p->now_wall_ms, print->how->min_age_ms))
            continue;
        print->kinds[o->kind] = true;
        cli_print("%-24s %10s %10s  %s\n", orphan_kind_str(o->kind),
                  cli_size_text(o->size_bytes, size),
                  cli_duration_text(p->now_wall_ms - o->changed_wall_ms, age), o->path);
    }
    for (size_t i = 0; i < r->checkpoint_count; i++)
        if (r->checkpoints[i].rc != RC_OK)
            cli_say(cli, "unreadable: %s: %s", r->checkpoints[i].dir, r->checkpoints[i].reason);
    if (r->flink)
        say_of_flinks(print, p);
    if (r->unreadable_count > 0 && r->unnamed_count > 0)
        cli_say(cli, "%s: %zu files in shared/, %s, are in no readable _metadata: they stay",
                p->dir, r->unnamed_count, cli_size_text(r->unnamed_bytes, size));
    if (p->delete_rc != RC_OK)
        cli_say(cli, "%s: %s", p->dir, p->delete_fault);
}

static enum rc print_place(void *ctx, const struct orphan_place *p, struct err *err UNUSED)
{
    struct orphan_print *print = ctx;

    print->place_count++;
    print->count += p->old_count;
    print->bytes += p->old_bytes;
    print->young_count += p->young_count;
    print->deleted += p->deleted;
    print->unreadable = print->unreadable || (p->report != NULL && p->report->unreadable_count > 0);
    if (print->delete_rc == RC_OK)
        print->delete_rc = p->delete_rc;
    if (p->held_by != NULL && print->how->remove && print->delete_rc == RC_OK)
        print->delete_rc = RC_STATE;
    if (print->cli->json)
        print_place_json(print, p);
    else
        print_place_text(print, p);
    return RC_OK;
}

static void print_sum(const struct orphan_print *print)
{
    char size[CLI_NUMBER_MAX], age[CLI_NUMBER_MAX];
    const struct cli *cli = print->cli;

    for (size_t i = 0; i < ARRAY_LEN(print->kinds); i++)
        if (print->kinds[i])
            cli_say(cli, "%s: %s", orphan_kind_str((enum orphan_kind)i),
                    orphan_reason_str((enum orphan_kind)i));
    cli_say(cli, "%zu orphans, %s; %zu more are younger than %s", print->count,
            cli_size_text(print->bytes, size), print->young_count,
            cli_duration_text(print->how->min_age_ms, age));
    if (print->how->remove)
        cli_say(cli, "%zu deleted", print->deleted);
}

static int search_orphans(struct cli *cli, const char *path, struct orphan_search *how)
{
    struct orphan_print print = {.cli = cli, .how = how};
    struct meter *meter = meter_new(cli);
    struct err err = {0};
    enum rc rc;

    if (cli->json)
        cli_print("{\"min_age_ms\":%lld,\"places\":[", (long long)how->min_age_ms);
    how->watch = meter_watch(meter);
    rc = orphans_search(&cli->env, path, how, print_place, &print, &err);
    meter_free(meter);
    if (cli->json)
        cli_print("],\"count\":%zu,\"size\":%llu,\"young\":%zu,\"deleted\":%zu}\n", print.count,
                  (unsigned long long)print.bytes, print.young_count, print.deleted);
    else if (rc == RC_OK)
        print_sum(&print);
    if (rc != RC_OK)
        return cli_fail(cli, &err);
    if (print.delete_rc != RC_OK)
        return cli_exit_code_of(print.delete_rc);
    return print.unreadable ? EXIT_WRONG : EXIT_DONE;
}

/* Absolute, in cli->arena; each is there. */
static enum rc take_claimants(struct cli *cli, const struct args *args, struct orphan_search *how,
                              struct err *err)
{
    const struct arg_option *o = args_get(args, "--claimed-by");
    const char **dirs = ARENA_ARRAY(cli->arena, o->count, const char *);
    char plain[FS_PATH_MAX], path[FS_PATH_MAX];
    struct fs_stat st;

    for (uint32_t i = 0; i < o->count; i++) {
        RETURN_IF_ERR(path_from_uri(plain, sizeof plain, o->all[i], err));
        RETURN_IF_ERR(path_absolute(path, sizeof path, plain, err));
        RETURN_IF_ERR(fs_stat(cli->env.fs, path, &st, err));
        if (st.type != FS_DIR)
            return err_set(err, RC_INVALID, "--claimed-by %s: no directory", o->all[i]);
        dirs[i] = arena_strdup(cli->arena, path);
    }
    how->claimants = dirs;
    how->claimant_count = o->count;
    return RC_OK;
}

int verb_orphans(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--delete", .help = "delete what is listed"},
        {.name = "--min-age",
         .value = "DURATION",
         .help = "only what was last changed before (default 1h)"},
        {.name = "--job-is-stopped",
         .help = "with --delete: no job of Flink's writes there; without it nothing of Flink's goes"},
        {.name = "--claimed-by",
         .value = "PATH",
         .repeats = true,
         .help = "what Flink's snapshots below PATH name stays"},
        REBASE_OPTION,
    };
    struct orphan_search how = {.min_age_ms = 3600 * 1000};
    struct args args;
    struct err err = {0};
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 1, 1);
    if (code >= 0)
        return code;
    if (rebase_parse(cli, &args, &cli->rebase, &err) != RC_OK)
        return cli_fail(cli, &err);
    how.rebase = &cli->rebase;
    how.remove = args_get(&args, "--delete")->given;
    how.flink_is_stopped = args_get(&args, "--job-is-stopped")->given;
    if (how.flink_is_stopped && !how.remove)
        return cli_error(cli, EXIT_USAGE, "--job-is-stopped is for --delete");
    if (take_claimants(cli, &args, &how, &err) != RC_OK)
        return cli_fail(cli, &err);
    if (args_get(&args, "--min-age")->given &&
        duration_parse(args_get(&args, "--min-age")->text, &how.min_age_ms, &err) != RC_OK)
        return cli_fail(cli, &err);
    return cli_finish_output(cli, search_orphans(cli, args.positional[0], &how));
}
