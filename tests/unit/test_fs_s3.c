/* links: base */
/* test_fs_s3.c - files on S3, against the simulated server of tests/e2e/lib/s3_server.py, which
 * checks every signature: the contract of base/fs.h as far as S3 can keep it, and what happens when
 * answers are lost, late or wrong. */
#include "base/fs_s3.h"

#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART_BYTES ((size_t)64 << 10)
#define LEASE_TTL_MS 3000
#define COPY_PART_BYTES ((uint64_t)100000)

struct world {
    pid_t server;
    char endpoint[64];
    struct env env;
    struct http_client *http;
    struct fs *fs;
};
static struct world w;

static void start_server(void)
{
    int out[2];
    char port[16] = {0};
    size_t len = 0;

    ck_assert_int_eq(pipe(out), 0);
    w.server = fork();
    ck_assert_int_ge(w.server, 0);
    if (w.server == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        execlp("python3", "python3", TESTS_DIR "/e2e/lib/s3_server.py", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while (strchr(port, '\n') == NULL) {
        ssize_t got = read(out[0], port + len, sizeof port - 1 - len);

        ck_assert_msg(got > 0, "the server does not start");
        len += (size_t)got;
    }
    close(out[0]);
    snprintf(w.endpoint, sizeof w.endpoint, "http://127.0.0.1:%d", (int)strtol(port, NULL, 10));
}

static const struct http_client_config http_config = {
    .seed = 7,
    .user_agent = "test",
    .connect_timeout_ms = 5000,
    .stall_timeout_ms = 5000,
    .tries = 3,
    .backoff_first_ms = 1,
    .backoff_max_ms = 4,
};

static struct fs *open_fs(const char *secret_key)
{
    struct s3_config config = {
        .endpoint = w.endpoint,
        .region = "us-east-1",
        .credentials = {"varve-test-access", secret_key, NULL},
        .part_bytes = PART_BYTES,
        .copy_part_bytes = COPY_PART_BYTES,
    };
    struct http_client_config http = http_config;
    static uint64_t seed = 1;
    struct s3_client *client;
    struct err err = {0};

    http.clock = w.env.clock;
    ck_assert_ok(s3_client_new(&config, &http, &w.env, &client, &err));
    return fs_s3_new_take(
        client,
        &(struct lease_config){.clock = w.env.clock, .ttl_ms = LEASE_TTL_MS, .seed = seed++});
}

/* PUT /_sim/<what>; the answer's body, to be released. */
static struct buf simulate(const char *what, const char *json)
{
    char url[128];
    struct http_request request = {.method = "PUT",
                                   .url = url,
                                   .body = bytes_of_str(json),
                                   .has_body = true,
                                   .answer_max_bytes = 1 << 20};
    struct http_answer answer = {0};
    struct err err = {0};
    struct buf body;

    snprintf(url, sizeof url, "%s/_sim/%s", w.endpoint, what);
    ck_assert_ok(http_send(w.http, &request, &answer, &err));
    ck_assert_int_eq(answer.status, 200);
    body = answer.body;
    answer.body = (struct buf){0};
    http_answer_release(&answer);
    return body;
}

static void set(const char *json)
{
    struct buf b = simulate("set", json);

    buf_release(&b);
}

static void faults(const char *json)
{
    struct buf b = simulate("faults", json);

    buf_release(&b);
}

/* How many requests since the last call. */
static size_t requests(void)
{
    struct buf b = simulate("requests", "");
    size_t count = 0;

    for (const char *at = buf_cstr(&b); (at = strstr(at, ", \"/")) != NULL; at++)
        count++;
    buf_release(&b);
    return count;
}

static bool has_uploads(void)
{
    struct buf b = simulate("uploads", "");
    bool any = strcmp(buf_cstr(&b), "[]") != 0;

    buf_release(&b);
    return any;
}

static void setup(void)
{
    struct http_client_config config = http_config;
    struct err err = {0};
    struct buf buf;

    w.env.clock = clock_posix();
    config.clock = w.env.clock;
    w.http = http_client_new(&config);
    w.fs = open_fs("varve-test-secret/+x");
    buf = simulate("reset", "");
    buf_release(&buf);
    set("{\"part_min\": 1024}");
    ck_assert_ok(fs_mkdir(w.fs, "s3://varve/top", &err));
}

static void teardown(void)
{
    fs_s3_free(w.fs);
    http_client_free(w.http);
}

static void stop_server(void)
{
    kill(w.server, SIGKILL);
    waitpid(w.server, NULL, 0);
}

static void put(const char *path, struct bytes content)
{
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_create(w.fs, path, &f, &err));
    ck_assert_ok(fs_append(f, content, &err));
    ck_assert_ok(fs_close(&f, &err));
}

static void has(const char *path, struct bytes content)
{
    struct err err = {0};
    struct buf b = {0};

    ck_assert_ok(fs_read_all(w.fs, path, 16 << 20, &b, &err));
    ck_assert_bytes_eq(buf_bytes(&b), content);
    buf_release(&b);
}

static struct buf random_bytes(size_t len)
{
    struct buf b = {0};
    struct rng rng;

    rng_seed(&rng, len);
    buf_reserve(&b, len);
    while (b.len < len)
        buf_append_u8(&b, (uint8_t)rng_u64(&rng));
    return b;
}

/* ---- the contract --------------------------------------------------------------------------- */

/* Sizes around a part's, and around what is read ahead. */
static const size_t sizes[] = {0,     1,      PART_BYTES - 1,     PART_BYTES,
                               65537, 200000, 5 * PART_BYTES + 7, 1 << 20};

START_TEST(file_is_read_as_it_was_written)
{
    struct buf content = random_bytes(sizes[_i]);
    struct err err = {0};
    struct fs_stat st;
    struct fs_file *f;

    ck_assert_ok(fs_create(w.fs, "s3://varve/top/a b+&%=?#\xc3\xa9", &f, &err));
    for (size_t at = 0; at < content.len;) { /* in uneven pieces */
        size_t len = 1 + at % 50021;

        len = len > content.len - at ? content.len - at : len;
        ck_assert_ok(fs_append(f, bytes_of(content.data + at, len), &err));
        at += len;
    }
    ck_assert(!fs_exists(w.fs, "s3://varve/top/a b+&%=?#\xc3\xa9")); /* not before it is whole */
    ck_assert_ok(fs_sync(f, &err));
    ck_assert_ok(fs_stat(w.fs, "s3://varve/top/a b+&%=?#\xc3\xa9", &st, &err));
    ck_assert_uint_eq(st.size_bytes, content.len);
    ck_assert_int_eq(st.type, FS_FILE);
    ck_assert_int_le(labs(fs_changed_wall_ms(&st) - clock_wall_ms(w.env.clock)), 60000);
    ck_assert_rc_msg(fs_append(f, bytes_of_str("x"), &err), RC_UNSUPPORTED, "whole once");
    ck_assert_ok(fs_close(&f, &err));
    has("s3://varve/top/a b+&%=?#\xc3\xa9", buf_bytes(&content));
    ck_assert(!has_uploads());
    buf_release(&content);
}
END_TEST

START_TEST(any_piece_is_read)
{
    struct buf content = random_bytes(300000);
    struct err err = {0};
    struct fs_file *f;
    struct rng rng;
    uint8_t out[3000];
    size_t got;

    rng_seed(&rng, 1);
    put("s3://varve/top/f", buf_bytes(&content));
    ck_assert_ok(fs_open_read(w.fs, "s3://varve/top/f", &f, &err));
    for (int i = 0; i < 100; i++) {
        size_t at = (size_t)rng_below(&rng, 301000), len = (size_t)rng_below(&rng, sizeof out) + 1;
        size_t want = at >= content.len ? 0 : content.len - at < len ? content.len - at : len;

        ck_assert_ok(fs_read_at(f, at, out, len, &got, &err));
        ck_assert_bytes_eq(bytes_of(out, got), bytes_of(content.data + (want == 0 ? 0 : at), want));
    }
    ck_assert_ok(fs_close(&f, &err));
    buf_release(&content);
}
END_TEST

/* A reader of 4 KB pieces must not pay a request for each. */
START_TEST(reading_on_in_small_pieces_makes_few_requests)
{
    struct buf content = random_bytes(4 << 20);
    struct err err = {0};
    struct fs_file *f;
    uint8_t out[4096];
    size_t got;

    put("s3://varve/top/f", buf_bytes(&content));
    requests();
    ck_assert_ok(fs_open_read(w.fs, "s3://varve/top/f", &f, &err));
    for (size_t at = 0; at < content.len; at += sizeof out) {
        ck_assert_ok(fs_read_at(f, at, out, sizeof out, &got, &err));
        ck_assert_bytes_eq(bytes_of(out, got), bytes_of(content.data + at, sizeof out));
    }
    ck_assert_ok(fs_close(&f, &err));
    ck_assert_uint_le(requests(), 5); /* 64 KiB, 256, 1 MiB, 4 MiB */
    buf_release(&content);
}
END_TEST

START_TEST(name_is_taken_once)
{
    struct err err = {0};
    struct fs_file *a, *b;

    ck_assert_ok(fs_create(w.fs, "s3://varve/top/f", &a, &err));
    ck_assert_ok(fs_append(a, bytes_of_str("first"), &err));
    ck_assert_ok(fs_create(w.fs, "s3://varve/top/f", &b, &err)); /* neither is there yet */
    ck_assert_ok(fs_append(b, bytes_of_str("second"), &err));
    ck_assert_ok(fs_close(&a, &err));
    ck_assert_rc_msg(fs_close(&b, &err), RC_EXISTS, "s3://varve/top/f: is there already");
    has("s3://varve/top/f", bytes_of_str("first"));
    ck_assert_rc(fs_mkdir(w.fs, "s3://varve/top", &err), RC_EXISTS);
}
END_TEST

START_TEST(large_name_is_taken_once)
{
    struct buf content = random_bytes(3 * PART_BYTES);
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_create(w.fs, "s3://varve/top/f", &f, &err));
    ck_assert_ok(fs_append(f, buf_bytes(&content), &err));
    put("s3://varve/top/f", bytes_of_str("first"));
    ck_assert_rc(fs_sync(f, &err), RC_EXISTS);
    ck_assert_rc(fs_sync(f, &err), RC_IO); /* and stays so */
    fs_abandon(&f);
    ck_assert(!has_uploads());
    has("s3://varve/top/f", bytes_of_str("first"));
    buf_release(&content);
}
END_TEST

