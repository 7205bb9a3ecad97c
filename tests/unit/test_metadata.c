/* links: checkpoint */
#include "checkpoint/metadata.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sample_metadata.h"

/* Each breaks one rule of the sample tree; the message must say which. */
static struct arena *arena;
static struct keyed_handle *rocks_of(struct checkpoint_metadata *m)
{
    return m->operators[1].subtasks[0].keyed;
}
static struct keyed_handle *stream_of(struct checkpoint_metadata *m)
{
    return m->operators[2].subtasks[0].keyed;
}

static void id_zero(struct checkpoint_metadata *m)
{
    m->checkpoint_id = 0;
}
static void id_large(struct checkpoint_metadata *m)
{
    m->checkpoint_id = 1ull << 63;
}
static void kind(struct checkpoint_metadata *m)
{
    m->kind = (enum checkpoint_kind)5;
}
static void job_id(struct checkpoint_metadata *m)
{
    m->job_id[3] = 'X';
}
static void operator_id(struct checkpoint_metadata *m)
{
    m->operators[0].id[0] = 'A';
}
static void operator_twice(struct checkpoint_metadata *m)
{
    memcpy(m->operators[0].id, m->operators[2].id, sizeof m->operators[0].id);
}
static void operator_name(struct checkpoint_metadata *m)
{
    m->operators[0].name = "";
}
static void no_groups(struct checkpoint_metadata *m)
{
    m->operators[1].key_group_count = 0;
}
static void many_groups(struct checkpoint_metadata *m)
{
    m->operators[1].key_group_count = 32769;
}
static void parallelism(struct checkpoint_metadata *m)
{
    m->operators[1].parallelism = 129;
}
static void no_parallelism(struct checkpoint_metadata *m)
{
    m->operators[1].parallelism = 0;
}
static void subtask_index(struct checkpoint_metadata *m)
{
    m->operators[1].subtasks[1].subtask_index = 2;
}
static void subtask_twice(struct checkpoint_metadata *m)
{
    m->operators[1].subtasks[1].subtask_index = 0;
}
static void finished_with_state(struct checkpoint_metadata *m)
{
    m->operators[1].subtasks[1].finished = true;
}
static void handle_kind(struct checkpoint_metadata *m)
{
    rocks_of(m)->kind = (enum keyed_handle_kind)0;
}
static void handle_groups(struct checkpoint_metadata *m)
{
    rocks_of(m)->key_group_count = 256;
}
static void range_reversed(struct checkpoint_metadata *m)
{
    rocks_of(m)->range.first = 64;
}
static void range_outside(struct checkpoint_metadata *m)
{
    m->operators[1].subtasks[1].keyed->range.last = 128;
}
static void range_shared(struct checkpoint_metadata *m)
{
    m->operators[1].subtasks[1].keyed->range.first = 63;
}
static void backend_id(struct checkpoint_metadata *m)
{
    rocks_of(m)->backend_id = "abc";
}
static void state_name(struct checkpoint_metadata *m)
{
    rocks_of(m)->states[0].name = "";
}
static void state_long_name(struct checkpoint_metadata *m)
{
    rocks_of(m)->states[0].name = arena_printf(arena, "%0256d", 1);
}
static void state_kind(struct checkpoint_metadata *m)
{
    rocks_of(m)->states[0].kind = (enum state_kind)7;
}
static void state_namespace(struct checkpoint_metadata *m)
{
    rocks_of(m)->states[0].namespace_type = "INT";
}
static void state_map(struct checkpoint_metadata *m)
{
    rocks_of(m)->states[0].kind = STATE_MAP;
}
static void state_twice(struct checkpoint_metadata *m)
{
    struct keyed_handle *h = rocks_of(m);
    struct state_desc *states = ARENA_ARRAY(arena, 2, struct state_desc);

    states[0] = states[1] = h->states[0];
    h->states = states;
    h->state_count = 2;
}
static void inline_size(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[0].size_bytes++;
}
static void inline_digest(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[0].digest.b[0] ^= 1;
}
static void shared_path(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[1].path = "../shared/../x";
}
static void shared_other_name(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[1].digest.b[0] ^= 1;
}
static void exclusive_path(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[2].path = "../../x";
}
static void absolute_path(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[2].path = "/etc/passwd";
}
static void no_path(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[2].path = NULL;
}
static void scope(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[2].scope = (enum file_scope)3;
}
static void file_size(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[2].size_bytes = 1ull << 63;
}
static void local_name(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[1].local_name = "../../etc/x";
}
static void no_local_name(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[1].local_name = "";
}
static void local_name_twice(struct checkpoint_metadata *m)
{
    rocks_of(m)->files[1].local_name = "CURRENT";
}
static void rocks_offsets(struct checkpoint_metadata *m)
{
    rocks_of(m)->group_offset_count = 1;
    rocks_of(m)->group_offsets = ARENA_NEW(arena, uint64_t);
}
static void stream_files(struct checkpoint_metadata *m)
{
    stream_of(m)->file_count = 0;
}
static void stream_offsets(struct checkpoint_metadata *m)
{
    stream_of(m)->group_offset_count = 127;
}
static void offset_past(struct checkpoint_metadata *m)
{
    stream_of(m)->group_offsets[127] = 1000;
}
static void offset_order(struct checkpoint_metadata *m)
{
    stream_of(m)->group_offsets[3] = 9;
}
static void list_name(struct checkpoint_metadata *m)
{
    m->operators[0].subtasks[0].lists[0].name = "";
}
static void list_twice(struct checkpoint_metadata *m)
{
    m->operators[0].subtasks[0].lists[1].name = "splits";
}
static void list_mode(struct checkpoint_metadata *m)
{
    m->operators[0].subtasks[0].lists[1].mode = (enum list_mode)4;
}

