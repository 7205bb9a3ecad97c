/* flink_prove.c - see flink_prove.h */
#include "checkpoint/flink/flink_prove.h"

#include "backend/rocks_log.h"
#include "backend/rocks_sst.h"
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_input.h"
#include "checkpoint/flink/flink_prove_meaning.h"
#include "checkpoint/flink/snappy_frame.h"

#define STREAM_VERSION_MAX 6
#define HEADER_LEAST 5u /* of a stream: version, compression */
#define GROUP_ID_BYTES 4u
#define METADATA_FOLLOWS 0x80u /* in the first byte of a key */
#define END_OF_GROUP 0xFFFFu
#define PLAIN_BYTES_MAX (1u << 30) /* of one key group, or of the lists of a subtask */
#define SNAPPY_IDENTIFIER 0xFF /* a chunk's type: a stream begins */

static const char no_checksum[] = "no checksum: length alone";
static const char not_needed[] = "no checksum: OPTIONS, not needed to open the database";
static const char structure_only[] = "no checksum: walked to its end, values not covered";
static const char description[] = "no checksum: a description of states, read to its end";
static const char header_uncovered[] = "its header and offsets have no checksum";

/* One stream at hand. */
struct prove {
    struct fs *fs;
    const struct flink_stream_use *use;
    const char *path;
    struct flink_input *in;
    const char *name; /* for messages */
    uint64_t size;
    struct flink_proof *out;
    struct bytes held; /* what was read last, until the next read */
};

/* From an offset on, all of it at once: RC_LIMIT past FLINK_WANT_MAX. */
static enum rc hold(struct prove *p, uint64_t at, uint64_t len, struct err *err)
{
    uint64_t end;

    if (__builtin_add_overflow(at, len, &end) || end > p->size)
        return err_set(err, RC_CORRUPT, "%s: %llu bytes at offset %llu, it has %llu", p->name,
                       (unsigned long long)len, (unsigned long long)at,
                       (unsigned long long)p->size);
    RETURN_IF_ERR(flink_input_seek(p->in, at, end, false, err));
    return flink_input_take(p->in, (size_t)len, &p->held, "stream", err);
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Chunks up to the next stream identifier or the end, every checksum compared, appended to `out`. head: a
 * stream identifier has to come first. */
static enum rc read_frames(struct reader *r, bool head, struct buf *out, struct err *err)
{
    while (reader_left(r) > 0 && (head || r->all.data[r->pos] != SNAPPY_IDENTIFIER)) {
        struct snappy_chunk chunk;
        size_t at = r->pos;
        struct bytes b;
        enum rc rc;

        RETURN_IF_ERR(reader_take(r, SNAPPY_CHUNK_HEADER, &b, "snappy chunk", err));
        chunk = snappy_chunk_of(b.data);
        if (head && chunk.type != SNAPPY_IDENTIFIER)
            return data_fault(r, at, err, "no snappy stream identifier");
        head = false;
        RETURN_IF_ERR(reader_take(r, chunk.body_len, &b, "snappy chunk", err));
        rc = snappy_chunk_read(chunk, b, out, err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "%s: chunk at offset %zu", r->what, at);
        if (out->len > PLAIN_BYTES_MAX) /* a few bytes can stand for many */
            return err_set(err, RC_LIMIT, "%s: more than %u bytes come out of a snappy stream",
                           r->what, PLAIN_BYTES_MAX);
    }
    return head ? data_fault(r, r->pos, err, "no snappy stream identifier") : RC_OK;
}

/* ---- files of a database -------------------------------------------------------------------- */

static bool name_ends(struct bytes name, const char *end)
{
    return bytes_end_with(name, bytes_of_str(end));
}

static bool name_starts(struct bytes name, const char *start)
{
    return bytes_start_with(name, bytes_of_str(start));
}

static enum rc hold_all(struct prove *p, struct err *err)
{
    return hold(p, 0, p->size, err);
}

static enum rc prove_sst(struct prove *p, struct err *err)
{
    bool whole_file = p->path[0] != '\0' && p->use->stream->tag != FLINK_STREAM_SEGMENT &&
                      !path_is_remote(p->path);
    uint64_t entries;

