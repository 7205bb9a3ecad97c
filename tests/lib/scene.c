/* scene.c - see scene.h */
#include "tests/lib/scene.h"

#include "checkpoint/layout.h"
#include "checkpoint/orphans.h"
#include "checkpoint/recovery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void scene_init(struct scene *s, struct fs *fs, const char *dir, const char *local)
{
    *s = (struct scene){.dir = dir, .local = local, .local_fs = fs};
    sim_clock_init(&s->clock, 1700000000000);
    s->env = (struct env){.fs = fs, .clock = &s->clock.clock, .log = NULL, .seed = 42};
}

enum rc scene_open(struct scene *s, struct err *err)
{
    struct storage_config config = {
        .env = &s->env,
        .dir = s->dir,
        .job_id = SCENE_JOB_ID,
        .holder = "pid 4711, job scene",
        .inline_threshold_bytes = 100,
        .write_buffer_bytes = 4096,
    };

    s->storage = NULL;
    RETURN_IF_ERR(fs_remove_tree(s->local_fs, s->local, err));
    RETURN_IF_ERR(fs_mkdirs(s->local_fs, s->local, err));
    return storage_open(&config, &s->storage, err);
}

void scene_close(struct scene *s)
{
    storage_close(s->storage);
    s->storage = NULL;
}

struct bytes scene_content(struct arena *arena, uint64_t i)
{
    size_t len = 200 + (size_t)(i % 7) * 13;
    char *content = arena_alloc(arena, len + 1);

    for (size_t at = 0; at < len; at++)
        content[at] = (char)('a' + (i * 7 + at) % 26);
    snprintf(content, 24, "%020" PRIu64, i);
    content[20] = ' ';
    return bytes_of(content, len);
}

/* As a RocksDB would have it: written, not synced by us. */
static enum rc make_local(struct scene *s, const char *path, struct bytes content, struct err *err)
{
    struct fs_file *file = NULL;
    enum rc rc;

    if (fs_exists(s->local_fs, path))
        return RC_OK;
    GOTO_IF_ERR(fs_create(s->local_fs, path, &file, err));
    GOTO_IF_ERR(fs_append(file, content, err));
    GOTO_IF_ERR(fs_close(&file, err));
out:
    fs_abandon(&file);
    if (rc != RC_OK) {
        enum rc cleanup UNUSED = fs_unlink(s->local_fs, path, NULL);
    }
    return rc;
}

static enum rc publish_file(struct scene *s, struct snapshot_target *t, uint64_t i,
                            struct arena *arena, struct state_file *out, struct err *err)
{
    struct bytes content = scene_content(arena, i);
    const char *path = arena_printf(arena, "%s/%" PRIu64 ".sst", s->local, i);

    RETURN_IF_ERR(make_local(s, path, content, err));
    RETURN_IF_ERR(
        t->ops->publish_shared(t, arena, path, content.len, digest_of(content), out, err));
    out->local_name = arena_printf(arena, "%06" PRIu64 ".sst", i);
    return RC_OK;
}

static enum rc publish_stream(struct snapshot_target *t, struct arena *arena,
                              struct state_file *out, struct err *err)
{
    struct snapshot_stream *stream;
    char piece[700];
    enum rc rc;

    memset(piece, 'x', sizeof piece);
    RETURN_IF_ERR(t->ops->stream_open(t, &stream, err));
    for (int i = 0; i < 10; i++) {
        rc = t->ops->stream_append(stream, bytes_of(piece, sizeof piece), err);
        if (rc != RC_OK) {
            t->ops->stream_abort(stream);
            return rc;
        }
    }
    return t->ops->stream_finish(stream, arena, out, err);
}

static void fill_tree(struct arena *arena, uint64_t id, struct checkpoint_metadata *m)
{
    struct operator_meta *op = ARENA_NEW(arena, struct operator_meta);
    struct keyed_handle *h = ARENA_NEW(arena, struct keyed_handle);

    *m = (struct checkpoint_metadata){
        .checkpoint_id = id,
        .kind = CHECKPOINT_PERIODIC,
        .job_id = SCENE_JOB_ID,
        .job_name = "scene",
        .trigger_wall_ms = (int64_t)id * 1000,
        .completed_wall_ms = (int64_t)id * 1000 + 5,
        .varve_version = "test",
        .rocksdb_version = "none",
        .sql = "",
        .operator_count = 1,
        .operators = op,
    };
    *op = (struct operator_meta){
        .id = SCENE_OPERATOR_ID,
        .uid = "",
        .name = "Toy[k]",
        .parallelism = 1,
        .key_group_count = 128,
        .subtask_count = 1,
        .subtasks = ARENA_NEW(arena, struct subtask_state),
    };
    op->subtasks[0].keyed_count = 1;
    op->subtasks[0].keyed = h;
    *h = (struct keyed_handle){
        .kind = KEYED_ROCKS,
        .range = {0, 127},
        .key_group_count = 128,
        .backend_id = "00000000000000000000000000000001",
        .file_count = SCENE_FILES + 3,
        .files = ARENA_ARRAY(arena, SCENE_FILES + 3, struct state_file),
    };
}

