/* test_replay.c - rows in flight of a snapshot, at the subtasks of a job that goes on from it: each row to one subtask, to its owner
 * where the edge goes by key, in order; what no edge takes is refused or said. */
#include "job/batch_codec.h"
#include "job/row_key.h"
#include "job/runtime/inflight_assign.h"
#include "job/runtime/inflight_file.h"
#include "job/runtime/replay.h"
#include "tests/lib/check_ext.h"

enum { ROWS = 300 };

static struct schema_field fields[] = {{"k", {TYPE_BIGINT, true, 0, 0, 0}},
                                       {"s", {TYPE_VARCHAR, true, 0, 0, 100}}};
static struct schema schema = {2, fields, -1};
static struct schema_field other_fields[] = {{"k", {TYPE_INT, true, 0, 0, 0}}};
static struct schema other_schema = {1, other_fields, -1};
static const uint32_t keys[] = {0};

/* from -> to, one edge; or both in one chain. */
struct job {
    struct graph_vertex vertices[2];
    struct operator_spec ops[2];
    struct graph_edge edge;
    struct graph g;
};
static void job_init(struct job *j, enum partitioning how, uint32_t from, uint32_t to, bool chained)
{
    memset(j, 0, sizeof *j);
    for (uint32_t i = 0; i < 2; i++) {
        j->ops[i] = (struct operator_spec){.name = i == 0 ? "From" : "To", .uid = "", .input = &schema};
        operator_id_of(j->ops[i].name, j->ops[i].id);
    }
    j->vertices[0] = (struct graph_vertex){.name = "from", .parallelism = from, .operator_count = chained ? 2 : 1, .operators = j->ops};
    j->vertices[1] = (struct graph_vertex){.name = "to", .parallelism = to, .operator_count = 1, .operators = &j->ops[1]};
    j->edge = (struct graph_edge){0, 1, how, how == PARTITION_HASH, keys, &schema};
    j->g = (struct graph){.key_group_count = 128, .vertex_count = chained ? 1 : 2, .edge_count = !chained, .vertices = j->vertices, .edges = &j->edge};
}

/* The snapshot of a job whose subtasks of `to` had rows in flight: row k lay at the subtask that owns k. */
struct shot {
    struct arena *arena;
    struct checkpoint_metadata m;
    struct operator_meta ops[2];
};
static void shot_init(struct shot *s, const char *partitioning, uint32_t to, bool updates)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct row_key *key = row_key_new(&schema, 1, keys, 128, KEY_NS_VOID);
    struct err err = {0};

    memset(s, 0, sizeof *s);
    s->arena = arena_new(0);
    for (uint32_t i = 0; i < 2; i++) {
        s->ops[i] = (struct operator_meta){.uid = "", .name = i == 0 ? "From" : "To", .parallelism = i == 0 ? 1 : to, .key_group_count = 128};
        operator_id_of(s->ops[i].name, s->ops[i].id);
    }
    s->m = (struct checkpoint_metadata){.checkpoint_id = 3, .operator_count = 2, .operators = s->ops};
    s->ops[1].subtask_count = to;
    s->ops[1].subtasks = ARENA_ARRAY(s->arena, to, struct subtask_state);
    for (uint32_t t = 0; t < to; t++) {
        struct subtask_state *st = &s->ops[1].subtasks[to - 1 - t]; /* the tree has them in any order */
        struct buf content = {0};

        st->subtask_index = t;
        st->channel_count = 1;
        st->channels = ARENA_NEW(s->arena, struct channel_handle);
        st->channels[0] = (struct channel_handle){.from_id = s->ops[0].id, .partitioning = partitioning, .row_type = inflight_row_type(s->arena, &schema), .updates = updates};
        inflight_file_head(st->channels[0].row_type, &content);
        for (int64_t k = 0; k < ROWS; k++) {
            uint32_t group;

            batch_builder_clear(b);
            batch_append_int(b, 0, k);
            batch_append_bytes(b, 1, bytes_of_str("x"));
            batch_row_end(b, updates ? ROW_UPDATE_AFTER : ROW_INSERT);
            ck_assert_ok(row_key_groups(key, batch_builder_view(b), &group, &err));
            if (keygroup_owner(group, to, 128) != t)
                continue;
            ck_assert_ok(batch_encode(batch_builder_view(b), &content, &err));
            st->channels[0].row_count++;
        }
        st->channels[0].file = (struct state_file){.local_name = "", .scope = FILE_INLINE, .size_bytes = content.len, .digest = digest_of(buf_bytes(&content)), .inline_bytes = arena_bytes_copy(s->arena, buf_bytes(&content))};
        buf_release(&content);
    }
    batch_builder_free(b);
    row_key_free(key);
}

static enum rc assign(const struct job *j, const struct shot *s, uint32_t vertex, uint32_t op, bool allow,
                      struct assigned_operator *out, struct err *err)
{
    uint32_t p = j->g.vertices[vertex].parallelism;

    *out = (struct assigned_operator){.subtasks = ARENA_ARRAY(s->arena, p, struct subtask_state), .fit = {.said = ""}};
    return inflight_assign(&j->g, vertex, op, &s->m, &s->m, 128, allow, s->arena, out, err);
}

