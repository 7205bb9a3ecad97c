/* operator_rig.h - one subtask's keyed operator driven by hand: rows in, results out as print lines. Over the hashmap backend, unless
 * kind and local_dir are set before rig_open; with the real clock, unless env.clock is. */
#ifndef VARVE_TESTS_LIB_OPERATOR_RIG_H
#define VARVE_TESTS_LIB_OPERATOR_RIG_H

#include "job/operator/operators.h"
#include "tests/lib/check_ext.h"

struct rig {
    struct output out;
    struct env env;
    struct config *config;
    struct operator_metrics metrics;
    struct operator_context ctx;
    struct arena *arena;
    struct schema input, output;
    struct batch_builder *rows;
    struct operator *op;
    enum backend_kind kind;
    const char *local_dir; /* rocksdb */
    struct buf text;       /* what came out, a line a row */
    int64_t watermark_ms; /* last one passed on */
};

static inline enum rc take_batch(struct output *o, struct batch *b, struct err *err)
{
    struct rig *r = (struct rig *)o;

    (void)err;
    for (uint32_t i = 0; i < b->rows; i++) {
        buf_printf(&r->text, "%s[", row_kind_str(batch_kind(b, i)));
        for (uint32_t c = 0; c < b->column_count; c++) {
            if (c > 0)
                buf_append_str(&r->text, ", ");
            column_print(&b->columns[c], i, &r->text);
        }
        buf_append_str(&r->text, "]\n");
    }
    return RC_OK;
}
static inline enum rc take_watermark(struct output *o, int64_t ms, struct err *err)
{
    (void)err;
    ((struct rig *)o)->watermark_ms = ms;
    return RC_OK;
}

static inline void set_field(struct schema *s, uint32_t i, const char *name, struct type type)
{
    s->fields[i].name = name;
    s->fields[i].type = type;
}

static inline struct type timestamp3(void)
{
    struct type t = type_of(TYPE_TIMESTAMP);

    t.precision = 3;
    return t;
}

/* Input: k STRING, ts TIMESTAMP(3), v BIGINT, s STRING, keep BOOLEAN. */
static inline void rig_init(struct rig *r, uint32_t output_fields)
{
    memset(r, 0, sizeof *r);
    r->out.batch = take_batch;
    r->out.watermark = take_watermark;
    r->arena = arena_new(0);
    r->env.fs = fs_posix();
    r->env.clock = clock_posix();
    r->config = config_new();
    r->watermark_ms = WATERMARK_NONE;
    r->input.field_count = 5;
    r->input.fields = ARENA_ARRAY(r->arena, 5, struct schema_field);
    set_field(&r->input, 0, "k", type_of(TYPE_VARCHAR));
    set_field(&r->input, 1, "ts", timestamp3());
    set_field(&r->input, 2, "v", type_of(TYPE_BIGINT));
    set_field(&r->input, 3, "s", type_of(TYPE_VARCHAR));
    set_field(&r->input, 4, "keep", type_of(TYPE_BOOLEAN));
    r->output.field_count = output_fields;
    r->output.fields = ARENA_ARRAY(r->arena, output_fields, struct schema_field);
    set_field(&r->output, 0, "k", type_of(TYPE_VARCHAR));
    r->rows = batch_builder_new(&r->input);
}

static inline void open_backend(struct rig *r, const struct keyed_handle *restore, size_t count)
{
    struct err err = {0};
    struct keyed_backend_config config = {.env = &r->env,
                                          .kind = r->kind,
                                          .local_dir = r->local_dir,
                                          .range = {0, 127},
                                          .key_group_count = 128,
                                          .backend_id = "00000000000000000000000000000001",
                                          .name = "test",
                                          .memory_bytes = 64u << 20,
                                          .max_open_files = -1,
                                          .restore = restore,
                                          .restore_count = count,
                                          .restore_operator = "test"};

    ck_assert_ok(keyed_backend_open(&config, &r->ctx.keyed, &err));
}

