/* links: checkpoint
 *
 * What `verify --deep` reads in databases that Flink would restore from: made here with one fault each,
 * under checksums that are right. Databases of real Flink have none: e2e/flink_deep.py. */
#include "checkpoint/flink/flink_prove_deep.h"

#include "backend/rocks.h"
#include "checkpoint/flink/flink_entry_check.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/flink_bytes.h"
#include "tests/lib/tmpdir.h"

#define GROUPS 128u
#define KEYS 60u
#define HEARD_MAX 8u
#define FILES_MAX 16u

static struct arena *arena;
static struct tmpdir tmp;
static struct rocks_db *db;
static struct buf meta;
static uint32_t images;

/* What was heard. */
static char *reasons[HEARD_MAX], *paths[HEARD_MAX], *untold;
static struct flink_left_over left_over[HEARD_MAX];
static uint32_t fault_count, left_over_count;

static void hear_fault(void *ctx UNUSED, const char *path, const char *reason)
{
    ck_assert_uint_lt(fault_count, HEARD_MAX);
    paths[fault_count] = path == NULL ? NULL : arena_strdup(arena, path);
    reasons[fault_count++] = arena_strdup(arena, reason);
}
static void hear_left_over(void *ctx UNUSED, const struct flink_left_over *l)
{
    ck_assert_uint_lt(left_over_count, HEARD_MAX);
    left_over[left_over_count] = *l;
    left_over[left_over_count++].state = arena_bytes_copy(arena, l->state);
}
static void hear_untold(void *ctx UNUSED, const char *reason)
{
    untold = arena_strdup(arena, reason);
}

/* ---- a database ------------------------------------------------------------------------------ */

static void put_record(void (*put)(struct buf *))
{
    buf_append_be32(&meta, 2);
    put(&meta);
}
static void put_string(struct buf *b) { flink_simple(b, "String"); }
static void put_int(struct buf *b) { flink_simple(b, "Int"); }
static void put_void(struct buf *b)
{
    flink_class(b, "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", 3);
}
static void put_list(struct buf *b)
{
    flink_composite(b, FLINK_BASE "ListSerializerSnapshot", 1);
    flink_nested(b, 1);
    put_string(b);
}

static void put_state(const char *name, const char *type, void (*value)(struct buf *))
{
    flink_utf(&meta, name);
    buf_append_be32(&meta, 0);
    buf_append_be32(&meta, 1);
    flink_utf(&meta, "KEYED_STATE_TYPE");
    flink_utf(&meta, type);
    buf_append_be32(&meta, 2);
    flink_utf(&meta, "VALUE_SERIALIZER");
    put_record(value);
    flink_utf(&meta, "NAMESPACE_SERIALIZER");
    put_record(put_void);
}

static uint32_t group_of(const char *key)
{
    uint32_t hash = 0;

    for (; *key != '\0'; key++)
        hash = 31 * hash + (uint8_t)*key;
    return keygroup_of_hash(hash, GROUPS);
}

static struct bytes entry_key(uint32_t group, const char *key)
{
    struct buf b = {0};
    struct bytes kept;

    buf_append_u8(&b, (uint8_t)group);
    buf_append_u8(&b, (uint8_t)(strlen(key) + 1));
    buf_append_str(&b, key);
    buf_append_u8(&b, 0); /* the namespace */
    kept = arena_bytes_copy(arena, buf_bytes(&b));
    buf_release(&b);
    return kept;
}

static void put(const char *family, struct bytes key, const void *value, size_t len)
{
    struct rocks_batch *b = rocks_batch_new(db);
    struct err err = {0};

    rocks_batch_put(b, rocks_cf_find(db, family), key, bytes_of(value, len));
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_batch_free(b);
}

static const char *name_of(uint32_t i)
{
    return arena_printf(arena, "key-%u", i);
}

