/* usage.c - see usage.h
 *
 * Every name of a file becomes a record: those that lie below the path, and those that a _metadata
 * names. Sorted by inode, the names of one file are neighbours, and judged together. */
#include "checkpoint/usage_priv.h"

#include "checkpoint/layout.h"
#include "checkpoint/snapshot_read.h"

#include <stdlib.h>

#define DEPTH_MAX 8 /* of directories below the path: links could lead round in circles */
#define NOBODY UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)

const char *usage_status_str(enum usage_status s)
{
    static const char *const names[] = {"complete", "unreadable", "incomplete"};

    return names[s];
}

enum name_kind {
    NAME_FOUND,    /* lies below the path */
    NAME_METADATA, /* the same: a snapshot's _metadata */
    NAME_OWN,      /* the same: a job's lock, notes, taskowned/ */
    NAME_NAMED,    /* by a _metadata, wherever it lies */
};
struct name {
    uint64_t device, inode, size_bytes, link_count;
    uint32_t owner; /* the one snapshot that it belongs to, SEVERAL, NOBODY */
    uint32_t op;    /* NAME_NAMED: of the set's operators */
    uint32_t state; /* the same: of the report's states, when they are told apart */
    enum name_kind kind;
    bool part; /* NAME_NAMED: some bytes of a file that several share */
};

struct usage {
    struct fs *fs;
    struct usage_report *report;
    struct file_set *files;
    struct arena *scratch;
    struct look_watch watch;
    const struct rebase *rebase;
    uint32_t *state_of; /* by file of the set; NULL: states are not told apart */
    struct name *names;
    size_t name_count, name_cap;
};

static void add_name(struct usage *u, struct name name)
{
    if (u->name_count == u->name_cap) {
        u->name_cap = u->name_cap == 0 ? 1024 : u->name_cap * 2;
        u->names = mem_realloc(u->names, u->name_cap * sizeof *u->names);
    }
    u->names[u->name_count++] = name;
}

static void add_sum(struct usage_sum *sum, uint64_t bytes)
{
    sum->count++;
    sum->bytes += bytes;
}

/* ---- what the snapshots name ----------------------------------------------------------------- */

struct user {
    struct usage *u;
    uint32_t snapshot;
};

static enum rc use_file(void *ctx, const struct operator_meta *op,
                        const struct subtask_state *subtask, struct state_file *file,
                        struct err *err UNUSED)
{
    struct user *user = ctx;

    if (file_set_use(user->u->files, user->snapshot, op, subtask, file))
        add_sum(&user->u->report->snapshots[user->snapshot].named, file->size_bytes);
    return RC_OK;
}

static enum rc survey_one(struct usage *u, uint32_t snapshot, struct err *err)
{
    struct snapshot_usage *s = &u->report->snapshots[snapshot];
    struct user user = {u, snapshot};
    struct checkpoint_metadata m;
    struct metadata_sizes sizes;
    uint64_t metadata_bytes;
    struct err local = {0};
    enum rc rc;

    arena_reset(u->scratch);
    rc = snapshot_read(u->fs, s->dir, u->rebase, u->scratch, &m, &metadata_bytes, &local);
    if (rc == RC_NOT_FOUND) {
        s->status = USAGE_INCOMPLETE; /* also one that was deleted meanwhile */
        return RC_OK;
    }
    if (rc != RC_OK) {
        s->status = USAGE_UNREADABLE;
        s->reason = arena_strdup(u->report->arena, local.msg);
        u->report->unreadable_count++;
        return RC_OK;
    }
    s->checkpoint_id = m.checkpoint_id;
    metadata_sizes_of(&m, &sizes);
    s->inline_bytes = sizes.inline_bytes;
    return metadata_each_file(&m, use_file, &user, err);
}

static enum rc survey(struct usage *u, struct err *err)
{
    struct usage_report *r = u->report;

    r->snapshot_count = r->list.count;
    r->snapshots = ARENA_ARRAY(r->arena, r->list.count, struct snapshot_usage);
    for (uint32_t i = 0; i < r->list.count; i++) {
        r->snapshots[i] = (struct snapshot_usage){
            .dir = r->list.items[i].dir,
            .checkpoint_id = r->list.items[i].checkpoint_id,
            .status = r->list.items[i].complete ? USAGE_COMPLETE : USAGE_INCOMPLETE,
            .reason = "",
        };
        if (r->list.items[i].complete)
            RETURN_IF_ERR(survey_one(u, i, err));
        look_tell(&u->watch, "checkpoints", i + 1, r->list.count, false);
    }
    return RC_OK;
}

