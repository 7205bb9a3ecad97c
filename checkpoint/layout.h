/* layout.h - names only: chk-<n>/_metadata, shared/, taskowned/, savepoint-*; build and strictly
 * parse.
 *
 *     <dir>/<job id>/LOCK                        held by the running job
 *     <dir>/<job id>/ORIGIN                      which run this is, and after which (lineage.h)
 *     <dir>/<job id>/ENDED                       how a run came to its end (ended.h)
 *     <dir>/<job id>/SAVEPOINT-<n>               empty: n is the job's newest savepoint
 *     <dir>/<job id>/chk-<n>/_metadata           a completed checkpoint
 *     <dir>/<job id>/chk-<n>/s-<k>.bin           its exclusive files
 *     <dir>/<job id>/shared/<xxh3-128 hex>.sst   files that several checkpoints may name
 *     <dir>/<job id>/taskowned/<log>             logs of write-ahead sinks: "<uuid>-<subtask>-<n>.log"
 *     <dir>/savepoint-<6 hex>-<12 hex>/          self-contained: SSTs lie beside its _metadata
 *
 * A parser accepts exactly what its builder makes: "chk-07", "chk-7x" and "CHK-7" are strangers,
 * and strangers are never deleted. Pure, no I/O; any thread. docs/FORMAT.md has the same as a
 * table.
 * After: AbstractFsCheckpointStorageAccess (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_LAYOUT_H
#define VARVE_CHECKPOINT_LAYOUT_H

#include "base/hash.h"
#include "base/rng.h"
#include "checkpoint/metadata.h"

#define LAYOUT_METADATA "_metadata"
#define LAYOUT_METADATA_TEMP "._metadata.tmp"
#define LAYOUT_SHARED "shared"
#define LAYOUT_TASKOWNED "taskowned"
#define LAYOUT_LOCK "LOCK"
#define LAYOUT_ORIGIN "ORIGIN"
#define LAYOUT_ENDED "ENDED"
#define LAYOUT_SHARED_PREFIX "../shared/" /* before a shared file's name in _metadata */
#define LAYOUT_LOG_PREFIX "../taskowned/" /* before a log's name */
#define LAYOUT_NAME_MAX 64                /* room for every name built here, NUL included */
#define LAYOUT_FILE_NAME_MAX 255          /* bytes of one component */
#define LAYOUT_CHECKPOINT_ID_MAX INT64_MAX

/* "chk-<id>", id >= 1. */
void layout_checkpoint_name(uint64_t checkpoint_id, char out[LAYOUT_NAME_MAX]);
MUST_USE bool layout_parse_checkpoint(const char *name, uint64_t *checkpoint_id);
/* In a job's directory: "._ORIGIN.tmp", "._ENDED.tmp", being written (note.h), or the text of a remote LOCK, a temporary name. */
MUST_USE bool layout_is_note_temp(const char *name);
/* "SAVEPOINT-<id>", id >= 1. */
void layout_savepoint_mark(uint64_t checkpoint_id, char out[LAYOUT_NAME_MAX]);
MUST_USE bool layout_parse_savepoint_mark(const char *name, uint64_t *checkpoint_id);
/* "<32 hex>.sst" */
void layout_shared_name(struct digest128 digest, char out[LAYOUT_NAME_MAX]);
MUST_USE bool layout_parse_shared(const char *name, struct digest128 *digest);
/* "<uuid>-<subtask>-<number>.log", as sink/log_record.h makes it. */
MUST_USE bool layout_is_log(const char *name);
/* "s-<index>.bin": a file of one snapshot alone. */
void layout_exclusive_name(uint64_t index, char out[LAYOUT_NAME_MAX]);
MUST_USE bool layout_parse_exclusive(const char *name, uint64_t *index);
/* A copy under way (transfer.h), or LAYOUT_METADATA_TEMP. Only ever deleted by who holds the
 * directory's lock. */
bool layout_is_temp(const char *name);
/* "savepoint-<first 6 of job_id>-<12 hex>" */
void layout_savepoint_name(const char *job_id, struct rng *rng, char out[LAYOUT_NAME_MAX]);
bool layout_is_savepoint(const char *name);
/* 32 lower-case hex digits. */
bool layout_is_job_id(const char *name);

/* "<dir>/<job id>", "<job dir>/chk-<id>" */
MUST_USE enum rc layout_job_dir(char *out, size_t cap, const char *dir, const char *job_id,
                                struct err *err);
MUST_USE enum rc layout_checkpoint_dir(char *out, size_t cap, const char *job_dir,
                                       uint64_t checkpoint_id, struct err *err);

/* One path component that a _metadata may name: 1..255 bytes, no '/', no control characters, not
 * "." or "..", not LAYOUT_METADATA. */
bool layout_is_plain_name(const char *name);
/* What a _metadata may name, as state_file.path: "<plain name>" (exclusive) or "../shared/<32
 * hex>.sst" (shared). */
bool layout_is_exclusive_path(const char *path);
MUST_USE bool layout_parse_shared_path(const char *path, struct digest128 *digest);
/* "../taskowned/<log>" */
bool layout_is_log_path(const char *path);

#endif
