/* flink_dir.c - see flink_dir.h */
#include "tests/lib/flink_dir.h"

#include "checkpoint/flink/flink_metadata_write.h"
#include "tests/lib/check_ext.h"

static void put_bytes(struct fs *fs, const char *path, struct bytes content)
{
    char dir[FS_PATH_MAX];
    struct fs_file *f;
    struct err err = {0};

    ck_assert_ok(path_dir(dir, sizeof dir, path, &err));
    ck_assert_ok(fs_mkdirs(fs, dir, &err));
    ck_assert_ok(fs_create(fs, path, &f, &err));
    ck_assert_ok(fs_append(f, content, &err));
    ck_assert_ok(fs_sync(f, &err));
    ck_assert_ok(fs_close(&f, &err));
    for (const char *at = path; strcmp(at, "/") != 0; at = dir) { /* every name on the way */
        char above[FS_PATH_MAX];

        ck_assert_ok(path_dir(above, sizeof above, at, &err));
        ck_assert_ok(fs_sync_dir(fs, above, &err));
        memcpy(dir, above, sizeof dir);
    }
}

void flink_dir_put(struct fs *fs, const char *path)
{
    put_bytes(fs, path, bytes_of_str(path));
}

static struct flink_stream stream_of(const char *path)
{
    return (struct flink_stream){.tag = path[0] == '/' ? FLINK_STREAM_FILE : FLINK_STREAM_RELATIVE,
                                 .path = bytes_of_str(path),
                                 .size = (int64_t)strlen(path)};
}

void flink_dir_snapshot(struct fs *fs, const char *dir, int64_t id, const char *const *files,
                        size_t count)
{
    struct flink_db_file *named = mem_calloc(count, sizeof *named);
    struct flink_incremental inc = {.checkpoint_id = id,
                                    .backend_id = bytes_of_str("1"),
                                    .checkpointed_size = -1,
                                    .meta = {.tag = FLINK_STREAM_BYTES,
                                             .path = bytes_of_str("meta"),
                                             .data = bytes_of_str("m"),
                                             .size = 1},
                                    .shared_count = count,
                                    .shared = named};
    struct flink_subtask subtask = {.managed_keyed = {.tag = FLINK_KEYED_INCREMENTAL,
                                                      .range = {0, 128},
                                                      .handle_id = bytes_of_str("h"),
                                                      .incremental = &inc}};
    struct flink_operator op = {.name = bytes_of_str("op"),
                                .uid = bytes_of_str("op"),
                                .parallelism = 1,
                                .max_parallelism = 128,
                                .subtask_count = 1,
                                .subtasks = &subtask};
    struct flink_metadata m = {
        .version = 6, .checkpoint_id = id, .operator_count = 1, .operators = &op};
    struct buf out = {0};
    char path[FS_PATH_MAX];
    struct err err = {0};

    for (size_t i = 0; i < count; i++)
        named[i] = (struct flink_db_file){bytes_of_str("000001.sst"), stream_of(files[i])};
    ck_assert_ok(flink_metadata_encode(&m, FLINK_PROPERTIES_NATIVE, &out, &err));
    ck_assert_ok(path_join(path, sizeof path, dir, "_metadata", &err));
    put_bytes(fs, path, buf_bytes(&out));
    buf_release(&out);
    mem_free(named);
}
