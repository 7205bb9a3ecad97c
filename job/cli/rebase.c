/* rebase.c - see rebase.h */
#include "job/cli/rebase.h"

/* An absolute path without its "file:" and without slashes at its end; of schemes that are not known
 * here the text as it is, which is how Flink wrote it. */
static const char *path_of(struct cli *cli, const char *text, size_t len)
{
    char *given = arena_strndup(cli->arena, text, len), plain[FS_PATH_MAX];
    const char *path = path_from_uri(plain, sizeof plain, given, NULL) == RC_OK ? plain : given;
    size_t end = strlen(path);

    while (end > 0 && path[end - 1] == '/')
        end--;
    return arena_strndup(cli->arena, path, end);
}

static bool is_whole(const char *path)
{
    return path[0] == '\0' || path_is_absolute(path); /* "": the root */
}

static enum rc parse_one(struct cli *cli, const char *text, struct rebase_rule *out,
                         struct err *err)
{
    const char *eq = text;

    /* a path may hold an equals sign: the first one with a path behind it parts the two */
    while ((eq = strchr(eq, '=')) != NULL && eq[1] != '/' && strncmp(eq + 1, "file:", 5) != 0 &&
           !path_is_remote(eq + 1))
        eq++;
    if (eq == NULL || eq == text)
        return err_set(err, RC_INVALID, "--rebase %s: two absolute paths are needed, FROM=TO",
                       text);
    out->from = path_of(cli, text, (size_t)(eq - text));
    out->to = path_of(cli, eq + 1, strlen(eq + 1));
    if (!is_whole(out->from) && strchr(out->from, ':') == NULL)
        return err_set(err, RC_INVALID, "--rebase %s: FROM is no absolute path", text);
    return RC_OK;
}

enum rc rebase_parse(struct cli *cli, const struct args *args, struct rebase *out, struct err *err)
{
    const struct arg_option *o = args_get(args, "--rebase");
    struct rebase_rule *rules = ARENA_ARRAY(cli->arena, o->count, struct rebase_rule);

    *out = (struct rebase){.count = o->count, .rules = rules};
    for (uint32_t i = 0; i < o->count; i++)
        RETURN_IF_ERR(parse_one(cli, o->all[i], &rules[i], err));
    return RC_OK;
}
