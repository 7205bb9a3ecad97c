/* rebase.c - see rebase.h */
#include "job/cli/rebase.h"

enum rc rebase_parse(struct cli *cli, const struct args *args, struct rebase *out, struct err *err)
{
    const struct arg_option *o = args_get(args, "--rebase");
    struct rebase_rule *rules = ARENA_ARRAY(cli->arena, o->count, struct rebase_rule);

    *out = (struct rebase){.count = o->count, .rules = rules};
    for (uint32_t i = 0; i < o->count; i++) {
        enum rc rc = rebase_rule_parse(o->all[i], cli->arena, &rules[i], err);

        if (rc != RC_OK)
            return err_wrap(err, rc, "--rebase");
    }
    return RC_OK;
}

const char *rebase_join(struct cli *cli, const struct arg_option *o)
{
    struct buf all = {0};
    const char *text;

    for (uint32_t i = 0; i < o->count; i++)
        buf_printf(&all, "%s%c", o->all[i], i + 1 < o->count ? REBASE_SEPARATOR : ' ');
    text = arena_strndup(cli->arena, buf_cstr(&all), all.len - 1);
    buf_release(&all);
    return text;
}