static void setup(void)
{
    struct rocks_config config = {.create = true,
                                  .block_cache_bytes = 4 << 20,
                                  .write_buffer_bytes = 1 << 20,
                                  .max_open_files = -1};
    struct rocks_cf *cf;
    struct err err = {0};

    arena = arena_new(0);
    tmpdir_make(&tmp);
    config.dir = tmpdir_at(&tmp, "db");
    ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    ck_assert_ok(fs_mkdirs(fs_posix(), tmpdir_at(&tmp, "scratch"), &err));
    ck_assert_ok(rocks_open(&config, &db, &err));
    ck_assert_ok(rocks_cf_create(db, "counts", &cf, &err));
    ck_assert_ok(rocks_cf_create(db, "lists", &cf, &err));
    buf_append_be32(&meta, 6);
    buf_append_u8(&meta, 0);
    put_record(put_string);
    buf_append_be16(&meta, 2);
    put_state("counts", "VALUE", put_int);
    put_state("lists", "LIST", put_list);
    for (uint32_t i = 0; i < KEYS; i++) {
        put("counts", entry_key(group_of(name_of(i)), name_of(i)), "\0\0\0\7", 4);
        put("lists", entry_key(group_of(name_of(i)), name_of(i)), "\2a,\3bc", 6);
    }
}

static void teardown(void)
{
    rocks_close(db);
    buf_release(&meta);
    tmpdir_remove(&tmp);
    arena_free(arena);
}

struct image {
    const char *dir;
    struct flink_db_file files[FILES_MAX];
    size_t count;
};

static enum rc add_file(void *ctx, const char *name, struct err *err UNUSED)
{
    struct image *image = ctx;
    struct flink_db_file *f = &image->files[image->count++];

    ck_assert_uint_le(image->count, FILES_MAX);
    f->local_name = bytes_of_str(arena_strdup(arena, name));
    f->stream = (struct flink_stream){
        .tag = FLINK_STREAM_FILE,
        .path = bytes_of_str(arena_printf(arena, "%s/%s", image->dir, name))};
    f->stream.size = -1;
    return RC_OK;
}

/* The database as it is now, in a handle of these key groups. */
static void prove(uint32_t first, uint32_t count)
{
    struct image image = {.dir = tmpdir_at(&tmp, arena_printf(arena, "image-%u", images++))};
    struct flink_incremental inc = {.private = image.files};
    struct flink_keyed keyed = {
        .tag = FLINK_KEYED_INCREMENTAL, .range = {first, count}, .incremental = &inc};
    struct flink_keyed_source from = {.fs = fs_posix(),
                                      .scratch_dir = tmpdir_at(&tmp, "scratch"),
                                      .handle = &keyed,
                                      .key_group_count = GROUPS};
    struct flink_deep_ear ear = {NULL, hear_fault, hear_left_over, hear_untold};
    struct err err = {0};

    ck_assert_ok(rocks_checkpoint(db, image.dir, &err));
    ck_assert_ok(fs_list(fs_posix(), image.dir, add_file, &image, &err));
    inc.private_count = image.count;
    inc.meta = (struct flink_stream){.tag = FLINK_STREAM_BYTES,
                                     .path = bytes_of_str("meta"),
                                     .data = buf_bytes(&meta),
                                     .size = (int64_t)meta.len};
    from.places = flink_places_new(fs_posix(), NULL, image.dir, NULL, arena);
    fault_count = left_over_count = 0;
    untold = NULL;
    flink_prove_deep(&from, &ear);
    ck_assert_msg(untold == NULL, "%s", untold);
}

