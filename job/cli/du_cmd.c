/* du_cmd.c - varve du: bytes of snapshots, and what deleting each would free. See verbs.h */
#include "job/cli/verbs.h"

#include "checkpoint/usage.h"
#include "job/cli/child.h"
#include "job/cli/meter.h"
#include "job/cli/rebase.h"
#include "job/rest/row_json.h"

#define NAME_WIDTH 44

/* ---- text ----------------------------------------------------------------------------------- */

/* At most `max` bytes of it. */
static void put_name(const char *name, size_t max, struct buf *out)
{
    size_t start = out->len;

    buf_append_escaped(out, bytes_of_str(name), max);
    while (out->len - start < NAME_WIDTH)
        buf_append_str(out, " ");
}

static void put_size(uint64_t bytes, struct buf *out)
{
    char size[CLI_NUMBER_MAX];

    buf_printf(out, " %10s", cli_size_text(bytes, size));
}

/* Below the path that was given: what stands in each line need not be said in each. */
static const char *short_name(const struct usage_report *r, const char *dir)
{
    size_t len = strlen(r->list.path);

    return strncmp(dir, r->list.path, len) == 0 && dir[len] == '/' ? dir + len + 1 : dir;
}

static void put_snapshot(const struct usage_report *r, const struct snapshot_usage *s,
                         struct buf *out)
{
    put_name(short_name(r, s->dir), SIZE_MAX, out);
    if (s->status == USAGE_UNREADABLE) {
        buf_append_str(out, "  unreadable: ");
        buf_append_escaped(out, bytes_of_str(s->reason), SIZE_MAX);
    } else if (s->status == USAGE_INCOMPLETE) {
        buf_append_str(out, "  incomplete: never completed");
    } else {
        put_size(s->named.bytes + s->inline_bytes, out);
        put_size(s->exclusive.bytes, out);
        put_size(s->shared.bytes, out);
        put_size(s->freed.bytes, out);
    }
    buf_append_str(out, "\n");
}

static void put_operators(const struct usage_report *r, struct buf *out)
{
    if (r->operator_count == 0)
        return;
    buf_printf(out, "\n%-*s %10s %10s %10s\n", NAME_WIDTH, "operator", "files", "exclusive",
               "shared");
    for (size_t i = 0; i < r->operator_count; i++) {
        const struct operator_usage *o = &r->operators[i];
        char count[CLI_NUMBER_MAX];

        if (o->exclusive.count + o->shared.count == 0)
            continue;
        put_name(o->name, NAME_WIDTH - 3, out);
        buf_printf(out, " %10s", cli_count_text(o->exclusive.count + o->shared.count, count));
        put_size(o->exclusive.bytes, out);
        put_size(o->shared.bytes, out);
        buf_append_str(out, "\n");
    }
}

static void put_states(const struct usage_report *r, struct buf *out)
{
    char count[CLI_NUMBER_MAX];

    if (r->state_count == 0)
        return;
    buf_printf(out, "\n%-*s %10s %10s %10s\n", NAME_WIDTH, "state", "files", "exclusive",
               "shared");
    for (size_t i = 0; i < r->state_count; i++) {
        const struct state_usage *s = &r->states[i];
        struct buf name = {0};

        if (s->exclusive.count + s->shared.count == 0)
            continue;
        buf_printf(&name, "%s of %s", s->state == NULL ? "(no one state)" : s->state,
                   s->operator_name);
        put_name(buf_cstr(&name), NAME_WIDTH - 3, out);
        buf_release(&name);
        buf_printf(out, " %10s", cli_count_text(s->exclusive.count + s->shared.count, count));
        put_size(s->exclusive.bytes, out);
        put_size(s->shared.bytes, out);
        buf_append_str(out, "\n");
    }
}

static void put_line(const char *text, const struct usage_sum *sum, struct buf *out)
{
    char size[CLI_NUMBER_MAX], count[CLI_NUMBER_MAX];

    buf_printf(out, "  %10s in %s files %s\n", cli_size_text(sum->bytes, size),
               cli_count_text(sum->count, count), text);
}

