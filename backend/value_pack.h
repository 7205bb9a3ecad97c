/* value_pack.h - values of a fixed size as they lie in a database: most of their bytes are zeroes in
 * front of small numbers, and are left out. docs/FORMAT.md "Packed values".
 *
 * A stored value of the whole size is plain; a shorter one is packed, in the one form that
 * value_pack makes of it; so nothing else says which it is. Its first `head` bytes, by which
 * compactions judge its age, are never packed. Pure functions, any thread; nothing is allocated.
 */
#ifndef VARVE_BACKEND_VALUE_PACK_H
#define VARVE_BACKEND_VALUE_PACK_H

#include "backend/state_handle.h"
#include "base/bytes.h"

/* How the values of a state lie. */
struct value_shape {
    uint32_t bytes; /* of each; 0: sizes vary, all are stored as they are */
    uint32_t head;  /* at most bytes */
};
struct value_shape value_shape_of(enum state_kind kind, uint32_t fixed_value_bytes, bool has_time);
static inline struct value_shape value_shape_of_desc(const struct state_desc *d)
{
    return value_shape_of(d->kind, d->fixed_value_bytes, d->ttl_ms != 0);
}

/* What value_pack may write. */
static inline size_t value_pack_room(struct value_shape s)
{
    return (size_t)s.bytes + s.bytes / 16 + 16;
}
/* Packs the s.bytes (not 0) of a value. The length; 0: it would not be shorter than the value. */
size_t value_pack(struct value_shape s, const uint8_t *value, uint8_t *out);
/* Writes the value as it is stored, packed or plain: at most value_pack_room. The length. */
size_t value_store(struct value_shape s, const uint8_t *value, uint8_t *out);
/* The s.bytes (not 0) of a stored value, plain or packed, to `out`. false: it is neither. */
bool value_unpack(struct value_shape s, struct bytes stored, uint8_t *out);

#endif
