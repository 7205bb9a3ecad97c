/* fuzz_log_file.c - any bytes as a log of a write-ahead sink, with the digest that fits: what is
 * fuzzed is what stands behind it. Read to the end or refused with a message. */
#include "sink/log_file.h"
#include "tests/lib/sim_fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rc read_all(struct fs *fs, struct bytes in, struct err *err)
{
    uint64_t bytes = 0, rows = 0;
    struct log_reader *r;
    uint32_t block_rows;
    struct bytes piece;
    enum rc rc;

    RETURN_IF_ERR(log_reader_open(fs, "/log", in.len, in.len % 7, digest_of(in), &r, err));
    do {
        rc = log_reader_block(r, &block_rows, err);
        rows += block_rows;
        do {
            piece = (struct bytes){0};
            if (rc == RC_OK && block_rows > 0)
                rc = log_reader_piece(r, &piece, err);
            bytes += piece.len;
        } while (rc == RC_OK && piece.len > 0);
    } while (rc == RC_OK && block_rows > 0);
    ASSERT(bytes < in.len || in.len == 0);
    ASSERT(rc != RC_OK || rows == in.len % 7);
    log_reader_free(r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fs *fs = sim_fs_new(NULL);
    struct fs_file *file;
    struct err err = {0};
    enum rc rc;

    if (fs_create(fs, "/log", &file, &err) != RC_OK ||
        (size > 0 && fs_append(file, bytes_of(data, size), &err) != RC_OK) ||
        fs_close(&file, &err) != RC_OK)
        return 1;
    rc = read_all(fs, bytes_of(data, size), &err);
    ASSERT(rc == RC_OK || (err.rc == rc && err.msg[0] != '\0'));
    sim_fs_free(fs);
    return 0;
}
