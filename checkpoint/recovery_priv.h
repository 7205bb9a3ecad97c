/* recovery_priv.h - what recovery.c and recovery_choose.c share. */
#ifndef VARVE_CHECKPOINT_RECOVERY_PRIV_H
#define VARVE_CHECKPOINT_RECOVERY_PRIV_H

#include "checkpoint/candidates.h"
#include "checkpoint/recovery.h"

/* Reads and proves the snapshot in `dir` into r. */
MUST_USE enum rc recovery_try(const struct env *env, const char *dir, bool digests, struct recovered *r,
                              struct err *err);
/* The first of the candidates in `dir` that may be gone on from, and verifies. */
MUST_USE enum rc recovery_choose(const struct env *env, const char *dir, const struct candidates *c,
                                 const struct recovery_options *options, struct recovered *r,
                                 struct err *err);

/* What recovery_read_metadata does with the bytes of dir's _metadata, whose path is for messages. */
MUST_USE enum rc recovery_decode_metadata(const char *dir, const char *path, struct bytes file,
                                          struct arena *arena, struct checkpoint_metadata *out,
                                          struct err *err);

#endif
