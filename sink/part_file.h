/* part_file.h - one part: hidden while it is written and while it waits, visible by one rename.
 *
 *     IN PROGRESS  .<name>.inprogress.<uuid>   open, appended to
 *         | part_file_finish: flushed, synced, closed
 *     PENDING      the same name, never opened for writing again (C8), in the state of a checkpoint
 *         | part_commit: renamed
 *     FINISHED     <name>
 *
 * A digest of all bytes goes along, so that a restore takes nothing over that is not what was
 * written. Thread: the task's. After: OutputStreamBasedPartFileWriter, LocalRecoverableWriter
 * (Flink); differs: digests, nothing is ever replaced by a rename.
 */
#ifndef VARVE_SINK_PART_FILE_H
#define VARVE_SINK_PART_FILE_H

#include "sink/committable.h"
#include "sink/rolling.h"

struct part_file; /* opaque */

/* Make the hidden file of a new part; its directory exists. Strings of `record` are copied; sizes
 * and digest start at nothing. RC_EXISTS: one of the two names is taken. */
MUST_USE enum rc part_file_create(struct fs *fs, const struct part_record *record,
                                  struct part_file **out, struct err *err);
/* Go on with a part of a checkpoint: cut to its recorded length, whose digest must fit.
 * RC_NOT_FOUND, RC_CORRUPT. */
MUST_USE enum rc part_file_resume(struct fs *fs, const struct part_record *record,
                                  struct part_file **out, struct err *err);
/* Complete rows. Buffered up to 64 KiB. */
MUST_USE enum rc part_file_append(struct part_file *p, struct bytes data, uint64_t row_count,
                                  int64_t now_wall_ms, struct err *err);
/* Everything appended is on disk (not yet its name: sync the directory). */
MUST_USE enum rc part_file_sync(struct part_file *p, struct err *err);
/* What a checkpoint must know; borrowed until the next call. Exact after part_file_sync. */
const struct part_record *part_file_record(struct part_file *p);
struct part_age part_file_age(const struct part_file *p);
/* Sync and close: the part is pending from here on. The record, with strings in `arena`, into out.
 * On an error the part is abandoned. Takes p. */
MUST_USE enum rc part_file_finish(struct part_file *p_take, struct arena *arena,
                                  struct part_record *out, struct err *err);
void part_file_abandon(struct part_file *p_take); /* close without looking; the file stays */

/* Path of a record's file, final or hidden, into out (FS_PATH_MAX). `base` instead of the record's
 * own when not NULL. */
MUST_USE enum rc part_path(const struct part_record *r, const char *base, bool hidden, char *out,
                           struct err *err);
/* Directory of a record's file. */
MUST_USE enum rc part_dir(const struct part_record *r, const char *base, char *out,
                          struct err *err);
/* Rename into view. Done already (hidden name gone, final one there): RC_OK. RC_NOT_FOUND: neither
 * is there; RC_EXISTS: both are, which no run of ours makes: nothing is overwritten. The directory
 * is the caller's to sync, also after "done already". */
MUST_USE enum rc part_commit(struct fs *fs, const struct part_record *r, struct err *err);
/* Strings of `from` into `arena`. */
struct part_record part_record_copy(const struct part_record *from, struct arena *arena);

#endif
