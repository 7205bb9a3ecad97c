/* links: base */
/* test_fs.c - the contract of base/fs.h, held against each implementation: the real file system,
 * the simulated one, and the failing one over it with no fault set; and the helpers that stand on
 * it. */
#include "base/fs.h"

#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/gen.h"
#include "tests/lib/sim_fs.h"
#include "tests/lib/tmpdir.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- one world per test, `_i` chooses it ---------------------------------------------------- */

enum { POSIX, SIM, FAULT, IMPLEMENTATIONS };

struct world {
    int kind;
    struct tmpdir tmp;
    struct arena *names;
    struct fs *disk, *fs;
    const char *root;
};

static void world_init(struct world *w, int kind)
{
    struct err err = {0};

    *w = (struct world){.kind = kind, .names = arena_new(0)};
    if (kind == POSIX) {
        tmpdir_make(&w->tmp);
        w->fs = fs_posix();
        w->root = w->tmp.path;
        return;
    }
    w->disk = w->fs = sim_fs_new(NULL);
    if (kind == FAULT)
        w->fs = fault_fs_new(w->disk);
    w->root = "/top";
    ck_assert_ok(fs_mkdir(w->fs, w->root, &err));
}

static void world_release(struct world *w)
{
    if (w->kind == FAULT)
        fault_fs_free(w->fs);
    sim_fs_free(w->disk);
    tmpdir_remove(&w->tmp);
    arena_free(w->names);
}

static const char *at(struct world *w, const char *name)
{
    return arena_printf(w->names, "%s/%s", w->root, name);
}

static void put(struct world *w, const char *name, const char *text)
{
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_create(w->fs, at(w, name), &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str(text), &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_ptr_null(f);
}

static void has(struct world *w, const char *name, const char *text)
{
    struct err err = {0};
    struct buf b = {0};

    ck_assert_ok(fs_read_all(w->fs, at(w, name), 1 << 20, &b, &err));
    ck_assert_bytes_str(buf_bytes(&b), text);
    buf_release(&b);
}

/* ---- files
 * --------------------------------------------------------------------------------------- */

START_TEST(what_is_appended_is_read_at_any_offset)
{
    struct err err = {0};
    struct world w;
    struct fs_file *f;
    uint64_t size;
    char out[32];
    size_t got;

    world_init(&w, _i);
    ck_assert_ok(fs_create(w.fs, at(&w, "a"), &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str("hello "), &err));
    ck_assert_ok(fs_append(f, (struct bytes){0}, &err));
    ck_assert_ok(fs_append(f, bytes_of_str("world"), &err));
    ck_assert_ok(fs_size(f, &size, &err));
    ck_assert_uint_eq(size, 11);
    ck_assert_ok(fs_sync(f, &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_ok(fs_open_read(w.fs, at(&w, "a"), &f, &err));
    ck_assert_str_eq(path_base(f->path), "a");
    ck_assert_ok(fs_read_at(f, 6, out, 3, &got, &err));
    ck_assert_bytes_str(bytes_of(out, got), "wor");
    ck_assert_ok(fs_read_at(f, 6, out, sizeof out, &got, &err)); /* the end */
    ck_assert_bytes_str(bytes_of(out, got), "world");
    ck_assert_ok(fs_read_at(f, 11, out, sizeof out, &got, &err));
    ck_assert_uint_eq(got, 0);
    ck_assert_ok(fs_read_at(f, 1 << 20, out, sizeof out, &got, &err));
    ck_assert_uint_eq(got, 0);
    ck_assert_ok(fs_read_at(f, 0, out, 0, &got, &err));
    ck_assert_uint_eq(got, 0);
    ck_assert_rc(fs_read_at(f, UINT64_MAX, out, 1, &got, &err), RC_LIMIT);
    ck_assert_rc(fs_read_at(f, (uint64_t)INT64_MAX, out, 1, &got, &err), RC_LIMIT);
    fs_abandon(&f);
    ck_assert_ptr_null(f);
    fs_abandon(&f);
    world_release(&w);
}
END_TEST

START_TEST(create_refuses_a_name_that_is_taken)
{
    struct err err = {0};
    struct world w;
    struct fs_file *f = (struct fs_file *)&w;

    world_init(&w, _i);
    put(&w, "a", "x");
    ck_assert_rc_msg(fs_create(w.fs, at(&w, "a"), &f, &err), RC_EXISTS, "/a: File exists");
    ck_assert_ptr_null(f);
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "d"), &err));
    ck_assert_rc(fs_create(w.fs, at(&w, "d"), &f, &err), RC_EXISTS);
    ck_assert_rc(fs_mkdir(w.fs, at(&w, "a"), &err), RC_EXISTS);
    ck_assert_rc(fs_mkdir(w.fs, at(&w, "d"), &err), RC_EXISTS);
    ck_assert_rc(fs_link(w.fs, at(&w, "a"), at(&w, "d"), &err), RC_EXISTS);
    has(&w, "a", "x");
    world_release(&w);
}
END_TEST

