/* metadata.c - see metadata.h: walks, copies and the rules of the tree. The bytes are
 * metadata_own.c's. */
#include "checkpoint/metadata.h"

#include "checkpoint/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STATE_NAME_MAX 255
#define TEXT_NAME_MAX 65535 /* operator names hold expressions of the query */
#define BACKEND_ID_LEN 32
#define ROW_TYPE_MAX (1u << 20)
#define CHANNELS_MAX 4096 /* edges into one operator */

/* ---- walks ---------------------------------------------------------------------------------- */

enum rc metadata_each_file(const struct checkpoint_metadata *m, metadata_file_fn *fn, void *ctx,
                           struct err *err)
{
    for (size_t o = 0; o < m->operator_count; o++) {
        const struct operator_meta *op = &m->operators[o];

        for (size_t s = 0; s < op->subtask_count; s++) {
            const struct subtask_state *subtask = &op->subtasks[s];

            for (size_t k = 0; k < subtask->keyed_count; k++)
                for (size_t f = 0; f < subtask->keyed[k].file_count; f++)
                    RETURN_IF_ERR(fn(ctx, op, subtask, &subtask->keyed[k].files[f], err));
            for (size_t f = 0; f < subtask->log_count; f++)
                RETURN_IF_ERR(fn(ctx, op, subtask, &subtask->logs[f], err));
            for (size_t f = 0; f < subtask->channel_count; f++)
                RETURN_IF_ERR(fn(ctx, op, subtask, &subtask->channels[f].file, err));
            for (size_t f = 0; f < subtask->stream_count; f++)
                RETURN_IF_ERR(fn(ctx, op, subtask, &subtask->streams[f], err));
        }
    }
    return RC_OK;
}

static void add_file(const struct state_file *file, struct metadata_sizes *sum)
{
    sum->file_count++;
    sum->full_bytes += file->size_bytes;
    if (file->newly_written)
        sum->new_bytes += file->size_bytes;
    switch (file->scope) {
    case FILE_INLINE:
        sum->inline_count++;
        sum->inline_bytes += file->size_bytes;
        break;
    case FILE_EXCLUSIVE:
        sum->exclusive_count++;
        sum->exclusive_bytes += file->size_bytes;
        break;
    case FILE_SHARED:
        sum->shared_count++;
        sum->shared_bytes += file->size_bytes;
        break;
    case FILE_TASKOWNED:
        sum->log_count++;
        sum->log_bytes += file->size_bytes;
        break;
    }
}

void subtask_metadata_sizes(const struct subtask_state *s, struct metadata_sizes *sum)
{
    for (size_t k = 0; k < s->keyed_count; k++)
        for (size_t f = 0; f < s->keyed[k].file_count; f++)
            add_file(&s->keyed[k].files[f], sum);
    for (size_t f = 0; f < s->log_count; f++)
        add_file(&s->logs[f], sum);
    for (size_t c = 0; c < s->channel_count; c++) {
        add_file(&s->channels[c].file, sum);
        sum->in_flight_bytes += s->channels[c].file.size_bytes;
        sum->in_flight_rows += s->channels[c].row_count;
    }
    for (size_t f = 0; f < s->stream_count; f++)
        add_file(&s->streams[f], sum);
    for (size_t l = 0; l < s->list_count; l++)
        for (size_t i = 0; i < s->lists[l].item_count; i++) {
            sum->full_bytes += s->lists[l].items[i].len;
            sum->new_bytes += s->lists[l].items[i].len;
            sum->inline_bytes += s->lists[l].items[i].len;
        }
}

void metadata_sizes_of(const struct checkpoint_metadata *m, struct metadata_sizes *out)
{
    *out = (struct metadata_sizes){0};
    for (size_t o = 0; o < m->operator_count; o++)
        for (size_t s = 0; s < m->operators[o].subtask_count; s++)
            subtask_metadata_sizes(&m->operators[o].subtasks[s], out);
}

