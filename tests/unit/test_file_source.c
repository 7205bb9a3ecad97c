/* test_file_source.c - which files are read, by whom, from where on; sharing, restore, damage,
 * watching. */
#include "job/format/format.h"
#include "job/source/decompress.h"
#include "job/source/file_position.h"
#include "job/source/source.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/tmpdir.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define ITEMS_MAX 256

struct fixture {
    struct arena *arena;
    struct tmpdir tmp;
    struct schema schema;
    struct schema_field field;
    struct format_options options;
    struct file_source_config config;
    struct file_listing listing;
    struct sim_clock clock;
    struct env env;
    _Atomic uint64_t bad, nulls, bytes;
    struct bytes *items;
    size_t count;
};

/* A table of one STRING column over the folder `tmp`. */
static void fixture_init(struct fixture *f)
{
    struct err err = {0};

    *f = (struct fixture){.arena = arena_new(0)};
    tmpdir_make(&f->tmp);
    f->field = (struct schema_field){"k", type_of(TYPE_VARCHAR)};
    f->schema = (struct schema){1, &f->field, -1};
    ck_assert_ok(csv_format.options(f->arena, 0, NULL, NULL, &f->options, &err));
    file_listing_init(&f->listing);
    f->config = (struct file_source_config){.schema = &f->schema,
                                            .path = f->tmp.path,
                                            .format = &csv_format,
                                            .format_options = &f->options,
                                            .listing = &f->listing};
    sim_clock_init(&f->clock, 1700000000000);
    f->env = (struct env){.fs = fs_posix(), .clock = &f->clock.clock};
}

static void fixture_release(struct fixture *f)
{
    arena_free(f->arena);
    tmpdir_remove(&f->tmp);
}

static void file(struct fixture *f, const char *name, const char *text)
{
    tmpdir_write(&f->tmp, name, text, strlen(text));
}

static enum rc open_one(struct fixture *f, struct source *s, uint32_t index, uint32_t parallelism,
                        struct err *err)
{
    struct source_context ctx = {
        .env = &f->env,
        .subtask_index = index,
        .parallelism = parallelism,
        .table_name = "t",
        .schema = &f->schema,
        .restored_items = f->items,
        .restored_count = f->count,
        .restored = f->items != NULL,
        .bad_rows = &f->bad,
        .null_fields = &f->nulls,
        .bytes_in = &f->bytes,
    };

    return s->ops->open(s, &ctx, err);
}

/* At most `rows` rows as "a b c ", appended to out. */
static enum rc poll_rows(struct fixture *f, struct source *s, uint32_t rows, struct buf *out,
                         enum source_result *result, int64_t *retry, struct err *err)
{
    struct batch_builder *b = batch_builder_new(&f->schema);
    enum rc rc = RC_OK;

    *result = SOURCE_GOT_ROWS;
    while (rows > 0 && *result == SOURCE_GOT_ROWS) {
        struct batch *batch;

        rc = s->ops->poll(s, b, rows, result, retry, err);
        if (rc != RC_OK)
            break;
        batch = batch_builder_view(b);
        ck_assert_uint_le(batch->rows, rows);
        ck_assert_int_eq(batch->rows > 0, *result == SOURCE_GOT_ROWS);
        for (uint32_t i = 0; i < batch->rows; i++) {
            struct bytes v = column_bytes(&batch->columns[0], i);

            buf_append(out, v.data, v.len);
            buf_append_u8(out, ' ');
        }
        rows -= batch->rows;
        batch_builder_clear(b);
    }
    batch_builder_free(b);
    return rc;
}

static void keep_position(struct fixture *f, struct source *s, struct bytes *to, size_t *count)
{
    struct bytes *items;
    size_t n;
    struct err err = {0};

    ck_assert_ok(s->ops->position(s, f->arena, &items, &n, &err));
    for (size_t i = 0; i < n; i++)
        to[(*count)++] = items[i];
}

/* A run of all subtasks, each at most rows_each rows; the positions at its end become those of the
 * fixture. */
