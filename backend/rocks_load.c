#include "backend/rocks_load.h"

#include "backend/rocks_backend_priv.h"
#include "base/queue.h"

#define BATCH_ROWS 2048u
#define BATCH_BYTES (1u << 20)
#define BATCHES_WAITING 8u
#define BATCHES_A_STEP 8u
#define STEP_MOST_NS (20 * NS_PER_MS) /* that a batch of the task waits for its rows to come */

struct load_item { /* a state; lives as long as the load */
    struct core_state *state;
    struct rocks_cf *cf;
    const struct row_cache *cache; /* that of the state when it was added: for comparison */
    size_t row_bytes;              /* that a row takes beside its key and value */
    atomic_bool given_up;          /* by the task: what is read is thrown away */
};
/* Rows of one state. The last one of a state has `last`, the first one what is to be expected. */
struct load_batch {
    struct load_item *item;
    uint64_t expected;
    bool last, all; /* all: the scan came to its end */
    uint32_t count;
    struct buf keys, values;
    uint32_t offsets[BATCH_ROWS + 1];
    struct bytes value_at[BATCH_ROWS];
};
struct load {
    struct rocks_backend *backend;
    struct spsc *batches; /* reader -> task */
    uint32_t open;        /* task's: states whose last batch has not come */
    uint64_t rows;        /* task's */
    int64_t owed_ns;      /* task's: what lookups took since the last step */
    uint64_t planned;     /* reader's: bytes of rows of the states that fitted */

    struct mutex mutex; /* over what follows */
    struct cond changed;
    struct load_item **items; /* added; the first `begun` have been taken up */
    size_t item_count, begun;
    bool reader_waits; /* for room in the queue */
    bool reading;      /* a state: rows are on their way */
};

struct load *load_new(struct rocks_backend *b)
{
    struct load *l = mem_calloc(1, sizeof *l);

    l->backend = b;
    l->batches = spsc_new(BATCHES_WAITING);
    mutex_init(&l->mutex);
    cond_init(&l->changed);
    return l;
}

static void batch_free(struct load_batch *b)
{
    buf_release(&b->keys);
    buf_release(&b->values);
    mem_free(b);
}

void load_free(struct load *l)
{
    struct load_batch *b;

    if (l == NULL)
        return;
    while ((b = spsc_try_pop(l->batches)) != NULL)
        batch_free(b);
    spsc_free(l->batches);
    for (size_t i = 0; i < l->item_count; i++)
        mem_free(l->items[i]);
    mem_free(l->items);
    cond_release(&l->changed);
    mutex_release(&l->mutex);
    mem_free(l);
}

uint64_t load_rows(const struct load *l)
{
    return l->rows;
}

/* ---- the task -------------------------------------------------------------------------------- */

void load_add(struct load *l, struct core_state *s)
{
    struct load_item *item = mem_calloc(1, sizeof *item);

    item->state = s;
    item->cf = below_of(s)->cf;
    item->cache = s->cache;
    item->row_bytes = row_cache_row_bytes(s->cache);
    row_cache_load_begin(s->cache);
    l->open++;
    mutex_lock(&l->mutex);
    l->items = mem_realloc(l->items, (l->item_count + 1) * sizeof *l->items);
    l->items[l->item_count++] = item;
    mutex_unlock(&l->mutex);
}

void load_wake(struct load *l)
{
    mutex_lock(&l->mutex);
    cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
}

void load_owe(struct load *l, int64_t lookup_ns)
{
    l->owed_ns = l->open > 0 ? l->owed_ns + lookup_ns : 0;
}

/* A batch that lies there, or comes before `until`; NULL: none. */
static struct load_batch *take_batch(struct load *l, int64_t until)
{
    struct clock *clock = l->backend->core.env->clock;
    struct load_batch *b = spsc_try_pop(l->batches);

    mutex_lock(&l->mutex);
    while (b == NULL && l->reading && (b = spsc_try_pop(l->batches)) == NULL) {
        int64_t left = until - clock_mono_ns(clock);

        if (left <= 0 || !cond_wait_ns(&l->changed, &l->mutex, left))
            break;
    }
    if (l->reader_waits)
        cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
    return b;
}

/* Rows into the cache, as long as there is room. */
static enum rc take_in(struct load *l, struct load_batch *b, struct err *err)
{
    struct core_state *s = b->item->state;
    struct key_batch keys = {b->count, b->keys.data, b->offsets};
    bool loading = b->item->cache == s->cache;
    enum rc rc = RC_OK;

    if (b->expected > 0 && loading)
        row_cache_load_expect(s->cache, b->expected);
    if (row_group_bytes(l->backend->core.rows) + row_cache_need(s->cache, &keys, b->value_at) >
        keyed_memory_plan(l->backend->memory)->row_bytes)
        row_cache_load_end(s->cache);
    if (loading)
        rc = row_cache_load(s->cache, &keys, b->value_at, &loading, err);
    if (rc == RC_OK && loading)
        l->rows += b->count;
    else
        atomic_store(&b->item->given_up, true);
    if (!b->last)
        return rc;
    if (loading && b->all)
        below_of(s)->complete = true;
    if (b->item->cache == s->cache)
        row_cache_load_end(s->cache);
    l->open--;
    return rc;
}

