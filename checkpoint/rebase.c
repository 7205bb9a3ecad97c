/* rebase.c - see rebase.h */
#include "checkpoint/rebase.h"

#include "base/fs.h"

#include <string.h>

/* An absolute path without its "file:" and without slashes at its end; of schemes that are not known
 * here the text as it is, which is how Flink wrote it. */
static const char *path_of(struct arena *arena, const char *text, size_t len)
{
    char *given = arena_strndup(arena, text, len), plain[FS_PATH_MAX];
    const char *path = path_from_uri(plain, sizeof plain, given, NULL) == RC_OK ? plain : given;
    size_t end = strlen(path);

    while (end > 0 && path[end - 1] == '/')
        end--;
    return arena_strndup(arena, path, end);
}

static bool is_whole(const char *path)
{
    return path[0] == '\0' || path_is_absolute(path); /* "": the root */
}

enum rc rebase_rule_parse(const char *text, struct arena *arena, struct rebase_rule *out,
                          struct err *err)
{
    const char *eq = text;

    /* a path may hold an equals sign: the first one with a path behind it parts the two */
    while ((eq = strchr(eq, '=')) != NULL && eq[1] != '/' && strncmp(eq + 1, "file:", 5) != 0 &&
           !path_is_remote(eq + 1))
        eq++;
    if (eq == NULL || eq == text)
        return err_set(err, RC_INVALID, "%s: two absolute paths are needed, FROM=TO", text);
    out->from = path_of(arena, text, (size_t)(eq - text));
    out->to = path_of(arena, eq + 1, strlen(eq + 1));
    if (!is_whole(out->from) && strchr(out->from, ':') == NULL)
        return err_set(err, RC_INVALID, "%s: FROM is no absolute path", text);
    return RC_OK;
}

enum rc rebase_list_parse(const char *text, struct arena *arena, struct rebase *out,
                          struct err *err)
{
    struct rebase_rule *rules;
    size_t most = 1;

    for (const char *at = text; *at != '\0'; at++)
        most += *at == REBASE_SEPARATOR;
    *out = (struct rebase){.rules = rules = ARENA_ARRAY(arena, most, struct rebase_rule)};
    for (const char *at = text; *at != '\0';) {
        const char *end = strchrnul(at, REBASE_SEPARATOR);

        if (end > at)
            RETURN_IF_ERR(rebase_rule_parse(arena_strndup(arena, at, (size_t)(end - at)), arena,
                                            &rules[out->count++], err));
        at = *end == '\0' ? end : end + 1;
    }
    return RC_OK;
}
