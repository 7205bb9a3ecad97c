/* remote_lease.c - see remote_lease.h. */
#include "base/remote_lease.h"

#include "base/arena.h"
#include "base/rng.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD LEASE_WORD
#define BY " by="
#define TTL_MAX_MS ((int64_t)24 * 3600 * 1000) /* what a damaged text may say is bounded */
#define TICKS_PER_TTL 3
#define WHO_MAX 256 /* of what a holder says of itself, in messages */
#define TRIES_MAX 3 /* of one write */

struct lease {
    struct lease_keeper *keeper;
    struct lease *next; /* in the keeper's list */
    char *path;
    uint64_t id;
    struct mutex writing; /* one write at a time; taken before the keeper's, held over requests */
    struct buf said GUARDED_BY(writing);
    char version[LEASE_VERSION_MAX] GUARDED_BY(writing);
    int64_t written_mono_ns GUARDED_BY(writing); /* when the last write that succeeded began */
    atomic_bool lost;   /* for good; set after `loss` */
    struct err loss;    /* why; not changed after `lost` */
};
struct lease_keeper {
    const struct lease_store_ops *ops;
    void *ctx;
    struct lease_config config;
    struct mutex mutex;
    struct cond wake;
    struct rng rng GUARDED_BY(mutex);
    struct lease *leases GUARDED_BY(mutex);
    struct lease *busy GUARDED_BY(mutex); /* is written by the thread now: may not go */
    struct thread *thread GUARDED_BY(mutex);
    bool ends GUARDED_BY(mutex);
};

/* ---- text ------------------------------------------------------------------------------------ */

void lease_format(struct buf *out, struct bytes said, uint64_t id, int64_t ttl_ms, const char *by)
{
    const uint8_t *end = said.len == 0 ? NULL : memchr(said.data, '\n', said.len);
    size_t first = end == NULL ? said.len : (size_t)(end - said.data);

    buf_append(out, said.data, first);
    buf_printf(out, WORD "%016" PRIx64 " ttl_ms=%" PRId64 BY "%s\n", id, ttl_ms, by);
    if (first < said.len)
        buf_append(out, said.data + first + 1, said.len - first - 1);
}

bool lease_parse(struct bytes text, uint64_t *id, int64_t *ttl_ms, char by[PROCESS_MARK_MAX])
{
    const uint8_t *line_end = text.len == 0 ? NULL : memchr(text.data, '\n', text.len);
    size_t len = line_end == NULL ? 0 : (size_t)(line_end - text.data), word = strlen(WORD), at;
    char tail[PROCESS_MARK_MAX + 80], *end;

    /* the last such word: what was said before may hold one, too */
    for (at = len; at-- > 0;)
        if (len - at > word && memcmp(text.data + at, WORD, word) == 0)
            break;
    if (len == 0 || at > len || len - at - word >= sizeof tail)
        return false;
    memcpy(tail, text.data + at + word, len - at - word);
    tail[len - at - word] = '\0';
    if (strspn(tail, "0123456789abcdef") != 16 || strncmp(tail + 16, " ttl_ms=", 8) != 0 ||
        tail[24] < '0' || tail[24] > '9')
        return false;
    *id = strtoull(tail, &end, 16);
    *ttl_ms = strtoll(tail + 24, &end, 10);
    if (strncmp(end, BY, strlen(BY)) != 0 || strlen(end + strlen(BY)) >= PROCESS_MARK_MAX)
        return false;
    memcpy(by, end + strlen(BY), strlen(end + strlen(BY)) + 1);
    if (*ttl_ms > TTL_MAX_MS)
        *ttl_ms = TTL_MAX_MS;
    return true;
}

/* ---- one object ------------------------------------------------------------------------------ */

struct found {
    bool there, held;
    uint64_t id;
    char version[LEASE_VERSION_MAX];
    char who[WHO_MAX]; /* what its holder says of itself: printable characters; "": nothing */
};

/* The first line, up to the lease's word. */
static void read_who(struct bytes text, char who[WHO_MAX])
{
    size_t len = 0;
    char *word;

    while (len < text.len && len + 1 < WHO_MAX && text.data[len] >= 0x20 && text.data[len] < 0x7f) {
        who[len] = (char)text.data[len];
        len++;
    }
    who[len] = '\0';
    word = strstr(who, WORD);
    if (word != NULL)
        *word = '\0';
}

static enum rc look(struct lease_keeper *k, const char *path, struct found *out, struct err *err)
{
    struct err local = {0};
    char by[PROCESS_MARK_MAX];
    struct buf text = {0};
    int64_t age_ms = 0, ttl_ms = 0;
    enum rc rc;

