/* links: backend */
#include "backend/value_pack.h"
#include "base/arena.h"
#include "base/rng.h"
#include "tests/lib/check_ext.h"

/* Packed, in memory of its own so that a sanitizer sees writes and reads behind it; len 0: it does
 * not become shorter. */
static struct bytes packed_of(struct value_shape s, const uint8_t *value)
{
    uint8_t *room = mem_alloc(value_pack_room(s)), *exact;
    size_t len = value_pack(s, value, room);

    exact = mem_alloc(len + 1);
    memcpy(exact, room, len);
    mem_free(room);
    return bytes_of(mem_realloc(exact, len == 0 ? 1 : len), len);
}

static void packed_free(struct bytes b)
{
    mem_free((void *)(uintptr_t)b.data);
}

static bool unpacks_to(struct value_shape s, struct bytes stored, const uint8_t *value)
{
    uint8_t *out = mem_alloc(s.bytes);
    bool same = value_unpack(s, stored, out) && memcmp(out, value, s.bytes) == 0;

    mem_free(out);
    return same;
}

static bool unpacks(struct value_shape s, const uint8_t *stored, size_t len)
{
    uint8_t *exact = mem_alloc(len + 1), *out = mem_alloc(s.bytes);
    bool ok;

    memcpy(exact, stored, len);
    exact = mem_realloc(exact, len == 0 ? 1 : len);
    ok = value_unpack(s, bytes_of(exact, len), out);
    mem_free(exact);
    mem_free(out);
    return ok;
}

