/* rocks_intake.h - SST files of other databases become a new column family, by hard link: no value
 * is read, levels and sequence numbers stay. A file that lies across a bound is cut: only its part
 * inside is written anew.
 *
 * An intake collects files, of any number of databases (their entries must not overlap, and those
 * databases may be closed meanwhile; their files must stay), then `end` moves them into the family
 * under new names. A cutter is shared by all intakes of a restore.
 *
 *     rocks_intake_new -> add | cut .. -> rocks_intake_end -> rocks_intake_free
 *
 * Thread: one.
 */
#ifndef VARVE_BACKEND_ROCKS_INTAKE_H
#define VARVE_BACKEND_ROCKS_INTAKE_H

#include "backend/rocks.h"

/* Keys with lower <= key < upper; an empty upper is no bound. */
struct rocks_bounds {
    struct bytes lower, upper;
};
enum rocks_place { ROCKS_INSIDE, ROCKS_OUTSIDE, ROCKS_ACROSS };
enum rocks_place rocks_file_place(const struct rocks_file *f, struct rocks_bounds b);

/* opaque; makes a scratch database in `dir` when first used, with one family at a time. What it cuts
 * stays there until an intake moves it. */
struct rocks_cutter;
struct rocks_cutter *rocks_cutter_new(struct rocks_db *db, const char *dir);
void rocks_cutter_free(struct rocks_cutter *c); /* NULL is a no-op; its files stay */

struct rocks_intake; /* opaque */
struct rocks_intake *rocks_intake_new(void);
void rocks_intake_free(struct rocks_intake *in); /* NULL is a no-op */
/* Files so far; and back to as many. */
size_t rocks_intake_count(const struct rocks_intake *in);
void rocks_intake_keep(struct rocks_intake *in, size_t count);
/* A file of the family as it is. */
MUST_USE enum rc rocks_intake_add(struct rocks_intake *in, struct rocks_cf *from, const char *name,
                                  struct err *err);
/* The part of a file inside the bounds. *done false: a range deletion lies across one of them, so
 * that it cannot be cut; nothing was added. */
MUST_USE enum rc rocks_intake_cut(struct rocks_intake *in, struct rocks_cutter *cutter,
                                  struct rocks_cf *from, const char *name, struct rocks_bounds b,
                                  bool *done, struct err *err);
/* Creates the family in `db` with all files. The links under their old names are gone then. */
MUST_USE enum rc rocks_intake_end(struct rocks_intake *in, struct rocks_db *db, const char *name,
                                  struct rocks_cf **out, struct err *err);

#endif
