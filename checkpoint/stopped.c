/* stopped.c - see stopped.h */
#include "checkpoint/stopped.h"

#include "checkpoint/layout.h"

#include <inttypes.h>

#define STOPPED_BYTES_MAX (64u << 10)

enum rc stopped_write(struct fs *fs, const char *job_dir, const struct stopped *s, struct err *err)
{
    char temp_path[FS_PATH_MAX], path[FS_PATH_MAX];
    struct fs_file *file = NULL;
    struct buf text = {0};
    enum rc rc;

    buf_printf(&text, "%" PRIu64 "\n%s\n%s\n", s->checkpoint_id, s->savepoint_dir, s->job_name);
    GOTO_IF_ERR(path_join(temp_path, sizeof temp_path, job_dir, LAYOUT_STOPPED_TEMP, err));
    GOTO_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_STOPPED, err));
    rc = fs_unlink(fs, temp_path, NULL); /* of a process that died */
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        GOTO_IF_ERR(err_set(err, rc, "cannot delete %s", temp_path));
    GOTO_IF_ERR(fs_create(fs, temp_path, &file, err));
    GOTO_IF_ERR(fs_append(file, buf_bytes(&text), err));
    GOTO_IF_ERR(fs_sync(file, err));
    GOTO_IF_ERR(fs_close(&file, err));
    GOTO_IF_ERR(fs_rename(fs, temp_path, path, err));
    GOTO_IF_ERR(fs_sync_dir(fs, job_dir, err));
out:
    fs_abandon(&file);
    buf_release(&text);
    return rc;
}

/* Cuts `text` at its first newline; NULL: there is none. */
static char *cut_line(char *text)
{
    char *end = strchr(text, '\n');

    if (end == NULL)
        return NULL;
    *end = '\0';
    return end + 1;
}

static bool parse(char *text, struct stopped *out)
{
    char *path = cut_line(text), *name = path == NULL ? NULL : cut_line(path);
    size_t len = name == NULL ? 0 : strlen(name);
    uint64_t id = 0;

    if (len == 0 || name[len - 1] != '\n' || path[0] != '/' || text[0] == '\0')
        return false;
    name[len - 1] = '\0'; /* the name itself may be any text */
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || id > (LAYOUT_CHECKPOINT_ID_MAX - 9) / 10)
            return false;
        id = id * 10 + (uint64_t)(*p - '0');
    }
    *out = (struct stopped){id, path, name};
    return id >= 1;
}

enum rc stopped_read(struct fs *fs, const char *job_dir, struct arena *arena, struct stopped *out,
                     struct err *err)
{
    char path[FS_PATH_MAX];
    struct buf text = {0};
    enum rc rc;

    GOTO_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_STOPPED, err));
    GOTO_IF_ERR(fs_read_all(fs, path, STOPPED_BYTES_MAX, &text, err));
    if (text.len == 0 || memchr(text.data, '\0', text.len) != NULL ||
        !parse(arena_strdup(arena, buf_cstr(&text)), out))
        rc = err_set(err, RC_CORRUPT,
                     "%s: not the three lines (checkpoint id, savepoint, job name) of a stop", path);
out:
    buf_release(&text);
    return rc;
}

enum rc stopped_remove(struct fs *fs, const char *job_dir, struct err *err)
{
    char path[FS_PATH_MAX];
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_STOPPED, err));
    rc = fs_unlink(fs, path, &local);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    return fs_sync_dir(fs, job_dir, err);
}
