/* foreign_db.h - a RocksDB database that somebody else wrote (Flink), only read: its files lie in one
 * directory under their own names.
 *
 * C13: such files carry no digest of ours, so each is proven by the checksums of its blocks, all of
 * them, and by its order, before a scan gives anything out of it: when its key groups are come to. Nothing in the directory changes.
 * RocksDB may fall over damaged files: call from a process that may end. Thread: one owner.
 */
#ifndef VARVE_BACKEND_FOREIGN_DB_H
#define VARVE_BACKEND_FOREIGN_DB_H

#include "backend/keygroup.h"

struct foreign_db;   /* opaque */
struct foreign_scan; /* opaque */

/* RC_CORRUPT, RC_IO with RocksDB's reason. */
MUST_USE enum rc foreign_db_open(const char *dir, struct foreign_db **out, struct err *err);
void foreign_db_close(struct foreign_db *db); /* NULL is a no-op; its scans before it */

/* What a file is called where it came from; for messages. */
typedef const char *foreign_name_fn(const void *ctx, const char *local_name);
void foreign_db_name_files(struct foreign_db *db, foreign_name_fn *fn, const void *ctx);

/* The one file that has entries about a key, by its local name; false: several may have, or none, or
 * nobody can tell. */
#define FOREIGN_NAME_MAX 128
bool foreign_db_file_of(struct foreign_db *db, const char *family, struct bytes key,
                        char name[FOREIGN_NAME_MAX]);

/* About as many entries as a family has (keys that were written twice count twice), and bytes;
 * nothing of one that is not there. */
struct foreign_size {
    uint64_t entries, key_bytes, value_bytes;
};
MUST_USE enum rc foreign_db_size(struct foreign_db *db, const char *family,
                                 struct foreign_size *out, struct err *err);

/* Entries of a family (none of one that is not there) whose key group lies in `groups` and whose key
 * starts with `prefix`, in bytewise order. RC_CORRUPT names the file. */
MUST_USE enum rc foreign_scan_open(struct foreign_db *db, const char *family,
                                   struct key_group_range groups, uint32_t prefix_len,
                                   struct bytes prefix, struct foreign_scan **out,
                                   struct err *err);
/* key->data NULL: the end. They hold until the next call. */
MUST_USE enum rc foreign_scan_next(struct foreign_scan *s, struct bytes *key, struct bytes *value,
                                   struct err *err);
void foreign_scan_close(struct foreign_scan *s); /* NULL is a no-op */

#endif
