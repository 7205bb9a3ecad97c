/* links: checkpoint */
/* Streams of keyed state, made by hand: every form gives the same entries, and what is cut or wrong in
 * one is refused with stream and offset. Flink's own are read by tests/e2e/flink_state.py. */
#include "checkpoint/flink/flink_keyed.h"
#include "checkpoint/flink/flink_key.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/flink_bytes.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static void put_record(struct buf *b, void (*put)(struct buf *))
{
    buf_append_be32(b, 2);
    put(b);
}
static void put_string(struct buf *b) { flink_simple(b, "String"); }
static void put_int(struct buf *b) { flink_simple(b, "Int"); }
static void put_void(struct buf *b)
{
    flink_class(b, "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", 3);
}
static void put_list(struct buf *b)
{
    flink_composite(b, FLINK_BASE "ListSerializerSnapshot", 1);
    flink_nested(b, 1);
    put_string(b);
}
static void put_map(struct buf *b)
{
    flink_composite(b, FLINK_BASE "MapSerializerSnapshot", 1);
    flink_nested(b, 2);
    put_string(b);
    put_int(b);
}
static void put_timer(struct buf *b)
{
    flink_composite(b, "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot", 2);
    flink_nested(b, 2);
    put_string(b);
    put_void(b);
}

static void put_state(struct buf *b, const char *name, uint32_t kind, const char *type,
                      void (*namespace)(struct buf *), void (*value)(struct buf *))
{
    flink_utf(b, name);
    buf_append_be32(b, kind);
    buf_append_be32(b, type == NULL ? 0 : 1);
    if (type != NULL) {
        flink_utf(b, "KEYED_STATE_TYPE");
        flink_utf(b, type);
    }
    buf_append_be32(b, namespace == NULL ? 1 : 2);
    flink_utf(b, "VALUE_SERIALIZER");
    put_record(b, value);
    if (namespace == NULL)
        return;
    flink_utf(b, "NAMESPACE_SERIALIZER");
    put_record(b, namespace);
}

enum { VALUE, LIST, MAP, TIMERS, STATES };
/* String keys; void namespaces, or texts where the lengths are needed. */
static void (*put_third)(struct buf *); /* the map's serializer; NULL: it is one */
static void put_header(struct buf *b, bool compressed, void (*namespace)(struct buf *))
{
    buf_append_be32(b, 6);
    buf_append_u8(b, compressed);
    put_record(b, put_string);
    buf_append_be16(b, STATES);
    put_state(b, "v", 0, "VALUE", namespace, put_int);
    put_state(b, "l", 0, "LIST", namespace, put_list);
    put_state(b, "m", 0, "MAP", namespace, put_third == NULL ? put_map : put_third);
    put_state(b, "_timer_state/event_t", 3, NULL, NULL, put_timer);
}

