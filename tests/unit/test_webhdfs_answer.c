/* links: base */
/* webhdfs_answer: what Hadoop says, and what nobody should say. */
#include "base/webhdfs_answer.h"

#include "tests/lib/check_ext.h"

#include <errno.h>

static struct err err;

#define STATUS(type, length)                                                                       \
    "{\"accessTime\":0,\"blockSize\":0,\"fileId\":16386,\"length\":" length                          \
    ",\"modificationTime\":1320173277227,\"pathSuffix\":\"a\",\"replication\":0,\"type\":\"" type "\"}"

START_TEST(a_status_is_read)
{
    struct webhdfs_status st;

    ck_assert_ok(webhdfs_status_parse(
        bytes_of_str("{\"FileStatus\":" STATUS("FILE", "24930") "}"), &st, &err));
    ck_assert_int_eq(st.type, FS_FILE);
    ck_assert_uint_eq(st.size_bytes, 24930);
    ck_assert_uint_eq(st.file_id, 16386);
    ck_assert_int_eq(st.modified_wall_ms, 1320173277227);
    ck_assert_ok(webhdfs_status_parse(bytes_of_str("{\"FileStatus\":" STATUS("DIRECTORY", "0") "}"),
                                      &st, &err));
    ck_assert_int_eq(st.type, FS_DIR);
}
END_TEST

static const char *const no_status[] = {
    "",
    "null",
    "[]",
    "{\"FileStatus\":{\"type\":\"FILE\"}}",
    "{\"FileStatus\":" STATUS("FILE", "-1") "}",
    "{\"FileStatus\":" STATUS("FILE", "1.5") "}",
    "{\"FileStatus\":" STATUS("FILE", "99999999999999999999") "}",
    "{\"FileStatus\":" STATUS("FILE", "1"),
    "<html>",
};

START_TEST(what_is_no_status_is_refused)
{
    struct webhdfs_status st;

    ck_assert_rc_msg(webhdfs_status_parse(bytes_of_str(no_status[_i]), &st, &err), RC_CORRUPT,
                     "no WebHDFS answer");
}
END_TEST

static char seen[256];

static enum rc note(void *ctx UNUSED, const char *name, const struct webhdfs_status *st,
                    struct err *e UNUSED)
{
    ck_assert_uint_eq(st->size_bytes, 3);
    strncat(seen, name, sizeof seen - strlen(seen) - 1);
    strncat(seen, ";", sizeof seen - strlen(seen) - 1);
    return RC_OK;
}

#define ENTRY(name) "{\"pathSuffix\":\"" name "\",\"type\":\"FILE\",\"length\":3,\"modificationTime\":1}"
#define PAGE(entries) "{\"FileStatuses\":{\"FileStatus\":[" entries "]}}"

START_TEST(a_page_gives_its_names_and_what_is_left)
{
    struct webhdfs_page page;

    seen[0] = '\0';
    ck_assert_ok(webhdfs_page_parse(bytes_of_str(PAGE(ENTRY("a") "," ENTRY("b c"))), note, NULL,
                                    &page, &err));
    ck_assert_str_eq(seen, "a;b c;");
    ck_assert_uint_eq(page.left, 0);
    ck_assert_ok(webhdfs_page_parse(
        bytes_of_str("{\"DirectoryListing\":{\"partialListing\":" PAGE(
            ENTRY("d")) ",\"remainingEntries\":2}}"),
        note, NULL, &page, &err));
    ck_assert_uint_eq(page.left, 2);
    ck_assert_str_eq(page.last, "d");
    ck_assert_ok(webhdfs_page_parse(bytes_of_str(PAGE("")), note, NULL, &page, &err));
    ck_assert_str_eq(page.last, "");
}
END_TEST

/* Names go into paths of ours. */
static const char *const bad_pages[] = {
    PAGE(ENTRY("..")),
    PAGE(ENTRY(".")),
    PAGE(ENTRY("a/b")),
    PAGE(ENTRY("a") "," ENTRY("")),
    PAGE("{\"type\":\"FILE\"}"),
    PAGE("{\"pathSuffix\":\"a\",\"type\":\"FILE\"}"),
    PAGE("1"),
    "{\"FileStatuses\":{\"FileStatus\":{}}}",
    "{\"DirectoryListing\":{\"partialListing\":" PAGE(ENTRY("d")) "}}",
};

START_TEST(names_that_no_directory_holds_are_refused)
{
    struct webhdfs_page page;

    ck_assert_rc(webhdfs_page_parse(bytes_of_str(bad_pages[_i]), note, NULL, &page, &err), RC_CORRUPT);
}
END_TEST

START_TEST(the_listing_of_a_file_says_so)
{
    struct webhdfs_page page;

    ck_assert_int_eq(
        webhdfs_page_parse(bytes_of_str(PAGE(ENTRY(""))), note, NULL, &page, &err), RC_IO);
    ck_assert_int_eq(err.os_errno, ENOTDIR);
}
END_TEST

