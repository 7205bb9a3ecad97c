/* links: checkpoint
 *
 * Serializers of SQL types against what Flink 2.3.0 wrote of its own
 * (tests/conformance/golden/flink-sql-types.txt, made by tests/flink-judge/SnapshotFixture.java), and
 * descriptions against the reader of such. */
#include "checkpoint/flink/flink_describe.h"
#include "checkpoint/flink/flink_sql_type.h"
#include "checkpoint/flink/flink_states.h"
#include "checkpoint/flink/flink_uid.h"

#include "base/fs.h"
#include "tests/lib/check_ext.h"

#include <stdlib.h>

#define GOLDEN TESTS_DIR "/conformance/golden/flink-sql-types.txt"

static struct buf got;

static void setup(void)
{
    got = (struct buf){0};
}

static void teardown(void)
{
    buf_release(&got);
}

static struct bytes bytes_of_type(const char *type, struct buf *out)
{
    struct err err = {0};

    ck_assert_ok(flink_put_sql_type(type, out, &err));
    return buf_bytes(out);
}

/* What stands before the tab. */
static void put_named(const char *name)
{
    struct buf a = {0}, b = {0};

    buf_clear(&got);
    if (strcmp(name, "bytes") == 0)
        flink_put_snapshot_of_bytes(&got);
    else if (strcmp(name, "list of BIGINT") == 0)
        flink_put_snapshot_of_list(bytes_of_type("BIGINT", &a), &got);
    else if (strcmp(name, "map of INT, BIGINT") == 0)
        flink_put_snapshot_of_map(bytes_of_type("INT", &a), bytes_of_type("BIGINT", &b), &got);
    else if (strcmp(name, "ttl of BIGINT") == 0)
        flink_put_snapshot_of_ttl(bytes_of_type("BIGINT", &a), &got);
    else if (strcmp(name, "timer of BIGINT, VOID") == 0)
        flink_put_snapshot_of_timer(bytes_of_type("BIGINT", &a), bytes_of_type("VOID", &b), &got);
    else
        bytes_of_type(name, &got);
    buf_release(&a);
    buf_release(&b);
}

START_TEST(every_type_is_what_flink_writes)
{
    struct buf file = {0}, hex = {0};
    struct err err = {0};
    unsigned lines = 0;
    char *rest, *line;

    ck_assert_ok(fs_read_all(fs_posix(), GOLDEN, 1u << 20, &file, &err));
    buf_append_u8(&file, 0);
    for (line = strtok_r((char *)file.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *want = strchr(line, '\t');

        ck_assert_ptr_nonnull(want);
        *want++ = '\0';
        put_named(line);
        buf_clear(&hex);
        for (size_t i = 0; i < got.len; i++)
            buf_printf(&hex, "%02x", got.data[i]);
        ck_assert_msg(strcmp(buf_cstr(&hex), want) == 0, "%s:\n%s\nFlink:\n%s", line, buf_cstr(&hex),
                      want);
        lines++;
    }
    ck_assert_uint_eq(lines, 30);
    buf_release(&file);
    buf_release(&hex);
}
END_TEST

START_TEST(what_is_no_type_of_sqls_is_refused)
{
    static const char *const wrong[] = {"", "K", "BIGINTS", "BIGINT NULL", "DECIMAL(10)", "DECIMAL(10,2)",
                                        "DECIMAL(10, 2", "VARCHAR()", "VARCHAR(99999999999999999999)",
                                        "INT(3)", "ROW<`a` ROW<`b` INT>>", "ROW<`a` VOID>",
                                        "INTERVAL DAY(3) TO SECOND(6)", "BIGINT NOT NULL "};
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        ck_assert_msg(flink_put_sql_type(wrong[i], &got, &err) == RC_UNSUPPORTED, "%s", wrong[i]);
        ck_assert_msg(err.msg[0] != '\0', "%s", wrong[i]);
        err_clear(&err);
    }
}
END_TEST

static const struct state_desc some[] = {
    {.name = "v", .kind = STATE_VALUE, .key_type = "ROW<`k` STRING>", .namespace_type = "VOID",
     .user_key_type = "", .value_type = "ROW<`n` BIGINT>"},
    {.name = "l", .kind = STATE_LIST, .key_type = "ROW<`k` STRING>", .namespace_type = "BYTES",
     .user_key_type = "", .value_type = "BIGINT", .ttl_ms = 5},
    {.name = "m", .kind = STATE_MAP, .key_type = "ROW<`k` STRING>", .namespace_type = "BIGINT",
     .user_key_type = "STRING", .value_type = "BIGINT", .ttl_ms = 5},
    {.name = "t", .kind = STATE_TIMER, .key_type = "ROW<`k` STRING>", .namespace_type = "BIGINT",
     .user_key_type = "", .value_type = ""},
};