enum rc scene_publish(struct scene *s, struct storage_attempt *a, uint64_t id, struct arena *arena,
                      struct checkpoint_metadata *out, struct err *err)
{
    struct snapshot_target *t = storage_attempt_target(a, "Toy[k] (1/1)");
    struct state_file *files;
    enum rc rc;

    fill_tree(arena, id, out);
    files = out->operators[0].subtasks[0].keyed[0].files;
    for (uint64_t i = 0; i < SCENE_FILES; i++)
        GOTO_IF_ERR(publish_file(s, t, id + i, arena, &files[i], err));
    GOTO_IF_ERR(t->ops->publish_exclusive(t, arena, bytes_of_str("MANIFEST-000001\n"),
                                          &files[SCENE_FILES], err));
    files[SCENE_FILES].local_name = "CURRENT";
    GOTO_IF_ERR(t->ops->publish_exclusive(t, arena, scene_content(arena, 1000 + id),
                                          &files[SCENE_FILES + 1], err));
    files[SCENE_FILES + 1].local_name = "MANIFEST-000001";
    GOTO_IF_ERR(publish_stream(t, arena, &files[SCENE_FILES + 2], err));
    files[SCENE_FILES + 2].local_name = "OPTIONS-000002";
out:
    storage_target_release(t);
    return rc;
}

enum rc scene_checkpoint(struct scene *s, uint64_t id, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct storage_attempt *a = NULL;
    struct checkpoint_metadata m;
    enum rc rc;

    GOTO_IF_ERR(storage_attempt_begin(s->storage, id, &a, err));
    GOTO_IF_ERR(scene_publish(s, a, id, arena, &m, err));
    GOTO_IF_ERR(storage_attempt_complete(a, &m, err));
    s->completed_id = id;
out:
    if (a != NULL) {
        enum rc logged UNUSED = storage_attempt_abort(a, NULL); /* no-op once completed */

        storage_attempt_free(a);
    }
    arena_free(arena);
    return rc;
}

enum rc scene_step(struct scene *s, uint64_t id, struct err *err)
{
    uint64_t before = s->completed_id;
    enum rc rc = scene_checkpoint(s, id, err), logged UNUSED;

    if (rc == RC_OK && before != 0)
        logged = storage_checkpoint_discard(s->storage, before, NULL);
    logged = storage_clean(s->storage, NULL, NULL);
    return rc;
}

struct audit {
    struct fs *fs;
    struct arena *arena;
    uint64_t newest;
    const char *wrong; /* "" */
};

static enum rc audit_one(void *ctx, const struct orphan_report *r UNUSED,
                         const struct orphan_checkpoint *c, const struct checkpoint_metadata *meta,
                         struct err *err UNUSED)
{
    struct audit *a = ctx;
    struct recovery_fault *faults;
    struct err local = {0};
    size_t count;

    if (a->wrong[0] != '\0')
        return RC_OK;
    a->newest = c->checkpoint_id;
    if (meta == NULL)
        a->wrong = arena_printf(a->arena, "chk-%" PRIu64 ": %s", c->checkpoint_id, c->reason);
    else if (meta->checkpoint_id != c->checkpoint_id)
        a->wrong = arena_printf(a->arena, "chk-%" PRIu64 " holds %" PRIu64, c->checkpoint_id,
                                meta->checkpoint_id);
    else if (recovery_check_files(&(struct env){.fs = a->fs}, meta, true, a->arena, &faults, &count, &local) != RC_OK)
        a->wrong = arena_printf(a->arena, "chk-%" PRIu64 ": %s", c->checkpoint_id, local.msg);
    else if (count > 0)
        a->wrong = arena_printf(a->arena, "chk-%" PRIu64 ": %s: %s (and %zu more)",
                                c->checkpoint_id, faults[0].path, faults[0].reason, count - 1);
    return RC_OK;
}

const char *scene_audit(struct fs *fs, const char *job_dir, struct arena *arena, uint64_t *newest,
                        size_t *orphans)
{
    struct audit audit = {.fs = fs, .arena = arena, .wrong = ""};
    struct orphan_report report;
    struct err err = {0};
    enum rc rc = orphans_scan(fs, job_dir, audit_one, &audit, &report, &err);

    if (rc != RC_OK && rc != RC_NOT_FOUND)
        audit.wrong = arena_printf(arena, "scan: %s", err.msg);
    *newest = audit.newest;
    *orphans = report.orphan_count;
    orphan_report_release(&report);
    return audit.wrong;
}