    *out = (struct found){0};
    rc = k->ops->read(k->ctx, path, &text, out->version, &age_ms, &local);
    out->there = rc == RC_OK;
    if (out->there)
        out->held = lease_parse(buf_bytes(&text), &out->id, &ttl_ms, by) && ttl_ms > 0 &&
                    age_ms < ttl_ms && /* an age may be below zero: dates have whole seconds */
                    !process_is_gone(by);
    read_who(buf_bytes(&text), out->who);
    buf_release(&text);
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

/* Another one's text, or none, is where ours was. */
static enum rc lose(struct lease *lease, const struct found *found, struct err *err)
    REQUIRES(lease->writing)
{
    if (!found->there)
        err_set(&lease->loss, RC_STATE, "lock %s was lost: somebody deleted it", lease->path);
    else
        err_set(&lease->loss, RC_STATE, "lock %s was lost: somebody else took it (%s)",
                lease->path, found->who[0] == '\0' ? "who does not say its name" : found->who);
    atomic_store(&lease->lost, true);
    return err_set(err, RC_STATE, "%s", lease->loss.msg);
}

/* The version may be out of date though the object is ours: when the answer to an earlier write was
 * lost. Then the text there is that write's, so it is written once more. */
static enum rc write_text(struct lease *lease, int64_t ttl_ms, struct err *err) REQUIRES(lease->writing)
{
    struct lease_keeper *k = lease->keeper;
    char by[PROCESS_MARK_MAX];
    struct buf text = {0};
    struct found found;
    int64_t begun = clock_mono_ns(k->config.clock);
    enum rc rc;

    if (atomic_load(&lease->lost))
        return err_set(err, RC_STATE, "%s", lease->loss.msg);
    process_mark(by);
    lease_format(&text, buf_bytes(&lease->said), lease->id, ttl_ms, by);
    for (int tries = 1;; tries++) {
        struct err local = {0};

        rc = k->ops->write(k->ctx, lease->path, buf_bytes(&text), lease->version, &local);
        if (rc == RC_OK) {
            lease->written_mono_ns = begun;
            break;
        }
        if (rc != RC_EXISTS || tries == TRIES_MAX) {
            err_set(err, rc, "%s", local.msg);
            break;
        }
        GOTO_IF_ERR(look(k, lease->path, &found, err));
        if (!found.there || found.id != lease->id)
            GOTO_IF_ERR(lose(lease, &found, err));
        memcpy(lease->version, found.version, sizeof found.version);
    }
out:
    buf_release(&text);
    return rc;
}

/* ---- writing them anew ----------------------------------------------------------------------- */

static void renew(struct lease *lease)
{
    struct lease_keeper *k = lease->keeper;
    struct err err = {0};
    enum rc rc = RC_OK;

    mutex_lock(&lease->writing);
    if (!atomic_load(&lease->lost))
        rc = write_text(lease, k->config.ttl_ms, &err);
    mutex_unlock(&lease->writing);
    if (rc == RC_STATE)
        log_line(k->config.log, LOG_ERROR, "%s", err.msg);
    else if (rc != RC_OK)
        log_line(k->config.log, LOG_WARN, "lock could not be renewed path=%s reason=\"%s\"",
                 lease->path, err.msg);
}

/* Each that is in the list, once; new ones come to its front. */
static void renew_all_locked(struct lease_keeper *k) REQUIRES(k->mutex)
{
    for (struct lease *lease = k->leases; lease != NULL && !k->ends; lease = lease->next) {
        k->busy = lease;
        mutex_unlock(&k->mutex);
        renew(lease);
        mutex_lock(&k->mutex);
        k->busy = NULL;
        cond_broadcast(&k->wake);
    }
}

static void run(void *arg)
{
    struct lease_keeper *k = arg;

    mutex_lock(&k->mutex);
    while (!k->ends) {
        int64_t until = clock_mono_ns(k->config.clock) + k->config.ttl_ms * NS_PER_MS / TICKS_PER_TTL;

        for (int64_t left; !k->ends && (left = until - clock_mono_ns(k->config.clock)) > 0;) {
            bool woken UNUSED = cond_wait_ns(&k->wake, &k->mutex, left);
        }
        renew_all_locked(k);
    }
    mutex_unlock(&k->mutex);
}

/* ---- keeper ---------------------------------------------------------------------------------- */

struct lease_keeper *lease_keeper_new(const struct lease_store_ops *ops, void *ctx,
                                      const struct lease_config *config)
{
    struct lease_keeper *k = mem_calloc(1, sizeof *k);

    k->ops = ops;
    k->ctx = ctx;
    k->config = *config;
    mutex_init(&k->mutex);
    cond_init(&k->wake);
    rng_seed(&k->rng, config->seed);
    return k;
}

void lease_keeper_free(struct lease_keeper *k) NO_THREAD_SAFETY
{
    if (k == NULL)
        return;
    ASSERT(k->leases == NULL);
    mutex_lock(&k->mutex);
    k->ends = true;
    cond_broadcast(&k->wake);
    mutex_unlock(&k->mutex);
    if (k->thread != NULL)
        thread_join(k->thread);
    cond_release(&k->wake);
    mutex_release(&k->mutex);
    mem_free(k);
}

static void lease_free(struct lease *lease)
{
    buf_release(&lease->said);
    mutex_release(&lease->writing);
    mem_free(lease->path);
    mem_free(lease);
}

static struct lease *lease_new(struct lease_keeper *k, const char *path)
{
    struct lease *lease = mem_calloc(1, sizeof *lease);

