/* bench_flink_savepoint.c - a canonical savepoint of Flink's read and written: MB/s of CPU.
 *
 *     bench_flink_savepoint [--entries N] [--value BYTES] [--dir DIR]
 *
 * Makes a savepoint of one VALUE state (keys BIGINT, 128 key groups, values of BYTES), then exports it
 * (flink_savepoint_write: every entry read, checked, put into order and written, fsync) and copies the
 * same bytes as fast as it can (read and write of 1 MB, fsync), three times each; the least counts.
 * DIR: better not a disk. Ends with 1 when not all entries came through.
 */
#include "backend/keygroup.h"
#include "base/arena.h"
#include "checkpoint/flink/flink_canonical.h"
#include "checkpoint/flink/flink_describe.h"
#include "checkpoint/flink/flink_metadata_write.h"
#include "checkpoint/flink/flink_savepoint.h"
#include "checkpoint/flink/flink_snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GROUPS 128u
#define TURNS 3
#define VALUE_MAX 65536u

struct bench {
    struct env env;
    struct arena *arena;
    const char *dir, *from, *to;
    uint64_t entries;
    size_t value_bytes;
};

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Keys ascending inside each key group, values that do not repeat. */
static enum rc put_entries(struct bench *b, struct flink_canonical *c, struct err *err)
{
    uint64_t *value = mem_calloc(1, VALUE_MAX), at = 1;
    enum rc rc = RC_OK;

    for (uint64_t i = 0; i < b->entries && rc == RC_OK; i++) {
        uint8_t key[10] = {(uint8_t)(i * GROUPS / b->entries)};

        put_be64(key + 1, i);
        for (size_t k = 0; k < b->value_bytes / 8; k++)
            value[k] = at = splitmix64(at);
        rc = flink_canonical_add(c, 0, bytes_of(key, sizeof key), bytes_of(value, b->value_bytes),
                                 true, err);
    }
    mem_free(value);
    return rc;
}

static enum rc make_source(struct bench *b, struct err *err)
{
    static const struct state_desc desc = {.name = "v", .kind = STATE_VALUE, .key_type = "BIGINT",
                                           .namespace_type = "VOID", .user_key_type = "",
                                           .value_type = "BYTES"};
    struct flink_groups groups = {.range = {0, GROUPS}};
    struct flink_subtask subtask = {0};
    struct flink_operator op = {.name = bytes_of_str("op"), .uid = bytes_of_str("op"),
                                .parallelism = 1, .max_parallelism = GROUPS, .subtask_count = 1,
                                .subtasks = &subtask};
    struct flink_metadata m = {.version = 6, .operator_count = 1, .operators = &op};
    struct buf description = {0}, encoded = {0};
    struct flink_canonical c = {0};
    struct flink_target *t;
    struct flink_file f = {0};
    enum rc rc;

    groups.offsets = ARENA_ARRAY(b->arena, GROUPS, int64_t);
    RETURN_IF_ERR(flink_target_open(&b->env, b->from, &t, err));
    GOTO_IF_ERR(flink_describe_keyed(&desc, 1, &description, err));
    flink_file_init(t, &f);
    flink_canonical_begin(&c, &f, buf_bytes(&description), groups.range, 1, groups.offsets);
    GOTO_IF_ERR(put_entries(b, &c, err));
    GOTO_IF_ERR(flink_canonical_end(&c, err));
    GOTO_IF_ERR(flink_file_finish(&f, b->arena, &groups.stream, err));
    subtask.managed_keyed = (struct flink_keyed){
        .tag = FLINK_KEYED_SAVEPOINT, .range = groups.range, .groups = &groups};
    GOTO_IF_ERR(flink_metadata_encode(&m, FLINK_PROPERTIES_CANONICAL, &encoded, err));
    rc = flink_target_publish(t, buf_bytes(&encoded), err);
out:
    flink_file_release(&f);
    flink_canonical_release(&c);
    buf_release(&description);
    buf_release(&encoded);
    flink_target_free(t);
    return rc;
}

struct took {
    double cpu_s, wall_s;
};

static void least(struct took *best, double cpu, double wall)
{
    if (best->cpu_s == 0 || cpu < best->cpu_s)
        *best = (struct took){cpu, wall};
}