START_TEST(descriptions_read_as_what_they_describe)
{
    static const char *const want[] = {
        "VALUE VoidNamespaceSerializer RowDataSerializer(LongSerializer)",
        "LIST BytePrimitiveArraySerializer ListSerializer(TtlSerializer(LongSerializer timestamp, "
        "LongSerializer value))",
        "MAP LongSerializer MapSerializer(StringDataSerializer, TtlSerializer(LongSerializer timestamp, "
        "LongSerializer value))",
        "PRIORITY_QUEUE TimerSerializer(RowDataSerializer(StringDataSerializer), LongSerializer)"};
    struct arena *arena = arena_new(0);
    struct flink_states states;
    struct err err = {0};
    struct buf text = {0};
    struct reader r;

    ck_assert_ok(flink_describe_keyed(some, ARRAY_LEN(some), &got, &err));
    reader_init(&r, buf_bytes(&got), "description");
    ck_assert_ok(flink_states_keyed(&r, arena, &states, &err));
    ck_assert_ok(reader_end(&r, &err));
    ck_assert_uint_eq(states.count, ARRAY_LEN(some));
    for (size_t i = 0; i < states.count; i++) {
        const struct flink_state *s = &states.states[i];

        ck_assert(bytes_eq(s->name, bytes_of_str(some[i].name)));
        buf_clear(&text);
        buf_printf(&text, "%s ", flink_state_word(s));
        if (s->namespace != NULL) {
            flink_serializer_print(s->namespace, &text);
            buf_append_u8(&text, ' ');
        }
        flink_serializer_print(s->value, &text);
        ck_assert_str_eq(buf_cstr(&text), want[i]);
    }
    buf_release(&text);
    arena_free(arena);
}
END_TEST

START_TEST(lists_of_every_mode_are_described)
{
    static const struct list_state lists[] = {{.name = "b", .mode = LIST_BROADCAST},
                                              {.name = "s", .mode = LIST_SPLIT},
                                              {.name = "u", .mode = LIST_UNION}};
    struct arena *arena = arena_new(0);
    struct flink_states states;
    struct err err = {0};
    struct reader r;

    flink_describe_lists(lists, ARRAY_LEN(lists), &got);
    reader_init(&r, buf_bytes(&got), "description");
    ck_assert_ok(flink_states_operator(&r, arena, &states, &err));
    ck_assert_ok(reader_end(&r, &err));
    ck_assert_uint_eq(states.count, 3);
    ck_assert_uint_eq(states.broadcast_count, 1);
    ck_assert(bytes_eq(states.states[2].name, bytes_of_str("b")));
    ck_assert_int_eq(states.states[2].kind, FLINK_STATE_BROADCAST);
    arena_free(arena);
}
END_TEST

START_TEST(keys_of_two_types_are_refused)
{
    struct state_desc two[] = {some[0], some[1]};
    struct err err = {0};

    two[1].key_type = "ROW<`k` BIGINT>";
    ck_assert_int_eq(flink_describe_keyed(two, 2, &got, &err), RC_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "state l has keys ROW<`k` BIGINT>"));
}
END_TEST

/* Ids that Flink gave. */
START_TEST(uids_have_flinks_ids)
{
    static const struct {
        const char *uid, *id;
    } known[] = {{"map", "23ab3a59b17e9c45f95cff4c728611fc"},
                 {"src-uid", "65eb651c08e51afc6b01b9ec8c609cba"},
                 {"fn-uid", "f6a927f14a15abca6721e01e25c47c41"}};
    uint8_t id[FLINK_ID_BYTES];
    char hex[2 * FLINK_ID_BYTES + 1];

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        flink_id_of_uid(bytes_of_str(known[i].uid), id);
        flink_id_hex(id, hex);
        ck_assert_str_eq(hex, known[i].id);
    }
}
END_TEST

TEST_MAIN("flink_sql_type", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, every_type_is_what_flink_writes);
          tcase_add_test(tc, what_is_no_type_of_sqls_is_refused);
          tcase_add_test(tc, descriptions_read_as_what_they_describe);
          tcase_add_test(tc, lists_of_every_mode_are_described);
          tcase_add_test(tc, keys_of_two_types_are_refused);
          tcase_add_test(tc, uids_have_flinks_ids);)
