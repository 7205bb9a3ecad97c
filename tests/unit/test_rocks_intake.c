/* links: backend, rocksdb */
/* What prop_rescale sees as a whole, one promise at a time: files keep their bytes, and the part
 * that is cut out of one keeps what it hides in others. rocks.c is included, not linked: the engine
 * itself never deletes a range, so its cover has no call for it. */
#include "backend/rocks.c"

#include "backend/rocks_intake.h"
#include "base/rng.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

static struct tmpdir tmp;
static struct rocks_db *from, *to;
static struct rocks_cf *cf;
static struct rocks_cutter *cutter;
static struct rocks_intake *intake;

static struct rocks_db *open_db(const char *name)
{
    struct rocks_config config = {.dir = tmpdir_at(&tmp, name),
                                  .create = true,
                                  .block_cache_bytes = 4 << 20,
                                  .write_buffer_bytes = 1 << 20,
                                  .max_open_files = -1,
                                  .key_group_count = 128};
    struct rocks_db *db;
    struct err err = {0};

    ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    ck_assert_ok(rocks_open(&config, &db, &err));
    return db;
}

static void setup(void)
{
    struct err err = {0};

    tmpdir_make(&tmp);
    from = open_db("from");
    to = open_db("to");
    ck_assert_ok(rocks_cf_create(from, "s", &cf, &err));
    cutter = rocks_cutter_new(to, tmpdir_at(&tmp, "cut"));
    intake = rocks_intake_new();
}

static void teardown(void)
{
    rocks_intake_free(intake);
    rocks_cutter_free(cutter);
    rocks_close(from);
    rocks_close(to);
    tmpdir_remove(&tmp);
}

static struct bytes text(const char *s)
{
    return bytes_of(s, strlen(s));
}

/* "k=v" puts, "k" deletes, "k+v" appends; separated by blanks. Each call makes a file of level 0.
 */
static void write_file(const char *what)
{
    static int checkpoints;
    struct rocks_batch *b = rocks_batch_new(rocks_db_of(cf));
    struct buf dir = {0};
    struct err err = {0};

    while (*what != '\0') {
        size_t len = strcspn(what, " "), key = strcspn(what, " =+");
        struct bytes value = bytes_of(what + key + 1, len - key - (key < len));

        if (key == len)
            rocks_batch_del(b, cf, bytes_of(what, key));
        else if (what[key] == '=')
            rocks_batch_put(b, cf, bytes_of(what, key), value);
        else
            rocks_batch_merge(b, cf, bytes_of(what, key), value);
        what += len + (what[len] == ' ');
    }
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_batch_free(b);
    buf_printf(&dir, "image-%d", checkpoints++); /* taking one flushes */
    ck_assert_ok(rocks_checkpoint(rocks_db_of(cf), tmpdir_at(&tmp, buf_cstr(&dir)), &err));
    buf_release(&dir);
}

static void delete_range(const char *first, const char *end)
{
    rocksdb_writeoptions_t *o = rocksdb_writeoptions_create();
    char *error = NULL;

    rocksdb_writeoptions_disable_WAL(o, 1);
    rocksdb_delete_range_cf(from->db, o, cf->handle, first, strlen(first), end, strlen(end),
                            &error);
    ck_assert_ptr_null(error);
    rocksdb_writeoptions_destroy(o);
}

/* All of the family, as write_file would take it. */
static const char *content(struct rocks_cf *family)
{
    struct rocks_iter *it = rocks_iter_new(family, (struct bytes){0}, (struct bytes){0});
    struct bytes key, value;
    struct buf out = {0};
    struct err err = {0};
    const char *kept;
    enum rc rc;

    while (rocks_iter_next(it, &key, &value, &rc, &err))
        buf_printf(&out, "%s%.*s=%.*s", out.len == 0 ? "" : " ", (int)key.len,
                   (const char *)key.data, (int)value.len, (const char *)value.data);
    ck_assert_int_eq(rc, RC_OK);
    rocks_iter_free(it);
    kept = arena_strdup(tmp.names, buf_cstr(&out));
    buf_release(&out);
    return kept;
}

/* What take_over does for each file of cf. */
struct taking {
    struct rocks_bounds bounds;
    uint32_t whole, cut, left;
};

