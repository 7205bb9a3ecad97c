/* part_recovery.c - see part_recovery.h */
#include "sink/part_recovery.h"

#include "sink/dir_set.h"
#include "sink/hidden_files.h"

#include <stdio.h>
#include <stdlib.h>

#define FAULTS_SHOWN 8 /* parts that an error message names */
#define READ_PIECE ((size_t)1 << 20)

/* ---- looking up ------------------------------------------------------------------------------ */

struct look {
    const struct file_sink_config *config;
    struct part_recovery *out;
    struct buf faults; /* "path (3 rows): gone; ..." */
    size_t fault_count;
    uint64_t fault_rows;
    bool missing; /* at least one is gone; else all are damaged */
};

/* Size of a file, or that it is not there. */
static enum rc file_size(struct fs *fs, const char *path, bool *there, uint64_t *size_bytes,
                         struct err *err)
{
    struct fs_stat st;
    struct err why = {0};
    enum rc rc = fs_stat(fs, path, &st, &why);

    *there = rc == RC_OK && st.type == FS_FILE;
    *size_bytes = st.size_bytes;
    if (rc == RC_OK || rc == RC_NOT_FOUND)
        return RC_OK;
    return err_set(err, rc, "%s", why.msg);
}

/* Whether the first bytes of a file are those of the record. */
static enum rc prefix_fits(struct fs *fs, const char *path, const struct part_record *r, bool *fits,
                           struct err *err)
{
    uint8_t *piece = mem_alloc(READ_PIECE);
    struct digest_stream *digest = digest_stream_new();
    struct fs_file *file = NULL;
    uint64_t at = 0;
    enum rc rc;

    *fits = false;
    GOTO_IF_ERR(fs_open_read(fs, path, &file, err));
    while (at < r->size_bytes) {
        size_t want = r->size_bytes - at < READ_PIECE ? (size_t)(r->size_bytes - at) : READ_PIECE,
               got;

        GOTO_IF_ERR(fs_read_at(file, at, piece, want, &got, err));
        if (got == 0)
            break;
        digest_stream_add(digest, bytes_of(piece, got));
        at += got;
    }
    *fits = at == r->size_bytes && digest_eq(digest_stream_end(digest), r->digest);
out:
    fs_abandon(&file);
    digest_stream_free(digest);
    mem_free(piece);
    return rc;
}

/* A part that cannot be taken over: an error at the end, or counted. */
static void lose(struct look *l, struct recovered_part *part, const char *path, bool gone,
                 const char *why)
{
    part->place = PART_LOST;
    l->missing = l->missing || gone;
    l->fault_rows += part->record.row_count;
    if (l->fault_count++ < FAULTS_SHOWN)
        buf_printf(&l->faults, "%s%s (%llu rows): %s", l->fault_count > 1 ? "; " : "", path,
                   (unsigned long long)part->record.row_count, why);
    if (l->config->ignore_missing_parts)
        log_line(l->config->env->log, LOG_WARN,
                 "sink part lost name=%s path=%s rows=%llu reason=%s", l->config->name, path,
                 (unsigned long long)part->record.row_count, why);
}

/* What lies at `path` begins with the bytes of the record, and has no more if `exactly`, or the
 * part is lost. */
static enum rc check_content(struct look *l, struct recovered_part *part, const char *path,
                             uint64_t size_bytes, bool exactly, struct err *err)
{
    char why[96];
    bool fits;

    if (size_bytes < part->record.size_bytes ||
        (exactly && size_bytes != part->record.size_bytes)) {
        snprintf(why, sizeof why, "has %llu of %llu bytes", (unsigned long long)size_bytes,
                 (unsigned long long)part->record.size_bytes);
        lose(l, part, path, false, why);
        return RC_OK;
    }
    RETURN_IF_ERR(prefix_fits(l->config->env->fs, path, &part->record, &fits, err));
    if (!fits)
        lose(l, part, path, false, "holds other bytes than the checkpoint wrote");
    return RC_OK;
}

/* Look below one directory; *found: there is something, place and record.base are set. */
static enum rc look_below(struct look *l, struct recovered_part *part, const char *base,
                          bool *found, struct err *err)
{
    struct fs *fs = l->config->env->fs;
    char hidden_path[FS_PATH_MAX], final_path[FS_PATH_MAX];
    bool hidden, finished;
    uint64_t hidden_bytes, final_bytes;

    RETURN_IF_ERR(part_path(&part->record, base, true, hidden_path, err));
    RETURN_IF_ERR(part_path(&part->record, base, false, final_path, err));
    RETURN_IF_ERR(file_size(fs, hidden_path, &hidden, &hidden_bytes, err));
    RETURN_IF_ERR(file_size(fs, final_path, &finished, &final_bytes, err));
    *found = hidden || finished;
    if (!*found)
        return RC_OK;
    part->record.base = base;
    part->place = finished && !hidden ? PART_FINISHED : PART_HIDDEN;
    if (hidden && finished) {
        lose(l, part, final_path, false, "is there as well as the hidden file");
        return RC_OK;
    }
    if (hidden)
        return check_content(l, part, hidden_path, hidden_bytes, false, err);
    /* A later run may have gone on with an open part; a pending one was delivered as it is. */
    return check_content(l, part, final_path, final_bytes, !part->open, err);
}

static enum rc look_up(struct look *l, struct recovered_part *part, struct err *err)
{
    char path[FS_PATH_MAX];
    bool found;

