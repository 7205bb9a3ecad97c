/* links: checkpoint */
#include "checkpoint/metadata.h"

#include "base/rng.h"
#include "base/zframe.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sample_metadata.h"
#include "tests/lib/tmpdir.h"

#define HEADER_BYTES 64

static struct arena *arena;
static struct buf encoded;

static void setup(void)
{
    arena = arena_new(0);
    encoded = (struct buf){0};
    metadata_own_encode(sample_metadata(arena, 7, 1), &encoded);
}

static void teardown(void)
{
    buf_release(&encoded);
    arena_free(arena);
}

static enum rc decode(struct bytes file, struct checkpoint_metadata *out, struct err *err)
{
    return metadata_own_decode(file, arena, "chk-7/_metadata", out, err);
}

/* After a deliberate change the header must be proven again, to come to the check behind it. */
static void seal_header(uint8_t *h)
{
    put_le64(h + 56, hash64(bytes_of(h, 56)));
}

static void seal_body(uint8_t *file, size_t len)
{
    struct digest128 digest = digest_of(bytes_of(file + HEADER_BYTES, len - HEADER_BYTES));

    put_le64(file + 24, len - HEADER_BYTES);
    memcpy(file + 40, digest.b, sizeof digest.b);
    seal_header(file);
}

START_TEST(decoding_gives_back_what_was_encoded)
{
    struct err err = {0};
    struct checkpoint_metadata m;
    const struct keyed_handle *h;
    struct buf again = {0};

    ck_assert(metadata_own_recognise(buf_bytes(&encoded)));
    ck_assert_ok(decode(buf_bytes(&encoded), &m, &err));
    metadata_own_encode(&m, &again);
    ck_assert_bytes_eq(buf_bytes(&again), buf_bytes(&encoded));
    buf_release(&again);

    ck_assert_uint_eq(m.checkpoint_id, 7);
    ck_assert_int_eq(m.kind, CHECKPOINT_PERIODIC);
    ck_assert_str_eq(m.job_id, SAMPLE_JOB_ID);
    ck_assert_str_eq(m.job_name, "insert-into_out");
    ck_assert_int_eq(m.trigger_wall_ms, 1700000007000);
    ck_assert_int_eq(m.completed_wall_ms, 1700000007123);
    ck_assert_str_eq(m.varve_version, "0.1.0");
    ck_assert_str_eq(m.rocksdb_version, "9.10.0");
    ck_assert(strstr(m.sql, "GROUP BY k") != NULL);
    ck_assert_str_eq(m.settings[0].value, "1 s");
    ck_assert_str_eq(m.operators[0].uid, "clicks");
    ck_assert_bytes_eq(m.operators[0].subtasks[0].lists[0].items[0], bytes_of("pos\0ition", 10));
    ck_assert_int_eq(m.operators[0].subtasks[0].lists[1].mode, LIST_UNION);
    h = &m.operators[1].subtasks[1].keyed[0];
    ck_assert_uint_eq(h->range.first, 64);
    ck_assert_uint_eq(h->entry_count, 1001);
    ck_assert_str_eq(h->states[0].value_type, "ROW<`count` BIGINT, `sum` BIGINT>");
    ck_assert_uint_eq(h->states[0].ttl_ms, 3600000);
    ck_assert_uint_eq(h->states[0].fixed_value_bytes, 24);
    ck_assert(!h->files[1].newly_written && h->files[2].newly_written);
    ck_assert_str_eq(h->files[2].path, "s-1.bin");
    ck_assert(m.operators[2].subtasks[1].finished);
    ck_assert_uint_eq(m.operators[2].subtasks[0].keyed[0].group_offsets[127], 15);
    ck_assert_int_eq(h->ttl_clock_ms, 0);
}
END_TEST

/* Lost, values that had expired would come back to life behind a clock that was set back. */
START_TEST(the_clock_of_time_to_live_is_kept)
{
    struct err err = {0};
    struct checkpoint_metadata m;

    ck_assert_ok(decode(buf_bytes(&encoded), &m, &err));
    m.operators[2].subtasks[0].keyed[0].ttl_clock_ms = 1700000000123;
    buf_clear(&encoded);
    metadata_own_encode(&m, &encoded);
    ck_assert_ok(decode(buf_bytes(&encoded), &m, &err));
    ck_assert_int_eq(m.operators[2].subtasks[0].keyed[0].ttl_clock_ms, 1700000000123);
}
END_TEST

