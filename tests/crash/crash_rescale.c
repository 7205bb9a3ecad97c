/* links: backend */
/* crash_rescale.c - a process is killed at each of the calls that change files while it restores at
 * the same and at other parallelism, RocksDB's own calls included (link, rename, unlink, mkdir,
 * rmdir, write).
 *
 * Afterwards every file that was restored from is as it was, and a restore in the same local
 * directory gives every row of its range and no other. Each restore has a process of its own, so
 * that the one that is killed inherits no threads. */
#include "backend/handle_codec.h"
#include "backend/key_codec.h"
#include "backend/keyed_stream.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/tmpdir.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS 128u
#define KEYS 6000u
#define SOURCES 2u
#define POINTS 20

static const struct state_desc desc = {"s", STATE_VALUE, "K", "VOID", "", "V", 8, 0, "", 0};

static const struct key_group_range restores[] = {
    {0, 63},  /* the same */
    {0, 127}, /* 2 -> 1 */
    {0, 31},  /* 2 -> 4: a file is cut */
    {43, 85}, /* 2 -> 3, the middle: of both, cut */
};

/* ---- calls that change files ----------------------------------------------------------------- */

struct calls {
    long done, kill_at; /* -1: never */
};
static struct calls *calls; /* shared with children */

static void count_call(void)
{
    if (calls != NULL && __atomic_fetch_add(&calls->done, 1, __ATOMIC_SEQ_CST) == calls->kill_at)
        kill(getpid(), SIGKILL);
}

int link(const char *from, const char *to)
{
    count_call();
    return (int)syscall(SYS_link, from, to);
}

int rename(const char *from, const char *to)
{
    count_call();
    return (int)syscall(SYS_rename, from, to);
}

int unlink(const char *path)
{
    count_call();
    return (int)syscall(SYS_unlink, path);
}

int mkdir(const char *path, mode_t mode)
{
    count_call();
    return (int)syscall(SYS_mkdir, path, mode);
}

int rmdir(const char *path)
{
    count_call();
    return (int)syscall(SYS_rmdir, path);
}

ssize_t write(int fd, const void *data, size_t len)
{
    count_call();
    return syscall(SYS_write, fd, data, len);
}

/* ---- what a child does ----------------------------------------------------------------------- */

struct world {
    struct tmpdir tmp;
    struct dir_target target;
    struct arena *arena;
    struct keyed_handle handles[SOURCES];
};
typedef void child_fn(struct world *w, uint32_t i);

/* The wait status of a process that does it. */
static int in_child(child_fn *fn, struct world *w, uint32_t i)
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        fn(w, i);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void must(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "%s\n", err->msg);
    _exit(1);
}

static struct keyed_backend *open_range(struct world *w, struct key_group_range range,
                                        const struct keyed_handle *from, size_t count,
                                        struct keyed_state **s)
{
    struct keyed_backend_config config = {
        .env = dir_target_env(),
        .kind = BACKEND_ROCKSDB,
        .range = range,
        .key_group_count = GROUPS,
        .local_dir = tmpdir_at(&w->tmp, "local"),
        .backend_id = "0123456789abcdef0123456789abcdef",
        .name = "s",
        .memory_bytes = 16 << 20,
        .max_open_files = -1,
        .restore = from,
        .restore_count = count,
        .restore_operator = "s",
    };
    struct keyed_backend *b;
    struct err err = {0};

    must(keyed_backend_open(&config, &b, &err), &err);
    must(keyed_state_open(b, &desc, s, &err), &err);
    return b;
}

/* Key n is in group n % GROUPS. */
static void add_key(struct key_builder *k, uint32_t n)
{
    uint8_t key[5] = {(uint8_t)(n % GROUPS)};
    struct err err = {0};

    put_be32(key + 1, n);
    must(key_builder_add_raw(k, bytes_of(key, sizeof key), &err), &err);
}

/* Writes the handle of source i beside its files. */
static void write_source(struct world *w, uint32_t i)
{
    struct key_group_range range = keygroup_range_of(i, SOURCES, GROUPS);
    struct keyed_state *s;
    struct keyed_backend *b = open_range(w, range, NULL, 0, &s);
    struct keyed_snapshot *snapshot;
    struct keyed_handle handle;
    struct buf bytes = {0};
    struct key_builder k;
    struct err err = {0};

    key_builder_init(&k, GROUPS, KEY_NS_VOID);
    for (uint32_t n = 0; n < KEYS; n++) {
        struct key_batch batch;
        struct bytes value = bytes_of("12345678", 8);

        if (!key_group_range_has(range, n % GROUPS))
            continue;
        key_builder_clear(&k);
        add_key(&k, n);
        batch = key_builder_batch(&k);
        must(keyed_put(s, &batch, &value, &err), &err);
    }
    must(keyed_snapshot_begin(b, 1, &snapshot, &err), &err);
    must(keyed_snapshot_write(snapshot, &w->target.base, w->arena, &handle, &err), &err);
    handle_encode(&handle, &bytes);
    tmpdir_write(&w->tmp, i == 0 ? "handle-0" : "handle-1", bytes.data, bytes.len);
    keyed_snapshot_free(snapshot);
    keyed_backend_close(b);
}

