/* metadata_own.c - our own _metadata: a skippable header, then a zstd frame with one protobuf
 * message.
 *
 * docs/FORMAT.md has the bytes. Order of proof: magic, the header's own check, version, lengths,
 * digest of all that follows, zstd's checksum, protobuf, then the rules of metadata_check().
 * Nothing is allocated by a number that was not proven or limited before; protobuf's allocations
 * come out of a budget.
 */
#include "checkpoint/layout.h"
#include "checkpoint/metadata.h"

#include "base/utf8.h"
#include "base/zframe.h"
#include "checkpoint/metadata.pb-c.h"

#include <inttypes.h>

#define HEADER_BYTES 64u
#define HEADER_BYTES_MAX 4096u      /* of any later version */
#define FRAME_HEAD_BYTES 8u         /* zstd's own: magic and length */
#define CHECK_BYTES 8u              /* the last bytes of the header in every version */
#define SKIPPABLE_MAGIC 0x184D2A56u /* nibble 6, so that the file begins with 'V' */
#define OUR_MAGIC "VARVECKP"
#define FORMAT_VERSION 1u
#define FORMAT_VERSION_IN_FLIGHT 2u /* has rows in flight, which a reader of version 1 would lose */
#define FLINK_MAGIC "\x49\x60\x67\x2d"
#define ZSTD_LEVEL 3

enum header_offset {
    AT_MAGIC = 8,
    AT_VERSION = 16,
    AT_RESERVED = 20,
    AT_FRAME_BYTES = 24,
    AT_PLAIN_BYTES = 32,
    AT_DIGEST = 40,
    AT_CHECK = 56,
};

/* Decoding may hold this many bytes for each byte of content: an empty nested message takes 2 bytes
 * there and one struct of at most 160 bytes and a pointer here. */
#define BUDGET_FACTOR 128u
#define BUDGET_BASE ((size_t)1 << 20)

typedef Varve__Checkpoint__Metadata pb_metadata;
typedef Varve__Checkpoint__Operator pb_operator;
typedef Varve__Checkpoint__Subtask pb_subtask;
typedef Varve__Checkpoint__KeyedHandle pb_keyed;
typedef Varve__Checkpoint__StateDesc pb_state;
typedef Varve__Checkpoint__File pb_file;
typedef Varve__Checkpoint__ListState pb_list;
typedef Varve__Checkpoint__Setting pb_setting;
typedef Varve__Checkpoint__Channel pb_channel;

/* ---- encode --------------------------------------------------------------------------------- */

/* Protobuf strings are UTF-8, and other readers refuse the whole message over one bad byte: each
 * such byte (they can only come from the text of a query) becomes U+FFFD. */
static char *text(struct arena *a, const char *s)
{
    struct buf out = {0};
    char *copy;

    utf8_append_valid(bytes_of_str(s), &out);
    copy = arena_strdup(a, buf_cstr(&out));
    buf_release(&out);
    return copy;
}

static ProtobufCBinaryData binary(struct bytes b)
{
    return (ProtobufCBinaryData){.len = b.len, .data = (uint8_t *)(uintptr_t)b.data};
}

static pb_file *put_file(struct arena *a, const struct state_file *file)
{
    pb_file *out = arena_alloc(a, sizeof *out);

    varve__checkpoint__file__init(out);
    out->local_name = text(a, file->local_name);
    out->scope = (Varve__Checkpoint__FileScope)file->scope;
    if (file->path != NULL)
        out->path = text(a, file->path);
    if (file->scope == FILE_INLINE)
        out->content = binary(file->inline_bytes);
    out->size = file->size_bytes;
    out->digest = binary(bytes_of(file->digest.b, sizeof file->digest.b));
    out->newly_written = file->newly_written;
    return out;
}

static pb_state *put_state(struct arena *a, const struct state_desc *state)
{
    pb_state *out = arena_alloc(a, sizeof *out);

    varve__checkpoint__state_desc__init(out);
    out->name = text(a, state->name);
    out->kind = (Varve__Checkpoint__StateKind)state->kind;
    out->key_type = text(a, state->key_type);
    out->namespace_type = text(a, state->namespace_type);
    out->user_key_type = text(a, state->user_key_type);
    out->value_type = text(a, state->value_type);
    out->fixed_value_bytes = state->fixed_value_bytes;
    out->ttl_ms = state->ttl_ms;
    out->operand_operator = text(a, state->operand_operator);
    out->operand_version = state->operand_version;
    return out;
}

