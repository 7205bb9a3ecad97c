#include "backend/rocks_intake.h"

#include "backend/rocks_intake_shim.h"
#include "backend/rocks_priv.h"
#include "base/arena.h"

struct rocks_cutter {
    struct shim_cutter *shim;
};
struct rocks_intake {
    struct shim_intake *shim;
};

enum rocks_place rocks_file_place(const struct rocks_file *f, struct rocks_bounds b)
{
    int last_lower = bytes_cmp(f->last, b.lower);
    int last_upper = b.upper.len == 0 ? -1 : bytes_cmp(f->last, b.upper);

    if (last_lower < 0 || (last_lower == 0 && f->last_open) ||
        (b.upper.len > 0 && bytes_cmp(f->first, b.upper) >= 0))
        return ROCKS_OUTSIDE;
    if (bytes_cmp(f->first, b.lower) >= 0 && (last_upper < 0 || (last_upper == 0 && f->last_open)))
        return ROCKS_INSIDE;
    return ROCKS_ACROSS;
}

struct rocks_cutter *rocks_cutter_new(struct rocks_db *db, const char *dir)
{
    struct rocks_cutter *c = mem_calloc(1, sizeof *c);

    c->shim = shim_cutter_new(db->options, dir);
    ASSERT(c->shim != NULL); /* memory is gone */
    return c;
}

void rocks_cutter_free(struct rocks_cutter *c)
{
    if (c == NULL)
        return;
    shim_cutter_free(c->shim);
    mem_free(c);
}

struct rocks_intake *rocks_intake_new(void)
{
    struct rocks_intake *in = mem_calloc(1, sizeof *in);

    in->shim = shim_intake_new();
    ASSERT(in->shim != NULL); /* memory is gone */
    return in;
}

void rocks_intake_free(struct rocks_intake *in)
{
    if (in == NULL)
        return;
    shim_intake_free(in->shim);
    mem_free(in);
}

size_t rocks_intake_count(const struct rocks_intake *in)
{
    return shim_intake_count(in->shim);
}

void rocks_intake_keep(struct rocks_intake *in, size_t count)
{
    shim_intake_keep(in->shim, count);
}

enum rc rocks_intake_add(struct rocks_intake *in, struct rocks_cf *from, const char *name,
                         struct err *err)
{
    char *error = NULL;

    shim_intake_add(in->shim, from->db->db, from->handle, name, &error);
    return rocks_take_error(error, err, "take over a file");
}

static struct shim_slice slice_from(struct bytes b)
{
    return (struct shim_slice){b.data, b.len};
}

enum rc rocks_intake_cut(struct rocks_intake *in, struct rocks_cutter *cutter,
                         struct rocks_cf *from, const char *name, struct rocks_bounds b, bool *done,
                         struct err *err)
{
    char *error = NULL;

    *done = shim_intake_cut(in->shim, cutter->shim, from->db->db, from->handle, from->options,
                            name, slice_from(b.lower), slice_from(b.upper), &error) != 0;
    return rocks_take_error(error, err, "cut a file");
}

enum rc rocks_intake_end(struct rocks_intake *in, struct rocks_db *db, const char *name,
                         struct rocks_cf **out, struct err *err)
{
    void *handle;
    char *error = NULL;

    if (rocks_intake_count(in) == 0)
        return rocks_cf_create(db, name, out, err);
    handle = shim_intake_end(in->shim, db->db, rocks_options_of(db, name), name, &error);
    RETURN_IF_ERR(rocks_take_error(error, err, "take over files"));
    *out = rocks_cf_adopt_take(db, name, handle);
    return RC_OK;
}