    lease->keeper = k;
    lease->path = mem_strdup(path);
    mutex_init(&lease->writing);
    mutex_lock(&k->mutex);
    lease->id = rng_u64(&k->rng);
    mutex_unlock(&k->mutex);
    return lease;
}

/* From now on it is renewed. */
static void keep(struct lease *lease)
{
    struct lease_keeper *k = lease->keeper;

    mutex_lock(&k->mutex);
    lease->next = k->leases;
    k->leases = lease;
    if (k->thread == NULL)
        k->thread = thread_start("lease", run, k);
    mutex_unlock(&k->mutex);
}

static void keep_no_longer(struct lease *lease)
{
    struct lease_keeper *k = lease->keeper;
    struct lease **at;

    mutex_lock(&k->mutex);
    while (k->busy == lease)
        cond_wait(&k->wake, &k->mutex);
    for (at = &k->leases; *at != lease; at = &(*at)->next)
        ;
    *at = lease->next;
    mutex_unlock(&k->mutex);
}

enum rc lease_take(struct lease_keeper *k, const char *path, struct lease **out, struct err *err)
{
    struct lease *lease;
    struct found found;
    enum rc rc;

    *out = NULL;
    RETURN_IF_ERR(look(k, path, &found, err));
    if (found.held)
        return err_set(err, RC_STATE, "%s: somebody holds it", path);
    lease = lease_new(k, path);
    mutex_lock(&lease->writing);
    memcpy(lease->version, found.version, sizeof found.version);
    rc = write_text(lease, k->config.ttl_ms, err);
    mutex_unlock(&lease->writing);
    if (rc != RC_OK) {
        lease_free(lease);
        return rc;
    }
    keep(lease);
    *out = lease;
    return RC_OK;
}

enum rc lease_say(struct lease *lease, struct bytes text, struct err *err)
{
    enum rc rc;

    mutex_lock(&lease->writing);
    buf_clear(&lease->said);
    buf_append(&lease->said, text.data, text.len);
    rc = write_text(lease, lease->keeper->config.ttl_ms, err);
    mutex_unlock(&lease->writing);
    return rc;
}

enum rc lease_check(struct lease *lease, bool confirm, struct err *err)
{
    struct lease_keeper *k = lease->keeper;
    int64_t fresh_ns = k->config.ttl_ms * NS_PER_MS / TICKS_PER_TTL * (TICKS_PER_TTL - 1);
    enum rc rc = RC_OK;

    if (atomic_load(&lease->lost))
        return err_set(err, RC_STATE, "%s", lease->loss.msg);
    if (!confirm)
        return RC_OK;
    mutex_lock(&lease->writing);
    if (clock_mono_ns(k->config.clock) - lease->written_mono_ns >= fresh_ns)
        rc = write_text(lease, k->config.ttl_ms, err);
    mutex_unlock(&lease->writing);
    return rc;
}

void lease_release(struct lease *lease)
{
    struct err ignored = {0};

    if (lease == NULL)
        return;
    keep_no_longer(lease);
    mutex_lock(&lease->writing);
    if (!atomic_load(&lease->lost) && write_text(lease, 0, &ignored) != RC_OK)
        log_line(lease->keeper->config.log, LOG_WARN,
                 "lock could not be given back: it is free after ttl_ms=%" PRId64 " path=%s reason=\"%s\"",
                 lease->keeper->config.ttl_ms, lease->path, ignored.msg);
    mutex_unlock(&lease->writing);
    lease_free(lease);
}

enum rc lease_probe(struct lease_keeper *k, const char *path, bool *held, struct err *err)
{
    struct found found;

    *held = false;
    RETURN_IF_ERR(look(k, path, &found, err));
    *held = found.held;
    return RC_OK;
}
