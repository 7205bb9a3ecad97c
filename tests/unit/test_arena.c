/* links: base */
/* test_arena.c - arenas and the heap calls that abort. */
#include "base/arena.h"

#include "tests/lib/check_ext.h"

#include <signal.h>

START_TEST(every_block_is_aligned_and_its_own)
{
    struct arena *a = arena_new(256);
    uint8_t *blocks[300];

    for (size_t i = 0; i < 300; i++) {
        blocks[i] = arena_alloc(a, i);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 0xff), i);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_uint_eq(blocks[i][k], i & 0xff);
    arena_free(a);
    arena_free(NULL);
}
END_TEST

START_TEST(empty_blocks_differ)
{
    struct arena *a = arena_new(0);

    ck_assert_ptr_ne(arena_alloc(a, 0), arena_alloc(a, 0));
    arena_free(a);
}
END_TEST

START_TEST(a_reset_arena_holds_its_first_chunk_only)
{
    struct arena *a = arena_new(1024);
    size_t fresh = arena_bytes(a);

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++)
            arena_alloc(a, 100);
        arena_alloc(a, 100000); /* a chunk of its own */
        arena_alloc(a, 100);
        ck_assert_uint_gt(arena_bytes(a), 110000);
        arena_reset(a);
        ck_assert_uint_eq(arena_bytes(a), fresh);
    }
    arena_free(a);
}
END_TEST

/* One large block must not cost the rest of the chunk in use. */
START_TEST(a_large_block_leaves_the_current_chunk_in_use)
{
    struct arena *a = arena_new(4096);
    uint8_t *before = arena_alloc(a, 16), *after;

    arena_alloc(a, 1 << 20);
    after = arena_alloc(a, 16);
    ck_assert_ptr_eq(after, before + 16);
    arena_free(a);
}
END_TEST

START_TEST(a_tiny_chunk_size_works)
{
    struct arena *a = arena_new(1);

    for (int i = 0; i < 50; i++)
        ck_assert_str_eq(arena_printf(a, "%d", i), arena_printf(a, "%d", i));
    arena_reset(a);
    ck_assert_str_eq(arena_strdup(a, "again"), "again");
    arena_free(a);
}
END_TEST

START_TEST(copies_are_equal_and_terminated)
{
    struct arena *a = arena_new(0);

    ck_assert_bytes_str(arena_bytes_copy(a, bytes_of_str("abc")), "abc");
    ck_assert_uint_eq(arena_bytes_copy(a, (struct bytes){0}).len, 0);
    ck_assert_str_eq(arena_strndup(a, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_strndup(a, NULL, 0), "");
    ck_assert_str_eq(arena_printf(a, "%s-%05d", "chk", 42), "chk-00042");
    ck_assert_uint_eq(strlen(arena_printf(a, "%*s", 10000, "x")), 10000);
    arena_free(a);
}
END_TEST

START_TEST(zeroed_blocks_are_zero_also_after_a_reset)
{
    struct arena *a = arena_new(1024);
    uint64_t *n = ARENA_ARRAY(a, 50, uint64_t);

    memset(n, 0xff, 50 * sizeof *n);
    arena_reset(a);
    n = ARENA_ARRAY(a, 50, uint64_t);
    for (int i = 0; i < 50; i++)
        ck_assert_uint_eq(n[i], 0);
    arena_free(a);
}
END_TEST

START_TEST(heap_blocks_of_no_size_are_valid)
{
    void *a = mem_alloc(0), *b = mem_calloc(0, 8);

    ck_assert(a != NULL && b != NULL);
    a = mem_realloc(a, 0);
    ck_assert_ptr_nonnull(a);
    mem_free(a);
    mem_free(b);
    mem_free(NULL);
}
END_TEST

START_TEST(a_count_that_overflows_aborts)
{
    mem_calloc(SIZE_MAX / 2, 3);
}
END_TEST

START_TEST(an_arena_count_that_overflows_aborts)
{
    arena_calloc(arena_new(0), SIZE_MAX / 2, 3);
}
END_TEST

START_TEST(an_arena_size_that_overflows_aborts)
{
    arena_alloc(arena_new(0), SIZE_MAX - 3);
}
END_TEST

TEST_MAIN("arena", tcase_add_test(tc, every_block_is_aligned_and_its_own);
          tcase_add_test(tc, empty_blocks_differ);
          tcase_add_test(tc, a_reset_arena_holds_its_first_chunk_only);
          tcase_add_test(tc, a_large_block_leaves_the_current_chunk_in_use);
          tcase_add_test(tc, a_tiny_chunk_size_works);
          tcase_add_test(tc, copies_are_equal_and_terminated);
          tcase_add_test(tc, zeroed_blocks_are_zero_also_after_a_reset);
          tcase_add_test(tc, heap_blocks_of_no_size_are_valid);
          tcase_add_test_raise_signal(tc, a_count_that_overflows_aborts, SIGABRT);
          tcase_add_test_raise_signal(tc, an_arena_count_that_overflows_aborts, SIGABRT);
          tcase_add_test_raise_signal(tc, an_arena_size_that_overflows_aborts, SIGABRT))
