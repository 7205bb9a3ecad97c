/* links: base */
/* test_s3_answer.c - answers of S3 servers: what is taken from them, and what is refused. */
#include "base/s3_answer.h"

#include "tests/lib/check_ext.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define NS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

static enum rc put_entry(void *ctx, const struct s3_entry *e, struct err *err UNUSED)
{
    buf_printf(ctx, "%s%s %llu %lld;", e->key, e->is_prefix ? " (prefix)" : "",
               (unsigned long long)e->size_bytes, (long long)e->mtime_wall_ms);
    return RC_OK;
}

static enum rc put_upload(void *ctx, const struct s3_upload_line *u, struct err *err UNUSED)
{
    buf_printf(ctx, "%s %s %lld;", u->key, u->id, (long long)u->begun_wall_ms);
    return RC_OK;
}

/* As the reference of Amazon S3 shows it, plus a prefix and escapes. */
static const char list_page[] =
    HEAD "<ListBucketResult" NS "><Name>bucket</Name><Prefix>photos%2F2006%2F</Prefix>"
         "<KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys><Delimiter>%2F</Delimiter>"
         "<IsTruncated>true</IsTruncated><NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhb==</"
         "NextContinuationToken>"
         "<Contents><Key>photos%2F2006%2Fa+b%2B%C3%A9&amp;</Key>"
         "<LastModified>2009-10-12T17:50:30.000Z</LastModified>"
         "<ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size>434234</Size>"
         "<StorageClass>STANDARD</StorageClass><Owner><ID>x</ID></Owner></Contents>"
         "<CommonPrefixes><Prefix>photos%2F2006%2FFebruary%2F</Prefix></CommonPrefixes>"
         "</ListBucketResult>";

START_TEST(list_gives_keys_prefixes_and_the_next_page)
{
    struct buf got = {0}, next = {0};
    struct err err = {0};

    ck_assert_ok(s3_answer_list(bytes_of_str(list_page), "list", put_entry, &got, &next, &err));
    ck_assert_str_eq(buf_cstr(&got), "photos/2006/a b+\xc3\xa9& 434234 1255369830000;"
                                     "photos/2006/February/ (prefix) 0 0;");
    ck_assert_str_eq(buf_cstr(&next), "1ueGcxLPRx1Tr/XYExHnhb==");
    buf_release(&got);
    buf_release(&next);
}
END_TEST

/* Half a list would make files look deleted. */
START_TEST(list_cut_anywhere_is_refused)
{
    struct buf got = {0}, next = {0};
    struct err err = {0};

    for (size_t len = 0; len < sizeof list_page - 1; len++)
        ck_assert_rc(s3_answer_list(bytes_of(list_page, len), "list", put_entry, &got, &next, &err),
                     RC_CORRUPT);
    buf_release(&got);
    buf_release(&next);
}
END_TEST

#define LIST(content) HEAD "<ListBucketResult" NS ">" content "</ListBucketResult>"
static const struct {
    const char *body;
    enum rc rc;
    const char *part;
} refused[] = {
    {"", RC_CORRUPT, "no XML"},
    {"<html><body>hello</body></html>", RC_CORRUPT, "is a <html>, not a <ListBucketResult>"},
    /* refused at its start, an empty element ends all the same */
    {"<html/>", RC_CORRUPT, "is a <html>"},
    {LIST("<a><a><a><a><a><a><a><a/></a></a></a></a></a></a></a>"), RC_LIMIT, "deeper than 8"},
    {LIST("<IsTruncated>true</IsTruncated>"), RC_CORRUPT, "does not say how to go on"},
    {LIST("<Contents><Size>1</Size></Contents>"), RC_CORRUPT, "no key"},
    {LIST("<Contents><Key>a</Key><Size>-1</Size></Contents>"), RC_CORRUPT, "no number"},
    {LIST("<Contents><Key>a</Key><Size>18446744073709551616</Size></Contents>"), RC_CORRUPT,
     "no number"},
    {LIST("<Contents><Key>a</Key><Size></Size></Contents>"), RC_CORRUPT, "no number"},
    {LIST("<Contents><Key>a</Key><LastModified>now</LastModified></Contents>"), RC_CORRUPT,
     "no time"},
    {LIST("<Contents><Key>a%0</Key></Contents>"), RC_CORRUPT, "wrong %XX"},
    {LIST("<Contents><Key>a%00b</Key></Contents>"), RC_CORRUPT, "wrong %XX"},
    {LIST("<Contents><Key>a%zzb</Key></Contents>"), RC_CORRUPT, "wrong %XX"},
    {LIST("<a><a><a><a><a><a><a><a>x</a></a></a></a></a></a></a></a>"), RC_LIMIT, "deeper than 8"},
    {"<!DOCTYPE l [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>"
     "<ListBucketResult><Name>&b;</Name></ListBucketResult>",
     RC_CORRUPT, "document type"},
    {"<!DOCTYPE l SYSTEM \"file:///etc/passwd\"><ListBucketResult/>", RC_CORRUPT, "document type"},
    {LIST("<Name>&unknown;</Name>"), RC_CORRUPT, "no XML"},
    {LIST("<Name>\xff</Name>"), RC_CORRUPT, "no XML"},
};

START_TEST(list_that_is_none_is_refused)
{
    struct buf got = {0}, next = {0};
    struct err err = {0};

    ck_assert_rc_msg(
        s3_answer_list(bytes_of_str(refused[_i].body), "list", put_entry, &got, &next, &err),
        refused[_i].rc, refused[_i].part);
    buf_release(&got);
    buf_release(&next);
}
END_TEST

