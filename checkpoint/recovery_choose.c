/* recovery_choose.c - which of several snapshots a resume goes on from, and when from none.
 *
 * The newest that verifies; but nothing older than what has ended. Names alone do not say which job
 * is which: two INSERTs into one table are two jobs of one name. So where a run of the very
 * statements asked for is known, only such runs count, and those that went on from them (with the
 * statements changed). Where none is, the statements may have been changed: all snapshots of that
 * name count, except those of other statements of the same script, and of runs that are over. */
#include "checkpoint/discard.h"
#include "checkpoint/layout.h"
#include "checkpoint/recovery_priv.h"

#include <inttypes.h>

struct choice {
    const struct env *env;
    const struct candidates *c;
    const struct recovery_options *options;
    struct recovered *r;
    const char *dir;
    bool preferred_there;                    /* one of options->preferred_name is */
    bool own_known;                          /* a run of these statements is among them */
    const struct candidate *begun;           /* the newest that began and completed nothing */
    const struct candidate_group *barred_by; /* the newest snapshot that is barred; NULL: none is */
    bool all_too_new;
};

/* ---- which count ---------------------------------------------------------------------------- */

static bool is_same(const char *fingerprint, const char *asked)
{
    return asked != NULL && fingerprint != NULL && strcmp(fingerprint, asked) == 0;
}

static bool is_own(const struct choice *ch, const struct candidate *k)
{
    return is_same(k->fingerprint, ch->options->fingerprint);
}

/* One of nobody knows which job may be of the one asked for: to pass it over in silence would start
 * that job from nothing. */
static bool has_that_name(const struct choice *ch, const struct candidate *k)
{
    const char *asked = ch->options->job_name, *is = k->group->job_name;

    return asked == NULL || is == NULL || strcmp(is, asked) == 0;
}

/* Its run went on from one of these statements. */
static bool came_from_own(const struct choice *ch, const struct candidate *k)
{
    for (size_t a = 0; a < k->group->ancestor_count; a++) {
        const struct candidate_group *g = candidates_group(ch->c, k->group->ancestors[a]);

        if (g != NULL && g->own)
            return true;
    }
    return false;
}

/* Its run, or one that it went on from, is of another statement of the script. */
static bool is_claimed(const struct choice *ch, const struct candidate *k)
{
    for (size_t i = 0; i < ch->options->claimed_count; i++) {
        const char *fingerprint = ch->options->claimed[i];

        if (is_same(k->fingerprint, fingerprint))
            return true;
        for (size_t a = 0; a < k->group->ancestor_count; a++) {
            const struct candidate_group *g = candidates_group(ch->c, k->group->ancestors[a]);

            if (g != NULL && is_same(g->fingerprint, fingerprint))
                return true;
        }
    }
    return false;
}

/* A run of these statements went on from its run: until it completes something, that is the newest. */
static bool led_to_own(const struct choice *ch, const struct candidate *k)
{
    return k->group->led_to_own && !is_claimed(ch, k);
}

static bool is_preferred(const struct choice *ch, const struct candidate *k)
{
    return is_same(k->group->job_name, ch->options->preferred_name);
}

static bool counts(const struct choice *ch, const struct candidate *k)
{
    bool by_path = ch->options->job_name == NULL; /* then no statements are asked for */

    if (!has_that_name(ch, k) || (ch->preferred_there && !is_preferred(ch, k)))
        return false;
    if (is_own(ch, k) || (k->rc != RC_OK && k->group->job_name == NULL))
        return true;
    if (k->kind == CANDIDATE_BEGUN || (k->kind == CANDIDATE_OVER && k->rc == RC_OK))
        return false; /* of other statements: no reason why these should not run */
    if (ch->own_known)
        return k->group->fingerprint == NULL || came_from_own(ch, k) || led_to_own(ch, k);
    return by_path || (!is_claimed(ch, k) && candidate_barred_by(k) == NULL);
}

/* Another job, of that name, that runs: nothing of it counts. */
static enum rc is_anothers(const struct choice *ch, const struct candidate *k, bool *yes,
                           struct err *err)
{
    *yes = false;
    if (ch->options->job_name == NULL || ch->own_known || is_own(ch, k) ||
        (k->rc != RC_OK && k->group->job_name == NULL))
        return RC_OK;
    return job_dir_probe(ch->env->fs, k->group->dir, yes, NULL, err);
}

static void find_own(struct choice *ch)
{
    for (size_t i = 0; i < ch->c->count; i++) {
        struct candidate *k = &ch->c->items[i];

        ch->preferred_there = ch->preferred_there || is_preferred(ch, k);
        if (!is_own(ch, k))
            continue;
        k->group->own = true;
        ch->own_known = ch->own_known || has_that_name(ch, k);
        for (size_t a = 0; a < k->group->ancestor_count; a++) {
            struct candidate_group *g = candidates_group(ch->c, k->group->ancestors[a]);

            if (g != NULL)
                g->led_to_own = true;
        }
    }
}

