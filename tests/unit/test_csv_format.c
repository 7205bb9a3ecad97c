/* test_csv_format.c - the CSV decoder and encoder: spellings, bad rows under three rules, pieces of
 * every size. */
#include "base/rng.h"
#include "job/format/field.h"
#include "job/format/format.h"
#include "tests/lib/check_ext.h"

/* Columns by letters: s STRING, b BIGINT, i INT, t TINYINT, o BOOLEAN, d DOUBLE, c DECIMAL(6, 2), y
 * BYTES, D DATE, T TIME(3), m TIMESTAMP(3), z TIMESTAMP_LTZ(3); upper-case S: STRING NOT NULL. */
static struct schema *schema_of_letters(struct arena *a, const char *letters)
{
    struct schema *s = ARENA_NEW(a, struct schema);

    s->field_count = (uint32_t)strlen(letters);
    s->fields = ARENA_ARRAY(a, s->field_count, struct schema_field);
    s->rowtime = -1;
    for (uint32_t i = 0; i < s->field_count; i++) {
        static const char all[] = "sbitodcyDTmzS";
        static const enum type_kind kinds[] = {
            TYPE_VARCHAR,   TYPE_BIGINT,        TYPE_INT,       TYPE_TINYINT, TYPE_BOOLEAN,
            TYPE_DOUBLE,    TYPE_DECIMAL,       TYPE_VARBINARY, TYPE_DATE,    TYPE_TIME,
            TYPE_TIMESTAMP, TYPE_TIMESTAMP_LTZ, TYPE_VARCHAR};
        struct type t = type_of(kinds[strchr(all, letters[i]) - all]);

        if (letters[i] == 'c') {
            t.precision = 6;
            t.scale = 2;
        } else if (strchr("Tmz", letters[i]) != NULL) {
            t.precision = 3;
        }
        t.nullable = letters[i] != 'S';
        s->fields[i] = (struct schema_field){arena_printf(a, "f%u", i), t};
    }
    return s;
}

struct fixture {
    struct arena *arena;
    struct schema *schema;
    struct format_options options;
    uint64_t bad_rows, null_fields;
    uint64_t line;
    struct buf rows; /* decoded rows, one a line: null or its text, joined by | */
};

static void options_of(struct fixture *f, const char *const *pairs)
{
    const char *keys[8], *values[8];
    struct err err = {0};
    size_t n = 0;

    for (; pairs != NULL && pairs[2 * n] != NULL; n++) {
        keys[n] = pairs[2 * n];
        values[n] = pairs[2 * n + 1];
    }
    ck_assert_ok(csv_format.options(f->arena, n, keys, values, &f->options, &err));
}

static void fixture_init(struct fixture *f, const char *letters, const char *const *pairs)
{
    *f = (struct fixture){.arena = arena_new(0)};
    f->schema = schema_of_letters(f->arena, letters);
    options_of(f, pairs);
}

static void fixture_release(struct fixture *f)
{
    arena_free(f->arena);
    buf_release(&f->rows);
}

static void show_rows(struct fixture *f, const struct batch *b)
{
    for (uint32_t r = 0; r < b->rows; r++) {
        for (uint32_t c = 0; c < b->column_count; c++) {
            if (c > 0)
                buf_append_u8(&f->rows, '|');
            if (column_present(&b->columns[c], r))
                field_print(&b->columns[c], r, false, 'T', &f->rows);
            else
                buf_append_str(&f->rows, "null");
        }
        buf_append_u8(&f->rows, '\n');
    }
}

/* Feeds `text` in pieces of `piece` bytes, each copied to a block of its own so that a read past
 * the end is seen. */
static enum rc decode(struct fixture *f, struct bytes text, size_t piece, uint32_t max_rows,
                      struct err *err)
{
    struct decoder *d = csv_format.decoder_new(f->schema, &f->options);
    struct batch_builder *out = batch_builder_new(f->schema);
    size_t from = 0, to = 0, used = 0;
    enum rc rc = RC_OK;