/* restore: NULL, nothing. */
static inline void rig_restore(struct rig *r, struct operator *op, const struct keyed_handle *restore)
{
    struct err err = {0};

    open_backend(r, restore, restore != NULL);
    r->ctx.env = &r->env;
    r->ctx.config = r->config;
    r->ctx.job_id = "0123456789abcdef0123456789abcdef";
    r->ctx.job_name = "test";
    r->ctx.operator_id = "fedcba9876543210fedcba9876543210";
    r->ctx.operator_name = "Test[k]";
    r->ctx.parallelism = 1;
    r->ctx.key_group_count = 128;
    r->ctx.state = operator_state_new();
    r->ctx.metrics = &r->metrics;
    r->op = op;
    ck_assert_ok(op->ops->open(op, &r->ctx, &err));
}

static inline void rig_open(struct rig *r, struct operator *op) { rig_restore(r, op, NULL); }

static inline void rig_close(struct rig *r)
{
    r->op->ops->close(r->op, true);
    keyed_backend_close(r->ctx.keyed);
    operator_state_free(r->ctx.state);
    batch_builder_free(r->rows);
    buf_release(&r->text);
    config_free(r->config);
    arena_free(r->arena);
}

/* NULL key or text: null; v INT64_MIN: null. */
static inline void row(struct rig *r, enum row_kind kind, const char *k, int64_t ts, int64_t v, const char *s, bool keep)
{
    if (k == NULL)
        batch_append_null(r->rows, 0);
    else
        batch_append_bytes(r->rows, 0, bytes_of_str(k));
    batch_append_int(r->rows, 1, ts);
    if (v == INT64_MIN)
        batch_append_null(r->rows, 2);
    else
        batch_append_int(r->rows, 2, v);
    if (s == NULL)
        batch_append_null(r->rows, 3);
    else
        batch_append_bytes(r->rows, 3, bytes_of_str(s));
    batch_append_bool(r->rows, 4, keep);
    batch_row_end(r->rows, kind);
}
static inline void add(struct rig *r, const char *k, int64_t v) { row(r, ROW_INSERT, k, 0, v, NULL, true); }

static inline enum rc feed(struct rig *r, struct err *err)
{
    enum rc rc = r->op->ops->process(r->op, batch_builder_view(r->rows), &r->out, err);

    batch_builder_clear(r->rows);
    return rc;
}

static inline void drain(struct rig *r)
{
    struct err err = {0};
    bool more = true;

    while (more)
        ck_assert_ok(r->op->ops->drain(r->op, &r->out, &more, &err));
}

static inline void expect(struct rig *r, const char *want)
{
    ck_assert_str_eq(buf_cstr(&r->text), want);
    buf_clear(&r->text);
}

/* Lines in any order. */
static inline int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
static inline void expect_set(struct rig *r, const char *want)
{
    struct buf sorted = {0};
    char *lines[64], *save = NULL;
    size_t n = 0;

    buf_cstr(&r->text);
    for (char *l = strtok_r((char *)r->text.data, "\n", &save); l != NULL && n < 64; l = strtok_r(NULL, "\n", &save))
        lines[n++] = l;
    qsort(lines, n, sizeof *lines, by_text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&sorted, "%s\n", lines[i]);
    ck_assert_str_eq(buf_cstr(&sorted), want);
    buf_release(&sorted);
    buf_clear(&r->text);
}

static const uint32_t key_k[] = {0};

static inline struct agg_call call(enum agg_func func, int32_t arg, enum type_kind result, const char *name)
{
    return (struct agg_call){.func = func, .arg = arg, .filter = -1, .result = type_of(result), .name = name};
}

static inline struct aggregate_spec group_by_k(struct rig *r, struct agg_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        set_field(&r->output, i + 1, calls[i].name, calls[i].result);
    return (struct aggregate_spec){.input = &r->input,
                                   .output = &r->output,
                                   .key_count = 1,
                                   .keys = key_k,
                                   .call_count = count,
                                   .calls = calls,
                                   .emit_update_before = true};
}

#endif
