/* Keyed state in files of a database. See flink_keyed.h.
 *
 * Every file comes into a scratch directory under its local name: SSTs that are files of their own
 * by a symbolic link, since nobody writes to them; all else as a copy.
 * After: RocksDBIncrementalRestoreOperation (flink-statebackend-rocksdb). */
#include "backend/foreign_db.h"
#include "checkpoint/flink/flink_keyed_priv.h"

#include <inttypes.h>

#define COPY_BYTES (1u << 20)
#define META_BYTES_MAX (64u << 20)
#define LOCAL_NAME_MAX 100u

/* Names come from outside: plain ones only, so that nothing is written elsewhere. */
static bool is_plain(struct bytes name)
{
    if (name.len == 0 || name.len > LOCAL_NAME_MAX || name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-' || c == '.' || c == '_';

        if (!ok)
            return false;
    }
    return true;
}

/* The whole of an input into a new file, which need not outlive a crash. */
static enum rc copy_out(struct flink_reader *r, struct flink_input *in, const char *to,
                        struct err *err)
{
    struct fs_file *f = NULL;
    struct bytes shown;
    enum rc rc;

    GOTO_IF_ERR(fs_create(r->from.fs, to, &f, err));
    GOTO_IF_ERR(flink_input_seek(in, 0, UINT64_MAX, false, err));
    for (;;) {
        GOTO_IF_ERR(flink_input_want(in, COPY_BYTES, &shown, err));
        if (shown.len == 0)
            break;
        GOTO_IF_ERR(fs_append(f, shown, err));
        flink_input_skip(in, shown.len);
    }
    GOTO_IF_ERR(fs_close(&f, err));
out:
    fs_abandon(&f);
    return rc;
}

static enum rc bring(struct flink_reader *r, size_t i, struct err *err)
{
    const struct flink_db_file *f = r->files[i];
    const char *path = flink_place(r->from.places, &f->stream);
    struct flink_input *in = NULL;
    char to[FS_PATH_MAX];
    bool whole, sst;
    enum rc rc;

    if (!is_plain(f->local_name))
        return err_set(err, RC_CORRUPT, "a database file of a name that is not plain");
    sst = bytes_end_with(f->local_name, bytes_of_str(".sst"));
    RETURN_IF_ERR(
        path_join(to, sizeof to, r->dir, (const char *)f->local_name.data, err));
    r->paths[i] = path;
    RETURN_IF_ERR(flink_input_open(r->from.fs, &f->stream, path, &in, err));
    whole = f->stream.tag == FLINK_STREAM_FILE || f->stream.tag == FLINK_STREAM_RELATIVE;
    if (sst && whole && !path_is_remote(path)) {
        rc = fs_symlink(r->from.fs, path, to, err);
        if (rc == RC_NO_LINK) {
            err_clear(err);
            rc = copy_out(r, in, to, err);
        }
    } else {
        rc = copy_out(r, in, to, err);
    }
    flink_input_close(in);
    return rc;
}

/* "" of one that is inlined, NULL of none. */
static const char *path_of(const struct flink_reader *r, const char *local_name)
{
    for (size_t i = 0; i < r->file_count; i++)
        if (bytes_eq(r->files[i]->local_name, bytes_of_str(local_name)))
            return r->paths[i];
    return NULL;
}

static const char *name_of(const void *ctx, const char *local_name)
{
    const char *path = path_of(ctx, local_name);

    return path != NULL && path[0] == '\0' ? "inlined in _metadata" : path;
}

const char *flink_form_database_file_of(const struct flink_reader *r, const char *family,
                                        struct bytes key)
{
    char name[FOREIGN_NAME_MAX];

    return r->db != NULL && foreign_db_file_of(r->db, family, key, name) ? path_of(r, name) : NULL;
}

enum rc flink_form_database_states(struct flink_reader *r, struct err *err)
{
    const struct flink_incremental *inc = r->from.handle->incremental;
    struct flink_input *in = NULL;
    struct bytes all;
    struct reader reader;
    enum rc rc;

    RETURN_IF_ERR(flink_input_open(r->from.fs, &inc->meta, flink_place(r->from.places, &inc->meta),
                                   &in, err));
    if (flink_input_size(in) > META_BYTES_MAX) {
        rc = err_set(err, RC_LIMIT, "%s: %" PRIu64 " bytes of description, at most %u are read",
                     flink_input_name(in), flink_input_size(in), META_BYTES_MAX);
        goto out;
    }
    GOTO_IF_ERR(flink_input_seek(in, 0, UINT64_MAX, false, err));
    GOTO_IF_ERR(flink_input_want(in, (size_t)flink_input_size(in), &all, err));
    reader_init(&reader, arena_bytes_copy(r->arena, all),
                arena_strdup(r->arena, flink_input_name(in)));
    GOTO_IF_ERR(flink_states_keyed(&reader, r->arena, &r->states, err));
    rc = r->states.cut == NULL ? reader_end(&reader, err) : RC_OK;
out:
    flink_input_close(in);
    return rc;
}

