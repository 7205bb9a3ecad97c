/* links: backend, rocksdb */
/* rocks.c is included, not linked: for its options. */
#include "backend/rocks.c"

#include "base/hash.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#include <signal.h>

static struct tmpdir tmp;

static void setup(void)
{
    tmpdir_make(&tmp);
}
static void teardown(void)
{
    tmpdir_remove(&tmp);
}

static struct rocks_db *open_db(const char *name, bool create, bool read_only)
{
    struct rocks_config config = {.dir = tmpdir_at(&tmp, name),
                                  .create = create,
                                  .read_only = read_only,
                                  .block_cache_bytes = 4 << 20,
                                  .write_buffer_bytes = 1 << 20,
                                  .max_open_files = -1};
    struct rocks_db *db;
    struct err err = {0};

    if (create)
        ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    ck_assert_ok(rocks_open(&config, &db, &err));
    return db;
}

static struct bytes key_of(uint32_t n, uint8_t out[5])
{
    out[0] = (uint8_t)(n / 1000);
    put_be32(out + 1, n);
    return bytes_of(out, 5);
}

static void put_some(struct rocks_db *db, struct rocks_cf *cf, uint32_t from, uint32_t to)
{
    struct rocks_batch *b = rocks_batch_new(db);
    struct err err = {0};
    uint8_t key[5];

    for (uint32_t i = from; i < to; i++)
        rocks_batch_put(b, cf, key_of(i, key), bytes_of(&i, 4));
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_batch_free(b);
}

static enum rc count_entries(struct rocks_cf *cf, uint32_t *count, struct err *err)
{
    struct rocks_iter *it = rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    struct bytes key, value;
    enum rc rc;

    *count = 0;
    while (rocks_iter_next(it, &key, &value, &rc, err))
        (*count)++;
    rocks_iter_free(it);
    return rc;
}

/* The name of the one file in `dir` that starts so; newest number. */
struct find {
    const char *start;
    char found[100];
};
static enum rc find_name(void *ctx, const char *name, struct err *err)
{
    struct find *f = ctx;

    (void)err;
    if (strncmp(name, f->start, strlen(f->start)) == 0 && strcmp(name, f->found) > 0)
        snprintf(f->found, sizeof f->found, "%s", name);
    return RC_OK;
}

/* "Readable by Flink" means set, never defaulted. RocksDB itself tells what holds, in the OPTIONS
 * file that it writes where the file system is not ours. */
static const char *const wanted[] = {
    "  comparator=leveldb.BytewiseComparator\n",
    "  merge_operator=StringAppendTESTOperator\n",
    "  compression=kLZ4Compression\n",
    "  bottommost_compression=kLZ4Compression\n",
    "  compaction_style=kCompactionStyleLevel\n",
    "  level_compaction_dynamic_level_bytes=false\n",
    "  enable_blob_files=false\n",
    "  num_levels=7\n",
    "  prefix_extractor=nullptr\n",
    "  compaction_filter=nullptr\n",
    "  preserve_internal_time_seconds=0\n",
    "  preclude_last_level_data_seconds=0\n",
    "  periodic_compaction_seconds=0\n",
    "  table_factory=BlockBasedTable\n",
    "  format_version=5\n",
    "  checksum=kXXH3\n",
    "  block_size=8192\n",
    "  filter_policy=bloomfilter",
    "  whole_key_filtering=true\n",
    "  cache_index_and_filter_blocks=true\n",
    "  index_type=kBinarySearch\n",
    "  data_block_index_type=kDataBlockBinarySearch\n",
    "  persist_user_defined_timestamps=true\n",
    "  track_and_verify_wals_in_manifest=false\n",
    "  paranoid_checks=true\n",
    "  atomic_flush=false\n",
    "  max_manifest_file_size=4194304\n",
    "  rocksdb_version=" ROCKS_VERSION "\n",
};

