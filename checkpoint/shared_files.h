/* shared_files.h - what lies in a job's shared/, and which of its snapshots name each file: for
 * reports over a whole directory, one entry a file however many checkpoints there are.
 *
 * Snapshots are numbered by who fills it, ascending. Shows; decides no deletion of a running job
 * (that is shared_registry.h's). Thread: one at a time.
 */
#ifndef VARVE_CHECKPOINT_SHARED_FILES_H
#define VARVE_CHECKPOINT_SHARED_FILES_H

#include "base/fs.h"
#include "base/hash.h"

struct shared_file {
    struct digest128 digest; /* its name */
    bool present;            /* lies in shared/ */
    bool linked;             /* and has another name somewhere */
    bool proven;             /* its content was compared with its name */
    uint32_t user_count;     /* snapshots that name it */
    uint32_t first_user, last_user;
    uint64_t size_bytes;     /* on disk; of one that is not there, as it is named */
    int64_t changed_wall_ms; /* on disk */
};
/* `= {0}`; items in no order, NULL without any. */
struct shared_files {
    size_t count, cap;
    struct shared_file *items;
    uint32_t *slots; /* index + 1 of an item; 0: free */
    size_t slot_count;
};
void shared_files_release(struct shared_files *t);
/* All content names in shared_dir; RC_OK also when there is no such directory. Files that come
 * later are not there. */
MUST_USE enum rc shared_files_list(struct shared_files *t, struct fs *fs, const char *shared_dir,
                                   struct err *err);
/* NULL: not known. Until the next entry. */
struct shared_file *shared_files_find(const struct shared_files *t, struct digest128 digest);
/* Snapshot `user` names it; again for the same one: nothing more. Until the next entry. */
struct shared_file *shared_files_use(struct shared_files *t, uint32_t user, struct digest128 digest,
                                     uint64_t size_bytes);

#endif
