#include "tests/lib/keyed_job.h"

#include "backend/binary_row.h"
#include "backend/keyed_stream.h"
#include "tests/lib/gen.h"
#include "tests/lib/must.h"
#include "tests/lib/snapshot_writer.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH_MAX 300u
#define GROUPS KEYED_JOB_GROUPS
#define FIXED 56u
#define SEEN 24u
#define SEEN_TTL_MS 86400000u

const struct state_desc keyed_job_descs[KEYED_JOB_STATES] = {
    {"accState", STATE_VALUE, "ROW<BIGINT>", "VOID", "", "ROW<BIGINT, BIGINT>", FIXED, 0, "", 0},
    {"distinct", STATE_MAP, "ROW<BIGINT>", "VOID", "INT", "BIGINT", 0, 0, "", 0},
    {"window", STATE_VALUE, "ROW<BIGINT>", "BIGINT", "", "STRING", 0, 0, "", 0},
    {"_timer_state/event_t", STATE_TIMER, "ROW<BIGINT>", "BIGINT", "", "", 0, 0, "", 0},
    {"seen", STATE_VALUE, "ROW<BIGINT>", "VOID", "", "ROW<BIGINT>", SEEN, SEEN_TTL_MS, "", 0},
};

static void random_key(struct keyed_job *j, uint32_t state, struct key_builder *b, uint32_t *group)
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
static struct key_batch random_batch(struct keyed_job *j, uint32_t state, uint32_t subtask)
{
    struct key_builder *b = &j->keys[state];
    struct key_builder one;
    uint32_t count = 1 + (uint32_t)rng_below(&j->rng, BATCH_MAX - 1), group;
    struct err err = {0};

    key_builder_init(&one, GROUPS,
                     keyed_job_descs[state].namespace_type[0] == 'V' ? KEY_NS_VOID : KEY_NS_BIGINT);
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

static void do_upsert(struct keyed_job *j, struct keyed_state *s, uint32_t state,
                      struct key_batch keys)
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

/* An expired value may leave at any time: then it is neither in a model nor missed. */
static bool expired(uint32_t state, struct bytes value)
{
    return keyed_job_descs[state].ttl_ms != 0 && get_be64(value.data) == 0;
}

static size_t value_len(struct keyed_job *j, uint32_t state)
{
    uint32_t fixed = state_desc_row_bytes(&keyed_job_descs[state]);

    if (keyed_job_descs[state].kind == STATE_TIMER || fixed != 0)
        return fixed;
    return gen_len(&j->rng, 0, gen_chance(&j->rng, 2) ? 1500 : 60);
}

/* Begins with its time where the state has a time-to-live: now, or long ago. */
static void random_value(struct keyed_job *j, uint32_t state, size_t len, struct buf *out)
{
    if (keyed_job_descs[state].ttl_ms != 0) {
        buf_append_be64(out, gen_chance(&j->rng, 20) ? 0 : (uint64_t)clock_wall_ms(clock_posix()));
        len -= 8;
    }
    gen_bytes(&j->rng, len, out);
}

static void do_put(struct keyed_job *j, struct keyed_state *s, uint32_t state,
                   struct key_batch keys)
{
    struct bytes values[BATCH_MAX];
    struct buf data = {0};
    struct err err = {0};

    buf_reserve(&data, BATCH_MAX * 2000);
    for (uint32_t i = 0; i < keys.count; i++) {
        size_t at = data.len;
        size_t len = value_len(j, state);

        random_value(j, state, len, &data);
        values[i] = bytes_of(data.data + at, len);
    }
    MUST(keyed_put(s, &keys, values, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++) {
        if (expired(state, values[i]))
            model_del(&j->models[state], key_batch_at(&keys, i));
        else
            model_put(&j->models[state], key_batch_at(&keys, i), values[i]);
    }
    buf_release(&data);
}

static void do_get(struct keyed_job *j, struct keyed_state *s, uint32_t state,
                   struct key_batch keys)
{
    struct bytes values[BATCH_MAX];
    struct err err = {0};

    MUST(keyed_get(s, &keys, values, &err) == RC_OK, "%s", err.msg);
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct model_entry *e = model_get(&j->models[state], key_batch_at(&keys, i));

        if (values[i].data != NULL && expired(state, values[i]))
            values[i] = (struct bytes){0};
        MUST((values[i].data != NULL) == (e != NULL), "state %u key %u: known %d", state, i,
             e != NULL);
        MUST(e == NULL || bytes_eq(values[i], e->value), "state %u key %u: another value", state,
             i);
    }
}

static void scan(struct keyed_state *s, uint32_t state, struct bytes prefix,
                 struct model_state *out)
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
            if (!expired(state, values[i]))
                model_put(out, keys[i], values[i]);
        }
    } while (got > 0);
    keyed_scan_close(c);
}