static const struct {
    const char *name, *was;
    enum partitioning how;
    uint32_t was_parallelism, from, to;
    bool chained;
    uint32_t handles; /* that all new subtasks together read */
} moves[] = {
    {"the same", "HASH(0)", PARTITION_HASH, 2, 1, 2, false, 2},
    {"2 to 3 by key", "HASH(0)", PARTITION_HASH, 2, 1, 3, false, 4},
    {"3 to 2 by key", "HASH(0)", PARTITION_HASH, 3, 1, 2, false, 4},
    {"3 to 1 by key", "HASH(0)", PARTITION_HASH, 3, 1, 1, false, 3},
    {"by key now, and not before: all look at all", "REBALANCE", PARTITION_HASH, 2, 1, 3, false, 6},
    {"by another key: all look at all", "HASH(1)", PARTITION_HASH, 2, 1, 2, false, 4},
    {"rebalance, 3 to 2", "REBALANCE", PARTITION_REBALANCE, 3, 1, 2, false, 3},
    {"rebalance, 2 to 3", "REBALANCE", PARTITION_REBALANCE, 2, 1, 3, false, 2},
    {"forward, 3 to 2", "FORWARD", PARTITION_FORWARD, 3, 2, 2, false, 3},
    {"all to the first", "GLOBAL", PARTITION_GLOBAL, 1, 2, 2, false, 1},
    {"chained by now", "GLOBAL", PARTITION_FORWARD, 1, 1, 1, true, 1},
    {"chained by now, 3 to 2", "REBALANCE", PARTITION_FORWARD, 3, 2, 2, true, 3},
};

START_TEST(each_row_goes_to_one_subtask)
{
    struct job j;
    struct shot s;
    struct assigned_operator a;
    struct err err = {0};
    struct fs *fs = fs_posix();
    uint32_t vertex = moves[_i].chained ? 0 : 1, op = moves[_i].chained, seen[ROWS] = {0}, handles = 0;
    struct row_key *key = row_key_new(&schema, 1, keys, 128, KEY_NS_VOID);

    job_init(&j, moves[_i].how, moves[_i].from, moves[_i].to, moves[_i].chained);
    shot_init(&s, moves[_i].was, moves[_i].was_parallelism, false);
    ck_assert_ok(assign(&j, &s, vertex, op, false, &a, &err));
    for (uint32_t t = 0; t < moves[_i].to; t++) {
        struct replay *r = NULL;
        int64_t last = -1;

        handles += (uint32_t)a.subtasks[t].channel_count;
        ck_assert_ok(replay_load(&r, fs, &j.g, vertex, t, op, a.subtasks[t].channels, a.subtasks[t].channel_count, &err));
        ck_assert(r == NULL || replay_may_record(r, UINT64_MAX) == !moves[_i].chained);
        ck_assert(r == NULL || !replay_may_record(r, 20));
        while (r != NULL && !replay_ended(r)) {
            uint32_t at;
            struct batch *b = replay_next(r, &at);
            uint32_t groups[BATCH_ROWS_MAX];

            ck_assert_uint_eq(at, op);
            ck_assert_ok(row_key_groups(key, b, groups, &err));
            for (uint32_t i = 0; i < b->rows; i++) {
                int64_t k = ((int64_t *)b->columns[0].values)[i];

                seen[k]++;
                if (moves[_i].how == PARTITION_HASH)
                    ck_assert_uint_eq(keygroup_owner(groups[i], moves[_i].to, 128), t);
                if (moves[_i].was_parallelism == 1)
                    ck_assert_int_gt(k, last);
                last = k;
            }
            batch_free(b);
        }
        replay_free(r);
    }
    for (int k = 0; k < ROWS; k++)
        ck_assert_msg(seen[k] == 1, "%s: row %d came %u times", moves[_i].name, k, seen[k]);
    ck_assert_msg(handles == moves[_i].handles, "%s: %u handles", moves[_i].name, handles);
    row_key_free(key);
    arena_free(s.arena);
}
END_TEST

/* Rows that take back or change others, where two of one key could pass each other. */
static const struct {
    const char *was;
    enum partitioning how;
    uint32_t was_parallelism, to;
    bool fits;
    bool first; /* all that was in flight is +I: what changes it comes later */
} changes[] = {
    {"FORWARD", PARTITION_FORWARD, 2, 2, true, false},    {"FORWARD", PARTITION_FORWARD, 2, 3, false, false},
    {"FORWARD", PARTITION_FORWARD, 2, 1, true, false},    {"HASH(0)", PARTITION_HASH, 2, 3, true, false},
    {"HASH(0)", PARTITION_FORWARD, 2, 2, false, false},   {"GLOBAL", PARTITION_FORWARD, 1, 3, false, false},
    {"FORWARD", PARTITION_HASH, 2, 3, true, false},       {"FORWARD", PARTITION_FORWARD, 2, 3, false, true},
    {"FORWARD", PARTITION_FORWARD, 2, 2, true, true},
};
START_TEST(changes_keep_their_order_or_are_refused)
{
    struct job j;
    struct shot s;
    struct assigned_operator a;
    struct err err = {0};

    job_init(&j, changes[_i].how, changes[_i].to, changes[_i].to, false);
    j.ops[1].input_updates = true;
    shot_init(&s, changes[_i].was, changes[_i].was_parallelism, !changes[_i].first);
    if (changes[_i].fits)
        ck_assert_ok(assign(&j, &s, 1, 0, false, &a, &err));
    else
        ck_assert_rc_msg(assign(&j, &s, 1, 0, true, &a, &err), RC_UNSUPPORTED, "take a savepoint");
    arena_free(s.arena);
}
END_TEST

