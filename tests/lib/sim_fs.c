/* sim_fs.c - see sim_fs.h */
#include "tests/lib/sim_fs.h"

#include "base/arena.h"
#include "base/thread.h"
#include "tests/lib/sim_image_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct sim_fs {
    struct fs fs; /* first */
    struct clock *clock;
    struct mutex mutex; /* guards what follows */
    struct sim_image image;
    uint64_t op_count, crash_at, boot, capacity;
    bool down, hard_links, reflinks;
};

struct sim_file {
    struct fs_file base; /* first */
    struct inode *node;
    uint64_t boot;
};

static const struct fs_ops sim_ops;

static struct sim_fs *sim_of(const struct fs *fs)
{
    ASSERT(fs->ops == &sim_ops);
    return (struct sim_fs *)(uintptr_t)fs;
}

static struct sim_file *file_of(struct fs_file *f)
{
    return (struct sim_file *)f;
}

/* ---- reboot --------------------------------------------------------------------------------- */

static void boot_locked(struct sim_fs *s)
{
    s->boot++;
    s->down = false;
    s->crash_at = UINT64_MAX;
}

void sim_fs_crash(struct fs *fs, struct rng *rng)
{
    struct sim_fs *s = sim_of(fs);

    mutex_lock(&s->mutex);
    sim_image_crash(&s->image, rng);
    boot_locked(s);
    mutex_unlock(&s->mutex);
}

void sim_fs_restart(struct fs *fs)
{
    struct sim_fs *s = sim_of(fs);

    mutex_lock(&s->mutex);
    sim_image_restart(&s->image);
    boot_locked(s);
    mutex_unlock(&s->mutex);
}

/* ---- finding the way ------------------------------------------------------------------------ */

/* A path taken apart: the directory that holds it, its last name, and what is there (NULL:
 * nothing). */
struct place {
    struct inode *dir; /* NULL for "/" */
    char name[FS_PATH_MAX];
    struct inode *node;
};

/* 0 or an errno; ENOENT only when a directory on the way is missing. */
static int find(const struct sim_fs *s, const char *path, bool durable, struct place *out)
{
    char rooted[FS_PATH_MAX + 1], full[FS_PATH_MAX];
    const char *at = full;

    *out = (struct place){.node = s->image.root};
    snprintf(rooted, sizeof rooted, "%s%s", path[0] == '/' ? "" : "/", path);
    if (path_absolute(full, sizeof full, rooted, NULL) != RC_OK)
        return ENAMETOOLONG;
    while (*at == '/' && at[1] != '\0') {
        size_t len = strcspn(++at, "/");

        if (len > 255)
            return ENAMETOOLONG;
        if (out->node == NULL)
            return ENOENT;
        if (!out->node->is_dir)
            return ENOTDIR;
        out->dir = out->node;
        memcpy(out->name, at, len);
        out->name[len] = '\0';
        out->node = sim_names_get(durable ? &out->dir->durable : &out->dir->written, out->name);
        at += len;
    }
    return 0;
}

/* The same for a path that must be there. */
static int find_there(const struct sim_fs *s, const char *path, struct place *out)
{
    int failed = find(s, path, false, out);

    return failed != 0 ? failed : out->node == NULL ? ENOENT : 0;
}

/* Is the machine up? Counts an operation when it is one; *last (may be NULL) tells that the power
 * goes now. */
static enum rc gate(struct sim_fs *s, bool counted, const char *operation, const char *path,
                    bool *last, struct err *err)
{
    if (!s->down && counted && s->op_count == s->crash_at) {
        s->down = true;
        if (last != NULL)
            *last = true;
    }
    if (s->down)
        return err_os(err, EIO, "%s %s: simulated power loss at operation %llu", operation, path,
                      (unsigned long long)s->crash_at);
    s->op_count += counted;
    s->image.now = s->clock == NULL ? (int64_t)s->op_count : clock_wall_ms(s->clock);
    return RC_OK;
}

static enum rc gate_file(struct sim_fs *s, bool counted, const char *operation, struct fs_file *f,
                         bool *last, struct err *err)
{
    if (file_of(f)->boot != s->boot)
        return err_os(err, EIO, "%s %s: it was opened before the reboot", operation, f->path);
    return gate(s, counted, operation, f->path, last, err);
}

