/* file_source.c - rows from a file or the files of a folder; see source.h.
 *
 * One file is open at a time; a buffer holds decompressed bytes that the decoder has not taken. The
 * position of a file counts the bytes of whole rows handed out, so a restore repeats nothing and
 * loses nothing. A file counts as read at its first end; what is appended to it later is not seen
 * (as in Flink).
 *
 *     no file open --next of my share--> reading --its end--> done, no file open
 *     nothing left: bounded: the end; watched: list again every monitor interval
 *
 * After: FileSource with FileEnumerator (flink-connector-files), without its coordinator. */
#include "job/format/format.h"
#include "job/source/file_position.h"
#include "job/source/file_walk.h"

#include <stdatomic.h>

#define READ_BYTES (256u << 10)
#define ROW_BYTES_MAX ((size_t)VALUE_BYTES_MAX + (16u << 20)) /* of one row's text */
#define BUFFER_KEPT_MAX (4u << 20)
/* So many bytes without a row: let the task look at other things. */
#define POLL_BYTES_MAX (4u << 20)
static const uint8_t byte_order_mark[] = {0xef, 0xbb, 0xbf};

struct file_source {
    struct source base;
    struct file_source_config config;
    struct source_context ctx;
    const char *root;
    struct arena *arena;         /* paths */
    struct file_entries entries; /* items on the heap */
    size_t cursor;               /* every entry of mine before it is done */
    struct decoder *decoder;
    /* the open file */
    struct input_file *file;
    struct file_entry *entry; /* NULL: none open */
    struct buf path;
    struct buf data; /* data[from..len) is not decoded yet */
    size_t from;
    bool at_end;
    int64_t next_listing_ns; /* watched */
    bool listed, caught_up;  /* a listing was taken here; nothing of it, or of what was restored, is left */
};

void file_listing_init(struct file_listing *l)
{
    *l = (struct file_listing){0};
    mutex_init(&l->lock);
}

/* ---- which files ----------------------------------------------------------------------------- */

static const char *full_path(struct file_source *s, const char *below)
{
    buf_clear(&s->path);
    buf_append_str(&s->path, s->root);
    if (below[0] != '\0') {
        buf_append_u8(&s->path, '/');
        buf_append_str(&s->path, below);
    }
    return buf_cstr(&s->path);
}

/* Adds the files that are not known yet; both lists are sorted. deal: by the rule of a first
 * listing, else by hash. */
static void entries_merge(struct file_source *s, const char **paths, size_t count, bool deal)
{
    size_t old = 0, fresh = 0, to;
    bool *is_new = mem_calloc(count, sizeof *is_new);

    for (size_t i = 0; i < count; i++) {
        while (old < s->entries.count && strcmp(s->entries.items[old].path, paths[i]) < 0)
            old++;
        is_new[i] = old == s->entries.count || strcmp(s->entries.items[old].path, paths[i]) != 0;
        fresh += is_new[i];
    }
    if (fresh == 0) {
        mem_free(is_new);
        return;
    }
    to = s->entries.count + fresh;
    old = s->entries.count;
    s->entries.items = mem_realloc(s->entries.items, to * sizeof *s->entries.items);
    s->entries.count = to;
    s->cursor = 0;
    /* From the back, so that old entries move only up. */
    for (size_t i = count; i-- > 0 && fresh > 0;) {
        uint32_t owner =
            deal ? (uint32_t)(i % s->ctx.parallelism) : file_owner(paths[i], s->ctx.parallelism);

        if (!is_new[i])
            continue;
        while (old > 0 && strcmp(s->entries.items[old - 1].path, paths[i]) > 0)
            s->entries.items[--to] = s->entries.items[--old];
        s->entries.items[--to] = (struct file_entry){.path = arena_strdup(s->arena, paths[i]),
                                                     .line = 1,
                                                     .mine = owner == s->ctx.subtask_index};
        fresh--;
    }
    mem_free(is_new);
}