START_TEST(rows_of_an_edge_that_is_gone_are_refused_or_said)
{
    struct job j;
    struct shot s;
    struct assigned_operator a;
    struct err err = {0};

    job_init(&j, PARTITION_HASH, 1, 2, false);
    operator_id_of("Somebody else", j.ops[0].id);
    shot_init(&s, "HASH(0)", 2, false);
    ck_assert_rc_msg(assign(&j, &s, 1, 0, false, &a, &err), RC_INVALID, "rows in flight to it from \"From\"");
    ck_assert_ok(assign(&j, &s, 1, 0, true, &a, &err));
    ck_assert_ptr_nonnull(strstr(a.fit.said, "rows in flight from \"From\" are dropped"));
    ck_assert_uint_eq(a.subtasks[0].channel_count + a.subtasks[1].channel_count, 0);
    arena_free(s.arena);
}
END_TEST

START_TEST(rows_of_other_types_are_refused)
{
    struct job j;
    struct shot s;
    struct assigned_operator a;
    struct err err = {0};
    uint64_t rows;

    job_init(&j, PARTITION_HASH, 1, 2, false);
    j.edge.schema = &other_schema;
    shot_init(&s, "HASH(0)", 2, false);
    ck_assert_rc_msg(assign(&j, &s, 1, 0, true, &a, &err), RC_INVALID, "(BIGINT, ");
    ck_assert_rc_msg(inflight_file_decode(s.ops[1].subtasks[0].channels[0].file.inline_bytes, "s-0.bin", &other_schema, NULL, NULL, &rows, &err),
                     RC_INVALID, "the job has (INT)");
    arena_free(s.arena);
}
END_TEST

/* The types are the same, and so is the operator that goes on with its state; what the column means is not. */
START_TEST(rows_of_a_query_that_has_changed_are_refused)
{
    struct job j;
    struct shot s;
    struct assigned_operator a;
    struct err err = {0};

    job_init(&j, PARTITION_HASH, 1, 2, false);
    shot_init(&s, "HASH(0)", 2, false);
    operator_id_of("SUM(a)", s.ops[0].exact_id);
    operator_id_of("SUM(a)", j.ops[0].exact_id);
    ck_assert_ok(assign(&j, &s, 1, 0, false, &a, &err));
    operator_id_of("SUM(b)", j.ops[0].exact_id);
    ck_assert_rc_msg(assign(&j, &s, 1, 0, true, &a, &err), RC_INVALID, "of a query in which \"From\" was another");
    j.ops[0].is_source = true; /* where rows come from may change */
    ck_assert_ok(assign(&j, &s, 1, 0, false, &a, &err));
    arena_free(s.arena);
}
END_TEST

/* C13: nothing of a file is used that its digest does not prove, and _metadata must know its rows. */
START_TEST(a_file_that_is_not_what_metadata_says_is_refused)
{
    struct job j;
    struct shot s;
    struct channel_handle *h;
    struct replay *r = NULL;
    struct err err = {0};

    job_init(&j, PARTITION_HASH, 1, 1, false);
    shot_init(&s, "HASH(0)", 1, false);
    h = &s.ops[1].subtasks[0].channels[0];
    h->row_count++;
    ck_assert_rc_msg(replay_load(&r, fs_posix(), &j.g, 1, 0, 0, h, 1, &err), RC_CORRUPT, "_metadata says 301");
    h->row_count--;
    ((uint8_t *)(uintptr_t)h->file.inline_bytes.data)[h->file.size_bytes / 2] ^= 1;
    ck_assert_rc_msg(replay_load(&r, fs_posix(), &j.g, 1, 0, 0, h, 1, &err), RC_CORRUPT, "digest");
    replay_free(r);
    arena_free(s.arena);
}
END_TEST

TEST_MAIN("replay", tcase_add_loop_test(tc, each_row_goes_to_one_subtask, 0, ARRAY_LEN(moves));
          tcase_add_loop_test(tc, changes_keep_their_order_or_are_refused, 0, ARRAY_LEN(changes));
          tcase_add_test(tc, rows_of_an_edge_that_is_gone_are_refused_or_said);
          tcase_add_test(tc, rows_of_other_types_are_refused);
          tcase_add_test(tc, rows_of_a_query_that_has_changed_are_refused);
          tcase_add_test(tc, a_file_that_is_not_what_metadata_says_is_refused))
