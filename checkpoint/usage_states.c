/* usage_states.c - see usage_priv.h: only a database's MANIFEST knows which state a file belongs
 * to, so databases are opened, in a child; one all of whose files are known is passed over. */
#include "checkpoint/usage_priv.h"

#include "backend/handle_check.h"
#include "checkpoint/handle_tour.h"

#define HEAD_BYTES 4u /* of a message: the file's index, little-endian; then the state's name */
#define NO_STATE UINT32_MAX

struct finding {
    struct fs *fs;
    const char *scratch_dir;
    struct file_set *files;
    struct look_watch watch;
    struct usage_report *report;
    uint32_t *state_of;
    size_t known_count, state_cap;
};

/* ---- the child ------------------------------------------------------------------------------- */

struct looker {
    struct finding *f;
    struct apart_ear *ear;
    const struct keyed_handle *handle;
};

static const char *dir_of(void *ctx, uint32_t snapshot)
{
    const struct snapshot_usage *s = &((struct finding *)ctx)->report->snapshots[snapshot];

    return s->status == USAGE_COMPLETE ? s->dir : NULL;
}

static bool is_sst(const char *name)
{
    return bytes_end_with(bytes_of_str(name), bytes_of_str(".sst"));
}

static bool has_unknown_files(void *ctx, const struct keyed_handle *h)
{
    const struct finding *f = ctx;

    for (size_t k = 0; k < h->file_count; k++) {
        size_t i = file_set_find(f->files, &h->files[k]);

        if (i != FILE_SET_NONE && is_sst(h->files[k].local_name) && f->state_of[i] == NO_STATE)
            return true;
    }
    return false;
}

static void tell_state(void *ctx, size_t file, const char *state)
{
    struct looker *l = ctx;
    size_t i = file_set_find(l->f->files, &l->handle->files[file]);
    struct buf message = {0};

    if (i == FILE_SET_NONE || l->f->state_of[i] != NO_STATE)
        return;
    l->f->state_of[i] = 0; /* here: known */
    buf_append_le32(&message, (uint32_t)i);
    buf_append_str(&message, state);
    tour_tell(l->ear, buf_bytes(&message));
    buf_release(&message);
}

/* What cannot be opened stays unknown: varve verify says why. */
static void look(void *ctx, struct apart_ear *ear, const struct keyed_handle *h)
{
    struct looker l = {ctx, ear, h};
    char dir[FS_PATH_MAX];
    enum rc rc UNUSED;

    if (path_join(dir, sizeof dir, l.f->scratch_dir, "db", NULL) == RC_OK)
        rc = handle_file_states(l.f->fs, h, dir, tell_state, &l, NULL);
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* Its index, as a new one if need be. */
static uint32_t state_index(struct finding *f, const struct named_operator *op, const char *name)
{
    struct usage_report *r = f->report;

    for (size_t i = 0; i < r->state_count; i++) {
        const struct state_usage *s = &r->states[i];

        if (strcmp(s->operator_id, op->id) == 0 &&
            (name == NULL ? s->state == NULL : s->state != NULL && strcmp(s->state, name) == 0))
            return (uint32_t)i;
    }
    if (r->state_count == f->state_cap) {
        struct state_usage *old = r->states;

        f->state_cap = f->state_cap == 0 ? 16 : f->state_cap * 2;
        r->states = ARENA_ARRAY(r->arena, f->state_cap, struct state_usage);
        if (r->state_count > 0)
            memcpy(r->states, old, r->state_count * sizeof *old);
    }
    r->states[r->state_count] = (struct state_usage){
        .operator_id = arena_strdup(r->arena, op->id),
        .operator_name = arena_strdup(r->arena, op->name),
        .state = name == NULL ? NULL : arena_strdup(r->arena, name),
    };
    return (uint32_t)r->state_count++;
}

static void heard(void *ctx, const struct tour_place *at UNUSED, struct bytes message)
{
    struct finding *f = ctx;
    char name[256]; /* a family's name is at most 255 bytes */
    uint32_t file;

    if (message.len < HEAD_BYTES || message.len - HEAD_BYTES >= sizeof name)
        return;
    file = get_le32(message.data);
    if (file >= file_set_count(f->files))
        return;
    memcpy(name, message.data + HEAD_BYTES, message.len - HEAD_BYTES);
    name[message.len - HEAD_BYTES] = '\0';
    f->state_of[file] = state_index(f, file_set_at(f->files, file)->op, name);
    look_tell(&f->watch, "states of files", ++f->known_count, file_set_count(f->files), false);
}

static void ended(void *ctx UNUSED, const struct tour_place *at UNUSED, const char *end UNUSED)
{
    /* its files stay unknown */
}

enum rc usage_find_states(struct fs *fs, const char *scratch_dir, struct file_set *files,
                          struct look_watch watch, struct usage_report *report,
                          uint32_t **state_of, struct err *err)
{
    struct finding f = {fs, scratch_dir, files, watch, report, NULL, 0, 0};
    struct handle_tour tour = {
        .fs = fs,
        .arena = report->arena,
        .snapshot_count = (uint32_t)report->snapshot_count,
        .ctx = &f,
        .dir_of = dir_of,
        .wanted = has_unknown_files,
        .look = look,
        .heard = heard,
        .ended = ended,
    };

    f.state_of = *state_of = mem_alloc(file_set_count(files) * sizeof *f.state_of);
    for (size_t i = 0; i < file_set_count(files); i++)
        f.state_of[i] = NO_STATE;
    RETURN_IF_ERR(handle_tour_run(&tour, err));
    for (size_t i = 0; i < file_set_count(files); i++)
        if (f.state_of[i] == NO_STATE)
            f.state_of[i] = state_index(&f, file_set_at(files, i)->op, NULL);
    return RC_OK;
}
