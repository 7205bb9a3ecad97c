/* preview.c - see preview.h. After: TableauStyle (flink-table-common). */
#include "job/sql/preview.h"

#include "job/datetime.h"
#include "job/sql/text_width.h"

#define ROWS_KEPT_DEFAULT 10000
#define KEPT_BYTES_MAX (64u << 20) /* text of rows that wait for the last one */
#define NULL_TEXT "<NULL>"

struct preview {
    preview_write_fn *write;
    void *ctx;
    struct fs *fs;
    uint32_t max_rows;
    struct arena *arena; /* of one result */
    struct statement_result result;
    bool open, has_op, streaming;
    uint32_t column_count;
    const char **names;
    size_t *widths;

    struct zone *zone;
    /* All rows first: cells row by row. */
    struct buf cells; /* each: length as 4 bytes, then the text */
    uint32_t kept;
    uint64_t seen;
    struct buf line;
};

struct preview *preview_new(struct fs *fs, preview_write_fn *write, void *ctx, uint32_t max_rows)
{
    struct preview *p = mem_calloc(1, sizeof *p);

    p->fs = fs;
    p->write = write;
    p->ctx = ctx;
    p->max_rows = max_rows == 0 ? ROWS_KEPT_DEFAULT : max_rows;
    return p;
}

static void forget(struct preview *p)
{
    arena_free(p->arena);
    p->arena = NULL;
    zone_free(p->zone);
    p->zone = NULL;
    buf_release(&p->cells);
    p->kept = 0;
    p->seen = 0;
    p->open = false;
}

void preview_free(struct preview *p)
{
    if (p == NULL)
        return;
    forget(p);
    buf_release(&p->line);
    mem_free(p);
}

static enum rc send(struct preview *p, struct err *err)
{
    enum rc rc = p->write(p->ctx, buf_bytes(&p->line), err);

    buf_clear(&p->line);
    return rc;
}

/* ---- widths ---------------------------------------------------------------------------------- */

static size_t timestamp_width(uint8_t precision)
{
    return precision == 0 ? 19 : 20u + precision;
}

static size_t width_of_type(struct type t)
{
    switch (t.kind) {
    case TYPE_TINYINT:
        return 4;
    case TYPE_SMALLINT:
        return 6;
    case TYPE_INT:
        return 11;
    case TYPE_BIGINT:
        return 20;
    case TYPE_DECIMAL:
        return (size_t)t.precision + 2;
    case TYPE_BOOLEAN:
        return 5;
    case TYPE_DATE:
        return 10;
    case TYPE_TIME:
        return t.precision == 0 ? 8 : 9u + t.precision;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return timestamp_width(t.precision);
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return t.length < PREVIEW_COLUMN_WIDTH_MAX ? (size_t)t.length : PREVIEW_COLUMN_WIDTH_MAX;
    default:
        return PREVIEW_COLUMN_WIDTH_MAX;
    }
}

static void set_columns(struct preview *p, const struct schema *schema)
{
    p->column_count = schema->field_count;
    p->names = ARENA_ARRAY(p->arena, schema->field_count + 1, const char *);
    p->widths = ARENA_ARRAY(p->arena, schema->field_count + 1, size_t);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        struct type type = schema->fields[i].type;

        p->names[i] = arena_strdup(p->arena, schema->fields[i].name);
        p->widths[i] = text_width(bytes_of_str(p->names[i]));
        if (p->streaming) {
            size_t width = width_of_type(type);

            if (type.nullable && width < strlen(NULL_TEXT))
                width = strlen(NULL_TEXT);
            if (width > p->widths[i])
                p->widths[i] = width;
        }
    }
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* SHOW JOBS: as a Java LocalDateTime, which leaves out what is zero: 2026-11-29T15:58:04.750,
 * 2026-11-29T15:58:04, 2026-11-29T15:58. */
static void print_java_local(int64_t value, uint8_t precision, struct buf *out)
{
    bool whole = value % (timestamp_units_per_ms(precision) * 1000) == 0;

    timestamp_print_min(value, precision, 'T', whole ? 0 : 3, out);
    if (whole && memcmp(out->data + out->len - 3, ":00", 3) == 0)
        out->len -= 3;
}

