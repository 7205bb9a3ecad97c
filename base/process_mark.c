/* process_mark.c - see process_mark.h. Reads /proc, so only on Linux does it ever say more than
 * "not known". */
#include "base/process_mark.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STAT_BYTES 1024
#define START_FIELD 22 /* of /proc/<pid>/stat */

/* Whole small file as a string; false: it is not there, or not to be read. */
static bool read_small(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return false;
    do
        got = read(fd, out, cap - 1);
    while (got < 0 && errno == EINTR);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* 0: not known. */
static uint64_t place(void)
{
    char boot[64], space[64];
    ssize_t len = readlink("/proc/self/ns/pid", space, sizeof space);

    if (len <= 0 || !read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot))
        return 0;
    return hash64_seed(bytes_of(space, (size_t)len), hash64(bytes_of_str(boot)));
}

/* State and start of a process from its line in /proc; the name, in parentheses, may hold anything.
 */
static bool read_stat(pid_t pid, char *state, uint64_t *start)
{
    char path[64], text[STAT_BYTES], *at, *end;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_small(path, text, sizeof text))
        return false;
    at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || at[2] == '\0')
        return false;
    *state = at[2];
    at++; /* before field 3 */
    for (int field = 3; field < START_FIELD && at != NULL; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    *start = strtoull(at + 1, &end, 10);
    return end != at + 1;
}

void process_mark(char out[PROCESS_MARK_MAX])
{
    uint64_t here = place(), start;
    char state;

    out[0] = '\0';
    if (here != 0 && read_stat(getpid(), &state, &start))
        snprintf(out, PROCESS_MARK_MAX, "%016" PRIx64 "-%d-%" PRIu64, here, (int)getpid(), start);
}

static bool parse_mark(const char *mark, uint64_t *where, pid_t *pid, uint64_t *start)
{
    char *end;
    long id;

    if (strspn(mark, "0123456789abcdef") != 16 || mark[16] != '-' || mark[17] < '1' ||
        mark[17] > '9')
        return false;
    *where = strtoull(mark, &end, 16);
    errno = 0;
    id = strtol(mark + 17, &end, 10);
    if (errno != 0 || id > INT32_MAX || *end != '-' || end[1] < '0' || end[1] > '9')
        return false;
    *pid = (pid_t)id;
    *start = strtoull(end + 1, &end, 10);
    return errno == 0 && *end == '\0';
}

bool process_is_gone(const char *mark)
{
    uint64_t where, start, now_start;
    char state;
    pid_t pid;

    if (!parse_mark(mark, &where, &pid, &start) || where != place())
        return false;
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    /* Another one under that id, or a dead one that its parent has not looked at. */
    return read_stat(pid, &state, &now_start) &&
           (now_start != start || state == 'Z' || state == 'X');
}