/* A database with the options of `db`, elsewhere; its OPTIONS file. */
static struct bytes options_text(struct rocks_db *db)
{
    rocksdb_options_t *o = rocksdb_options_create_copy(db->options);
    rocksdb_env_t *env = rocksdb_create_default_env();
    struct find f = {"OPTIONS-", ""};
    struct buf path = {0};
    struct bytes content;
    struct err err = {0};
    char *error = NULL;
    rocksdb_t *plain;

    rocksdb_options_set_env(o, env);
    plain = rocksdb_open(o, tmpdir_at(&tmp, "plain"), &error);
    ck_assert_msg(error == NULL, "%s", error);
    rocksdb_close(plain);
    rocksdb_options_destroy(o);
    rocksdb_env_destroy(env);
    ck_assert_ok(fs_list(fs_posix(), tmpdir_at(&tmp, "plain"), find_name, &f, &err));
    buf_printf(&path, "plain/%s", f.found);
    content = tmpdir_read(&tmp, buf_cstr(&path));
    buf_release(&path);
    return content;
}

START_TEST(options_are_those_of_the_written_list)
{
    struct rocks_db *db = open_db("db", true, false);
    struct find f = {"OPTIONS-", ""};
    struct err err = {0};
    struct bytes content = options_text(db);
    struct rocks_cf *cf;
    char *text = strndup((const char *)content.data, content.len);

    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        ck_assert_msg(strstr(text, wanted[i]) != NULL, "missing: %s", wanted[i]);
    free(text);
    ck_assert_ok(rocks_cf_create(db, "s", &cf, &err));
    rocks_close(db);
    ck_assert_ok(fs_list(fs_posix(), tmpdir_at(&tmp, "db"), find_name, &f, &err));
    ck_assert_str_eq(f.found, ""); /* written anew with each family, all of them */
}
END_TEST

/* Whether packed or plain, a reader gets whole values; what is neither is an error that says where. */
START_TEST(values_of_a_shape_are_whole_or_refused)
{
    const struct value_shape shape = {.bytes = 16};
    struct rocks_db *db = open_db("db", true, false);
    struct rocks_batch *b = rocks_batch_new(db);
    uint8_t plain[16] = {0}, packed[64];
    struct bytes keys[3] = {bytes_of("\1a", 2), bytes_of("\1b", 2), bytes_of("\2c", 2)}, values[3];
    struct bytes key, value;
    struct rocks_iter *it;
    struct rocks_size size;
    struct rocks_cf *cf;
    struct err err = {0};
    enum rc rc;

    ck_assert_ok(rocks_cf_create(db, "sums", &cf, &err));
    put_le64(plain + 8, 500);
    rocks_batch_put(b, cf, keys[0], bytes_of(plain, 16));
    rocks_batch_put(b, cf, keys[1], bytes_of(packed, value_pack(shape, plain, packed)));
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_cf_set_shape(cf, shape);
    ck_assert_ok(rocks_get(cf, keys, 3, values, &err));
    ck_assert_bytes_eq(values[0], bytes_of(plain, 16));
    ck_assert_bytes_eq(values[1], bytes_of(plain, 16));
    ck_assert_ptr_null(values[2].data);
    ck_assert_ok(rocks_checkpoint(db, tmpdir_at(&tmp, "flushed"), &err));
    ck_assert_ok(rocks_cf_size(cf, false, &size, &err));
    ck_assert_uint_eq(size.value_bytes, 32); /* as they are in memory */

    rocks_batch_put(b, cf, keys[2], bytes_of("\4\1", 2)); /* a code whose byte is missing */
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_batch_free(b);
    ck_assert_rc_msg(rocks_get(cf, keys, 3, values, &err), RC_CORRUPT,
                     "state sums: key 0263 of 2 bytes: what is stored, 2 bytes, is no value of 16");
    err_clear(&err);
    it = rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(rocks_iter_next(it, &key, &value, &rc, &err));
        ck_assert_bytes_eq(value, bytes_of(plain, 16));
    }
    ck_assert(!rocks_iter_next(it, &key, &value, &rc, &err));
    ck_assert_rc_msg(rc, RC_CORRUPT, "state sums: key 0263");
    ck_assert(!rocks_iter_next(it, &key, &value, &rc, &err)); /* it has ended */
    rocks_iter_free(it);
    rocks_close(db);
}
END_TEST

