/* flink_keyed.c - see flink_keyed.h */
#include "checkpoint/flink/flink_keyed.h"

#include "backend/foreign_db.h"
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_keyed_priv.h"

#include <inttypes.h>
#include <stdlib.h>

#define VALUE_BYTES_FIRST 64u

/* ---- values without a length ----------------------------------------------------------------- */

enum rc flink_form_value(struct flink_input *in, const struct flink_serializer *s,
                         struct arena *arena, struct buf *out, struct flink_value *value,
                         struct err *err)
{
    struct flink_decoder d = {.arena = arena, .open_ended = true};
    size_t want = VALUE_BYTES_FIRST;
    struct flink_value unused;
    struct bytes shown;
    struct reader r;
    enum rc rc;

    for (;; want = shown.len < FLINK_WANT_MAX / 2 ? 2 * shown.len : FLINK_WANT_MAX) {
        struct err why = {0};

        RETURN_IF_ERR(flink_input_want(in, want, &shown, err));
        reader_init(&r, shown, flink_input_name(in));
        d.r = &r;
        rc = flink_value_read(&d, s, value == NULL ? &unused : value, &why);
        if (rc == RC_OK)
            break;
        if (!r.failed || shown.len < want || want == FLINK_WANT_MAX)
            return err_set(err, rc, "%s (offsets count from %" PRIu64 ")", why.msg,
                           flink_input_offset(in));
    }
    buf_append(out, shown.data, r.pos);
    flink_input_skip(in, r.pos);
    return RC_OK;
}

/* ---- streams --------------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Where each key group's bytes end at the latest: where the next one's begin. */
static void find_ends(struct flink_reader *r)
{
    uint32_t count = r->groups->range.count;
    uint64_t *sorted = ARENA_ARRAY(r->arena, count + 1, uint64_t), size = flink_input_size(r->in);

    r->ends = ARENA_ARRAY(r->arena, count + 1, uint64_t);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = r->groups->offsets[i] < 0 ? 0 : (uint64_t)r->groups->offsets[i];
    qsort(sorted, count, sizeof *sorted, by_offset);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = r->groups->offsets[i] < 0 ? 0 : (uint64_t)r->groups->offsets[i];
        size_t low = 0, high = count;

        while (low < high) { /* the first that is greater */
            size_t middle = (low + high) / 2;

            if (sorted[middle] <= at)
                low = middle + 1;
            else
                high = middle;
        }
        r->ends[i] = low < count ? sorted[low] : size;
    }
}

enum rc flink_form_seek(struct flink_reader *r, uint32_t group, bool *there, struct err *err)
{
    uint32_t i = group - r->groups->range.first;
    int64_t at = r->groups->offsets[i];
    bool heap = r->form == FLINK_FORM_HEAP;

    *there = r->form == FLINK_FORM_RAW_TIMERS ? at >= 0 : at > 0;
    if (!*there)
        return RC_OK;
    return flink_input_seek(r->in, (uint64_t)at, r->ends[i], r->states.compressed && !heap, err);
}

/* A heap's key groups begin with their numbers; canonical ones with a state's, or Snappy's mark. */
static enum rc tell_layout(struct flink_reader *r, struct err *err)
{
    const struct flink_groups *g = r->groups;

    r->form = FLINK_FORM_HEAP;
    for (uint32_t i = 0; i < g->range.count; i++) {
        uint32_t group = g->range.first + i;
        struct bytes shown;

        if (g->offsets[i] <= 0) {
            r->form = FLINK_FORM_CANONICAL; /* a heap leaves none out */
            return RC_OK;
        }
        if (group == 0)
            continue;
        RETURN_IF_ERR(
            flink_input_seek(r->in, (uint64_t)g->offsets[i], UINT64_MAX, false, err));
        RETURN_IF_ERR(flink_input_want(r->in, 4, &shown, err));
        if (shown.len < 4 || get_be32(shown.data) != group) {
            r->form = FLINK_FORM_CANONICAL;
            return RC_OK;
        }
    }
    return RC_OK;
}

