/* bench_s3.c - how fast files go to an S3 server and come back, each way checked.
 *
 *     bench_s3 ENDPOINT BUCKET [MB=256] [MB of a part=8]
 *
 * Keys from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The file is written in pieces of 1 MiB and
 * read in pieces of 64 KiB, as snapshots are. scripts/check-storage prints it beside curl on the
 * same server. */
#include "base/arena.h"
#include "base/fs_s3.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITE_PIECE ((size_t)1 << 20)
#define READ_PIECE ((size_t)64 << 10)

static void must(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "%s\n", err->msg);
    exit(1);
}

static struct fs *connect_to(const char *endpoint, size_t part_bytes, const struct env *env)
{
    struct s3_config config = {
        .endpoint = endpoint,
        .region = "us-east-1",
        .credentials = {getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), NULL},
        .path_style = true,
        .part_bytes = part_bytes,
        .copy_part_bytes = S3_COPY_PART_BYTES_DEFAULT,
    };
    struct http_client_config http = {.clock = clock_posix(),
                                      .seed = 1,
                                      .user_agent = "varve-bench",
                                      .connect_timeout_ms = 5000,
                                      .stall_timeout_ms = 60000,
                                      .tries = 1};
    struct s3_client *client;
    struct err err = {0};

    must(s3_client_new(&config, &http, env, &client, &err), &err);
    return fs_s3_new_take(client, &(struct lease_config){.clock = clock_posix(), .ttl_ms = 60000});
}

/* The same bytes again and again would be easy on a server: each piece says which it is. */
static void mark(uint8_t *piece, uint64_t number)
{
    for (size_t at = 0; at < WRITE_PIECE; at += 4096)
        put_be64(piece + at, splitmix64(number + at));
}

static struct digest128 write_file(struct fs *fs, const char *path, uint64_t pieces)
{
    struct digest_stream *digest = digest_stream_new();
    uint8_t *piece = mem_calloc(1, WRITE_PIECE);
    struct digest128 d;
    struct err err = {0};
    struct fs_file *f;

    must(fs_create(fs, path, &f, &err), &err);
    for (uint64_t i = 0; i < pieces; i++) {
        mark(piece, i);
        digest_stream_add(digest, bytes_of(piece, WRITE_PIECE));
        must(fs_append(f, bytes_of(piece, WRITE_PIECE), &err), &err);
    }
    must(fs_sync(f, &err), &err);
    must(fs_close(&f, &err), &err);
    d = digest_stream_end(digest);
    digest_stream_free(digest);
    mem_free(piece);
    return d;
}

static struct digest128 read_file(struct fs *fs, const char *path)
{
    struct digest_stream *digest = digest_stream_new();
    uint8_t *piece = mem_alloc(READ_PIECE);
    struct digest128 d;
    struct err err = {0};
    struct fs_file *f;
    uint64_t at = 0;
    size_t got;

    must(fs_open_read(fs, path, &f, &err), &err);
    do {
        must(fs_read_at(f, at, piece, READ_PIECE, &got, &err), &err);
        digest_stream_add(digest, bytes_of(piece, got));
        at += got;
    } while (got == READ_PIECE);
    must(fs_close(&f, &err), &err);
    d = digest_stream_end(digest);
    digest_stream_free(digest);
    mem_free(piece);
    return d;
}

int main(int argc, char **argv)
{
    uint64_t mb = argc > 3 ? strtoull(argv[3], NULL, 10) : 256;
    size_t part_mb = argc > 4 ? strtoul(argv[4], NULL, 10) : S3_PART_BYTES_DEFAULT >> 20;
    struct env env = {.clock = clock_posix()};
    struct digest128 written, back;
    struct err err = {0};
    int64_t t0, t1, t2;
    char path[256];
    struct fs *fs;

    if (argc < 3 || mb == 0 || part_mb == 0) {
        fprintf(stderr, "usage: bench_s3 ENDPOINT BUCKET [MB] [MB of a part]\n");
        return 2;
    }
    fs = connect_to(argv[1], part_mb << 20, &env);
    snprintf(path, sizeof path, "s3://%.100s/bench-%" PRId64, argv[2],
             clock_wall_ms(clock_posix()));
    t0 = clock_mono_ns(env.clock);
    written = write_file(fs, path, mb);
    t1 = clock_mono_ns(env.clock);
    back = read_file(fs, path);
    t2 = clock_mono_ns(env.clock);
    must(fs_unlink(fs, path, &err), &err);
    if (!digest_eq(written, back)) {
        fprintf(stderr, "what came back is not what was written\n");
        return 1;
    }
    printf("{\"mb\": %" PRIu64 ", \"upload_mb_s\": %.1f, \"download_mb_s\": %.1f}\n", mb,
           (double)mb * 1e9 / (double)(t1 - t0), (double)mb * 1e9 / (double)(t2 - t1));
    fs_s3_free(fs);
    return 0;
}