static struct fs_file *open_node(struct sim_fs *s, const char *path, struct inode *node)
{
    struct sim_file *f = mem_alloc(sizeof *f);

    *f = (struct sim_file){
        .base = {.fs = &s->fs, .path = mem_strdup(path)}, .node = node, .boot = s->boot};
    node->opens++;
    return &f->base;
}

/* Every call below is: lock, gate, the work (named .._locked), unlock. */
#define LOCKED(s, gate_call, work_call)                                                            \
    do {                                                                                           \
        enum rc rc_;                                                                               \
        mutex_lock(&(s)->mutex);                                                                   \
        rc_ = gate_call;                                                                           \
        if (rc_ == RC_OK)                                                                          \
            rc_ = work_call;                                                                       \
        mutex_unlock(&(s)->mutex);                                                                 \
        return rc_;                                                                                \
    } while (0)

/* ---- files ---------------------------------------------------------------------------------- */

static enum rc create_locked(struct sim_fs *s, const char *path, struct fs_file **out,
                             struct err *err)
{
    struct place at;
    int failed = find(s, path, false, &at);
    struct inode *node;

    if (failed != 0 || at.node != NULL)
        return err_os(err, failed != 0 ? failed : EEXIST, "create %s", path);
    node = sim_image_inode(&s->image, false);
    sim_image_name(&s->image, at.dir, at.name, node);
    *out = open_node(s, path, node);
    return RC_OK;
}

static enum rc sim_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "create", path, NULL, err), create_locked(s, path, out, err));
}

static enum rc open_read_locked(struct sim_fs *s, const char *path, struct fs_file **out,
                                struct err *err)
{
    struct place at;
    int failed = find_there(s, path, &at);

    if (failed != 0)
        return err_os(err, failed, "open %s", path);
    *out = open_node(s, path, at.node); /* a directory too: as with open(2), reading it fails */
    return RC_OK;
}

static enum rc sim_open_read(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, false, "open", path, NULL, err), open_read_locked(s, path, out, err));
}

static enum rc open_append_locked(struct sim_fs *s, const char *path, uint64_t length,
                                  struct fs_file **out, struct err *err)
{
    struct place at;
    int failed = find_there(s, path, &at);

    if (failed == 0 && at.node->is_dir)
        failed = EISDIR;
    if (failed != 0)
        return err_os(err, failed, "open %s for appending", path);
    if (at.node->content.len < length)
        return err_set(err, RC_CORRUPT, "open %s for appending at %llu: it has only %zu bytes",
                       path, (unsigned long long)length, at.node->content.len);
    if (at.node->content.len > length)
        sim_image_truncate(&s->image, at.node, (size_t)length);
    *out = open_node(s, path, at.node);
    return RC_OK;
}

static enum rc sim_open_append(struct fs *fs, const char *path, uint64_t length,
                               struct fs_file **out, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "open for appending", path, NULL, err),
           open_append_locked(s, path, length, out, err));
}

static enum rc read_at_locked(struct fs_file *f, uint64_t offset, void *out, size_t len,
                              size_t *got, struct err *err)
{
    struct inode *node = file_of(f)->node;

    if (node->is_dir)
        return err_os(err, EISDIR, "read %s at %llu", f->path, (unsigned long long)offset);
    if (offset < node->content.len) {
        size_t there = node->content.len - (size_t)offset;

        *got = len < there ? len : there;
        memcpy(out, node->content.data + offset, *got);
    }
    return RC_OK;
}

static enum rc sim_read_at(struct fs_file *f, uint64_t offset, void *out, size_t len, size_t *got,
                           struct err *err)
{
    struct sim_fs *s = sim_of(f->fs);

    LOCKED(s, gate_file(s, false, "read", f, NULL, err),
           read_at_locked(f, offset, out, len, got, err));
}

static uint64_t used_bytes(const struct sim_fs *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->image.inode_count; i++)
        if (s->image.inodes[i]->links > 0 || s->image.inodes[i]->opens > 0)
            sum += s->image.inodes[i]->content.len;
    return sum;
}

