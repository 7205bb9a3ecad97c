/* args.h - command line arguments of a verb: options with their values, in any order, and what is
 * left over.
 *
 * A verb lists what it takes; anything else is RC_INVALID with the nearest known option.
 * "--name=value" and "--name value" are the same;
 * "--" ends the options. */
#ifndef VARVE_JOB_CLI_ARGS_H
#define VARVE_JOB_CLI_ARGS_H

#include "base/arena.h"

#define ARGS_POSITIONAL_MAX 64

struct arg_option {
    const char *name;  /* "--from-savepoint" */
    const char *alias; /* "-s"; NULL: none */
    const char *value; /* name of its value for the usage text: "PATH"; NULL: a switch */
    bool repeats;
    const char *help;
    /* filled by args_parse */
    bool given;
    const char *text; /* the last value */
    uint32_t count;
    const char **all; /* values in order, in the arena */
};
struct args {
    struct arg_option *options;
    size_t option_count;
    uint32_t positional_count;
    const char *positional[ARGS_POSITIONAL_MAX];
};
/* argv[from..argc). Strings are borrowed from argv. */
MUST_USE enum rc args_parse(struct arena *a, int argc, char **argv, int from,
                            struct arg_option *options, size_t option_count, struct args *out,
                            struct err *err);
/* The option of that name, which the verb listed (asserted). */
const struct arg_option *args_get(const struct args *args, const char *name);
/* "  -s, --from-savepoint PATH   help" lines. */
void args_usage(const struct arg_option *options, size_t option_count, struct buf *out);

#endif
