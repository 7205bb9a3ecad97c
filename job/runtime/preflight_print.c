/* preflight_print.c - the report of a dry run, for people and as JSON. See preflight.h */
#include "checkpoint/inspect.h"
#include "checkpoint/state_types.h"
#include "job/rest/row_json.h"
#include "job/runtime/preflight.h"

#include <inttypes.h>

#define POSITIONS_SHOWN 20u

static const char *fate_str(enum preflight_fate fate)
{
    switch (fate) {
    case PREFLIGHT_FRESH:
    case PREFLIGHT_EMPTY:
        return "starts empty";
    case PREFLIGHT_RESTORED:
        return "state restored";
    case PREFLIGHT_STATELESS:
        return "has no state";
    case PREFLIGHT_REFUSED:
        return "its state does not fit";
    }
    return "";
}

static const char *kind_words(const struct checkpoint_metadata *m)
{
    return checkpoint_kind_is_savepoint(m->kind) ? "savepoint" : "checkpoint";
}

/* ---- text ----------------------------------------------------------------------------------- */

static void print_start(const struct preflight *p, struct buf *out)
{
    const struct checkpoint_metadata *m = p->meta;

    if (p->plan.recovered.dir == NULL && p->fault == NULL)
        buf_append_str(out, "start: fresh, nothing is restored\n");
    if (p->plan.from_flink && m != NULL) {
        buf_printf(out,
                   "start: from %s (checkpoint %" PRIu64
                   ", in Flink's form; NO_CLAIM: it stays as it is)\n",
                   p->plan.recovered.dir, m->checkpoint_id);
        restore_plan_print_import_dropped(&p->plan, out);
        buf_append_str(out, p->plan.import_dropped_count > 0 ? "\n" : "");
        buf_append_str(out, p->plan.import_converted_count > 0 ? "converted:\n" : "");
        for (size_t i = 0; i < p->plan.import_converted_count; i++)
            buf_printf(out, "  %s\n", p->plan.import_converted[i]);
    } else if (m != NULL)
        buf_printf(out, "start: from %s (%s %" PRIu64 " of job %s, %s)\n", p->plan.recovered.dir,
                   kind_words(m), m->checkpoint_id, m->job_id,
                   p->plan.claim_mode == CLAIM_CLAIM ? "CLAIM: it becomes this job's"
                                                     : "NO_CLAIM: it stays as it is");
    for (size_t i = 0; i < p->plan.recovered.skip_count; i++)
        buf_printf(out, "passed over: %s: %s\n", p->plan.recovered.skips[i].path,
                   p->plan.recovered.skips[i].reason);
    if (m != NULL && !p->plan.from_flink && p->graph->sql != NULL && strcmp(m->sql, p->graph->sql) != 0)
        buf_append_str(out, "its statements differ from these\n");
    if (m != NULL && !p->plan.from_flink)
        buf_printf(out, "files: %" PRIu64 " named, %" PRIu64 " bytes; %zu missing or damaged\n",
                   p->sizes.file_count, p->sizes.full_bytes, p->plan.recovered.fault_count);
    for (size_t i = 0; i < p->plan.recovered.fault_count; i++) {
        const struct recovery_fault *f = &p->plan.recovered.faults[i];

        buf_printf(out, "  %s (%" PRIu64 " bytes, operator \"%s\" subtask %" PRIu32 "): %s\n",
                   f->path, f->size_bytes, f->operator_name, f->subtask_index, f->reason);
    }
}

static void print_dropped(const struct preflight *p, struct buf *out)
{
    struct buf lines = {0};

    if (p->dropped_count == 0)
        return;
    buf_printf(out, "dropped, since no operator here takes it over (%s):\n",
               p->plan.allow_non_restored ? "-n is given" : "-n is needed");
    assign_print_dropped(&p->plan.assignment, &lines);
    for (size_t at = 0; at < lines.len;) {
        size_t len = strcspn(buf_cstr(&lines) + at, "\n");

        buf_printf(out, "  %.*s\n", (int)len, buf_cstr(&lines) + at);
        at += len + 1;
    }
    buf_release(&lines);
}

static void print_state(const struct preflight_state *s, struct buf *out)
{
    const struct state_desc *d = s->is != NULL ? s->is : s->was;
    struct buf differ = {0};

    buf_printf(out, "  state %s: %s\n", s->name, s->fate);
    if (s->was != NULL && s->is != NULL)
        state_differences(s->was, s->is, &differ);
    else
        buf_printf(&differ, "\n  %s, key %s, value %s", state_kind_words(d->kind), d->key_type,
                   d->value_type);
    for (size_t at = 1; at < differ.len;) { /* each line begins with its line end */
        size_t len = strcspn(buf_cstr(&differ) + at, "\n");

        buf_printf(out, "  %.*s\n", (int)len, buf_cstr(&differ) + at);
        at += len + 1;
    }
    buf_release(&differ);
}

