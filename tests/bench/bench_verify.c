/* bench_verify.c - how fast `varve verify` proves what a job left, beside reading alone.
 *
 *     bench_verify PATH          a checkpoint, a job's directory or a root, with some GB in it
 *
 * "read": every file below PATH, one after the other, into one buffer, and nothing done with it.
 * "verify": with one thread, then with one a core. Each in a process of its own: wall time, CPU
 * time, peak of its memory; GB/s of wall and of CPU time. The first pass warms the page cache and
 * is not shown. */
#include "base/clock.h"
#include "base/thread.h"
#include "checkpoint/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)

static struct env env;

/* ---- reading alone --------------------------------------------------------------------------- */

struct reading {
    const char *dir;
    uint8_t *piece;
    uint64_t bytes;
};

static enum rc read_file(struct reading *r, const char *path, struct err *err)
{
    struct fs_file *file;
    uint64_t at = 0;
    size_t got;

    RETURN_IF_ERR(fs_open_read(env.fs, path, &file, err));
    do {
        RETURN_IF_ERR(fs_read_at(file, at, r->piece, PIECE, &got, err));
        at += got;
    } while (got == PIECE);
    fs_abandon(&file);
    r->bytes += at;
    return RC_OK;
}

static enum rc read_name(void *ctx, const char *name, struct err *err)
{
    struct reading *r = ctx, below = *r;
    char path[FS_PATH_MAX];
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, r->dir, name, err));
    RETURN_IF_ERR(fs_stat(env.fs, path, &st, err));
    if (st.type == FS_FILE)
        return read_file(r, path, err);
    below.dir = path;
    RETURN_IF_ERR(fs_list(env.fs, path, read_name, &below, err));
    r->bytes = below.bytes;
    return RC_OK;
}

static enum rc read_all(const char *path, uint64_t *bytes, struct err *err)
{
    struct reading r = {.dir = path, .piece = mem_alloc(PIECE)};
    enum rc rc = fs_list(env.fs, path, read_name, &r, err);

    mem_free(r.piece);
    *bytes = r.bytes;
    return rc;
}

/* ---- verify ---------------------------------------------------------------------------------- */

static enum rc verify_all(const char *path, uint32_t threads, uint64_t *bytes, struct err *err)
{
    struct verify_report r;
    enum rc rc = verify_path(&env, path, &(struct verify_options){.threads = threads}, &r, err);

    if (rc == RC_OK && verify_found_damage(&r))
        rc = err_set(err, RC_CORRUPT, "%s is damaged", path);
    *bytes = r.read_bytes;
    verify_report_release(&r);
    return rc;
}

/* In a child; threads 0: reading alone. */
static int look(const char *path, uint32_t threads)
{
    int64_t start_ns = clock_mono_ns(env.clock);
    struct err err = {0};
    struct rusage used;
    uint64_t bytes;
    double s, cpu_s;
    enum rc rc = threads == 0 ? read_all(path, &bytes, &err)
                              : verify_all(path, threads, &bytes, &err);

    if (rc != RC_OK) {
        fprintf(stderr, "bench_verify: %s\n", err.msg);
        return 1;
    }
    s = (double)(clock_mono_ns(env.clock) - start_ns) / 1e9;
    getrusage(RUSAGE_SELF, &used);
    cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
            (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("%-6s %2u thread(s) %7.2f s  cpu %7.2f s  peak %6.1f MB  %6.2f GB/s, %6.2f of CPU\n",
           threads == 0 ? "read" : "verify", threads == 0 ? 1 : threads, s, cpu_s,
           (double)used.ru_maxrss / 1024, (double)bytes / 1e9 / s, (double)bytes / 1e9 / cpu_s);
    return 0;
}

int main(int argc, char **argv)
{
    const uint32_t threads[] = {0, 1, thread_core_count()};
    struct err err = {0};
    uint64_t bytes;
    int failed = 0;

    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    if (argc != 2) {
        fprintf(stderr, "usage: bench_verify PATH\n");
        return 2;
    }
    if (read_all(argv[1], &bytes, &err) != RC_OK) {
        fprintf(stderr, "bench_verify: %s\n", err.msg);
        return 3;
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        int status = 1;
        pid_t pid = fork();

        if (pid == 0) {
            failed = look(argv[1], threads[i]);
            fflush(stdout);
            _exit(failed);
        }
        waitpid(pid, &status, 0);
        failed |= status != 0;
    }
    return failed;
}
