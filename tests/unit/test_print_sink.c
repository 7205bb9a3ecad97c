/* links: sink */
/* The print sink: bytes to a descriptor, whole, and nothing in a checkpoint. */
#include "sink/sink.h"
#include "tests/lib/check_ext.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *read_all(void *arg)
{
    int fd = *(int *)arg;
    struct buf *got = calloc(1, sizeof *got);
    uint8_t piece[4096];
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) > 0)
        buf_append(got, piece, (size_t)n);
    return got;
}

/* A terminal or pipe that takes it in pieces, or is set to refuse instead of waiting, must not lose
 * or mix rows. */
START_TEST(everything_written_arrives_in_order)
{
    int ends[2];
    struct err err = {0};
    struct sink *s;
    struct buf want = {0}, *got;
    pthread_t reader;
    void *result;

    ck_assert_int_eq(pipe(ends), 0);
    if (_i == 1)
        ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_all, &ends[0]), 0);
    s = print_sink_new(ends[1], "Sink[print]");
    for (int i = 0; i < 2000; i++) {
        struct buf line = {0};

        buf_printf(&line, "+I[%d, %0200d]\n", i, i);
        buf_append(&want, line.data, line.len);
        ck_assert_ok(sink_write(s, bytes_of_str(""), buf_bytes(&line), 1, 0, &err));
        buf_release(&line);
    }
    ck_assert_ok(sink_close(s, &err));
    close(ends[1]);
    pthread_join(reader, &result);
    got = result;
    ck_assert_bytes_eq(buf_bytes(got), buf_bytes(&want));
    buf_release(got);
    free(got);
    buf_release(&want);
    close(ends[0]);
}
END_TEST

START_TEST(checkpoint_holds_nothing_of_it)
{
    struct sink *s = print_sink_new(-1, "Sink[blackhole]");
    struct arena *arena = arena_new(0);
    struct sink_snapshot snapshot;
    struct sink_stats stats;
    struct err err = {0};
    int64_t next = 0;

    ck_assert_ok(sink_write(s, bytes_of_str("b"), bytes_of_str("abc"), 2, 5, &err));
    ck_assert_ok(sink_on_time(s, 100, &next, &err));
    ck_assert_int_eq(next, INT64_MAX);
    ck_assert_ok(sink_prepare(s, 1, true, 100, arena, &snapshot, &err));
    ck_assert_uint_eq(snapshot.writer.count + snapshot.committables.count, 0);
    ck_assert_ok(sink_commit(s, 1, &err));
    sink_stats(s, &stats);
    ck_assert_uint_eq(stats.rows_written, 2);
    ck_assert_uint_eq(stats.bytes_written, 3);
    sink_abort(s);
    arena_free(arena);
}
END_TEST

START_TEST(closed_descriptor_is_an_error_that_names_it)
{
    struct sink *s = print_sink_new(987, "Sink[print]");
    struct err err = {0};

    ck_assert_rc_msg(sink_write(s, bytes_of_str(""), bytes_of_str("x"), 1, 0, &err), RC_IO,
                     "Sink[print]: write to fd 987");
    sink_abort(s);
}
END_TEST

TEST_MAIN("print_sink", {
    tcase_add_loop_test(tc, everything_written_arrives_in_order, 0, 2);
    tcase_add_test(tc, checkpoint_holds_nothing_of_it);
    tcase_add_test(tc, closed_descriptor_is_an_error_that_names_it);
})
