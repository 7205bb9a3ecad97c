/* links: backend, rocksdb */
/* What prop_backends_agree does not see: sharing between checkpoints, damage, the epoch rule,
 * failures. rocks.c is included, not linked: the engine itself never deletes a range, so its cover
 * has no call for it. */
#include "backend/rocks.c"

#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/model_state.h"
#include "tests/lib/snapshot_writer.h"
#include "tests/lib/tmpdir.h"

static const struct state_desc acc = {
    "accState", STATE_VALUE, "ROW<`k` BIGINT>", "VOID", "", "ROW<`n` BIGINT>", 16, 0, "", 0};

static struct tmpdir tmp;
static struct dir_target target;
static struct arena *arena;
static enum restore_verify verify; /* of backends that are opened; auto */

static void setup(void)
{
    tmpdir_make(&tmp);
    dir_target_init(&target, fs_posix(), tmp.path);
    target.inline_max = 100;
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
    dir_target_release(&target);
    tmpdir_remove(&tmp);
}

static const atomic_bool *stop; /* of the next opened backend */

static enum rc try_open(struct key_group_range range, const struct keyed_handle *h, size_t count,
                        uint64_t memory_bytes, struct keyed_backend **out, struct err *err)
{
    static int opened;
    struct keyed_backend_config config = {.env = dir_target_env(),
                                          .kind = BACKEND_ROCKSDB,
                                          .range = range,
                                          .key_group_count = 128,
                                          .local_dir =
                                              arena_printf(arena, "%s/db-%d", tmp.path, opened++),
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "GroupAggregate[k] (1/1)",
                                          .memory_bytes = memory_bytes,
                                          .max_open_files = -1,
                                          .restore = h,
                                          .restore_count = count,
                                          .restore_operator = "GroupAggregate[k]",
                                          .verify = verify,
                                          .stop = stop};

    return keyed_backend_open(&config, out, err);
}

static struct keyed_backend *open_backend(const struct keyed_handle *h, uint64_t memory_bytes,
                                          struct keyed_state **s)
{
    struct keyed_backend *b;
    struct err err = {0};

    ck_assert_ok(
        try_open((struct key_group_range){0, 127}, h, h == NULL ? 0 : 1, memory_bytes, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, s, &err));
    return b;
}

/* Adds `add` to the counters of keys from..to. */
static void count_up(struct keyed_state *s, uint32_t from, uint32_t to, uint64_t add)
{
    struct key_builder keys;
    void *rows[2000];
    uint8_t fresh[2000];
    struct err err = {0};

    key_builder_init(&keys, 128, KEY_NS_VOID);
    while (from < to) {
        struct key_batch batch;

        key_builder_clear(&keys);
        for (; from < to && keys.count < 2000; from++) {
            uint8_t row[16] = {0};

            put_le64(row + 8, from);
            if (key_builder_add(&keys, from % 128, bytes_of(row, 16), 0, (struct bytes){0}, &err) !=
                RC_OK)
                ck_abort_msg("%s", err.msg);
        }
        batch = key_builder_batch(&keys);
        ck_assert_ok(keyed_upsert(s, &batch, rows, fresh, &err));
        for (uint32_t i = 0; i < batch.count; i++)
            put_le64(rows[i], get_le64(rows[i]) + add);
    }
    key_builder_release(&keys);
}

/* Entries, and the sum of their counters. */
static uint32_t sum_up(struct keyed_state *s, uint64_t *sum)
{
    struct keyed_cursor *c;
    struct bytes keys[500], values[500];
    uint32_t got, n = 0;
    struct err err = {0};

    *sum = 0;
    ck_assert_ok(keyed_scan_open(s, (struct bytes){0}, &c, &err));
    do {
        if (keyed_scan_next(c, 500, keys, values, &got, &err) != RC_OK)
            ck_abort_msg("%s", err.msg);
        for (uint32_t i = 0; i < got; i++)
            *sum += get_le64(values[i].data);
        n += got;
    } while (got > 0);
    keyed_scan_close(c);
    return n;
}

static void snapshot(struct keyed_backend *b, uint64_t id, struct keyed_handle *h)
{
    struct keyed_snapshot *s;
    struct err err = {0};

    ck_assert_ok(keyed_snapshot_begin(b, id, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, h, &err));
    keyed_snapshot_free(s);
    keyed_notify_complete(b, id);
    dir_target_resolve(&target, arena, h);
}

static size_t ssts(const struct keyed_handle *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->file_count; i++)
        n += h->files[i].scope == FILE_SHARED;
    return n;
}

static size_t new_ssts(const struct keyed_handle *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->file_count; i++)
        n += h->files[i].scope == FILE_SHARED && h->files[i].newly_written;
    return n;
}

/* The point of incremental checkpoints: what the last one had is named again, not written again;
 * also across a restore. */
START_TEST(later_checkpoints_share_files_also_after_a_restore)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 64 << 20, &s);
    struct keyed_handle h[3];
    struct keyed_stats stats;
    uint64_t sum;

    count_up(s, 0, 100000, 1); /* more than 64k dirty rows: a run */
    snapshot(b, 1, &h[0]);
    ck_assert_uint_eq(ssts(&h[0]), 1);
    ck_assert_uint_eq(new_ssts(&h[0]), 1);
    count_up(s, 0, 100, 1);
    snapshot(b, 2, &h[1]);
    ck_assert_uint_eq(ssts(&h[1]), 2);
    ck_assert_uint_eq(new_ssts(&h[1]), 1);
    snapshot(b, 3, &h[2]); /* nothing changed */
    ck_assert_uint_eq(ssts(&h[2]), 2);
    ck_assert_uint_eq(new_ssts(&h[2]), 0);
    keyed_stats(b, &stats);
    ck_assert_uint_eq(stats.db_sst_files, 2);
    ck_assert_uint_eq(stats.flushes, 2);
    ck_assert_uint_eq(stats.misses, 100000);
    keyed_backend_close(b);
    b = open_backend(&h[1], 64 << 20, &s);
    ck_assert_uint_eq(sum_up(s, &sum), 100000);
    ck_assert_uint_eq(sum, 100100);
    count_up(s, 500, 600, 7);
    snapshot(b, 4, &h[2]);
    ck_assert_uint_eq(ssts(&h[2]), 3);
    ck_assert_uint_eq(new_ssts(&h[2]), 1);
    ck_assert_uint_eq(sum_up(s, &sum), 100000);
    ck_assert_uint_eq(sum, 100800);
    keyed_backend_close(b);
}
END_TEST

