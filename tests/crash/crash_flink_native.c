/* links: checkpoint */
/* crash_flink_native.c - power fails at every operation of an export to a native savepoint of Flink's.
 * After the reboot every file of every database is there, byte for byte, or there is no _metadata; once it
 * was reported done it is there. The source is as it was. */
#include "checkpoint/flink/flink_native.h"

#include "checkpoint/flink/flink_describe.h"
#include "checkpoint/flink/flink_input.h"
#include "checkpoint/flink/flink_metadata_write.h"
#include "checkpoint/flink/flink_snapshot.h"
#include "checkpoint/flink/flink_target.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/crash_points.h"
#include "tests/lib/sim_fs.h"

#include <inttypes.h>

#define SOURCE "/in/chk-3"
#define OUT "/out/savepoint-2"
#define SEEDS 6
#define GROUPS 4u

/* Files that RocksDB itself has to open (SSTs) are not on a simulated disk. */
static const struct {
    const char *name;
    size_t len;
    bool shared;
} files[] = {{"OPTIONS-000007", 30000, false}, {"000009.log", 2100000, true}, {"IDENTITY", 36, false}};

static uint8_t byte_of(size_t file, size_t at)
{
    return (uint8_t)(at * 31 + at / 256 * 7 + file);
}

/* Keys BIGINT; one state: VALUE "v", VoidNamespace, BIGINT. */
static void put_description(struct buf *b)
{
    static const struct state_desc state = {.name = "v", .kind = STATE_VALUE, .key_type = "BIGINT",
                                            .namespace_type = "VOID", .user_key_type = "", .value_type = "BIGINT"};
    struct err err = {0};

    ck_assert_ok(flink_describe_keyed(&state, 1, b, &err));
}

static void write_stream(struct flink_target *target, struct arena *arena, const struct buf *content,
                         struct flink_stream *out)
{
    struct flink_file f;
    struct err err = {0};

    flink_file_init(target, &f);
    buf_append(&f.buf, content->data, content->len);
    ck_assert_ok(flink_file_finish(&f, arena, out, &err));
}

static void write_database(struct flink_target *target, struct arena *arena,
                           struct flink_incremental *db)
{
    struct buf content = {0};

    db->shared = ARENA_ARRAY(arena, ARRAY_LEN(files), struct flink_db_file);
    db->private = ARENA_ARRAY(arena, ARRAY_LEN(files), struct flink_db_file);
    put_description(&content);
    write_stream(target, arena, &content, &db->meta);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct flink_db_file *f =
            files[i].shared ? &db->shared[db->shared_count++] : &db->private[db->private_count++];

        buf_clear(&content);
        for (size_t at = 0; at < files[i].len; at++)
            buf_append_u8(&content, byte_of(i, at));
        f->local_name = bytes_of_str(files[i].name);
        write_stream(target, arena, &content, &f->stream);
    }
    buf_release(&content);
}

static void write_source(const struct env *env, struct arena *arena)
{
    struct flink_incremental db = {.checkpoint_id = 3, .backend_id = bytes_of_str("a backend")};
    struct flink_subtask subtask = {.managed_keyed = {.tag = FLINK_KEYED_INCREMENTAL,
                                                      .range = {0, GROUPS},
                                                      .handle_id = bytes_of_str("a handle"),
                                                      .incremental = &db}};
    struct flink_operator op = {.name = bytes_of_str("op"), .uid = bytes_of_str("op"),
                                .parallelism = 1, .max_parallelism = GROUPS, .subtask_count = 1,
                                .subtasks = &subtask};
    struct flink_metadata m = {.version = 6, .checkpoint_id = 3, .operator_count = 1, .operators = &op};
    struct flink_target *target;
    struct buf encoded = {0};
    struct err err = {0};

    ck_assert_ok(flink_target_open(env, SOURCE, &target, &err));
    write_database(target, arena, &db);
    ck_assert_ok(flink_metadata_encode(&m, FLINK_PROPERTIES_NATIVE, &encoded, &err));
    ck_assert_ok(flink_target_publish(target, buf_bytes(&encoded), &err));
    buf_release(&encoded);
    flink_target_free(target);
}

