/* fuzz_webhdfs_answer.c - any bytes as what a WebHDFS server answers: values, or a refusal with a message. The first
 * byte chooses which answer it is. */
#include "base/webhdfs_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rc check_name(void *ctx, const char *name,
                          const struct webhdfs_status *st UNUSED, struct err *err UNUSED)
{
    size_t *count = ctx;

    ASSERT(name[0] != '\0' && strchr(name, '/') == NULL && strlen(name) <= WEBHDFS_NAME_MAX);
    ASSERT(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
    ++*count;
    return RC_OK;
}

static enum rc read_one(uint8_t kind, struct bytes body, struct err *err)
{
    enum webhdfs_refusal refusal;
    struct webhdfs_status status;
    struct webhdfs_page page;
    struct buf url = {0};
    size_t count = 0;
    bool yes;
    enum rc rc;

    switch (kind % 5) {
    case 0:
        return webhdfs_status_parse(body, &status, err);
    case 1:
        rc = webhdfs_page_parse(body, check_name, &count, &page, err);
        ASSERT(rc != RC_OK || (count == 0) == (page.last[0] == '\0'));
        return rc;
    case 2:
        return webhdfs_boolean_parse(body, &yes, err);
    case 3:
        rc = webhdfs_location_parse(body, &url, err);
        buf_release(&url);
        return rc;
    default:
        rc = webhdfs_refusal_parse(400 + kind, body, &refusal, err);
        ASSERT(rc != RC_OK);
        return rc;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    enum rc rc;

    if (size == 0)
        return 0;
    rc = read_one(data[0], bytes_of(data + 1, size - 1), &err);
    ASSERT((rc == RC_OK) == (err.msg[0] == '\0') && err.rc == rc);
    for (const char *p = err.msg; *p != '\0'; p++)
        ASSERT((unsigned char)*p >= 0x20 || *p == '\n');
    return 0;
}
