/* A checkpoint of random state of both backends, read without its job: against the sorted maps that
 * say what it holds. */
#include "backend/state_reader.h"

#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/keyed_job.h"

#include <sys/stat.h>

static const char *const kinds[] = {"h", "r"};

static struct keyed_job job;
static struct keyed_checkpoint checkpoint;
static struct state_reader *reader;

/* One subtask of key groups 0..127 with some thousand entries, and its checkpoint. */
static void make_checkpoint(int kind)
{
    keyed_job_init(&job, 7);
    job.key_space = 3000;
    job.target.inline_max = 20000;
    keyed_job_open(&job, 1, kinds[kind], NULL);
    for (int i = 0; i < 60; i++)
        keyed_job_step(&job);
    keyed_job_checkpoint(&job, &checkpoint, 0);
    keyed_job_close(&job);
}

static void open_reader(void)
{
    struct err err = {0};

    ck_assert_ok(state_reader_open(fs_posix(), &checkpoint.handles[0],
                                   tmpdir_at(&job.tmp, "look"), &reader, &err));
}

static void end(void)
{
    state_reader_close(reader);
    reader = NULL;
    keyed_checkpoint_release(&checkpoint);
    keyed_job_release(&job);
}

static size_t index_of(const char *name)
{
    const struct keyed_handle *h = &checkpoint.handles[0];

    return (size_t)(state_desc_find(h->states, h->state_count, name) - h->states);
}

/* A scan is the part of the model that lies in the groups and begins with the prefix, in order. */
static void check_scan(uint32_t state, struct key_group_range groups, struct bytes prefix)
{
    const struct model_state *m = &checkpoint.models[state];
    struct bytes key, value;
    struct state_scan *scan;
    struct err err = {0};

    ck_assert_ok(state_scan_open(reader, index_of(keyed_job_descs[state].name), groups, prefix,
                                 &scan, &err));
    for (size_t i = 0; i < m->count; i++) {
        const struct model_entry *e = &m->entries[i];

        if (!key_group_range_has(groups, e->key.data[0]) || e->key.len < prefix.len ||
            (prefix.len > 0 && memcmp(e->key.data, prefix.data, prefix.len) != 0))
            continue;
        do { /* what has expired may be there, and is in no model */
            ck_assert_ok(state_scan_next(scan, &key, &value, &err));
            ck_assert_ptr_nonnull(key.data);
        } while (keyed_job_descs[state].ttl_ms != 0 && get_be64(value.data) == 0);
        ck_assert_bytes_eq(key, e->key);
        ck_assert_bytes_eq(value, e->value);
    }
    do
        ck_assert_ok(state_scan_next(scan, &key, &value, &err));
    while (key.data != NULL && keyed_job_descs[state].ttl_ms != 0 && get_be64(value.data) == 0);
    ck_assert_ptr_null(key.data);
    state_scan_close(scan);
}

START_TEST(scans_give_every_entry_in_order_of_its_key)
{
    make_checkpoint(_i);
    open_reader();
    for (uint32_t s = 0; s < KEYED_JOB_STATES; s++) {
        ck_assert_uint_gt(checkpoint.models[s].count, 50);
        check_scan(s, (struct key_group_range){0, 127}, (struct bytes){0});
        check_scan(s, (struct key_group_range){5, 5}, (struct bytes){0});
        check_scan(s, (struct key_group_range){120, 127}, (struct bytes){0});
    }
    end();
}
END_TEST

START_TEST(a_scan_by_prefix_gives_the_entries_of_one_map)
{
    const struct model_state *m;

    make_checkpoint(_i);
    open_reader();
    m = &checkpoint.models[1];
    for (size_t i = 0; i < m->count; i += 97) {
        struct bytes key = m->entries[i].key;

        check_scan(1, (struct key_group_range){0, 127},
                   bytes_of(key.data, key_owner_len(key, 1, KEY_NS_VOID)));
    }
    end();
}
END_TEST

