/* note.h - the small files of a job's directory that are neither state nor _metadata (ENDED, ORIGIN): lines "key=value" in a fixed order, read back as strictly.
 *
 * A file begins with the line "check=<XXH3-128 of what follows>", so that no flipped bit passes; of
 * one without it (earlier versions wrote none) only the form is checked. In a value a newline is written \n and a backslash \\, so that any path and any name fits; a NUL
 * never does. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_NOTE_H
#define VARVE_CHECKPOINT_NOTE_H

#include "base/arena.h"
#include "base/fs.h"

#define NOTE_BYTES_MAX (1u << 20)

void note_put(struct buf *out, const char *key, const char *value);
void note_put_number(struct buf *out, const char *key, uint64_t value);

struct note {
    struct bytes left; /* not read yet */
    struct arena *arena;
};
/* The next line is `key`'s: its value, in the arena. false: it is not, or it is malformed, and
 * nothing is read. */
MUST_USE bool note_take(struct note *n, const char *key, const char **value);
MUST_USE bool note_take_number(struct note *n, const char *key, uint64_t max, uint64_t *value);
MUST_USE bool note_is_empty(const struct note *n); /* all is read */

/* Replaces <dir>/<name>. After RC_OK it survives power loss; else the earlier one, or none, or this
 * one is there. Leaves <dir>/._<name>.tmp when the process dies on the way. */
MUST_USE enum rc note_write(struct fs *fs, const char *dir, const char *name, struct bytes content,
                            struct err *err);
/* RC_NOT_FOUND: no such file; RC_LIMIT: larger than NOTE_BYTES_MAX; RC_CORRUPT: a directory. */
MUST_USE enum rc note_read(struct fs *fs, const char *dir, const char *name, struct arena *arena,
                           struct note *out, struct err *err);
/* RC_OK also when there is none; durable. */
MUST_USE enum rc note_remove(struct fs *fs, const char *dir, const char *name, struct err *err);

#endif
