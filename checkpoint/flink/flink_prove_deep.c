/* flink_prove_deep.c - see flink_prove_deep.h */
#include "checkpoint/flink/flink_prove_deep.h"

#include "checkpoint/flink/flink_entry_check.h"

/* Of one state and one sort of fault. */
struct tally {
    uint64_t count;
    char *reason, *path; /* of the first; path NULL: not known */
};
struct deep {
    const struct flink_keyed_source *from;
    const struct flink_deep_ear *ear;
    struct flink_reader *reader;
    const struct flink_states *states;
    struct flink_entry_check *check;
    struct tally (*tallies)[FLINK_VERDICTS]; /* by state */
};

static void look_at(struct deep *d, size_t state, struct bytes key, struct bytes value)
{
    struct err why = {0};
    enum flink_verdict verdict =
        flink_entry_check(d->check, &d->states->states[state], key, &value, &why);
    struct tally *t = &d->tallies[state][verdict];
    const char *path;

    if (verdict == FLINK_ENTRY_FINE || t->count++ > 0)
        return;
    path = flink_reader_file_of(d->reader, state, key);
    t->path = path == NULL ? NULL : mem_strdup(path);
    t->reason = mem_strdup(why.msg);
}

static void tell_tally(const struct deep *d, enum flink_verdict verdict, const struct tally *t)
{
    struct buf text = {0};

    if (t->count == 0)
        return;
    buf_append_str(&text, t->reason);
    if (t->count > 1)
        buf_printf(&text, " (and %llu more entries like it)", (unsigned long long)t->count - 1);
    if (verdict == FLINK_ENTRY_UNTOLD)
        d->ear->untold(d->ear->ctx, buf_cstr(&text));
    else
        d->ear->fault(d->ear->ctx, t->path, buf_cstr(&text));
    buf_release(&text);
}

static void tell_all(struct deep *d)
{
    for (size_t i = 0; i < d->states->count; i++)
        for (int v = FLINK_ENTRY_UNTOLD; v < (int)FLINK_VERDICTS; v++) {
            struct tally *t = &d->tallies[i][v];

            tell_tally(d, (enum flink_verdict)v, t);
            mem_free(t->reason);
            mem_free(t->path);
        }
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* l NULL: inside the handle's range. Key groups that the snapshot does not have are no rescale's. */
static enum rc walk(struct deep *d, struct flink_scan *scan, struct flink_left_over *l,
                    struct err *err)
{
    uint32_t prefix_len = keygroup_prefix_len(d->from->key_group_count);
    struct bytes key, value;

    for (;;) {
        RETURN_IF_ERR(flink_scan_next(scan, &key, &value, err));
        if (key.data == NULL)
            return RC_OK;
        if (l != NULL && keygroup_get_prefix(key.data, prefix_len) >= d->from->key_group_count)
            return err_set(err, RC_CORRUPT, "a key of key group %u: there are %u",
                           keygroup_get_prefix(key.data, prefix_len), d->from->key_group_count);
        look_at(d, flink_scan_state(scan), key, value);
        if (l == NULL)
            continue;
        l->entries++;
        l->bytes += key.len + value.len;
    }
}

static enum rc walk_outside(struct deep *d, size_t state, struct err *err)
{
    struct flink_left_over l = {.state = d->states->states[state].name};
    struct flink_scan *scan = NULL;
    enum rc rc = RC_OK;

    for (int above = 0; above < 2 && rc == RC_OK; above++) {
        GOTO_IF_ERR(flink_scan_open_outside(d->reader, state, above == 1, &scan, err));
        rc = walk(d, scan, &l, err);
        flink_scan_close(scan);
        scan = NULL;
    }
    if (l.entries > 0)
        d->ear->left_over(d->ear->ctx, &l);
out:
    return rc;
}

static enum rc walk_state(struct deep *d, size_t state, struct err *err)
{
    struct key_group_range all = {0, d->from->key_group_count - 1};
    struct flink_scan *scan = NULL;
    enum rc rc;

    RETURN_IF_ERR(flink_scan_open(d->reader, state, all, (struct bytes){0}, &scan, err));
    rc = walk(d, scan, NULL, err);
    flink_scan_close(scan);
    if (rc == RC_OK && flink_reader_form(d->reader) == FLINK_FORM_DATABASE)
        rc = walk_outside(d, state, err);
    return rc;
}

static void tell_failed(const struct deep *d, size_t state, enum rc rc, const struct err *why)
{
    struct buf text = {0};

    if (state < d->states->count) {
        buf_append_str(&text, "state \"");
        buf_append_escaped(&text, d->states->states[state].name, 100);
        buf_append_str(&text, "\": ");
    }
    buf_append_str(&text, why->msg);
    if (rc == RC_UNSUPPORTED || rc == RC_VERSION || rc == RC_LIMIT)
        d->ear->untold(d->ear->ctx, buf_cstr(&text));
    else
        d->ear->fault(d->ear->ctx, NULL, buf_cstr(&text));
    buf_release(&text);
}

static void walk_all(struct deep *d)
{
    bool database = flink_reader_form(d->reader) == FLINK_FORM_DATABASE;

    for (size_t i = 0; i < (database ? d->states->count : 1); i++) {
        size_t state = database ? i : FLINK_ALL_STATES;
        struct err why = {0};
        enum rc rc = walk_state(d, state, &why);

        if (rc != RC_OK)
            tell_failed(d, state, rc, &why);
    }
}

void flink_prove_deep(const struct flink_keyed_source *from, const struct flink_deep_ear *ear)
{
    struct deep d = {.from = from, .ear = ear};
    struct err why = {0};

    /* What its description lacks was said when that was proven. */
    if (flink_reader_open(from, &d.reader, &why) != RC_OK)
        return;
    d.states = flink_reader_states(d.reader);
    if (d.states->count > 0) {
        d.tallies = mem_calloc(d.states->count, sizeof *d.tallies);
        d.check = flink_entry_check_new(d.states, from->key_group_count);
        walk_all(&d);
        tell_all(&d);
        flink_entry_check_free(d.check);
        mem_free(d.tallies);
    }
    flink_reader_close(d.reader);
}