enum rc load_step(struct load *l, struct err *err)
{
    struct clock *clock = l->backend->core.env->clock;
    int64_t until;

    if (l->open == 0)
        return RC_OK;
    until = clock_mono_ns(clock) + (l->owed_ns < STEP_MOST_NS ? l->owed_ns : STEP_MOST_NS);
    l->owed_ns = 0;
    for (uint32_t i = 0; l->open > 0 && (i < BATCHES_A_STEP || clock_mono_ns(clock) < until); i++) {
        struct load_batch *b = take_batch(l, until);
        enum rc rc;

        if (b == NULL)
            break;
        rc = take_in(l, b, err);
        if (rc != RC_OK)
            err_wrap(err, rc, "state %s", b->item->state->desc.name);
        batch_free(b);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* ---- the reading thread ---------------------------------------------------------------------- */

/* Hands the batch over; false: told to stop, it is gone. */
static bool give(struct load *l, struct load_batch *b, const atomic_bool *stop)
{
    bool given = false;

    mutex_lock(&l->mutex);
    while (!atomic_load(stop) && !(given = spsc_try_push(l->batches, b))) {
        l->reader_waits = true;
        cond_wait(&l->changed, &l->mutex);
    }
    l->reader_waits = false;
    cond_broadcast(&l->changed); /* the task may wait for it */
    mutex_unlock(&l->mutex);
    if (!given)
        batch_free(b);
    return given;
}

static struct load_batch *batch_new(struct load_item *item)
{
    struct load_batch *b = mem_alloc(sizeof *b);

    b->item = item;
    b->expected = 0;
    b->last = b->all = false;
    b->count = 0;
    b->offsets[0] = 0;
    b->keys = b->values = (struct buf){0};
    return b;
}

/* Fills the batch; false at the end of the family. */
static bool fill(struct load_batch *b, struct rocks_iter *it, enum rc *rc, struct err *err)
{
    struct bytes key, value;
    bool more = true;

    while (b->count < BATCH_ROWS && b->keys.len + b->values.len < BATCH_BYTES &&
           (more = rocks_iter_next(it, &key, &value, rc, err))) {
        buf_append(&b->keys, key.data, key.len);
        buf_append(&b->values, value.data, value.len);
        b->value_at[b->count].len = value.len;
        b->offsets[++b->count] = (uint32_t)b->keys.len;
    }
    for (size_t i = 0, at = 0; i < b->count; i++) { /* the values hold still now */
        b->value_at[i].data = b->values.data + at;
        at += b->value_at[i].len;
    }
    return more;
}

/* Whether the state's rows find room beside those of the states before it; *rows: how many. */
static enum rc fits(struct load *l, struct load_item *item, bool *fits, uint64_t *rows,
                    struct err *err)
{
    struct rocks_size size;
    uint64_t bytes;

    RETURN_IF_ERR(rocks_cf_size(item->cf, false, &size, err));
    bytes = size.rows * item->row_bytes + size.key_bytes + size.value_bytes;
    *rows = size.rows;
    *fits = l->planned + bytes <= keyed_memory_plan(l->backend->memory)->row_bytes;
    if (*fits)
        l->planned += bytes;
    return RC_OK;
}

static enum rc read_state(struct load *l, struct load_item *item, const atomic_bool *stop,
                          struct err *err)
{
    struct load_batch *b = batch_new(item);
    struct rocks_iter *it = NULL;
    bool more, last;
    enum rc rc;

    rc = fits(l, item, &more, &b->expected, err);
    if (rc == RC_OK && more)
        it = rocks_iter_new(item->cf, (struct bytes){0}, (struct bytes){0});
    for (;;) {
        bool go_on = it != NULL && rc == RC_OK && !atomic_load(&item->given_up);

        more = go_on && fill(b, it, &rc, err);
        b->last = last = !more;
        b->all = go_on && !more && rc == RC_OK;
        if (!give(l, b, stop) || last) /* given, it is the task's, and may be gone */
            break;
        b = batch_new(item);
    }
    rocks_iter_free(it);
    return rc;
}

bool load_pending(struct load *l)
{
    bool pending;

    mutex_lock(&l->mutex);
    pending = l->begun < l->item_count;
    mutex_unlock(&l->mutex);
    return pending;
}

enum rc load_run(struct load *l, const atomic_bool *stop, struct err *err)
{
    enum rc rc = RC_OK;

    while (rc == RC_OK && !atomic_load(stop)) {
        struct load_item *item = NULL;

        mutex_lock(&l->mutex);
        if (l->begun < l->item_count)
            item = l->items[l->begun++];
        l->reading = item != NULL;
        cond_broadcast(&l->changed);
        mutex_unlock(&l->mutex);
        if (item == NULL)
            break;
        rc = read_state(l, item, stop, err);
    }
    mutex_lock(&l->mutex);
    l->reading = false;
    cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
    return rc;
}