START_TEST(abandoned_file_leaves_nothing)
{
    struct buf content = random_bytes(3 * PART_BYTES);
    struct err err = {0};
    struct fs_file *f;

    ck_assert_ok(fs_create(w.fs, "s3://varve/top/f", &f, &err));
    ck_assert_ok(fs_append(f, buf_bytes(&content), &err));
    ck_assert(has_uploads());
    fs_abandon(&f);
    ck_assert(!has_uploads());
    ck_assert(!fs_exists(w.fs, "s3://varve/top/f"));
    buf_release(&content);
}
END_TEST

static enum rc put_name(void *ctx, const char *name, struct err *err UNUSED)
{
    buf_printf(ctx, "%s,", name);
    return RC_OK;
}

static void lists(const char *path, const char *want)
{
    struct err err = {0};
    struct buf got = {0};

    ck_assert_ok(fs_list(w.fs, path, put_name, &got, &err));
    ck_assert_str_eq(buf_cstr(&got), want);
    buf_release(&got);
}

START_TEST(directory_lists_what_lies_right_in_it)
{
    struct err err = {0};

    set("{\"page\": 2}"); /* more than one page */
    ck_assert_ok(fs_mkdirs(w.fs, "s3://varve/top/d/empty", &err));
    put("s3://varve/top/d/a", bytes_of_str("1"));
    put("s3://varve/top/d/b/c", bytes_of_str("2")); /* without a mark */
    put("s3://varve/top/d/z", bytes_of_str("3"));
    put("s3://varve/top/da", bytes_of_str("4"));
    lists("s3://varve/top/d", "a,b,empty,z,");
    lists("s3://varve/top/d/", "a,b,empty,z,");
    lists("s3://varve/top/d/empty", "");
    lists("s3://varve", "top,");
    ck_assert_rc(fs_list(w.fs, "s3://varve/top/x", put_name, NULL, &err), RC_NOT_FOUND);
    ck_assert_rc_msg(fs_list(w.fs, "s3://nobody/x", put_name, NULL, &err), RC_NOT_FOUND,
                     "NoSuchBucket");
}
END_TEST

