/* bucket.h - the buckets of one sink that have an open part: found by path, at most so many at a
 * time. No I/O. Thread: the task's. */
#ifndef VARVE_SINK_BUCKET_H
#define VARVE_SINK_BUCKET_H

#include "sink/part_file.h"

struct bucket {
    uint64_t hash;
    char *path; /* below the sink's directory; owned */
    struct part_file *part;
};
struct bucket_table {          /* = {0} is empty */
    uint32_t count, cap, last; /* last: where the latest find ended */
    struct bucket *list;
};
/* The index of the bucket; count: none. */
uint32_t bucket_find(struct bucket_table *t, struct bytes path);
/* Not there yet (asserted). Takes the part. */
void bucket_add(struct bucket_table *t, struct bytes path, struct part_file *part_take);
/* Forget bucket i and give its part to the caller; the last bucket moves to i. */
struct part_file *bucket_remove(struct bucket_table *t, uint32_t i);
/* The bucket not written to for longest; the table is not empty. */
uint32_t bucket_idlest(const struct bucket_table *t);
void bucket_table_release(struct bucket_table *t); /* parts are abandoned */

#endif
