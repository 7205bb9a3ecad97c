/* links: base */
/* test_sim_fs.c - what survives a power loss in tests/lib/sim_fs.h, and what must not. The contract
 * that it shares with the real file system is in test_fs.c. */
#include "tests/lib/sim_fs.h"

#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"
#include "tests/lib/sim_clock.h"

#include <errno.h>

#define CRASHES 400 /* per outcome, so that each way to survive is met */

static void write_file(struct fs *fs, const char *path, const char *text, bool sync)
{
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_create(fs, path, &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str(text), &err));
    if (sync)
        ck_assert_ok(fs_sync(f, &err));
    ck_assert_ok(fs_close(&f, &err));
}

static void append_file(struct fs *fs, const char *path, uint64_t length, const char *text,
                        bool sync)
{
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_open_append(fs, path, length, &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str(text), &err));
    if (sync)
        ck_assert_ok(fs_sync(f, &err));
    ck_assert_ok(fs_close(&f, &err));
}

/* Content into out; false when it is not there. */
static bool read_file(struct fs *fs, const char *path, struct buf *out)
{
    buf_clear(out);
    return fs_read_all(fs, path, 1 << 20, out, NULL) == RC_OK;
}

static bool is(struct fs *fs, const char *path, const char *text)
{
    struct buf b = {0};
    bool same = read_file(fs, path, &b) && bytes_eq(buf_bytes(&b), bytes_of_str(text));

    buf_release(&b);
    return same;
}

START_TEST(what_is_synced_survives_every_crash)
{
    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;

        rng_seed(&r, seed);
        ck_assert_ok(fs_mkdir(fs, "/d", &err));
        ck_assert_ok(fs_sync_dir(fs, "/", &err));
        write_file(fs, "/d/a", "content", true);
        ck_assert_ok(fs_sync_dir(fs, "/d", &err));
        sim_fs_crash(fs, &r);
        ck_assert_msg(is(fs, "/d/a", "content"), "seed %llu", (unsigned long long)seed);
        sim_fs_free(fs);
    }
}
END_TEST

/* The outcomes of a file that was synced, but not its name; and of one whose name was synced, but
 * not it. */
START_TEST(name_and_content_are_lost_independently)
{
    unsigned no_name = 0, name = 0, empty = 0, torn = 0, zeroed = 0, whole = 0;
    struct buf b = {0};

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;

        rng_seed(&r, seed);
        write_file(fs, "/named", "0123456789", false);
        ck_assert_ok(fs_sync_dir(fs, "/", &err));
        write_file(fs, "/synced", "abc", true);
        sim_fs_crash(fs, &r);
        if (read_file(fs, "/synced", &b)) {
            ck_assert_bytes_str(buf_bytes(&b), "abc");
            name++;
        } else {
            no_name++;
        }
        ck_assert(read_file(fs, "/named", &b));
        if (b.len == 0)
            empty++;
        else if (bytes_eq(buf_bytes(&b), bytes_of_str("0123456789")))
            whole++;
        else if (memchr(b.data, 0, b.len) != NULL)
            zeroed++;
        else if (b.len < 10 && memcmp(b.data, "0123456789", b.len) == 0)
            torn++;
        else
            ck_abort_msg("neither old nor new nor torn: %s", buf_cstr(&b));
        sim_fs_free(fs);
    }
    buf_release(&b);
    ck_assert_uint_gt(no_name, CRASHES / 5);
    ck_assert_uint_gt(name, CRASHES / 5);
    ck_assert_uint_gt(empty, CRASHES / 5);
    ck_assert_uint_gt(whole, CRASHES / 10);
    ck_assert_uint_gt(torn, CRASHES / 20);
    ck_assert_uint_gt(zeroed, CRASHES / 40);
}
END_TEST

START_TEST(a_synced_prefix_is_never_torn)
{
    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct buf b = {0};
        struct rng r;

        rng_seed(&r, seed);
        write_file(fs, "/a", "durable", true);
        ck_assert_ok(fs_sync_dir(fs, "/", &err));
        append_file(fs, "/a", 7, "+more", false);
        sim_fs_crash(fs, &r);
        ck_assert(read_file(fs, "/a", &b));
        ck_assert_uint_ge(b.len, 7);
        ck_assert_uint_le(b.len, 12);
        ck_assert_bytes_str(bytes_of(b.data, 7), "durable");
        buf_release(&b);
        sim_fs_free(fs);
    }
}
END_TEST

