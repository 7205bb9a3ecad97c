/* difference.c - see difference.h */
#include "checkpoint/difference.h"

#include "checkpoint/snapshot_read.h"
#include "checkpoint/snapshot_list.h"

#include <stdlib.h>

enum { FROM, TO };

const char *content_change_str(enum content_change c)
{
    static const char *const names[] = {"added", "dropped", "kept"};

    return names[c];
}

/* ---- the contents of one operator ------------------------------------------------------------ */

struct contents {
    struct arena *arena;
    struct content *items;
    size_t count, cap;
};

static void add_content(struct contents *c, struct content content)
{
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 32 : c->cap * 2;
        c->items = mem_realloc(c->items, c->cap * sizeof *c->items);
    }
    c->items[c->count++] = content;
}

static void add_files(struct contents *c, const struct subtask_state *s,
                      const struct state_file *files, size_t count, const char *unnamed)
{
    for (size_t i = 0; i < count; i++)
        add_content(c, (struct content){
                           .name = files[i].local_name[0] == '\0' ? unnamed : files[i].local_name,
                           .path = files[i].resolved_path,
                           .subtask_index = s->subtask_index,
                           .size_bytes = files[i].size_bytes,
                           .digest = files[i].digest,
                       });
}

/* Items with their lengths, so that two lists are one content only when each item is the same. */
static void add_list(struct contents *c, const struct subtask_state *s, const struct list_state *l)
{
    struct digest_stream *stream = digest_stream_new();
    struct buf length = {0};
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->item_count; i++) {
        buf_clear(&length);
        buf_append_be64(&length, l->items[i].len);
        digest_stream_add(stream, buf_bytes(&length));
        digest_stream_add(stream, l->items[i]);
        bytes += l->items[i].len;
    }
    add_content(c, (struct content){
                       .name = arena_printf(c->arena, "list %s", l->name),
                       .subtask_index = s->subtask_index,
                       .size_bytes = bytes,
                       .digest = digest_stream_end(stream),
                   });
    buf_release(&length);
    digest_stream_free(stream);
}

static int compare(const struct content *x, const struct content *y)
{
    if (x->size_bytes != y->size_bytes)
        return x->size_bytes < y->size_bytes ? -1 : 1;
    return memcmp(&x->digest, &y->digest, sizeof x->digest);
}

static int by_content(const void *a, const void *b)
{
    return compare(a, b);
}

/* Of an operator (NULL: it has none), each once, in order. */
static struct contents gather(struct arena *arena, const struct operator_meta *op)
{
    struct contents c = {.arena = arena};
    size_t kept = 0;

    for (size_t s = 0; op != NULL && s < op->subtask_count; s++) {
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            add_files(&c, &op->subtasks[s], op->subtasks[s].keyed[k].files,
                      op->subtasks[s].keyed[k].file_count, "stream");
        add_files(&c, &op->subtasks[s], op->subtasks[s].logs, op->subtasks[s].log_count, "log");
        for (size_t h = 0; h < op->subtasks[s].channel_count; h++)
            add_files(&c, &op->subtasks[s], &op->subtasks[s].channels[h].file, 1, "in flight");
        add_files(&c, &op->subtasks[s], op->subtasks[s].streams, op->subtasks[s].stream_count,
                  "stream");
        for (size_t l = 0; l < op->subtasks[s].list_count; l++)
            add_list(&c, &op->subtasks[s], &op->subtasks[s].lists[l]);
    }
    if (c.count > 1)
        qsort(c.items, c.count, sizeof *c.items, by_content);
    for (size_t i = 0; i < c.count; i++)
        if (kept == 0 || compare(&c.items[kept - 1], &c.items[i]) != 0)
            c.items[kept++] = c.items[i];
    c.count = kept;
    return c;
}

static void put_content(struct operator_difference *d, const struct content *content,
                        enum content_change change)
{
    d->contents[d->content_count] = *content;
    d->contents[d->content_count++].change = change;
    d->sums[change].count++;
    d->sums[change].bytes += content->size_bytes;
}

/* Either may be NULL, not both. */
static void compare_operators(struct arena *arena, const struct operator_meta *from,
                              const struct operator_meta *to, struct operator_difference *out)
{
    struct contents a = gather(arena, from), b = gather(arena, to);
    size_t i = 0, k = 0;

    *out = (struct operator_difference){
        .id = to != NULL ? to->id : from->id,
        .name = to != NULL ? to->name : from->name,
        .contents = ARENA_ARRAY(arena, a.count + b.count, struct content),
    };
    while (i < a.count || k < b.count) {
        int order = i == a.count ? 1 : k == b.count ? -1 : compare(&a.items[i], &b.items[k]);

        if (order < 0)
            put_content(out, &a.items[i], CONTENT_DROPPED);
        else
            put_content(out, &b.items[k], order == 0 ? CONTENT_KEPT : CONTENT_ADDED);
        i += order <= 0;
        k += order >= 0;
    }
    mem_free(a.items);
    mem_free(b.items);
}

/* ---- both ----------------------------------------------------------------------------------- */

static const struct operator_meta *find_operator(const struct checkpoint_metadata *m,
                                                 const char *id)
{
    for (size_t i = 0; i < m->operator_count; i++)
        if (strcmp(m->operators[i].id, id) == 0)
            return &m->operators[i];
    return NULL;
}

static enum rc read_side(struct fs *fs, const char *path, const struct rebase *rebase,
                         struct arena *arena, struct difference_side *out, struct err *err)
{
    struct snapshot_list list;
    uint64_t metadata_bytes;

    RETURN_IF_ERR(snapshot_list_make(fs, path, arena, &list, err));
    if (list.type != LIST_OF_ONE)
        return err_set(err, RC_INVALID, "%s holds %zu snapshots: give the path of one", list.path,
                       list.count);
    out->dir = list.items[0].dir;
    out->meta = ARENA_NEW(arena, struct checkpoint_metadata);
    return snapshot_read(fs, out->dir, rebase, arena, out->meta, &metadata_bytes, err);
}

static void compare_sides(struct difference *d)
{
    const struct checkpoint_metadata *from = d->sides[FROM].meta, *to = d->sides[TO].meta;

    d->operators = ARENA_ARRAY(d->arena, from->operator_count + to->operator_count,
                               struct operator_difference);
    for (size_t i = 0; i < to->operator_count; i++)
        compare_operators(d->arena, find_operator(from, to->operators[i].id), &to->operators[i],
                          &d->operators[d->operator_count++]);
    for (size_t i = 0; i < from->operator_count; i++)
        if (find_operator(to, from->operators[i].id) == NULL)
            compare_operators(d->arena, &from->operators[i], NULL,
                              &d->operators[d->operator_count++]);
    for (size_t i = 0; i < d->operator_count; i++)
        for (int c = 0; c < CONTENT_CHANGES; c++) {
            d->sums[c].count += d->operators[i].sums[c].count;
            d->sums[c].bytes += d->operators[i].sums[c].bytes;
        }
}

enum rc difference_make(struct fs *fs, const char *from, const char *to,
                        const struct rebase *rebase, struct difference *out, struct err *err)
{
    enum rc rc;

    *out = (struct difference){.arena = arena_new(0)};
    GOTO_IF_ERR(read_side(fs, from, rebase, out->arena, &out->sides[FROM], err));
    GOTO_IF_ERR(read_side(fs, to, rebase, out->arena, &out->sides[TO], err));
    compare_sides(out);
out:
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "diff");
}

void difference_release(struct difference *d)
{
    arena_free(d->arena);
    *d = (struct difference){0};
}