/* ---- what is said --------------------------------------------------------------------------- */

static void add_skip(struct choice *ch, const struct candidate *k, const char *reason)
{
    struct recovered *r = ch->r;

    ASSERT(r->skip_count < ch->c->count);
    r->skips[r->skip_count++] =
        (struct recovery_skip){arena_strdup(r->arena, k->dir), arena_strdup(r->arena, reason)};
}

/* "none of the 3 snapshots in .. can be restored: a: why; b: why" */
static enum rc none_left(const struct choice *ch, struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    buf_printf(&text, "none of the %zu snapshots in %s can be restored:", ch->r->skip_count,
               ch->dir);
    for (size_t i = 0; i < ch->r->skip_count && text.len < ERR_MSG_MAX * 3 / 4; i++)
        buf_printf(&text, "\n  %s", ch->r->skips[i].reason);
    rc = err_set(err, ch->all_too_new ? RC_VERSION : RC_CORRUPT, "%s", buf_cstr(&text));
    buf_release(&text);
    return rc;
}

/* Its results are committed: from an older checkpoint they would come twice. */
static enum rc refuse_stop(const struct candidate *k, enum rc rc, const char *reason,
                           struct err *err)
{
    return err_set(err, rc == RC_NOT_FOUND ? RC_STATE : rc,
                   "%s/%s: the job was stopped with savepoint %s, which cannot be restored (%s); if "
                   "it was moved, start from its new place; an older checkpoint would repeat "
                   "results",
                   k->group->dir, LAYOUT_ENDED, k->dir, reason);
}

static enum rc refuse_unreadable(const struct candidate *k, struct err *err)
{
    return err_set(err, k->rc,
                   "%s; an older checkpoint could repeat results: name the one to start from, if "
                   "any",
                   k->reason);
}

/* "finished", "was cancelled at checkpoint 9, and its retention had its checkpoints deleted" */
static void describe_end(const struct ended *e, struct buf *out)
{
    buf_printf(out, "job \"%s\" (%s) %s", e->job_name, e->job_id,
               e->end == JOB_END_FINISHED   ? "has finished"
               : e->end == JOB_END_CANCELED ? "was cancelled"
                                            : "failed");
    if (e->checkpoint_id > 0)
        buf_printf(out, " at checkpoint %" PRIu64, e->checkpoint_id);
    if (e->end != JOB_END_FINISHED)
        buf_append_str(out, ", and its retention had its checkpoints deleted");
}

/* `g` has an ENDED. own: of the very statements asked for. */
static enum rc refuse_over(const struct choice *ch, const struct candidate_group *g, bool own,
                           struct err *err)
{
    const struct ended *e = g->ended;
    struct buf text = {0};
    enum rc rc;

    describe_end(e, &text);
    if (own && e->end == JOB_END_FINISHED)
        rc = err_set(err, RC_DONE, "%s (%s/%s): nothing is left to resume", buf_cstr(&text), g->dir,
                     LAYOUT_ENDED);
    else if (ch->barred_by != NULL)
        rc = err_set(err, RC_STATE,
                     "%s/%s: %s; an older checkpoint would repeat results: name the one to start "
                     "from, or start anew",
                     g->dir, LAYOUT_ENDED, buf_cstr(&text));
    else
        rc = err_set(err, RC_STATE,
                     "%s/%s: %s: there is nothing to resume; start anew",
                     g->dir, LAYOUT_ENDED, buf_cstr(&text));
    buf_release(&text);
    return rc;
}

/* Nothing of it is out, and nothing before it can be gone on from. */
static enum rc begin_again(const struct candidate *k, struct err *err)
{
    if (k->group->from[0] == '\0')
        return err_set(err, RC_NOT_FOUND, "%s: its run began from nothing and completed nothing",
                       k->dir);
    return err_set(err, RC_STATE,
                   "%s: the newest run was started from %s and completed no checkpoint: start from "
                   "there again, or anew",
                   k->dir, k->group->from);
}

/* Two runs at once would show its results twice. Who wants that names the checkpoint. */
static enum rc refuse_running(const struct candidate *k, const char *holder, struct err *err)
{
    return err_set(err, RC_STATE,
                   "%s: job \"%s\" is running there (%s); stop or cancel it first, or name the "
                   "snapshot to start another run from%s",
                   k->group->dir, k->group->job_name == NULL ? "" : k->group->job_name, holder,
                   path_is_remote(k->group->dir) ? " (if it was killed, its lock lapses after ttl_ms)"
                                                 : "");
}