/* Counts its calls, and may be killed at one. */
static void restore(struct world *w, uint32_t i)
{
    struct keyed_handle from[SOURCES];
    size_t count = handles_meeting(w->handles, SOURCES, restores[i], from);
    struct keyed_state *s;

    (void)open_range(w, restores[i], from, count, &s);
}

/* Restores where another one was killed: all rows of the range, no other. */
static void restore_and_look(struct world *w, uint32_t i)
{
    struct keyed_handle from[SOURCES];
    size_t count = handles_meeting(w->handles, SOURCES, restores[i], from);
    uint32_t want = 0, rows = 0, got;
    struct keyed_state *s;
    struct keyed_backend *b = open_range(w, restores[i], from, count, &s);
    struct keyed_cursor *c;
    struct bytes keys[100], values[100];
    struct err err = {0};

    for (uint32_t n = 0; n < KEYS; n++)
        want += key_group_range_has(restores[i], n % GROUPS);
    must(keyed_scan_open(s, (struct bytes){0}, &c, &err), &err);
    do {
        must(keyed_scan_next(c, ARRAY_LEN(keys), keys, values, &got, &err), &err);
        for (uint32_t k = 0; k < got; k++) {
            if (!key_group_range_has(restores[i], keys[k].data[0]) ||
                !bytes_eq(values[k], bytes_of("12345678", 8)))
                _exit(2);
        }
        rows += got;
    } while (got > 0);
    keyed_scan_close(c);
    keyed_backend_close(b);
    if (rows != want)
        _exit(3);
}

/* ---- the test -------------------------------------------------------------------------------- */

static void make_world(struct world *w)
{
    static const char *const names[SOURCES] = {"handle-0", "handle-1"};
    struct err err = {0};

    tmpdir_make(&w->tmp);
    dir_target_init(&w->target, fs_posix(), w->tmp.path);
    w->arena = arena_new(0);
    for (uint32_t i = 0; i < SOURCES; i++) {
        struct buf bytes = {0};

        w->target.next_name = i * 100;
        ck_assert_int_eq(in_child(write_source, w, i), 0);
        ck_assert_ok(fs_read_all(fs_posix(), tmpdir_at(&w->tmp, names[i]), 1 << 20, &bytes, &err));
        ck_assert_ok(handle_decode(buf_bytes(&bytes), w->arena, &w->handles[i], &err));
        dir_target_resolve(&w->target, w->arena, &w->handles[i]);
        buf_release(&bytes);
    }
}

static void check_files(struct world *w)
{
    struct err err = {0};

    for (uint32_t i = 0; i < SOURCES; i++) {
        for (size_t f = 0; f < w->handles[i].file_count; f++)
            ck_assert_ok(state_file_prove(fs_posix(), &w->handles[i].files[f], &err));
    }
}

START_TEST(a_restore_killed_at_any_step_harms_nothing_and_the_next_one_is_whole)
{
    struct world w;
    struct calls *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long all, killed = 0;

    make_world(&w);
    *shared = (struct calls){0, -1};
    calls = shared;
    ck_assert_int_eq(in_child(restore, &w, (uint32_t)_i), 0);
    calls = NULL;
    all = shared->done;
    ck_assert_int_gt(all, 10);
    for (long at = 0; at < all; at += 1 + all / POINTS) {
        int status;

        *shared = (struct calls){0, at};
        calls = shared;
        status = in_child(restore, &w, (uint32_t)_i);
        calls = NULL;
        ck_assert_msg(WIFSIGNALED(status) || status == 0, "call %ld: status %d", at, status);
        killed += WIFSIGNALED(status);
        check_files(&w);
        status = in_child(restore_and_look, &w, (uint32_t)_i);
        ck_assert_msg(status == 0, "after call %ld of %ld: status %d", at, all, status);
    }
    ck_assert_int_gt(killed, POINTS / 2);
    munmap(shared, sizeof *shared);
    arena_free(w.arena);
    dir_target_release(&w.target);
    tmpdir_remove(&w.tmp);
}
END_TEST

TEST_MAIN("crash_rescale", tcase_set_timeout(tc, 300);
          tcase_add_loop_test(tc, a_restore_killed_at_any_step_harms_nothing_and_the_next_one_is_whole,
                              0, ARRAY_LEN(restores)))
