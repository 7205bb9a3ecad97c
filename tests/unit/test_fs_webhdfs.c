/* links: base */
/* fs_webhdfs: what cannot be seen from outside on a server that keeps its rules (tests/e2e/webhdfs.py has such a
 * one): large files, answers that were lost at the worst place, servers that say nonsense. */
#include "base/fs_webhdfs.h"

#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/loopback_http.h"
#include "tests/lib/sim_clock.h"

#define ANSWERS_MAX 24
#define PIECE ((size_t)16 << 20) /* of the driver */

static struct sim_clock clock_;
static struct env env;
static struct fs *fs;
static struct loopback_http *server;
static struct loopback_answer answers[ANSWERS_MAX];
static char texts[ANSWERS_MAX][LOOPBACK_TEXT_MAX];
static size_t planned;
static char path[128], to[128];
static struct err err;

static void setup(void)
{
    unsetenv("http_proxy");
    sim_clock_init(&clock_, 0);
    env = (struct env){.clock = &clock_.clock, .seed = 5};
    fs = fs_webhdfs_new(&(struct webhdfs_config){
        .env = &env,
        .user = "me",
        .lease_ttl_ms = 60000,
        .http = {.clock = &clock_.clock,
                 .user_agent = "varve-test",
                 .connect_timeout_ms = 2000,
                 .stall_timeout_ms = 20000,
                 .tries = 3,
                 .backoff_first_ms = 1,
                 .backoff_max_ms = 10},
    });
    planned = 0;
    err = (struct err){0};
    memset(answers, 0, sizeof answers);
    server = NULL;
}

static void teardown(void)
{
    fs_webhdfs_free(fs);
    loopback_http_free(server);
}

static void plan(const char *status, const char *body)
{
    answers[planned].text = loopback_text(texts[planned], status, "", body);
    planned++;
}

static void plan_lost(void)
{
    answers[planned++].text = NULL;
}

static void plan_status(uint64_t id, uint64_t length)
{
    char body[256];

    snprintf(body, sizeof body,
             "{\"FileStatus\":{\"type\":\"FILE\",\"length\":%llu,\"modificationTime\":1,\"fileId\":%llu}}",
             (unsigned long long)length, (unsigned long long)id);
    plan("200 OK", body);
}

#define MISSING "{\"RemoteException\":{\"exception\":\"FileNotFoundException\",\"message\":\"no\"}}"
#define DIR_STATUS                                                                                 \
    "{\"FileStatus\":{\"type\":\"DIRECTORY\",\"length\":0,\"modificationTime\":1,\"fileId\":1}}"
#define HERE "{\"Location\":\"http://127.0.0.1:PORT_/data\"}"

/* The port is known only now. */
static void start(void)
{
    char number[8];

    server = loopback_http_new(answers, planned);
    snprintf(number, sizeof number, "%05u", loopback_http_port(server));
    for (size_t i = 0; i < planned; i++) {
        char *port = strstr(texts[i], "PORT_");

        if (port != NULL)
            memcpy(port, number, 5);
    }
    snprintf(path, sizeof path, "hdfs://127.0.0.1:%s/d/f", number);
    snprintf(to, sizeof to, "hdfs://127.0.0.1:%s/d/t", number);
}

static void asked(size_t i, const char *line)
{
    const char *request = loopback_http_request(server, i);

    ck_assert_msg(strncmp(request, line, strlen(line)) == 0, "request %zu: %.200s instead of %s", i, request, line);
}

/* Up to the first append: is the name free, is the directory there, CREATE in two steps, is it the same directory. */
static void plan_begin(void)
{
    plan("404 Not Found", MISSING);
    plan("200 OK", DIR_STATUS);
    plan("200 OK", HERE);
    plan("201 Created", "");
    plan("200 OK", DIR_STATUS);
}

static enum rc write_file(size_t len)
{
    struct fs_file *file;
    uint8_t *data = mem_calloc(1, len);
    enum rc rc;

    ck_assert_ok(fs_create(fs, path, &file, &err));
    rc = fs_append(file, bytes_of(data, len), &err);
    if (rc == RC_OK)
        rc = fs_close(&file, &err);
    fs_abandon(&file);
    mem_free(data);
    return rc;
}