/* Names become paths: one that leads elsewhere must not. */
START_TEST(list_of_what_was_not_asked_for_is_refused)
{
    static const char *const strangers[] = {
        "{\"lists_besides\": \"top/e/f\"}", "{\"lists_besides\": \"top/d/../../f\"}",
        "{\"lists_besides\": \"f\"}", "{\"lists_besides\": \"top/dd\"}"};
    struct err err = {0};

    put("s3://varve/top/d/f", bytes_of_str("1"));
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        struct buf got = {0};

        set(strangers[i]);
        ck_assert_rc_msg(fs_list(w.fs, "s3://varve/top/d", put_name, &got, &err), RC_CORRUPT,
                         "which is not in it");
        buf_release(&got);
    }
}
END_TEST

START_TEST(list_without_an_end_is_refused)
{
    struct err err = {0};
    struct buf got = {0};

    put("s3://varve/top/d/f", bytes_of_str("1"));
    set("{\"lists_in_circles\": true}");
    ck_assert_rc_msg(fs_list(w.fs, "s3://varve/top/d", put_name, &got, &err), RC_CORRUPT,
                     "in circles");
    buf_release(&got);
}
END_TEST

START_TEST(list_of_uploads_without_an_end_is_refused)
{
    struct err err = {0};
    size_t dropped;

    set("{\"lists_in_circles\": true}");
    ck_assert_rc_msg(fs_drop_unfinished(w.fs, "s3://varve/top", 0, &dropped, &err), RC_CORRUPT,
                     "in circles");
}
END_TEST