static enum rc take(void *ctx, const struct rocks_file *f, struct err *err)
{
    struct taking *t = ctx;
    bool done;

    switch (rocks_file_place(f, t->bounds)) {
    case ROCKS_INSIDE:
        t->whole++;
        return rocks_intake_add(intake, cf, f->name, err);
    case ROCKS_ACROSS:
        RETURN_IF_ERR(rocks_intake_cut(intake, cutter, cf, f->name, t->bounds, &done, err));
        t->cut += done;
        t->left += !done;
        return RC_OK;
    case ROCKS_OUTSIDE:
        break;
    }
    return RC_OK;
}

/* The rows of cf inside the bounds as a family of `to`. */
static struct taking take_all(const char *lower, const char *upper)
{
    struct taking t = {.bounds = {text(lower), text(upper)}};
    struct err err = {0};

    if (rocks_cf_files(cf, take, &t, &err) != RC_OK)
        ck_abort_msg("%s", err.msg);
    return t;
}

static const char *result(void)
{
    struct rocks_cf *out;
    struct err err = {0};

    if (rocks_intake_end(intake, to, "s", &out, &err) != RC_OK)
        ck_abort_msg("%s", err.msg);
    ck_assert_ok(rocks_verify(to, &err));
    return content(out);
}

/* ---- places ---------------------------------------------------------------------------------- */

static const struct {
    const char *first, *last;
    bool last_open;
    const char *lower, *upper;
    enum rocks_place place;
} places[] = {
    {"b1", "b9", false, "b", "c", ROCKS_INSIDE}, {"b1", "c", true, "b", "c", ROCKS_INSIDE},
    {"b1", "c", false, "b", "c", ROCKS_ACROSS},  {"b", "b", false, "b", "c", ROCKS_INSIDE},
    {"a9", "b1", false, "b", "c", ROCKS_ACROSS}, {"a1", "a9", false, "b", "c", ROCKS_OUTSIDE},
    {"a1", "b", true, "b", "c", ROCKS_OUTSIDE},  {"a1", "b", false, "b", "c", ROCKS_ACROSS},
    {"c", "d", false, "b", "c", ROCKS_OUTSIDE},  {"a", "d", false, "b", "c", ROCKS_ACROSS},
    {"b1", "zz", false, "b", "", ROCKS_INSIDE},  {"a", "zz", false, "b", "", ROCKS_ACROSS},
};

START_TEST(a_file_lies_inside_outside_or_across)
{
    struct rocks_file f = {"1.sst", 1, text(places[_i].first), text(places[_i].last),
                           places[_i].last_open};
    struct rocks_bounds b = {text(places[_i].lower), text(places[_i].upper)};

    ck_assert_int_eq(rocks_file_place(&f, b), places[_i].place);
}
END_TEST

/* ---- whole files ----------------------------------------------------------------------------- */

static uint64_t inodes[10];
static size_t inode_count;

static enum rc note_inode(void *ctx, const char *name, uint64_t size_bytes, struct err *err)
{
    struct buf path = {0};
    struct fs_stat st;
    enum rc rc;

    (void)size_bytes;
    buf_printf(&path, "%s/%s", (const char *)ctx, name);
    rc = fs_stat(fs_posix(), tmpdir_at(&tmp, buf_cstr(&path)), &st, err);
    inodes[inode_count++] = st.inode;
    buf_release(&path);
    return rc;
}

static int by_inode(const void *a, const void *b)
{
    return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : 1;
}

/* Two databases with levels of their own, one family; every file is the one it was. */
START_TEST(files_of_two_databases_become_one_family_unread)
{
    struct rocks_db *other = open_db("other");
    struct err err = {0};

    write_file("b1=old b2=gone b3=x");
    write_file("b1=new b2 b3+y"); /* the newer one must stay on top */
    take_all("", "");
    ck_assert_ok(rocks_live_files(from, note_inode, (void *)(uintptr_t) "from", &err));
    ck_assert_ok(rocks_cf_create(other, "s", &cf, &err));
    write_file("d1=1 d2=2");
    write_file("d2");
    write_file("d2+3");
    take_all("", "");
    ck_assert_ok(rocks_live_files(other, note_inode, (void *)(uintptr_t) "other", &err));
    rocks_close(other); /* not needed any more; its files are */
    ck_assert_uint_eq(rocks_intake_count(intake), 5);
    ck_assert_str_eq(result(), "b1=new b3=x,y d1=1 d2=3");
    ck_assert_ok(rocks_live_files(to, note_inode, (void *)(uintptr_t) "to", &err));
    ck_assert_uint_eq(inode_count, 10);
    qsort(inodes, 5, sizeof *inodes, by_inode);
    qsort(inodes + 5, 5, sizeof *inodes, by_inode);
    ck_assert_mem_eq(inodes, inodes + 5, 5 * sizeof *inodes);
}
END_TEST

