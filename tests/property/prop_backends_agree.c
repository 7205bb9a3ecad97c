/* links: backend */
/* Both backends against sorted maps: random batches on four states, snapshots written by another
 * thread while updates go on (C11), restores at other parallelisms and into the other backend
 * (C10). VARVE_TEST_SEED=n tries another seed. */
#include "backend/binary_row.h"
#include "backend/key_codec.h"
#include "base/thread.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/gen.h"
#include "tests/lib/model_state.h"
#include "tests/lib/tmpdir.h"

/* ck_assert writes to a pipe each time: too slow for every row. */
#define MUST(cond, ...)                                                                            \
    do {                                                                                           \
        if (!(cond))                                                                               \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

#define STATES 4u
#define SUBTASKS_MAX 4u
#define BATCH_MAX 300u
#define GROUPS 128u
#define FIXED 56u

static const struct state_desc descs[STATES] = {
    {"accState", STATE_VALUE, "ROW<BIGINT>", "VOID", "", "ROW<BIGINT, BIGINT>", FIXED, 0, "", 0},
    {"distinct", STATE_MAP, "ROW<BIGINT>", "VOID", "INT", "BIGINT", 0, 0, "", 0},
    {"window", STATE_VALUE, "ROW<BIGINT>", "BIGINT", "", "STRING", 0, 0, "", 0},
    {"_timer_state/event_t", STATE_TIMER, "ROW<BIGINT>", "BIGINT", "", "", 0, 0, "", 0},
};

struct subtask {
    struct keyed_backend *backend;
    struct keyed_state *states[STATES];
    struct key_group_range range;
    char dir[FS_PATH_MAX];
};
struct job {
    struct tmpdir tmp;
    struct dir_target target;
    struct rng rng;
    struct model_state models[STATES];
    struct subtask subtasks[SUBTASKS_MAX];
    uint32_t parallelism;
    struct key_builder keys[STATES];
    uint64_t key_space, memory_bytes;
    uint32_t opened; /* directories used so far */
    uint64_t checkpoint_id;
    uint64_t evictions, misses;
};
/* A finished checkpoint and what it must hold. */
struct checkpoint {
    struct arena *arena;
    struct keyed_handle handles[SUBTASKS_MAX];
    uint32_t count;
    struct model_state models[STATES];
};

static void random_key(struct job *j, uint32_t state, struct key_builder *b, uint32_t *group)
{
    static const enum field_kind kinds[] = {FIELD_I64};
    struct row_layout l;
    struct row_writer w;
    struct buf row = {0};
    struct err err = {0};
    uint64_t n = rng_below(&j->rng, j->key_space);
    uint8_t member[4];

    row_layout_init(&l, kinds, 1);
    row_writer_begin(&w, &l, &row);
    row_write_int(&w, 0, (int64_t)(state == 1 ? n / 8 : n));
    *group = key_group_of_row(row_writer_end(&w), GROUPS);
    put_be32(member, (uint32_t)(n % 8));
    MUST(key_builder_add(b, *group, row_writer_end(&w), (int64_t)(n % 3) * 1000,
                         bytes_of(member, state == 1 ? 4 : 0), &err) == RC_OK,
         "%s", err.msg);
    buf_release(&row);
}

/* One batch for one subtask: keys of other subtasks are thrown away. */
static struct key_batch random_batch(struct job *j, uint32_t state, uint32_t subtask)
{
    struct key_builder *b = &j->keys[state];
    struct key_builder one;
    uint32_t count = 1 + (uint32_t)rng_below(&j->rng, BATCH_MAX - 1), group;
    struct err err = {0};

    key_builder_init(&one, GROUPS,
                     descs[state].namespace_type[0] == 'V' ? KEY_NS_VOID : KEY_NS_BIGINT);
    key_builder_clear(b);
    while (count-- > 0) {
        struct key_batch k;

        key_builder_clear(&one);
        random_key(j, state, &one, &group);
        k = key_builder_batch(&one);
        if (key_group_range_has(j->subtasks[subtask].range, group))
            MUST(key_builder_add_raw(b, key_batch_at(&k, 0), &err) == RC_OK, "%s", err.msg);
    }
    key_builder_release(&one);
    return key_builder_batch(b);
}

static void do_upsert(struct job *j, struct keyed_state *s, uint32_t state, struct key_batch keys)
{
    void *rows[BATCH_MAX];
    uint8_t fresh[BATCH_MAX];
    struct err err = {0};

    MUST(keyed_upsert(s, &keys, rows, fresh, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct model_entry *e = model_get(&j->models[state], key_batch_at(&keys, i));
        uint8_t *row = rows[i];

        MUST(fresh[i] == (e == NULL), "state %u key %u: fresh %u, known %d", state, i, fresh[i],
             e != NULL);
        MUST(e == NULL || bytes_eq(bytes_of(row, FIXED), e->value),
             "state %u key %u: another value", state, i);
        put_le64(row, get_le64(row) + 1);
        put_le64(row + FIXED - 8, rng_u64(&j->rng));
        model_put(&j->models[state], key_batch_at(&keys, i), bytes_of(row, FIXED));
    }
}

static void do_put(struct job *j, struct keyed_state *s, uint32_t state, struct key_batch keys)
{
    struct bytes values[BATCH_MAX];
    struct buf data = {0};
    struct err err = {0};

    buf_reserve(&data, BATCH_MAX * 2000);
    for (uint32_t i = 0; i < keys.count; i++) {
        size_t at = data.len;
        size_t len = descs[state].kind == STATE_TIMER ? 0
                     : descs[state].fixed_value_bytes != 0
                         ? FIXED
                         : gen_len(&j->rng, 0, gen_chance(&j->rng, 2) ? 1500 : 60);

        gen_bytes(&j->rng, len, &data);
        values[i] = bytes_of(data.data + at, len);
    }
    MUST(keyed_put(s, &keys, values, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++)
        model_put(&j->models[state], key_batch_at(&keys, i), values[i]);
    buf_release(&data);
}

static void do_get(struct job *j, struct keyed_state *s, uint32_t state, struct key_batch keys)
{
    struct bytes values[BATCH_MAX];
    struct err err = {0};

    MUST(keyed_get(s, &keys, values, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct model_entry *e = model_get(&j->models[state], key_batch_at(&keys, i));

        MUST((values[i].data != NULL) == (e != NULL), "state %u key %u: known %d", state, i,
             e != NULL);
        MUST(e == NULL || bytes_eq(values[i], e->value), "state %u key %u: another value", state,
             i);
    }
}

static void scan(struct keyed_state *s, struct bytes prefix, struct model_state *out)
{
    struct keyed_cursor *c;
    struct bytes keys[100], values[100];
    uint32_t got;
    struct err err = {0};

    MUST(keyed_scan_open(s, prefix, &c, &err) == RC_OK, "%s", err.msg);
    do {
        MUST(keyed_scan_next(c, ARRAY_LEN(keys), keys, values, &got, &err) == RC_OK, "%s", err.msg);
        for (uint32_t i = 0; i < got; i++) {
            MUST(model_get(out, keys[i]) == NULL, "a scan gave a key twice");
            model_put(out, keys[i], values[i]);
        }
    } while (got > 0);
    keyed_scan_close(c);
}

/* All entries of one map, as an operator reads them. */
static void check_prefix(struct job *j, struct keyed_state *s, uint32_t state,
                         struct key_batch keys)
{
    struct model_state got = {0}, want = {0};
    struct bytes prefix = key_batch_at(&keys, 0);

    if (state == 1)
        prefix.len -= 4; /* without the map key */
    for (size_t i = 0; i < j->models[state].count; i++) {
        struct model_entry *e = &j->models[state].entries[i];

        if (e->key.len >= prefix.len && memcmp(e->key.data, prefix.data, prefix.len) == 0)
            model_put(&want, e->key, e->value);
    }
    scan(s, prefix, &got);
    MUST(model_differ(&got, &want) == NULL, "scan of a prefix: %s", model_differ(&got, &want));
    model_release(&got);
    model_release(&want);
}

static void random_step(struct job *j)
{
    uint32_t state = (uint32_t)rng_below(&j->rng, STATES);
    uint32_t subtask = (uint32_t)rng_below(&j->rng, j->parallelism);
    struct keyed_state *s = j->subtasks[subtask].states[state];
    struct key_batch keys = random_batch(j, state, subtask);
    struct err err = {0};

    if (keys.count == 0)
        return;
    switch (rng_below(&j->rng, 6)) {
    case 0:
    case 1:
        if (descs[state].fixed_value_bytes != 0) {
            do_upsert(j, s, state, keys);
            break;
        }
        /* fall through */
    case 2:
        do_put(j, s, state, keys);
        break;
    case 3:
        do_get(j, s, state, keys);
        break;
    case 4:
        if (gen_chance(&j->rng, 20))
            check_prefix(j, s, state, keys);
        break;
    default:
        MUST(keyed_del(s, &keys, &err) == RC_OK, "%s", err.msg);
        for (uint32_t i = 0; i < keys.count; i++)
            model_del(&j->models[state], key_batch_at(&keys, i));
    }
}

static void check_all(struct job *j)
{
    for (uint32_t state = 0; state < STATES; state++) {
        struct model_state got = {0};

        for (uint32_t i = 0; i < j->parallelism; i++)
            scan(j->subtasks[i].states[state], (struct bytes){0}, &got);
        MUST(model_differ(&got, &j->models[state]) == NULL, "state %u: %s", state,
             model_differ(&got, &j->models[state]));
        model_release(&got);
    }
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

struct write_arg {
    struct keyed_snapshot *snapshot;
    struct snapshot_target *target;
    struct arena *arena;
    struct keyed_handle *out;
    struct err err;
    enum rc rc;
};

static void write_thread(void *p)
{
    struct write_arg *a = p;

    a->rc = keyed_snapshot_write(a->snapshot, a->target, a->arena, a->out, &a->err);
}

/* Every subtask at once, each written by a thread of its own, while the job goes on for `steps`. */
static void take_checkpoint(struct job *j, struct checkpoint *c, int steps)
{
    struct write_arg args[SUBTASKS_MAX];
    struct thread *threads[SUBTASKS_MAX];
    struct err err = {0};

    *c = (struct checkpoint){.arena = arena_new(0), .count = j->parallelism};
    j->checkpoint_id++;
    for (uint32_t i = 0; i < j->parallelism; i++) {
        args[i] = (struct write_arg){
            .target = &j->target.base, .arena = arena_new(0), .out = &c->handles[i]};
        MUST(keyed_snapshot_begin(j->subtasks[i].backend, j->checkpoint_id, &args[i].snapshot,
                                  &err) == RC_OK,
             "%s", err.msg);
    }
    for (uint32_t i = 0; i < STATES; i++)
        model_copy(&j->models[i], &c->models[i]);
    for (uint32_t i = 0; i < j->parallelism; i++)
        threads[i] = thread_start("snapshot", write_thread, &args[i]);
    for (int i = 0; i < steps; i++)
        random_step(j);
    for (uint32_t i = 0; i < j->parallelism; i++) {
        struct keyed_handle copy;

        thread_join(threads[i]);
        MUST(args[i].rc == RC_OK, "%s", args[i].err.msg);
        keyed_snapshot_free(args[i].snapshot);
        keyed_notify_complete(j->subtasks[i].backend, j->checkpoint_id);
        keyed_handle_copy(c->arena, &c->handles[i], &copy);
        c->handles[i] = copy;
        dir_target_resolve(&j->target, c->arena, &c->handles[i]);
        arena_free(args[i].arena);
    }
}

static void checkpoint_release(struct checkpoint *c)
{
    for (uint32_t i = 0; i < STATES; i++)
        model_release(&c->models[i]);
    arena_free(c->arena);
}

/* ---- the job --------------------------------------------------------------------------------- */

static void close_all(struct job *j)
{
    for (uint32_t i = 0; i < j->parallelism; i++) {
        struct keyed_stats s;

        keyed_stats(j->subtasks[i].backend, &s);
        j->evictions += s.evictions;
        j->misses += s.misses;
        keyed_backend_close(j->subtasks[i].backend);
    }
}

/* Opens `parallelism` subtasks, each of a kind drawn by lot among `kinds`, from a checkpoint or
 * empty. */
static void open_all(struct job *j, uint32_t parallelism, const char *kinds,
                     const struct checkpoint *from)
{
    j->parallelism = parallelism;
    for (uint32_t i = 0; i < parallelism; i++) {
        struct subtask *t = &j->subtasks[i];
        struct keyed_handle mine[SUBTASKS_MAX];
        size_t count = 0;
        char id[33];
        struct err err = {0};
        struct keyed_backend_config config;

        t->range = keygroup_range_of(i, parallelism, GROUPS);
        for (uint32_t h = 0; from != NULL && h < from->count; h++) {
            struct key_group_range meet = key_group_range_meet(from->handles[h].range, t->range);

            if (meet.first <= meet.last)
                mine[count++] = from->handles[h];
        }
        for (size_t h = count; h > 1; h--) { /* their order means nothing */
            size_t other = rng_below(&j->rng, h);
            struct keyed_handle swap = mine[h - 1];

            mine[h - 1] = mine[other];
            mine[other] = swap;
        }
        rng_hex(&j->rng, id, 32);
        snprintf(t->dir, sizeof t->dir, "%s/db-%u", j->tmp.path, j->opened++);
        config = (struct keyed_backend_config){
            .env = dir_target_env(),
            .kind =
                kinds[rng_below(&j->rng, strlen(kinds))] == 'r' ? BACKEND_ROCKSDB : BACKEND_HASHMAP,
            .range = t->range,
            .key_group_count = GROUPS,
            .local_dir = t->dir,
            .backend_id = id,
            .name = "prop",
            .memory_bytes = j->memory_bytes,
            .max_open_files = -1,
            .restore_count = count,
            .restore = mine,
            .restore_operator = "prop",
        };
        MUST(keyed_backend_open(&config, &t->backend, &err) == RC_OK, "%s", err.msg);
        for (uint32_t s = 0; s < STATES; s++)
            MUST(keyed_state_open(t->backend, &descs[s], &t->states[s], &err) == RC_OK, "%s",
                 err.msg);
    }
}

static void go_back_to(struct job *j, const struct checkpoint *c)
{
    for (uint32_t i = 0; i < STATES; i++) {
        model_release(&j->models[i]);
        model_copy(&c->models[i], &j->models[i]);
    }
}

static const struct {
    const char *kinds; /* of subtasks, drawn by lot: h hashmap, r rocksdb */
    uint64_t key_space, memory_bytes;
    uint32_t parallelism[4];
} runs[] = {
    {"h", 3000, 0, {1, 2, 3, 1}},        {"r", 3000, 512 << 10, {1, 2, 3, 1}},
    {"hr", 1000, 1 << 20, {1, 2, 3, 4}}, {"r", 20000, 1 << 20, {1, 1, 2, 1}},
    {"hr", 300, 8 << 20, {4, 2, 1, 3}},
};

START_TEST(backends_agree_with_sorted_maps_through_snapshots_and_rescales)
{
    struct job j = {.key_space = runs[_i].key_space, .memory_bytes = runs[_i].memory_bytes};
    struct checkpoint last = {0};

    rng_seed(&j.rng, gen_seed((uint64_t)_i + 1));
    tmpdir_make(&j.tmp);
    dir_target_init(&j.target, fs_posix(), j.tmp.path);
    j.target.inline_max = rng_below(&j.rng, 2) * 4000;
    for (uint32_t s = 0; s < STATES; s++)
        key_builder_init(&j.keys[s], GROUPS,
                         descs[s].namespace_type[0] == 'V' ? KEY_NS_VOID : KEY_NS_BIGINT);
    for (int life = 0; life < 4; life++) {
        open_all(&j, runs[_i].parallelism[life], runs[_i].kinds, life == 0 ? NULL : &last);
        if (life > 0) {
            go_back_to(&j, &last);
            check_all(&j);
            checkpoint_release(&last);
        }
        for (int c = 0; c < 3; c++) {
            if (c > 0)
                checkpoint_release(&last);
            for (int i = 0; i < 40; i++)
                random_step(&j);
            take_checkpoint(&j, &last, 25);
        }
        check_all(&j);
        close_all(&j);
    }
    open_all(&j, 2, runs[_i].kinds, &last);
    go_back_to(&j, &last);
    check_all(&j);
    close_all(&j);
    checkpoint_release(&last);
    if (strcmp(runs[_i].kinds, "r") == 0) /* else the database was never asked */
        ck_assert_msg(j.evictions > 1000 && j.misses > 1000, "%llu evictions, %llu misses",
                      (unsigned long long)j.evictions, (unsigned long long)j.misses);
    for (uint32_t s = 0; s < STATES; s++) {
        key_builder_release(&j.keys[s]);
        model_release(&j.models[s]);
    }
    dir_target_release(&j.target);
    tmpdir_remove(&j.tmp);
}
END_TEST

TEST_MAIN("backends_agree", tcase_set_timeout(tc, 300);
          tcase_add_loop_test(tc, backends_agree_with_sorted_maps_through_snapshots_and_rescales, 0,
                              ARRAY_LEN(runs)))