static enum rc open_stream(struct flink_reader *r, struct err *err)
{
    const struct flink_stream *s = &r->groups->stream;

    if (s->tag == FLINK_STREAM_GROUPS)
        s = &s->groups->stream;
    RETURN_IF_ERR(
        flink_input_open(r->from.fs, s, flink_place(r->from.places, s), &r->in, err));
    find_ends(r);
    if (r->from.raw) {
        r->form = FLINK_FORM_RAW_TIMERS;
        return flink_form_raw_states(r, err);
    }
    RETURN_IF_ERR(flink_input_states(r->in, flink_states_keyed, r->arena, &r->states, err));
    if (r->from.handle->tag != FLINK_KEYED_SAVEPOINT)
        return tell_layout(r, err);
    r->form = FLINK_FORM_CANONICAL;
    return RC_OK;
}

const char *flink_keyed_word(enum flink_form form, const struct flink_state *s)
{
    return form == FLINK_FORM_RAW_TIMERS ? "TIMERS_IN_RAW_KEYED_STATE" : flink_state_word(s);
}

/* ---- open, close ----------------------------------------------------------------------------- */

static enum rc open_form(struct flink_reader *r, struct err *err)
{
    switch (r->from.handle->tag) {
    case FLINK_KEYED_INCREMENTAL:
    case FLINK_KEYED_INCREMENTAL_OLD:
        r->form = FLINK_FORM_DATABASE;
        return flink_form_database_states(r, err);
    case FLINK_KEYED_GROUPS:
    case FLINK_KEYED_GROUPS_OLD:
    case FLINK_KEYED_SAVEPOINT:
        r->groups = r->from.handle->groups;
        return open_stream(r, err);
    default:
        return err_set(err, RC_UNSUPPORTED, "keyed state of form %d is no state by itself",
                       (int)r->from.handle->tag);
    }
}

enum rc flink_reader_open(const struct flink_keyed_source *from, struct flink_reader **out,
                          struct err *err)
{
    struct flink_reader *r = mem_calloc(1, sizeof *r);
    enum rc rc;

    r->from = *from;
    r->own_arena = from->arena == NULL ? arena_new(0) : NULL;
    r->arena = from->arena == NULL ? r->own_arena : from->arena;
    r->prefix_len = keygroup_prefix_len(from->key_group_count);
    rc = open_form(r, err);
    if (rc != RC_OK) {
        flink_reader_close(r);
        return rc;
    }
    *out = r;
    return RC_OK;
}

void flink_reader_close(struct flink_reader *r)
{
    if (r == NULL)
        return;
    flink_form_close_database(r);
    flink_input_close(r->in);
    arena_free(r->own_arena);
    mem_free(r);
}

enum flink_form flink_reader_form(const struct flink_reader *r)
{
    return r->form;
}

