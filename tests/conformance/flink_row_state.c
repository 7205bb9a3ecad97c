/* links: checkpoint */
/* Rows of SQL state that Flink 2.3.0 wrote (golden/flink-2.3.0-group-by), read as somebody else's database by the serializers that a
 * snapshot of it records: each column of each kind shows what the query put there. */
#include "backend/foreign_db.h"
#include "base/fs.h"
#include "checkpoint/flink/flink_key.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/flink_bytes.h"
#include "tests/lib/tmpdir.h"

#include <inttypes.h>

#define KEYS 500
#define GROUPS 128

static struct tmpdir tmp;
static struct arena *arena;
static struct foreign_db *db;

static enum rc copy_file(void *ctx, const char *name, struct err *err)
{
    char from[FS_PATH_MAX];

    snprintf(from, sizeof from, "%s/%s", (const char *)ctx, name);
    return fs_copy(fs_posix(), from, tmpdir_at(&tmp, name), err);
}

static void setup(void)
{
    char dir[] = TESTS_DIR "/conformance/golden/flink-2.3.0-group-by";
    struct err err = {0};

    arena = arena_new(0);
    tmpdir_make(&tmp);
    ck_assert_ok(fs_list(fs_posix(), dir, copy_file, dir, &err));
}

static void teardown(void)
{
    foreign_db_close(db);
    db = NULL;
    tmpdir_remove(&tmp);
    arena_free(arena);
}

static void put_decimal(struct buf *b, uint32_t precision, uint32_t scale)
{
    flink_class(b, FLINK_TABLE "DecimalDataSerializer$DecimalSerializerSnapshot", 3);
    buf_append_be32(b, precision);
    buf_append_be32(b, scale);
}

/* A row's snapshot up to its fields; their logical types are nulls here. */
static void put_row(struct buf *b, uint32_t fields)
{
    flink_class(b, FLINK_TABLE "RowDataSerializer$RowDataSerializerSnapshot", 3);
    buf_append_be32(b, fields);
    for (uint32_t i = 0; i < fields; i++) {
        buf_append_be32(b, 0xACED0005u);
        buf_append_u8(b, 0x70);
    }
    flink_nested(b, fields);
}

static const struct flink_serializer *read_snapshot(struct buf *b)
{
    const struct flink_serializer *s;
    struct err err = {0};
    struct reader r;

    reader_init(&r, arena_bytes_copy(arena, buf_bytes(b)), "snapshot");
    ck_assert_ok(flink_serializer_read(&r, arena, &s, &err));
    ck_assert_uint_eq(reader_left(&r), 0);
    buf_clear(b);
    return s;
}

/* b BIGINT, i INT, s STRING, l STRING, d DECIMAL(18,2), w DECIMAL(30,4), t TIMESTAMP(6), f DOUBLE, u BOOLEAN, y TINYINT ->
 * COUNT(*), SUM, MIN, MAX */
static void describe(struct flink_states *states, struct flink_state *s)
{
    static const char *const first[] = {"Long", "Int"}, *const last[] = {"Double", "Boolean", "Byte"};
    struct buf b = {0};

    put_row(&b, 10);
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        flink_simple(&b, first[i]);
    for (int i = 0; i < 2; i++)
        flink_class(&b, FLINK_TABLE "StringDataSerializer$StringDataSerializerSnapshot", 3);
    put_decimal(&b, 18, 2);
    put_decimal(&b, 30, 4);
    flink_class(&b, FLINK_TABLE "TimestampDataSerializer$TimestampDataSerializerSnapshot", 1);
    buf_append_be32(&b, 6);
    for (size_t i = 0; i < ARRAY_LEN(last); i++)
        flink_simple(&b, last[i]);
    states->key = read_snapshot(&b);
    put_row(&b, 4);
    for (int i = 0; i < 4; i++)
        flink_simple(&b, "Long");
    s->value = read_snapshot(&b);
    flink_class(&b, "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", 3);
    s->namespace = read_snapshot(&b);
    buf_release(&b);
}

static const char *optional(bool there, const char *text)
{
    return there ? text : "null";
}

