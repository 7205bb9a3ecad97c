/* fuzz_s3_answer.c - any bytes as an answer of an S3 server: read or refused with a message. */
#include "base/s3_answer.h"
#include "base/s3_date.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rc see_entry(void *ctx UNUSED, const struct s3_entry *e, struct err *err UNUSED)
{
    ASSERT(e->key[0] != '\0');
    return RC_OK;
}

static enum rc see_upload(void *ctx UNUSED, const struct s3_upload_line *u, struct err *err UNUSED)
{
    ASSERT(u->key[0] != '\0' && u->id[0] != '\0');
    return RC_OK;
}

static void check(enum rc rc, struct err *err)
{
    ASSERT(rc == RC_OK || ((rc == RC_CORRUPT || rc == RC_LIMIT) && err->msg[0] != '\0'));
    err_clear(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = bytes_of(data, size);
    struct buf a = {0}, b = {0};
    struct s3_problem problem;
    struct err err = {0};
    int64_t wall_ms;

    check(s3_answer_list(in, "list", see_entry, NULL, &a, &err), &err);
    check(s3_answer_uploads(in, "uploads", see_upload, NULL, &a, &b, &err), &err);
    check(s3_answer_value(in, "value", "CopyPartResult", "ETag", &a, &err), &err);
    (void)s3_answer_problem(in, &problem);
    (void)s3_date_parse(in, &wall_ms);
    buf_release(&a);
    buf_release(&b);
    return 0;
}
