/* links: checkpoint */
#include "checkpoint/difference.h"

#include "checkpoint/savepoint.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sample_metadata.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#define JOB_DIR "/ckpt/" SCENE_JOB_ID

static struct fs *fs;
static struct scene scene;
static struct arena *arena;
static struct err err;
static struct difference d;

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    d = (struct difference){0};
    fs = sim_fs_new(NULL);
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
}

static void teardown(void)
{
    difference_release(&d);
    scene_close(&scene);
    sim_fs_free(fs);
    arena_free(arena);
}

static void diff(const char *from, const char *to)
{
    difference_release(&d);
    ck_assert_ok(difference_make(fs, from, to, NULL, &d, &err));
}

/* Checkpoint n has the files n, n+1 and n+2, a MANIFEST of its own, and a CURRENT and a stream that
 * are the same in all. */
START_TEST(neighbours_share_what_they_share)
{
    uint64_t kept = scene_content(arena, 2).len + scene_content(arena, 3).len + 16 + 7000;

    diff(JOB_DIR "/chk-1", JOB_DIR "/chk-2");
    ck_assert_uint_eq(d.operator_count, 1);
    ck_assert_str_eq(d.operators[0].name, "Toy[k]");
    ck_assert_uint_eq(d.sums[CONTENT_ADDED].count, 2);
    ck_assert_uint_eq(d.sums[CONTENT_ADDED].bytes,
                      scene_content(arena, 4).len + scene_content(arena, 1002).len);
    ck_assert_uint_eq(d.sums[CONTENT_DROPPED].count, 2);
    ck_assert_uint_eq(d.sums[CONTENT_DROPPED].bytes,
                      scene_content(arena, 1).len + scene_content(arena, 1001).len);
    ck_assert_uint_eq(d.sums[CONTENT_KEPT].count, 4);
    ck_assert_uint_eq(d.sums[CONTENT_KEPT].bytes, kept);
    ck_assert_uint_eq(d.operators[0].content_count, 8);
}
END_TEST

START_TEST(the_other_way_round_added_and_dropped_change_places)
{
    struct content_sum added;

    diff(JOB_DIR "/chk-1", "file://" JOB_DIR "/chk-3/_metadata");
    added = d.sums[CONTENT_ADDED];
    diff(JOB_DIR "/chk-3", JOB_DIR "/chk-1");
    ck_assert_uint_eq(d.sums[CONTENT_DROPPED].count, added.count);
    ck_assert_uint_eq(d.sums[CONTENT_DROPPED].bytes, added.bytes);
    diff(JOB_DIR "/chk-2", JOB_DIR "/chk-2");
    ck_assert_uint_eq(d.sums[CONTENT_ADDED].count + d.sums[CONTENT_DROPPED].count, 0);
    ck_assert_uint_eq(d.sums[CONTENT_KEPT].count, 6);
}
END_TEST

/* Content counts, not where it lies. */
START_TEST(a_savepoint_has_in_common_what_it_links_to)
{
    struct checkpoint_metadata m;
    struct storage_attempt *a;
    const char *dir;

    ck_assert_ok(savepoint_begin(scene.storage, 9, "/ckpt", &a, &err));
    ck_assert_ok(scene_publish(&scene, a, 3, arena, &m, &err));
    m.checkpoint_id = 9;
    m.kind = CHECKPOINT_SAVEPOINT;
    dir = arena_strdup(arena, storage_attempt_dir(a));
    ck_assert_ok(storage_attempt_complete(a, &m, &err));
    storage_attempt_free(a);
    diff(JOB_DIR "/chk-3", dir);
    ck_assert_uint_eq(d.sums[CONTENT_KEPT].count, 6);
    ck_assert_uint_eq(d.sums[CONTENT_ADDED].count, 0);
}
END_TEST

static void write_sample(const char *dir, struct checkpoint_metadata *m)
{
    struct buf encoded = {0};

    ck_assert_ok(fs_mkdirs(fs, dir, &err));
    metadata_own_encode(m, &encoded);
    ck_assert_ok(storage_publish_metadata(fs, dir, buf_bytes(&encoded), &err));
    buf_release(&encoded);
}

START_TEST(operators_that_one_side_lacks_and_lists_are_told_by_themselves)
{
    struct checkpoint_metadata *m = sample_metadata(arena, 7, 1);
    struct bytes item = bytes_of_str("moved on!");

    write_sample("/x/chk-7", m);
    m->checkpoint_id = 8;
    m->operators[0].subtasks[0].lists[0].items[0] = item;
    m->operators[1].id[0] = 'f';
    write_sample("/x/chk-8", m);
    diff("/x/chk-7", "/x/chk-8");
    ck_assert_uint_eq(d.operator_count, m->operator_count + 1);
    ck_assert_uint_eq(d.operators[0].sums[CONTENT_ADDED].count, 1);
    ck_assert_uint_eq(d.operators[0].sums[CONTENT_DROPPED].count, 1);
    for (size_t i = 0; i < d.operators[0].content_count; i++) {
        const struct content *c = &d.operators[0].contents[i];

        ck_assert_str_eq(c->name, c->change == CONTENT_KEPT ? "list empty" : "list splits");
        ck_assert_ptr_null(c->path);
    }
    ck_assert_uint_eq(d.operators[1].sums[CONTENT_DROPPED].count, 0);
    ck_assert_uint_gt(d.operators[1].sums[CONTENT_ADDED].count, 0);
    ck_assert_str_eq(d.operators[m->operator_count].id, SAMPLE_AGG_ID);
    ck_assert_uint_eq(d.operators[m->operator_count].sums[CONTENT_DROPPED].count,
                      d.operators[1].sums[CONTENT_ADDED].count);
}
END_TEST

START_TEST(a_path_of_several_snapshots_is_refused)
{
    ck_assert_rc_msg(difference_make(fs, JOB_DIR "/chk-1", JOB_DIR, NULL, &d, &err), RC_INVALID,
                     "holds 3 snapshots");
    difference_release(&d);
    ck_assert_rc(difference_make(fs, "/nowhere", JOB_DIR "/chk-1", NULL, &d, &err), RC_NOT_FOUND);
}
END_TEST

TEST_MAIN("difference", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, neighbours_share_what_they_share);
          tcase_add_test(tc, the_other_way_round_added_and_dropped_change_places);
          tcase_add_test(tc, a_savepoint_has_in_common_what_it_links_to);
          tcase_add_test(tc, operators_that_one_side_lacks_and_lists_are_told_by_themselves);
          tcase_add_test(tc, a_path_of_several_snapshots_is_refused);)
