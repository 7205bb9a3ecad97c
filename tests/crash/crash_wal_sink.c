/* crash_wal_sink.c - power fails, or the process dies, at every operation on the disk and at every
 * call of the target, in write, prepare, checkpoint, commit, deletion and recovery of a write-ahead
 * sink over the real storage of checkpoints.
 *
 * After a crash a new run, with a directory of its own, goes on from the newest checkpoint that is
 * whole. Always: no row is in the target that no complete checkpoint holds, and none twice (C7). At
 * the end each row is there once; every log that a checkpoint names was there when it was restored
 * (C2, C4, else recovery fails). */
#include "checkpoint/layout.h"
#include "checkpoint/orphans.h"
#include "checkpoint/recovery.h"
#include "checkpoint/savepoint.h"
#include "checkpoint/storage.h"
#include "sink/wal_sink.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/pg_double.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/sim_fs.h"

#define ROWS 48u
#define ROWS_A_CHECKPOINT 12u
#define KEYS 5u
#define OP_ID "33333333333333333333333333333333"

static const struct {
    const char *name;
    bool keyed, rescales;
    unsigned aborted;   /* this checkpoint is given up after prepare; 0: none */
    unsigned savepoint; /* so is this one a savepoint, not notified; 0: none */
} variants[] = {
    {"rows without a key", false, false, 0, 0},
    {"with a key", true, false, 0, 0},
    {"an aborted checkpoint, a savepoint", false, false, 2, 3},
    {"another parallelism each run", false, true, 2, 0},
};

struct world {
    struct fs *fs;
    struct env env;
    struct sim_clock clock;
    struct pg_double pg;
    int variant;
    unsigned run;
    bool completed; /* the run at hand completed a checkpoint */
};
struct run { /* what a process has open */
    struct world *w;
    struct arena *arena;
    struct storage *storage;
    struct sink *sinks[2];
    unsigned sink_count;
    struct recovered recovered;
    uint32_t row;
    uint64_t id, last_id;
    struct pg_column column[2];
    struct pg_table table;
    uint32_t key;
};

static enum rc hold(void *ctx, const char *name, uint64_t size, struct digest128 digest,
                    uint64_t *out, struct err *err)
{
    return storage_hold(ctx, name, size, digest, out, err);
}
static void release(void *ctx, uint64_t held, const char *name)
{
    storage_release_hold(ctx, held, name);
}

static void job_dir(unsigned run, char out[64])
{
    snprintf(out, 64, "/ckpt/%032u", run);
}

/* The newest whole checkpoint of any run before. */
static enum rc find_newest(struct run *r, struct err *err)
{
    for (unsigned i = r->w->run - 1; i >= 1; i--) {
        char dir[64];
        enum rc rc;

        job_dir(i, dir);
        recovered_release(&r->recovered);
        rc = recovery_open(&r->w->env, dir, &(struct recovery_options){.digests = true},
                           &r->recovered, err);
        if (rc == RC_OK)
            return RC_OK;
        if (rc != RC_NOT_FOUND)
            return rc;
        *err = (struct err){0};
    }
    recovered_release(&r->recovered);
    return RC_OK;
}

static const struct list_state *list_of(const struct subtask_state *s, const char *name)
{
    for (size_t i = 0; i < s->list_count; i++)
        if (strcmp(s->lists[i].name, name) == 0)
            return &s->lists[i];
    return NULL;
}

/* Items of all old subtasks, dealt out to `count` new ones; the writers to each. */
static struct sink_snapshot share(struct run *r, unsigned index, unsigned count)
{
    struct bytes *items = ARENA_ARRAY(r->arena, 2, struct bytes);
    struct bytes *writers = ARENA_ARRAY(r->arena, 4, struct bytes); /* and those before them */
    struct sink_snapshot out = {.writer = {0, writers}, .committables = {0, items}};
    unsigned at = 0;

    for (size_t s = 0; r->recovered.meta != NULL && s < r->recovered.meta->operators[0].subtask_count;
         s++) {
        const struct subtask_state *old = &r->recovered.meta->operators[0].subtasks[s];
        const struct list_state *l = list_of(old, SINK_STATE_COMMITTABLES);
        const struct list_state *w = list_of(old, SINK_STATE_WRITER);

        for (size_t i = 0; w != NULL && i < w->item_count; i++)
            writers[out.writer.count++] = w->items[i];

        for (size_t i = 0; l != NULL && i < l->item_count; i++)
            if (at++ % count == index)
                items[out.committables.count++] = l->items[i];
    }
    return out;
}