/* B15: Flink says "EOFException" and nothing else. */
START_TEST(a_cut_file_is_refused_at_every_length_with_the_place)
{
    for (size_t len = 0; len < encoded.len; len++) {
        struct err err = {0};
        struct checkpoint_metadata m;
        /* A copy of exactly this length, so that reading past it is seen by the sanitizer. */
        uint8_t *cut = mem_alloc(len);
        char place[64];

        memcpy(cut, encoded.data, len);
        if (len < HEADER_BYTES)
            snprintf(place, sizeof place, "chk-7/_metadata: cut at byte %zu of 64", len);
        else
            snprintf(place, sizeof place, "chk-7/_metadata: cut at byte %zu of %zu", len,
                     encoded.len);
        ck_assert_rc_msg(decode(bytes_of(cut, len), &m, &err), RC_CORRUPT, place);
        mem_free(cut);
    }
}
END_TEST

START_TEST(bytes_after_the_end_are_refused)
{
    struct err err = {0};
    struct checkpoint_metadata m;

    buf_append_str(&encoded, "xyz");
    ck_assert_rc_msg(decode(buf_bytes(&encoded), &m, &err), RC_CORRUPT,
                     "3 bytes follow its end at byte");
}
END_TEST

START_TEST(any_flipped_bit_is_refused_with_a_place_and_a_reason)
{
    for (size_t at = 0; at < encoded.len; at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct err err = {0};
            struct checkpoint_metadata m;
            enum rc rc;

            encoded.data[at] ^= (uint8_t)(1 << bit);
            rc = decode(buf_bytes(&encoded), &m, &err);
            ck_assert_msg(rc == RC_CORRUPT || (at < 16 && rc == RC_VERSION),
                          "byte %zu bit %d: %s %s", at, bit, rc_name(rc), err.msg);
            ck_assert_msg(strstr(err.msg, "chk-7/_metadata: ") == err.msg &&
                              strstr(err.msg, "byte") != NULL,
                          "byte %zu bit %d: %s", at, bit, err.msg);
            encoded.data[at] ^= (uint8_t)(1 << bit);
        }
    }
}
END_TEST

START_TEST(random_damage_of_the_body_behind_a_valid_header_never_passes_a_check)
{
    struct rng rng;

    rng_seed(&rng, 11);
    for (int round = 0; round < 3000; round++) {
        struct err err = {0};
        struct checkpoint_metadata m;
        struct arena *own = arena_new(0);
        struct buf copy = {0};
        enum rc rc;

        buf_append(&copy, encoded.data, encoded.len);
        for (uint64_t n = 1 + rng_below(&rng, 4); n > 0; n--)
            copy.data[HEADER_BYTES + rng_below(&rng, copy.len - HEADER_BYTES)] =
                (uint8_t)rng_u64(&rng);
        seal_body(copy.data, copy.len);
        rc = metadata_own_decode(buf_bytes(&copy), own, "m", &m, &err);
        if (rc == RC_OK) /* zstd's checksum leaves one in 2^32: only an unharmful write gets here */
            ck_assert_bytes_eq(bytes_of(copy.data + HEADER_BYTES, copy.len - HEADER_BYTES),
                               bytes_of(encoded.data + HEADER_BYTES, encoded.len - HEADER_BYTES));
        else
            ck_assert_msg(err.msg[0] != '\0', "round %d", round);
        buf_release(&copy);
        arena_free(own);
    }
}
END_TEST

/* A message that passes zstd: what protobuf and the rules make of it must hold without memory
 * errors. */
START_TEST(random_damage_of_the_message_is_refused_or_gives_a_legal_tree)
{
    struct rng rng;
    struct buf plain = {0};
    struct err err = {0};
    int refused = 0;

    ck_assert_ok(
        zframe_decompress(bytes_of(encoded.data + HEADER_BYTES, encoded.len - HEADER_BYTES),
                          1 << 20, &plain, "body", &err));
    rng_seed(&rng, 12);
    for (int round = 0; round < 3000; round++) {
        struct checkpoint_metadata m;
        struct arena *own = arena_new(0);
        struct buf message = {0}, file = {0};
        enum rc rc;

        buf_append(&message, plain.data, plain.len);
        for (uint64_t n = 1 + rng_below(&rng, 3); n > 0; n--)
            message.data[rng_below(&rng, message.len)] = (uint8_t)rng_u64(&rng);
        buf_append(&file, encoded.data, HEADER_BYTES);
        zframe_compress(buf_bytes(&message), 3, &file);
        put_le64(file.data + 32, message.len);
        seal_body(file.data, file.len);
        rc = metadata_own_decode(buf_bytes(&file), own, "m", &m, &err);
        refused += rc != RC_OK;
        if (rc == RC_OK)
            ck_assert_ok(metadata_check(&m, "m", &err));
        err_clear(&err);
        buf_release(&message);
        buf_release(&file);
        arena_free(own);
    }
    ck_assert_int_gt(refused, 1000);
    buf_release(&plain);
}
END_TEST

