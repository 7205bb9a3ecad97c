/* flink_totals.h - rows of totals (job/operator/accumulator.h) where Flink and varve have them otherwise: a
 * TINYINT, SMALLINT or INT lies in the low bytes of its slot, the others being zero in Flink; varve
 * fills the slot. Flink reads the low bytes either way. Pure; thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_TOTALS_H
#define VARVE_CHECKPOINT_FLINK_FLINK_TOTALS_H

#include "backend/state_handle.h"

/* Whether the values of a state are such rows. */
bool flink_totals_are(const struct state_desc *d);

struct narrow_slot {
    uint32_t offset; /* in the stored value */
    uint32_t bytes;  /* 1, 2 or 4 */
};
/* In `arena`; none of other states. */
size_t flink_totals_narrow(const struct state_desc *d, struct arena *arena,
                           const struct narrow_slot **out);
/* value: of state_desc_row_bytes. */
void flink_totals_widen(const struct narrow_slot *slots, size_t count, uint8_t *value);

#endif
