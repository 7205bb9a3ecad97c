/* Keyed state in streams: canonical savepoints, heap checkpoints, raw timers. See flink_keyed.h.
 * After: FullSnapshotRestoreOperation, HeapRestoreOperation, InternalTimerServiceSerializationProxy. */
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_keyed_priv.h"

#include <inttypes.h>

#define METADATA_FOLLOWS 0x80u /* in a key's first byte: it is the last of its state */
#define END_OF_GROUP 0xFFFFu
#define RAW_MARK 0xF1CD859Fu
#define RAW_VERSION 2u
#define SERVICES_MAX 1024u
#define SNAPSHOT_BYTES_FIRST 4096u

static enum rc take_u16(struct flink_input *in, uint16_t *out, const char *field, struct err *err)
{
    struct bytes b;

    RETURN_IF_ERR(flink_input_take(in, 2, &b, field, err));
    *out = get_be16(b.data);
    return RC_OK;
}

/* A count or a length: not negative. */
static enum rc take_count(struct flink_input *in, uint32_t *out, const char *field, struct err *err)
{
    uint64_t at = flink_input_offset(in);
    struct bytes b;

    RETURN_IF_ERR(flink_input_take(in, 4, &b, field, err));
    *out = get_be32(b.data);
    if (*out > INT32_MAX)
        return err_set(err, RC_CORRUPT, "%s: %s at %" PRIu64 ": %d", flink_input_name(in), field,
                       at, (int32_t)*out);
    return RC_OK;
}

/* Entries of a state that is not known are stepped over where they have lengths. */
static enum rc take_state(struct flink_scan *s, uint16_t id, struct err *err)
{
    struct flink_input *in = s->reader->in;

    s->entry_id = id;
    if (id >= s->reader->states.count && s->reader->states.cut != NULL) {
        s->entry_state = FLINK_STATE_UNKNOWN;
        return s->reader->form == FLINK_FORM_CANONICAL
                   ? RC_OK
                   : err_set(err, RC_UNSUPPORTED, "%s", s->reader->states.cut);
    }
    if (id >= s->reader->states.count)
        return err_set(err, RC_CORRUPT, "%s: key group %u, before %" PRIu64 ": state %u of %zu",
                       flink_input_name(in), s->group, flink_input_offset(in), id,
                       s->reader->states.count);
    s->entry_state = id;
    return RC_OK;
}

/* ---- canonical ------------------------------------------------------------------------------- */

/* An entry that the window shows whole; false: it does not, or it is wrong. */
static bool take_shown(struct flink_scan *s, struct bytes shown)
{
    uint32_t key_len, value_len;

    if (shown.len < 8)
        return false;
    key_len = get_be32(shown.data);
    if (key_len < s->reader->prefix_len || key_len > shown.len - 8)
        return false;
    value_len = get_be32(shown.data + 4 + key_len);
    if (value_len > shown.len - 8 - key_len)
        return false;
    buf_clear(&s->key);
    buf_append(&s->key, shown.data + 4, key_len);
    buf_clear(&s->value);
    buf_append(&s->value, shown.data + 8 + key_len, value_len);
    flink_input_skip(s->reader->in, 8 + (size_t)key_len + value_len);
    return true;
}

static enum rc take_entry(struct flink_scan *s, struct err *err)
{
    struct flink_input *in = s->reader->in;
    struct bytes b, shown;
    uint32_t len;

    RETURN_IF_ERR(flink_input_want(in, 8, &shown, err));
    if (take_shown(s, shown))
        return RC_OK;
    RETURN_IF_ERR(take_count(in, &len, "length of a key", err));
    if (len < s->reader->prefix_len)
        return err_set(err, RC_CORRUPT, "%s: before %" PRIu64 ": a key of %u bytes",
                       flink_input_name(in), flink_input_offset(in), len);
    RETURN_IF_ERR(flink_input_take(in, len, &b, "key", err));
    buf_clear(&s->key);
    buf_append(&s->key, b.data, b.len);
    RETURN_IF_ERR(take_count(in, &len, "length of a value", err));
    RETURN_IF_ERR(flink_input_take(in, len, &b, "value", err));
    buf_clear(&s->value);
    buf_append(&s->value, b.data, b.len);
    return RC_OK;
}

