/* flink_import_order.c - see flink_import_order.h: an order and an answer as bytes. Texts are a varint
 * length and their bytes, numbers varints. */
#include "checkpoint/flink/flink_import_order.h"

/* ---- put ------------------------------------------------------------------------------------- */

static void put_bytes(struct buf *out, struct bytes b)
{
    buf_append_varint(out, b.len);
    buf_append(out, b.data, b.len);
}

static void put_text(struct buf *out, const char *text)
{
    put_bytes(out, bytes_of_str(text));
}

static void put_state(struct buf *out, const struct state_desc *d)
{
    put_text(out, d->name);
    buf_append_varint(out, d->kind);
    put_text(out, d->key_type);
    put_text(out, d->namespace_type);
    put_text(out, d->user_key_type);
    put_text(out, d->value_type);
    buf_append_varint(out, d->fixed_value_bytes);
    buf_append_varint(out, d->ttl_ms);
    put_text(out, d->operand_operator);
    buf_append_varint(out, d->operand_version);
}

void import_order_put(const struct import_order *o, struct buf *out)
{
    put_text(out, o->dir);
    put_text(out, o->below);
    buf_append_varint(out, o->look_only);
    buf_append_varint(out, o->allow_non_restored);
    put_text(out, o->mapping_path);
    put_bytes(out, o->mapping);
    buf_append_varint(out, o->rebase.count);
    for (size_t i = 0; i < o->rebase.count; i++) {
        put_text(out, o->rebase.rules[i].from);
        put_text(out, o->rebase.rules[i].to);
    }
    buf_append_varint(out, o->setting_count);
    for (size_t i = 0; i < o->setting_count; i++) {
        put_text(out, o->settings[i].key);
        put_text(out, o->settings[i].value);
    }
    buf_append_varint(out, o->operator_count);
    for (size_t i = 0; i < o->operator_count; i++) {
        const struct import_operator *op = &o->operators[i];

        put_text(out, op->id);
        put_text(out, op->uid);
        put_text(out, op->name);
        buf_append_varint(out, op->state_count);
        for (size_t s = 0; s < op->state_count; s++)
            put_state(out, &op->states[s]);
    }
}

static void put_lines(struct buf *out, const char **lines, size_t count)
{
    buf_append_varint(out, count);
    for (size_t i = 0; i < count; i++)
        put_text(out, lines[i]);
}

void import_answer_put(const struct import_answer *a, struct buf *out)
{
    buf_append_varint(out, a->rc);
    put_text(out, a->message);
    put_lines(out, a->dropped, a->dropped_count);
    put_lines(out, a->converted, a->converted_count);
    put_text(out, a->written);
    put_bytes(out, a->tree);
}

/* ---- get ------------------------------------------------------------------------------------- */

struct getting {
    struct reader r;
    struct arena *arena;
    struct err *err;
};

static enum rc get_bytes(struct getting *g, struct bytes *out, const char *field)
{
    RETURN_IF_ERR(reader_blob(&g->r, out, field, g->err));
    *out = arena_bytes_copy(g->arena, *out);
    return RC_OK;
}

static enum rc get_text(struct getting *g, const char **out, const char *field)
{
    struct bytes b;

    RETURN_IF_ERR(reader_blob(&g->r, &b, field, g->err));
    if (b.len > 0 && memchr(b.data, 0, b.len) != NULL)
        return err_set(g->err, RC_CORRUPT, "%s: %s: a text with a byte 0", g->r.what, field);
    *out = arena_strndup(g->arena, (const char *)b.data, b.len);
    return RC_OK;
}

static enum rc get_number(struct getting *g, uint64_t most, uint64_t *out, const char *field)
{
    RETURN_IF_ERR(reader_varint(&g->r, out, field, g->err));
    return *out <= most ? RC_OK
                        : err_set(g->err, RC_CORRUPT, "%s: %s is %llu, at most %llu", g->r.what,
                                  field, (unsigned long long)*out, (unsigned long long)most);
}

/* Each of them takes a byte at least, so that no count makes more room than there are bytes. */
static enum rc get_count(struct getting *g, size_t *out, const char *field)
{
    uint64_t n;

    RETURN_IF_ERR(get_number(g, reader_left(&g->r), &n, field));
    *out = (size_t)n;
    return RC_OK;
}

static enum rc get_flag(struct getting *g, bool *out, const char *field)
{
    uint64_t n;

    RETURN_IF_ERR(get_number(g, 1, &n, field));
    *out = n == 1;
    return RC_OK;
}

static enum rc get_state(struct getting *g, struct state_desc *d)
{
    uint64_t kind, fixed, version;