    buf_clear(&f->rows);
    d->file = "t.csv";
    d->max_rows = max_rows;
    for (;;) {
        bool at_end;
        uint8_t *copy;

        if (used == 0 && to < text.len)
            to = to + piece < text.len ? to + piece : text.len;
        at_end = to == text.len;
        copy = mem_alloc(to - from);
        memcpy(copy, text.data + from, to - from);
        rc = d->ops->decode(d, bytes_of(copy, to - from), at_end, out, &used, err);
        mem_free(copy);
        if (rc != RC_OK)
            break;
        from += used;
        if (max_rows != 0)
            ck_assert_uint_le(batch_builder_rows(out), max_rows);
        show_rows(f, batch_builder_view(out));
        batch_builder_clear(out);
        if (at_end && used == 0)
            break;
    }
    if (rc == RC_OK)
        ck_assert_uint_eq(from, text.len);
    f->bad_rows = d->bad_rows;
    f->null_fields = d->null_fields;
    f->line = d->line_number;
    d->ops->free(d);
    batch_builder_free(out);
    return rc;
}

/* ---- one value ------------------------------------------------------------------------------- */

static const struct {
    const char *letter, *text, *want; /* want NULL: bad, with `why` */
    const char *why;
} values[] = {
    {"b", "9223372036854775807", "9223372036854775807", NULL},
    {"b", "-9223372036854775808", "-9223372036854775808", NULL},
    {"b", "-9223372036854775809", NULL, "number out of range: -9223372036854775809"},
    {"b", "00000000000000000000000000000007", "7", NULL},
    {"b", "\t+7 ", "7", NULL},
    {"b", "1'000", NULL, "not a number: \"1'000\""},
    {"b", " ", NULL, "not a number: ' '"},
    {"b", "12345678901234567890x", NULL, "not a number: '12345678901234567890x'"},
    {"b", "99999999999999999999999999999999999999999", NULL, "number out of range: 41 digits"},
    {"t", "-128", "-128", NULL},
    {"t", "128", NULL, "number out of range: 128 (TINYINT)"},
    {"i", "-2147483649", NULL, "number out of range: -2147483649"},
    {"o", " TRUE", "true", NULL},
    {"o", "yes", NULL, "not true or false: 'yes'"},
    {"d", "1e3", "1000.0", NULL},
    {"d", "-Infinity", "-Infinity", NULL},
    {"d", "1,5", NULL, "expected 1 fields, found 2"},
    {"d", "x", NULL, "not a number: 'x'"},
    {"c", "1234.565", "1234.57", NULL},
    {"c", "12345.00", NULL, "number out of range: 12345.00 (DECIMAL(6, 2))"},
    {"c", "1.2.3", NULL, "not a number: '1.2.3'"},
    {"y", "AAH/", "AAH/", NULL},
    {"y", "AAH", NULL, "not base64: 'AAH'"},
    {"D", "2024-2-29", "2024-02-29", NULL},
    {"D", "2023-02-29", NULL, "not a date: '2023-02-29'"},
    {"T", "10:15:30.5", "10:15:30.5", NULL},
    {"T", "25:00", NULL, "not a time: '25:00'"},
    {"m", "2024-02-29 10:15:30.1234", "2024-02-29T10:15:30.123", NULL},
    {"m", "noon", NULL, "not a timestamp: 'noon'"},
    {"z", "2024-02-29 10:15:30Z", "2024-02-29T10:15:30Z", NULL},
    {"z", "2024-02-29 10:15:30", NULL, "not a timestamp with a zone"},
    {"s", "caf\xc3\xa9", "caf\xc3\xa9", NULL},
    {"s", "\xed\xa0\x80", NULL, "not UTF-8: '\\xed\\xa0\\x80'"},
    {"s", "\xf4\x90\x80\x80", NULL, "not UTF-8"},
    {"s", "\xc0\x80", NULL, "not UTF-8"},
};

