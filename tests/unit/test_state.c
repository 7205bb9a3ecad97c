/* links: backend */
/* Each kind of state over both backends: what is seen, and the bytes that lie in the store. */
#include "backend/state.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/tmpdir.h"

#define GROUPS 128u

static struct tmpdir tmp;
static struct arena *arena;
static struct dir_target target;
static struct sim_clock sim;
static struct env env;
static struct keyed_backend *backend;
static const struct keyed_handle *restore_from; /* of the next open_state */
static uint64_t memory_bytes;
static struct key_builder keys;
static struct err err;
static enum rc rc;

static void setup(void)
{
    tmpdir_make(&tmp);
    arena = arena_new(0);
    dir_target_init(&target, fs_posix(), tmp.path);
    memory_bytes = 0;
    restore_from = NULL;
    sim_clock_init(&sim, 1000000);
    env = *dir_target_env();
    env.clock = &sim.clock;
    err = (struct err){0};
    backend = NULL;
}

static void teardown(void)
{
    keyed_backend_close(backend);
    key_builder_release(&keys);
    dir_target_release(&target);
    arena_free(arena);
    tmpdir_remove(&tmp);
}

static const enum backend_kind kinds[] = {BACKEND_HASHMAP, BACKEND_ROCKSDB};


static struct state *open_state(int kind, const struct state_desc *desc,
                                const struct state_options *options)
{
    struct keyed_backend_config config = {.env = &env,
                                          .kind = kinds[kind],
                                          .range = {0, GROUPS - 1},
                                          .key_group_count = GROUPS,
                                          .local_dir = tmpdir_at(&tmp, "db"),
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "test",
                                          .memory_bytes = memory_bytes,
                                          .max_open_files = -1,
                                          .restore_count = restore_from != NULL,
                                          .restore = restore_from,
                                          .restore_operator = "test"};
    struct state *s;

    if (backend == NULL) {
        ck_assert_ok(keyed_backend_open(&config, &backend, &err));
        key_builder_init(&keys, GROUPS, KEY_NS_BYTES);
    }
    ck_assert_ok(state_open(backend, desc, options, &s, &err));
    return s;
}

/* A key in the arena; its group is its first byte. */
static struct bytes key(const char *name, const char *ns)
{
    struct key_batch k;

    key_builder_clear(&keys);
    ck_assert_ok(key_builder_add_ns(&keys, (uint8_t)name[0] % GROUPS, bytes_of_str(name),
                                    bytes_of_str(ns), (struct bytes){0}, &err));
    k = key_builder_batch(&keys);
    return arena_bytes_copy(arena, key_batch_at(&k, 0));
}

static struct key_batch one(struct bytes k)
{
    return key_batch_one(k, arena_calloc(arena, 2, sizeof(uint32_t)));
}

/* The raw row of a key, as hex. */
static const char *stored(struct state *s, struct bytes k)
{
    struct key_batch batch = one(k);
    struct bytes value;
    char *hex;

    ck_assert_ok(keyed_get(state_rows(s), &batch, &value, &err));
    if (value.data == NULL)
        return "none";
    hex = arena_alloc(arena, 2 * value.len + 1);
    hex[0] = 0;
    for (size_t i = 0; i < value.len; i++)
        snprintf(hex + 2 * i, 3, "%02x", value.data[i]);
    return hex;
}

static struct state_desc desc_of_kind(enum state_kind kind, uint32_t fixed)
{
    return (struct state_desc){.name = "s",
                               .kind = kind,
                               .key_type = "BYTES",
                               .namespace_type = "BYTES",
                               .user_key_type = kind == STATE_MAP ? "BYTES" : "",
                               .value_type = "BYTES",
                               .fixed_value_bytes = fixed,
                               .operand_operator = ""};
}

/* ---- value ----------------------------------------------------------------------------------- */

