/* links: sink */
/* The buckets of a sink that have an open part. */
#include "sink/bucket.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

static struct fs *fs;
static struct bucket_table table;
static struct err err;

static void setup(void)
{
    fs = sim_fs_new(NULL);
    table = (struct bucket_table){0};
    err = (struct err){0};
}
static void teardown(void)
{
    bucket_table_release(&table);
    sim_fs_free(fs);
}

static void add(int i, int64_t last_write_wall_ms)
{
    char bucket[16], temp[16];
    struct part_file *p;

    snprintf(bucket, sizeof bucket, "k=%d", i);
    snprintf(temp, sizeof temp, ".p%d", i);
    ck_assert_ok(part_file_create(fs,
                                  &(struct part_record){.base = "/",
                                                        .bucket = "",
                                                        .name = temp + 1,
                                                        .temp_name = temp,
                                                        .last_write_wall_ms = last_write_wall_ms},
                                  &p, &err));
    bucket_add(&table, bytes_of_str(bucket), p);
}
static uint32_t find(int i)
{
    char bucket[16];

    snprintf(bucket, sizeof bucket, "k=%d", i);
    return bucket_find(&table, bytes_of_str(bucket));
}

START_TEST(bucket_is_found_by_its_path_and_gone_after_removal)
{
    ck_assert_uint_eq(find(1), 0); /* empty: none */
    for (int i = 0; i < 40; i++)
        add(i, i);
    for (int i = 39; i >= 0; i--)
        ck_assert_str_eq(part_file_record(table.list[find(i)].part)->temp_name + 2,
                         table.list[find(i)].path + 2);
    ck_assert_uint_eq(bucket_find(&table, bytes_of_str("k=")), 40);
    part_file_abandon(bucket_remove(&table, find(7)));
    ck_assert_uint_eq(find(7), 39);
    for (int i = 0; i < 40; i++)
        ck_assert(i == 7 || find(i) < 39);
}
END_TEST

START_TEST(idlest_is_the_one_written_to_longest_ago)
{
    add(1, 50);
    add(2, 20);
    add(3, 70);
    ck_assert_uint_eq(bucket_idlest(&table), find(2));
    ck_assert_ok(part_file_append(table.list[find(2)].part, bytes_of_str("x"), 1, 99, &err));
    ck_assert_uint_eq(bucket_idlest(&table), find(1));
}
END_TEST

TEST_MAIN("bucket", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, bucket_is_found_by_its_path_and_gone_after_removal);
    tcase_add_test(tc, idlest_is_the_one_written_to_longest_ago);
})
