/* transfer.c - see transfer.h */
#include "base/transfer.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdio.h>

#define TEMP_PREFIX ".tmp-"
#define TEMP_HEX 16

void transfer_temp_name(struct rng *rng, char out[TRANSFER_TEMP_LEN + 1])
{
    char hex[TEMP_HEX + 1];

    rng_hex(rng, hex, TEMP_HEX);
    snprintf(out, TRANSFER_TEMP_LEN + 1, TEMP_PREFIX "%s", hex);
}

bool transfer_is_temp(const char *name)
{
    size_t prefix = strlen(TEMP_PREFIX);

    return strncmp(name, TEMP_PREFIX, prefix) == 0 && strlen(name) == prefix + TEMP_HEX &&
           strspn(name + prefix, "0123456789abcdef") == TEMP_HEX;
}

void transfer_init(struct transfer *t, const struct env *env, const char *dir)
{
    t->env = env;
    t->dir = mem_strdup(dir);
    mutex_init(&t->mutex);
    env_rng(env, "checkpoint-temp", &t->rng);
    t->copies = t->said = false;
}

void transfer_release(struct transfer *t)
{
    if (t->dir == NULL)
        return;
    mem_free(t->dir);
    t->dir = NULL;
    mutex_release(&t->mutex);
}

static enum rc expect_length(const char *path, uint64_t size, uint64_t expected, struct err *err)
{
    if (size == expected)
        return RC_OK;
    return err_set(err, RC_CORRUPT, "%s: %" PRIu64 " bytes instead of %" PRIu64, path, size,
                   expected);
}

static enum rc check_length(struct fs *fs, const char *path, uint64_t size_bytes, struct err *err)
{
    struct fs_stat st;

    RETURN_IF_ERR(fs_stat(fs, path, &st, err));
    return expect_length(path, st.size_bytes, size_bytes, err);
}

enum rc transfer_sync_content(struct fs *fs, const char *path, uint64_t size_bytes, struct err *err)
{
    struct fs_file *file = NULL;
    uint64_t size;
    enum rc rc;

    GOTO_IF_ERR(fs_open_read(fs, path, &file, err));
    GOTO_IF_ERR(fs_size(file, &size, err));
    GOTO_IF_ERR(expect_length(path, size, size_bytes, err));
    GOTO_IF_ERR(fs_sync(file, err));
    GOTO_IF_ERR(fs_close(&file, err));
out:
    fs_abandon(&file);
    return rc;
}

/* *same: what lies at `path` is the file that is wanted: `from` itself by another name (a restore
 * links), or a plain file of that content. */
static enum rc is_same(struct fs *fs, const char *from, const char *path, uint64_t size_bytes,
                       struct digest128 digest, bool *same, struct err *err)
{
    struct digest128 found;
    struct fs_stat st, from_st;
    uint64_t size;

    *same = false;
    RETURN_IF_ERR(fs_stat(fs, path, &st, err));
    if (st.type != FS_FILE || st.size_bytes != size_bytes)
        return RC_OK;
    RETURN_IF_ERR(fs_stat(fs, from, &from_st, err));
    *same = st.inode == from_st.inode && st.device == from_st.device;
    if (*same)
        return RC_OK;
    RETURN_IF_ERR(digest_file(fs, path, &found, &size, err));
    *same = size == size_bytes && digest_eq(found, digest);
    return RC_OK;
}

static void say_once(struct transfer *t, const char *from, const char *reason,
                     enum transfer_how how)
{
    bool say;

    if (path_is_remote(t->dir) || path_is_remote(from))
        return; /* nobody expects links there */
    mutex_lock(&t->mutex);
    say = !t->said;
    t->said = true;
    mutex_unlock(&t->mutex);
    if (say)
        log_line(t->env->log, LOG_WARN,
                 "hard links do not work here: files are %s instead dir=%s file=%s reason=\"%s\"",
                 how == TRANSFER_REFLINKED ? "reflinked" : "copied", t->dir, from, reason);
}

static enum rc copy_proven(struct fs *fs, const char *from, const char *to, uint64_t size_bytes,
                           struct digest128 digest, struct err *err)
{
    char want[DIGEST_HEX_LEN + 1], got[DIGEST_HEX_LEN + 1];
    struct digest128 found;
    uint64_t size;

    RETURN_IF_ERR(fs_copy(fs, from, to, err));
    RETURN_IF_ERR(digest_file(fs, to, &found, &size, err));
    if (size == size_bytes && digest_eq(found, digest))
        return RC_OK;
    digest_hex(digest, want);
    digest_hex(found, got);
    return err_set(err, RC_CORRUPT, "%s: %" PRIu64 " bytes, digest %s instead of %" PRIu64 ", %s", from,
                   size, got, size_bytes, want);
}

/* A second name, another extent list, or other bytes: `to` is new, its content durable. */
static enum rc make_copy(struct transfer *t, const char *from, const char *to, uint64_t size_bytes,
                         struct digest128 digest, enum transfer_how *how, struct err *err)
{
    struct fs *fs = t->env->fs;
    struct err link_err = {0};
    enum rc rc;