static enum rc append_locked(struct sim_fs *s, struct fs_file *f, struct bytes data,
                             struct err *err)
{
    struct inode *node = file_of(f)->node;
    uint64_t room = UINT64_MAX;
    size_t fits = data.len;

    if (s->capacity != UINT64_MAX) {
        uint64_t used = used_bytes(s);

        room = used < s->capacity ? s->capacity - used : 0;
    }
    if (fits > room)
        fits = (size_t)room;
    buf_append(&node->content, data.data, fits);
    node->mtime = node->ctime = s->image.now;
    if (fits < data.len)
        return err_os(err, ENOSPC, "write %zu bytes to %s", data.len - fits, f->path);
    return RC_OK;
}

static enum rc sim_append(struct fs_file *f, struct bytes data, struct err *err)
{
    struct sim_fs *s = sim_of(f->fs);
    bool last = false;
    enum rc rc;

    mutex_lock(&s->mutex);
    rc = gate_file(s, true, "write to", f, &last, err);
    if (rc == RC_OK) {
        rc = append_locked(s, f, data, err);
    } else if (last) {
        data.len = (size_t)(splitmix64(s->crash_at) % (data.len + 1));
        append_locked(s, f, data, NULL);
    }
    mutex_unlock(&s->mutex);
    return rc;
}

static enum rc sync_locked(struct fs_file *f)
{
    sim_image_sync(file_of(f)->node);
    return RC_OK;
}

static enum rc sim_sync(struct fs_file *f, struct err *err)
{
    struct sim_fs *s = sim_of(f->fs);

    LOCKED(s, gate_file(s, true, "sync", f, NULL, err), sync_locked(f));
}

static enum rc size_locked(struct fs_file *f, uint64_t *size_bytes)
{
    *size_bytes = file_of(f)->node->content.len;
    return RC_OK;
}

static enum rc sim_size(struct fs_file *f, uint64_t *size_bytes, struct err *err)
{
    struct sim_fs *s = sim_of(f->fs);

    LOCKED(s, gate_file(s, false, "stat", f, NULL, err), size_locked(f, size_bytes));
}

static void sim_abandon(struct fs_file *f)
{
    struct sim_fs *s = sim_of(f->fs);
    struct inode *node = file_of(f)->node;

    mutex_lock(&s->mutex);
    if (file_of(f)->boot == s->boot) { /* else the node may be gone */
        node->opens--;
        if (node->locker == f)
            node->locker = NULL;
    }
    mutex_unlock(&s->mutex);
    mem_free(f->path);
    mem_free(f);
}

static enum rc sim_close(struct fs_file *f, struct err *err)
{
    struct sim_fs *s = sim_of(f->fs);
    enum rc rc;

    mutex_lock(&s->mutex);
    rc = gate_file(s, false, "close", f, NULL, err);
    mutex_unlock(&s->mutex);
    sim_abandon(f);
    return rc;
}

static enum rc lock_locked(struct sim_fs *s, const char *path, struct fs_file **out,
                           struct err *err)
{
    struct place at;
    int failed = find(s, path, false, &at);

    if (failed == 0 && at.node != NULL && at.node->is_dir)
        failed = EISDIR;
    if (failed != 0)
        return err_os(err, failed, "lock %s", path);
    if (at.node == NULL) {
        at.node = sim_image_inode(&s->image, false);
        sim_image_name(&s->image, at.dir, at.name, at.node);
    }
    if (at.node->locker != NULL)
        return err_set(err, RC_STATE, "lock %s: another process holds it", path);
    *out = at.node->locker = open_node(s, path, at.node);
    return RC_OK;
}

static enum rc sim_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "lock", path, NULL, err), lock_locked(s, path, out, err));
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Is `dir` at or below `top`? */
static bool lies_in(const struct inode *dir, const struct inode *top)
{
    if (dir == top)
        return true;
    for (size_t i = 0; i < top->written.count; i++)
        if (top->written.items[i].node->is_dir && lies_in(dir, top->written.items[i].node))
            return true;
    return false;
}

