/* fuzz_flink_value.c - any bytes as a description of keyed state, and what follows as an entry of
 * each state in it: refused with a reason, or keys and values that can be shown; a value that was
 * read whole is refused at no byte less. Input: u16 length of the description, it, u16 length of a
 * key, it, the value. */
#include "checkpoint/flink/flink_hash.h"
#include "checkpoint/flink/flink_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next part, of at most what is left. */
static struct bytes part(const uint8_t **data, size_t *size)
{
    size_t len = *size < 2 ? 0 : get_be16(*data);
    struct bytes b;

    if (*size < 2)
        return (struct bytes){0};
    *data += 2;
    *size -= 2;
    len = len < *size ? len : *size;
    b = bytes_of(*data, len);
    *data += len;
    *size -= len;
    return b;
}

static void show(const struct flink_value *v)
{
    struct buf text = {0};

    flink_value_json(v, &text);
    flink_value_text(v, &text);
    buf_release(&text);
}

static void look(const struct flink_states *states, const struct flink_state *s, struct bytes key,
                 struct bytes value, struct arena *arena)
{
    struct err err = {0};
    struct flink_entry entry;
    struct flink_key k;
    uint32_t hash;

    if (s->kind != FLINK_STATE_TIMERS && s->namespace == NULL)
        return;
    if (flink_key_read(states, s, 1, key, arena, &k, &err) == RC_OK) {
        show(&k.key);
        show(&k.namespace);
        show(&k.user_key);
        ASSERT(k.owner_len <= key.len);
        if (!k.opaque && s->kind != FLINK_STATE_TIMERS)
            (void)!flink_hash(states->key, &k.key, &hash);
    }
    err_clear(&err);
    if (flink_entry_read(s, value, arena, &entry, &err) == RC_OK)
        show(&entry.value);
    else
        ASSERT(err.msg[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0), *entry = arena_new(0);
    struct bytes description = part(&data, &size), key = part(&data, &size);
    struct flink_states states;
    struct buf text = {0};
    struct err err = {0};
    struct reader r;

    reader_init(&r, description, "fuzz");
    if (flink_states_keyed(&r, arena, &states, &err) == RC_OK) {
        for (size_t i = 0; i < states.count && i < 64; i++) {
            arena_reset(entry);
            flink_serializer_print(states.states[i].value, &text);
            look(&states, &states.states[i], key, bytes_of(data, size), entry);
        }
    } else {
        ASSERT(err.msg[0] != '\0');
    }
    err_clear(&err);
    reader_init(&r, description, "fuzz");
    (void)!flink_states_operator(&r, arena, &states, &err);
    buf_release(&text);
    arena_free(entry);
    arena_free(arena);
    return 0;
}
