/* bench_rocks_flink.c - what looking at a large snapshot of Flink's costs, beside reading the same bytes.
 *
 *     bench_rocks_flink DIR [MB]     (1000)
 *
 * Makes in DIR, unless they are there: db/, a checkpoint of RocksDB's files (value state, keys BIGINT,
 * 100 letters each), and canonical/, a savepoint's stream of the same entries. Each look runs in a
 * process of its own: seconds, what was read and how fast, beside the plain reading of those bytes (from
 * the page cache, where they are after making them), peak resident memory. */
#include "backend/keygroup.h"
#include "base/arena.h"
#include "checkpoint/flink/flink_source.h"
#include "checkpoint/inspect.h"
#include "checkpoint/snapshot_read.h"
#include "tests/lib/flink_bytes.h"

#include <inttypes.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS 128u
#define LETTERS 100u
#define KEY_BYTES 10u             /* group, BIGINT, void namespace */
#define VALUE_BYTES (1 + LETTERS) /* length + 1, ASCII */
#define ENTRY_BYTES (KEY_BYTES + VALUE_BYTES)
#define SST_BYTES (64u << 20)
#define FIRST 10u

static struct env env;
static struct err err;
static uint64_t keys;
static uint32_t *by_group; /* key numbers, group by group */
static uint64_t group_ends[GROUPS];

static void must(enum rc rc)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_rocks_flink: %s\n", err.msg);
    exit(3);
}

static void must_rocks(char *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "bench_rocks_flink: %s\n", error);
    exit(3);
}

/* ---- entries --------------------------------------------------------------------------------- */

static uint32_t group_of(uint64_t key)
{
    return keygroup_of_hash((uint32_t)(key ^ key >> 32), GROUPS);
}

static void sort_keys(void)
{
    uint64_t starts[GROUPS + 1] = {0};

    by_group = mem_alloc(keys * sizeof *by_group);
    for (uint64_t k = 0; k < keys; k++)
        starts[group_of(k) + 1]++;
    for (uint32_t g = 0; g < GROUPS; g++)
        starts[g + 1] += starts[g];
    for (uint64_t k = 0; k < keys; k++)
        by_group[starts[group_of(k)]++] = (uint32_t)k;
    memcpy(group_ends, starts, sizeof group_ends);
}

static void put_entry(uint32_t group, uint64_t key, uint8_t key_out[KEY_BYTES],
                      uint8_t value_out[VALUE_BYTES])
{
    uint64_t mixed = key * 0x9E3779B97F4A7C15u;

    key_out[0] = (uint8_t)group;
    put_be64(key_out + 1, key);
    key_out[9] = 0;
    value_out[0] = LETTERS + 1;
    for (uint32_t i = 0; i < LETTERS; i++, mixed = mixed << 5 | mixed >> 59)
        value_out[1 + i] = (uint8_t)('a' + (mixed & 15));
}

/* ---- what Flink writes around them ----------------------------------------------------------- */

static void put_record(struct buf *b, const char *simple)
{
    buf_append_be32(b, 2);
    if (simple != NULL)
        flink_simple(b, simple);
    else
        flink_class(b, "org.apache.flink.runtime.state.VoidNamespaceSerializer$"
                       "VoidNamespaceSerializerSnapshot", 3);
}

static void put_description(struct buf *b)
{
    buf_append_be32(b, 6);
    buf_append_u8(b, 0);
    put_record(b, "Long");
    buf_append_be16(b, 1);
    flink_utf(b, "letters");
    buf_append_be32(b, 0);
    buf_append_be32(b, 1);
    flink_utf(b, "KEYED_STATE_TYPE");
    flink_utf(b, "VALUE");
    buf_append_be32(b, 2);
    flink_utf(b, "VALUE_SERIALIZER");
    put_record(b, "String");
    flink_utf(b, "NAMESPACE_SERIALIZER");
    put_record(b, NULL);
}

static void put_relative(struct buf *b, const char *dir, const char *name)
{
    char path[FS_PATH_MAX];
    struct fs_stat st;

    must(path_join(path, sizeof path, dir, name, &err));
    must(fs_stat(env.fs, path, &st, &err));
    buf_append_u8(b, 6);
    flink_utf(b, name);
    buf_append_be64(b, st.size_bytes);
}

