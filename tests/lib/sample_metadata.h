/* sample_metadata.h - checkpoint trees for tests of the formats and of recovery.
 *
 * The tree names two operators: "Source: clicks" with a split list, and "GroupAggregate[k]" with
 * keyed state of one RocksDB database a subtask (an inline CURRENT, a shared SST, an exclusive
 * MANIFEST) and of one stream. */
#ifndef VARVE_TESTS_LIB_SAMPLE_METADATA_H
#define VARVE_TESTS_LIB_SAMPLE_METADATA_H

#include "checkpoint/metadata.h"

#define SAMPLE_JOB_ID "0123456789abcdef0123456789abcdef"
#define SAMPLE_SOURCE_ID "11111111111111111111111111111111"
#define SAMPLE_AGG_ID "22222222222222222222222222222222"
#define SAMPLE_SINK_ID "33333333333333333333333333333333"

/* Content of every file of the tree is a function of its path or local name, so that a test can
 * write it. */
struct bytes sample_content(struct arena *a, const char *name);
/* Everything in `a`. The same seed gives the same tree; another one gives other SSTs. */
struct checkpoint_metadata *sample_metadata(struct arena *a, uint64_t checkpoint_id, uint64_t seed);

#endif
