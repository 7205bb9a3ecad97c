/* shared_registry.c - see shared_registry.h for states and promises. */
#include "checkpoint/shared_registry.h"

#include "base/arena.h"
#include "checkpoint/layout.h"

enum entry_state { RESERVED, PRESENT, CONDEMNED, DELETING };

struct entry {
    struct entry *chain;       /* next in its hash bucket */
    struct entry *prev, *next; /* hand-over queue; self-linked outside it */
    enum entry_state state;
    bool proven; /* this process published or verified it, and it has not been touched since */
    bool doubtful; /* an unlink that was given up may come yet: proof does not last */
    bool delete_failed;  /* CONDEMNED, waits for shared_registry_retry */
    uint32_t publishing; /* SHARED_PUBLISH answers not yet reported back */
    uint32_t use_count, use_cap;
    uint64_t *used_by; /* ids of its owners, each once, in no order */
    uint64_t size_bytes;
    struct digest128 digest;
    char name[];
};
/* A running attempt or a completed checkpoint, and what it uses. */
struct owner {
    uint64_t id;
    bool running;
    struct entry **uses;
    size_t count, cap;
};
struct shared_registry {
    struct entry **buckets;
    size_t bucket_count, entry_count; /* bucket_count: a power of two */
    struct entry *queue; /* head; links only */
    struct owner *owners;
    size_t owner_count, owner_cap;
};

/* ---- entries --------------------------------------------------------------------------------- */

static struct entry **find_slot(const struct shared_registry *reg, const char *name)
{
    size_t at = (size_t)hash64(bytes_of_str(name)) & (reg->bucket_count - 1);
    struct entry **slot = &reg->buckets[at];

    while (*slot != NULL && strcmp((*slot)->name, name) != 0)
        slot = &(*slot)->chain;
    return slot;
}

static void grow(struct shared_registry *reg)
{
    struct entry **old = reg->buckets;
    size_t old_count = reg->bucket_count;

    reg->bucket_count = old_count * 2;
    reg->buckets = mem_calloc(reg->bucket_count, sizeof(struct entry *));
    for (size_t i = 0; i < old_count; i++)
        for (struct entry *e = old[i], *after; e != NULL; e = after) {
            struct entry **slot = find_slot(reg, e->name);

            after = e->chain;
            e->chain = NULL;
            *slot = e;
        }
    mem_free(old);
}

static struct entry *add_entry(struct shared_registry *reg, const char *name, uint64_t size_bytes,
                               struct digest128 digest)
{
    size_t len = strlen(name);
    struct entry *e;

    if (reg->entry_count >= reg->bucket_count)
        grow(reg);
    e = mem_calloc(1, sizeof *e + len + 1);
    e->state = RESERVED;
    e->size_bytes = size_bytes;
    e->digest = digest;
    e->prev = e->next = e;
    memcpy(e->name, name, len + 1);
    *find_slot(reg, name) = e;
    reg->entry_count++;
    return e;
}

static bool is_queued(const struct entry *e)
{
    return e->next != e;
}

static void leave_queue(struct entry *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
    e->prev = e->next = e;
}

static void join_queue(struct shared_registry *reg, struct entry *e)
{
    if (is_queued(e))
        return;
    e->prev = reg->queue->prev;
    e->next = reg->queue;
    e->prev->next = e;
    reg->queue->prev = e;
}

/* A use or a publication ended: nobody left means condemned. */
static void settle(struct shared_registry *reg, struct entry *e)
{
    ASSERT(e->state == RESERVED || e->state == PRESENT);
    if (e->use_count > 0 || e->publishing > 0)
        return;
    e->state = CONDEMNED;
    e->delete_failed = false;
    join_queue(reg, e);
}

/* ---- owners ---------------------------------------------------------------------------------- */

static struct owner *find_owner(const struct shared_registry *reg, uint64_t id)
{
    for (size_t i = 0; i < reg->owner_count; i++)
        if (reg->owners[i].id == id)
            return &reg->owners[i];
    return NULL;
}

static struct owner *add_owner(struct shared_registry *reg, uint64_t id, bool running)
{
    if (reg->owner_count == reg->owner_cap) {
        reg->owner_cap = reg->owner_cap == 0 ? 8 : reg->owner_cap * 2;
        reg->owners = mem_realloc(reg->owners, reg->owner_cap * sizeof *reg->owners);
    }
    reg->owners[reg->owner_count] = (struct owner){.id = id, .running = running};
    return &reg->owners[reg->owner_count++];
}

/* Index of the owner among the entry's; use_count when it is none. */
static uint32_t find_use(const struct entry *e, uint64_t id)
{
    uint32_t i = 0;

    while (i < e->use_count && e->used_by[i] != id)
        i++;
    return i;
}

static void drop_owner(struct shared_registry *reg, struct owner *o)
{
    for (size_t i = 0; i < o->count; i++) {
        struct entry *e = o->uses[i];
        uint32_t at = find_use(e, o->id);

        ASSERT(at < e->use_count);
        e->used_by[at] = e->used_by[--e->use_count];
        settle(reg, e);
    }
    mem_free(o->uses);
    *o = reg->owners[--reg->owner_count];
}