START_TEST(a_get_finds_what_is_there_and_nothing_else)
{
    struct bytes value;
    struct err err = {0};

    make_checkpoint(_i);
    open_reader();
    for (uint32_t s = 0; s < KEYED_JOB_STATES; s++) {
        const struct model_state *m = &checkpoint.models[s];
        uint8_t absent[40] = {(uint8_t)s};

        for (size_t i = 0; i < m->count; i += 41) {
            ck_assert_ok(state_reader_get(reader, index_of(keyed_job_descs[s].name),
                                          m->entries[i].key, &value, &err));
            ck_assert_ptr_nonnull(value.data);
            ck_assert_bytes_eq(value, m->entries[i].value);
        }
        ck_assert_ok(state_reader_get(reader, index_of(keyed_job_descs[s].name),
                                      bytes_of(absent, sizeof absent), &value, &err));
        ck_assert_ptr_null(value.data);
    }
    ck_assert_rc(state_reader_get(reader, 0, (struct bytes){0}, &value, &err), RC_INVALID);
    end();
}
END_TEST

/* The count of a stream is exact; that of a database comes from its files: rows that were written
 * twice may count twice. */
START_TEST(sizes_are_exact_or_say_that_they_are_not)
{
    struct err err = {0};

    make_checkpoint(_i);
    open_reader();
    for (uint32_t s = 0; s < 4; s++) {
        struct state_size size;
        uint64_t key_bytes = 0, value_bytes = 0, count = checkpoint.models[s].count;

        for (size_t i = 0; i < count; i++) {
            key_bytes += checkpoint.models[s].entries[i].key.len;
            value_bytes += checkpoint.models[s].entries[i].value.len;
        }
        ck_assert_ok(state_reader_size(reader, index_of(keyed_job_descs[s].name), &size, &err));
        ck_assert_int_eq(size.exact, _i == 0);
        if (size.exact) {
            ck_assert_uint_eq(size.entries, count);
            ck_assert_uint_eq(size.key_bytes, key_bytes);
            ck_assert_uint_eq(size.value_bytes, value_bytes);
        } else {
            ck_assert_uint_ge(size.entries, count / 2);
            ck_assert_uint_le(size.entries, 4 * count);
        }
    }
    end();
}
END_TEST

/* Of a file on a medium that can't be written to, a hard link can't be made; and whoever has none
 * of its inode changed can't be told from one who was not there. */
START_TEST(nothing_of_the_snapshot_is_touched)
{
    struct stat before[64], after;
    const struct keyed_handle *h;
    struct err err = {0};
    char dir[FS_PATH_MAX];

    make_checkpoint(1);
    h = &checkpoint.handles[0];
    ck_assert_uint_lt(h->file_count, 64);
    for (size_t i = 0; i < h->file_count; i++)
        if (h->files[i].scope != FILE_INLINE)
            ck_assert_int_eq(stat(h->files[i].resolved_path, &before[i]), 0);
    ck_assert_ok(path_join(dir, sizeof dir, job.target.dir, "shared", &err));
    ck_assert_int_eq(chmod(dir, 0555), 0);
    open_reader();
    check_scan(0, (struct key_group_range){0, 127}, (struct bytes){0});
    state_reader_close(reader);
    reader = NULL;
    ck_assert_int_eq(chmod(dir, 0755), 0);
    for (size_t i = 0; i < h->file_count; i++) {
        if (h->files[i].scope == FILE_INLINE)
            continue;
        ck_assert_int_eq(stat(h->files[i].resolved_path, &after), 0);
        ck_assert_int_eq(after.st_nlink, before[i].st_nlink);
        ck_assert_int_eq(after.st_ctim.tv_sec, before[i].st_ctim.tv_sec);
        ck_assert_int_eq(after.st_ctim.tv_nsec, before[i].st_ctim.tv_nsec);
    }
    ck_assert(!fs_exists(fs_posix(), tmpdir_at(&job.tmp, "look")));
    end();
}
END_TEST

