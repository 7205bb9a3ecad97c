/* sink_rig.c - see sink_rig.h */
#include "tests/lib/sink_rig.h"

#include <stdio.h>
#include <stdlib.h>

void sink_rig_init(struct sink_rig *r, struct fs *fs)
{
    *r = (struct sink_rig){.buckets = 1, .arena = arena_new(0)};
    sim_clock_init(&r->clock, 1000000);
    r->env = (struct env){.fs = fs, .clock = &r->clock.clock, .seed = 77};
    r->config = (struct file_sink_config){
        .env = &r->env,
        .path = RIG_DIR,
        .uuid = RIG_UUID,
        .rolling = {.on_checkpoint = true},
        .name = "Sink[out] (1/1)",
        .remove_leftovers = true,
    };
}

void sink_rig_release(struct sink_rig *r)
{
    arena_free(r->arena);
}

enum rc sink_rig_write(struct sink_rig *r, struct sink *s, uint32_t first, uint32_t last,
                       struct err *err)
{
    char bucket[16] = "", line[16];

    for (uint32_t row = first; row <= last; row++) {
        if (r->buckets > 1)
            snprintf(bucket, sizeof bucket, "b=%u", row % r->buckets);
        snprintf(line, sizeof line, "%u\n", row);
        RETURN_IF_ERR(sink_write(s, bytes_of_str(bucket), bytes_of_str(line), 1,
                                 clock_wall_ms(r->env.clock), err));
    }
    return RC_OK;
}

static struct sink_items copy_items(struct arena *arena, const struct sink_items *from)
{
    struct bytes *items = ARENA_ARRAY(arena, from->count + 1, struct bytes);

    for (size_t i = 0; i < from->count; i++)
        items[i] = arena_bytes_copy(arena, from->items[i]);
    return (struct sink_items){from->count, items};
}

enum rc sink_rig_prepare(struct sink_rig *r, struct sink *s, uint64_t id, bool end,
                         struct sink_snapshot *out, struct err *err)
{
    struct arena *scratch = arena_new(0);
    struct sink_snapshot made;
    enum rc rc = sink_prepare(s, id, end, clock_wall_ms(r->env.clock), scratch, &made, err);

    if (rc == RC_OK)
        *out = (struct sink_snapshot){.writer = copy_items(r->arena, &made.writer),
                                      .committables = copy_items(r->arena, &made.committables)};
    arena_free(scratch);
    return rc;
}

static struct sink_items join(struct arena *arena, const struct sink_snapshot *parts, size_t count,
                              bool writer)
{
    struct bytes *items;
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += writer ? parts[i].writer.count : parts[i].committables.count;
    items = ARENA_ARRAY(arena, total + 1, struct bytes);
    total = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sink_items *from = writer ? &parts[i].writer : &parts[i].committables;

        for (size_t j = 0; j < from->count; j++)
            items[total++] = from->items[j];
    }
    return (struct sink_items){total, items};
}

struct sink_snapshot sink_rig_join(struct sink_rig *r, const struct sink_snapshot *parts,
                                   size_t count)
{
    return (struct sink_snapshot){.writer = join(r->arena, parts, count, true),
                                  .committables = join(r->arena, parts, count, false)};
}

static struct sink_items deal(struct arena *arena, const struct sink_items *all, size_t i,
                              size_t count)
{
    struct bytes *items = ARENA_ARRAY(arena, all->count + 1, struct bytes);
    size_t mine = 0;

    for (size_t j = i; j < all->count; j += count)
        items[mine++] = all->items[j];
    return (struct sink_items){mine, items};
}

struct sink_snapshot sink_rig_deal(struct sink_rig *r, const struct sink_snapshot *all, size_t i,
                                   size_t count)
{
    return (struct sink_snapshot){.writer = deal(r->arena, &all->writer, i, count),
                                  .committables = deal(r->arena, &all->committables, i, count)};
}

/* ---- audit ----------------------------------------------------------------------------------- */

struct walk {
    struct fs *fs;
    const char *dir;
    struct sink_audit *audit;
};

static void count_rows(struct sink_audit *a, struct buf *text)
{
    char *line = (char *)(uintptr_t)buf_cstr(text), *end;

    for (; *line != '\0'; line = end + 1) {
        unsigned long row = strtoul(line, &end, 10);

        if (*end != '\n' || end == line || row == 0 || row >= RIG_ROWS_MAX) {
            a->broken_lines++;
            end = strchr(line, '\n');
            if (end == NULL)
                return;
        } else {
            a->seen[row]++;
        }
    }
}

static enum rc look(void *ctx, const char *name, struct err *err)
{
    struct walk *w = ctx;
    char path[FS_PATH_MAX];
    struct buf text = {0};
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, w->dir, name, err));
    RETURN_IF_ERR(fs_stat(w->fs, path, &st, err));
    if (st.type == FS_DIR) {
        sink_audit(w->fs, path, w->audit);
        return RC_OK;
    }
    if (name[0] == '.') {
        w->audit->hidden_files++;
        return RC_OK;
    }
    w->audit->visible_files++;
    RETURN_IF_ERR(fs_read_all(w->fs, path, 1 << 20, &text, err));
    count_rows(w->audit, &text);
    buf_release(&text);
    return RC_OK;
}

void sink_audit(struct fs *fs, const char *dir, struct sink_audit *out)
{
    struct walk w = {fs, dir, out};
    struct err err = {0};
    enum rc rc = fs_list(fs, dir, look, &w, &err);

    if (rc != RC_OK && rc != RC_NOT_FOUND) {
        fprintf(stderr, "audit of %s: %s\n", dir, err.msg);
        abort();
    }
}

const char *sink_audit_rows(const struct sink_audit *a, uint32_t last, unsigned times,
                            char out[200])
{
    out[0] = '\0';
    if (a->broken_lines > 0)
        snprintf(out, 200, "%zu broken lines", a->broken_lines);
    for (uint32_t row = 1; row < RIG_ROWS_MAX && out[0] == '\0'; row++)
        if (a->seen[row] != (row <= last ? times : 0))
            snprintf(out, 200, "row %u is visible %u times (of rows 1..%u)", row, a->seen[row],
                     last);
    return out;
}