static pb_keyed *put_keyed(struct arena *a, const struct keyed_handle *h)
{
    pb_keyed *out = arena_alloc(a, sizeof *out);

    varve__checkpoint__keyed_handle__init(out);
    out->kind = (Varve__Checkpoint__KeyedKind)h->kind;
    out->first_group = h->range.first;
    out->last_group = h->range.last;
    out->group_count = h->key_group_count;
    out->backend_id = text(a, h->backend_id);
    out->n_states = h->state_count;
    out->states = ARENA_ARRAY(a, h->state_count, pb_state *);
    for (size_t i = 0; i < h->state_count; i++)
        out->states[i] = put_state(a, &h->states[i]);
    out->n_files = h->file_count;
    out->files = ARENA_ARRAY(a, h->file_count, pb_file *);
    for (size_t i = 0; i < h->file_count; i++)
        out->files[i] = put_file(a, &h->files[i]);
    out->n_group_offsets = h->group_offset_count;
    out->group_offsets = h->group_offsets;
    out->entry_count = h->entry_count;
    out->ttl_clock_ms = h->ttl_clock_ms;
    return out;
}

static pb_list *put_list(struct arena *a, const struct list_state *list)
{
    pb_list *out = arena_alloc(a, sizeof *out);

    varve__checkpoint__list_state__init(out);
    out->name = text(a, list->name);
    out->mode = (Varve__Checkpoint__ListMode)list->mode;
    out->n_items = list->item_count;
    out->items = ARENA_ARRAY(a, list->item_count, ProtobufCBinaryData);
    for (size_t i = 0; i < list->item_count; i++)
        out->items[i] = binary(list->items[i]);
    return out;
}

static pb_channel *put_channel(struct arena *a, const struct channel_handle *h)
{
    pb_channel *out = arena_alloc(a, sizeof *out);

    varve__checkpoint__channel__init(out);
    out->from_id = text(a, h->from_id);
    out->ordinal = h->ordinal;
    out->partitioning = text(a, h->partitioning);
    out->row_type = text(a, h->row_type);
    out->row_count = h->row_count;
    out->updates = h->updates;
    out->file = put_file(a, &h->file);
    return out;
}

static pb_subtask *put_subtask(struct arena *a, const struct subtask_state *subtask)
{
    pb_subtask *out = arena_alloc(a, sizeof *out);

    varve__checkpoint__subtask__init(out);
    out->index = subtask->subtask_index;
    out->finished = subtask->finished;
    out->n_keyed = subtask->keyed_count;
    out->keyed = ARENA_ARRAY(a, subtask->keyed_count, pb_keyed *);
    for (size_t i = 0; i < subtask->keyed_count; i++)
        out->keyed[i] = put_keyed(a, &subtask->keyed[i]);
    out->n_lists = subtask->list_count;
    out->lists = ARENA_ARRAY(a, subtask->list_count, pb_list *);
    for (size_t i = 0; i < subtask->list_count; i++)
        out->lists[i] = put_list(a, &subtask->lists[i]);
    out->n_logs = subtask->log_count;
    out->logs = ARENA_ARRAY(a, subtask->log_count, pb_file *);
    for (size_t i = 0; i < subtask->log_count; i++)
        out->logs[i] = put_file(a, &subtask->logs[i]);
    out->n_channels = subtask->channel_count;
    out->channels = ARENA_ARRAY(a, subtask->channel_count, pb_channel *);
    for (size_t i = 0; i < subtask->channel_count; i++)
        out->channels[i] = put_channel(a, &subtask->channels[i]);
    return out;
}

static pb_operator *put_operator(struct arena *a, const struct operator_meta *op)
{
    pb_operator *out = arena_alloc(a, sizeof *out);

    varve__checkpoint__operator__init(out);
    out->id = text(a, op->id);
    out->exact_id = text(a, op->exact_id);
    out->uid = text(a, op->uid);
    out->name = text(a, op->name);
    out->parallelism = op->parallelism;
    out->group_count = op->key_group_count;
    out->finished = op->finished;
    out->n_subtasks = op->subtask_count;
    out->subtasks = ARENA_ARRAY(a, op->subtask_count, pb_subtask *);
    for (size_t i = 0; i < op->subtask_count; i++)
        out->subtasks[i] = put_subtask(a, &op->subtasks[i]);
    return out;
}