static enum rc no_entry(void *ctx, const char *name, struct err *err)
{
    (void)ctx;
    if (strncmp(name, "db-", 3) == 0)
        return err_set(err, RC_STATE, "%s is left", name);
    return RC_OK;
}

START_TEST(no_local_file_is_left_behind)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 1 << 20, &s);
    struct keyed_handle h;
    struct err err = {0};

    count_up(s, 0, 1000, 1);
    snapshot(b, 1, &h);
    for (size_t i = 0; i < h.file_count; i++)
        ck_assert_int_ne(strncmp(h.files[i].local_name, "OPTIONS", 7), 0);
    keyed_backend_close(b);
    ck_assert_ok(fs_list(fs_posix(), tmp.path, no_entry, NULL, &err));
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

static struct state_file *file_named(struct keyed_handle *h, const char *start)
{
    for (size_t i = 0; i < h->file_count; i++) {
        if (strncmp(h->files[i].local_name, start, strlen(start)) == 0)
            return &h->files[i];
    }
    ck_abort_msg("no %s", start);
    return NULL;
}

static void sample(struct keyed_handle *h)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 1 << 20, &s);

    for (uint32_t i = 0; i < 3; i++) {
        count_up(s, i * 300, i * 300 + 600, 1);
        snapshot(b, i + 1, h);
    }
    keyed_backend_close(b);
}

static const char *const victims[] = {"0", "MANIFEST-", "CURRENT"};

/* C13: a file that is not what the checkpoint named is never opened. */
START_TEST(damaged_missing_and_cut_files_are_refused_by_name)
{
    struct keyed_handle h;
    struct keyed_backend *b;
    struct state_file *f;
    struct bytes good;
    struct err err = {0};

    target.inline_max = 0;
    sample(&h);
    f = file_named(&h, victims[_i]);
    good = tmpdir_read(&tmp, f->path);
    for (size_t at = 0; at < good.len; at += 1 + good.len / 10) {
        uint8_t *copy = arena_copy(arena, good.data, good.len);

        copy[at] ^= 0x10;
        tmpdir_write(&tmp, f->path, copy, good.len);
        ck_assert_rc_msg(try_open(h.range, &h, 1, 1 << 20, &b, &err), RC_CORRUPT, f->path);
        tmpdir_write(&tmp, f->path, good.data, at);
        ck_assert_rc_msg(try_open(h.range, &h, 1, 1 << 20, &b, &err), RC_CORRUPT, f->path);
        /* the same on the way of several handles, and into a hashmap */
        ck_assert_rc_msg(try_open((struct key_group_range){0, 50}, &h, 1, 1 << 20, &b, &err),
                         RC_CORRUPT, "restore GroupAggregate[k]");
    }
    ck_assert_ok(fs_unlink(fs_posix(), f->resolved_path, &err));
    ck_assert_rc_msg(try_open(h.range, &h, 1, 1 << 20, &b, &err), RC_NOT_FOUND, f->path);
    tmpdir_write(&tmp, f->path, good.data, good.len);
    ck_assert_ok(try_open(h.range, &h, 1, 1 << 20, &b, &err));
    keyed_backend_close(b);
    ck_assert_ok(fs_list(fs_posix(), tmp.path, no_entry, NULL, &err));
}
END_TEST

/* C13, deferred: what comes by a link is proven while the job runs. It may begin, but never reads
 * more than single rows, ends no checkpoint, and fails with the file's name. */
START_TEST(file_that_is_proven_in_the_background_fails_the_job_by_name)
{
    struct keyed_handle h, ignored;
    struct keyed_backend *b;
    struct keyed_state *s;
    struct keyed_cursor *c;
    struct keyed_snapshot *snap;
    struct state_file *f;
    struct bytes good;
    uint8_t *copy;
    uint32_t published;
    int opened = 0;
    enum rc rc;
    struct err err = {0};

    sample(&h);
    published = target.shared_new;
    f = file_named(&h, "0");
    good = tmpdir_read(&tmp, f->path);
    copy = arena_copy(arena, good.data, good.len);
    verify = RESTORE_VERIFY_BACKGROUND;
    for (size_t at = 0; at < good.len; at += 1 + good.len / 20) {
        copy[at] ^= 0x10;
        tmpdir_write(&tmp, f->path, copy, good.len);
        copy[at] ^= 0x10;
        if (try_open((struct key_group_range){0, 127}, &h, 1, 1 << 20, &b, &err) != RC_OK) {
            ck_assert_int_eq(err.rc, RC_CORRUPT); /* RocksDB saw it, in an index or a footer */
            ck_assert_msg(strstr(err.msg, f->path) != NULL, "%s", err.msg);
            err_clear(&err);
            continue;
        }
        opened++;
        rc = keyed_state_open(b, &acc, &s, &err);
        if (rc == RC_OK && _i == 0)
            rc = keyed_scan_open(s, (struct bytes){0}, &c, &err);
        if (rc == RC_OK && _i == 1 && (rc = keyed_snapshot_begin(b, 9, &snap, &err)) == RC_OK) {
            rc = keyed_snapshot_write(snap, &target.base, arena, &ignored, &err);
            keyed_snapshot_free(snap);
        }
        ck_assert_msg(rc == RC_CORRUPT && strstr(err.msg, f->path) != NULL, "%s", err.msg);
        err_clear(&err);
        ck_assert_rc_msg(keyed_snapshot_begin(b, 10, &snap, &err), RC_CORRUPT, "restored files: ");
        keyed_backend_close(b);
    }
    ck_assert_int_ge(opened, 5);
    ck_assert_uint_eq(target.shared_new, published);
    tmpdir_write(&tmp, f->path, good.data, good.len);
    b = open_backend(&h, 1 << 20, &s);
    snapshot(b, 11, &ignored);
    keyed_backend_close(b);
}
END_TEST

