/* links: sink */
/* Logs of a write-ahead sink: what was written is read, and nothing counts that is not proven. */
#include "sink/log_file.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#define PATH "/logs/x"

static struct fs *fs;
static struct arena *arena;
static struct err err;
static const char *const columns[] = {"k", "a \"b\""};
static const uint32_t key[] = {0};
static const struct log_head head = {"s.t", 2, columns, 1, key};
static uint64_t size, rows;
static struct digest128 digest;

static void write_log(size_t block_bytes, uint32_t blocks)
{
    uint8_t *data = arena_alloc(arena, block_bytes);
    struct log_writer *w;

    memset(data, 'x', block_bytes);
    ck_assert_ok(log_writer_create(fs, PATH, &head, &w, &err));
    for (uint32_t i = 0; i < blocks; i++)
        ck_assert_ok(log_writer_append(w, bytes_of(data, block_bytes), i + 1, &err));
    ck_assert_ok(log_writer_finish(w, &size, &rows, &digest, &err));
}

static void setup(void)
{
    fs = sim_fs_new(NULL);
    arena = arena_new(0);
    err = (struct err){0};
    ck_assert_ok(fs_mkdir(fs, "/logs", &err));
    ck_assert_ok(fs_sync_dir(fs, "/", &err));
}
static void teardown(void)
{
    sim_fs_free(fs);
    arena_free(arena);
}

/* Reads all; the code of the first failure. */
static enum rc read_log(uint64_t *bytes, uint64_t *read_rows)
{
    struct log_reader *r;
    uint32_t block_rows;
    struct bytes piece;
    enum rc rc = log_reader_open(fs, PATH, size, rows, digest, &r, &err);

    *bytes = *read_rows = 0;
    if (rc != RC_OK)
        return rc;
    ck_assert_str_eq(log_reader_head(r)->table, "s.t");
    ck_assert_str_eq(log_reader_head(r)->columns[1], "a \"b\"");
    while ((rc = log_reader_block(r, &block_rows, &err)) == RC_OK && block_rows > 0) {
        *read_rows += block_rows;
        while ((rc = log_reader_piece(r, &piece, &err)) == RC_OK && piece.len > 0)
            *bytes += piece.len;
        if (rc != RC_OK)
            break;
    }
    log_reader_free(r);
    return rc;
}

static const struct {
    size_t block_bytes;
    uint32_t blocks;
} shapes[] = {{1, 1}, {100, 3}, {65535, 2}, {65536, 2}, {200000, 3}, {5, 0}};
START_TEST(what_was_written_is_read)
{
    uint64_t bytes, read_rows;
    struct buf durable = {0};

    write_log(shapes[_i].block_bytes, shapes[_i].blocks);
    ck_assert_ok(read_log(&bytes, &read_rows));
    ck_assert_uint_eq(bytes, shapes[_i].block_bytes * shapes[_i].blocks);
    ck_assert_uint_eq(read_rows, rows);
    ck_assert(sim_fs_durable(fs, PATH, &durable));
    ck_assert(digest_eq(digest_of(buf_bytes(&durable)), digest));
    buf_release(&durable);
}
END_TEST

/* C13: whatever is changed, the log does not come to its end. */
START_TEST(no_changed_byte_goes_unnoticed)
{
    uint64_t bytes, read_rows;

    write_log(20, 3);
    for (uint64_t at = 0; at < size; at++) {
        enum rc rc;

        ck_assert(sim_fs_flip(fs, PATH, at, 0x11));
        err = (struct err){0};
        if (at < 20) { /* read_log looks at names of the head */
            struct log_reader *r = NULL;

            rc = log_reader_open(fs, PATH, size, rows, digest, &r, &err);
            log_reader_free(r);
        } else {
            rc = read_log(&bytes, &read_rows);
            ck_assert_msg(rc == RC_CORRUPT, "offset %llu", (unsigned long long)at);
        }
        ck_assert(sim_fs_flip(fs, PATH, at, 0x11));
    }
    err = (struct err){0};
    ck_assert_ok(read_log(&bytes, &read_rows));
}
END_TEST

START_TEST(another_length_is_refused_at_once)
{
    uint64_t bytes, read_rows;

    write_log(20, 3);
    size++;
    ck_assert_rc_msg(read_log(&bytes, &read_rows), RC_CORRUPT, "bytes instead of");
}
END_TEST

START_TEST(a_taken_name_is_refused)
{
    struct log_writer *w;

    write_log(1, 1);
    ck_assert_rc_msg(log_writer_create(fs, PATH, &head, &w, &err), RC_EXISTS, PATH);
}
END_TEST

START_TEST(a_head_that_breaks_a_rule_is_refused)
{
    static const uint32_t twice[] = {1, 1}, outside[] = {2};
    static const char *const empty[] = {"k", ""};
    struct log_head bad[] = {
        {"", 2, columns, 1, key},
        {"t", 2, empty, 1, key},
        {"t", 0, columns, 0, key},
        {"t", 2, columns, 2, twice},
        {"t", 2, columns, 1, outside},
    };
    struct log_head back;
    size_t end;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf b = {0};

        log_head_encode(&bad[i], &b);
        ck_assert_rc_msg(log_head_decode(buf_bytes(&b), arena, "log", &back, &end, &err), RC_CORRUPT,
                         "log: ");
        buf_release(&b);
    }
}
END_TEST

TEST_MAIN("log_file", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, what_was_written_is_read, 0, ARRAY_LEN(shapes));
          tcase_add_test(tc, no_changed_byte_goes_unnoticed);
          tcase_add_test(tc, another_length_is_refused_at_once);
          tcase_add_test(tc, a_taken_name_is_refused);
          tcase_add_test(tc, a_head_that_breaks_a_rule_is_refused);)
