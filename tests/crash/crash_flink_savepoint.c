/* links: checkpoint */
/* crash_flink_savepoint.c - power fails at every operation of an export to a savepoint of Flink's.
 * After the reboot the savepoint is there with all its entries, or has no _metadata; once it was
 * reported done it is there. The source is as it was. */
#include "checkpoint/flink/flink_savepoint.h"

#include "checkpoint/flink/flink_canonical.h"
#include "checkpoint/flink/flink_describe.h"
#include "checkpoint/flink/flink_metadata_write.h"
#include "checkpoint/flink/flink_snapshot.h"
#include "checkpoint/flink/flink_source.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/crash_points.h"
#include "tests/lib/sim_fs.h"

#include <inttypes.h>

#define SOURCE "/in/savepoint-1"
#define OUT "/out/savepoint-2"
#define SEEDS 6
#define ENTRIES 3000u /* too many for _metadata */
#define GROUPS 4u

/* Keys BIGINT; one state: VALUE "v", VoidNamespace, BIGINT. */
static void put_description(struct buf *b)
{
    static const struct state_desc state = {.name = "v", .kind = STATE_VALUE, .key_type = "BIGINT",
                                            .namespace_type = "VOID", .user_key_type = "", .value_type = "BIGINT"};
    struct err err = {0};

    ck_assert_ok(flink_describe_keyed(&state, 1, b, &err));
}

/* key group | BIGINT | void */
static size_t key_of(uint32_t i, uint8_t key[16])
{
    key[0] = (uint8_t)(i * GROUPS / ENTRIES);
    put_be64(key + 1, i);
    key[9] = 0;
    return 10;
}

static void write_source(const struct env *env, struct arena *arena)
{
    struct flink_operator op = {.name = bytes_of_str("op"), .uid = bytes_of_str("op"),
                                .parallelism = 1, .max_parallelism = GROUPS, .subtask_count = 1};
    struct flink_metadata m = {.version = 6, .checkpoint_id = 3, .operator_count = 1, .operators = &op};
    struct flink_groups groups = {.range = {0, GROUPS}};
    struct flink_subtask subtask = {0};
    struct flink_target *target;
    struct flink_file file;
    struct flink_canonical c;
    struct buf encoded = {0}, description = {0};
    struct err err = {0};

    put_description(&description);
    op.subtasks = &subtask;
    groups.offsets = ARENA_ARRAY(arena, GROUPS, int64_t);
    ck_assert_ok(flink_target_open(env, SOURCE, &target, &err));
    flink_file_init(target, &file);
    flink_canonical_begin(&c, &file, buf_bytes(&description), groups.range, 1, groups.offsets);
    buf_release(&description);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint8_t key[16], value[8];
        size_t len = key_of(i, key);

        put_be64(value, i);
        ck_assert_ok(flink_canonical_add(&c, 0, bytes_of(key, len), bytes_of(value, 8), true, &err));
    }
    ck_assert_ok(flink_canonical_end(&c, &err));
    ck_assert_ok(flink_file_finish(&file, arena, &groups.stream, &err));
    ck_assert_int_eq(groups.stream.tag, FLINK_STREAM_RELATIVE);
    subtask.managed_keyed = (struct flink_keyed){
        .tag = FLINK_KEYED_SAVEPOINT, .range = groups.range, .groups = &groups};
    ck_assert_ok(flink_metadata_encode(&m, FLINK_PROPERTIES_CANONICAL, &encoded, &err));
    ck_assert_ok(flink_target_publish(target, buf_bytes(&encoded), &err));
    buf_release(&encoded);
    flink_canonical_release(&c);
    flink_target_free(target);
}

/* All that come in order, each with its value. */
static enum rc count_entries(struct fs *fs, const struct flink_snapshot *s, uint32_t *count,
                             struct err *err)
{
    struct flink_source *source;
    struct bytes key, value;
    enum rc rc;

    *count = 0;
    RETURN_IF_ERR(flink_source_open(fs, &s->meta.operators[0], s->places, "/none", &source, err));
    flink_walk_begin(source, bytes_of_str("v"), (struct key_group_range){0, GROUPS - 1},
                     (struct bytes){0});
    for (;;) {
        GOTO_IF_ERR(flink_walk_next(source, &key, &value, err));
        if (key.data == NULL)
            break;
        if (value.len != 8 || get_be64(value.data) != *count)
            rc = err_set(err, RC_CORRUPT, "entry %u has another value", *count);
        ++*count;
    }
out:
    flink_source_close(source);
    return rc;
}

static void check_whole(struct fs *fs, const char *dir, uint64_t k, uint64_t seed)
{
    struct arena *arena = arena_new(0);
    struct flink_snapshot s = {0};
    struct err err = {0};
    uint32_t count = 0;
    enum rc rc = flink_snapshot_open(fs, dir, NULL, arena, &s, &err);

    if (rc == RC_OK)
        rc = count_entries(fs, &s, &count, &err);
    ck_assert_msg(rc == RC_OK && count == ENTRIES,
                  "crash at %" PRIu64 " seed %" PRIu64 ": %s: %u entries: %s", k, seed, dir, count,
                  err.msg);
    flink_snapshot_release(&s);
    arena_free(arena);
}

static enum rc export_it(const struct env *env, struct arena *arena, struct err *err)
{
    const struct flink_savepoint_options options = {.scratch_dir = "/none"};
    struct flink_savepoint_result result;
    struct flink_snapshot s = {0};
    enum rc rc = flink_snapshot_open(env->fs, SOURCE, NULL, arena, &s, err);

    if (rc == RC_OK)
        rc = flink_savepoint_write(env, &s.meta, s.places, OUT, &options, &result, err);
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

    write_source(&env, arena);
    rng_seed(&rng, seed * 1000003 + k);
    sim_fs_crash_at(fs, k);
    rc = export_it(&env, arena, &err);
    done = !sim_fs_down(fs);
    ck_assert_msg(!done || rc == RC_OK, "crash at %" PRIu64 ": %s", k, err.msg);
    sim_fs_crash_at(fs, UINT64_MAX / 2);
    sim_fs_crash(fs, &rng);
    check_whole(fs, SOURCE, k, seed);
    ck_assert_msg(rc != RC_OK || fs_exists(fs, OUT "/_metadata"),
                  "crash at %" PRIu64 " seed %" PRIu64 ": it was reported done", k, seed);
    if (fs_exists(fs, OUT "/_metadata"))
        check_whole(fs, OUT, k, seed);
    arena_free(arena);
    sim_fs_free(fs);
    return done;
}

START_TEST(every_crash_leaves_a_whole_savepoint_or_none)
{
    ck_assert_uint_gt(crash_points(crash_at, SEEDS), 10);
}
END_TEST

TEST_MAIN("crash_flink_savepoint", tcase_add_test(tc, every_crash_leaves_a_whole_savepoint_or_none);)
