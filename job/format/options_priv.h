/* options_priv.h - what the option readers of the formats share. */
#ifndef VARVE_JOB_FORMAT_OPTIONS_PRIV_H
#define VARVE_JOB_FORMAT_OPTIONS_PRIV_H

#include "job/format/format.h"

/* One option a format knows. Exactly one of the targets is set. */
struct format_option {
    const char *key; /* in full: "csv.field-delimiter" */
    enum {
        FORMAT_OPTION_BOOL,
        FORMAT_OPTION_CHAR,
        FORMAT_OPTION_TEXT,
        FORMAT_OPTION_WORDS,
        FORMAT_OPTION_REFUSED
    } kind;
    size_t offset; /* of the member in struct format_options: bool, char, const char *, int */
    const char
        *words; /* FORMAT_OPTION_WORDS: "a|b", values 0, 1, ..; FORMAT_OPTION_REFUSED: the reason */
};
/* Reads the pairs by the table; sets out->bad_rows from '<name>.ignore-parse-errors' and
 * 'varve.bad-rows'. */
enum rc format_options_read(const char *name, const struct format_option *table, size_t table_len,
                            struct arena *arena, size_t count, const char *const *keys,
                            const char *const *values, struct format_options *out, struct err *err);

#endif