    if (t->copies) {
        *how = TRANSFER_COPIED;
        return copy_proven(fs, from, to, size_bytes, digest, err);
    }
    *how = TRANSFER_LINKED;
    rc = fs_link(fs, from, to, &link_err);
    if (rc != RC_NO_LINK)
        return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", link_err.msg);
    *how = TRANSFER_REFLINKED;
    rc = fs_reflink(fs, from, to, NULL);
    if (rc == RC_NO_LINK) {
        *how = TRANSFER_COPIED;
        rc = fs_copy(fs, from, to, err);
    } else if (rc != RC_OK) {
        return err_set(err, rc, "reflink %s to %s", from, to);
    }
    if (rc == RC_OK) /* what appears whole is durable already */
        rc = fs_appears_whole(fs, to) ? check_length(fs, to, size_bytes, err)
                                      : transfer_sync_content(fs, to, size_bytes, err);
    if (rc == RC_OK)
        say_once(t, from, link_err.msg, *how);
    return rc;
}

/* By a temporary name, for copies and to replace what should not be there; where files appear whole, at once. */
static enum rc by_rename(struct transfer *t, const char *from, const char *to, uint64_t size_bytes,
                         struct digest128 digest, enum transfer_how *how, struct err *err)
{
    struct fs *fs = t->env->fs;
    char temp_name[TRANSFER_TEMP_LEN + 1], temp[FS_PATH_MAX];
    enum rc rc;

    if (fs_appears_whole(fs, to))
        return make_copy(t, from, to, size_bytes, digest, how, err);
    mutex_lock(&t->mutex);
    transfer_temp_name(&t->rng, temp_name);
    mutex_unlock(&t->mutex);
    RETURN_IF_ERR(path_join(temp, sizeof temp, t->dir, temp_name, err));
    rc = make_copy(t, from, temp, size_bytes, digest, how, err);
    if (rc == RC_OK)
        rc = fs_rename(fs, temp, to, err);
    if (rc != RC_OK) {
        enum rc cleanup UNUSED =
            fs_unlink(fs, temp, NULL); /* what stays is a temporary name: swept */
    }
    return rc;
}

/* The name is taken: proven now, or replaced. */
static enum rc settle_taken(struct transfer *t, const char *from, const char *to,
                            uint64_t size_bytes, struct digest128 digest, enum transfer_how *how,
                            struct err *err)
{
    bool same;

    RETURN_IF_ERR(is_same(t->env->fs, from, to, size_bytes, digest, &same, err));
    if (same) {
        *how = TRANSFER_FOUND;
        return transfer_sync_content(t->env->fs, to, size_bytes, err);
    }
    log_line(t->env->log, LOG_WARN, "shared file was damaged and is replaced file=%s", to);
    if (fs_appears_whole(t->env->fs, to))
        RETURN_IF_ERR(fs_unlink(t->env->fs, to, err));
    return by_rename(t, from, to, size_bytes, digest, how, err);
}

/* No link leads there, and nothing was there: somebody else may have been faster since. */
static enum rc copy_new(struct transfer *t, const char *from, const char *to, uint64_t size_bytes,
                        struct digest128 digest, enum transfer_how *how, struct err *err)
{
    struct err local = {0};
    enum rc rc = by_rename(t, from, to, size_bytes, digest, how, &local);

    if (rc == RC_EXISTS)
        return settle_taken(t, from, to, size_bytes, digest, how, err);
    return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", local.msg);
}

enum rc transfer_place(struct transfer *t, const char *from, const char *name, uint64_t size_bytes,
                       struct digest128 digest, enum transfer_how *how, struct err *err)
{
    struct fs *fs = t->env->fs;
    struct err link_err = {0};
    char to[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(path_join(to, sizeof to, t->dir, name, err));
    if (t->copies) {
        rc = RC_NO_LINK;
    } else {
        GOTO_IF_ERR(transfer_sync_content(fs, from, size_bytes, err));
        *how = TRANSFER_LINKED;
        rc = fs_link(fs, from, to, &link_err);
    }
    /* EXDEV is looked at first. Where files appear whole the copy itself finds out. */
    if (rc == RC_NO_LINK && !fs_appears_whole(fs, to) && fs_exists(fs, to))
        rc = RC_EXISTS;
    if (rc == RC_EXISTS)
        rc = settle_taken(t, from, to, size_bytes, digest, how, err);
    else if (rc == RC_NO_LINK)
        rc = copy_new(t, from, to, size_bytes, digest, how, err);
    else if (rc != RC_OK)
        err_set(err, rc, "%s", link_err.msg);
out:
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "publish %s as %s", from, name);
}

enum rc transfer_file(struct transfer *t, const char *from, const char *name, uint64_t size_bytes,
                      struct digest128 digest, enum transfer_how *how, struct err *err)
{
    enum rc rc;

    RETURN_IF_ERR(transfer_place(t, from, name, size_bytes, digest, how, err));
    rc = fs_sync_dir(t->env->fs, t->dir, err); /* whoever made the name may not have synced it */
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "publish %s as %s", from, name);
}