static void put_metadata(struct arena *a, const struct checkpoint_metadata *m, pb_metadata *out)
{
    varve__checkpoint__metadata__init(out);
    out->checkpoint_id = m->checkpoint_id;
    out->kind = (Varve__Checkpoint__CheckpointKind)m->kind;
    out->job_id = text(a, m->job_id);
    out->job_name = text(a, m->job_name);
    out->trigger_wall_ms = m->trigger_wall_ms;
    out->completed_wall_ms = m->completed_wall_ms;
    out->varve_version = text(a, m->varve_version);
    out->rocksdb_version = text(a, m->rocksdb_version);
    out->sql = text(a, m->sql);
    out->n_settings = m->setting_count;
    out->settings = ARENA_ARRAY(a, m->setting_count, pb_setting *);
    for (size_t i = 0; i < m->setting_count; i++) {
        out->settings[i] = arena_alloc(a, sizeof *out->settings[i]);
        varve__checkpoint__setting__init(out->settings[i]);
        out->settings[i]->key = text(a, m->settings[i].key);
        out->settings[i]->value = text(a, m->settings[i].value);
    }
    out->n_operators = m->operator_count;
    out->operators = ARENA_ARRAY(a, m->operator_count, pb_operator *);
    for (size_t i = 0; i < m->operator_count; i++)
        out->operators[i] = put_operator(a, &m->operators[i]);
}

static uint32_t version_for(const struct checkpoint_metadata *m)
{
    for (size_t o = 0; o < m->operator_count; o++)
        for (size_t s = 0; s < m->operators[o].subtask_count; s++)
            if (m->operators[o].subtasks[s].channel_count > 0)
                return FORMAT_VERSION_IN_FLIGHT;
    return FORMAT_VERSION;
}

static void put_header(uint8_t *h, uint32_t version, size_t plain_bytes, struct bytes frame)
{
    struct digest128 digest = digest_of(frame);

    memset(h, 0, HEADER_BYTES);
    put_le32(h, SKIPPABLE_MAGIC);
    put_le32(h + 4, HEADER_BYTES - FRAME_HEAD_BYTES);
    memcpy(h + AT_MAGIC, OUR_MAGIC, strlen(OUR_MAGIC));
    put_le32(h + AT_VERSION, version);
    put_le64(h + AT_FRAME_BYTES, frame.len);
    put_le64(h + AT_PLAIN_BYTES, plain_bytes);
    memcpy(h + AT_DIGEST, digest.b, sizeof digest.b);
    put_le64(h + AT_CHECK, hash64(bytes_of(h, AT_CHECK)));
}

void metadata_own_encode(const struct checkpoint_metadata *m, struct buf *out)
{
    struct arena *a = arena_new(0);
    struct buf plain = {0};
    size_t start = out->len;
    pb_metadata pb;

    put_metadata(a, m, &pb);
    buf_reserve(&plain, varve__checkpoint__metadata__get_packed_size(&pb));
    plain.len = varve__checkpoint__metadata__pack(&pb, plain.data);
    buf_reserve(out, HEADER_BYTES);
    out->len += HEADER_BYTES;
    zframe_compress(buf_bytes(&plain), ZSTD_LEVEL, out);
    put_header(out->data + start, version_for(m), plain.len,
               bytes_of(out->data + start + HEADER_BYTES, out->len - start - HEADER_BYTES));
    buf_release(&plain);
    arena_free(a);
}

/* ---- the header ----------------------------------------------------------------------------- */

struct header {
    size_t header_bytes;
    uint32_t version;
    uint64_t frame_bytes, plain_bytes;
    struct digest128 digest;
};

bool metadata_own_recognise(struct bytes file)
{
    return file.len >= AT_VERSION && get_le32(file.data) == SKIPPABLE_MAGIC &&
           memcmp(file.data + AT_MAGIC, OUR_MAGIC, strlen(OUR_MAGIC)) == 0;
}

/* Not one that we wrote whole: cut before the magic ends, a damaged magic, Flink's, or a stranger.
 */
static enum rc refuse_stranger(struct bytes file, const char *what, struct err *err)
{
    uint8_t want[AT_VERSION];
    size_t compared = file.len < sizeof want ? file.len : sizeof want, same = 0, differs = SIZE_MAX;