/* What costs nothing is never put off. */
START_TEST(sizes_and_small_files_are_looked_at_before_the_job_begins)
{
    struct keyed_handle h;
    struct keyed_backend *b;
    struct state_file *f;
    struct bytes good;
    uint8_t *copy;
    struct err err = {0};

    verify = RESTORE_VERIFY_BACKGROUND;
    target.inline_max = 0;
    sample(&h);
    f = file_named(&h, victims[_i]);
    good = tmpdir_read(&tmp, f->path);
    tmpdir_write(&tmp, f->path, good.data, good.len - 1);
    ck_assert_rc_msg(try_open(h.range, &h, 1, 1 << 20, &b, &err), RC_CORRUPT, f->path);
    copy = arena_copy(arena, good.data, good.len);
    copy[good.len / 2] ^= 1;
    tmpdir_write(&tmp, f->path, copy, good.len);
    if (_i > 0)
        ck_assert_rc_msg(try_open(h.range, &h, 1, 1 << 20, &b, &err), RC_CORRUPT, f->path);
    else /* this one is cut, so read from end to end */
        ck_assert_rc_msg(try_open((struct key_group_range){0, 50}, &h, 1, 1 << 20, &b, &err),
                         RC_CORRUPT, f->path);
}
END_TEST

/* RocksDB opens a MANIFEST that was cut at a record as an older state, without a word. With a
 * digest that was made to fit, only the comparison of the live files sees it. */
START_TEST(manifest_that_ends_early_is_found_by_the_live_files)
{
    struct keyed_handle h;
    struct keyed_backend *b;
    struct state_file *f;
    struct bytes good;
    int caught = 0;
    struct err err = {0};

    target.inline_max = 0;
    sample(&h);
    f = file_named(&h, "MANIFEST-");
    good = tmpdir_read(&tmp, f->path);
    for (size_t len = good.len; len + 260 > good.len; len -= 5) {
        tmpdir_write(&tmp, f->path, good.data, len);
        f->size_bytes = len;
        f->digest = digest_of(bytes_of(good.data, len));
        if (try_open(h.range, &h, 1, 1 << 20, &b, &err) == RC_OK) {
            struct keyed_state *s;
            uint64_t sum;

            ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
            ck_assert_uint_eq(sum_up(s, &sum), 1200);
            ck_assert_uint_eq(sum, 1800);
            keyed_backend_close(b); /* what was cut did not matter */
        } else {
            caught += strstr(err.msg, "MANIFEST ends early") != NULL;
            err_clear(&err);
        }
    }
    ck_assert_int_ge(caught, 1);
}
END_TEST

START_TEST(names_that_lead_elsewhere_are_refused)
{
    static const char *const names[] = {"../x.sst", "", ".hidden", "a/b", "/etc/passwd"};
    struct keyed_handle h;
    struct keyed_backend *b;
    struct err err = {0};

    sample(&h);
    file_named(&h, "0")->local_name = names[_i];
    ck_assert_rc(try_open(h.range, &h, 1, 1 << 20, &b, &err), RC_CORRUPT);
}
END_TEST

/* A database that knows more or less than its handle says. */
START_TEST(handle_and_database_must_agree)
{
    struct keyed_handle h;
    struct keyed_backend *b;
    struct state_desc other = acc;
    struct keyed_state *s;
    struct keyed_cursor *c;
    struct bytes key, value;
    uint32_t got;
    struct err err = {0};
    enum rc rc;

    sample(&h);
    other.name = "another";
    h.states = &other;
    ck_assert_rc_msg(try_open(h.range, &h, 1, 1 << 20, &b, &err), RC_CORRUPT, "state accState");
    h.states = arena_copy(arena, &acc, sizeof acc);
    h.states[0].fixed_value_bytes = 24; /* the rows have 16: found when one is read */
    ck_assert_ok(
        try_open((struct key_group_range){0, _i == 0 ? 99 : 127}, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, h.states, &s, &err));
    rc = keyed_scan_open(s, (struct bytes){0}, &c, &err); /* the warm-up may have been there first */
    if (rc == RC_OK) {
        rc = keyed_scan_next(c, 1, &key, &value, &got, &err);
        keyed_scan_close(c);
    }
    ck_assert_rc_msg(rc, RC_CORRUPT, "is no value of 24, plain or packed");
    keyed_backend_close(b);
}
END_TEST

/* After a scale-out the reference's databases hold entries of other subtasks until a compaction:
 * never visible (C10). */
