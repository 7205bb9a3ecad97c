/* sim_image_priv.h - what sim_fs.c stands on: inodes, names, and both images of them.
 *
 * The written image is changed by the calls here; what of it is durable is noted beside it: per
 * file by the length that both images share, per directory by a list of changes of names that wait.
 * sim_image_crash draws what survives. No paths, no locks, no error codes: those are sim_fs.c's.
 * Thread: under sim_fs.c's mutex.
 */
#ifndef VARVE_TESTS_LIB_SIM_IMAGE_PRIV_H
#define VARVE_TESTS_LIB_SIM_IMAGE_PRIV_H

#include "base/fs.h"
#include "base/rng.h"

struct inode;

struct entry {
    char *name;
    struct inode *node;
};

/* The names of one directory in one image. Directories of tests are small: a plain array. */
struct names {
    struct entry *items;
    size_t count, cap;
};
struct inode *sim_names_get(const struct names *n, const char *name); /* NULL: not there */
void sim_names_copy(struct names *to, const struct names *from);      /* replaces */
void sim_names_release(struct names *n);

struct inode {
    uint64_t number;
    bool is_dir, marked;
    struct names written, durable; /* directory */
    struct buf content, synced;    /* file: written and durable image */
    size_t same_len; /* so many first bytes are the same in both, and were never cut meanwhile */
    uint64_t links, opens; /* names in the written image; open files of this boot */
    struct fs_file *locker;
    int64_t mtime, ctime;
};

/* `name` in `dir` becomes `node` (NULL: goes away). */
struct change {
    struct inode *dir;
    char *name;
    struct inode *node;
};

/* A change of names that is written but not durable; a rename has two parts, the new name last. */
struct name_op {
    struct change part[2];
    size_t part_count;
    bool keep;
};

struct sim_image {
    struct inode *root;
    struct inode **inodes;
    size_t inode_count, inode_cap, sweep_at;
    struct name_op *pending;
    size_t pending_count, pending_cap;
    uint64_t next_inode;
    int64_t now; /* for the times of inodes; set by the caller before each change */
};
void sim_image_init(struct sim_image *im);
void sim_image_release(struct sim_image *im);
struct inode *sim_image_inode(struct sim_image *im, bool is_dir); /* without a name yet */
void sim_image_truncate(struct sim_image *im, struct inode *file, size_t len);
void sim_image_sync(struct inode *file);
/* A change of one name; of two that are made or lost together. node NULL: the name goes away. */
void sim_image_name(struct sim_image *im, struct inode *dir, const char *name, struct inode *node);
void sim_image_move(struct sim_image *im, struct inode *from_dir, const char *from,
                    struct inode *to_dir, const char *to, struct inode *node);
void sim_image_sync_dir(struct sim_image *im, const struct inode *dir);
void sim_image_crash(struct sim_image *im,
                     struct rng *rng);        /* power loss: both images are then the same */
void sim_image_restart(struct sim_image *im); /* open files and locks are gone */

#endif
