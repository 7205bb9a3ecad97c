/* inspect_priv.h - what inspect.c collects and inspect_text.c, inspect_json.c and inspect_html.c
 * print. For this folder only. */
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

/* One line of a table: what is kept of a snapshot once its _metadata is forgotten. */
struct snapshot_view {
    const char *dir;
    uint64_t checkpoint_id; /* of its name when _metadata is unreadable; 0: unknown */
    enum snapshot_status status;
    const char *reason; /* "" when complete */
    bool readable;      /* has a _metadata that can be read: the fields up to the faults are set */
    enum checkpoint_kind kind;
    int64_t trigger_wall_ms, completed_wall_ms;
    uint64_t metadata_bytes;
    struct metadata_sizes sizes;
    bool only_known;     /* all others of its directory were read */
    uint64_t only_bytes; /* that no other names: what deleting it would free */
    uint64_t linked_bytes; /* of files that have another name somewhere */
    uint64_t single_bytes; /* of files that have none */
    size_t fault_count;    /* all of them */
    size_t kept_count;     /* of a table the first ones only */
    struct recovery_fault *faults;
    uint64_t dir_bytes;      /* incomplete: what lies in it */
    int64_t changed_wall_ms; /* incomplete */
};
struct job_dir_view {
    const char *dir, *job_id, *job_name; /* "" unknown */
    size_t snapshot_count;
    struct snapshot_view *snapshots; /* ascending ids */
    struct orphan_report orphans;
    /* The newest that can be read; NULL: none. In the job's arena. */
    const struct snapshot_view *newest;
    const struct checkpoint_metadata *newest_meta;
};

/* The look under way, and its printer's output. */
struct inspect {
    const struct env *env;
    const struct inspect_options *options;
    int64_t now_wall_ms;
    struct arena *arena; /* of the whole look; and of the job at hand: */
    struct arena *job_arena;
    struct arena *one; /* of the snapshot at hand */
    size_t fault_room; /* how many more faults are kept */
    bool alone;        /* one snapshot was asked for */
    const struct snapshot_view *newest; /* of the job at hand; NULL */
    bool damaged;
    struct buf out; /* not written yet */
    inspect_write_fn *write;
    void *write_ctx;
};
/* Hands on what has gathered, when it is much or `all`. */
MUST_USE enum rc inspect_flush(struct inspect *in, bool all, struct err *err);
/* The _metadata of a snapshot seen before, in in->one, anew; NULL: it has become unreadable. */
const struct checkpoint_metadata *inspect_reread(struct inspect *in, const struct snapshot_view *v);
/* Its job has deleted it since it was seen. */
bool inspect_is_gone(const struct inspect *in, const struct snapshot_view *v);

struct snapshot_list;
/* A form of the report: begin, job.., snapshots, snapshot.., end, each appending to in->out. */
struct inspect_printer {
    void (*begin)(struct inspect *in, const struct snapshot_list *l);
    enum rc (*job)(struct inspect *in, const struct snapshot_list *l,
                   const struct job_dir_view *job, bool first, struct err *err);
    void (*snapshots)(struct inspect *in, const struct snapshot_list *l); /* a root's: follow */
    void (*snapshot)(struct inspect *in, const struct snapshot_list *l,
                     const struct snapshot_view *v, const struct checkpoint_metadata *meta,
                     bool first);
    void (*end)(struct inspect *in, const struct snapshot_list *l);
};
extern const struct inspect_printer inspect_text, inspect_json, inspect_html;

/* What options->outside says of it, where it is to be asked; NULL. A new reference. */
json_t *inspect_outside(const struct inspect *in, const struct snapshot_view *v,
                        const struct checkpoint_metadata *m);

/* What states a snapshot that Flink wrote has: an inventory of each of its operators, in `arena`, and
 * how each form shows one (inspect_flink.c). */
struct flink_metadata;
struct flink_inventory;
const struct flink_inventory *inspect_flink_states(const struct inspect *in,
                                                   const struct snapshot_view *v,
                                                   const struct flink_metadata *m,
                                                   struct arena *arena);
void inspect_flink_text(const struct flink_inventory *d, struct buf *out);
void inspect_flink_json(const struct flink_inventory *d, json_t *operator);
void inspect_flink_html(const struct flink_inventory *d, struct arena *arena, struct buf *out);

/* ---- what printers share -------------------------------------------------------------------- */

/* Times come out of files: what does not fit is the largest that does. */
static inline int64_t inspect_ms_between(int64_t from_wall_ms, int64_t to_wall_ms)
{
    int64_t ms;

    return __builtin_sub_overflow(to_wall_ms, from_wall_ms, &ms) ? INT64_MAX : ms;
}
#define INSPECT_TEXT_MAX WALL_TEXT_MAX
const char *inspect_size_text(uint64_t bytes, char out[INSPECT_TEXT_MAX]); /* "1.2 MB" */
const char *inspect_time_text(int64_t wall_ms, char out[INSPECT_TEXT_MAX]); /* ISO 8601, UTC */
/* "3d 4h", and with "ago"; of a time to come "future", "in the future". */
const char *inspect_age_text(const struct inspect *in, int64_t wall_ms, char out[INSPECT_TEXT_MAX]);
const char *inspect_ago_text(const struct inspect *in, int64_t wall_ms, char out[INSPECT_TEXT_MAX]);
/* Keys of an operator, where its handles know them. */
uint64_t operator_entry_count(const struct operator_meta *op);
/* The first handle of an operator that has states, which stands for all; NULL. */
const struct keyed_handle *operator_states(const struct operator_meta *op);

/* ---- parts of the page ---------------------------------------------------------------------- */

/* A text of others, safe between tags and in quoted attributes: markup escaped, what is not UTF-8
 * and control characters replaced. */
void html_text(const char *s, struct buf *out);
/* Sizes and durations of a job's checkpoints, as SVG. */
void html_chart(const struct job_dir_view *job, struct buf *out);
/* Which of its newest checkpoints use which of their largest shared files. Reads those again. */
void html_shared(struct inspect *in, const struct job_dir_view *job, struct buf *out);

#endif
