/* flink_check.c - the rules between the parts of a Flink _metadata. */
#include "checkpoint/flink/flink_metadata.h"

#include <stdlib.h>

struct check {
    const char *what;
    const struct flink_operator *op;
    const struct flink_subtask *subtask; /* NULL: of the operator */
    struct err *err;
};

static enum rc broken(const struct check *c, const char *rule)
{
    char hex[2 * FLINK_ID_BYTES + 1];

    flink_id_hex(c->op->id, hex);
    if (c->subtask == NULL)
        return err_set(c->err, RC_CORRUPT, "%s: operator %s: %s", c->what, hex, rule);
    return err_set(c->err, RC_CORRUPT, "%s: operator %s subtask %u: %s", c->what, hex,
                   c->subtask->index, rule);
}

/* Of an old keyed handle inside a stream too. */
static const struct flink_stream *innermost(const struct flink_stream *s)
{
    while (s->tag == FLINK_STREAM_GROUPS)
        s = &s->groups->stream;
    return s;
}

/* -1 is a group that was not written (raw keyed state). */
static bool offsets_fit(const int64_t *offsets, size_t count, const struct flink_stream *stream)
{
    int64_t size = innermost(stream)->size;

    for (size_t i = 0; i < count; i++)
        if (offsets[i] < -1 || (size >= 0 && offsets[i] > size))
            return false;
    return true;
}

static enum rc check_keyed(const struct check *c, const struct flink_keyed *k)
{
    const struct flink_changelog *log = k->changelog;

    if (k->tag == FLINK_KEYED_NONE)
        return RC_OK;
    if ((int64_t)k->range.first + k->range.count > c->op->max_parallelism)
        return broken(c, "key groups beyond the max parallelism");
    if (k->groups != NULL &&
        !offsets_fit(k->groups->offsets, k->groups->range.count, &k->groups->stream))
        return broken(c, "an offset of a key group lies outside its stream");
    for (size_t i = 0; log != NULL && i < log->materialized_count; i++)
        RETURN_IF_ERR(check_keyed(c, &log->materialized[i]));
    for (size_t i = 0; log != NULL && i < log->change_count; i++)
        RETURN_IF_ERR(check_keyed(c, &log->changes[i]));
    return RC_OK;
}

static enum rc check_lists(const struct check *c, const struct flink_operator_state *s)
{
    for (size_t i = 0; i < s->list_count; i++)
        if (!offsets_fit(s->lists[i].offsets, s->lists[i].offset_count, &s->stream))
            return broken(c, "an offset of a list state lies outside its stream");
    return RC_OK;
}

static int by_first(const void *a, const void *b)
{
    const struct flink_range *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* C1, of the managed keyed states of all subtasks. */
static enum rc check_ranges(const struct check *c)
{
    struct flink_range *ranges = mem_calloc(c->op->subtask_count, sizeof *ranges);
    enum rc rc = RC_OK;
    size_t count = 0;

    for (size_t i = 0; i < c->op->subtask_count; i++)
        if (c->op->subtasks[i].managed_keyed.range.count > 0)
            ranges[count++] = c->op->subtasks[i].managed_keyed.range;
    if (count > 1)
        qsort(ranges, count, sizeof *ranges, by_first);
    for (size_t i = 1; i < count && rc == RC_OK; i++)
        if (ranges[i - 1].first + ranges[i - 1].count > ranges[i].first)
            rc = broken(c, "two subtasks hold the same key group");
    mem_free(ranges);
    return rc;
}

static enum rc check_operator(struct check *c)
{
    const struct flink_operator *op = c->op;
    uint8_t *seen;
    enum rc rc = RC_OK;

    if (op->parallelism < 1 || op->max_parallelism < op->parallelism ||
        op->max_parallelism > (int32_t)FLINK_GROUPS_MAX)
        return broken(c, "parallelism and max parallelism do not fit");
    seen = mem_calloc((size_t)op->parallelism, 1);
    for (size_t i = 0; i < op->subtask_count && rc == RC_OK; i++) {
        const struct flink_subtask *s = &op->subtasks[i];

        c->subtask = s;
        if (s->index >= (uint32_t)op->parallelism)
            rc = broken(c, "index beyond the parallelism");
        else if (seen[s->index]++)
            rc = broken(c, "is there twice");
        if (rc == RC_OK)
            rc = check_keyed(c, &s->managed_keyed);
        if (rc == RC_OK)
            rc = check_keyed(c, &s->raw_keyed);
        if (rc == RC_OK)
            rc = check_lists(c, &s->managed);
        if (rc == RC_OK)
            rc = check_lists(c, &s->raw);
    }
    mem_free(seen);
    c->subtask = NULL;
    return rc == RC_OK ? check_ranges(c) : rc;
}

enum rc flink_metadata_check(const struct flink_metadata *m, const char *what, struct err *err)
{
    for (size_t i = 0; i < m->operator_count; i++) {
        struct check c = {.what = what, .op = &m->operators[i], .err = err};

        RETURN_IF_ERR(check_operator(&c));
    }
    if (m->trailing_bytes > 0)
        return err_set(err, RC_CORRUPT, "%s: %zu bytes too many after offset %zu", what,
                       m->trailing_bytes, m->length - m->trailing_bytes);
    return RC_OK;
}
