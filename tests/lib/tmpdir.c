/* tmpdir.c - see tmpdir.h */
#include "tests/lib/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Plain calls, not fs.h: what tests fs.h must not stand on it. */

static void die(const char *what, const char *path) NORETURN;
static void die(const char *what, const char *path)
{
    fprintf(stderr, "tmpdir: %s %s: %s\n", what, path, strerror(errno));
    abort();
}

void tmpdir_make(struct tmpdir *t)
{
    const char *root = getenv("TMPDIR");
    char *path;

    t->names = arena_new(4096);
    path = arena_printf(t->names, "%s/varve-test-XXXXXX", root == NULL ? "/tmp" : root);
    if (mkdtemp(path) == NULL)
        die("make", path);
    t->path = path;
}

/* Depth first; `path` is a directory. */
static void remove_tree(struct arena *names, const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;

    if (dir == NULL)
        die("open", path);
    while ((e = readdir(dir)) != NULL) {
        const char *below;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        below = arena_printf(names, "%s/%s", path, e->d_name);
        if (unlink(below) == 0)
            continue;
        if (errno != EISDIR && errno != EPERM)
            die("unlink", below);
        remove_tree(names, below);
    }
    closedir(dir);
    if (rmdir(path) != 0)
        die("rmdir", path);
}

void tmpdir_remove(struct tmpdir *t)
{
    if (t->path == NULL)
        return;
    remove_tree(t->names, t->path);
    arena_free(t->names);
    *t = (struct tmpdir){0};
}

const char *tmpdir_at(struct tmpdir *t, const char *name)
{
    return arena_printf(t->names, "%s/%s", t->path, name);
}

void tmpdir_write(struct tmpdir *t, const char *name, const void *data, size_t len)
{
    const char *path = tmpdir_at(t, name);
    FILE *f = fopen(path, "wbe");

    if (f == NULL || (len > 0 && fwrite(data, 1, len, f) != len) || fclose(f) != 0)
        die("write", path);
}

struct bytes tmpdir_read(struct tmpdir *t, const char *name)
{
    const char *path = tmpdir_at(t, name);
    FILE *f = fopen(path, "rbe");
    struct stat st;
    uint8_t *data;

    if (f == NULL || fstat(fileno(f), &st) != 0)
        die("read", path);
    data = arena_alloc(t->names, (size_t)st.st_size);
    if (fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
        die("read", path);
    fclose(f);
    return bytes_of(data, (size_t)st.st_size);
}
