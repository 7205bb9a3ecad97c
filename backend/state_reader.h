/* state_reader.h - a look at the keyed state in one handle of a snapshot, without a job: an entry
 * by its key, entries in the order of their keys, how many there are.
 *
 * Nothing of the snapshot is touched, link counts included, so that it may lie on read-only media;
 * nothing of it is copied: SSTs come into the scratch directory by symbolic links. Memory: of a
 * rocksdb handle some megabytes; of a hashmap's stream one key group of one state, which is sorted
 * there.
 *
 * C13: opening proves what is small; a scan first proves every file that it will read from; a get
 * stands on the checksum of each block that it reads.
 *
 * Keys and values are whole ones, as FORMAT.md "Rows of keyed state" has them, packed or not in the
 * files. Thread: one owner.
 */
#ifndef VARVE_BACKEND_STATE_READER_H
#define VARVE_BACKEND_STATE_READER_H

#include "backend/state_handle.h"
#include "base/fs.h"

struct state_reader; /* opaque */
struct state_scan;   /* opaque */

/* h: files have an absolute resolved_path; borrowed until closed. dir: scratch, made here and removed
 * at the close. RC_CORRUPT and RC_NOT_FOUND name file and reason. */
MUST_USE enum rc state_reader_open(struct fs *fs, const struct keyed_handle *h, const char *dir,
                                   struct state_reader **out, struct err *err);
void state_reader_close(struct state_reader *r); /* NULL is a no-op; its scans before it */

/* Entries of a state of the handle and their bytes. exact false: an estimate, from what the files
 * say of themselves. */
struct state_size {
    uint64_t entries, key_bytes, value_bytes;
    bool exact;
};
MUST_USE enum rc state_reader_size(struct state_reader *r, size_t state, struct state_size *out,
                                   struct err *err);

/* value->data NULL: there is none. Holds until the next call on the reader. */
MUST_USE enum rc state_reader_get(struct state_reader *r, size_t state, struct bytes key,
                                  struct bytes *value, struct err *err);

/* Entries whose key group lies in `groups` and whose key starts with `prefix` (empty: all), in
 * bytewise order of the keys. */
MUST_USE enum rc state_scan_open(struct state_reader *r, size_t state,
                                 struct key_group_range groups, struct bytes prefix,
                                 struct state_scan **out, struct err *err);
/* key->data NULL: the end. They hold until the next call on the scan. */
MUST_USE enum rc state_scan_next(struct state_scan *s, struct bytes *key, struct bytes *value,
                                 struct err *err);
void state_scan_close(struct state_scan *s); /* NULL is a no-op */

#endif