START_TEST(what_is_not_there_is_not_found)
{
    struct err err = {0};
    struct fs_stat st;
    struct fs_file *f;
    struct buf b = {0};
    struct world w;

    world_init(&w, _i);
    put(&w, "a", "x");
    ck_assert_rc_msg(fs_open_read(w.fs, at(&w, "no"), &f, &err), RC_NOT_FOUND, "/no: No such file");
    ck_assert_rc(fs_open_append(w.fs, at(&w, "no"), 0, &f, &err), RC_NOT_FOUND);
    ck_assert_rc(fs_create(w.fs, at(&w, "no/a"), &f, &err), RC_NOT_FOUND);
    ck_assert_rc(fs_create(w.fs, at(&w, "a/b"), &f, &err), RC_NOT_FOUND); /* a is no directory */
    ck_assert_rc(fs_mkdir(w.fs, at(&w, "no/d"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_unlink(w.fs, at(&w, "no"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_rmdir(w.fs, at(&w, "no"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_rename(w.fs, at(&w, "no"), at(&w, "b"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_rename(w.fs, at(&w, "a"), at(&w, "no/b"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_link(w.fs, at(&w, "no"), at(&w, "b"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_reflink(w.fs, at(&w, "no"), at(&w, "b"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_stat(w.fs, at(&w, "no"), &st, &err), RC_NOT_FOUND);
    ck_assert_rc(fs_sync_dir(w.fs, at(&w, "no"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_sync_dir(w.fs, at(&w, "a"), &err), RC_NOT_FOUND);
    ck_assert_rc(fs_lock(w.fs, at(&w, "no/lock"), &f, &err), RC_NOT_FOUND);
    ck_assert_rc(fs_read_all(w.fs, at(&w, "no"), 10, &b, &err), RC_NOT_FOUND);
    ck_assert(!fs_exists(w.fs, at(&w, "no")));
    ck_assert(fs_exists(w.fs, at(&w, "a")));
    world_release(&w);
}
END_TEST

START_TEST(appending_goes_on_at_the_given_length)
{
    struct err err = {0};
    struct world w;
    struct fs_file *f;

    world_init(&w, _i);
    put(&w, "part", "0123456789");
    ck_assert_ok(fs_open_append(w.fs, at(&w, "part"), 4, &f, &err));
    has(&w, "part", "0123");
    ck_assert_ok(fs_append(f, bytes_of_str("xy"), &err));
    ck_assert_ok(fs_close(&f, &err));
    has(&w, "part", "0123xy");
    ck_assert_ok(fs_open_append(w.fs, at(&w, "part"), 6, &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str("z"), &err));
    ck_assert_ok(fs_close(&f, &err));
    has(&w, "part", "0123xyz");
    ck_assert_rc_msg(fs_open_append(w.fs, at(&w, "part"), 8, &f, &err), RC_CORRUPT,
                     "it has only 7 bytes");
    ck_assert_ptr_null(f);
    has(&w, "part", "0123xyz");
    world_release(&w);
}
END_TEST

START_TEST(a_directory_is_no_file)
{
    struct err err = {0};
    struct fs_file *f;
    struct world w;
    size_t got;
    char c;

    world_init(&w, _i);
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "d"), &err));
    ck_assert_ok(fs_open_read(w.fs, at(&w, "d"), &f, &err));
    ck_assert_rc(fs_read_at(f, 0, &c, 1, &got, &err), RC_IO);
    fs_abandon(&f);
    ck_assert_rc(fs_open_append(w.fs, at(&w, "d"), 0, &f, &err), RC_IO);
    ck_assert_rc(fs_lock(w.fs, at(&w, "d"), &f, &err), RC_IO);
    ck_assert_int_eq(fs_unlink(w.fs, at(&w, "d"), &err), RC_IO);
    ck_assert_int_eq(err.os_errno, EISDIR);
    world_release(&w);
}
END_TEST

/* ---- names
 * --------------------------------------------------------------------------------------- */

START_TEST(rename_moves_and_replaces)
{
    struct err err = {0};
    struct world w;

    world_init(&w, _i);
    put(&w, "a", "new");
    put(&w, "b", "old");
    ck_assert_ok(fs_rename(w.fs, at(&w, "a"), at(&w, "b"), &err));
    has(&w, "b", "new");
    ck_assert(!fs_exists(w.fs, at(&w, "a")));
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "d"), &err));
    ck_assert_ok(fs_rename(w.fs, at(&w, "b"), at(&w, "d/c"), &err));
    has(&w, "d/c", "new");
    ck_assert_ok(fs_rename(w.fs, at(&w, "d"), at(&w, "e"), &err));
    has(&w, "e/c", "new");
    ck_assert_rc(fs_rename(w.fs, at(&w, "e/c"), at(&w, "e"), &err), RC_IO);
    ck_assert_rc(fs_rename(w.fs, at(&w, "e"), at(&w, "e/f"), &err), RC_IO);
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "empty"), &err));
    ck_assert_rc(fs_rename(w.fs, at(&w, "empty"), at(&w, "e"), &err), RC_IO); /* not empty */
    ck_assert_ok(fs_rename(w.fs, at(&w, "e"), at(&w, "empty"), &err));
    has(&w, "empty/c", "new");
    ck_assert_ok(fs_rename(w.fs, at(&w, "empty/c"), at(&w, "empty/c"), &err));
    has(&w, "empty/c", "new");
    world_release(&w);
}
END_TEST

START_TEST(a_hard_link_is_a_second_name_of_one_file)
{
    struct err err = {0};
    struct fs_stat a, b;
    struct fs_file *f;
    struct world w;

    world_init(&w, _i);
    put(&w, "a", "one");
    ck_assert_ok(fs_link(w.fs, at(&w, "a"), at(&w, "b"), &err));
    ck_assert_ok(fs_stat(w.fs, at(&w, "a"), &a, &err));
    ck_assert_ok(fs_stat(w.fs, at(&w, "b"), &b, &err));
    ck_assert_uint_eq(a.inode, b.inode);
    ck_assert_uint_eq(a.device, b.device);
    ck_assert_uint_eq(b.link_count, 2);
    ck_assert_ok(fs_open_append(w.fs, at(&w, "a"), 3, &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str(" two"), &err));
    ck_assert_ok(fs_close(&f, &err));
    has(&w, "b", "one two");
    ck_assert_ok(fs_rename(w.fs, at(&w, "a"), at(&w, "b"), &err)); /* the same file: both stay */
    ck_assert(fs_exists(w.fs, at(&w, "a")));
    ck_assert_ok(fs_unlink(w.fs, at(&w, "a"), &err));
    has(&w, "b", "one two");
    ck_assert_ok(fs_stat(w.fs, at(&w, "b"), &b, &err));
    ck_assert_uint_eq(b.link_count, 1);
    world_release(&w);
}
END_TEST

START_TEST(a_directory_cannot_be_linked)
{
    struct err err = {0};
    struct world w;

    world_init(&w, _i);
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "d"), &err));
    ck_assert_rc(fs_link(w.fs, at(&w, "d"), at(&w, "e"), &err), RC_NO_LINK);
    world_release(&w);
}
END_TEST

START_TEST(a_reflink_is_a_copy_or_refused_without_a_trace)
{
    struct err err = {0};
    struct world w;
    enum rc rc;

    world_init(&w, _i);
    put(&w, "a", "content");
    rc = fs_reflink(w.fs, at(&w, "a"), at(&w, "b"), &err);
    if (rc == RC_OK) {
        has(&w, "b", "content");
    } else {
        ck_assert_int_eq(rc, RC_NO_LINK);
        ck_assert_int_eq(err.rc, RC_NO_LINK);
        ck_assert_int_ne(err.os_errno, 0);
        ck_assert(!fs_exists(w.fs, at(&w, "b")));
    }
    err_clear(&err);
    put(&w, "c", "taken");
    ck_assert_rc(fs_reflink(w.fs, at(&w, "a"), at(&w, "c"), &err), RC_EXISTS);
    has(&w, "c", "taken");
    world_release(&w);
}
END_TEST

/* On the real file system: content is read through it, the file keeps its count of names, and what
 * is removed is the link. Where there are none the caller is told. */
START_TEST(a_symbolic_link_leads_to_a_file_that_does_not_notice)
{
    struct err err = {0};
    struct fs_stat st;
    struct world w;
    enum rc rc;

    world_init(&w, _i);
    put(&w, "a", "content");
    rc = fs_symlink(w.fs, at(&w, "a"), at(&w, "b"), &err);
    if (rc == RC_OK) {
        has(&w, "b", "content");
        ck_assert_ok(fs_stat(w.fs, at(&w, "a"), &st, &err));
        ck_assert_uint_eq(st.link_count, 1);
        ck_assert_rc(fs_symlink(w.fs, at(&w, "a"), at(&w, "b"), &err), RC_EXISTS);
        ck_assert_ok(fs_link(w.fs, at(&w, "b"), at(&w, "c"), &err)); /* of the file, not of the link */
        ck_assert_ok(fs_stat(w.fs, at(&w, "a"), &st, &err));
        ck_assert_uint_eq(st.link_count, 2);
        ck_assert_ok(fs_unlink(w.fs, at(&w, "c"), &err));
        ck_assert_ok(fs_remove_tree(w.fs, at(&w, "b"), &err));
        has(&w, "a", "content");
    } else {
        ck_assert_rc(rc, RC_NO_LINK);
    }
    ck_assert(!fs_exists(w.fs, at(&w, "b")));
    world_release(&w);
}
END_TEST

START_TEST(an_unlinked_file_can_still_be_read_by_who_has_it_open)
{
    struct err err = {0};
    struct fs_file *f;
    struct world w;
    char out[4];
    size_t got;

    world_init(&w, _i);
    put(&w, "a", "abc");
    ck_assert_ok(fs_open_read(w.fs, at(&w, "a"), &f, &err));
    ck_assert_ok(fs_unlink(w.fs, at(&w, "a"), &err));
    put(&w, "a", "new");
    ck_assert_ok(fs_read_at(f, 0, out, sizeof out, &got, &err));
    ck_assert_bytes_str(bytes_of(out, got), "abc");
    ck_assert_ok(fs_close(&f, &err));
    has(&w, "a", "new");
    world_release(&w);
}
END_TEST

START_TEST(stat_tells_kind_size_and_time)
{
    struct err err = {0};
    struct fs_stat st;
    struct world w;

    world_init(&w, _i);
    put(&w, "a", "12345");
    ck_assert_ok(fs_stat(w.fs, at(&w, "a"), &st, &err));
    ck_assert(st.type == FS_FILE && st.size_bytes == 5 && st.link_count == 1);
    ck_assert_int_gt(st.mtime_wall_ms, 0);
    ck_assert_int_ge(st.ctime_wall_ms, st.mtime_wall_ms);
    ck_assert_ok(fs_stat(w.fs, w.root, &st, &err));
    ck_assert(st.type == FS_DIR);
    world_release(&w);
}
END_TEST

START_TEST(only_an_empty_directory_is_removed)
{
    struct err err = {0};
    struct world w;

    world_init(&w, _i);
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "d"), &err));
    put(&w, "d/a", "x");
    ck_assert_rc(fs_rmdir(w.fs, at(&w, "d"), &err), RC_IO);
    ck_assert_rc(fs_rmdir(w.fs, at(&w, "d/a"), &err), RC_NOT_FOUND); /* ENOTDIR */
    ck_assert_ok(fs_unlink(w.fs, at(&w, "d/a"), &err));
    ck_assert_ok(fs_rmdir(w.fs, at(&w, "d"), &err));
    ck_assert(!fs_exists(w.fs, at(&w, "d")));
    world_release(&w);
}
END_TEST

struct seen {
    struct world *w;
    unsigned mask, count, stop_after;
};

static enum rc see(void *ctx, const char *name, struct err *err)
{
    struct seen *s = ctx;

    if (s->stop_after > 0 && s->count == s->stop_after)
        return err_set(err, RC_CANCELLED, "enough");
    ck_assert_msg(strlen(name) == 1 && name[0] >= 'a' && name[0] < 'a' + 30, "%s", name);
    s->mask |= 1u << (name[0] - 'a');
    s->count++;
    /* The callback may use the file system: no lock is held. */
    ck_assert(fs_exists(s->w->fs, at(s->w, arena_printf(s->w->names, "d/%s", name))));
    return RC_OK;
}

START_TEST(list_gives_every_name_once_and_stops_when_told)
{
    struct err err = {0};
    struct world w;
    struct seen all = {.w = &w}, some = {.w = &w, .stop_after = 2}, none = {.w = &w};

    world_init(&w, _i);
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "d"), &err));
    ck_assert_ok(fs_list(w.fs, at(&w, "d"), see, &none, &err));
    ck_assert_uint_eq(none.count, 0);
    put(&w, "d/a", "");
    put(&w, "d/c", "");
    ck_assert_ok(fs_mkdir(w.fs, at(&w, "d/b"), &err));
    put(&w, "d/b/below", "");
    ck_assert_ok(fs_list(w.fs, at(&w, "d"), see, &all, &err));
    ck_assert_uint_eq(all.mask, 7);
    ck_assert_uint_eq(all.count, 3);
    ck_assert_rc(fs_list(w.fs, at(&w, "d"), see, &some, &err), RC_CANCELLED);
    ck_assert_uint_eq(some.count, 2);
    ck_assert_rc_msg(fs_list(w.fs, at(&w, "no"), see, &none, &err), RC_NOT_FOUND, "list ");
    ck_assert_rc(fs_list(w.fs, at(&w, "d/a"), see, &none, &err), RC_NOT_FOUND);
    world_release(&w);
}
END_TEST

