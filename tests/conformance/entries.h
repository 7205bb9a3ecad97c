/* entries.h - what both sides of a comparison say about a column family: how many entries, and FNV-1a over
 * (length of key, key, length of value, value) of each in order, lengths as be32. EntryDigest in JudgeRocks.java is the same. */
#ifndef VARVE_TESTS_CONFORMANCE_ENTRIES_H
#define VARVE_TESTS_CONFORMANCE_ENTRIES_H

#include "base/bytes.h"

struct entries {
    uint64_t count, digest;
};
static inline struct entries entries_none(void) { return (struct entries){0, 0xcbf29ce484222325ULL}; }

static inline void entries_part(struct entries *e, struct bytes part)
{
    uint8_t len[4];

    put_be32(len, (uint32_t)part.len);
    for (size_t i = 0; i < 4 + part.len; i++)
        e->digest = (e->digest ^ (i < 4 ? len[i] : part.data[i - 4])) * 0x100000001b3ULL;
}
static inline void entries_add(struct entries *e, struct bytes key, struct bytes value)
{
    e->count++;
    entries_part(e, key);
    entries_part(e, value);
}

#endif
