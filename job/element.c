/* element.c - see element.h */
#include "job/element.h"

static struct element *element_new(enum element_kind kind)
{
    struct element *e = mem_calloc(1, sizeof *e);

    e->kind = kind;
    return e;
}

struct element *element_new_batch(struct batch *batch_take)
{
    struct element *e = element_new(ELEMENT_BATCH);

    ASSERT(batch_take != NULL);
    e->batch = batch_take;
    return e;
}

struct element *element_new_watermark(int64_t watermark_ms)
{
    struct element *e = element_new(ELEMENT_WATERMARK);

    e->watermark_ms = watermark_ms;
    return e;
}

struct element *element_new_idle(void)
{
    return element_new(ELEMENT_IDLE);
}

struct element *element_new_barrier(const struct barrier *b)
{
    struct element *e = element_new(ELEMENT_BARRIER);

    e->barrier = *b;
    return e;
}

struct element *element_new_end(void)
{
    return element_new(ELEMENT_END);
}

void element_free(struct element *e)
{
    if (e == NULL)
        return;
    batch_free(e->batch);
    mem_free(e);
}