    if (whole_file)
        return rocks_sst_check(p->path, (struct bytes){0}, (struct bytes){0}, &entries, err);
    RETURN_IF_ERR(hold_all(p, err));
    return rocks_sst_check_bytes(p->held, &entries, err);
}

/* "MANIFEST-000005\n", and that one is there. */
static enum rc prove_current(struct prove *p, struct err *err)
{
    const struct flink_incremental *i = p->use->keyed->incremental;

    RETURN_IF_ERR(hold_all(p, err));
    for (size_t n = 0; i != NULL && n < i->private_count; n++) {
        struct bytes name = i->private[n].local_name;

        if (name_starts(name, "MANIFEST-") && p->held.len == name.len + 1 &&
            memcmp(p->held.data, name.data, name.len) == 0 && p->held.data[name.len] == '\n')
            return RC_OK;
    }
    return err_set(err, RC_CORRUPT, "%s: names none of the MANIFEST files beside it",
                   p->name);
}

static enum rc prove_db_file(struct prove *p, struct err *err)
{
    struct bytes name = p->use->local_name;

    if (name_ends(name, ".sst"))
        return prove_sst(p, err);
    if (name_starts(name, "MANIFEST-")) {
        RETURN_IF_ERR(hold_all(p, err));
        return rocks_log_check(p->held, p->name, err);
    }
    if (name.len == strlen("CURRENT") && name_starts(name, "CURRENT"))
        return prove_current(p, err);
    p->out->unproven = name_starts(name, "OPTIONS-") ? not_needed : no_checksum;
    return RC_OK;
}

/* ---- streams of key groups ------------------------------------------------------------------ */

static enum rc read_header(struct prove *p, bool *compressed, struct err *err)
{
    struct reader r;
    int32_t version;

    RETURN_IF_ERR(hold(p, 0, HEADER_LEAST, err));
    reader_init(&r, p->held, p->name);
    RETURN_IF_ERR(data_i32(&r, &version, "version of a stream", err));
    if (version < 1 || version > STREAM_VERSION_MAX)
        return data_fault(&r, 0, err, "a state stream of version %d", version);
    return data_bool(&r, compressed, "whether a stream is compressed", err);
}

/* Where the bytes of group number i end: at the beginning of the next one that is not empty. */
static int64_t end_of(const struct flink_groups *g, uint32_t i, uint64_t size)
{
    for (uint32_t next = i + 1; next < g->range.count; next++)
        if (g->offsets[next] > 0)
            return g->offsets[next];
    return (int64_t)size;
}

/* One entry: key and value with their lengths; *last: of this state. */
static enum rc walk_entry(struct reader *r, uint32_t group, size_t prefix_bytes, bool *last,
                          struct err *err)
{
    size_t at = r->pos;
    struct bytes key, value;
    uint32_t stored;

    RETURN_IF_ERR(data_blob(r, &key, "key", err));
    if (key.len < prefix_bytes)
        return data_fault(r, at, err, "a key of %zu bytes, without its key group", key.len);
    *last = (key.data[0] & METADATA_FOLLOWS) != 0;
    stored = key.data[0] & ~METADATA_FOLLOWS & 0xFF;
    if (prefix_bytes == 2)
        stored = stored << 8 | key.data[1];
    if (stored != group)
        return data_fault(r, at, err, "a key of key group %u in key group %u", stored, group);
    return data_blob(r, &value, "value", err);
}

static enum rc walk_canonical(struct reader *r, uint32_t group, size_t prefix_bytes,
                              struct err *err)
{
    uint16_t state;
    bool last;

