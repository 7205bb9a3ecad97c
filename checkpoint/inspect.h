/* inspect.h - read-only report of a _metadata, a chk-<n>, a savepoint, a job's directory or a root.
 *
 * Text for people, JSON with stable names (docs/inspect.schema.json), or one HTML page. Damaged and
 * incomplete checkpoints are listed with the reason; a job's directory also says how many files in
 * shared/ no readable _metadata names. Nothing is locked, so a running job's directory may change
 * under the look; nothing is ever written.
 *
 * Of a directory of many checkpoints one is in memory at a time, and some hundred bytes for each of
 * them and for each file in shared/. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_INSPECT_H
#define VARVE_CHECKPOINT_INSPECT_H

#include "base/env.h"
#include "base/json.h"
#include "checkpoint/metadata.h"
#include "checkpoint/snapshot_list.h"

enum inspect_form { INSPECT_TEXT, INSPECT_JSON, INSPECT_HTML };
struct inspect_options {
    enum inspect_form form;
    bool files;   /* of a directory of several: each of them in full; every file by name */
    bool digests; /* read every named file and compare its digest */
    /* What an item of a list state means: an object with "what" (a few words) first, then plain
     * values. NULL: it is not known, or damaged. The function may be NULL. */
    json_t *(*describe)(const char *list_name, struct bytes item);
    /* What lies outside and the snapshot does not know: a list of such objects. Asked of a snapshot
     * given by its path, and of a job's newest. The function may be NULL. */
    json_t *(*outside)(const struct env *env, const struct checkpoint_metadata *m);
    const struct rebase *rebase; /* for snapshots of Flink's; NULL: none */
    struct look_watch watch;     /* after each checkpoint of a job */
};
/* Such an object as "file position: path a.csv, offset 12". */
void inspect_print_item(json_t *described, struct buf *out);
/* Text with names that came out of files: none may drive the reader's terminal. Appends it with
 * \xNN for control characters, line ends apart. */
void inspect_append_plain(const struct buf *text, struct buf *out);
/* Pieces of the report, in order. */
typedef enum rc inspect_write_fn(void *ctx, struct bytes piece, struct err *err);
/* *damaged: something in it cannot be restored (exit code 1). Codes as recovery_open, for a path
 * that is nothing of ours; else what `write` returned. */
MUST_USE enum rc inspect_path(const struct env *env, const char *path,
                              const struct inspect_options *options, inspect_write_fn *write,
                              void *ctx, bool *damaged, struct err *err);

#endif
