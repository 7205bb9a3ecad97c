/* sim_image.c - see sim_image_priv.h */
#include "tests/lib/sim_image_priv.h"

#include "base/arena.h"

/* ---- names ---------------------------------------------------------------------------------- */

struct inode *sim_names_get(const struct names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->items[i].name, name) == 0)
            return n->items[i].node;
    return NULL;
}

static void sim_names_set(struct names *n, const char *name, struct inode *node)
{
    size_t i = 0;

    while (i < n->count && strcmp(n->items[i].name, name) != 0)
        i++;
    if (i < n->count && node != NULL) {
        n->items[i].node = node;
    } else if (i < n->count) {
        mem_free(n->items[i].name);
        n->items[i] = n->items[--n->count];
    } else if (node != NULL) {
        if (n->count == n->cap) {
            n->cap = n->cap == 0 ? 8 : n->cap * 2;
            n->items = mem_realloc(n->items, n->cap * sizeof *n->items);
        }
        n->items[n->count++] = (struct entry){mem_strdup(name), node};
    }
}

void sim_names_release(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        mem_free(n->items[i].name);
    mem_free(n->items);
    *n = (struct names){0};
}

void sim_names_copy(struct names *to, const struct names *from)
{
    sim_names_release(to);
    for (size_t i = 0; i < from->count; i++)
        sim_names_set(to, from->items[i].name, from->items[i].node);
}

/* ---- inodes --------------------------------------------------------------------------------- */

static void inode_free(struct inode *node)
{
    sim_names_release(&node->written);
    sim_names_release(&node->durable);
    buf_release(&node->content);
    buf_release(&node->synced);
    mem_free(node);
}

static void mark(struct inode *node)
{
    if (node == NULL || node->marked)
        return;
    node->marked = true;
    for (size_t i = 0; i < node->written.count; i++)
        mark(node->written.items[i].node);
    for (size_t i = 0; i < node->durable.count; i++)
        mark(node->durable.items[i].node);
}

/* Free what no name of either image, no pending change and no open file leads to. */
static void sweep(struct sim_image *im)
{
    size_t kept = 0;

    mark(im->root);
    for (size_t i = 0; i < im->pending_count; i++)
        for (size_t p = 0; p < im->pending[i].part_count; p++) {
            mark(im->pending[i].part[p].dir);
            mark(im->pending[i].part[p].node);
        }
    for (size_t i = 0; i < im->inode_count; i++)
        if (im->inodes[i]->opens > 0)
            mark(im->inodes[i]);
    for (size_t i = 0; i < im->inode_count; i++) {
        if (im->inodes[i]->marked)
            im->inodes[kept++] = im->inodes[i];
        else
            inode_free(im->inodes[i]);
    }
    im->inode_count = kept;
    for (size_t i = 0; i < kept; i++)
        im->inodes[i]->marked = false;
    im->sweep_at = 2 * kept + 64;
}

struct inode *sim_image_inode(struct sim_image *im, bool is_dir)
{
    struct inode *node = mem_calloc(1, sizeof *node);

    if (im->inode_count >= im->sweep_at)
        sweep(im);
    if (im->inode_count == im->inode_cap) {
        im->inode_cap = im->inode_cap == 0 ? 64 : im->inode_cap * 2;
        im->inodes = mem_realloc(im->inodes, im->inode_cap * sizeof *im->inodes);
    }
    im->inodes[im->inode_count++] = node;
    node->number = ++im->next_inode;
    node->is_dir = is_dir;
    node->mtime = node->ctime = im->now;
    return node;
}

void sim_image_truncate(struct sim_image *im, struct inode *file, size_t len)
{
    file->content.len = len;
    if (file->same_len > len)
        file->same_len = len;
    file->mtime = file->ctime = im->now;
}

/* Make `to` like `from`, whose first same_len bytes it has. */
static void follow(struct buf *to, const struct buf *from, size_t same_len)
{
    to->len = same_len;
    if (from->len > same_len)
        buf_append(to, from->data + same_len, from->len - same_len);
}

void sim_image_sync(struct inode *file)
{
    follow(&file->synced, &file->content, file->same_len);
    file->same_len = file->content.len;
}

/* ---- changes of names ----------------------------------------------------------------------- */

static void op_release(struct name_op *op)
{
    for (size_t p = 0; p < op->part_count; p++)
        mem_free(op->part[p].name);
}

static struct name_op *op_new(struct sim_image *im)
{
    if (im->pending_count == im->pending_cap) {
        im->pending_cap = im->pending_cap == 0 ? 32 : im->pending_cap * 2;
        im->pending = mem_realloc(im->pending, im->pending_cap * sizeof *im->pending);
    }
    im->pending[im->pending_count] = (struct name_op){0};
    return &im->pending[im->pending_count++];
}

/* Change the written image, and note it as not durable. */
static void op_add(struct sim_image *im, struct name_op *op, struct inode *dir, const char *name,
                   struct inode *node)
{
    struct inode *old = sim_names_get(&dir->written, name);

    op->part[op->part_count++] = (struct change){dir, mem_strdup(name), node};
    sim_names_set(&dir->written, name, node);
    if (node != NULL) {
        node->links++;
        node->ctime = im->now;
    }
    if (old != NULL) {
        old->links--;
        old->ctime = im->now;
    }
    dir->mtime = dir->ctime = im->now;
}

