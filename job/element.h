/* element.h - what flows between subtasks, in band and in order. */
#ifndef VARVE_JOB_ELEMENT_H
#define VARVE_JOB_ELEMENT_H

#include "checkpoint/barrier.h"
#include "job/batch.h"

#define WATERMARK_NONE INT64_MIN
#define WATERMARK_MAX INT64_MAX /* event time has ended */

enum element_kind { ELEMENT_BATCH, ELEMENT_WATERMARK, ELEMENT_IDLE, ELEMENT_BARRIER, ELEMENT_END };
/* Heap object; the receiver frees it (element_free). */
struct element {
    enum element_kind kind;
    struct batch *batch;   /* ELEMENT_BATCH, of batch_take */
    int64_t watermark_ms;  /* ELEMENT_WATERMARK */
    struct barrier barrier; /* ELEMENT_BARRIER */
};
struct element *element_new_batch(struct batch *batch_take);
struct element *element_new_watermark(int64_t watermark_ms);
struct element *element_new_idle(void); /* ELEMENT_IDLE: ignore this channel's watermark until it speaks again */
struct element *element_new_barrier(const struct barrier *b);
struct element *element_new_end(void); /* no element follows */
void element_free(struct element *e);

#endif
