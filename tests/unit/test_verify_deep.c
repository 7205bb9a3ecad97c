/* Two checkpoints of one real database, whole and then with an SST that is bad although every
 * digest is right: what only a look into the databases finds. And which state each of its files
 * belongs to. */
#include "checkpoint/verify.h"

#include "checkpoint/layout.h"
#include "checkpoint/usage.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/keyed_job.h"

#define JOB_ID "0123456789abcdef0123456789abcdef"

static struct keyed_job job;
static struct keyed_checkpoint checkpoint;
static struct verify_report report;
static struct err err;
static struct arena *arena;
static const char *job_dir;

static void write_file(const char *path, struct bytes content)
{
    struct fs_file *file;

    if (fs_exists(fs_posix(), path))
        return;
    ck_assert_ok(fs_create(fs_posix(), path, &file, &err));
    ck_assert_ok(fs_append(file, content, &err));
    ck_assert_ok(fs_close(&file, &err));
}

static struct bytes content_of(const struct state_file *f)
{
    struct buf content = {0};
    struct bytes copy;

    if (f->scope == FILE_INLINE)
        return f->inline_bytes;
    ck_assert_ok(fs_read_all(fs_posix(), f->resolved_path, 1 << 26, &content, &err));
    copy = arena_bytes_copy(arena, buf_bytes(&content));
    buf_release(&content);
    return copy;
}

/* The file as a checkpoint names it: SSTs shared, the rest inline. */
static void publish(struct state_file *f, bool damage)
{
    bool is_sst = strstr(f->local_name, ".sst") != NULL || f->local_name[0] == '\0';
    struct bytes content = content_of(f);
    char name[LAYOUT_NAME_MAX];

    if (is_sst && damage) {
        uint8_t *bad = arena_copy(arena, content.data, content.len);

        bad[content.len / 3] ^= 4;
        content = bytes_of(bad, content.len);
    }
    f->digest = digest_of(content);
    f->inline_bytes = is_sst ? (struct bytes){0} : content;
    f->scope = is_sst ? FILE_SHARED : FILE_INLINE;
    f->path = NULL;
    if (!is_sst)
        return;
    layout_shared_name(f->digest, name);
    f->path = arena_printf(arena, "../shared/%s", name);
    write_file(arena_printf(arena, "%s/shared/%s", job_dir, name), content);
}

static void write_checkpoint(uint64_t id, struct keyed_handle *h)
{
    struct subtask_state subtask = {.keyed_count = 1, .keyed = h};
    struct operator_meta op = {.id = "22222222222222222222222222222222",
                               .uid = "",
                               .name = "Deep[k]",
                               .parallelism = 1,
                               .key_group_count = h->key_group_count,
                               .subtask_count = 1,
                               .subtasks = &subtask};
    struct checkpoint_metadata m = {.checkpoint_id = id,
                                    .kind = CHECKPOINT_PERIODIC,
                                    .job_id = JOB_ID,
                                    .job_name = "deep",
                                    .varve_version = "test",
                                    .rocksdb_version = "none",
                                    .sql = "",
                                    .operator_count = 1,
                                    .operators = &op};
    struct buf encoded = {0};
    const char *dir = arena_printf(arena, "%s/chk-%d", job_dir, (int)id);

    metadata_own_encode(&m, &encoded);
    ck_assert_ok(fs_mkdir(fs_posix(), dir, &err));
    write_file(arena_printf(arena, "%s/_metadata", dir), buf_bytes(&encoded));
    buf_release(&encoded);
}

/* damaged: how many of the SSTs, from the first on. */
static void make_directory(const char *kind, size_t damaged)
{
    struct keyed_handle *h;

    err = (struct err){0};
    arena = arena_new(0);
    keyed_job_init(&job, 7);
    job.key_space = 3000;
    keyed_job_open(&job, 1, kind, NULL);
    for (int i = 0; i < 60; i++)
        keyed_job_step(&job);
    keyed_job_checkpoint(&job, &checkpoint, 0);
    keyed_job_close(&job);
    job_dir = arena_strdup(arena, tmpdir_at(&job.tmp, "ck/" JOB_ID));
    ck_assert_ok(fs_mkdirs(fs_posix(), arena_printf(arena, "%s/shared", job_dir), &err));
    ck_assert_ok(fs_mkdirs(fs_posix(), tmpdir_at(&job.tmp, "look"), &err));
    h = &checkpoint.handles[0];
    for (size_t i = 0; i < h->file_count; i++) {
        bool sst = strstr(h->files[i].local_name, ".sst") != NULL;

        publish(&h->files[i], sst && damaged > 0);
        damaged -= sst && damaged > 0;
    }
    write_checkpoint(1, h);
    write_checkpoint(2, h);
}