static void one_fault(const char *reason)
{
    ck_assert_uint_eq(fault_count, 1);
    ck_assert_str_eq(reasons[0], reason);
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(what_lies_where_it_belongs_is_no_fault)
{
    prove(0, GROUPS);
    ck_assert_msg(fault_count == 0, "%s", reasons[0]);
    ck_assert_uint_eq(left_over_count, 0);
}
END_TEST

START_TEST(a_key_in_a_group_that_is_not_its_own_is_named_with_its_file)
{
    uint32_t group = (group_of("alice") + 9) % GROUPS;

    put("counts", entry_key(group, "alice"), "\0\0\0\1", 4);
    prove(0, GROUPS);
    one_fault(arena_printf(arena,
                           "state \"counts\", key group %u, key \"alice\": it lies where Flink would "
                           "never find it, and belongs in key group %u",
                           group, group_of("alice")));
    ck_assert_ptr_nonnull(paths[0]);
    ck_assert_ptr_nonnull(strstr(paths[0], ".sst"));
    ck_assert_int_eq(memcmp(paths[0], tmp.path, strlen(tmp.path)), 0);
}
END_TEST

/* Every sort of fault stands there once for each state, with how often. */
START_TEST(values_that_are_cut_are_named_and_counted)
{
    put("counts", entry_key(group_of("key-3"), "key-3"), "\0\0\7", 3);
    put("counts", entry_key(group_of("key-4"), "key-4"), "\0\0\7", 3);
    put("counts", entry_key(group_of("key-5"), "key-5"), "\0\0\0\7\0", 5);
    put("lists", entry_key(group_of("key-6"), "key-6"), "\2a,\5bc", 6);
    prove(0, GROUPS);
    ck_assert_uint_eq(fault_count, 2);
    ck_assert_ptr_nonnull(strstr(reasons[0], "state \"counts\", key group "));
    ck_assert_ptr_nonnull(strstr(reasons[0], " (and 2 more entries like it)"));
    ck_assert_ptr_nonnull(strstr(reasons[1], arena_printf(arena, "state \"lists\", key group %u, key \"key-6\": ",
                                                          group_of("key-6"))));
}
END_TEST

/* Two files with the same keys: which one's entry it is RocksDB knows alone. */
START_TEST(a_file_is_named_only_when_it_is_the_one)
{
    struct err err = {0};

    ck_assert_ok(rocks_checkpoint(db, tmpdir_at(&tmp, "before"), &err));
    put("counts", entry_key(group_of("key-3"), "key-3"), "\0\0\7", 3);
    prove(0, GROUPS);
    ck_assert_uint_eq(fault_count, 1);
    ck_assert_msg(paths[0] == NULL, "%s", paths[0]);
}
END_TEST

START_TEST(a_key_that_its_serializers_do_not_write_is_shown_in_hex)
{
    put("counts", bytes_of("\7\11ab\0", 5), "\0\0\0\1", 4);      /* ends before its eight letters do */
    put("lists", bytes_of("\7\3ab\0\0\0", 7), "\2a", 2); /* goes on behind it */
    prove(0, GROUPS);
    ck_assert_uint_eq(fault_count, 2);
    ck_assert_ptr_nonnull(strstr(reasons[0], "state \"counts\", key group 7, key 0x0709616200: "));
    ck_assert_ptr_nonnull(strstr(reasons[1], "state \"lists\", key group 7, key 0x07036162000000: "));
}
END_TEST

/* A database that was taken over by another range has the others' entries until a compaction. */
START_TEST(entries_outside_the_handle_are_counted_and_no_fault)
{
    uint32_t below = 0, above = 0;

    for (uint32_t i = 0; i < KEYS; i++) {
        below += group_of(name_of(i)) < 32;
        above += group_of(name_of(i)) >= 96;
    }
    ck_assert(below > 0 && above > 0);
    prove(32, 64);
    ck_assert_msg(fault_count == 0, "%s", reasons[0]);
    ck_assert_uint_eq(left_over_count, 2);
    ck_assert_bytes_eq(left_over[0].state, bytes_of_str("counts"));
    ck_assert_uint_eq(left_over[0].entries, below + above);
    ck_assert_uint_gt(left_over[0].bytes, 10 * (below + above));
    prove(0, 96);
    ck_assert_uint_eq(left_over[1].entries, above);
    prove(32, 96);
    ck_assert_uint_eq(left_over[1].entries, below);
}
END_TEST

/* No rescale puts a key into a group that is not its own, or that nobody has. */
START_TEST(entries_outside_that_no_rescale_leaves_are_faults)
{
    put("counts", entry_key((group_of("alice") + 64) % 32, "alice"), "\0\0\0\1", 4);
    put("lists", entry_key(GROUPS + 3, "bob"), "\2a", 2);
    prove(32, 96);
    ck_assert_uint_eq(fault_count, 2);
    ck_assert_ptr_nonnull(strstr(reasons[0], "state \"lists\": a key of key group 131: there are 128"));
    ck_assert_ptr_nonnull(strstr(reasons[1], "key \"alice\": it lies where Flink would never find it"));
}
END_TEST

START_TEST(a_key_too_short_for_its_group_is_a_fault)
{
    put("counts", bytes_of("", 0), "\0\0\0\1", 4);
    prove(0, GROUPS);
    one_fault("state \"counts\": a key of 0 bytes has no key group");
}
END_TEST

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct flink_serializer row = {.coding = FLINK_ROW_DATA, .number = 1, .length = FLINK_VARIABLE};
static const struct flink_serializer no_namespace = {.coding = FLINK_VOID_NAMESPACE};
static const struct flink_serializer number = {.coding = FLINK_INT, .length = 4};
static struct flink_state row_state = {
    .type = FLINK_TYPE_VALUE, .namespace = &no_namespace, .value = &number};
static const struct flink_states row_states = {.key = &row, .count = 1, .states = &row_state};

/* The group of a BinaryRowData of one number, and the key with it in front that many groups further. */
static struct bytes row_key(uint64_t n, uint32_t groups, uint32_t further)
{
    struct buf b = {0};
    struct bytes kept;

    buf_append_u8(&b, 0);
    buf_append_be32(&b, 16);
    buf_append_le64(&b, 0);
    buf_append_le64(&b, n);
    b.data[0] = (uint8_t)((keygroup_of_hash(keygroup_row_hash(bytes_of(b.data + 5, 16)), groups) + further) % groups);
    buf_append_u8(&b, 0);
    kept = arena_bytes_copy(arena, buf_bytes(&b));
    buf_release(&b);
    return kept;
}

static enum flink_verdict check_row(struct flink_entry_check *c, struct bytes key)
{
    struct bytes value = bytes_of("\0\0\0\1", 4);
    struct err why = {0};

    return flink_entry_check(c, &row_state, key, &value, &why);
}

START_TEST(rows_that_hash_as_their_bytes_are_judged)
{
    struct flink_entry_check *c = flink_entry_check_new(&row_states, GROUPS);

    for (uint64_t n = 0; n < 4; n++)
        ck_assert_int_eq(check_row(c, row_key(n, GROUPS, 0)), FLINK_ENTRY_FINE);
    ck_assert_int_eq(check_row(c, row_key(9, GROUPS, 1)), FLINK_ENTRY_GROUP);
    flink_entry_check_free(c);
}
END_TEST

/* A map has an entry for each of a key's: one key that fits by chance says nothing of the others. */
START_TEST(one_row_that_fits_is_one_however_often_it_comes)
{
    struct flink_entry_check *c = flink_entry_check_new(&row_states, GROUPS);

    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(check_row(c, row_key(1, GROUPS, 0)), FLINK_ENTRY_FINE);
    ck_assert_int_eq(check_row(c, row_key(2, GROUPS, 7)), FLINK_ENTRY_FINE);
    ck_assert_int_eq(check_row(c, row_key(3, GROUPS, 7)), FLINK_ENTRY_FINE);
    flink_entry_check_free(c);
}
END_TEST

/* Of two groups every second row fits by chance. */
START_TEST(of_few_key_groups_more_rows_are_needed)
{
    struct flink_entry_check *c = flink_entry_check_new(&row_states, 2);

    for (uint64_t n = 0; n < 12; n++)
        ck_assert_int_eq(check_row(c, row_key(n, 2, 0)), FLINK_ENTRY_FINE);
    ck_assert_int_eq(check_row(c, row_key(12, 2, 1)), FLINK_ENTRY_FINE);
    flink_entry_check_free(c);
    c = flink_entry_check_new(&row_states, 2);
    for (uint64_t n = 0; n < 28; n++)
        ck_assert_int_eq(check_row(c, row_key(n, 2, 0)), FLINK_ENTRY_FINE);
    ck_assert_int_eq(check_row(c, row_key(28, 2, 1)), FLINK_ENTRY_GROUP);
    flink_entry_check_free(c);
}
END_TEST

TEST_MAIN("flink_prove_deep", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, what_lies_where_it_belongs_is_no_fault);
          tcase_add_test(tc, a_key_in_a_group_that_is_not_its_own_is_named_with_its_file);
          tcase_add_test(tc, values_that_are_cut_are_named_and_counted);
          tcase_add_test(tc, a_file_is_named_only_when_it_is_the_one);
          tcase_add_test(tc, a_key_that_its_serializers_do_not_write_is_shown_in_hex);
          tcase_add_test(tc, entries_outside_the_handle_are_counted_and_no_fault);
          tcase_add_test(tc, entries_outside_that_no_rescale_leaves_are_faults);
          tcase_add_test(tc, a_key_too_short_for_its_group_is_a_fault);
          tcase_add_test(tc, rows_that_hash_as_their_bytes_are_judged);
          tcase_add_test(tc, one_row_that_fits_is_one_however_often_it_comes);
          tcase_add_test(tc, of_few_key_groups_more_rows_are_needed);)