enum rc flink_form_canonical_next(struct flink_scan *s, bool *more, struct err *err)
{
    struct flink_input *in = s->reader->in;
    uint16_t id = END_OF_GROUP;

    *more = false;
    if (!s->in_group) {
        RETURN_IF_ERR(take_u16(in, &id, "state of a key group", err));
        RETURN_IF_ERR(take_state(s, id, err));
        buf_clear(&s->key);
    } else if (s->states_left == 0) { /* the last entry said that it was the last of its state */
        RETURN_IF_ERR(take_u16(in, &id, "next state", err));
        if (id == END_OF_GROUP)
            return RC_OK;
        RETURN_IF_ERR(take_state(s, id, err));
    }
    RETURN_IF_ERR(take_entry(s, err));
    s->states_left = s->key.data[0] & METADATA_FOLLOWS ? 0 : 1;
    s->key.data[0] &= (uint8_t)~METADATA_FOLLOWS;
    *more = true;
    return RC_OK;
}

/* ---- heap ------------------------------------------------------------------------------------ */

static enum rc begin_heap_group(struct flink_scan *s, struct err *err)
{
    struct flink_input *in = s->reader->in;
    uint64_t at = flink_input_offset(in);
    uint32_t group;

    RETURN_IF_ERR(take_count(in, &group, "key group", err));
    if (group != s->group)
        return err_set(err, RC_CORRUPT, "%s: at %" PRIu64 " key group %u begins, not %u",
                       flink_input_name(in), at, group, s->group);
    if (s->reader->states.compressed)
        RETURN_IF_ERR(flink_input_uncompress(in, err));
    s->states_left = s->reader->states.count;
    s->entries_left = s->map_left = 0;
    return RC_OK;
}

static enum rc begin_heap_state(struct flink_scan *s, struct err *err)
{
    struct flink_input *in = s->reader->in;
    uint32_t count;
    uint16_t id;

    RETURN_IF_ERR(take_u16(in, &id, "state", err));
    RETURN_IF_ERR(take_state(s, id, err));
    RETURN_IF_ERR(take_count(in, &count, "number of entries", err));
    s->entries_left = count;
    s->states_left--;
    return RC_OK;
}

static enum rc heap_timer(struct flink_scan *s, const struct flink_state *state, struct err *err)
{
    uint8_t prefix[2];

    keygroup_put_prefix(prefix, s->reader->prefix_len, s->group);
    buf_append(&s->key, prefix, s->reader->prefix_len);
    return flink_form_value(s->reader->in, state->value, s->arena, &s->key, NULL, err);
}

/* A list's elements, joined as a database has them. */
static enum rc heap_list(struct flink_scan *s, const struct flink_state *state, bool *empty,
                         struct err *err)
{
    struct flink_input *in = s->reader->in;
    uint32_t count;

    RETURN_IF_ERR(take_count(in, &count, "number of elements", err));
    *empty = count == 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            buf_append_u8(&s->value, ',');
        arena_reset(s->arena);
        RETURN_IF_ERR(flink_form_value(in, state->element, s->arena, &s->value, NULL, err));
        if (s->value.len > FLINK_WANT_MAX)
            return err_set(err, RC_LIMIT, "%s: before %" PRIu64 ": a list of more than %u bytes",
                           flink_input_name(in), flink_input_offset(in), FLINK_WANT_MAX);
    }
    return RC_OK;
}

/* The next entry of the map whose owner begins the key. */
static enum rc heap_map_entry(struct flink_scan *s, const struct flink_state *state,
                              struct err *err)
{
    struct flink_input *in = s->reader->in;
    struct bytes null;