/* It is of other statements: changed ones, or those of another job of that name. */
static enum rc refuse_doubtful(const struct choice *ch, const struct candidate *k, struct err *err)
{
    return err_set(err, RC_STATE,
                   "%s is of other statements, and several of this script make a job named \"%s\": "
                   "set another pipeline.name before each, or name the snapshot to start from",
                   k->dir, ch->options->job_name);
}

static enum rc nothing_found(const struct choice *ch, struct err *err)
{
    const char *job_name = ch->options->job_name;

    if (ch->begun != NULL)
        return begin_again(ch->begun, err);
    if (ch->barred_by != NULL)
        return refuse_over(ch, ch->barred_by, false, err);
    for (size_t i = 0; job_name == NULL && i < ch->c->count; i++)
        if (ch->c->items[i].kind == CANDIDATE_OVER)
            return refuse_over(ch, ch->c->items[i].group, false, err);
    return err_set(err, RC_NOT_FOUND, "%s: holds no completed checkpoint or savepoint%s%s%s",
                   ch->dir, job_name == NULL ? "" : " of job \"",
                   job_name == NULL ? "" : job_name, job_name == NULL ? "" : "\"");
}

/* What comes after the chosen one is older, but for directories in which nothing can be read: their
 * age is a guess. */
static void skip_unknown(struct choice *ch, size_t chosen)
{
    for (size_t i = chosen + 1; ch->options->job_name != NULL && i < ch->c->count; i++) {
        const struct candidate *k = &ch->c->items[i];

        if (k->rc != RC_OK && k->group->job_name == NULL)
            add_skip(ch, k, k->reason);
    }
}

/* ---- the choice ----------------------------------------------------------------------------- */

/* *done: it is decided. A snapshot that cannot be used is noted, and the search goes on. */
static enum rc consider(struct choice *ch, struct fs *fs, const struct candidate *k, bool *done,
                        struct err *err)
{
    char holder[JOB_DIR_HOLDER_MAX];
    struct err local = {0};
    const char *reason;
    enum rc rc = k->rc;
    bool in_use = false;

    *done = true;
    if (k->kind == CANDIDATE_OVER && rc != RC_OK)
        return refuse_unreadable(k, err);
    if (k->kind == CANDIDATE_OVER && ch->r->skip_count > 0)
        return none_left(ch, err); /* of a later run nothing can be read: this is old news */
    if (k->kind == CANDIDATE_OVER)
        return ch->begun != NULL ? begin_again(ch->begun, err)
                                 : refuse_over(ch, k->group, true, err);
    if (k->kind == CANDIDATE_BEGUN) {
        RETURN_IF_ERR(job_dir_probe(fs, k->group->dir, &in_use, holder, err));
        if (in_use)
            return refuse_running(k, holder, err);
        if (ch->begun == NULL)
            ch->begun = k;
        *done = false;
        return RC_OK;
    }
    if (ch->options->names_shared && !ch->own_known)
        return refuse_doubtful(ch, k, err);
    if (ch->options->job_name != NULL)
        RETURN_IF_ERR(job_dir_probe(fs, k->group->dir, &in_use, holder, err));
    if (in_use)
        return refuse_running(k, holder, err);
    if (candidate_barred_by(k) != NULL) {
        if (ch->barred_by == NULL)
            ch->barred_by = candidate_barred_by(k);
        *done = false;
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = recovery_try(ch->env, k->dir, true, ch->r, &local);
    if (rc == RC_OK)
        return RC_OK;
    reason = k->reason != NULL ? k->reason : local.msg;
    if (rc == RC_IO)
        return err_set(err, rc, "%s", reason);
    if (k->kind == CANDIDATE_STOP)
        return refuse_stop(k, rc, reason, err);
    ch->all_too_new = ch->all_too_new && rc == RC_VERSION;
    add_skip(ch, k, reason);
    *done = false;
    return RC_OK;
}

enum rc recovery_choose(const struct env *env, const char *dir, const struct candidates *c,
                        const struct recovery_options *options, struct recovered *r,
                        struct err *err)
{
    struct choice ch = {
        .env = env, .c = c, .options = options, .r = r, .dir = dir, .all_too_new = true};

    r->skips = ARENA_ARRAY(r->arena, c->count, struct recovery_skip);
    find_own(&ch);
    for (size_t i = 0; i < c->count; i++) {
        bool done, anothers;

        if (!counts(&ch, &c->items[i]))
            continue;
        RETURN_IF_ERR(is_anothers(&ch, &c->items[i], &anothers, err));
        if (anothers)
            continue;
        RETURN_IF_ERR(consider(&ch, env->fs, &c->items[i], &done, err));
        if (done) {
            skip_unknown(&ch, i);
            return RC_OK;
        }
    }
    return r->skip_count == 0 ? nothing_found(&ch, err) : none_left(&ch, err);
}