/* Each spelling is read as written in the table, or refused with that reason. */
START_TEST(a_value_is_read_or_refused_with_the_reason)
{
    struct fixture f;
    struct err err = {0};

    fixture_init(&f, values[_i].letter, NULL);
    if (values[_i].why != NULL) {
        ck_assert_rc_msg(decode(&f, bytes_of_str(values[_i].text), 1000, 0, &err), RC_INVALID,
                         values[_i].why);
    } else {
        ck_assert_ok(decode(&f, bytes_of_str(values[_i].text), 1000, 0, &err));
        f.rows.len--;
        ck_assert_bytes_str(buf_bytes(&f.rows), values[_i].want);
    }
    fixture_release(&f);
}
END_TEST

/* ---- whole texts under the three rules ------------------------------------------------------- */

static const struct {
    const char *name, *letters, *text, *rows;
    uint64_t bad, nulls;
    const char *why; /* RC_INVALID with this */
    enum { RULE_FAIL, RULE_SKIP, RULE_NULLS, RULE_NULL_LITERAL } rule;
} texts[] = {
    {"quotes", "sb", "\"a,b\",1\n\"a\"\"b\",2\n\"x\ny\",3\n\"\",4\n,5\nx\"y,6\n",
     "a,b|1\na\"b|2\nx\ny|3\n|4\n|5\nx\"y|6\n", 0, 0, NULL, RULE_FAIL},
    {"line ends", "sb", "a,1\r\nb,2\n\r\n\n\"c\r\",3\r\n\"d\",4", "a|1\nb|2\nc\r|3\nd|4\n", 0, 0,
     NULL, RULE_FAIL},
    {"a lone CR is data", "ss", "a\rb,\"c\"\n", "a\rb|c\n", 0, 0, NULL, RULE_FAIL},
    {"empty line under nulls", "sb", "\na,1\n", "|null\na|1\n", 0, 1, NULL, RULE_NULLS},
    {"an empty quoted line is a row", "s", "\"\"\n\nx\n", "\nx\n", 0, 0, NULL, RULE_FAIL},
    {"short and long rows skipped", "sb", "a\nb,1,2\nc,3\n", "c|3\n", 2, 0, NULL, RULE_SKIP},
    {"short rows get nulls", "sb", "a\nb,1,2\nc,x\n", "a|null\nc|null\n", 1, 2, NULL, RULE_NULLS},
    {"text after a quote", "sb", "\"x\"y,9\nz,1\n", "z|1\n", 1, 0, NULL, RULE_SKIP},
    {"text after a quote with a CR", "sb", "\"x\"\ry,9\nz,1\n", "", 0, 0,
     "t.csv: line 1: text after a closing quote", RULE_FAIL},
    {"a row after text after a quote is not swallowed", "sb", "\"x\"\"\"z\"y,9\nz,1\n", "z|1\n", 1,
     0, NULL, RULE_SKIP},
    {"quote never closed", "sb", "a,1\n\"b,2\nc,3\n", "", 0, 0, "t.csv: line 2: quote never closed",
     RULE_FAIL},
    {"quote never closed, skipped", "sb", "a,1\n\"b,2\nc,3\n", "a|1\n", 1, 0, NULL, RULE_SKIP},
    {"lines inside quotes count", "sb", "\"a\n\n\",1\nb,x\n", "", 0, 0,
     "t.csv: line 4: column f1: not a number: 'x'", RULE_FAIL},
    {"comma last", "sb", "a,1\nb,", "", 0, 0, "t.csv: line 2: column f1: not a number: ''",
     RULE_FAIL},
    {"not UTF-8 is skipped and counted", "sb", "\xff,1\nok,2\n", "ok|2\n", 1, 0, NULL, RULE_SKIP},
    {"not UTF-8 fails under nulls", "sb", "\xff,1\nok,2\n", "", 0, 0, "not UTF-8", RULE_NULLS},
    {"null literal", "sb", "NULL,NULL\n\"NULL\",1\nnull,2\n", "null|null\nNULL|1\nnull|2\n", 0, 0,
     NULL, RULE_NULL_LITERAL},
    {"a number is not a quoted null", "sb", "a,\"NULL\"\n", "", 0, 0, "not a number: 'NULL'",
     RULE_NULL_LITERAL},
    {"null in NOT NULL", "S", "NULL\n", "", 0, 0, "column f0: null in a NOT NULL column",
     RULE_NULL_LITERAL},
    {"quoted numbers", "sb", "z,\"14\"\nz,\" 15 \"\n", "z|14\nz|15\n", 0, 0, NULL, RULE_FAIL},
};

