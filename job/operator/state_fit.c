/* state_fit.c - see state_fit.h */
#include "job/operator/state_fit.h"

#include "checkpoint/state_types.h"

#define LINES_MAX (ERR_MSG_MAX / 2) /* so that the way out is never cut off */

enum rc state_fit_refuse(const struct fit_request *r, const char *lines, const char *way_out,
                         struct err *err)
{
    size_t len = strlen(lines);
    bool cut = len > LINES_MAX;

    return err_set(err, RC_INVALID,
                   "operator \"%s\": its state in the snapshot does not fit this job:%.*s%s\n%s",
                   r->operator_name, (int)(cut ? LINES_MAX : len), lines, cut ? "..." : "",
                   way_out);
}

enum rc state_fit_same(const struct fit_request *r, const struct state_desc *states, size_t count,
                       struct state_fit *out, struct err *err)
{
    struct state_change *drops = ARENA_ARRAY(r->arena, r->old_count + 1, struct state_change);
    struct buf text = {0}, gone = {0};
    enum rc rc = RC_OK;

    *out = (struct state_fit){.changes = drops, .said = ""};
    for (size_t i = 0; i < r->old_count; i++) {
        const struct state_desc *old = &r->old[i], *now = state_desc_find(states, count, old->name);
        struct buf lines = {0};

        if (now != NULL)
            state_differences(old, now, &lines);
        else if (r->allow_non_restored) {
            drops[out->change_count++] = (struct state_change){.was = old};
            buf_printf(&gone, "%sstate \"%s\"", gone.len > 0 ? ", " : "gone, dropped: ", old->name);
        } else
            buf_printf(&lines, "\n  was %s, is gone", state_kind_words(old->kind));
        if (lines.len > 0)
            buf_printf(&text, "\n state \"%s\":%s", old->name, buf_cstr(&lines));
        buf_release(&lines);
    }
    if (text.len > 0)
        rc = state_fit_refuse(r, buf_cstr(&text), STATE_FIT_START_ANEW, err);
    out->said = arena_strdup(r->arena, buf_cstr(&gone));
    buf_release(&gone);
    buf_release(&text);
    return rc;
}