    put_le32(want, SKIPPABLE_MAGIC);
    put_le32(want + 4, HEADER_BYTES - FRAME_HEAD_BYTES);
    memcpy(want + AT_MAGIC, OUR_MAGIC, strlen(OUR_MAGIC));
    for (size_t i = 0; i < compared; i++) {
        if (file.data[i] == want[i])
            same++;
        else if (differs == SIZE_MAX)
            differs = i;
    }
    if (same == compared && compared < sizeof want)
        return err_set(err, RC_CORRUPT, "%s: cut at byte %zu of %u (the header alone)", what,
                       file.len, HEADER_BYTES);
    if (file.len >= 4 && memcmp(file.data, FLINK_MAGIC, 4) == 0)
        return err_set(err, RC_UNSUPPORTED,
                       "%s: written by Flink; this needs a snapshot of varve's own (run -s goes on from "
                       "one of Flink's, export --to flink-native or flink-savepoint copies it, inspect, verify, "
                       "du, diff, orphans and state look into it)",
                       what);
    if (compared == sizeof want && same + 4 >= compared)
        return err_set(err, RC_CORRUPT, "%s: header: byte %zu is 0x%02x instead of 0x%02x", what,
                       differs, file.data[differs], want[differs]);
    return err_set(err, RC_VERSION,
                   "%s: not a _metadata of varve: byte %zu is 0x%02x instead of 0x%02x", what,
                   differs, file.data[differs], want[differs]);
}

/* The parts that every version keeps: length at 4, magic, version at 16, the check in the last 8
 * bytes. */
static enum rc check_frame_head(struct bytes file, const char *what, size_t *header_bytes,
                                struct err *err)
{
    size_t total;

    if (!metadata_own_recognise(file))
        return refuse_stranger(file, what, err);
    if (file.len < HEADER_BYTES)
        return err_set(err, RC_CORRUPT, "%s: cut at byte %zu of %u (the header alone)", what,
                       file.len, HEADER_BYTES);
    total = (size_t)get_le32(file.data + 4) + FRAME_HEAD_BYTES;
    if (total < HEADER_BYTES || total > HEADER_BYTES_MAX)
        return err_set(err, RC_CORRUPT, "%s: header: length %zu at byte 4 is not in %u..%u", what,
                       total, HEADER_BYTES, HEADER_BYTES_MAX);
    if (file.len < total)
        return err_set(err, RC_CORRUPT, "%s: cut at byte %zu of %zu (the header alone)", what,
                       file.len, total);
    if (get_le64(file.data + total - CHECK_BYTES) !=
        hash64(bytes_of(file.data, total - CHECK_BYTES)))
        return err_set(err, RC_CORRUPT,
                       "%s: header: check at byte %zu differs: damaged within bytes 0..%zu", what,
                       total - CHECK_BYTES, total - 1);
    *header_bytes = total;
    return RC_OK;
}

static enum rc read_header(struct bytes file, const char *what, struct header *h, struct err *err)
{
    uint32_t version;

    RETURN_IF_ERR(check_frame_head(file, what, &h->header_bytes, err));
    version = get_le32(file.data + AT_VERSION);
    if (version != FORMAT_VERSION && version != FORMAT_VERSION_IN_FLIGHT)
        return err_set(err, RC_VERSION, "%s: format version %" PRIu32 ", this program reads %u and %u",
                       what, version, FORMAT_VERSION, FORMAT_VERSION_IN_FLIGHT);
    if (h->header_bytes != HEADER_BYTES || get_le32(file.data + AT_RESERVED) != 0)
        return err_set(err, RC_CORRUPT,
                       "%s: header: not as format version %" PRIu32 " has it (length %zu, reserved "
                       "0x%08" PRIx32 " at byte 20)",
                       what, version, h->header_bytes, get_le32(file.data + AT_RESERVED));
    h->version = version;
    h->frame_bytes = get_le64(file.data + AT_FRAME_BYTES);
    h->plain_bytes = get_le64(file.data + AT_PLAIN_BYTES);
    memcpy(h->digest.b, file.data + AT_DIGEST, sizeof h->digest.b);
    if (h->frame_bytes > METADATA_BYTES_MAX || h->plain_bytes > METADATA_BYTES_MAX)
        return err_set(err, RC_LIMIT,
                       "%s: header: %" PRIu64 " bytes that hold %" PRIu64 ", the limit is %u", what,
                       h->frame_bytes, h->plain_bytes, METADATA_BYTES_MAX);
    return RC_OK;
}

