/* csv_format.c - CSV with Flink's options: the options and the decoder. The encoder is
 * csv_encoder.c.
 *
 * A row ends at LF or CRLF outside quotes; a lone CR is data. A field is quoted only when its first
 * byte is the quote; a quote inside an unquoted field is data. An empty line is no row (with
 * ignore-parse-errors it is a row with one empty field, as in Flink). A row is first cut into
 * fields, then its fields are converted in the order of the columns, so that the reason given is
 * that of the first thing wrong.
 *
 * After: CsvReaderFormat, CsvToRowDataConverters (flink-csv), over Jackson's reader. */
#include "job/format/csv_priv.h"
#include "job/format/csv_scan_priv.h"
#include "job/format/field.h"
#include "job/format/field_column.h"
#include "job/format/options_priv.h"

struct csv_field {
    size_t start, len; /* inside the quotes */
    bool quoted;
    bool dirty; /* holds doubled quotes or escapes */
};
struct csv_decoder {
    struct decoder base;
    const struct schema *schema;
    struct format_options options;
    bool has_quote, has_escape, has_null;
    struct bytes null_literal;
    struct csv_field *fields; /* one a column */
    struct buf clean;         /* a dirty field without its doublings and escapes */
    struct buf scratch, why;
    bool plain_possible;  /* every column can be filled at once */
    uint32_t plain_after; /* rows to take one by one before plain ones are looked for again */
    uint32_t *bounds;     /* of the fields of PLAIN_ROWS_MAX rows */
};
/* One row as found in the bytes. */
struct csv_row {
    size_t next;     /* just behind its line end */
    uint64_t lines;  /* line ends in it */
    uint32_t count;  /* fields, also those past the last column */
    bool unfinished; /* the bytes end inside it */
    const char *bad; /* broken quotes; NULL: none */
};

/* ---- options --------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct format_options, member)
static const struct format_option csv_options[] = {
    {"csv.field-delimiter", FORMAT_OPTION_CHAR, AT(field_delimiter), NULL},
    {"csv.disable-quote-character", FORMAT_OPTION_BOOL, AT(disable_quote), NULL},
    {"csv.quote-character", FORMAT_OPTION_CHAR, AT(quote_character), NULL},
    {"csv.allow-comments", FORMAT_OPTION_BOOL, AT(allow_comments), NULL},
    {"csv.ignore-parse-errors", FORMAT_OPTION_BOOL, 0, NULL}, /* read before the table is asked */
    {"csv.array-element-delimiter", FORMAT_OPTION_TEXT, AT(array_element_delimiter), NULL},
    {"csv.escape-character", FORMAT_OPTION_CHAR, AT(escape_character), NULL},
    {"csv.null-literal", FORMAT_OPTION_TEXT, AT(null_literal), NULL},
    {"csv.write-bigdecimal-in-scientific-notation", FORMAT_OPTION_BOOL,
     AT(write_bigdecimal_scientific), NULL},
};

static enum rc csv_options_read(struct arena *arena, size_t count, const char *const *keys,
                                const char *const *values, struct format_options *out,
                                struct err *err)
{
    bool quote_given = false;

    *out = (struct format_options){.field_delimiter = ',',
                                   .quote_character = '"',
                                   .array_element_delimiter = ";",
                                   .write_bigdecimal_scientific = true};
    RETURN_IF_ERR(format_options_read("csv", csv_options, ARRAY_LEN(csv_options), arena, count,
                                      keys, values, out, err));
    for (size_t i = 0; i < count; i++)
        quote_given |= strcmp(keys[i], "csv.quote-character") == 0;
    if (out->disable_quote && quote_given)
        return err_set(err, RC_INVALID,
                       "'csv.quote-character' and 'csv.disable-quote-character' = "
                       "'true' exclude each other");
    if (out->disable_quote)
        out->quote_character = 0;
    if (out->field_delimiter == '\n' || out->field_delimiter == '\r')
        return err_set(err, RC_INVALID, "'csv.field-delimiter': a line end cannot be one");
    if (out->field_delimiter == out->quote_character ||
        out->field_delimiter == out->escape_character)
        return err_set(err, RC_INVALID,
                       "'csv.field-delimiter' is also the quote or the escape character");
    return RC_OK;
}