void sim_image_name(struct sim_image *im, struct inode *dir, const char *name, struct inode *node)
{
    op_add(im, op_new(im), dir, name, node);
}

void sim_image_move(struct sim_image *im, struct inode *from_dir, const char *from,
                    struct inode *to_dir, const char *to, struct inode *node)
{
    struct name_op *op = op_new(im);

    op_add(im, op, from_dir, from, NULL);
    op_add(im, op, to_dir, to, node);
}

static bool share_a_name(const struct name_op *a, const struct name_op *b)
{
    for (size_t p = 0; p < a->part_count; p++)
        for (size_t q = 0; q < b->part_count; q++)
            if (a->part[p].dir == b->part[q].dir && strcmp(a->part[p].name, b->part[q].name) == 0)
                return true;
    return false;
}

/* Carry the ops marked `keep`, and every earlier one of the same names, into the durable image; the
 * rest stays pending. */
static void keep_marked(struct sim_image *im)
{
    size_t left = 0;

    for (size_t i = im->pending_count; i-- > 0;)
        for (size_t later = i + 1; later < im->pending_count && !im->pending[i].keep; later++)
            im->pending[i].keep =
                im->pending[later].keep && share_a_name(&im->pending[i], &im->pending[later]);
    for (size_t i = 0; i < im->pending_count; i++) {
        struct name_op *op = &im->pending[i];

        if (!op->keep) {
            im->pending[left++] = *op;
            continue;
        }
        for (size_t p = 0; p < op->part_count; p++)
            sim_names_set(&op->part[p].dir->durable, op->part[p].name, op->part[p].node);
        op_release(op);
    }
    im->pending_count = left;
}

void sim_image_sync_dir(struct sim_image *im, const struct inode *dir)
{
    for (size_t i = 0; i < im->pending_count; i++) {
        struct name_op *op = &im->pending[i];

        op->keep = op->part[op->part_count - 1].dir == dir;
    }
    keep_marked(im);
}

/* ---- reboot --------------------------------------------------------------------------------- */

void sim_image_restart(struct sim_image *im)
{
    for (size_t i = 0; i < im->inode_count; i++) {
        im->inodes[i]->opens = 0;
        im->inodes[i]->locker = NULL;
    }
    sweep(im);
}

enum survival { KEEP_NOTHING, KEEP_ALL, KEEP_SOME };

/* What of a file's content the disk had when the power went. */
static void crash_content(struct inode *node, enum survival how, struct rng *rng)
{
    size_t added = node->content.len - node->same_len, cut, at, len;

    if (how == KEEP_NOTHING || (how == KEEP_SOME && rng_below(rng, 3) == 0)) {
        follow(&node->content, &node->synced, node->same_len);
    } else if (how == KEEP_SOME && added > 0 && rng_below(rng, 2) == 0) {
        cut = node->same_len + (size_t)rng_below(rng, added + 1);
        at = node->same_len + (size_t)rng_below(rng, added);
        len = (size_t)rng_below(rng, added + 1);
        if (rng_below(rng, 3) == 0) /* the length got there, a stretch of the data did not */
            memset(node->content.data + at, 0,
                   len < node->content.len - at ? len : node->content.len - at);
        else
            node->content.len = cut;
    }
    sim_image_sync(node);
}

static void count_links(struct sim_image *im)
{
    for (size_t i = 0; i < im->inode_count; i++)
        im->inodes[i]->links = 0;
    for (size_t i = 0; i < im->inode_count; i++)
        for (size_t n = 0; n < im->inodes[i]->written.count; n++)
            im->inodes[i]->written.items[n].node->links++;
}

void sim_image_crash(struct sim_image *im, struct rng *rng)
{
    uint64_t draw = rng_below(rng, 8);
    enum survival how = draw < 2 ? KEEP_NOTHING : draw < 3 ? KEEP_ALL : KEEP_SOME;

    for (size_t i = 0; i < im->pending_count; i++)
        im->pending[i].keep = how == KEEP_ALL || (how == KEEP_SOME && rng_below(rng, 2) == 0);
    keep_marked(im);
    for (size_t i = 0; i < im->pending_count; i++)
        op_release(&im->pending[i]);
    im->pending_count = 0;
    for (size_t i = 0; i < im->inode_count; i++) {
        struct inode *node = im->inodes[i];

        if (node->is_dir)
            sim_names_copy(&node->written, &node->durable);
        else
            crash_content(node, how, rng);
    }
    sim_image_restart(im);
    count_links(im); /* after the sweep: a directory that was lost holds no links */
}

/* ---- life ----------------------------------------------------------------------------------- */

void sim_image_init(struct sim_image *im)
{
    *im = (struct sim_image){.sweep_at = 64};
    im->root = sim_image_inode(im, true);
}

void sim_image_release(struct sim_image *im)
{
    for (size_t i = 0; i < im->pending_count; i++)
        op_release(&im->pending[i]);
    for (size_t i = 0; i < im->inode_count; i++)
        inode_free(im->inodes[i]);
    mem_free(im->pending);
    mem_free(im->inodes);
    *im = (struct sim_image){0};
}
