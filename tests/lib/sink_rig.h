/* sink_rig.h - a file sink on a simulated disk, and the audit of what it made visible.
 *
 * Rows are numbers, one a line, counted from 1 over all subtasks of a run; row r goes to bucket r %
 * buckets ("" when there is one). A "checkpoint" is a deep copy of what prepare handed out, kept
 * outside the disk: it stands for one that is durable. Include after check_ext.h. */
#ifndef VARVE_TESTS_LIB_SINK_RIG_H
#define VARVE_TESTS_LIB_SINK_RIG_H

#include "sink/sink.h"
#include "tests/lib/sim_clock.h"

#define RIG_ROWS_MAX 4096
#define RIG_DIR "/out"
#define RIG_UUID "11111111-1111-4111-8111-111111111111"

struct sink_rig {
    struct env env;
    struct sim_clock clock;
    struct file_sink_config config; /* change it before opening */
    unsigned buckets;
    struct arena *arena; /* of the checkpoints */
};
/* fs: borrowed. A default config: roll on checkpoint, one bucket, RIG_DIR. */
void sink_rig_init(struct sink_rig *r, struct fs *fs);
void sink_rig_release(struct sink_rig *r);
/* Rows first..last, one call each. */
MUST_USE enum rc sink_rig_write(struct sink_rig *r, struct sink *s, uint32_t first, uint32_t last,
                                struct err *err);
/* prepare, and a copy of what came. */
MUST_USE enum rc sink_rig_prepare(struct sink_rig *r, struct sink *s, uint64_t id, bool end,
                                  struct sink_snapshot *out, struct err *err);
/* The lists of several subtasks as one. */
struct sink_snapshot sink_rig_join(struct sink_rig *r, const struct sink_snapshot *parts,
                                   size_t count);
/* The i-th of `count` subtasks' share, item by item in turn. */
struct sink_snapshot sink_rig_deal(struct sink_rig *r, const struct sink_snapshot *all, size_t i,
                                   size_t count);

struct sink_audit {
    uint16_t seen[RIG_ROWS_MAX]; /* how often each row is visible */
    size_t visible_files, hidden_files;
    size_t broken_lines; /* cut or strange */
};
/* Everything below `dir`; not there: nothing seen. */
void sink_audit(struct fs *fs, const char *dir, struct sink_audit *out);
/* "" when rows 1..last are visible exactly `times` times and no other is; else what is wrong. */
const char *sink_audit_rows(const struct sink_audit *a, uint32_t last, unsigned times,
                            char out[200]);

#endif
