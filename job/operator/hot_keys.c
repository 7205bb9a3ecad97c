/* hot_keys.c - see hot_keys.h. After: "Efficient Computation of Frequent and Top-k Elements in Data
 * Streams" (Metwally and others). */
#include "job/operator/hot_keys.h"

#include "base/hash.h"
#include "base/utf8.h"

#include <stdio.h>

#define KEY_BYTES_MAX 1024u        /* longer ones count for their key group alone */
#define SAMPLES_MAX (1u << 16)     /* then all counts are halved */
#define SHOWN_SAMPLES_LEAST 3u     /* of what is shown */
#define SHOWN_SHARE_LEAST 0.001
#define SAID_SAMPLES_LEAST 100u    /* of all, before something is said unasked */
#define SAID_SHARE_LEAST 0.05

void hot_keys_init(struct hot_keys *h, const struct group_key *key)
{
    memset(h, 0, sizeof *h);
    h->key = key;
    h->groups = mem_calloc(key->key_group_count, sizeof *h->groups);
    rng_seed(&h->rng, 43);
}

void hot_keys_release(struct hot_keys *h)
{
    for (uint32_t i = 0; i < HOT_KEYS; i++)
        buf_release(&h->entries[i].key);
    mem_free(h->groups);
    memset(h, 0, sizeof *h);
}

static void halve(struct hot_keys *h)
{
    h->samples /= 2;
    for (uint32_t i = 0; i < h->used; i++) {
        h->entries[i].count /= 2;
        h->entries[i].error /= 2;
    }
    for (uint32_t i = 0; i < h->key->key_group_count; i++)
        h->groups[i] /= 2;
}

/* The entry to count a key in: its own, an unused one, or the rarest's. */
static struct hot_entry *entry_of(struct hot_keys *h, uint64_t hash, struct bytes key,
                                  uint32_t group)
{
    struct hot_entry *least = &h->entries[0];

    for (uint32_t i = 0; i < h->used; i++) {
        if (h->entries[i].hash == hash)
            return &h->entries[i];
        if (h->entries[i].count < least->count)
            least = &h->entries[i];
    }
    if (h->used < HOT_KEYS)
        least = &h->entries[h->used++];
    least->hash = hash;
    least->group = group;
    least->error = least->count;
    buf_clear(&least->key);
    buf_append(&least->key, key.data, key.len);
    return least;
}

static void take(struct hot_keys *h, struct bytes key)
{
    struct key_parts parts;

    if (key_split(key, h->key->key_group_count, h->key->ns, &parts, NULL) != RC_OK)
        return; /* whoever uses it says so */
    if (h->samples == SAMPLES_MAX)
        halve(h);
    h->samples++;
    h->groups[parts.group]++;
    if (key.len <= KEY_BYTES_MAX)
        entry_of(h, hash64(parts.row), key, parts.group)->count++;
}