void metadata_copy(struct arena *to, const struct checkpoint_metadata *from,
                   struct checkpoint_metadata *out)
{
    *out = *from;
    out->job_name = arena_strdup(to, from->job_name);
    out->varve_version = arena_strdup(to, from->varve_version);
    out->rocksdb_version = arena_strdup(to, from->rocksdb_version);
    out->sql = arena_strdup(to, from->sql);
    out->settings = ARENA_ARRAY(to, from->setting_count, struct metadata_pair);
    for (size_t i = 0; i < from->setting_count; i++)
        out->settings[i] = (struct metadata_pair){arena_strdup(to, from->settings[i].key),
                                                  arena_strdup(to, from->settings[i].value)};
    out->operators = ARENA_ARRAY(to, from->operator_count, struct operator_meta);
    for (size_t o = 0; o < from->operator_count; o++) {
        const struct operator_meta *op = &from->operators[o];
        struct operator_meta *copy = &out->operators[o];

        *copy = *op;
        copy->uid = arena_strdup(to, op->uid);
        copy->name = arena_strdup(to, op->name);
        copy->subtasks = ARENA_ARRAY(to, op->subtask_count, struct subtask_state);
        for (size_t s = 0; s < op->subtask_count; s++)
            subtask_state_copy(to, &op->subtasks[s], &copy->subtasks[s]);
    }
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* Where in the tree a rule is being looked at; for messages. */
struct place {
    const char *what;
    const struct operator_meta *op; /* NULL: at the top */
    const struct subtask_state *subtask;
    struct err *err;
};

static enum rc broken(const struct place *at, const char *fmt, ...) PRINTF_LIKE(2, 3);
static enum rc broken(const struct place *at, const char *fmt, ...)
{
    struct buf text = {0};
    char line[512];
    va_list args;
    enum rc rc;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    buf_printf(&text, "%s: ", at->what);
    if (at->op != NULL)
        buf_printf(&text, "operator \"%.200s\": ", at->op->name);
    if (at->subtask != NULL)
        buf_printf(&text, "subtask %" PRIu32 ": ", at->subtask->subtask_index);
    rc = err_set(at->err, RC_CORRUPT, "%s%s", buf_cstr(&text), line);
    buf_release(&text);
    return rc;
}

static bool is_hex_id(const char *s, size_t digits)
{
    return strlen(s) == digits && strspn(s, "0123456789abcdef") == digits;
}

static enum rc check_name(const struct place *at, const char *what, const char *name, size_t max)
{
    size_t len = strlen(name);

    if (len == 0 || len > max)
        return broken(at, "%s of %zu bytes, allowed are 1..%zu", what, len, max);
    return RC_OK;
}

static enum rc check_size(const struct place *at, const struct state_file *file)
{
    if (file->size_bytes > INT64_MAX)
        return broken(at, "%s: size %" PRIu64 " is past what a file can hold", file->path,
                      file->size_bytes);
    return RC_OK;
}

/* Beside _metadata in a savepoint, in taskowned/ else; under the same name. */
static enum rc check_log(const struct place *at, const struct state_file *file)
{
    const char *path = file->path == NULL ? "" : file->path;

    if (!(file->scope == FILE_EXCLUSIVE && layout_is_log(path)) &&
        !(file->scope == FILE_TASKOWNED && layout_is_log_path(path)))
        return broken(at, "\"%.300s\" is not the path of a log", path);
    return check_size(at, file);
}

/* Inline content proves itself here; the path of others cannot leave the job's directory. */
static enum rc check_file(const struct place *at, const struct state_file *file)
{
    struct digest128 named;