START_TEST(what_is_there_is_told_from_what_is_not)
{
    struct err err = {0};
    struct fs_stat st, other;
    struct fs_file *f;

    put("s3://varve/top/d/f", bytes_of_str("1"));
    ck_assert_ok(fs_stat(w.fs, "s3://varve/top/d", &st, &err));
    ck_assert_int_eq(st.type, FS_DIR);
    ck_assert_ok(fs_stat(w.fs, "s3://varve", &st, &err));
    ck_assert_int_eq(st.type, FS_DIR);
    ck_assert_rc(fs_stat(w.fs, "s3://varve/top/d/g", &st, &err), RC_NOT_FOUND);
    ck_assert_rc(fs_stat(w.fs, "s3://nobody", &st, &err), RC_NOT_FOUND);
    ck_assert_rc(fs_open_read(w.fs, "s3://varve/top/d/g", &f, &err), RC_NOT_FOUND);
    ck_assert_rc(fs_unlink(w.fs, "s3://varve/top/d/g", &err), RC_NOT_FOUND);
    ck_assert_rc(fs_rename(w.fs, "s3://varve/top/g", "s3://varve/top/h", &err), RC_NOT_FOUND);
    /* one file is told from another by what a hard link would share */
    put("s3://varve/top/d/g", bytes_of_str("1"));
    ck_assert_ok(fs_stat(w.fs, "s3://varve/top/d/f", &st, &err));
    ck_assert_ok(fs_stat(w.fs, "s3://varve/top/d/g", &other, &err));
    ck_assert_uint_ne(st.inode, other.inode);
    ck_assert_uint_eq(st.link_count, 1);
}
END_TEST

START_TEST(what_is_removed_is_gone)
{
    struct err err = {0};

    put("s3://varve/top/d/f", bytes_of_str("1"));
    ck_assert_rc(fs_unlink(w.fs, "s3://varve/top/d", &err), RC_IO);
    err.os_errno = 0;
    ck_assert_ok(fs_mkdir(w.fs, "s3://varve/top/d", &err));
    ck_assert_int_eq(fs_rmdir(w.fs, "s3://varve/top/d", &err), RC_IO);
    ck_assert_int_eq(err.os_errno, ENOTEMPTY);
    err_clear(&err);
    ck_assert_ok(fs_unlink(w.fs, "s3://varve/top/d/f", &err));
    ck_assert_ok(fs_rmdir(w.fs, "s3://varve/top/d", &err));
    ck_assert(!fs_exists(w.fs, "s3://varve/top/d"));
    put("s3://varve/top/e/f/g", bytes_of_str("1"));
    ck_assert_ok(fs_mkdirs(w.fs, "s3://varve/top/e/h", &err));
    ck_assert_ok(fs_remove_tree(w.fs, "s3://varve/top/e", &err));
    lists("s3://varve/top", "");
    ck_assert_ok(fs_remove_tree(w.fs, "s3://varve/top/e", &err)); /* was not there */
}
END_TEST