START_TEST(families_gets_and_scans)
{
    struct rocks_db *db = open_db("db", true, false);
    struct rocks_cf *cf, *other;
    struct bytes keys[4], values[4], key, value;
    uint8_t k[4][5];
    struct rocks_iter *it;
    struct err err = {0};
    uint32_t count;
    enum rc rc;

    ck_assert_ok(rocks_cf_create(db, "a", &cf, &err));
    ck_assert_ok(rocks_cf_create(db, "b", &other, &err));
    ck_assert_uint_eq(rocks_cf_count(db), 2);
    ck_assert_ptr_eq(rocks_cf_find(db, "b"), other);
    ck_assert_ptr_null(rocks_cf_find(db, "default"));
    put_some(db, cf, 0, 5000);
    for (uint32_t i = 0; i < 4; i++)
        keys[i] = key_of(i * 2000, k[i]);
    ck_assert_ok(rocks_get(cf, keys, 4, values, &err));
    ck_assert_uint_eq(get_le32(values[2].data), 4000);
    ck_assert_ptr_null(values[3].data);
    ck_assert_ok(rocks_get(other, keys, 4, values, &err));
    ck_assert_ptr_null(values[0].data);
    rocks_unpin(db);
    it = rocks_iter_new(cf, bytes_of("\1", 1), bytes_of("\3", 1)); /* groups 1 and 2 */
    for (count = 0; rocks_iter_next(it, &key, &value, &rc, &err); count++)
        ck_assert(get_le32(value.data) == 1000 + count);
    ck_assert_int_eq(rc, RC_OK);
    ck_assert_uint_eq(count, 2000);
    ck_assert(!rocks_iter_next(it, &key, &value, &rc, &err)); /* asking on is harmless */
    rocks_iter_free(it);
    rocks_close(db);
    rocks_close(NULL);
}
END_TEST

/* What Flink's list states need: operands joined with a comma, over a value or not. */
START_TEST(list_operands_merge_as_flinks_operator_does)
{
    struct rocks_db *db = open_db("db", true, false);
    struct rocks_cf *cf;
    struct rocks_batch *b = rocks_batch_new(db);
    struct bytes keys[2] = {bytes_of("k", 1), bytes_of("l", 1)}, values[2];
    struct err err = {0};

    ck_assert_ok(rocks_cf_create(db, "list", &cf, &err));
    rocks_batch_put(b, cf, keys[0], bytes_of("one", 3));
    rocks_batch_merge(b, cf, keys[0], bytes_of("two", 3));
    rocks_batch_merge(b, cf, keys[0], bytes_of("", 0));
    rocks_batch_merge(b, cf, keys[1], bytes_of("x", 1));
    rocks_batch_merge(b, cf, keys[1], bytes_of("y", 1));
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_batch_free(b);
    ck_assert_ok(rocks_get(cf, keys, 2, values, &err));
    ck_assert_bytes_str(values[0], "one,two,");
    ck_assert_bytes_str(values[1], "x,y");
    rocks_close(db);
}
END_TEST

/* A run is moved in, unchanged: same inode, same bytes (its digest may be taken before or after).
 */
