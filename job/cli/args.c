/* args.c - see args.h */
#include "job/cli/args.h"

#include "base/nearest.h"

#define OPTIONS_MAX 64 /* of one verb, looked at for a near name */

static struct arg_option *find(struct arg_option *options, size_t count, const char *word,
                               size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == len && strncmp(options[i].name, word, len) == 0)
            return &options[i];
        if (options[i].alias != NULL && strlen(options[i].alias) == len &&
            strncmp(options[i].alias, word, len) == 0)
            return &options[i];
    }
    return NULL;
}

/* By edit distance, else the longest common start: what was probably meant; NULL. */
static const char *nearest(const struct arg_option *options, size_t count, const char *word)
{
    const char *names[OPTIONS_MAX], *name = NULL;
    size_t n = count < OPTIONS_MAX ? count : OPTIONS_MAX, best = 3; /* more than "--x" */

    for (size_t i = 0; i < n; i++)
        names[i] = options[i].name;
    name = nearest_of(word, names, n);
    for (size_t i = 0; name == NULL && i < n; i++) {
        size_t same = 0;

        while (word[same] != '\0' && word[same] == names[i][same])
            same++;
        if (same > best && word[same] == '\0') /* the start of one */
            return names[i];
    }
    return name;
}

static enum rc unknown(const struct arg_option *options, size_t count, const char *word,
                       struct err *err)
{
    const char *near = nearest(options, count, word);

    return err_set(err, RC_INVALID, "unknown option %s%s%s%s", word,
                   near != NULL ? " (did you mean " : "", near != NULL ? near : "",
                   near != NULL ? "?)" : "");
}

static void add_value(struct arena *a, struct arg_option *o, const char *value)
{
    const char **all = ARENA_ARRAY(a, o->count + 1, const char *);

    if (o->count > 0)
        memcpy(all, o->all, o->count * sizeof *all);
    all[o->count++] = value;
    o->all = all;
    o->text = value;
}

enum rc args_parse(struct arena *a, int argc, char **argv, int from, struct arg_option *options,
                   size_t option_count, struct args *out, struct err *err)
{
    bool only_positional = false;

    *out = (struct args){.options = options, .option_count = option_count};
    for (int i = from; i < argc; i++) {
        const char *word = argv[i], *equals = strchr(word, '=');
        bool is_long = strncmp(word, "--", 2) == 0;
        struct arg_option *o;

        if (!only_positional && strcmp(word, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (only_positional || word[0] != '-' || word[1] == '\0') {
            if (out->positional_count == ARGS_POSITIONAL_MAX)
                return err_set(err, RC_LIMIT, "more than %d arguments", ARGS_POSITIONAL_MAX);
            out->positional[out->positional_count++] = word;
            continue;
        }
        o = find(options, option_count, word,
                 is_long && equals != NULL ? (size_t)(equals - word) : strlen(word));
        if (o == NULL && !is_long && word[1] == 'D' && word[2] != '\0') { /* -Dkey=value */
            o = find(options, option_count, "-D", 2);
            if (o != NULL) {
                o->given = true;
                add_value(a, o, word + 2);
                continue;
            }
        }
        if (o == NULL)
            return unknown(options, option_count, word, err);
        if (o->given && !o->repeats)
            return err_set(err, RC_INVALID, "option %s is given twice", o->name);
        o->given = true;
        if (o->value == NULL) {
            if (is_long && equals != NULL)
                return err_set(err, RC_INVALID, "option %s takes no value", o->name);
            continue;
        }
        if (is_long && equals != NULL) {
            add_value(a, o, equals + 1);
        } else {
            if (i + 1 == argc)
                return err_set(err, RC_INVALID, "option %s needs a value: %s", o->name, o->value);
            add_value(a, o, argv[++i]);
        }
    }
    return RC_OK;
}

const struct arg_option *args_get(const struct args *args, const char *name)
{
    struct arg_option *o = find(args->options, args->option_count, name, strlen(name));

    ASSERT(o != NULL);
    return o;
}

void args_usage(const struct arg_option *options, size_t option_count, struct buf *out)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct arg_option *o = &options[i];
        size_t start = out->len;

        buf_printf(out, "  %s%s%s%s%s", o->alias != NULL ? o->alias : "",
                   o->alias != NULL ? ", " : "    ", o->name, o->value != NULL ? " " : "",
                   o->value != NULL ? o->value : "");
        while (out->len - start < 38)
            buf_append_u8(out, ' ');
        buf_printf(out, " %s\n", o->help);
    }
}
