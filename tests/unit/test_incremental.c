/* links: backend */
#include "backend/incremental.h"
#include "tests/lib/check_ext.h"

static struct digest128 digest(uint8_t n)
{
    return (struct digest128){{n}};
}

START_TEST(what_was_added_is_found_with_its_size_only)
{
    struct incremental *inc = incremental_new();
    struct digest128 d;

    incremental_add(inc, "000012.sst", 100, digest(1));
    incremental_add(inc, "000009.sst", 50, digest(2));
    ck_assert(incremental_find(inc, "000012.sst", 100, &d));
    ck_assert_uint_eq(d.b[0], 1);
    ck_assert(!incremental_find(inc, "000013.sst", 100, &d));
    ck_assert(!incremental_find(inc, "000009.sst", 51, &d)); /* another content under the name: */
    ck_assert(!incremental_find(inc, "000009.sst", 50, &d)); /* nothing of it is known any more */
    incremental_add(inc, "000012.sst", 120, digest(3));
    ck_assert(incremental_find(inc, "000012.sst", 120, &d));
    ck_assert_uint_eq(d.b[0], 3);
    ck_assert_uint_eq(incremental_count(inc), 1);
    incremental_free(inc);
    incremental_free(NULL);
}
END_TEST

/* Files that compaction removed must not pile up; those of a snapshot that failed half-way stay
 * known. */
START_TEST(files_outside_the_newest_snapshot_are_forgotten)
{
    struct incremental *inc = incremental_new();
    struct digest128 d;
    char name[20];

    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "%06d.sst", i);
        incremental_add(inc, name, 10, digest((uint8_t)i));
    }
    incremental_begin(inc);
    ck_assert(incremental_find(inc, "000150.sst", 10, &d)); /* then it failed */
    ck_assert_uint_eq(incremental_count(inc), 200);
    incremental_begin(inc);
    ck_assert(incremental_find(inc, "000007.sst", 10, &d));
    incremental_add(inc, "000300.sst", 10, digest(9));
    incremental_end(inc);
    ck_assert_uint_eq(incremental_count(inc), 2);
    ck_assert(incremental_find(inc, "000007.sst", 10, &d));
    ck_assert_uint_eq(d.b[0], 7);
    ck_assert(incremental_find(inc, "000300.sst", 10, &d));
    ck_assert(!incremental_find(inc, "000150.sst", 10, &d));
    incremental_free(inc);
}
END_TEST

TEST_MAIN("incremental", tcase_add_test(tc, what_was_added_is_found_with_its_size_only);
          tcase_add_test(tc, files_outside_the_newest_snapshot_are_forgotten))