static enum rc check_body(struct bytes file, const struct header *h, const char *what,
                          struct err *err)
{
    uint64_t total = h->header_bytes + h->frame_bytes;
    char stored[DIGEST_HEX_LEN + 1], computed[DIGEST_HEX_LEN + 1];
    struct digest128 digest;

    if (file.len < total)
        return err_set(err, RC_CORRUPT, "%s: cut at byte %zu of %" PRIu64, what, file.len, total);
    if (file.len > total)
        return err_set(err, RC_CORRUPT, "%s: %" PRIu64 " bytes follow its end at byte %" PRIu64,
                       what, file.len - total, total);
    digest = digest_of(bytes_of(file.data + h->header_bytes, (size_t)h->frame_bytes));
    if (digest_eq(digest, h->digest))
        return RC_OK;
    digest_hex(h->digest, stored);
    digest_hex(digest, computed);
    return err_set(err, RC_CORRUPT,
                   "%s: digest differs: bytes %zu..%" PRIu64 " give %s, the header says %s", what,
                   h->header_bytes, total - 1, computed, stored);
}

/* ---- decode --------------------------------------------------------------------------------- */

/* protobuf-c's allocations: out of an arena, as long as the budget lasts. */
struct budget {
    struct arena *arena;
    size_t left;
    bool exceeded;
};

static void *budget_alloc(void *data, size_t size)
{
    struct budget *b = data;

    if (size > b->left) {
        b->exceeded = true;
        return NULL;
    }
    b->left -= size;
    return arena_alloc(b->arena, size);
}

static void budget_free(void *data UNUSED, void *p UNUSED) {}

struct decoder {
    struct arena *arena; /* the caller's */
    const char *what;
    struct err *err;
};

static const char *get_text(struct decoder *d, const char *s)
{
    return arena_strdup(d->arena, s);
}

static struct bytes get_binary(struct decoder *d, ProtobufCBinaryData b)
{
    return arena_bytes_copy(d->arena, bytes_of(b.data, b.len));
}

/* Ids live in fixed arrays: one of another length is refused here, its digits by metadata_check. */
static enum rc get_id(struct decoder *d, const char *kind, const char *s, char *out, size_t digits)
{
    size_t len = strlen(s);

    if (len != digits)
        return err_set(d->err, RC_CORRUPT, "%s: %s \"%.64s\" is not %zu hex digits", d->what, kind,
                       s, digits);
    memcpy(out, s, len + 1);
    return RC_OK;
}

static enum rc get_file(struct decoder *d, const pb_file *in, struct state_file *out)
{
    out->local_name = get_text(d, in->local_name);
    out->scope = (enum file_scope)in->scope;
    out->path = in->path[0] == '\0' ? NULL : get_text(d, in->path);
    out->size_bytes = in->size;
    out->newly_written = in->newly_written != 0;
    if (in->digest.len != sizeof out->digest.b)
        return err_set(d->err, RC_CORRUPT,
                       "%s: file \"%.255s\": digest of %zu bytes instead of %zu", d->what, in->path,
                       in->digest.len, sizeof out->digest.b);
    memcpy(out->digest.b, in->digest.data, sizeof out->digest.b);
    if (in->scope == VARVE__CHECKPOINT__FILE_SCOPE__INLINE)
        out->inline_bytes = get_binary(d, in->content);
    if ((in->scope == VARVE__CHECKPOINT__FILE_SCOPE__INLINE) ? in->path[0] != '\0'
                                                             : in->content.len != 0)
        return err_set(d->err, RC_CORRUPT,
                       "%s: file \"%.255s\": has content here or a path, never both", d->what,
                       in->path);
    return RC_OK;
}

static void get_state(struct decoder *d, const pb_state *in, struct state_desc *out)
{
    *out = (struct state_desc){
        .name = get_text(d, in->name),
        .kind = (enum state_kind)in->kind,
        .key_type = get_text(d, in->key_type),
        .namespace_type = get_text(d, in->namespace_type),
        .user_key_type = get_text(d, in->user_key_type),
        .value_type = get_text(d, in->value_type),
        .fixed_value_bytes = in->fixed_value_bytes,
        .ttl_ms = in->ttl_ms,
        .operand_operator = get_text(d, in->operand_operator),
        .operand_version = in->operand_version,
    };
}

