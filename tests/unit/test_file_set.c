/* links: checkpoint */
#include "checkpoint/file_set.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#include <inttypes.h>

static struct file_set *set;
static struct fs *fs;
static struct arena *arena;
static struct err err;
static const struct operator_meta op = {.id = "22222222222222222222222222222222", .name = "Op"};
static const struct subtask_state subtask = {.subtask_index = 3};

static void setup(void)
{
    set = file_set_new();
    fs = sim_fs_new(NULL);
    arena = arena_new(0);
    err = (struct err){0};
}

static void teardown(void)
{
    file_set_free(set);
    sim_fs_free(fs);
    arena_free(arena);
}

static struct state_file file_of(const char *path, const char *content)
{
    return (struct state_file){.scope = FILE_SHARED,
                               .resolved_path = path,
                               .size_bytes = strlen(content),
                               .digest = digest_of(bytes_of_str(content))};
}

static void write_file(const char *path, const char *content)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(fs, path, &file, &err));
    ck_assert_ok(fs_append(file, bytes_of_str(content), &err));
    ck_assert_ok(fs_close(&file, &err));
}

START_TEST(a_file_is_in_it_once_however_many_snapshots_name_it)
{
    struct state_file a = file_of("/a", "x"), other = file_of("/a", "xy"), in = file_of("/b", "x");

    ck_assert(file_set_use(set, 1, &op, &subtask, &a));
    ck_assert(!file_set_use(set, 1, &op, &subtask, &a));
    ck_assert(file_set_use(set, 4, &op, &subtask, &a));
    ck_assert_uint_eq(file_set_count(set), 1);
    ck_assert_uint_eq(file_set_at(set, 0)->first_snapshot, 1);
    ck_assert_uint_eq(file_set_at(set, 0)->last_snapshot, 4);
    ck_assert_str_eq(file_set_at(set, 0)->op->name, "Op");
    ck_assert_uint_eq(file_set_at(set, 0)->subtask_index, 3);
    file_set_use(set, 5, &op, &subtask, &other); /* another opinion of /a */
    ck_assert_uint_eq(file_set_count(set), 2);
    ck_assert_uint_eq(file_set_find(set, &other), 1);
    in.scope = FILE_INLINE;
    ck_assert(!file_set_use(set, 5, &op, &subtask, &in));
    ck_assert_uint_eq(file_set_operator_count(set), 1);
    ck_assert_uint_eq(file_set_count(set), 2);
    in.scope = FILE_SHARED;
    ck_assert(file_set_find(set, &in) == FILE_SET_NONE);
}
END_TEST

/* Growing must not lose one. */
START_TEST(a_hundred_thousand_files_are_found_again)
{
    for (uint32_t i = 0; i < 100000; i++) {
        struct state_file f = file_of(arena_printf(arena, "/shared/%" PRIu32, i), "x");

        file_set_use(set, i, &op, &subtask, &f);
    }
    ck_assert_uint_eq(file_set_count(set), 100000);
    for (uint32_t i = 0; i < 100000; i += 7) {
        struct state_file f = file_of(arena_printf(arena, "/shared/%" PRIu32, i), "x");

        ck_assert_uint_eq(file_set_find(set, &f), i);
    }
}
END_TEST

START_TEST(a_look_says_what_is_wrong_and_names_of_one_file_become_neighbours)
{
    struct state_file files[] = {file_of("/a", "abc"), file_of("/gone", "x"), file_of("/b", "abc"),
                                 file_of("/long", "x"), file_of("/dir", "x")};
    uint32_t *order;
    size_t at = 0;

    write_file("/a", "abc");
    write_file("/long", "abc");
    ck_assert_ok(fs_link(fs, "/a", "/b", &err));
    ck_assert_ok(fs_mkdir(fs, "/dir", &err));
    for (uint32_t i = 0; i < ARRAY_LEN(files); i++) {
        file_set_use(set, 0, &op, &subtask, &files[i]);
        file_set_look(set, fs, file_set_at(set, i));
    }
    ck_assert_ptr_null(file_set_at(set, 0)->fault);
    ck_assert_uint_eq(file_set_at(set, 0)->link_count, 2);
    ck_assert_str_eq(file_set_at(set, 1)->fault, "missing");
    ck_assert_str_eq(file_set_at(set, 3)->fault, "3 bytes instead of 1");
    ck_assert_str_eq(file_set_at(set, 4)->fault, "not a plain file");
    order = file_set_by_inode(set);
    ck_assert_uint_eq(order[0], 1); /* what is not there */
    while (order[at] != 0)
        at++;
    ck_assert_uint_eq(order[at + 1], 2);
    mem_free(order);
}
END_TEST

TEST_MAIN("file_set", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_file_is_in_it_once_however_many_snapshots_name_it);
          tcase_add_test(tc, a_hundred_thousand_files_are_found_again);
          tcase_add_test(tc, a_look_says_what_is_wrong_and_names_of_one_file_become_neighbours);)