static void print_local(struct preview *p, const struct column *c, uint32_t row, struct buf *out)
{
    int64_t value = ((const int64_t *)c->values)[row];
    struct err ignored = {0};

    if (zone_timestamp_to_local(p->zone, value, c->type.precision, &value, &ignored) != RC_OK) {
        buf_append_str(out, "?");
        return;
    }
    if (p->result.kind == RESULT_ROWS)
        print_java_local(value, c->type.precision, out);
    else
        timestamp_print(value, c->type.precision, out);
}

/* Control characters would break the table. */
static void make_printable(struct buf *cell)
{
    for (size_t i = 0; i < cell->len; i++)
        if (cell->data[i] < 0x20 || cell->data[i] == 0x7f)
            cell->data[i] = ' ';
}

static void print_cell(struct preview *p, const struct column *c, uint32_t row, struct buf *out)
{
    if (c->type.kind == TYPE_NULL || !column_present(c, row))
        buf_append_str(out, NULL_TEXT);
    else if (c->type.kind == TYPE_BOOLEAN)
        buf_append_str(out, bit_get(c->values, row) ? "TRUE" : "FALSE");
    else if (c->type.kind == TYPE_TIMESTAMP_LTZ && p->zone != NULL)
        print_local(p, c, row, out);
    else
        column_print(c, row, out);
    if (p->column_count > 1 || p->result.kind == RESULT_QUERY)
        make_printable(out);
}

/* Cuts to `width` columns, the last three of them dots. */
static struct bytes cut(struct bytes text, size_t width, bool *dots)
{
    size_t at = 0, used = 0;

    *dots = false;
    if (text_width(text) <= width)
        return text;
    *dots = true;
    while (at < text.len) {
        uint32_t c;
        size_t len = utf8_next(text, at, &c);

        if (used + code_point_width(c) + 3 > width)
            break;
        used += code_point_width(c);
        at += len;
    }
    return bytes_of(text.data, at);
}

static void append_cell(struct preview *p, struct bytes text, size_t width)
{
    bool dots;
    struct bytes shown = cut(text, width, &dots);
    size_t used = text_width(shown) + (dots ? 3 : 0);

    buf_append_u8(&p->line, ' ');
    for (; used < width; used++)
        buf_append_u8(&p->line, ' ');
    buf_append(&p->line, shown.data, shown.len);
    buf_append_str(&p->line, dots ? "... |" : " |");
}

static void append_border(struct preview *p)
{
    buf_append_str(&p->line, p->has_op ? "+----+" : "+");
    for (uint32_t i = 0; i < p->column_count; i++) {
        for (size_t w = 0; w < p->widths[i] + 2; w++)
            buf_append_u8(&p->line, '-');
        buf_append_u8(&p->line, '+');
    }
    buf_append_u8(&p->line, '\n');
}

static void append_head(struct preview *p)
{
    append_border(p);
    buf_append_str(&p->line, p->has_op ? "| op |" : "|");
    for (uint32_t i = 0; i < p->column_count; i++)
        append_cell(p, bytes_of_str(p->names[i]), p->widths[i]);
    buf_append_u8(&p->line, '\n');
    append_border(p);
}

/* ---- handler --------------------------------------------------------------------------------- */

static enum rc begin(void *ctx, const struct schema *schema, const struct statement_result *result,
                     struct err *err)
{
    struct preview *p = ctx;

    forget(p);
    p->result = *result;
    if (schema == NULL)
        return RC_OK;
    p->arena = arena_new(4096);
    p->open = true;
    p->streaming = result->kind == RESULT_QUERY && !result->batch;
    p->has_op = p->streaming;
    RETURN_IF_ERR(zone_open(p->fs, result->time_zone, &p->zone, err));
    set_columns(p, schema);
    if (!p->streaming)
        return RC_OK;
    append_head(p);
    return send(p, err);
}

static enum rc stream_rows(struct preview *p, const struct batch *b, struct err *err)
{
    struct buf cell = {0};

