/* expr_eval.c - walks a bound expression over a batch: columns, constants, and the nodes that
 * choose which rows reach which operand. See expr_priv.h. */
#include "job/sql/expr_priv.h"

#define ARENA_CHUNK                                                                                \
    (1u << 20) /* the temporaries of most expressions over 4096 rows: kept from batch to batch */

struct expr_eval *expr_eval_new(struct clock *clock, const char *time_zone, struct err *err)
{
    struct expr_eval *ev = mem_calloc(1, sizeof *ev);

    /* The database of time zones is part of the system, not of the job's storage: always read from
     * the real disk. */
    if (zone_open(fs_posix(), time_zone == NULL ? "UTC" : time_zone, &ev->zone, err) != RC_OK) {
        mem_free(ev);
        return NULL;
    }
    ev->arena = arena_new(ARENA_CHUNK);
    ev->zones_arena = arena_new(0);
    ev->clock = clock;
    return ev;
}

void expr_eval_free(struct expr_eval *ev)
{
    if (ev == NULL)
        return;
    for (struct named_zone *z = ev->zones; z != NULL; z = z->next)
        zone_free(z->zone);
    if (ev->upper_lower != (locale_t)0)
        freelocale(ev->upper_lower);
    zone_free(ev->zone);
    arena_free(ev->zones_arena);
    arena_free(ev->arena);
    mem_free(ev);
}

void expr_eval_reset(struct expr_eval *ev)
{
    arena_reset(ev->arena);
    ev->has_now = false;
}

int64_t eval_now_ms(struct expr_eval *ev)
{
    if (!ev->has_now)
        ev->now_ms = clock_wall_ms(ev->clock);
    ev->has_now = true;
    return ev->now_ms;
}

#define NAMED_ZONES_MAX                                                                            \
    1000u /* more names than the database has: only made-up fixed offsets get there */

enum rc eval_zone(struct expr_eval *ev, struct bytes name, const struct zone **out, struct err *err)
{
    struct named_zone *z;
    uint32_t count = 0;
    char copy[80];

    for (z = ev->zones; z != NULL; z = z->next, count++) {
        if (bytes_eq(bytes_of_str(z->name), name)) {
            *out = z->zone;
            return RC_OK;
        }
    }
    if (name.len >= sizeof copy || memchr(name.data, 0, name.len) != NULL)
        return err_set(err, RC_INVALID, "unknown time zone %s", text_quote(name, copy));
    if (count >= NAMED_ZONES_MAX)
        return err_set(err, RC_LIMIT, "more than %u different time zones", NAMED_ZONES_MAX);
    memcpy(copy, name.data, name.len);
    copy[name.len] = '\0';
    z = ARENA_NEW(ev->zones_arena, struct named_zone);
    RETURN_IF_ERR(zone_open(fs_posix(), copy, &z->zone, err));
    z->name = arena_strdup(ev->zones_arena, copy);
    z->next = ev->zones;
    ev->zones = z;
    *out = z->zone;
    return RC_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void eval_column(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                        struct vec *out)
{
    const struct column *c = &r->in->columns[e->column];

    if (r->sel != NULL) {
        vec_gather(ev, c, r->sel, r->n, out);
    } else {
        out->c = *c;
        out->single = false;
    }
    out->c.type = e->type;
}

#define ARGS_INLINE 6

static enum rc eval_call(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                         struct vec *out, struct err *err)
{
    struct vec inline_args[ARGS_INLINE], *args = inline_args;
    struct call c = {.ev = ev, .e = e, .err = err, .n = 1};
    bool single = true;