static const struct {
    void (*harm)(struct checkpoint_metadata *);
    const char *message;
} rules[] = {
    {id_zero, "m: checkpoint id 0 is out of range"},
    {id_large, "m: checkpoint id 9223372036854775808"},
    {kind, "m: checkpoint kind 5 is unknown"},
    {job_id, "m: job id \"012X"},
    {operator_id, "m: operator \"Source: clicks\": id \"A1"},
    {operator_twice, "m: operator id 3333"},
    {operator_name, "operator name of 0 bytes"},
    {no_groups, "operator \"GroupAggregate[k]\": 0 key groups"},
    {many_groups, "32769 key groups, allowed are 1..32768"},
    {parallelism, "parallelism 129, allowed are 1..128"},
    {no_parallelism, "parallelism 0,"},
    {subtask_index, "subtask 2: the parallelism is 2"},
    {subtask_twice, "subtask 0: occurs twice"},
    {finished_with_state, "subtask 1: had finished and yet has state"},
    {handle_kind, "subtask 0: keyed handle of unknown kind 0"},
    {handle_groups, "keyed handle of 256 key groups, the operator has 128"},
    {range_reversed, "key groups 64..63 of 128"},
    {range_outside, "key groups 64..128 of 128"},
    {range_shared, "key group 63 is in two handles"},
    {backend_id, "backend id \"abc\""},
    {state_name, "state name of 0 bytes"},
    {state_long_name, "state name of 256 bytes, allowed are 1..255"},
    {state_kind, "state \"accState\": kind 7 is unknown"},
    {state_namespace, "namespace \"INT\" is unknown"},
    {state_map, "has a user key type"},
    {state_twice, "state \"accState\" occurs twice"},
    {inline_size, "inline file \"CURRENT\" holds 19 bytes instead of 20"},
    {inline_digest, "inline file \"CURRENT\": digest differs"},
    {shared_path, "\"../shared/../x\" is not of the form"},
    {shared_other_name, "its name is not its digest"},
    {exclusive_path, "\"../../x\" is not the name of a file beside _metadata"},
    {absolute_path, "\"/etc/passwd\" is not the name"},
    {no_path, "\"\" is not the name of a file"},
    {scope, "file scope 3 is unknown"},
    {file_size, "size 9223372036854775808 is past what a file can hold"},
    {local_name, "\"../../etc/x\" cannot be a file of a database"},
    {no_local_name, "\"\" cannot be a file of a database"},
    {local_name_twice, "database file \"CURRENT\" occurs twice"},
    {rocks_offsets, "a database has no group offsets"},
    {stream_files, "a keyed stream has one file, not 0"},
    {stream_offsets, "127 group offsets for 128 key groups"},
    {offset_past, "offset 1000 of key group 127"},
    {offset_order, "offset 0 of key group 4 is out of order"},
    {list_name, "name of a list state of 0 bytes"},
    {list_twice, "list \"splits\" occurs twice"},
    {list_mode, "list \"empty\": mode 4 is unknown"},
};

START_TEST(each_rule_is_checked_and_named)
{
    struct err err = {0};
    struct checkpoint_metadata *m;

    arena = arena_new(0);
    m = sample_metadata(arena, 7, 1);
    ck_assert_ok(metadata_check(m, "m", &err));
    rules[_i].harm(m);
    ck_assert_rc_msg(metadata_check(m, "m", &err), RC_CORRUPT, rules[_i].message);
    arena_free(arena);
}
END_TEST