START_TEST(a_lock_has_one_holder)
{
    struct err err = {0};
    struct fs_file *held, *other;
    struct world w;

    world_init(&w, _i);
    ck_assert_ok(fs_lock(w.fs, at(&w, ".lock"), &held, &err));
    ck_assert_rc_msg(fs_lock(w.fs, at(&w, ".lock"), &other, &err), RC_STATE,
                     ".lock: another process holds it");
    ck_assert_ptr_null(other);
    ck_assert_ok(fs_lock(w.fs, at(&w, ".lock2"), &other, &err));
    fs_abandon(&other);
    ck_assert_ok(fs_close(&held, &err));
    ck_assert_ok(
        fs_lock(w.fs, at(&w, ".lock"), &other, &err)); /* also when the file is there already */
    fs_abandon(&other);
    ck_assert_ok(fs_lock(w.fs, at(&w, ".lock"), &other, &err));
    fs_abandon(&other);
    world_release(&w);
}
END_TEST

/* ---- paths past the limits
 * ----------------------------------------------------------------------- */

START_TEST(a_path_too_long_or_empty_is_refused)
{
    char *path = malloc(FS_PATH_MAX + 1);
    struct err err = {0};
    struct fs_stat st;
    struct fs_file *f;
    struct world w;

    world_init(&w, _i);
    memset(path, 'x', FS_PATH_MAX);
    path[0] = '/';
    path[FS_PATH_MAX] = '\0';
    ck_assert_rc_msg(fs_create(w.fs, path, &f, &err), RC_LIMIT, "longer than 4095 bytes");
    ck_assert_rc(fs_rename(w.fs, at(&w, "a"), path, &err), RC_LIMIT);
    ck_assert_rc(fs_stat(w.fs, path, &st, &err), RC_LIMIT);
    path[FS_PATH_MAX - 1] = '\0';
    ck_assert_rc(fs_create(w.fs, path, &f, &err), RC_IO); /* a component of more than 255 bytes */
    ck_assert_rc(fs_create(w.fs, "", &f, &err), RC_INVALID);
    free(path);
    world_release(&w);
}
END_TEST

