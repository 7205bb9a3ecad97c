/* file_set.c - see file_set.h */
#include "checkpoint/file_set.h"

#include "checkpoint/snapshot_read.h"

#include <stdlib.h>

#define FREE UINT32_MAX /* a slot of the table */

struct file_set {
    struct arena *arena; /* strings */
    struct named_file *files;
    size_t count, cap;
    uint32_t *slots; /* open addressing by path; indices into files */
    size_t slot_count;
    struct named_operator **operators;
    size_t operator_count, operator_cap;
    const struct named_operator *last_operator; /* neighbours mostly have the same */
};

struct file_set *file_set_new(void)
{
    struct file_set *s = mem_calloc(1, sizeof *s);

    s->arena = arena_new(0);
    return s;
}

void file_set_free(struct file_set *s)
{
    if (s == NULL)
        return;
    arena_free(s->arena);
    mem_free(s->files);
    mem_free(s->slots);
    mem_free(s->operators);
    mem_free(s);
}

struct arena *file_set_arena(struct file_set *s)
{
    return s->arena;
}

size_t file_set_count(const struct file_set *s)
{
    return s->count;
}

struct named_file *file_set_at(struct file_set *s, size_t i)
{
    ASSERT(i < s->count);
    return &s->files[i];
}

/* ---- the table ------------------------------------------------------------------------------ */

static bool is_of(const struct named_file *f, const struct state_file *file)
{
    return f->size_bytes == file->size_bytes && digest_eq(f->digest, file->digest) &&
           strcmp(f->path, file->resolved_path) == 0;
}

/* The slot that holds the file, or the free one where it belongs. */
static size_t slot_of(const struct file_set *s, const struct state_file *file)
{
    size_t i = (size_t)hash64(bytes_of_str(file->resolved_path)) & (s->slot_count - 1);

    while (s->slots[i] != FREE && !is_of(&s->files[s->slots[i]], file))
        i = (i + 1) & (s->slot_count - 1);
    return i;
}

static void grow(struct file_set *s)
{
    size_t old_count = s->slot_count;

    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 256 : s->cap * 2;
        s->files = mem_realloc(s->files, s->cap * sizeof *s->files);
    }
    if ((s->count + 1) * 2 <= old_count)
        return;
    s->slot_count = old_count == 0 ? 1024 : old_count * 2;
    mem_free(s->slots);
    s->slots = mem_alloc(s->slot_count * sizeof *s->slots);
    for (size_t i = 0; i < s->slot_count; i++)
        s->slots[i] = FREE;
    for (size_t i = 0; i < s->count; i++) {
        size_t at = (size_t)hash64(bytes_of_str(s->files[i].path)) & (s->slot_count - 1);

        while (s->slots[at] != FREE)
            at = (at + 1) & (s->slot_count - 1);
        s->slots[at] = (uint32_t)i;
    }
}

size_t file_set_find(const struct file_set *s, const struct state_file *file)
{
    size_t at;

    if (s->count == 0 || file->resolved_path == NULL)
        return FILE_SET_NONE;
    at = s->slots[slot_of(s, file)];
    return at == FREE ? FILE_SET_NONE : at;
}

/* ---- uses ----------------------------------------------------------------------------------- */

static const struct named_operator *operator_of(struct file_set *s, const struct operator_meta *op)
{
    struct named_operator *o;

    if (s->last_operator != NULL && strcmp(s->last_operator->id, op->id) == 0)
        return s->last_operator;
    for (size_t i = 0; i < s->operator_count; i++)
        if (strcmp(s->operators[i]->id, op->id) == 0)
            return s->last_operator = s->operators[i];
    if (s->operator_count == s->operator_cap) {
        s->operator_cap = s->operator_cap == 0 ? 16 : s->operator_cap * 2;
        s->operators = mem_realloc(s->operators, s->operator_cap * sizeof(struct named_operator *));
    }
    o = ARENA_NEW(s->arena, struct named_operator);
    memcpy(o->id, op->id, sizeof o->id);
    o->name = arena_strdup(s->arena, op->name);
    o->index = s->operator_count;
    s->operators[s->operator_count++] = o;
    return s->last_operator = o;
}

size_t file_set_operator_count(const struct file_set *s)
{
    return s->operator_count;
}

const struct named_operator *file_set_operator(const struct file_set *s, size_t i)
{
    ASSERT(i < s->operator_count);
    return s->operators[i];
}

bool file_set_use(struct file_set *s, uint32_t snapshot, const struct operator_meta *op,
                  const struct subtask_state *subtask, const struct state_file *file)
{
    struct named_file *f;
    bool fresh;
    size_t slot;

    if (file->scope == FILE_INLINE)
        return false;
    grow(s);
    slot = slot_of(s, file);
    fresh = s->slots[slot] == FREE;
    if (fresh) {
        ASSERT(s->count < FREE);
        s->files[s->count] = (struct named_file){
            .path = arena_strdup(s->arena, file->resolved_path),
            .op = operator_of(s, op),
            .size_bytes = file->size_bytes,
            .digest = file->digest,
            .no_digest = file->no_digest,
            .at_least = file->at_least,
            .start = file->start,
            .subtask_index = subtask->subtask_index,
            .first_snapshot = snapshot,
        };
        s->slots[slot] = (uint32_t)s->count++;
    }
    f = &s->files[s->slots[slot]];
    fresh = fresh || f->last_snapshot != snapshot;
    f->last_snapshot = snapshot;
    return fresh;
}

/* ---- on disk -------------------------------------------------------------------------------- */

void file_set_look(struct file_set *s, struct fs *fs, struct named_file *f)
{
    struct err local = {0};
    struct fs_stat st = {0};

    struct state_file file = {
        .resolved_path = f->path,
        .size_bytes = f->size_bytes,
        .at_least = f->at_least,
        .start = f->start,
    };

    if (snapshot_look_at_file(fs, &file, s->arena, &st, &f->fault, &local) != RC_OK)
        f->fault = arena_strdup(s->arena, local.msg);
    f->device = st.device;
    f->inode = st.inode;
    f->link_count = st.link_count;
}

struct placed {
    uint64_t device, inode;
    uint32_t index;
};

static int by_inode(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

uint32_t *file_set_by_inode(const struct file_set *s)
{
    struct placed *placed = mem_calloc(s->count, sizeof *placed);
    uint32_t *order = mem_alloc(s->count * sizeof *order);

    for (size_t i = 0; i < s->count; i++)
        placed[i] = (struct placed){s->files[i].device, s->files[i].inode, (uint32_t)i};
    if (s->count > 0)
        qsort(placed, s->count, sizeof *placed, by_inode);
    for (size_t i = 0; i < s->count; i++)
        order[i] = placed[i].index;
    mem_free(placed);
    return order;
}
