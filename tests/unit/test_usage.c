/* links: checkpoint */
#include "checkpoint/usage.h"

#include "checkpoint/layout.h"
#include "checkpoint/savepoint.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#define JOB_DIR "/ckpt/" SCENE_JOB_ID
#define STREAM_BYTES 7000u

static struct fs *fs;
static struct scene scene;
static struct arena *arena;
static struct err err;
static struct usage_report r;

/* Checkpoints 1 to 3: n has the files n, n+1, n+2 in shared/, and an exclusive stream. */
static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    r = (struct usage_report){0};
    fs = sim_fs_new(NULL);
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
}

static void teardown(void)
{
    usage_report_release(&r);
    scene_close(&scene);
    sim_fs_free(fs);
    arena_free(arena);
}

/* First without the job's scratch directory: its links would keep what a deletion frees. */
static void look(const char *path)
{
    ck_assert_ok(fs_remove_tree(fs, "/local", &err));
    usage_report_release(&r);
    ck_assert_ok(usage_look(fs, path, NULL, NULL, (struct look_watch){0}, &r, &err));
}

static uint64_t content_bytes(uint64_t i)
{
    return scene_content(arena, i).len;
}

static uint64_t size_of(const char *path)
{
    struct fs_stat st;

    ck_assert_ok(fs_stat(fs, path, &st, &err));
    return st.size_bytes;
}

static const char *shared_path(uint64_t i)
{
    char name[LAYOUT_NAME_MAX];

    layout_shared_name(digest_of(scene_content(arena, i)), name);
    return arena_printf(arena, JOB_DIR "/shared/%s", name);
}

static void write_file(const char *path, const char *content)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(fs, path, &file, &err));
    ck_assert_ok(fs_append(file, bytes_of_str(content), &err));
    ck_assert_ok(fs_close(&file, &err));
}

/* Exclusive files of a checkpoint: its _metadata, and what lies beside it. */
static uint64_t dir_bytes(uint64_t id, uint64_t *metadata_bytes)
{
    const char *dir = arena_printf(arena, JOB_DIR "/chk-%d", (int)id);

    *metadata_bytes = size_of(arena_printf(arena, "%s/_metadata", dir));
    return *metadata_bytes + STREAM_BYTES + content_bytes(1000 + id); /* its MANIFEST */
}

START_TEST(what_each_has_alone_what_it_shares_and_what_its_end_would_free)
{
    uint64_t metadata_bytes, alone = dir_bytes(1, &metadata_bytes);

    look(JOB_DIR);
    ck_assert_uint_eq(r.snapshot_count, 3);
    ck_assert_uint_eq(r.snapshots[0].exclusive.bytes, alone + content_bytes(1));
    ck_assert_uint_eq(r.snapshots[0].shared.count, 2);
    ck_assert_uint_eq(r.snapshots[0].shared.bytes, content_bytes(2) + content_bytes(3));
    ck_assert_uint_eq(r.snapshots[0].freed.bytes, r.snapshots[0].exclusive.bytes);
    ck_assert_uint_eq(r.snapshots[1].shared.count, 3);
    ck_assert_uint_eq(r.snapshots[1].exclusive.bytes, dir_bytes(2, &metadata_bytes));
    ck_assert_uint_eq(r.snapshots[2].shared.count, 2);
    ck_assert_uint_eq(r.unnamed.count, 0);
    ck_assert_uint_eq(r.missing.count, 0);
    ck_assert_uint_eq(r.linked.count, 0);
    ck_assert_uint_eq(r.operator_count, 1);
    ck_assert_uint_eq(r.operators[0].shared.count, 3); /* 2, 3 and 4 */
    ck_assert_uint_eq(r.operators[0].exclusive.count, 2 + 3 * 2);
}
END_TEST

/* What is promised here is exactly what a deletion gives back. */
START_TEST(deleting_a_checkpoint_frees_what_was_said)
{
    uint64_t all, freed;

    look(JOB_DIR);
    all = r.all.bytes;
    freed = r.snapshots[0].freed.bytes;
    scene_close(&scene);
    ck_assert_ok(savepoint_dispose(&scene.env, JOB_DIR "/chk-1", &err));
    look(JOB_DIR);
    ck_assert_uint_eq(r.all.bytes, all - freed);
    ck_assert_ok(scene_open(&scene, &err));
}
END_TEST