/* Below and above what one copy may move. */
START_TEST(copies_stay_on_the_server)
{
    struct buf content = random_bytes(_i == 0 ? 1000 : 250001);
    struct err err = {0};

    put("s3://varve/top/f", buf_bytes(&content));
    ck_assert_ok(fs_reflink(w.fs, "s3://varve/top/f", "s3://varve/top/g", &err));
    has("s3://varve/top/g", buf_bytes(&content));
    ck_assert_rc(fs_reflink(w.fs, "s3://varve/top/f", "s3://varve/top/g", &err), RC_EXISTS);
    ck_assert(!has_uploads());
    ck_assert_ok(fs_rename(w.fs, "s3://varve/top/f", "s3://varve/top/h", &err));
    has("s3://varve/top/h", buf_bytes(&content));
    ck_assert(!fs_exists(w.fs, "s3://varve/top/f"));
    ck_assert_rc(fs_link(w.fs, "s3://varve/top/g", "s3://varve/top/i", &err), RC_NO_LINK);
    buf_release(&content);
}
END_TEST

START_TEST(publish_is_one_step)
{
    struct err err = {0};

    ck_assert(fs_appears_whole(w.fs, "s3://varve/top"));
    requests();
    ck_assert_ok(fs_publish(w.fs, "s3://varve/top", "t", "_metadata", bytes_of_str("one"),
                            FS_PUBLISH_NEW, &err));
    ck_assert_uint_eq(requests(), 1);
    ck_assert_rc(fs_publish(w.fs, "s3://varve/top", "t", "_metadata", bytes_of_str("two"),
                            FS_PUBLISH_NEW, &err),
                 RC_EXISTS);
    has("s3://varve/top/_metadata", bytes_of_str("one"));
    ck_assert_ok(fs_publish(w.fs, "s3://varve/top", "t", "_metadata", bytes_of_str("three"),
                            FS_PUBLISH_REPLACE, &err));
    has("s3://varve/top/_metadata", bytes_of_str("three"));
    lists("s3://varve/top", "_metadata,");
}
END_TEST

START_TEST(paths_that_are_none_are_refused)
{
    char long_path[1200];
    struct err err = {0};
    struct fs_file *f;

    memset(long_path, 'k', sizeof long_path);
    memcpy(long_path, "s3://varve/", 11);
    long_path[sizeof long_path - 1] = '\0';
    ck_assert_rc(fs_create(w.fs, "s3://v/x", &f, &err), RC_INVALID);
    ck_assert_rc(fs_create(w.fs, "s3:///x", &f, &err), RC_INVALID);
    ck_assert_rc(fs_create(w.fs, "s3://a b c/x", &f, &err), RC_INVALID);
    ck_assert_rc(fs_create(w.fs, "s3://varve", &f, &err), RC_IO);
    ck_assert_rc_msg(fs_create(w.fs, long_path, &f, &err), RC_LIMIT, "1188 bytes");
    ck_assert_rc(fs_open_append(w.fs, "s3://varve/top/f", 0, &f, &err), RC_UNSUPPORTED);
}
END_TEST

static enum rc put_stat(void *ctx, const char *name, const struct fs_stat *st,
                        struct err *err UNUSED)
{
    buf_printf(ctx, "%s %d %llu %d,", name, st->type, (unsigned long long)st->size_bytes,
               llabs(fs_changed_wall_ms(st) - clock_wall_ms(w.env.clock)) < 60000);
    return RC_OK;
}

/* A hundred thousand files of shared/ are not asked about one by one. */
START_TEST(list_tells_sizes_and_times_at_once)
{
    struct fs_stat st;
    struct err err = {0};
    struct buf got = {0};

    put("s3://varve/top/d/a", bytes_of_str("1"));
    put("s3://varve/top/d/b/c", bytes_of_str("2"));
    put("s3://varve/top/d/z", bytes_of_str("333"));
    requests();
    ck_assert_ok(fs_list_stat(w.fs, "s3://varve/top/d", put_stat, &got, &err));
    ck_assert_uint_eq(requests(), 1);
    ck_assert_str_eq(buf_cstr(&got), "a 0 1 1,b 1 0 0,z 0 3 1,");
    ck_assert_ok(
        fs_stat(w.fs, "s3://varve/top", &st, &err)); /* a directory is as old as its mark */
    ck_assert(llabs(fs_changed_wall_ms(&st) - clock_wall_ms(w.env.clock)) < 60000);
    buf_release(&got);
}
END_TEST