/* The largest file of the checkpoint that is not inline, with one byte flipped in its middle. */
static const struct state_file *damage(void)
{
    const struct keyed_handle *h = &checkpoint.handles[0];
    const struct state_file *f = NULL;
    FILE *out;
    int c;

    for (size_t i = 0; i < h->file_count; i++)
        if (h->files[i].scope != FILE_INLINE &&
            (f == NULL || h->files[i].size_bytes > f->size_bytes))
            f = &h->files[i];
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(chmod(f->resolved_path, 0644), 0);
    out = fopen(f->resolved_path, "r+");
    ck_assert_ptr_nonnull(out);
    fseek(out, (long)f->size_bytes / 3, SEEK_SET);
    c = fgetc(out);
    fseek(out, (long)f->size_bytes / 3, SEEK_SET);
    fputc(c ^ 4, out);
    fclose(out);
    return f;
}

/* C13. A scan gives nothing at all of a family with a damaged file; a get either what is right, or an
 * error that names the file behind the link. */
START_TEST(damage_is_an_error_that_names_the_file)
{
    const struct state_file *f;
    struct bytes key, value;
    struct err err = {0};
    size_t failed_scans = 0, failed_gets = 0;

    make_checkpoint(_i);
    f = damage();
    open_reader();
    for (uint32_t s = 0; s < KEYED_JOB_STATES; s++) {
        const struct model_state *m = &checkpoint.models[s];
        size_t index = index_of(keyed_job_descs[s].name);
        struct state_scan *scan;

        for (size_t i = 0; i < m->count; i += 11) {
            enum rc rc = state_reader_get(reader, index, m->entries[i].key, &value, &err);

            failed_gets += rc != RC_OK;
            if (rc == RC_OK)
                ck_assert_bytes_eq(value, m->entries[i].value);
            else
                ck_assert_rc_msg(rc, RC_CORRUPT, path_base(f->resolved_path));
        }
        if (state_scan_open(reader, index, (struct key_group_range){0, 127}, (struct bytes){0}, &scan,
                            &err) == RC_OK) {
            ck_assert_ok(state_scan_next(scan, &key, &value, &err));
            state_scan_close(scan);
        } else {
            failed_scans++;
            ck_assert_rc_msg(err.rc, RC_CORRUPT, path_base(f->resolved_path));
        }
    }
    ck_assert_uint_gt(failed_gets, 0);
    ck_assert_uint_eq(failed_scans, _i == 0 ? KEYED_JOB_STATES : 1);
    end();
}
END_TEST

START_TEST(a_missing_file_is_an_error_at_once)
{
    const struct state_file *f;
    struct err err = {0};

    make_checkpoint(_i);
    f = damage();
    ck_assert_int_eq(remove(f->resolved_path), 0);
    ck_assert_rc_msg(state_reader_open(fs_posix(), &checkpoint.handles[0],
                                       tmpdir_at(&job.tmp, "look"), &reader, &err),
                     RC_NOT_FOUND, path_base(f->resolved_path));
    end();
}
END_TEST

TEST_MAIN("state_reader",
          tcase_add_loop_test(tc, scans_give_every_entry_in_order_of_its_key, 0, 2);
          tcase_add_loop_test(tc, a_scan_by_prefix_gives_the_entries_of_one_map, 0, 2);
          tcase_add_loop_test(tc, a_get_finds_what_is_there_and_nothing_else, 0, 2);
          tcase_add_loop_test(tc, sizes_are_exact_or_say_that_they_are_not, 0, 2);
          tcase_add_test(tc, nothing_of_the_snapshot_is_touched);
          tcase_add_loop_test(tc, damage_is_an_error_that_names_the_file, 0, 2);
          tcase_add_loop_test(tc, a_missing_file_is_an_error_at_once, 0, 2);)