START_TEST(entries_outside_the_handles_range_are_never_visible)
{
    struct keyed_handle h;
    struct keyed_backend *b;
    struct keyed_state *s;
    uint64_t sum;
    struct err err = {0};

    sample(&h);
    h.range.last = 63;
    ck_assert_ok(
        try_open((struct key_group_range){0, _i == 0 ? 63 : 127}, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_uint_eq(sum_up(s, &sum), 1200 / 128 * 64 + 48);
    keyed_backend_close(b);
}
END_TEST

static enum rc describe_file(void *ctx, const char *name, struct err *err)
{
    struct keyed_handle *h = ctx;
    struct state_file *f = &h->files[h->file_count];
    struct bytes content;

    (void)err;
    if (strncmp(name, "OPTIONS-", 8) == 0)
        return RC_OK;
    *f = (struct state_file){.local_name = arena_strdup(arena, name),
                             .scope = FILE_SHARED,
                             .path = arena_printf(arena, "changed/%s", name)};
    content = tmpdir_read(&tmp, f->path);
    f->size_bytes = content.len;
    f->digest = digest_of(content);
    h->file_count++;
    return RC_OK;
}

/* A database of copies of the handle's files. */
static struct rocks_db *open_copy(const struct keyed_handle *h)
{
    struct rocks_config config = {.dir = tmpdir_at(&tmp, "copy"),
                                  .block_cache_bytes = 1 << 20,
                                  .write_buffer_bytes = 1 << 20,
                                  .max_open_files = -1};
    struct rocks_db *db;
    struct err err = {0};

    ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    for (size_t i = 0; i < h->file_count; i++)
        ck_assert_ok(fs_copy(fs_posix(), h->files[i].resolved_path,
                             arena_printf(arena, "%s/%s", config.dir, h->files[i].local_name),
                             &err));
    ck_assert_ok(rocks_open(&config, &db, &err));
    return db;
}

/* The handle becomes the copy, as it has been changed. */
static void take_copy(struct rocks_db *db, struct keyed_handle *h)
{
    struct err err = {0};

    ck_assert_ok(rocks_checkpoint(db, tmpdir_at(&tmp, "changed"), &err));
    rocks_close(db);
    h->files = ARENA_ARRAY(arena, 20, struct state_file);
    h->file_count = 0;
    ck_assert_ok(fs_list(fs_posix(), tmpdir_at(&tmp, "changed"), describe_file, h, &err));
    dir_target_resolve(&target, arena, h);
}

/* The handle's state after the reference's way of a rescale: keys from `first` to `end` are hidden
 * by a range deletion. */
static void delete_range(struct keyed_handle *h, const char *first, const char *end)
{
    rocksdb_writeoptions_t *o = rocksdb_writeoptions_create();
    struct rocks_db *db = open_copy(h);
    char *error = NULL;

    rocksdb_writeoptions_disable_WAL(o, 1);
    rocksdb_delete_range_cf(db->db, o, rocks_cf_at(db, 0)->handle, first, 1, end, 1, &error);
    ck_assert_ptr_null(error);
    rocksdb_writeoptions_destroy(o);
    take_copy(db, h);
}

/* Every other value as versions that did not pack wrote it. */
static void make_plain(struct keyed_handle *h)
{
    struct rocks_db *db = open_copy(h);
    struct rocks_cf *cf = rocks_cf_at(db, 0);
    struct rocks_batch *batch = rocks_batch_new(db);
    struct rocks_iter *it;
    struct bytes key, value;
    struct err err = {0};
    uint32_t n = 0;
    enum rc rc;

    rocks_cf_set_shape(cf, value_shape_of_desc(&acc));
    it = rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    while (rocks_iter_next(it, &key, &value, &rc, &err)) {
        ck_assert_uint_eq(value.len, 16);
        if (n++ % 2 == 0)
            rocks_batch_put(batch, cf, key, value);
    }
    ck_assert_int_eq(rc, RC_OK);
    rocks_iter_free(it);
    ck_assert_ok(rocks_batch_write(batch, &err));
    rocks_batch_free(batch);
    take_copy(db, h);
}

/* Opened as it is, cut for another range, and written on. */
START_TEST(plain_values_of_an_older_version_are_read_beside_packed_ones)
{
    struct key_group_range range = {0, _i == 0 ? 127 : 63};
    uint32_t keys = _i == 0 ? 1200 : 1200 / 128 * 64 + 48;
    struct keyed_handle h;
    struct keyed_backend *b;
    struct keyed_state *s;
    uint64_t sum, before;
    struct err err = {0};

    target.inline_max = 0;
    sample(&h);
    ck_assert_ok(try_open(range, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_uint_eq(sum_up(s, &before), keys);
    keyed_backend_close(b);
    make_plain(&h);
    ck_assert_ok(try_open(range, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_uint_eq(sum_up(s, &sum), keys);
    ck_assert_uint_eq(sum, before);
    count_up(s, 0, 40, 1);
    snapshot(b, 7, &h);
    keyed_backend_close(b);
    ck_assert_ok(try_open(range, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_uint_eq(sum_up(s, &sum), keys);
    ck_assert_uint_eq(sum, before + 40);
    keyed_backend_close(b);
}
END_TEST

/* The reference hides rows of other ranges that way. A file whose range deletion reaches across the
 * new border is not cut: the handle is copied. */
START_TEST(range_deletions_of_a_restored_database_hide_what_they_hid)
{
    static const struct {
        char first, end;
    } cases[] = {{0, 32}, {100, 120}, {32, 96}, {10, 20}};
    struct keyed_handle h;
    struct keyed_backend *b;
    struct keyed_state *s;
    uint64_t sum;
    uint32_t visible = 0;
    struct err err = {0};

    for (int group = 0; group < 64; group++) {
        if (group < cases[_i].first || group >= cases[_i].end)
            visible += group < 1200 % 128 ? 10 : 9;
    }
    target.inline_max = 0;
    sample(&h); /* 1200 keys */
    delete_range(&h, &cases[_i].first, &cases[_i].end);
    verify = RESTORE_VERIFY_BACKGROUND;
    ck_assert_ok(try_open((struct key_group_range){0, 63}, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_uint_eq(sum_up(s, &sum), visible);
    snapshot(b, 9, &h);
    keyed_backend_close(b);
    ck_assert_ok(try_open((struct key_group_range){0, 63}, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_uint_eq(sum_up(s, &sum), visible);
    keyed_backend_close(b);
}
END_TEST

/* ---- failures and the epoch rule ------------------------------------------------------------- */

START_TEST(failed_publishing_leaves_everything_for_the_next_checkpoint)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 1 << 20, &s);
    struct keyed_snapshot *snap;
    struct keyed_handle h;
    uint64_t sum;
    struct err err = {0};

    for (int at = 0; at < 6; at++) {
        count_up(s, 0, 2000, 1);
        ck_assert_ok(keyed_snapshot_begin(b, (uint64_t)at, &snap, &err));
        count_up(s, 1000, 3000, 1);
        target.fail_after = at % 3;
        ck_assert_rc(keyed_snapshot_write(snap, &target.base, arena, &h, &err), RC_IO);
        keyed_snapshot_free(snap);
        keyed_notify_aborted(b, (uint64_t)at);
    }
    target.fail_after = -1;
    ck_assert_ok(keyed_snapshot_begin(b, 90, &snap, &err));
    keyed_snapshot_free(snap); /* given up before it was written */
    target.cancel = true;
    ck_assert_ok(keyed_snapshot_begin(b, 91, &snap, &err));
    ck_assert_rc(keyed_snapshot_write(snap, &target.base, arena, &h, &err), RC_CANCELLED);
    keyed_snapshot_free(snap);
    target.cancel = false;
    snapshot(b, 99, &h);
    keyed_backend_close(b);
    b = open_backend(&h, 1 << 20, &s);
    ck_assert_uint_eq(sum_up(s, &sum), 3000);
    ck_assert_uint_eq(sum, 6 * 4000);
    keyed_backend_close(b);
}
END_TEST

/* Rows of the next epoch, evicted while the closed one is being written, must not get into its
 * image. The state is many times the cache, so that evictions are due all the time. */
START_TEST(evictions_never_enter_the_image_of_a_closed_epoch)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 1 << 20, &s);
    struct keyed_handle h[4];
    uint64_t sums[4], total = 0, sum;
    struct keyed_stats stats;
    struct err err = {0};

    for (uint32_t i = 0; i < 4; i++) {
        struct snapshot_writer w;

        count_up(s, 0, 12000, 1);
        total += 12000;
        sums[i] = total;
        ck_assert_ok(keyed_snapshot_begin(b, i + 1, &w.snapshot, &err));
        snapshot_writer_start(&w, &target);
        count_up(s, 0, 12000, 1);
        total += 12000;
        snapshot_writer_join(&w, arena, &h[i]);
        keyed_snapshot_free(w.snapshot);
    }
    keyed_stats(b, &stats);
    ck_assert_uint_gt(stats.evictions, 20000);
    ck_assert_uint_eq(sum_up(s, &sum), 12000);
    ck_assert_uint_eq(sum, total);
    keyed_backend_close(b);
    for (uint32_t i = 0; i < 4; i++) {
        b = open_backend(&h[i], 1 << 20, &s);
        ck_assert_uint_eq(sum_up(s, &sum), 12000);
        ck_assert_uint_eq(sum, sums[i]);
        keyed_backend_close(b);
    }
}
END_TEST

static _Atomic int asked; /* the writer came to its first file */

static bool note_asking(struct snapshot_target *t)
{
    (void)t;
    asked = 1;
    return false;
}

/* Closing waits for the writer; a task that fails need not order its clean-up. */
START_TEST(closing_with_an_open_snapshot_waits_and_frees_it)
{
    struct keyed_state *s;
    struct keyed_backend *b;
    struct keyed_handle h;
    struct snapshot_target_ops ops = *target.base.ops;
    struct err err = {0};

    ops.cancelled = note_asking;
    target.base.ops = &ops;
    for (int round = 0; round < 10; round++) {
        struct snapshot_writer w;
        uint64_t sum;

        b = open_backend(NULL, 1 << 20, &s);
        count_up(s, 0, 2000, 1);
        ck_assert_ok(keyed_snapshot_begin(b, 1, &w.snapshot, &err));
        asked = 0;
        snapshot_writer_start(&w, &target);
        while (!asked)
            clock_sleep_ns(clock_posix(), NS_PER_MS / 10);
        keyed_backend_close(b); /* while it writes, or after */
        snapshot_writer_join(&w, arena, &h);
        b = open_backend(&h, 1 << 20, &s);
        ck_assert_uint_eq(sum_up(s, &sum), 2000);
        keyed_backend_close(b);
    }
    b = open_backend(NULL, 1 << 20, &s);
    ck_assert_ok(keyed_snapshot_begin(b, 1, &(struct keyed_snapshot *){NULL}, &err));
    keyed_backend_close(b);
}
END_TEST

/* A flush that fails half-way leaves a part of an epoch in the database: nothing may be read from
 * it any more. */
START_TEST(failed_flush_breaks_the_backend_for_good)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 256 << 20, &s);
    struct keyed_snapshot *snap;
    struct keyed_handle h;
    char runs[FS_PATH_MAX];
    struct err err = {0};
    struct key_builder keys;
    struct key_batch batch;

    key_builder_init(&keys, 128, KEY_NS_VOID);
    batch = key_builder_batch(&keys);
    count_up(s, 0, 70000, 1);
    for (int i = 0; i < 1000; i++) { /* its local directory is the newest */
        snprintf(runs, sizeof runs, "%s/db-%d/runs", tmp.path, i);
        if (fs_exists(fs_posix(), runs))
            ck_assert_ok(fs_rmdir(fs_posix(), runs, &err));
    }
    ck_assert_ok(keyed_snapshot_begin(b, 1, &snap, &err));
    ck_assert_rc_msg(keyed_snapshot_write(snap, &target.base, arena, &h, &err), RC_IO,
                     "flush of accState");
    keyed_snapshot_free(snap);
    ck_assert_rc_msg(keyed_del(s, &batch, &err), RC_IO, "an earlier flush failed");
    ck_assert_rc_msg(keyed_snapshot_begin(b, 2, &snap, &err), RC_IO, "an earlier flush failed");
    keyed_backend_close(b);
    key_builder_release(&keys);
}
END_TEST

/* ---- a state that is written whole ------------------------------------------------------------ */

static void remove_keys(struct keyed_state *s, uint32_t from, uint32_t to)
{
    struct key_builder keys;
    struct key_batch batch;
    struct err err = {0};

    key_builder_init(&keys, 128, KEY_NS_VOID);
    for (; from < to; from++) {
        uint8_t row[16] = {0};

        put_le64(row + 8, from);
        if (key_builder_add(&keys, from % 128, bytes_of(row, 16), 0, (struct bytes){0}, &err) !=
            RC_OK)
            ck_abort_msg("%s", err.msg);
    }
    batch = key_builder_batch(&keys);
    ck_assert_ok(keyed_del(s, &batch, &err));
    key_builder_release(&keys);
}

static uint64_t sst_bytes(const struct keyed_handle *h)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < h->file_count; i++)
        sum += h->files[i].scope == FILE_SHARED ? h->files[i].size_bytes : 0;
    return sum;
}

static void check_restored(const struct keyed_handle *h, uint32_t rows, uint64_t want)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(h, 64u << 20, &s);
    uint64_t sum;

    ck_assert_uint_eq(sum_up(s, &sum), rows);
    ck_assert_uint_eq(sum, want);
    keyed_backend_close(b);
}

/* More than half has changed: one run of all rows takes the place of the files, and holds what the
 * closed epoch held (C11), clean rows that change meanwhile included. */
START_TEST(mostly_changed_state_takes_its_files_place)
{
    const uint32_t n = 200000;
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 256u << 20, &s);
    struct keyed_handle first, second, third, fourth;
    struct keyed_snapshot *snap;
    uint64_t sum;
    struct err err = {0};

    count_up(s, 0, n, 1);
    snapshot(b, 1, &first);
    count_up(s, 0, 120000, 1);
    remove_keys(s, 0, 5000);
    ck_assert_ok(keyed_snapshot_begin(b, 2, &snap, &err));
    count_up(s, 100000, 140000, 7); /* dirty and clean ones of the closed epoch */
    remove_keys(s, 5000, 9000);
    remove_keys(s, n - 3000, n);
    count_up(s, 0, 1000, 9); /* again */
    count_up(s, n, n + 500, 1);
    ck_assert_ok(keyed_snapshot_write(snap, &target.base, arena, &second, &err));
    count_up(s, 20000, 21000, 3);
    keyed_snapshot_free(snap);
    dir_target_resolve(&target, arena, &second);
    ck_assert_uint_eq(new_ssts(&second), ssts(&second));
    ck_assert_uint_lt(sst_bytes(&second), sst_bytes(&first) * 5 / 4);
    check_restored(&second, n - 5000, 115000ull * 2 + 80000);

    ck_assert_uint_eq(sum_up(s, &sum), n - 5000 - 4000 - 3000 + 1000 + 500);
    snapshot(b, 3, &third); /* of 40000 and a few: not the half */
    ck_assert_uint_lt(new_ssts(&third), ssts(&third));
    check_restored(&third, n - 5000 - 4000 - 3000 + 1000 + 500, sum);
    count_up(s, 50000, 50010, 1);
    snapshot(b, 4, &fourth);
    ck_assert_uint_lt(new_ssts(&fourth), ssts(&fourth));
    check_restored(&fourth, n - 5000 - 4000 - 3000 + 1000 + 500, sum + 10);
    check_restored(&first, n, n);
    keyed_backend_close(b);
}
END_TEST

/* Given up before it is written: the changes are there for the next one. */
/* C11: each gets what its own epoch held, whichever is handed over first. 2: the older one is given up
 * while the newer one's epoch is closed. */
START_TEST(a_snapshot_may_begin_once_the_image_of_another_is_taken)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 8 << 20, &s);
    struct keyed_snapshot *older, *newer;
    struct keyed_handle h1, h2, last;
    struct err err = {0};

    count_up(s, 0, 30000, 1);
    ck_assert_ok(keyed_snapshot_begin(b, 1, &older, &err));
    ck_assert(!keyed_may_snapshot(b));
    ck_assert_ok(keyed_snapshot_take(older, &err));
    ck_assert(keyed_may_snapshot(b));
    count_up(s, 20000, 40000, 10);
    ck_assert_ok(keyed_snapshot_begin(b, 2, &newer, &err));
    if (_i == 2)
        keyed_snapshot_free(older);
    ck_assert(!keyed_may_snapshot(b));
    count_up(s, 0, 50000, 100);
    if (_i == 0)
        ck_assert_ok(keyed_snapshot_write(older, &target.base, arena, &h1, &err));
    if (_i == 1)
        ck_assert_ok(keyed_snapshot_take(newer, &err));
    count_up(s, 0, 50000, 100);
    ck_assert_ok(keyed_snapshot_write(newer, &target.base, arena, &h2, &err));
    if (_i == 1)
        ck_assert_ok(keyed_snapshot_write(older, &target.base, arena, &h1, &err));
    keyed_snapshot_free(newer);
    if (_i != 2)
        keyed_snapshot_free(older);
    count_up(s, 0, 50000, 100);
    snapshot(b, 3, &last);
    keyed_backend_close(b);
    dir_target_resolve(&target, arena, &h2);
    check_restored(&h2, 40000, 30000 + 200000);
    check_restored(&last, 50000, 230000 + 15000000);
    if (_i == 2)
        return;
    dir_target_resolve(&target, arena, &h1);
    check_restored(&h1, 30000, 30000);
}
END_TEST