static void print_operator(const struct preflight_operator *op, struct buf *out)
{
    const struct restore_verdict *v = &op->verdict;

    buf_printf(out, "operator %s: parallelism %" PRIu32 ", %s\n", v->spec->name, v->parallelism,
               fate_str(op->fate));
    if (v->spec->uid[0] != '\0')
        buf_printf(out, "  uid %s\n", v->spec->uid);
    if (op->fate == PREFLIGHT_EMPTY && v->old != NULL)
        buf_append_str(out, "  nothing that the snapshot has of it can be taken over\n");
    else if (op->fate == PREFLIGHT_EMPTY)
        buf_printf(out, "  the snapshot has no operator of its id, %s%s%s\n", v->spec->id,
                   op->nearest == NULL ? "" : "; of those left over there the nearest is ",
                   op->nearest == NULL ? "" : op->nearest);
    if (v->old != NULL && v->old->parallelism != v->parallelism)
        buf_printf(out, "  parallelism was %" PRIu32 "\n", v->old->parallelism);
    if (v->fault != NULL) /* the rest of it follows, state by state */
        buf_printf(out, "  %.*s\n", (int)strcspn(v->fault, "\n"), v->fault);
    for (size_t i = 0; i < op->state_count; i++)
        print_state(&op->states[i], out);
    if (v->fit.kept_count > 0)
        buf_append_str(out, "  kept:");
    for (size_t i = 0; i < v->fit.kept_count; i++)
        buf_printf(out, "%s %s%s", i > 0 ? "," : "", v->fit.kept[i],
                   i + 1 == v->fit.kept_count ? "\n" : "");
    if (v->in_flight_lost[0] != '\0')
        buf_printf(out, "  %s\n", v->in_flight_lost);
    else if (v->in_flight_rows > 0)
        buf_printf(out, "  in flight: %" PRIu64 " rows, processed before new ones\n", v->in_flight_rows);
    for (size_t i = 0; i < op->position_count && i < POSITIONS_SHOWN; i++) {
        buf_append_str(out, "  goes on at ");
        inspect_print_item(op->positions[i], out);
        buf_append_str(out, "\n");
    }
    if (op->position_count > POSITIONS_SHOWN)
        buf_printf(out, "  ... and at %zu more\n", op->position_count - POSITIONS_SHOWN);
}