/* ---- cutting a row into fields --------------------------------------------------------------- */

/* The field at its first byte `at`, quoted or not; *end: the delimiter, line end or end of bytes
 * behind it. */
static void scan_unquoted(const struct csv_decoder *d, struct csv_scan *s, size_t at, size_t *end,
                          struct csv_field *field, struct csv_row *row)
{
    size_t p = scan_next(s);

    field->start = at;
    field->quoted = field->dirty = false;
    while (p < s->len && s->data[p] != '\n' && s->data[p] != s->delimiter) {
        if (d->has_escape && s->data[p] == s->escape) {
            field->dirty = true;
            row->lines += p + 1 < s->len && s->data[p + 1] == '\n';
            scan_seek(s, p + 2 < s->len ? p + 2 : s->len);
        }
        p = scan_next(s);
    }
    *end = p;
    field->len = p - at;
    if (p < s->len && s->data[p] == '\n' && p > at && s->data[p - 1] == '\r')
        field->len--;
}

/* From the opening quote to the closing one, whose position is returned; len: the bytes end before
 * it is sure. */
static size_t scan_to_closing(const struct csv_decoder *d, struct csv_scan *s, bool at_end,
                              struct csv_field *field, struct csv_row *row)
{
    for (size_t p = scan_next(s); p < s->len; p = scan_next(s)) {
        uint8_t c = s->data[p];

        if (c == '\n') {
            row->lines++;
        } else if (c == s->quote) {
            if (p + 1 == s->len)
                return at_end ? p : s->len;
            if (s->data[p + 1] != s->quote)
                return p;
            field->dirty = true;
            (void)scan_next(s); /* the second one */
        } else if (d->has_escape && c == s->escape) {
            field->dirty = true;
            row->lines += p + 1 < s->len && s->data[p + 1] == '\n';
            scan_seek(s, p + 2 < s->len ? p + 2 : s->len);
        }
    }
    return s->len;
}

static void scan_quoted(const struct csv_decoder *d, struct csv_scan *s, bool at_end, size_t at,
                        size_t *end, struct csv_field *field, struct csv_row *row)
{
    size_t closing, p;

    (void)scan_next(s); /* the opening quote */
    field->start = at + 1;
    field->quoted = true;
    field->dirty = false;
    closing = scan_to_closing(d, s, at_end, field, row);
    field->len = closing - field->start;
    if (closing == s->len) {
        *end = s->len;
        row->bad = row->bad != NULL ? row->bad : "quote never closed";
        return;
    }
    p = scan_next(s);
    *end = p;
    if (p == closing + 1)
        return;
    if (p == closing + 2 && p < s->len && s->data[p] == '\n' && s->data[closing + 1] == '\r')
        return;
    row->bad = row->bad != NULL ? row->bad : "text after a closing quote";
    while (p < s->len && s->data[p] != '\n' && s->data[p] != s->delimiter)
        p = scan_next(s);
    *end = p;
}

static void scan_row(struct csv_decoder *d, struct csv_scan *s, size_t at, bool at_end,
                     struct csv_row *row)
{
    struct csv_field past_last, *field;
    size_t end;

    *row = (struct csv_row){0};
    for (;; at = end + 1) {
        field = row->count < d->schema->field_count ? &d->fields[row->count] : &past_last;
        row->count++;
        if (d->has_quote && at < s->len && s->data[at] == s->quote)
            scan_quoted(d, s, at_end, at, &end, field, row);
        else
            scan_unquoted(d, s, at, &end, field, row);
        if (end == s->len) {
            row->unfinished = !at_end;
            row->next = s->len;
            return;
        }
        if (s->data[end] == '\n') {
            row->lines++;
            row->next = end + 1;
            return;
        }
    }
}

/* ---- fields to values ------------------------------------------------------------------------ */

/* The text of a field; what is dirty is made clean in d->clean. */
static struct bytes field_text(struct csv_decoder *d, const uint8_t *data,
                               const struct csv_field *f)
{
    const uint8_t *p = data + f->start, *end = p + f->len;
    uint8_t quote = (uint8_t)d->options.quote_character,
            escape = (uint8_t)d->options.escape_character;

    if (!f->dirty)
        return bytes_of(p, f->len);
    buf_clear(&d->clean);
    buf_reserve(&d->clean, f->len);
    while (p < end) {
        uint8_t c = *p++;

        if (d->has_escape && c == escape && p < end) {
            c = *p++;
            c = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c == '0' ? '\0' : c;
        } else if (f->quoted && c == quote && p < end) {
            p++;
        }
        d->clean.data[d->clean.len++] = c;
    }
    return buf_bytes(&d->clean);
}

