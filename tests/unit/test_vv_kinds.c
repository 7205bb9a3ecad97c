/* links: state */
/* varve_state.h: value, list, map, reducing and aggregating state, walks over keys. */
#include "tests/lib/state_rig.h"

static const char *const backends[] = {"hashmap", "rocksdb"};

static struct tmpdir tmp;
static struct rig rig;
static vv_error error;
static vv_key_builder *builder;

static void setup(void)
{
    tmpdir_make(&tmp);
    ck_assert_vv(vv_key_builder_new(RIG_GROUPS, VV_NS_NONE, &builder, &error));
}

static void teardown(void)
{
    vv_key_builder_free(builder);
    rig_close(&rig);
    tmpdir_remove(&tmp);
}

static void open_rig(int backend)
{
    rig_open(&rig, &tmp, backends[backend], 0, 127, NULL, 0);
}

START_TEST(a_value_is_put_and_cleared)
{
    static const char *const names[] = {"a", "b"};
    vv_keys keys = rig_keys(builder, names, 2);
    vv_bytes values[2] = {BYTES("one"), BYTES("two")}, got[2];
    vv_state *s;

    open_rig(_i);
    s = rig_state(&rig, "v", VV_VALUE, 0, NULL);
    ck_assert_vv(vv_value_put(s, &keys, values, &error));
    values[0] = (vv_bytes){0};
    ck_assert_vv(vv_value_put(s, &keys, values, &error));
    ck_assert_vv(vv_value_get(s, &keys, got, &error));
    ck_assert_ptr_null(got[0].data);
    ck_assert_vv_bytes(got[1], "two");
    ck_assert_vv(vv_clear(s, &keys, &error));
    ck_assert_vv(vv_value_get(s, &keys, got, &error));
    ck_assert_ptr_null(got[1].data);
}
END_TEST

START_TEST(a_list_keeps_its_elements_in_order)
{
    static const char *const names[] = {"a", "b", "a"};
    vv_keys keys = rig_keys(builder, names, 3);
    vv_bytes elements[3] = {BYTES("x,"), BYTES(""), BYTES("z")}, e;
    vv_list lists[3];
    vv_state *s;

    open_rig(_i);
    s = rig_state(&rig, "l", VV_LIST, 0, NULL);
    ck_assert_vv(vv_list_add(s, &keys, elements, &error));
    ck_assert_vv(vv_list_add_all(s, first_key(keys), elements, 2, &error));
    ck_assert_vv(vv_list_get(s, &keys, lists, &error));
    for (int i = 0; i < 4; i++) {
        static const char *const want[] = {"x,", "z", "x,", ""};

        ck_assert_vv(vv_list_next(&lists[0], &e, &error));
        ck_assert_vv_bytes(e, want[i]);
    }
    ck_assert_vv(vv_list_next(&lists[0], &e, &error));
    ck_assert_ptr_null(e.data);
    ck_assert_vv(vv_list_next(&lists[1], &e, &error));
    ck_assert(e.data != NULL && e.len == 0);
    ck_assert_vv(vv_list_put(s, first_key(keys), elements + 2, 1, &error));
    ck_assert_vv(vv_list_get(s, &keys, lists, &error));
    ck_assert_vv(vv_list_next(&lists[0], &e, &error));
    ck_assert_vv_bytes(e, "z");
    ck_assert_vv(vv_list_put(s, first_key(keys), NULL, 0, &error));
    ck_assert_vv(vv_list_get(s, &keys, lists, &error));
    ck_assert_vv(vv_list_next(&lists[0], &e, &error));
    ck_assert_ptr_null(e.data);
}
END_TEST

