/* format.c - the table of formats, and option reading for all of them. */
#include "job/format/options_priv.h"

#include <stdio.h>
#include <strings.h>

#define KEY_LEN_MAX 256u

const struct format *format_find(const char *name)
{
    static const struct format *const formats[] = {&csv_format, &json_format};

    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    }
    return NULL;
}

/* Edit distance of two keys; longer ones than KEY_LEN_MAX are cut. */
static size_t distance(const char *a, const char *b)
{
    size_t row[KEY_LEN_MAX + 1], la = strlen(a), lb = strlen(b);

    la = la < KEY_LEN_MAX ? la : KEY_LEN_MAX;
    lb = lb < KEY_LEN_MAX ? lb : KEY_LEN_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

static enum rc unknown_key(const char *name, const struct format_option *table, size_t table_len,
                           const char *key, struct err *err)
{
    const char *nearest = "varve.bad-rows";
    size_t least = distance(key, nearest);

    for (size_t i = 0; i < table_len; i++) {
        size_t d = distance(key, table[i].key);

        if (d < least && table[i].kind != FORMAT_OPTION_REFUSED) {
            least = d;
            nearest = table[i].key;
        }
    }
    return err_set(err, RC_INVALID, "format '%s' has no option '%s'; the nearest is '%s'", name,
                   key, nearest);
}

static enum rc read_bool(const char *key, const char *value, bool *out, struct err *err)
{
    *out = strcmp(value, "true") == 0;
    if (!*out && strcmp(value, "false") != 0)
        return err_set(err, RC_INVALID, "option '%s' = '%s': must be 'true' or 'false'", key,
                       value);
    return RC_OK;
}

/* One ASCII character; "\t", "\\", "\u0001" and the like as Flink's SQL strings may have them. */
static enum rc read_char(const char *key, const char *value, char *out, struct err *err)
{
    static const char names[] = "tnrbf\\\"'", codes[] = "\t\n\r\b\f\\\"'";
    const char *found;
    unsigned code;
    int used = 0;

    if (value[0] != '\0' && value[1] == '\0' && (unsigned char)value[0] < 0x80) {
        *out = value[0];
        return RC_OK;
    }
    if (value[0] == '\\' && value[1] != '\0' && value[2] == '\0' &&
        (found = strchr(names, value[1])) != NULL) {
        *out = codes[found - names];
        return RC_OK;
    }
    if (sscanf(value, "\\u%4x%n", &code, &used) == 1 && used == 6 && value[6] == '\0' && code > 0 &&
        code < 0x80) {
        *out = (char)code;
        return RC_OK;
    }
    return err_set(err, RC_INVALID, "option '%s' = '%s': must be one ASCII character", key, value);
}

static enum rc read_words(const char *key, const char *value, const char *words, int *out,
                          struct err *err)
{
    size_t len = strlen(value);
    const char *word = words;

    for (int i = 0; word != NULL; i++) {
        const char *bar = strchr(word, '|');
        size_t word_len = bar == NULL ? strlen(word) : (size_t)(bar - word);

        if (word_len == len && strncasecmp(word, value, len) == 0) {
            *out = i;
            return RC_OK;
        }
        word = bar == NULL ? NULL : bar + 1;
    }
    return err_set(err, RC_INVALID, "option '%s' = '%s': must be one of %s", key, value, words);
}

static enum rc read_one(const struct format_option *option, struct arena *arena, const char *value,
                        struct format_options *out, struct err *err)
{
    void *target = (char *)out + option->offset;

    switch (option->kind) {
    case FORMAT_OPTION_BOOL:
        return read_bool(option->key, value, target, err);
    case FORMAT_OPTION_CHAR:
        return read_char(option->key, value, target, err);
    case FORMAT_OPTION_WORDS:
        return read_words(option->key, value, option->words, target, err);
    case FORMAT_OPTION_TEXT:
        *(const char **)target = arena_strdup(arena, value);
        return RC_OK;
    case FORMAT_OPTION_REFUSED:
        break;
    }
    return err_set(err, RC_UNSUPPORTED, "option '%s': %s", option->key, option->words);
}

enum rc format_options_read(const char *name, const struct format_option *table, size_t table_len,
                            struct arena *arena, size_t count, const char *const *keys,
                            const char *const *values, struct format_options *out, struct err *err)
{
    const char *ignore_key = arena_printf(arena, "%s.ignore-parse-errors", name);
    bool ignore = false;
    int rule = -1;

    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        if (strcmp(keys[i], ignore_key) == 0) {
            RETURN_IF_ERR(read_bool(keys[i], values[i], &ignore, err));
            continue;
        }
        if (strcmp(keys[i], "varve.bad-rows") == 0) {
            RETURN_IF_ERR(read_words(keys[i], values[i], "fail|skip", &rule, err));
            continue;
        }
        while (at < table_len && strcmp(table[at].key, keys[i]) != 0)
            at++;
        if (at == table_len)
            return unknown_key(name, table, table_len, keys[i], err);
        RETURN_IF_ERR(read_one(&table[at], arena, values[i], out, err));
    }
    if (ignore && rule >= 0)
        return err_set(err, RC_INVALID,
                       "'%s' = 'true' and 'varve.bad-rows' are two rules for a bad row: give one",
                       ignore_key);
    out->bad_rows = ignore ? BAD_ROW_NULL_FIELD : rule == 1 ? BAD_ROW_SKIP : BAD_ROW_FAIL;
    return RC_OK;
}