/* A recovered in-progress part is cut and written on: until its sync the old tail may come back
 * (C8). */
START_TEST(a_cut_is_durable_only_after_a_sync)
{
    unsigned old = 0, new = 0, other = 0;

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct buf b = {0};
        struct rng r;

        rng_seed(&r, seed);
        write_file(fs, "/a", "keep-old-old", true);
        ck_assert_ok(fs_sync_dir(fs, "/", &err));
        append_file(fs, "/a", 5, "new", _i == 1);
        sim_fs_crash(fs, &r);
        ck_assert(read_file(fs, "/a", &b));
        ck_assert_bytes_str(bytes_of(b.data, b.len < 5 ? b.len : 5), "keep-");
        if (bytes_eq(buf_bytes(&b), bytes_of_str("keep-old-old")))
            old++;
        else if (bytes_eq(buf_bytes(&b), bytes_of_str("keep-new")))
            new ++;
        else
            other++;
        buf_release(&b);
        sim_fs_free(fs);
    }
    if (_i == 1)
        ck_assert_uint_eq(new, CRASHES);
    else
        ck_assert(old > CRASHES / 5 && new > CRASHES / 10 && other > CRASHES / 20);
}
END_TEST

/* Replacing by rename: the final name holds the old or the new file, whole, never none; the
 * temporary name and the final one never both hold the new. */
START_TEST(a_rename_is_atomic_and_durable_only_after_sync_dir)
{
    unsigned old = 0, new = 0;

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;
        bool renamed;

        rng_seed(&r, seed);
        write_file(fs, "/final", "old", true);
        write_file(fs, "/tmp", "new", true);
        ck_assert_ok(fs_sync_dir(fs, "/", &err));
        ck_assert_ok(fs_rename(fs, "/tmp", "/final", &err));
        if (_i == 1)
            ck_assert_ok(fs_sync_dir(fs, "/", &err));
        sim_fs_crash(fs, &r);
        renamed = is(fs, "/final", "new");
        ck_assert(renamed || is(fs, "/final", "old"));
        ck_assert(renamed == !fs_exists(fs, "/tmp"));
        new += renamed;
        old += !renamed;
        sim_fs_free(fs);
    }
    if (_i == 1)
        ck_assert_uint_eq(new, CRASHES);
    else
        ck_assert(old > CRASHES / 5 && new > CRASHES / 5);
}
END_TEST

/* Without fs_sync before the rename the new name may hold nothing: the mistake that C2 and C3
 * forbid must show. */
START_TEST(a_rename_before_the_sync_can_lose_the_content)
{
    unsigned lost = 0;

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;

        rng_seed(&r, seed);
        write_file(fs, "/tmp", "metadata", false);
        ck_assert_ok(fs_rename(fs, "/tmp", "/_metadata", &err));
        ck_assert_ok(fs_sync_dir(fs, "/", &err));
        sim_fs_crash(fs, &r);
        ck_assert(fs_exists(fs, "/_metadata"));
        lost += !is(fs, "/_metadata", "metadata");
        sim_fs_free(fs);
    }
    ck_assert_uint_gt(lost, CRASHES / 5);
}
END_TEST

START_TEST(a_rename_between_directories_is_durable_by_the_one_it_goes_to)
{
    unsigned back = 0;

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;

        rng_seed(&r, seed);
        ck_assert_ok(fs_mkdirs(fs, "/from", &err));
        ck_assert_ok(fs_mkdirs(fs, "/to", &err));
        write_file(fs, "/from/a", "x", true);
        ck_assert_ok(fs_sync_dir(fs, "/from", &err));
        ck_assert_ok(fs_rename(fs, "/from/a", "/to/a", &err));
        ck_assert_ok(fs_sync_dir(fs, _i == 1 ? "/to" : "/from", &err));
        sim_fs_crash(fs, &r);
        ck_assert(is(fs, "/from/a", "x") != is(fs, "/to/a", "x"));
        back += fs_exists(fs, "/from/a");
        sim_fs_free(fs);
    }
    if (_i == 1)
        ck_assert_uint_eq(back, 0);
    else
        ck_assert_uint_gt(back, CRASHES / 5);
}
END_TEST