    switch (file->scope) {
    case FILE_INLINE:
        if (file->inline_bytes.len != file->size_bytes)
            return broken(at, "inline file \"%s\" holds %zu bytes instead of %" PRIu64,
                          file->local_name, file->inline_bytes.len, file->size_bytes);
        if (!digest_eq(digest_of(file->inline_bytes), file->digest))
            return broken(at, "inline file \"%s\": digest differs", file->local_name);
        return RC_OK;
    case FILE_EXCLUSIVE:
        if (file->path == NULL || !layout_is_exclusive_path(file->path))
            return broken(at, "\"%s\" is not the name of a file beside _metadata",
                          file->path == NULL ? "" : file->path);
        break;
    case FILE_SHARED:
        if (file->path == NULL || !layout_parse_shared_path(file->path, &named))
            return broken(at, "\"%s\" is not of the form ../shared/<32 hex>.sst",
                          file->path == NULL ? "" : file->path);
        if (!digest_eq(named, file->digest))
            return broken(at, "%s: its name is not its digest", file->path);
        break;
    default:
        return broken(at, "file scope %d is unknown", (int)file->scope);
    }
    return check_size(at, file);
}

static enum rc check_state(const struct place *at, const struct state_desc *state)
{
    RETURN_IF_ERR(check_name(at, "state name", state->name, STATE_NAME_MAX));
    if (state->kind < STATE_VALUE || state->kind > STATE_TIMER)
        return broken(at, "state \"%s\": kind %d is unknown", state->name, (int)state->kind);
    if (strcmp(state->namespace_type, "VOID") != 0 &&
        strcmp(state->namespace_type, "BIGINT") != 0 &&
        strcmp(state->namespace_type, "BYTES") != 0)
        return broken(at, "state \"%s\": namespace \"%.64s\" is unknown", state->name,
                      state->namespace_type);
    if ((state->kind == STATE_MAP) != (state->user_key_type[0] != '\0'))
        return broken(at, "state \"%s\": a map, and only a map, has a user key type", state->name);
    return RC_OK;
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The first name that occurs twice; NULL when all differ. Sorts. */
static const char *find_twice(const char **names, size_t count)
{
    qsort(names, count, sizeof *names, by_string);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return names[i];
    return NULL;
}

static enum rc check_distinct_states(const struct place *at, const struct keyed_handle *h)
{
    const char **names = mem_calloc(h->state_count, sizeof *names), *twice;

    for (size_t i = 0; i < h->state_count; i++)
        names[i] = h->states[i].name;
    twice = find_twice(names, h->state_count);
    mem_free(names);
    return twice == NULL ? RC_OK : broken(at, "state \"%s\" occurs twice", twice);
}

static enum rc check_rocks_files(const struct place *at, const struct keyed_handle *h)
{
    const char **names = mem_calloc(h->file_count, sizeof *names), *twice;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < h->file_count && rc == RC_OK; i++) {
        names[i] = h->files[i].local_name;
        if (!layout_is_plain_name(names[i]))
            rc = broken(at, "\"%.300s\" cannot be a file of a database", names[i]);
    }
    if (rc == RC_OK) {
        twice = find_twice(names, h->file_count);
        if (twice != NULL)
            rc = broken(at, "database file \"%s\" occurs twice", twice);
        else if (h->group_offset_count != 0)
            rc = broken(at, "a database has no group offsets");
    }
    mem_free(names);
    return rc;
}

static enum rc check_stream(const struct place *at, const struct keyed_handle *h)
{
    size_t groups = (size_t)(h->range.last - h->range.first) + 1;