/* ---- what lies there ------------------------------------------------------------------------- */

struct walk {
    struct usage *u;
    const char *dir;
    int depth;
    uint32_t snapshot; /* whose directory it is; NOBODY */
    bool own;          /* of the job itself: not for snapshots to name */
    bool above;        /* snapshots lie in it, and are walked by themselves */
};

static bool is_jobs_own(const char *name)
{
    uint64_t id;

    return strcmp(name, LAYOUT_LOCK) == 0 || strcmp(name, LAYOUT_ORIGIN) == 0 ||
           strcmp(name, LAYOUT_ENDED) == 0 || strcmp(name, LAYOUT_TASKOWNED) == 0 ||
           layout_parse_savepoint_mark(name, &id);
}

static bool is_walked_apart(const char *name)
{
    uint64_t id;

    return layout_parse_checkpoint(name, &id) || layout_is_savepoint(name) ||
           layout_is_job_id(name);
}

static enum rc walk_dir(struct walk w, struct err *err);

static enum rc walk_name(void *ctx, const char *name, const struct fs_stat *st, struct err *err)
{
    const struct walk *w = ctx;
    bool own = (w->own || (w->above && is_jobs_own(name))) && !layout_is_log(name);
    char path[FS_PATH_MAX];

    if ((w->above && is_walked_apart(name)) ||
        path_join(path, sizeof path, w->dir, name, NULL) != RC_OK)
        return RC_OK;
    if (st->type == FS_DIR)
        return walk_dir((struct walk){.u = w->u,
                                      .dir = path,
                                      .depth = w->depth + 1,
                                      .snapshot = w->snapshot,
                                      .own = own},
                        err);
    add_name(w->u, (struct name){
                       .device = st->device,
                       .inode = st->inode,
                       .size_bytes = st->size_bytes,
                       .link_count = st->link_count,
                       .owner = w->snapshot,
                       .kind = w->snapshot != NOBODY && strcmp(name, LAYOUT_METADATA) == 0
                                   ? NAME_METADATA
                               : own ? NAME_OWN
                                     : NAME_FOUND,
                   });
    return RC_OK;
}

static enum rc walk_dir(struct walk w, struct err *err)
{
    struct err local = {0};
    enum rc rc;

    if (w.depth > DEPTH_MAX)
        return RC_OK;
    rc = fs_list_stat(w.u->fs, w.dir, walk_name, &w, &local);
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

static enum rc walk_all(struct usage *u, struct err *err)
{
    const struct usage_report *r = u->report;