static enum rc export_once(struct bench *b, struct took *best, uint64_t *bytes, struct err *err)
{
    const struct flink_savepoint_options options = {.scratch_dir = b->dir};
    struct flink_savepoint_result result;
    struct flink_snapshot s = {0};
    double cpu = cpu_s(), wall = wall_s();
    enum rc rc;

    RETURN_IF_ERR(fs_remove_tree(b->env.fs, b->to, err));
    rc = flink_snapshot_open(b->env.fs, b->from, NULL, b->arena, &s, err);
    if (rc == RC_OK)
        rc = flink_savepoint_write(&b->env, &s.meta, s.places, b->to, &options, &result, err);
    flink_snapshot_release(&s);
    if (rc != RC_OK)
        return rc;
    least(best, cpu_s() - cpu, wall_s() - wall);
    *bytes = result.bytes;
    return result.entries == b->entries
               ? RC_OK
               : err_set(err, RC_CORRUPT, "%" PRIu64 " of %" PRIu64 " entries came through",
                         result.entries, b->entries);
}

static enum rc copy_name(void *ctx, const char *name, struct err *err)
{
    struct bench *b = ctx;
    char from[FS_PATH_MAX], to[FS_PATH_MAX];

    RETURN_IF_ERR(path_join(from, sizeof from, b->from, name, err));
    RETURN_IF_ERR(path_join(to, sizeof to, b->to, name, err));
    return fs_copy(b->env.fs, from, to, err);
}

static enum rc copy_once(struct bench *b, struct took *best, struct err *err)
{
    double cpu, wall;

    RETURN_IF_ERR(fs_remove_tree(b->env.fs, b->to, err));
    RETURN_IF_ERR(fs_mkdir(b->env.fs, b->to, err));
    cpu = cpu_s();
    wall = wall_s();
    RETURN_IF_ERR(fs_list(b->env.fs, b->from, copy_name, b, err));
    least(best, cpu_s() - cpu, wall_s() - wall);
    return RC_OK;
}

static enum rc run(struct bench *b, struct err *err)
{
    struct took export = {0}, copy = {0};
    uint64_t bytes = 0;
    double mb;

    RETURN_IF_ERR(fs_remove_tree(b->env.fs, b->from, err));
    RETURN_IF_ERR(make_source(b, err));
    for (int i = 0; i < TURNS; i++) {
        RETURN_IF_ERR(export_once(b, &export, &bytes, err));
        RETURN_IF_ERR(copy_once(b, &copy, err));
    }
    mb = (double)bytes / 1e6;
    printf("%" PRIu64 " entries of %zu bytes, %.0f MB\n", b->entries, b->value_bytes, mb);
    printf("export  %6.0f MB/s of CPU, %6.0f of wall time, %5.0f ns an entry\n", mb / export.cpu_s,
           mb / export.wall_s, export.cpu_s * 1e9 / (double)b->entries);
    printf("copy    %6.0f MB/s of CPU, %6.0f of wall time; the export is %.2f of it\n",
           mb / copy.cpu_s, mb / copy.wall_s, copy.cpu_s / export.cpu_s);
    RETURN_IF_ERR(fs_remove_tree(b->env.fs, b->to, err));
    return fs_remove_tree(b->env.fs, b->from, err);
}

int main(int argc, char **argv)
{
    struct bench b = {.env = {.fs = fs_posix(), .seed = 1}, .dir = "/dev/shm", .entries = 4000000,
                      .value_bytes = 96};
    struct err err = {0};
    enum rc rc;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--entries") == 0)
            b.entries = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--value") == 0)
            b.value_bytes = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--dir") == 0)
            b.dir = argv[i + 1];
    }
    if (b.entries < GROUPS || b.value_bytes > VALUE_MAX) {
        fprintf(stderr, "at least %u entries, values of at most %u bytes\n", GROUPS, VALUE_MAX);
        return 2;
    }
    b.arena = arena_new(0);
    b.from = arena_printf(b.arena, "%s/bench-savepoint-from", b.dir);
    b.to = arena_printf(b.arena, "%s/bench-savepoint-to", b.dir);
    rc = run(&b, &err);
    arena_free(b.arena);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", err.msg);
    return rc == RC_OK ? 0 : 1;
}