/* One operator of one subtask, without operator state; its keyed state follows, then the end. */
static void put_head(struct buf *b)
{
    buf_append_be32(b, FLINK_MAGIC);
    buf_append_be32(b, 3);
    buf_append_be64(b, 1);
    buf_append_be32(b, 0);
    buf_append_be32(b, 1);
    buf_append(b, "0123456789abcdef", FLINK_ID_BYTES);
    buf_append_be32(b, 1);
    buf_append_be32(b, GROUPS);
    buf_append_u8(b, 0);
    buf_append_be32(b, 1);
    buf_append_be32(b, 0);
    buf_append_be32(b, 0);
    buf_append_be32(b, 0);
}

static void write_file(const char *dir, const char *name, struct bytes content)
{
    char path[FS_PATH_MAX];
    struct fs_file *f = NULL;

    must(path_join(path, sizeof path, dir, name, &err));
    must(fs_create(env.fs, path, &f, &err));
    must(fs_append(f, content, &err));
    must(fs_close(&f, &err));
}

static void end_metadata(const char *dir, struct buf *b)
{
    buf_append_u8(b, 0); /* no raw keyed state, no channels */
    buf_append_be32(b, 0);
    buf_append_be32(b, 0);
    write_file(dir, "_metadata", buf_bytes(b));
    buf_release(b);
}

/* ---- making them ----------------------------------------------------------------------------- */

static void write_sst(const char *path, rocksdb_options_t *o, uint64_t from, uint64_t to,
                      uint32_t *group)
{
    rocksdb_envoptions_t *eo = rocksdb_envoptions_create();
    rocksdb_sstfilewriter_t *w = rocksdb_sstfilewriter_create(eo, o);
    uint8_t key[KEY_BYTES], value[VALUE_BYTES];
    char *error = NULL;

    rocksdb_sstfilewriter_open(w, path, &error);
    must_rocks(error);
    for (uint64_t i = from; i < to; i++) {
        while (i >= group_ends[*group])
            ++*group;
        put_entry(*group, by_group[i], key, value);
        rocksdb_sstfilewriter_put(w, (char *)key, sizeof key, (char *)value, sizeof value, &error);
        must_rocks(error);
    }
    rocksdb_sstfilewriter_finish(w, &error);
    must_rocks(error);
    rocksdb_sstfilewriter_destroy(w);
    rocksdb_envoptions_destroy(eo);
}

static void fill(rocksdb_t *db, rocksdb_column_family_handle_t *cf, rocksdb_options_t *o,
                 const char *scratch)
{
    rocksdb_ingestexternalfileoptions_t *how = rocksdb_ingestexternalfileoptions_create();
    uint64_t step = SST_BYTES / ENTRY_BYTES;
    uint32_t group = 0;
    char path[FS_PATH_MAX], *error = NULL;
    const char *files[] = {path};

    rocksdb_ingestexternalfileoptions_set_move_files(how, 1);
    must(path_join(path, sizeof path, scratch, "run", &err));
    for (uint64_t from = 0; from < keys; from += step) {
        write_sst(path, o, from, from + step < keys ? from + step : keys, &group);
        rocksdb_ingest_external_file_cf(db, cf, files, 1, how, &error);
        must_rocks(error);
    }
    rocksdb_ingestexternalfileoptions_destroy(how);
}

/* A database with the entries, and RocksDB's checkpoint of it in `to`. */
static void make_database(const char *scratch, const char *to)
{
    rocksdb_options_t *o = rocksdb_options_create();
    const char *names[] = {"default", "letters"};
    const rocksdb_options_t *os[] = {o, o};
    rocksdb_column_family_handle_t *cfs[2];
    rocksdb_checkpoint_t *checkpoint;
    char dir[FS_PATH_MAX], *error = NULL;
    rocksdb_t *db;

    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_create_missing_column_families(o, 1);
    rocksdb_options_set_compression(o, rocksdb_no_compression);
    must(path_join(dir, sizeof dir, scratch, "made", &err));
    db = rocksdb_open_column_families(o, dir, 2, names, os, cfs, &error);
    must_rocks(error);
    fill(db, cfs[1], o, scratch);
    checkpoint = rocksdb_checkpoint_object_create(db, &error);
    must_rocks(error);
    rocksdb_checkpoint_create(checkpoint, to, 0, &error);
    must_rocks(error);
    rocksdb_checkpoint_object_destroy(checkpoint);
    rocksdb_column_family_handle_destroy(cfs[0]);
    rocksdb_column_family_handle_destroy(cfs[1]);
    rocksdb_close(db);
    rocksdb_options_destroy(o);
    must(fs_remove_tree(env.fs, dir, &err));
}

