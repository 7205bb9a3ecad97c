/* row_writer.c - see row_writer.h */
#include "job/cli/row_writer.h"

#include "job/format/format.h"
#include "job/sql/text_width.h"

#include <stdio.h>

#define TABLE_ROWS 1024u /* whose widths are looked at together */

struct row_writer {
    const struct schema *schema;
    enum row_format format;
    struct arena *arena; /* of the options */
    struct format_options options;
    struct encoder *encoder; /* NULL: a table */
    struct batch_builder *rows;
    bool begun; /* the header is out */
    uint32_t *widths;
    struct buf text, cell, shown;
};

enum rc row_format_of(const struct cli *cli, const char *given, enum row_format *out,
                      struct err *err)
{
    static const char *const words[] = {"jsonl", "csv", "table"};

    *out = cli->out_tty && !cli->json ? ROWS_TABLE : ROWS_JSONL;
    if (given == NULL)
        return RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i], given) == 0) {
            *out = (enum row_format)i;
            return RC_OK;
        }
    }
    return err_set(err, RC_INVALID, "--format %s: give " ROW_FORMATS, given);
}

struct row_writer *row_writer_new(const struct schema *schema, enum row_format format)
{
    struct row_writer *w = mem_calloc(1, sizeof *w);
    const struct format *f = format == ROWS_CSV ? &csv_format : &json_format;

    w->schema = schema;
    w->format = format;
    w->rows = batch_builder_new(schema);
    w->widths = mem_calloc(schema->field_count, sizeof *w->widths);
    if (format != ROWS_TABLE) {
        w->arena = arena_new(0);
        ASSERT(f->options(w->arena, 0, NULL, NULL, &w->options, NULL) == RC_OK); /* all by default */
        w->options.encode_decimal_plain = true;
        w->encoder = f->encoder_new(schema, &w->options, NULL);
    }
    return w;
}

void row_writer_free(struct row_writer *w)
{
    if (w == NULL)
        return;
    if (w->encoder != NULL)
        w->encoder->ops->free(w->encoder);
    arena_free(w->arena);
    batch_builder_free(w->rows);
    mem_free(w->widths);
    buf_release(&w->text);
    buf_release(&w->cell);
    buf_release(&w->shown);
    mem_free(w);
}

struct batch_builder *row_writer_rows(struct row_writer *w)
{
    return w->rows;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* The names as a row of text. */
static enum rc csv_header(struct row_writer *w, struct err *err)
{
    struct arena *a = arena_new(0);
    struct schema names = {w->schema->field_count,
                           ARENA_ARRAY(a, w->schema->field_count, struct schema_field), -1};
    struct batch_builder *b;
    struct encoder *e;
    enum rc rc;

    for (uint32_t i = 0; i < names.field_count; i++)
        names.fields[i] = (struct schema_field){w->schema->fields[i].name, type_of(TYPE_VARCHAR)};
    b = batch_builder_new(&names);
    e = csv_format.encoder_new(&names, &w->options, NULL);
    for (uint32_t i = 0; i < names.field_count; i++)
        batch_append_bytes(b, i, bytes_of_str(names.fields[i].name));
    batch_row_end(b, ROW_INSERT);
    rc = e->ops->encode(e, batch_builder_view(b), NULL, 1, &w->text, NULL, err);
    e->ops->free(e);
    batch_builder_free(b);
    arena_free(a);
    return rc;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_number(enum type_kind k)
{
    return k >= TYPE_TINYINT && k <= TYPE_DECIMAL;
}

/* A cell's text into w->shown: control characters would move the cursor. */
static struct bytes show(struct row_writer *w, struct bytes text)
{
    buf_clear(&w->shown);
    utf8_append_valid(text, &w->shown);
    for (size_t i = 0; i < w->shown.len; i++)
        if (w->shown.data[i] < 0x20 || w->shown.data[i] == 0x7f)
            w->shown.data[i] = '?';
    return buf_bytes(&w->shown);
}

static struct bytes cell_of(struct row_writer *w, const struct column *c, uint32_t row)
{
    buf_clear(&w->cell);
    column_print(c, row, &w->cell);
    return show(w, buf_bytes(&w->cell));
}

static void widen(struct row_writer *w, uint32_t column, struct bytes text)
{
    size_t width = text_width(text);

    if (width > w->widths[column])
        w->widths[column] = (uint32_t)width;
}

static void put_cell(struct row_writer *w, uint32_t column, struct bytes text, bool right)
{
    size_t width = text_width(text), pad = w->widths[column] - width;
    bool last = column + 1 == w->schema->field_count;

    for (size_t i = 0; right && i < pad; i++)
        buf_append_u8(&w->text, ' ');
    buf_append(&w->text, text.data, text.len);
    for (size_t i = 0; !right && !last && i < pad; i++)
        buf_append_u8(&w->text, ' ');
    buf_append_str(&w->text, last ? "\n" : "  ");
}

static void table_header(struct row_writer *w)
{
    for (uint32_t i = 0; i < w->schema->field_count; i++)
        put_cell(w, i, show(w, bytes_of_str(w->schema->fields[i].name)),
                 is_number(w->schema->fields[i].type.kind));
    for (uint32_t i = 0; i < w->schema->field_count; i++) {
        for (uint32_t k = 0; k < w->widths[i]; k++)
            buf_append_u8(&w->text, '-');
        buf_append_str(&w->text, i + 1 == w->schema->field_count ? "\n" : "  ");
    }
}

static void table_rows(struct row_writer *w, const struct batch *b)
{
    for (uint32_t c = 0; c < b->column_count; c++) {
        if (!w->begun)
            widen(w, c, show(w, bytes_of_str(w->schema->fields[c].name)));
        for (uint32_t r = 0; r < b->rows; r++)
            widen(w, c, cell_of(w, &b->columns[c], r));
    }
    if (!w->begun)
        table_header(w);
    for (uint32_t r = 0; r < b->rows; r++)
        for (uint32_t c = 0; c < b->column_count; c++)
            put_cell(w, c, cell_of(w, &b->columns[c], r), is_number(b->columns[c].type.kind));
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum rc flush(struct row_writer *w, struct err *err)
{
    const struct batch *b = batch_builder_view(w->rows);

    if (w->format == ROWS_TABLE) {
        table_rows(w, b);
    } else {
        if (w->format == ROWS_CSV && !w->begun)
            RETURN_IF_ERR(csv_header(w, err));
        RETURN_IF_ERR(w->encoder->ops->encode(w->encoder, b, NULL, b->rows, &w->text, NULL, err));
    }
    w->begun = true;
    batch_builder_clear(w->rows);
    cli_print_bytes(buf_bytes(&w->text));
    buf_clear(&w->text);
    return ferror(stdout) ? err_set(err, RC_IO, "standard output could not be written") : RC_OK;
}

enum rc row_writer_next(struct row_writer *w, struct err *err)
{
    if (batch_builder_full(w->rows) ||
        (w->format == ROWS_TABLE && batch_builder_rows(w->rows) == TABLE_ROWS))
        return flush(w, err);
    return RC_OK;
}

enum rc row_writer_finish(struct row_writer *w, struct err *err)
{
    return !w->begun || batch_builder_rows(w->rows) > 0 ? flush(w, err) : RC_OK;
}
