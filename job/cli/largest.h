/* largest.h - the N keys with most bytes, of entries that come key by key. Memory: N keys. Thread:
 * one. */
#ifndef VARVE_JOB_CLI_LARGEST_H
#define VARVE_JOB_CLI_LARGEST_H

#include "base/bytes.h"

struct largest_item {
    struct bytes key;
    uint64_t entries, bytes;
};
struct largest; /* opaque */
struct largest *largest_new(size_t most); /* at least 1 */
void largest_free(struct largest *l);     /* NULL is a no-op */
/* An entry of `key` with so many bytes; entries of one key come behind each other. */
void largest_add(struct largest *l, struct bytes key, uint64_t bytes);
/* No more come. The keys, largest first, of the same size in the order in which they came; how many.
 * They hold until it is freed. */
size_t largest_end(struct largest *l, const struct largest_item **items);

#endif
