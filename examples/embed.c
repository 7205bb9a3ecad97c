/* embed.c - a program that runs a varve job inside itself: counts, a savepoint, and its end.
 *
 *     cc embed.c -lvarve -o embed && ./embed
 */
#include "varve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows of a SELECT: the last count of each key is the answer. */
static int print_row(void *ctx, const char *kind, size_t count, const char *const *names,
                     const char *const *values)
{
    unsigned *rows = ctx;

    for (size_t i = 0; i < count; i++)
        printf("%s%s=%s", i == 0 ? kind : ",", i == 0 ? "" : names[i],
               values[i] != NULL ? values[i] : "null");
    putchar('\n');
    ++*rows;
    return 0;
}

static int fail(const char *doing, const vv_error *error)
{
    fprintf(stderr, "%s: %s\n", doing, error->message);
    return 1;
}

int main(int argc, char **argv)
{
    const vv_option options[] = {{"pipeline.name", "embedded"},
                                 {"execution.checkpointing.interval", "100 ms"}};
    const char *dir = argc > 1 ? argv[1] : "/tmp";
    char savepoint[4096];
    vv_error error;
    unsigned rows = 0;
    vv_session *s = vv_session_new(options, 2, &error);
    vv_job *job;

    if (s == NULL)
        return fail("session", &error);
    printf("varve %s\n", vv_version());
    if (vv_execute(
            s,
            "CREATE TABLE bounded (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = "
            "'sequence',"
            "    'fields.id.start' = '1', 'fields.id.end' = '10');"
            "CREATE TABLE endless (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = "
            "'100');"
            "CREATE TABLE nowhere (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');"
            "SELECT MOD(id, 3) AS k, COUNT(*) AS n FROM bounded GROUP BY MOD(id, 3);"
            "INSERT INTO nowhere SELECT MOD(id, 10), COUNT(*) FROM endless GROUP BY MOD(id, 10);",
            print_row, &rows, &error) != VV_OK)
        return fail("execute", &error);

    job = vv_job_newest(s);
    printf("job %s is %s\n", vv_job_name(job), vv_job_state(job));
    if (vv_job_wait(job, 300, &error) != VV_TIMEOUT)
        return fail("the endless job has ended", &error);
    if (vv_job_stop(job, dir, 0, savepoint, sizeof savepoint, &error) != VV_OK)
        return fail("stop with savepoint", &error);
    if (vv_job_wait(job, 10000, &error) != VV_OK)
        return fail("wait", &error);
    printf("job %s is %s; savepoint %s\n", vv_job_name(job), vv_job_state(job), savepoint);

    /* A mistake comes back as a code and a message with a caret. */
    if (vv_execute(s, "SELECT k FORM nowhere", NULL, NULL, &error) != VV_INVALID)
        return fail("a mistake was not seen", &error);
    printf("%s\n", error.message);
    vv_job_free(job);
    vv_session_free(s);
    return rows > 0 && strcmp(savepoint, "") != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