START_TEST(an_unlink_may_come_back_until_sync_dir)
{
    unsigned back = 0;

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;

        rng_seed(&r, seed);
        write_file(fs, "/a", "x", true);
        ck_assert_ok(fs_sync_dir(fs, "/", &err));
        ck_assert_ok(fs_unlink(fs, "/a", &err));
        if (_i == 1)
            ck_assert_ok(fs_sync_dir(fs, "/", &err));
        sim_fs_crash(fs, &r);
        if (fs_exists(fs, "/a")) {
            back++;
            ck_assert(is(fs, "/a", "x"));
        }
        sim_fs_free(fs);
    }
    if (_i == 1)
        ck_assert_uint_eq(back, 0);
    else
        ck_assert_uint_gt(back, CRASHES / 5);
}
END_TEST

/* Names of two files in one directory are lost independently, in either order: no journal orders
 * them for us. */
START_TEST(changes_of_two_names_survive_in_any_combination)
{
    unsigned met[4] = {0};

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct rng r;

        rng_seed(&r, seed);
        write_file(fs, "/first", "1", true);
        write_file(fs, "/second", "2", true);
        sim_fs_crash(fs, &r);
        met[(fs_exists(fs, "/first") ? 1 : 0) + (fs_exists(fs, "/second") ? 2 : 0)]++;
        sim_fs_free(fs);
    }
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_gt(met[i], CRASHES / 20);
}
END_TEST

/* create a, rename a to b, create a anew: the later states of a name imply the earlier changes. */
START_TEST(the_history_of_one_name_is_cut_not_shuffled)
{
    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;
        bool a1, a2, b1;

        rng_seed(&r, seed);
        write_file(fs, "/a", "first", true);
        ck_assert_ok(fs_rename(fs, "/a", "/b", &err));
        write_file(fs, "/a", "second", true);
        sim_fs_crash(fs, &r);
        a1 = is(fs, "/a", "first");
        a2 = is(fs, "/a", "second");
        b1 = is(fs, "/b", "first");
        ck_assert(!(a1 && b1));
        ck_assert(!a2 || b1); /* else the first file were lost though something came after it */
        sim_fs_free(fs);
    }
}
END_TEST

START_TEST(a_directory_that_was_not_synced_takes_all_below_with_it)
{
    unsigned gone = 0;

    for (uint64_t seed = 0; seed < CRASHES; seed++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;

        rng_seed(&r, seed);
        ck_assert_ok(fs_mkdir(fs, "/d", &err));
        write_file(fs, "/d/a", "x", true);
        ck_assert_ok(fs_sync_dir(fs, "/d", &err));
        sim_fs_crash(fs, &r);
        if (fs_exists(fs, "/d"))
            ck_assert(is(fs, "/d/a", "x"));
        else
            gone++;
        sim_fs_free(fs);
    }
    ck_assert(gone > CRASHES / 5 && gone < CRASHES);
}
END_TEST

START_TEST(a_hard_link_shares_what_was_synced_under_the_other_name)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct fs_stat st;
    struct rng r;

    rng_seed(&r, 1);
    write_file(fs, "/local", "sst", true);
    ck_assert_ok(fs_link(fs, "/local", "/shared", &err));
    ck_assert_ok(fs_sync_dir(fs, "/", &err));
    ck_assert_ok(fs_unlink(fs, "/local", &err));
    ck_assert_ok(fs_sync_dir(fs, "/", &err));
    for (int i = 0; i < 10; i++)
        sim_fs_crash(fs, &r);
    ck_assert(is(fs, "/shared", "sst"));
    ck_assert_ok(fs_stat(fs, "/shared", &st, &err));
    ck_assert_uint_eq(st.link_count, 1);
    sim_fs_free(fs);
}
END_TEST

