/* flink_convert_priv.h - what flink_convert.c decides and flink_convert_entry.c does. For these two only. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_CONVERT_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_CONVERT_PRIV_H

#include "checkpoint/flink/flink_convert.h"

enum column_part {
    PART_WHOLE,
    PART_LOW,     /* of a total: 64 of its bits */
    PART_HIGH,
    PART_COUNTED, /* 1, or 0 where the total is null */
    PART_UNITS,   /* of a time: how many units of its precision since 1970; of other types their number */
};
struct convert_column {
    const char *name;
    struct cast_type type; /* of the source's value */
    enum column_part part;
    struct flink_path source;
    const char *wrote; /* what Flink wrote there, in words; NULL: a literal */
    bool zero_for_null;                 /* of a total: its count tells that there is none */
    const struct convert_column *count; /* which must be 0 then; NULL: it is made from the total */
};
struct convert_shape { /* of a key, a map key or a value */
    bool is_row;
    struct row_layout layout;
    size_t count; /* 1 of what is no row */
    struct convert_column *columns;
};
struct flink_convert {
    const struct state_desc *wanted;
    uint32_t key_group_count;
    struct convert_shape key, map_key, value;
};

#endif