/* What the query makes of key k. */
static void want_key(int64_t k, struct buf *out)
{
    char number[32], text[32], real[32];
    struct flink_value at = {0};

    snprintf(number, sizeof number, "%" PRId64, k - 250);
    snprintf(text, sizeof text, "\"%" PRId64 "\"", k);
    snprintf(real, sizeof real, k % 8 == 0 ? "%.1f" : "%.15g", (double)k / 8);
    flink_value_of_ms(946684799123 + 1000 * k, "456", arena, &at);
    buf_clear(out);
    buf_printf(out,
               "{\"kind\":\"+I\",\"f0\":%" PRId64 ",\"f1\":%s,\"f2\":%s,\"f3\":\"a longer name, %" PRId64 "\",\"f4\":%" PRId64
               ".00,\"f5\":%" PRId64 ".0000,\"f6\":\"%.*s\",\"f7\":%s,\"f8\":%s,\"f9\":%" PRId64 "}",
               k, optional(k % 3 != 0, number), optional(k % 7 != 0, text), k * k, k, k - 100, (int)at.text.len,
               (const char *)at.text.data, real, k % 2 ? "true" : "false", k % 100);
}

START_TEST(every_column_of_a_row_is_shown)
{
    struct flink_states states = {0};
    struct flink_state s = {.type = FLINK_TYPE_VALUE};
    struct foreign_scan *scan;
    struct bytes key, value;
    struct buf got = {0}, want = {0};
    struct err err = {0};
    bool seen[KEYS] = {0};
    int rows = 0;

    describe(&states, &s);
    ck_assert_ok(foreign_db_open(tmp.path, &db, &err));
    ck_assert_ok(foreign_scan_open(db, "accState", (struct key_group_range){0, GROUPS - 1}, 1, (struct bytes){0}, &scan, &err));
    for (;; rows++) {
        struct flink_entry entry;
        struct flink_key k;
        int64_t id;

        ck_assert_ok(foreign_scan_next(scan, &key, &value, &err));
        if (key.data == NULL)
            break;
        ck_assert_ok(flink_key_read(&states, &s, 1, key, arena, &k, &err));
        id = k.key.parts[1].integer;
        ck_assert(id >= 0 && id < KEYS && !seen[id]);
        seen[id] = true;
        buf_clear(&got);
        flink_value_json(&k.key, &got);
        want_key(id, &want);
        ck_assert_str_eq(buf_cstr(&got), buf_cstr(&want));
        ck_assert_ok(flink_entry_read(&s, value, arena, &entry, &err));
        ck_assert_int_eq(entry.value.parts[3].integer, id == 0 ? KEYS : id); /* MIN */
        ck_assert_int_gt(entry.value.parts[1].integer, 0);
    }
    ck_assert_int_eq(rows, KEYS);
    foreign_scan_close(scan);
    buf_release(&got);
    buf_release(&want);
}
END_TEST

/* C13: a bit of a block is enough; nothing of the file is given out before. */
START_TEST(damaged_block_is_found_before_a_scan)
{
    struct foreign_scan *scan;
    struct err err = {0};
    struct buf content = {0};
    struct fs_file *f = NULL;

    ck_assert_ok(fs_read_all(fs_posix(), tmpdir_at(&tmp, "000014.sst"), 1u << 20, &content, &err));
    content.data[_i * content.len / 8] ^= 4;
    ck_assert_ok(fs_unlink(fs_posix(), tmpdir_at(&tmp, "000014.sst"), &err));
    ck_assert_ok(fs_create(fs_posix(), tmpdir_at(&tmp, "000014.sst"), &f, &err));
    ck_assert_ok(fs_append(f, buf_bytes(&content), &err));
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_ok(foreign_db_open(tmp.path, &db, &err));
    ck_assert_rc_msg(foreign_scan_open(db, "accState", (struct key_group_range){0, GROUPS - 1}, 1, (struct bytes){0}, &scan, &err),
                     RC_CORRUPT, "000014.sst");
    buf_release(&content);
}
END_TEST

TEST_MAIN("flink_row_state", tcase_add_checked_fixture(tc, setup, teardown); tcase_add_test(tc, every_column_of_a_row_is_shown);
          tcase_add_loop_test(tc, damaged_block_is_found_before_a_scan, 0, 6))
