/* Which keys are named as the hottest, and that no key is named that is not (B43). */
#include "job/operator/hot_keys.h"
#include "tests/lib/check_ext.h"

#define GROUPS 128u
#define BATCH 512u

static struct group_key key;
static struct hot_keys hot;
static struct hot_view view;
static struct schema_field fields[] = {{.name = "k", .type = {.kind = TYPE_VARCHAR, .nullable = true}}};
static struct schema schema = {.field_count = 1, .fields = fields, .rowtime = -1};
static const uint32_t columns[] = {0};

static void open_as(enum key_namespace ns)
{
    group_key_init(&key, &schema, columns, 1, GROUPS, ns);
    hot_keys_init(&hot, &key);
}
static void setup(void)
{
    open_as(KEY_NS_VOID);
}
static void teardown(void)
{
    hot_keys_release(&hot);
    group_key_release(&key);
}

/* Rows whose key is the text that `name` writes, `rows` of them, in batches. */
enum feeding { AS_THEY_COME, IN_WINDOWS, EVERY_ROW_LOOKED_AT };
static void feed(uint32_t rows, void (*name)(uint32_t row, char *out), enum feeding how)
{
    struct batch_builder *b = batch_builder_new(&schema);
    int64_t times[BATCH];
    char text[200];

    for (uint32_t from = 0; from < rows; from += BATCH) {
        struct key_batch keys;
        struct err err;

        batch_builder_clear(b);
        for (uint32_t i = 0; i < BATCH; i++) {
            name(from + i, text);
            batch_append_bytes(b, 0, bytes_of_str(text));
            batch_row_end(b, ROW_INSERT);
            times[i] = from + i; /* each row in a window of its own */
        }
        ck_assert_ok(row_key_keys(key.rows, batch_builder_view(b), NULL, 0, BATCH,
                                  how == IN_WINDOWS ? times : NULL, &keys, &err));
        for (uint32_t i = 0; how == EVERY_ROW_LOOKED_AT && i < BATCH; i++) {
            hot.skip = 0;
            hot_keys_see(&hot, &(struct key_batch){1, keys.data, keys.offsets + i});
        }
        if (how != EVERY_ROW_LOOKED_AT)
            hot_keys_see(&hot, &keys);
    }
    batch_builder_free(b);
    hot_keys_view(&hot, &view);
}

static void one_in_three(uint32_t row, char *out)
{
    snprintf(out, 40, row % 3 == 0 ? "hot" : "cold-%u", row);
}
static void all_different(uint32_t row, char *out)
{
    snprintf(out, 40, "k%u", row);
}
static void one_long(uint32_t row, char *out)
{
    (void)row;
    snprintf(out, 200, "\xc3\xa4%.*s", 150, "0123456789012345678901234567890123456789012345678901234567890123456789"
                                            "0123456789012345678901234567890123456789012345678901234567890123456789");
}

START_TEST(a_hot_key_and_its_group_are_named_with_their_share)
{
    feed(1u << 20, one_in_three, AS_THEY_COME);
    ck_assert_uint_gt(view.samples, 800);
    ck_assert_uint_lt(view.samples, 1250);
    ck_assert_str_eq(view.keys[0].text, "(k = hot)");
    ck_assert_msg(view.keys[0].share > 0.25 && view.keys[0].share < 0.40, "%f", view.keys[0].share);
    ck_assert_uint_eq(view.groups[0].group, view.keys[0].group);
    ck_assert(view.groups[0].share >= view.keys[0].share);
    ck_assert_ptr_eq(hot_view_key(&view), &view.keys[0]);
    ck_assert_ptr_null(hot_view_group(&view, GROUPS)); /* hot by that key alone */
}
END_TEST

START_TEST(a_hot_key_in_windows_is_one_key)
{
    teardown();
    open_as(KEY_NS_BIGINT);
    feed(1u << 20, one_in_three, IN_WINDOWS);
    ck_assert_str_eq(view.keys[0].text, "(k = hot)");
    ck_assert_msg(view.keys[0].share > 0.25 && view.keys[0].share < 0.40, "%f", view.keys[0].share);
}
END_TEST

START_TEST(of_even_keys_none_is_named)
{
    feed(1u << 21, all_different, AS_THEY_COME);
    ck_assert_uint_gt(view.samples, 1600);
    ck_assert_uint_eq(view.key_count, 0);
    ck_assert_uint_eq(view.group_count, HOT_SHOWN);
    ck_assert(view.groups[0].share < 0.03);
    ck_assert_ptr_null(hot_view_key(&view));
    ck_assert_ptr_null(hot_view_group(&view, GROUPS));
}
END_TEST

/* 3 x 2^17 rows that are looked at: 400 million of a job. */
START_TEST(what_was_hot_long_ago_is_forgotten)
{
    feed(1u << 14, one_in_three, EVERY_ROW_LOOKED_AT);
    ck_assert_str_eq(view.keys[0].text, "(k = hot)");
    feed(3u << 17, all_different, EVERY_ROW_LOOKED_AT);
    ck_assert_msg(view.key_count == 0 || view.keys[0].share < 0.01, "%f", view.keys[0].share);
    ck_assert_uint_le(view.samples, 1u << 16);
}
END_TEST

START_TEST(a_long_text_is_cut_between_characters)
{
    feed(1u << 18, one_long, AS_THEY_COME);
    ck_assert_uint_eq(view.key_count, 1);
    ck_assert_uint_lt(strlen(view.keys[0].text), HOT_TEXT_MAX);
    ck_assert_msg(strncmp(view.keys[0].text, "(k = \xc3\xa4" "0123", 10) == 0, "%s", view.keys[0].text);
    ck_assert_str_eq(view.keys[0].text + strlen(view.keys[0].text) - 3, "...");
}
END_TEST

START_TEST(subtasks_are_added_by_their_rows)
{
    struct hot_view a = {.samples = 900, .key_count = 1, .group_count = 1},
                    b = {.samples = 100, .key_count = 1, .group_count = 1}, sum = {0};

    a.keys[0] = (struct hot_key){0.1, 3, "(k = a)"};
    a.groups[0] = (struct hot_group){0.4, 3};
    b.keys[0] = (struct hot_key){0.8, 100, "(k = b)"};
    b.groups[0] = (struct hot_group){0.8, 100};
    hot_view_add(&sum, &b, 1000, 10000);
    hot_view_add(&sum, &a, 9000, 10000);
    ck_assert_uint_eq(sum.samples, 1000);
    ck_assert_str_eq(sum.keys[0].text, "(k = a)");
    ck_assert_double_eq_tol(sum.keys[0].share, 0.09, 1e-9);
    ck_assert_double_eq_tol(sum.keys[1].share, 0.08, 1e-9);
    ck_assert_ptr_eq(hot_view_key(&sum), &sum.keys[0]);
    ck_assert_ptr_eq(hot_view_group(&sum, GROUPS), &sum.groups[0]); /* 0.36, of it 0.09 by the key */
}
END_TEST

TEST_MAIN("hot_keys", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_hot_key_and_its_group_are_named_with_their_share);
    tcase_add_test(tc, a_hot_key_in_windows_is_one_key);
    tcase_add_test(tc, of_even_keys_none_is_named);
    tcase_add_test(tc, what_was_hot_long_ago_is_forgotten);
    tcase_add_test(tc, a_long_text_is_cut_between_characters);
    tcase_add_test(tc, subtasks_are_added_by_their_rows);
})