    RETURN_IF_ERR(data_u16(r, &state, "state id", err));
    while (state != END_OF_GROUP) {
        do {
            RETURN_IF_ERR(walk_entry(r, group, prefix_bytes, &last, err));
        } while (!last);
        RETURN_IF_ERR(data_u16(r, &state, "state id", err));
    }
    return reader_end(r, err);
}

/* Bytes of one group in `held`, decompressed. */
static enum rc prove_group(struct prove *p, uint32_t group, bool canonical, bool compressed,
                           struct buf *plain, struct err *err)
{
    size_t prefix_bytes = p->use->op->max_parallelism > 128 ? 2 : 1;
    struct reader r;
    uint32_t id;

    reader_init(&r, p->held, p->name);
    buf_clear(plain);
    if (!canonical) {
        RETURN_IF_ERR(reader_be32(&r, &id, "key group id", err));
        if (id != group)
            return data_fault(&r, 0, err, "key group %u where %u is to be", id, group);
        while (compressed && reader_left(&r) > 0) { /* one for each state */
            buf_clear(plain);
            RETURN_IF_ERR(read_frames(&r, true, plain, err));
        }
        return RC_OK;
    }
    if (!compressed)
        return walk_canonical(&r, group, prefix_bytes, err);
    RETURN_IF_ERR(read_frames(&r, true, plain, err));
    RETURN_IF_ERR(reader_end(&r, err));
    reader_init(&r, buf_bytes(plain), p->name);
    return walk_canonical(&r, group, prefix_bytes, err);
}

/* The heap's layout has the group's number where the canonical one has a state id. */
static enum rc is_canonical(struct prove *p, const struct flink_groups *g, bool *canonical,
                            struct err *err)
{
    if (p->use->keyed->tag == FLINK_KEYED_SAVEPOINT) {
        *canonical = true;
        return RC_OK;
    }
    *canonical = false;
    for (uint32_t i = 0; i < g->range.count; i++) {
        if (g->offsets[i] <= 0 || g->range.first + i == 0)
            continue;
        RETURN_IF_ERR(hold(p, (uint64_t)g->offsets[i], GROUP_ID_BYTES, err));
        *canonical = get_be32(p->held.data) != g->range.first + i;
        return RC_OK;
    }
    return RC_OK;
}

static enum rc prove_groups(struct prove *p, struct err *err)
{
    const struct flink_groups *g = p->use->keyed->groups;
    struct buf plain = {0};
    bool compressed, canonical;
    enum rc rc;

    GOTO_IF_ERR(read_header(p, &compressed, err));
    GOTO_IF_ERR(is_canonical(p, g, &canonical, err));
    for (uint32_t i = 0; i < g->range.count; i++) {
        int64_t from = g->offsets[i], end = end_of(g, i, p->size);

        if (from <= 0)
            continue; /* empty, or not written */
        if (end < from)
            GOTO_IF_ERR(err_set(err, RC_CORRUPT, "%s: key groups out of order: %lld before %lld",
                                p->name, (long long)from, (long long)end));
        GOTO_IF_ERR(hold(p, (uint64_t)from, (uint64_t)(end - from), err));
        rc = prove_group(p, g->range.first + i, canonical, compressed, &plain, err);
        if (rc != RC_OK)
            GOTO_IF_ERR(err_wrap(err, rc, "key group %u, which begins at %lld",
                                 g->range.first + i, (long long)from));
    }
    p->out->unproven = compressed ? header_uncovered : canonical ? structure_only : no_checksum;
out:
    buf_release(&plain);
    return rc;
}

/* ---- operator state ------------------------------------------------------------------------- */

/* Compressed, each offset is that of a chunk; from the first on there is nothing but chunks. */
static enum rc prove_lists(struct prove *p, struct err *err)
{
    const struct flink_operator_state *s = p->use->lists;
    int64_t first = INT64_MAX;
    struct buf plain = {0};
    struct reader r;
    bool compressed;
    enum rc rc;

