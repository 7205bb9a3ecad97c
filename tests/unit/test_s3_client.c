/* links: base */
/* test_s3_client.c - where requests to an S3 server go; what they carry and answer is in
 * test_fs_s3.c. */
#include "base/s3_client.h"

#include "tests/lib/check_ext.h"

static struct env env;

static enum rc client_of(const char *endpoint, bool path_style, struct s3_client **out,
                         struct err *err)
{
    struct s3_config config = {.endpoint = endpoint,
                               .region = "eu-west-1",
                               .credentials = {"a", "s", NULL},
                               .path_style = path_style,
                               .part_bytes = 1,
                               .copy_part_bytes = 1};
    struct http_client_config http = {.user_agent = "test", .tries = 1};

    http.clock = env.clock = clock_posix();
    return s3_client_new(&config, &http, &env, out, err);
}

static const struct {
    const char *endpoint;
    bool path_style;
    const char *path, *suffix, *query, *url;
} urls[] = {
    {NULL, false, "s3://bucket/a/b", NULL, NULL, "https://bucket.s3.eu-west-1.amazonaws.com/a/b"},
    {NULL, false, "s3://bucket", NULL, "list-type=2",
     "https://bucket.s3.eu-west-1.amazonaws.com/?list-type=2"},
    {NULL, true, "s3://bucket/a", NULL, NULL, "https://s3.eu-west-1.amazonaws.com/bucket/a"},
    {NULL, false, "s3://dotted.name/a", NULL, NULL,
     "https://s3.eu-west-1.amazonaws.com/dotted.name/a"},
    {"http://host", false, "s3://dotted.name/a", NULL, NULL, "http://dotted.name.host/a"},
    {"host:9000/", false, "s3://bucket/a", NULL, NULL, "https://bucket.host:9000/a"},
    {"http://10.0.0.1:9000", false, "s3://bucket/a", NULL, NULL, "http://10.0.0.1:9000/bucket/a"},
    {"http://[::1]:9000", false, "s3://bucket/a", NULL, NULL, "http://[::1]:9000/bucket/a"},
    {"http://localhost:1", false, "s3://bucket", NULL, "x=1", "http://localhost:1/bucket?x=1"},
    {"https://h", true, "s3://bucket//a b/%+?\xc3\xa9/", "/", NULL,
     "https://h/bucket/a%20b/%25%2B%3F%C3%A9/"},
};

START_TEST(url_is_that_of_bucket_and_key)
{
    struct s3_client *c;
    struct s3_name name;
    struct s3_call call = {.name = &name, .key_suffix = urls[_i].suffix, .query = urls[_i].query};
    struct err err = {0};
    struct buf url = {0};

    ck_assert_ok(client_of(urls[_i].endpoint, urls[_i].path_style, &c, &err));
    ck_assert_ok(s3_name_of(urls[_i].path, &name, &err));
    s3_url(c, &call, &url);
    ck_assert_str_eq(buf_cstr(&url), urls[_i].url);
    buf_release(&url);
    s3_client_free(c);
}
END_TEST

static const char *const no_endpoints[] = {"ftp://h",  "http://",        "http://h/path",
                                           "https://", "http://u:p@h:1", "http://h?x"};

START_TEST(endpoint_that_is_none_is_refused_without_being_shown)
{
    struct s3_client *c;
    struct err err = {0};

    ck_assert_int_eq(client_of(no_endpoints[_i], false, &c, &err), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err.msg, "s3.endpoint"));
    ck_assert_ptr_null(strstr(err.msg, "u:p"));
}
END_TEST

TEST_MAIN("s3_client",
          tcase_add_loop_test(tc, url_is_that_of_bucket_and_key, 0, (int)ARRAY_LEN(urls));
          tcase_add_loop_test(tc, endpoint_that_is_none_is_refused_without_being_shown, 0,
                              (int)ARRAY_LEN(no_endpoints)))
