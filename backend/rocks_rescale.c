/* rocks_rescale.c - handles of other key-group ranges into one database, without reading values.
 *
 *     each handle    its files are linked into from-<i>/ and opened to look at: which lie in the
 *                    backend's range, which outside, which across a border
 *     each file      inside: taken as it is; across: its part inside is written anew (cut)
 *     each family    made of all its files at once, under new names
 *
 * So afterwards no file holds a row of another range, and what later checkpoints name can be opened
 * by anyone. A handle with a range deletion across a border is left to be copied entry by entry.
 * Nothing here is durable: a crash in the middle starts over. */
#include "backend/rocks_backend_priv.h"
#include "backend/rocks_intake.h"

struct rescale {
    struct rocks_backend *b;
    bool later; /* linked files are proven in the background */
    int max_open_files;
    struct arena *arena;
    struct rocks_cutter *cutter;
    struct rocks_intake **intakes; /* by state id */
    size_t intake_count;
    struct rocks_source *sources; /* by handle; closed, but for their lists of files */
    size_t source_count;
};
/* Files of one family of one handle. */
struct taking {
    struct rescale *r;
    struct rocks_source *source;
    struct rocks_cf *from;
    struct rocks_intake *into;
    struct rocks_bounds bounds;
    bool all; /* none had to be left */
};

static enum rc prove_named(struct taking *t, const char *local_name, struct err *err)
{
    const struct keyed_handle *h = t->source->handle;

    for (size_t i = 0; i < h->file_count; i++) {
        if (strcmp(h->files[i].local_name, local_name) != 0 || t->source->files[i].proven)
            continue;
        RETURN_IF_ERR(state_file_prove(t->r->b->core.env->fs, &h->files[i], err));
        t->source->files[i].proven = true;
    }
    return RC_OK;
}

static enum rc take_file(void *ctx, const struct rocks_file *f, struct err *err)
{
    struct taking *t = ctx;

    if (!t->all)
        return RC_OK;
    RETURN_IF_ERR(core_go_on(&t->r->b->core, err));
    switch (rocks_file_place(f, t->bounds)) {
    case ROCKS_OUTSIDE:
        return RC_OK;
    case ROCKS_INSIDE:
        return rocks_intake_add(t->into, t->from, f->name, err);
    case ROCKS_ACROSS:
        break;
    }
    RETURN_IF_ERR(prove_named(t, f->name, err)); /* it is read from end to end */
    return rocks_intake_cut(t->into, t->r->cutter, t->from, f->name, t->bounds, &t->all, err);
}

static struct rocks_intake *intake_of(struct rescale *r, const struct core_state *s)
{
    while (r->intake_count <= s->id) {
        r->intakes = mem_realloc(r->intakes, (r->intake_count + 1) * sizeof(struct rocks_intake *));
        r->intakes[r->intake_count++] = rocks_intake_new();
    }
    return r->intakes[s->id];
}

/* All families of an open source. *all false: nothing was taken. */
static enum rc take_families(struct rescale *r, struct rocks_source *source,
                             struct core_state **states, bool *all, struct err *err)
{
    const struct keyed_handle *h = source->handle;
    struct key_group_range range = key_group_range_meet(r->b->core.range, h->range);
    size_t *before = ARENA_ARRAY(r->arena, h->state_count, size_t);
    uint8_t buf[4] = {0};
    size_t done = 0;

    *all = true;
    for (; done < h->state_count && *all; done++) {
        struct taking t;

        if (states[done] == NULL)
            continue; /* dropped */
        t = (struct taking){.r = r,
                            .source = source,
                            .from = rocks_cf_find(source->db, h->states[done].name),
                            .into = intake_of(r, states[done]),
                            .bounds = rocks_bounds_of(range, r->b->core.prefix_len, buf),
                            .all = true};
        before[done] = rocks_intake_count(t.into);
        if (t.from != NULL)
            RETURN_IF_ERR(rocks_cf_files(t.from, take_file, &t, err));
        *all = t.all;
    }
    for (size_t i = 0; i < done && !*all; i++) {
        if (states[i] != NULL)
            rocks_intake_keep(intake_of(r, states[i]), before[i]);
    }
    return RC_OK;
}

