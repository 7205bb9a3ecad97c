/* handle_tour.c - see handle_tour.h */
#include "checkpoint/handle_tour.h"

#include "checkpoint/recovery.h"

/* First byte of a message. */
enum { OF_TOUR, OF_LOOK };
/* OF_TOUR; snapshot, number of the handle, subtask, 4 bytes each; then the operator's name. */
#define PLACE_BYTES 13u

struct walk {
    const struct handle_tour *tour;
    uint32_t from, handle; /* numbers of handles, over all snapshots */
    bool begun;            /* here: the child has begun with one */
    struct tour_place at;  /* which */
};

/* ---- the child ------------------------------------------------------------------------------- */

void tour_tell(struct apart_ear *ear, struct bytes message)
{
    struct buf whole = {0};

    buf_append_u8(&whole, OF_LOOK);
    buf_append(&whole, message.data, message.len);
    apart_tell(ear, buf_bytes(&whole));
    buf_release(&whole);
}

static void tell_place(struct apart_ear *ear, const struct walk *w, uint32_t snapshot,
                       uint32_t subtask, const char *operator_name)
{
    struct buf message = {0};

    buf_append_u8(&message, OF_TOUR);
    buf_append_le32(&message, snapshot);
    buf_append_le32(&message, w->handle);
    buf_append_le32(&message, subtask);
    buf_append_str(&message, operator_name);
    apart_tell(ear, buf_bytes(&message));
    buf_release(&message);
}

static void walk_subtask(struct walk *w, struct apart_ear *ear, uint32_t snapshot,
                         const struct operator_meta *op, const struct subtask_state *subtask)
{
    const struct handle_tour *t = w->tour;

    for (size_t k = 0; k < subtask->keyed_count; k++, w->handle++) {
        const struct keyed_handle *h = &subtask->keyed[k];

        if (w->handle < w->from || !t->wanted(t->ctx, h))
            continue;
        tell_place(ear, w, snapshot, subtask->subtask_index, op->name);
        t->look(t->ctx, ear, h);
    }
}

static void walk_all(void *ctx, struct apart_ear *ear)
{
    struct walk *w = ctx;
    const struct handle_tour *t = w->tour;
    struct arena *arena = arena_new(0);

    for (uint32_t i = 0; i < t->snapshot_count; i++) {
        const char *dir = t->dir_of(t->ctx, i);
        struct checkpoint_metadata m;
        uint64_t metadata_bytes;

        arena_reset(arena);
        if (dir == NULL ||
            recovery_read_metadata(t->fs, dir, arena, &m, &metadata_bytes, NULL) != RC_OK)
            continue;
        for (size_t o = 0; o < m.operator_count; o++)
            for (size_t s = 0; s < m.operators[o].subtask_count; s++)
                walk_subtask(w, ear, i, &m.operators[o], &m.operators[o].subtasks[s]);
    }
    arena_free(arena);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void note_place(struct walk *w, struct bytes message)
{
    if (message.len < PLACE_BYTES || get_le32(message.data + 1) >= w->tour->snapshot_count)
        return;
    w->begun = true;
    w->at.snapshot = get_le32(message.data + 1);
    w->handle = get_le32(message.data + 5);
    w->at.subtask = get_le32(message.data + 9);
    w->at.operator_name =
        arena_strndup(w->tour->arena, (const char *)message.data + PLACE_BYTES,
                      message.len - PLACE_BYTES);
}

static void hear(void *ctx, struct bytes message)
{
    struct walk *w = ctx;

    if (message.len == 0)
        return;
    if (message.data[0] == OF_TOUR)
        note_place(w, message);
    else if (w->begun)
        w->tour->heard(w->tour->ctx, &w->at, bytes_of(message.data + 1, message.len - 1));
}

enum rc handle_tour_run(const struct handle_tour *tour, struct err *err)
{
    struct walk w = {.tour = tour};
    char end[APART_END_MAX];

    do {
        struct walk child = {.tour = tour, .from = w.from};

        w.begun = false;
        RETURN_IF_ERR(apart_run(walk_all, &child, hear, &w, end, err));
        if (end[0] == '\0')
            return RC_OK;
        if (!w.begun)
            return err_set(err, RC_IO, "a process of ours was ended: %s", end);
        tour->ended(tour->ctx, &w.at, end);
        w.from = w.handle + 1;
    } while (true);
}