START_TEST(rows_that_come_later_win_over_those_taken_over)
{
    struct rocks_batch *b = rocks_batch_new(to);
    struct rocks_cf *out;
    struct err err = {0};

    for (int i = 0; i < 50; i++)
        write_file("b1=old b2=old b3=old"); /* sequence numbers far above those of `to` */
    take_all("", "");
    ck_assert_ok(rocks_intake_end(intake, to, "s", &out, &err));
    rocks_batch_put(b, out, text("b1"), text("new"));
    rocks_batch_del(b, out, text("b2"));
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_batch_free(b);
    ck_assert_str_eq(content(out), "b1=new b3=old");
    ck_assert_ok(rocks_compact(to, &err));
    ck_assert_str_eq(content(out), "b1=new b3=old");
}
END_TEST

START_TEST(no_file_at_all_makes_an_empty_family)
{
    ck_assert_str_eq(result(), "");
}
END_TEST

/* What was taken from a handle that turns out to have to be copied is given back. */
START_TEST(files_can_be_given_back)
{
    write_file("b1=1");
    take_all("", "");
    write_file("b2=2");
    take_all("", "");
    ck_assert_uint_eq(rocks_intake_count(intake), 3);
    rocks_intake_keep(intake, 1);
    ck_assert_str_eq(result(), "b1=1");
}
END_TEST

/* ---- cut files ------------------------------------------------------------------------------- */

static const struct {
    const char *files[4], *lower, *upper, *left;
} cuts[] = {
    {{"a1=1 b1=2 c1=3"}, "b", "c", "b1=2"},
    {{"a1=1 b1=2 b9=3"}, "b", "c", "b1=2 b9=3"},
    {{"b1=2 c=3"}, "b", "c", "b1=2"},
    {{"a1=1 c1=3"}, "b", "c", ""},
    {{"a1=1 b1=2 c1=3"}, "b", "", "b1=2 c1=3"},
    {{"a1=1 b1=2 c1=3"}, "", "b", "a1=1"},
    /* a deletion hides a row of a file that is not cut */
    {{"b1=old b2=old", "a1=1 b1"}, "b", "c", "b2=old"},
    /* and of one that is */
    {{"a1=1 b1=old b2=old", "b1 c1=1"}, "b", "c", "b2=old"},
    /* operands stay operands: their base lies below */
    {{"b1=x", "a1=1 b1+y c1=2", "a2+1 b1+z"}, "b", "c", "b1=x,y,z"},
    /* a deletion between them */
    {{"a1=1 b1=x", "a1 b1 c1", "a1+2 b1+z"}, "b", "c", "b1=z"},
    /* order of files that overlap, cut or not */
    {{"a1=1 b1=1 b2=1 b3=1", "b1=2 b2=2", "b2=3 c1=3"}, "b", "c", "b1=2 b2=3 b3=1"},
    /* nothing but deletions outside */
    {{"b1=1", "a1 c1 b2=2"}, "b", "c", "b1=1 b2=2"},
};

START_TEST(the_part_of_a_file_inside_the_bounds_means_what_it_meant)
{
    struct taking t;

    for (size_t i = 0; i < 4 && cuts[_i].files[i] != NULL; i++)
        write_file(cuts[_i].files[i]);
    t = take_all(cuts[_i].lower, cuts[_i].upper);
    ck_assert_uint_ge(t.cut, 1);
    ck_assert_uint_eq(t.left, 0);
    ck_assert_str_eq(result(), cuts[_i].left);
}
END_TEST

