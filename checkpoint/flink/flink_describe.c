/* flink_describe.c - see flink_describe.h */
#include "checkpoint/flink/flink_describe.h"

#include "checkpoint/flink/data_output.h"
#include "checkpoint/flink/flink_sql_type.h"
#include "checkpoint/flink/flink_states.h"

#define PROXY_VERSION 6u

static void put_text(struct buf *out, const char *text)
{
    bool fits = data_put_utf(out, bytes_of_str(text));

    ASSERT(fits); /* names have at most 255 bytes */
}

static void put_option(struct buf *out, const char *key, const char *value)
{
    buf_append_be32(out, 1);
    put_text(out, key);
    put_text(out, value);
}

static void put_named_record(struct buf *out, const char *name, struct bytes snapshot)
{
    put_text(out, name);
    flink_put_record(snapshot, out);
}

/* ---- keyed ----------------------------------------------------------------------------------- */

static enum rc put_type(const char *type, struct buf *out, struct err *err)
{
    buf_clear(out);
    if (strcmp(type, "BYTES") == 0) { /* of namespaces */
        flink_put_snapshot_of_bytes(out);
        return RC_OK;
    }
    return flink_put_sql_type(type, out, err);
}

/* Where the time of a time-to-live is: around the value, the element, the map's value. */
static void wrap_ttl(const struct state_desc *d, struct buf *snapshot)
{
    struct buf inner = *snapshot;

    if (d->ttl_ms == 0)
        return;
    *snapshot = (struct buf){0};
    flink_put_snapshot_of_ttl(buf_bytes(&inner), snapshot);
    buf_release(&inner);
}

static void wrap_kind(const struct state_desc *d, struct bytes user_key, struct buf *snapshot)
{
    struct buf inner = *snapshot;

    if (d->kind != STATE_LIST && d->kind != STATE_MAP)
        return;
    *snapshot = (struct buf){0};
    if (d->kind == STATE_LIST)
        flink_put_snapshot_of_list(buf_bytes(&inner), snapshot);
    else
        flink_put_snapshot_of_map(user_key, buf_bytes(&inner), snapshot);
    buf_release(&inner);
}

static const char *kind_word(enum state_kind kind)
{
    static const char *const words[] = {
        [STATE_VALUE] = "VALUE",       [STATE_LIST] = "LIST",
        [STATE_MAP] = "MAP",           [STATE_REDUCING] = "REDUCING",
        [STATE_AGGREGATING] = "AGGREGATING", [STATE_TIMER] = ""};

    return words[kind];
}

static enum rc put_state(const struct state_desc *d, struct bytes key, struct buf *out,
                         struct err *err)
{
    struct buf namespace = {0}, user_key = {0}, value = {0};
    enum rc rc = RC_OK;

    GOTO_IF_ERR(put_type(d->namespace_type, &namespace, err));
    if (d->kind == STATE_MAP)
        GOTO_IF_ERR(put_type(d->user_key_type, &user_key, err));
    put_text(out, d->name);
    if (d->kind == STATE_TIMER) {
        buf_append_be32(out, FLINK_STATE_TIMERS);
        buf_append_be32(out, 0);
        buf_append_be32(out, 1);
        flink_put_snapshot_of_timer(key, buf_bytes(&namespace), &value);
    } else {
        GOTO_IF_ERR(put_type(d->value_type, &value, err));
        wrap_ttl(d, &value);
        wrap_kind(d, buf_bytes(&user_key), &value);
        buf_append_be32(out, FLINK_STATE_KEYED);
        put_option(out, "KEYED_STATE_TYPE", kind_word(d->kind));
        buf_append_be32(out, 2);
        put_named_record(out, "NAMESPACE_SERIALIZER", buf_bytes(&namespace));
    }
    put_named_record(out, "VALUE_SERIALIZER", buf_bytes(&value));
out:
    buf_release(&namespace);
    buf_release(&user_key);
    buf_release(&value);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "state %s", d->name);
}

enum rc flink_describe_keyed(const struct state_desc *states, size_t count, struct buf *out,
                             struct err *err)
{
    struct buf key = {0};
    enum rc rc;

    ASSERT(count > 0 && count <= FLINK_STATES_MAX);
    GOTO_IF_ERR(flink_put_sql_type(states[0].key_type, &key, err));
    buf_append_be32(out, PROXY_VERSION);
    buf_append_u8(out, 0);
    flink_put_record(buf_bytes(&key), out);
    buf_append_be16(out, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(states[i].key_type, states[0].key_type) != 0)
            rc = err_set(err, RC_UNSUPPORTED, "state %s has keys %s, state %s has %s",
                         states[i].name, states[i].key_type, states[0].name, states[0].key_type);
        if (rc == RC_OK)
            rc = put_state(&states[i], buf_bytes(&key), out, err);
        if (rc != RC_OK)
            break;
    }
out:
    buf_release(&key);
    return rc;
}

/* ---- lists ----------------------------------------------------------------------------------- */

enum flink_mode flink_mode_of(enum list_mode mode)
{
    static const enum flink_mode modes[] = {[LIST_SPLIT] = FLINK_SPLIT_DISTRIBUTE,
                                            [LIST_UNION] = FLINK_UNION,
                                            [LIST_BROADCAST] = FLINK_BROADCAST};

    return modes[mode];
}

static void put_list(const struct list_state *l, struct bytes item, struct bytes number,
                     struct buf *out)
{
    bool broadcast = l->mode == LIST_BROADCAST;

    put_text(out, l->name);
    buf_append_be32(out, broadcast ? FLINK_STATE_BROADCAST : FLINK_STATE_OPERATOR);
    put_option(out, "OPERATOR_STATE_DISTRIBUTION_MODE", flink_mode_str(flink_mode_of(l->mode)));
    buf_append_be32(out, broadcast ? 2 : 1);
    if (broadcast)
        put_named_record(out, "KEY_SERIALIZER", number);
    put_named_record(out, "VALUE_SERIALIZER", item);
}

void flink_describe_lists(const struct list_state *lists, size_t count, struct buf *out)
{
    struct buf item = {0}, number = {0};
    struct err never = {0};
    uint16_t of_kind[2] = {0};

    flink_put_snapshot_of_bytes(&item);
    ASSERT(flink_put_sql_type("INT", &number, &never) == RC_OK);
    for (size_t i = 0; i < count; i++)
        of_kind[lists[i].mode == LIST_BROADCAST]++;
    buf_append_be32(out, PROXY_VERSION);
    buf_append_u8(out, 0);
    for (int broadcast = 0; broadcast < 2; broadcast++) {
        buf_append_be16(out, of_kind[broadcast]);
        for (size_t i = 0; i < count; i++)
            if ((lists[i].mode == LIST_BROADCAST) == broadcast)
                put_list(&lists[i], buf_bytes(&item), buf_bytes(&number), out);
    }
    buf_release(&item);
    buf_release(&number);
}
