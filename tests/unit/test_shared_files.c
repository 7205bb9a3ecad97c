/* links: checkpoint */
#include "checkpoint/shared_files.h"

#include "checkpoint/layout.h"
#include "tests/lib/big_history.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

static struct digest128 digest_at(uint64_t i)
{
    uint8_t text[8];

    put_be64(text, i);
    return digest_of(bytes_of(text, sizeof text));
}

START_TEST(thousands_of_files_are_found_with_their_users)
{
    struct shared_files t = {0};
    const struct shared_file *f;

    for (uint32_t user = 0; user < 100; user++)
        for (uint64_t i = 0; i < 100; i++) {
            shared_files_use(&t, user, digest_at(user * 50 + i), i);
            shared_files_use(&t, user, digest_at(user * 50 + i), i); /* twice in one: once */
        }
    ck_assert_uint_eq(t.count, 99 * 50 + 100);
    f = shared_files_find(&t, digest_at(75));
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(f->user_count, 2);
    ck_assert_uint_eq(f->first_user, 0);
    ck_assert_uint_eq(f->last_user, 1);
    ck_assert(!f->present);
    ck_assert_ptr_null(shared_files_find(&t, digest_at(5050)));
    shared_files_release(&t);
    ck_assert_ptr_null(shared_files_find(&t, digest_at(75)));
}
END_TEST

START_TEST(a_listing_takes_content_names_with_their_sizes)
{
    struct fs *fs = sim_fs_new(NULL);
    struct big_history h = {.root = "/r", .checkpoints = 3, .window = 4, .step = 2, .strays = 1};
    struct shared_files t = {0};
    struct err err = {0};

    ck_assert_ok(big_history_make(fs, &h, &err));
    ck_assert_ok(fs_mkdir(fs, "/r/" BIG_HISTORY_JOB_ID "/shared/notes", &err));
    ck_assert_ok(shared_files_list(&t, fs, "/r/" BIG_HISTORY_JOB_ID "/shared", &err));
    ck_assert_uint_eq(t.count, big_history_files(&h));
    for (size_t i = 0; i < t.count; i++)
        ck_assert(t.items[i].present && t.items[i].size_bytes == strlen("shared file 1\n"));
    ck_assert_ok(shared_files_list(&t, fs, "/nowhere", &err));
    shared_files_release(&t);
    sim_fs_free(fs);
}
END_TEST

TEST_MAIN("shared_files", tcase_add_test(tc, thousands_of_files_are_found_with_their_users);
          tcase_add_test(tc, a_listing_takes_content_names_with_their_sizes);)
