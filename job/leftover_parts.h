/* leftover_parts.h - hidden files below the directories that a snapshot's file sinks write to, which
 * the snapshot does not know (B30): begun after it, or by other runs. Looks only. Thread: any. */
#ifndef VARVE_JOB_LEFTOVER_PARTS_H
#define VARVE_JOB_LEFTOVER_PARTS_H

#include "base/env.h"
#include "base/json.h"
#include "checkpoint/metadata.h"

/* A list of {"what": "hidden file", "path": .., "size": .., "age_ms": .., "of": "this job"}, or
 * "another run"; at most 1000; what cannot be looked at is left out. */
json_t *leftover_parts(const struct env *env, const struct checkpoint_metadata *m);

#endif
