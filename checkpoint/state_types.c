/* state_types.c - see state_types.h */
#include "checkpoint/state_types.h"

/* Text up to a ',' or the end of `s` outside of parentheses, brackets and quotes; returns its
 * length. */
static size_t column_len(const char *s, size_t len)
{
    int depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        if (s[i] == '`')
            quoted = !quoted;
        if (quoted)
            continue;
        if (s[i] == '(' || s[i] == '<')
            depth++;
        else if (s[i] == ')' || s[i] == '>')
            depth--;
        else if (s[i] == ',' && depth == 0)
            return i;
    }
    return len;
}

/* "`name` TYPE"; a ` in the name is written twice. */
static struct type_column parse_column(const char *s, size_t len, struct arena *arena)
{
    const char *end = s + len;
    char *name;
    size_t n = 0;

    while (s < end && *s == ' ')
        s++;
    if (s == end || *s != '`')
        return (struct type_column){"", arena_strndup(arena, s, (size_t)(end - s))};
    name = ARENA_ARRAY(arena, len, char);
    for (s++; s < end && (*s != '`' || (s + 1 < end && s[1] == '`')); s++) {
        name[n++] = *s;
        s += *s == '`';
    }
    s += s < end;
    s += s < end && *s == ' ';
    return (struct type_column){name, arena_strndup(arena, s, (size_t)(end - s))};
}

size_t type_columns(const char *type, struct arena *arena, struct type_column **out)
{
    size_t len = strlen(type), count = 0, at = 4;

    if (strncmp(type, "ROW<", 4) != 0 || type[len - 1] != '>') {
        *out = ARENA_NEW(arena, struct type_column);
        (*out)[0] = (struct type_column){"", type};
        return 1;
    }
    len--; /* without '>' */
    *out = ARENA_ARRAY(arena, len, struct type_column);
    while (at < len) {
        size_t column = column_len(type + at, len - at);

        (*out)[count++] = parse_column(type + at, column, arena);
        at += column + 1;
    }
    return count;
}

const struct type_column *type_column_find(const struct type_column *columns, size_t count,
                                           const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(columns[i].name, name) == 0)
            return &columns[i];
    return NULL;
}

struct both {
    struct type_column *old, *new;
    size_t old_count, new_count;
};

/* Column i is there under another name. */
static bool is_replaced(const struct both *b, size_t i)
{
    return b->old_count == b->new_count &&
           type_column_find(b->new, b->new_count, b->old[i].name) == NULL &&
           type_column_find(b->old, b->old_count, b->new[i].name) == NULL;
}

/* ": was BIGINT, is STRING"; nothing when the column is where and what it was. */
static void print_column(const struct both *b, size_t i, const char *what, struct buf *out)
{
    const struct type_column *old = &b->old[i];
    const struct type_column *now = type_column_find(b->new, b->new_count, old->name);
    bool same = now != NULL && strcmp(now->type, old->type) == 0;

    if (same && (size_t)(now - b->new) == i)
        return;
    buf_printf(out, "\n  %s%s%s: was ", what, old->name[0] == '\0' ? "" : " ", old->name);
    if (same)
        buf_printf(out, "column %zu, is column %zu", i + 1, (size_t)(now - b->new) + 1);
    else if (now != NULL)
        buf_printf(out, "%s, is %s", old->type, now->type);
    else if (is_replaced(b, i))
        buf_printf(out, "%s, is %s: %s", old->type, b->new[i].type, b->new[i].name);
    else
        buf_printf(out, "%s, is gone", old->type);
}

/* Of two texts that differ: "  key k: was BIGINT, is STRING", one line for each column that differs,
 * moved or came or went. */
static void print_differences(const char *what, const char *was, const char *is, struct buf *out)
{
    struct arena *arena = arena_new(0);
    size_t begin = out->len;
    struct both b;

    b.old_count = type_columns(was, arena, &b.old);
    b.new_count = type_columns(is, arena, &b.new);
    for (size_t i = 0; i < b.old_count; i++)
        print_column(&b, i, what, out);
    for (size_t i = 0; i < b.new_count; i++)
        if (type_column_find(b.old, b.old_count, b.new[i].name) == NULL && !is_replaced(&b, i))
            buf_printf(out, "\n  %s%s%s: was not there, is %s", what,
                       b.new[i].name[0] == '\0' ? "" : " ", b.new[i].name, b.new[i].type);
    if (out->len == begin) /* names that are not distinct */
        buf_printf(out, "\n  %s: was %s, is %s", what, was, is);
    arena_free(arena);
}

const char *state_kind_words(enum state_kind kind)
{
    static const char *const names[] = {"unknown",   "value state",    "list state",
                                        "map state", "reducing state", "aggregating state",
                                        "timers"};

    return (size_t)kind < ARRAY_LEN(names) ? names[kind] : names[0];
}

void state_key_differences(const struct state_desc *old, const struct state_desc *new,
                           struct buf *out)
{
    const struct {
        const char *what, *was, *is;
    } types[] = {
        {"key", old->key_type, new->key_type},
        {"namespace", old->namespace_type, new->namespace_type},
        {"map key", old->user_key_type, new->user_key_type},
    };

    if (old->kind != new->kind)
        buf_printf(out, "\n  kind: was %s, is %s", state_kind_words(old->kind),
                   state_kind_words(new->kind));
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i].was, types[i].is) != 0)
            print_differences(types[i].what, types[i].was, types[i].is, out);
}

void state_differences(const struct state_desc *old, const struct state_desc *new,
                       struct buf *out)
{
    state_key_differences(old, new, out);
    if (strcmp(old->value_type, new->value_type) != 0)
        print_differences("value", old->value_type, new->value_type, out);
}
