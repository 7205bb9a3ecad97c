/* damage.c - damages a directory of snapshots, one place at a time, and asks `verify` and a restore of each kind what they
 * make of it (C13): thousands of times in one process, for damage.py.
 *
 *     damage flips DIR SCRATCH COUNT SEED     one bit somewhere below DIR, COUNT times
 *     damage cuts DIR SCRATCH COUNT SEED      a file of a snapshot cut to some length; COUNT 0: each file to each length
 *
 * The laws. What a snapshot names: verify names the file with a reason, the restore of a snapshot that
 * uses it is refused with the file's path, and a restore from the job's directory takes another
 * snapshot or says which file it is. Whatever else lies there: a restore gives what it gave before.
 *
 * A restore is that of a job: recovery_open, then each keyed handle through keyed_backend_open, then
 * every entry of every state, every item of every list. Parallelism, backend and the time of the
 * proof are drawn by lot; what comes out is one number for the whole snapshot, and may depend on none
 * of them (C10). On stdout what was counted, as JSON; exit code 1 and a reason: a law is broken.
 * No two names below DIR may be one file. It is as it was at the end, unless a law is broken. */
#include "backend/keyed_backend.h"
#include "base/arena.h"
#include "checkpoint/layout.h"
#include "checkpoint/recovery.h"
#include "checkpoint/verify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROWS_AT_ONCE 512u
#define FILES_MAX 4096u

struct file {
    const char *path;
    uint64_t size_bytes;
    size_t user_count;
    size_t *users; /* snapshots that name it; ascending */
};
static struct env env;
static struct rng rng;
static struct arena *arena;
static const char *root, *scratch;
static struct snapshot_list list;
static uint64_t *contents; /* of each snapshot of the list; 0: it is incomplete */
static struct file files[FILES_MAX];
static size_t file_count;
static struct {
    uint64_t damaged, refused, unused, by_notes, other_taken, none_left;
} counts;

static void fail(const char *fmt, ...) PRINTF_LIKE(1, 2) NORETURN;
static void fail(const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "damage: ");
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(1);
}
#define MUST_BE_OK(call, err)                                                                      \
    do {                                                                                           \
        if ((call) != RC_OK)                                                                       \
            fail("%s", (err).msg);                                                                 \
    } while (0)

/* ---- a restore ------------------------------------------------------------------------------- */

struct way {
    enum backend_kind kind;
    enum restore_verify verify;
    bool as_one; /* all handles of an operator into one backend; else each subtask as it was */
};

/* Whatever order entries come in, their sum is the same. */
static uint64_t entry_hash(const char *of, struct bytes key, struct bytes value)
{
    return splitmix64(hash64(bytes_of(of, strlen(of))) ^
                      hash64_seed(value, splitmix64(hash64(key))));
}

static enum rc add_state(struct keyed_backend *b, const struct state_desc *desc, const char *of,
                         uint64_t *sum, struct err *err)
{
    struct bytes keys[ROWS_AT_ONCE], values[ROWS_AT_ONCE];
    struct keyed_cursor *c = NULL;
    struct keyed_state *s;
    uint32_t got;
    enum rc rc;

    RETURN_IF_ERR(keyed_state_open(b, desc, &s, err));
    RETURN_IF_ERR(keyed_scan_open(s, (struct bytes){0}, &c, err));
    do {
        rc = keyed_scan_next(c, ROWS_AT_ONCE, keys, values, &got, err);
        for (uint32_t i = 0; rc == RC_OK && i < got; i++)
            *sum += entry_hash(of, keys[i], values[i]);
    } while (rc == RC_OK && got > 0);
    keyed_scan_close(c);
    return rc;
}

static enum rc add_keyed(const struct operator_meta *op, const struct keyed_handle *handles,
                         size_t count, struct key_group_range range, const struct way *way,
                         uint64_t *sum, struct err *err)
{
    struct keyed_backend_config config = {.env = &env,
                                          .kind = way->kind,
                                          .range = range,
                                          .key_group_count = op->key_group_count,
                                          .local_dir = scratch,
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = op->name,
                                          .memory_bytes = 64u << 20,
                                          .max_open_files = -1,
                                          .restore_count = count,
                                          .restore = handles,
                                          .restore_operator = op->name,
                                          .verify = way->verify};
    struct keyed_backend *b = NULL;
    enum rc rc = keyed_backend_open(&config, &b, err);

    for (size_t i = 0; rc == RC_OK && i < keyed_state_count(b); i++) {
        char of[512];

        snprintf(of, sizeof of, "%s/%s", op->id, keyed_state_at(b, i)->name);
        rc = add_state(b, keyed_state_at(b, i), of, sum, err);
    }
    keyed_backend_close(b);
    return rc;
}