    s->map_left--;
    s->key.len = s->owner_len;
    buf_clear(&s->value);
    arena_reset(s->arena);
    RETURN_IF_ERR(flink_form_value(in, state->user_key, s->arena, &s->key, NULL, err));
    RETURN_IF_ERR(flink_input_take(in, 1, &null, "null flag", err));
    buf_append_u8(&s->value, null.data[0] != 0);
    return s->value.data[0] ? RC_OK
                            : flink_form_value(in, state->user_value, s->arena, &s->value, NULL, err);
}

/* Namespace and key, in their order in the stream, to their order in a composite key. */
static enum rc heap_owner(struct flink_scan *s, const struct flink_state *state, struct err *err)
{
    struct flink_input *in = s->reader->in;
    struct buf namespace = {0}, key = {0};
    enum rc rc;

    GOTO_IF_ERR(flink_form_value(in, state->namespace, s->arena, &namespace, NULL, err));
    GOTO_IF_ERR(flink_form_value(in, s->reader->states.key, s->arena, &key, NULL, err));
    flink_key_put(&s->reader->states, state, s->reader->prefix_len, s->group, buf_bytes(&key),
                  buf_bytes(&namespace), &s->key);
    s->owner_len = s->key.len;
out:
    buf_release(&namespace);
    buf_release(&key);
    return rc;
}

/* *empty: a list or map without anything in it, which other forms do not have. */
static enum rc heap_entry(struct flink_scan *s, const struct flink_state *state, bool *empty,
                          struct err *err)
{
    uint32_t count;

    *empty = false;
    s->entries_left--;
    buf_clear(&s->key);
    buf_clear(&s->value);
    arena_reset(s->arena);
    if (state->kind == FLINK_STATE_TIMERS)
        return heap_timer(s, state, err);
    RETURN_IF_ERR(heap_owner(s, state, err));
    if (state->type == FLINK_TYPE_LIST && state->element != NULL)
        return heap_list(s, state, empty, err);
    if (state->type != FLINK_TYPE_MAP || state->user_key == NULL)
        return flink_form_value(s->reader->in, state->value, s->arena, &s->value, NULL, err);
    RETURN_IF_ERR(take_count(s->reader->in, &count, "number of map entries", err));
    s->map_left = count;
    *empty = count == 0;
    return count == 0 ? RC_OK : heap_map_entry(s, state, err);
}

enum rc flink_form_heap_next(struct flink_scan *s, bool *more, struct err *err)
{
    bool empty = true;

    *more = false;
    if (!s->in_group) {
        RETURN_IF_ERR(begin_heap_group(s, err));
        s->in_group = true;
    }
    while (empty) {
        if (s->map_left > 0) {
            RETURN_IF_ERR(heap_map_entry(s, &s->reader->states.states[s->entry_state], err));
            break;
        }
        if (s->entries_left == 0 && s->states_left == 0)
            return RC_OK;
        if (s->entries_left == 0)
            RETURN_IF_ERR(begin_heap_state(s, err));
        else
            RETURN_IF_ERR(
                heap_entry(s, &s->reader->states.states[s->entry_state], &empty, err));
    }
    *more = true;
    return RC_OK;
}

/* ---- raw timers ------------------------------------------------------------------------------ */

static struct bytes join_text(struct arena *arena, const char *prefix, struct bytes rest)
{
    size_t len = strlen(prefix);
    uint8_t *room = arena_alloc(arena, len + rest.len);

    memcpy(room, prefix, len);
    memcpy(room + len, rest.data, rest.len);
    return bytes_of(room, len + rest.len);
}

/* Name and serializers of a service: the states of its timers of either kind, at the end of `out`. */
static enum rc read_service(struct flink_input *in, struct arena *arena, struct flink_states *out,
                            struct err *err)
{
    size_t want = SNAPSHOT_BYTES_FIRST;
    struct bytes shown, name, name_raw, snapshots[2];
    struct reader r;
    const struct flink_serializer *key, *namespace;
    struct flink_serializer *timer;
    size_t at[3] = {0};
    enum rc rc;

