/* links: backend */
/* A blind state against a sorted map of whole totals: random updates, puts and deletions over a cache
 * far smaller than the state, snapshots that are written while updates go on, or given up unwritten,
 * restores at other parallelisms, into both backends, blind or not. VARVE_TEST_SEED=n tries another
 * seed. */
#include "backend/blind.h"
#include "backend/key_codec.h"
#include "backend/keyed_backend.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/gen.h"
#include "tests/lib/model_state.h"
#include "tests/lib/must.h"
#include "tests/lib/snapshot_writer.h"
#include "tests/lib/tmpdir.h"

#define SUBTASKS_MAX 4u
#define BATCH_MAX 400u
#define GROUPS 128u
#define PATTERN "+s.<>l.g."
#define ROW_BYTES 84u /* size, header, nine fields */
#define SLOTS 12u
#define NULLS_AT 5u /* bits of fields 0..7 */
#define AT(f) (SLOTS + 8u * (f))

static const struct state_desc desc = {.name = "accState",
                                       .kind = STATE_VALUE,
                                       .key_type = "BIGINT",
                                       .namespace_type = "VOID",
                                       .user_key_type = "",
                                       .value_type = "ROW<...>",
                                       .fixed_value_bytes = ROW_BYTES,
                                       .operand_operator = ""};

struct subtask {
    struct keyed_backend *backend;
    struct keyed_state *state;
    struct key_group_range range;
    char dir[FS_PATH_MAX];
};
struct job {
    struct tmpdir tmp;
    struct dir_target target;
    struct rng rng;
    struct model_state model;
    struct subtask subtasks[SUBTASKS_MAX];
    uint32_t parallelism, opened;
    struct key_builder keys;
    uint64_t key_space, memory_bytes, checkpoint_id;
    bool gets; /* read by key now and then */
    uint64_t evictions, blind_rows;
};
struct checkpoint {
    struct arena *arena;
    struct keyed_handle handles[SUBTASKS_MAX];
    uint32_t count;
    struct model_state model;
};

/* ---- totals ---------------------------------------------------------------------------------- */

static void begin_row(uint8_t *row)
{
    memset(row, 0, ROW_BYTES);
    put_be32(row, ROW_BYTES - 4);
    row[NULLS_AT] = 1u << 3 | 1u << 4 | 1u << 5 | 1u << 7;
}

static void extreme(uint8_t *row, uint32_t field, bool wide, bool less, __int128 v)
{
    __int128 old = (int64_t)get_le64(row + AT(field));

    if (wide)
        memcpy(&old, row + AT(field), 16);
    if (!(row[NULLS_AT] >> field & 1) && (less ? old <= v : old >= v))
        return;
    row[NULLS_AT] &= (uint8_t) ~(1u << field);
    memcpy(row + AT(field), &v, wide ? 16 : 8);
}