static void run(struct fixture *f, uint32_t parallelism, uint32_t rows_each, struct buf *out)
{
    struct source *s[8];
    struct bytes *items = ARENA_ARRAY(f->arena, ITEMS_MAX, struct bytes);
    size_t count = 0;
    enum source_result result;
    int64_t retry;
    struct err err = {0};

    for (uint32_t i = 0; i < parallelism; i++)
        s[i] = file_source_new(&f->config);
    for (uint32_t i = 0; i < parallelism; i++)
        ck_assert_ok(open_one(f, s[i], i, parallelism, &err));
    for (uint32_t i = 0; i < parallelism; i++) {
        ck_assert_ok(poll_rows(f, s[i], rows_each, out, &result, &retry, &err));
        keep_position(f, s[i], items, &count);
        s[i]->ops->close(s[i]);
    }
    f->items = items;
    f->count = count;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The words of `text`, sorted, joined by blanks. */
static const char *sorted_words(struct fixture *f, struct buf *text)
{
    char *copy = arena_strdup(f->arena, buf_cstr(text)), *words[1024], *save = NULL;
    struct buf out = {0};
    const char *result;
    size_t n = 0;

    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    qsort(words, n, sizeof *words, by_word);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s%s", i == 0 ? "" : " ", words[i]);
    result = arena_strdup(f->arena, buf_cstr(&out));
    buf_release(&out);
    return result;
}

/* ---- which files ----------------------------------------------------------------------------- */

/* Parts in progress and what lies below hidden folders must never be read; files do not run
 * together. */
START_TEST(hidden_names_are_skipped_and_sub_folders_read)
{
    struct fixture f;
    struct buf out = {0};

    fixture_init(&f);
    ck_assert_int_eq(mkdir(tmpdir_at(&f.tmp, "sub"), 0755), 0);
    ck_assert_int_eq(mkdir(tmpdir_at(&f.tmp, "sub/deep"), 0755), 0);
    ck_assert_int_eq(mkdir(tmpdir_at(&f.tmp, "_temporary"), 0755), 0);
    ck_assert_int_eq(mkdir(tmpdir_at(&f.tmp, ".hidden"), 0755), 0);
    file(&f, "b.csv", "b1\nb2");
    file(&f, "a b.csv", "a1\n");
    file(&f, "\xe3\x83\x86.csv", "t1\n");
    file(&f, "empty", "");
    file(&f, "sub/deep/c", "c1");
    file(&f, ".part.inprogress", "no\n");
    file(&f, "_SUCCESS", "no\n");
    file(&f, "_temporary/x", "no\n");
    file(&f, ".hidden/x", "no\n");
    run(&f, 1, 100, &out);
    ck_assert_bytes_str(buf_bytes(&out), "a1 b1 b2 c1 t1 ");
    ck_assert_uint_eq(atomic_load(&f.bytes), strlen("b1\nb2a1\nt1\nc1"));
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

/* What is put around the path of the folder; the last one names the file itself. */
static const char *const spellings[][2] = {
    {"", ""}, {"", "/"}, {"file://", ""}, {"file:", "//"}, {"", "/_one"}};
START_TEST(a_path_may_be_a_url_a_file_or_end_in_slashes)
{
    bool is_file = strcmp(spellings[_i][1], "/_one") == 0;
    struct fixture f;
    struct buf out = {0};

    fixture_init(&f);
    file(&f, is_file ? "_one" : "one", "x\n"); /* named outright, its name does not hide it */
    f.config.path = arena_printf(f.arena, "%s%s%s", spellings[_i][0], f.tmp.path, spellings[_i][1]);
    run(&f, 1, 100, &out);
    ck_assert_bytes_str(buf_bytes(&out), "x ");
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

START_TEST(a_missing_path_or_a_far_one_is_said)
{
    struct fixture f;
    struct source *s;
    struct err err = {0};

    fixture_init(&f);
    f.config.path = tmpdir_at(&f.tmp, "nowhere");
    s = file_source_new(&f.config);
    ck_assert_rc_msg(open_one(&f, s, 0, 1, &err), RC_NOT_FOUND, "nowhere");
    s->ops->close(s);
    f.config.path = "s3://bucket/x";
    s = file_source_new(&f.config);
    ck_assert_rc_msg(open_one(&f, s, 0, 1, &err), RC_UNSUPPORTED, "only local files");
    s->ops->close(s);
    fixture_release(&f);
}
END_TEST

/* Every file is read by one subtask, and, from the common listing, equally many by each. */
START_TEST(files_are_dealt_out_without_overlap)
{
    struct fixture f;
    struct buf out = {0}, want = {0};

    fixture_init(&f);
    if (_i == 1)
        f.config.listing = NULL; /* by hash */
    for (int i = 10; i < 34; i++) {
        file(&f, arena_printf(f.arena, "p%d", i), arena_printf(f.arena, "r%d\n", i));
        buf_printf(&want, "%sr%d", i == 10 ? "" : " ", i);
    }
    run(&f, 4, _i == 0 ? 6 : 100, &out);
    ck_assert_str_eq(sorted_words(&f, &out), buf_cstr(&want));
    buf_release(&out);
    buf_release(&want);
    fixture_release(&f);
}
END_TEST

/* The listing is common: a file that comes between two subtasks' openings is read by none or by
 * one, and loses no other. */
START_TEST(a_file_that_comes_during_the_start_moves_no_other)
{
    struct fixture f;
    struct source *s[2];
    struct buf out = {0};
    enum source_result result;
    int64_t retry;
    struct err err = {0};

    fixture_init(&f);
    f.config.listing = _i == 0 ? &f.listing : NULL;
    file(&f, "b", "b\n");
    file(&f, "c", "c\n");
    file(&f, "d", "d\n");
    s[0] = file_source_new(&f.config);
    s[1] = file_source_new(&f.config);
    ck_assert_ok(open_one(&f, s[0], 0, 2, &err));
    file(&f, "a", "a\n");
    ck_assert_ok(open_one(&f, s[1], 1, 2, &err));
    for (int i = 0; i < 2; i++) {
        ck_assert_ok(poll_rows(&f, s[i], 100, &out, &result, &retry, &err));
        s[i]->ops->close(s[i]);
    }
    if (_i == 0)
        ck_assert_str_eq(sorted_words(&f, &out), "b c d");
    else
        ck_assert_msg(strstr(sorted_words(&f, &out), "b c d") != NULL, "%s", buf_cstr(&out));
    ck_assert_ptr_null(f.listing.arena);
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

/* ---- restore --------------------------------------------------------------------------------- */

static const uint32_t histories[][6] = {{1, 2, 1}, {3, 1, 2}, {2, 4, 3, 1}, {4, 4, 4}};

/* No row twice and none lost when reading goes on with another parallelism, again and again. */
START_TEST(reading_goes_on_where_it_was_at_any_parallelism)
{
    for (uint32_t rows_each = 1; rows_each < 12; rows_each++) {
        struct fixture f;
        struct buf out = {0}, want = {0};
        size_t i;

        fixture_init(&f);
        for (int file_no = 0; file_no < 6; file_no++) {
            struct buf text = {0};

            if (file_no == 2)
                buf_append_str(&text, "\xef\xbb\xbf");
            for (int row = 0; row < 7; row++) {
                buf_printf(&text, "%s\"f%d\n%d\"", row == 0 ? "" : "\r\n", file_no, row);
                buf_printf(&want, "f%d\n%d ", file_no, row);
            }
            file(&f, arena_printf(f.arena, "in%d", file_no), buf_cstr(&text));
            buf_release(&text);
        }
        for (i = 0; histories[_i][i] != 0; i++)
            run(&f, histories[_i][i], rows_each, &out);
        run(&f, histories[_i][i - 1], 1000, &out);
        ck_assert_str_eq(sorted_words(&f, &out), sorted_words(&f, &want));
        buf_release(&out);
        buf_release(&want);
        fixture_release(&f);
    }
}
END_TEST

/* The line in a message is the file's, also when the first lines were read before a restore. */
START_TEST(line_numbers_survive_a_restore)
{
    struct fixture f;
    struct source *s;
    struct buf out = {0};
    enum source_result result;
    int64_t retry;
    struct err err = {0};

    fixture_init(&f);
    file(&f, "a", "1\n2\n\n3\nx,y\n");
    run(&f, 1, 3, &out);
    s = file_source_new(&f.config);
    ck_assert_ok(open_one(&f, s, 0, 1, &err));
    ck_assert_rc_msg(poll_rows(&f, s, 5, &out, &result, &retry, &err), RC_INVALID,
                     "/a: line 5: expected 1 fields, found 2");
    s->ops->close(s);
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

/* A file that is gone, shorter or another one is refused before a row is read, with its path and
 * numbers. */
START_TEST(a_changed_file_is_refused_on_restore)
{
    static const char *const messages[] = {"a: No such file",
                                           "was read up to byte 6, but has only 4 bytes",
                                           "is not the file that was read before"};
    static const enum rc codes[] = {RC_NOT_FOUND, RC_CORRUPT, RC_CORRUPT};
    struct fixture f;
    struct source *s;
    struct buf out = {0};
    struct err err = {0};

    fixture_init(&f);
    file(&f, "a", "r1\nr2\nr3\n");
    run(&f, 1, 2, &out);
    if (_i == 0)
        ck_assert_int_eq(unlink(tmpdir_at(&f.tmp, "a")), 0);
    else
        file(&f, "a", _i == 1 ? "r1\nr" : "R1\nr2\nr3\n");
    s = file_source_new(&f.config);
    ck_assert_rc_msg(open_one(&f, s, 0, 1, &err), codes[_i], messages[_i]);
    s->ops->close(s);
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

/* A file that was read whole may be gone; the folder may have moved. */
START_TEST(read_files_may_go_and_the_folder_may_move)
{
    struct fixture f;
    struct buf out = {0};
    const char *moved;

    fixture_init(&f);
    ck_assert_int_eq(mkdir(tmpdir_at(&f.tmp, "in"), 0755), 0);
    f.config.path = tmpdir_at(&f.tmp, "in");
    file(&f, "in/a", "1\n2\n");
    file(&f, "in/b", "3\n4\n");
    run(&f, 1, 3, &out);
    moved = tmpdir_at(&f.tmp, "moved");
    ck_assert_int_eq(rename(f.config.path, moved), 0);
    ck_assert_int_eq(unlink(tmpdir_at(&f.tmp, "moved/a")), 0);
    f.config.path = moved;
    run(&f, 1, 3, &out);
    ck_assert_bytes_str(buf_bytes(&out), "1 2 3 4 ");
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    enum rc rc;
} damaged[] = {
    {"", 0, RC_CORRUPT},
    {"\3", 1, RC_CORRUPT},
    {"\1\2\0", 3, RC_VERSION},
    {"\1\1\5/a", 5, RC_CORRUPT},
    {"\2\0\1", 3, RC_CORRUPT},
    {"\2\0\0\1\0\0\0\0\0\0\0\0\0\1a!", 16, RC_CORRUPT},
    {"\2\0\0\0\0\0\0\0\0\0\0\0\0\1a", 15, RC_CORRUPT},
    {"\2\0\0\1\377\17\0\0\0\0\0\0\0\0\1a", 16, RC_CORRUPT},
    {"\2\0\0\1\0\0\0\0\0\0\0\0\0\2a\0", 16, RC_CORRUPT},
};
START_TEST(a_damaged_position_is_refused)
{
    struct arena *arena = arena_new(0);
    struct bytes item = bytes_of(damaged[_i].bytes, damaged[_i].len);
    struct file_entries entries;
    const char *root;
    struct err err = {0};

    ck_assert_rc(file_positions_decode(&item, 1, 0, 1, arena, &entries, &root, &err),
                 damaged[_i].rc);
    arena_free(arena);
}
END_TEST

/* ---- watching -------------------------------------------------------------------------------- */

/* New files are found at the next look, each by one subtask, never again after a restore. */
/* What lay there at first is the backlog, until it is read; what comes later is not. Bounded input has none: it ends. */
START_TEST(the_first_listing_of_a_watched_folder_is_a_backlog)
{
    struct fixture f;
    struct source *s;
    struct bytes items[32];
    size_t count = 0;
    struct buf out = {0};
    enum source_result result;
    int64_t retry;
    struct err err = {0};

    fixture_init(&f);
    file(&f, "a", "a1\na2\na3\n");
    s = file_source_new(&f.config);
    ck_assert_ok(open_one(&f, s, 0, 1, &err));
    ck_assert(!s->ops->backlog(s));
    s->ops->close(s);
    f.config.monitor_interval_ms = 1000;
    s = file_source_new(&f.config);
    ck_assert_ok(open_one(&f, s, 0, 1, &err));
    ck_assert(s->ops->backlog(s));
    ck_assert_ok(poll_rows(&f, s, 2, &out, &result, &retry, &err));
    ck_assert(s->ops->backlog(s));
    keep_position(&f, s, items, &count);
    ck_assert_ok(poll_rows(&f, s, 100, &out, &result, &retry, &err));
    ck_assert_int_eq(result, SOURCE_NOTHING_NOW);
    ck_assert(!s->ops->backlog(s));
    file(&f, "b", "b1\nb2\n");
    sim_clock_advance_ms(&f.clock, 1000);
    ck_assert_ok(poll_rows(&f, s, 1, &out, &result, &retry, &err));
    ck_assert_int_eq(result, SOURCE_GOT_ROWS);
    ck_assert(!s->ops->backlog(s));
    s->ops->close(s);
    /* Restored: what was left, and what came meanwhile. */
    f.items = items;
    f.count = count;
    buf_clear(&out);
    s = file_source_new(&f.config);
    ck_assert_ok(open_one(&f, s, 0, 1, &err));
    ck_assert(s->ops->backlog(s));
    ck_assert_ok(poll_rows(&f, s, 2, &out, &result, &retry, &err));
    ck_assert(s->ops->backlog(s));
    ck_assert_ok(poll_rows(&f, s, 100, &out, &result, &retry, &err));
    ck_assert(!s->ops->backlog(s));
    ck_assert_str_eq(sorted_words(&f, &out), "a3 b1 b2");
    s->ops->close(s);
    buf_release(&out);
    /* A subtask without a file of its own has none. */
    f.items = NULL;
    f.count = 0;
    tmpdir_remove(&f.tmp);
    tmpdir_make(&f.tmp);
    f.config.path = f.tmp.path;
    s = file_source_new(&f.config);
    ck_assert_ok(open_one(&f, s, 0, 1, &err));
    ck_assert(!s->ops->backlog(s));
    s->ops->close(s);
    fixture_release(&f);
}
END_TEST

START_TEST(a_watched_folder_gives_new_files_once)
{
    struct fixture f;
    struct source *s[2];
    struct bytes items[32];
    size_t count = 0;
    struct buf out = {0};
    enum source_result result;
    int64_t retry;
    struct err err = {0};

    fixture_init(&f);
    f.config.monitor_interval_ms = 1000;
    file(&f, "a", "a1\na2\n");
    file(&f, "b", "b1\n");
    for (uint32_t i = 0; i < 2; i++) {
        s[i] = file_source_new(&f.config);
        ck_assert_ok(open_one(&f, s[i], i, 2, &err));
        ck_assert_ok(poll_rows(&f, s[i], 100, &out, &result, &retry, &err));
        ck_assert_int_eq(result, SOURCE_NOTHING_NOW);
        ck_assert_int_eq(retry, 1000 * NS_PER_MS);
    }
    ck_assert_str_eq(sorted_words(&f, &out), "a1 a2 b1");
    file(&f, "c", "c1\n");
    file(&f, "aa", "aa1\n");
    buf_clear(&out);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 2; i++)
            ck_assert_ok(poll_rows(&f, s[i], 100, &out, &result, &retry, &err));
        if (round == 0)
            ck_assert_uint_eq(out.len, 0); /* not looked yet */
        sim_clock_advance_ms(&f.clock, 1000);
    }
    ck_assert_str_eq(sorted_words(&f, &out), "aa1 c1");
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(!s[i]->ops->bounded(s[i]));
        keep_position(&f, s[i], items, &count);
        s[i]->ops->close(s[i]);
    }
    file(&f, "d", "d1\n");
    f.items = items;
    f.count = count;
    buf_clear(&out);
    run(&f, 3, 100, &out);
    ck_assert_str_eq(sorted_words(&f, &out), "d1");
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

/* ---- compressed ------------------------------------------------------------------------------ */

static void gzip_file(struct fixture *f, const char *name, const char *text, size_t len)
{
    gzFile z = gzopen(tmpdir_at(&f->tmp, name), "wb");

    ck_assert_ptr_nonnull(z);
    ck_assert_int_eq(gzwrite(z, text, (unsigned)len), (int)len);
    ck_assert_int_eq(gzclose(z), Z_OK);
}

/* A position in a compressed file counts decompressed bytes and is found again. */
START_TEST(a_compressed_file_is_read_on_after_a_restore)
{
    struct fixture f;
    struct buf text = {0}, out = {0};

    fixture_init(&f);
    for (int i = 0; i < 200000; i++)
        buf_printf(&text, "row%d\n", i);
    gzip_file(&f, "x", (const char *)text.data, text.len);
    run(&f, 1, 150001, &out);
    buf_clear(&out);
    run(&f, 2, 3, &out);
    ck_assert_bytes_str(buf_bytes(&out), "row150001 row150002 row150003 ");
    buf_release(&text);
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

/* A row longer than the read buffer is put together; the buffer does not stay that large. */
START_TEST(rows_longer_than_the_buffer_are_read)
{
    struct fixture f;
    struct buf text = {0}, out = {0};

    fixture_init(&f);
    for (int i = 0; i < 700000; i++)
        buf_append_str(&text, "0123456789");
    buf_append_str(&text, "\nshort\n");
    tmpdir_write(&f.tmp, "x", text.data, text.len);
    run(&f, 1, 10, &out);
    ck_assert_uint_eq(out.len, text.len);
    ck_assert(memcmp(out.data, text.data, 7000000) == 0);
    buf_release(&text);
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

TEST_MAIN("file_source", tcase_add_test(tc, hidden_names_are_skipped_and_sub_folders_read);
          tcase_add_loop_test(tc, a_path_may_be_a_url_a_file_or_end_in_slashes, 0,
                              ARRAY_LEN(spellings));
          tcase_add_test(tc, a_missing_path_or_a_far_one_is_said);
          tcase_add_loop_test(tc, files_are_dealt_out_without_overlap, 0, 2);
          tcase_add_loop_test(tc, a_file_that_comes_during_the_start_moves_no_other, 0, 2);
          tcase_add_loop_test(tc, reading_goes_on_where_it_was_at_any_parallelism, 0,
                              ARRAY_LEN(histories));
          tcase_add_test(tc, line_numbers_survive_a_restore);
          tcase_add_loop_test(tc, a_changed_file_is_refused_on_restore, 0, 3);
          tcase_add_test(tc, read_files_may_go_and_the_folder_may_move);
          tcase_add_loop_test(tc, a_damaged_position_is_refused, 0, ARRAY_LEN(damaged));
          tcase_add_test(tc, the_first_listing_of_a_watched_folder_is_a_backlog);
    tcase_add_test(tc, a_watched_folder_gives_new_files_once);
          tcase_add_test(tc, a_compressed_file_is_read_on_after_a_restore);
          tcase_add_test(tc, rows_longer_than_the_buffer_are_read))