/* The same answer whatever the pieces the bytes come in: a row, a quote, a CRLF cut anywhere is put
 * together again. */
START_TEST(a_text_gives_its_rows_in_pieces_of_every_size)
{
    static const char *const rules[][3] = {
        [RULE_FAIL] = {NULL},
        [RULE_SKIP] = {"varve.bad-rows", "skip", NULL},
        [RULE_NULLS] = {"csv.ignore-parse-errors", "true", NULL},
        [RULE_NULL_LITERAL] = {"csv.null-literal", "NULL", NULL},
    };
    struct err err = {0};
    struct fixture f;

    for (size_t piece = 1; piece <= 64; piece++) {
        fixture_init(&f, texts[_i].letters, rules[texts[_i].rule]);
        if (texts[_i].why != NULL) {
            ck_assert_rc_msg(decode(&f, bytes_of_str(texts[_i].text), piece, 0, &err), RC_INVALID,
                             texts[_i].why);
        } else {
            ck_assert_ok(
                decode(&f, bytes_of_str(texts[_i].text), piece, 1 + (uint32_t)piece % 3, &err));
            ck_assert_msg(bytes_eq(buf_bytes(&f.rows), bytes_of_str(texts[_i].rows)),
                          "%s, pieces of %zu: %s", texts[_i].name, piece, buf_cstr(&f.rows));
            ck_assert_msg(f.bad_rows == texts[_i].bad && f.null_fields == texts[_i].nulls,
                          "%s: %llu bad, %llu null", texts[_i].name, (unsigned long long)f.bad_rows,
                          (unsigned long long)f.null_fields);
        }
        fixture_release(&f);
    }
}
END_TEST

/* Delimiter, quote and escape may be other bytes; comments are left out, but counted as lines. */
START_TEST(other_delimiters_escapes_and_comments_are_read)
{
    static const char *const other[] = {"csv.field-delimiter",
                                        "\\t",
                                        "csv.quote-character",
                                        "'",
                                        "csv.allow-comments",
                                        "true",
                                        "csv.escape-character",
                                        "\\",
                                        NULL};
    static const char *const none[] = {"csv.disable-quote-character", "true", "csv.field-delimiter",
                                       ";", NULL};
    struct err err = {0};
    struct fixture f;

    for (size_t piece = 1; piece < 64; piece++) {
        fixture_init(&f, "ss", other);
        ck_assert_ok(
            decode(&f, bytes_of_str("# 'no\tcomment\n'a\tb'\tc\\\td\n'it''s'\tx\\\\y\\nz\n#last"),
                   piece, 0, &err));
        ck_assert_bytes_str(buf_bytes(&f.rows), "a\tb|c\td\nit's|x\\y\nz\n");
        ck_assert_uint_eq(f.line, 4);
        fixture_release(&f);
        fixture_init(&f, "ss", none);
        ck_assert_ok(decode(&f, bytes_of_str("\"a;b\"\n#;,\n"), piece, 0, &err));
        ck_assert_bytes_str(buf_bytes(&f.rows), "\"a|b\"\n#|,\n");
        fixture_release(&f);
    }
}
END_TEST

/* NUL is a byte like others, as data and as delimiter; the zeroes behind a short last block are not
 * taken for it. */
