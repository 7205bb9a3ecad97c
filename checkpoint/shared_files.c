/* shared_files.c - see shared_files.h: open addressing, linear probing, at most half full. */
#include "checkpoint/shared_files.h"

#include "base/arena.h"
#include "checkpoint/layout.h"

#define ITEMS_MIN 64u

void shared_files_release(struct shared_files *t)
{
    mem_free(t->items);
    mem_free(t->slots);
    *t = (struct shared_files){0};
}

static size_t slot_of(const struct shared_files *t, struct digest128 digest)
{
    size_t at = hash64(bytes_of(digest.b, sizeof digest.b)) & (t->slot_count - 1);

    while (t->slots[at] != 0 && !digest_eq(t->items[t->slots[at] - 1].digest, digest))
        at = (at + 1) & (t->slot_count - 1);
    return at;
}

static void grow(struct shared_files *t)
{
    t->cap = t->cap == 0 ? ITEMS_MIN : t->cap * 2;
    t->items = mem_realloc(t->items, t->cap * sizeof *t->items);
    mem_free(t->slots);
    t->slot_count = t->cap * 2;
    t->slots = mem_calloc(t->slot_count, sizeof *t->slots);
    for (size_t i = 0; i < t->count; i++)
        t->slots[slot_of(t, t->items[i].digest)] = (uint32_t)(i + 1);
}

struct shared_file *shared_files_find(const struct shared_files *t, struct digest128 digest)
{
    size_t slot;

    if (t->count == 0)
        return NULL;
    slot = slot_of(t, digest);
    return t->slots[slot] == 0 ? NULL : &t->items[t->slots[slot] - 1];
}

static struct shared_file *entry_of(struct shared_files *t, struct digest128 digest)
{
    struct shared_file *f = shared_files_find(t, digest);

    if (f != NULL)
        return f;
    if (t->count == t->cap)
        grow(t);
    t->slots[slot_of(t, digest)] = (uint32_t)(t->count + 1);
    f = &t->items[t->count++];
    *f = (struct shared_file){.digest = digest};
    return f;
}

struct shared_file *shared_files_use(struct shared_files *t, uint32_t user, struct digest128 digest,
                                     uint64_t size_bytes)
{
    struct shared_file *f = entry_of(t, digest);

    if (f->user_count > 0 && f->last_user == user)
        return f;
    if (f->user_count++ == 0)
        f->first_user = user;
    f->last_user = user;
    if (!f->present)
        f->size_bytes = size_bytes;
    return f;
}

static enum rc add_name(void *ctx, const char *name, const struct fs_stat *st,
                        struct err *err UNUSED)
{
    struct digest128 digest;
    struct shared_file *f;

    if (!layout_parse_shared(name, &digest) || st->type != FS_FILE)
        return RC_OK; /* a stranger */
    f = entry_of(ctx, digest);
    f->present = true;
    f->linked = st->link_count > 1;
    f->size_bytes = st->size_bytes;
    f->changed_wall_ms = fs_changed_wall_ms(st);
    return RC_OK;
}

enum rc shared_files_list(struct shared_files *t, struct fs *fs, const char *shared_dir,
                          struct err *err)
{
    struct err local = {0};
    enum rc rc = fs_list_stat(fs, shared_dir, add_name, t, &local);

    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}