void hot_keys_sample(struct hot_keys *h, const struct key_batch *keys)
{
    uint32_t i = h->skip;

    while (i < keys->count) {
        take(h, key_batch_at(keys, i));
        i += 1 + (uint32_t)rng_below(&h->rng, 2 * HOT_STRIDE - 1);
    }
    h->skip = i - keys->count;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Where an item with this share goes in a list of HOT_SHOWN, highest first, each of which begins with its
 * share; NULL: not among them. The last one falls out. */
static void *make_room(void *list, uint32_t *count, size_t item_bytes, double share)
{
    char *items = list;
    uint32_t at = *count;

    while (at > 0 && *(const double *)(const void *)(items + (at - 1) * item_bytes) < share)
        at--;
    if (at == HOT_SHOWN)
        return NULL;
    if (*count < HOT_SHOWN)
        ++*count;
    memmove(items + (at + 1) * item_bytes, items + at * item_bytes, (*count - 1 - at) * item_bytes);
    return items + at * item_bytes;
}

static struct hot_key *room_for_key(struct hot_view *v, double share)
{
    return make_room(v->keys, &v->key_count, sizeof v->keys[0], share);
}

static void put_group(struct hot_view *v, uint32_t group, double share)
{
    struct hot_group *g = make_room(v->groups, &v->group_count, sizeof *g, share);

    if (g != NULL)
        *g = (struct hot_group){share, group};
}

static bool is_shown(const struct hot_keys *h, uint32_t count)
{
    return count >= SHOWN_SAMPLES_LEAST && count >= SHOWN_SHARE_LEAST * h->samples;
}

static void write_text(const struct hot_keys *h, const struct hot_entry *e, char out[HOT_TEXT_MAX])
{
    struct batch_builder *b = batch_builder_new(&h->key->schema);
    struct buf text = {0};
    int64_t window;
    uint32_t group;
    struct bytes shown;

    if (group_key_decode(h->key, buf_bytes(&e->key), b, &window, &group, NULL) == RC_OK) {
        batch_row_end(b, ROW_INSERT);
        group_key_print(h->key, batch_builder_view(b)->columns, 0, &text);
    }
    shown = buf_bytes(&text);
    if (shown.len > HOT_TEXT_MAX - 4)
        shown.len = HOT_TEXT_MAX - 4;
    shown.len = utf8_invalid_at(shown); /* a character that is cut, or text that is none */
    snprintf(out, HOT_TEXT_MAX, "%.*s%s", (int)shown.len, (const char *)shown.data,
             shown.len < text.len ? "..." : "");
    buf_release(&text);
    batch_builder_free(b);
}

void hot_keys_view(const struct hot_keys *h, struct hot_view *out)
{
    *out = (struct hot_view){.samples = h->samples};
    for (uint32_t i = 0; i < h->used; i++) {
        const struct hot_entry *e = &h->entries[i];
        double share = (double)(e->count - e->error) / h->samples;
        struct hot_key *k = is_shown(h, e->count - e->error) ? room_for_key(out, share) : NULL;

        if (k == NULL)
            continue;
        *k = (struct hot_key){.share = share, .group = e->group};
        write_text(h, e, k->text);
    }
    for (uint32_t i = 0; i < h->key->key_group_count; i++)
        if (is_shown(h, h->groups[i]))
            put_group(out, i, (double)h->groups[i] / h->samples);
}

void hot_view_add(struct hot_view *to, const struct hot_view *from, uint64_t rows, uint64_t all)
{
    double part = all == 0 ? 0 : (double)rows / (double)all;

    to->samples += from->samples;
    for (uint32_t i = 0; i < from->key_count; i++) {
        double share = from->keys[i].share * part;
        struct hot_key *k = room_for_key(to, share);

        if (k == NULL)
            continue;
        *k = from->keys[i];
        k->share = share;
    }
    for (uint32_t i = 0; i < from->group_count; i++)
        put_group(to, from->groups[i].group, from->groups[i].share * part);
}

const struct hot_key *hot_view_key(const struct hot_view *v)
{
    bool said = v->samples >= SAID_SAMPLES_LEAST && v->key_count > 0 &&
                v->keys[0].share >= SAID_SHARE_LEAST;

    return said ? &v->keys[0] : NULL;
}

const struct hot_group *hot_view_group(const struct hot_view *v, uint32_t groups)
{
    const struct hot_group *g = &v->groups[0];
    double rest;

    if (v->samples < SAID_SAMPLES_LEAST || v->group_count == 0)
        return NULL;
    rest = g->share;
    if (v->key_count > 0 && v->keys[0].group == g->group)
        rest -= v->keys[0].share;
    return g->share >= SAID_SHARE_LEAST && rest * groups >= 2 ? g : NULL;
}

json_t *hot_view_json(const struct hot_view *v)
{
    json_t *keys = json_array(), *groups = json_array();

    for (uint32_t i = 0; i < v->key_count; i++)
        json_array_append_new(keys, json_pack("{s: s, s: i, s: f}", "key", v->keys[i].text,
                                              "key-group", (int)v->keys[i].group, "share",
                                              v->keys[i].share));
    for (uint32_t i = 0; i < v->group_count; i++)
        json_array_append_new(groups, json_pack("{s: i, s: f}", "key-group",
                                                (int)v->groups[i].group, "share",
                                                v->groups[i].share));
    return json_pack("{s: i, s: o, s: o}", "samples", (int)v->samples, "keys", keys, "key-groups",
                     groups);
}
