/* links: backend */
/* crash_state_dir.c - power fails at every operation of writing snapshots into a directory,
 * removing and sweeping them.
 *
 * After the reboot every handle that was reported, and not removed since, is there with all that it
 * names; one that appeared without a report is whole too; and the next run goes on (C2, C3). */
#include "backend/keyed_backend.h"
#include "backend/state_dir.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/crash_points.h"
#include "tests/lib/sim_fs.h"

#include <inttypes.h>

#define SEEDS 4
#define SNAPSHOTS 4
#define KEYS 3000u /* more than stays inside a handle */

static const struct state_desc desc = {"s", STATE_VALUE, "K", "VOID", "", "V", 8, 0, "", 0};

struct run {
    struct env env;
    bool reported[SNAPSHOTS + 2], removed[SNAPSHOTS + 2];
};

static struct keyed_backend *open_backend(const struct run *r, const struct keyed_handle *h,
                                          struct keyed_state **s, struct err *err)
{
    struct keyed_backend_config config = {.env = &r->env,
                                          .kind = BACKEND_HASHMAP,
                                          .range = {0, 127},
                                          .key_group_count = 128,
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "s",
                                          .restore = h,
                                          .restore_count = h == NULL ? 0 : 1,
                                          .restore_operator = "s"};
    struct keyed_backend *b;

    if (keyed_backend_open(&config, &b, err) != RC_OK)
        return NULL;
    ck_assert(keyed_state_open(b, &desc, s, err) == RC_OK);
    return b;
}

/* Every value becomes `value`. */
static void set_all(struct keyed_state *s, uint64_t value)
{
    struct err err = {0};

    for (uint32_t from = 0; from < KEYS; from += 500) {
        uint8_t data[500 * 5];
        uint32_t offsets[501] = {0};
        struct key_batch keys = {500, data, offsets};
        void *rows[500];
        uint8_t fresh[500];

        for (uint32_t i = 0; i < 500; i++) {
            data[i * 5] = (uint8_t)(i % 128);
            put_be32(data + i * 5 + 1, from + i);
            offsets[i + 1] = (i + 1) * 5;
        }
        ck_assert_ok(keyed_upsert(s, &keys, rows, fresh, &err));
        for (uint32_t i = 0; i < 500; i++)
            put_be64(rows[i], value);
    }
}

static enum rc write_one(struct state_dir *d, struct keyed_backend *b, uint64_t id, struct err *err)
{
    static const atomic_bool never = false;
    struct keyed_snapshot *snapshot;
    struct state_dir_write w;
    struct keyed_handle h;
    struct arena *arena;
    char name[20];
    enum rc rc;

    snprintf(name, sizeof name, "chk-%" PRIu64, id);
    RETURN_IF_ERR(state_dir_begin(d, name, &never, &w, err));
    arena = arena_new(0);
    ck_assert(keyed_snapshot_begin(b, id, &snapshot, err) == RC_OK);
    rc = keyed_snapshot_write(snapshot, &w.target, arena, &h, err);
    keyed_snapshot_free(snapshot);
    if (rc == RC_OK)
        rc = state_dir_publish(&w, &h, err);
    state_dir_end(&w);
    arena_free(arena);
    return rc;
}

static enum rc run(struct run *r, struct err *err)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(r, NULL, &s, err);
    struct state_dir *d = NULL;
    uint64_t deleted;
    char name[20];
    enum rc rc;

    GOTO_IF_ERR(state_dir_open(&r->env, "/snapshots", &d, err));
    for (uint64_t id = 1; id <= SNAPSHOTS; id++) {
        set_all(s, id);
        GOTO_IF_ERR(write_one(d, b, id, err));
        r->reported[id] = true;
        if (id < 3)
            continue;
        r->removed[id - 2] = true; /* from now on it may be gone */
        snprintf(name, sizeof name, "chk-%" PRIu64, id - 2);
        GOTO_IF_ERR(state_dir_remove(d, name, err));
        GOTO_IF_ERR(state_dir_sweep(d, &deleted, err));
    }
out:
    state_dir_close(d);
    keyed_backend_close(b);
    return rc;
}