const struct flink_states *flink_reader_states(const struct flink_reader *r)
{
    return &r->states;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static struct flink_scan *scan_new(struct flink_reader *r, size_t state,
                                   struct key_group_range groups, struct bytes prefix)
{
    struct flink_scan *s = mem_calloc(1, sizeof *s);
    const struct flink_range *range = &r->from.handle->range;

    s->reader = r;
    s->state = state;
    s->range = key_group_range_meet(
        groups, (struct key_group_range){range->first, range->first + range->count - 1});
    if (prefix.len >= r->prefix_len) {
        uint32_t group = keygroup_get_prefix(prefix.data, r->prefix_len);

        s->range = key_group_range_meet(s->range, (struct key_group_range){group, group});
    }
    s->next_group = s->range.first;
    s->arena = arena_new(0);
    buf_append(&s->prefix, prefix.data, prefix.len);
    return s;
}

enum rc flink_scan_open(struct flink_reader *r, size_t state, struct key_group_range groups,
                        struct bytes prefix, struct flink_scan **out, struct err *err)
{
    struct flink_scan *s = scan_new(r, state, groups, prefix);
    enum rc rc = RC_OK;

    ASSERT(state < r->states.count ||
           (state == FLINK_ALL_STATES && r->form != FLINK_FORM_DATABASE));
    if (r->form == FLINK_FORM_DATABASE)
        rc = flink_form_open_database(r, err);
    if (rc == RC_OK && r->form == FLINK_FORM_DATABASE)
        rc = foreign_scan_open(r->db, (const char *)r->states.states[state].name.data, s->range,
                               r->prefix_len, prefix, &s->db, err);
    if (rc != RC_OK) {
        flink_scan_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

enum rc flink_scan_open_outside(struct flink_reader *r, size_t state, bool above,
                                struct flink_scan **out, struct err *err)
{
    const struct flink_range *range = &r->from.handle->range;
    struct key_group_range outside = {0, range->first - 1};
    struct flink_scan *s;
    enum rc rc;

    ASSERT(r->form == FLINK_FORM_DATABASE && state < r->states.count);
    if (above)
        outside = (struct key_group_range){range->first + range->count,
                                           (1u << (8 * r->prefix_len)) - 1};
    else if (range->first == 0)
        outside = (struct key_group_range){1, 0}; /* nothing */
    s = scan_new(r, state, outside, (struct bytes){0});
    rc = flink_form_open_database(r, err);
    if (rc == RC_OK)
        rc = foreign_scan_open(r->db, (const char *)r->states.states[state].name.data, outside,
                               r->prefix_len, (struct bytes){0}, &s->db, err);
    if (rc != RC_OK) {
        flink_scan_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

const char *flink_reader_file_of(struct flink_reader *r, size_t state, struct bytes key)
{
    const struct flink_stream *s;

    if (r->form == FLINK_FORM_DATABASE)
        return flink_form_database_file_of(r, (const char *)r->states.states[state].name.data, key);
    s = &r->groups->stream;
    return flink_place(r->from.places, s->tag == FLINK_STREAM_GROUPS ? &s->groups->stream : s);
}

enum rc flink_scan_open_all(struct flink_reader *r, struct key_group_range groups,
                            struct flink_scan **out, struct err *err)
{
    struct flink_scan *s;
    enum rc rc = RC_OK;

    if (r->states.cut != NULL && r->form != FLINK_FORM_CANONICAL)
        return err_set(err, RC_UNSUPPORTED, "%s", r->states.cut);
    s = scan_new(r, FLINK_ALL_STATES, groups, (struct bytes){0});
    s->unknown_too = true;
    if (r->form == FLINK_FORM_DATABASE)
        rc = flink_form_open_database(r, err);
    if (rc == RC_OK && r->form == FLINK_FORM_DATABASE)
        rc = flink_form_open_families(s, err);
    if (rc != RC_OK) {
        flink_scan_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

uint32_t flink_scan_group(const struct flink_scan *s)
{
    return s->group;
}

size_t flink_scan_state(const struct flink_scan *s)
{
    return s->state != FLINK_ALL_STATES ? s->state : s->entry_state;
}

uint32_t flink_scan_state_id(const struct flink_scan *s)
{
    return s->entry_id;
}

void flink_scan_close(struct flink_scan *s)
{
    if (s == NULL)
        return;
    flink_form_close_families(s);
    foreign_scan_close(s->db);
    buf_release(&s->prefix);
    buf_release(&s->key);
    buf_release(&s->value);
    arena_free(s->arena);
    mem_free(s);
}

/* The next entry of any state. */
static enum rc next_entry(struct flink_scan *s, bool *more, struct err *err)
{
    static flink_next_fn *const next[] = {
        [FLINK_FORM_CANONICAL] = flink_form_canonical_next,
        [FLINK_FORM_HEAP] = flink_form_heap_next,
        [FLINK_FORM_RAW_TIMERS] = flink_form_raw_next,
    };
    bool there;

    for (;;) {
        if (!s->in_group) {
            *more = s->range.first <= s->range.last && s->next_group <= s->range.last;
            if (!*more)
                return RC_OK;
            s->group = s->next_group++;
            RETURN_IF_ERR(flink_form_seek(s->reader, s->group, &there, err));
            if (!there)
                continue;
        }
        RETURN_IF_ERR(next[s->reader->form](s, more, err));
        s->in_group = *more;
        if (*more)
            return RC_OK;
    }
}

static enum rc check_group(const struct flink_scan *s, struct bytes key, struct err *err)
{
    uint32_t prefix_len = s->reader->prefix_len;

    if (key.len < prefix_len)
        return err_set(err, RC_CORRUPT, "a key of %zu bytes has no key group", key.len);
    if (s->reader->form != FLINK_FORM_DATABASE &&
        keygroup_get_prefix(key.data, prefix_len) != s->group)
        return err_set(err, RC_CORRUPT, "%s: before offset %" PRIu64
                       ": an entry of key group %u lies in key group %u",
                       flink_input_name(s->reader->in), flink_input_offset(s->reader->in),
                       keygroup_get_prefix(key.data, prefix_len), s->group);
    return RC_OK;
}

enum rc flink_scan_next(struct flink_scan *s, struct bytes *key, struct bytes *value,
                        struct err *err)
{
    bool more;

    *key = *value = (struct bytes){0};
    if (s->families != NULL)
        return flink_form_next_of_families(s, key, value, err);
    if (s->reader->form == FLINK_FORM_DATABASE) {
        RETURN_IF_ERR(foreign_scan_next(s->db, key, value, err));
        return key->data == NULL ? RC_OK : check_group(s, *key, err);
    }
    for (;;) {
        RETURN_IF_ERR(next_entry(s, &more, err));
        if (!more)
            return RC_OK;
        RETURN_IF_ERR(check_group(s, buf_bytes(&s->key), err));
        if (s->entry_state == FLINK_STATE_UNKNOWN
                ? !s->unknown_too
                : s->state != FLINK_ALL_STATES && s->entry_state != s->state)
            continue;
        if (!bytes_start_with(buf_bytes(&s->key), buf_bytes(&s->prefix)))
            continue;
        buf_reserve(&s->value, 1); /* an empty value has an address too */
        *key = buf_bytes(&s->key);
        *value = buf_bytes(&s->value);
        return RC_OK;
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* All states at once: they lie mixed. */
static enum rc count_stream(struct flink_reader *r, struct flink_size *sizes, struct err *err)
{
    struct flink_scan *s =
        scan_new(r, FLINK_ALL_STATES, (struct key_group_range){0, UINT32_MAX}, (struct bytes){0});
    struct bytes key, value;
    enum rc rc;

    for (;;) {
        GOTO_IF_ERR(flink_scan_next(s, &key, &value, err));
        if (key.data == NULL)
            break;
        sizes[s->entry_state].entries++;
        sizes[s->entry_state].key_bytes += key.len;
        sizes[s->entry_state].value_bytes += value.len;
    }
out:
    flink_scan_close(s);
    return rc;
}

enum rc flink_reader_sizes(struct flink_reader *r, struct flink_size *sizes, struct err *err)
{
    for (size_t i = 0; i < r->states.count; i++)
        sizes[i] = (struct flink_size){.exact = true};
    if (r->form != FLINK_FORM_DATABASE)
        return count_stream(r, sizes, err);
    RETURN_IF_ERR(flink_form_open_database(r, err));
    for (size_t i = 0; i < r->states.count; i++) {
        struct foreign_size about;

        RETURN_IF_ERR(foreign_db_size(r->db, (const char *)r->states.states[i].name.data, &about,
                                      err));
        sizes[i] = (struct flink_size){about.entries, about.key_bytes, about.value_bytes,
                                       about.entries == 0};
    }
    return RC_OK;
}
