/* flink_keyed.h - the keyed state in one handle of Flink's, whichever of its forms it has:
 *
 *     database    incremental and native: files of RocksDB (or ForSt), brought into a scratch directory
 *     canonical   a savepoint's stream: entries as RocksDB has them, by key group
 *     heap        a stream of the heap backend: (namespace, key, state), by key group
 *     raw timers  raw keyed state of an operator that keeps its timers on the heap
 *
 * All give entries in one shape, that of a canonical savepoint (flink_key.h): a heap's list becomes
 * elements with delimiters, its map an entry for each of its keys. The states of a handle are known
 * before anything else is read.
 *
 * C13: files of a database are proven block by block before a scan (backend/foreign_db.h); streams
 * have no checksum unless they are compressed. Memory: a window of 256 KB and the largest key, value
 * or, of a heap, list; of a database some megabytes. Nothing of the snapshot is touched. Thread: one
 * owner.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_KEYED_H
#define VARVE_CHECKPOINT_FLINK_FLINK_KEYED_H

#include "backend/keygroup.h"
#include "base/fs.h"
#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/flink/flink_states.h"
#include "checkpoint/flink/flink_view.h"

enum flink_form {
    FLINK_FORM_DATABASE,
    FLINK_FORM_CANONICAL,
    FLINK_FORM_HEAP,
    FLINK_FORM_RAW_TIMERS,
};
struct flink_keyed_source {
    struct fs *fs;
    struct flink_places *places; /* that know every stream of the snapshot */
    const char *scratch_dir;  /* is there; what is made below it goes again */
    const struct flink_keyed *handle;
    bool raw;
    uint32_t key_group_count;
    struct arena *arena; /* where descriptions of states go; NULL: they end with the reader */
};
/* flink_state_word, or "TIMERS_IN_RAW_KEYED_STATE". */
const char *flink_keyed_word(enum flink_form form, const struct flink_state *s);
struct flink_reader; /* opaque */
/* What the source points to is borrowed while it is open. The files of a database are opened when
 * they are first needed. RC_UNSUPPORTED: changes without what they
 * change, raw state that is no timers', states that cannot be told apart. */
MUST_USE enum rc flink_reader_open(const struct flink_keyed_source *from, struct flink_reader **out,
                                   struct err *err);
void flink_reader_close(struct flink_reader *r); /* NULL is a no-op; its scans before it */
enum flink_form flink_reader_form(const struct flink_reader *r);
const struct flink_states *flink_reader_states(const struct flink_reader *r); /* lives as long */

struct flink_size {
    uint64_t entries, key_bytes, value_bytes;
    bool exact; /* false: an estimate, from what the files say of themselves */
};
/* Of every state: sizes[i] of state i. */
MUST_USE enum rc flink_reader_sizes(struct flink_reader *r, struct flink_size *sizes,
                                    struct err *err);

/* Entries of a state whose key group lies in `groups` and in the handle's range, and whose key
 * starts with `prefix` (empty: all): key group by key group; inside one in order, of a database, or
 * as they lie. */
struct flink_scan; /* opaque */
#define FLINK_ALL_STATES SIZE_MAX /* of a stream, where they lie mixed: all in one walk */
MUST_USE enum rc flink_scan_open(struct flink_reader *r, size_t state,
                                 struct key_group_range groups, struct bytes prefix,
                                 struct flink_scan **out, struct err *err);
/* Entries of a state in a database whose key group lies below the handle's range, or above it: such
 * as a rescale leaves there, which Flink never reads. */
MUST_USE enum rc flink_scan_open_outside(struct flink_reader *r, size_t state, bool above,
                                         struct flink_scan **out, struct err *err);
/* Where the entries of a key lie: the path of a file (a database's: NULL when several may have it),
 * or "" of what is inlined. Holds as long as the reader. */
const char *flink_reader_file_of(struct flink_reader *r, size_t state, struct bytes key);
/* key->data NULL: the end. They hold until the next call. RC_CORRUPT names stream and offset. */
MUST_USE enum rc flink_scan_next(struct flink_scan *s, struct bytes *key, struct bytes *value,
                                 struct err *err);
size_t flink_scan_state(const struct flink_scan *s); /* of the last entry */
void flink_scan_close(struct flink_scan *s); /* NULL is a no-op */

/* The same over all states at once, in one pass over a stream: inside a key group state by state. One
 * scan of a stream at a time. States behind an unknown serializer (`cut` of the states) come too,
 * from a canonical stream; from others they are RC_UNSUPPORTED. */
MUST_USE enum rc flink_scan_open_all(struct flink_reader *r, struct key_group_range groups,
                                     struct flink_scan **out, struct err *err);
/* Of the last entry. */
uint32_t flink_scan_group(const struct flink_scan *s);
uint32_t flink_scan_state_id(const struct flink_scan *s); /* its id in the stream */

/* What a stream of the same states begins with, uncompressed: serializers as they lie, also those that
 * nobody here knows. `states`: their records, `state_count` of them. In `arena`. Of raw timers, which
 * have none, what a canonical savepoint says of such timers. */
struct flink_header {
    struct bytes key; /* serializer record; empty: there is none */
    uint32_t state_count;
    struct bytes states;
};
MUST_USE enum rc flink_reader_header(struct flink_reader *r, struct arena *arena,
                                     struct flink_header *out, struct err *err);
/* Appends a description (KeyedBackendSerializationProxy 6) of the states of all parts, in order; the
 * key's serializer is that of the first which has one. */
void flink_header_put(const struct flink_header *parts, size_t count, struct buf *out);

#endif