/* ---- helpers
 * ------------------------------------------------------------------------------------- */

START_TEST(mkdirs_makes_parents_and_accepts_what_is_there)
{
    struct err err = {0};
    struct world w;

    world_init(&w, _i);
    ck_assert_ok(fs_mkdirs(w.fs, at(&w, "a/b/c"), &err));
    ck_assert_ok(fs_mkdirs(w.fs, at(&w, "a/b/c"), &err));
    ck_assert_ok(fs_mkdirs(w.fs, at(&w, "a/b/d/"), &err));
    ck_assert_ok(fs_mkdirs(w.fs, w.root, &err));
    ck_assert_ok(fs_mkdirs(w.fs, "/", &err));
    put(&w, "a/b/c/file", "x");
    ck_assert_rc_msg(fs_mkdirs(w.fs, at(&w, "a/b/c/file"), &err), RC_EXISTS, "a file of that name");
    ck_assert_rc(fs_mkdirs(w.fs, at(&w, "a/b/c/file/d"), &err), RC_EXISTS);
    world_release(&w);
}
END_TEST

START_TEST(read_all_appends_and_keeps_to_its_limit)
{
    struct err err = {0};
    struct buf b = {0};
    struct world w;

    world_init(&w, _i);
    put(&w, "a", "12345");
    put(&w, "empty", "");
    buf_append_str(&b, "> ");
    ck_assert_ok(fs_read_all(w.fs, at(&w, "a"), 5, &b, &err));
    ck_assert_ok(fs_read_all(w.fs, at(&w, "empty"), 0, &b, &err));
    ck_assert_bytes_str(buf_bytes(&b), "> 12345");
    ck_assert_rc_msg(fs_read_all(w.fs, at(&w, "a"), 4, &b, &err), RC_LIMIT,
                     "5 bytes, the limit is 4");
    buf_release(&b);
    world_release(&w);
}
END_TEST