static enum rc list_alone(struct file_source *s, struct err *err)
{
    struct arena *scratch = arena_new(0);
    const char **paths;
    size_t count;
    enum rc rc;

    GOTO_IF_ERR(file_walk(s->ctx.env->fs, s->root, scratch, &paths, &count, err));
    entries_merge(s, paths, count, false);
out:
    arena_free(scratch);
    return rc;
}

static enum rc list_together(struct file_source *s, struct err *err)
{
    struct file_listing *l = s->config.listing;
    enum rc rc = RC_OK;

    mutex_lock(&l->lock);
    if (l->arena == NULL) {
        l->arena = arena_new(0);
        rc = file_walk(s->ctx.env->fs, s->root, l->arena, &l->paths, &l->count, err);
        if (rc != RC_OK) {
            arena_free(l->arena);
            l->arena = NULL;
        }
    }
    if (rc == RC_OK)
        entries_merge(s, l->paths, l->count, true);
    mutex_unlock(&l->lock);
    return rc;
}

static void listing_leave(struct file_listing *l)
{
    if (l == NULL)
        return;
    mutex_lock(&l->lock);
    if (--l->users == 0) {
        arena_free(l->arena);
        l->arena = NULL;
    }
    mutex_unlock(&l->lock);
}

static struct file_entry *next_entry(struct file_source *s)
{
    while (s->cursor < s->entries.count) {
        struct file_entry *e = &s->entries.items[s->cursor];

        if (e->mine && !e->done)
            return e;
        s->cursor++;
    }
    return NULL;
}

/* Every file that must be read on is there, as long and as it was. */
static enum rc check_restored(struct file_source *s, const char *old_root, struct err *err)
{
    for (size_t i = 0; i < s->entries.count; i++) {
        struct file_entry *e = &s->entries.items[i];
        struct input_file *file = NULL;
        enum rc rc;

        if (!e->mine || e->done)
            continue;
        rc = input_file_open(s->ctx.env->fs, full_path(s, e->path), &file, err);
        if (rc == RC_OK)
            rc = input_file_check(file, e->head, e->offset, err);
        input_file_close(file);
        if (rc != RC_OK)
            return err_wrap(err, rc,
                            "input of table %s, to go on at byte %llu of it (the folder was %s)",
                            s->ctx.table_name, (unsigned long long)e->offset, old_root);
    }
    return RC_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* "file:///a", "file:/a" and "/a" are one; a slash at the end is left out. */
static enum rc root_of(const char *path, struct arena *arena, const char **out, struct err *err)
{
    char *root;
    size_t len;

    if (strncmp(path, "file://", 7) == 0)
        path += 7;
    else if (strncmp(path, "file:", 5) == 0)
        path += 5;
    else if (strstr(path, "://") != NULL)
        return err_set(err, RC_UNSUPPORTED, "path '%s': only local files can be read", path);
    if (path[0] == '\0')
        return err_set(err, RC_INVALID, "the path of the files is empty");
    root = arena_strdup(arena, path);
    for (len = strlen(root); len > 1 && root[len - 1] == '/'; len--)
        root[len - 1] = '\0';
    *out = root;
    return RC_OK;
}

static enum rc open_restored(struct file_source *s, struct err *err)
{
    struct file_entries decoded;
    const char *old_root;

    RETURN_IF_ERR(file_positions_decode(s->ctx.restored_items, s->ctx.restored_count,
                                        s->ctx.subtask_index, s->ctx.parallelism, s->arena,
                                        &decoded, &old_root, err));
    s->entries.items = mem_alloc(decoded.count * sizeof *decoded.items);
    s->entries.count = decoded.count;
    if (decoded.count > 0)
        memcpy(s->entries.items, decoded.items, decoded.count * sizeof *decoded.items);
    s->next_listing_ns = 0; /* what came while the job was down */
    return check_restored(s, old_root, err);
}

static enum rc file_source_open(struct source *base, const struct source_context *ctx,
                                struct err *err)
{
    struct file_source *s = (struct file_source *)base;