/* What became of a row. */
enum row_fate { ROW_TAKEN, ROW_LEFT_OUT, ROW_FATAL };

/* The reason is in d->why. */
static enum row_fate row_bad(struct csv_decoder *d, struct batch_builder *out)
{
    batch_row_abandon(out);
    if (d->options.bad_rows == BAD_ROW_FAIL)
        return ROW_FATAL;
    d->base.bad_rows++;
    return ROW_LEFT_OUT;
}

static void reason_begin(struct csv_decoder *d, const struct schema_field *column)
{
    buf_clear(&d->why);
    if (column != NULL)
        buf_printf(&d->why, "column %s: ", column->name);
}

static enum row_fate append_null(struct csv_decoder *d, uint32_t i, struct batch_builder *out)
{
    if (d->schema->fields[i].type.nullable) {
        batch_append_null(out, i);
        return ROW_TAKEN;
    }
    reason_begin(d, &d->schema->fields[i]);
    buf_append_str(&d->why, "null in a NOT NULL column");
    return row_bad(d, out);
}

/* A field that cannot be read. */
static enum row_fate field_bad(struct csv_decoder *d, uint32_t i, enum field_fault fault,
                               struct bytes text, struct batch_builder *out)
{
    const struct schema_field *column = &d->schema->fields[i];

    if (d->options.bad_rows == BAD_ROW_NULL_FIELD && fault != FIELD_NOT_UTF8) {
        d->base.null_fields++;
        return append_null(d, i, out);
    }
    reason_begin(d, column);
    field_fault_print(fault, &column->type, text, &d->why);
    if (d->options.bad_rows == BAD_ROW_NULL_FIELD) {
        batch_row_abandon(out);
        return ROW_FATAL;
    }
    return row_bad(d, out);
}

static bool is_null_literal(const struct csv_decoder *d, const struct csv_field *f,
                            struct bytes text)
{
    return d->has_null && (!f->quoted || d->options.bad_rows == BAD_ROW_NULL_FIELD) &&
           bytes_eq(text, d->null_literal);
}

static enum row_fate append_row(struct csv_decoder *d, const uint8_t *data,
                                const struct csv_row *row, bool ascii, struct batch_builder *out)
{
    const struct schema *schema = d->schema;

    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct csv_field *f = &d->fields[i];
        enum row_fate fate = ROW_TAKEN;
        enum field_fault fault;
        struct bytes text;

        if (i >= row->count) { /* only with ignore-parse-errors */
            d->base.null_fields++;
            fate = append_null(d, i, out);
        } else {
            text = field_text(d, data, f);
            if (is_null_literal(d, f, text)) {
                fate = append_null(d, i, out);
            } else {
                fault = field_append(out, i, &schema->fields[i].type, text, ascii, &d->scratch);
                if (fault != FIELD_OK)
                    fate = field_bad(d, i, fault, text, out);
            }
        }
        if (fate != ROW_TAKEN)
            return fate;
    }
    batch_row_end(out, ROW_INSERT);
    return ROW_TAKEN;
}

/* Judges the shape of a row, then takes its fields. */
static enum row_fate take_row(struct csv_decoder *d, const struct csv_scan *s, size_t start,
                              const struct csv_row *row, struct batch_builder *out)
{
    bool lenient = d->options.bad_rows == BAD_ROW_NULL_FIELD;

    if (row->count == 1 && d->fields[0].len == 0 && !d->fields[0].quoted && !lenient)
        return ROW_LEFT_OUT; /* an empty line */
    if (row->bad != NULL) {
        reason_begin(d, NULL);
        buf_append_str(&d->why, row->bad);
        return row_bad(d, out);
    }
    if (row->count != d->schema->field_count && (!lenient || row->count > d->schema->field_count)) {
        reason_begin(d, NULL);
        buf_printf(&d->why, "expected %u fields, found %u", d->schema->field_count, row->count);
        return row_bad(d, out);
    }
    return append_row(d, s->data, row, start >= s->high_end, out);
}

