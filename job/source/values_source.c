/* values_source.c - the rows of a VALUES clause, emitted once by subtask 0; see source.h. Position:
 * be64 number of rows emitted. */
#include "job/source/source.h"

#define POSITION_LEN 8u

struct values_source {
    struct source base;
    struct values_config config;
    bool mine;
    uint32_t next;
};

bool values_position_parse(struct bytes item, uint64_t *rows_emitted)
{
    if (item.len != POSITION_LEN)
        return false;
    *rows_emitted = get_be64(item.data);
    return true;
}

static enum rc values_open(struct source *base, const struct source_context *ctx, struct err *err)
{
    struct values_source *s = (struct values_source *)base;

    s->mine = ctx->subtask_index == 0;
    for (size_t i = 0; ctx->restored && i < ctx->restored_count; i++) {
        struct bytes item = ctx->restored_items[i];
        uint64_t next;

        if (!values_position_parse(item, &next) || next > s->config.rows->rows)
            return err_set(err, RC_CORRUPT, "position of VALUES (%s): %zu bytes, %u rows now",
                           ctx->table_name, item.len, s->config.rows->rows);
        s->next = (uint32_t)next;
    }
    return RC_OK;
}

static enum rc values_poll(struct source *base, struct batch_builder *out, uint32_t max_rows,
                           enum source_result *result, int64_t *retry_ns, struct err *err)
{
    struct values_source *s = (struct values_source *)base;
    uint32_t idx[256], n = 0;

    (void)err;
    *retry_ns = 0;
    *result = s->mine && s->next < s->config.rows->rows ? SOURCE_GOT_ROWS : SOURCE_ENDED;
    if (*result == SOURCE_ENDED)
        return RC_OK;
    while (n < ARRAY_LEN(idx) && n < max_rows && s->next < s->config.rows->rows)
        idx[n++] = s->next++;
    batch_gather(out, s->config.rows, idx, n, NULL);
    return RC_OK;
}

static enum rc values_position(struct source *base, struct arena *arena, struct bytes **items,
                               size_t *count, struct err *err)
{
    struct values_source *s = (struct values_source *)base;
    uint8_t *item = arena_alloc(arena, POSITION_LEN);

    (void)err;
    put_be64(item, s->next);
    *items = ARENA_NEW(arena, struct bytes);
    **items = bytes_of(item, POSITION_LEN);
    *count = s->mine ? 1 : 0;
    return RC_OK;
}

static void values_close(struct source *base)
{
    mem_free(base);
}

static bool values_bounded(const struct source *base)
{
    (void)base;
    return true;
}

struct source *values_source_new(const struct values_config *config)
{
    static const struct source_ops ops = {values_open, values_poll, values_position, values_close,
                                          values_bounded, NULL};
    struct values_source *s = mem_calloc(1, sizeof *s);

    s->base.ops = &ops;
    s->config = *config;
    return &s->base;
}