    s->ctx = *ctx;
    RETURN_IF_ERR(root_of(s->config.path, s->arena, &s->root, err));
    s->decoder = s->config.format->decoder_new(s->config.schema, s->config.format_options);
    s->next_listing_ns = clock_mono_ns(ctx->env->clock) + s->config.monitor_interval_ms * NS_PER_MS;
    if (ctx->restored && ctx->restored_count > 0)
        return open_restored(s, err);
    RETURN_IF_ERR(s->config.listing != NULL ? list_together(s, err) : list_alone(s, err));
    s->listed = true;
    s->caught_up = next_entry(s) == NULL;
    return RC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum rc open_entry(struct file_source *s, struct file_entry *e, struct err *err)
{
    const char *path = full_path(s, e->path);

    RETURN_IF_ERR(input_file_open(s->ctx.env->fs, path, &s->file, err));
    if (e->offset > 0)
        RETURN_IF_ERR(input_file_check(s->file, e->head, e->offset, err));
    else
        e->head = input_file_head(s->file);
    RETURN_IF_ERR(input_file_seek(s->file, e->offset, err));
    s->entry = e;
    s->decoder->file = path; /* s->path stays as it is while the file is open */
    s->decoder->line_number = e->line;
    buf_clear(&s->data);
    s->from = 0;
    s->at_end = false;
    return RC_OK;
}

static void close_entry(struct file_source *s)
{
    input_file_close(s->file);
    s->file = NULL;
    s->entry = NULL;
    if (s->data.cap > BUFFER_KEPT_MAX)
        buf_release(&s->data);
}

/* More bytes behind those that are left; a row longer than the buffer doubles it. */
static enum rc read_more(struct file_source *s, struct err *err)
{
    size_t left = s->data.len - s->from, more = left > READ_BYTES ? left : READ_BYTES, got;
    uint64_t raw;

    if (left > ROW_BYTES_MAX)
        return err_set(err, RC_LIMIT,
                       "%s: line %llu: row longer than %zu bytes (a quote that is never closed?)",
                       s->decoder->file, (unsigned long long)s->entry->line, ROW_BYTES_MAX);
    if (left > 0 && s->from > 0)
        memmove(s->data.data, s->data.data + s->from, left);
    s->data.len = left;
    s->from = 0;
    buf_reserve(&s->data, more);
    RETURN_IF_ERR(input_file_read(s->file, s->data.data + left, more, &got, &s->at_end, &raw, err));
    s->data.len += got;
    atomic_fetch_add_explicit(s->ctx.bytes_in, raw, memory_order_relaxed);
    return RC_OK;
}

/* At the start of a file: a byte order mark there is no data. False: more bytes are needed to tell.
 */
static bool skip_mark(struct file_source *s)
{
    size_t n = s->data.len < sizeof byte_order_mark ? s->data.len : sizeof byte_order_mark;

    if (s->entry->offset != 0 || n == 0 || memcmp(s->data.data, byte_order_mark, n) != 0)
        return true;
    if (n < sizeof byte_order_mark)
        return s->at_end;
    s->from = s->entry->offset = sizeof byte_order_mark;
    return true;
}

static enum rc decode_some(struct file_source *s, struct batch_builder *out, size_t *used,
                           struct err *err)
{
    enum rc rc =
        s->decoder->ops->decode(s->decoder, bytes_of(s->data.data + s->from, s->data.len - s->from),
                                s->at_end, out, used, err);