/* ---- many plain rows at a time --------------------------------------------------------------- */

/* Rows without quotes, escapes, comments, and with as many fields as there are columns are cut in
 * one pass and taken column by column. At the first row that is otherwise, or that holds a field
 * that cannot be read, the way above takes over. */
#define PLAIN_ROWS_MAX 256u
/* After a row that is not plain so many go the slow way: where all are like it, looking costs
 * little. */
#define SLOW_ROWS 16u

/* One block's share of a block of rows being cut. */
struct plain_cut {
    uint32_t *bound;   /* of the next field's end */
    uint32_t fields;   /* of the row under way */
    uint32_t rows;     /* complete */
    uint32_t *row_end; /* bound behind the last complete row */
};

/* Takes the cuts of one 64-byte block; false: stop at the last complete row. */
static inline bool cut_block(struct plain_cut *c, const struct scan_bits *bits, size_t block,
                             uint32_t columns, uint32_t max_rows)
{
    uint64_t cuts = bits->cuts,
             before_stop = bits->stops == 0 ? ~0ull : (bits->stops & -bits->stops) - 1;

    for (cuts &= before_stop; cuts != 0; cuts &= cuts - 1) {
        unsigned at = (unsigned)__builtin_ctzll(cuts);

        if (c->fields == columns)
            return false; /* too many */
        *c->bound++ = (uint32_t)block + at;
        c->fields++;
        if ((bits->newlines >> at & 1) == 0)
            continue;
        if (c->fields != columns)
            return false; /* too few */
        c->fields = 0;
        c->row_end = c->bound;
        if (++c->rows == max_rows)
            return false;
    }
    return bits->stops == 0;
}

/* Plain rows from `at` on: their bounds into d->bounds. Whole blocks of 64 bytes only: the rest
 * goes the slow way. */
static uint32_t cut_plain_rows(struct csv_decoder *d, const struct csv_scan *s, size_t at,
                               uint32_t max_rows, bool *ascii)
{
    struct plain_cut c = {.bound = d->bounds, .row_end = d->bounds};
    uint32_t columns = d->schema->field_count;

    *c.bound++ = (uint32_t)at - 1;
    *ascii = true;
    for (size_t block = at; block + SCAN_BLOCK <= s->len; block += SCAN_BLOCK) {
        struct scan_bits bits = scan_bits(s, s->data + block);

        *ascii &= !bits.high;
        if (!cut_block(&c, &bits, block, columns, max_rows))
            break;
    }
    return c.rows;
}

/* An empty line or a comment is not for the columns. */
static uint32_t rows_before_odd_one(const struct csv_decoder *d, const uint8_t *data, uint32_t rows)
{
    uint32_t columns = d->schema->field_count;

    if (columns > 1 && !d->options.allow_comments)
        return rows;
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t start = d->bounds[r * columns] + 1, end = d->bounds[(r + 1) * columns];

        if ((d->options.allow_comments && data[start] == '#') || start == end ||
            (columns == 1 && data[start] == '\r'))
            return r;
    }
    return rows;
}

/* Rows taken; *next: behind them. */
static uint32_t take_plain_rows(struct csv_decoder *d, const struct csv_scan *s, size_t at,
                                struct batch_builder *out, size_t *next)
{
    struct field_block block = {.data = s->data,
                                .len = s->len,
                                .bounds = d->bounds,
                                .fields_per_row = d->schema->field_count,
                                .has_null_literal = d->has_null,
                                .null_literal = d->null_literal};
    uint32_t room = BATCH_ROWS_MAX - batch_builder_rows(out);

    if (d->base.max_rows != 0 && d->base.max_rows - batch_builder_rows(out) < room)
        room = d->base.max_rows - batch_builder_rows(out);
    block.rows =
        cut_plain_rows(d, s, at, room < PLAIN_ROWS_MAX ? room : PLAIN_ROWS_MAX, &block.ascii);
    block.rows = rows_before_odd_one(d, s->data, block.rows);
    if (block.rows == 0) {
        d->plain_after = SLOW_ROWS;
        return 0;
    }
    batch_rows_begin(out, block.rows);
    for (uint32_t i = 0; i < block.fields_per_row; i++) {
        if (!field_column_fill(out, i, &d->schema->fields[i].type, &block)) {
            batch_rows_abandon(out, block.rows);
            d->plain_after = block.rows;
            return 0;
        }
    }
    batch_rows_end(out, block.rows);
    *next = (size_t)d->bounds[block.rows * block.fields_per_row] + 1;
    return block.rows;
}