START_TEST(a_killed_process_loses_no_written_byte_but_its_locks_and_files)
{
    struct fs *fs = sim_fs_new(NULL);
    struct fs_file *lock, *part, *again;
    struct err err = {0};
    uint64_t size;

    ck_assert_ok(fs_lock(fs, "/lock", &lock, &err));
    ck_assert_ok(fs_create(fs, "/part", &part, &err));
    ck_assert_ok(fs_append(part, bytes_of_str("abc"), &err));
    sim_fs_restart(fs);
    ck_assert(is(fs, "/part", "abc"));
    ck_assert_rc_msg(fs_append(part, bytes_of_str("def"), &err), RC_IO, "before the reboot");
    ck_assert_rc(fs_sync(part, &err), RC_IO);
    ck_assert_rc(fs_size(part, &size, &err), RC_IO);
    ck_assert_rc(fs_close(&part, &err), RC_IO);
    ck_assert_ok(fs_lock(fs, "/lock", &again, &err));
    fs_abandon(&lock); /* the dead holder's: frees nothing of the new one */
    ck_assert_rc(fs_lock(fs, "/lock", &lock, &err), RC_STATE);
    fs_abandon(&again);
    ck_assert(is(fs, "/part", "abc"));
    sim_fs_free(fs);
}
END_TEST

START_TEST(files_open_over_a_crash_are_dead_even_when_theirs_is_gone)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct fs_file *f;
    struct rng r;
    size_t got;
    char c;

    for (uint64_t seed = 0; seed < 20; seed++) {
        rng_seed(&r, seed);
        ck_assert_ok(fs_create(fs, "/f", &f, &err));
        sim_fs_crash(fs, &r);
        ck_assert_rc(fs_read_at(f, 0, &c, 1, &got, &err), RC_IO);
        fs_abandon(&f);
        ck_assert_ok(fs_remove_tree(fs, "/f", &err));
    }
    sim_fs_free(fs);
}
END_TEST

static enum rc scenario(struct fs *fs, struct err *err)
{
    struct fs_file *f = NULL;
    enum rc rc;

    GOTO_IF_ERR(fs_mkdirs(fs, "/chk-1", err));
    GOTO_IF_ERR(fs_create(fs, "/chk-1/tmp", &f, err));
    GOTO_IF_ERR(fs_append(f, bytes_of_str("0123456789"), err));
    GOTO_IF_ERR(fs_sync(f, err));
    GOTO_IF_ERR(fs_close(&f, err));
    GOTO_IF_ERR(fs_rename(fs, "/chk-1/tmp", "/chk-1/_metadata", err));
    GOTO_IF_ERR(fs_sync_dir(fs, "/chk-1", err));
out:
    fs_abandon(&f);
    return rc;
}

/* The pattern of sim_fs.h: at each k, then recovered. Nothing visible is ever cut, and what
 * reported success stays. */
START_TEST(a_scenario_can_be_crashed_at_every_operation)
{
    unsigned visible = 0, absent = 0;
    uint64_t k, whole = 0;

    for (k = 0;; k++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct rng r;
        enum rc rc;

        rng_seed(&r, k + 1000 * (uint64_t)_i);
        sim_fs_crash_at(fs, k);
        rc = scenario(fs, &err);
        if (!sim_fs_down(fs)) {
            ck_assert_ok(rc);
            whole = sim_fs_op_count(fs);
            sim_fs_crash(fs, &r);
            ck_assert(is(fs, "/chk-1/_metadata", "0123456789"));
            sim_fs_free(fs);
            break;
        }
        ck_assert_int_eq(rc, RC_IO);
        ck_assert_int_eq(err.os_errno, EIO);
        ck_assert_ptr_nonnull(strstr(err.msg, "simulated power loss"));
        err_clear(&err);
        ck_assert(!fs_exists(fs, "/")); /* reads fail too */
        sim_fs_crash(fs, &r);
        ck_assert(!sim_fs_down(fs));
        if (fs_exists(fs, "/chk-1/_metadata")) {
            ck_assert(is(fs, "/chk-1/_metadata", "0123456789"));
            visible++;
        } else {
            absent++;
        }
        ck_assert_ok(fs_remove_tree(fs, "/chk-1", &err));
        ck_assert_ok(scenario(fs, &err));
        sim_fs_free(fs);
    }
    ck_assert_uint_eq(k, whole);
    ck_assert_uint_eq(k, 7);
    ck_assert_uint_ge(
        absent, 6); /* only the last operation, the directory's sync, can find the name there */
    ck_assert_uint_le(visible, 1);
}
END_TEST