START_TEST(nul_bytes_are_data_or_the_delimiter)
{
    static const char *const nul_like[] = {"csv.field-delimiter", "\\u0001", NULL};
    struct err err = {0};
    struct fixture f;

    fixture_init(&f, "ss", NULL);
    ck_assert_ok(decode(&f, bytes_of("a\0b,c\n", 6), 3, 0, &err));
    ck_assert_bytes_eq(buf_bytes(&f.rows), bytes_of("a\0b|c\n", 6));
    fixture_release(&f);
    fixture_init(&f, "ss", nul_like);
    ck_assert_ok(decode(&f, bytes_of_str("a\1b\n"), 3, 0, &err));
    ck_assert_bytes_str(buf_bytes(&f.rows), "a|b\n");
    fixture_release(&f);
}
END_TEST

static const struct {
    const char *key, *value, *message;
} bad_options[] = {
    {"csv.field-delimeter", ";", "the nearest is 'csv.field-delimiter'"},
    {"json.ignore-parse-errors", "true", "the nearest is 'csv.ignore-parse-errors'"},
    {"csv.field-delimiter", "ab", "must be one ASCII character"},
    {"csv.field-delimiter", "\xc3\xa9", "must be one ASCII character"},
    {"csv.allow-comments", "yes", "must be 'true' or 'false'"},
    {"varve.bad-rows", "drop", "must be one of fail|skip"},
    {"csv.field-delimiter", "\"", "also the quote"},
};
START_TEST(a_wrong_option_is_refused_by_name)
{
    struct format_options options;
    struct arena *arena = arena_new(0);
    struct err err = {0};

    ck_assert_rc_msg(
        csv_format.options(arena, 1, &bad_options[_i].key, &bad_options[_i].value, &options, &err),
        RC_INVALID, bad_options[_i].message);
    arena_free(arena);
}
END_TEST

/* ---- the fast way and the slow way -------------------------------------------------------------
 */

/* Rows that are mostly plain, with everything that is not among them. */
static void random_text(struct rng *r, struct buf *out)
{
    static const char *const odd[] = {
        "\"q,\"\"x\"", "NULL",  "\"NULL\"",    " 12 ",
        "x",           "",      "caf\xc3\xa9", "99999999999999999999",
        "#c",          "\r",    "\"a\nb\"",    "a longer text than sixteen bytes",
        "\xff",        "1.25",  "-0.5e1",      "2024-02-29 10:11:12.5",
        "true",        "\"open"};
    uint32_t oddness = (uint32_t)rng_below(r, 4) * 3;

    for (uint32_t row = 0; row < 600; row++) {
        uint32_t columns = rng_below(r, 100) < oddness / 2 ? 1 + (uint32_t)rng_below(r, 7) : 5;

        for (uint32_t c = 0; c < columns; c++) {
            if (c > 0)
                buf_append_u8(out, ',');
            if (rng_below(r, 100) < oddness)
                buf_append_str(out, odd[rng_below(r, ARRAY_LEN(odd) - (rng_below(r, 50) != 0))]);
            else if (c == 4)
                buf_append_str(out, "2024-02-29 10:11:12");
            else if (c == 3)
                buf_printf(out, "%u.%u", (unsigned)rng_below(r, 1000), (unsigned)rng_below(r, 10));
            else
                buf_printf(out, "%u", (unsigned)rng_below(r, 1u << rng_below(r, 30)));
        }
        buf_append_str(out, rng_below(r, 100) < oddness   ? "\r\n"
                            : rng_below(r, 100) < oddness ? "\n\n"
                                                          : "\n");
    }
}

/* Bytes that come whole are cut and read many rows at a time, those that come in pieces of under 64
 * one by one: same rows, same counts, same first error. */