static enum rc take_handle(struct rescale *r, size_t i, const struct keyed_handle *h, bool *taken,
                           struct err *err)
{
    struct rocks_source *source = &r->sources[i];
    struct core_state **states;
    const char *dir = arena_printf(r->arena, "%s/from-%zu", r->b->local_dir, i);
    enum rc rc;

    RETURN_IF_ERR(core_restore_states(&r->b->core, h, "handle", r->arena, &states, err));
    rc = rocks_source_open(r->b->core.env->fs, r->b->core.env->fan, h, dir,
                           r->later ? BRING_LATER : BRING_PROVEN, r->max_open_files, source, err);
    if (rc == RC_OK)
        rc = take_families(r, source, states, taken, err);
    rocks_close(source->db); /* its files stay until the families are made */
    source->db = NULL;
    return rc;
}

/* ---- digests follow their files -------------------------------------------------------------- */

/* A file of the new database: one that was linked is known, by its inode. */
static enum rc match_file(void *ctx, const char *name, uint64_t size_bytes, struct err *err)
{
    struct rescale *r = ctx;
    char path[FS_PATH_MAX];
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, r->b->db_dir, name, err));
    RETURN_IF_ERR(fs_stat(r->b->core.env->fs, path, &st, err));
    for (size_t i = 0; i < r->source_count; i++) {
        const struct keyed_handle *h = r->sources[i].handle;

        for (size_t j = 0; h != NULL && j < h->file_count; j++) {
            const struct local_file *l = &r->sources[i].files[j];

            if (l->inode == st.inode && l->device == st.device &&
                h->files[j].size_bytes == size_bytes) {
                rocks_take_known(r->b, name, &h->files[j], l->proven);
                return RC_OK;
            }
        }
    }
    return RC_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum rc make_families(struct rescale *r, struct err *err)
{
    for (size_t i = 0; i < r->intake_count; i++) {
        struct core_state *s = r->b->core.states[i];
        struct rocks_cf *cf;

        RETURN_IF_ERR(core_go_on(&r->b->core, err));
        RETURN_IF_ERR(rocks_intake_end(r->intakes[i], r->b->db, s->desc.name, &cf, err));
        RETURN_IF_ERR(rocks_attach(r->b, s, err));
    }
    return rocks_live_files(r->b->db, match_file, r, err);
}

static enum rc remove_scratch(struct rescale *r, struct err *err)
{
    struct fs *fs = r->b->core.env->fs;

    for (size_t i = 0; i < r->source_count; i++)
        RETURN_IF_ERR(
            fs_remove_tree(fs, arena_printf(r->arena, "%s/from-%zu", r->b->local_dir, i), err));
    return fs_remove_tree(fs, arena_printf(r->arena, "%s/cut", r->b->local_dir), err);
}

static void rescale_release(struct rescale *r)
{
    for (size_t i = 0; i < r->intake_count; i++)
        rocks_intake_free(r->intakes[i]);
    mem_free(r->intakes);
    rocks_cutter_free(r->cutter);
    for (size_t i = 0; i < r->source_count; i++)
        rocks_source_close(&r->sources[i]);
    arena_free(r->arena);
}

enum rc rocks_rescale(struct rocks_backend *b, const struct keyed_backend_config *config,
                      bool later, bool *taken, struct err *err)
{
    struct rescale r = {.b = b,
                        .later = later,
                        .max_open_files = config->max_open_files,
                        .arena = arena_new(0)};
    enum rc rc;

    r.source_count = config->restore_count;
    r.sources = ARENA_ARRAY(r.arena, r.source_count, struct rocks_source);
    r.cutter = rocks_cutter_new(b->db, arena_printf(r.arena, "%s/cut", b->local_dir));
    for (size_t i = 0; i < config->restore_count; i++) {
        if (config->restore[i].kind == KEYED_ROCKS)
            GOTO_IF_ERR(take_handle(&r, i, &config->restore[i], &taken[i], err));
    }
    rocks_cutter_free(r.cutter); /* and with it the files it has open */
    r.cutter = NULL;
    GOTO_IF_ERR(make_families(&r, err));
    rc = remove_scratch(&r, err);
out:
    rescale_release(&r);
    return rc;
}