    if (e->arg_count > ARGS_INLINE)
        args = scratch(ev, e->arg_count * sizeof *args);
    for (uint32_t i = 0; i < e->arg_count; i++) {
        RETURN_IF_ERR(eval_node(ev, e->args[i], r, &args[i], err));
        single &= args[i].single;
    }
    c.args = args;
    c.out.single = single;
    if (!single)
        c.n = r->n;
    if (e->kind == NODE_CAST)
        RETURN_IF_ERR(cast_eval(&c));
    else if (e->kind == NODE_IN)
        RETURN_IF_ERR(set_eval(&c));
    else if (e->func->kernel != NULL)
        RETURN_IF_ERR(e->func->kernel(&c));
    else
        RETURN_IF_ERR(call_rows(&c, e->func->row, (e->func->flags & FUNC_LENIENT) == 0));
    *out = c.out;
    return RC_OK;
}

/* Words of a BOOLEAN vector over n rows; constants spread. */
struct truth {
    const uint64_t *is_true, *present; /* present NULL: all */
};

static struct truth truth_of(struct expr_eval *ev, struct vec *v, uint32_t n)
{
    vec_expand(ev, v, n);
    return (struct truth){v->c.values, v->c.validity};
}

static uint64_t present_word(const struct truth *t, size_t w)
{
    return t->present == NULL ? ~0ull : t->present[w];
}

/* Rows that the left side does not decide: AND goes on where it is not FALSE, OR where it is not
 * TRUE. */
static uint32_t undecided(const struct truth *t, bool is_and, const struct rows *r, uint32_t *sel,
                          uint32_t *pos)
{
    uint32_t count = 0;

    for (size_t w = 0; w < bit_words(r->n); w++) {
        uint64_t value = t->is_true[w], present = present_word(t, w);
        uint64_t go = is_and ? value | ~present : ~(value & present);

        while (go != 0) {
            uint32_t i = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(go);

            go &= go - 1;
            if (i >= r->n)
                break;
            pos[count] = i;
            sel[count++] = r->sel == NULL ? i : r->sel[i];
        }
    }
    return count;
}

/* TRUE where both (AND) or either (OR) is; null where neither decides. */
static void combine(struct expr_eval *ev, bool is_and, const struct truth *x, const struct truth *y,
                    uint32_t n, struct vec *out)
{
    size_t words = bit_words(n) + (n == 0);
    uint64_t *value = scratch(ev, words * 8), *present = scratch(ev, words * 8), all = ~0ull;

    for (size_t w = 0; w < bit_words(n); w++) {
        uint64_t xp = present_word(x, w), yp = present_word(y, w);
        uint64_t xt = x->is_true[w] & xp, xf = ~x->is_true[w] & xp;
        uint64_t yt = y->is_true[w] & yp, yf = ~y->is_true[w] & yp;

        value[w] = is_and ? xt & yt : xt | yt;
        present[w] = value[w] | (is_and ? xf | yf : xf & yf);
        all &= present[w];
    }
    *out = (struct vec){.c = {.type = type_of(TYPE_BOOLEAN), .values = value}};
    if (all != ~0ull) /* bits past n may look absent: then there is only a needless bitmap */
        out->c.validity = present;
}

static enum rc eval_and_or(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                           struct vec *out, struct err *err)
{
    bool is_and = e->kind == NODE_AND;
    struct vec left, right;
    struct truth x, y;
    uint32_t *sel, *pos, count;
    struct rows sub = *r;

