/* links: checkpoint
 *
 * Whether keys lie in the key group that Flink computes of them: rows of SQL, whose hash is that of
 * their bytes, and rows that a program put together itself, which have another one that nobody can
 * see. Keys of other types are judged on snapshots of real Flink, by e2e/flink_looks.py. */
#include "checkpoint/flink/flink_prove.h"

#include "backend/keygroup.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/flink_bytes.h"

#define GROUPS 128u
#define ROW_BYTES 16u /* of one BIGINT: header, slot */
#define KEYS 40u

static struct arena *arena;
static struct buf stream;
static int64_t offsets[GROUPS];

static void setup(void)
{
    arena = arena_new(0);
    stream = (struct buf){0};
}

static void teardown(void)
{
    buf_release(&stream);
    arena_free(arena);
}

static void put_record(const char *class, bool number)
{
    buf_append_be32(&stream, 2);
    flink_class(&stream, class, 3);
    if (number)
        buf_append_be32(&stream, 1); /* of fields */
}

static void put_description(void)
{
    buf_append_be32(&stream, 6);
    buf_append_u8(&stream, 0);
    put_record(FLINK_TABLE "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot", true);
    buf_append_be16(&stream, 1);
    flink_utf(&stream, "totals");
    buf_append_be32(&stream, 0);
    buf_append_be32(&stream, 1);
    flink_utf(&stream, "KEYED_STATE_TYPE");
    flink_utf(&stream, "VALUE");
    buf_append_be32(&stream, 2);
    flink_utf(&stream, "VALUE_SERIALIZER");
    put_record(FLINK_BASE "LongSerializer$LongSerializerSnapshot", false);
    flink_utf(&stream, "NAMESPACE_SERIALIZER");
    put_record("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot",
               false);
}

static void row_of(uint32_t key, uint8_t row[ROW_BYTES])
{
    memset(row, 0, ROW_BYTES);
    put_le32(row + 8, key);
}

static uint32_t group_of(uint32_t key)
{
    uint8_t row[ROW_BYTES];

    row_of(key, row);
    return keygroup_of_hash(keygroup_row_hash(bytes_of(row, sizeof row)), GROUPS);
}

static void put_entry(uint32_t group, uint32_t key, bool last)
{
    uint8_t row[ROW_BYTES];

    row_of(key, row);
    buf_append_be32(&stream, 1 + 4 + ROW_BYTES + 1);
    buf_append_u8(&stream, (uint8_t)(group | (last ? 0x80 : 0)));
    buf_append_be32(&stream, ROW_BYTES);
    buf_append(&stream, row, sizeof row);
    buf_append_u8(&stream, 0);
    buf_append_be32(&stream, 8);
    buf_append_be64(&stream, key);
}

/* A canonical stream of the keys 0..KEYS-1, each in the group that groups[key] says. */
static void put_stream(const uint32_t groups[KEYS])
{
    put_description();
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t left = 0;

        for (uint32_t k = 0; k < KEYS; k++)
            left += groups[k] == g;
        offsets[g] = left == 0 ? 0 : (int64_t)stream.len;
        if (left == 0)
            continue;
        buf_append_be16(&stream, 0);
        for (uint32_t k = 0; k < KEYS; k++)
            if (groups[k] == g)
                put_entry(g, k, --left == 0);
        buf_append_be16(&stream, 0xFFFF);
    }
}

static struct flink_proof prove(void)
{
    struct flink_groups groups = {.range = {0, GROUPS}, .offsets = offsets};
    struct flink_keyed keyed = {
        .tag = FLINK_KEYED_SAVEPOINT, .range = groups.range, .groups = &groups};
    struct flink_operator op = {.parallelism = 1, .max_parallelism = GROUPS};
    struct flink_stream_use use = {.op = &op,
                                   .role = FLINK_ROLE_KEYED_STREAM,
                                   .keyed = &keyed,
                                   .stream = &groups.stream};
    struct flink_proof proof;

    groups.stream = (struct flink_stream){.tag = FLINK_STREAM_BYTES,
                                          .path = bytes_of_str("name"),
                                          .data = buf_bytes(&stream),
                                          .size = (int64_t)stream.len};
    flink_prove(fs_posix(), &use, flink_places_new(fs_posix(), NULL, "/none", NULL, arena), arena,
                &proof);
    return proof;
}

START_TEST(rows_of_sql_in_their_own_groups_are_no_fault)
{
    uint32_t groups[KEYS];
    struct flink_proof proof;

    for (uint32_t k = 0; k < KEYS; k++)
        groups[k] = group_of(k);
    put_stream(groups);
    proof = prove();
    ck_assert_msg(proof.fault == NULL, "%s", proof.fault);
    ck_assert_str_eq(proof.unproven, "no checksum: walked to its end, values not covered");
}
END_TEST

START_TEST(one_of_them_in_another_group_is_a_fault)
{
    uint32_t groups[KEYS], last = 0;
    struct flink_proof proof;

    for (uint32_t k = 0; k < KEYS; k++) {
        groups[k] = group_of(k);
        last = groups[k] > groups[last] ? k : last;
    }
    groups[last] = GROUPS - 1 - (groups[last] == GROUPS - 1); /* behind those that decide */
    put_stream(groups);
    proof = prove();
    ck_assert_ptr_nonnull(proof.fault);
    ck_assert_ptr_nonnull(strstr(proof.fault, "where Flink would never find it"));
    ck_assert_ptr_nonnull(strstr(proof.fault, "state \"totals\""));
}
END_TEST

START_TEST(rows_of_another_hash_are_not_judged)
{
    uint32_t groups[KEYS];
    struct flink_proof proof;

    for (uint32_t k = 0; k < KEYS; k++)
        groups[k] = (group_of(k) + 5) % GROUPS;
    put_stream(groups);
    proof = prove();
    ck_assert_msg(proof.fault == NULL, "%s", proof.fault);
}
END_TEST

TEST_MAIN("flink_prove", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, rows_of_sql_in_their_own_groups_are_no_fault);
          tcase_add_test(tc, one_of_them_in_another_group_is_a_fault);
          tcase_add_test(tc, rows_of_another_hash_are_not_judged);)