static enum rc get_keyed(struct decoder *d, const pb_keyed *in, struct keyed_handle *out)
{
    out->kind = (enum keyed_handle_kind)in->kind;
    out->range = (struct key_group_range){in->first_group, in->last_group};
    out->key_group_count = in->group_count;
    out->backend_id = get_text(d, in->backend_id);
    out->entry_count = in->entry_count;
    out->ttl_clock_ms = in->ttl_clock_ms;
    out->state_count = in->n_states;
    out->states = ARENA_ARRAY(d->arena, in->n_states, struct state_desc);
    for (size_t i = 0; i < in->n_states; i++)
        get_state(d, in->states[i], &out->states[i]);
    out->file_count = in->n_files;
    out->files = ARENA_ARRAY(d->arena, in->n_files, struct state_file);
    for (size_t i = 0; i < in->n_files; i++)
        RETURN_IF_ERR(get_file(d, in->files[i], &out->files[i]));
    out->group_offset_count = in->n_group_offsets;
    out->group_offsets = ARENA_ARRAY(d->arena, in->n_group_offsets, uint64_t);
    for (size_t i = 0; i < in->n_group_offsets; i++)
        out->group_offsets[i] = in->group_offsets[i];
    return RC_OK;
}

static void get_list(struct decoder *d, const pb_list *in, struct list_state *out)
{
    out->name = get_text(d, in->name);
    out->mode = (enum list_mode)in->mode;
    out->item_count = in->n_items;
    out->items = ARENA_ARRAY(d->arena, in->n_items, struct bytes);
    for (size_t i = 0; i < in->n_items; i++)
        out->items[i] = get_binary(d, in->items[i]);
}

static enum rc get_channel(struct decoder *d, const pb_channel *in, struct channel_handle *out)
{
    *out = (struct channel_handle){
        .from_id = get_text(d, in->from_id),
        .ordinal = in->ordinal,
        .partitioning = get_text(d, in->partitioning),
        .row_type = get_text(d, in->row_type),
        .row_count = in->row_count,
        .updates = in->updates != 0,
    };
    if (in->file == NULL)
        return err_set(d->err, RC_CORRUPT, "%s: rows in flight without a file", d->what);
    return get_file(d, in->file, &out->file);
}

static enum rc get_subtask(struct decoder *d, const pb_subtask *in, struct subtask_state *out)
{
    out->subtask_index = in->index;
    out->finished = in->finished != 0;
    out->keyed_count = in->n_keyed;
    out->keyed = ARENA_ARRAY(d->arena, in->n_keyed, struct keyed_handle);
    for (size_t i = 0; i < in->n_keyed; i++)
        RETURN_IF_ERR(get_keyed(d, in->keyed[i], &out->keyed[i]));
    out->list_count = in->n_lists;
    out->lists = ARENA_ARRAY(d->arena, in->n_lists, struct list_state);
    for (size_t i = 0; i < in->n_lists; i++)
        get_list(d, in->lists[i], &out->lists[i]);
    out->log_count = in->n_logs;
    out->logs = ARENA_ARRAY(d->arena, in->n_logs, struct state_file);
    for (size_t i = 0; i < in->n_logs; i++)
        RETURN_IF_ERR(get_file(d, in->logs[i], &out->logs[i]));
    out->channel_count = in->n_channels;
    out->channels = ARENA_ARRAY(d->arena, in->n_channels, struct channel_handle);
    for (size_t i = 0; i < in->n_channels; i++)
        RETURN_IF_ERR(get_channel(d, in->channels[i], &out->channels[i]));
    return RC_OK;
}