START_TEST(a_large_file_is_made_in_pieces_and_named_at_the_end)
{
    plan_begin();
    plan("200 OK", HERE);
    plan("200 OK", "");
    plan_status(7, PIECE + 5);
    plan("200 OK", "");
    plan_status(7, PIECE + 5);
    start();
    ck_assert_ok(write_file(PIECE + 5));
    asked(0, "GET /webhdfs/v1/d/f?op=GETFILESTATUS&user.name=me HTTP");
    asked(1, "GET /webhdfs/v1/d?op=GETFILESTATUS");
    asked(2, "PUT /webhdfs/v1/d/.tmp-");
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 2), "op=CREATE&user.name=me&overwrite=true&noredirect=true"));
    asked(3, "PUT /data HTTP");
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 3), "Content-Length: 16777216\r\n"));
    asked(5, "POST /webhdfs/v1/d/.tmp-");
    asked(6, "POST /data HTTP");
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 6), "Content-Length: 5\r\n"));
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 8), "op=RENAME&user.name=me&destination=/d/f&renameoptions=NONE"));
}
END_TEST

/* The file's length says whether the append that nobody answered was carried out. */
START_TEST(an_append_whose_answer_was_lost_is_done_once)
{
    plan_begin();
    plan("200 OK", HERE);
    plan_lost();
    plan_status(7, _i == 0 ? PIECE + 5 : PIECE);
    if (_i == 1) { /* not carried out: once more */
        plan("200 OK", HERE);
        plan("200 OK", "");
    }
    plan_status(7, PIECE + 5);
    plan("200 OK", "");
    plan_status(7, PIECE + 5);
    start();
    ck_assert_ok(write_file(PIECE + 5));
    ck_assert_uint_eq(loopback_http_count(server), planned);
}
END_TEST

START_TEST(half_an_append_is_a_failure_and_the_temporary_file_goes)
{
    plan_begin();
    plan("200 OK", HERE);
    plan_lost();
    plan_status(7, PIECE + 2);
    plan("200 OK", "{\"boolean\":true}"); /* DELETE */
    start();
    ck_assert_rc(write_file(PIECE + 5), RC_IO);
    asked(8, "DELETE /webhdfs/v1/d/.tmp-");
}
END_TEST

START_TEST(a_file_that_came_out_short_gets_no_name)
{
    plan_begin();
    plan_status(7, 2);
    plan("200 OK", "{\"boolean\":true}");
    start();
    ck_assert_rc_msg(write_file(5), RC_IO, "2 bytes instead of 5");
    asked(6, "DELETE /webhdfs/v1/d/.tmp-");
}
END_TEST

/* A data node was late with an earlier try of CREATE: what lies under the temporary name is another file now. */
START_TEST(a_file_that_was_replaced_right_before_its_rename_does_not_count)
{
    plan_begin();
    plan_status(7, 5);
    plan("200 OK", "");
    plan_status(_i == 0 ? 8 : 7, _i == 0 ? 5 : 0);
    plan("200 OK", "{\"boolean\":true}");
    plan("200 OK", "{\"boolean\":false}");
    start();
    ck_assert_rc_msg(write_file(5), RC_IO, "instead of file 7 of 5 bytes");
    asked(8, "DELETE /webhdfs/v1/d/f?");
}
END_TEST

static enum rc publish(void)
{
    char dir[128];

    snprintf(dir, sizeof dir, "%.*s", (int)(strlen(path) - strlen("/f")), path);
    return fs_publish(fs, dir, ".tmp-x", "f", bytes_of_str("12345"), FS_PUBLISH_NEW, &err);
}

START_TEST(what_is_published_is_looked_at)
{
    plan("200 OK", DIR_STATUS);
    plan("200 OK", HERE);
    plan("201 Created", "");
    plan("200 OK", DIR_STATUS);
    plan_status(7, 5);
    plan("200 OK", "");
    plan_status(_i == 0 ? 7 : 8, 5);
    plan("200 OK", "{\"boolean\":true}");
    start();
    if (_i == 0)
        ck_assert_ok(publish());
    else
        ck_assert_rc(publish(), RC_IO);
}
END_TEST

/* CREATE would make it anew, with that file alone in it. */
START_TEST(nothing_is_published_in_a_directory_that_was_removed)
{
    if (_i == 0) {
        plan("404 Not Found", MISSING);
    } else {
        plan("200 OK", DIR_STATUS);
        plan("200 OK", HERE);
        plan("201 Created", "");
        plan("200 OK",
             "{\"FileStatus\":{\"type\":\"DIRECTORY\",\"length\":0,\"modificationTime\":2,\"fileId\":9}}");
    }
    start();
    ck_assert_rc(publish(), RC_NOT_FOUND);
    ck_assert_uint_eq(loopback_http_count(server), planned); /* no rename */
}
END_TEST