static enum rc open_sinks(struct run *r, struct err *err)
{
    char uuid[UUID_LEN + 1];

    r->column[0] = (struct pg_column){.name = "id", .type = "BIGINT", .taken = " int8 "};
    r->column[1] = (struct pg_column){.name = "v", .type = "BIGINT", .taken = " int8 "};
    r->table = (struct pg_table){.name = "t",
                                 .column_count = 1 + variants[r->w->variant].keyed,
                                 .columns = r->column,
                                 .key_count = variants[r->w->variant].keyed,
                                 .key = &r->key};
    snprintf(uuid, sizeof uuid, "%08u-1111-4111-8111-111111111111", r->w->run);
    r->sink_count = variants[r->w->variant].rescales ? 1 + r->w->run % 2 : 1;
    for (unsigned i = 0; i < r->sink_count; i++) {
        struct sink_snapshot restored = share(r, i, r->sink_count);
        struct wal_sink_config config = {.env = &r->w->env,
                                         .dir = storage_taskowned_dir(r->storage),
                                         .uuid = uuid,
                                         .subtask_index = i,
                                         .name = "sink",
                                         .table = &r->table,
                                         .batch_rows = 5,
                                         .log_bytes_max = 1 << 20,
                                         .hold = hold,
                                         .release = release,
                                         .hold_ctx = r->storage};

        RETURN_IF_ERR(wal_sink_open(&config, pg_double_client(&r->w->pg), &restored, &r->sinks[i],
                                    err));
    }
    return RC_OK;
}

static enum rc open_run(struct run *r, struct err *err)
{
    char job_id[33];
    struct storage_config config = {
        .env = &r->w->env, .dir = "/ckpt", .job_id = job_id, .holder = "x"};

    RETURN_IF_ERR(find_newest(r, err));
    snprintf(job_id, sizeof job_id, "%032u", r->w->run);
    RETURN_IF_ERR(storage_open(&config, &r->storage, err));
    if (r->recovered.meta != NULL) {
        RETURN_IF_ERR(storage_restore(r->storage, r->recovered.meta, r->recovered.dir, false,
                                      r->arena, err));
        r->id = r->last_id = r->recovered.meta->checkpoint_id;
        r->row = (uint32_t)get_be32(
            list_of(&r->recovered.meta->operators[0].subtasks[0], "row")->items[0].data);
    }
    return open_sinks(r, err);
}

static enum rc write_rows(struct run *r, struct err *err)
{
    for (uint32_t i = 0; i < ROWS_A_CHECKPOINT; i++) {
        uint32_t row = ++r->row;
        char line[32];

        if (variants[r->w->variant].keyed)
            snprintf(line, sizeof line, "U\t%u\t%u\n", row % KEYS, row);
        else
            snprintf(line, sizeof line, "%u\n", row);
        RETURN_IF_ERR(sink_write(r->sinks[row % r->sink_count], bytes_of_str(""),
                                 bytes_of_str(line), 1, 0, err));
    }
    return RC_OK;
}

static enum rc snapshot_sink(struct run *r, unsigned i, struct snapshot_target *t,
                             struct subtask_state *out, struct err *err)
{
    struct bytes *row = ARENA_NEW(r->arena, struct bytes);
    struct list_state *lists = ARENA_ARRAY(r->arena, 3, struct list_state);
    struct sink_snapshot made;
    uint8_t be[4];

    RETURN_IF_ERR(sink_prepare(r->sinks[i], r->id, r->row == ROWS, 0, r->arena, &made, err));
    put_be32(be, r->row);
    *row = arena_bytes_copy(r->arena, bytes_of(be, 4));
    lists[0] = (struct list_state){"row", LIST_SPLIT, 1, row};
    lists[1] = (struct list_state){SINK_STATE_COMMITTABLES, LIST_SPLIT, made.committables.count,
                                   (struct bytes *)(uintptr_t)made.committables.items};
    lists[2] = (struct list_state){SINK_STATE_WRITER, LIST_UNION, made.writer.count,
                                   (struct bytes *)(uintptr_t)made.writer.items};
    *out = (struct subtask_state){.subtask_index = i, .list_count = 3, .lists = lists,
                                  .log_count = made.log_count};
    out->logs = ARENA_ARRAY(r->arena, made.log_count, struct state_file);
    for (size_t k = 0; k < made.log_count; k++) {
        out->logs[k] = (struct state_file){.resolved_path = made.logs[k].path,
                                           .size_bytes = made.logs[k].size_bytes,
                                           .digest = made.logs[k].digest,
                                           .newly_written = made.logs[k].newly_written};
        RETURN_IF_ERR(t->ops->publish_log(t, r->arena, &out->logs[k], err));
    }
    return RC_OK;
}