static int may_rename(const struct place *from, const struct place *to)
{
    if (from->dir == NULL || to->dir == NULL)
        return EBUSY;
    if (from->node->is_dir && lies_in(to->dir, from->node))
        return EINVAL;
    if (to->node == NULL || to->node == from->node)
        return 0;
    if (to->node->is_dir && !from->node->is_dir)
        return EISDIR;
    if (!to->node->is_dir && from->node->is_dir)
        return ENOTDIR;
    return to->node->written.count > 0 ? ENOTEMPTY : 0;
}

static enum rc rename_locked(struct sim_fs *s, const char *from_path, const char *to_path,
                             struct err *err)
{
    struct place from, to;
    int failed = find_there(s, from_path, &from);

    if (failed == 0)
        failed = find(s, to_path, false, &to);
    if (failed == 0)
        failed = may_rename(&from, &to);
    if (failed != 0)
        return err_os(err, failed, "rename %s to %s", from_path, to_path);
    if (from.node == to.node)
        return RC_OK; /* two names of one file stay two: POSIX */
    sim_image_move(&s->image, from.dir, from.name, to.dir, to.name, from.node);
    return RC_OK;
}

static enum rc sim_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "rename", from, NULL, err), rename_locked(s, from, to, err));
}

static enum rc refuse(struct err *err, const char *operation, const char *from, const char *to)
{
    if (err != NULL && err->rc == RC_OK) {
        err_set(err, RC_NO_LINK, "%s %s to %s: not supported here", operation, from, to);
        err->os_errno = EOPNOTSUPP;
    }
    return RC_NO_LINK;
}

static enum rc link_locked(struct sim_fs *s, const char *from_path, const char *to_path,
                           struct err *err)
{
    struct place from, to;
    int failed = find_there(s, from_path, &from);

    if (failed == 0)
        failed = find(s, to_path, false, &to);
    if (failed == 0 && to.node != NULL)
        failed = EEXIST;
    if (failed != 0)
        return err_os(err, failed, "link %s to %s", from_path, to_path);
    if (!s->hard_links || from.node->is_dir)
        return refuse(err, "link", from_path, to_path);
    sim_image_name(&s->image, to.dir, to.name, from.node);
    return RC_OK;
}

static enum rc sim_link(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "link", from, NULL, err), link_locked(s, from, to, err));
}

static enum rc reflink_locked(struct sim_fs *s, const char *from_path, const char *to_path,
                              struct err *err)
{
    struct place from, to;
    struct inode *node;
    int failed = find_there(s, from_path, &from);

    if (failed == 0)
        failed = find(s, to_path, false, &to);
    if (failed == 0 && to.node != NULL)
        failed = EEXIST;
    if (failed != 0)
        return err_os(err, failed, "reflink %s to %s", from_path, to_path);
    if (!s->reflinks || from.node->is_dir)
        return refuse(err, "reflink", from_path, to_path);
    node = sim_image_inode(&s->image, false);
    buf_append(&node->content, from.node->content.data, from.node->content.len);
    sim_image_sync(node);
    sim_image_name(&s->image, to.dir, to.name, node);
    return RC_OK;
}

static enum rc sim_reflink(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "reflink", from, NULL, err), reflink_locked(s, from, to, err));
}

static enum rc sim_symlink(struct fs *fs, const char *target, const char *path, struct err *err)
{
    (void)fs;
    return refuse(err, "symlink", target, path);
}

static enum rc remove_locked(struct sim_fs *s, const char *path, bool dir, const char *operation,
                             struct err *err)
{
    struct place at;
    int failed = find_there(s, path, &at);

    if (failed == 0 && at.dir == NULL)
        failed = EBUSY;
    if (failed == 0 && at.node->is_dir != dir)
        failed = dir ? ENOTDIR : EISDIR;
    if (failed == 0 && dir && at.node->written.count > 0)
        failed = ENOTEMPTY;
    if (failed != 0)
        return err_os(err, failed, "%s %s", operation, path);
    sim_image_name(&s->image, at.dir, at.name, NULL);
    return RC_OK;
}

