#include "backend/incremental.h"

struct known {
    char *name;
    uint64_t size_bytes;
    struct digest128 digest;
    uint64_t seen; /* round in which it was last looked up or added */
};
struct incremental {
    struct known *files; /* by name */
    size_t count, cap;
    uint64_t round;
};

struct incremental *incremental_new(void)
{
    return mem_calloc(1, sizeof(struct incremental));
}

void incremental_free(struct incremental *inc)
{
    if (inc == NULL)
        return;
    for (size_t i = 0; i < inc->count; i++)
        mem_free(inc->files[i].name);
    mem_free(inc->files);
    mem_free(inc);
}

/* Index of the name, or where it belongs. */
static size_t place_of(const struct incremental *inc, const char *name, bool *found)
{
    size_t low = 0, high = inc->count;

    *found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(inc->files[mid].name, name);

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

static void remove_at(struct incremental *inc, size_t i)
{
    mem_free(inc->files[i].name);
    memmove(inc->files + i, inc->files + i + 1, (inc->count - i - 1) * sizeof *inc->files);
    inc->count--;
}

void incremental_add(struct incremental *inc, const char *local_name, uint64_t size_bytes,
                     struct digest128 digest)
{
    bool found;
    size_t i = place_of(inc, local_name, &found);

    if (!found) {
        if (inc->count == inc->cap) {
            inc->cap = inc->cap == 0 ? 64 : inc->cap * 2;
            inc->files = mem_realloc(inc->files, inc->cap * sizeof *inc->files);
        }
        memmove(inc->files + i + 1, inc->files + i, (inc->count - i) * sizeof *inc->files);
        inc->files[i].name = mem_strdup(local_name);
        inc->count++;
    }
    inc->files[i].size_bytes = size_bytes;
    inc->files[i].digest = digest;
    inc->files[i].seen = inc->round;
}

bool incremental_find(struct incremental *inc, const char *local_name, uint64_t size_bytes,
                      struct digest128 *digest)
{
    bool found;
    size_t i = place_of(inc, local_name, &found);

    if (!found)
        return false;
    if (inc->files[i].size_bytes != size_bytes) {
        remove_at(inc, i);
        return false;
    }
    inc->files[i].seen = inc->round;
    *digest = inc->files[i].digest;
    return true;
}

void incremental_begin(struct incremental *inc)
{
    inc->round++;
}

void incremental_end(struct incremental *inc)
{
    for (size_t i = inc->count; i > 0; i--) {
        if (inc->files[i - 1].seen != inc->round)
            remove_at(inc, i - 1);
    }
}

size_t incremental_count(const struct incremental *inc)
{
    return inc->count;
}
