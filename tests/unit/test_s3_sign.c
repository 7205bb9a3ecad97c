/* links: base */
/* test_s3_sign.c - signatures of S3 requests, as Amazon's own examples have them. */
#include "base/s3_sign.h"

#include "tests/lib/check_ext.h"

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* "Examples: Signature Calculations in AWS Signature Version 4" of the S3 reference, with its keys:
 * 2013-05-24T00:00:00Z, us-east-1. */
static const struct {
    const char *method, *url;
    size_t header_count;
    struct http_header headers[2];
    const char *body, *names, *signature;
} examples[] = {
    {"GET",
     "https://examplebucket.s3.amazonaws.com/test.txt",
     1,
     {{"Range", "bytes=0-9"}},
     "",
     "host;range;x-amz-content-sha256;x-amz-date",
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"PUT",
     "https://examplebucket.s3.amazonaws.com/test%24file.text",
     2,
     {{"x-amz-storage-class", "REDUCED_REDUNDANCY"}, {"Date", "Fri, 24 May 2013 00:00:00 GMT"}},
     "Welcome to Amazon S3.",
     "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"GET",
     "https://examplebucket.s3.amazonaws.com?lifecycle",
     0,
     {{NULL, NULL}},
     "",
     "host;x-amz-content-sha256;x-amz-date",
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"GET",
     "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J",
     0,
     {{NULL, NULL}},
     "",
     "host;x-amz-content-sha256;x-amz-date",
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static const struct s3_credentials example_keys = {
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", NULL};

static void sign_example(int i, const struct s3_credentials *keys, struct s3_signature *out)
{
    char sha[S3_SHA256_HEX_LEN + 1];
    struct s3_to_sign request = {
        .method = examples[i].method,
        .url = examples[i].url,
        .header_count = examples[i].header_count,
        .headers = examples[i].headers,
        .payload_sha256 = sha,
        .wall_ms = 1369353600000,
        .region = "us-east-1",
    };

    s3_sha256_hex(bytes_of_str(examples[i].body), sha);
    s3_sign(keys, &request, out);
}

START_TEST(signature_is_that_of_the_published_example)
{
    struct s3_signature s;
    char want[512];

    sign_example(_i, &example_keys, &s);
    ck_assert_str_eq(s.date, "20130524T000000Z");
    snprintf(want, sizeof want,
             "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
             "SignedHeaders=%s,Signature=%s",
             examples[_i].names, examples[_i].signature);
    ck_assert_str_eq((const char *)s.authorization.data, want);
    s3_signature_release(&s);
}
END_TEST

/* A token that is not signed could be swapped on the way. */
START_TEST(session_token_is_signed)
{
    struct s3_credentials keys = example_keys;
    struct s3_signature a, b;

    keys.session_token = "one";
    sign_example(0, &keys, &a);
    keys.session_token = "two";
    sign_example(0, &keys, &b);
    ck_assert_ptr_nonnull(
        strstr((const char *)a.authorization.data, ";x-amz-date;x-amz-security-token,"));
    ck_assert_str_ne((const char *)a.authorization.data, (const char *)b.authorization.data);
    s3_signature_release(&a);
    s3_signature_release(&b);
}
END_TEST

START_TEST(spaces_of_a_header_do_not_matter)
{
    static const struct http_header spaced = {"x-amz-meta-a", "  one \t  two "};
    static const struct http_header plain = {"X-Amz-Meta-A", "one two"};
    struct s3_to_sign request = {.method = "PUT",
                                 .url = "http://h:9000/b/k",
                                 .header_count = 1,
                                 .headers = &spaced,
                                 .payload_sha256 = EMPTY_SHA256,
                                 .region = "r"};
    struct s3_signature a, b;

    s3_sign(&example_keys, &request, &a);
    request.headers = &plain;
    s3_sign(&example_keys, &request, &b);
    ck_assert_str_eq((const char *)a.authorization.data, (const char *)b.authorization.data);
    s3_signature_release(&a);
    s3_signature_release(&b);
}
END_TEST

/* The header Host has no default port, so the signature must not. */
START_TEST(default_port_is_not_signed)
{
    static const char *const urls[][2] = {{"http://h:80/b", "http://h/b"},
                                          {"https://h:443/b", "https://h/b"}};
    struct s3_to_sign request = {.method = "GET", .payload_sha256 = EMPTY_SHA256, .region = "r"};
    struct s3_signature a, b;

    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        request.url = urls[i][0];
        s3_sign(&example_keys, &request, &a);
        request.url = urls[i][1];
        s3_sign(&example_keys, &request, &b);
        ck_assert_str_eq((const char *)a.authorization.data, (const char *)b.authorization.data);
        s3_signature_release(&a);
        s3_signature_release(&b);
    }
}
END_TEST

START_TEST(empty_body_has_the_known_digest)
{
    char sha[S3_SHA256_HEX_LEN + 1];

    s3_sha256_hex((struct bytes){NULL, 0}, sha);
    ck_assert_str_eq(sha, EMPTY_SHA256);
}
END_TEST

TEST_MAIN("s3_sign", tcase_add_loop_test(tc, signature_is_that_of_the_published_example, 0,
                                         (int)ARRAY_LEN(examples));
          tcase_add_test(tc, session_token_is_signed);
          tcase_add_test(tc, spaces_of_a_header_do_not_matter);
          tcase_add_test(tc, default_port_is_not_signed);
          tcase_add_test(tc, empty_body_has_the_known_digest))
