/* ended.c - see ended.h */
#include "checkpoint/ended.h"

#include "checkpoint/layout.h"

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
    note_put(out, "state", ended_word(e->end));
    note_put_number(out, "checkpoint_id", e->checkpoint_id);
    note_put_number(out, "timestamp", e->wall_ms < 0 ? 0 : (uint64_t)e->wall_ms);
    note_put(out, "savepoint", e->savepoint_dir == NULL ? "" : e->savepoint_dir);
    note_put(out, "job_id", e->job_id);
    note_put(out, "job_name", e->job_name);
    note_put(out, "fingerprint", e->fingerprint);
}

static bool parse_word(const char *word, enum job_end *out)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (enum job_end)i;
            return true;
        }
    }
    return false;
}

enum rc ended_parse(struct note note, struct ended *out, struct err *err)
{
    const char *word, *savepoint;
    uint64_t wall_ms;

    *out = (struct ended){0};
    if (!note_take(&note, "state", &word) || !parse_word(word, &out->end) ||
        !note_take_number(&note, "checkpoint_id", LAYOUT_CHECKPOINT_ID_MAX, &out->checkpoint_id) ||
        !note_take_number(&note, "timestamp", INT64_MAX, &wall_ms) ||
        !note_take(&note, "savepoint", &savepoint) || !note_take(&note, "job_id", &out->job_id) ||
        !note_take(&note, "job_name", &out->job_name) ||
        !note_take(&note, "fingerprint", &out->fingerprint) || !note_is_empty(&note) ||
        (savepoint[0] != '\0' && (!path_is_absolute(savepoint) || out->checkpoint_id == 0)))
        return err_set(err, RC_CORRUPT, "not the lines that say how a job ended");
    out->wall_ms = (int64_t)wall_ms;
    out->savepoint_dir = savepoint[0] == '\0' ? NULL : savepoint;
    return RC_OK;
}

enum rc ended_write(struct fs *fs, const char *job_dir, const struct ended *e, struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    ended_encode(e, &text);
    rc = note_write(fs, job_dir, LAYOUT_ENDED, buf_bytes(&text), err);
    buf_release(&text);
    return rc;
}

enum rc ended_read(struct fs *fs, const char *job_dir, struct arena *arena, struct ended *out,
                   struct err *err)
{
    struct note note;
    enum rc rc;

    RETURN_IF_ERR(note_read(fs, job_dir, LAYOUT_ENDED, arena, &note, err));
    rc = ended_parse(note, out, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s/%s", job_dir, LAYOUT_ENDED);
}

enum rc ended_remove(struct fs *fs, const char *job_dir, struct err *err)
{
    return note_remove(fs, job_dir, LAYOUT_ENDED, err);
}