START_TEST(run_is_ingested_by_moving_and_does_not_change)
{
    struct rocks_db *db = open_db("db", true, false);
    const char *path = tmpdir_at(&tmp, "run.sst");
    struct rocks_cf *cf;
    struct rocks_run *run;
    struct digest128 before, after;
    struct fs_stat st_before, st_after;
    uint64_t size;
    uint32_t count, found = 0;
    uint8_t key[5];
    struct err err = {0};

    ck_assert_ok(rocks_cf_create(db, "a", &cf, &err));
    put_some(db, cf, 0, 10); /* overlaps: the run gets a sequence number of its own */
    ck_assert_ok(rocks_run_open(db, path, &run, &err));
    for (uint32_t i = 0; i < 3000; i++) {
        enum rc rc = i % 3 == 0 ? rocks_run_del(run, key_of(i, key), &err)
                                : rocks_run_put(run, key_of(i, key), bytes_of(&i, 4), &err);

        if (rc != RC_OK)
            ck_abort_msg("%s", err.msg);
    }
    ck_assert_ok(rocks_run_finish(run, &err));
    rocks_run_free(run);
    ck_assert_ok(digest_file(fs_posix(), path, &before, &size, &err));
    ck_assert_ok(fs_stat(fs_posix(), path, &st_before, &err));
    ck_assert_ok(rocks_ingest(cf, &path, 1, &err));
    ck_assert(!fs_exists(fs_posix(), path));
    ck_assert_ok(count_entries(cf, &count, &err));
    ck_assert_uint_eq(count, 2000);
    for (uint32_t n = 1; n < 100; n++) { /* the memtable it overlapped was flushed beside it */
        char name[40];

        snprintf(name, sizeof name, "db/%06u.sst", n);
        if (!fs_exists(fs_posix(), tmpdir_at(&tmp, name)))
            continue;
        ck_assert_ok(fs_stat(fs_posix(), tmpdir_at(&tmp, name), &st_after, &err));
        if (st_after.inode != st_before.inode)
            continue;
        found++;
        ck_assert_ok(digest_file(fs_posix(), tmpdir_at(&tmp, name), &after, &size, &err));
        ck_assert(digest_eq(before, after));
    }
    ck_assert_uint_eq(found, 1);
    /* A damaged second file: nothing of either comes in. */
    {
        const char *paths[2] = {tmpdir_at(&tmp, "good.sst"), tmpdir_at(&tmp, "bad.sst")};

        for (int i = 0; i < 2; i++) {
            uint32_t n = 9000u + (uint32_t)i * 1000;

            ck_assert_ok(rocks_run_open(db, paths[i], &run, &err));
            ck_assert_ok(rocks_run_put(run, key_of(n, key), bytes_of(&n, 4), &err));
            ck_assert_ok(rocks_run_finish(run, &err));
            rocks_run_free(run);
        }
        tmpdir_write(&tmp, "bad.sst", "not an sst at all", 17);
        ck_assert_rc(rocks_ingest(cf, paths, 2, &err), RC_CORRUPT);
        ck_assert_ok(count_entries(cf, &count, &err));
        ck_assert_uint_eq(count, 2000);
    }
    rocks_close(db);
}
END_TEST

/* Otherwise a benchmark could not say whether what compactions cost lies in what it measured. */
START_TEST(compactions_are_counted_and_those_of_the_deepest_level)
{
    struct rocks_db *db = open_db("db", true, false);
    struct rocks_compactions before, after = {0};
    struct rocks_cf *cf;
    struct err err = {0};

    ck_assert_ok(rocks_cf_create(db, "a", &cf, &err));
    ck_assert_ok(rocks_compact(db, &err));
    rocks_compactions(db, &before);
    ck_assert_uint_eq(before.count + before.deepest + before.written_bytes, 0);
    for (uint32_t n = 0; n < 2000 && after.count == 0;
         n++) { /* files that overlap, until four lie in level 0 */
        char name[16];

        put_some(db, cf, 0, 1000);
        snprintf(name, sizeof name, "image-%u", n);
        ck_assert_ok(rocks_checkpoint(db, tmpdir_at(&tmp, name), &err)); /* flushes */
        rocks_compactions(db, &after);
    }
    ck_assert_uint_ge(after.count, 1);
    ck_assert_uint_eq(after.deepest, after.count); /* level 1 is all there is */
    ck_assert_uint_ge(after.written_bytes, 1000);

    ck_assert_ok(rocks_cf_clear(cf, &err));
    rocks_compactions(db, &before); /* what a family that is no more had still counts */
    ck_assert_uint_ge(before.count, after.count);
    ck_assert_uint_ge(before.deepest, after.deepest);
    ck_assert_uint_ge(before.written_bytes, after.written_bytes);
    ck_assert_ok(rocks_cf_drop(cf, &err));
    rocks_compactions(db, &after);
    ck_assert_uint_eq(after.count, before.count);
    rocks_close(db);
}
END_TEST