START_TEST(whole_snapshot_that_is_given_up_loses_nothing)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 256u << 20, &s);
    struct keyed_snapshot *snap;
    struct keyed_handle h;
    struct err err = {0};

    count_up(s, 0, 100000, 1);
    snapshot(b, 1, &h);
    count_up(s, 0, 60000, 1);
    ck_assert_ok(keyed_snapshot_begin(b, 2, &snap, &err));
    count_up(s, 50000, 70000, 1);
    remove_keys(s, 0, 10);
    keyed_snapshot_free(snap);
    count_up(s, 99990, 100000, 1);
    snapshot(b, 3, &h);
    check_restored(&h, 99990, 100000 + 60000 + 20000 + 10 - 20);
    keyed_backend_close(b);
}
END_TEST

/* ---- windows --------------------------------------------------------------------------------- */

#define WINDOW_KEYS 3000u

static const struct state_desc totals = {
    "window-aggs", STATE_VALUE, "ROW<`k` BIGINT>", "BIGINT", "", "ROW<`n` BIGINT>", 16, 0, "", 0};

static struct keyed_backend *open_windows(enum backend_kind kind, uint64_t memory_bytes,
                                          struct keyed_state **s)
{
    struct keyed_backend_config config = {
        .env = dir_target_env(),
        .kind = kind,
        .range = {0, 127},
        .key_group_count = 128,
        .local_dir = arena_printf(arena, "%s/windows", tmp.path),
        .backend_id = "0123456789abcdef0123456789abcdef",
        .name = "WindowAggregate (1/1)",
        .memory_bytes = memory_bytes,
        .max_open_files = -1,
        .restore_operator = "WindowAggregate"};
    struct keyed_backend *b;
    struct err err = {0};