/* The rules must also hold for what comes from the bytes, not only for the function above. */
START_TEST(a_decoded_tree_has_passed_every_rule)
{
    struct err err = {0};
    struct checkpoint_metadata *m, back;
    struct buf encoded = {0};

    arena = arena_new(0);
    m = sample_metadata(arena, 7, 1);
    rules[_i].harm(m);
    metadata_own_encode(m, &encoded);
    ck_assert_rc(metadata_own_decode(buf_bytes(&encoded), arena, "m", &back, &err), RC_CORRUPT);
    buf_release(&encoded);
    arena_free(arena);
}
END_TEST

static enum rc count_file(void *ctx, const struct operator_meta *op,
                          const struct subtask_state *subtask, struct state_file *file,
                          struct err *err UNUSED)
{
    struct buf *seen = ctx;

    buf_printf(seen, "%s/%u/%s;", op->name, subtask->subtask_index,
               file->local_name[0] == '\0' ? file->path : file->local_name);
    return RC_OK;
}

START_TEST(every_file_is_visited_in_order)
{
    struct err err = {0};
    struct buf seen = {0};

    arena = arena_new(0);
    ck_assert_ok(metadata_each_file(sample_metadata(arena, 7, 1), count_file, &seen, &err));
    ck_assert_str_eq(buf_cstr(&seen),
                     "GroupAggregate[k]/0/CURRENT;GroupAggregate[k]/0/000007.sst;"
                     "GroupAggregate[k]/0/MANIFEST-000004;GroupAggregate[k]/1/CURRENT;"
                     "GroupAggregate[k]/1/000008.sst;GroupAggregate[k]/1/MANIFEST-000004;"
                     "WindowAggregate[k]/0/s-9.bin;");
    buf_release(&seen);
    arena_free(arena);
}
END_TEST

static enum rc refuse_second(void *ctx, const struct operator_meta *op UNUSED,
                             const struct subtask_state *subtask UNUSED,
                             struct state_file *file UNUSED, struct err *err)
{
    int *left = ctx;

    return (*left)-- > 0 ? RC_OK : err_set(err, RC_CANCELLED, "enough");
}

START_TEST(a_refusal_stops_the_walk)
{
    struct err err = {0};
    int left = 1;

    arena = arena_new(0);
    ck_assert_rc(metadata_each_file(sample_metadata(arena, 7, 1), refuse_second, &left, &err),
                 RC_CANCELLED);
    ck_assert_int_eq(left, -1);
    arena_free(arena);
}
END_TEST

START_TEST(sizes_add_up_by_place)
{
    struct checkpoint_metadata *m;
    struct metadata_sizes sizes;

    arena = arena_new(0);
    m = sample_metadata(arena, 7, 1);
    metadata_sizes_of(m, &sizes);
    ck_assert_uint_eq(sizes.full_bytes,
                      sizes.shared_bytes + sizes.exclusive_bytes + sizes.inline_bytes);
    ck_assert_uint_eq(sizes.shared_count, 2);
    ck_assert_uint_eq(sizes.exclusive_count, 3);
    ck_assert_uint_eq(sizes.inline_count, 2);
    ck_assert_uint_eq(sizes.file_count, 7);
    ck_assert_uint_eq(sizes.shared_bytes, 2 * strlen("content of 000000.sst of seed 1\n"));
    ck_assert_uint_eq(sizes.inline_bytes, 2 * 19 + 10); /* CURRENT twice, one list item of 10 */
    ck_assert_uint_eq(sizes.new_bytes, sizes.full_bytes - sizes.shared_bytes);
    arena_free(arena);
}
END_TEST

START_TEST(a_copy_outlives_its_origin)
{
    struct arena *from = arena_new(0), *to = arena_new(0);
    struct checkpoint_metadata *m = sample_metadata(from, 7, 1), copy;
    struct buf before = {0}, after = {0};

    metadata_own_encode(m, &before);
    metadata_copy(to, m, &copy);
    arena_free(from);
    metadata_own_encode(&copy, &after);
    ck_assert_bytes_eq(buf_bytes(&after), buf_bytes(&before));
    buf_release(&before);
    buf_release(&after);
    arena_free(to);
}
END_TEST

TEST_MAIN("metadata", tcase_add_loop_test(tc, each_rule_is_checked_and_named, 0, ARRAY_LEN(rules));
          tcase_add_loop_test(tc, a_decoded_tree_has_passed_every_rule, 0, ARRAY_LEN(rules));
          tcase_add_test(tc, every_file_is_visited_in_order);
          tcase_add_test(tc, a_refusal_stops_the_walk); tcase_add_test(tc, sizes_add_up_by_place);
          tcase_add_test(tc, a_copy_outlives_its_origin);)