    for (uint32_t r = 0; r < b->rows; r++) {
        buf_printf(&p->line, "| %s |", row_kind_str(batch_kind(b, r)));
        for (uint32_t c = 0; c < b->column_count; c++) {
            buf_clear(&cell);
            print_cell(p, &b->columns[c], r, &cell);
            append_cell(p, buf_bytes(&cell), p->widths[c]);
        }
        buf_append_u8(&p->line, '\n');
    }
    buf_release(&cell);
    return send(p, err);
}

static void keep_row(struct preview *p, const struct batch *b, uint32_t row)
{
    for (uint32_t c = 0; c < b->column_count; c++) {
        size_t at = p->cells.len, width;

        buf_append_le32(&p->cells, 0);
        {
            struct buf cell = {0};

            print_cell(p, &b->columns[c], row, &cell);
            buf_append(&p->cells, cell.data, cell.len);
            put_le32(p->cells.data + at, (uint32_t)cell.len);
            width = text_width(buf_bytes(&cell));
            buf_release(&cell);
        }
        if (width > p->widths[c])
            p->widths[c] = width;
    }
    p->kept++;
}

static enum rc rows(void *ctx, const struct batch *b, struct err *err)
{
    struct preview *p = ctx;

    p->seen += b->rows;
    if (p->streaming)
        return stream_rows(p, b, err);
    for (uint32_t r = 0; r < b->rows && p->kept < p->max_rows && p->cells.len < KEPT_BYTES_MAX; r++)
        keep_row(p, b, r);
    return RC_OK;
}

struct result_handler preview_handler(struct preview *p)
{
    return (struct result_handler){.ctx = p, .begin = begin, .rows = rows};
}

/* EXPLAIN, SHOW CREATE and other answers of one text: as it is, without a frame. */
static bool is_plain_text(const struct preview *p)
{
    return p->result.kind == RESULT_ROWS && p->column_count == 1 &&
           strcmp(p->names[0], "result") == 0;
}

static void append_kept(struct preview *p)
{
    const uint8_t *at = p->cells.data;
    bool plain = is_plain_text(p);

    if (!plain)
        append_head(p);
    for (uint32_t r = 0; r < p->kept; r++) {
        buf_append_str(&p->line, plain ? "" : "|");
        for (uint32_t c = 0; c < p->column_count; c++) {
            uint32_t len = get_le32(at);

            if (plain)
                buf_append(&p->line, at + 4, len);
            else
                append_cell(p, bytes_of(at + 4, len), p->widths[c]);
            at += 4 + len;
        }
        if (!plain || (p->line.len > 0 && p->line.data[p->line.len - 1] != '\n'))
            buf_append_u8(&p->line, '\n');
    }
    if (!plain)
        append_border(p);
}

static void append_table_end(struct preview *p)
{
    unsigned long long n = p->seen;

    if (p->streaming) {
        append_border(p);
        buf_printf(&p->line, "Received a total of %llu row%s\n", n, n == 1 ? "" : "s");
        return;
    }
    if (n == 0) {
        buf_append_str(&p->line, "Empty set\n");
        return;
    }
    append_kept(p);
    if (!is_plain_text(p))
        buf_printf(&p->line, "%llu row%s in set\n", n, n == 1 ? "" : "s");
    if (p->kept < n)
        buf_printf(&p->line, "[WARN] only the first %u rows are shown\n", p->kept);
}

enum rc preview_end(struct preview *p, const struct statement_result *result, struct err *err)
{
    switch (result->kind) {
    case RESULT_ROWS:
    case RESULT_QUERY:
        if (p->open)
            append_table_end(p);
        break;
    case RESULT_OK:
        buf_append_str(&p->line, "[INFO] Execute statement succeeded.\n");
        break;
    case RESULT_JOB:
        buf_printf(&p->line,
                   "[INFO] SQL update statement has been successfully submitted to the "
                   "cluster:\nJob ID: %s\n",
                   result->job_id);
        break;
    case RESULT_HELP:
        buf_append_str(&p->line, session_help());
        break;
    case RESULT_EXIT:
        break;
    }
    forget(p);
    return send(p, err);
}