START_TEST(a_newer_format_says_its_version)
{
    struct err err = {0};
    struct checkpoint_metadata m;

    put_le32(encoded.data + 16, 3);
    seal_header(encoded.data);
    ck_assert_rc_msg(decode(buf_bytes(&encoded), &m, &err), RC_VERSION,
                     "chk-7/_metadata: format version 3, this program reads 1 and 2");
}
END_TEST

/* A reader of version 1 skips fields it does not know, and would lose rows: so it must not read this one. */
START_TEST(rows_in_flight_make_it_version_2)
{
    struct err err = {0};
    struct checkpoint_metadata *tree = sample_metadata(arena, 7, 1), m;
    struct subtask_state *s = &tree->operators[1].subtasks[0];
    struct bytes content = bytes_of_str("rows");
    struct channel_handle h = {.from_id = SAMPLE_SOURCE_ID,
                               .ordinal = 3,
                               .partitioning = "HASH(0,2)",
                               .row_type = "BIGINT, STRING",
                               .row_count = 17,
                               .updates = true,
                               .file = {.local_name = "", .inline_bytes = content, .size_bytes = 4, .digest = digest_of(content), .newly_written = true}};
    struct buf out = {0};

    ck_assert_uint_eq(get_le32(encoded.data + 16), 1);
    s->channels = &h;
    s->channel_count = 1;
    metadata_own_encode(tree, &out);
    ck_assert_uint_eq(get_le32(out.data + 16), 2);
    ck_assert_ok(decode(buf_bytes(&out), &m, &err));
    s = &m.operators[1].subtasks[0];
    ck_assert_uint_eq(s->channel_count, 1);
    ck_assert_str_eq(s->channels[0].from_id, SAMPLE_SOURCE_ID);
    ck_assert_uint_eq(s->channels[0].ordinal, 3);
    ck_assert_str_eq(s->channels[0].partitioning, "HASH(0,2)");
    ck_assert_str_eq(s->channels[0].row_type, "BIGINT, STRING");
    ck_assert_uint_eq(s->channels[0].row_count, 17);
    ck_assert(s->channels[0].updates);
    ck_assert_bytes_str(s->channels[0].file.inline_bytes, "rows");
    put_le32(out.data + 16, 1); /* says it has none */
    seal_header(out.data);
    ck_assert_rc_msg(decode(buf_bytes(&out), &m, &err), RC_CORRUPT, "format version 1 with rows in flight");
    buf_release(&out);
}
END_TEST

/* What must hold of rows in flight whose bytes came from outside. */
static const struct {
    struct channel_handle h;
    const char *part;
} bad_channels[] = {
    {{.from_id = "me", .partitioning = "FORWARD", .row_type = "INT"}, "not 32 hex digits"},
    {{.from_id = SAMPLE_SOURCE_ID, .partitioning = "HASH", .row_type = "INT"}, "partitioning \"HASH\""},
    {{.from_id = SAMPLE_SOURCE_ID, .partitioning = "HASH(0", .row_type = "INT"}, "partitioning"},
    {{.from_id = SAMPLE_SOURCE_ID, .partitioning = "GLOBAL", .row_type = ""}, "type of rows in flight"},
    {{.from_id = SAMPLE_SOURCE_ID, .partitioning = "GLOBAL", .row_type = "INT", .file = {.scope = FILE_SHARED, .path = "../shared/x.sst"}}, "file scope 2"},
    {{.from_id = SAMPLE_SOURCE_ID, .partitioning = "GLOBAL", .row_type = "INT", .file = {.scope = FILE_EXCLUSIVE, .path = "../s-0.bin"}}, "beside _metadata"},
    {{.from_id = SAMPLE_SOURCE_ID, .partitioning = "GLOBAL", .row_type = "INT", .file = {.scope = FILE_EXCLUSIVE, .path = "s-0.bin"}}, "twice"},
};
START_TEST(rows_in_flight_obey_rules)
{
    struct err err = {0};
    struct checkpoint_metadata *tree = sample_metadata(arena, 7, 1);
    struct channel_handle h[2] = {bad_channels[_i].h, bad_channels[_i].h};

    h[0].file.local_name = h[1].file.local_name = "";
    tree->operators[1].subtasks[0].channels = h;
    tree->operators[1].subtasks[0].channel_count = 2;
    ck_assert_rc_msg(metadata_check(tree, "m", &err), RC_CORRUPT, bad_channels[_i].part);
    tree->operators[1].subtasks[0].channel_count = 4097;
    ck_assert_rc_msg(metadata_check(tree, "m", &err), RC_CORRUPT, "rows in flight on 4097 edges, at most 4096");
}
END_TEST

