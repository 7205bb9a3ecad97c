/* flink_keyed_priv.h - what the forms of keyed state share; for flink_keyed.c and flink_form_*.c only */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_KEYED_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_KEYED_PRIV_H

#include "checkpoint/flink/flink_input.h"
#include "checkpoint/flink/flink_key.h"
#include "checkpoint/flink/flink_keyed.h"

struct foreign_db;
struct foreign_scan;
struct flink_reader {
    struct flink_keyed_source from;
    enum flink_form form;
    struct arena *arena, *own_arena; /* own_arena NULL: descriptions are somebody else's */
    uint32_t prefix_len;
    struct flink_states states;
    /* a stream */
    const struct flink_groups *groups;
    struct flink_input *in;
    uint64_t *ends; /* of each key group: where the next one begins */
    /* a database */
    char *dir;
    struct foreign_db *db;
    const struct flink_db_file **files; /* by number, of both lists */
    const char **paths;
    size_t file_count;
};
#define FLINK_STATE_UNKNOWN (SIZE_MAX - 1)
/* One state's entries in a walk over all of a database's: the next one is shown. */
struct flink_family {
    struct foreign_scan *scan;
    struct bytes key, value; /* key.data NULL: the end */
    bool used;               /* the caller has it: it goes on first */
};
/* A walk over a stream: one state's entries, or (FLINK_ALL_STATES) all. */
struct flink_scan {
    struct flink_reader *reader;
    size_t state;
    bool unknown_too;
    uint16_t entry_id; /* of the last entry: its state as the stream counts */
    struct flink_family *families; /* a database's, all of them */
    size_t family;
    struct key_group_range range;
    struct buf prefix;
    struct foreign_scan *db;
    uint32_t group, next_group;
    bool in_group;
    struct buf key, value;
    size_t entry_state;    /* of the last entry, or FLINK_STATE_UNKNOWN */
    struct arena *arena;   /* of values that are read to find their end; emptied at every entry */
    /* heap, raw timers */
    size_t states_left, services_left;
    uint64_t entries_left, map_left;
    size_t owner_len; /* of the map that is being read: begins `key` */
    int raw_kind;     /* 0: event-time timers, 1: processing-time */
};

/* What states a database holds, without its files. */
enum rc flink_form_database_states(struct flink_reader *r, struct err *err);
/* Its files into reader->dir, and opens it; done once. */
enum rc flink_form_open_database(struct flink_reader *r, struct err *err);
void flink_form_close_database(struct flink_reader *r);
/* Of an open one: where the one file lies that has a key of a family. NULL: which is not known. */
const char *flink_form_database_file_of(const struct flink_reader *r, const char *family,
                                        struct bytes key);
/* A walk over all families of a database, key group by key group. */
enum rc flink_form_open_families(struct flink_scan *s, struct err *err);
enum rc flink_form_next_of_families(struct flink_scan *s, struct bytes *key, struct bytes *value,
                                    struct err *err);
void flink_form_close_families(struct flink_scan *s);

/* The next entry of the open key group into key, value and entry_state; *more false: it has ended. */
typedef enum rc flink_next_fn(struct flink_scan *s, bool *more, struct err *err);
enum rc flink_form_canonical_next(struct flink_scan *s, bool *more, struct err *err);
enum rc flink_form_heap_next(struct flink_scan *s, bool *more, struct err *err);
enum rc flink_form_raw_next(struct flink_scan *s, bool *more, struct err *err);
/* States of raw timers, from the first key group that has any. */
enum rc flink_form_raw_states(struct flink_reader *r, struct err *err);
/* Goes to a key group's bytes; *there false: it has none. */
enum rc flink_form_seek(struct flink_reader *r, uint32_t group, bool *there, struct err *err);

/* The bytes of the next value of a stream, whose end only its serializer knows: appended to `out`.
 * *value, if asked for, lies in `arena`. */
enum rc flink_form_value(struct flink_input *in, const struct flink_serializer *s,
                         struct arena *arena, struct buf *out, struct flink_value *value,
                         struct err *err);

#endif
