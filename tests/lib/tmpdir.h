/* tmpdir.h - a fresh directory for one test, on the real file system.
 *
 *     struct tmpdir tmp;
 *     tmpdir_make(&tmp);
 *     ... fs_create(fs_posix(), tmpdir_at(&tmp, "a.csv"), ...)
 *     tmpdir_remove(&tmp);
 *
 * Lies in $TMPDIR (else /tmp) as varve-test-XXXXXX. A test that fails does not come to
 * tmpdir_remove: its directory is left for a look. Every failure here aborts the test. Thread: one.
 */
#ifndef VARVE_TESTS_LIB_TMPDIR_H
#define VARVE_TESTS_LIB_TMPDIR_H

#include "base/arena.h"

struct tmpdir {
    const char *path;    /* absolute; until tmpdir_remove */
    struct arena *names; /* what tmpdir_at handed out */
};
void tmpdir_make(struct tmpdir *t);
void tmpdir_remove(struct tmpdir *t); /* with everything in it; no-op on zeroes */
/* "<path>/<name>", until tmpdir_remove. */
const char *tmpdir_at(struct tmpdir *t, const char *name);
/* Write a file of that name (new or replaced) with this content. */
void tmpdir_write(struct tmpdir *t, const char *name, const void *data, size_t len);
/* Content of the file of that name, until tmpdir_remove. */
struct bytes tmpdir_read(struct tmpdir *t, const char *name);

#endif