START_TEST(strangers_and_flinks_metadata_are_told_apart)
{
    struct err err = {0};
    struct checkpoint_metadata m;
    static const uint8_t flink[32] = {0x49, 0x60, 0x67, 0x2d, 0, 0, 0, 6};

    ck_assert(!metadata_own_recognise(bytes_of(flink, sizeof flink)));
    ck_assert_rc_msg(decode(bytes_of(flink, sizeof flink), &m, &err), RC_UNSUPPORTED,
                     "written by Flink");
    ck_assert_rc_msg(decode(bytes_of_str("hello, this is a text file"), &m, &err), RC_VERSION,
                     "not a _metadata of varve: byte 0 is 0x68 instead of 0x56");
}
END_TEST

/* A header that promises much must not make the reader allocate it. */
START_TEST(promised_lengths_meet_a_limit_before_memory)
{
    struct err err = {0};
    struct checkpoint_metadata m;

    put_le64(encoded.data + 32, UINT64_MAX);
    seal_header(encoded.data);
    ck_assert_rc_msg(decode(buf_bytes(&encoded), &m, &err), RC_LIMIT, "the limit is 1073741824");
    put_le64(encoded.data + 32, 10);
    seal_header(encoded.data);
    ck_assert_rc_msg(decode(buf_bytes(&encoded), &m, &err), RC_LIMIT, "the limit is 10");
    put_le64(encoded.data + 32, METADATA_BYTES_MAX);
    seal_header(encoded.data);
    ck_assert_rc_msg(decode(buf_bytes(&encoded), &m, &err), RC_CORRUPT,
                     "the header says 1073741824");
}
END_TEST

/* Two bytes of message for each empty operator: memory of the decoder grows 80 times faster than
 * the file. */
START_TEST(a_message_of_many_empty_parts_is_bounded)
{
    struct err err = {0};
    struct checkpoint_metadata m;
    struct buf message = {0}, file = {0};

    for (int i = 0; i < 100000; i++)
        buf_append(&message, "\x5a\x00", 2); /* field 11, length 0 */
    buf_append(&file, encoded.data, HEADER_BYTES);
    zframe_compress(buf_bytes(&message), 3, &file);
    put_le64(file.data + 32, message.len);
    seal_body(file.data, file.len);
    ck_assert_rc(decode(buf_bytes(&file), &m, &err), RC_CORRUPT);
    ck_assert_uint_lt(arena_bytes(arena), 64u << 20);
    buf_release(&message);
    buf_release(&file);
}
END_TEST

START_TEST(text_that_is_not_utf8_does_not_make_the_file_unreadable_for_others)
{
    struct err err = {0};
    struct checkpoint_metadata *m = sample_metadata(arena, 7, 1), back;
    struct buf out = {0};

    m->sql = "SELECT '\xff\xc3(\xed\xa0\x80', 'gr\xc3\xbc\xc3\x9f \xf0\x9f\x8c\x8a'";
    metadata_own_encode(m, &out);
    ck_assert_ok(decode(buf_bytes(&out), &back, &err));
    ck_assert_str_eq(back.sql,
                     "SELECT '\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd', "
                     "'gr\xc3\xbc\xc3\x9f \xf0\x9f\x8c\x8a'");
    buf_release(&out);
}
END_TEST