static enum rc give_nothing(void *ctx UNUSED, const char *name UNUSED, struct err *e UNUSED)
{
    return RC_OK;
}

START_TEST(a_list_without_an_end_is_refused)
{
    for (int i = 0; i < 4; i++)
        plan("200 OK", "{\"DirectoryListing\":{\"partialListing\":{\"FileStatuses\":{\"FileStatus\":["
                       "{\"pathSuffix\":\"a\",\"type\":\"FILE\",\"length\":1,\"modificationTime\":1,"
                       "\"fileId\":7}]}},\"remainingEntries\":1}}");
    start();
    ck_assert_rc_msg(fs_list(fs, path, give_nothing, NULL, &err), RC_CORRUPT, "in circles");
    ck_assert_uint_eq(loopback_http_count(server), 2);
}
END_TEST

/* The first try was carried out; the second finds its own work, or another's. */
START_TEST(a_rename_whose_answer_was_lost_is_told_by_the_files_id)
{
    plan_status(7, 1); /* what is renamed */
    plan_lost();
    plan("404 Not Found", MISSING);
    plan_status(_i == 0 ? 7 : 8, 1);
    start();
    if (_i == 0)
        ck_assert_ok(fs_rename(fs, path, to, &err));
    else
        ck_assert_rc(fs_rename(fs, path, to, &err), RC_NOT_FOUND);
}
END_TEST

START_TEST(a_name_that_is_taken_at_the_end_is_said)
{
    plan_begin();
    plan_status(7, 5);
    plan("403 Forbidden",
         "{\"RemoteException\":{\"exception\":\"FileAlreadyExistsException\",\"message\":\"there\"}}");
    plan("200 OK", "{\"boolean\":true}");
    start();
    ck_assert_rc(write_file(5), RC_EXISTS);
    ck_assert_uint_eq(loopback_http_count(server), planned);
}
END_TEST

START_TEST(a_read_that_comes_out_short_is_a_failure)
{
    struct fs_file *file;
    uint8_t out[10];
    size_t got;

    plan_status(7, 10);
    plan("200 OK", "only9here");
    start();
    ck_assert_ok(fs_open_read(fs, path, &file, &err));
    ck_assert_rc_msg(fs_read_at(file, 0, out, sizeof out, &got, &err), RC_IO, "9 bytes at offset 0");
    fs_abandon(&file);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    static const char *const bodies[] = {"<html>", "{}", "{\"FileStatus\":{\"type\":\"FILE\"}}"};
    struct fs_stat st;

    plan("200 OK", bodies[_i]);
    start();
    ck_assert_rc_msg(fs_stat(fs, path, &st, &err), RC_CORRUPT, "no WebHDFS answer");
}
END_TEST

START_TEST(a_location_that_is_no_url_is_not_followed)
{
    plan("404 Not Found", MISSING);
    plan("200 OK", DIR_STATUS);
    plan("200 OK", "{\"Location\":\"file:///etc/passwd\"}");
    plan("200 OK", "{\"boolean\":false}");
    start();
    ck_assert_rc_msg(write_file(5), RC_CORRUPT, "no URL");
}
END_TEST

TEST_MAIN("fs_webhdfs", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_large_file_is_made_in_pieces_and_named_at_the_end);
    tcase_add_loop_test(tc, an_append_whose_answer_was_lost_is_done_once, 0, 2);
    tcase_add_test(tc, half_an_append_is_a_failure_and_the_temporary_file_goes);
    tcase_add_test(tc, a_file_that_came_out_short_gets_no_name);
    tcase_add_loop_test(tc, a_file_that_was_replaced_right_before_its_rename_does_not_count, 0, 2);
    tcase_add_loop_test(tc, what_is_published_is_looked_at, 0, 2);
    tcase_add_loop_test(tc, nothing_is_published_in_a_directory_that_was_removed, 0, 2);
    tcase_add_test(tc, a_list_without_an_end_is_refused);
    tcase_add_loop_test(tc, a_rename_whose_answer_was_lost_is_told_by_the_files_id, 0, 2);
    tcase_add_test(tc, a_name_that_is_taken_at_the_end_is_said);
    tcase_add_test(tc, a_read_that_comes_out_short_is_a_failure);
    tcase_add_loop_test(tc, nonsense_is_refused, 0, 3);
    tcase_add_test(tc, a_location_that_is_no_url_is_not_followed);
})