START_TEST(many_rows_at_a_time_are_what_one_by_one_gives)
{
    static const char *const settings[][7] = {
        {"csv.null-literal", "NULL", NULL},
        {"csv.null-literal", "NULL", "varve.bad-rows", "skip", NULL},
        {"csv.null-literal", "", "csv.ignore-parse-errors", "true", NULL},
        {"varve.bad-rows", "skip", "csv.allow-comments", "true", "csv.escape-character", "e", NULL},
    };
    struct rng r;

    rng_seed(&r, 1000 + (uint64_t)_i);
    for (int round = 0; round < 40; round++) {
        struct buf text = {0}, fast = {0};
        struct err err = {0}, slow_err = {0};
        struct fixture f;
        enum rc rc;

        fixture_init(&f,
                     round % 3 == 0   ? "sbidm"
                     : round % 3 == 1 ? "sssss"
                                      : "bbisS",
                     settings[_i]);
        random_text(&r, &text);
        rc = decode(&f, buf_bytes(&text), text.len, 0, &err);
        buf_append(&fast, f.rows.data, f.rows.len);
        buf_printf(&fast, "%llu %llu %llu", (unsigned long long)f.bad_rows,
                   (unsigned long long)f.null_fields, (unsigned long long)f.line);
        ck_assert_int_eq(decode(&f, buf_bytes(&text), 60, 0, &slow_err), rc);
        ck_assert_str_eq(err.msg, slow_err.msg);
        if (rc == RC_OK) {
            buf_printf(&f.rows, "%llu %llu %llu", (unsigned long long)f.bad_rows,
                       (unsigned long long)f.null_fields, (unsigned long long)f.line);
            ck_assert_bytes_eq(buf_bytes(&fast), buf_bytes(&f.rows));
        }
        buf_release(&text);
        buf_release(&fast);
        fixture_release(&f);
    }
}
END_TEST

/* Digits are read eight at a time: every byte at every place of a number, in columns of nothing
 * else, is judged as by the way that looks at one byte after the other. */
START_TEST(digits_eight_at_a_time_take_no_other_byte)
{
    struct fixture f;
    size_t len = (size_t)_i + 1;

    fixture_init(&f, "bi", (const char *const[]){"varve.bad-rows", "skip", NULL});
    for (size_t place = 0; place < len; place++) {
        for (unsigned c = 1; c < 256; c++) {
            char number[16] = "123456789";
            struct buf text = {0}, fast = {0};
            struct err err = {0};

            if (c == ',' || c == '\n' || c == '"')
                continue;
            number[place] = (char)c;
            for (int row = 0; row < 20; row++)
                buf_printf(&text, "%.*s,-%.*s\n", (int)len, number, (int)len, number);
            ck_assert_ok(decode(&f, buf_bytes(&text), text.len, 0, &err));
            buf_append(&fast, f.rows.data, f.rows.len);
            ck_assert_ok(decode(&f, buf_bytes(&text), 50, 0, &err));
            ck_assert_bytes_eq(buf_bytes(&fast), buf_bytes(&f.rows));
            if (c >= '0' && c <= '9')
                ck_assert_uint_gt(fast.len, 0);
            buf_release(&text);
            buf_release(&fast);
        }
    }
    fixture_release(&f);
}
END_TEST

/* ---- the encoder ----------------------------------------------------------------------------- */

static void encode(struct fixture *f, const struct batch *b, const bool *skip, struct buf *out)
{
    struct encoder *e = csv_format.encoder_new(f->schema, &f->options, skip);
    uint32_t ends[64];
    struct err err = {0};

    ck_assert_ok(e->ops->encode(e, b, NULL, b->rows, out, ends, &err));
    if (b->rows > 0)
        ck_assert_uint_eq(ends[b->rows - 1], out->len);
    e->ops->free(e);
}

/* Quotes where Flink's writer sets them: blanks and commas, more than 24 characters; never around
 * numbers. */