    RETURN_IF_ERR(get_text(g, &d->name, "state"));
    RETURN_IF_ERR(get_number(g, STATE_TIMER, &kind, "kind"));
    RETURN_IF_ERR(get_text(g, &d->key_type, "key type"));
    RETURN_IF_ERR(get_text(g, &d->namespace_type, "namespace type"));
    RETURN_IF_ERR(get_text(g, &d->user_key_type, "map key type"));
    RETURN_IF_ERR(get_text(g, &d->value_type, "value type"));
    RETURN_IF_ERR(get_number(g, STATE_FIXED_BYTES_MAX, &fixed, "size of a value"));
    RETURN_IF_ERR(get_number(g, UINT64_MAX, &d->ttl_ms, "time-to-live"));
    RETURN_IF_ERR(get_text(g, &d->operand_operator, "operator of operands"));
    RETURN_IF_ERR(get_number(g, UINT32_MAX, &version, "version of operands"));
    if (kind == 0)
        return err_set(g->err, RC_CORRUPT, "%s: state %s of kind 0", g->r.what, d->name);
    d->kind = (enum state_kind)kind;
    d->fixed_value_bytes = (uint32_t)fixed;
    d->operand_version = (uint32_t)version;
    return RC_OK;
}

static enum rc get_rebase(struct getting *g, struct rebase *out)
{
    struct rebase_rule *rules;

    RETURN_IF_ERR(get_count(g, &out->count, "rules"));
    out->rules = rules = ARENA_ARRAY(g->arena, out->count, struct rebase_rule);
    for (size_t i = 0; i < out->count; i++) {
        RETURN_IF_ERR(get_text(g, &rules[i].from, "from"));
        RETURN_IF_ERR(get_text(g, &rules[i].to, "to"));
    }
    return RC_OK;
}

static enum rc get_operator(struct getting *g, struct import_operator *op)
{
    struct state_desc *states;

    RETURN_IF_ERR(get_text(g, &op->id, "operator id"));
    if (strlen(op->id) != OPERATOR_ID_LEN ||
        strspn(op->id, "0123456789abcdef") != OPERATOR_ID_LEN)
        return err_set(g->err, RC_CORRUPT, "%s: operator id \"%.64s\"", g->r.what, op->id);
    RETURN_IF_ERR(get_text(g, &op->uid, "uid"));
    RETURN_IF_ERR(get_text(g, &op->name, "operator"));
    RETURN_IF_ERR(get_count(g, &op->state_count, "states"));
    op->states = states = ARENA_ARRAY(g->arena, op->state_count, struct state_desc);
    for (size_t s = 0; s < op->state_count; s++)
        RETURN_IF_ERR(get_state(g, &states[s]));
    return RC_OK;
}

enum rc import_order_get(struct bytes from, struct arena *arena, struct import_order *out,
                         struct err *err)
{
    struct getting g = {.arena = arena, .err = err};
    struct import_operator *operators;
    struct metadata_pair *settings;

    reader_init(&g.r, from, "order to import");
    RETURN_IF_ERR(get_text(&g, &out->dir, "snapshot"));
    RETURN_IF_ERR(get_text(&g, &out->below, "directory"));
    RETURN_IF_ERR(get_flag(&g, &out->look_only, "look only"));
    RETURN_IF_ERR(get_flag(&g, &out->allow_non_restored, "allow non-restored"));
    RETURN_IF_ERR(get_text(&g, &out->mapping_path, "path of a mapping"));
    RETURN_IF_ERR(get_bytes(&g, &out->mapping, "mapping"));
    RETURN_IF_ERR(get_rebase(&g, &out->rebase));
    RETURN_IF_ERR(get_count(&g, &out->setting_count, "settings"));
    out->settings = settings = ARENA_ARRAY(arena, out->setting_count, struct metadata_pair);
    for (size_t i = 0; i < out->setting_count; i++) {
        RETURN_IF_ERR(get_text(&g, &settings[i].key, "key"));
        RETURN_IF_ERR(get_text(&g, &settings[i].value, "value"));
    }
    RETURN_IF_ERR(get_count(&g, &out->operator_count, "operators"));
    out->operators = operators = ARENA_ARRAY(arena, out->operator_count, struct import_operator);
    for (size_t i = 0; i < out->operator_count; i++)
        RETURN_IF_ERR(get_operator(&g, &operators[i]));
    return reader_end(&g.r, err);
}

static enum rc get_lines(struct getting *g, const char ***out, size_t *count)
{
    RETURN_IF_ERR(get_count(g, count, "lines"));
    *out = ARENA_ARRAY(g->arena, *count, const char *);
    for (size_t i = 0; i < *count; i++)
        RETURN_IF_ERR(get_text(g, &(*out)[i], "line"));
    return RC_OK;
}

enum rc import_answer_get(struct bytes from, struct arena *arena, struct import_answer *out,
                          struct err *err)
{
    struct getting g = {.arena = arena, .err = err};
    uint64_t code;

    reader_init(&g.r, from, "answer of an import");
    RETURN_IF_ERR(get_number(&g, RC_DONE, &code, "code"));
    out->rc = (enum rc)code;
    RETURN_IF_ERR(get_text(&g, &out->message, "message"));
    RETURN_IF_ERR(get_lines(&g, &out->dropped, &out->dropped_count));
    RETURN_IF_ERR(get_lines(&g, &out->converted, &out->converted_count));
    RETURN_IF_ERR(get_text(&g, &out->written, "savepoint"));
    RETURN_IF_ERR(get_bytes(&g, &out->tree, "tree"));
    return reader_end(&g.r, err);
}