START_TEST(what_a_dead_writer_began_is_given_up)
{
    struct buf content = random_bytes(3 * PART_BYTES);
    struct fs *other = open_fs("varve-test-secret/+x");
    struct err err = {0};
    int64_t now = clock_wall_ms(w.env.clock);
    struct fs_file *a, *b;
    size_t dropped;

    ck_assert_ok(fs_create(other, "s3://varve/top/d/f", &a, &err));
    ck_assert_ok(fs_append(a, buf_bytes(&content), &err));
    ck_assert_ok(fs_create(other, "s3://varve/top/dx/f", &b, &err)); /* not in it */
    ck_assert_ok(fs_append(b, buf_bytes(&content), &err));
    ck_assert_ok(fs_drop_unfinished(w.fs, "s3://varve/top/d", now - 3600000, &dropped, &err));
    ck_assert_uint_eq(dropped, 0); /* too young */
    ck_assert_ok(fs_drop_unfinished(w.fs, "s3://varve/top/d", now + 60000, &dropped, &err));
    ck_assert_uint_eq(dropped, 1);
    ck_assert_rc(fs_sync(a, &err), RC_NOT_FOUND); /* the dead one, were it alive */
    ck_assert_ok(fs_sync(b, &err));
    fs_abandon(&a);
    fs_abandon(&b);
    ck_assert(!has_uploads());
    fs_s3_free(other);
    buf_release(&content);
}
END_TEST

START_TEST(lock_is_held_by_one_and_deserted_when_it_is_not_renewed)
{
    struct fs *other = open_fs("varve-test-secret/+x");
    struct fs_file *lock, *second;
    struct err err = {0};
    bool held;

    ck_assert_ok(fs_lock_probe(other, "s3://varve/top/LOCK", &held, &err));
    ck_assert(!held);
    faults(
        "[{\"method\":\"PUT\",\"action\":\"after\"}]"); /* and a lost answer is no second holder */
    ck_assert_ok(fs_lock(w.fs, "s3://varve/top/LOCK", &lock, &err));
    ck_assert_ok(fs_lock_say(lock, bytes_of_str("me\n"), &err));
    clock_sleep_ns(w.env.clock, (LEASE_TTL_MS + 500) * NS_PER_MS); /* renewed meanwhile */
    ck_assert_rc(fs_lock(other, "s3://varve/top/LOCK", &second, &err), RC_STATE);
    ck_assert_ok(fs_lock_probe(other, "s3://varve/top/LOCK", &held, &err));
    ck_assert(held);
    fs_abandon(&lock);
    ck_assert_ok(fs_lock(other, "s3://varve/top/LOCK", &second, &err));
    fs_abandon(&second);
    fs_s3_free(other);
}
END_TEST

/* ---- trouble -------------------------------------------------------------------------------- */

/* Each of these passes by: the caller sees success, and the file is there once and whole. */
static const struct {
    const char *faults;
    size_t bytes;
} passing[] = {
    {"[{\"method\":\"PUT\",\"action\":\"status:503\"}]", 100},
    {"[{\"method\":\"PUT\",\"action\":\"before\"}]", 100},
    {"[{\"method\":\"PUT\",\"action\":\"after\"}]",
     100}, /* the second try meets the first one's object */
    {"[{\"method\":\"PUT\",\"action\":\"after\",\"count\":2}]", 100},
    {"[{\"method\":\"PUT\",\"action\":\"timeout\",\"count\":2}]", 100},
    {"[{\"method\":\"PUT\",\"action\":\"slow:300\"}]", 100},
    {"[{\"method\":\"PUT\",\"action\":\"status:409\",\"count\":2}]", 100},
    {"[{\"method\":\"POST\",\"match\":\"uploads\",\"action\":\"status:500\"}]", 200000},
    {"[{\"method\":\"PUT\",\"match\":\"partNumber=2\",\"action\":\"before\"}]", 200000},
    {"[{\"method\":\"PUT\",\"match\":\"partNumber=2\",\"action\":\"after\"}]", 200000},
    {"[{\"method\":\"POST\",\"match\":\"uploadId\",\"action\":\"before\"}]", 200000},
    {"[{\"method\":\"POST\",\"match\":\"uploadId\",\"action\":\"after\"}]", 200000},
    {"[{\"method\":\"POST\",\"match\":\"uploadId\",\"action\":\"short\"}]", 200000},
    {"[{\"method\":\"POST\",\"match\":\"uploadId\",\"action\":\"200\",\"count\":2}]", 200000},
    {"[{\"method\":\"GET\",\"action\":\"short\"}]", 200000},
    {"[{\"method\":\"GET\",\"action\":\"status:500\",\"count\":2}]", 200000},
    {"[{\"method\":\"HEAD\",\"action\":\"status:503\",\"count\":2}]", 200000},
};