START_TEST(rows_are_written_as_flink_writes_them)
{
    static const char want[] =
        "plain,-1,true,1.5,-12.50,AAH/,2024-02-29,10:15:30.5,\"2024-02-29 10:15:30.5\"\n"
        "\"a b\",,,,,,,,\n"
        "\"say \"\"hi\"\"\",,,,,,,,\n"
        "\"1234567890123456789012345\",,,,,,,,\n"
        "123456789012345678901234,,,,,,,,\n"
        "caf\xc3\xa9,,,,,,,,\n";
    static const char *const strings[] = {"a b", "say \"hi\"", "1234567890123456789012345",
                                          "123456789012345678901234", "caf\xc3\xa9"};
    struct batch_builder *b;
    struct buf out = {0};
    struct fixture f;

    fixture_init(&f, "sbodcyDTm", NULL);
    b = batch_builder_new(f.schema);
    batch_append_bytes(b, 0, bytes_of_str("plain"));
    batch_append_int(b, 1, -1);
    batch_append_bool(b, 2, true);
    batch_append_double(b, 3, 1.5);
    batch_append_decimal(b, 4, -1250);
    batch_append_bytes(b, 5, bytes_of("\0\1\xff", 3));
    batch_append_int(b, 6, 19782);
    batch_append_int(b, 7, 36930500);
    batch_append_int(b, 8, 19782 * 86400000ll + 36930500);
    batch_row_end(b, ROW_INSERT);
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        batch_append_bytes(b, 0, bytes_of_str(strings[i]));
        for (uint32_t c = 1; c < 9; c++)
            batch_append_null(b, c);
        batch_row_end(b, ROW_INSERT);
    }
    encode(&f, batch_builder_view(b), NULL, &out);
    ck_assert_bytes_str(buf_bytes(&out), want);
    buf_release(&out);
    batch_builder_free(b);
    fixture_release(&f);
}
END_TEST

/* DECIMAL in scientific notation only behind six zeros, as BigDecimal.toString; plain when so
 * asked. */
START_TEST(small_decimals_are_written_as_asked)
{
    static const char *const plain[] = {"csv.write-bigdecimal-in-scientific-notation", "false",
                                        NULL};
    /* Java keeps the digits it has: unscaled 10 with scale 8 is 1.0E-7. */
    static const char *const wants[] = {"1.0E-7,-1.23E-8,0.00000100,0E-8\n",
                                        "0.00000010,-0.0000000123,0.00000100,0.00000000\n"};

    for (int way = 0; way < 2; way++) {
        struct batch_builder *b;
        struct buf out = {0};
        struct fixture f;

        fixture_init(&f, "cccc", way == 0 ? NULL : plain);
        for (uint32_t i = 0; i < 4; i++) {
            f.schema->fields[i].type.precision = 20;
            f.schema->fields[i].type.scale = (uint8_t[]){8, 10, 8, 8}[i];
        }
        b = batch_builder_new(f.schema);
        for (uint32_t i = 0; i < 4; i++)
            batch_append_decimal(b, i, (int[]){10, -123, 100, 0}[i]);
        batch_row_end(b, ROW_INSERT);
        encode(&f, batch_builder_view(b), NULL, &out);
        ck_assert_bytes_str(buf_bytes(&out), wants[way]);
        buf_release(&out);
        batch_builder_free(b);
        fixture_release(&f);
    }
}
END_TEST

/* decode(encode(x)) = x for the texts that are easy to get wrong, also where nulls and empty texts
 * meet. */