static void update(uint8_t *row, int64_t v, bool only_count)
{
    __int128 wide = (__int128)v * ((__int128)1 << 60), sum;

    put_le64(row + AT(0), get_le64(row + AT(0)) + 1);
    if (only_count)
        return; /* extremes stay null in some rows */
    memcpy(&sum, row + AT(1), sizeof sum);
    sum += wide;
    memcpy(row + AT(1), &sum, sizeof sum);
    extreme(row, 3, false, true, v);
    extreme(row, 4, false, false, v);
    extreme(row, 5, true, true, wide);
    extreme(row, 7, true, false, wide);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct key_batch random_batch(struct job *j, uint32_t subtask)
{
    uint32_t count = 1 + (uint32_t)rng_below(&j->rng, BATCH_MAX - 1);
    struct err err = {0};

    key_builder_clear(&j->keys);
    while (count-- > 0) {
        uint64_t n = rng_below(&j->rng, j->key_space);
        uint8_t key[8];

        if (gen_chance(&j->rng, 3))
            n %= 100; /* some are hot */
        put_be64(key, n);
        if (key_group_range_has(j->subtasks[subtask].range, n % GROUPS))
            MUST(key_builder_add(&j->keys, n % GROUPS, bytes_of(key, 8), 0, (struct bytes){0},
                                 &err) == RC_OK,
                 "%s", err.msg);
    }
    return key_builder_batch(&j->keys);
}

static void do_upsert(struct job *j, struct keyed_state *s, struct key_batch keys)
{
    void *rows[BATCH_MAX];
    uint8_t fresh[BATCH_MAX], whole[ROW_BYTES];
    struct err err = {0};

    MUST(keyed_upsert(s, &keys, rows, fresh, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct model_entry *e = model_get(&j->model, key_batch_at(&keys, i));
        int64_t v = (int64_t)rng_u64(&j->rng) >> rng_below(&j->rng, 60);
        bool only_count = gen_chance(&j->rng, 4);

        MUST(fresh[i] || e != NULL, "key %u: not fresh, though there is none", i);
        if (fresh[i])
            begin_row(rows[i]);
        update(rows[i], v, only_count);
        if (e != NULL)
            memcpy(whole, e->value.data, ROW_BYTES);
        else
            begin_row(whole);
        update(whole, v, only_count);
        model_put(&j->model, key_batch_at(&keys, i), bytes_of(whole, ROW_BYTES));
    }
}

static void do_put(struct job *j, struct keyed_state *s, struct key_batch keys)
{
    struct bytes values[BATCH_MAX];
    uint8_t row[ROW_BYTES];
    struct err err = {0};

    begin_row(row);
    update(row, (int64_t)rng_u64(&j->rng), false);
    for (uint32_t i = 0; i < keys.count; i++)
        values[i] = bytes_of(row, ROW_BYTES);
    MUST(keyed_put(s, &keys, values, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++)
        model_put(&j->model, key_batch_at(&keys, i), values[i]);
}

static void do_del(struct job *j, struct keyed_state *s, struct key_batch keys)
{
    struct err err = {0};

    MUST(keyed_del(s, &keys, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++)
        model_del(&j->model, key_batch_at(&keys, i));
}

static void do_get(struct job *j, struct keyed_state *s, struct key_batch keys)
{
    struct bytes values[BATCH_MAX];
    struct err err = {0};

    MUST(keyed_get(s, &keys, values, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct model_entry *e = model_get(&j->model, key_batch_at(&keys, i));

        MUST((values[i].data != NULL) == (e != NULL), "key %u: known %d", i, e != NULL);
        MUST(e == NULL || bytes_eq(values[i], e->value), "key %u: another value", i);
    }
}

static void check_all(struct job *j)
{
    struct model_state got = {0};
    struct bytes keys[100], values[100];
    struct keyed_cursor *c;
    struct err err = {0};
    uint32_t n;

    for (uint32_t i = 0; i < j->parallelism; i++) {
        MUST(keyed_scan_open(j->subtasks[i].state, (struct bytes){0}, &c, &err) == RC_OK, "%s",
             err.msg);
        do {
            MUST(keyed_scan_next(c, ARRAY_LEN(keys), keys, values, &n, &err) == RC_OK, "%s",
                 err.msg);
            for (uint32_t k = 0; k < n; k++) {
                MUST(model_get(&got, keys[k]) == NULL, "a scan gave a key twice");
                model_put(&got, keys[k], values[k]);
            }
        } while (n > 0);
        keyed_scan_close(c);
    }
    MUST(model_differ(&got, &j->model) == NULL, "%s", model_differ(&got, &j->model));
    model_release(&got);
}

static void random_step(struct job *j)
{
    uint32_t subtask = (uint32_t)rng_below(&j->rng, j->parallelism);
    struct keyed_state *s = j->subtasks[subtask].state;
    struct key_batch keys = random_batch(j, subtask);
    uint64_t what = rng_below(&j->rng, 40);

    if (keys.count == 0)
        return;
    if (what == 0)
        do_put(j, s, keys);
    else if (what <= 3)
        do_del(j, s, keys);
    else if (what == 4 && j->gets)
        do_get(j, s, keys);
    else if (what == 5 && gen_chance(&j->rng, 4))
        check_all(j);
    else
        do_upsert(j, s, keys);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static void begin_snapshots(struct job *j, struct snapshot_writer *writers)
{
    struct err err = {0};

    j->checkpoint_id++;
    for (uint32_t i = 0; i < j->parallelism; i++)
        MUST(keyed_snapshot_begin(j->subtasks[i].backend, j->checkpoint_id, &writers[i].snapshot,
                                  &err) == RC_OK,
             "%s", err.msg);
}

/* Begun, and freed without having been written. */
static void give_up_checkpoint(struct job *j, int steps)
{
    struct snapshot_writer writers[SUBTASKS_MAX];

    begin_snapshots(j, writers);
    for (int i = 0; i < steps; i++)
        random_step(j);
    for (uint32_t i = 0; i < j->parallelism; i++)
        keyed_snapshot_free(writers[i].snapshot);
}

static void take_checkpoint(struct job *j, struct checkpoint *c, int steps)
{
    struct snapshot_writer writers[SUBTASKS_MAX];

    *c = (struct checkpoint){.arena = arena_new(0), .count = j->parallelism};
    begin_snapshots(j, writers);
    model_copy(&j->model, &c->model);
    for (uint32_t i = 0; i < j->parallelism; i++)
        snapshot_writer_start(&writers[i], &j->target);
    for (int i = 0; i < steps; i++)
        random_step(j);
    for (uint32_t i = 0; i < j->parallelism; i++)
        snapshot_writer_complete(&writers[i], j->subtasks[i].backend, j->checkpoint_id, c->arena,
                                 &c->handles[i]);
}

static void checkpoint_release(struct checkpoint *c)
{
    model_release(&c->model);
    if (c->arena != NULL)
        arena_free(c->arena);
    *c = (struct checkpoint){0};
}

/* ---- the job --------------------------------------------------------------------------------- */

static void close_all(struct job *j)
{
    for (uint32_t i = 0; i < j->parallelism; i++) {
        struct keyed_stats s;

        keyed_stats(j->subtasks[i].backend, &s);
        j->evictions += s.evictions;
        j->blind_rows += s.blind_rows;
        keyed_backend_close(j->subtasks[i].backend);
    }
}

static void open_subtask(struct job *j, struct subtask *t, char kind, bool blind, size_t count,
                         const struct keyed_handle *handles)
{
    struct keyed_backend_config config = {.env = dir_target_env(),
                                          .kind = kind == 'r' ? BACKEND_ROCKSDB : BACKEND_HASHMAP,
                                          .range = t->range,
                                          .key_group_count = GROUPS,
                                          .local_dir = t->dir,
                                          .name = "prop",
                                          .memory_bytes = j->memory_bytes,
                                          .max_open_files = -1,
                                          .restore_count = count,
                                          .restore = handles,
                                          .restore_operator = "prop"};
    char id[33];
    struct err err = {0};

    rng_hex(&j->rng, id, 32);
    config.backend_id = id;
    snprintf(t->dir, sizeof t->dir, "%s/db-%u", j->tmp.path, j->opened++);
    MUST(keyed_backend_open(&config, &t->backend, &err) == RC_OK, "%s", err.msg);
    MUST(keyed_state_open(t->backend, &desc, &t->state, &err) == RC_OK, "%s", err.msg);
    if (blind)
        MUST(keyed_state_blind(t->state, PATTERN, &err) == RC_OK, "%s", err.msg);
}

static void open_all(struct job *j, uint32_t parallelism, const char *kinds, bool blind,
                     const struct checkpoint *from)
{
    j->parallelism = parallelism;
    for (uint32_t i = 0; i < parallelism; i++) {
        struct subtask *t = &j->subtasks[i];
        struct keyed_handle mine[SUBTASKS_MAX];
        size_t count = 0;

        t->range = keygroup_range_of(i, parallelism, GROUPS);
        if (from != NULL)
            count = handles_meeting(from->handles, from->count, t->range, mine);
        open_subtask(j, t, kinds[rng_below(&j->rng, strlen(kinds))], blind, count, mine);
    }
}

static const struct {
    const char *kinds; /* of subtasks, drawn by lot: h hashmap, r rocksdb */
    uint64_t key_space, memory_bytes;
    uint32_t parallelism[4];
    bool gets;
} runs[] = {
    {"r", 20000, 512 << 10, {1, 1, 1, 1}, false}, {"r", 20000, 512 << 10, {1, 2, 3, 1}, false},
    {"hr", 8000, 1 << 20, {3, 2, 1, 4}, false},   {"r", 8000, 512 << 10, {2, 1, 2, 2}, true},
    {"r", 500, 8 << 20, {2, 1, 1, 3}, false},
};

static void live(struct job *j, struct checkpoint *last)
{
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 36; i++)
            random_step(j);
        if (gen_chance(&j->rng, 2))
            give_up_checkpoint(j, 20);
        checkpoint_release(last);
        take_checkpoint(j, last, 30);
    }
    check_all(j);
}

START_TEST(blind_totals_are_those_of_a_sorted_map_through_snapshots_and_rescales)
{
    struct job j = {.key_space = runs[_i].key_space,
                    .memory_bytes = runs[_i].memory_bytes,
                    .gets = runs[_i].gets};
    struct checkpoint last = {0};

    rng_seed(&j.rng, gen_seed((uint64_t)_i + 1));
    tmpdir_make(&j.tmp);
    dir_target_init(&j.target, fs_posix(), j.tmp.path);
    key_builder_init(&j.keys, GROUPS, KEY_NS_VOID);
    for (int life = 0; life < 5; life++) {
        open_all(&j, life < 4 ? runs[_i].parallelism[life] : 2, runs[_i].kinds, life != 3,
                 life == 0 ? NULL : &last);
        if (life > 0) {
            model_release(&j.model);
            model_copy(&last.model, &j.model);
            if (gen_chance(&j.rng, 2))
                check_all(&j);
        }
        live(&j, &last);
        close_all(&j);
    }
    checkpoint_release(&last);
    if (strcmp(runs[_i].kinds, "r") == 0 && runs[_i].memory_bytes < 1 << 20)
        ck_assert_msg(j.evictions > 1000 && j.blind_rows > 1000, "%llu evictions, %llu blind rows",
                      (unsigned long long)j.evictions, (unsigned long long)j.blind_rows);
    key_builder_release(&j.keys);
    model_release(&j.model);
    dir_target_release(&j.target);
    tmpdir_remove(&j.tmp);
}
END_TEST

TEST_MAIN("blind", tcase_set_timeout(tc, 300);
          tcase_add_loop_test(tc, blind_totals_are_those_of_a_sorted_map_through_snapshots_and_rescales,
                              0, ARRAY_LEN(runs)))
