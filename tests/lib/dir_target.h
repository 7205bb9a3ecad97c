/* dir_target.h - a snapshot_target that puts files below one directory: shared/<digest>.sst and
 * chk/<n>.bin. For tests of backends without checkpoint/. Usable from any thread; knobs are set
 * between snapshots. */
#ifndef VARVE_TESTS_LIB_DIR_TARGET_H
#define VARVE_TESTS_LIB_DIR_TARGET_H

#include "backend/snapshot_target.h"
#include "base/env.h"
#include "base/thread.h"

struct dir_target {
    struct snapshot_target base; /* first */
    struct fs *fs;
    char dir[FS_PATH_MAX];
    size_t inline_max; /* exclusive content up to it is inlined; default 0: everything is a file */
    int fail_after; /* that many publishing calls succeed, the next one fails; -1: none (default) */
    bool cancel;    /* answer of cancelled() */
    struct mutex mutex; /* over what follows */
    uint32_t next_name;
    uint32_t shared_new, shared_known; /* publish_shared calls that wrote, or found the file */
};
void dir_target_init(struct dir_target *t, struct fs *fs, const char *dir);
void dir_target_release(struct dir_target *t); /* the files stay */
/* Sets resolved_path of every file that is not inline; strings in `arena`. */
void dir_target_resolve(const struct dir_target *t, struct arena *arena, struct keyed_handle *h);
/* Those of the handles that a restore of the range needs, to `out`; how many. */
size_t handles_meeting(const struct keyed_handle *handles, size_t count,
                       struct key_group_range range, struct keyed_handle *out);
/* An environment of the real file system and clock, no log, seed 1. Static lifetime. */
const struct env *dir_target_env(void);

#endif