START_TEST(trouble_that_passes_is_not_seen)
{
    struct buf content = random_bytes(passing[_i].bytes);

    faults(passing[_i].faults);
    put("s3://varve/top/f", buf_bytes(&content));
    has("s3://varve/top/f", buf_bytes(&content));
    lists("s3://varve/top", "f,");
    buf_release(&content);
}
END_TEST

/* Each of these does not, and what is said names request, status and tries. */
static const struct {
    const char *faults;
    size_t bytes;
    enum rc rc;
    const char *part;
} lasting[] = {
    {"[{\"method\":\"PUT\",\"action\":\"status:503\",\"count\":9}]", 100, RC_IO,
     "/varve/top/f: HTTP status 503 SlowDown: Please reduce your request rate. (3 tries)"},
    {"[{\"method\":\"PUT\",\"action\":\"before\",\"count\":9}]", 100, RC_IO, "(3 tries)"},
    {"[{\"method\":\"PUT\",\"action\":\"status:403\"}]", 100, RC_IO, "HTTP status 403"},
    {"[{\"method\":\"PUT\",\"match\":\"partNumber=2\",\"action\":\"status:400\"}]", 200000, RC_IO,
     "partNumber=2&uploadId="},
    {"[{\"method\":\"POST\",\"match\":\"uploadId\",\"action\":\"200\",\"count\":9}]", 200000, RC_IO,
     "InternalError: We encountered an internal error"},
};

START_TEST(trouble_that_lasts_is_told_and_leaves_nothing)
{
    struct buf content = random_bytes(lasting[_i].bytes);
    struct err err = {0};
    struct fs_file *f;
    enum rc rc;

    faults(lasting[_i].faults);
    ck_assert_ok(fs_create(w.fs, "s3://varve/top/f", &f, &err));
    rc = fs_append(f, buf_bytes(&content), &err);
    if (rc == RC_OK)
        rc = fs_sync(f, &err);
    ck_assert_rc_msg(rc, lasting[_i].rc, lasting[_i].part);
    fs_abandon(&f);
    faults("[]");
    ck_assert(!has_uploads());
    ck_assert(!fs_exists(w.fs, "s3://varve/top/f"));
    put("s3://varve/top/f", buf_bytes(&content)); /* and the next try works */
    buf_release(&content);
}
END_TEST

/* The answer to the publish is lost, every time: what lies there is ours, so it is published (C3).
 */
START_TEST(publish_whose_answer_is_lost_is_found_out)
{
    struct err err = {0};

    faults("[{\"method\":\"PUT\",\"action\":\"after\",\"count\":1}]");
    ck_assert_ok(fs_publish(w.fs, "s3://varve/top", "t", "_metadata", bytes_of_str("one"),
                            FS_PUBLISH_NEW, &err));
    has("s3://varve/top/_metadata", bytes_of_str("one"));
    faults("[{\"method\":\"PUT\",\"action\":\"after\",\"count\":1}]");
    ck_assert_ok(fs_mkdir(w.fs, "s3://varve/top/d", &err));
}
END_TEST

/* A server that takes the condition for nothing. */
START_TEST(without_conditions_a_look_guards_the_name)
{
    struct err err = {0};
    struct fs_file *f;

    fs_s3_free(w.fs);
    w.fs = open_fs("varve-test-secret/+x");
    set("{\"keep_conditions\": false}");
    ck_assert_ok(fs_mkdir(w.fs, "s3://varve/top/d", &err)); /* finds out */
    put("s3://varve/top/d/f", bytes_of_str("first"));
    ck_assert_rc(fs_create(w.fs, "s3://varve/top/d/f", &f, &err), RC_EXISTS);
    ck_assert_rc(
        fs_publish(w.fs, "s3://varve/top/d", "t", "f", bytes_of_str("two"), FS_PUBLISH_NEW, &err),
        RC_EXISTS);
    ck_assert_rc(fs_mkdir(w.fs, "s3://varve/top/d", &err), RC_EXISTS);
    has("s3://varve/top/d/f", bytes_of_str("first"));
}
END_TEST