    for (;; want *= 2) {
        struct err why = {0};

        RETURN_IF_ERR(flink_input_want(in, want, &shown, err));
        reader_init(&r, shown, flink_input_name(in));
        rc = data_utf(&r, arena, &name, "timer service", &why);
        at[0] = r.pos;
        if (rc == RC_OK)
            rc = flink_serializer_read(&r, arena, &key, &why);
        at[1] = r.pos;
        if (rc == RC_OK)
            rc = flink_serializer_read(&r, arena, &namespace, &why);
        at[2] = r.pos;
        if (rc == RC_OK)
            break;
        if (shown.len < want || want >= FLINK_WANT_MAX)
            return err_set(err, rc, "%s", why.msg);
    }
    name_raw = bytes_of(shown.data + 2, at[0] - 2);
    for (int i = 0; i < 2; i++)
        snapshots[i] = arena_bytes_copy(arena, bytes_of(shown.data + at[i], at[i + 1] - at[i]));
    flink_input_skip(in, r.pos);
    timer = ARENA_NEW(arena, struct flink_serializer);
    timer->coding = FLINK_TIMER;
    timer->snapshot_class =
        bytes_of_str("org.apache.flink.streaming.api.operators.TimerSerializerSnapshot");
    timer->child_count = 2;
    timer->children = ARENA_ARRAY(arena, 2, const struct flink_serializer *);
    timer->children[0] = key;
    timer->children[1] = namespace;
    timer->length = FLINK_VARIABLE;
    out->key = key;
    for (int i = 0; i < 2; i++) {
        const char *prefix = i == 0 ? "_timer_state/event_" : "_timer_state/processing_";

        out->states[out->count++] = (struct flink_state){
            .name = bytes_of_str(arena_printf(arena, "%s%s", prefix, (const char *)name.data)),
            .kind = FLINK_STATE_TIMERS,
            .value = timer,
            .raw_name = join_text(arena, prefix, name_raw),
            .raw_key = snapshots[0],
            .raw_namespace = snapshots[1]};
    }
    return RC_OK;
}

static enum rc begin_raw_group(struct flink_input *in, uint32_t *services, struct err *err)
{
    struct bytes b;

    RETURN_IF_ERR(flink_input_take(in, 8, &b, "mark of raw timers", err));
    if (get_be32(b.data) != RAW_MARK)
        return err_set(err, RC_UNSUPPORTED,
                       "%s: raw keyed state that is no timers': only its operator can read it",
                       flink_input_name(in));
    if (get_be32(b.data + 4) != RAW_VERSION)
        return err_set(err, RC_VERSION, "%s: raw timers of version %u, %u is read",
                       flink_input_name(in), get_be32(b.data + 4), RAW_VERSION);
    RETURN_IF_ERR(take_count(in, services, "number of timer services", err));
    if (*services > SERVICES_MAX)
        return err_set(err, RC_LIMIT, "%s: %u timer services, at most %u are read",
                       flink_input_name(in), *services, SERVICES_MAX);
    return RC_OK;
}

/* Over the timers of a service, to what stands behind them. */
static enum rc skip_timers(struct flink_reader *r, const struct flink_state *state,
                           struct arena *scratch, struct err *err)
{
    struct buf unused = {0};
    struct bytes time;
    uint32_t count;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(take_count(r->in, &count, "number of timers", err));
    for (uint32_t i = 0; i < count; i++) {
        buf_clear(&unused);
        arena_reset(scratch);
        for (int k = 0; k < 2; k++)
            GOTO_IF_ERR(
                flink_form_value(r->in, state->value->children[k], scratch, &unused, NULL, err));
        GOTO_IF_ERR(flink_input_take(r->in, 8, &time, "time", err));
    }
out:
    buf_release(&unused);
    return rc;
}