static void add_lists(const struct operator_meta *op, const struct subtask_state *t, uint64_t *sum)
{
    for (size_t i = 0; i < t->list_count; i++)
        for (size_t k = 0; k < t->lists[i].item_count; k++)
            *sum += entry_hash(t->lists[i].name, bytes_of(op->id, OPERATOR_ID_LEN),
                               t->lists[i].items[k]);
}

static enum rc add_operator(const struct operator_meta *op, const struct way *way, uint64_t *sum,
                            struct arena *a, struct err *err)
{
    struct keyed_handle *all;
    size_t n = 0;

    for (size_t i = 0; i < op->subtask_count; i++) {
        const struct subtask_state *t = &op->subtasks[i];

        add_lists(op, t, sum);
        n += t->keyed_count;
        if (!way->as_one && t->keyed_count > 0)
            RETURN_IF_ERR(add_keyed(
                op, t->keyed, t->keyed_count,
                keygroup_range_of(t->subtask_index, op->parallelism, op->key_group_count), way, sum,
                err));
    }
    if (!way->as_one || n == 0)
        return RC_OK;
    all = ARENA_ARRAY(a, n, struct keyed_handle);
    n = 0;
    for (size_t i = 0; i < op->subtask_count; i++)
        for (size_t k = 0; k < op->subtasks[i].keyed_count; k++)
            all[n++] = op->subtasks[i].keyed[k];
    return add_keyed(op, all, n, keygroup_range_of(0, 1, op->key_group_count), way, sum, err);
}

/* Everything that the snapshot in r holds. */
static enum rc add_all(const struct recovered *r, const struct way *way, uint64_t *content,
                       struct err *err)
{
    *content = splitmix64(r->meta->checkpoint_id);
    for (size_t i = 0; i < r->meta->operator_count; i++)
        RETURN_IF_ERR(add_operator(&r->meta->operators[i], way, content, r->arena, err));
    return RC_OK;
}

static enum rc restore(const char *dir, const struct way *way, uint64_t *content, struct err *err)
{
    struct recovered r = {0};
    enum rc rc = recovery_open(&env, dir, &(struct recovery_options){0}, &r, err);

    if (rc == RC_OK)
        rc = add_all(&r, way, content, err);
    recovered_release(&r);
    if (fs_exists(env.fs, scratch))
        fail("a restore of %s in way %d %d %d leaves its local directory (%s)", dir, (int)way->kind,
             (int)way->verify, way->as_one, rc == RC_OK ? "ok" : err->msg);
    return rc;
}

static struct way any_way(void)
{
    return (struct way){rng_below(&rng, 2) ? BACKEND_ROCKSDB : BACKEND_HASHMAP,
                        rng_below(&rng, 2) ? RESTORE_VERIFY_AUTO : RESTORE_VERIFY_BACKGROUND,
                        rng_below(&rng, 2)};
}

/* ---- what lies there ------------------------------------------------------------------------- */

