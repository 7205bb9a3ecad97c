/* big_history.c - see big_history.h */
#include "tests/lib/big_history.h"

#include "checkpoint/layout.h"

#include <inttypes.h>

#define BIG_HISTORY_START_MS 1700000000000

uint64_t big_history_files(const struct big_history *h)
{
    return (h->checkpoints - 1) * h->step + h->window + h->strays;
}

static struct bytes content_of(struct arena *a, uint64_t i)
{
    return bytes_of_str(arena_printf(a, "shared file %" PRIu64 "\n", i));
}

static enum rc write_file(struct fs *fs, const char *path, struct bytes content, struct err *err)
{
    struct fs_file *file = NULL;
    enum rc rc;

    GOTO_IF_ERR(fs_create(fs, path, &file, err));
    GOTO_IF_ERR(fs_append(file, content, err));
    GOTO_IF_ERR(fs_close(&file, err));
out:
    fs_abandon(&file);
    return rc;
}

static enum rc make_shared(struct fs *fs, const struct big_history *h, const char *job_dir,
                           struct arena *a, struct err *err)
{
    uint64_t count = big_history_files(h);

    RETURN_IF_ERR(fs_mkdirs(fs, arena_printf(a, "%s/shared", job_dir), err));
    for (uint64_t i = 0; i < count; i++) {
        char name[LAYOUT_NAME_MAX];
        struct bytes content;

        arena_reset(a);
        content = content_of(a, i);
        layout_shared_name(digest_of(content), name);
        RETURN_IF_ERR(write_file(fs, arena_printf(a, "%s/shared/%s", job_dir, name), content, err));
    }
    return RC_OK;
}

static void add_database(struct arena *a, const struct big_history *h, uint64_t id, uint32_t index,
                         struct keyed_handle *k)
{
    static struct state_desc state = {.name = "accState",
                                      .kind = STATE_VALUE,
                                      .key_type = "ROW<`k` STRING>",
                                      .namespace_type = "VOID",
                                      .user_key_type = "",
                                      .value_type = "ROW<`count` BIGINT>",
                                      .fixed_value_bytes = 16,
                                      .operand_operator = ""};
    uint32_t files = h->window / 2;

    *k = (struct keyed_handle){.kind = KEYED_ROCKS,
                               .range = {index * 64, index * 64 + 63},
                               .key_group_count = 128,
                               .backend_id = arena_printf(a, "%032x", index + 1),
                               .state_count = 1,
                               .states = &state,
                               .file_count = files,
                               .files = ARENA_ARRAY(a, files, struct state_file),
                               .entry_count = 1000};
    for (uint32_t f = 0; f < files; f++) {
        uint64_t i = (id - 1) * h->step + 2 * f + index;
        struct bytes content = content_of(a, i);
        char name[LAYOUT_NAME_MAX];

        layout_shared_name(digest_of(content), name);
        k->files[f] = (struct state_file){.local_name = arena_printf(a, "%06" PRIu64 ".sst", i),
                                          .scope = FILE_SHARED,
                                          .path = arena_printf(a, "../shared/%s", name),
                                          .size_bytes = content.len,
                                          .digest = digest_of(content),
                                          .newly_written = 2 * f + h->step >= h->window || id == 1};
    }
}

static void add_operators(struct arena *a, const struct big_history *h, uint64_t id,
                          struct checkpoint_metadata *m)
{
    struct operator_meta *source, *totals;
    struct list_state *list;
    uint8_t *position = arena_alloc(a, 16);

    m->operator_count = 2;
    m->operators = ARENA_ARRAY(a, 2, struct operator_meta);
    source = &m->operators[0];
    totals = &m->operators[1];
    *source = (struct operator_meta){.id = "11111111111111111111111111111111",
                                     .uid = "rows",
                                     .name = "Source: rows",
                                     .parallelism = 1,
                                     .key_group_count = 128,
                                     .subtask_count = 1,
                                     .subtasks = ARENA_NEW(a, struct subtask_state)};
    put_be64(position, id * 1000);
    put_be64(position + 8, 1);
    list = source->subtasks[0].lists = ARENA_NEW(a, struct list_state);
    source->subtasks[0].list_count = 1;
    *list = (struct list_state){"source-positions", LIST_UNION, 1, ARENA_NEW(a, struct bytes)};
    list->items[0] = bytes_of(position, 16);
    *totals = (struct operator_meta){.id = "22222222222222222222222222222222",
                                     .uid = "",
                                     .name = "GroupAggregate[k]",
                                     .parallelism = 2,
                                     .key_group_count = 128,
                                     .subtask_count = 2,
                                     .subtasks = ARENA_ARRAY(a, 2, struct subtask_state)};
    for (uint32_t i = 0; i < 2; i++) {
        totals->subtasks[i].subtask_index = i;
        totals->subtasks[i].keyed_count = 1;
        totals->subtasks[i].keyed = ARENA_NEW(a, struct keyed_handle);
        add_database(a, h, id, i, totals->subtasks[i].keyed);
    }
}

static enum rc make_checkpoint(struct fs *fs, const struct big_history *h, const char *job_dir,
                               uint64_t id, struct arena *a, struct err *err)
{
    struct checkpoint_metadata m = {
        .checkpoint_id = id,
        .kind = CHECKPOINT_PERIODIC,
        .job_id = BIG_HISTORY_JOB_ID,
        .job_name = "years",
        .trigger_wall_ms = BIG_HISTORY_START_MS + (int64_t)id * 10000,
        .completed_wall_ms = BIG_HISTORY_START_MS + (int64_t)id * 10000 + 50 + (int64_t)(id % 37),
        .varve_version = "0.1.0",
        .rocksdb_version = "9.10.0",
        .sql = "INSERT INTO out SELECT k, COUNT(*) FROM rows GROUP BY k",
    };
    const char *dir = arena_printf(a, "%s/chk-%" PRIu64, job_dir, id);
    struct buf encoded = {0};
    enum rc rc;

    add_operators(a, h, id, &m);
    metadata_own_encode(&m, &encoded);
    GOTO_IF_ERR(fs_mkdir(fs, dir, err));
    GOTO_IF_ERR(write_file(fs, arena_printf(a, "%s/_metadata", dir), buf_bytes(&encoded), err));
out:
    buf_release(&encoded);
    return rc;
}

enum rc big_history_make(struct fs *fs, const struct big_history *h, struct err *err)
{
    struct arena *a = arena_new(0);
    char job_dir[FS_PATH_MAX];
    enum rc rc;

    ASSERT(h->window % (2 * h->step) == 0);
    GOTO_IF_ERR(path_join(job_dir, sizeof job_dir, h->root, BIG_HISTORY_JOB_ID, err));
    GOTO_IF_ERR(make_shared(fs, h, job_dir, a, err));
    for (uint64_t id = 1; id <= h->checkpoints; id++) {
        arena_reset(a);
        GOTO_IF_ERR(make_checkpoint(fs, h, job_dir, id, a, err));
    }
out:
    arena_free(a);
    return rc;
}