    RETURN_IF_ERR(look_below(l, part, part->record.base, &found, err));
    if (!found && strcmp(part->record.base, l->config->path) != 0)
        RETURN_IF_ERR(look_below(l, part, l->config->path, &found, err));
    if (found)
        return RC_OK;
    RETURN_IF_ERR(part_path(&part->record, NULL, part->open, path, err));
    lose(l, part, path, true, "gone");
    return RC_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static enum rc decode_all(const struct sink_items *items, const char *list, struct arena *arena,
                          struct part_recovery *out, struct err *err)
{
    for (size_t i = 0; i < items->count; i++) {
        struct sink_item item;
        char what[64];

        snprintf(what, sizeof what, "restored %s item %zu", list, i);
        RETURN_IF_ERR(committable_decode(items->items[i], arena, what, &item, err));
        if (item.kind == ITEM_WRITER)
            out->writers[out->writer_count++] = item.writer;
        else
            out->parts[out->part_count++] =
                (struct recovered_part){.open = item.kind == ITEM_OPEN, .record = item.part};
    }
    return RC_OK;
}

static int by_turn(const void *a, const void *b)
{
    const struct recovered_part *x = a, *y = b;

    if (x->open != y->open)
        return x->open ? 1 : -1;
    if (x->record.checkpoint_id != y->record.checkpoint_id)
        return x->record.checkpoint_id < y->record.checkpoint_id ? -1 : 1;
    return strcmp(x->record.name, y->record.name);
}

static enum rc report(struct look *l, struct err *err)
{
    enum rc rc = l->missing ? RC_NOT_FOUND : RC_CORRUPT;

    if (l->fault_count == 0)
        return RC_OK;
    if (l->config->ignore_missing_parts) {
        l->out->lost_parts = l->fault_count;
        l->out->lost_rows = l->fault_rows;
        return RC_OK;
    }
    if (l->fault_count > FAULTS_SHOWN)
        buf_printf(&l->faults, "; and %zu more", l->fault_count - FAULTS_SHOWN);
    return err_set(err, rc,
                   "%zu part file%s of the checkpoint cannot be taken over, %llu rows at stake: %s "
                   "(varve.sink.ignore-missing-files = true goes on without them)",
                   l->fault_count, l->fault_count == 1 ? "" : "s",
                   (unsigned long long)l->fault_rows, buf_cstr(&l->faults));
}

enum rc part_recovery_look(const struct file_sink_config *config,
                           const struct sink_snapshot *restored, struct arena *arena,
                           struct part_recovery *out, struct err *err)
{
    size_t count = restored->writer.count + restored->committables.count;
    struct look l = {.config = config, .out = out};
    enum rc rc;

    *out = (struct part_recovery){
        .parts = ARENA_ARRAY(arena, count, struct recovered_part),
        .writers = ARENA_ARRAY(arena, count, struct writer_record),
    };
    GOTO_IF_ERR(decode_all(&restored->committables, "committable", arena, out, err));
    GOTO_IF_ERR(decode_all(&restored->writer, "writer", arena, out, err));
    if (out->part_count > 0)
        qsort(out->parts, out->part_count, sizeof *out->parts, by_turn);
    for (size_t i = 0; i < out->part_count; i++)
        GOTO_IF_ERR(look_up(&l, &out->parts[i], err));
    rc = report(&l, err);
out:
    buf_release(&l.faults);
    return rc;
}

/* ---- putting in order ------------------------------------------------------------------------ */

enum rc part_recovery_cut(struct fs *fs, const struct part_record *part, struct err *err)
{
    struct fs_file *file = NULL;
    char path[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(part_path(part, NULL, true, path, err));
    GOTO_IF_ERR(fs_open_append(fs, path, part->size_bytes, &file, err));
    GOTO_IF_ERR(fs_sync(file, err));
    GOTO_IF_ERR(fs_close(&file, err));
out:
    fs_abandon(&file);
    return rc;
}

struct sweep {
    const struct file_sink_config *config;
    const struct part_recovery *recovery;
    uint64_t *count;
};

/* A hidden file that was begun after the checkpoint, by a writer of it. Never one of this very run
 * and another subtask: it lives. */
static bool is_leftover(const struct sweep *s, const struct hidden_file *f)
{
    if (strcmp(f->uuid, s->config->uuid) == 0 && f->subtask_index != s->config->subtask_index)
        return false;
    for (size_t i = 0; i < s->recovery->writer_count; i++) {
        const struct writer_record *w = &s->recovery->writers[i];

        if (strcmp(w->uuid, f->uuid) == 0 && w->subtask_index == f->subtask_index &&
            f->counter >= w->next_counter)
            return true;
    }
    return false;
}

static enum rc remove_leftover(void *ctx, const struct hidden_file *f, struct err *err)
{
    struct sweep *s = ctx;
    struct err local = {0};
    enum rc rc;

    if (!is_leftover(s, f))
        return RC_OK;
    rc = fs_unlink(s->config->env->fs, f->path, &local);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    *s->count += 1;
    return RC_OK;
}

enum rc part_recovery_sweep(const struct file_sink_config *config, const struct part_recovery *r,
                            uint64_t *count, struct err *err)
{
    struct sweep s = {config, r, count};

    for (size_t i = 0; i < r->writer_count; i++) {
        const char *base = r->writers[i].base;
        bool seen = false;

        for (size_t j = 0; j < i; j++)
            seen = seen || strcmp(r->writers[j].base, base) == 0;
        if (!seen && fs_exists(config->env->fs, base))
            RETURN_IF_ERR(hidden_files_each(config->env->fs, base, remove_leftover, &s, err));
    }
    return RC_OK;
}