/* The key groups of a stream have the same services: those of the first one that has any. */
enum rc flink_form_raw_states(struct flink_reader *r, struct err *err)
{
    struct arena *scratch = arena_new(0);
    enum rc rc = RC_OK;

    for (uint32_t i = 0; i < r->groups->range.count && r->states.count == 0 && rc == RC_OK; i++) {
        uint32_t services;
        bool there;

        GOTO_IF_ERR(flink_form_seek(r, r->groups->range.first + i, &there, err));
        if (!there)
            continue;
        GOTO_IF_ERR(begin_raw_group(r->in, &services, err));
        r->states.states = ARENA_ARRAY(r->arena, 2 * (size_t)services + 1, struct flink_state);
        for (uint32_t k = 0; k < services; k++) {
            GOTO_IF_ERR(read_service(r->in, r->arena, &r->states, err));
            for (size_t n = r->states.count - 2; n < r->states.count; n++)
                GOTO_IF_ERR(skip_timers(r, &r->states.states[n], scratch, err));
        }
    }
out:
    arena_free(scratch);
    return rc;
}

/* key | namespace | time -> time | key | namespace */
static enum rc raw_timer(struct flink_scan *s, const struct flink_state *state, struct err *err)
{
    struct flink_input *in = s->reader->in;
    size_t prefix_len = s->reader->prefix_len;
    struct bytes time;

    s->entries_left--;
    buf_clear(&s->key);
    buf_clear(&s->value);
    arena_reset(s->arena);
    buf_reserve(&s->key, prefix_len + 8);
    s->key.len = prefix_len + 8;
    keygroup_put_prefix(s->key.data, (uint32_t)prefix_len, s->group);
    for (int k = 0; k < 2; k++)
        RETURN_IF_ERR(
            flink_form_value(in, state->value->children[k], s->arena, &s->key, NULL, err));
    RETURN_IF_ERR(flink_input_take(in, 8, &time, "time", err));
    put_be64(s->key.data + prefix_len, get_be64(time.data) ^ 1ull << 63);
    return RC_OK;
}

/* The timers of the next kind, or of the next service. */
static enum rc begin_raw_kind(struct flink_scan *s, struct err *err)
{
    struct flink_reader *r = s->reader;
    const struct flink_state *known;
    uint32_t count;

    if (s->raw_kind == 0) {
        struct flink_state room[2];
        struct flink_states service = {.states = room};

        arena_reset(s->arena);
        RETURN_IF_ERR(read_service(r->in, s->arena, &service, err));
        known = flink_state_find(&r->states, room[0].name);
        if (known == NULL)
            return err_set(err, RC_CORRUPT, "%s: key group %u has a timer service of its own",
                           flink_input_name(r->in), s->group);
        s->entry_state = (size_t)(known - r->states.states);
        s->services_left--;
    } else {
        s->entry_state++;
    }
    s->entry_id = (uint16_t)s->entry_state;
    s->raw_kind = 1 - s->raw_kind;
    RETURN_IF_ERR(take_count(r->in, &count, "number of timers", err));
    s->entries_left = count;
    return RC_OK;
}

enum rc flink_form_raw_next(struct flink_scan *s, bool *more, struct err *err)
{
    uint32_t services;

    *more = false;
    if (!s->in_group) {
        RETURN_IF_ERR(begin_raw_group(s->reader->in, &services, err));
        s->services_left = services;
        s->raw_kind = 0;
        s->entries_left = 0;
        s->in_group = true;
    }
    while (s->entries_left == 0) {
        if (s->services_left == 0 && s->raw_kind == 0)
            return RC_OK;
        RETURN_IF_ERR(begin_raw_kind(s, err));
    }
    RETURN_IF_ERR(raw_timer(s, &s->reader->states.states[s->entry_state], err));
    *more = true;
    return RC_OK;
}