START_TEST(text_past_the_limit_is_refused)
{
    struct buf body = {0}, got = {0}, next = {0};
    struct err err = {0};

    buf_append_str(&body, "<ListBucketResult><Contents><Key>");
    for (size_t i = 0; i <= S3_ANSWER_TEXT_MAX; i++)
        buf_append_u8(&body, 'a');
    buf_append_str(&body, "</Key></Contents></ListBucketResult>");
    ck_assert_rc_msg(s3_answer_list(buf_bytes(&body), "list", put_entry, &got, &next, &err),
                     RC_LIMIT, "ListBucketResult/Contents/Key of the answer is longer than 8192");
    buf_release(&body);
    buf_release(&got);
    buf_release(&next);
}
END_TEST

START_TEST(uploads_give_keys_ids_and_markers)
{
    static const char body[] = HEAD
        "<ListMultipartUploadsResult" NS "><Bucket>bucket</Bucket><KeyMarker/><UploadIdMarker/>"
        "<NextKeyMarker>my-movie+1.m2ts</NextKeyMarker>"
        "<NextUploadIdMarker>YW55IGlkZWE</NextUploadIdMarker><MaxUploads>3</MaxUploads>"
        "<IsTruncated>true</IsTruncated><Upload><Key>my-divisor%2Fx</Key>"
        "<UploadId>XMgbGlrZSBlbHZpbmcncyBub3QgaGF2aW5nIG11Y2ggbHVjaw</UploadId>"
        "<Initiator><ID>arn</ID></Initiator><StorageClass>STANDARD</StorageClass>"
        "<Initiated>2010-11-10T20:48:33.000Z</Initiated></Upload></ListMultipartUploadsResult>";
    struct buf got = {0}, key = {0}, id = {0};
    struct err err = {0};

    ck_assert_ok(
        s3_answer_uploads(bytes_of_str(body), "uploads", put_upload, &got, &key, &id, &err));
    ck_assert_str_eq(
        buf_cstr(&got),
        "my-divisor/x XMgbGlrZSBlbHZpbmcncyBub3QgaGF2aW5nIG11Y2ggbHVjaw 1289422113000;");
    ck_assert_str_eq(buf_cstr(&key), "my-movie 1.m2ts");
    ck_assert_str_eq(buf_cstr(&id), "YW55IGlkZWE");
    buf_release(&got);
    buf_release(&key);
    buf_release(&id);
}
END_TEST

START_TEST(error_is_told_from_everything_else)
{
    struct s3_problem p;

    /* Space before: how a server keeps a long call open. */
    ck_assert(s3_answer_problem(
        bytes_of_str("  \r\n" HEAD "<Error><Code>NoSuchKey</Code><Message>The resource you "
                     "requested\ndoes not exist \xc3\xa9</Message><Resource>/b/k</Resource>"
                     "<RequestId>4442587FB7D0A2F9</RequestId></Error>"),
        &p));
    ck_assert_str_eq(p.code, "NoSuchKey");
    ck_assert_str_eq(p.message, "The resource you requested?does not exist ??");
    ck_assert(!s3_answer_problem(bytes_of_str(list_page), &p));
    ck_assert(!s3_answer_problem(bytes_of_str("<Error><Code>SlowDown</Code>"), &p));
    ck_assert(!s3_answer_problem(bytes_of_str("Bad Gateway"), &p));
    ck_assert(!s3_answer_problem((struct bytes){NULL, 0}, &p));
}
END_TEST

START_TEST(one_value_is_found_or_missed_loudly)
{
    static const char body[] = HEAD "<InitiateMultipartUploadResult" NS "><Bucket>b</Bucket>"
                                    "<Key>k</Key><UploadId>VXBsb2Fk ID</UploadId>"
                                    "</InitiateMultipartUploadResult>";
    struct buf got = {0};
    struct err err = {0};

    ck_assert_ok(s3_answer_value(bytes_of_str(body), "begin", "InitiateMultipartUploadResult",
                                 "UploadId", &got, &err));
    ck_assert_str_eq(buf_cstr(&got), "VXBsb2Fk ID");
    ck_assert_rc_msg(s3_answer_value(bytes_of_str(body), "begin", "InitiateMultipartUploadResult",
                                     "ETag", &got, &err),
                     RC_CORRUPT, "begin: the answer has no <ETag>");
    ck_assert_rc_msg(s3_answer_value(bytes_of_str("<Error><Code>InternalError</Code></Error>"),
                                     "complete", "CompleteMultipartUploadResult", "ETag", &got,
                                     &err),
                     RC_CORRUPT, "is a <Error>");
    buf_release(&got);
}
END_TEST

TEST_MAIN("s3_answer", tcase_add_test(tc, list_gives_keys_prefixes_and_the_next_page);
          tcase_add_test(tc, list_cut_anywhere_is_refused);
          tcase_add_loop_test(tc, list_that_is_none_is_refused, 0, (int)ARRAY_LEN(refused));
          tcase_add_test(tc, text_past_the_limit_is_refused);
          tcase_add_test(tc, uploads_give_keys_ids_and_markers);
          tcase_add_test(tc, error_is_told_from_everything_else);
          tcase_add_test(tc, one_value_is_found_or_missed_loudly))