static struct file *file_of(const char *path)
{
    for (size_t i = 0; i < file_count; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

static enum rc walk(void *ctx, const char *name, struct err *err)
{
    const char *path = arena_printf(arena, "%s/%s", (const char *)ctx, name);
    struct fs_stat st;

    RETURN_IF_ERR(fs_stat(env.fs, path, &st, err));
    if (st.type == FS_DIR)
        return fs_list(env.fs, path, walk, (void *)path, err);
    if (st.size_bytes > 0 && file_count < FILES_MAX)
        files[file_count++] = (struct file){.path = path, .size_bytes = st.size_bytes};
    return RC_OK;
}

static void add_user(const char *path, size_t snapshot)
{
    struct file *f = file_of(path);
    size_t *users;

    if (f == NULL)
        fail("%s is named and not there", path);
    if (f->user_count > 0 && f->users[f->user_count - 1] == snapshot)
        return;
    users = ARENA_ARRAY(arena, f->user_count + 1, size_t);
    memcpy(users, f->users, f->user_count * sizeof *users);
    users[f->user_count++] = snapshot;
    f->users = users;
}

static enum rc note_file(void *ctx, const struct operator_meta *op UNUSED,
                         const struct subtask_state *subtask UNUSED, struct state_file *file,
                         struct err *err UNUSED)
{
    if (file->scope != FILE_INLINE)
        add_user(file->resolved_path, *(size_t *)ctx);
    return RC_OK;
}

/* Files, who uses them, and what each snapshot holds, by every way. */
static void look_around(void)
{
    struct err err = {0};

    MUST_BE_OK(fs_list(env.fs, root, walk, (void *)root, &err), err);
    MUST_BE_OK(snapshot_list_make(env.fs, root, arena, &list, &err), err);
    contents = ARENA_ARRAY(arena, list.count, uint64_t);
    for (size_t i = 0; i < list.count; i++) {
        struct recovered r = {0};

        if (!list.items[i].complete)
            continue;
        add_user(arena_printf(arena, "%s/%s", list.items[i].dir, LAYOUT_METADATA), i);
        MUST_BE_OK(recovery_open(&env, list.items[i].dir, &(struct recovery_options){0}, &r, &err),
                   err);
        MUST_BE_OK(metadata_each_file(r.meta, note_file, &i, &err), err);
        for (unsigned n = 0; n < 8; n++) {
            struct way way = {n & 1 ? BACKEND_ROCKSDB : BACKEND_HASHMAP,
                              n & 2 ? RESTORE_VERIFY_AUTO : RESTORE_VERIFY_BACKGROUND, n & 4};
            uint64_t content;

            MUST_BE_OK(add_all(&r, &way, &content, &err), err);
            if (n > 0 && content != contents[i])
                fail("%s: restored in way %u it is something else", list.items[i].dir, n);
            contents[i] = content;
        }
        recovered_release(&r);
    }
}

/* ---- what is made of it ---------------------------------------------------------------------- */

static void judge_used(const struct file *f, const char *what)
{
    size_t user = f->users[rng_below(&rng, f->user_count)];
    const char *dir = list.items[user].dir;
    struct way way = any_way();
    struct err err = {0};
    uint64_t content;
    enum rc rc = restore(dir, &way, &content, &err);

    if (rc == RC_OK)
        fail("%s: %s is restored all the same%s (backend %d, verify %d, as one %d)", what, dir,
             content == contents[user] ? ", to the same" : ", TO SOMETHING ELSE", (int)way.kind,
             (int)way.verify, way.as_one);
    if (rc != RC_CORRUPT && rc != RC_VERSION)
        fail("%s: the restore of %s says %s: %s", what, dir, rc_name(rc), err.msg);
    if (strstr(err.msg, path_base(f->path)) == NULL || strchr(err.msg, ':') == NULL ||
        strstr(err.msg, strcmp(path_base(f->path), LAYOUT_METADATA) == 0 ? dir : "") == NULL)
        fail("%s: the restore of %s does not say which file: %s", what, dir, err.msg);
    counts.refused++;
}

static void judge_unused(const char *what)
{
    struct way way = any_way();
    struct err err = {0};
    uint64_t content;
    size_t i;

    do
        i = rng_below(&rng, list.count);
    while (!list.items[i].complete);
    if (restore(list.items[i].dir, &way, &content, &err) != RC_OK)
        fail("%s: no snapshot names it, and the restore of %s fails: %s", what, list.items[i].dir,
             err.msg);
    if (content != contents[i])
        fail("%s: no snapshot names it, and %s is restored to something else", what,
             list.items[i].dir);
    counts.unused++;
}

/* From the job's directory: another snapshot, as it was, or words about this file. */
static void judge_directory(const struct file *f, const char *what)
{
    const char *dir = list.job_dirs[rng_below(&rng, list.job_count)];
    struct way way = any_way();
    struct recovered r = {0};
    struct err err = {0};
    uint64_t content;
    size_t i = 0;

    if (recovery_open(&env, dir, &(struct recovery_options){0}, &r, &err) != RC_OK) {
        if (strstr(err.msg, path_base(f->path)) == NULL)
            fail("%s: a restore from %s does not say which file: %s", what, dir, err.msg);
        counts.none_left++;
        recovered_release(&r);
        return;
    }
    while (i < list.count && strcmp(list.items[i].dir, r.dir) != 0)
        i++;
    if (i == list.count)
        fail("%s: a restore from %s takes %s", what, dir, r.dir);
    for (size_t u = 0; u < f->user_count; u++)
        if (f->users[u] == i)
            fail("%s: a restore from %s takes %s, which names it", what, dir, r.dir);
    if (rng_below(&rng, 8) == 0) { /* what it is worth is told by the others */
        MUST_BE_OK(add_all(&r, &way, &content, &err), err);
        if (content != contents[i])
            fail("%s: a restore from %s gives something else", what, dir);
    }
    counts.other_taken++;
    recovered_release(&r);
}

static void judge(const struct file *f, const char *what)
{
    struct verify_report report = {0};
    struct err err = {0};
    bool named = false;

    counts.damaged++;
    MUST_BE_OK(verify_path(&env, root, &(struct verify_options){.threads = 1}, &report, &err), err);
    for (size_t i = 0; i < report.fault_count; i++) {
        if (strcmp(report.faults[i].path, f->path) != 0 || report.faults[i].reason[0] == 0)
            fail("%s: verify says %s: %s", what, report.faults[i].path, report.faults[i].reason);
        named = true;
    }
    verify_report_release(&report);
    if (f->user_count > 0 && !named)
        fail("%s: verify finds nothing", what);
    if (f->user_count > 0)
        judge_used(f, what);
    else
        judge_unused(what);
    counts.by_notes += f->user_count == 0 && named;
    if (list.job_count > 0)
        judge_directory(f, what);
}

/* ---- the damage ------------------------------------------------------------------------------ */

static void flip(const struct file *f, uint64_t at, uint8_t mask)
{
    int fd = open(f->path, O_RDWR | O_CLOEXEC);
    uint8_t byte;

    if (fd < 0 || pread(fd, &byte, 1, (off_t)at) != 1)
        fail("%s cannot be read", f->path);
    byte ^= mask;
    if (pwrite(fd, &byte, 1, (off_t)at) != 1 || close(fd) != 0)
        fail("%s cannot be written", f->path);
}

/* Every other one by bytes, so that large files get their share; else by files, so that small ones do. */
static struct file *any_place(uint64_t *at)
{
    uint64_t all = 0, byte;
    size_t i = 0;

    if (rng_below(&rng, 2)) {
        i = rng_below(&rng, file_count);
        *at = rng_below(&rng, files[i].size_bytes);
        return &files[i];
    }
    for (size_t k = 0; k < file_count; k++)
        all += files[k].size_bytes;
    for (byte = rng_below(&rng, all); byte >= files[i].size_bytes; i++)
        byte -= files[i].size_bytes;
    *at = byte;
    return &files[i];
}

static void flips(uint64_t count)
{
    char what[FS_PATH_MAX + 64];
    uint64_t at;

    for (uint64_t n = 0; n < count; n++) {
        struct file *f = any_place(&at);
        uint8_t mask = (uint8_t)(1u << rng_below(&rng, 8));

        snprintf(what, sizeof what, "byte %" PRIu64 " of %s with mask %u", at, f->path, mask);
        flip(f, at, mask);
        judge(f, what);
        flip(f, at, mask);
    }
}

static void cut(const struct file *f, struct bytes content, uint64_t length)
{
    char what[FS_PATH_MAX + 64];
    int fd = open(f->path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);

    snprintf(what, sizeof what, "%s cut to %" PRIu64 " bytes", f->path, length);
    if (fd < 0 || write(fd, content.data, length) != (ssize_t)length || close(fd) != 0)
        fail("%s: cannot be written", what);
    judge(f, what);
}

static void cuts_of(const struct file *f, uint64_t count)
{
    const char *kept = arena_printf(arena, "%s.kept", scratch);
    struct buf content = {0};
    struct err err = {0};

    MUST_BE_OK(fs_read_all(env.fs, f->path, f->size_bytes, &content, &err), err);
    MUST_BE_OK(fs_rename(env.fs, f->path, kept, &err), err);
    for (uint64_t n = 0; n < (count == 0 ? f->size_bytes : count); n++)
        cut(f, buf_bytes(&content), count == 0 ? n : rng_below(&rng, f->size_bytes));
    MUST_BE_OK(fs_rename(env.fs, kept, f->path, &err), err);
    buf_release(&content);
}

static void cuts(uint64_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < file_count; i++)
        used += files[i].user_count > 0;
    for (size_t i = 0; i < file_count; i++)
        if (files[i].user_count > 0)
            cuts_of(&files[i], count == 0 ? 0 : (count + used - 1) / used);
}

int main(int argc, char **argv)
{
    env = (struct env){.fs = fs_posix(), .clock = clock_posix(), .seed = 1};
    if (argc != 6 || (strcmp(argv[1], "flips") != 0 && strcmp(argv[1], "cuts") != 0)) {
        fprintf(stderr, "usage: damage flips|cuts DIR SCRATCH COUNT SEED\n");
        return 2;
    }
    arena = arena_new(0);
    root = argv[2];
    scratch = argv[3];
    rng_seed(&rng, strtoull(argv[5], NULL, 10));
    look_around();
    (strcmp(argv[1], "flips") == 0 ? flips : cuts)(strtoull(argv[4], NULL, 10));
    printf("{\"snapshots\": %zu, \"files\": %zu, \"damaged\": %" PRIu64 ", \"refused\": %" PRIu64
           ", \"unused\": %" PRIu64 ", \"notes\": %" PRIu64 ", \"another_taken\": %" PRIu64
           ", \"none_left\": %" PRIu64 "}\n",
           list.count, file_count, counts.damaged, counts.refused, counts.unused, counts.by_notes,
           counts.other_taken, counts.none_left);
    arena_free(arena);
    return 0;
}
