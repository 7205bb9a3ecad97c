/* inspect_words.c - names and numbers as the printers of inspect show them. */
#include "checkpoint/inspect_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *snapshot_status_str(enum snapshot_status s)
{
    static const char *const names[] = {"complete", "damaged", "incomplete"};

    return names[s];
}

const char *snapshot_kind_str(enum checkpoint_kind kind)
{
    static const char *const names[] = {"unknown", "checkpoint", "savepoint", "suspend",
                                        "terminate"};

    return (size_t)kind < ARRAY_LEN(names) ? names[kind] : names[0];
}

const char *state_kind_str(enum state_kind kind)
{
    static const char *const names[] = {"unknown",  "value",       "list", "map",
                                        "reducing", "aggregating", "timer"};

    return (size_t)kind < ARRAY_LEN(names) ? names[kind] : names[0];
}

const char *list_mode_str(enum list_mode mode)
{
    static const char *const names[] = {"unknown", "split", "union", "broadcast"};

    return (size_t)mode < ARRAY_LEN(names) ? names[mode] : names[0];
}

const char *keyed_kind_str(enum keyed_handle_kind kind)
{
    return kind == KEYED_ROCKS ? "rocksdb" : "stream";
}

const char *file_scope_str(enum file_scope scope)
{
    static const char *const names[] = {"inline", "exclusive", "shared", "taskowned"};

    return (size_t)scope < ARRAY_LEN(names) ? names[scope] : "unknown";
}

uint64_t operator_entry_count(const struct operator_meta *op)
{
    uint64_t count = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            count += op->subtasks[s].keyed[k].entry_count;
    return count;
}

const struct keyed_handle *operator_states(const struct operator_meta *op)
{
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            if (op->subtasks[s].keyed[k].state_count > 0)
                return &op->subtasks[s].keyed[k];
    return NULL;
}

void inspect_append_plain(const struct buf *text, struct buf *out)
{
    for (size_t i = 0; i < text->len; i++) {
        uint8_t c = text->data[i];

        if ((c < 0x20 && c != '\n') || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_append_u8(out, c);
    }
}

void inspect_print_item(json_t *described, struct buf *out)
{
    const char *name, *before = ": ";
    json_t *value;

    json_object_foreach(described, name, value)
    {
        if (strcmp(name, "what") == 0) {
            buf_append_str(out, json_string_value(value));
            continue;
        }
        buf_printf(out, "%s%s ", before, name);
        before = ", ";
        if (json_is_string(value))
            buf_append_str(out, json_string_value(value));
        else
            json_dump_to(value, false, out);
    }
}

/* Exact below 10,000 bytes. */
const char *inspect_size_text(uint64_t bytes, char out[INSPECT_TEXT_MAX])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)bytes / 1000;
    size_t unit = 0;

    if (bytes < 10000) {
        snprintf(out, INSPECT_TEXT_MAX, "%" PRIu64 " B", bytes);
        return out;
    }
    while (v >= 1000 && unit + 1 < ARRAY_LEN(units)) {
        v /= 1000;
        unit++;
    }
    snprintf(out, INSPECT_TEXT_MAX, "%.1f %s", v, units[unit]);
    return out;
}

const char *inspect_time_text(int64_t wall_ms, char out[INSPECT_TEXT_MAX])
{
    return wall_text(wall_ms, out);
}

const char *inspect_age_text(const struct inspect *in, int64_t wall_ms, char out[INSPECT_TEXT_MAX])
{
    int64_t ms = inspect_ms_between(wall_ms, in->now_wall_ms), s = ms / 1000;

    if (ms < 0) /* the clock was set back, or another's is ahead */
        snprintf(out, INSPECT_TEXT_MAX, "future");
    else if (s < 60)
        snprintf(out, INSPECT_TEXT_MAX, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(out, INSPECT_TEXT_MAX, "%" PRId64 "m %" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, INSPECT_TEXT_MAX, "%" PRId64 "h %" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(out, INSPECT_TEXT_MAX, "%" PRId64 "d %" PRId64 "h", s / 86400, s / 3600 % 24);
    return out;
}

const char *inspect_ago_text(const struct inspect *in, int64_t wall_ms, char out[INSPECT_TEXT_MAX])
{
    char age[INSPECT_TEXT_MAX];

    inspect_age_text(in, wall_ms, age);
    if (wall_ms > in->now_wall_ms)
        snprintf(out, INSPECT_TEXT_MAX, "in the future");
    else
        snprintf(out, INSPECT_TEXT_MAX, "%.*s ago", INSPECT_TEXT_MAX - 8, age);
    return out;
}
