/* diff_cmd.c - varve diff: what two snapshots have in common. See verbs.h */
#include "job/cli/verbs.h"

#include "checkpoint/difference.h"
#include "job/cli/state_diff.h"
#include "job/cli/rebase.h"
#include "job/rest/row_json.h"

#define OPERATOR_WIDTH 40

/* ---- text ----------------------------------------------------------------------------------- */

static void put_side(const char *letter, const struct difference_side *side, struct buf *out)
{
    struct metadata_sizes sizes;
    char size[CLI_NUMBER_MAX];

    metadata_sizes_of(side->meta, &sizes);
    buf_printf(out, "%s  %s: %llu of job \"", letter, side->dir,
               (unsigned long long)side->meta->checkpoint_id);
    buf_append_escaped(out, bytes_of_str(side->meta->job_name), SIZE_MAX);
    buf_printf(out, "\", %s\n", cli_size_text(sizes.full_bytes, size));
}

static void put_sums(const char *name, const struct content_sum sums[CONTENT_CHANGES],
                     struct buf *out)
{
    char count[CLI_NUMBER_MAX], size[CLI_NUMBER_MAX];
    size_t start = out->len;

    buf_append_escaped(out, bytes_of_str(name), OPERATOR_WIDTH - 3);
    while (out->len - start < OPERATOR_WIDTH)
        buf_append_str(out, " ");
    for (int c = 0; c < CONTENT_CHANGES; c++)
        buf_printf(out, " %9s %9s", cli_count_text(sums[c].count, count),
                   cli_size_text(sums[c].bytes, size));
    buf_append_str(out, "\n");
}

static void put_contents(const struct operator_difference *op, struct buf *out)
{
    static const char marks[] = {'+', '-', '='};
    char size[CLI_NUMBER_MAX];

    for (size_t i = 0; i < op->content_count; i++) {
        const struct content *c = &op->contents[i];

        buf_printf(out, "  %c %9s  subtask %u  ", marks[c->change],
                   cli_size_text(c->size_bytes, size), c->subtask_index);
        buf_append_escaped(out, bytes_of_str(c->name), SIZE_MAX);
        buf_printf(out, "  %s\n", c->path == NULL ? "inline" : c->path);
    }
}

static void print_text(const struct difference *d, bool files)
{
    struct buf out = {0};

    put_side("A", &d->sides[0], &out);
    put_side("B", &d->sides[1], &out);
    buf_printf(&out, "%-*s", OPERATOR_WIDTH, "operator");
    for (int c = 0; c < CONTENT_CHANGES; c++)
        buf_printf(&out, " %19s", content_change_str((enum content_change)c));
    buf_append_str(&out, "\n");
    for (size_t i = 0; i < d->operator_count; i++) {
        if (d->operators[i].content_count == 0)
            continue; /* it has no state */
        put_sums(d->operators[i].name, d->operators[i].sums, &out);
        if (files)
            put_contents(&d->operators[i], &out);
    }
    put_sums("all", d->sums, &out);
    cli_print_bytes(buf_bytes(&out));
    buf_release(&out);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void set_sums(json_t *o, const struct content_sum sums[CONTENT_CHANGES])
{
    for (int c = 0; c < CONTENT_CHANGES; c++)
        json_object_set_new(o, content_change_str((enum content_change)c),
                            json_pack("{s: I, s: I}", "files", (json_int_t)sums[c].count, "size",
                                      (json_int_t)sums[c].bytes));
}

static json_t *side_json(const struct difference_side *s)
{
    return json_pack("{s: o, s: I, s: o, s: o}", "path", text_json(s->dir), "id",
                     (json_int_t)s->meta->checkpoint_id, "job_id", text_json(s->meta->job_id),
                     "job_name", text_json(s->meta->job_name));
}

static json_t *content_json(const struct content *c)
{
    char hex[DIGEST_HEX_LEN + 1];

    digest_hex(c->digest, hex);
    return json_pack("{s: s, s: o, s: I, s: o, s: I, s: s}", "change",
                     content_change_str(c->change), "name", text_json(c->name), "subtask",
                     (json_int_t)c->subtask_index, "path",
                     c->path == NULL ? json_null() : text_json(c->path), "size",
                     (json_int_t)c->size_bytes, "digest", hex);
}

static json_t *operator_json(const struct operator_difference *op, bool files)
{
    json_t *o = json_pack("{s: s, s: o}", "id", op->id, "name", text_json(op->name));
    json_t *list;

    set_sums(o, op->sums);
    if (!files)
        return o;
    list = json_array();
    for (size_t i = 0; i < op->content_count; i++)
        json_array_append_new(list, content_json(&op->contents[i]));
    json_object_set_new(o, "files", list);
    return o;
}

static void print_json(const struct difference *d, bool files)
{
    json_t *o = json_pack("{s: o, s: o}", "a", side_json(&d->sides[0]), "b",
                          side_json(&d->sides[1]));
    json_t *operators = json_array();

    set_sums(o, d->sums);
    for (size_t i = 0; i < d->operator_count; i++)
        json_array_append_new(operators, operator_json(&d->operators[i], files));
    json_object_set_new(o, "operators", operators);
    cli_print_json(o);
}

int verb_diff(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--files", .help = "every file and list state by name"},
        {.name = "--state", .help = "keys added, changed and removed, of each keyed state"},
        REBASE_OPTION,
    };
    struct difference d = {0};
    struct args args;
    struct err err = {0};
    bool files;
    enum rc rc;
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 2, 2);
    if (code >= 0)
        return code;
    if (rebase_parse(cli, &args, &cli->rebase, &err) != RC_OK)
        return cli_fail(cli, &err);
    files = args_get(&args, "--files")->given;
    if (args_get(&args, "--state")->given)
        return files ? cli_error(cli, EXIT_USAGE, "--files and --state exclude each other")
                     : state_diff(cli, args.positional[0], args.positional[1]);
    rc = difference_make(cli->env.fs, args.positional[0], args.positional[1], &cli->rebase, &d, &err);
    if (rc != RC_OK) {
        code = cli_fail(cli, &err);
    } else {
        if (cli->json)
            print_json(&d, files);
        else
            print_text(&d, files);
        code = EXIT_DONE;
    }
    difference_release(&d);
    return cli_finish_output(cli, code);
}
