/* links: backend */
/* Handles as bytes: what goes in comes out; nothing else comes out. */
#include "backend/handle_codec.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;
static struct err err;

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
}

static void teardown(void)
{
    arena_free(arena);
}

static struct state_desc states[] = {
    {"counts", STATE_VALUE, "K", "VOID", "", "V", 8, 0, "", 0},
    {"m\xc3\xa4p", STATE_MAP, "", "BYTES", "U", "", STATE_FIXED_BYTES_MAX, 1000, "append", 3},
};
static struct state_file rocks_files[] = {
    {.local_name = "000007.sst",
     .scope = FILE_SHARED,
     .path = "shared/x.sst",
     .size_bytes = 1234567890123,
     .newly_written = true},
    {.local_name = "MANIFEST-000004",
     .scope = FILE_EXCLUSIVE,
     .path = "own/y.bin",
     .size_bytes = 9},
    {.local_name = "CURRENT",
     .scope = FILE_INLINE,
     .inline_bytes = {(const uint8_t *)"abc", 3},
     .size_bytes = 3},
};
static uint64_t offsets[] = {40, 40, 1000};

static struct keyed_handle rocks_handle(void)
{
    return (struct keyed_handle){.kind = KEYED_ROCKS,
                                 .range = {3, 5},
                                 .key_group_count = 128,
                                 .backend_id = "0123456789abcdef0123456789abcdef",
                                 .state_count = 2,
                                 .states = states,
                                 .file_count = 3,
                                 .files = rocks_files,
                                 .ttl_clock_ms = -5};
}

static struct keyed_handle stream_handle(void)
{
    struct keyed_handle h = rocks_handle();

    h.kind = KEYED_STREAM;
    h.files = &rocks_files[1];
    h.file_count = 1;
    h.group_offsets = offsets;
    h.group_offset_count = 3;
    h.entry_count = UINT64_MAX;
    return h;
}

static void expect_same_file(const struct state_file *a, const struct state_file *b)
{
    ck_assert_str_eq(a->local_name, b->local_name);
    ck_assert_int_eq(a->scope, b->scope);
    ck_assert(a->path == NULL ? b->path == NULL : strcmp(a->path, b->path) == 0);
    ck_assert_bytes_eq(a->inline_bytes, b->inline_bytes);
    ck_assert_uint_eq(a->size_bytes, b->size_bytes);
    ck_assert(digest_eq(a->digest, b->digest));
    ck_assert_int_eq(a->newly_written, b->newly_written);
}

START_TEST(a_decoded_handle_is_the_encoded_one)
{
    struct keyed_handle h = _i == 0 ? rocks_handle() : stream_handle(), got;
    struct buf bytes = {0};

    rocks_files[0].digest = digest_of(bytes_of_str("x"));
    handle_encode(&h, &bytes);
    ck_assert_ok(handle_decode(buf_bytes(&bytes), arena, &got, &err));
    memset(bytes.data, 0xAA, bytes.len); /* nothing is borrowed */
    buf_release(&bytes);
    ck_assert_int_eq(got.kind, h.kind);
    ck_assert_uint_eq(got.range.first, 3);
    ck_assert_uint_eq(got.range.last, 5);
    ck_assert_uint_eq(got.key_group_count, 128);
    ck_assert_str_eq(got.backend_id, h.backend_id);
    ck_assert_uint_eq(got.entry_count, h.entry_count);
    ck_assert_int_eq(got.ttl_clock_ms, -5);
    ck_assert_uint_eq(got.state_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct state_desc *a = &got.states[i], *b = &states[i];

        ck_assert_str_eq(a->name, b->name);
        ck_assert_int_eq(a->kind, b->kind);
        ck_assert_str_eq(a->key_type, b->key_type);
        ck_assert_str_eq(a->namespace_type, b->namespace_type);
        ck_assert_str_eq(a->user_key_type, b->user_key_type);
        ck_assert_str_eq(a->value_type, b->value_type);
        ck_assert_uint_eq(a->fixed_value_bytes, b->fixed_value_bytes);
        ck_assert_uint_eq(a->ttl_ms, b->ttl_ms);
        ck_assert_str_eq(a->operand_operator, b->operand_operator);
        ck_assert_uint_eq(a->operand_version, b->operand_version);
    }
    ck_assert_uint_eq(got.file_count, h.file_count);
    for (size_t i = 0; i < h.file_count; i++)
        expect_same_file(&got.files[i], &h.files[i]);
    ck_assert_uint_eq(got.group_offset_count, h.group_offset_count);
    for (size_t i = 0; i < h.group_offset_count; i++)
        ck_assert_uint_eq(got.group_offsets[i], offsets[i]);
}
END_TEST

/* No byte is without a guard, and no length. */
START_TEST(every_flip_and_every_cut_is_seen)
{
    struct keyed_handle h = _i == 0 ? rocks_handle() : stream_handle(), got;
    struct buf bytes = {0};

    handle_encode(&h, &bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        enum rc rc;

        ck_assert_rc(handle_decode(bytes_of(bytes.data, i), arena, &got, &err), RC_CORRUPT);
        bytes.data[i] ^= 0x40;
        rc = handle_decode(buf_bytes(&bytes), arena, &got, &err);
        ck_assert_msg(rc == RC_CORRUPT || rc == RC_VERSION, "byte %zu: %s", i, rc_name(rc));
        err_clear(&err);
        bytes.data[i] ^= 0x40;
    }
    buf_append_u8(&bytes, 0);
    ck_assert_rc(handle_decode(buf_bytes(&bytes), arena, &got, &err), RC_CORRUPT);
    buf_release(&bytes);
}
END_TEST