    RETURN_IF_ERR(read_header(p, &compressed, err));
    for (size_t l = 0; l < s->list_count; l++)
        for (size_t i = 0; i < s->lists[l].offset_count; i++)
            if (s->lists[l].offsets[i] >= 0 && s->lists[l].offsets[i] < first)
                first = s->lists[l].offsets[i];
    p->out->unproven = no_checksum;
    if (!compressed || first == INT64_MAX)
        return RC_OK;
    RETURN_IF_ERR(hold(p, (uint64_t)first, p->size < (uint64_t)first ? 1 : p->size - (uint64_t)first,
                       err));
    reader_init(&r, p->held, p->name);
    rc = read_frames(&r, false, &plain, err);
    buf_release(&plain);
    p->out->unproven = header_uncovered;
    return rc == RC_OK ? reader_end(&r, err) : rc;
}

static enum rc prove_stream(struct prove *p, struct err *err)
{
    switch (p->use->role) {
    case FLINK_ROLE_KEYED_STREAM:
        return prove_groups(p, err);
    case FLINK_ROLE_OPERATOR_STATE:
        return prove_lists(p, err);
    case FLINK_ROLE_DB_META:
        p->out->unproven = description;
        return RC_OK;
    default:
        return prove_db_file(p, err);
    }
}

static bool has_meaning(const struct flink_stream_use *use)
{
    return use->role == FLINK_ROLE_KEYED_STREAM || use->role == FLINK_ROLE_DB_META ||
           (use->role == FLINK_ROLE_OPERATOR_STATE && !use->raw);
}

/* Of others there is nothing to find but their length. What is raw only its own operator knows. */
static bool is_readable(const struct flink_stream_use *use)
{
    return use->role == FLINK_ROLE_DB_SHARED || use->role == FLINK_ROLE_DB_PRIVATE ||
           use->role == FLINK_ROLE_DB_META || (!use->raw && has_meaning(use));
}

static enum rc prove_bytes(struct prove *p, struct err *err)
{
    enum rc rc;

    if (!is_readable(p->use)) {
        p->out->unproven = no_checksum;
        return RC_OK;
    }
    rc = flink_input_open(p->fs, p->use->stream, p->path, &p->in, err);
    if (rc == RC_OK) {
        p->name = flink_input_name(p->in);
        p->size = flink_input_size(p->in);
        rc = prove_stream(p, err);
    }
    if (rc == RC_LIMIT) {
        p->out->unproven = "too large to be held at once";
        err_clear(err);
        return RC_OK;
    }
    return rc;
}

/* What cannot be told is not proven; in raw keyed state nothing need be told. */
static enum rc prove_meaning(struct prove *p, struct flink_places *places, struct arena *arena,
                             struct err *err)
{
    enum rc rc = flink_prove_meaning(p->fs, p->use, places, err);

    if (rc == RC_OK && p->out->unproven == no_checksum)
        p->out->unproven = structure_only;
    if (rc != RC_UNSUPPORTED && rc != RC_VERSION && rc != RC_LIMIT)
        return rc;
    if (!p->use->raw)
        p->out->unproven = arena_printf(arena, "no checksum, and not understood: %s", err->msg);
    err_clear(err);
    return RC_OK;
}

void flink_prove(struct fs *fs, const struct flink_stream_use *use, struct flink_places *places,
                 struct arena *arena, struct flink_proof *out)
{
    struct prove p = {.fs = fs, .use = use, .path = flink_place(places, use->stream), .out = out};
    struct err err = {0};
    enum rc rc;

    *out = (struct flink_proof){0};
    if (use->stream->tag == FLINK_STREAM_EMPTY)
        return;
    rc = prove_bytes(&p, &err);
    flink_input_close(p.in);
    if (rc == RC_OK && has_meaning(use))
        rc = prove_meaning(&p, places, arena, &err);
    if (rc != RC_OK)
        out->fault = arena_strdup(arena, err.msg);
}