START_TEST(booleans_and_locations)
{
    struct buf url = {0};
    bool b;

    ck_assert_ok(webhdfs_boolean_parse(bytes_of_str("{\"boolean\": true}"), &b, &err));
    ck_assert(b);
    ck_assert_ok(webhdfs_boolean_parse(bytes_of_str("{\"boolean\": false}"), &b, &err));
    ck_assert(!b);
    ck_assert_rc(webhdfs_boolean_parse(bytes_of_str("{\"boolean\": 1}"), &b, &err), RC_CORRUPT);
    ck_assert_ok(webhdfs_location_parse(bytes_of_str("{\"Location\":\"http://d/x\"}"), &url, &err));
    ck_assert_str_eq(buf_cstr(&url), "http://d/x");
    ck_assert_rc(webhdfs_location_parse(bytes_of_str("{\"Location\":7}"), &url, &err), RC_CORRUPT);
    buf_release(&url);
}
END_TEST

#define REMOTE(name) "{\"RemoteException\":{\"exception\":\"" name "\",\"message\":\"why\\n\\tat Java\"}}"

static const struct {
    int status;
    const char *body;
    enum rc rc;
    int os_errno;
    enum webhdfs_refusal kind;
    const char *says;
} refusals[] = {
    {404, REMOTE("FileNotFoundException"), RC_NOT_FOUND, ENOENT, WEBHDFS_FINAL, "status 404: FileNotFoundException: why"},
    {403, REMOTE("FileAlreadyExistsException"), RC_EXISTS, EEXIST, WEBHDFS_FINAL, "why"},
    {403, REMOTE("AccessControlException"), RC_IO, EACCES, WEBHDFS_FINAL, "AccessControlException"},
    {403, REMOTE("PathIsNotEmptyDirectoryException"), RC_IO, ENOTEMPTY, WEBHDFS_FINAL, "why"},
    {403, REMOTE("StandbyException"), RC_IO, 0, WEBHDFS_STANDBY, "StandbyException"},
    {403, REMOTE("SafeModeException"), RC_IO, EROFS, WEBHDFS_PASSES, "SafeMode"},
    {403, REMOTE("RetriableException"), RC_IO, 0, WEBHDFS_PASSES, "why"},
    {403, REMOTE("EOFException"), RC_IO, 0, WEBHDFS_BROKEN, "EOFException"},
    {403, REMOTE("ConnectException"), RC_IO, ECONNREFUSED, WEBHDFS_BROKEN, "ConnectException"},
    {403, "{\"RemoteException\":{\"exception\":\"IOException\",\"message\":\"a.b Failed on local exception: c\"}}", RC_IO, 0,
     WEBHDFS_BROKEN, "IOException"},
    {403, REMOTE("IOException"), RC_IO, 0, WEBHDFS_FINAL, "IOException"},
    {400, REMOTE("IllegalArgumentException"), RC_INVALID, 0, WEBHDFS_FINAL, "why"},
    {400, REMOTE("QueryParamException"), RC_INVALID, 0, WEBHDFS_FINAL, "why"},
    {500, REMOTE("NullPointerException"), RC_IO, 0, WEBHDFS_FINAL, "NullPointerException"},
    {401, "<html>login", RC_UNSUPPORTED, 0, WEBHDFS_FINAL, "Kerberos"},
    {404, "<html>nothing", RC_UNSUPPORTED, 0, WEBHDFS_FINAL, "no WebHDFS server"},
    {502, "\x1b[31mgate", RC_IO, 0, WEBHDFS_FINAL, "status 502: \\x1b[31mgate"},
};

START_TEST(a_refusal_is_a_code_and_words)
{
    enum webhdfs_refusal kind;

    ck_assert_int_eq(
        webhdfs_refusal_parse(refusals[_i].status, bytes_of_str(refusals[_i].body), &kind, &err),
        refusals[_i].rc);
    ck_assert_int_eq(kind, refusals[_i].kind);
    ck_assert_int_eq(err.os_errno, refusals[_i].os_errno);
    ck_assert_ptr_nonnull(strstr(err.msg, refusals[_i].says));
    ck_assert_ptr_null(strstr(err.msg, "Java"));
}
END_TEST

static void setup(void)
{
    err = (struct err){0};
}

TEST_MAIN("webhdfs_answer", {
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, a_status_is_read);
    tcase_add_loop_test(tc, what_is_no_status_is_refused, 0, (int)ARRAY_LEN(no_status));
    tcase_add_test(tc, a_page_gives_its_names_and_what_is_left);
    tcase_add_loop_test(tc, names_that_no_directory_holds_are_refused, 0, (int)ARRAY_LEN(bad_pages));
    tcase_add_test(tc, the_listing_of_a_file_says_so);
    tcase_add_test(tc, booleans_and_locations);
    tcase_add_loop_test(tc, a_refusal_is_a_code_and_words, 0, (int)ARRAY_LEN(refusals));
})
