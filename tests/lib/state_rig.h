/* state_rig.h - a vv_store of counters for tests of varve_state.h: opened, filled, counted, all
 * through the public calls. Failures abort the test. Thread: one, each rig its own. */
#ifndef VARVE_TESTS_LIB_STATE_RIG_H
#define VARVE_TESTS_LIB_STATE_RIG_H

#include "backend/varve_state.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#define RIG_GROUPS 128u
#define BYTES(text) ((vv_bytes){(const uint8_t *)(text), sizeof(text) - 1})

#define ck_assert_vv_bytes(got, text)                                                              \
    ck_assert_bytes_eq(bytes_of((got).data, (got).len), bytes_of_str(text))

/* The call gave VV_OK; reads the local `error`. */
#define ck_assert_vv(call)                                                                         \
    do {                                                                                           \
        vv_code ck_code_ = (call);                                                                 \
        ck_assert_msg(ck_code_ == VV_OK, "%s: code %d: %s", #call, (int)ck_code_, error.message);  \
    } while (0)
/* The call gave `want`, said so in `error`, with a message that holds `part`. */
#define ck_assert_vv_code(call, want, part)                                                        \
    do {                                                                                           \
        vv_code ck_code_ = (call);                                                                 \
        ck_assert_msg(ck_code_ == (want), "%s: code %d, expected %d: %s", #call, (int)ck_code_,    \
                      (int)(want), error.message);                                                 \
        ck_assert_msg(error.code == (want) && strstr(error.message, (part)) != NULL,               \
                      "%s: error is %d \"%s\", which lacks \"%s\"", #call, (int)error.code,        \
                      error.message, (part));                                                      \
    } while (0)

struct rig {
    struct tmpdir *tmp;
    const char *backend; /* "hashmap", "rocksdb" */
    const char *memory;  /* NULL: "32 mb" */
    vv_store *store;
    vv_state *counts;
};
/* What rig_open tells vv_store_open: options into `options` (cap 4). */
size_t rig_options(const struct rig *r, vv_option *options);
/* An open store of the key groups first..last with its state of counters; restored from handles
 * when restore_count is not 0. */
void rig_open(struct rig *r, struct tmpdir *tmp, const char *backend, uint32_t first, uint32_t last,
              const vv_restore *restore, size_t restore_count);
/* The same with r->tmp, r->backend and r->memory as they are. */
void rig_open_as_set(struct rig *r, uint32_t first, uint32_t last, const vv_restore *restore,
                     size_t restore_count);
void rig_close(struct rig *r);
/* The composite key of counter `id`, in `out` (RIG_KEY_BYTES); its key group. */
#define RIG_KEY_BYTES 9u
uint32_t rig_key(uint64_t id, uint8_t out[RIG_KEY_BYTES]);
/* Adds to the counters from..to-1 that lie in first..last of this store. */
void rig_add(struct rig *r, uint32_t first, uint32_t last, uint64_t from, uint64_t to,
             uint64_t add);
/* Counts entries and sums their values over all key groups of the store by scans. */
void rig_sum(struct rig *r, uint32_t first, uint32_t last, uint64_t *entries, uint64_t *sum);

/* Another state of the store. */
vv_state *rig_state(struct rig *r, const char *name, vv_kind kind, uint32_t fixed_value_bytes,
                    const vv_functions *functions);
/* A batch of text keys without namespace, each in its own key group, in `builder`. */
vv_keys rig_keys(vv_key_builder *builder, const char *const *texts, uint32_t count);
static inline vv_bytes first_key(vv_keys keys)
{
    return (vv_bytes){keys.data, keys.offsets[1]};
}

#endif
