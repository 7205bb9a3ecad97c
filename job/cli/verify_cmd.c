/* verify_cmd.c - varve verify: what is damaged in a checkpoint directory, and what still can be
 * restored. See verbs.h */
#include "job/cli/verbs.h"

#include "base/thread.h"
#include "checkpoint/verify.h"
#include "job/cli/child.h"
#include "job/cli/meter.h"
#include "job/cli/rebase.h"
#include "job/rest/row_json.h"

#define SHARERS_SHOWN 8 /* of each fault, in the text */

/* ---- text ----------------------------------------------------------------------------------- */

static void put_sharers(const struct verify_report *r, const struct verify_fault *f,
                        struct buf *out)
{
    buf_append_str(out, "; used by");
    for (size_t i = 0; i < f->snapshot_count && i < SHARERS_SHOWN; i++)
        buf_printf(out, "%s %s", i == 0 ? "" : ",", path_base(r->snapshots[f->snapshots[i]].dir));
    if (f->snapshot_count > SHARERS_SHOWN)
        buf_printf(out, " and %zu more", f->snapshot_count - SHARERS_SHOWN);
}

static void print_fault(const struct verify_report *r, const struct verify_fault *f)
{
    char size[CLI_NUMBER_MAX];
    struct buf line = {0};

    buf_printf(&line, "damaged: %s", f->path);
    if (f->operator_name != NULL) {
        buf_printf(&line, " (%s, operator \"", cli_size_text(f->size_bytes, size));
        buf_append_escaped(&line, bytes_of_str(f->operator_name), SIZE_MAX);
        buf_printf(&line, "\" subtask %u)", f->subtask_index);
    }
    buf_append_str(&line, ": ");
    buf_append_escaped(&line, bytes_of_str(f->reason), SIZE_MAX); /* it may quote damaged bytes */
    if (f->operator_name != NULL)
        put_sharers(r, f, &line);
    buf_append_str(&line, "\n");
    cli_print_bytes(buf_bytes(&line));
    buf_release(&line);
}

/* Of a job's directory in which something is wrong. */
static void print_newest_clean(const struct verify_report *r, uint32_t job)
{
    size_t newest = r->newest_clean[job];

    for (size_t i = 0; i < r->snapshot_count; i++) {
        if (r->snapshots[i].job != job || r->snapshots[i].status != VERIFY_DAMAGED)
            continue;
        if (newest == VERIFY_NONE)
            cli_print("no clean checkpoint in %s\n", r->list.job_dirs[job]);
        else
            cli_print("newest clean checkpoint: %s\n", r->snapshots[newest].dir);
        return;
    }
}

/* What nothing proves, summed up by the reason. */
static void print_unproven(const struct verify_report *r)
{
    char size[CLI_NUMBER_MAX], count[CLI_NUMBER_MAX];

    for (size_t i = 0; i < r->unproven_count; i++) {
        uint64_t files = 0, bytes = 0;
        bool first = true;

        for (size_t k = 0; k < r->unproven_count; k++) {
            if (strcmp(r->unproven[k].reason, r->unproven[i].reason) != 0)
                continue;
            first = first && k >= i;
            files++;
            bytes += r->unproven[k].size_bytes;
        }
        if (first)
            cli_print("not provable: %s in %s streams: %s\n", cli_size_text(bytes, size),
                      cli_count_text(files, count), r->unproven[i].reason);
    }
}

static void print_left_over(const struct verify_report *r)
{
    char size[CLI_NUMBER_MAX], count[CLI_NUMBER_MAX];

    for (size_t i = 0; i < r->left_over_count; i++) {
        const struct verify_left_over *l = &r->left_over[i];
        struct buf line = {0};

        buf_printf(&line, "left over from a rescale: %s entries, %s, of state \"",
                   cli_count_text(l->entries, count), cli_size_text(l->bytes, size));
        buf_append_escaped(&line, bytes_of_str(l->state), SIZE_MAX);
        buf_append_str(&line, "\" (operator \"");
        buf_append_escaped(&line, bytes_of_str(l->operator_name), SIZE_MAX);
        buf_printf(&line,
                   "\" subtask %u) in %s: outside its key groups, where Flink does not look\n",
                   l->subtask_index, path_base(l->snapshot_dir));
        cli_print_bytes(buf_bytes(&line));
        buf_release(&line);
    }
}