START_TEST(a_savepoints_links_are_bytes_that_are_shared_and_free_nothing)
{
    struct checkpoint_metadata m;
    struct storage_attempt *a;
    uint64_t metadata_bytes;

    ck_assert_ok(savepoint_begin(scene.storage, 9, "/ckpt", &a, &err));
    ck_assert_ok(scene_publish(&scene, a, 3, arena, &m, &err));
    m.checkpoint_id = 9;
    m.kind = CHECKPOINT_SAVEPOINT;
    ck_assert_ok(storage_attempt_complete(a, &m, &err));
    metadata_bytes = storage_attempt_metadata_bytes(a);
    storage_attempt_free(a);
    look("/ckpt");
    ck_assert_uint_eq(r.snapshot_count, 4);
    ck_assert_uint_eq(r.snapshots[3].shared.bytes,
                      content_bytes(3) + content_bytes(4) + content_bytes(5));
    ck_assert_uint_eq(r.snapshots[3].freed.bytes,
                      metadata_bytes + STREAM_BYTES + content_bytes(1003));
    ck_assert_uint_eq(r.snapshots[2].freed.bytes, dir_bytes(3, &metadata_bytes));
    ck_assert_uint_eq(r.linked.count, 0); /* both names lie here */
}
END_TEST

START_TEST(a_name_elsewhere_keeps_bytes_from_being_freed)
{
    uint64_t freed;

    look(JOB_DIR);
    freed = r.snapshots[0].freed.bytes;
    ck_assert_ok(fs_link(fs, shared_path(1), "/kept", &err));
    look(JOB_DIR);
    ck_assert_uint_eq(r.linked.count, 1);
    ck_assert_uint_eq(r.linked.bytes, content_bytes(1));
    ck_assert_uint_eq(r.snapshots[0].freed.bytes, freed - content_bytes(1));
}
END_TEST

START_TEST(what_nobody_names_is_counted_apart_and_a_jobs_own_files_are_not_it)
{
    uint64_t all;

    look("/ckpt");
    all = r.all.bytes;
    write_file(JOB_DIR "/shared/00112233445566778899aabbccddeeff.sst", "stray");
    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/chk-4", &err));
    write_file(JOB_DIR "/chk-4/s-0.bin", "half");
    write_file(JOB_DIR "/chk-2/notes.txt", "of mine");
    write_file("/ckpt/README", "hello");
    write_file(JOB_DIR "/taskowned/log", "12345678");
    look("/ckpt");
    ck_assert_uint_eq(r.unnamed.count, 4);
    ck_assert_uint_eq(r.unnamed.bytes, 5 + 4 + 7 + 5);
    ck_assert_uint_eq(r.all.bytes, all + r.unnamed.bytes + 8);
    ck_assert_int_eq(r.snapshots[3].status, USAGE_INCOMPLETE);
}
END_TEST

START_TEST(of_one_checkpoint_its_neighbours_say_what_is_shared)
{
    look(JOB_DIR "/chk-2");
    ck_assert_uint_eq(r.only, 1);
    ck_assert_uint_eq(r.snapshots[1].shared.count, 3);
    ck_assert_uint_eq(r.operators[0].shared.count, 3);
    ck_assert_uint_eq(r.operators[0].shared.bytes, r.snapshots[1].shared.bytes);
    ck_assert_uint_eq(r.operators[0].exclusive.bytes,
                      STREAM_BYTES + content_bytes(1002));
}
END_TEST

START_TEST(an_unreadable_metadata_and_a_missing_file_are_said)
{
    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-3/_metadata", 90, 1));
    ck_assert_ok(fs_unlink(fs, shared_path(2), &err));
    look(JOB_DIR);
    ck_assert_uint_eq(r.unreadable_count, 1);
    ck_assert_int_eq(r.snapshots[2].status, USAGE_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(r.snapshots[2].reason, "digest differs"));
    ck_assert_uint_eq(r.missing.count, 1);
    ck_assert_uint_eq(r.missing.bytes, content_bytes(2));
    ck_assert_uint_eq(r.unnamed.count, 3); /* the file 5, chk-3's stream and MANIFEST */
}
END_TEST

START_TEST(looking_changes_nothing)
{
    uint64_t ops = sim_fs_op_count(fs);

    ck_assert_ok(usage_look(fs, "/ckpt", NULL, NULL, (struct look_watch){0}, &r, &err));
    ck_assert_uint_eq(sim_fs_op_count(fs), ops);
}
END_TEST

TEST_MAIN("usage", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, what_each_has_alone_what_it_shares_and_what_its_end_would_free);
          tcase_add_test(tc, deleting_a_checkpoint_frees_what_was_said);
          tcase_add_test(tc, a_savepoints_links_are_bytes_that_are_shared_and_free_nothing);
          tcase_add_test(tc, a_name_elsewhere_keeps_bytes_from_being_freed);
          tcase_add_test(tc, what_nobody_names_is_counted_apart_and_a_jobs_own_files_are_not_it);
          tcase_add_test(tc, of_one_checkpoint_its_neighbours_say_what_is_shared);
          tcase_add_test(tc, an_unreadable_metadata_and_a_missing_file_are_said);
          tcase_add_test(tc, looking_changes_nothing);)
