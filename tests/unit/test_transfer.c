/* links: checkpoint */
#include "base/transfer.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

#define NAME "target.sst"

static struct fs *sim, *fs;
static struct scene scene; /* for its env alone */
static struct err err;
static struct transfer transfer;
static struct bytes content;

static void write_file(const char *path, struct bytes data)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(sim, path, &file, &err));
    ck_assert_ok(fs_append(file, data, &err));
    ck_assert_ok(fs_close(&file, &err));
}

static void setup(void)
{
    err = (struct err){0};
    sim = sim_fs_new(NULL);
    fs = fault_fs_new(sim);
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(fs_mkdirs(sim, "/to", &err));
    content = bytes_of_str("the content of a file");
    write_file("/from", content);
    transfer_init(&transfer, &scene.env, "/to");
}

static void teardown(void)
{
    transfer_release(&transfer);
    fault_fs_free(fs);
    sim_fs_free(sim);
}

static enum rc run(enum transfer_how *how)
{
    return transfer_file(&transfer, "/from", NAME, content.len, digest_of(content), how, &err);
}

static enum rc refuse_temp(void *ctx UNUSED, const char *name, struct err *e)
{
    return transfer_is_temp(name) ? err_set(e, RC_EXISTS, "%s is left", name) : RC_OK;
}

static const struct {
    bool links, reflinks;
    enum transfer_how how;
} ways[] = {
    {true, true, TRANSFER_LINKED},
    {true, false, TRANSFER_LINKED},
    {false, true, TRANSFER_REFLINKED},
    {false, false, TRANSFER_COPIED},
};

START_TEST(the_cheapest_way_that_works_is_taken_and_is_durable)
{
    struct buf durable = {0};
    enum transfer_how how;
    struct rng rng;

    sim_fs_allow(sim, ways[_i].links, ways[_i].reflinks);
    ck_assert_ok(run(&how));
    ck_assert_int_eq(how, ways[_i].how);
    ck_assert_ok(fs_list(sim, "/to", refuse_temp, NULL, &err));
    ck_assert_ok(run(&how));
    ck_assert_int_eq(how, TRANSFER_FOUND);
    rng_seed(&rng, 3);
    sim_fs_crash(sim, &rng);
    ck_assert(sim_fs_durable(sim, "/to/" NAME, &durable));
    ck_assert_bytes_eq(buf_bytes(&durable), content);
    buf_release(&durable);
}
END_TEST

/* B41: each of these is no reason to fail. */
static const int no_links[] = {EXDEV, EPERM, ENOTSUP, EMLINK};

START_TEST(errors_that_mean_no_link_here_lead_to_a_copy)
{
    enum transfer_how how;

    fault_fs_add(fs, (struct fault){.kinds = FAULT_LINK | FAULT_REFLINK,
                                    .times = UINT64_MAX,
                                    .os_errno = no_links[_i]});
    ck_assert_ok(run(&how));
    ck_assert_int_eq(how, TRANSFER_COPIED);
}
END_TEST

START_TEST(a_damaged_file_under_the_name_is_replaced)
{
    struct bytes other = bytes_of_str("the content of a fIle"), shorter = bytes_of_str("x");
    enum transfer_how how;
    struct buf got = {0};

    sim_fs_allow(sim, _i < 2, false);
    write_file("/to/" NAME, _i % 2 == 0 ? other : shorter);
    ck_assert_ok(run(&how));
    ck_assert_int_ne(how, TRANSFER_FOUND);
    ck_assert_ok(fs_read_all(sim, "/to/" NAME, 100, &got, &err));
    ck_assert_bytes_eq(buf_bytes(&got), content);
    ck_assert_ok(fs_list(sim, "/to", refuse_temp, NULL, &err));
    buf_release(&got);
}
END_TEST

/* After a restore by links each file of a snapshot comes back this way: it is not read again. */
START_TEST(the_same_file_under_two_names_is_found_without_reading_it)
{
    enum transfer_how how;

    ck_assert_ok(fs_link(sim, "/from", "/to/" NAME, &err));
    fault_fs_add(fs,
                 (struct fault){.kinds = FAULT_READ, .times = UINT64_MAX, .os_errno = EIO});
    ck_assert_ok(run(&how));
    ck_assert_int_eq(how, TRANSFER_FOUND);
}
END_TEST

START_TEST(a_source_of_another_length_is_refused)
{
    enum transfer_how how;

    ck_assert_rc_msg(transfer_file(&transfer, "/from", NAME, 7, digest_of(content), &how, &err),
                     RC_CORRUPT, "/from: 21 bytes instead of 7");
    ck_assert(!fs_exists(sim, "/to/" NAME));
}
END_TEST

/* At each operation: never half a file under the name, no temporary one left, and the next try
 * works. */
START_TEST(a_failure_leaves_the_name_free_or_whole)
{
    for (uint64_t k = 0;; k++) {
        enum transfer_how how;
        struct buf got = {0};
        uint64_t hits;
        enum rc rc;

        teardown();
        setup();
        sim_fs_allow(sim, _i == 0, false);
        fault_fs_add(fs, (struct fault){.at = k, .times = 1, .os_errno = EIO, .short_write = true});
        rc = run(&how);
        hits = fault_fs_hits(fs);
        fault_fs_clear(fs);
        err_clear(&err);
        if (hits == 0) {
            ck_assert_int_eq(rc, RC_OK);
            break;
        }
        ck_assert_ok(fs_list(sim, "/to", refuse_temp, NULL, &err));
        if (fs_exists(sim, "/to/" NAME)) {
            ck_assert_ok(fs_read_all(sim, "/to/" NAME, 100, &got, &err));
            ck_assert_bytes_eq(buf_bytes(&got), content);
        }
        ck_assert_ok(run(&how));
        buf_release(&got);
    }
}
END_TEST

TEST_MAIN("transfer", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, the_cheapest_way_that_works_is_taken_and_is_durable, 0,
                              ARRAY_LEN(ways));
          tcase_add_loop_test(tc, errors_that_mean_no_link_here_lead_to_a_copy, 0,
                              ARRAY_LEN(no_links));
          tcase_add_loop_test(tc, a_damaged_file_under_the_name_is_replaced, 0, 4);
          tcase_add_test(tc, the_same_file_under_two_names_is_found_without_reading_it);
          tcase_add_test(tc, a_source_of_another_length_is_refused);
          tcase_add_loop_test(tc, a_failure_leaves_the_name_free_or_whole, 0, 2);)