/* The handle of that id, if it is there, holds KEYS values `id`. */
static bool check_one(const struct run *r, struct state_dir *d, uint64_t id, const char *where)
{
    struct arena *arena = arena_new(0);
    struct err err = {0};
    struct keyed_handle h;
    struct keyed_state *s;
    struct keyed_backend *b;
    struct keyed_cursor *c;
    struct bytes keys[100], values[100];
    uint32_t got, seen = 0;
    char name[20], path[FS_PATH_MAX];
    enum rc rc;

    snprintf(name, sizeof name, "chk-%" PRIu64, id);
    rc = state_dir_load(d, name, arena, &h, &err);
    if (rc == RC_NOT_FOUND) {
        arena_free(arena);
        return false;
    }
    ck_assert_msg(rc == RC_OK, "%s: %s: %s", where, name, err.msg);
    ck_assert_int_eq(h.files[0].scope, FILE_EXCLUSIVE);
    ck_assert_ok(state_dir_resolve("/snapshots", &h.files[0], path, &err));
    h.files[0].resolved_path = path;
    b = open_backend(r, &h, &s, &err);
    ck_assert_msg(b != NULL, "%s: %s: %s", where, name, err.msg);
    ck_assert_ok(keyed_scan_open(s, (struct bytes){0}, &c, &err));
    do {
        ck_assert_ok(keyed_scan_next(c, 100, keys, values, &got, &err));
        for (uint32_t i = 0; i < got; i++, seen++)
            ck_assert_uint_eq(get_be64(values[i].data), id);
    } while (got > 0);
    ck_assert_uint_eq(seen, KEYS);
    keyed_scan_close(c);
    keyed_backend_close(b);
    arena_free(arena);
    return true;
}

static void check_after(struct run *r, const char *where)
{
    struct err err = {0};
    struct keyed_state *s;
    struct keyed_backend *b;
    struct state_dir *d;
    uint64_t deleted;

    ck_assert_ok(state_dir_open(&r->env, "/snapshots", &d, &err));
    for (int round = 0; round < 2; round++) { /* as the crash left it, and swept */
        for (uint64_t id = 1; id <= SNAPSHOTS; id++) {
            bool there = check_one(r, d, id, where);

            ck_assert_msg(there || !r->reported[id] || r->removed[id],
                          "%s: chk-%" PRIu64 " is lost", where, id);
        }
        ck_assert_ok(state_dir_sweep(d, &deleted, &err));
    }
    b = open_backend(r, NULL, &s, &err);
    set_all(s, SNAPSHOTS + 1);
    ck_assert_ok(write_one(d, b, SNAPSHOTS + 1, &err));
    keyed_backend_close(b);
    ck_assert(check_one(r, d, SNAPSHOTS + 1, where));
    state_dir_close(d);
}

/* true: the scenario ended before operation k. */
static bool crash_at(uint64_t k, uint64_t seed)
{
    struct fs *fs = sim_fs_new(NULL);
    struct run r = {.env = {.fs = fs, .clock = clock_posix(), .seed = seed + 1}};
    struct err err = {0};
    struct rng rng;
    char where[60];
    bool done;

    snprintf(where, sizeof where, "crash at %" PRIu64 " seed %" PRIu64, k, seed);
    rng_seed(&rng, seed * 1000003 + k);
    sim_fs_crash_at(fs, k);
    (void)!run(&r, &err);
    done = !sim_fs_down(fs);
    sim_fs_crash_at(fs, UINT64_MAX / 2); /* no more of them */
    if (!done)
        sim_fs_crash(fs, &rng);
    else
        ck_assert_msg(err.rc == RC_OK, "%s", err.msg);
    r.env.seed = 1000 + seed; /* another process: other names */
    check_after(&r, where);
    sim_fs_free(fs);
    return done;
}

START_TEST(every_crash_leaves_each_snapshot_whole_or_absent)
{
    ck_assert_uint_gt(crash_points(crash_at, SEEDS), 40);
}
END_TEST

TEST_MAIN("crash_state_dir", {
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, every_crash_leaves_each_snapshot_whole_or_absent);
})
