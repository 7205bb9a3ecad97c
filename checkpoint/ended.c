/* ended.c - see ended.h */
#include "checkpoint/ended.h"

#include "checkpoint/layout.h"

#include <inttypes.h>

#define ENDED_BYTES_MAX (64u << 10)

static const char *const words[] = {[JOB_END_FINISHED] = "FINISHED",
                                    [JOB_END_CANCELED] = "CANCELED",
                                    [JOB_END_FAILED] = "FAILED"};

const char *ended_word(enum job_end end)
{
    ASSERT((size_t)end < ARRAY_LEN(words));
    return words[end];
}

void ended_encode(const struct ended *e, struct buf *out)
{
    buf_printf(out, "%s\n%" PRIu64 "\n%" PRId64 "\n%s\n%s\n", ended_word(e->end),
               e->checkpoint_id, e->wall_ms < 0 ? 0 : e->wall_ms,
               e->savepoint_dir == NULL ? "" : e->savepoint_dir, e->job_name);
}

enum rc ended_write(struct fs *fs, const char *job_dir, const struct ended *e, struct err *err)
{
    char temp_path[FS_PATH_MAX], path[FS_PATH_MAX];
    struct fs_file *file = NULL;
    struct buf text = {0};
    enum rc rc;

    ended_encode(e, &text);
    GOTO_IF_ERR(path_join(temp_path, sizeof temp_path, job_dir, LAYOUT_ENDED_TEMP, err));
    GOTO_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_ENDED, err));
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

static bool parse_end(const char *word, enum job_end *out)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (enum job_end)i;
            return true;
        }
    }
    return false;
}

static bool parse_number(const char *digits, uint64_t max, uint64_t *out)
{
    *out = 0;
    for (const char *p = digits; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || *out > (max - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(*p - '0');
    }
    return digits[0] != '\0';
}

enum { WORD_LINE, ID_LINE, WALL_LINE, SAVEPOINT_LINE, NAME_LINE, LINES };

static bool parse(char *text, struct ended *out)
{
    char *lines[LINES] = {text};
    uint64_t wall_ms;
    size_t len;

    for (int i = 0; i < NAME_LINE; i++) {
        lines[i + 1] = cut_line(lines[i]);
        if (lines[i + 1] == NULL)
            return false;
    }
    len = strlen(lines[NAME_LINE]);
    if (len == 0 || lines[NAME_LINE][len - 1] != '\n')
        return false;
    lines[NAME_LINE][len - 1] = '\0'; /* the name itself may be any text */
    *out = (struct ended){.job_name = lines[NAME_LINE]};
    if (lines[SAVEPOINT_LINE][0] != '\0')
        out->savepoint_dir = lines[SAVEPOINT_LINE];
    if (!parse_end(lines[WORD_LINE], &out->end) ||
        !parse_number(lines[ID_LINE], LAYOUT_CHECKPOINT_ID_MAX, &out->checkpoint_id) ||
        !parse_number(lines[WALL_LINE], INT64_MAX, &wall_ms))
        return false;
    out->wall_ms = (int64_t)wall_ms;
    return out->savepoint_dir == NULL ||
           (out->savepoint_dir[0] == '/' && out->checkpoint_id >= 1);
}

enum rc ended_parse(struct bytes text, struct arena *arena, struct ended *out, struct err *err)
{
    if (text.len > 0 && memchr(text.data, '\0', text.len) == NULL &&
        parse(arena_strndup(arena, (const char *)text.data, text.len), out))
        return RC_OK;
    return err_set(err, RC_CORRUPT,
                   "not the five lines (word, checkpoint id, time, savepoint, job name) of a job's "
                   "end");
}

enum rc ended_read(struct fs *fs, const char *job_dir, struct arena *arena, struct ended *out,
                   struct err *err)
{
    char path[FS_PATH_MAX];
    struct buf text = {0};
    enum rc rc;

    GOTO_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_ENDED, err));
    GOTO_IF_ERR(fs_read_all(fs, path, ENDED_BYTES_MAX, &text, err));
    rc = ended_parse(buf_bytes(&text), arena, out, err);
    if (rc != RC_OK)
        err_wrap(err, rc, "%s", path);
out:
    buf_release(&text);
    return rc;
}

enum rc ended_remove(struct fs *fs, const char *job_dir, struct err *err)
{
    char path[FS_PATH_MAX];
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_ENDED, err));
    rc = fs_unlink(fs, path, &local);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    return fs_sync_dir(fs, job_dir, err);
}
