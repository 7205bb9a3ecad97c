#include "backend/operator_state.h"

/* Restored lists and lists to be written are apart: an operator that never sets a list drops it. */
struct set_list {
    char *name;
    enum list_mode mode;
    size_t count;
    struct bytes *items; /* each points into `block` */
    uint8_t *block;
};
struct operator_state {
    struct arena *restored_arena;
    struct list_state *restored;
    size_t restored_count;
    struct set_list *set;
    size_t set_count;
    struct arena *log_arena;
    struct state_file *logs;
    size_t log_count;
};

struct operator_state *operator_state_new(void)
{
    struct operator_state *s = mem_calloc(1, sizeof *s);

    s->restored_arena = arena_new(4096);
    s->log_arena = arena_new(0);
    return s;
}

void operator_state_free(struct operator_state *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->set_count; i++) {
        mem_free(s->set[i].name);
        mem_free(s->set[i].items);
        mem_free(s->set[i].block);
    }
    mem_free(s->set);
    arena_free(s->restored_arena);
    arena_free(s->log_arena);
    mem_free(s);
}

void operator_state_restore(struct operator_state *s, const struct list_state *lists, size_t count)
{
    arena_reset(s->restored_arena);
    s->restored = ARENA_ARRAY(s->restored_arena, count, struct list_state);
    s->restored_count = count;
    for (size_t i = 0; i < count; i++)
        list_state_copy(s->restored_arena, &lists[i], &s->restored[i]);
}

size_t operator_state_restored(const struct operator_state *s, const char *name,
                               const struct bytes **items)
{
    for (size_t i = 0; i < s->restored_count; i++) {
        if (strcmp(s->restored[i].name, name) == 0) {
            *items = s->restored[i].items;
            return s->restored[i].item_count;
        }
    }
    *items = NULL;
    return 0;
}

static struct set_list *find_or_add(struct operator_state *s, const char *name)
{
    for (size_t i = 0; i < s->set_count; i++) {
        if (strcmp(s->set[i].name, name) == 0)
            return &s->set[i];
    }
    s->set = mem_realloc(s->set, (s->set_count + 1) * sizeof *s->set);
    s->set[s->set_count] = (struct set_list){.name = mem_strdup(name)};
    return &s->set[s->set_count++];
}

void operator_state_set(struct operator_state *s, const char *name, enum list_mode mode,
                        const struct bytes *items, size_t count)
{
    struct set_list *list = find_or_add(s, name);
    uint8_t *block;
    struct bytes *copies = mem_calloc(count, sizeof *copies);
    size_t total = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        total += items[i].len;
    block = mem_alloc(total);
    for (size_t i = 0; i < count; i++) {
        if (items[i].len > 0)
            memcpy(block + at, items[i].data, items[i].len);
        copies[i] = bytes_of(block + at, items[i].len);
        at += items[i].len;
    }
    mem_free(list->items); /* after the copy: the caller may set a list from itself */
    mem_free(list->block);
    list->mode = mode;
    list->count = count;
    list->items = copies;
    list->block = block;
}

void operator_state_set_logs(struct operator_state *s, const struct state_file *logs, size_t count)
{
    arena_reset(s->log_arena);
    s->logs = ARENA_ARRAY(s->log_arena, count, struct state_file);
    s->log_count = count;
    for (size_t i = 0; i < count; i++)
        state_file_copy(s->log_arena, &logs[i], &s->logs[i]);
}

void operator_state_snapshot(const struct operator_state *s, struct arena *arena,
                             struct subtask_state *out)
{
    out->lists = ARENA_ARRAY(arena, s->set_count, struct list_state);
    out->list_count = s->set_count;
    for (size_t i = 0; i < s->set_count; i++) {
        const struct set_list *from = &s->set[i];
        struct list_state view = {from->name, from->mode, from->count, from->items};

        list_state_copy(arena, &view, &out->lists[i]);
    }
    out->logs = ARENA_ARRAY(arena, s->log_count, struct state_file);
    out->log_count = s->log_count;
    for (size_t i = 0; i < s->log_count; i++)
        state_file_copy(arena, &s->logs[i], &out->logs[i]);
}