START_TEST(a_map_is_read_written_and_walked_while_it_changes)
{
    static const char *const names[] = {"a", "a", "b"};
    vv_keys keys = rig_keys(builder, names, 3);
    vv_bytes user_keys[3] = {BYTES("y"), BYTES("x"), BYTES("x")},
             values[3] = {BYTES("1"), {NULL, 0}, BYTES("3")}, k, v;
    vv_map_iter *it;
    uint8_t present[3];
    vv_state *s;
    int empty;

    open_rig(_i);
    s = rig_state(&rig, "m", VV_MAP, 0, NULL);
    ck_assert_vv(vv_map_is_empty(s, first_key(keys), &empty, &error));
    ck_assert_int_eq(empty, 1);
    ck_assert_vv(vv_map_put(s, &keys, user_keys, values, &error));
    ck_assert_vv(vv_map_get(s, &keys, user_keys, values, present, &error));
    ck_assert(present[0] && present[1] && present[2] && values[1].data == NULL);
    ck_assert_vv_bytes(values[2], "3");
    ck_assert_vv(vv_map_iter_new(s, first_key(keys), &it, &error));
    ck_assert_vv(vv_map_iter_next(it, &k, &v, &error));
    ck_assert_vv_bytes(k, "x");
    ck_assert_ptr_null(v.data);
    ck_assert_vv(vv_map_remove(s, &keys, user_keys, &error)); /* while it is walked */
    ck_assert_vv(vv_map_iter_next(it, &k, &v, &error));
    ck_assert_vv_bytes(k, "y");
    ck_assert_vv(vv_map_iter_next(it, &k, &v, &error));
    ck_assert_ptr_null(k.data);
    vv_map_iter_free(it);
    ck_assert_vv(vv_map_is_empty(s, first_key(keys), &empty, &error));
    ck_assert_int_eq(empty, 1);
}
END_TEST

static vv_code join_add(void *ctx, vv_accumulator *acc, int fresh, vv_bytes element, vv_error *e)
{
    struct buf b = {0};
    vv_code code;

    (void)fresh;
    if (element.len == 3) {
        snprintf(e->message, sizeof e->message, "no three bytes for %s", (const char *)ctx);
        return VV_LIMIT;
    }
    buf_append(&b, vv_accumulator_data(acc), vv_accumulator_len(acc));
    buf_append(&b, element.data, element.len);
    code = vv_accumulator_set(acc, b.data, b.len);
    buf_release(&b);
    return code;
}
static vv_code join_merge(void *ctx, vv_accumulator *acc, vv_bytes other, vv_error *e)
{
    return join_add(ctx, acc, 0, other, e);
}
static vv_code in_brackets(void *ctx, vv_bytes acc, vv_accumulator *out, vv_error *e)
{
    struct buf b = {0};
    vv_code code;

    (void)ctx;
    (void)e;
    buf_printf(&b, "[%.*s]", (int)acc.len, (const char *)acc.data);
    code = vv_accumulator_set(out, b.data, b.len);
    buf_release(&b);
    return code;
}
static const vv_functions join = {(void *)(uintptr_t) "join", join_add, join_merge, in_brackets};

START_TEST(an_accumulator_takes_elements_and_merges)
{
    static const char *const names[] = {"a", "b", "a"};
    vv_keys keys = rig_keys(builder, names, 3), b = {1, keys.data, keys.offsets + 1};
    vv_bytes elements[3] = {BYTES("1"), BYTES("22"), BYTES("4444")}, got[3];
    vv_state *s;

    open_rig(_i);
    s = rig_state(&rig, "g", VV_AGGREGATING, 0, &join);
    ck_assert_vv(vv_acc_add(s, &keys, elements, &error));
    ck_assert_vv(vv_acc_get(s, &keys, got, &error));
    ck_assert_vv_bytes(got[0], "[14444]");
    ck_assert_vv_bytes(got[1], "[22]");
    ck_assert_vv(vv_merge(s, first_key(keys), &b, &error));
    ck_assert_vv(vv_acc_get(s, &keys, got, &error));
    ck_assert_vv_bytes(got[0], "[1444422]");
    ck_assert_ptr_null(got[1].data);
    elements[1] = BYTES("333");
    ck_assert_vv_code(vv_acc_add(s, &keys, elements, &error), VV_LIMIT, "no three bytes for join");
}
END_TEST

