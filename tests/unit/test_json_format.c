/* test_json_format.c - JSON lines: values of every type, what is refused and why, what is written.
 */
#include "job/format/field.h"
#include "job/format/format.h"
#include "tests/lib/check_ext.h"

struct fixture {
    struct arena *arena;
    struct schema schema;
    struct schema_field fields[8];
    struct format_options options;
    uint64_t bad_rows, null_fields, line;
    struct buf rows;
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
    ck_assert_ok(json_format.options(f->arena, n, keys, values, &f->options, &err));
}

static void fixture_init(struct fixture *f, const char *const *pairs)
{
    *f = (struct fixture){.arena = arena_new(0)};
    f->schema = (struct schema){.fields = f->fields, .rowtime = -1};
    options_of(f, pairs);
}

static void field(struct fixture *f, const char *name, enum type_kind kind, uint8_t precision,
                  uint8_t scale)
{
    struct type t = type_of(kind);

    if (precision > 0) {
        t.precision = precision;
        t.scale = scale;
    }
    f->fields[f->schema.field_count++] = (struct schema_field){name, t};
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

/* Feeds `text` in pieces, each a block of its own, so that a read past the end is seen. */
static enum rc decode(struct fixture *f, struct bytes text, size_t piece, struct err *err)
{
    struct decoder *d = json_format.decoder_new(&f->schema, &f->options);
    struct batch_builder *out = batch_builder_new(&f->schema);
    size_t from = 0, to = 0, used = 0;
    enum rc rc = RC_OK;

    buf_clear(&f->rows);
    d->file = "t.jsonl";
    d->max_rows = 1 + (uint32_t)piece % 3;
    for (;;) {
        uint8_t *copy;

        if (used == 0 && to < text.len)
            to = to + piece < text.len ? to + piece : text.len;
        copy = mem_alloc(to - from);
        memcpy(copy, text.data + from, to - from);
        rc = d->ops->decode(d, bytes_of(copy, to - from), to == text.len, out, &used, err);
        mem_free(copy);
        if (rc != RC_OK)
            break;
        from += used;
        show_rows(f, batch_builder_view(out));
        batch_builder_clear(out);
        if (to == text.len && used == 0)
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

static const struct {
    enum type_kind kind;
    uint8_t precision, scale;
    const char *value;
    const char *want; /* NULL: refused with `why` */
    const char *why;
} values[] = {
    {TYPE_BIGINT, 0, 0, "-9223372036854775808", "-9223372036854775808", NULL},
    {TYPE_BIGINT, 0, 0, "9223372036854775808", NULL,
     "field v: number out of range: 9223372036854775808"},
    {TYPE_BIGINT, 0, 0, "123456789012345678901234567890", NULL, "number out of range"},
    {TYPE_BIGINT, 0, 0, "1.5", NULL, "not a whole number: '1.5'"},
    {TYPE_BIGINT, 0, 0, "1e3", NULL, "not a whole number: '1e3'"},
    {TYPE_BIGINT, 0, 0, "\"16\"", "16", NULL},
    {TYPE_BIGINT, 0, 0, "\"x\"", NULL, "not a whole number: 'x'"},
    {TYPE_BIGINT, 0, 0, "true", NULL, "not a whole number: 'true'"},
    {TYPE_BIGINT, 0, 0, "[1]", NULL, "not a whole number: '[1]'"},
    {TYPE_BIGINT, 0, 0, "01", NULL, "not JSON"},
    {TYPE_BIGINT, 0, 0, "+1", NULL, "not JSON"},
    {TYPE_BIGINT, 0, 0, "1.", NULL, "not JSON"},
    {TYPE_BIGINT, 0, 0, "-", NULL, "not JSON"},
    {TYPE_BIGINT, 0, 0, "NaN", NULL, "not JSON"},
    {TYPE_BIGINT, 0, 0, "nul", NULL, "not JSON"},
    {TYPE_TINYINT, 0, 0, "-129", NULL, "number out of range: -129"},
    {TYPE_DECIMAL, 38, 2, "99999999999999999999.99", "99999999999999999999.99", NULL},
    {TYPE_DECIMAL, 38, 18, "0.1", "0.100000000000000000", NULL},
    {TYPE_DECIMAL, 10, 2, "1.5E3", "1500.00", NULL},
    {TYPE_DECIMAL, 10, 2, "\"-7.125\"", "-7.13", NULL},
    {TYPE_DECIMAL, 4, 2, "100", NULL, "number out of range: 100"},
    {TYPE_DOUBLE, 0, 0, "1e-3", "0.001", NULL},
    {TYPE_DOUBLE, 0, 0, "\"NaN\"", "NaN", NULL},
    {TYPE_DOUBLE, 0, 0, "123456789012345678901234567890", "1.2345678901234568E29", NULL},
    {TYPE_BOOLEAN, 0, 0, "false", "false", NULL},
    {TYPE_BOOLEAN, 0, 0, "\"TRUE\"", "true", NULL},
    {TYPE_BOOLEAN, 0, 0, "1", NULL, "not true or false: '1'"},
    {TYPE_VARCHAR, 0, 0, "\"e\\/\\u0061\\ud83c\\udf33\"", "e/a\xf0\x9f\x8c\xb3", NULL},
    {TYPE_VARCHAR, 0, 0, "\"\\ud83c\"", NULL, "wrong escape"},
    {TYPE_VARCHAR, 0, 0, "\"\\x\"", NULL, "wrong escape"},
    {TYPE_VARCHAR, 0, 0, "\"a\tb\"", NULL, "control character"},
    {TYPE_VARCHAR, 0, 0, "\"a", NULL, "a string is not closed"},
    {TYPE_VARCHAR, 0, 0, "\"\xff\"", NULL, "not UTF-8"},
    {TYPE_VARCHAR, 0, 0, "12", NULL, "field v: not text: '12'"},
    {TYPE_VARCHAR, 0, 0, "[\"elm\"]", NULL, "field v: not text: '[\"elm\"]'"},
    {TYPE_VARCHAR, 0, 0, "null", "null", NULL},
    {TYPE_VARBINARY, 0, 0, "\"AAH/\"", "AAH/", NULL},
    {TYPE_VARBINARY, 0, 0, "\"?\"", NULL, "not base64: '?'"},
    {TYPE_DATE, 0, 0, "\"2024-02-29\"", "2024-02-29", NULL},
    {TYPE_DATE, 0, 0, "20240229", NULL, "not a string: '20240229'"},
    {TYPE_TIME, 3, 0, "\"10:15:30.25\"", "10:15:30.25", NULL},
    {TYPE_TIMESTAMP, 3, 0, "\"2024-02-29 10:15:30.5\"", "2024-02-29T10:15:30.5", NULL},
    {TYPE_TIMESTAMP, 3, 0, "\"2024-02-29T10:15:30.5\"", NULL, "not an SQL timestamp"},
    {TYPE_TIMESTAMP_LTZ, 3, 0, "\"2024-02-29 10:15:30.5Z\"", "2024-02-29T10:15:30.5Z", NULL},
};

START_TEST(a_value_is_read_or_refused_with_the_reason)
{
    struct fixture f;
    struct err err = {0};
    const char *line;

    fixture_init(&f, NULL);
    field(&f, "v", values[_i].kind, values[_i].precision, values[_i].scale);
    line = arena_printf(f.arena, "{\"v\":%s}", values[_i].value);
    if (values[_i].want == NULL) {
        ck_assert_rc_msg(decode(&f, bytes_of_str(line), 1000, &err), RC_INVALID, values[_i].why);
    } else {
        ck_assert_ok(decode(&f, bytes_of_str(line), 1000, &err));
        f.rows.len--;
        ck_assert_bytes_str(buf_bytes(&f.rows), values[_i].want);
    }
    fixture_release(&f);
}
END_TEST

/* Lines that hold more, or something else, than one object are broken, wherever the fault lies;
 * nothing is skipped unseen. */
static const struct {
    const char *line, *why;
} broken[] = {
    {"{\"v\":14}}", "text after the object"},
    {"{\"v\":1}{\"v\":2}", "text after the object"},
    {"{\"v\":1} x", "does not end with a closing bracket"},
    {"{\"v\":13", "does not end with a closing bracket"},
    {"[{\"v\":15}]", "not an object"},
    {"\"elm\"", "not an object"},
    {"17", "not an object"},
    {"not json", "not JSON"},
    {"{'v':17}", "not JSON"},
    {"{\"v\":18,}", "not JSON"},
    {"{\"v\" 18}", "not JSON"},
    {"{\"v\":1 \"w\":2}", "not JSON"},
    {"{v:1}", "not JSON"},
    {"{\"x\":[1,2,],\"v\":1}", "not JSON"},
    {"{\"x\":{\"y\":tru},\"v\":1}", "not JSON"},
    {"{\"x\":\"\\q\",\"v\":1}", "a wrong escape"},
    {"{\"x\":[1 2],\"v\":1}", "not JSON"},
    {"{\"x\":01,\"v\":1}", "not JSON"},
    {"{\"\\q\":1,\"v\":1}", "a wrong escape"},
    {"{,\"v\":1}", "not JSON"},
    {"{}x", "does not end with a closing bracket"},
};
START_TEST(a_line_that_is_not_one_object_is_refused)
{
    struct fixture f;
    struct err err = {0};
    const char *text;

    fixture_init(&f, NULL);
    field(&f, "v", TYPE_BIGINT, 0, 0);
    text = arena_printf(f.arena, "{\"v\":1}\n\n%s\n", broken[_i].line);
    for (size_t piece = 1; piece < 40; piece++)
        ck_assert_rc_msg(decode(&f, bytes_of_str(text), piece, &err), RC_INVALID,
                         arena_printf(f.arena, "t.jsonl: line 3: %s", broken[_i].why));
    /* Left out and counted under the two other rules. */
    for (int rule = 0; rule < 2; rule++) {
        options_of(&f, rule == 0 ? (const char *const[]){"varve.bad-rows", "skip", NULL}
                                 : (const char *const[]){"json.ignore-parse-errors", "true", NULL});
        ck_assert_ok(decode(&f, bytes_of_str(text), 7, &err));
        ck_assert_bytes_str(buf_bytes(&f.rows), "1\n");
        ck_assert_uint_eq(f.bad_rows, 1);
        ck_assert_uint_eq(f.line, 4);
    }
    fixture_release(&f);
}
END_TEST

/* A cut number of closing brackets must not run the stack out. */
START_TEST(deep_nesting_is_refused_not_followed)
{
    struct fixture f;
    struct buf text = {0};
    struct err err = {0};

    fixture_init(&f, NULL);
    field(&f, "v", TYPE_BIGINT, 0, 0);
    buf_append_str(&text, "{\"x\":");
    for (int i = 0; i < 100000; i++)
        buf_append_u8(&text, '[');
    for (int i = 0; i < 100000; i++)
        buf_append_u8(&text, ']');
    buf_append_u8(&text, '}');
    ck_assert_rc_msg(decode(&f, buf_bytes(&text), 1 << 20, &err), RC_INVALID, "nested too deep");
    buf_release(&text);
    fixture_release(&f);
}
END_TEST

/* Order, unknown fields, duplicates, blanks, CRLF; pieces of every size give the same. */
START_TEST(fields_are_found_by_name)
{
    static const char text[] = "{\"b\":1,\"a\":\"x\"}\r\n  \r\n"
                               " { \"a\" : \"y\" , \"z\":{\"b\":9,\"a\":[1,{}]}, \"b\" : 2 } \n"
                               "{}\n"
                               "{\"a\":\"old\",\"b\":3,\"a\":\"new\"}\n"
                               "{\"\\u0061\":\"escaped\",\"b\":null}\n"
                               "{\"A\":\"case\",\"b\":4}";
    struct fixture f;
    struct err err = {0};

    fixture_init(&f, NULL);
    field(&f, "a", TYPE_VARCHAR, 0, 0);
    field(&f, "b", TYPE_INT, 0, 0);
    for (size_t piece = 1; piece <= 64; piece++) {
        ck_assert_ok(decode(&f, bytes_of_str(text), piece, &err));
        ck_assert_bytes_str(buf_bytes(&f.rows),
                            "x|1\ny|2\nnull|null\nnew|3\nescaped|null\nnull|4\n");
    }
    fixture_release(&f);
}
END_TEST

/* With ignore-parse-errors a text takes any value, other fields become null and are counted. */
START_TEST(bad_fields_become_null_when_asked)
{
    static const char text[] = "{\"a\": [ \"e l\\\"m\" , {\"x\" : 1} ] "
                               ",\"b\":1}\n{\"a\":12.50,\"b\":\"x\"}\n{\"a\":true,\"b\":1.5}\n";
    struct fixture f;
    struct err err = {0};

    fixture_init(&f, (const char *const[]){"json.ignore-parse-errors", "true", NULL});
    field(&f, "a", TYPE_VARCHAR, 0, 0);
    field(&f, "b", TYPE_INT, 0, 0);
    ck_assert_ok(decode(&f, bytes_of_str(text), 5, &err));
    ck_assert_bytes_str(buf_bytes(&f.rows), "[\"e l\\\"m\",{\"x\":1}]|1\n12.50|null\ntrue|null\n");
    ck_assert_uint_eq(f.null_fields, 2);
    ck_assert_uint_eq(f.bad_rows, 0);
    ck_assert_rc_msg(decode(&f, bytes_of("{\"a\":\"\xff\"}", 9), 5, &err), RC_INVALID, "not UTF-8");
    fixture_release(&f);
}
END_TEST

START_TEST(a_missing_field_fails_when_asked)
{
    struct fixture f;
    struct err err = {0};

    fixture_init(&f, (const char *const[]){"json.fail-on-missing-field", "true", NULL});
    field(&f, "a", TYPE_VARCHAR, 0, 0);
    ck_assert_ok(decode(&f, bytes_of_str("{\"a\":null}"), 5, &err));
    ck_assert_rc_msg(decode(&f, bytes_of_str("{\"b\":1}"), 5, &err), RC_INVALID,
                     "field a: is missing");
    fixture_release(&f);
}
END_TEST

static const struct {
    const char *pairs[5];
    enum rc rc;
    const char *message;
} bad_options[] = {
    {{"json.fail-on-missing-field", "true", "json.ignore-parse-errors", "true", NULL},
     RC_INVALID,
     "exclude each other"},
    {{"json.ignore-parse-errors", "true", "varve.bad-rows", "skip", NULL}, RC_INVALID, "two rules"},
    {{"json.timestamp-format.standard", "RFC", NULL}, RC_INVALID, "SQL|ISO-8601"},
    {{"json.map-null-key.mode", "DROP", NULL}, RC_UNSUPPORTED, "no MAP types"},
    {{"json.ignore-parse-error", "true", NULL},
     RC_INVALID,
     "nearest is 'json.ignore-parse-errors'"},
};
START_TEST(a_wrong_option_is_refused)
{
    const char *keys[2], *option_values[2];
    struct arena *arena = arena_new(0);
    struct format_options options;
    struct err err = {0};
    size_t n = 0;

    for (; bad_options[_i].pairs[2 * n] != NULL; n++) {
        keys[n] = bad_options[_i].pairs[2 * n];
        option_values[n] = bad_options[_i].pairs[2 * n + 1];
    }
    ck_assert_rc_msg(json_format.options(arena, n, keys, option_values, &options, &err),
                     bad_options[_i].rc, bad_options[_i].message);
    arena_free(arena);
}
END_TEST

/* ---- writing --------------------------------------------------------------------------------- */

static void write_row(struct fixture *f, struct buf *out, const bool *skip)
{
    struct encoder *e = json_format.encoder_new(&f->schema, &f->options, skip);
    struct batch_builder *b = batch_builder_new(&f->schema);
    uint32_t ends[2], sel[2] = {1, 0};
    struct err err = {0};

    batch_append_bytes(b, 0, bytes_of("q\"\\/\b\f\n\r\t\0\x1f\x7f\xc3\xa9", 14));
    batch_append_double(b, 1, 1e10);
    batch_append_decimal(b, 2, 10);
    batch_append_int(b, 3, 19782 * 86400000ll + 36930500);
    batch_append_int(b, 4, 19782);
    batch_append_bytes(b, 5, bytes_of("\0\1\xff", 3));
    batch_row_end(b, ROW_INSERT);
    batch_append_null(b, 0);
    batch_append_double(b, 1, -(1.0 / 0.0));
    for (uint32_t c = 2; c < 6; c++)
        batch_append_null(b, c);
    batch_row_end(b, ROW_INSERT);
    ck_assert_ok(e->ops->encode(e, batch_builder_view(b), sel, 2, out, ends, &err));
    ck_assert_uint_eq(ends[1], out->len);
    ck_assert_uint_eq(out->data[ends[0] - 1], '\n');
    batch_builder_free(b);
    e->ops->free(e);
}

/* Key order of the table, exact decimals, Jackson's escapes; what is no JSON number goes as a
 * string. */
START_TEST(rows_are_written_as_flink_writes_them)
{
    static const struct {
        const char *pairs[7], *want;
        bool skip;
    } cases[] = {
        {{NULL},
         "{\"k\":null,\"d\":\"-Infinity\",\"c\":null,\"m\":null,\"D\":null,\"y\":null}\n"
         "{\"k\":\"q\\\"\\\\/"
         "\\b\\f\\n\\r\\t\\u0000\\u001F\x7f\xc3\xa9\",\"d\":1.0E10,\"c\":1.0E-7,\"m\":\"2024-02-29 "
         "10:15:30.5\","
         "\"D\":\"2024-02-29\",\"y\":\"AAH/\"}\n",
         false},
        {{"json.encode.ignore-null-fields", "true", "json.encode.decimal-as-plain-number", "true",
          "json.timestamp-format.standard", "ISO-8601", NULL},
         "{\"d\":\"-Infinity\"}\n"
         "{\"d\":1.0E10,\"c\":0.00000010,\"m\":\"2024-02-29T10:15:30.5\",\"D\":\"2024-02-29\","
         "\"y\":\"AAH/\"}\n",
         true},
    };
    static const bool skip[6] = {true};
    struct fixture f;
    struct buf out = {0};

    fixture_init(&f, cases[_i].pairs);
    field(&f, "k", TYPE_VARCHAR, 0, 0);
    field(&f, "d", TYPE_DOUBLE, 0, 0);
    field(&f, "c", TYPE_DECIMAL, 20, 8);
    field(&f, "m", TYPE_TIMESTAMP, 3, 0);
    field(&f, "D", TYPE_DATE, 0, 0);
    field(&f, "y", TYPE_VARBINARY, 0, 0);
    write_row(&f, &out, cases[_i].skip ? skip : NULL);
    ck_assert_bytes_str(buf_bytes(&out), cases[_i].want);
    buf_release(&out);
    fixture_release(&f);
}
END_TEST

/* decode(encode(x)) = x. */
START_TEST(what_is_written_is_read_back)
{
    struct fixture f;
    struct buf out = {0}, want = {0};
    struct batch_builder *b;
    struct encoder *e;
    struct err err = {0};

    fixture_init(&f, NULL);
    field(&f, "a \"key\"", TYPE_VARCHAR, 0, 0);
    field(&f, "t", TYPE_TIMESTAMP, 9, 0);
    b = batch_builder_new(&f.schema);
    for (int c = 0; c < 256; c++) {
        uint8_t text[4] = {'x', (uint8_t)(c < 0x80 ? c : 0xc3),
                           (uint8_t)(c < 0x80 ? 'y' : 0x80 | (c & 0x3f)), 'z'};

        batch_append_bytes(b, 0, bytes_of(text, 4));
        batch_append_int(b, 1, 1700000000000000000ll + c);
        batch_row_end(b, ROW_INSERT);
    }
    show_rows(&f, batch_builder_view(b));
    buf_append(&want, f.rows.data, f.rows.len);
    e = json_format.encoder_new(&f.schema, &f.options, NULL);
    ck_assert_ok(e->ops->encode(e, batch_builder_view(b), NULL, 256, &out, NULL, &err));
    ck_assert_ok(decode(&f, buf_bytes(&out), 33, &err));
    ck_assert_bytes_eq(buf_bytes(&f.rows), buf_bytes(&want));
    e->ops->free(e);
    batch_builder_free(b);
    buf_release(&out);
    buf_release(&want);
    fixture_release(&f);
}
END_TEST

TEST_MAIN("json_format",
          tcase_add_loop_test(tc, a_value_is_read_or_refused_with_the_reason, 0, ARRAY_LEN(values));
          tcase_add_loop_test(tc, a_line_that_is_not_one_object_is_refused, 0, ARRAY_LEN(broken));
          tcase_add_test(tc, deep_nesting_is_refused_not_followed);
          tcase_add_test(tc, fields_are_found_by_name);
          tcase_add_test(tc, bad_fields_become_null_when_asked);
          tcase_add_test(tc, a_missing_field_fails_when_asked);
          tcase_add_loop_test(tc, a_wrong_option_is_refused, 0, ARRAY_LEN(bad_options));
          tcase_add_loop_test(tc, rows_are_written_as_flink_writes_them, 0, 2);
          tcase_add_test(tc, what_is_written_is_read_back))