START_TEST(an_append_that_meets_the_crash_leaves_a_part)
{
    bool cut = false;

    for (uint64_t k = 1; k < 30; k++) {
        struct fs *fs = sim_fs_new(NULL);
        struct err err = {0};
        struct fs_stat st;
        struct fs_file *f;

        ck_assert_ok(fs_create(fs, "/a", &f, &err));
        sim_fs_crash_at(fs, k - 1);
        for (uint64_t i = 1; i < k; i++)
            ck_assert_ok(fs_append(f, bytes_of_str("12345678"), &err));
        ck_assert_rc(fs_append(f, bytes_of_str("12345678"), &err), RC_IO);
        fs_abandon(&f);
        sim_fs_restart(fs);
        ck_assert_ok(fs_stat(fs, "/a", &st, &err));
        ck_assert_uint_ge(st.size_bytes, 8 * (k - 1));
        ck_assert_uint_le(st.size_bytes, 8 * k);
        cut |= st.size_bytes % 8 != 0;
        sim_fs_free(fs);
    }
    ck_assert(cut);
}
END_TEST

START_TEST(links_and_reflinks_can_be_forbidden_or_allowed)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct rng r;

    rng_seed(&r, 2);
    write_file(fs, "/a", "x", true);
    ck_assert_rc(fs_reflink(fs, "/a", "/b", &err), RC_NO_LINK);
    sim_fs_allow(fs, false, true);
    ck_assert_rc(fs_link(fs, "/a", "/b", &err), RC_NO_LINK);
    ck_assert_ok(fs_reflink(fs, "/a", "/b", &err));
    append_file(fs, "/a", 1, "y", true);
    ck_assert(is(fs, "/b", "x"));
    ck_assert_ok(fs_sync_dir(fs, "/", &err));
    sim_fs_crash(fs, &r);
    ck_assert(is(fs, "/b", "x"));
    sim_fs_free(fs);
}
END_TEST

START_TEST(a_full_disk_takes_what_fits)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct fs_file *f;

    write_file(fs, "/a", "1234", false);
    ck_assert_ok(fs_link(fs, "/a", "/b", &err)); /* takes no room */
    sim_fs_set_capacity(fs, 10);
    ck_assert_ok(fs_create(fs, "/c", &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str("12345"), &err));
    ck_assert_int_eq(fs_append(f, bytes_of_str("67"), &err), RC_IO);
    ck_assert_int_eq(err.os_errno, ENOSPC);
    err_clear(&err);
    ck_assert(is(fs, "/c", "123456"));
    ck_assert_ok(fs_unlink(fs, "/a", &err));
    ck_assert_rc(fs_append(f, bytes_of_str("7"), &err), RC_IO);
    ck_assert_ok(fs_unlink(fs, "/b", &err));
    ck_assert_ok(fs_append(f, bytes_of_str("7890"), &err));
    ck_assert_ok(fs_close(&f, &err));
    sim_fs_free(fs);
}
END_TEST

START_TEST(a_flipped_byte_stays_flipped)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct rng r;

    rng_seed(&r, 3);
    write_file(fs, "/a", "abc", true);
    ck_assert_ok(fs_sync_dir(fs, "/", &err));
    ck_assert(sim_fs_flip(fs, "/a", 1, 0x20));
    ck_assert(!sim_fs_flip(fs, "/a", 3, 1));
    ck_assert(!sim_fs_flip(fs, "/b", 0, 1));
    ck_assert(is(fs, "/a", "aBc"));
    sim_fs_crash(fs, &r);
    ck_assert(is(fs, "/a", "aBc"));
    sim_fs_free(fs);
}
END_TEST