static vv_code sum_add(void *ctx, vv_accumulator *acc, int fresh, vv_bytes element, vv_error *e)
{
    uint8_t *p = vv_accumulator_data(acc);

    (void)ctx;
    (void)e;
    ck_assert_uint_eq(vv_accumulator_len(acc), 8);
    ck_assert(!fresh); /* a reducing state's first is taken */
    ck_assert_int_eq(vv_accumulator_set(acc, "short", 5), VV_INVALID); /* the size is fixed */
    put_be64(p, get_be64(p) + get_be64(element.data));
    return VV_OK;
}
static vv_code sum_merge(void *ctx, vv_accumulator *acc, vv_bytes other, vv_error *e)
{
    return sum_add(ctx, acc, 0, other, e);
}

START_TEST(a_reducing_state_of_fixed_size_changes_in_place)
{
    static const char *const names[] = {"a", "a", "a", "b"};
    static const vv_functions sum = {NULL, sum_add, sum_merge, NULL};
    vv_keys keys = rig_keys(builder, names, 4), b = {1, keys.data, keys.offsets + 3};
    uint8_t numbers[4][8];
    vv_bytes elements[4], got[4];
    vv_state *s;

    open_rig(_i);
    s = rig_state(&rig, "r", VV_REDUCING, 8, &sum);
    for (uint64_t i = 0; i < 4; i++) {
        put_be64(numbers[i], 10 + i);
        elements[i] = (vv_bytes){numbers[i], 8};
    }
    ck_assert_vv(vv_acc_add(s, &keys, elements, &error));
    ck_assert_vv(vv_merge(s, first_key(keys), &b, &error));
    ck_assert_vv(vv_acc_get(s, &keys, got, &error));
    ck_assert_uint_eq(get_be64(got[0].data), 10 + 11 + 12 + 13);
    ck_assert_ptr_null(got[3].data);
}
END_TEST

/* A JVM keeps its functions to itself: bytes in and out. */
START_TEST(without_functions_a_reducing_state_is_raw)
{
    static const char *const names[] = {"a"};
    static const vv_functions half = {NULL, join_add, NULL, NULL};
    vv_state_desc wrong = {.name = "w", .kind = VV_VALUE, .functions = &join};
    vv_keys keys = rig_keys(builder, names, 1);
    vv_bytes value = BYTES("acc"), got;
    vv_state *s, *none;

    open_rig(_i);
    s = rig_state(&rig, "r", VV_REDUCING, 0, NULL);
    ck_assert_vv(vv_raw_put(s, &keys, &value, &error));
    ck_assert_vv(vv_raw_get(s, &keys, &got, &error));
    ck_assert_vv_bytes(got, "acc");
    ck_assert_vv_code(vv_acc_get(s, &keys, &got, &error), VV_INVALID, "without functions");
    ck_assert_vv(vv_clear(s, &keys, &error));
    ck_assert_vv_code(vv_state_open(rig.store, &wrong, &none, &error), VV_INVALID, "functions are");
    wrong.kind = VV_AGGREGATING;
    wrong.functions = &half;
    ck_assert_vv_code(vv_state_open(rig.store, &wrong, &none, &error), VV_INVALID, "merge is NULL");
}
END_TEST

START_TEST(each_call_is_for_its_kind)
{
    static const char *const names[] = {"a"};
    static const struct {
        const char *name;
        vv_kind kind;
    } kinds[] = {{"v", VV_VALUE}, {"l", VV_LIST}, {"m", VV_MAP}, {"g", VV_AGGREGATING}};
    vv_keys keys = rig_keys(builder, names, 1);
    vv_bytes b = BYTES("x"), got;
    vv_map_iter *it;
    vv_list list;
    uint8_t present;
    int empty;

    open_rig(_i);
    for (int i = 0; i < 4; i++) {
        vv_kind kind = kinds[i].kind;
        vv_state *s =
            rig_state(&rig, kinds[i].name, kind, 0, kind == VV_AGGREGATING ? &join : NULL);

#define FOR_KIND(want, call) ck_assert_int_eq((call), kind == (want) ? VV_OK : VV_INVALID)
        FOR_KIND(VV_VALUE, vv_value_put(s, &keys, &b, &error));
        FOR_KIND(VV_VALUE, vv_value_get(s, &keys, &got, &error));
        FOR_KIND(VV_LIST, vv_list_add(s, &keys, &b, &error));
        FOR_KIND(VV_LIST, vv_list_add_all(s, first_key(keys), &b, 1, &error));
        FOR_KIND(VV_LIST, vv_list_put(s, first_key(keys), &b, 1, &error));
        FOR_KIND(VV_LIST, vv_list_get(s, &keys, &list, &error));
        FOR_KIND(VV_MAP, vv_map_put(s, &keys, &b, &b, &error));
        FOR_KIND(VV_MAP, vv_map_get(s, &keys, &b, &got, &present, &error));
        FOR_KIND(VV_MAP, vv_map_remove(s, &keys, &b, &error));
        FOR_KIND(VV_MAP, vv_map_is_empty(s, first_key(keys), &empty, &error));
        FOR_KIND(VV_MAP, vv_map_iter_new(s, first_key(keys), &it, &error));
        vv_map_iter_free(it);
        FOR_KIND(VV_AGGREGATING, vv_acc_add(s, &keys, &b, &error));
        FOR_KIND(VV_AGGREGATING, vv_acc_get(s, &keys, &got, &error));
#undef FOR_KIND
    }
}
END_TEST