/* Publishes all that the sinks hand out; RC_OK: complete. */
static enum rc fill(struct run *r, struct storage_attempt *a, bool gives_up, struct err *err)
{
    struct subtask_state subtasks[2];
    struct operator_meta op = {.id = OP_ID,
                               .uid = "",
                               .name = "Sink",
                               .parallelism = r->sink_count,
                               .key_group_count = 128,
                               .subtask_count = r->sink_count,
                               .subtasks = subtasks};
    struct checkpoint_metadata m = {.checkpoint_id = r->id,
                                    .kind = CHECKPOINT_PERIODIC,
                                    .job_name = "j",
                                    .varve_version = "0",
                                    .rocksdb_version = "0",
                                    .sql = "",
                                    .operator_count = 1,
                                    .operators = &op};
    struct snapshot_target *t = storage_attempt_target(a, "sink");
    enum rc rc = RC_OK;

    snprintf(m.job_id, sizeof m.job_id, "%032u", r->w->run);
    for (unsigned i = 0; i < r->sink_count && rc == RC_OK; i++)
        rc = snapshot_sink(r, i, t, &subtasks[i], err);
    if (rc == RC_OK && !gives_up)
        rc = storage_attempt_complete(a, &m, err);
    storage_target_release(t);
    return rc;
}

static enum rc checkpoint(struct run *r, struct err *err)
{
    bool savepoint, gives_up;
    struct storage_attempt *a = NULL;
    struct err ignored = {0};
    enum rc rc, cleanup UNUSED;

    r->id++;
    savepoint = r->id == variants[r->w->variant].savepoint;
    gives_up = r->id == variants[r->w->variant].aborted;
    RETURN_IF_ERR(savepoint ? savepoint_begin(r->storage, r->id, "/save", &a, err)
                            : storage_attempt_begin(r->storage, r->id, &a, err));
    rc = fill(r, a, gives_up, err);
    if (rc != RC_OK || gives_up)
        cleanup = storage_attempt_abort(a, &ignored);
    storage_attempt_free(a);
    if (rc == RC_OK && gives_up)
        return storage_clean(r->storage, NULL, err); /* its rows go into the next one */
    if (rc != RC_OK || savepoint)
        return rc;
    if (r->last_id != 0)
        RETURN_IF_ERR(storage_checkpoint_discard(r->storage, r->last_id, err));
    r->last_id = r->id;
    r->w->completed = true;
    RETURN_IF_ERR(storage_clean(r->storage, NULL, err));
    for (unsigned i = 0; i < r->sink_count; i++)
        RETURN_IF_ERR(sink_commit(r->sinks[i], r->id, err));
    return RC_OK;
}

static enum rc run(struct world *w, struct err *err)
{
    struct run r = {.w = w, .arena = arena_new(0)};
    enum rc rc;

    w->run++;
    w->completed = false;
    GOTO_IF_ERR(open_run(&r, err));
    while (r.row < ROWS) {
        GOTO_IF_ERR(write_rows(&r, err));
        GOTO_IF_ERR(checkpoint(&r, err));
    }
out:
    for (unsigned i = 0; i < r.sink_count; i++)
        sink_abort(r.sinks[i]);
    storage_close(r.storage);
    recovered_release(&r.recovered);
    arena_free(r.arena);
    return rc;
}

static void world_init(struct world *w, int variant)
{
    *w = (struct world){.fs = sim_fs_new(NULL), .variant = variant};
    sim_clock_init(&w->clock, 1000000);
    w->env = (struct env){.fs = w->fs, .clock = &w->clock.clock, .seed = 7};
    pg_double_init(&w->pg);
    w->pg.dies_with = w->fs;
}

/* Rows up to `last` may be in, each at most once; exactly once when `all`. */
static void check_rows(const struct world *w, uint32_t last, bool all, uint64_t k)
{
    for (uint32_t i = 1; i < PG_DOUBLE_ROWS && !variants[w->variant].keyed; i++)
        ck_assert_msg(w->pg.seen[i] <= (i <= last) && (!all || w->pg.seen[i] == (i <= last)),
                      "%s: crash at %llu: row %u of 1..%u is there %u times",
                      variants[w->variant].name, (unsigned long long)k, i, last, w->pg.seen[i]);
    for (uint32_t i = 0; i < KEYS && variants[w->variant].keyed; i++) {
        ck_assert_uint_le(w->pg.value[i], last);
        if (all)
            ck_assert_uint_eq(w->pg.value[i], ROWS - (ROWS - i) % KEYS);
    }
}