static void put_hex(struct buf *b, const char *hex)
{
    for (; hex[0] != '\0'; hex += hex[0] == ' ' ? 1 : 2) {
        char two[3] = {hex[0], hex[1], '\0'};

        if (hex[0] != ' ')
            buf_append_u8(b, (uint8_t)strtoul(two, NULL, 16));
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct flink_groups groups;
static struct flink_keyed handle;
static int64_t offsets[4];

/* Key groups 4..6 of 128. */
static struct flink_keyed_source source_of(struct buf *stream, enum flink_keyed_tag tag, bool raw)
{
    groups = (struct flink_groups){.range = {4, 3}, .offsets = offsets};
    groups.stream = (struct flink_stream){.tag = FLINK_STREAM_BYTES,
                                          .path = bytes_of_str("name"),
                                          .data = buf_bytes(stream),
                                          .size = (int64_t)stream->len};
    handle = (struct flink_keyed){.tag = tag, .range = groups.range, .groups = &groups};
    return (struct flink_keyed_source){.fs = fs_posix(),
                                       .places = flink_places_new(fs_posix(), NULL, "/none", NULL, arena),
                                       .scratch_dir = "/none",
                                       .handle = &handle,
                                       .raw = raw,
                                       .key_group_count = 128};
}

static void hex_of(struct bytes b, struct buf *out)
{
    for (size_t i = 0; i < b.len; i++)
        buf_printf(out, "%02x", b.data[i]);
}

/* "key=value key=value" in hex, of a state's entries. */
static enum rc read_state(const struct flink_keyed_source *from, const char *name, struct buf *out,
                          struct err *err)
{
    const struct flink_states *states;
    const struct flink_state *s;
    struct flink_reader *r;
    struct flink_scan *scan = NULL;
    struct bytes key, value;
    enum rc rc;

    buf_clear(out);
    RETURN_IF_ERR(flink_reader_open(from, &r, err));
    states = flink_reader_states(r);
    s = flink_state_find(states, bytes_of_str(name));
    ck_assert_ptr_nonnull(s);
    GOTO_IF_ERR(flink_scan_open(r, (size_t)(s - states->states), (struct key_group_range){0, 127},
                                (struct bytes){0}, &scan, err));
    for (;;) {
        GOTO_IF_ERR(flink_scan_next(scan, &key, &value, err));
        if (key.data == NULL)
            break;
        buf_append_str(out, out->len > 0 ? " " : "");
        hex_of(key, out);
        buf_append_str(out, "=");
        hex_of(value, out);
    }
out:
    flink_scan_close(scan);
    flink_reader_close(r);
    return rc;
}

static void check_states(const struct flink_keyed_source *from, const char *const want[STATES])
{
    static const char *const names[] = {"v", "l", "m", "_timer_state/event_t"};
    struct buf got = {0};

    for (int i = 0; i < STATES; i++) {
        struct err err = {0};

        ck_assert_ok(read_state(from, names[i], &got, &err));
        ck_assert_str_eq(buf_cstr(&got), want[i]);
    }
    buf_release(&got);
}

/* Group 4: "a" has 7, ["x", ","], {"p": 1, "q": null}, a timer at 5. Group 6: "b" has 8 and {"r": 2}. */
static const char *const entries[STATES] = {
    "04026100=00000007 06026200=00000008",
    "04026100=02782c022c",
    "040261000270=0000000001 040261000271=01 060262000272=0000000002",
    "048000000000000005026100=",
};

static void put_canonical(struct buf *b)
{
    put_header(b, false, put_void);
    offsets[0] = (int64_t)b->len;
    put_hex(b, "0000 00000004 84026100 00000004 00000007"
               "0001 00000004 84026100 00000005 02782c022c"
               "0002 00000006 040261000270 00000005 0000000001 00000006 840261000271 00000001 01"
               "0003 0000000c 848000000000000005026100 00000000 ffff");
    offsets[1] = 0;
    offsets[2] = (int64_t)b->len;
    put_hex(b, "0000 00000004 86026200 00000004 00000008"
               "0002 00000006 860262000272 00000005 0000000002 ffff");
}

/* The same, an empty list and an empty map besides, which other forms leave out; group 5 is empty. */
static void put_heap(struct buf *b)
{
    put_header(b, false, put_void);
    offsets[0] = (int64_t)b->len;
    put_hex(b, "00000004 0000 00000001 00 0261 00000007"
               "0001 00000002 00 0261 00000002 0278 022c 00 0263 00000000"
               "0002 00000001 00 0261 00000002 0270 00 00000001 0271 01"
               "0003 00000001 8000000000000005 0261 00");
    offsets[1] = (int64_t)b->len;
    put_hex(b, "00000005 0000 00000000 0001 00000000 0002 00000000 0003 00000000");
    offsets[2] = (int64_t)b->len;
    put_hex(b, "00000006 0000 00000001 00 0262 00000008 0001 00000000"
               "0002 00000002 00 0263 00000000 00 0262 00000001 0272 00 00000002 0003 00000000");
}

START_TEST(canonical_stream_is_read)
{
    struct buf b = {0};
    struct flink_keyed_source from;

    put_canonical(&b);
    from = source_of(&b, FLINK_KEYED_SAVEPOINT, false);
    check_states(&from, entries);
    buf_release(&b);
}
END_TEST

/* Full checkpoints of RocksDB before Flink 1.15 have the tag of a heap's. */
START_TEST(canonical_stream_is_told_from_a_heap_checkpoint)
{
    struct buf b = {0};
    struct flink_keyed_source from;

    put_canonical(&b);
    from = source_of(&b, FLINK_KEYED_GROUPS, false);
    check_states(&from, entries);
    buf_release(&b);
}
END_TEST

START_TEST(heap_checkpoint_gives_the_entries_of_a_savepoint)
{
    struct buf b = {0};
    struct flink_keyed_source from;

    put_heap(&b);
    from = source_of(&b, FLINK_KEYED_GROUPS, false);
    check_states(&from, entries);
    buf_release(&b);
}
END_TEST

/* Key and namespace of no fixed length: both lengths stand in the composite key that is made. */
START_TEST(lengths_are_written_where_neither_part_has_a_fixed_one)
{
    struct flink_keyed_source from;
    struct flink_states states;
    struct flink_key key;
    struct reader r;
    struct buf b = {0}, got = {0};
    struct err err = {0};

    put_header(&b, false, put_string);
    offsets[0] = (int64_t)b.len;
    put_hex(&b, "00000004 0000 00000001 046e7330 046b3137 000105c9 0001 00000000 0002 00000000 0003 00000000");
    for (int g = 5; g < 7; g++) {
        offsets[g - 4] = (int64_t)b.len;
        put_hex(&b, g == 5 ? "00000005" : "00000006");
        put_hex(&b, "0000 00000000 0001 00000000 0002 00000000 0003 00000000");
    }
    from = source_of(&b, FLINK_KEYED_GROUPS, false);
    ck_assert_ok(read_state(&from, "v", &got, &err));
    ck_assert_str_eq(buf_cstr(&got), "04046b313704046e733004=000105c9");

    reader_init(&r, buf_bytes(&b), "header");
    ck_assert_ok(flink_states_keyed(&r, arena, &states, &err));
    buf_clear(&got);
    put_hex(&got, "04 046b3137 04 046e7330 04");
    ck_assert_ok(flink_key_read(&states, &states.states[VALUE], 1, buf_bytes(&got), arena, &key, &err));
    ck_assert_bytes_eq(key.key.text, bytes_of_str("k17"));
    ck_assert_bytes_eq(key.namespace.text, bytes_of_str("ns0"));
    got.data[5] = 5; /* another length of the key */
    ck_assert_rc_msg(flink_key_read(&states, &states.states[VALUE], 1, buf_bytes(&got), arena, &key, &err), RC_CORRUPT,
                     "length of the key");
    buf_release(&b);
    buf_release(&got);
}
END_TEST

/* Lists have no namespace, which readers of keys take for granted (found by fuzz_flink_prove). */
START_TEST(operator_state_among_keyed_state_is_refused)
{
    struct flink_states states;
    struct reader r;
    struct buf b = {0};
    struct err err = {0};
    uint8_t *kind;

    put_header(&b, false, put_void);
    kind = memmem(b.data, b.len, "\0\1v\0\0\0\0", 7);
    ck_assert_ptr_nonnull(kind);
    for (uint8_t k = 1; k <= 5; k += 1 + (k == 2)) {
        kind[6] = k;
        reader_init(&r, buf_bytes(&b), "header");
        if (k == 4) { /* as the asynchronous API has it */
            ck_assert_ok(flink_states_keyed(&r, arena, &states, &err));
            continue;
        }
        ck_assert_rc_msg(flink_states_keyed(&r, arena, &states, &err), RC_CORRUPT,
                         "among keyed state");
        err = (struct err){0};
    }
    buf_release(&b);
}
END_TEST

static void put_unknown(struct buf *b) /* with a body whose end nobody knows */
{
    flink_composite(b, "org.example.OwnSerializer$Snapshot", 1);
    buf_append_str(b, "a body");
}
static void put_assumed(struct buf *b) /* the same, but it does not say that it has a body */
{
    flink_class(b, "org.example.OwnSerializer$Snapshot", 1);
    buf_append_str(b, "a body of more than a few bytes");
}

/* States before an unknown serializer are read, whatever lies behind it. */
START_TEST(unknown_serializer_leaves_what_stands_before_it)
{
    static void (*const thirds[])(struct buf *) = {put_unknown, put_assumed};
    static const enum flink_keyed_tag tags[] = {FLINK_KEYED_SAVEPOINT, FLINK_KEYED_GROUPS};
    struct flink_keyed_source from;
    struct flink_reader *r;
    struct buf b = {0}, got = {0};
    struct err err = {0};
    bool heap = _i >= 2;

    put_third = thirds[_i % 2];
    if (heap)
        put_heap(&b);
    else
        put_canonical(&b);
    from = source_of(&b, tags[heap], false);
    ck_assert_ok(flink_reader_open(&from, &r, &err));
    ck_assert_uint_eq(flink_reader_states(r)->count, 2);
    ck_assert_ptr_nonnull(strstr(flink_reader_states(r)->cut, "org.example.OwnSerializer"));
    flink_reader_close(r);
    ck_assert_ok(read_state(&from, "v", &got, &err));
    ck_assert_str_eq(buf_cstr(&got), entries[VALUE]);
    ck_assert_ok(read_state(&from, "l", &got, &err));
    ck_assert_str_eq(buf_cstr(&got), entries[LIST]);
    buf_release(&b);
    buf_release(&got);
}
END_TEST

static void put_raw(struct buf *b)
{
    offsets[0] = (int64_t)b->len;
    put_hex(b, "f1cd859f 00000002 00000001");
    flink_utf(b, "t");
    put_string(b);
    put_void(b);
    put_hex(b, "00000001 0261 00 0000000000000005 00000002 0262 00 0000000000000006 0263 00 fffffffffffffff9");
    offsets[1] = -1;
    offsets[2] = (int64_t)b->len;
    put_hex(b, "f1cd859f 00000002 00000000");
}

START_TEST(raw_timers_look_like_timers)
{
    struct flink_keyed_source from;
    struct buf b = {0}, got = {0};
    struct err err = {0};

    put_raw(&b);
    from = source_of(&b, FLINK_KEYED_GROUPS, true);
    ck_assert_ok(read_state(&from, "_timer_state/event_t", &got, &err));
    ck_assert_str_eq(buf_cstr(&got), entries[TIMERS]);
    ck_assert_ok(read_state(&from, "_timer_state/processing_t", &got, &err));
    ck_assert_str_eq(buf_cstr(&got), "048000000000000006026200= 047ffffffffffffff9026300=");
    buf_release(&b);
    buf_release(&got);
}
END_TEST

START_TEST(raw_state_of_another_kind_is_refused)
{
    struct flink_keyed_source from;
    struct flink_reader *r;
    struct buf b = {0};
    struct err err = {0};

    put_raw(&b);
    b.data[0] = 0;
    from = source_of(&b, FLINK_KEYED_GROUPS, true);
    ck_assert_rc_msg(flink_reader_open(&from, &r, &err), RC_UNSUPPORTED, "only its operator");
    buf_release(&b);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

static enum rc read_one(struct flink_reader *r, size_t state, struct err *err)
{
    struct flink_scan *scan;
    struct bytes key, value;
    enum rc rc;

    RETURN_IF_ERR(flink_scan_open(r, state, (struct key_group_range){0, 127}, (struct bytes){0}, &scan, err));
    do
        rc = flink_scan_next(scan, &key, &value, err);
    while (rc == RC_OK && key.data != NULL);
    flink_scan_close(scan);
    return rc;
}

static enum rc read_everything(const struct flink_keyed_source *from, struct err *err)
{
    struct flink_reader *r;
    enum rc rc;

    RETURN_IF_ERR(flink_reader_open(from, &r, err));
    rc = flink_reader_states(r)->count == 0 ? err_set(err, RC_CORRUPT, "name: no states") : RC_OK;
    for (size_t i = 0; rc == RC_OK && i < flink_reader_states(r)->count; i++)
        rc = read_one(r, i, err);
    flink_reader_close(r);
    return rc;
}

static void (*const makers[])(struct buf *) = {put_canonical, put_heap, put_raw};

START_TEST(cut_stream_is_refused_at_every_length)
{
    static const enum flink_keyed_tag tags[] = {FLINK_KEYED_SAVEPOINT, FLINK_KEYED_GROUPS, FLINK_KEYED_GROUPS};
    struct buf b = {0};
    size_t whole;

    makers[_i](&b);
    whole = b.len;
    for (b.len = 0; b.len < whole; b.len++) {
        struct flink_keyed_source from = source_of(&b, tags[_i], _i == 2);
        struct err err = {0};
        enum rc rc = read_everything(&from, &err);

        ck_assert_msg(rc != RC_OK && strstr(err.msg, "name") != NULL, "%zu of %zu bytes: %s %s", b.len, whole, rc_name(rc), err.msg);
    }
    buf_release(&b);
}
END_TEST

START_TEST(entry_of_another_key_group_is_refused)
{
    struct flink_keyed_source from;
    struct buf b = {0};
    struct err err = {0};

    put_canonical(&b);
    b.data[offsets[2] + 6] = 0x85; /* the key's first byte */
    from = source_of(&b, FLINK_KEYED_SAVEPOINT, false);
    ck_assert_rc_msg(read_everything(&from, &err), RC_CORRUPT, "an entry of key group 5 lies in key group 6");
    buf_release(&b);
}
END_TEST

START_TEST(state_that_is_not_there_is_refused)
{
    struct flink_keyed_source from;
    struct buf b = {0};
    struct err err = {0};

    put_canonical(&b);
    b.data[offsets[2] + 1] = STATES;
    from = source_of(&b, FLINK_KEYED_SAVEPOINT, false);
    ck_assert_rc_msg(read_everything(&from, &err), RC_CORRUPT, "state 4 of 4");
    buf_release(&b);
}
END_TEST

TEST_MAIN("flink_keyed", tcase_add_checked_fixture(tc, setup, teardown); tcase_add_test(tc, canonical_stream_is_read);
          tcase_add_test(tc, canonical_stream_is_told_from_a_heap_checkpoint);
          tcase_add_test(tc, heap_checkpoint_gives_the_entries_of_a_savepoint);
          tcase_add_test(tc, lengths_are_written_where_neither_part_has_a_fixed_one);
          tcase_add_loop_test(tc, unknown_serializer_leaves_what_stands_before_it, 0, 4);
          tcase_add_test(tc, operator_state_among_keyed_state_is_refused);
          tcase_add_test(tc, raw_timers_look_like_timers); tcase_add_test(tc, raw_state_of_another_kind_is_refused);
          tcase_add_loop_test(tc, cut_stream_is_refused_at_every_length, 0, 3);
          tcase_add_test(tc, entry_of_another_key_group_is_refused); tcase_add_test(tc, state_that_is_not_there_is_refused))