static enum rc sim_unlink(struct fs *fs, const char *path, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "unlink", path, NULL, err),
           remove_locked(s, path, false, "unlink", err));
}

static enum rc sim_rmdir(struct fs *fs, const char *path, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "remove directory", path, NULL, err),
           remove_locked(s, path, true, "remove directory", err));
}

static enum rc mkdir_locked(struct sim_fs *s, const char *path, struct err *err)
{
    struct place at;
    int failed = find(s, path, false, &at);

    if (failed != 0 || at.node != NULL)
        return err_os(err, failed != 0 ? failed : EEXIST, "make directory %s", path);
    sim_image_name(&s->image, at.dir, at.name, sim_image_inode(&s->image, true));
    return RC_OK;
}

static enum rc sim_mkdir(struct fs *fs, const char *path, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "make directory", path, NULL, err), mkdir_locked(s, path, err));
}

/* NUL-terminated names, one after the other. */
static enum rc list_locked(const struct sim_fs *s, const char *path, struct buf *names,
                           struct err *err)
{
    struct place at;
    int failed = find_there(s, path, &at);

    if (failed == 0 && !at.node->is_dir)
        failed = ENOTDIR;
    if (failed != 0)
        return err_os(err, failed, "list %s", path);
    for (size_t i = 0; i < at.node->written.count; i++) {
        const char *name = at.node->written.items[i].name;

        buf_append(names, name, strlen(name) + 1);
    }
    return RC_OK;
}

static enum rc sim_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx, struct err *err)
{
    struct sim_fs *s = sim_of(fs);
    struct buf names = {0};
    enum rc rc;

    mutex_lock(&s->mutex);
    rc = gate(s, false, "list", path, NULL, err);
    if (rc == RC_OK)
        rc = list_locked(s, path, &names, err);
    mutex_unlock(&s->mutex);
    /* Without the lock: the callback may call the file system. */
    for (size_t at = 0; rc == RC_OK && at < names.len; at += strlen((char *)names.data + at) + 1)
        rc = fn(ctx, (char *)names.data + at, err);
    buf_release(&names);
    return rc;
}

static enum rc stat_locked(const struct sim_fs *s, const char *path, struct fs_stat *out,
                           struct err *err)
{
    struct place at;
    int failed = find_there(s, path, &at);

    if (failed != 0)
        return err_os(err, failed, "stat %s", path);
    *out = (struct fs_stat){
        .type = at.node->is_dir ? FS_DIR : FS_FILE,
        .size_bytes = at.node->content.len,
        .mtime_wall_ms = at.node->mtime,
        .ctime_wall_ms = at.node->ctime,
        .inode = at.node->number,
        .device = 1,
        .link_count = at.node->is_dir ? 2 : at.node->links,
    };
    return RC_OK;
}

static enum rc sim_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, false, "stat", path, NULL, err), stat_locked(s, path, out, err));
}

static enum rc sync_dir_locked(struct sim_fs *s, const char *path, struct err *err)
{
    struct place at;
    int failed = find_there(s, path, &at);

    if (failed == 0 && !at.node->is_dir)
        failed = ENOTDIR;
    if (failed != 0)
        return err_os(err, failed, "open directory %s", path);
    sim_image_sync_dir(&s->image, at.node);
    return RC_OK;
}

static enum rc sim_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    struct sim_fs *s = sim_of(fs);

    LOCKED(s, gate(s, true, "sync directory", path, NULL, err), sync_dir_locked(s, path, err));
}

static const struct fs_ops sim_ops = {
    .create = sim_create,
    .open_read = sim_open_read,
    .open_append = sim_open_append,
    .read_at = sim_read_at,
    .append = sim_append,
    .sync = sim_sync,
    .size = sim_size,
    .close = sim_close,
    .abandon = sim_abandon,
    .rename = sim_rename,
    .link = sim_link,
    .reflink = sim_reflink,
    .symlink = sim_symlink,
    .unlink = sim_unlink,
    .rmdir = sim_rmdir,
    .mkdir = sim_mkdir,
    .list = sim_list,
    .stat = sim_stat,
    .sync_dir = sim_sync_dir,
    .lock = sim_lock,
};