START_TEST(keys_are_walked_by_namespace)
{
    vv_state_desc desc = {.name = "w", .kind = VV_MAP, .ns = VV_NS_INT64};
    vv_bytes keys[8], value = BYTES("v");
    vv_key_builder *windows;
    vv_key_iter *it;
    uint8_t ns[8];
    uint32_t got, seen = 0;
    vv_state *s;

    open_rig(_i);
    ck_assert_vv(vv_state_open(rig.store, &desc, &s, &error));
    ck_assert_vv(vv_key_builder_new(RIG_GROUPS, VV_NS_INT64, &windows, &error));
    for (uint32_t i = 0; i < 12; i++) { /* 6 keys with two entries each, in 2 windows */
        uint8_t key = (uint8_t)(i / 2);
        vv_bytes k = {&key, 1};
        vv_keys batch;

        vv_key_builder_clear(windows);
        ck_assert_vv(vv_key_builder_add_int64(windows, vv_key_group(k, RIG_GROUPS), k, i / 2 % 2,
                                              (vv_bytes){0}, &error));
        batch = vv_key_builder_keys(windows);
        ck_assert_vv(vv_map_put(s, &batch, i % 2 == 0 ? &value : &k, &value, &error));
    }
    put_be64(ns, 1);
    ck_assert_vv(vv_key_iter_new(s, (vv_bytes){ns, 8}, 0, 127, &it, &error));
    do {
        ck_assert_vv(vv_key_iter_next(it, 2, keys, &got, &error));
        seen += got;
        for (uint32_t i = 0; i < got; i++) {
            vv_key_parts parts;

            ck_assert_vv(vv_key_split(keys[i], RIG_GROUPS, VV_NS_INT64, &parts, &error));
            ck_assert_int_eq(parts.ns_int64, 1);
            ck_assert_int_eq(parts.key.data[0] % 2, 1);
        }
    } while (got > 0);
    ck_assert_uint_eq(seen, 3);
    vv_key_iter_free(it);
    vv_key_builder_free(windows);
    ck_assert_vv_code(vv_key_iter_new(s, (vv_bytes){0}, 0, 128, &it, &error), VV_INVALID, "0..128");
    ck_assert_vv_code(vv_key_iter_new(s, (vv_bytes){0}, 2, 1, &it, &error), VV_INVALID, "2..1");
    ck_assert_vv_code(vv_key_iter_new(s, (vv_bytes){NULL, 1}, 0, 1, &it, &error), VV_INVALID, "ns");
    ck_assert_vv_code(vv_key_iter_new(NULL, (vv_bytes){0}, 0, 1, &it, &error), VV_INVALID, "state");
}
END_TEST

