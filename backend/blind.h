/* blind.h - blind updates: a row of totals that was never looked up leaves the row cache as a merge
 * operand, what was added since it is empty; the database combines it with what lies below when it
 * is read or compacted.
 *
 * What a row's fields are to each other is said by a pattern, one character a field of 8 bytes:
 *
 *     +     i64, added
 *     s.    i128 in two fields (low, high), added
 *     <  >  i64, the less, the greater; null: no value yet
 *     l. g. i128 in two fields, the less, the greater; null by the first field's bit
 *
 * Rows are binary rows behind their size (accumulator.h). An operand says itself what it is:
 *
 *     u8 layout version (BLIND_VERSION) | u8 n, 1..BLIND_FIELDS_MAX | n characters | row
 *
 * Rows are taken plain or packed (value_pack.h), and given packed where that is shorter. Combining is
 * associative and commutative. Pure functions, any thread.
 */
#ifndef VARVE_BACKEND_BLIND_H
#define VARVE_BACKEND_BLIND_H

#include "base/bytes.h"

#define BLIND_OPERATOR "varve-totals" /* as _metadata names it */
#define BLIND_VERSION 1u
#define BLIND_FIELDS_MAX 48u

/* Whether the pattern is one, and rows of it have row_bytes. */
bool blind_pattern_fits(const char *pattern, uint32_t row_bytes);
/* Appends what each operand of the pattern begins with. */
void blind_head(const char *pattern, struct buf *out);
/* Merges operands of one key into `out` (emptied first): with `partial` into an operand, else into
 * a row, with the one below if there is one (data NULL: none). false: they are not what they
 * should be: an unknown version or pattern, a wrong length, different patterns. */
bool blind_merge(struct bytes below, const struct bytes *operands, size_t count, bool partial,
                 struct buf *out);

#endif
