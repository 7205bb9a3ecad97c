#include "tests/lib/model_state.h"

#include <stdio.h>

static struct bytes own(struct bytes b)
{
    uint8_t *p = mem_alloc(b.len);

    if (b.len > 0)
        memcpy(p, b.data, b.len);
    return bytes_of(p, b.len);
}

static void disown(struct bytes b)
{
    mem_free((void *)(uintptr_t)b.data);
}

void model_release(struct model_state *m)
{
    for (size_t i = 0; i < m->count; i++) {
        disown(m->entries[i].key);
        disown(m->entries[i].value);
    }
    mem_free(m->entries);
    *m = (struct model_state){0};
}

size_t model_find(const struct model_state *m, struct bytes key, bool *found)
{
    size_t low = 0, high = m->count;

    *found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = bytes_cmp(m->entries[mid].key, key);

        if (c == 0) {
            *found = true;
            return mid;
        }
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct model_entry *model_get(const struct model_state *m, struct bytes key)
{
    bool found;
    size_t i = model_find(m, key, &found);

    return found ? &m->entries[i] : NULL;
}

void model_put(struct model_state *m, struct bytes key, struct bytes value)
{
    bool found;
    size_t i = model_find(m, key, &found);
    struct bytes copy = own(value);

    if (found) {
        disown(m->entries[i].value);
        m->entries[i].value = copy;
        return;
    }
    if (m->count == m->cap) {
        m->cap = m->cap == 0 ? 64 : m->cap * 2;
        m->entries = mem_realloc(m->entries, m->cap * sizeof *m->entries);
    }
    memmove(m->entries + i + 1, m->entries + i, (m->count - i) * sizeof *m->entries);
    m->entries[i] = (struct model_entry){own(key), copy};
    m->count++;
}

bool model_del(struct model_state *m, struct bytes key)
{
    bool found;
    size_t i = model_find(m, key, &found);

    if (!found)
        return false;
    disown(m->entries[i].key);
    disown(m->entries[i].value);
    m->count--;
    memmove(m->entries + i, m->entries + i + 1, (m->count - i) * sizeof *m->entries);
    return true;
}

void model_copy(const struct model_state *from, struct model_state *out)
{
    *out = (struct model_state){mem_alloc(from->count * sizeof *out->entries), from->count,
                                from->count};
    for (size_t i = 0; i < from->count; i++)
        out->entries[i] =
            (struct model_entry){own(from->entries[i].key), own(from->entries[i].value)};
}

const char *model_differ(const struct model_state *a, const struct model_state *b)
{
    static _Thread_local char text[200];
    size_t i = 0;

    while (i < a->count && i < b->count && bytes_eq(a->entries[i].key, b->entries[i].key) &&
           bytes_eq(a->entries[i].value, b->entries[i].value))
        i++;
    if (i == a->count && i == b->count)
        return NULL;
    snprintf(text, sizeof text, "entry %zu of %zu and %zu differs (%s)", i, a->count, b->count,
             i == a->count                                         ? "missing left"
             : i == b->count                                       ? "missing right"
             : bytes_eq(a->entries[i].key, b->entries[i].key)      ? "value"
             : bytes_cmp(a->entries[i].key, b->entries[i].key) < 0 ? "missing right"
                                                                   : "missing left");
    return text;
}
