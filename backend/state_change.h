/* state_change.h - what becomes of a restored state that is not taken as it is: its values lie
 * otherwise from now on, or nobody wants it any more. Decided by whoever knows what the values
 * mean, done by keyed_backend_open while the state is restored. Plain values, no behaviour. */
#ifndef VARVE_BACKEND_STATE_CHANGE_H
#define VARVE_BACKEND_STATE_CHANGE_H

#include "backend/state_handle.h"

struct state_change {
    const struct state_desc *was; /* in every handle; values have a fixed size unless it is dropped */
    /* What it is from now on: name, kind, key and namespace stay, values have a fixed size. NULL:
     * it is dropped; a state of its name may be opened anew, and is empty. */
    const struct state_desc *is;
    /* from: was->fixed_value_bytes; to: is->fixed_value_bytes; both without the time of a state that
     * expires, which is kept. Any thread. RC_CORRUPT; RC_INVALID: what is stored cannot be expressed
     * in the new type. */
    enum rc (*convert)(const void *ctx, const uint8_t *from, uint8_t *to, struct err *err);
    const void *ctx;
};

#endif