/* Rows of the newest complete checkpoint. */
static uint32_t rows_held(struct world *w)
{
    struct run r = {.w = w, .arena = arena_new(0)};
    struct err err = {0};
    uint32_t rows = 0;

    w->run++; /* find_newest looks below it */
    ck_assert_ok(find_newest(&r, &err));
    w->run--;
    if (r.recovered.meta != NULL)
        rows = get_be32(list_of(&r.recovered.meta->operators[0].subtasks[0], "row")->items[0].data);
    recovered_release(&r.recovered);
    arena_free(r.arena);
    return rows;
}

static void check_no_log_left(struct world *w)
{
    struct orphan_report report;
    struct err err = {0};
    char dir[64];

    job_dir(w->run, dir);
    ck_assert_ok(orphans_scan(w->fs, dir, NULL, NULL, &report, &err));
    for (size_t i = 0; i < report.orphan_count; i++)
        ck_assert_int_ne(report.orphans[i].kind, ORPHAN_LOG);
    orphan_report_release(&report);
}

/* Crash at operation k of the disk (late < 0), or call k of the target, before or after its effect;
 * then at operation j of the second run. false: the first run has fewer. */
static bool crash(int variant, uint64_t k, int late, uint64_t j, uint64_t seed, bool *hit_again)
{
    struct world w;
    struct rng rng;
    struct err err = {0};
    bool hit;
    enum rc rc;

    rng_seed(&rng, seed * 1000003 + k);
    world_init(&w, variant);
    if (late < 0)
        sim_fs_crash_at(w.fs, k);
    w.pg.fail_at = late < 0 ? UINT64_MAX : k;
    w.pg.fail_late = late > 0;
    rc = run(&w, &err);
    hit = w.pg.dead || sim_fs_down(w.fs);
    *hit_again = false;
    ck_assert_msg(hit || rc == RC_OK, "%s: %s", variants[variant].name, err.msg);
    for (int round = 0; hit && round < 2; round++) {
        if (seed % 2 == 0)
            sim_fs_crash(w.fs, &rng);
        else
            sim_fs_restart(w.fs);
        pg_double_revive(&w.pg);
        check_rows(&w, rows_held(&w), false, k);
        if (round == 0 && j != UINT64_MAX)
            sim_fs_crash_at(w.fs, j);
        err_clear(&err);
        rc = run(&w, &err);
        if (!sim_fs_down(w.fs))
            break;
        *hit_again = true;
    }
    ck_assert_msg(rc == RC_OK, "%s: crash at %llu: %s", variants[variant].name,
                  (unsigned long long)k, err.msg);
    check_rows(&w, ROWS, true, k);
    if (w.completed) /* else what it restored is named in another directory */
        check_no_log_left(&w);
    sim_fs_free(w.fs);
    return hit;
}

START_TEST(each_row_is_in_exactly_once_after_a_crash_at_any_operation_on_the_disk)
{
    bool again;
    uint64_t k = 0;

    for (bool hit = true; hit; k++)
        for (uint64_t seed = 0; seed < 3; seed++)
            hit = crash(_i, k, -1, UINT64_MAX, seed, &again);
    ck_assert_uint_gt(k, 60);
}
END_TEST

START_TEST(each_row_is_in_exactly_once_after_a_crash_at_any_call_of_the_target)
{
    bool again;
    uint64_t k = 0;

    for (bool hit = true; hit; k++)
        for (int late = 0; late < 2; late++)
            hit = crash(_i, k, late, UINT64_MAX, k + (uint64_t)late, &again);
    ck_assert_uint_gt(k, 20);
}
END_TEST

START_TEST(the_recovery_may_crash_anywhere_too)
{
    bool again;

    for (uint64_t k = 20; crash(_i, k, -1, UINT64_MAX, 2, &again); k += 23)
        for (uint64_t j = 0; j < 200; j += 3) {
            crash(_i, k, -1, j, j, &again);
            if (!again)
                break;
        }
}
END_TEST

TEST_MAIN("crash: write-ahead sink", {
    tcase_add_loop_test(tc, each_row_is_in_exactly_once_after_a_crash_at_any_operation_on_the_disk, 0,
                        ARRAY_LEN(variants));
    tcase_add_loop_test(tc, each_row_is_in_exactly_once_after_a_crash_at_any_call_of_the_target, 0,
                        ARRAY_LEN(variants));
    tcase_add_loop_test(tc, the_recovery_may_crash_anywhere_too, 0, ARRAY_LEN(variants));
})
