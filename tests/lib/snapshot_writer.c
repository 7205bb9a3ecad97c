#include "tests/lib/snapshot_writer.h"

#include "tests/lib/must.h"

static void write_it(void *arg)
{
    struct snapshot_writer *w = arg;

    w->rc = keyed_snapshot_write(w->snapshot, &w->target->base, w->arena, &w->handle, &w->err);
}

void snapshot_writer_start(struct snapshot_writer *w, struct dir_target *target)
{
    w->target = target;
    w->arena = arena_new(0);
    w->err = (struct err){0};
    w->thread = thread_start("snapshot", write_it, w);
}

void snapshot_writer_join(struct snapshot_writer *w, struct arena *arena, struct keyed_handle *out)
{
    thread_join(w->thread);
    MUST(w->rc == RC_OK, "%s", w->err.msg);
    keyed_handle_copy(arena, &w->handle, out);
    dir_target_resolve(w->target, arena, out);
    arena_free(w->arena);
}

void snapshot_writer_complete(struct snapshot_writer *w, struct keyed_backend *backend,
                              uint64_t checkpoint_id, struct arena *arena,
                              struct keyed_handle *out)
{
    snapshot_writer_join(w, arena, out);
    keyed_snapshot_free(w->snapshot);
    keyed_notify_complete(backend, checkpoint_id);
}
