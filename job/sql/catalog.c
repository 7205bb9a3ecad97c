/* catalog.c - see catalog.h. Building an entry from CREATE TABLE is in catalog_table.c. */
#include "job/sql/catalog_priv.h"

#include "job/sql/sql_error.h"

#include <stdatomic.h>
#include <stdlib.h>

struct catalog {
    struct owned_entry **entries; /* sorted by name */
    size_t count, cap;
};

struct catalog *catalog_new(void)
{
    return mem_calloc(1, sizeof(struct catalog));
}

void catalog_free(struct catalog *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->count; i++)
        catalog_release(&c->entries[i]->entry);
    mem_free(c->entries);
    mem_free(c);
}

struct owned_entry *entry_new(void)
{
    struct arena *arena = arena_new(4096);
    struct owned_entry *o = ARENA_NEW(arena, struct owned_entry);

    o->arena = arena;
    o->entry.watermark_column = -1;
    atomic_init(&o->references, 1);
    return o;
}

void catalog_release(const struct catalog_entry *e)
{
    struct owned_entry *o = (struct owned_entry *)(uintptr_t)e; /* entry is its first member */

    if (o != NULL && atomic_fetch_sub(&o->references, 1) == 1)
        arena_free(o->arena);
}

/* Place of the name, or where it would go. */
static size_t place_of(const struct catalog *c, const char *name, bool *found)
{
    size_t low = 0, high = c->count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (strcmp(c->entries[mid]->entry.name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *found = low < c->count && strcmp(c->entries[low]->entry.name, name) == 0;
    return low;
}

const struct catalog_entry *catalog_find(struct catalog *c, const char *name)
{
    bool found;
    size_t at = place_of(c, name, &found);

    if (!found)
        return NULL;
    atomic_fetch_add(&c->entries[at]->references, 1);
    return &c->entries[at]->entry;
}

enum rc catalog_get(struct catalog *c, const char *name, const char *source, struct sql_pos pos,
                    const struct catalog_entry **out, struct err *err)
{
    const char **names;
    char hint[SQL_HINT_MAX];

    *out = catalog_find(c, name);
    if (*out != NULL)
        return RC_OK;
    names = mem_calloc(c->count + 1, sizeof *names);
    for (size_t i = 0; i < c->count; i++)
        names[i] = c->entries[i]->entry.name;
    sql_nearest_hint(hint, name, names, c->count);
    mem_free(names);
    return sql_error_at(err, RC_NOT_FOUND, source, pos, "there is no table or view %s%s", name,
                        hint);
}

void catalog_list(struct catalog *c, catalog_list_fn *fn, void *ctx)
{
    for (size_t i = 0; i < c->count; i++)
        fn(ctx, &c->entries[i]->entry);
}

enum rc catalog_add(struct catalog *c, struct owned_entry *o, struct err *err)
{
    bool found;
    size_t at = place_of(c, o->entry.name, &found);

    ASSERT(!found);
    if (c->count >= CATALOG_ENTRIES_MAX) {
        catalog_release(&o->entry);
        return err_set(err, RC_LIMIT, "the catalog holds %d tables and views, the limit",
                       CATALOG_ENTRIES_MAX);
    }
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 16 : 2 * c->cap;
        c->entries = mem_realloc(c->entries, c->cap * sizeof(struct owned_entry *));
    }
    memmove(c->entries + at + 1, c->entries + at, (c->count - at) * sizeof(struct owned_entry *));
    c->entries[at] = o;
    c->count++;
    return RC_OK;
}

enum rc catalog_check_new(struct catalog *c, const struct ast_statement *s, bool *skip,
                          struct err *err)
{
    const char *name = s->name;
    const struct catalog_entry *old = catalog_find(c, name);
    bool is_view = old != NULL && old->is_view;

    *skip = old != NULL && s->if_not_exists;
    catalog_release(old);
    if (old != NULL && !s->if_not_exists)
        return err_set(err, RC_EXISTS, "a %s named %s exists already", is_view ? "view" : "table",
                       name);
    return RC_OK;
}

enum rc catalog_drop(struct catalog *c, const char *name, bool view, bool if_exists,
                     struct err *err)
{
    bool found;
    size_t at = place_of(c, name, &found);
    struct sql_pos nowhere = {0};
    const struct catalog_entry *none;

    if (!found) {
        if (if_exists)
            return RC_OK;
        return catalog_get(c, name, NULL, nowhere, &none, err);
    }
    if (c->entries[at]->entry.is_view != view)
        return err_set(err, RC_INVALID, "%s is a %s: use DROP %s", name, view ? "table" : "view",
                       view ? "TABLE" : "VIEW");
    catalog_release(&c->entries[at]->entry);
    c->count--;
    memmove(c->entries + at, c->entries + at + 1, (c->count - at) * sizeof(struct owned_entry *));
    return RC_OK;
}

/* ---- options with a hint --------------------------------------------------------------------- */

static const uint32_t *physical_key(struct arena *arena, const struct catalog_entry *e)
{
    uint32_t *key = ARENA_ARRAY(arena, e->primary_key_count, uint32_t);

    for (uint32_t i = 0; i < e->primary_key_count; i++)
        key[i] = (uint32_t)schema_find(e->physical, e->columns[e->primary_key[i]].name);
    return key;
}

enum rc catalog_connector_table(struct arena *arena, const struct catalog_entry *e,
                                uint32_t hint_count, const struct ast_option *hint,
                                const char *source, const char *time_zone,
                                struct connector_table *out, struct err *err)
{
    struct ast_option *options =
        ARENA_ARRAY(arena, e->option_count + hint_count, struct ast_option);
    uint32_t count = e->option_count;

    memcpy(options, e->options, e->option_count * sizeof *options);
    for (uint32_t i = 0; i < hint_count; i++) {
        uint32_t at = 0;

        if (strcmp(hint[i].key, "connector") == 0)
            return sql_error_at(err, RC_INVALID, source, hint[i].pos,
                                "a hint cannot change the connector");
        while (at < count && strcmp(options[at].key, hint[i].key) != 0)
            at++;
        options[at] = hint[i];
        count += at == count;
    }
    *out = (struct connector_table){
        .name = e->name,
        .text = hint_count > 0 ? source : e->source,
        .pos = hint_count > 0 ? hint[0].pos : e->pos,
        .schema = e->physical,
        .option_count = count,
        .options = options,
        .partition_count = e->partition_count,
        .partition_columns = e->partition_columns,
        .key_count = e->primary_key_count,
        .key = physical_key(arena, e),
        .time_zone = time_zone,
    };
    if (hint_count > 0) /* places of the table's own options lie in another text */
        for (uint32_t i = 0; i < e->option_count; i++) {
            bool own = true;

            for (uint32_t j = 0; j < hint_count; j++)
                own &= strcmp(hint[j].key, options[i].key) != 0;
            if (own)
                options[i].pos = (struct sql_pos){0};
        }
    return RC_OK;
}