    atomic_fetch_add_explicit(s->ctx.bad_rows, s->decoder->bad_rows, memory_order_relaxed);
    atomic_fetch_add_explicit(s->ctx.null_fields, s->decoder->null_fields, memory_order_relaxed);
    s->decoder->bad_rows = s->decoder->null_fields = 0;
    if (rc != RC_OK)
        return rc;
    s->from += *used;
    s->entry->offset += *used;
    s->entry->line = s->decoder->line_number;
    return RC_OK;
}

/* Rows of the open file until out has its rows, the file ends, or enough bytes gave nothing. */
static enum rc read_open_file(struct file_source *s, struct batch_builder *out, uint32_t max_rows,
                              size_t *taken, struct err *err)
{
    s->decoder->max_rows = max_rows;
    while (batch_builder_rows(out) < max_rows && !batch_builder_full(out) &&
           *taken < POLL_BYTES_MAX) {
        size_t used = 0;

        if (skip_mark(s) && s->from < s->data.len)
            RETURN_IF_ERR(decode_some(s, out, &used, err));
        *taken += used;
        if (used > 0)
            continue;
        if (s->at_end && s->from == s->data.len) {
            s->entry->done = true;
            close_entry(s);
            return RC_OK;
        }
        ASSERT(!s->at_end); /* at the end a decoder takes everything unless out is full */
        RETURN_IF_ERR(read_more(s, err));
    }
    return RC_OK;
}

static enum rc file_source_poll(struct source *base, struct batch_builder *out, uint32_t max_rows,
                                enum source_result *result, int64_t *retry_ns, struct err *err)
{
    struct file_source *s = (struct file_source *)base;
    size_t taken = 0;

    while (batch_builder_rows(out) < max_rows && !batch_builder_full(out) &&
           taken < POLL_BYTES_MAX) {
        int64_t now;

        if (s->entry == NULL && next_entry(s) != NULL)
            RETURN_IF_ERR(open_entry(s, next_entry(s), err));
        if (s->entry != NULL) {
            RETURN_IF_ERR(read_open_file(s, out, max_rows, &taken, err));
            continue;
        }
        if (batch_builder_rows(out) > 0)
            break;
        if (s->config.monitor_interval_ms == 0) {
            *result = SOURCE_ENDED;
            return RC_OK;
        }
        s->caught_up |= s->listed;
        now = clock_mono_ns(s->ctx.env->clock);
        if (now < s->next_listing_ns) {
            *result = SOURCE_NOTHING_NOW;
            *retry_ns = s->next_listing_ns - now;
            return RC_OK;
        }
        s->next_listing_ns = now + s->config.monitor_interval_ms * NS_PER_MS;
        RETURN_IF_ERR(list_alone(s, err));
        s->listed = true;
    }
    *result = batch_builder_rows(out) > 0 ? SOURCE_GOT_ROWS : SOURCE_NOTHING_NOW;
    *retry_ns = 0;
    return RC_OK;
}

static enum rc file_source_position(struct source *base, struct arena *arena, struct bytes **items,
                                    size_t *count, struct err *err)
{
    struct file_source *s = (struct file_source *)base;

    (void)err;
    file_positions_encode(s->root, &s->entries, arena, items, count);
    return RC_OK;
}

static void file_source_close(struct source *base)
{
    struct file_source *s = (struct file_source *)base;

    close_entry(s);
    if (s->decoder != NULL)
        s->decoder->ops->free(s->decoder);
    listing_leave(s->config.listing);
    buf_release(&s->path);
    buf_release(&s->data);
    mem_free(s->entries.items);
    arena_free(s->arena);
    mem_free(s);
}

static bool file_source_bounded(const struct source *base)
{
    return ((const struct file_source *)base)->config.monitor_interval_ms == 0;
}

/* Of one that is watched: files that were there at its first listing, and after a restore what was left of those that it knew. */
static bool file_source_backlog(const struct source *base)
{
    const struct file_source *s = (const struct file_source *)base;

    return s->config.monitor_interval_ms > 0 && !s->caught_up;
}

struct source *file_source_new(const struct file_source_config *config)
{
    static const struct source_ops ops = {file_source_open, file_source_poll, file_source_position,
                                          file_source_close, file_source_bounded,
                                          file_source_backlog};
    struct file_source *s = mem_calloc(1, sizeof *s);

    s->base.ops = &ops;
    s->config = *config;
    s->arena = arena_new(0);
    if (config->listing != NULL) {
        mutex_lock(&config->listing->lock);
        config->listing->users++;
        mutex_unlock(&config->listing->lock);
    }
    return &s->base;
}