    if (h->file_count != 1)
        return broken(at, "a keyed stream has one file, not %zu", h->file_count);
    if (h->group_offset_count != groups)
        return broken(at, "%zu group offsets for %zu key groups", h->group_offset_count, groups);
    for (size_t i = 0; i < groups; i++)
        if (h->group_offsets[i] > h->files[0].size_bytes ||
            (i > 0 && h->group_offsets[i] < h->group_offsets[i - 1]))
            return broken(
                at, "offset %" PRIu64 " of key group %zu is out of order or past %" PRIu64 " bytes",
                h->group_offsets[i], h->range.first + i, h->files[0].size_bytes);
    return RC_OK;
}

static enum rc check_keyed(const struct place *at, const struct keyed_handle *h)
{
    if (h->kind != KEYED_ROCKS && h->kind != KEYED_STREAM)
        return broken(at, "keyed handle of unknown kind %d", (int)h->kind);
    if (h->key_group_count != at->op->key_group_count)
        return broken(at, "keyed handle of %" PRIu32 " key groups, the operator has %" PRIu32,
                      h->key_group_count, at->op->key_group_count);
    if (h->range.first > h->range.last || h->range.last >= h->key_group_count)
        return broken(at, "key groups %" PRIu32 "..%" PRIu32 " of %" PRIu32, h->range.first,
                      h->range.last, h->key_group_count);
    if (!is_hex_id(h->backend_id, BACKEND_ID_LEN))
        return broken(at, "backend id \"%.64s\" is not %d hex digits", h->backend_id,
                      BACKEND_ID_LEN);
    for (size_t i = 0; i < h->state_count; i++)
        RETURN_IF_ERR(check_state(at, &h->states[i]));
    RETURN_IF_ERR(check_distinct_states(at, h));
    for (size_t i = 0; i < h->file_count; i++)
        RETURN_IF_ERR(check_file(at, &h->files[i]));
    return h->kind == KEYED_ROCKS ? check_rocks_files(at, h) : check_stream(at, h);
}

static bool is_partitioning(const char *s)
{
    if (strncmp(s, "HASH(", 5) == 0) {
        s += 5;
        while ((s[0] >= '0' && s[0] <= '9') || s[0] == ',')
            s++;
        return s[0] == ')' && s[1] == '\0';
    }
    return strcmp(s, "FORWARD") == 0 || strcmp(s, "REBALANCE") == 0 || strcmp(s, "GLOBAL") == 0;
}

/* Two handles of one edge would be one. */
static enum rc check_channels(const struct place *at, const struct subtask_state *s)
{
    if (s->channel_count > CHANNELS_MAX) /* each is compared with each */
        return broken(at, "rows in flight on %zu edges, at most %d", s->channel_count, CHANNELS_MAX);
    for (size_t i = 0; i < s->channel_count; i++) {
        const struct channel_handle *h = &s->channels[i];

        if (!is_hex_id(h->from_id, OPERATOR_ID_LEN))
            return broken(at, "rows in flight from \"%.64s\": not %d hex digits", h->from_id,
                          OPERATOR_ID_LEN);
        RETURN_IF_ERR(check_name(at, "type of rows in flight", h->row_type, ROW_TYPE_MAX));
        if (!is_partitioning(h->partitioning))
            return broken(at, "rows in flight: partitioning \"%.64s\" is unknown", h->partitioning);
        if (h->file.scope != FILE_INLINE && h->file.scope != FILE_EXCLUSIVE)
            return broken(at, "rows in flight belong to one snapshot, not to file scope %d",
                          (int)h->file.scope);
        RETURN_IF_ERR(check_file(at, &h->file));
        for (size_t k = 0; k < i; k++)
            if (strcmp(s->channels[k].from_id, h->from_id) == 0 &&
                s->channels[k].ordinal == h->ordinal)
                return broken(at, "rows in flight from %s twice", h->from_id);
    }
    return RC_OK;
}

static enum rc check_lists(const struct place *at, const struct subtask_state *s)
{
    const char **names = mem_calloc(s->list_count, sizeof *names), *twice;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->list_count && rc == RC_OK; i++) {
        names[i] = s->lists[i].name;
        rc = check_name(at, "name of a list state", names[i], STATE_NAME_MAX);
        if (rc == RC_OK && (s->lists[i].mode < LIST_SPLIT || s->lists[i].mode > LIST_BROADCAST))
            rc = broken(at, "list \"%s\": mode %d is unknown", names[i], (int)s->lists[i].mode);
    }
    if (rc == RC_OK && (twice = find_twice(names, s->list_count)) != NULL)
        rc = broken(at, "list \"%s\" occurs twice", twice);
    mem_free(names);
    return rc;
}

static int by_first_group(const void *a, const void *b)
{
    uint32_t x = ((const struct key_group_range *)a)->first;
    uint32_t y = ((const struct key_group_range *)b)->first;

    return (x > y) - (x < y);
}

/* C1: no key group in two handles of one operator. */
static enum rc check_disjoint(const struct place *at, const struct operator_meta *op)
{
    struct key_group_range *ranges;
    size_t count = 0, at_range = 0;
    enum rc rc = RC_OK;

    for (size_t s = 0; s < op->subtask_count; s++)
        count += op->subtasks[s].keyed_count;
    ranges = mem_calloc(count, sizeof *ranges);
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            ranges[at_range++] = op->subtasks[s].keyed[k].range;
    qsort(ranges, count, sizeof *ranges, by_first_group);
    for (size_t i = 1; i < count && rc == RC_OK; i++)
        if (ranges[i].first <= ranges[i - 1].last)
            rc = broken(at, "key group %" PRIu32 " is in two handles", ranges[i].first);
    mem_free(ranges);
    return rc;
}