START_TEST(remove_tree_removes_everything_and_nothing_is_fine_too)
{
    struct err err = {0};
    struct world w;

    world_init(&w, _i);
    ck_assert_ok(fs_mkdirs(w.fs, at(&w, "t/a/b"), &err));
    for (int i = 0; i < 40; i++)
        put(&w, arena_printf(w.names, "t/a/file-%d", i), "x");
    put(&w, "t/a/b/deep", "x");
    put(&w, "beside", "x");
    ck_assert_ok(fs_remove_tree(w.fs, at(&w, "t"), &err));
    ck_assert(!fs_exists(w.fs, at(&w, "t")));
    ck_assert_ok(fs_remove_tree(w.fs, at(&w, "t"), &err));
    ck_assert_ok(fs_remove_tree(w.fs, at(&w, "beside"), &err)); /* a file is a tree of one */
    ck_assert(!fs_exists(w.fs, at(&w, "beside")));
    world_release(&w);
}
END_TEST

START_TEST(copy_makes_a_new_file_with_the_same_content)
{
    static const size_t sizes[] = {0, 1, 1 << 20, (1 << 20) + 7};
    struct err err = {0};
    struct world w;

    world_init(&w, _i);
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        const char *from = at(&w, arena_printf(w.names, "from-%zu", k));
        const char *to = at(&w, arena_printf(w.names, "to-%zu", k));
        struct buf content = {0}, got = {0};
        struct fs_stat a, b;
        struct fs_file *f;
        struct rng r;

        rng_seed(&r, k);
        gen_bytes(&r, sizes[k], &content);
        ck_assert_ok(fs_create(w.fs, from, &f, &err));
        ck_assert_ok(fs_append(f, buf_bytes(&content), &err));
        ck_assert_ok(fs_close(&f, &err));
        ck_assert_ok(fs_copy(w.fs, from, to, &err));
        ck_assert_ok(fs_read_all(w.fs, to, sizes[k], &got, &err));
        ck_assert_bytes_eq(buf_bytes(&got), buf_bytes(&content));
        ck_assert_ok(fs_stat(w.fs, from, &a, &err));
        ck_assert_ok(fs_stat(w.fs, to, &b, &err));
        ck_assert_uint_ne(a.inode, b.inode);
        ck_assert_rc_msg(fs_copy(w.fs, from, to, &err), RC_EXISTS, "copy ");
        ck_assert(fs_exists(w.fs, to)); /* what was there is not ours to clean up */
        buf_release(&content);
        buf_release(&got);
    }
    ck_assert_rc(fs_copy(w.fs, at(&w, "no"), at(&w, "x"), &err), RC_NOT_FOUND);
    ck_assert(!fs_exists(w.fs, at(&w, "x")));
    world_release(&w);
}
END_TEST