static void add_use(struct owner *o, struct entry *e)
{
    if (find_use(e, o->id) < e->use_count)
        return; /* two subtasks, one content */
    if (e->use_count == e->use_cap) {
        e->use_cap = e->use_cap == 0 ? 4 : e->use_cap * 2;
        e->used_by = mem_realloc(e->used_by, e->use_cap * sizeof *e->used_by);
    }
    if (o->count == o->cap) {
        o->cap = o->cap == 0 ? 16 : o->cap * 2;
        o->uses = mem_realloc(o->uses, o->cap * sizeof(struct entry *));
    }
    o->uses[o->count++] = e;
    e->used_by[e->use_count++] = o->id;
    if (e->state == CONDEMNED) {
        e->state = e->proven ? PRESENT : RESERVED;
        e->delete_failed = false;
        if (is_queued(e))
            leave_queue(e);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct shared_registry *shared_registry_new(void)
{
    struct shared_registry *reg = mem_calloc(1, sizeof *reg);

    reg->bucket_count = 64;
    reg->buckets = mem_calloc(reg->bucket_count, sizeof(struct entry *));
    reg->queue = mem_calloc(1, sizeof *reg->queue);
    reg->queue->prev = reg->queue->next = reg->queue;
    return reg;
}

void shared_registry_free(struct shared_registry *reg)
{
    if (reg == NULL)
        return;
    for (size_t i = 0; i < reg->bucket_count; i++)
        for (struct entry *e = reg->buckets[i], *after; e != NULL; e = after) {
            after = e->chain;
            mem_free(e->used_by);
            mem_free(e);
        }
    for (size_t i = 0; i < reg->owner_count; i++)
        mem_free(reg->owners[i].uses);
    mem_free(reg->owners);
    mem_free(reg->buckets);
    mem_free(reg->queue);
    mem_free(reg);
}

/* ---- attempts -------------------------------------------------------------------------------- */

void shared_registry_attempt_begin(struct shared_registry *reg, uint64_t checkpoint_id)
{
    ASSERT(find_owner(reg, checkpoint_id) == NULL);
    add_owner(reg, checkpoint_id, true);
}

bool shared_registry_attempt_runs(const struct shared_registry *reg, uint64_t checkpoint_id)
{
    const struct owner *o = find_owner(reg, checkpoint_id);

    return o != NULL && o->running;
}

static enum rc check_name(const char *name, struct err *err)
{
    size_t len = strlen(name);

    if (len == 0 || len > SHARED_NAME_MAX || strchr(name, '/') != NULL)
        return err_set(err, RC_LIMIT, "shared file \"%.300s\": a name has 1 to %d bytes and no '/'",
                       name, SHARED_NAME_MAX);
    return RC_OK;
}

static enum rc check_same(const struct entry *e, uint64_t size_bytes, struct digest128 digest,
                          struct err *err)
{
    char then[DIGEST_HEX_LEN + 1], now[DIGEST_HEX_LEN + 1];

    if (e->size_bytes != size_bytes)
        return err_set(err, RC_CORRUPT, "shared file %s: %llu bytes, %llu at an earlier use",
                       e->name, (unsigned long long)size_bytes, (unsigned long long)e->size_bytes);
    if (digest_eq(e->digest, digest))
        return RC_OK;
    digest_hex(e->digest, then);
    digest_hex(digest, now);
    return err_set(err, RC_CORRUPT, "shared file %s: digest %s, %s at an earlier use", e->name, now,
                   then);
}

enum rc shared_registry_reserve(struct shared_registry *reg, uint64_t checkpoint_id,
                                const char *name, uint64_t size_bytes, struct digest128 digest,
                                enum shared_answer *answer, struct err *err)
{
    struct owner *o = find_owner(reg, checkpoint_id);
    struct entry *e;

    *answer = SHARED_WAIT;
    RETURN_IF_ERR(check_name(name, err));
    if (o == NULL || !o->running)
        return err_set(err, RC_CANCELLED, "checkpoint %llu has ended: %s is not wanted any more",
                       (unsigned long long)checkpoint_id, name);
    e = *find_slot(reg, name);
    if (e == NULL)
        e = add_entry(reg, name, size_bytes, digest);
    else if (e->state == DELETING)
        return RC_OK;
    else
        RETURN_IF_ERR(check_same(e, size_bytes, digest, err));
    add_use(o, e);
    if (e->proven && !e->doubtful) {
        *answer = SHARED_PRESENT;
    } else {
        *answer = SHARED_PUBLISH;
        e->publishing++;
    }
    return RC_OK;
}

static struct entry *end_publish(struct shared_registry *reg, const char *name)
{
    struct entry *e = *find_slot(reg, name);

    ASSERT(e != NULL && e->publishing > 0);
    e->publishing--;
    return e;
}

void shared_registry_published(struct shared_registry *reg, const char *name)
{
    struct entry *e = end_publish(reg, name);

    e->proven = true;
    e->state = PRESENT;
    settle(reg, e);
}

void shared_registry_publish_failed(struct shared_registry *reg, const char *name)
{
    settle(reg, end_publish(reg, name));
}

void shared_registry_attempt_completed(struct shared_registry *reg, uint64_t checkpoint_id)
{
    struct owner *o = find_owner(reg, checkpoint_id);

    ASSERT(o != NULL && o->running);
    o->running = false;
    if (o->count == 0)
        drop_owner(reg, o); /* a savepoint, or nothing shared: nobody will ask for it again */
}

void shared_registry_attempt_aborted(struct shared_registry *reg, uint64_t checkpoint_id)
{
    struct owner *o = find_owner(reg, checkpoint_id);

    if (o != NULL && o->running)
        drop_owner(reg, o);
}

/* ---- completed checkpoints ------------------------------------------------------------------- */

enum rc shared_registry_restore(struct shared_registry *reg, uint64_t checkpoint_id,
                                const char *name, uint64_t size_bytes, struct digest128 digest,
                                bool proven, struct err *err)
{
    struct owner *o = find_owner(reg, checkpoint_id);
    struct entry *e;

    ASSERT(o == NULL || !o->running);
    RETURN_IF_ERR(check_name(name, err));
    e = *find_slot(reg, name);
    if (e == NULL)
        e = add_entry(reg, name, size_bytes, digest);
    else if (e->state == DELETING)
        return err_set(err, RC_STATE, "shared file %s is being deleted", name);
    else
        RETURN_IF_ERR(check_same(e, size_bytes, digest, err));
    if (o == NULL)
        o = add_owner(reg, checkpoint_id, false);
    e->proven = e->proven || proven;
    add_use(o, e);
    e->state = PRESENT; /* whoever needs it proven publishes it again */
    return RC_OK;
}

void shared_registry_checkpoint_dropped(struct shared_registry *reg, uint64_t checkpoint_id)
{
    struct owner *o = find_owner(reg, checkpoint_id);

    if (o == NULL)
        return;
    ASSERT(!o->running);
    drop_owner(reg, o);
}

/* ---- deletion -------------------------------------------------------------------------------- */

size_t shared_registry_take_condemned(struct shared_registry *reg, const char **names, size_t max)
{
    size_t count = 0;

    while (count < max && reg->queue->next != reg->queue) {
        struct entry *e = reg->queue->next;

        ASSERT(e->state == CONDEMNED);
        leave_queue(e);
        names[count++] = e->name;
    }
    return count;
}

bool shared_registry_begin_delete(struct shared_registry *reg, const char *name)
{
    struct entry *e = *find_slot(reg, name);

    if (e == NULL || e->state != CONDEMNED)
        return false;
    ASSERT(e->use_count == 0 && e->publishing == 0);
    if (is_queued(e))
        leave_queue(e);
    e->state = DELETING;
    return true;
}

static struct entry *deleting(struct shared_registry *reg, const char *name)
{
    struct entry *e = *find_slot(reg, name);

    ASSERT(e != NULL && e->state == DELETING);
    return e;
}

void shared_registry_finish_delete(struct shared_registry *reg, const char *name)
{
    struct entry *e = deleting(reg, name);

    *find_slot(reg, name) = e->chain;
    reg->entry_count--;
    mem_free(e->used_by);
    mem_free(e);
}

void shared_registry_cancel_delete(struct shared_registry *reg, const char *name)
{
    struct entry *e = deleting(reg, name);

    e->state = CONDEMNED;
    e->proven = false; /* the unlink may have happened, or yet happen */
    e->doubtful = !layout_is_log(name); /* its task holds a log, and knows */
    e->delete_failed = true;
}

size_t shared_registry_retry(struct shared_registry *reg)
{
    size_t count = 0;

    for (size_t i = 0; i < reg->bucket_count; i++)
        for (struct entry *e = reg->buckets[i]; e != NULL; e = e->chain)
            if (e->state == CONDEMNED && e->delete_failed) {
                e->delete_failed = false;
                join_queue(reg, e);
                count++;
            }
    return count;
}

/* ---- questions ------------------------------------------------------------------------------- */

void shared_registry_stats(const struct shared_registry *reg, struct shared_registry_stats *out)
{
    *out = (struct shared_registry_stats){.names = reg->entry_count};
    for (size_t i = 0; i < reg->bucket_count; i++)
        for (const struct entry *e = reg->buckets[i]; e != NULL; e = e->chain) {
            out->reserved += e->state == RESERVED;
            out->present += e->state == PRESENT;
            out->condemned += e->state == CONDEMNED;
            out->deleting += e->state == DELETING;
            if (e->use_count > 0)
                out->used_bytes += e->size_bytes;
            if (e->state == CONDEMNED || e->state == DELETING)
                out->condemned_bytes += e->size_bytes;
        }
    for (size_t i = 0; i < reg->owner_count; i++) {
        out->attempts += reg->owners[i].running;
        out->checkpoints += !reg->owners[i].running;
    }
}

size_t shared_registry_use_count(const struct shared_registry *reg, const char *name)
{
    const struct entry *e = *find_slot(reg, name);

    return e == NULL ? 0 : e->use_count;
}
