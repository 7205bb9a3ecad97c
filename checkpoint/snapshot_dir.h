/* snapshot_dir.h - the directory of one snapshot: chk-<n> or a savepoint. Make visible, hide,
 * remove.
 *
 * To discard, _metadata goes first and durably (C3): only then may anything that it names be
 * deleted. Only names of our own making are deleted, and the directory is removed non-recursively:
 * a stranger in it stays.
 * Thread: one at a time for each directory.
 */
#ifndef VARVE_CHECKPOINT_SNAPSHOT_DIR_H
#define VARVE_CHECKPOINT_SNAPSHOT_DIR_H

#include "base/env.h"

/* For a snapshot that somebody asked for there: made, with its parents, or empty. *made: it was not there.
 * RC_EXISTS: there is something in it, or it is no directory. */
MUST_USE enum rc snapshot_dir_claim(struct fs *fs, const char *dir, bool *made, struct err *err);
/* _metadata is gone for certain, power loss included. Not there, or no such directory: OK. */
MUST_USE enum rc snapshot_dir_hide(struct fs *fs, const char *dir, struct err *err);
/* Hides, then deletes exclusive files, SSTs and temporary files, then the directory. A stranger in
 * it is logged and stays, with the directory; that is RC_OK. */
MUST_USE enum rc snapshot_dir_remove(const struct env *env, const char *dir, struct err *err);

#endif