/* Which file of the database it is; its content is that one's. */
static enum rc check_file(struct fs *fs, const struct flink_snapshot *s,
                          const struct flink_db_file *f, struct err *err)
{
    struct flink_input *in = NULL;
    struct bytes all;
    enum rc rc;
    size_t i = 0;

    while (i < ARRAY_LEN(files) && !bytes_eq(f->local_name, bytes_of_str(files[i].name)))
        i++;
    if (i == ARRAY_LEN(files))
        return err_set(err, RC_CORRUPT, "a file that was not there");
    GOTO_IF_ERR(flink_input_open(fs, &f->stream, flink_place(s->places, &f->stream), &in, err));
    GOTO_IF_ERR(flink_input_seek(in, 0, UINT64_MAX, false, err));
    GOTO_IF_ERR(flink_input_want(in, files[i].len + 1, &all, err));
    if (all.len != files[i].len)
        rc = err_set(err, RC_CORRUPT, "%s has %zu bytes", files[i].name, all.len);
    for (size_t at = 0; rc == RC_OK && at < all.len; at++)
        if (all.data[at] != byte_of(i, at))
            rc = err_set(err, RC_CORRUPT, "%s is another one at %zu", files[i].name, at);
out:
    flink_input_close(in);
    return rc;
}

static enum rc check_database(struct fs *fs, const struct flink_snapshot *s, size_t shared_count,
                              struct err *err)
{
    const struct flink_incremental *db = s->meta.operators[0].subtasks[0].managed_keyed.incremental;

    if (db == NULL || db->shared_count != shared_count ||
        db->shared_count + db->private_count != ARRAY_LEN(files))
        return err_set(err, RC_CORRUPT, "no database of %zu files", ARRAY_LEN(files));
    for (size_t i = 0; i < db->shared_count; i++)
        RETURN_IF_ERR(check_file(fs, s, &db->shared[i], err));
    for (size_t i = 0; i < db->private_count; i++)
        RETURN_IF_ERR(check_file(fs, s, &db->private[i], err));
    return RC_OK;
}

static void check_whole(struct fs *fs, const char *dir, size_t shared_count, uint64_t k,
                        uint64_t seed)
{
    struct arena *arena = arena_new(0);
    struct flink_snapshot s = {0};
    struct err err = {0};
    enum rc rc = flink_snapshot_open(fs, dir, NULL, arena, &s, &err);

    if (rc == RC_OK)
        rc = check_database(fs, &s, shared_count, &err);
    ck_assert_msg(rc == RC_OK, "crash at %" PRIu64 " seed %" PRIu64 ": %s: %s", k, seed, dir,
                  err.msg);
    flink_snapshot_release(&s);
    arena_free(arena);
}

static enum { COPIED, LINKED, REFLINKED } how;

static enum rc export_it(const struct env *env, struct arena *arena, struct err *err)
{
    struct flink_native_result result;
    struct flink_snapshot s = {0};
    enum rc rc = flink_snapshot_open(env->fs, SOURCE, NULL, arena, &s, err);

    if (rc == RC_OK)
        rc = flink_native_write(env, &s.meta, s.places, OUT,
                                &(struct flink_native_options){.link = how != COPIED}, &result, err);
    if (rc == RC_OK)
        ck_assert_uint_eq(result.linked_bytes, how == COPIED ? 0 : files[0].len + files[1].len);
    flink_snapshot_release(&s);
    return rc;
}

/* true: the export ended before operation k. */
static bool crash_at(uint64_t k, uint64_t seed)
{
    struct fs *fs = sim_fs_new(NULL);
    struct env env = {.fs = fs, .seed = 7};
    struct arena *arena = arena_new(0);
    struct err err = {0};
    struct rng rng;
    enum rc rc;
    bool done;

    sim_fs_allow(fs, how == LINKED, how == REFLINKED);
    write_source(&env, arena);
    rng_seed(&rng, seed * 1000003 + k);
    sim_fs_crash_at(fs, k);
    rc = export_it(&env, arena, &err);
    done = !sim_fs_down(fs);
    ck_assert_msg(!done || rc == RC_OK, "crash at %" PRIu64 ": %s", k, err.msg);
    sim_fs_crash_at(fs, UINT64_MAX / 2);
    sim_fs_crash(fs, &rng);
    check_whole(fs, SOURCE, 1, k, seed);
    ck_assert_msg(rc != RC_OK || fs_exists(fs, OUT "/_metadata"),
                  "crash at %" PRIu64 " seed %" PRIu64 ": it was reported done", k, seed);
    if (fs_exists(fs, OUT "/_metadata"))
        check_whole(fs, OUT, 0, k, seed);
    arena_free(arena);
    sim_fs_free(fs);
    return done;
}

