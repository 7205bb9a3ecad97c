/* inspect_priv.h - what inspect.c collects and inspect_text.c and inspect_json.c print. For this
 * folder only. */
#ifndef VARVE_CHECKPOINT_INSPECT_PRIV_H
#define VARVE_CHECKPOINT_INSPECT_PRIV_H

#include "checkpoint/inspect.h"
#include "checkpoint/orphans.h"
#include "checkpoint/recovery.h"

enum snapshot_status {
    SNAPSHOT_COMPLETE,
    SNAPSHOT_DAMAGED,    /* _metadata unreadable, or files missing or wrong */
    SNAPSHOT_INCOMPLETE, /* no _metadata */
};
const char *snapshot_status_str(enum snapshot_status s);
const char *snapshot_kind_str(enum checkpoint_kind kind);
const char *state_kind_str(enum state_kind kind);
const char *list_mode_str(enum list_mode mode);
const char *keyed_kind_str(enum keyed_handle_kind kind);
const char *file_scope_str(enum file_scope scope);

struct snapshot_view {
    const char *dir;
    uint64_t checkpoint_id; /* of its name when _metadata is unreadable; 0: unknown */
    enum snapshot_status status;
    const char *reason;               /* "" when complete */
    struct checkpoint_metadata *meta; /* NULL: unreadable */
    uint64_t metadata_bytes;
    struct metadata_sizes sizes;
    uint64_t linked_bytes; /* of files that have another name somewhere */
    uint64_t single_bytes; /* of files that have none */
    size_t fault_count;
    struct recovery_fault *faults;
    uint64_t dir_bytes;      /* incomplete: what lies in it */
    int64_t changed_wall_ms; /* incomplete */
};
struct job_view_dir {
    const char *dir, *job_id, *job_name; /* "" unknown */
    size_t snapshot_count;
    struct snapshot_view *snapshots; /* ascending ids */
    struct orphan_report orphans;
    size_t unreferenced_count; /* of shared files */
    uint64_t unreferenced_bytes;
};
enum inspect_type { INSPECT_SNAPSHOT, INSPECT_JOB, INSPECT_ROOT };
struct inspect_view {
    enum inspect_type type;
    const char *path;
    size_t job_count;
    struct job_view_dir *jobs;
    size_t snapshot_count; /* the one, or a root's savepoints */
    struct snapshot_view *snapshots;
};
void inspect_print_text(const struct inspect_view *v, const struct inspect_options *options,
                        struct buf *out);
void inspect_print_json(const struct inspect_view *v, const struct inspect_options *options,
                        struct buf *out);

/* Keys of an operator, where its handles know them. */
uint64_t operator_entry_count(const struct operator_meta *op);
/* Bytes outside printable ASCII as \xNN, a backslash doubled; at most `max` bytes of the input,
 * then "...". */
void print_escaped(struct bytes b, size_t max, struct buf *out);

#endif