static const char *value_of(struct state *s, struct bytes k)
{
    struct key_batch batch = one(k);
    struct bytes v;

    ck_assert_ok(state_value_get(s, &batch, &v, &err));
    return v.data == NULL ? "none" : arena_strndup(arena, (const char *)v.data, v.len);
}

static void put_value(struct state *s, struct bytes k, const char *v)
{
    struct key_batch batch = one(k);
    struct bytes value = v == NULL ? (struct bytes){0} : bytes_of_str(v);

    ck_assert_ok(state_value_put(s, &batch, &value, &err));
}

START_TEST(values_are_kept_by_key_and_namespace)
{
    struct state_desc d = desc_of_kind(STATE_VALUE, 0);
    struct state *s = open_state(_i, &d, NULL);
    struct key_batch batch;

    put_value(s, key("a", "y"), ""); /* first, when nothing has memory yet */
    put_value(s, key("a", "x"), "1");
    ck_assert_str_eq(value_of(s, key("a", "x")), "1");
    ck_assert_str_eq(value_of(s, key("a", "y")), "");
    ck_assert_str_eq(value_of(s, key("a", "")), "none");
    ck_assert_str_eq(stored(s, key("a", "x")), "31");
    put_value(s, key("a", "x"), NULL);
    ck_assert_str_eq(value_of(s, key("a", "x")), "none");
    batch = one(key("a", "y"));
    ck_assert_ok(state_clear(s, &batch, &err));
    ck_assert_str_eq(value_of(s, key("a", "y")), "none");
    state_close(s);
}
END_TEST

/* An aggregate's row: changed where it lies. */
START_TEST(fixed_values_change_in_place)
{
    struct state_desc d = desc_of_kind(STATE_VALUE, 8);
    struct state *s = open_state(_i, &d, NULL);
    struct key_batch batch = one(key("a", ""));
    struct bytes value;
    uint8_t fresh;
    void *row;

    for (int i = 0; i < 3; i++) {
        ck_assert_ok(state_upsert(s, &batch, &row, &fresh, &err));
        ck_assert_int_eq(fresh, i == 0);
        put_be64(row, get_be64(row) + 5);
    }
    ck_assert_str_eq(stored(s, key("a", "")), "000000000000000f");
    value = bytes_of_str("short");
    ck_assert_rc_msg(state_value_put(s, &batch, &value, &err), RC_INVALID, "5 bytes");
    state_close(s);
}
END_TEST

/* ---- list ------------------------------------------------------------------------------------ */