    ck_assert_ok(keyed_backend_open(&config, &b, &err));
    ck_assert_ok(keyed_state_open(b, &totals, s, &err));
    return b;
}

static void fill_window(struct keyed_state *s, int64_t window)
{
    struct key_builder keys;
    struct key_batch batch;
    void *rows[WINDOW_KEYS];
    uint8_t fresh[WINDOW_KEYS];
    struct err err = {0};

    key_builder_init(&keys, 128, KEY_NS_BIGINT);
    for (uint32_t k = 0; k < WINDOW_KEYS; k++) {
        uint8_t row[16] = {0};

        put_le64(row + 8, k);
        if (key_builder_add(&keys, k % 128, bytes_of(row, 16), window, (struct bytes){0}, &err) !=
            RC_OK)
            ck_abort_msg("%s", err.msg);
    }
    batch = key_builder_batch(&keys);
    ck_assert_ok(keyed_upsert(s, &batch, rows, fresh, &err));
    for (uint32_t k = 0; k < WINDOW_KEYS; k++)
        put_le64(rows[k], (uint64_t)window * 1000000 + k);
    key_builder_release(&keys);
}

/* Reads one window in pieces, deleting each while the cursor stands behind it. How many there were. */
static uint32_t empty_window(struct keyed_state *s, int64_t window)
{
    static uint8_t seen[WINDOW_KEYS];
    struct bytes keys[700], values[700];
    struct keyed_cursor *c;
    struct key_builder gone;
    uint32_t got, n = 0;
    struct err err = {0};

    memset(seen, 0, sizeof seen);
    key_builder_init(&gone, 128, KEY_NS_BIGINT);
    ck_assert_ok(keyed_scan_namespace(s, window, &c, &err));
    do {
        struct key_batch batch;

        ck_assert_ok(keyed_scan_next(c, 700, keys, values, &got, &err));
        key_builder_clear(&gone);
        for (uint32_t i = 0; i < got; i++) {
            uint64_t k = get_le64(keys[i].data + 1 + 4 + 8);

            if (get_be64(keys[i].data + keys[i].len - 8) != (uint64_t)window ||
                k >= WINDOW_KEYS || seen[k]++ != 0 ||
                get_le64(values[i].data) != (uint64_t)window * 1000000 + k)
                ck_abort_msg("window %lld gave key %llu", (long long)window, (unsigned long long)k);
            if (key_builder_add_raw(&gone, keys[i], &err) != RC_OK)
                ck_abort_msg("%s", err.msg);
        }
        batch = key_builder_batch(&gone);
        ck_assert_ok(keyed_del(s, &batch, &err));
        n += got;
    } while (got > 0);
    keyed_scan_close(c);
    key_builder_release(&gone);
    return n;
}