START_TEST(a_copy_that_fails_leaves_nothing)
{
    static const uint32_t kinds[] = {FAULT_READ, FAULT_APPEND, FAULT_SYNC, FAULT_CLOSE};
    struct err err = {0};
    struct world w;

    world_init(&w, FAULT);
    put(&w, "from", "content");
    fault_fs_add(
        w.fs,
        (struct fault){.kinds = kinds[_i], .times = 1, .os_errno = ENOSPC, .short_write = true});
    ck_assert_rc_msg(fs_copy(w.fs, at(&w, "from"), at(&w, "to"), &err), RC_IO, "No space left");
    ck_assert(!fs_exists(w.fs, at(&w, "to")));
    ck_assert_ok(fs_copy(w.fs, at(&w, "from"), at(&w, "to"), &err));
    has(&w, "to", "content");
    world_release(&w);
}
END_TEST

/* A directory made by mkdirs is there after the worst power loss, also when the first attempt died
 * half-way. */
START_TEST(mkdirs_is_durable_after_a_crash_at_any_operation)
{
    struct fs *fs = sim_fs_new(NULL);
    struct err err = {0};
    struct rng r;

    rng_seed(&r, (uint64_t)_i);
    sim_fs_crash_at(fs, (uint64_t)_i % 8);
    if (fs_mkdirs(fs, "/a/b/c", NULL) == RC_OK)
        sim_fs_crash_at(fs, UINT64_MAX);
    if (_i / 8 % 2 == 0)
        sim_fs_restart(fs); /* only the process died: its names are there, but not on the disk */
    else
        sim_fs_crash(fs, &r);
    ck_assert_ok(fs_mkdirs(fs, "/a/b/c", &err));
    for (int crash = 0; crash < 8; crash++) {
        sim_fs_crash(fs, &r);
        ck_assert(fs_exists(fs, "/a/b/c"));
    }
    sim_fs_free(fs);
}
END_TEST

/* ---- the real one only
 * --------------------------------------------------------------------------- */

START_TEST(symbolic_links_are_followed_by_stat_and_removed_as_such)
{
    struct err err = {0};
    struct fs_stat st;
    struct world w;

    world_init(&w, POSIX);
    ck_assert_ok(fs_mkdirs(w.fs, at(&w, "kept"), &err));
    put(&w, "kept/file", "x");
    ck_assert_ok(fs_mkdirs(w.fs, at(&w, "tree"), &err));
    ck_assert_int_eq(symlink(at(&w, "kept"), at(&w, "tree/link")), 0);
    ck_assert_int_eq(symlink("/nowhere/at/all", at(&w, "tree/dangling")), 0);
    ck_assert_ok(fs_stat(w.fs, at(&w, "tree/link"), &st, &err));
    ck_assert(st.type == FS_DIR);
    ck_assert_rc(fs_stat(w.fs, at(&w, "tree/dangling"), &st, &err), RC_NOT_FOUND);
    ck_assert_ok(fs_remove_tree(w.fs, at(&w, "tree"), &err));
    has(&w, "kept/file", "x");
    ck_assert_int_eq(symlink(at(&w, "kept"), at(&w, "top")), 0);
    ck_assert_ok(fs_remove_tree(w.fs, at(&w, "top"), &err));
    has(&w, "kept/file", "x");
    world_release(&w);
}
END_TEST

