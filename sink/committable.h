/* committable.h - what a file sink hands to a checkpoint, to bytes and back: parts and the writer's
 * identity.
 *
 * An item: 4 bytes magic "vsnk", version, kind, then the fields below in order, big-endian, texts
 * and blobs with a varint length. Decoding trusts nothing: texts are checked as paths and names, so
 * that an item can never lead outside its directory. docs/FORMAT.md has the bytes. Pure; any
 * thread.
 */
#ifndef VARVE_SINK_COMMITTABLE_H
#define VARVE_SINK_COMMITTABLE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/rng.h"

#define COMMITTABLE_VERSION 1

enum item_kind {
    ITEM_PENDING = 1, /* numbers are stored. A closed part that waits for its checkpoint */
    ITEM_OPEN = 2,    /* a part that was open at the barrier: its first size_bytes count */
    ITEM_WRITER =
        3, /* who wrote: tells the hidden files of this run that came after the checkpoint */
};
/* A part file. Strings are owned by whoever made the record. */
struct part_record {
    const char *base;       /* absolute directory of the sink */
    const char *bucket;     /* below it; "" for itself */
    const char *name;       /* final: "part-<uuid>-<subtask>-<counter>" */
    const char *temp_name;  /* ".<name>.inprogress.<uuid>" */
    uint64_t checkpoint_id; /* pending: of the first prepare that held it */
    uint64_t size_bytes, row_count;
    struct digest128 digest; /* of those bytes */
    int64_t created_wall_ms, last_write_wall_ms;
};
struct writer_record {
    const char *base;
    char uuid[UUID_LEN + 1];
    uint32_t subtask_index;
    uint64_t next_counter; /* parts made after the checkpoint have this one or a higher */
};
struct sink_item {
    enum item_kind kind;
    struct part_record part;     /* ITEM_PENDING, ITEM_OPEN */
    struct writer_record writer; /* ITEM_WRITER */
};

struct bytes committable_encode(const struct sink_item *item, struct arena *arena);
/* Strings in `arena`. RC_CORRUPT names field and offset; RC_VERSION for a newer version. `what`
 * names the item in messages. */
MUST_USE enum rc committable_decode(struct bytes item, struct arena *arena, const char *what,
                                    struct sink_item *out, struct err *err);

/* ---- names ----------------------------------------------------------------------------------- */

/* "part-<uuid>-<subtask>-<counter>"; out holds PART_NAME_MAX. */
#define PART_NAME_MAX 128
void part_name_make(const char *uuid, uint32_t subtask_index, uint64_t counter,
                    char out[PART_NAME_MAX]);
/* ".<name>.inprogress.<uuid>" */
void part_temp_name_make(const char *name, const char *uuid, char out[PART_NAME_MAX]);
/* The parts of a hidden name of ours; false: it is something else. */
MUST_USE bool part_temp_name_parse(const char *temp_name, char uuid[UUID_LEN + 1],
                                   uint32_t *subtask_index, uint64_t *counter);
/* "": the base itself; else components of 1..255 bytes, none "." or "..", no control characters. */
bool bucket_path_valid(struct bytes bucket);
/* An absolute path in plain form, without control characters. */
bool sink_base_valid(struct bytes base);

#endif
