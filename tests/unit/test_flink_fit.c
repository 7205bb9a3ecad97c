/* links: checkpoint
 *
 * Which states that Flink wrote can go on as a job's, and what is said of those that cannot. */
#include "checkpoint/flink/flink_fit.h"

#include "checkpoint/flink/flink_sql_type.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
}

static const struct flink_serializer *read_back(struct buf *snapshot)
{
    const struct flink_serializer *s;
    struct err err = {0};
    struct reader r;

    reader_init(&r, arena_bytes_copy(arena, buf_bytes(snapshot)), "snapshot");
    ck_assert_ok(flink_serializer_read(&r, arena, &s, &err));
    ck_assert_uint_eq(reader_left(&r), 0);
    buf_release(snapshot);
    return s;
}

static const struct flink_serializer *of(const char *type)
{
    struct buf snapshot = {0};
    struct err err = {0};

    ck_assert_ok(flink_put_sql_type(type, &snapshot, &err));
    return read_back(&snapshot);
}

static const struct flink_serializer *expiring(const char *type)
{
    struct buf inner = {0}, snapshot = {0};
    struct err err = {0};

    ck_assert_ok(flink_put_sql_type(type, &inner, &err));
    flink_put_snapshot_of_ttl(buf_bytes(&inner), &snapshot);
    buf_release(&inner);
    return read_back(&snapshot);
}

#define KEY "ROW<`k` BIGINT, `t` STRING>"
#define VALUE "ROW<`n` BIGINT, `d` DECIMAL(10, 2)>"
static const struct state_desc value_state = {.name = "s", .kind = STATE_VALUE, .key_type = KEY, .namespace_type = "VOID",
                                              .user_key_type = "", .value_type = VALUE};

static const char *said(const char *key, const struct flink_state *wrote, const struct state_desc *wanted)
{
    struct buf out = {0};
    const char *text;

    flink_fit(of(key), wrote, wanted, arena, &out);
    text = arena_strdup(arena, buf_cstr(&out));
    buf_release(&out);
    return text;
}

static struct flink_state of_value(const char *type)
{
    return (struct flink_state){.name = bytes_of_str("s"), .kind = FLINK_STATE_KEYED, .type = FLINK_TYPE_VALUE, .value = of(type)};
}

START_TEST(the_same_serializers_fit_whatever_columns_are_called)
{
    struct flink_state wrote = of_value("ROW<`a` BIGINT, `b` DECIMAL(10, 2)>");

    ck_assert_str_eq(said("ROW<`x` BIGINT, `y` STRING>", &wrote, &value_state), "");
    wrote.type = FLINK_TYPE_REDUCING;
    ck_assert_str_eq(said(KEY, &wrote, &value_state), "");
}
END_TEST

/* Each difference with a word of what is said. */
static const struct {
    const char *key, *value, *word;
} others[] = {
    {"ROW<`k` STRING, `t` STRING>", VALUE, "key: Flink wrote RowDataSerializer("},
    {"ROW<`k` BIGINT>", VALUE, "key: "},
    {"BIGINT", VALUE, "key: Flink wrote LongSerializer, the job has " KEY},
    {KEY, "ROW<`n` BIGINT, `d` DECIMAL(10, 3)>", "value: "},
    {KEY, "ROW<`n` BIGINT, `d` DECIMAL(11, 2)>", "value: "},
    {KEY, "ROW<`d` DECIMAL(10, 2), `n` BIGINT>", "value: "},
    {KEY, "ROW<`n` BIGINT>", "value: "},
    {KEY, "BIGINT", "value: Flink wrote LongSerializer, the job has ROW<"},
};

START_TEST(each_difference_is_named_with_both_sides)
{
    struct flink_state wrote = of_value(others[_i].value);
    const char *text = said(others[_i].key, &wrote, &value_state);

    ck_assert_msg(strstr(text, others[_i].word) != NULL, "said: %s", text);
    ck_assert_msg(strchr(text + 1, '\n') == NULL, "more than one: %s", text);
}
END_TEST

START_TEST(kind_namespace_and_time_to_live_are_part_of_it)
{
    struct state_desc wanted = value_state;
    struct flink_state wrote = of_value(VALUE);

    wrote.type = FLINK_TYPE_LIST;
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "\n  kind: Flink wrote LIST, the job has VALUE");
    wrote.type = FLINK_TYPE_VALUE;
    wrote.namespace = of("BIGINT");
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "\n  namespace: Flink wrote LongSerializer, the job has VOID");
    wanted.namespace_type = "BIGINT";
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "");
    wrote.namespace = NULL;
    wanted.namespace_type = "VOID";
    wanted.ttl_ms = 1000;
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "\n  time-to-live: Flink wrote it without, the job has it with one");
    wrote.value = expiring(VALUE);
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "");
    wanted.ttl_ms = 0;
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "\n  time-to-live: Flink wrote it with one, the job has it without");
}
END_TEST

START_TEST(a_map_fits_by_its_key_and_value)
{
    struct state_desc wanted = value_state;
    struct flink_state wrote = {.name = bytes_of_str("s"), .kind = FLINK_STATE_KEYED, .type = FLINK_TYPE_MAP,
                                .user_key = of("INT"), .user_value = of("BIGINT")};

    wanted.kind = STATE_MAP;
    wanted.user_key_type = "INT";
    wanted.value_type = "BIGINT";
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "");
    wanted.user_key_type = "BIGINT";
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "\n  map key: Flink wrote IntSerializer, the job has BIGINT");
    wrote.type = FLINK_TYPE_VALUE;
    ck_assert_str_eq(said(KEY, &wrote, &wanted), "\n  kind: Flink wrote VALUE, the job has MAP");
}
END_TEST

TEST_MAIN("flink_fit", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, the_same_serializers_fit_whatever_columns_are_called);
          tcase_add_loop_test(tc, each_difference_is_named_with_both_sides, 0, ARRAY_LEN(others));
          tcase_add_test(tc, kind_namespace_and_time_to_live_are_part_of_it);
          tcase_add_test(tc, a_map_fits_by_its_key_and_value);)