/* The lock of a killed job must not need a human. */
START_TEST(the_lock_of_a_killed_process_is_free)
{
    struct err err = {0};
    struct fs_file *f;
    struct world w;
    int ready[2];
    pid_t child;
    char c;

    world_init(&w, POSIX);
    ck_assert_int_eq(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        if (fs_lock(w.fs, at(&w, "lock"), &f, &err) != RC_OK || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    ck_assert_rc(fs_lock(w.fs, at(&w, "lock"), &f, &err), RC_STATE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_ok(fs_lock(w.fs, at(&w, "lock"), &f, &err));
    fs_abandon(&f);
    world_release(&w);
}
END_TEST

START_TEST(a_full_disk_is_an_error_with_its_errno)
{
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_open_append(fs_posix(), "/dev/full", 0, &f, &err));
    ck_assert_int_eq(fs_append(f, bytes_of_str("x"), &err), RC_IO);
    ck_assert_int_eq(err.os_errno, ENOSPC);
    ck_assert_ptr_nonnull(strstr(err.msg, "/dev/full: No space left on device"));
    fs_abandon(&f);
}
END_TEST

START_TEST(a_link_to_another_file_system_is_refused_as_no_link)
{
    struct err err = {0};
    struct fs_stat here, there;
    struct world w;
    char shm[64];

    world_init(&w, POSIX);
    put(&w, "a", "x");
    snprintf(shm, sizeof shm, "/dev/shm/varve-test-%d", (int)getpid());
    if (fs_stat(w.fs, "/dev/shm", &there, NULL) != RC_OK ||
        fs_stat(w.fs, w.root, &here, NULL) != RC_OK || here.device == there.device) {
        world_release(&w);
        return; /* one file system only: nothing to see */
    }
    ck_assert_int_eq(fs_link(w.fs, at(&w, "a"), shm, &err), RC_NO_LINK);
    ck_assert_int_eq(err.os_errno, EXDEV);
    err_clear(&err);
    ck_assert_rc(fs_reflink(w.fs, at(&w, "a"), shm, &err), RC_NO_LINK);
    ck_assert(!fs_exists(w.fs, shm));
    world_release(&w);
}
END_TEST

/* ---- paths
 * --------------------------------------------------------------------------------------- */

static const struct {
    const char *dir, *name, *joined;
} join_cases[] = {{"/a", "b", "/a/b"}, {"/a/", "b", "/a/b"},  {"/a//", "b", "/a/b"},
                  {"/", "b", "/b"},    {"a", "b/c", "a/b/c"}, {"", "b", "b"},
                  {".", "b", "./b"}};

START_TEST(joining_puts_one_slash_between)
{
    char out[FS_PATH_MAX];
    struct err err = {0};

    ck_assert_ok(path_join(out, sizeof out, join_cases[_i].dir, join_cases[_i].name, &err));
    ck_assert_str_eq(out, join_cases[_i].joined);
}
END_TEST

START_TEST(a_joined_path_must_fit)
{
    struct err err = {0};
    char out[6];

    ck_assert_ok(path_join(out, sizeof out, "/ab", "c", &err));
    ck_assert_rc(path_join(out, sizeof out, "/ab", "cd", &err), RC_LIMIT);
    ck_assert_rc(path_join(out, sizeof out, "/abcd", "e", &err), RC_LIMIT);
    ck_assert_rc(path_join(out, sizeof out, "/abcdefgh", "e", &err), RC_LIMIT);
    ck_assert_rc(path_dir(out, sizeof out, "/abcdefgh/i", &err), RC_LIMIT);
    ck_assert_rc(path_from_uri(out, sizeof out, "file:///abcdefgh", &err), RC_LIMIT);
    ck_assert_rc(path_absolute(out, sizeof out, "/abcdefgh", &err), RC_LIMIT);
    ck_assert_ok(path_absolute(out, sizeof out, "/abcd/", &err));
    ck_assert_str_eq(out, "/abcd");
}
END_TEST

static const struct {
    const char *path, *dir, *base;
} part_cases[] = {{"/a/b", "/a", "b"}, {"/a", "/", "a"},     {"a", ".", "a"},  {"a/b", "a", "b"},
                  {"/", "/", ""},      {"/a//b", "/a", "b"}, {"//a", "/", "a"},
                  {"s3://b/k/l", "s3://b/k", "l"},
                  {"s3://b/k", "s3://b", "k"},
                  {"s3://b", "s3://b", "b"},
                  {"s3://b/", "s3://b", ""},
                  {"hdfs://h:1//a/", "hdfs://h:1", ""}};

START_TEST(a_path_is_its_directory_and_its_last_name)
{
    char out[FS_PATH_MAX];
    struct err err = {0};

    ck_assert_ok(path_dir(out, sizeof out, part_cases[_i].path, &err));
    ck_assert_str_eq(out, part_cases[_i].dir);
    ck_assert_str_eq(path_base(part_cases[_i].path), part_cases[_i].base);
}
END_TEST

static const struct {
    const char *uri, *path; /* NULL: refused */
} uri_cases[] = {
    {"/a/b", "/a/b"},
    {"file:///a/b", "/a/b"},
    {"file:/a/b", "/a/b"},
    {"file://localhost/a", "/a"},
    {"data/in.csv", "data/in.csv"},
    {"./a:b/c", "./a:b/c"},
    {"a:b.csv", "a:b.csv"},
    {"file:///with space/%20", "/with space/%20"}, /* as Flink's Path: nothing is decoded */
    {"s3://bucket/key", "s3://bucket/key"},
    {"S3A://Bucket/key/", "s3://Bucket/key/"},
    {"s3p://b", "s3://b"},
    {"webhdfs://h:9870/a b", "hdfs://h:9870/a b"},
    {"swebhdfs://h:9871/", "swebhdfs://h:9871/"},
    {"gs://bucket/key", NULL},
    {"file://server/share", NULL},
    {"filesystem:/a", NULL},
    {"f:/a", NULL},
    {"http://localhost:80/", NULL},
};

START_TEST(a_uri_names_a_file_or_is_refused)
{
    char out[FS_PATH_MAX];
    struct err err = {0};

    if (uri_cases[_i].path == NULL) {
        ck_assert_rc_msg(path_from_uri(out, sizeof out, uri_cases[_i].uri, &err), RC_UNSUPPORTED,
                         uri_cases[_i].uri);
        return;
    }
    ck_assert_ok(path_from_uri(out, sizeof out, uri_cases[_i].uri, &err));
    ck_assert_str_eq(out, uri_cases[_i].path);
}
END_TEST

START_TEST(an_empty_uri_or_authority_is_invalid)
{
    char out[FS_PATH_MAX];
    struct err err = {0};

    ck_assert_rc(path_from_uri(out, sizeof out, "", &err), RC_INVALID);
    ck_assert_rc_msg(path_from_uri(out, sizeof out, "hdfs:///a", &err), RC_INVALID, "host:port");
    ck_assert_rc_msg(path_from_uri(out, sizeof out, "s3:/a", &err), RC_INVALID, "bucket");
    ck_assert_rc_msg(path_from_uri(out, sizeof out, "s3://key:secret@b/k", &err), RC_INVALID, "no user");
}
END_TEST

static const struct {
    const char *path, *absolute;
} absolute_cases[] = {{"/", "/"},
                      {"/a/../b", "/b"},
                      {"/a/./b//c/", "/a/b/c"},
                      {"/..", "/"},
                      {"/../../a", "/a"},
                      {"/a/..", "/"},
                      {"//a", "/a"},
                      {"/a/b/../../..", "/"},
                      {"/..a/b..", "/..a/b.."},
                      {"/.../.a", "/.../.a"},
                      {"s3://b/k/", "s3://b/k"},
                      {"s3://b/", "s3://b"},
                      {"hdfs://h:1/a//./b/../../../c", "hdfs://h:1/c"}};

START_TEST(an_absolute_path_has_no_dots)
{
    char out[FS_PATH_MAX];
    struct err err = {0};

    ck_assert_ok(path_absolute(out, sizeof out, absolute_cases[_i].path, &err));
    ck_assert_str_eq(out, absolute_cases[_i].absolute);
}
END_TEST

START_TEST(a_relative_path_starts_in_the_working_directory)
{
    char here[FS_PATH_MAX], out[FS_PATH_MAX], want[2 * FS_PATH_MAX];
    struct err err = {0};

    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    snprintf(want, sizeof want, "%s/a/c", strcmp(here, "/") == 0 ? "" : here);
    ck_assert_ok(path_absolute(out, sizeof out, "a/./b/../c", &err));
    ck_assert_str_eq(out, want);
}
END_TEST

#define EACH(test) tcase_add_loop_test(tc, test, 0, IMPLEMENTATIONS)

TEST_MAIN("fs", EACH(what_is_appended_is_read_at_any_offset);
          EACH(create_refuses_a_name_that_is_taken); EACH(what_is_not_there_is_not_found);
          EACH(appending_goes_on_at_the_given_length); EACH(a_directory_is_no_file);
          EACH(rename_moves_and_replaces); EACH(a_hard_link_is_a_second_name_of_one_file);
          EACH(a_directory_cannot_be_linked); EACH(a_reflink_is_a_copy_or_refused_without_a_trace);
          EACH(a_symbolic_link_leads_to_a_file_that_does_not_notice);
          EACH(an_unlinked_file_can_still_be_read_by_who_has_it_open);
          EACH(stat_tells_kind_size_and_time); EACH(only_an_empty_directory_is_removed);
          EACH(list_gives_every_name_once_and_stops_when_told); EACH(a_lock_has_one_holder);
          EACH(a_path_too_long_or_empty_is_refused);
          EACH(mkdirs_makes_parents_and_accepts_what_is_there);
          EACH(read_all_appends_and_keeps_to_its_limit);
          EACH(remove_tree_removes_everything_and_nothing_is_fine_too);
          EACH(copy_makes_a_new_file_with_the_same_content);
          tcase_add_loop_test(tc, a_copy_that_fails_leaves_nothing, 0, 4);
          tcase_add_loop_test(tc, mkdirs_is_durable_after_a_crash_at_any_operation, 0, 64);
          tcase_add_test(tc, symbolic_links_are_followed_by_stat_and_removed_as_such);
          tcase_add_test(tc, the_lock_of_a_killed_process_is_free);
          tcase_add_test(tc, a_full_disk_is_an_error_with_its_errno);
          tcase_add_test(tc, a_link_to_another_file_system_is_refused_as_no_link);
          tcase_add_loop_test(tc, joining_puts_one_slash_between, 0, ARRAY_LEN(join_cases));
          tcase_add_test(tc, a_joined_path_must_fit);
          tcase_add_loop_test(tc, a_path_is_its_directory_and_its_last_name, 0,
                              ARRAY_LEN(part_cases));
          tcase_add_loop_test(tc, a_uri_names_a_file_or_is_refused, 0, ARRAY_LEN(uri_cases));
          tcase_add_test(tc, an_empty_uri_or_authority_is_invalid);
          tcase_add_loop_test(tc, an_absolute_path_has_no_dots, 0, ARRAY_LEN(absolute_cases));
          tcase_add_test(tc, a_relative_path_starts_in_the_working_directory))