    RETURN_IF_ERR(eval_node(ev, e->args[0], r, &left, err));
    x = truth_of(ev, &left, r->n);
    if (!e->args[1]->fallible) { /* cheaper for all rows than picking some */
        RETURN_IF_ERR(eval_node(ev, e->args[1], r, &right, err));
        y = truth_of(ev, &right, r->n);
        combine(ev, is_and, &x, &y, r->n, out);
        return RC_OK;
    }
    sel = scratch(ev, (size_t)r->n * sizeof *sel);
    pos = scratch(ev, (size_t)r->n * sizeof *pos);
    count = undecided(&x, is_and, r, sel, pos);
    if (count == 0) {
        *out = left;
        return RC_OK;
    }
    if (count < r->n) {
        sub.sel = sel;
        sub.n = count;
    }
    RETURN_IF_ERR(eval_node(ev, e->args[1], &sub, &right, err));
    y = truth_of(ev, &right, sub.n);
    if (count < r->n) { /* back to their places; elsewhere the left side has decided */
        size_t words = bit_words(r->n);
        uint64_t *value = arena_calloc(ev->arena, words, 8), *present = scratch(ev, words * 8);

        memset(present, 0xff, words * 8);
        for (uint32_t k = 0; k < count; k++) {
            if (bit_get(y.is_true, k))
                bit_set(value, pos[k]);
            if (y.present != NULL && !bit_get(y.present, k))
                bit_clear(present, pos[k]);
        }
        y = (struct truth){value, present};
        /* A skipped row must not turn "decided" into null or change it: FALSE AND FALSE, TRUE OR
         * FALSE. */
    }
    combine(ev, is_and, &x, &y, r->n, out);
    return RC_OK;
}

/* Evaluates `e` for the rows pos[0..count) of r into *piece, and enters piece number `id` for them
 * into which and at. */
static enum rc eval_piece(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                          const uint32_t *pos, uint32_t count, uint16_t id, struct vec *piece,
                          uint16_t *which, uint32_t *at, struct err *err)
{
    struct rows sub = *r;
    bool all = count == r->n || (!e->fallible && (e->kind == NODE_COLUMN || e->kind == NODE_CONST));

    if (!all) {
        uint32_t *sel = scratch(ev, (size_t)count * sizeof *sel);

        for (uint32_t k = 0; k < count; k++)
            sel[k] = r->sel == NULL ? pos[k] : r->sel[pos[k]];
        sub.sel = sel;
        sub.n = count;
    }
    RETURN_IF_ERR(eval_node(ev, e, &sub, piece, err));
    for (uint32_t k = 0; k < count; k++) {
        which[pos[k]] = id;
        at[pos[k]] = all ? pos[k] : k;
    }
    return RC_OK;
}

static uint32_t *all_positions(struct expr_eval *ev, uint32_t n)
{
    uint32_t *pos = scratch(ev, (size_t)n * sizeof *pos);

    for (uint32_t i = 0; i < n; i++)
        pos[i] = i;
    return pos;
}

/* The values of all rows from those of each branch. */
static void join_pieces(struct expr_eval *ev, const struct expr *e, uint32_t n, const struct vec *pieces,
                        uint32_t count, const uint16_t *which, const uint32_t *at, struct vec *out)
{
    if (count == 1)
        *out = pieces[0]; /* all rows went one way */
    else
        vec_merge(ev, e->type, n, pieces, which, at, out);
    out->c.type = e->type;
}

static enum rc eval_case(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                         struct vec *out, struct err *err)
{
    uint32_t n = r->n, left = n, *open = all_positions(ev, n);
    uint16_t *which = scratch(ev, (size_t)n * sizeof *which);
    uint32_t *at = scratch(ev, (size_t)n * sizeof *at);
    uint32_t *hit = scratch(ev, (size_t)n * sizeof *hit);
    uint32_t *sel = scratch(ev, (size_t)n * sizeof *sel);
    struct vec *pieces = scratch(ev, (e->arg_count / 2 + 1) * sizeof *pieces);
    uint32_t piece = 0;

    for (uint32_t w = 0; w + 1 < e->arg_count && left > 0; w += 2) {
        struct vec cond;
        struct rows sub = *r;
        uint32_t hits = 0, rest = 0;

        if (left < n) {
            for (uint32_t k = 0; k < left; k++)
                sel[k] = r->sel == NULL ? open[k] : r->sel[open[k]];
            sub.sel = sel;
            sub.n = left;
        }
        RETURN_IF_ERR(eval_node(ev, e->args[w], &sub, &cond, err));
        for (uint32_t k = 0; k < left; k++) {
            if (!vec_null(&cond, k) && vec_bool(&cond, k))
                hit[hits++] = open[k];
            else
                open[rest++] = open[k];
        }
        left = rest;
        if (hits > 0) {
            RETURN_IF_ERR(eval_piece(ev, e->args[w + 1], r, hit, hits, (uint16_t)piece,
                                     &pieces[piece], which, at, err));
            piece++;
        }
    }
    if (left > 0) {
        RETURN_IF_ERR(eval_piece(ev, e->args[e->arg_count - 1], r, open, left, (uint16_t)piece,
                                 &pieces[piece], which, at, err));
        piece++;
    }
    join_pieces(ev, e, n, pieces, piece, which, at, out);
    return RC_OK;
}

static enum rc eval_coalesce(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                             struct vec *out, struct err *err)
{
    uint32_t n = r->n, left = n, *open = all_positions(ev, n), piece = 0;
    uint16_t *which = scratch(ev, (size_t)n * sizeof *which);
    uint32_t *at = scratch(ev, (size_t)n * sizeof *at);
    struct vec *pieces = scratch(ev, e->arg_count * sizeof *pieces);

