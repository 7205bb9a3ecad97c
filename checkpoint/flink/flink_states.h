/* flink_states.h - what states a stream or a database of Flink's holds: the description in front of
 * them.
 *
 * KeyedBackendSerializationProxy (versions 6) and OperatorBackendSerializationProxy (5, 6); earlier
 * ones wrote their serializers as Java objects and are RC_VERSION. Bounded by FLINK_STATES_MAX.
 * No I/O; thread: any.
 * After: KeyedBackendSerializationProxy, StateMetaInfoSnapshotReadersWriters (flink-runtime).
 * docs/FORMAT.md "State that Flink wrote".
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_STATES_H
#define VARVE_CHECKPOINT_FLINK_FLINK_STATES_H

#include "checkpoint/flink/flink_serializer.h"

#define FLINK_STATES_MAX 32767u /* of one description: their number has 16 bits */

enum flink_state_kind { /* as Flink counts them */
    FLINK_STATE_KEYED = 0,
    FLINK_STATE_OPERATOR = 1,
    FLINK_STATE_BROADCAST = 2,
    FLINK_STATE_TIMERS = 3,
    FLINK_STATE_KEYED_V2 = 4, /* of the asynchronous API */
};
enum flink_keyed_type {
    FLINK_TYPE_VALUE,
    FLINK_TYPE_LIST,
    FLINK_TYPE_REDUCING,
    FLINK_TYPE_AGGREGATING,
    FLINK_TYPE_MAP,
    FLINK_TYPE_OTHER, /* FOLDING and UNKNOWN, of old versions: whatever the serializer says */
};
struct flink_pair {
    struct bytes key, value;
};
struct flink_state {
    struct bytes name;
    enum flink_state_kind kind;
    enum flink_keyed_type type; /* keyed */
    size_t option_count;
    struct flink_pair *options;
    /* NULL: not recorded. namespace: keyed. key: broadcast. value: of a timer its timer serializer.
     * of a list state its list's serializer, of a map state its map's. */
    const struct flink_serializer *namespace, *key, *value;
    /* Of a list's elements, a map's keys and values: what the three say, whichever API wrote them. */
    const struct flink_serializer *element, *user_key, *user_value;
    /* Of raw timers: name (modified UTF-8) and serializer snapshots, as they lie. Else empty. */
    struct bytes raw_name, raw_key, raw_namespace;
};
struct flink_states {
    int32_t version;
    bool compressed;
    const struct flink_serializer *key; /* of keyed state */
    size_t count;
    struct flink_state *states; /* keyed: index = state id */
    size_t broadcast_count;     /* operator state: those at the end of `states` */
    /* NULL: these are all. Else why those behind them are not known: an unknown serializer whose end
     * nobody can tell. */
    const char *cut;
};

/* Reads from r on; it then stands behind the description, unless that is cut. Everything in `arena`.
 * RC_CORRUPT with the offset, RC_VERSION, RC_LIMIT; RC_UNSUPPORTED: the keys' serializer is such a
 * one (flink_serializer.h). */
MUST_USE enum rc flink_states_keyed(struct reader *r, struct arena *arena, struct flink_states *out,
                                    struct err *err);
MUST_USE enum rc flink_states_operator(struct reader *r, struct arena *arena,
                                       struct flink_states *out, struct err *err);

/* A serializer whose class is not known, and whose body was taken to be empty: that of the keys, or
 * of a state. NULL: there is none. */
const struct flink_serializer *flink_states_assumed(const struct flink_states *s);
/* NULL: there is none of that name. */
const struct flink_state *flink_state_find(const struct flink_states *s, struct bytes name);
/* Flink's word: "VALUE", "LIST", "PRIORITY_QUEUE", "OPERATOR_LIST", "BROADCAST". */
const char *flink_state_word(const struct flink_state *s);
/* "" when none was recorded. */
struct bytes flink_state_option(const struct flink_state *s, const char *key);

#endif