enum rc flink_form_open_database(struct flink_reader *r, struct err *err)
{
    const struct flink_incremental *inc = r->from.handle->incremental;
    size_t n = 0;

    if (r->db != NULL)
        return RC_OK;
    r->file_count = inc->shared_count + inc->private_count;
    r->files = ARENA_ARRAY(r->arena, r->file_count + 1, const struct flink_db_file *);
    r->paths = ARENA_ARRAY(r->arena, r->file_count + 1, const char *);
    for (size_t i = 0; i < inc->shared_count; i++)
        r->files[n++] = &inc->shared[i];
    for (size_t i = 0; i < inc->private_count; i++)
        r->files[n++] = &inc->private[i];
    mem_free(r->dir);
    r->dir = mem_strdup(arena_printf(r->arena, "%s/look", r->from.scratch_dir));
    RETURN_IF_ERR(fs_remove_tree(r->from.fs, r->dir, err));
    RETURN_IF_ERR(fs_mkdir(r->from.fs, r->dir, err));
    for (size_t i = 0; i < r->file_count; i++)
        RETURN_IF_ERR(bring(r, i, err));
    RETURN_IF_ERR(foreign_db_open(r->dir, &r->db, err));
    foreign_db_name_files(r->db, name_of, r);
    return RC_OK;
}

void flink_form_close_database(struct flink_reader *r)
{
    struct err ignored = {0};

    foreign_db_close(r->db);
    if (r->dir != NULL)
        (void)!fs_remove_tree(r->from.fs, r->dir, &ignored); /* scratch: swept with its parent else */
    mem_free(r->dir);
}

/* ---- all families ---------------------------------------------------------------------------- */

enum rc flink_form_open_families(struct flink_scan *s, struct err *err)
{
    const struct flink_states *states = &s->reader->states;

    s->families = mem_calloc(states->count + 1, sizeof *s->families);
    for (size_t i = 0; i < states->count; i++) {
        struct flink_family *f = &s->families[i];

        RETURN_IF_ERR(foreign_scan_open(s->reader->db, (const char *)states->states[i].name.data,
                                        s->range, s->reader->prefix_len, (struct bytes){0}, &f->scan,
                                        err));
        f->used = true;
    }
    s->group = s->range.first;
    return RC_OK;
}

static enum rc show_next(struct flink_scan *s, struct flink_family *f, struct err *err)
{
    if (!f->used)
        return RC_OK;
    f->used = false;
    RETURN_IF_ERR(foreign_scan_next(f->scan, &f->key, &f->value, err));
    if (f->key.data != NULL && f->key.len < s->reader->prefix_len)
        return err_set(err, RC_CORRUPT, "a key of %zu bytes has no key group", f->key.len);
    return RC_OK;
}

/* The least key group that any family still has; false: none has any. */
static enum rc next_group(struct flink_scan *s, bool *more, struct err *err)
{
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < s->reader->states.count; i++) {
        struct flink_family *f = &s->families[i];

        RETURN_IF_ERR(show_next(s, f, err));
        if (f->key.data != NULL) {
            uint32_t group = keygroup_get_prefix(f->key.data, s->reader->prefix_len);

            least = group < least ? group : least;
        }
    }
    *more = least != UINT32_MAX;
    s->group = least;
    s->family = 0;
    return RC_OK;
}

enum rc flink_form_next_of_families(struct flink_scan *s, struct bytes *key, struct bytes *value,
                                    struct err *err)
{
    bool more = true;

    while (more) {
        for (; s->family < s->reader->states.count; s->family++) {
            struct flink_family *f = &s->families[s->family];

            RETURN_IF_ERR(show_next(s, f, err));
            if (f->key.data == NULL ||
                keygroup_get_prefix(f->key.data, s->reader->prefix_len) != s->group)
                continue;
            *key = f->key;
            *value = f->value;
            f->used = true;
            s->entry_id = (uint16_t)s->family;
            return RC_OK;
        }
        RETURN_IF_ERR(next_group(s, &more, err));
    }
    return RC_OK;
}

void flink_form_close_families(struct flink_scan *s)
{
    for (size_t i = 0; s->families != NULL && i < s->reader->states.count; i++)
        foreign_scan_close(s->families[i].scan);
    mem_free(s->families);
}