static enum rc count_live(void *ctx, const char *name, uint64_t size_bytes, struct err *err)
{
    (void)err;
    ck_assert(strlen(name) == 10 && size_bytes > 0);
    ++*(uint32_t *)ctx;
    return RC_OK;
}

START_TEST(checkpoint_opens_read_only_and_is_left_as_it_is)
{
    struct rocks_db *db = open_db("db", true, false);
    struct rocks_cf *cf;
    struct rocks_stats stats;
    uint32_t count, live = 0;
    struct err err = {0};

    ck_assert_ok(rocks_cf_create(db, "a", &cf, &err));
    ck_assert_ok(rocks_compact(db, &err));
    put_some(db, cf, 0, 5000);
    ck_assert_ok(rocks_checkpoint(db, tmpdir_at(&tmp, "chk"), &err));
    put_some(db, cf, 5000, 6000);
    rocks_stats(db, &stats);
    ck_assert_uint_eq(stats.sst_files, 1);
    ck_assert_uint_eq(stats.l0_files, 1);
    ck_assert_uint_gt(stats.write_buffer_bytes, 0);
    ck_assert(!stats.stopped);
    ck_assert_ok(rocks_verify(db, &err));
    rocks_close(db);
    db = open_db("chk", false, true);
    cf = rocks_cf_find(db, "a");
    ck_assert_ptr_nonnull(cf);
    ck_assert_ok(count_entries(cf, &count, &err));
    ck_assert_uint_eq(count, 5000);
    ck_assert_ok(rocks_live_files(db, count_live, &live, &err));
    ck_assert_uint_eq(live, 1);
    rocks_close(db);
}
END_TEST

START_TEST(missing_and_damaged_databases_are_errors_not_crashes)
{
    struct rocks_config config = {.dir = tmpdir_at(&tmp, "none"),
                                  .block_cache_bytes = 1 << 20,
                                  .write_buffer_bytes = 1 << 20,
                                  .max_open_files = 10};
    struct rocks_db *db = open_db("db", true, false);
    struct err err = {0};

    rocks_close(db);
    ck_assert_rc_msg(rocks_open(&config, &db, &err), RC_IO, "none");
    tmpdir_write(&tmp, "db/CURRENT", "MANIFEST-999999\n", 16);
    config.dir = tmpdir_at(&tmp, "db");
    ck_assert_int_ne(rocks_open(&config, &db, &err), RC_OK);
    ck_assert_ptr_nonnull(strstr(err.msg, "db: rocksdb:"));
}
END_TEST

/* A forgotten iterator pins files and memory for ever: it must not get through a test. */
/* RocksDB's own words for them blame the options. */
START_TEST(what_rocksdb_says_of_an_error_is_said_as_it_was)
{
    static const char *const said[][2] = {
        {"Invalid argument: Direct I/O is not supported by the specified DB.",
         "rocksdb: open: IO error: CURRENT could not be opened the first time"},
        {"Invalid argument: Found options incompatible with filesystem: IO error: While open a file "
         "for random read: /db/CURRENT: Input/output error",
         "rocksdb: open: IO error: While open a file for random read: /db/CURRENT: Input/output"},
        {"IO error: `/db' exists but is not a directory",
         "rocksdb: open: IO error: its directory is there, and none, or cannot be looked at"},
        {"Operation aborted: Failed to clean the temporary directory /db.tmp : IO error: Unexpected error(5) accessing file `/db.tmp' ",
         "rocksdb: open: Input/output error: Operation aborted: Failed to clean"},
        {"Invalid argument: /db: does not exist", "rocksdb: open: Invalid argument: /db: does not"},
    };

    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        struct err err = {0};

        ck_assert_int_eq(rocks_take_error(strdup(said[i][0]), &err, "open"), RC_IO);
        ck_assert_msg(strncmp(err.msg, said[i][1], strlen(said[i][1])) == 0, "%s", err.msg);
    }
}
END_TEST