static void check_round_trip(struct value_shape s, const uint8_t *value)
{
    struct bytes packed = packed_of(s, value);

    ck_assert(unpacks_to(s, bytes_of(value, s.bytes), value)); /* plain, as older versions wrote */
    if (packed.len > 0) {
        ck_assert_uint_lt(packed.len, s.bytes);
        ck_assert(unpacks_to(s, packed, value));
    }
    packed_free(packed);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct {
    uint64_t word;
    uint8_t code;
    size_t bytes;
} words[] = {
    {0, 0, 0},
    {1, 1, 1},
    {0xFF, 1, 1},
    {0x100, 2, 2},
    {0xFFFF, 2, 2},
    {0x10000, 3, 3},
    {0xFFFFFFFF, 4, 4},
    {0x123456789A, 5, 5},
    {0x123456789ABC, 6, 6},
    {0x123456789ABCDE, 7, 7},
    {0x123456789ABCDEF0, 8, 8},
    {INT64_MAX, 8, 8},
    {1ull << 63, 9, 2},                /* INT64_MIN */
    {0x3FF0000000000000, 9, 2},        /* 1.0 */
    {0x4059000000000000, 9, 2},        /* 100.0 */
    {0x408F400000000000, 10, 3},       /* 1000.0 */
    {0x412E848000000000, 11, 4},       /* 10^6 as a double */
    {0x0600000000000000, 9, 2},        /* 6, big-endian */
    {0x4443424100000000, 11, 4},
    {0x4443424140000000, 8, 8},
    {UINT64_MAX, 12, 1},               /* -1 */
    {0xFFFFFFFFFFFFFF00, 12, 1},       /* -256 */
    {0xFFFFFFFFFFFFFEFF, 13, 2},
    {0xFFFFFFFFFF800000, 14, 3},
    {0xFFFFFFFF00000001, 15, 4},
    {0xFFFFFFFF00000000, 11, 4},       /* either would do: the lower code */
    {0xFFFFFF0000000001, 8, 8},
};

START_TEST(a_word_takes_as_few_bytes_as_its_form_says)
{
    struct value_shape s = {.bytes = 24};
    uint8_t value[24] = {0};
    struct bytes packed;

    put_le64(value + 8, words[_i].word);
    packed = packed_of(s, value);
    ck_assert_uint_eq(packed.len, 2 + words[_i].bytes); /* four codes: size, and three words */
    ck_assert_uint_eq(packed.data[1] & 15, words[_i].code);
    ck_assert(unpacks_to(s, packed, value));
    packed_free(packed);
}
END_TEST

/* The row of docs/FORMAT.md: a count, a sum, the least and the most of small numbers. */
START_TEST(a_row_of_totals_packs_to_the_bytes_of_the_format)
{
    static const uint8_t want[] = {0x0F, 0x21, 0x10, 0x11, 2, 0x2C, 0x01, 2, 100, 200};
    struct value_shape s = {.bytes = 60};
    uint8_t row[60] = {0};
    struct bytes packed;

    put_be32(row, 56);
    put_le64(row + 12, 2);
    put_le64(row + 20, 300);
    put_le64(row + 36, 2);
    put_le64(row + 44, 100);
    put_le64(row + 52, 200);
    packed = packed_of(s, row);
    ck_assert_bytes_eq(packed, bytes_of(want, sizeof want));
    ck_assert(unpacks_to(s, packed, row));
    packed_free(packed);
}
END_TEST

START_TEST(the_head_stays_where_it_is)
{
    struct value_shape s = {.bytes = 9 + 16, .head = 9};
    uint8_t value[25] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    struct bytes packed = packed_of(s, value);

    ck_assert_uint_eq(packed.len, 9 + 2);
    ck_assert_mem_eq(packed.data, value, 9);
    ck_assert(unpacks_to(s, packed, value));
    packed_free(packed);
}
END_TEST

/* All sizes around words and around what a size needs, heads of all kinds; contents from all zeroes
 * to noise, with and without a size in front. */
START_TEST(whatever_is_packed_comes_out_again)
{
    static const uint32_t heads[] = {0, 1, 8, 9};
    uint8_t value[80];

    for (uint32_t bytes = 1; bytes <= sizeof value; bytes++) {
        for (uint64_t round = 0; round < 400; round++) {
            struct value_shape s = {bytes, heads[round % 4]};

            if (s.head > bytes)
                continue;
            for (uint32_t i = 0; i < bytes; i++) {
                uint64_t x = splitmix64((uint64_t)bytes << 40 | round << 16 | i);

                value[i] = x % 10 < round / 40 ? (uint8_t)(x >> 32) : round % 3 == 0 ? 0xFF : 0;
            }
            if (round % 2 == 0 && bytes - s.head >= 4)
                put_be32(value + s.head, bytes - s.head - 4);
            check_round_trip(s, value);
        }
    }
}
END_TEST

START_TEST(the_largest_value_there_is_packs)
{
    struct value_shape s = {.bytes = 65537};
    uint8_t *value = mem_calloc(1, s.bytes);
    struct bytes packed;

    value[65536] = 7;
    packed = packed_of(s, value);
    ck_assert_uint_eq(packed.len, 65536 / 16 + 1 + 1);
    ck_assert(unpacks_to(s, packed, value));
    packed_free(packed);
    memset(value, 0x5A, s.bytes);
    packed = packed_of(s, value);
    ck_assert_uint_eq(packed.len, 0); /* stays plain */
    packed_free(packed);
    mem_free(value);
}
END_TEST

/* ---- what is none ---------------------------------------------------------------------------- */

static const struct {
    const char *what;
    uint32_t bytes, head;
    uint8_t stored[24];
    size_t len;
} malformed[] = {
    {"nothing", 16, 0, {0}, 0},
    {"half a head", 24, 8, {1, 2, 3, 4}, 4},
    {"a head alone", 24, 8, {1, 2, 3, 4, 5, 6, 7, 8}, 8},
    {"longer than a value", 8, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 9},
    {"a value of one word", 16, 0, {0x02, 0}, 2},
    {"a value of three words", 16, 0, {0x06, 0}, 2},
    {"codes are cut off", 16, 0, {0x04}, 1},
    {"bytes of a word are cut off", 16, 0, {0x24, 0, 5}, 3},
    {"a byte too many", 16, 0, {0x14, 0, 5, 0}, 4},
    {"padding that is not 0", 16, 0, {0x04, 0x10}, 2},
    {"more bytes than the number needs", 16, 0, {0x24, 0, 5, 0}, 4},
    {"high bytes that the lower code has shorter", 16, 0, {0x94, 0, 0, 0}, 4},
    {"more high bytes than needed", 16, 0, {0xA4, 0, 0, 0xF0, 0x3F}, 5},
    {"more low bytes of a negative than needed", 16, 0, {0xD4, 0, 0x05, 0xFF}, 4},
    {"a double as a whole word", 24, 0, {0x86, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F}, 10},
    {"-1 as a whole word", 24, 0, {0x86, 0, 255, 255, 255, 255, 255, 255, 255, 255}, 10},
    {"a last word larger than its place", 12, 0, {0x04, 0x05, 1, 1, 1, 1, 1}, 7},
    {"a negative in a short last word", 12, 0, {0x04, 0x0C, 1}, 3},
    {"a size that should have been left out", 20, 0, {0x46, 0x00, 0, 0, 0, 16}, 6},
    {"a size in a value that has no room for it", 3, 0, {0x01}, 1},
    {"a size and too few words", 20, 0, {0x03, 0}, 2},
};

START_TEST(what_is_not_packed_is_refused)
{
    struct value_shape s = {malformed[_i].bytes, malformed[_i].head};

    ck_assert_msg(!unpacks(s, malformed[_i].stored, malformed[_i].len), "%s", malformed[_i].what);
}
END_TEST

/* Whatever shorter bytes unpack are what packing gives: one form for each value. */
START_TEST(a_value_has_one_packed_form)
{
    uint32_t accepted = 0;

    for (uint64_t round = 0; round < 400000; round++) {
        struct value_shape s = {8 + (uint32_t)(round % 13), 0};
        uint64_t x = splitmix64(round), y = splitmix64(x);
        uint8_t stored[8], value[20];
        size_t len = 1 + x % 7;
        struct bytes packed;

        put_le64(stored, y);
        if (round % 3 != 0) /* often a first code that is one */
            stored[0] = (uint8_t)((stored[0] & 0xF1) | 2 * ((s.bytes + 7) / 8));
        if (round % 2 == 0)
            stored[1] &= 0x33;
        if (!value_unpack(s, bytes_of(stored, len), value))
            continue;
        accepted++;
        packed = packed_of(s, value);
        ck_assert_bytes_eq(packed, bytes_of(stored, len));
        packed_free(packed);
    }
    ck_assert_uint_gt(accepted, 100);
}
END_TEST

START_TEST(states_whose_values_have_a_size_are_packed_behind_what_tells_their_age)
{
    struct value_shape s = value_shape_of(STATE_VALUE, 60, false);

    ck_assert(s.bytes == 60 && s.head == 0);
    s = value_shape_of(STATE_AGGREGATING, 60, true);
    ck_assert(s.bytes == 68 && s.head == 8);
    s = value_shape_of(STATE_MAP, 9, false);
    ck_assert(s.bytes == 9 && s.head == 1);
    s = value_shape_of(STATE_MAP, 9, true);
    ck_assert(s.bytes == 17 && s.head == 9);
    ck_assert_uint_eq(value_shape_of(STATE_VALUE, 0, true).bytes, 0);
    ck_assert_uint_eq(value_shape_of(STATE_LIST, 8, false).bytes, 0);
    ck_assert_uint_eq(value_shape_of(STATE_TIMER, 8, false).bytes, 0);
}
END_TEST

TEST_MAIN("value_pack",
          tcase_add_loop_test(tc, a_word_takes_as_few_bytes_as_its_form_says, 0, ARRAY_LEN(words));
          tcase_add_test(tc, a_row_of_totals_packs_to_the_bytes_of_the_format);
          tcase_add_test(tc, the_head_stays_where_it_is);
          tcase_add_test(tc, whatever_is_packed_comes_out_again);
          tcase_add_test(tc, the_largest_value_there_is_packs);
          tcase_add_loop_test(tc, what_is_not_packed_is_refused, 0, ARRAY_LEN(malformed));
          tcase_add_test(tc, a_value_has_one_packed_form);
          tcase_add_test(tc, states_whose_values_have_a_size_are_packed_behind_what_tells_their_age))