START_TEST(what_is_written_is_read_back)
{
    static const char *const nasty[] = {
        "",     "NULL",   "null", "#x", "a,b", "\"",  "\"\"",
        "x\ny", "x\r\ny", "\r",   " ",  "\\",  "\\n", "\xf0\x9f\x8c\xb3",
        "'",    ";"};
    static const char *const settings[][9] = {
        {"csv.null-literal", "NULL", NULL},
        {"csv.null-literal", "", NULL},
        {"csv.null-literal", "NULL", "csv.field-delimiter", ";", "csv.quote-character", "'",
         "csv.allow-comments", "true", NULL},
        {"csv.null-literal", "NULL", "csv.escape-character", "\\", NULL},
        {"csv.null-literal", "\\N", "csv.field-delimiter", "\\t", "csv.allow-comments", "true",
         NULL},
    };
    struct batch_builder *b;
    struct buf out = {0}, want = {0};
    struct err err = {0};
    struct fixture f;

    fixture_init(&f, _i % 2 == 0 ? "s" : "ss", settings[_i / 2]);
    b = batch_builder_new(f.schema);
    for (size_t i = 0; i <= ARRAY_LEN(nasty); i++) {
        for (uint32_t c = 0; c < f.schema->field_count; c++) {
            if (i == ARRAY_LEN(nasty))
                batch_append_null(b, c);
            else
                batch_append_bytes(b, c,
                                   bytes_of_str(nasty[c == 0 ? i : ARRAY_LEN(nasty) - 1 - i]));
        }
        batch_row_end(b, ROW_INSERT);
    }
    show_rows(&f, batch_builder_view(b));
    buf_append(&want, f.rows.data, f.rows.len);
    encode(&f, batch_builder_view(b), NULL, &out);
    if (_i == 2) /* one column, nulls as nothing: an empty line, which is no row */
        want.len -= strlen("null\n");
    ck_assert_ok(decode(&f, buf_bytes(&out), 7, 0, &err));
    ck_assert_bytes_eq(buf_bytes(&f.rows), buf_bytes(&want));
    buf_release(&out);
    buf_release(&want);
    batch_builder_free(b);
    fixture_release(&f);
}
END_TEST

/* Partition columns are left out; without quotes a text that would break its row is an error, or
 * escaped. */
START_TEST(skipped_columns_and_unquotable_texts)
{
    static const char *const bare[] = {"csv.disable-quote-character", "true", NULL};
    static const char *const escaped[] = {"csv.disable-quote-character", "true",
                                          "csv.escape-character", "\\", NULL};
    static const bool skip[] = {true, false, false};
    struct batch_builder *b;
    struct buf out = {0};
    struct err err = {0};
    struct encoder *e;
    struct fixture f;

    fixture_init(&f, "sss", bare);
    b = batch_builder_new(f.schema);
    batch_append_bytes(b, 0, bytes_of_str("partition"));
    batch_append_bytes(b, 1, bytes_of_str("a b"));
    batch_append_bytes(b, 2, bytes_of_str("c,d\n\\"));
    batch_row_end(b, ROW_INSERT);
    e = csv_format.encoder_new(f.schema, &f.options, skip);
    ck_assert_rc_msg(e->ops->encode(e, batch_builder_view(b), NULL, 1, &out, NULL, &err),
                     RC_INVALID, "column f2");
    e->ops->free(e);
    buf_clear(&out);
    options_of(&f, escaped);
    encode(&f, batch_builder_view(b), skip, &out);
    ck_assert_bytes_str(buf_bytes(&out), "a b,c\\,d\\n\\\\\n");
    buf_release(&out);
    batch_builder_free(b);
    fixture_release(&f);
}
END_TEST

TEST_MAIN("csv_format",
          tcase_add_loop_test(tc, a_value_is_read_or_refused_with_the_reason, 0, ARRAY_LEN(values));
          tcase_add_loop_test(tc, a_text_gives_its_rows_in_pieces_of_every_size, 0,
                              ARRAY_LEN(texts));
          tcase_add_test(tc, other_delimiters_escapes_and_comments_are_read);
          tcase_add_test(tc, nul_bytes_are_data_or_the_delimiter);
          tcase_add_loop_test(tc, a_wrong_option_is_refused_by_name, 0, ARRAY_LEN(bad_options));
          tcase_add_loop_test(tc, many_rows_at_a_time_are_what_one_by_one_gives, 0, 4);
          tcase_add_loop_test(tc, digits_eight_at_a_time_take_no_other_byte, 0, 10);
          tcase_add_test(tc, rows_are_written_as_flink_writes_them);
          tcase_add_test(tc, small_decimals_are_written_as_asked);
          tcase_add_loop_test(tc, what_is_written_is_read_back, 0, 10);
          tcase_add_test(tc, skipped_columns_and_unquotable_texts))