struct naming {
    const char *dir;
    struct buf shared, private;
    uint32_t shared_count, private_count;
};

static enum rc name_file(void *ctx, const char *name, struct err *e UNUSED)
{
    struct naming *n = ctx;
    bool sst = bytes_end_with(bytes_of_str(name), bytes_of_str(".sst"));
    struct buf *b = sst ? &n->shared : &n->private;

    if (strcmp(name, "states") == 0)
        return RC_OK;
    flink_utf(b, name);
    put_relative(b, n->dir, name);
    *(sst ? &n->shared_count : &n->private_count) += 1;
    return RC_OK;
}

static void make_db_checkpoint(const char *scratch, const char *dir)
{
    struct naming n = {.dir = dir};
    struct buf b = {0}, states = {0};

    make_database(scratch, dir);
    put_description(&states);
    write_file(dir, "states", buf_bytes(&states));
    must(fs_list(env.fs, dir, name_file, &n, &err));
    put_head(&b);
    buf_append_u8(&b, FLINK_KEYED_INCREMENTAL_OLD);
    buf_append_be64(&b, 1);
    flink_utf(&b, "backend");
    buf_append_be32(&b, 0);
    buf_append_be32(&b, GROUPS);
    put_relative(&b, dir, "states");
    buf_append_be32(&b, n.shared_count);
    buf_append(&b, n.shared.data, n.shared.len);
    buf_append_be32(&b, n.private_count);
    buf_append(&b, n.private.data, n.private.len);
    end_metadata(dir, &b);
    buf_release(&states);
    buf_release(&n.shared);
    buf_release(&n.private);
}

/* A key group's entries, and that they end. */
static void put_group(struct buf *b, uint32_t group, uint64_t from, uint64_t to)
{
    uint8_t key[KEY_BYTES], value[VALUE_BYTES];

    buf_append_be16(b, 0);
    for (uint64_t i = from; i < to; i++) {
        put_entry(group, by_group[i], key, value);
        if (i + 1 == to)
            key[0] |= 0x80;
        buf_append_be32(b, sizeof key);
        buf_append(b, key, sizeof key);
        buf_append_be32(b, sizeof value);
        buf_append(b, value, sizeof value);
    }
    buf_append_be16(b, 0xFFFF);
}

static void make_canonical(const char *dir)
{
    struct buf b = {0}, piece = {0}, offsets = {0};
    char path[FS_PATH_MAX];
    struct fs_file *f = NULL;
    uint64_t at = 0, from = 0;

    must(fs_mkdirs(env.fs, dir, &err));
    must(path_join(path, sizeof path, dir, "stream", &err));
    must(fs_create(env.fs, path, &f, &err));
    put_description(&piece);
    for (uint32_t g = 0; g < GROUPS; from = group_ends[g++]) {
        buf_append_be64(&offsets, group_ends[g] == from ? 0 : at + piece.len);
        if (group_ends[g] > from)
            put_group(&piece, g, from, group_ends[g]);
        must(fs_append(f, buf_bytes(&piece), &err));
        at += piece.len;
        buf_clear(&piece);
    }
    must(fs_close(&f, &err));
    put_head(&b);
    buf_append_u8(&b, FLINK_KEYED_SAVEPOINT);
    buf_append_be32(&b, 0);
    buf_append_be32(&b, GROUPS);
    buf_append(&b, offsets.data, offsets.len);
    put_relative(&b, dir, "stream");
    end_metadata(dir, &b);
    buf_release(&piece);
    buf_release(&offsets);
}

/* ---- looks ----------------------------------------------------------------------------------- */

struct figure {
    uint64_t bytes, entries;
};

static enum rc count_bytes(void *ctx, struct bytes piece, struct err *e UNUSED)
{
    *(uint64_t *)ctx += piece.len;
    return RC_OK;
}

/* _metadata and descriptions. */
static void look_inspect(const char *dir, struct figure *out)
{
    struct inspect_options how = {.form = INSPECT_TEXT};
    uint64_t report = 0;
    bool damaged;

    must(inspect_path(&env, dir, &how, count_bytes, &report, &damaged, &err));
    out->bytes = report;
    out->entries = damaged;
}