static enum rc must_lie_inside(void *ctx, const struct rocks_file *f, struct err *err)
{
    (void)err;
    ck_assert_int_eq(rocks_file_place(f, *(struct rocks_bounds *)ctx), ROCKS_INSIDE);
    return RC_OK;
}

/* Else a later handle of this database would hold rows of two subtasks. */
START_TEST(no_cut_file_reaches_beyond_the_bounds)
{
    struct rocks_bounds b = {text("b"), text("c")};
    struct err err = {0};

    write_file("a1=1 b1=2 c1=3");
    write_file("a9 b1 c0");
    write_file("a8+1 b2+2 c0+4");
    take_all("b", "c");
    ck_assert_str_eq(result(), "b2=2");
    ck_assert_ok(rocks_cf_files(rocks_cf_find(to, "s"), must_lie_inside, &b, &err));
}
END_TEST

/* Range deletions come from databases of the reference. One that ends at the bound, or lies inside,
 * is kept; one across cannot be cut. */
START_TEST(range_deletion_across_a_bound_is_left_to_the_caller)
{
    static const struct {
        const char *first, *end, *left; /* NULL: cannot be cut */
    } deletions[] = {{"a", "b", "b1=1 b5=1"}, {"b2", "b9", "b1=1"}, {"b2", "c5", NULL}};
    struct taking t;

    write_file("a1=1 b1=1 b5=1 c1=1 c9=1");
    delete_range(deletions[_i].first, deletions[_i].end);
    write_file("a0=2 c99=2");
    t = take_all("b", "c");
    if (deletions[_i].left == NULL) {
        ck_assert_uint_eq(t.left, 1);
    } else {
        ck_assert_uint_eq(t.left, 0);
        ck_assert_str_eq(result(), deletions[_i].left);
    }
}
END_TEST

/* ---- compactions ----------------------------------------------------------------------------- */

struct count {
    uint32_t files, across;
};

static enum rc count_borders(void *ctx, const struct rocks_file *f, struct err *err)
{
    struct count *c = ctx;

    (void)err;
    c->files++;
    c->across += f->first.data[0] < 64 && f->last.data[0] >= 64;
    return RC_OK;
}

/* What keeps cutting rare. */
START_TEST(compactions_end_files_at_borders_of_key_groups)
{
    struct rocks_batch *b = rocks_batch_new(from);
    uint8_t key[8] = {0}, value[4000];
    struct count counted = {0};
    struct err err = {0};

    for (uint32_t i = 0; i < 1280; i++) { /* 5 MB */
        if (i == 640)                     /* a file of its own: so there is something to compact */
            ck_assert_ok(rocks_checkpoint(from, tmpdir_at(&tmp, "image"), &err));
        key[0] = (uint8_t)(i / 5 % 128);
        put_be32(key + 4, i);
        for (size_t j = 0; j < sizeof value; j++)
            value[j] = (uint8_t)splitmix64(i * 4096 + j);
        rocks_batch_put(b, cf, bytes_of(key, 8), bytes_of(value, sizeof value));
        ck_assert_ok(rocks_batch_write(b, &err));
    }
    rocks_batch_free(b);
    rocksdb_compact_range_cf(from->db, cf->handle, NULL, 0, NULL, 0);
    ck_assert_ok(rocks_cf_files(cf, count_borders, &counted, &err));
    ck_assert_uint_eq(counted.files, 2);
    ck_assert_uint_eq(counted.across, 0);
}
END_TEST

TEST_MAIN("rocks_intake", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, a_file_lies_inside_outside_or_across, 0, ARRAY_LEN(places));
          tcase_add_test(tc, files_of_two_databases_become_one_family_unread);
          tcase_add_test(tc, rows_that_come_later_win_over_those_taken_over);
          tcase_add_test(tc, no_file_at_all_makes_an_empty_family);
          tcase_add_test(tc, files_can_be_given_back);
          tcase_add_loop_test(tc, the_part_of_a_file_inside_the_bounds_means_what_it_meant, 0,
                              ARRAY_LEN(cuts));
          tcase_add_test(tc, no_cut_file_reaches_beyond_the_bounds);
          tcase_add_loop_test(tc, range_deletion_across_a_bound_is_left_to_the_caller, 0, 3);
          tcase_add_test(tc, compactions_end_files_at_borders_of_key_groups))