void preflight_print(const struct preflight *p, struct buf *plain)
{
    struct buf text = {0}, *out = &text;

    buf_printf(out, "job \"%s\" would %sstart\n", p->graph->job_name,
               p->fault == NULL ? "" : "not ");
    if (p->fault != NULL)
        buf_printf(out, "%s\n", p->fault);
    print_start(p, out);
    print_dropped(p, out);
    if (p->fault == NULL)
        restore_plan_print_fits(&p->plan, p->graph, out);
    for (size_t i = 0; i < p->operator_count; i++)
        print_operator(&p->operators[i], out);
    if (p->meta != NULL)
        buf_printf(out, "possible parallelism: 1 to %" PRIu32 " (max parallelism)\n",
                   p->most_parallelism);
    buf_printf(out, "checkpoints: %s\n",
               p->checkpoint_dir[0] == '\0' ? "in memory" : p->checkpoint_dir);
    inspect_append_plain(&text, plain);
    buf_release(&text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put(json_t *o, const char *name, json_t *value_take)
{
    ASSERT(value_take != NULL && json_object_set_new(o, name, value_take) == 0);
}

static void add(json_t *list, json_t *value_take)
{
    ASSERT(value_take != NULL && json_array_append_new(list, value_take) == 0);
}

static json_t *integer(uint64_t v)
{
    return json_integer((json_int_t)v);
}

static json_t *text_or_null(const char *s)
{
    return s == NULL ? json_null() : text_json(s);
}

static json_t *start_json(const struct preflight *p)
{
    const struct checkpoint_metadata *m = p->meta;
    json_t *o;

    if (m == NULL)
        return json_null();
    o = json_object();
    put(o, "path", text_json(p->plan.recovered.dir));
    put(o, "kind", text_json(kind_words(m)));
    put(o, "checkpoint_id", integer(m->checkpoint_id));
    put(o, "job_id", text_json(m->job_id));
    put(o, "job_name", text_json(m->job_name));
    put(o, "claim_mode", text_json(p->plan.claim_mode == CLAIM_CLAIM ? "CLAIM" : "NO_CLAIM"));
    put(o, "same_statements",
        json_boolean(p->graph->sql != NULL && strcmp(m->sql, p->graph->sql) == 0));
    return o;
}

/* Of a snapshot of Flink's: a line of its own for each thing that nobody takes over, and for each
 * column that is converted. */
static json_t *flink_json(const struct preflight *p)
{
    json_t *o = json_object(), *left = json_array(), *converted = json_array();

    for (size_t i = 0; i < p->plan.import_dropped_count; i++)
        add(left, text_json(p->plan.import_dropped[i]));
    put(o, "dropped", left);
    for (size_t i = 0; i < p->plan.import_converted_count; i++)
        add(converted, text_json(p->plan.import_converted[i]));
    put(o, "converted", converted);
    return o;
}

static json_t *skips_json(const struct recovered *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->skip_count; i++)
        add(list, json_pack("{s: o, s: o}", "path", text_json(r->skips[i].path), "reason",
                            text_json(r->skips[i].reason)));
    return list;
}

static json_t *files_json(const struct preflight *p)
{
    const struct recovered *r = &p->plan.recovered;
    json_t *o = json_object(), *faults = json_array();

    put(o, "named", integer(p->sizes.file_count));
    put(o, "size", integer(p->sizes.full_bytes));
    for (size_t i = 0; i < r->fault_count; i++)
        add(faults, json_pack("{s: o, s: o, s: I, s: I, s: o}", "path",
                              text_json(r->faults[i].path), "operator",
                              text_json(r->faults[i].operator_name), "subtask",
                              (json_int_t)r->faults[i].subtask_index, "size",
                              (json_int_t)r->faults[i].size_bytes, "reason",
                              text_json(r->faults[i].reason)));
    put(o, "faults", faults);
    return o;
}

static json_t *dropped_json(const struct preflight *p)
{
    json_t *list = json_array();

    for (size_t i = 0; i < p->dropped_count; i++)
        add(list, json_pack("{s: o, s: o, s: I, s: I, s: I, s: I}", "id", text_json(p->dropped[i].id),
                            "name", text_json(p->dropped[i].name), "keys",
                            (json_int_t)p->dropped[i].entry_count, "size",
                            (json_int_t)p->dropped[i].size_bytes, "list_items",
                            (json_int_t)p->dropped[i].list_item_count, "in_flight_rows",
                            (json_int_t)p->dropped[i].in_flight_rows));
    return list;
}

static json_t *types_json(const struct state_desc *d)
{
    if (d == NULL)
        return json_null();
    return json_pack("{s: s, s: o, s: o, s: o, s: o}", "kind", state_kind_words(d->kind), "key",
                     text_json(d->key_type), "namespace", text_json(d->namespace_type), "user_key",
                     text_json(d->user_key_type), "value", text_json(d->value_type));
}

static json_t *states_json(const struct preflight_operator *op)
{
    json_t *list = json_array();

    for (size_t i = 0; i < op->state_count; i++)
        add(list, json_pack("{s: o, s: s, s: o, s: o}", "name", text_json(op->states[i].name),
                            "fate", op->states[i].fate, "was", types_json(op->states[i].was), "is",
                            types_json(op->states[i].is)));
    return list;
}

static json_t *names_json(const char *const *names, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        add(list, text_json(names[i]));
    return list;
}

static json_t *operator_json(const struct preflight_operator *op)
{
    const struct restore_verdict *v = &op->verdict;
    json_t *o = json_object(), *calls = json_object(), *positions = json_array();

    put(o, "name", text_json(v->spec->name));
    put(o, "id", text_json(v->spec->id));
    put(o, "uid", text_json(v->spec->uid));
    put(o, "parallelism", integer(v->parallelism));
    put(o, "was_parallelism", v->old == NULL ? json_null() : integer(v->old->parallelism));
    put(o, "fate", text_json(fate_str(op->fate)));
    put(o, "reason", text_or_null(v->fault));
    put(o, "nearest", text_or_null(op->nearest));
    put(o, "states", states_json(op));
    put(o, "in_flight_rows", integer(v->in_flight_rows));
    put(o, "in_flight_dropped", v->in_flight_lost[0] == '\0' ? json_null() : text_json(v->in_flight_lost));
    put(calls, "kept", names_json(v->fit.kept, v->fit.kept_count));
    put(calls, "new", names_json(v->fit.fresh, v->fit.fresh_count));
    put(calls, "dropped", names_json(v->fit.gone, v->fit.gone_count));
    put(o, "aggregates", calls);
    for (size_t i = 0; i < op->position_count; i++)
        add(positions, json_incref(op->positions[i]));
    put(o, "positions", positions);
    return o;
}

json_t *preflight_json(const struct preflight *p)
{
    json_t *o = json_object(), *operators = json_array();

    put(o, "job_name", text_json(p->graph->job_name));
    put(o, "would_start", json_boolean(p->fault == NULL));
    put(o, "reason", text_or_null(p->fault));
    put(o, "start", start_json(p));
    put(o, "flink", p->plan.from_flink ? flink_json(p) : json_null());
    put(o, "passed_over", skips_json(&p->plan.recovered));
    put(o, "files", files_json(p));
    put(o, "dropped", dropped_json(p));
    put(o, "allow_non_restored_state", json_boolean(p->plan.allow_non_restored));
    put(o, "max_parallelism", integer(p->most_parallelism));
    for (size_t i = 0; i < p->operator_count; i++)
        add(operators, operator_json(&p->operators[i]));
    put(o, "operators", operators);
    put(o, "checkpoints",
        p->checkpoint_dir[0] == '\0' ? json_null() : text_json(p->checkpoint_dir));
    return o;
}