/* Some servers keep the condition at a PUT but do not know it at the end of a multipart upload. */
START_TEST(condition_that_one_call_lacks_is_kept_at_the_others)
{
    struct buf content = random_bytes(3 * PART_BYTES);
    struct err err = {0};
    struct fs_file *a, *b;

    faults("[{\"method\":\"POST\",\"match\":\"uploadId\",\"action\":\"no_condition\",\"count\":99}]");
    put("s3://varve/top/large", buf_bytes(&content));
    ck_assert_ok(fs_create(w.fs, "s3://varve/top/f", &a, &err));
    ck_assert_ok(fs_append(a, bytes_of_str("late"), &err));
    ck_assert_ok(fs_create(w.fs, "s3://varve/top/f", &b, &err));
    ck_assert_ok(fs_append(b, buf_bytes(&content), &err));
    put("s3://varve/top/f", bytes_of_str("first"));
    ck_assert_rc(fs_close(&a, &err), RC_EXISTS);
    ck_assert_rc(fs_close(&b, &err), RC_EXISTS); /* by a look */
    has("s3://varve/top/f", bytes_of_str("first"));
    buf_release(&content);
}
END_TEST

START_TEST(file_that_is_replaced_while_it_is_read_is_an_error)
{
    struct buf content = random_bytes(300000);
    struct err err = {0};
    struct fs_file *f;
    uint8_t byte;
    size_t got;

    put("s3://varve/top/f", buf_bytes(&content));
    ck_assert_ok(fs_open_read(w.fs, "s3://varve/top/f", &f, &err));
    content.data[299999]++;
    ck_assert_ok(fs_publish(w.fs, "s3://varve/top", "t", "f", buf_bytes(&content),
                            FS_PUBLISH_REPLACE, &err));
    ck_assert_rc_msg(fs_read_at(f, 299999, &byte, 1, &got, &err), RC_IO, "was replaced");
    ck_assert_ok(fs_close(&f, &err));
    buf_release(&content);
}
END_TEST

START_TEST(wrong_key_is_told_without_the_key)
{
    struct err err = {0};
    struct fs_stat st;
    struct fs *fs = open_fs("another-secret");

    ck_assert_int_eq(fs_list(fs, "s3://varve/top", put_name, NULL, &err), RC_IO);
    ck_assert_ptr_nonnull(strstr(err.msg, "SignatureDoesNotMatch"));
    ck_assert_ptr_null(strstr(err.msg, "another-secret"));
    ck_assert_int_eq(err.os_errno, EACCES);
    err_clear(&err);
    ck_assert_rc(fs_stat(fs, "s3://varve/top/f", &st, &err), RC_IO);
    fs_s3_free(fs);
}
END_TEST

TEST_MAIN("fs_s3", tcase_add_unchecked_fixture(tc, start_server, stop_server);
          tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, file_is_read_as_it_was_written, 0, (int)ARRAY_LEN(sizes));
          tcase_add_test(tc, any_piece_is_read);
          tcase_add_test(tc, reading_on_in_small_pieces_makes_few_requests);
          tcase_add_test(tc, name_is_taken_once); tcase_add_test(tc, large_name_is_taken_once);
          tcase_add_test(tc, abandoned_file_leaves_nothing);
          tcase_add_test(tc, directory_lists_what_lies_right_in_it);
          tcase_add_test(tc, list_of_what_was_not_asked_for_is_refused);
          tcase_add_test(tc, list_without_an_end_is_refused);
          tcase_add_test(tc, list_of_uploads_without_an_end_is_refused);
          tcase_add_test(tc, what_is_there_is_told_from_what_is_not);
          tcase_add_test(tc, what_is_removed_is_gone);
          tcase_add_loop_test(tc, copies_stay_on_the_server, 0, 2);
          tcase_add_test(tc, publish_is_one_step);
          tcase_add_test(tc, list_tells_sizes_and_times_at_once);
          tcase_add_test(tc, what_a_dead_writer_began_is_given_up);
          tcase_add_test(tc, lock_is_held_by_one_and_deserted_when_it_is_not_renewed);
          tcase_add_test(tc, paths_that_are_none_are_refused);
          tcase_add_loop_test(tc, trouble_that_passes_is_not_seen, 0, (int)ARRAY_LEN(passing));
          tcase_add_loop_test(tc, trouble_that_lasts_is_told_and_leaves_nothing, 0,
                              (int)ARRAY_LEN(lasting));
          tcase_add_test(tc, publish_whose_answer_is_lost_is_found_out);
          tcase_add_test(tc, without_conditions_a_look_guards_the_name);
          tcase_add_test(tc, condition_that_one_call_lacks_is_kept_at_the_others);
          tcase_add_test(tc, file_that_is_replaced_while_it_is_read_is_an_error);
          tcase_add_test(tc, wrong_key_is_told_without_the_key))