/* The elements with a '|' behind each; "none" for no list. */
static const char *list_of(struct state *s, struct bytes k)
{
    struct key_batch batch = one(k);
    struct state_list l;
    struct bytes e;
    struct buf text = {0};
    const char *out;

    ck_assert_ok(state_list_get(s, &batch, &l, &err));
    if (l.rest.data == NULL)
        return "none";
    while (state_list_next(&l, &e, &rc, &err)) {
        buf_append(&text, e.data, e.len);
        buf_append_u8(&text, '|');
    }
    ck_assert_msg(rc == RC_OK, "%s", err.msg);
    out = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

static void add(struct state *s, struct bytes k, const char *element)
{
    struct key_batch batch = one(k);
    struct bytes e = bytes_of_str(element);

    ck_assert_ok(state_list_add(s, &batch, &e, &err));
}

/* Elements 0, 1, 2, .. in their first 8 bytes. */
static void check_numbers(struct state *s, struct bytes k, uint64_t count)
{
    struct key_batch batch = one(k);
    struct state_list l;
    struct bytes e;
    uint64_t n = 0;

    ck_assert_ok(state_list_get(s, &batch, &l, &err));
    for (; state_list_next(&l, &e, &rc, &err); n++)
        if (get_le64(e.data) != n)
            ck_abort_msg("element %llu is %llu", (unsigned long long)n,
                         (unsigned long long)get_le64(e.data));
    ck_assert_int_eq(rc, RC_OK);
    ck_assert_uint_eq(n, count);
}

static void snapshot(uint64_t id, struct keyed_handle *h)
{
    struct keyed_snapshot *s;

    ck_assert_ok(keyed_snapshot_begin(backend, id, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, h, &err));
    keyed_snapshot_free(s);
    keyed_notify_complete(backend, id);
    dir_target_resolve(&target, arena, h);
}

START_TEST(lists_grow_and_keep_their_elements_apart)
{
    struct state_desc d = desc_of_kind(STATE_LIST, 0);
    struct state *s = open_state(_i, &d, NULL);
    struct bytes elements[] = {bytes_of_str("p"), bytes_of_str("q,r")};

    ck_assert_str_eq(list_of(s, key("a", "")), "none");
    add(s, key("a", ""), "y,z");
    add(s, key("a", ""), "");
    add(s, key("a", "n"), "other");
    ck_assert_str_eq(list_of(s, key("a", "")), "y,z||");
    ck_assert_str_eq(stored(s, key("a", "")), "00000003792c7a2c00000000");
    ck_assert_ok(state_list_add_all(s, key("a", ""), elements, 2, &err));
    ck_assert_str_eq(list_of(s, key("a", "")), "y,z||p|q,r|");
    ck_assert_ok(state_list_put(s, key("a", ""), elements, 2, &err));
    ck_assert_str_eq(list_of(s, key("a", "")), "p|q,r|");
    ck_assert_ok(state_list_put(s, key("a", ""), NULL, 0, &err));
    ck_assert_str_eq(list_of(s, key("a", "")), "none");
    ck_assert_str_eq(list_of(s, key("a", "n")), "other|");
    state_close(s);
}
END_TEST

START_TEST(elements_of_fixed_size_stand_bare)
{
    struct state_desc d = desc_of_kind(STATE_LIST, 2);
    struct state *s = open_state(_i, &d, NULL);
    struct key_batch batch = one(key("a", ""));
    struct bytes e = bytes_of_str("abc");

    add(s, key("a", ""), ",,");
    add(s, key("a", ""), "ab");
    ck_assert_str_eq(stored(s, key("a", "")), "2c2c2c6162");
    ck_assert_str_eq(list_of(s, key("a", "")), ",,|ab|");
    ck_assert_rc_msg(state_list_add(s, &batch, &e, &err), RC_INVALID, "3 bytes");
    state_close(s);
}
END_TEST

/* B44: 200,000 elements of 1 KB under one key, far more than the memory that the backend is given;
 * read, in a checkpoint, restored, read. */
START_TEST(a_list_of_200_megabytes)
{
    enum { COUNT = 200000, BATCH = 500, LEN = 1000 };
    struct state_desc d = desc_of_kind(STATE_LIST, LEN);
    struct keyed_handle h;
    struct state *s;
    struct key_builder b;
    struct key_batch batch;
    struct bytes elements[BATCH];
    uint8_t *data = arena_calloc(arena, BATCH, LEN);
    struct bytes k;

    memory_bytes = 1 << 30;
    s = open_state(_i, &d, NULL);
    k = key("a", "");
    key_builder_init(&b, GROUPS, KEY_NS_BYTES);
    for (int i = 0; i < BATCH; i++) {
        ck_assert_ok(key_builder_add_raw(&b, k, &err));
        elements[i] = bytes_of(data + i * LEN, LEN);
    }
    batch = key_builder_batch(&b);
    for (uint64_t n = 0; n < COUNT; n += BATCH) {
        for (int i = 0; i < BATCH; i++)
            put_le64(data + i * LEN, n + (uint64_t)i);
        if (state_list_add(s, &batch, elements, &err) != RC_OK)
            ck_abort_msg("%s", err.msg);
        if (n == COUNT / 2) /* one in the middle, too */
            snapshot(1, &h);
    }
    check_numbers(s, k, COUNT);
    snapshot(2, &h);
    state_close(s);
    keyed_backend_close(backend);
    backend = NULL;
    key_builder_release(&keys);
    restore_from = &h;
    s = open_state(_i, &d, NULL);
    check_numbers(s, k, COUNT);
    key_builder_release(&b);
    state_close(s);
}
END_TEST

START_TEST(a_list_at_its_limit_says_so_when_written)
{
    struct state_desc d = desc_of_kind(STATE_LIST, 0);
    struct state_options o = {.value_bytes_max = 20};
    struct state *s = open_state(_i, &d, &o);
    struct key_batch batch = one(key("the key", ""));
    struct bytes e = bytes_of_str("123456");

    add(s, key("the key", ""), "12345");
    add(s, key("the key", ""), "12345"); /* 19 bytes with sizes and a ',' */
    ck_assert_rc_msg(state_list_add(s, &batch, &e, &err), RC_LIMIT,
                     "state s, list of key group 116, key \"the key\", namespace \"\" (BYTES): 19 bytes and "
                     "10 more exceed 20");
    ck_assert_str_eq(list_of(s, key("the key", "")), "12345|12345|");
    e = bytes_of_str("a single element of more than that");
    ck_assert_rc_msg(state_list_put(s, key("b", ""), &e, 1, &err), RC_LIMIT, "\"b\"");
    state_close(s);
}
END_TEST

/* ---- map ------------------------------------------------------------------------------------- */

static void map_put(struct state *s, struct bytes k, const char *user, const char *v)
{
    struct key_batch batch = one(k);
    struct bytes user_key = bytes_of_str(user);
    struct bytes value = v == NULL ? (struct bytes){0} : bytes_of_str(v);

    ck_assert_ok(state_map_put(s, &batch, &user_key, &value, &err));
}

static const char *map_get(struct state *s, struct bytes k, const char *user)
{
    struct key_batch batch = one(k);
    struct bytes user_key = bytes_of_str(user), v;
    uint8_t present;

    ck_assert_ok(state_map_get(s, &batch, &user_key, &v, &present, &err));
    return !present         ? "none"
           : v.data == NULL ? "null"
                            : arena_strndup(arena, (const char *)v.data, v.len);
}

static const char *map_text(struct state *s, struct bytes k)
{
    struct state_map_iter *it = state_map_iter_new(s, k);
    struct bytes user, v;
    struct buf text = {0};
    const char *out;

    while (state_map_iter_next(it, &user, &v, &rc, &err)) {
        buf_append(&text, user.data, user.len);
        buf_append_u8(&text, '=');
        buf_append(&text, v.data, v.len);
        buf_append_u8(&text, ' ');
    }
    ck_assert_msg(rc == RC_OK, "%s", err.msg);
    state_map_iter_free(it);
    out = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

START_TEST(maps_hold_entries_and_nulls)
{
    struct state_desc d = desc_of_kind(STATE_MAP, 0);
    struct state *s = open_state(_i, &d, NULL);
    struct key_batch batch = one(key("a", ""));
    struct bytes user = bytes_of_str("u2");
    bool empty;

    ck_assert_ok(state_map_is_empty(s, key("a", ""), &empty, &err));
    ck_assert(empty);
    map_put(s, key("a", ""), "u2", "two");
    map_put(s, key("a", ""), "u1", NULL);
    map_put(s, key("a", "n"), "u9", "");
    ck_assert_str_eq(map_get(s, key("a", ""), "u2"), "two");
    ck_assert_str_eq(map_get(s, key("a", ""), "u1"), "null");
    ck_assert_str_eq(map_get(s, key("a", ""), "u9"), "none");
    ck_assert_str_eq(map_get(s, key("a", "n"), "u9"), "");
    ck_assert_str_eq(map_text(s, key("a", "")), "u1= u2=two ");
    ck_assert_ok(state_map_remove(s, &batch, &user, &err));
    ck_assert_str_eq(map_text(s, key("a", "")), "u1= ");
    ck_assert_ok(state_clear(s, &batch, &err));
    ck_assert_ok(state_map_is_empty(s, key("a", ""), &empty, &err));
    ck_assert(empty);
    ck_assert_str_eq(map_text(s, key("a", "n")), "u9= ");
    state_close(s);
}
END_TEST

/* Between pages nothing is held: entries may come and go while one iterates. */
START_TEST(a_map_changes_while_it_is_iterated)
{
    struct state_desc d = desc_of_kind(STATE_MAP, 0);
    struct state *s = open_state(_i, &d, NULL);
    struct key_batch batch = one(key("a", ""));
    struct state_map_iter *it;
    struct bytes user, v;
    int seen = 0;

    for (int i = 0; i < 1000; i++)
        map_put(s, key("a", ""), arena_printf(arena, "%04d", i), "v");
    it = state_map_iter_new(s, key("a", ""));
    while (state_map_iter_next(it, &user, &v, &rc, &err)) {
        char *name = arena_strndup(arena, (const char *)user.data, user.len);

        if (name[0] == '0') { /* those that were there, in order, each once */
            ck_assert_str_eq(name, arena_printf(arena, "%04d", seen));
            seen++;
        }
        user = bytes_of_str(name);
        ck_assert_ok(state_map_remove(s, &batch, &user, &err));
        map_put(s, key("a", ""), arena_printf(arena, "-%s", name), "behind");
        map_put(s, key("b", ""), name, "elsewhere");
    }
    ck_assert_msg(rc == RC_OK, "%s", err.msg);
    ck_assert_int_eq(seen, 1000);
    state_map_iter_free(it);
    state_close(s);
}
END_TEST

/* ---- reducing, aggregating ------------------------------------------------------------------- */

static enum rc add_number(void *ctx, struct buf *acc, bool fresh, struct bytes e, struct err *er)
{
    (void)ctx, (void)fresh;
    if (get_be64(e.data) == 13)
        return err_set(er, RC_INVALID, "thirteen");
    put_be64(acc->data, get_be64(acc->data) + get_be64(e.data));
    return RC_OK;
}

static enum rc merge_number(void *ctx, struct buf *acc, struct bytes other, struct err *er)
{
    return add_number(ctx, acc, false, other, er);
}

static enum rc number_text(void *ctx, struct bytes acc, struct buf *out, struct err *er)
{
    (void)ctx, (void)er;
    buf_printf(out, "<%llu>", (unsigned long long)get_be64(acc.data));
    return RC_OK;
}

/* Text accumulators of any size: joined with '+'. */
static enum rc add_text(void *ctx, struct buf *acc, bool fresh, struct bytes e, struct err *er)
{
    (void)ctx, (void)er;
    if (!fresh)
        buf_append_u8(acc, '+');
    buf_append(acc, e.data, e.len);
    return RC_OK;
}

static enum rc merge_text(void *ctx, struct buf *acc, struct bytes other, struct err *er)
{
    return add_text(ctx, acc, false, other, er);
}

static const struct state_functions numbers = {NULL, add_number, merge_number, number_text};
static const struct state_functions texts = {NULL, add_text, merge_text, NULL};

static const char *result_of(struct state *s, struct bytes k)
{
    struct key_batch batch = one(k);
    struct bytes v;

    ck_assert_ok(state_get(s, &batch, &v, &err));
    return v.data == NULL ? "none" : arena_strndup(arena, (const char *)v.data, v.len);
}

static enum rc add_number_to(struct state *s, struct bytes k, uint64_t n)
{
    struct key_batch batch = one(k);
    uint8_t be[8];
    struct bytes e = bytes_of(be, 8);

    put_be64(be, n);
    return state_add(s, &batch, &e, &err);
}

START_TEST(accumulators_of_fixed_size_change_in_place)
{
    struct state_desc d = desc_of_kind(STATE_AGGREGATING, 8);
    struct state_options o = {.functions = &numbers};
    struct state *s = open_state(_i, &d, &o);

    ck_assert_str_eq(result_of(s, key("a", "")), "none");
    ck_assert_ok(add_number_to(s, key("a", ""), 40));
    ck_assert_ok(add_number_to(s, key("a", ""), 2));
    ck_assert_str_eq(result_of(s, key("a", "")), "<42>");
    ck_assert_rc_msg(add_number_to(s, key("a", ""), 13), RC_INVALID, "thirteen");
    ck_assert_str_eq(result_of(s, key("a", "")), "<42>");
    ck_assert_rc_msg(add_number_to(s, key("b", ""), 13), RC_INVALID, "state s: add: thirteen");
    ck_assert_str_eq(stored(s, key("b", "")), "none");
    state_close(s);
}
END_TEST

START_TEST(the_same_key_twice_in_a_batch_adds_twice)
{
    struct state_desc d = desc_of_kind(STATE_REDUCING, 0);
    struct state_options o = {.functions = &texts};
    struct state *s = open_state(_i, &d, &o);
    struct key_builder b;
    struct key_batch batch;
    struct bytes elements[] = {bytes_of_str("1"), bytes_of_str("2"), bytes_of_str("3"),
                               bytes_of_str("4")};

    key_builder_init(&b, GROUPS, KEY_NS_BYTES);
    for (int i = 0; i < 4; i++)
        ck_assert_ok(key_builder_add_raw(&b, key(i == 1 ? "b" : "a", ""), &err));
    batch = key_builder_batch(&b);
    ck_assert_ok(state_add(s, &batch, elements, &err));
    ck_assert_ok(state_add(s, &batch, elements, &err));
    ck_assert_str_eq(result_of(s, key("a", "")), "1+3+4+1+3+4");
    ck_assert_str_eq(result_of(s, key("b", "")), "2+2");
    key_builder_release(&b);
    state_close(s);
}
END_TEST

/* What a merging window does with the state of two windows. */
START_TEST(namespaces_merge)
{
    struct state_desc list = desc_of_kind(STATE_LIST, 0);
    struct state_desc sum = desc_of_kind(STATE_AGGREGATING, 8);
    struct state_options o = {.functions = &numbers};
    struct state *l, *s;
    struct key_builder b;
    struct key_batch sources;

    list.name = "l";
    l = open_state(_i, &list, NULL);
    s = open_state(_i, &sum, &o);
    add(l, key("a", "w2"), "2");
    add(l, key("a", "w1"), "1");
    add(l, key("a", "w3"), "3");
    ck_assert_ok(add_number_to(s, key("a", "w2"), 20));
    ck_assert_ok(add_number_to(s, key("a", "w3"), 300));
    key_builder_init(&b, GROUPS, KEY_NS_BYTES);
    ck_assert_ok(key_builder_add_raw(&b, key("a", "w1"), &err)); /* the target itself: no matter */
    ck_assert_ok(key_builder_add_raw(&b, key("a", "w2"), &err));
    ck_assert_ok(key_builder_add_raw(&b, key("a", "w3"), &err));
    ck_assert_ok(key_builder_add_raw(&b, key("a", "w4"), &err)); /* nothing there */
    sources = key_builder_batch(&b);
    ck_assert_ok(state_merge(l, key("a", "w1"), &sources, &err));
    ck_assert_ok(state_merge(s, key("a", "w1"), &sources, &err));
    ck_assert_str_eq(list_of(l, key("a", "w1")), "1|2|3|");
    ck_assert_str_eq(list_of(l, key("a", "w2")), "none");
    ck_assert_str_eq(result_of(s, key("a", "w1")), "<320>");
    ck_assert_str_eq(result_of(s, key("a", "w3")), "none");
    key_builder_release(&b);
    state_close(l);
    state_close(s);
}
END_TEST

/* ---- keys ------------------------------------------------------------------------------------ */

START_TEST(keys_of_a_namespace_come_once)
{
    struct state_desc d = desc_of_kind(STATE_MAP, 0);
    struct state *s = open_state(_i, &d, NULL);
    struct state_keys *k;
    struct bytes found[3];
    struct key_parts parts;
    uint32_t got, n = 0;

    for (int i = 0; i < 500; i++) {
        map_put(s, key(arena_printf(arena, "%d", i), "x"), "u1", "v");
        map_put(s, key(arena_printf(arena, "%d", i), "x"), "u2", "v");
        map_put(s, key(arena_printf(arena, "%d", i), "xy"), "u1", "v");
        map_put(s, key(arena_printf(arena, "%d", i), ""), "u1", "v");
    }
    k = state_keys_new(s, bytes_of_str("x"), (struct key_group_range){0, GROUPS - 1});
    do {
        ck_assert_ok(state_keys_next(k, found, 3, &got, &err));
        for (uint32_t i = 0; i < got; i++) {
            ck_assert_ok(key_split(found[i], GROUPS, KEY_NS_BYTES, &parts, &err));
            ck_assert_bytes_str(parts.ns, "x");
            ck_assert_uint_eq(parts.user_key.len, 0);
        }
        n += got;
    } while (got > 0);
    ck_assert_uint_eq(n, 500);
    state_keys_free(k);
    k = state_keys_new(s, (struct bytes){0}, (struct key_group_range){'1', '1'});
    for (n = 0; state_keys_next(k, found, 3, &got, &err) == RC_OK && got > 0;)
        n += got;
    ck_assert_uint_eq(n, 3 * 111); /* 1, 10..19, 100..199 */
    state_keys_free(k);
    state_close(s);
}
END_TEST

START_TEST(operations_of_another_kind_are_refused)
{
    struct state_desc d = desc_of_kind(STATE_VALUE, 0);
    struct state *s = open_state(_i, &d, NULL);
    struct key_batch batch = one(key("a", ""));
    struct bytes v = bytes_of_str("v");
    struct state_list l;

    ck_assert_rc_msg(state_list_add(s, &batch, &v, &err), RC_INVALID, "another kind");
    ck_assert_rc(state_list_get(s, &batch, &l, &err), RC_INVALID);
    ck_assert_rc(state_map_put(s, &batch, &v, &v, &err), RC_INVALID);
    ck_assert_rc(state_add(s, &batch, &v, &err), RC_INVALID);
    ck_assert_rc(state_merge(s, key("a", ""), &batch, &err), RC_OK); /* with itself: nothing */
    state_close(s);
}
END_TEST

TEST_MAIN("state", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, values_are_kept_by_key_and_namespace, 0, 2);
          tcase_add_loop_test(tc, fixed_values_change_in_place, 0, 2);
          tcase_add_loop_test(tc, lists_grow_and_keep_their_elements_apart, 0, 2);
          tcase_add_loop_test(tc, elements_of_fixed_size_stand_bare, 0, 2);
          tcase_add_loop_test(tc, a_list_of_200_megabytes, 0, 2);
          tcase_add_loop_test(tc, a_list_at_its_limit_says_so_when_written, 0, 2);
          tcase_add_loop_test(tc, maps_hold_entries_and_nulls, 0, 2);
          tcase_add_loop_test(tc, a_map_changes_while_it_is_iterated, 0, 2);
          tcase_add_loop_test(tc, accumulators_of_fixed_size_change_in_place, 0, 2);
          tcase_add_loop_test(tc, the_same_key_twice_in_a_batch_adds_twice, 0, 2);
          tcase_add_loop_test(tc, namespaces_merge, 0, 2);
          tcase_add_loop_test(tc, keys_of_a_namespace_come_once, 0, 2);
          tcase_add_loop_test(tc, operations_of_another_kind_are_refused, 0, 2))
