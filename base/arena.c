/* arena.c - see arena.h */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- heap ----------------------------------------------------------------------------------- */

static void out_of_memory(size_t size) NORETURN;
static void out_of_memory(size_t size)
{
    fprintf(stderr, "varve: out of memory: an allocation of %zu bytes failed\n", size);
    fflush(stderr);
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size == 0 ? 1 : size);

    if (p == NULL)
        out_of_memory(size);
    return p;
}

void *mem_calloc(size_t count, size_t size)
{
    size_t total;
    void *p;

    if (!mul_size(count, size, &total))
        out_of_memory(SIZE_MAX);
    p = total == 0 ? calloc(1, 1) : calloc(count, size);
    if (p == NULL)
        out_of_memory(total);
    return p;
}

void *mem_realloc(void *p, size_t size)
{
    void *moved = realloc(p, size == 0 ? 1 : size);

    if (moved == NULL)
        out_of_memory(size);
    return moved;
}

void *mem_alloc_huge(size_t size)
{
    const size_t page = (size_t)2 << 20;
    void *p;

    if (size < page / 2)
        return mem_alloc(size);
    if (size > SIZE_MAX - page)
        out_of_memory(size);
    size = (size + page - 1) & ~(page - 1);
    if (posix_memalign(&p, page, size) != 0)
        out_of_memory(size);
    madvise(p, size, MADV_HUGEPAGE); /* a wish: without it everything works, with more TLB misses */
    return p;
}

void mem_free(void *p)
{
    free(p);
}

char *mem_strdup(const char *s)
{
    size_t size = strlen(s) + 1;

    return memcpy(mem_alloc(size), s, size);
}

/* ---- arena ---------------------------------------------------------------------------------- */

#define ALIGNMENT ((size_t)16)
#define DEFAULT_CHUNK ((size_t)64 << 10)

/* malloc gives 16-byte alignment and the header is a multiple of 16, so data is aligned too. */
struct chunk {
    struct chunk *next;
    size_t cap, used;
    size_t unused_; /* keeps the header a multiple of ALIGNMENT */
    uint8_t data[];
};
_Static_assert(sizeof(struct chunk) % ALIGNMENT == 0, "chunk header keeps data aligned");

struct arena {
    struct chunk *first;   /* lives as long as the arena */
    struct chunk *current; /* small blocks come from here: `first` or one of `more` */
    struct chunk *more;    /* every other chunk, newest first */
    size_t chunk_bytes, held_bytes;
};

static struct chunk *chunk_new(struct arena *a, size_t cap, struct chunk *next)
{
    size_t size;
    struct chunk *c;

    if (!add_size(sizeof *c, cap, &size))
        out_of_memory(SIZE_MAX);
    c = mem_alloc(size);
    *c = (struct chunk){.next = next, .cap = cap};
    a->held_bytes += size;
    return c;
}

struct arena *arena_new(size_t chunk_bytes)
{
    struct arena *a = mem_calloc(1, sizeof *a);

    a->chunk_bytes = chunk_bytes == 0 ? DEFAULT_CHUNK : chunk_bytes;
    a->first = a->current = chunk_new(a, a->chunk_bytes, NULL);
    return a;
}

void arena_reset(struct arena *a)
{
    while (a->more != NULL) {
        struct chunk *c = a->more;

        a->more = c->next;
        mem_free(c);
    }
    a->held_bytes = sizeof *a->first + a->first->cap;
    a->first->used = 0;
    a->current = a->first;
}

void arena_free(struct arena *a)
{
    if (a == NULL)
        return;
    arena_reset(a);
    mem_free(a->first);
    mem_free(a);
}

size_t arena_bytes(const struct arena *a)
{
    return a->held_bytes;
}

void *arena_alloc(struct arena *a, size_t size)
{
    struct chunk *c = a->current;
    size_t rounded;
    void *p;

    if (!add_size(size, ALIGNMENT - 1, &rounded))
        out_of_memory(size);
    rounded &= ~(ALIGNMENT - 1);
    if (rounded == 0)
        rounded = ALIGNMENT; /* two empty blocks differ */
    if (rounded > c->cap - c->used) {
        if (rounded > a->chunk_bytes / 4) { /* a chunk of its own; the current one stays in use */
            a->more = chunk_new(a, rounded, a->more);
            a->more->used = rounded;
            return a->more->data;
        }
        c = a->current = a->more = chunk_new(a, a->chunk_bytes, a->more);
    }
    p = c->data + c->used;
    c->used += rounded;
    return p;
}

void *arena_calloc(struct arena *a, size_t count, size_t size)
{
    size_t total;

    if (!mul_size(count, size, &total))
        out_of_memory(SIZE_MAX);
    return memset(arena_alloc(a, total), 0, total);
}

void *arena_copy(struct arena *a, const void *data, size_t len)
{
    void *p = arena_alloc(a, len);

    return len == 0 ? p : memcpy(p, data, len);
}

struct bytes arena_bytes_copy(struct arena *a, struct bytes b)
{
    return bytes_of(arena_copy(a, b.data, b.len), b.len);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
    char *p;
    size_t size;

    if (!add_size(len, 1, &size))
        out_of_memory(len);
    p = arena_alloc(a, size);
    if (len > 0)
        memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_escaped(struct arena *a, struct bytes text, size_t max)
{
    struct buf escaped = {0};
    char *out;

    buf_append_escaped(&escaped, text, max);
    out = arena_strdup(a, buf_cstr(&escaped));
    buf_release(&escaped);
    return out;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    char small[256];
    va_list args, again;
    int wanted;
    char *p;

    va_start(args, fmt);
    va_copy(again, args);
    wanted = vsnprintf(small, sizeof small, fmt, args);
    ASSERT(wanted >= 0);
    p = arena_alloc(a, (size_t)wanted + 1);
    if ((size_t)wanted < sizeof small)
        memcpy(p, small, (size_t)wanted + 1);
    else
        vsnprintf(p, (size_t)wanted + 1, fmt, again);
    va_end(again);
    va_end(args);
    return p;
}