static void print_text(const struct usage_report *r)
{
    struct buf out = {0};

    buf_printf(&out, "%-*s %10s %10s %10s %10s\n", NAME_WIDTH, "snapshot", "size", "exclusive",
               "shared", "would free");
    for (size_t i = 0; i < r->snapshot_count; i++)
        if (r->only == USAGE_ALL || r->only == i)
            put_snapshot(r, &r->snapshots[i], &out);
    put_operators(r, &out);
    put_states(r, &out);
    buf_printf(&out, "\n%s\n", r->list.path);
    put_line("in all", &r->all, &out);
    put_line("that no readable _metadata names", &r->unnamed, &out);
    put_line("with another name elsewhere: deleting them frees nothing", &r->linked, &out);
    if (r->missing.count > 0)
        put_line("are named and not there (varve verify lists them)", &r->missing, &out);
    if (r->unreadable_count > 0)
        buf_printf(&out,
                   "  %zu _metadata cannot be read: what only they name counts as unnamed, what "
                   "they share as not shared\n",
                   r->unreadable_count);
    cli_print_bytes(buf_bytes(&out));
    buf_release(&out);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *sum_json(const struct usage_sum *s)
{
    return json_pack("{s: I, s: I}", "files", (json_int_t)s->count, "size", (json_int_t)s->bytes);
}

static json_t *snapshot_json(const struct snapshot_usage *s)
{
    return json_pack("{s: o, s: I, s: s, s: o, s: o, s: I, s: o, s: o, s: o}", "path",
                     text_json(s->dir), "id", (json_int_t)s->checkpoint_id, "status",
                     usage_status_str(s->status), "reason", text_json(s->reason), "named",
                     sum_json(&s->named), "inline", (json_int_t)s->inline_bytes, "exclusive",
                     sum_json(&s->exclusive), "shared", sum_json(&s->shared), "would_free",
                     sum_json(&s->freed));
}

static json_t *operator_json(const struct operator_usage *o)
{
    return json_pack("{s: s, s: o, s: o, s: o}", "id", o->id, "name", text_json(o->name),
                     "exclusive", sum_json(&o->exclusive), "shared", sum_json(&o->shared));
}

static json_t *state_json(const struct state_usage *s)
{
    return json_pack("{s: s, s: o, s: o, s: o, s: o}", "operator_id", s->operator_id, "operator",
                     text_json(s->operator_name), "name",
                     s->state == NULL ? json_null() : text_json(s->state), "exclusive",
                     sum_json(&s->exclusive), "shared", sum_json(&s->shared));
}

static void print_json(const struct usage_report *r)
{
    json_t *snapshots = json_array(), *operators = json_array(), *states = json_array();

    for (size_t i = 0; i < r->snapshot_count; i++)
        if (r->only == USAGE_ALL || r->only == i)
            json_array_append_new(snapshots, snapshot_json(&r->snapshots[i]));
    for (size_t i = 0; i < r->operator_count; i++)
        json_array_append_new(operators, operator_json(&r->operators[i]));
    for (size_t i = 0; i < r->state_count; i++)
        json_array_append_new(states, state_json(&r->states[i]));
    cli_print_json(json_pack("{s: o, s: s, s: o, s: o, s: o, s: o, s: I, s: o, s: o, s: o}", "path",
                             text_json(r->list.path), "type", snapshot_list_type_str(r->list.type),
                             "all", sum_json(&r->all), "unnamed", sum_json(&r->unnamed), "linked",
                             sum_json(&r->linked), "missing", sum_json(&r->missing), "unreadable",
                             (json_int_t)r->unreadable_count, "snapshots", snapshots, "operators",
                             operators, "states", states));
}

static int look_and_print(struct cli *cli, const char *path, const char *scratch_dir)
{
    struct meter *meter = meter_new(cli);
    struct usage_report report = {0};
    struct err err = {0};
    enum rc rc = usage_look(cli->env.fs, path, scratch_dir, &cli->rebase, meter_watch(meter), &report, &err);
    int code;

    meter_free(meter);
    if (rc != RC_OK) {
        code = cli_fail(cli, &err);
    } else {
        if (cli->json)
            print_json(&report);
        else
            print_text(&report);
        code = report.unreadable_count > 0 ? EXIT_WRONG : EXIT_DONE;
    }
    usage_report_release(&report);
    return code;
}

int verb_du(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--states", .help = "by state too: databases are opened to know"},
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
    code = args_get(&args, "--states")->given
               ? cli_with_scratch(cli, args.positional[0], look_and_print)
               : look_and_print(cli, args.positional[0], NULL);
    return cli_finish_output(cli, code);
}