/* Anyone can read it without us: design.md promises `zstd -dc _metadata | protoc --decode`. */
START_TEST(zstd_and_protoc_read_it)
{
    struct tmpdir tmp;
    const char *command;
    struct bytes text;
    char *copy;
    static const char *const wanted[] = {
        "checkpoint_id: 7\n",
        "kind: PERIODIC\n",
        "job_id: \"" SAMPLE_JOB_ID "\"\n",
        "completed_wall_ms: 1700000007123\n",
        "rocksdb_version: \"9.10.0\"\n",
        "key: \"execution.checkpointing.interval\"\n",
        "uid: \"clicks\"\n",
        "mode: SPLIT\n",
        "items: \"pos\\000ition\\000\"\n",
        "kind: ROCKS\n",
        "local_name: \"000008.sst\"\n",
        "scope: SHARED\n",
        "path: \"../shared/",
        "kind: STREAM\n",
        "value_type: \"ROW<`count` BIGINT, `sum` BIGINT>\"\n",
        "newly_written: true\n",
    };

    tmpdir_make(&tmp);
    tmpdir_write(&tmp, "_metadata", encoded.data, encoded.len);
    command =
        arena_printf(arena,
                     "cd %s && zstd -dc _metadata > plain && protoc -I%s/.. "
                     "--decode=varve.checkpoint.Metadata checkpoint/metadata.proto < plain > text",
                     tmp.path, TESTS_DIR);
    ck_assert_int_eq(system(command), 0); /* packages zstd and protobuf-compiler */
    text = tmpdir_read(&tmp, "text");
    copy = arena_strndup(arena, (const char *)text.data, text.len);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        ck_assert_msg(strstr(copy, wanted[i]) != NULL, "protoc's text lacks %s:\n%s", wanted[i],
                      copy);
    tmpdir_remove(&tmp);
}
END_TEST

/* The hex dump of docs/FORMAT.md between its two marks. */
static void read_dump(struct buf *out)
{
    FILE *f = fopen(TESTS_DIR "/../docs/FORMAT.md", "r");
    char line[512];
    bool inside = false;

    ck_assert_msg(f != NULL, "docs/FORMAT.md");
    while (fgets(line, sizeof line, f) != NULL) {
        if (strstr(line, "<!-- dump _metadata -->") != NULL)
            inside = true;
        else if (strstr(line, "<!-- end dump -->") != NULL)
            inside = false;
        else if (inside && strchr("0123456789abcdef", line[0]) != NULL)
            for (char *p = line + 6; p[0] != '\0' && p[1] != '\0' && p[0] != ' '; p += 3) {
                char pair[3] = {p[0], p[1], '\0'};

                buf_append_u8(out, (uint8_t)strtoul(pair, NULL, 16));
                if (p[2] != ' ')
                    break;
            }
    }
    fclose(f);
}

START_TEST(the_dump_in_the_format_document_decodes)
{
    struct err err = {0};
    struct checkpoint_metadata m;
    struct buf dump = {0};

    read_dump(&dump);
    ck_assert_uint_gt(dump.len, HEADER_BYTES);
    ck_assert_ok(metadata_own_decode(buf_bytes(&dump), arena, "docs/FORMAT.md", &m, &err));
    ck_assert_uint_eq(m.checkpoint_id, 3);
    ck_assert_str_eq(m.job_name, "wordcount");
    ck_assert_uint_eq(m.operator_count, 1);
    ck_assert_str_eq(m.operators[0].name, "Source: words");
    ck_assert_bytes_str(m.operators[0].subtasks[0].lists[0].items[0], "offset=42");
    buf_release(&dump);
}
END_TEST

TEST_MAIN("metadata_own", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, decoding_gives_back_what_was_encoded);
          tcase_add_test(tc, the_clock_of_time_to_live_is_kept);
          tcase_add_test(tc, a_cut_file_is_refused_at_every_length_with_the_place);
          tcase_add_test(tc, bytes_after_the_end_are_refused);
          tcase_add_test(tc, any_flipped_bit_is_refused_with_a_place_and_a_reason);
          tcase_add_test(tc, random_damage_of_the_body_behind_a_valid_header_never_passes_a_check);
          tcase_add_test(tc, random_damage_of_the_message_is_refused_or_gives_a_legal_tree);
          tcase_add_test(tc, a_newer_format_says_its_version);
          tcase_add_test(tc, rows_in_flight_make_it_version_2);
          tcase_add_loop_test(tc, rows_in_flight_obey_rules, 0, ARRAY_LEN(bad_channels));
          tcase_add_test(tc, strangers_and_flinks_metadata_are_told_apart);
          tcase_add_test(tc, promised_lengths_meet_a_limit_before_memory);
          tcase_add_test(tc, a_message_of_many_empty_parts_is_bounded);
          tcase_add_test(tc, text_that_is_not_utf8_does_not_make_the_file_unreadable_for_others);
          tcase_add_test(tc, zstd_and_protoc_read_it);
          tcase_add_test(tc, the_dump_in_the_format_document_decodes);)