static enum rc check_subtasks(struct place *at, const struct operator_meta *op)
{
    uint8_t *seen = mem_calloc(op->parallelism, 1);
    enum rc rc = RC_OK;

    for (size_t s = 0; s < op->subtask_count && rc == RC_OK; s++) {
        const struct subtask_state *subtask = &op->subtasks[s];

        at->subtask = subtask;
        if (subtask->subtask_index >= op->parallelism) {
            rc = broken(at, "the parallelism is %" PRIu32, op->parallelism);
            break;
        }
        if (seen[subtask->subtask_index]++ != 0)
            rc = broken(at, "occurs twice");
        if (rc == RC_OK && subtask->finished && subtask->keyed_count + subtask->list_count +
                                                             subtask->log_count + subtask->channel_count > 0)
            rc = broken(at, "had finished and yet has state");
        for (size_t k = 0; k < subtask->keyed_count && rc == RC_OK; k++)
            rc = check_keyed(at, &subtask->keyed[k]);
        for (size_t k = 0; k < subtask->log_count && rc == RC_OK; k++)
            rc = check_log(at, &subtask->logs[k]);
        if (rc == RC_OK)
            rc = check_channels(at, subtask);
        if (rc == RC_OK)
            rc = check_lists(at, subtask);
    }
    at->subtask = NULL;
    mem_free(seen);
    return rc;
}

static enum rc check_operator(struct place *at, const struct operator_meta *op)
{
    enum rc rc;

    at->op = op;
    GOTO_IF_ERR(check_name(at, "operator name", op->name, TEXT_NAME_MAX));
    if (!is_hex_id(op->id, OPERATOR_ID_LEN))
        GOTO_IF_ERR(broken(at, "id \"%.64s\" is not %d hex digits", op->id, OPERATOR_ID_LEN));
    if (op->key_group_count < 1 || op->key_group_count > KEY_GROUP_COUNT_MAX)
        GOTO_IF_ERR(broken(at, "%" PRIu32 " key groups, allowed are 1..%u", op->key_group_count,
                           KEY_GROUP_COUNT_MAX));
    if (op->parallelism < 1 || op->parallelism > op->key_group_count)
        GOTO_IF_ERR(broken(at, "parallelism %" PRIu32 ", allowed are 1..%" PRIu32 " (key groups)",
                           op->parallelism, op->key_group_count));
    GOTO_IF_ERR(check_subtasks(at, op));
    GOTO_IF_ERR(check_disjoint(at, op));
out:
    at->op = NULL;
    return rc;
}

static enum rc check_distinct_operators(const struct place *at, const struct checkpoint_metadata *m)
{
    const char **ids = mem_calloc(m->operator_count, sizeof *ids), *twice;

    for (size_t i = 0; i < m->operator_count; i++)
        ids[i] = m->operators[i].id;
    twice = find_twice(ids, m->operator_count);
    mem_free(ids);
    return twice == NULL ? RC_OK : broken(at, "operator id %s occurs twice", twice);
}

enum rc metadata_check(const struct checkpoint_metadata *m, const char *what, struct err *err)
{
    struct place at = {.what = what, .err = err};

    if (m->checkpoint_id < 1 || m->checkpoint_id > LAYOUT_CHECKPOINT_ID_MAX)
        return broken(&at, "checkpoint id %" PRIu64 " is out of range", m->checkpoint_id);
    if (m->kind < CHECKPOINT_PERIODIC || m->kind > CHECKPOINT_TERMINATE)
        return broken(&at, "checkpoint kind %d is unknown", (int)m->kind);
    if (!layout_is_job_id(m->job_id))
        return broken(&at, "job id \"%.64s\" is not %d hex digits", m->job_id, JOB_ID_LEN);
    if (strlen(m->job_name) > TEXT_NAME_MAX)
        return broken(&at, "job name of %zu bytes, allowed are %d", strlen(m->job_name),
                      TEXT_NAME_MAX);
    for (size_t i = 0; i < m->operator_count; i++)
        RETURN_IF_ERR(check_operator(&at, &m->operators[i]));
    return check_distinct_operators(&at, m);
}