/* All entries of one map, or one key, as an operator reads them. */
static void check_prefix(struct keyed_job *j, struct keyed_state *s, uint32_t state,
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
    scan(s, state, prefix, &got);
    MUST(model_differ(&got, &want) == NULL, "scan of a prefix: %s", model_differ(&got, &want));
    model_release(&got);
    model_release(&want);
}

void keyed_job_step(struct keyed_job *j)
{
    uint32_t state = (uint32_t)rng_below(&j->rng, KEYED_JOB_STATES);
    uint32_t subtask = (uint32_t)rng_below(&j->rng, j->parallelism);
    struct keyed_state *s = j->subtasks[subtask].states[state];
    struct key_batch keys = random_batch(j, state, subtask);
    struct err err = {0};

    if (keys.count == 0)
        return;
    switch (rng_below(&j->rng, 6)) {
    case 0:
    case 1:
        if (keyed_job_descs[state].fixed_value_bytes == FIXED) {
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

void keyed_job_check(struct keyed_job *j)
{
    for (uint32_t state = 0; state < KEYED_JOB_STATES; state++) {
        struct model_state got = {0};

        for (uint32_t i = 0; i < j->parallelism; i++)
            scan(j->subtasks[i].states[state], state, (struct bytes){0}, &got);
        MUST(model_differ(&got, &j->models[state]) == NULL, "state %u: %s", state,
             model_differ(&got, &j->models[state]));
        model_release(&got);
    }
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static void begin_checkpoint(struct keyed_job *j, struct keyed_checkpoint *c,
                             struct snapshot_writer *writers)
{
    struct err err = {0};

    *c = (struct keyed_checkpoint){.arena = arena_new(0), .count = j->parallelism};
    j->checkpoint_id++;
    for (uint32_t i = 0; i < j->parallelism; i++)
        MUST(keyed_snapshot_begin(j->subtasks[i].backend, j->checkpoint_id, &writers[i].snapshot,
                                  &err) == RC_OK,
             "%s", err.msg);
    for (uint32_t i = 0; i < KEYED_JOB_STATES; i++)
        model_copy(&j->models[i], &c->models[i]);
    for (uint32_t i = 0; i < j->parallelism; i++)
        snapshot_writer_start(&writers[i], &j->target);
}

static void end_checkpoint(struct keyed_job *j, uint64_t id, struct keyed_checkpoint *c,
                           struct snapshot_writer *writers)
{
    for (uint32_t i = 0; i < j->parallelism; i++)
        snapshot_writer_complete(&writers[i], j->subtasks[i].backend, id, c->arena, &c->handles[i]);
}

void keyed_job_checkpoint(struct keyed_job *j, struct keyed_checkpoint *c, int steps)
{
    struct snapshot_writer writers[KEYED_JOB_SUBTASKS_MAX];

    begin_checkpoint(j, c, writers);
    for (int i = 0; i < steps; i++)
        keyed_job_step(j);
    end_checkpoint(j, j->checkpoint_id, c, writers);
}

static bool may_checkpoint(struct keyed_job *j)
{
    for (uint32_t i = 0; i < j->parallelism; i++) {
        if (!keyed_may_snapshot(j->subtasks[i].backend))
            return false;
    }
    return true;
}

void keyed_job_two_checkpoints(struct keyed_job *j, struct keyed_checkpoint *older,
                               struct keyed_checkpoint *newer, int steps)
{
    struct snapshot_writer first[KEYED_JOB_SUBTASKS_MAX], second[KEYED_JOB_SUBTASKS_MAX];
    bool older_last = rng_below(&j->rng, 2) == 0;

    begin_checkpoint(j, older, first);
    do
        keyed_job_step(j);
    while (!may_checkpoint(j));
    begin_checkpoint(j, newer, second);
    for (int i = 0; i < steps; i++)
        keyed_job_step(j);
    if (!older_last)
        end_checkpoint(j, j->checkpoint_id - 1, older, first);
    end_checkpoint(j, j->checkpoint_id, newer, second);
    if (older_last)
        end_checkpoint(j, j->checkpoint_id - 1, older, first);
}

void keyed_checkpoint_release(struct keyed_checkpoint *c)
{
    for (uint32_t i = 0; i < KEYED_JOB_STATES; i++)
        model_release(&c->models[i]);
    arena_free(c->arena);
}

/* ---- the job --------------------------------------------------------------------------------- */

void keyed_job_close(struct keyed_job *j)
{
    for (uint32_t i = 0; i < j->parallelism; i++) {
        struct keyed_stats s;

        keyed_stats(j->subtasks[i].backend, &s);
        j->evictions += s.evictions;
        j->misses += s.misses;
        j->loaded_rows += s.loaded_rows;
        keyed_backend_close(j->subtasks[i].backend);
    }
}

/* What of the checkpoint meets the range, in any order; how many. */
static size_t handles_of(struct keyed_job *j, struct key_group_range range,
                         const struct keyed_checkpoint *from, struct keyed_handle *out)
{
    size_t count = from == NULL ? 0 : handles_meeting(from->handles, from->count, range, out);

    for (size_t h = count; h > 1; h--) { /* their order means nothing */
        size_t other = rng_below(&j->rng, h);
        struct keyed_handle swap = out[h - 1];

        out[h - 1] = out[other];
        out[other] = swap;
    }
    return count;
}

/* Another process begins to open, and is killed: what it opened from is as it was. */
static void crash(struct keyed_job *j, const struct keyed_backend_config *config)
{
    int64_t after_ns = (int64_t)rng_below(&j->rng, 40 * NS_PER_MS);
    pid_t child = fork();
    struct err err = {0};

    MUST(child >= 0, "fork failed");
    if (child == 0) {
        struct keyed_backend *b;

        (void)!keyed_backend_open(config, &b, &err);
        _exit(0);
    }
    clock_sleep_ns(clock_posix(), after_ns);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (size_t h = 0; h < config->restore_count; h++) {
        for (size_t f = 0; f < config->restore[h].file_count; f++)
            MUST(state_file_prove(config->env->fs, &config->restore[h].files[f], &err) == RC_OK,
                 "%s", err.msg);
    }
    j->crashes++;
}

static void open_subtask(struct keyed_job *j, struct keyed_subtask *t, const char *kinds,
                         const struct keyed_checkpoint *from)
{
    struct keyed_handle mine[KEYED_JOB_SUBTASKS_MAX];
    struct keyed_backend_config config = {
        .env = dir_target_env(),
        .range = t->range,
        .key_group_count = GROUPS,
        .local_dir = t->dir,
        .name = "prop",
        .memory_bytes = j->memory_bytes,
        .max_open_files = -1,
        .restore = mine,
        .restore_operator = "prop",
        .verify = j->verify,
        .no_load = j->no_load,
    };
    char id[33];
    struct err err = {0};

    rng_hex(&j->rng, id, 32);
    snprintf(t->dir, sizeof t->dir, "%s/db-%u", j->tmp.path, j->opened++);
    config.backend_id = id;
    config.restore_count = handles_of(j, t->range, from, mine);
    config.kind =
        kinds[rng_below(&j->rng, strlen(kinds))] == 'r' ? BACKEND_ROCKSDB : BACKEND_HASHMAP;
    if (gen_chance(&j->rng, j->crash_percent))
        crash(j, &config);
    MUST(keyed_backend_open(&config, &t->backend, &err) == RC_OK, "%s", err.msg);
    for (uint32_t s = 0; s < KEYED_JOB_STATES; s++)
        MUST(keyed_state_open(t->backend, &keyed_job_descs[s], &t->states[s], &err) == RC_OK, "%s",
             err.msg);
}

/* What must be there is what the checkpoint holds. */
static void go_back(struct keyed_job *j, const struct keyed_checkpoint *from)
{
    for (uint32_t i = 0; i < KEYED_JOB_STATES; i++) {
        model_release(&j->models[i]);
        if (from != NULL)
            model_copy(&from->models[i], &j->models[i]);
    }
}

void keyed_job_open(struct keyed_job *j, uint32_t parallelism, const char *kinds,
                    const struct keyed_checkpoint *from)
{
    ASSERT(parallelism <= KEYED_JOB_SUBTASKS_MAX);
    go_back(j, from);
    j->parallelism = parallelism;
    for (uint32_t i = 0; i < parallelism; i++) {
        j->subtasks[i].range = keygroup_range_of(i, parallelism, GROUPS);
        open_subtask(j, &j->subtasks[i], kinds, from);
    }
}

void keyed_job_init(struct keyed_job *j, uint64_t seed)
{
    rng_seed(&j->rng, gen_seed(seed));
    tmpdir_make(&j->tmp);
    dir_target_init(&j->target, fs_posix(), j->tmp.path);
    j->target.inline_max = rng_below(&j->rng, 2) * 4000;
    for (uint32_t s = 0; s < KEYED_JOB_STATES; s++)
        key_builder_init(&j->keys[s], GROUPS,
                         keyed_job_descs[s].namespace_type[0] == 'V' ? KEY_NS_VOID : KEY_NS_BIGINT);
}

void keyed_job_release(struct keyed_job *j)
{
    for (uint32_t s = 0; s < KEYED_JOB_STATES; s++) {
        key_builder_release(&j->keys[s]);
        model_release(&j->models[s]);
    }
    dir_target_release(&j->target);
    tmpdir_remove(&j->tmp);
}