static const struct {
    enum backend_kind kind;
    uint64_t memory_bytes;
} stores[] = {{BACKEND_HASHMAP, 0}, {BACKEND_ROCKSDB, 64u << 20}, {BACKEND_ROCKSDB, 1u << 20}};

/* In memory, in memory and in the database, and mostly in the database alone. */
START_TEST(windows_are_read_and_deleted_one_by_one)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_windows(stores[_i].kind, stores[_i].memory_bytes, &s);
    struct keyed_handle h;
    uint64_t sum;

    for (int64_t w = 1; w <= 6; w++) {
        fill_window(s, w);
        if (w % 2 == 0)
            snapshot(b, (uint64_t)w, &h);
    }
    for (int64_t w = 1; w <= 6; w++) {
        ck_assert_uint_eq(empty_window(s, w), WINDOW_KEYS);
        ck_assert_uint_eq(empty_window(s, w), 0);
        if (w == 3)
            snapshot(b, 7, &h);
        ck_assert_uint_eq(sum_up(s, &sum), (uint32_t)(6 - w) * WINDOW_KEYS);
        if (w == 4)
            fill_window(s, 2); /* and again, over what has been deleted below */
        if (w == 4)
            ck_assert_uint_eq(empty_window(s, 2), WINDOW_KEYS);
    }
    keyed_backend_close(b);
}
END_TEST