START_TEST(both_images_can_be_looked_at)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct buf b = {0};

    ck_assert_ok(fs_mkdirs(fs, "/d", &err));
    write_file(fs, "/d/a", "durable", true);
    ck_assert(!sim_fs_durable(fs, "/d/a", &b)); /* its name is not */
    ck_assert_ok(fs_sync_dir(fs, "/d", &err));
    append_file(fs, "/d/a", 7, "+more", false);
    write_file(fs, "/b", "x", false);
    ck_assert(sim_fs_durable(fs, "/d/a", &b));
    ck_assert_bytes_str(buf_bytes(&b), "durable");
    buf_clear(&b);
    sim_fs_dump(fs, &b);
    ck_assert_str_eq(buf_cstr(&b), "W 1 /b\nW dir /d\nW 12 /d/a\nD dir /d\nD 7 /d/a\n");
    buf_release(&b);
    sim_fs_free(fs);
}
END_TEST

START_TEST(times_come_from_the_given_clock)
{
    struct sim_clock clock;
    struct err err = {0};
    struct fs_stat st;
    struct fs *fs;

    sim_clock_init(&clock, 1000);
    fs = sim_fs_new(&clock.clock);
    write_file(fs, "/a", "x", false);
    sim_clock_advance_ms(&clock, 500);
    ck_assert_ok(fs_rename(fs, "/a", "/b", &err));
    ck_assert_ok(fs_stat(fs, "/b", &st, &err));
    ck_assert_int_eq(st.mtime_wall_ms, 1000);
    ck_assert_int_eq(st.ctime_wall_ms, 1500);
    sim_fs_free(fs);
}
END_TEST

/* Memory of files that nothing leads to any more is given back: a simulation makes millions. */
START_TEST(files_that_are_gone_take_no_room)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct buf big = {0};
    struct fs_file *f;

    buf_reserve(&big, 1 << 20);
    memset(big.data, 'x', 1 << 20);
    big.len = 1 << 20;
    for (int i = 0; i < 3000; i++) { /* 3 GB if kept */
        ck_assert_ok(fs_create(fs, "/a", &f, &err));
        ck_assert_ok(fs_append(f, buf_bytes(&big), &err));
        ck_assert_ok(fs_close(&f, &err));
        ck_assert_ok(fs_unlink(fs, "/a", &err));
        if (i % 16 == 0)
            ck_assert_ok(fs_sync_dir(fs, "/", &err));
    }
    buf_release(&big);
    sim_fs_free(fs);
}
END_TEST

TEST_MAIN("sim_fs", tcase_add_test(tc, what_is_synced_survives_every_crash);
          tcase_add_test(tc, name_and_content_are_lost_independently);
          tcase_add_test(tc, a_synced_prefix_is_never_torn);
          tcase_add_loop_test(tc, a_cut_is_durable_only_after_a_sync, 0, 2);
          tcase_add_loop_test(tc, a_rename_is_atomic_and_durable_only_after_sync_dir, 0, 2);
          tcase_add_test(tc, a_rename_before_the_sync_can_lose_the_content);
          tcase_add_loop_test(tc, a_rename_between_directories_is_durable_by_the_one_it_goes_to, 0,
                              2);
          tcase_add_loop_test(tc, an_unlink_may_come_back_until_sync_dir, 0, 2);
          tcase_add_test(tc, changes_of_two_names_survive_in_any_combination);
          tcase_add_test(tc, the_history_of_one_name_is_cut_not_shuffled);
          tcase_add_test(tc, a_directory_that_was_not_synced_takes_all_below_with_it);
          tcase_add_test(tc, a_hard_link_shares_what_was_synced_under_the_other_name);
          tcase_add_test(tc, a_killed_process_loses_no_written_byte_but_its_locks_and_files);
          tcase_add_test(tc, files_open_over_a_crash_are_dead_even_when_theirs_is_gone);
          tcase_add_loop_test(tc, a_scenario_can_be_crashed_at_every_operation, 0, 50);
          tcase_add_test(tc, an_append_that_meets_the_crash_leaves_a_part);
          tcase_add_test(tc, links_and_reflinks_can_be_forbidden_or_allowed);
          tcase_add_test(tc, a_full_disk_takes_what_fits);
          tcase_add_test(tc, a_flipped_byte_stays_flipped);
          tcase_add_test(tc, both_images_can_be_looked_at);
          tcase_add_test(tc, times_come_from_the_given_clock);
          tcase_add_test(tc, files_that_are_gone_take_no_room))