    for (uint32_t a = 0; a < e->arg_count && left > 0; a++) {
        uint32_t rest = 0;

        RETURN_IF_ERR(eval_piece(ev, e->args[a], r, open, left, (uint16_t)piece, &pieces[piece],
                                 which, at, err));
        for (uint32_t k = 0; k < left; k++) {
            if (vec_null(&pieces[piece], at[open[k]]))
                open[rest++] = open[k];
        }
        left = rest;
        piece++;
    }
    join_pieces(ev, e, n, pieces, piece, which, at, out);
    return RC_OK;
}

static enum rc eval_require(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                            struct vec *out, struct err *err)
{
    RETURN_IF_ERR(eval_node(ev, e->args[0], r, out, err));
    for (uint32_t i = 0; out->c.validity != NULL && i < (out->single ? 1 : r->n); i++) {
        if (vec_null(out, i))
            return err_set(
                err, RC_INVALID,
                "column '%s' is NOT NULL, however, a null value is being written into it", e->what);
    }
    out->c.type = e->type;
    return RC_OK;
}

enum rc eval_node(struct expr_eval *ev, const struct expr *e, const struct rows *r, struct vec *out,
                  struct err *err)
{
    switch (e->kind) {
    case NODE_COLUMN:
        eval_column(ev, e, r, out);
        return RC_OK;
    case NODE_CONST:
        *out = e->value;
        return RC_OK;
    case NODE_AND:
    case NODE_OR:
        return eval_and_or(ev, e, r, out, err);
    case NODE_CASE:
        return eval_case(ev, e, r, out, err);
    case NODE_COALESCE:
        return eval_coalesce(ev, e, r, out, err);
    case NODE_REQUIRE:
        return eval_require(ev, e, r, out, err);
    case NODE_CALL:
    case NODE_CAST:
    case NODE_IN:
        return eval_call(ev, e, r, out, err);
    }
    return RC_OK;
}

/* ---- entry points ---------------------------------------------------------------------------- */

enum rc expr_evaluate(struct expr_eval *ev, const struct expr *e, const struct batch *in,
                      const uint32_t *sel, uint32_t n, struct column *out, struct err *err)
{
    struct rows r = {in, sel, n};
    struct vec v;

    if (n == 0) { /* constants must not fail for rows that are not there */
        struct call c = {.ev = ev};

        out_begin(&c, e->type, 0, false);
        *out = c.out.c;
        return RC_OK;
    }
    RETURN_IF_ERR(eval_node(ev, e, &r, &v, err));
    vec_expand(ev, &v, n);
    *out = v.c;
    out->type = e->type;
    return RC_OK;
}

static enum rc filter(struct expr_eval *ev, const struct expr *e, const struct rows *r,
                      uint32_t *out_sel, uint32_t *out_n, struct err *err)
{
    struct vec v;
    struct truth t;
    uint32_t count = 0;

    if (e->kind == NODE_AND) { /* what the first lets pass meets the second */
        struct rows rest = {r->in, NULL, 0};
        uint32_t *kept = scratch(ev, ((size_t)r->n + 1) * sizeof *kept);

        RETURN_IF_ERR(filter(ev, e->args[0], r, kept, &rest.n, err));
        rest.sel = kept;
        if (rest.n == 0) {
            *out_n = 0;
            return RC_OK;
        }
        return filter(ev, e->args[1], &rest, out_sel, out_n, err);
    }
    RETURN_IF_ERR(eval_node(ev, e, r, &v, err));
    t = truth_of(ev, &v, r->n);
    for (size_t w = 0; w < bit_words(r->n); w++) {
        uint64_t yes = t.is_true[w] & present_word(&t, w);

        if (w == r->n / 64)
            yes &= (1ull << (r->n % 64)) - 1;
        while (yes != 0) {
            uint32_t i = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(yes);

            yes &= yes - 1;
            out_sel[count++] = r->sel == NULL ? i : r->sel[i];
        }
    }
    *out_n = count;
    return RC_OK;
}

enum rc expr_filter(struct expr_eval *ev, const struct expr *e, const struct batch *in,
                    const uint32_t *sel, uint32_t n, uint32_t *out_sel, uint32_t *out_n,
                    struct err *err)
{
    struct rows r = {in, sel, n};

    ASSERT(e->type.kind == TYPE_BOOLEAN);
    *out_n = 0;
    if (n == 0)
        return RC_OK;
    return filter(ev, e, &r, out_sel, out_n, err);
}
