/* secret.c - see secret.h */
#include "job/sql/secret.h"

#define KEY_MAX 256

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool secret_key(const char *key)
{
    static const char *const words[] = {"password", "secret",      "fs.azure.account.key",
                                        "apikey",   "api-key",     "auth-params",
                                        "token",    "service-key", "basic-auth"};
    char small[KEY_MAX];
    size_t len = 0;

    for (; key[len] != '\0' && len + 1 < sizeof small; len++)
        small[len] = lower(key[len]);
    small[len] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(small, words[i]) != NULL)
            return true;
    return false;
}

/* Behind the text in quotes that begins at `at`; '' is a quote in it. */
static size_t quoted_end(struct bytes t, size_t at)
{
    for (at++; at < t.len; at++)
        if (t.data[at] == '\'' && (at + 1 == t.len || t.data[at + 1] != '\''))
            return at + 1;
        else if (t.data[at] == '\'')
            at++;
    return t.len;
}

static size_t skip_blanks(struct bytes t, size_t at)
{
    while (at < t.len && (t.data[at] == ' ' || (t.data[at] >= '\t' && t.data[at] <= '\r')))
        at++;
    return at;
}

/* Where the quoted value begins whose key ends at `to`; 0: it is no option. A forgotten '=' makes it
 * no less secret. */
static size_t value_of(struct bytes t, size_t to)
{
    size_t at = skip_blanks(t, to);

    if (at < t.len && t.data[at] == '=')
        at = skip_blanks(t, at + 1);
    return at < t.len && t.data[at] == '\'' ? at : 0;
}

static bool names_secret(struct bytes t, size_t from, size_t to)
{
    char key[KEY_MAX];
    size_t len = to - from < sizeof key ? to - from : sizeof key - 1;

    memcpy(key, t.data + from, len);
    key[len] = '\0';
    return secret_key(key);
}

/* Behind a comment (not a hint: options stand in it) or a name in backquotes that begins at `at`,
 * where a quote is no quote; `at` itself: none does. */
static size_t skip_quiet(struct bytes t, size_t at)
{
    uint8_t c = t.data[at], next = at + 1 < t.len ? t.data[at + 1] : 0;
    size_t from = at;

    if (c == '-' && next == '-') {
        while (at < t.len && t.data[at] != '\n')
            at++;
    } else if (c == '/' && next == '*' && (at + 2 >= t.len || t.data[at + 2] != '+')) {
        for (at += 2; at < t.len && !(t.data[at] == '/' && t.data[at - 1] == '*' && at > from + 2);)
            at++;
        at += at < t.len;
    } else if (c == '`') {
        for (at++; at < t.len && t.data[at] != '`';)
            at++;
        at += at < t.len;
    }
    return at;
}

/* The next secret value, quotes included, from `at` on; false: there is none. */
static bool next_secret(struct bytes t, size_t at, size_t *from, size_t *to)
{
    while (at < t.len) {
        size_t end, value;

        end = skip_quiet(t, at);
        if (end != at || t.data[at] != '\'') {
            at = end != at ? end : at + 1;
            continue;
        }
        end = quoted_end(t, at);
        value = value_of(t, end);
        if (value != 0 && names_secret(t, at, end)) {
            *from = value;
            *to = quoted_end(t, value);
            return true;
        }
        at = end;
    }
    return false;
}

void secret_mask(const char *sql, struct buf *out)
{
    struct bytes t = bytes_of_str(sql);
    size_t at = 0, from, to;

    while (next_secret(t, at, &from, &to)) {
        buf_append(out, t.data + at, from - at);
        buf_append_str(out, "'" SECRET_SHOWN "'");
        at = to;
    }
    buf_append(out, t.data + at, t.len - at);
}

bool secret_within(struct bytes text)
{
    return secret_overlaps(text, 0, text.len);
}

bool secret_overlaps(struct bytes text, size_t from, size_t to)
{
    size_t at = 0, secret;

    while (next_secret(text, at, &secret, &at))
        if (secret < to && at > from)
            return true;
    return false;
}