/* ---- the outside ---------------------------------------------------------------------------- */

struct fs *sim_fs_new(struct clock *clock)
{
    struct sim_fs *s = mem_calloc(1, sizeof *s);

    s->fs.ops = &sim_ops;
    s->clock = clock;
    s->crash_at = s->capacity = UINT64_MAX;
    s->hard_links = true;
    mutex_init(&s->mutex);
    sim_image_init(&s->image);
    return &s->fs;
}

void sim_fs_free(struct fs *fs)
{
    struct sim_fs *s;

    if (fs == NULL)
        return;
    s = sim_of(fs);
    sim_image_release(&s->image);
    mutex_release(&s->mutex);
    mem_free(s);
}

uint64_t sim_fs_op_count(const struct fs *fs)
{
    struct sim_fs *s = sim_of(fs);
    uint64_t count;

    mutex_lock(&s->mutex);
    count = s->op_count;
    mutex_unlock(&s->mutex);
    return count;
}

void sim_fs_crash_at(struct fs *fs, uint64_t k)
{
    struct sim_fs *s = sim_of(fs);

    mutex_lock(&s->mutex);
    s->crash_at = k == UINT64_MAX ? k : s->op_count + k;
    mutex_unlock(&s->mutex);
}

bool sim_fs_down(const struct fs *fs)
{
    struct sim_fs *s = sim_of(fs);
    bool down;

    mutex_lock(&s->mutex);
    down = s->down;
    mutex_unlock(&s->mutex);
    return down;
}

void sim_fs_allow(struct fs *fs, bool hard_links, bool reflinks)
{
    sim_of(fs)->hard_links = hard_links;
    sim_of(fs)->reflinks = reflinks;
}

void sim_fs_set_capacity(struct fs *fs, uint64_t bytes)
{
    sim_of(fs)->capacity = bytes;
}

bool sim_fs_flip(struct fs *fs, const char *path, uint64_t offset, uint8_t mask)
{
    struct sim_fs *s = sim_of(fs);
    struct place at;
    bool there;

    mutex_lock(&s->mutex);
    there = find_there(s, path, &at) == 0 && !at.node->is_dir && offset < at.node->content.len;
    if (there) {
        at.node->content.data[offset] ^= mask;
        if (offset < at.node->same_len)
            at.node->synced.data[offset] ^= mask;
    }
    mutex_unlock(&s->mutex);
    return there;
}

bool sim_fs_durable(const struct fs *fs, const char *path, struct buf *out)
{
    struct sim_fs *s = sim_of(fs);
    struct place at;
    bool there;

    mutex_lock(&s->mutex);
    there = find(s, path, true, &at) == 0 && at.node != NULL && !at.node->is_dir;
    if (there)
        buf_append(out, at.node->synced.data, at.node->synced.len);
    mutex_unlock(&s->mutex);
    return there;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void dump_below(const struct inode *dir, bool durable, const char *path, struct buf *out)
{
    const struct names *names = durable ? &dir->durable : &dir->written;
    struct names sorted = {0};

    sim_names_copy(&sorted, names);
    if (sorted.count > 0)
        qsort(sorted.items, sorted.count, sizeof *sorted.items, by_name);
    for (size_t i = 0; i < sorted.count; i++) {
        const struct inode *node = sorted.items[i].node;
        struct buf below = {0};

        buf_printf(&below, "%s/%s", path, sorted.items[i].name);
        if (node->is_dir) {
            buf_printf(out, "%c dir %s\n", durable ? 'D' : 'W', buf_cstr(&below));
            dump_below(node, durable, buf_cstr(&below), out);
        } else {
            buf_printf(out, "%c %zu %s\n", durable ? 'D' : 'W',
                       durable ? node->synced.len : node->content.len, buf_cstr(&below));
        }
        buf_release(&below);
    }
    sim_names_release(&sorted);
}

void sim_fs_dump(const struct fs *fs, struct buf *out)
{
    struct sim_fs *s = sim_of(fs);

    mutex_lock(&s->mutex);
    dump_below(s->image.root, false, "", out);
    dump_below(s->image.root, true, "", out);
    mutex_unlock(&s->mutex);
}