static void walk(const char *dir, uint64_t limit, struct figure *out)
{
    struct arena *arena = arena_new(0);
    struct checkpoint_metadata m;
    struct flink_source *source;
    char scratch[FS_PATH_MAX];
    struct bytes key, value;
    uint64_t bytes;

    must(path_join(scratch, sizeof scratch, dir, "../scratch", &err));
    must(fs_mkdirs(env.fs, scratch, &err));
    must(snapshot_read(env.fs, dir, NULL, arena, &m, &bytes, &err));
    must(flink_source_open(env.fs, &m.flink->operators[0],
                           flink_places_new(env.fs, m.flink, dir, NULL, arena), scratch, &source,
                           &err));
    flink_walk_begin(source, bytes_of_str("letters"), (struct key_group_range){0, GROUPS - 1},
                     (struct bytes){0});
    while (out->entries < limit) {
        must(flink_walk_next(source, &key, &value, &err));
        if (key.data == NULL)
            break;
        out->entries++;
        out->bytes += key.len + value.len;
    }
    flink_source_close(source);
    arena_free(arena);
}

static void look_first(const char *dir, struct figure *out)
{
    walk(dir, FIRST, out);
}

static void look_all(const char *dir, struct figure *out)
{
    walk(dir, UINT64_MAX, out);
}

static enum rc read_one(void *ctx, const char *name, const struct fs_stat *st, struct err *e)
{
    static uint8_t room[1 << 20];
    struct figure *out = ctx;
    char path[FS_PATH_MAX];
    struct fs_file *f = NULL;
    size_t got = 1;

    if (st->type != FS_FILE)
        return RC_OK;
    must(path_absolute(path, sizeof path, name, e));
    must(fs_open_read(env.fs, path, &f, e));
    for (uint64_t at = 0; got > 0; at += got) {
        must(fs_read_at(f, at, room, sizeof room, &got, e));
        out->bytes += got;
    }
    fs_abandon(&f);
    return RC_OK;
}

/* The physical limit: every byte once, and nothing made of it. */
static void look_read(const char *dir, struct figure *out)
{
    if (chdir(dir) != 0)
        exit(3);
    must(fs_list_stat(env.fs, dir, read_one, out, &err));
}

static void run(const char *what, const char *dir, void (*look)(const char *, struct figure *))
{
    int status = 1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        int64_t start_ns = clock_mono_ns(env.clock);
        struct figure out = {0};
        struct rusage used;
        double s;

        look(dir, &out);
        s = (double)(clock_mono_ns(env.clock) - start_ns) / 1e9;
        getrusage(RUSAGE_SELF, &used);
        printf("%-28s %9.3f ms  cpu %8.3f ms  %9" PRIu64 " entries %11" PRIu64
               " bytes  %7.1f MB/s  peak %6.1f MB\n",
               what, 1e3 * s,
               1e3 * ((double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6),
               out.entries, out.bytes, (double)out.bytes / 1e6 / s,
               (double)used.ru_maxrss / 1024);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (status != 0)
        exit(3);
}

int main(int argc, char **argv)
{
    char dir[FS_PATH_MAX], db[FS_PATH_MAX], canonical[FS_PATH_MAX];

    if (argc < 2)
        return 2;
    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    keys = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1000) * 1000000 / ENTRY_BYTES;
    must(fs_mkdirs(env.fs, argv[1], &err));
    must(path_absolute(dir, sizeof dir, argv[1], &err));
    must(path_join(db, sizeof db, dir, "db", &err));
    must(path_join(canonical, sizeof canonical, dir, "canonical", &err));
    if (!fs_exists(env.fs, db) || !fs_exists(env.fs, canonical)) {
        sort_keys();
        make_db_checkpoint(dir, db);
        make_canonical(canonical);
        mem_free(by_group);
    }
    run("db: read", db, look_read);
    run("db: inspect", db, look_inspect);
    run("db: first entries", db, look_first);
    run("db: all entries", db, look_all);
    run("canonical: read", canonical, look_read);
    run("canonical: inspect", canonical, look_inspect);
    run("canonical: first entries", canonical, look_first);
    run("canonical: all entries", canonical, look_all);
    return 0;
}