/* What dies gives its memory back, whether it ever reached the database or not, long before the
 * budget is full. */
START_TEST(windows_that_are_over_take_no_memory)
{
    struct keyed_state *s;
    struct keyed_backend *b = open_windows(BACKEND_ROCKSDB, 512u << 20, &s);
    struct keyed_stats stats;
    struct keyed_handle h;

    for (int64_t w = 1; w <= 200; w++) {
        fill_window(s, w);
        if (w % 20 == 0)
            snapshot(b, (uint64_t)w, &h); /* leaves tombstones to come */
        ck_assert_uint_eq(empty_window(s, w), WINDOW_KEYS);
        keyed_stats(b, &stats);
        ck_assert_uint_lt(stats.cache_bytes, 30u << 20); /* of 77 MB in all */
    }
    snapshot(b, 201, &h);
    fill_window(s, 201);
    ck_assert_uint_eq(empty_window(s, 201), WINDOW_KEYS);
    fill_window(s, 202);
    keyed_stats(b, &stats);
    ck_assert_uint_le(stats.entries_cached, 2 * WINDOW_KEYS);
    ck_assert_uint_eq(stats.evictions, 0);
    keyed_backend_close(b);
}
END_TEST

static enum rc no_database(void *ctx, const char *name, struct err *err)
{
    (void)ctx;
    (void)err;
    ck_assert_msg(strncmp(name, "db-", 3) != 0, "%s is left", name);
    return RC_OK;
}

/* A job that is cancelled while one of its tasks restores need not wait for that; the same restore
 * is begun anew later. */
START_TEST(a_restore_that_is_given_up_ends_and_leaves_nothing)
{
    static const atomic_bool yes = true;
    struct key_group_range half = {0, 63};
    struct keyed_state *s;
    struct keyed_backend *b = open_backend(NULL, 1 << 20, &s);
    struct keyed_handle h;
    struct err err = {0};
    uint64_t sum;

    count_up(s, 0, 1280, 1);
    snapshot(b, 1, &h);
    keyed_backend_close(b);
    stop = &yes;
    ck_assert_int_eq(try_open(half, &h, 1, 1 << 20, &b, &err), RC_CANCELLED);
    ck_assert_ptr_null(b);
    ck_assert_ok(fs_list(fs_posix(), tmp.path, no_database, NULL, &err));
    stop = NULL;
    err_clear(&err);
    ck_assert_ok(try_open(half, &h, 1, 1 << 20, &b, &err));
    ck_assert_ok(keyed_state_open(b, &acc, &s, &err));
    ck_assert_uint_eq(sum_up(s, &sum), 640);
    ck_assert_uint_eq(sum, 640);
    keyed_backend_close(b);
}
END_TEST

TEST_MAIN("rocks_backend", tcase_set_timeout(tc, 300);
          tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, later_checkpoints_share_files_also_after_a_restore);
          tcase_add_test(tc, no_local_file_is_left_behind);
          tcase_add_loop_test(tc, damaged_missing_and_cut_files_are_refused_by_name, 0, 3);
          tcase_add_loop_test(tc, file_that_is_proven_in_the_background_fails_the_job_by_name, 0,
                              2);
          tcase_add_loop_test(tc, sizes_and_small_files_are_looked_at_before_the_job_begins, 0, 3);
          tcase_add_test(tc, manifest_that_ends_early_is_found_by_the_live_files);
          tcase_add_loop_test(tc, names_that_lead_elsewhere_are_refused, 0, 5);
          tcase_add_loop_test(tc, handle_and_database_must_agree, 0, 2);
          tcase_add_loop_test(tc, plain_values_of_an_older_version_are_read_beside_packed_ones, 0, 2);
          tcase_add_loop_test(tc, range_deletions_of_a_restored_database_hide_what_they_hid, 0, 4);
          tcase_add_loop_test(tc, entries_outside_the_handles_range_are_never_visible, 0, 2);
          tcase_add_test(tc, failed_publishing_leaves_everything_for_the_next_checkpoint);
          tcase_add_test(tc, evictions_never_enter_the_image_of_a_closed_epoch);
          tcase_add_test(tc, closing_with_an_open_snapshot_waits_and_frees_it);
          tcase_add_test(tc, failed_flush_breaks_the_backend_for_good);
          tcase_add_test(tc, mostly_changed_state_takes_its_files_place);
          tcase_add_loop_test(tc, a_snapshot_may_begin_once_the_image_of_another_is_taken, 0, 3);
          tcase_add_test(tc, whole_snapshot_that_is_given_up_loses_nothing);
          tcase_add_loop_test(tc, windows_are_read_and_deleted_one_by_one, 0, ARRAY_LEN(stores));
          tcase_add_test(tc, windows_that_are_over_take_no_memory);
          tcase_add_test(tc, a_restore_that_is_given_up_ends_and_leaves_nothing))