    for (uint32_t i = 0; i < r->snapshot_count; i++) {
        RETURN_IF_ERR(
            walk_dir((struct walk){.u = u, .dir = r->snapshots[i].dir, .snapshot = i}, err));
        look_tell(&u->watch, "directories", i + 1, r->snapshot_count, false);
    }
    for (size_t i = 0; i < r->list.job_count; i++)
        RETURN_IF_ERR(walk_dir((struct walk){.u = u,
                                             .dir = r->list.job_dirs[i],
                                             .snapshot = NOBODY,
                                             .above = true},
                               err));
    if (r->list.type == LIST_OF_ROOT)
        return walk_dir(
            (struct walk){.u = u, .dir = r->list.path, .snapshot = NOBODY, .above = true}, err);
    return RC_OK;
}

/* ---- by inode -------------------------------------------------------------------------------- */

static void add_named(struct usage *u)
{
    for (size_t i = 0; i < file_set_count(u->files); i++) {
        struct named_file *f = file_set_at(u->files, i);

        file_set_look(u->files, u->fs, f);
        if (f->inode == 0) {
            add_sum(&u->report->missing, f->size_bytes);
            if (f->first_snapshot == f->last_snapshot)
                add_sum(&u->report->snapshots[f->first_snapshot].alone, f->size_bytes);
            continue;
        }
        add_name(u, (struct name){
                        .device = f->device,
                        .inode = f->inode,
                        .size_bytes = f->size_bytes,
                        .link_count = f->link_count,
                        .owner = f->first_snapshot == f->last_snapshot ? f->first_snapshot
                                                                        : SEVERAL,
                        .op = (uint32_t)f->op->index,
                        .state = u->state_of == NULL ? 0 : u->state_of[i],
                        .kind = NAME_NAMED,
                        .part = f->at_least,
                    });
    }
}

static int by_inode(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/* What the names of one file say together. */
struct verdict {
    uint64_t size_bytes, link_count;
    uint32_t owner, op, state;
    uint64_t found, taken;  /* names below the path; names that go when all who have them go */
    struct usage_sum named; /* names in a _metadata, as recorded */
    bool is_own;
};

static struct verdict judge(const struct name *names, size_t count)
{
    struct verdict v = {
        .size_bytes = names[0].size_bytes, /* a found one's, if there is any: as it is on disk */
        .link_count = names[0].link_count,
        .owner = NOBODY,
    };
    size_t parts = 0;

    for (size_t i = 0; i < count; i++) {
        const struct name *n = &names[i];

        v.found += n->kind != NAME_NAMED;
        v.is_own = v.is_own || n->kind == NAME_OWN;
        if (n->kind != NAME_NAMED && n->kind != NAME_METADATA)
            continue;
        v.taken += !(n->part && parts++ > 0); /* one name, however many parts of it are named */
        v.owner = v.owner == NOBODY || v.owner == n->owner ? n->owner : SEVERAL;
        if (n->kind == NAME_NAMED) {
            add_sum(&v.named, n->size_bytes);
            v.op = n->op;
            v.state = n->state;
        }
    }
    return v;
}

static void count_file(struct usage_report *r, const struct verdict *v)
{
    add_sum(&r->all, v->size_bytes);
    if (v->link_count > (v->found > v->taken ? v->found : v->taken))
        add_sum(&r->linked, v->size_bytes);
    if (v->taken == 0 && !v->is_own)
        add_sum(&r->unnamed, v->size_bytes);
    if (v->named.count > 0 && r->only == USAGE_ALL)
        add_sum(v->owner == SEVERAL ? &r->operators[v->op].shared : &r->operators[v->op].exclusive,
                v->size_bytes);
    if (v->named.count > 0 && r->only == USAGE_ALL && r->state_count > 0)
        add_sum(v->owner == SEVERAL ? &r->states[v->state].shared : &r->states[v->state].exclusive,
                v->size_bytes);
    if (v->taken == 0 || v->owner == SEVERAL)
        return;
    add_sum(&r->snapshots[v->owner].exclusive, v->size_bytes);
    r->snapshots[v->owner].alone.count += v->named.count;
    r->snapshots[v->owner].alone.bytes += v->named.bytes;
    if (v->link_count == v->taken)
        add_sum(&r->snapshots[v->owner].freed, v->size_bytes);
}

static void list_operators(struct usage *u)
{
    struct usage_report *r = u->report;

    r->operator_count = file_set_operator_count(u->files);
    r->operators = ARENA_ARRAY(r->arena, r->operator_count, struct operator_usage);
    for (size_t i = 0; i < r->operator_count; i++) {
        const struct named_operator *op = file_set_operator(u->files, i);

        memcpy(r->operators[i].id, op->id, sizeof op->id);
        r->operators[i].name = arena_strdup(r->arena, op->name);
    }
}

static void count_all(struct usage *u)
{
    struct usage_report *r = u->report;
    size_t to;

    if (u->name_count > 0)
        qsort(u->names, u->name_count, sizeof *u->names, by_inode);
    for (size_t from = 0; from < u->name_count; from = to) {
        struct verdict v;

        for (to = from + 1; to < u->name_count && u->names[to].inode == u->names[from].inode &&
                            u->names[to].device == u->names[from].device;)
            to++;
        v = judge(&u->names[from], to - from);
        count_file(r, &v);
    }
}

/* What each names and does not have to itself it shares. */
static void count_shared(struct usage_report *r)
{
    for (size_t i = 0; i < r->snapshot_count; i++) {
        struct snapshot_usage *s = &r->snapshots[i];

        s->shared.count = s->named.count - s->alone.count;
        s->shared.bytes = s->named.bytes - s->alone.bytes;
    }
}

/* The operators' files of one snapshot: those that the others name as well are shared. */
struct one {
    struct usage *u;
    bool *seen; /* of the set's files */
};

static enum rc count_for_operator(void *ctx, const struct operator_meta *op UNUSED,
                                  const struct subtask_state *subtask UNUSED,
                                  struct state_file *file, struct err *err UNUSED)
{
    struct one *one = ctx;
    size_t i = file_set_find(one->u->files, file);
    const struct named_file *f;
    struct operator_usage *o;
    struct state_usage *s;

    if (i == FILE_SET_NONE || one->seen[i])
        return RC_OK;
    one->seen[i] = true;
    f = file_set_at(one->u->files, i);
    o = &one->u->report->operators[f->op->index];
    add_sum(f->first_snapshot == f->last_snapshot ? &o->exclusive : &o->shared, f->size_bytes);
    if (one->u->state_of == NULL)
        return RC_OK;
    s = &one->u->report->states[one->u->state_of[i]];
    add_sum(f->first_snapshot == f->last_snapshot ? &s->exclusive : &s->shared, f->size_bytes);
    return RC_OK;
}

static enum rc count_operators_of(struct usage *u, size_t snapshot, struct err *err)
{
    struct one one = {u, mem_calloc(file_set_count(u->files), sizeof(bool))};
    struct checkpoint_metadata m;
    uint64_t metadata_bytes;
    enum rc rc = RC_OK;

    arena_reset(u->scratch);
    if (u->report->snapshots[snapshot].status == USAGE_COMPLETE &&
        snapshot_read(u->fs, u->report->snapshots[snapshot].dir, u->rebase, u->scratch, &m,
                      &metadata_bytes, NULL) == RC_OK)
        rc = metadata_each_file(&m, count_for_operator, &one, err);
    mem_free(one.seen);
    return rc;
}

/* ---- from a path ----------------------------------------------------------------------------- */

/* Of one checkpoint its job's directory, so that what others share with it is known. */
static enum rc list_all(struct fs *fs, const char *path, struct usage_report *r, struct err *err)
{
    struct snapshot_list around;
    char parent[FS_PATH_MAX];
    uint64_t id;

    RETURN_IF_ERR(snapshot_list_make(fs, path, r->arena, &r->list, err));
    if (r->list.type != LIST_OF_ONE ||
        !layout_parse_checkpoint(path_base(r->list.items[0].dir), &id) ||
        path_dir(parent, sizeof parent, r->list.items[0].dir, NULL) != RC_OK ||
        snapshot_list_make(fs, parent, r->arena, &around, NULL) != RC_OK ||
        around.type != LIST_OF_JOB)
        return RC_OK;
    for (r->only = 0; strcmp(around.items[r->only].dir, r->list.items[0].dir) != 0; r->only++)
        if (r->only + 1 == around.count)
            return err_set(err, RC_NOT_FOUND, "%s went away", r->list.items[0].dir);
    r->list = around;
    return RC_OK;
}

enum rc usage_look(struct fs *fs, const char *path, const char *scratch_dir,
                   const struct rebase *rebase, struct look_watch watch, struct usage_report *out,
                   struct err *err)
{
    struct usage u = {.fs = fs, .report = out, .watch = watch, .rebase = rebase};
    enum rc rc;

    *out = (struct usage_report){.arena = arena_new(0), .only = USAGE_ALL};
    u.scratch = arena_new(0);
    u.files = file_set_new();
    GOTO_IF_ERR(list_all(fs, path, out, err));
    GOTO_IF_ERR(survey(&u, err));
    if (scratch_dir != NULL)
        GOTO_IF_ERR(
            usage_find_states(fs, scratch_dir, u.files, watch, out, &u.state_of, err));
    GOTO_IF_ERR(walk_all(&u, err));
    add_named(&u);
    list_operators(&u);
    count_all(&u);
    count_shared(out);
    if (out->only != USAGE_ALL)
        rc = count_operators_of(&u, out->only, err);
out:
    mem_free(u.names);
    mem_free(u.state_of);
    file_set_free(u.files);
    arena_free(u.scratch);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "du");
}

void usage_report_release(struct usage_report *r)
{
    arena_free(r->arena);
    *r = (struct usage_report){0};
}