static void end(void)
{
    verify_report_release(&report);
    keyed_checkpoint_release(&checkpoint);
    keyed_job_release(&job);
    arena_free(arena);
}

static void verify(bool deep)
{
    struct env env = {.fs = fs_posix(), .clock = clock_posix()};
    struct verify_options how = {.scratch_dir = deep ? tmpdir_at(&job.tmp, "look") : NULL};

    verify_report_release(&report);
    ck_assert_ok(verify_path(&env, job_dir, &how, &report, &err));
}

static const char *const kinds[] = {"h", "r"};

START_TEST(what_is_whole_is_clean_inside_as_well)
{
    make_directory(kinds[_i], 0);
    verify(true);
    ck_assert_msg(!verify_found_damage(&report), "%s: %s", report.faults[0].path,
                  report.faults[0].reason);
    ck_assert_uint_eq(report.newest_clean[0], 1);
    end();
}
END_TEST

START_TEST(a_bad_sst_is_found_once_for_all_who_share_it)
{
    make_directory("r", 1);
    verify(false);
    ck_assert(!verify_found_damage(&report)); /* every digest is right */
    verify(true);
    ck_assert(verify_found_damage(&report));
    ck_assert_uint_eq(report.fault_count, 1);
    ck_assert_uint_eq(report.faults[0].snapshot_count, 2);
    ck_assert_str_eq(report.faults[0].operator_name, "Deep[k]");
    ck_assert_msg(strstr(report.faults[0].path, "/shared/") != NULL, "%s", report.faults[0].path);
    ck_assert_uint_eq(report.damaged_count, 2);
    ck_assert(report.newest_clean[0] == VERIFY_NONE);
    end();
}
END_TEST

START_TEST(a_handle_that_is_not_what_it_says_is_a_fault_of_its_snapshot)
{
    struct keyed_handle *h;
    size_t sst = 0;

    make_directory("r", 0);
    h = &checkpoint.handles[0];
    while (strstr(h->files[sst].local_name, ".sst") == NULL)
        sst++;
    h->files[sst] = h->files[--h->file_count];
    write_checkpoint(3, h);
    verify(true);
    ck_assert_uint_eq(report.fault_count, 1);
    ck_assert_str_eq(report.faults[0].path, arena_printf(arena, "%s/chk-3", job_dir));
    ck_assert_str_eq(report.faults[0].operator_name, "Deep[k]");
    ck_assert_int_eq(report.snapshots[2].status, VERIFY_DAMAGED);
    ck_assert_uint_eq(report.newest_clean[0], 1);
    end();
}
END_TEST

/* A database's MANIFEST says it; what is in no database is of no one state. */
START_TEST(du_tells_the_states_of_a_database_apart)
{
    struct usage_report usage = {0};
    struct usage_sum sum = {0};

    make_directory("r", 0);
    ck_assert_ok(usage_look(fs_posix(), job_dir, tmpdir_at(&job.tmp, "look"),
                            NULL, (struct look_watch){0}, &usage, &err));
    ck_assert_uint_ge(usage.state_count, 3);
    for (size_t i = 0; i < usage.state_count; i++) {
        const struct keyed_handle *h = &checkpoint.handles[0];

        ck_assert_ptr_nonnull(usage.states[i].state);
        ck_assert_ptr_nonnull(state_desc_find(h->states, h->state_count, usage.states[i].state));
        ck_assert_uint_gt(usage.states[i].shared.bytes, 0);
        sum.bytes += usage.states[i].shared.bytes;
        sum.count += usage.states[i].shared.count;
    }
    ck_assert_uint_eq(sum.bytes, usage.operators[0].shared.bytes);
    ck_assert_uint_eq(sum.count, usage.operators[0].shared.count);
    usage_report_release(&usage);
    end();
    make_directory("h", 0);
    ck_assert_ok(usage_look(fs_posix(), job_dir, tmpdir_at(&job.tmp, "look"),
                            NULL, (struct look_watch){0}, &usage, &err));
    for (size_t i = 0; i < usage.state_count; i++)
        ck_assert_ptr_null(usage.states[i].state);
    usage_report_release(&usage);
    end();
}
END_TEST

TEST_MAIN("verify_deep", tcase_add_loop_test(tc, what_is_whole_is_clean_inside_as_well, 0, 2);
          tcase_add_test(tc, a_bad_sst_is_found_once_for_all_who_share_it);
          tcase_add_test(tc, a_handle_that_is_not_what_it_says_is_a_fault_of_its_snapshot);
          tcase_add_test(tc, du_tells_the_states_of_a_database_apart);)