/* ---- the decoder ----------------------------------------------------------------------------- */

static bool out_of_room(const struct csv_decoder *d, const struct batch_builder *out)
{
    return batch_builder_full(out) ||
           (d->base.max_rows != 0 && batch_builder_rows(out) >= d->base.max_rows);
}

/* Behind a comment line that starts at `at`; 0: its end is not here yet. */
static size_t comment_end(const struct csv_scan *s, size_t at, bool at_end)
{
    const uint8_t *newline = memchr(s->data + at, '\n', s->len - at);

    if (newline != NULL)
        return (size_t)(newline - s->data) + 1;
    return at_end ? s->len : 0;
}

static enum rc csv_decode(struct decoder *base, struct bytes data, bool at_end,
                          struct batch_builder *out, size_t *used, struct err *err)
{
    struct csv_decoder *d = (struct csv_decoder *)base;
    struct csv_scan s = {
        .delimiter = (uint8_t)d->options.field_delimiter,
        .quote = d->has_quote ? (uint8_t)d->options.quote_character : (uint8_t)'\n',
        .escape = d->has_escape ? (uint8_t)d->options.escape_character : (uint8_t)'\n',
    };
    struct csv_row row;
    size_t at = 0;

    *used = 0;
    scan_init(&s, data);
    while (at < data.len && !out_of_room(d, out)) {
        if (d->plain_after == 0 && d->plain_possible && data.len < UINT32_MAX) {
            uint32_t rows = take_plain_rows(d, &s, at, out, &at);

            base->line_number += rows;
            *used = at;
            scan_seek(&s, at);
            continue;
        }
        d->plain_after -= d->plain_after > 0;
        if (d->options.allow_comments && data.data[at] == '#') {
            size_t next = comment_end(&s, at, at_end);

            if (next == 0)
                break;
            base->line_number += data.data[next - 1] == '\n';
            scan_seek(&s, next);
            *used = at = next;
            continue;
        }
        scan_row(d, &s, at, at_end, &row);
        if (row.unfinished)
            break;
        if (take_row(d, &s, at, &row, out) == ROW_FATAL)
            return err_set(err, RC_INVALID, "%s: line %llu: %s", base->file,
                           (unsigned long long)base->line_number, buf_cstr(&d->why));
        base->line_number += row.lines;
        *used = at = row.next;
    }
    return RC_OK;
}

static void csv_decoder_free(struct decoder *base)
{
    struct csv_decoder *d = (struct csv_decoder *)base;

    if (d == NULL)
        return;
    mem_free(d->fields);
    mem_free(d->bounds);
    buf_release(&d->clean);
    buf_release(&d->scratch);
    buf_release(&d->why);
    mem_free(d);
}

static struct decoder *csv_decoder_new(const struct schema *schema,
                                       const struct format_options *options)
{
    static const struct decoder_ops ops = {csv_decode, csv_decoder_free};
    struct csv_decoder *d = mem_calloc(1, sizeof *d);

    d->base = (struct decoder){.ops = &ops, .file = "input", .line_number = 1};
    d->schema = schema;
    d->options = *options;
    d->has_quote = !options->disable_quote && options->quote_character != 0;
    d->has_escape = options->escape_character != 0 &&
                    !(d->has_quote && options->escape_character == options->quote_character);
    d->has_null = options->null_literal != NULL;
    if (d->has_null)
        d->null_literal = bytes_of_str(options->null_literal);
    d->fields = mem_calloc(schema->field_count, sizeof *d->fields);
    d->bounds = mem_calloc((size_t)PLAIN_ROWS_MAX * schema->field_count + 1, sizeof *d->bounds);
    d->plain_possible = schema->field_count > 0;
    for (uint32_t i = 0; i < schema->field_count; i++)
        d->plain_possible &= field_column_possible(schema->fields[i].type.kind);
    return &d->base;
}

const struct format csv_format = {"csv", csv_options_read, csv_decoder_new, csv_encoder_new};
