/* driver_attempt.c - see driver_attempt.h */
#include "job/runtime/driver_attempt.h"

struct attempt *attempt_new(uint64_t id, const struct barrier *barrier, uint32_t task_count)
{
    struct attempt *a = mem_calloc(1, sizeof *a);

    a->id = id;
    a->barrier = *barrier;
    a->task_count = task_count;
    a->acks = mem_calloc(task_count, sizeof(struct task_event *));
    return a;
}

void attempt_free(struct attempt *a)
{
    if (a == NULL)
        return;
    for (uint32_t i = 0; i < a->task_count; i++)
        task_event_free(a->acks[i]);
    storage_attempt_free(a->storage);
    mem_free(a->acks);
    mem_free(a);
}

struct attempt *attempt_find(struct attempt *list, uint64_t id)
{
    struct attempt *a = list;

    while (a != NULL && a->id != id)
        a = a->next;
    return a;
}

void attempt_append(struct attempt **list, struct attempt *a)
{
    struct attempt **at = list;

    while (*at != NULL)
        at = &(*at)->next;
    *at = a;
}

void attempt_remove(struct attempt **list, struct attempt *a)
{
    struct attempt **at = list;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    a->next = NULL;
}

bool attempt_acked_past_the_data(const struct attempt *a)
{
    for (uint32_t i = 0; i < a->task_count; i++) {
        if (a->acks[i] == NULL || !a->acks[i]->data_ended)
            return false;
    }
    return true;
}
