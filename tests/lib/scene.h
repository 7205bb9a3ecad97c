/* scene.h - a toy job that makes checkpoints on any file system: files come and go as under
 * compaction, the driver's steps (begin, publish, complete, subsume, clean, abort) are those of the
 * real one.
 *
 * Local file i of the job lies at <local>/<i>.sst, unsynced, with content that depends on i alone.
 * Checkpoint n has the files n, n+1 and n+2, so neighbours share; besides an inline file, an
 * exclusive one and an exclusive stream. */
#ifndef VARVE_TESTS_LIB_SCENE_H
#define VARVE_TESTS_LIB_SCENE_H

#include "checkpoint/storage.h"
#include "tests/lib/sim_clock.h"

#define SCENE_JOB_ID "0123456789abcdef0123456789abcdef"
#define SCENE_OPERATOR_ID "22222222222222222222222222222222"
#define SCENE_FILES 3 /* shared ones of a checkpoint */

struct scene {
    struct env env;
    struct sim_clock clock;
    const char *dir, *local; /* checkpoints; the job's scratch */
    struct fs *local_fs;     /* writes the scratch; scene_init: the same */
    struct storage *storage;
    uint64_t completed_id; /* newest that storage_attempt_complete reported; 0: none */
};
/* dir: parent of the job's directory; NULL: jobmanager storage. Nothing is done yet. */
void scene_init(struct scene *s, struct fs *fs, const char *dir, const char *local);
/* Opens the storage, makes the scratch directory anew. */
MUST_USE enum rc scene_open(struct scene *s, struct err *err);
void scene_close(struct scene *s);

/* Publish what checkpoint `id` has into the attempt; the tree is in `arena`. */
MUST_USE enum rc scene_publish(struct scene *s, struct storage_attempt *a, uint64_t id,
                               struct arena *arena, struct checkpoint_metadata *out,
                               struct err *err);
/* A whole checkpoint; what goes wrong is aborted. Does not subsume. */
MUST_USE enum rc scene_checkpoint(struct scene *s, uint64_t id, struct err *err);
/* checkpoint, then discard `id` - 1 (when completed) and clean, like a driver with num-retained 1.
 * The code is the checkpoint's; errors of the deletion are not errors of the job. */
MUST_USE enum rc scene_step(struct scene *s, uint64_t id, struct err *err);

/* Content of local file i. */
struct bytes scene_content(struct arena *arena, uint64_t i);
/* "" when all is well, else what is wrong: each checkpoint in the job's directory that has a
 * _metadata is readable and whole, by digest. *newest: highest id among them, 0: none. *orphans
 * counts what nobody names. */
const char *scene_audit(struct fs *fs, const char *job_dir, struct arena *arena, uint64_t *newest,
                        size_t *orphans);

#endif
