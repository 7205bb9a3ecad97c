/* bench_inspect.c - what looking at a directory with years of history costs.
 *
 *     bench_inspect DIR [CHECKPOINTS [WINDOW [STEP]]]     (10000, 40, 10)
 *
 * Makes the history of tests/lib/big_history.h in DIR unless it is there, then looks at it in each
 * form in a process of its own: seconds, CPU seconds, peak resident memory, bytes of report. */
#include "base/arena.h"
#include "base/thread.h"
#include "checkpoint/inspect.h"
#include "checkpoint/orphans_search.h"
#include "checkpoint/usage.h"
#include "checkpoint/verify.h"
#include "job/list_items.h"
#include "tests/lib/big_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct env env;

static enum rc count_bytes(void *ctx, struct bytes piece, struct err *err UNUSED)
{
    *(uint64_t *)ctx += piece.len;
    return RC_OK;
}

static enum rc count_orphans(void *ctx, const struct orphan_place *p, struct err *err UNUSED)
{
    *(uint64_t *)ctx += p->old_count + p->young_count;
    return RC_OK;
}

enum look { LOOK_TEXT, LOOK_JSON, LOOK_JSON_FILES, LOOK_HTML, LOOK_ORPHANS, LOOK_VERIFY, LOOK_DU };

static enum rc verify_all(const char *dir, uint64_t *files, struct err *err)
{
    struct verify_report r;
    enum rc rc = verify_path(&env, dir, &(struct verify_options){.threads = thread_core_count()},
                             &r, err);

    *files = r.file_count;
    verify_report_release(&r);
    return rc;
}

static enum rc du_all(const char *dir, uint64_t *files, struct err *err)
{
    struct usage_report r;
    enum rc rc = usage_look(env.fs, dir, NULL, NULL, (struct look_watch){0}, &r, err);

    *files = r.all.count;
    usage_report_release(&r);
    return rc;
}

static enum rc look_at(const char *dir, enum look look, uint64_t *size, struct err *err)
{
    struct inspect_options how = {.describe = list_item_describe, .files = look == LOOK_JSON_FILES};
    bool damaged;

    *size = 0;
    if (look == LOOK_ORPHANS)
        return orphans_search(&env, dir, &(struct orphan_search){0}, count_orphans, size, err);
    if (look == LOOK_VERIFY)
        return verify_all(dir, size, err);
    if (look == LOOK_DU)
        return du_all(dir, size, err);
    how.form = look == LOOK_TEXT ? INSPECT_TEXT : look == LOOK_HTML ? INSPECT_HTML : INSPECT_JSON;
    return inspect_path(&env, dir, &how, count_bytes, size, &damaged, err);
}

/* In the child. */
static int look_and_tell(const char *dir, enum look look)
{
    static const char *const names[] = {"text",    "--json", "--json --files", "--html",
                                        "orphans", "verify", "du"};
    int64_t start_ns = clock_mono_ns(env.clock);
    struct err err = {0};
    struct rusage used;
    uint64_t size;

    if (look_at(dir, look, &size, &err) != RC_OK) {
        fprintf(stderr, "%s: %s\n", names[look], err.msg);
        return 1;
    }
    getrusage(RUSAGE_SELF, &used);
    printf("%-16s %6.2f s  cpu %6.2f s  peak %6.1f MB  %s %" PRIu64 "\n", names[look],
           (double)(clock_mono_ns(env.clock) - start_ns) / 1e9,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
           (double)used.ru_maxrss / 1024, look == LOOK_ORPHANS  ? "orphans"
           : look > LOOK_ORPHANS ? "files"
                                 : "bytes", size);
    return 0;
}

static uint64_t number(char **argv, int argc, int at, uint64_t otherwise)
{
    return at < argc ? strtoull(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    struct big_history h = {.checkpoints = number(argv, argc, 2, 10000),
                            .window = (uint32_t)number(argv, argc, 3, 40),
                            .step = (uint32_t)number(argv, argc, 4, 10),
                            .strays = 1000};
    char job_dir[FS_PATH_MAX];
    struct err err = {0};
    int failed = 0;

    if (argc < 2)
        return 2;
    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    h.root = argv[1];
    snprintf(job_dir, sizeof job_dir, "%s/" BIG_HISTORY_JOB_ID, h.root);
    if (!fs_exists(env.fs, job_dir) && big_history_make(env.fs, &h, &err) != RC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 3;
    }
    for (enum look look = LOOK_TEXT; look <= LOOK_DU; look++) {
        int status = 1;
        pid_t pid;

        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            failed = look_and_tell(job_dir, look);
            fflush(stdout);
            _exit(failed);
        }
        waitpid(pid, &status, 0);
        failed |= status != 0;
    }
    return failed;
}
