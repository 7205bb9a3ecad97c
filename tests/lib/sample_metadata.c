/* sample_metadata.c - see sample_metadata.h */
#include "tests/lib/sample_metadata.h"

#include <stdio.h>

struct bytes sample_content(struct arena *a, const char *name)
{
    const char *text = arena_printf(a, "content of %s\n", name);

    return bytes_of_str(text);
}

static struct state_file sample_file(struct arena *a, enum file_scope scope, const char *local_name,
                                     const char *content_name, const char *path)
{
    struct bytes content = sample_content(a, content_name);
    struct state_file f = {
        .local_name = local_name,
        .scope = scope,
        .path = path,
        .size_bytes = content.len,
        .digest = digest_of(content),
        .newly_written = scope != FILE_SHARED,
    };

    if (scope == FILE_INLINE)
        f.inline_bytes = content;
    if (scope == FILE_SHARED) {
        char hex[DIGEST_HEX_LEN + 1];

        digest_hex(f.digest, hex);
        f.path = arena_printf(a, "../shared/%s.sst", hex);
    }
    return f;
}

static void sample_state(struct state_desc *s)
{
    *s = (struct state_desc){
        .name = "accState",
        .kind = STATE_VALUE,
        .key_type = "ROW<`k` STRING>",
        .namespace_type = "VOID",
        .user_key_type = "",
        .value_type = "ROW<`count` BIGINT, `sum` BIGINT>",
        .fixed_value_bytes = 24,
        .ttl_ms = 3600000,
        .operand_operator = "",
    };
}

static void sample_database(struct arena *a, uint64_t seed, uint32_t index, struct keyed_handle *h)
{
    const char *sst = arena_printf(a, "%06u.sst of seed %llu", index, (unsigned long long)seed);
    const char *manifest =
        arena_printf(a, "MANIFEST %u of seed %llu", index, (unsigned long long)seed);

    *h = (struct keyed_handle){
        .kind = KEYED_ROCKS,
        .range = {index * 64, index * 64 + 63},
        .key_group_count = 128,
        .backend_id = arena_printf(a, "%032x", index + 1),
        .state_count = 1,
        .states = ARENA_NEW(a, struct state_desc),
        .file_count = 3,
        .files = ARENA_ARRAY(a, 3, struct state_file),
        .entry_count = 1000 + index,
    };
    sample_state(&h->states[0]);
    h->files[0] = sample_file(a, FILE_INLINE, "CURRENT", "CURRENT", NULL);
    h->files[1] = sample_file(a, FILE_SHARED, arena_printf(a, "%06u.sst", 7 + index), sst, NULL);
    h->files[2] = sample_file(a, FILE_EXCLUSIVE, "MANIFEST-000004", manifest,
                              arena_printf(a, "s-%u.bin", index));
}

/* A third subtask, whose state is a stream. */
static void sample_stream(struct arena *a, struct keyed_handle *h)
{
    *h = (struct keyed_handle){
        .kind = KEYED_STREAM,
        .range = {0, 127},
        .key_group_count = 128,
        .backend_id = arena_printf(a, "%032x", 99),
        .state_count = 1,
        .states = ARENA_NEW(a, struct state_desc),
        .file_count = 1,
        .files = ARENA_NEW(a, struct state_file),
        .group_offset_count = 128,
        .group_offsets = ARENA_ARRAY(a, 128, uint64_t),
    };
    sample_state(&h->states[0]);
    h->files[0] = sample_file(a, FILE_EXCLUSIVE, "", "stream", "s-9.bin");
    for (uint32_t i = 0; i < 128; i++)
        h->group_offsets[i] = i / 8;
}

static void sample_source(struct arena *a, struct operator_meta *op)
{
    static const char binary[] = "pos\0ition";

    *op = (struct operator_meta){
        .id = SAMPLE_SOURCE_ID,
        .uid = "clicks",
        .name = "Source: clicks",
        .parallelism = 1,
        .key_group_count = 128,
        .subtask_count = 1,
        .subtasks = ARENA_NEW(a, struct subtask_state),
    };
    op->subtasks[0].list_count = 2;
    op->subtasks[0].lists = ARENA_ARRAY(a, 2, struct list_state);
    op->subtasks[0].lists[0] = (struct list_state){.name = "splits",
                                                   .mode = LIST_SPLIT,
                                                   .item_count = 2,
                                                   .items = ARENA_ARRAY(a, 2, struct bytes)};
    op->subtasks[0].lists[0].items[0] = bytes_of(binary, sizeof binary);
    op->subtasks[0].lists[0].items[1] = bytes_of_str("");
    op->subtasks[0].lists[1] = (struct list_state){.name = "empty", .mode = LIST_UNION};
}

struct checkpoint_metadata *sample_metadata(struct arena *a, uint64_t checkpoint_id, uint64_t seed)
{
    struct checkpoint_metadata *m = ARENA_NEW(a, struct checkpoint_metadata);
    struct operator_meta *agg, *window;

    *m = (struct checkpoint_metadata){
        .checkpoint_id = checkpoint_id,
        .kind = CHECKPOINT_PERIODIC,
        .job_id = SAMPLE_JOB_ID,
        .job_name = "insert-into_out",
        .trigger_wall_ms = 1700000000000 + (int64_t)checkpoint_id * 1000,
        .completed_wall_ms = 1700000000123 + (int64_t)checkpoint_id * 1000,
        .varve_version = "0.1.0",
        .rocksdb_version = "9.10.0",
        .sql = "INSERT INTO out SELECT k, COUNT(*) FROM clicks GROUP BY k;\n",
        .setting_count = 1,
        .settings = ARENA_NEW(a, struct metadata_pair),
        .operator_count = 3,
        .operators = ARENA_ARRAY(a, 3, struct operator_meta),
    };
    m->settings[0] = (struct metadata_pair){"execution.checkpointing.interval", "1 s"};
    sample_source(a, &m->operators[0]);
    agg = &m->operators[1];
    *agg = (struct operator_meta){
        .id = SAMPLE_AGG_ID,
        .uid = "",
        .name = "GroupAggregate[k]",
        .parallelism = 2,
        .key_group_count = 128,
        .subtask_count = 2,
        .subtasks = ARENA_ARRAY(a, 2, struct subtask_state),
    };
    for (uint32_t i = 0; i < 2; i++) {
        agg->subtasks[i].subtask_index = i;
        agg->subtasks[i].keyed_count = 1;
        agg->subtasks[i].keyed = ARENA_NEW(a, struct keyed_handle);
        sample_database(a, seed, i, agg->subtasks[i].keyed);
    }
    window = &m->operators[2];
    *window = (struct operator_meta){
        .id = SAMPLE_SINK_ID,
        .uid = "",
        .name = "WindowAggregate[k]",
        .parallelism = 3,
        .key_group_count = 128,
        .subtask_count = 2,
        .subtasks = ARENA_ARRAY(a, 2, struct subtask_state),
    };
    window->subtasks[0].keyed_count = 1;
    window->subtasks[0].keyed = ARENA_NEW(a, struct keyed_handle);
    sample_stream(a, window->subtasks[0].keyed);
    window->subtasks[1] = (struct subtask_state){.subtask_index = 2, .finished = true};
    return m;
}
