/* arena.h - allocation freed all at once; heap calls that abort when memory is gone.
 *
 * Lifetimes get arenas: a record batch, a decoded metadata tree, a SQL statement. Running out of
 * memory aborts (a restart from the last checkpoint is the tested path); so sizes that come from
 * outside meet a limit first. An arena belongs to one thread at a time.
 */
#ifndef VARVE_BASE_ARENA_H
#define VARVE_BASE_ARENA_H

#include "base/bytes.h"

#include <stdarg.h>

void *mem_alloc(size_t size);                            /* uninitialised; size 0 gives a valid pointer */
void *mem_calloc(size_t count, size_t size);             /* zeroed; aborts on overflow */
void *mem_realloc(void *p, size_t size);
/* For large tables that are read at random: aligned to 2 MiB, on huge pages where the system has them; uninitialised;
 * memory is taken in whole 2 MiB. Below 1 MiB the same as mem_alloc. Freed by mem_free. */
void *mem_alloc_huge(size_t size);
void mem_free(void *p);
char *mem_strdup(const char *s);

struct arena; /* opaque */
struct arena *arena_new(size_t chunk_bytes); /* 0 = 64 KiB */
void arena_free(struct arena *a);            /* NULL is a no-op */
void arena_reset(struct arena *a);           /* forget everything, keep the first chunk */
size_t arena_bytes(const struct arena *a);   /* bytes held */
void *arena_alloc(struct arena *a, size_t size);  /* 16-byte aligned, uninitialised */
void *arena_calloc(struct arena *a, size_t count, size_t size);
void *arena_copy(struct arena *a, const void *data, size_t len);
struct bytes arena_bytes_copy(struct arena *a, struct bytes b);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
/* At most `max` bytes of a text that came from outside (buf_append_escaped). */
char *arena_escaped(struct arena *a, struct bytes text, size_t max);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define ARENA_NEW(a, type) ((type *)arena_calloc((a), 1, sizeof(type)))
#define ARENA_ARRAY(a, n, type) ((type *)arena_calloc((a), (n), sizeof(type)))

#endif