START_TEST(kinds_refuse_what_is_missing)
{
    static const char *const names[] = {"a"};
    vv_keys keys = rig_keys(builder, names, 1), empty = {0};
    vv_bytes b = BYTES("x"), null = {0}, first = first_key(keys);
    vv_state *l, *m, *g;
    vv_map_iter *it;

    open_rig(0);
    l = rig_state(&rig, "l", VV_LIST, 0, NULL);
    m = rig_state(&rig, "m", VV_MAP, 0, NULL);
    g = rig_state(&rig, "g", VV_AGGREGATING, 0, &join);
#define INVALID(call, part) ck_assert_vv_code(call, VV_INVALID, part)
    INVALID(vv_clear(NULL, &keys, &error), "state is NULL");
    INVALID(vv_value_get(NULL, &keys, &b, &error), "state is NULL");
    INVALID(vv_value_get(rig.counts, &keys, NULL, &error), "values is NULL");
    INVALID(vv_value_put(rig.counts, &keys, NULL, &error), "values is NULL");
    INVALID(vv_value_upsert(rig.counts, &keys, NULL, NULL, &error), "rows is NULL");
    INVALID(vv_list_add(l, &keys, NULL, &error), "elements is NULL");
    INVALID(vv_list_add(l, &keys, &null, &error), "elements[0] is NULL");
    INVALID(vv_list_add_all(l, first, NULL, 1, &error), "elements is NULL");
    INVALID(vv_list_put(l, null, &b, 1, &error), "without data");
    INVALID(vv_list_get(l, &keys, NULL, &error), "lists is NULL");
    INVALID(vv_list_next(NULL, &b, &error), "list is NULL");
    INVALID(vv_map_get(m, &keys, NULL, &b, NULL, &error), "user_keys is NULL");
    INVALID(vv_map_get(m, &keys, &b, NULL, NULL, &error), "values and present are NULL");
    INVALID(vv_map_put(m, &keys, &b, NULL, &error), "values is NULL");
    INVALID(vv_map_put(m, &keys, NULL, &b, &error), "user_keys is NULL");
    INVALID(vv_map_remove(m, &keys, NULL, &error), "user_keys is NULL");
    INVALID(vv_map_is_empty(m, first, NULL, &error), "empty is NULL");
    INVALID(vv_map_iter_new(m, first, NULL, &error), "out is NULL");
    INVALID(vv_map_iter_new(m, null, &it, &error), "without data");
    INVALID(vv_map_iter_next(NULL, &b, &b, &error), "iter is NULL");
    INVALID(vv_acc_add(g, &keys, NULL, &error), "elements is NULL");
    INVALID(vv_acc_get(g, &keys, NULL, &error), "results is NULL");
    INVALID(vv_merge(g, null, &keys, &error), "without data");
    INVALID(vv_merge(g, first, NULL, &error), "is NULL");
    INVALID(vv_merge(m, first, &(vv_keys){1, (const uint8_t *)"\x01", (uint32_t[]){0, 1}}, &error),
            "");
#undef INVALID
    ck_assert_vv(vv_list_add(l, &empty, NULL, &error));
    ck_assert_vv(vv_acc_add(g, &empty, NULL, &error));
    ck_assert_vv(vv_map_put(m, &empty, NULL, NULL, &error));
    ck_assert_int_eq(vv_accumulator_set(NULL, "", 0), VV_INVALID);
    ck_assert_ptr_null(vv_accumulator_data(NULL));
    vv_map_iter_free(NULL);
    vv_key_iter_free(NULL);
}
END_TEST

TEST_MAIN("vv_kinds", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_value_is_put_and_cleared, 0, 2);
    tcase_add_loop_test(tc, a_list_keeps_its_elements_in_order, 0, 2);
    tcase_add_loop_test(tc, a_map_is_read_written_and_walked_while_it_changes, 0, 2);
    tcase_add_loop_test(tc, an_accumulator_takes_elements_and_merges, 0, 2);
    tcase_add_loop_test(tc, a_reducing_state_of_fixed_size_changes_in_place, 0, 2);
    tcase_add_loop_test(tc, without_functions_a_reducing_state_is_raw, 0, 2);
    tcase_add_loop_test(tc, each_call_is_for_its_kind, 0, 2);
    tcase_add_loop_test(tc, keys_are_walked_by_namespace, 0, 2);
    tcase_add_test(tc, kinds_refuse_what_is_missing);
})