static enum rc get_operator(struct decoder *d, const pb_operator *in, struct operator_meta *out)
{
    RETURN_IF_ERR(get_id(d, "operator id", in->id, out->id, OPERATOR_ID_LEN));
    if (in->exact_id != NULL && in->exact_id[0] != '\0')
        RETURN_IF_ERR(get_id(d, "exact operator id", in->exact_id, out->exact_id, OPERATOR_ID_LEN));
    out->uid = get_text(d, in->uid);
    out->name = get_text(d, in->name);
    out->parallelism = in->parallelism;
    out->key_group_count = in->group_count;
    out->finished = in->finished != 0;
    out->subtask_count = in->n_subtasks;
    out->subtasks = ARENA_ARRAY(d->arena, in->n_subtasks, struct subtask_state);
    for (size_t i = 0; i < in->n_subtasks; i++)
        RETURN_IF_ERR(get_subtask(d, in->subtasks[i], &out->subtasks[i]));
    return RC_OK;
}

static enum rc get_metadata(struct decoder *d, const pb_metadata *in,
                            struct checkpoint_metadata *out)
{
    *out = (struct checkpoint_metadata){
        .checkpoint_id = in->checkpoint_id,
        .kind = (enum checkpoint_kind)in->kind,
        .job_name = get_text(d, in->job_name),
        .trigger_wall_ms = in->trigger_wall_ms,
        .completed_wall_ms = in->completed_wall_ms,
        .varve_version = get_text(d, in->varve_version),
        .rocksdb_version = get_text(d, in->rocksdb_version),
        .sql = get_text(d, in->sql),
        .setting_count = in->n_settings,
        .settings = ARENA_ARRAY(d->arena, in->n_settings, struct metadata_pair),
        .operator_count = in->n_operators,
        .operators = ARENA_ARRAY(d->arena, in->n_operators, struct operator_meta),
    };
    RETURN_IF_ERR(get_id(d, "job id", in->job_id, out->job_id, JOB_ID_LEN));
    for (size_t i = 0; i < in->n_settings; i++)
        out->settings[i] = (struct metadata_pair){get_text(d, in->settings[i]->key),
                                                  get_text(d, in->settings[i]->value)};
    for (size_t i = 0; i < in->n_operators; i++)
        RETURN_IF_ERR(get_operator(d, in->operators[i], &out->operators[i]));
    return RC_OK;
}

/* The protobuf message in `plain` as a tree of ours. */
static enum rc decode_message(struct bytes plain, struct decoder *d,
                              struct checkpoint_metadata *out)
{
    struct budget budget = {.arena = arena_new(0), .left = BUDGET_BASE + BUDGET_FACTOR * plain.len};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    pb_metadata *pb = varve__checkpoint__metadata__unpack(&allocator, plain.len, plain.data);
    enum rc rc;

    if (pb != NULL)
        rc = get_metadata(d, pb, out);
    else if (budget.exceeded)
        rc = err_set(d->err, RC_LIMIT,
                     "%s: content of %zu bytes: its message needs more than %zu bytes "
                     "of memory",
                     d->what, plain.len, BUDGET_BASE + BUDGET_FACTOR * plain.len);
    else
        rc = err_set(d->err, RC_CORRUPT,
                     "%s: content of %zu bytes is not the message of metadata.proto", d->what,
                     plain.len);
    arena_free(budget.arena);
    return rc;
}

enum rc metadata_own_decode(struct bytes file, struct arena *arena, const char *what,
                            struct checkpoint_metadata *out, struct err *err)
{
    struct decoder decoder = {.arena = arena, .what = what, .err = err};
    struct buf plain = {0};
    struct header h = {0};
    enum rc rc;

    *out = (struct checkpoint_metadata){0};
    GOTO_IF_ERR(read_header(file, what, &h, err));
    GOTO_IF_ERR(check_body(file, &h, what, err));
    GOTO_IF_ERR(zframe_decompress(bytes_of(file.data + h.header_bytes, (size_t)h.frame_bytes),
                                  (size_t)h.plain_bytes, &plain, what, err));
    if (plain.len != h.plain_bytes)
        GOTO_IF_ERR(err_set(err, RC_CORRUPT, "%s: content of %zu bytes, the header says %" PRIu64,
                            what, plain.len, h.plain_bytes));
    GOTO_IF_ERR(decode_message(buf_bytes(&plain), &decoder, out));
    if (version_for(out) != h.version)
        GOTO_IF_ERR(err_set(err, RC_CORRUPT, "%s: format version %" PRIu32 " %s rows in flight", what,
                            h.version, h.version == FORMAT_VERSION ? "with" : "without"));
    GOTO_IF_ERR(metadata_check(out, what, err));
out:
    buf_release(&plain);
    return rc;
}