/* Someone made the digest fit: each rule is looked at for itself. */
static void change(struct keyed_handle *h, int i)
{
    static struct state_desc one;
    static struct state_file file;
    static struct state_desc twins[2];
    static char long_text[HANDLE_TEXT_MAX + 2];
    static uint64_t far[] = {UINT64_MAX / 2, UINT64_MAX - 10, UINT64_MAX};

    one = states[0];
    file = rocks_files[2];
    h->state_count = 1;
    h->states = &one;
    memset(long_text, 'x', sizeof long_text - 1);
    switch (i) {
    case 0:
        h->kind = (enum keyed_handle_kind)3;
        break;
    case 1:
        h->key_group_count = 0;
        break;
    case 2:
        h->key_group_count = KEY_GROUP_COUNT_MAX + 1;
        break;
    case 3:
        h->range.last = 128;
        break;
    case 4:
        h->range.first = 6;
        break;
    case 5:
        one.name = "";
        break;
    case 6:
        one.kind = (enum state_kind)7;
        break;
    case 7:
        one.value_type = long_text;
        break;
    case 8:
        one.fixed_value_bytes = STATE_FIXED_BYTES_MAX + 1;
        break;
    case 9:
        one.ttl_ms = UINT64_MAX;
        break;
    case 10:
        twins[0] = twins[1] = one;
        h->states = twins;
        h->state_count = 2;
        break;
    case 11:
        h->files = &file;
        h->file_count = 1;
        file.size_bytes = 4;
        break;
    case 12:
        h->files = &file;
        h->file_count = 1;
        file.scope = FILE_SHARED; /* without a path */
        break;
    case 13:
        h->kind = KEYED_STREAM; /* with three files */
        break;
    case 14:
        *h = stream_handle();
        h->group_offset_count = 2;
        break;
    case 15:
        *h = stream_handle();
        h->group_offsets = far;
        break;
    case 16:
        h->group_offsets = offsets; /* of a database */
        h->group_offset_count = 3;
        break;
    default:
        h->backend_id = "";
    }
}

START_TEST(what_breaks_a_rule_is_refused)
{
    struct keyed_handle h = rocks_handle(), got;
    struct buf bytes = {0};

    change(&h, _i);
    handle_encode(&h, &bytes);
    ck_assert_rc(handle_decode(buf_bytes(&bytes), arena, &got, &err), RC_CORRUPT);
    buf_release(&bytes);
}
END_TEST

/* A length of a billion in a few bytes takes no memory. */
START_TEST(counts_are_held_against_the_bytes_that_are_there)
{
    struct keyed_handle h = rocks_handle(), got;
    struct buf bytes = {0}, lie = {0};

    h.state_count = 0;
    h.file_count = 0;
    handle_encode(&h, &bytes);
    /* kind, 128 groups in 2 bytes, 3, 5, id of 1 + 32, entries, clock; then the states */
    buf_append(&lie, bytes.data, 48 + 5 + 33 + 1 + 8);
    buf_append_varint(&lie, 4000);
    put_le64(lie.data + 16, lie.len - 48);
    memcpy(lie.data + 24, digest_of(bytes_of(lie.data + 48, lie.len - 48)).b, 16);
    put_le64(lie.data + 40, hash64(bytes_of(lie.data, 40)));
    ck_assert_rc_msg(handle_decode(buf_bytes(&lie), arena, &got, &err), RC_CORRUPT,
                     "states 4000 do not fit in 0 bytes");
    buf_release(&bytes);
    buf_release(&lie);
}
END_TEST

/* docs/FORMAT.md shows these bytes. */
START_TEST(the_bytes_are_those_of_the_format)
{
    struct keyed_handle h = rocks_handle();
    struct buf bytes = {0};
    struct bytes body;

    h.states = states;
    h.state_count = 1;
    h.files = &rocks_files[2];
    h.file_count = 1;
    handle_encode(&h, &bytes);
    ck_assert_mem_eq(bytes.data, "VARVEHDL\1\0\0\0\0\0\0\0", 16);
    body = bytes_of(bytes.data + 48, bytes.len - 48);
    ck_assert_uint_eq(get_le64(bytes.data + 16), body.len);
    ck_assert_bytes_eq(bytes_of(body.data, 5), bytes_of("\1\x80\1\3\5", 5));
    ck_assert_bytes_eq(bytes_of(body.data + 38, 9),
                       bytes_of("\0\xFB\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9));
    ck_assert_bytes_eq(bytes_of(body.data + 47, 22),
                       bytes_of("\1\6counts\1\1K\4VOID\0\1V\x08\0\0\0", 22));
    ck_assert_bytes_eq(bytes_of(body.data + 69, 16), bytes_of("\0\1\7CURRENT\0\3abc\3", 16));
    ck_assert_bytes_eq(bytes_of(body.data + 85 + 16, 2), bytes_of("\0\0", 2));
    ck_assert_uint_eq(body.len, 103);
    buf_release(&bytes);
}
END_TEST

TEST_MAIN("handle_codec", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_decoded_handle_is_the_encoded_one, 0, 2);
    tcase_add_loop_test(tc, every_flip_and_every_cut_is_seen, 0, 2);
    tcase_add_loop_test(tc, what_breaks_a_rule_is_refused, 0, 18);
    tcase_add_test(tc, counts_are_held_against_the_bytes_that_are_there);
    tcase_add_test(tc, the_bytes_are_those_of_the_format);
})
