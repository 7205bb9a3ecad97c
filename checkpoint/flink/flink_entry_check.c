/* flink_entry_check.c - see flink_entry_check.h */
#include "checkpoint/flink/flink_entry_check.h"

#include "backend/keygroup.h"
#include "checkpoint/flink/flink_hash.h"
#include "checkpoint/flink/flink_key.h"

#define CHANCE_BITS 28u /* that rows of another hash fit by chance: 1 in 2^28 */
#define SHOWN_MAX 100u /* bytes of a name or a key, in a message */

struct flink_entry_check {
    const struct flink_states *states;
    uint32_t key_group_count;
    struct arena *arena; /* of one entry */
    unsigned rows_fit, rows_tried; /* tried: as many as tell, each once: of a map a key comes again and again */
    uint32_t tried[CHANCE_BITS];   /* hashes of those that fit */
    bool rows_differ;
};

/* Of few key groups more rows are needed. */
static unsigned rows_that_tell(uint32_t key_group_count)
{
    unsigned bits = 1;

    while (bits < CHANCE_BITS && key_group_count >> (bits + 1) != 0)
        bits++;
    return (CHANCE_BITS + bits - 1) / bits;
}

struct flink_entry_check *flink_entry_check_new(const struct flink_states *states,
                                                uint32_t key_group_count)
{
    struct flink_entry_check *c = mem_calloc(1, sizeof *c);

    c->states = states;
    c->key_group_count = key_group_count;
    c->rows_tried = rows_that_tell(key_group_count);
    c->arena = arena_new(0);
    return c;
}

void flink_entry_check_free(struct flink_entry_check *c)
{
    if (c == NULL)
        return;
    arena_free(c->arena);
    mem_free(c);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void put_shown(const struct flink_value *v, const char *what, struct buf *out)
{
    struct buf text = {0};

    flink_value_json(v, &text);
    buf_printf(out, ", %s ", what);
    if (text.len <= SHOWN_MAX)
        buf_append(out, text.data, text.len);
    else
        buf_append_escaped(out, buf_bytes(&text), SHOWN_MAX); /* which may cut a letter */
    buf_release(&text);
}

static void put_raw(struct bytes b, struct buf *out)
{
    size_t shown = b.len < SHOWN_MAX / 2 ? b.len : SHOWN_MAX / 2;

    buf_append_str(out, ", key 0x");
    for (size_t i = 0; i < shown; i++)
        buf_printf(out, "%02x", b.data[i]);
    if (shown < b.len)
        buf_append_str(out, "...");
}

/* `state "x", key group 5, key "abc"`; key NULL: it cannot be read. In the entry's arena. */
static const char *place(struct flink_entry_check *c, const struct flink_state *s,
                         struct bytes bytes, const struct flink_key *key)
{
    uint32_t prefix_len = keygroup_prefix_len(c->key_group_count);
    struct buf text = {0};
    const char *kept;

    buf_printf(&text, "state \"%s\"", arena_escaped(c->arena, s->name, SHOWN_MAX));
    if (bytes.len >= prefix_len)
        buf_printf(&text, ", key group %u", keygroup_get_prefix(bytes.data, prefix_len));
    if (key == NULL)
        put_raw(bytes, &text);
    else
        put_shown(&key->key, "key", &text);
    if (key != NULL && key->namespace.kind != FLINK_VALUE_NULL)
        put_shown(&key->namespace, "namespace", &text);
    if (key != NULL && key->has_user_key)
        put_shown(&key->user_key, "map key", &text);
    kept = arena_strdup(c->arena, buf_cstr(&text));
    buf_release(&text);
    return kept;
}

static enum flink_verdict unreadable(struct flink_entry_check *c, const struct flink_state *s,
                                     struct bytes bytes, const struct flink_key *key, enum rc rc,
                                     struct err *why)
{
    (void)!err_wrap(why, rc, "%s", place(c, s, bytes, key));
    if (rc != RC_CORRUPT)
        return FLINK_ENTRY_UNTOLD;
    return key == NULL ? FLINK_ENTRY_KEY : FLINK_ENTRY_VALUE;
}

/* ---- an entry -------------------------------------------------------------------------------- */

static void note_row(struct flink_entry_check *c, uint32_t hash, bool fits)
{
    c->rows_differ = !fits;
    for (unsigned i = 0; i < c->rows_fit; i++)
        if (c->tried[i] == hash)
            return;
    c->tried[c->rows_fit++] = hash;
}

/* false: its hash is its own class's affair. */
static bool group_of(struct flink_entry_check *c, const struct flink_key *key, uint32_t *group)
{
    bool row = flink_serializer_bare(c->states->key)->coding == FLINK_ROW_DATA;
    uint32_t hash;

    if (row && (c->rows_differ || !flink_key_row_hash(key, &hash)))
        return false;
    if (!row && !flink_hash(c->states->key, &key->key, &hash))
        return false;
    *group = keygroup_of_hash(hash, c->key_group_count);
    if (row && c->rows_fit < c->rows_tried) {
        note_row(c, hash, *group == key->key_group);
        return false;
    }
    return true;
}

enum flink_verdict flink_entry_check(struct flink_entry_check *c, const struct flink_state *s,
                                     struct bytes key, const struct bytes *value, struct err *why)
{
    struct flink_entry entry;
    struct flink_key read;
    uint32_t group;
    enum rc rc;

    arena_reset(c->arena);
    rc = flink_key_read(c->states, s, keygroup_prefix_len(c->key_group_count), key, c->arena, &read,
                        why);
    if (rc != RC_OK)
        return unreadable(c, s, key, NULL, rc, why);
    if (!read.opaque && group_of(c, &read, &group) && group != read.key_group) {
        (void)!err_set(why, RC_CORRUPT,
                       "%s: it lies where Flink would never find it, and belongs in key group %u",
                       place(c, s, key, &read), group);
        return FLINK_ENTRY_GROUP;
    }
    rc = value == NULL ? RC_OK : flink_entry_read(s, *value, c->arena, &entry, why);
    return rc == RC_OK ? FLINK_ENTRY_FINE : unreadable(c, s, key, &read, rc, why);
}
