/* pending.c - see pending.h */
#include "checkpoint/pending.h"

#include "base/arena.h"

struct pending {
    struct barrier barrier;
    enum pending_state state;
    int64_t deadline_mono_ms;
    uint32_t task_count, missing_count;
    bool *expected, *acked; /* by task */
};

static const bool may_move[5][5] = {
    [PENDING_BEGINNING] = {[PENDING_RUNNING] = true, [PENDING_ABORTED] = true},
    [PENDING_RUNNING] = {[PENDING_FINALIZING] = true, [PENDING_ABORTED] = true},
    [PENDING_FINALIZING] = {[PENDING_COMPLETED] = true, [PENDING_ABORTED] = true},
};

const char *pending_state_str(enum pending_state s)
{
    static const char *const names[] = {"beginning", "running", "finalizing", "completed",
                                        "aborted"};

    ASSERT(s <= PENDING_ABORTED);
    return names[s];
}

bool pending_may_move(enum pending_state from, enum pending_state to)
{
    ASSERT(from <= PENDING_ABORTED && to <= PENDING_ABORTED);
    return may_move[from][to];
}

struct pending *pending_new(const struct barrier *barrier, const bool *expected,
                            uint32_t task_count, int64_t deadline_mono_ms)
{
    struct pending *p = mem_calloc(1, sizeof *p);

    p->barrier = *barrier;
    p->state = PENDING_BEGINNING;
    p->deadline_mono_ms = deadline_mono_ms;
    p->task_count = task_count;
    p->expected = mem_calloc(task_count, sizeof(bool));
    p->acked = mem_calloc(task_count, sizeof(bool));
    for (uint32_t i = 0; i < task_count; i++) {
        p->expected[i] = expected[i];
        p->missing_count += expected[i];
    }
    ASSERT(p->missing_count > 0);
    return p;
}

void pending_free(struct pending *p)
{
    if (p == NULL)
        return;
    mem_free(p->expected);
    mem_free(p->acked);
    mem_free(p);
}

const struct barrier *pending_barrier(const struct pending *p)
{
    return &p->barrier;
}
enum pending_state pending_state(const struct pending *p)
{
    return p->state;
}
int64_t pending_deadline_mono_ms(const struct pending *p)
{
    return p->deadline_mono_ms;
}
bool pending_fully_acked(const struct pending *p)
{
    return p->missing_count == 0;
}
uint32_t pending_missing_count(const struct pending *p)
{
    return p->missing_count;
}

void pending_move(struct pending *p, enum pending_state to)
{
    ASSERT(pending_may_move(p->state, to));
    p->state = to;
}

bool pending_expects(const struct pending *p, uint32_t task)
{
    return task < p->task_count && p->expected[task];
}

bool pending_has_acked(const struct pending *p, uint32_t task)
{
    return task < p->task_count && p->acked[task];
}

enum pending_ack pending_ack(struct pending *p, uint32_t task)
{
    if (!pending_expects(p, task))
        return PENDING_ACK_UNKNOWN;
    if (p->acked[task])
        return PENDING_ACK_DUPLICATE;
    p->acked[task] = true;
    p->missing_count--;
    return PENDING_ACK_OK;
}

uint32_t pending_first_missing(const struct pending *p)
{
    uint32_t i = 0;

    while (i < p->task_count && (!p->expected[i] || p->acked[i]))
        i++;
    return i;
}