static void print_text(const struct verify_report *r)
{
    char read[CLI_NUMBER_MAX], files[CLI_NUMBER_MAX], all[CLI_NUMBER_MAX];

    for (size_t i = 0; i < r->snapshot_count; i++)
        if (r->snapshots[i].status == VERIFY_INCOMPLETE)
            cli_print("incomplete: %s: no _metadata: never completed, or deleted by now\n",
                      r->snapshots[i].dir);
    for (size_t i = 0; i < r->fault_count; i++)
        print_fault(r, &r->faults[i]);
    print_unproven(r);
    print_left_over(r);
    for (uint32_t i = 0; i < r->list.job_count; i++)
        print_newest_clean(r, i);
    cli_print("%s: %s snapshots: %zu clean, %zu damaged, %zu incomplete; %s files, %s read\n",
              r->list.path, cli_count_text(r->snapshot_count, all),
              r->snapshot_count - r->damaged_count - r->incomplete_count, r->damaged_count,
              r->incomplete_count, cli_count_text(r->file_count, files),
              cli_size_text(r->read_bytes, read));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *snapshot_json(const struct verified_snapshot *s)
{
    return json_pack("{s: o, s: I, s: o, s: o, s: I, s: I, s: I}", "path", text_json(s->dir), "id",
                     (json_int_t)s->checkpoint_id, "status",
                     text_json(verify_status_str(s->status)), "job_name",
                     s->job_name == NULL ? json_null() : text_json(s->job_name),
                     "files", (json_int_t)s->file_count, "size", (json_int_t)s->size_bytes,
                     "faults", (json_int_t)s->fault_count);
}

static json_t *fault_json(const struct verify_report *r, const struct verify_fault *f)
{
    json_t *snapshots = json_array();

    for (size_t i = 0; i < f->snapshot_count; i++)
        json_array_append_new(snapshots, text_json(r->snapshots[f->snapshots[i]].dir));
    return json_pack("{s: o, s: o, s: o, s: o, s: I, s: o}", "path", text_json(f->path), "reason",
                     text_json(f->reason), "operator",
                     f->operator_name == NULL ? json_null() : text_json(f->operator_name),
                     "subtask",
                     f->operator_name == NULL ? json_null() : json_integer(f->subtask_index),
                     "size", (json_int_t)f->size_bytes, "snapshots", snapshots);
}

static json_t *left_over_json(const struct verify_left_over *l)
{
    return json_pack("{s: o, s: o, s: I, s: o, s: I, s: I}", "snapshot", text_json(l->snapshot_dir),
                     "operator", text_json(l->operator_name), "subtask",
                     (json_int_t)l->subtask_index, "state", text_json(l->state), "entries",
                     (json_int_t)l->entries, "size", (json_int_t)l->bytes);
}

static void print_json(const struct verify_report *r)
{
    json_t *snapshots = json_array(), *faults = json_array(), *jobs = json_array();
    json_t *unproven = json_array(), *left_over = json_array();

    for (size_t i = 0; i < r->left_over_count; i++)
        json_array_append_new(left_over, left_over_json(&r->left_over[i]));
    for (size_t i = 0; i < r->unproven_count; i++)
        json_array_append_new(
            unproven, json_pack("{s: o, s: o, s: I}", "path", text_json(r->unproven[i].path),
                                "reason", text_json(r->unproven[i].reason), "size",
                                (json_int_t)r->unproven[i].size_bytes));

    for (size_t i = 0; i < r->snapshot_count; i++)
        json_array_append_new(snapshots, snapshot_json(&r->snapshots[i]));
    for (size_t i = 0; i < r->fault_count; i++)
        json_array_append_new(faults, fault_json(r, &r->faults[i]));
    for (size_t i = 0; i < r->list.job_count; i++)
        json_array_append_new(
            jobs, json_pack("{s: o, s: o}", "path", text_json(r->list.job_dirs[i]), "newest_clean",
                            r->newest_clean[i] == VERIFY_NONE
                                ? json_null()
                                : text_json(r->snapshots[r->newest_clean[i]].dir)));
    cli_print_json(json_pack(
        "{s: o, s: s, s: b, s: I, s: I, s: I, s: I, s: I, s: o, s: o, s: o, s: o, s: o}", "path",
        text_json(r->list.path), "type", snapshot_list_type_str(r->list.type), "ok",
        !verify_found_damage(r), "clean",
        (json_int_t)(r->snapshot_count - r->damaged_count - r->incomplete_count), "damaged",
        (json_int_t)r->damaged_count, "incomplete", (json_int_t)r->incomplete_count, "files",
        (json_int_t)r->file_count, "read", (json_int_t)r->read_bytes, "jobs", jobs, "snapshots",
        snapshots, "faults", faults, "unproven", unproven, "left_over", left_over));
}

static int verify_and_print(struct cli *cli, const char *path, const char *scratch_dir)
{
    struct verify_options how = {.threads = thread_core_count(), .scratch_dir = scratch_dir,
                                 .rebase = &cli->rebase};
    struct meter *meter = meter_new(cli);
    struct verify_report report = {0};
    struct err err = {0};
    enum rc rc;
    int code;

    how.watch = meter_watch(meter);
    rc = verify_path(&cli->env, path, &how, &report, &err);
    meter_free(meter);
    if (rc != RC_OK) {
        code = cli_fail(cli, &err);
    } else {
        if (cli->json)
            print_json(&report);
        else
            print_text(&report);
        code = verify_found_damage(&report) ? EXIT_WRONG : EXIT_DONE;
    }
    verify_report_release(&report);
    return code;
}

int verb_verify(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--deep", .help = "open each database too: every block, key and count"},
        REBASE_OPTION,
    };
    struct err err = {0};
    struct args args;
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 1, 1);
    if (code >= 0)
        return code;
    if (rebase_parse(cli, &args, &cli->rebase, &err) != RC_OK)
        return cli_fail(cli, &err);
    code = args_get(&args, "--deep")->given
               ? cli_with_scratch(cli, args.positional[0], verify_and_print)
               : verify_and_print(cli, args.positional[0], NULL);
    return cli_finish_output(cli, code);
}