START_TEST(leaked_handle_is_an_assertion)
{
    struct rocks_db *db = open_db("db", true, false);
    struct rocks_cf *cf;
    struct err err = {0};

    ck_assert_ok(rocks_cf_create(db, "a", &cf, &err));
    (void)rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    rocks_close(db);
}
END_TEST

/* What does not fit into the block cache is read all the same, by lookups, scans, compactions and ingests: with a strict limit,
 * or with blocks of level 0 pinned, each of them failed, for good. */
START_TEST(a_block_cache_too_small_for_anything_fails_nothing)
{
    enum { KEYS = 200000, FILES = 6, LOOKUPS = 2048 };
    struct rocks_config config = {.dir = tmpdir_at(&tmp, "tight"),
                                  .create = true,
                                  .block_cache_bytes = 32 << 10,
                                  .write_buffer_bytes = 32 << 10,
                                  .max_open_files = -1};
    static uint8_t keys[LOOKUPS][5];
    static struct bytes asked[LOOKUPS], values[LOOKUPS];
    struct rocks_db *db;
    struct rocks_cf *cf;
    struct err err = {0};
    uint32_t count;

    ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    ck_assert_ok(rocks_open(&config, &db, &err));
    ck_assert_ok(rocks_cf_create(db, "a", &cf, &err));
    for (uint32_t f = 0; f < FILES; f++) { /* each spans all keys: they overlap, and lie in level 0 */
        const char *path = tmpdir_at(&tmp, "run.sst");
        struct rocks_run *run;
        uint8_t key[5];

        ck_assert_ok(rocks_run_open(db, path, &run, &err));
        for (uint32_t i = f; i < KEYS; i += FILES)
            ck_assert_ok(rocks_run_put(run, key_of(i, key), bytes_of(&i, 4), &err));
        ck_assert_ok(rocks_run_finish(run, &err));
        rocks_run_free(run);
        ck_assert_ok(rocks_ingest(cf, &path, 1, &err));
    }
    for (uint32_t i = 0; i < LOOKUPS; i++)
        asked[i] = key_of(i * 97, keys[i]);
    for (int round = 0; round < 2; round++) {
        ck_assert_ok(rocks_get(cf, asked, LOOKUPS, values, &err));
        for (uint32_t i = 0; i < LOOKUPS; i++) {
            ck_assert_ptr_nonnull(values[i].data);
            ck_assert_uint_eq(values[i].len, 4);
            ck_assert_uint_eq(get_le32(values[i].data), i * 97);
        }
        rocks_unpin(db);
        ck_assert_ok(count_entries(cf, &count, &err));
        ck_assert_uint_eq(count, KEYS);
        put_some(db, cf, 0, 100);
        ck_assert_ok(rocks_compact_range(cf, asked[0], asked[LOOKUPS - 1], &err));
    }
    rocks_close(db);
}
END_TEST

TEST_MAIN("rocks", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, options_are_those_of_the_written_list);
          tcase_add_test(tc, values_of_a_shape_are_whole_or_refused);
          tcase_add_test(tc, families_gets_and_scans);
          tcase_add_test(tc, list_operands_merge_as_flinks_operator_does);
          tcase_add_test(tc, run_is_ingested_by_moving_and_does_not_change);
          tcase_add_test(tc, compactions_are_counted_and_those_of_the_deepest_level);
          tcase_add_test(tc, a_block_cache_too_small_for_anything_fails_nothing);
          tcase_add_test(tc, checkpoint_opens_read_only_and_is_left_as_it_is);
          tcase_add_test(tc, missing_and_damaged_databases_are_errors_not_crashes);
          tcase_add_test(tc, what_rocksdb_says_of_an_error_is_said_as_it_was);
          tcase_add_test_raise_signal(tc, leaked_handle_is_an_assertion, SIGABRT))
