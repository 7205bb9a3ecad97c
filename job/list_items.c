/* list_items.c - see list_items.h */
#include "job/list_items.h"

#include "base/arena.h"
#include "job/rest/row_json.h"
#include "job/source/file_position.h"
#include "sink/committable.h"
#include "sink/log_record.h"
#include "sink/sink.h"

static void put_number(json_t *o, const char *name, uint64_t value)
{
    json_object_set_new(o, name, json_integer((json_int_t)value));
}

static json_t *begin(const char *what)
{
    return json_pack("{s: s}", "what", what);
}

/* Of a folder, or a file of it. */
static json_t *file_position(struct bytes item, struct arena *arena)
{
    struct file_entries entries;
    const struct file_entry *e;
    const char *root;
    json_t *o;

    if (file_positions_decode(&item, 1, 0, 1, arena, &entries, &root, NULL) != RC_OK)
        return NULL;
    if (entries.count == 0) {
        o = begin("reads");
        json_object_set_new(o, "path", text_json(root));
        return o;
    }
    e = &entries.items[0];
    o = begin("file position");
    json_object_set_new(o, "path", text_json(e->path));
    put_number(o, "offset", e->offset);
    put_number(o, "line", e->line);
    json_object_set_new(o, "done", json_boolean(e->done));
    return o;
}

/* The sorts of sources tell their positions apart by length and first byte. */
static json_t *source_position(struct bytes item, struct arena *arena)
{
    uint64_t next, step;
    json_t *o = file_position(item, arena);

    if (o == NULL && datagen_position_parse(item, &next, &step)) {
        o = begin("row numbers");
        put_number(o, "next", next);
        put_number(o, "step", step);
    }
    if (o == NULL && values_position_parse(item, &next)) {
        o = begin("VALUES");
        put_number(o, "rows_emitted", next);
    }
    return o;
}

static json_t *part(const struct sink_item *item)
{
    const struct part_record *p = &item->part;
    json_t *o = begin(item->kind == ITEM_PENDING ? "pending part" : "open part");
    struct buf path = {0};

    buf_printf(&path, "%s/%s%s%s", p->base, p->bucket, p->bucket[0] == '\0' ? "" : "/", p->name);
    json_object_set_new(o, "path", text_json(buf_cstr(&path)));
    buf_release(&path);
    json_object_set_new(o, "hidden_as", text_json(p->temp_name));
    put_number(o, "rows", p->row_count);
    put_number(o, "size", p->size_bytes);
    put_number(o, "checkpoint", p->checkpoint_id);
    return o;
}

/* Of a write-ahead sink: what waits to be sent. */
static json_t *log_writer(struct bytes bytes, struct arena *arena)
{
    json_t *o, *logs = json_array();
    struct log_record r;

    if (log_record_decode(bytes, arena, "item", &r, NULL) != RC_OK) {
        json_decref(logs);
        return NULL;
    }
    for (size_t i = 0; i < r.log_count; i++) {
        char name[LOG_NAME_MAX];
        json_t *log = json_object();

        log_name_make(r.uuid, r.subtask_index, r.logs[i].number, name);
        json_object_set_new(log, "log", json_string(name));
        put_number(log, "rows", r.logs[i].row_count);
        put_number(log, "size", r.logs[i].size_bytes);
        put_number(log, "checkpoint", r.logs[i].checkpoint_id);
        json_array_append_new(logs, log);
    }
    o = begin("rows in logs");
    json_object_set_new(o, "writer", json_string(r.uuid));
    put_number(o, "subtask", r.subtask_index);
    put_number(o, "last_log", r.last_number);
    json_object_set_new(o, "waiting", logs);
    return o;
}

/* Of a write-ahead sink: where a writer stood. */
static json_t *log_position(struct bytes bytes)
{
    struct log_position p;
    json_t *o;

    if (log_position_decode(bytes, "item", &p, NULL) != RC_OK)
        return NULL;
    o = begin("log writer");
    json_object_set_new(o, "writer", json_string(p.uuid));
    put_number(o, "subtask", p.subtask_index);
    put_number(o, "last_log", p.last_number);
    json_object_set_new(o, "earlier", json_boolean(p.earlier));
    return o;
}

static json_t *committable(struct bytes bytes, struct arena *arena)
{
    struct sink_item item;
    json_t *o;

    if (log_position_recognise(bytes))
        return log_position(bytes);
    if (log_record_recognise(bytes))
        return log_writer(bytes, arena);
    if (committable_decode(bytes, arena, "item", &item, NULL) != RC_OK)
        return NULL;
    if (item.kind != ITEM_WRITER)
        return part(&item);
    o = begin("sink writer");
    json_object_set_new(o, "path", text_json(item.writer.base));
    json_object_set_new(o, "uuid", text_json(item.writer.uuid));
    put_number(o, "subtask", item.writer.subtask_index);
    put_number(o, "next_part", item.writer.next_counter);
    return o;
}

json_t *list_item_describe(const char *list_name, struct bytes item)
{
    struct arena *arena = arena_new(1024);
    json_t *o = NULL;

    if (strcmp(list_name, SOURCE_POSITIONS_LIST) == 0)
        o = source_position(item, arena);
    else if (strcmp(list_name, SINK_STATE_WRITER) == 0 ||
             strcmp(list_name, SINK_STATE_COMMITTABLES) == 0)
        o = committable(item, arena);
    arena_free(arena);
    return o;
}