START_TEST(every_crash_leaves_a_whole_savepoint_or_none)
{
    how = _i;
    ck_assert_uint_gt(crash_points(crash_at, SEEDS), 10);
}
END_TEST

static void never(void *ctx, uint64_t done_bytes UNUSED, uint64_t all_bytes UNUSED)
{
    ck_abort_msg("%s: a stream was copied", (const char *)ctx);
}

/* One thing is of a form that cannot be copied. */
static void make_raw_nested(struct flink_subtask *s, struct arena *arena)
{
    struct flink_groups *inner = ARENA_NEW(arena, struct flink_groups);

    inner->stream = (struct flink_stream){.tag = FLINK_STREAM_BYTES};
    s->raw_keyed = (struct flink_keyed){.tag = FLINK_KEYED_GROUPS_OLD,
                                        .groups = ARENA_NEW(arena, struct flink_groups)};
    s->raw_keyed.groups->stream =
        (struct flink_stream){.tag = FLINK_STREAM_GROUPS, .groups = inner};
}

static void make_raw_a_database(struct flink_subtask *s, struct arena *arena UNUSED)
{
    s->raw_keyed = s->managed_keyed;
}

static void lose_a_file(struct flink_subtask *s, struct arena *arena UNUSED)
{
    s->managed_keyed.incremental->private[1].stream.tag = FLINK_STREAM_NONE;
}

static void lose_the_description(struct flink_subtask *s, struct arena *arena UNUSED)
{
    s->managed_keyed.incremental->meta.tag = FLINK_STREAM_NONE;
}

static void nest_lists(struct flink_subtask *s, struct arena *arena)
{
    s->managed.tag = FLINK_LISTS;
    s->managed.stream = (struct flink_stream){.tag = FLINK_STREAM_GROUPS,
                                              .groups = ARENA_NEW(arena, struct flink_groups)};
}

static const struct {
    void (*make)(struct flink_subtask *s, struct arena *arena);
    const char *reason;
} bad_forms[] = {
    {make_raw_nested, "raw keyed state is a stream inside a stream"},
    {make_raw_a_database, "raw keyed state is no stream of key groups"},
    {lose_a_file, "IDENTITY of its database has no stream"},
    {lose_the_description, "its database has no description"},
    {nest_lists, "operator state is a stream inside a stream"},
};

START_TEST(what_cannot_be_copied_is_refused_before_anything_is)
{
    struct fs *fs = sim_fs_new(NULL);
    struct env env = {.fs = fs, .seed = 7};
    struct arena *arena = arena_new(0);
    struct flink_native_options options = {.progress = never,
                                           .progress_ctx = (void *)(uintptr_t)bad_forms[_i].reason};
    struct flink_native_result result;
    struct flink_snapshot s = {0};
    struct err err = {0};

    write_source(&env, arena);
    ck_assert_ok(flink_snapshot_open(fs, SOURCE, NULL, arena, &s, &err));
    bad_forms[_i].make(s.meta.operators[0].subtasks, arena);
    ck_assert_int_eq(flink_native_write(&env, &s.meta, s.places, OUT, &options, &result, &err),
                     RC_UNSUPPORTED);
    ck_assert_msg(strstr(err.msg, bad_forms[_i].reason) != NULL &&
                      strstr(err.msg, "operator op subtask 0") != NULL,
                  "%s", err.msg);
    ck_assert(!fs_exists(fs, OUT));
    flink_snapshot_release(&s);
    arena_free(arena);
    sim_fs_free(fs);
}
END_TEST

TEST_MAIN("crash_flink_native", tcase_add_loop_test(tc, every_crash_leaves_a_whole_savepoint_or_none, COPIED,
                              REFLINKED + 1);
          tcase_add_loop_test(tc, what_cannot_be_copied_is_refused_before_anything_is, 0,
                              ARRAY_LEN(bad_forms));)
