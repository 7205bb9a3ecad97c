/* links: backend */
/* Any chain of restores at any parallelism keeps the state (C10), and each row in one place (C1):
 * with batches and checkpoints between, from older checkpoints too, while restored files are still
 * being proven and rows loaded, after a crash in the middle of a restore. VARVE_TEST_SEED=n tries
 * another seed, VARVE_SOAK=1 ten times the lives. */
#include "backend/rocks_intake.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"
#include "tests/lib/keyed_job.h"

#define LIVES 3 /* at least: until what is to be seen has been seen */
#define LIVES_MOST 30
#define KEPT 3u /* checkpoints to go back to */

static const struct {
    const char *kinds; /* of subtasks, drawn by lot: h hashmap, r rocksdb */
    uint64_t key_space, memory_bytes;
    unsigned crash_percent;
} runs[] = {
    {"r", 2000, 512 << 10, 0}, {"r", 2000, 16 << 20, 0}, {"r", 20000, 2 << 20, 0},
    {"hr", 1000, 16 << 20, 0}, {"r", 500, 1 << 20, 60},  {"r", 6000, 32 << 20, 0},
};

/* ---- files of checkpoints hold no row of another range --------------------------------------- */

static enum rc check_file(void *ctx, const struct rocks_file *f, struct err *err)
{
    struct key_group_range range = *(struct key_group_range *)ctx;

    (void)err;
    ck_assert_msg(f->first.data[0] >= range.first && f->last.data[0] <= range.last,
                  "%s: groups %u..%u in a handle of %u..%u", f->name, f->first.data[0],
                  f->last.data[0], range.first, range.last);
    return RC_OK;
}

static void check_handle(struct keyed_job *j, const struct keyed_handle *h)
{
    struct rocks_config config = {.dir = tmpdir_at(&j->tmp, "look"),
                                  .read_only = true,
                                  .block_cache_bytes = 1 << 20,
                                  .write_buffer_bytes = 1 << 20,
                                  .max_open_files = 32};
    struct rocks_db *db;
    struct err err = {0};

    ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    for (size_t i = 0; i < h->file_count; i++) {
        const struct state_file *f = &h->files[i];
        struct buf name = {0};

        buf_printf(&name, "look/%s", f->local_name);
        if (f->scope == FILE_INLINE)
            tmpdir_write(&j->tmp, buf_cstr(&name), f->inline_bytes.data, f->inline_bytes.len);
        else
            ck_assert_ok(
                fs_copy(fs_posix(), f->resolved_path, tmpdir_at(&j->tmp, buf_cstr(&name)), &err));
        buf_release(&name);
    }
    ck_assert_ok(rocks_open(&config, &db, &err));
    for (size_t i = 0; i < rocks_cf_count(db); i++) {
        struct key_group_range range = h->range;

        ck_assert_ok(rocks_cf_files(rocks_cf_at(db, i), check_file, &range, &err));
    }
    rocks_close(db);
    ck_assert_ok(fs_remove_tree(fs_posix(), config.dir, &err));
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void steps(struct keyed_job *j, uint64_t count)
{
    while (count-- > 0)
        keyed_job_step(j);
}

/* Opens somehow from one of the checkpoints kept, and goes on. */
static void live(struct keyed_job *j, const char *kinds, struct keyed_checkpoint *kept,
                 uint32_t *count)
{
    const struct keyed_checkpoint *from = NULL;

    if (*count > 0)
        from = &kept[gen_chance(&j->rng, 70) ? *count - 1 : rng_below(&j->rng, *count)];
    j->verify = (enum restore_verify)rng_below(&j->rng, 3);
    j->no_load = gen_chance(&j->rng, 25);
    keyed_job_open(j, 1 + (uint32_t)rng_below(&j->rng, KEYED_JOB_SUBTASKS_MAX), kinds, from);
    steps(j, rng_below(&j->rng, 40)); /* while the warm-up is under way */
    keyed_job_check(j);
    for (uint64_t n = rng_below(&j->rng, 4); n > 0; n--) {
        steps(j, rng_below(&j->rng, 30));
        if (*count == KEPT) {
            keyed_checkpoint_release(&kept[0]);
            memmove(kept, kept + 1, --*count * sizeof *kept);
        }
        keyed_job_checkpoint(j, &kept[(*count)++], (int)rng_below(&j->rng, 20));
    }
    keyed_job_check(j);
    keyed_job_close(j);
}

/* Crashes, and rows read into the cache after a restore, where they are to be expected. */
static bool seen_all(const struct keyed_job *j)
{
    return (j->crash_percent == 0 || j->crashes > 0) &&
           (j->memory_bytes < 16 << 20 || j->loaded_rows > 0);
}

START_TEST(state_survives_any_chain_of_rescales)
{
    struct keyed_job j = {.key_space = runs[_i].key_space,
                          .memory_bytes = runs[_i].memory_bytes,
                          .crash_percent = runs[_i].crash_percent};
    struct keyed_checkpoint kept[KEPT];
    int lives = gen_length(LIVES, 10);
    uint32_t count = 0;

    keyed_job_init(&j, (uint64_t)_i + 101);
    for (int i = 0; i < lives || (!seen_all(&j) && i < LIVES_MOST); i++)
        live(&j, runs[_i].kinds, kept, &count);
    for (uint32_t c = 0; c < count; c++) {
        for (uint32_t h = 0; h < kept[c].count; h++) {
            if (kept[c].handles[h].kind == KEYED_ROCKS)
                check_handle(&j, &kept[c].handles[h]);
        }
        keyed_checkpoint_release(&kept[c]);
    }
    ck_assert_msg(seen_all(&j), "%d lives without a crash or a loaded row", lives);
    keyed_job_release(&j);
}
END_TEST

TEST_MAIN("rescale", tcase_set_timeout(tc, 300);
          tcase_add_loop_test(tc, state_survives_any_chain_of_rescales, 0, ARRAY_LEN(runs)))
