/* links: checkpoint */
/* test_lineage.c - which run went on from which, and when one may take what another left outside its snapshot for its own. */
#include "checkpoint/lineage.h"

#include "checkpoint/discard.h"
#include "checkpoint/ended.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccc"
#define E "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
#define F "ffffffffffffffffffffffffffffffff"
#define DIR_OF(id) "/ck/" id

static struct fs *fs;
static struct env env;
static struct arena *arena;
static struct err err;

static void touch(const char *path)
{
    struct fs_file *f;

    ck_assert_ok(fs_create(fs, path, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
}

static void checkpoint(const char *job_dir, int id)
{
    const char *dir = arena_printf(arena, "%s/chk-%d", job_dir, id);

    ck_assert_ok(fs_mkdirs(fs, dir, &err));
    touch(arena_printf(arena, "%s/_metadata", dir));
}

/* A run's directory, locked. */
static struct fs_file *begin(const char *job_id, size_t ancestor_count, const char **ancestors)
{
    const char *dir = arena_printf(arena, "/ck/%s", job_id);
    struct run_origin o = {job_id, "job", "f", 5, ancestor_count == 0 ? "" : "/ck/" A "/chk-3", ancestor_count, ancestors};
    struct fs_file *lock;

    ck_assert_ok(fs_mkdirs(fs, dir, &err));
    ck_assert_ok(job_dir_lock(fs, dir, "me", &lock, &err));
    ck_assert_ok(origin_write(fs, dir, &o, &err));
    return lock;
}

/* Run A, dead, with chk-3. */
static void setup(void)
{
    struct fs_file *lock;

    fs = sim_fs_new(NULL);
    env = (struct env){.fs = fs};
    arena = arena_new(0);
    err = (struct err){0};
    lock = begin(A, 0, NULL);
    checkpoint(DIR_OF(A), 3);
    fs_abandon(&lock);
}

static void teardown(void)
{
    sim_fs_free(fs);
    arena_free(arena);
}

/* A run that starts from A's chk-3. */
static struct fs_file *go_on(const char *job_id)
{
    const char *ancestors[] = {A};

    return begin(job_id, 1, ancestors);
}

static bool may(const char *own_dir)
{
    return lineage_may_take_over(&env, DIR_OF(A), 3, own_dir);
}

START_TEST(an_origin_is_read_as_it_was_written)
{
    const char *ancestors[] = {A, C};
    struct run_origin o = {B, "a\\b", "f", 77, "/snap\nshot", 2, ancestors}, got;

    ck_assert_ok(origin_write(fs, DIR_OF(A), &o, &err));
    ck_assert_ok(origin_read(fs, DIR_OF(A), arena, &got, &err));
    ck_assert_str_eq(got.job_id, B);
    ck_assert_str_eq(got.job_name, "a\\b");
    ck_assert_str_eq(got.fingerprint, "f");
    ck_assert_int_eq(got.started_wall_ms, 77);
    ck_assert_str_eq(got.from, "/snap\nshot");
    ck_assert_uint_eq(got.ancestor_count, 2);
    ck_assert_str_eq(got.ancestors[0], A);
    ck_assert_str_eq(got.ancestors[1], C);
}
END_TEST

static const char *const strangers[] = {
    "",
    "job_id=" A "\njob_name=j\nfingerprint=f\nstarted=1\n",
    "job_id=" A "\njob_name=j\nfingerprint=f\nstarted=1\nfrom=relative\n",
    "job_id=" A "\njob_name=j\nfingerprint=f\nstarted=x\nfrom=\n",
    "job_id=" A "\njob_name=j\nfingerprint=f\nstarted=1\nfrom=\nafter=relative\n",
    "job_id=" A "\njob_name=j\nfingerprint=f\nstarted=1\nfrom=\nbefore=/x\n",
};

START_TEST(any_other_origin_is_refused)
{
    struct run_origin got;

    ck_assert_ok(note_write(fs, DIR_OF(A), "ORIGIN", bytes_of_str(strangers[_i]), &err));
    ck_assert_rc_msg(origin_read(fs, DIR_OF(A), arena, &got, &err), RC_CORRUPT,
                     DIR_OF(A) "/ORIGIN: not the lines");
}
END_TEST

START_TEST(the_first_to_go_on_may_take_over)
{
    struct fs_file *b = go_on(B), *c = begin(C, 0, NULL); /* c: another job */

    ck_assert(may(DIR_OF(B)));
    fs_abandon(&b);
    fs_abandon(&c);
}
END_TEST

START_TEST(nobody_takes_over_from_a_live_run)
{
    struct fs_file *a;

    ck_assert_ok(job_dir_lock(fs, DIR_OF(A), NULL, &a, &err));
    ck_assert(!may(DIR_OF(B)));
    fs_abandon(&a);
    ck_assert(may(DIR_OF(B)));
}
END_TEST

/* Others could not know of it. */
START_TEST(who_has_no_directory_beside_it_does_not_take_over)
{
    ck_assert(!may(NULL));
    ck_assert(!may("/another/" B));
}
END_TEST

/* A copy's parts are the original's, of which others may go on. */
START_TEST(nobody_takes_over_from_a_copy)
{
    ck_assert(may(DIR_OF(B)));
    ck_assert_ok(fs_mkdirs(fs, "/copy/" A "/chk-3", &err));
    touch("/copy/" A "/chk-3/_metadata");
    ck_assert_ok(fs_link(fs, DIR_OF(A) "/LOCK", "/copy/" A "/LOCK", &err));
    ck_assert(!lineage_may_take_over(&env, "/copy/" A, 3, "/copy/" B));
    ck_assert_ok(fs_remove_tree(fs, DIR_OF(A), &err)); /* moved */
    ck_assert(lineage_may_take_over(&env, "/copy/" A, 3, "/copy/" B));
}
END_TEST

static const struct {
    const char *name;
    bool may;
} later[] = {
    {"chk-4", true}, {"chk-4/_metadata", false}, {"SAVEPOINT-3", true}, {"SAVEPOINT-4", false}};

START_TEST(a_newer_snapshot_names_what_was_left)
{
    const char *path = arena_printf(arena, DIR_OF(A) "/%s", later[_i].name);

    if (strncmp(later[_i].name, "chk-4", 5) == 0)
        ck_assert_ok(fs_mkdirs(fs, DIR_OF(A) "/chk-4", &err));
    if (strcmp(later[_i].name, "chk-4") != 0)
        touch(path);
    ck_assert(may(DIR_OF(B)) == later[_i].may);
}
END_TEST

START_TEST(of_two_at_once_neither_takes_over)
{
    struct fs_file *b = go_on(B), *c = go_on(C);

    ck_assert(!may(DIR_OF(B)));
    ck_assert(!may(DIR_OF(C)));
    fs_abandon(&b);
    fs_abandon(&c);
}
END_TEST

START_TEST(one_that_died_and_left_nothing_is_not_in_the_way)
{
    struct fs_file *b = go_on(B), *c;

    fs_abandon(&b);
    c = go_on(C);
    ck_assert(may(DIR_OF(C)));
    fs_abandon(&c);
}
END_TEST

/* The successor's snapshot goes on in the parts: a third run may not cut them. Nor when it cannot be asked. */
START_TEST(one_that_died_and_left_a_snapshot_is_in_the_way)
{
    struct fs_file *b = go_on(B);

    if (_i == 0)
        checkpoint(DIR_OF(B), 4);
    else if (_i == 1)
        touch(DIR_OF(B) "/SAVEPOINT-4");
    else
        ck_assert_ok(note_write(fs, DIR_OF(B), "ORIGIN", bytes_of_str("what?"), &err));
    fs_abandon(&b);
    ck_assert(!may(DIR_OF(C)));
}
END_TEST

static struct run_origin ancestors_of(const char *snapshot, const char *job_id, const char *root)
{
    struct run_origin o = {0};
    const char *parent;

    ck_assert_ok(lineage_ancestors(&env, snapshot, job_id, root, arena, &o, &parent, &err));
    ck_assert((parent == NULL) == (o.ancestor_count == 0));
    return o;
}

START_TEST(ancestors_are_all_that_it_went_on_from)
{
    const char *of_b[] = {A, "dddddddddddddddddddddddddddddddd"}, *of_c[] = {B, A};
    struct fs_file *lock = begin(B, 2, of_b);
    struct run_origin o;

    checkpoint(DIR_OF(B), 4);
    fs_abandon(&lock);
    o = ancestors_of(DIR_OF(B) "/chk-4", B, NULL);
    ck_assert_uint_eq(o.ancestor_count, 3);
    ck_assert_str_eq(o.ancestors[0], B);
    ck_assert_str_eq(o.ancestors[1], A);
    lock = begin(C, 2, of_c);
    fs_abandon(&lock);
    o = ancestors_of("/user/savepoint-cccccc-0123456789ab", C, "/ck"); /* of a stop of C */
    ck_assert_uint_eq(o.ancestor_count, 3);
    ck_assert_str_eq(o.ancestors[0], C);
    ck_assert_uint_eq(ancestors_of("/user/savepoint-cccccc-0123456789ab", C, NULL).ancestor_count, 0);
}
END_TEST

START_TEST(what_starts_from_a_live_run_is_a_fork)
{
    struct fs_file *a;

    ck_assert_ok(job_dir_lock(fs, DIR_OF(A), NULL, &a, &err));
    ck_assert_uint_eq(ancestors_of(DIR_OF(A) "/chk-3", A, NULL).ancestor_count, 0);
    fs_abandon(&a);
    ck_assert_uint_eq(ancestors_of(DIR_OF(A) "/chk-3", A, NULL).ancestor_count, 1);
}
END_TEST

static uint32_t begun_before(const char *fingerprint, const char *ancestor)
{
    struct run_origin o = {.job_id = F, .fingerprint = fingerprint};

    if (ancestor != NULL) {
        o.ancestors = ARENA_ARRAY(arena, LINEAGE_ANCESTORS_MAX, const char *);
        o.ancestors[o.ancestor_count++] = ancestor;
    }
    ck_assert_ok(lineage_add_begun(fs, DIR_OF(F), arena, &o, &err));
    return (uint32_t)o.ancestor_count;
}

/* C began and came to nothing, then B, which says that it came after C: whoever comes next comes after
 * both, in whatever order they are found. Of one that went on from elsewhere nothing is known, a live
 * one may come to something, and A did. */
START_TEST(runs_that_came_to_nothing_are_before_it)
{
    static const char *const after_c[] = {C}, *const after_a[] = {A};
    struct fs_file *c = begin(C, 0, NULL), *b = begin(B, 1, (const char **)after_c);
    struct fs_file *e = begin(E, 1, (const char **)after_a);

    ck_assert_uint_eq(begun_before("f", NULL), 0); /* they live */
    fs_abandon(&b);
    fs_abandon(&c);
    fs_abandon(&e);
    ck_assert_uint_eq(begun_before("f", NULL), 2);
    ck_assert_uint_eq(begun_before("f", A), 4); /* E too: A is before both */
    ck_assert_uint_eq(begun_before("g", NULL), 0); /* of other statements */
    ck_assert_ok(lineage_add_begun(fs, NULL, arena, &(struct run_origin){0}, &err));
}
END_TEST

/* What ended, or left a checkpoint, came to something. */
START_TEST(a_run_with_an_end_or_a_checkpoint_did_not_come_to_nothing)
{
    struct fs_file *b = begin(B, 0, NULL);
    struct ended end = {.end = JOB_END_FINISHED, .job_id = B, .job_name = "job", .fingerprint = "f"};

    fs_abandon(&b);
    ck_assert_uint_eq(begun_before("f", NULL), 1);
    if (_i == 0)
        checkpoint(DIR_OF(B), 1);
    else
        ck_assert_ok(ended_write(fs, DIR_OF(B), &end, &err));
    ck_assert_uint_eq(begun_before("f", NULL), 0);
}
END_TEST

TEST_MAIN("lineage", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, an_origin_is_read_as_it_was_written);
          tcase_add_loop_test(tc, any_other_origin_is_refused, 0, ARRAY_LEN(strangers));
          tcase_add_test(tc, the_first_to_go_on_may_take_over);
          tcase_add_test(tc, nobody_takes_over_from_a_live_run);
          tcase_add_test(tc, who_has_no_directory_beside_it_does_not_take_over);
          tcase_add_test(tc, nobody_takes_over_from_a_copy);
          tcase_add_loop_test(tc, a_newer_snapshot_names_what_was_left, 0, ARRAY_LEN(later));
          tcase_add_test(tc, of_two_at_once_neither_takes_over);
          tcase_add_test(tc, one_that_died_and_left_nothing_is_not_in_the_way);
          tcase_add_loop_test(tc, one_that_died_and_left_a_snapshot_is_in_the_way, 0, 3);
          tcase_add_test(tc, ancestors_are_all_that_it_went_on_from);
          tcase_add_test(tc, what_starts_from_a_live_run_is_a_fork);
          tcase_add_test(tc, runs_that_came_to_nothing_are_before_it);
          tcase_add_loop_test(tc, a_run_with_an_end_or_a_checkpoint_did_not_come_to_nothing, 0, 2);)
