/* links: base */
/* test_log.c - lines of the log. */
#include "base/log.h"

#include "base/arena.h"
#include "base/thread.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <unistd.h>

static struct tmpdir tmp;
static struct sim_clock sim;
static int fd;

static void setup(void)
{
    tmpdir_make(&tmp);
    sim_clock_init(&sim, 1795979845123); /* 2026-11-29T19:17:25.123Z */
    fd = open(tmpdir_at(&tmp, "log"), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
}

static void teardown(void)
{
    close(fd);
    tmpdir_remove(&tmp);
}

START_TEST(a_line_has_time_level_event_and_pairs)
{
    struct log *log = log_new(fd, LOG_INFO, &sim.clock);

    log_line(log, LOG_INFO, "checkpoint completed id=%d duration_ms=%d", 42, 118);
    log_line(log, LOG_DEBUG, "not shown");
    sim_clock_set_wall_ms(&sim, 7);
    log_line(log, LOG_WARN, "early");
    sim_clock_set_wall_ms(&sim, -1);
    log_line(log, LOG_ERROR, "before the epoch");
    ck_assert_bytes_str(tmpdir_read(&tmp, "log"),
                        "2026-11-29T19:17:25.123Z INFO checkpoint completed id=42 duration_ms=118\n"
                        "1970-01-01T00:00:00.007Z WARN early\n"
                        "1969-12-31T23:59:59.999Z ERROR before the epoch\n");
    log_free(log);
    log_free(NULL);
}
END_TEST

/* A file name or key with a line end in it must not forge a line. */
START_TEST(control_characters_are_escaped)
{
    struct log *log = log_new(fd, LOG_DEBUG, &sim.clock);

    log_line(log, LOG_DEBUG, "name=%s", "a\nb\r\t\x1b[31m\x7f \xc3\xa4");
    ck_assert_bytes_str(tmpdir_read(&tmp, "log"),
                        "2026-11-29T19:17:25.123Z DEBUG "
                        "name=a\\x0ab\\x0d\\x09\\x1b[31m\\x7f \xc3\xa4\n");
    log_free(log);
}
END_TEST

START_TEST(a_long_line_is_cut_visibly)
{
    struct log *log = log_new(fd, LOG_INFO, &sim.clock);
    struct bytes got;

    log_line(log, LOG_INFO, "%*s", 100000, "x");
    got = tmpdir_read(&tmp, "log");
    ck_assert_uint_lt(got.len, 5000);
    ck_assert_bytes_str(bytes_of(got.data + got.len - 4, 4), "...\n");
    log_free(log);
}
END_TEST

START_TEST(no_log_and_level_off_are_silent)
{
    struct log *log = log_new(fd, LOG_OFF, &sim.clock);

    log_line(NULL, LOG_ERROR, "dropped");
    log_line(log, LOG_ERROR, "dropped");
    ck_assert_uint_eq(tmpdir_read(&tmp, "log").len, 0);
    log_free(log);
}
END_TEST

START_TEST(a_log_that_cannot_be_written_is_ignored)
{
    struct log *log = log_new(-1, LOG_INFO, &sim.clock);

    log_line(log, LOG_ERROR, "nowhere");
    log_free(log);
}
END_TEST

static void write_lines(void *log)
{
    for (int i = 0; i < 500; i++)
        log_line(log, LOG_INFO, "%s", "abcdefghijklmnopqrstuvwxyz");
}

START_TEST(lines_of_several_threads_stay_whole)
{
    struct log *log = log_new(fd, LOG_INFO, &sim.clock);
    struct thread *threads[4];
    struct bytes got;
    const char *line = "2026-11-29T19:17:25.123Z INFO abcdefghijklmnopqrstuvwxyz\n";

    for (size_t i = 0; i < 4; i++)
        threads[i] = thread_start("logger", write_lines, log);
    for (size_t i = 0; i < 4; i++)
        thread_join(threads[i]);
    got = tmpdir_read(&tmp, "log");
    ck_assert_uint_eq(got.len, 2000 * strlen(line));
    for (size_t at = 0; at < got.len; at += strlen(line))
        ck_assert_bytes_str(bytes_of(got.data + at, strlen(line)), line);
    log_free(log);
}
END_TEST

TEST_MAIN("log", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_line_has_time_level_event_and_pairs);
          tcase_add_test(tc, control_characters_are_escaped);
          tcase_add_test(tc, a_long_line_is_cut_visibly);
          tcase_add_test(tc, no_log_and_level_off_are_silent);
          tcase_add_test(tc, a_log_that_cannot_be_written_is_ignored);
          tcase_add_test(tc, lines_of_several_threads_stay_whole))
