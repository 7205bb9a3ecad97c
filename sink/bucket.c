/* bucket.c - see bucket.h */
#include "sink/bucket.h"

uint32_t bucket_find(struct bucket_table *t, struct bytes path)
{
    uint64_t hash = hash64(path);

    /* Batches come sorted by bucket at best, so the one after the last is as likely as any. */
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t at = (t->last + i) % t->count;
        const struct bucket *b = &t->list[at];

        if (b->hash == hash && bytes_eq(bytes_of_str(b->path), path)) {
            t->last = at;
            return at;
        }
    }
    return t->count;
}

void bucket_add(struct bucket_table *t, struct bytes path, struct part_file *part)
{
    ASSERT(bucket_find(t, path) == t->count);
    if (t->count == t->cap) {
        t->cap = t->cap == 0 ? 4 : t->cap * 2;
        t->list = mem_realloc(t->list, t->cap * sizeof *t->list);
    }
    t->list[t->count] =
        (struct bucket){.hash = hash64(path), .path = mem_alloc(path.len + 1), .part = part};
    if (path.len > 0)
        memcpy(t->list[t->count].path, path.data, path.len);
    t->list[t->count].path[path.len] = '\0';
    t->last = t->count++;
}

struct part_file *bucket_remove(struct bucket_table *t, uint32_t i)
{
    struct part_file *part;

    ASSERT(i < t->count);
    part = t->list[i].part;
    mem_free(t->list[i].path);
    t->list[i] = t->list[--t->count];
    t->last = 0;
    return part;
}

uint32_t bucket_idlest(const struct bucket_table *t)
{
    uint32_t idlest = 0;

    ASSERT(t->count > 0);
    for (uint32_t i = 1; i < t->count; i++)
        if (part_file_age(t->list[i].part).last_write_wall_ms <
            part_file_age(t->list[idlest].part).last_write_wall_ms)
            idlest = i;
    return idlest;
}

void bucket_table_release(struct bucket_table *t)
{
    while (t->count > 0)
        part_file_abandon(bucket_remove(t, t->count - 1));
    mem_free(t->list);
    *t = (struct bucket_table){0};
}
