/* links: checkpoint */
#include "checkpoint/inspect.h"

#include "base/json.h"
#include "checkpoint/layout.h"
#include "checkpoint/savepoint.h"
#include "checkpoint/ended.h"
#include "tests/lib/big_history.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sample_metadata.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#define JOB_DIR "/ckpt/" SCENE_JOB_ID

static struct fs *fs;
static struct scene scene;
static struct arena *arena;
static struct err err;
static struct buf out;
static bool damaged;

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    out = (struct buf){0};
    fs = sim_fs_new(NULL);
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
}

static void teardown(void)
{
    scene_close(&scene);
    buf_release(&out);
    sim_fs_free(fs);
    arena_free(arena);
}

/* What a describing callback makes of a list it knows. */
static json_t *describe(const char *list_name, struct bytes item)
{
    if (strcmp(list_name, "splits") != 0 || item.len == 0)
        return NULL;
    return json_pack("{s: s, s: I, s: s}", "what", "split", "bytes", (json_int_t)item.len, "path",
                     "a<b>.csv");
}

static enum rc to_out(void *ctx, struct bytes piece, struct err *e UNUSED)
{
    buf_append(ctx, piece.data, piece.len);
    return RC_OK;
}

static enum rc look(const char *path, struct inspect_options options)
{
    buf_clear(&out);
    return inspect_path(&scene.env, path, &options, to_out, &out, &damaged, &err);
}

static const char *text_of(const char *path, bool files)
{
    ck_assert_ok(look(path, (struct inspect_options){.files = files}));
    return buf_cstr(&out);
}

static json_t *json_with(const char *path, struct inspect_options options)
{
    json_t *value;

    options.form = INSPECT_JSON;
    ck_assert_ok(look(path, options));
    ck_assert_ok(json_parse(buf_bytes(&out), 1 << 20, &value, &err));
    return value;
}

static json_t *json_of(const char *path)
{
    return json_with(path, (struct inspect_options){.files = true, .digests = true});
}

static const char *page_of(const char *path)
{
    ck_assert_ok(look(path, (struct inspect_options){.form = INSPECT_HTML, .describe = describe}));
    return buf_cstr(&out);
}

#define ck_assert_has(text, part)                                                                  \
    ck_assert_msg(strstr((text), (part)) != NULL, "lacks \"%s\":\n%s", (part), (text))

static void write_file(const char *path, struct bytes content)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(fs, path, &file, &err));
    ck_assert_ok(fs_append(file, content, &err));
    ck_assert_ok(fs_close(&file, &err));
}

/* The tree of sample_metadata.h with all its files, at /x/chk-7. */
static void publish_sample(const struct checkpoint_metadata *m)
{
    struct buf encoded = {0};

    ck_assert_ok(fs_mkdirs(fs, "/x/chk-7", &err));
    ck_assert_ok(fs_mkdirs(fs, "/x/shared", &err));
    for (uint32_t i = 0; i < 2 && m->operator_count > 1; i++) {
        struct state_file *f = m->operators[1].subtasks[i].keyed[0].files;

        write_file(arena_printf(arena, "/x/chk-7/%s", f[1].path),
                   sample_content(arena, arena_printf(arena, "%06u.sst of seed 1", i)));
        write_file(arena_printf(arena, "/x/chk-7/%s", f[2].path),
                   sample_content(arena, arena_printf(arena, "MANIFEST %u of seed 1", i)));
    }
    write_file("/x/chk-7/s-9.bin", sample_content(arena, "stream"));
    metadata_own_encode(m, &encoded);
    ck_assert_ok(storage_publish_metadata(fs, "/x/chk-7", buf_bytes(&encoded), &err));
    buf_release(&encoded);
}

/* The whole report of a tree that has everything, to the letter. */
START_TEST(a_snapshot_is_shown_with_operators_states_key_groups_and_files)
{
    const char *text;

    publish_sample(sample_metadata(arena, 7, 1));
    text = text_of("/x/chk-7", true);
    ck_assert(!damaged);
    ck_assert_has(text, "/x/chk-7: complete\n"
                        "  checkpoint 7 of job \"insert-into_out\" (" SAMPLE_JOB_ID ")\n"
                        "  triggered 2023-11-14T22:13:27.000Z, complete after 123 ms, in the "
                        "future; varve 0.1.0, RocksDB 9.10.0\n");
    ck_assert_has(text,
                  "shared 64 B in 2 files, exclusive 82 B in 3, inline 48 B in 2; new 130 B\n");
    ck_assert_has(text, "  operator Source: clicks\n"
                        "    id " SAMPLE_SOURCE_ID
                        ", parallelism 1, max parallelism 128, 10 B, new 10 B, uid clicks\n"
                        "    subtask 0: 10 B, new 10 B\n"
                        "      list splits: split, 2 items, 10 B\n"
                        "        pos\\x00ition\\x00\n");
    ck_assert_has(text, "  operator GroupAggregate[k]\n");
    ck_assert_has(text, "max parallelism 128, 166 B, new 102 B, 2001 keys\n"
                        "    state accState: value, key ROW<`k` STRING>, value ROW<`count` BIGINT, "
                        "`sum` BIGINT>, ttl "
                        "3600000 ms\n");
    ck_assert_has(text, "      key groups 64..127: rocksdb, 3 files, 1001 keys\n");
    ck_assert_has(text, "  shared    ../shared/");
    ck_assert_has(text, "      key groups 0..127: stream, 1 files\n");
    ck_assert_has(text, "    subtask 2: had finished\n");
    ck_assert_has(text, "  set execution.checkpointing.interval = 1 s\n");
}
END_TEST

START_TEST(a_jobs_directory_is_a_table_and_counts_what_nobody_names)
{
    const char *text;

    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/chk-4", &err));
    write_file(JOB_DIR "/chk-4/s-0.bin", bytes_of_str("half"));
    write_file(JOB_DIR "/shared/00112233445566778899aabbccddeeff.sst", bytes_of_str("stray"));
    text = text_of(JOB_DIR, false);
    ck_assert(!damaged); /* what was never completed is no damage */
    ck_assert_has(text, JOB_DIR ": job \"scene\" (" SCENE_JOB_ID ")\n");
    ck_assert_has(text, "  chk-3        checkpoint  complete    1970-01-01T00:00:03.005Z        5");
    ck_assert_has(
        text,
        "  chk-4        -           incomplete  no _metadata: never completed, 4 B, last changed ");
    ck_assert_has(text, "  shared/: 6 files, ");
    ck_assert_has(text, "; 1 of them, 5 B, in no readable _metadata\n");
}
END_TEST

START_TEST(damage_is_listed_with_its_reason_and_told_to_the_caller)
{
    char name[LAYOUT_NAME_MAX];
    const char *text;

    layout_shared_name(digest_of(scene_content(arena, 5)), name); /* chk-3's alone */
    ck_assert_ok(fs_unlink(fs, arena_printf(arena, JOB_DIR "/shared/%s", name), &err));
    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-1/_metadata", 90, 1));
    text = text_of(JOB_DIR, false);
    ck_assert(damaged);
    ck_assert_has(text, "chk-1        -           damaged     " JOB_DIR
                        "/chk-1/_metadata: digest differs");
    ck_assert_has(text, "  chk-2        checkpoint  complete ");
    ck_assert_has(text, "  chk-3        checkpoint  damaged ");
    ck_assert_has(text,
                  arena_printf(arena, "%s (%zu bytes, operator \"Toy[k]\" subtask 0): missing\n",
                               name, scene_content(arena, 5).len));
    text_of(JOB_DIR "/chk-1", false);
    ck_assert(damaged);
    text_of(JOB_DIR "/chk-2/_metadata", false);
    ck_assert(!damaged);
}
END_TEST

START_TEST(a_root_lists_jobs_and_savepoints)
{
    struct checkpoint_metadata m;
    struct storage_attempt *a;
    const char *text;

    ck_assert_ok(savepoint_begin(scene.storage, 4, "/ckpt", &a, &err));
    ck_assert_ok(scene_publish(&scene, a, 4, arena, &m, &err));
    m.kind = CHECKPOINT_SUSPEND;
    ck_assert_ok(storage_attempt_complete(a, &m, &err));
    storage_attempt_free(a);
    ck_assert_ok(fs_mkdir(fs, "/ckpt/savepoint-012345-0123456789ab", &err));
    ck_assert_ok(ended_write(
        fs, JOB_DIR, &(struct ended){JOB_END_FINISHED, 4, 7, "/ckpt/savepoint-x", SCENE_JOB_ID, "scene", "f"}, &err));
    text = text_of("/ckpt", false);
    ck_assert_has(text, JOB_DIR ": job \"scene\"");
    ck_assert_has(text, "  stopped with savepoint /ckpt/savepoint-x (4)\n");
    ck_assert_has(text, "  suspend 4 of job \"scene\"");
    ck_assert_has(text, "/ckpt/savepoint-012345-0123456789ab: incomplete\n");
    ck_assert_ok(ended_write(fs, JOB_DIR,
                             &(struct ended){JOB_END_CANCELED, 9, 7, NULL, SCENE_JOB_ID, "scene", "f"}, &err));
    ck_assert_has(text_of("/ckpt", false), "  CANCELED at checkpoint 9 (job \"scene\", " SCENE_JOB_ID ")\n");
}
END_TEST

START_TEST(json_has_the_same_with_stable_names)
{
    json_t *o, *first, *op, *files;
    const char *names[] = {
        "path",          "status",          "reason",        "checkpoint_id", "kind",
        "trigger_ms",    "completed_ms",    "duration_ms",   "age_ms",        "sizes",
        "only",          "metadata_size",   "linked",        "not_linked",    "fault_count",
        "faults",        "job_id",          "job_name",      "varve_version", "rocksdb_version",
        "sql",           "settings",        "operators"};
    const char *name;
    json_t *value;
    size_t at = 0;

    o = json_of(JOB_DIR);
    ck_assert_str_eq(json_string_value(json_object_get(o, "type")), "job");
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(o, "shared"), "unreferenced_files")), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(o, "checkpoints")), 3);
    first = json_array_get(json_object_get(o, "checkpoints"), 0);
    json_object_foreach(first, name, value)
    {
        ck_assert_uint_lt(at, ARRAY_LEN(names));
        ck_assert_str_eq(name, names[at++]);
    }
    ck_assert_uint_eq(at, ARRAY_LEN(names));
    ck_assert_int_eq(json_integer_value(json_object_get(first, "checkpoint_id")), 1);
    op = json_array_get(json_object_get(first, "operators"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(op, "name")), "Toy[k]");
    files = json_object_get(
        json_array_get(json_object_get(json_array_get(json_object_get(op, "subtasks"), 0), "keyed"),
                       0),
        "files");
    ck_assert_uint_eq(json_array_size(files), SCENE_FILES + 3);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(files, 0), "scope")),
                     "shared");
    ck_assert(json_is_true(json_object_get(json_array_get(files, 0), "new")));
    json_decref(o);
}
END_TEST

/* The same seed, the same bytes: others compare reports. */
START_TEST(a_report_of_the_same_directory_is_the_same)
{
    struct buf once = {0};

    json_decref(json_of("/ckpt"));
    buf_append(&once, out.data, out.len);
    json_decref(json_of("/ckpt"));
    ck_assert_bytes_eq(buf_bytes(&out), buf_bytes(&once));
    buf_release(&once);
}
END_TEST

START_TEST(names_from_a_file_cannot_drive_the_terminal)
{
    struct checkpoint_metadata *m = sample_metadata(arena, 7, 1);

    m->operator_count = 1;
    m->operators[0].name = "evil\x1b[31m";
    m->sql = "SELECT 1;\n/x/chk-9: complete\x1b";
    publish_sample(m);
    ck_assert_has(text_of("/x/chk-7", false), "operator evil\\x1b[31m\n");
    ck_assert_has(buf_cstr(&out), "  SQL:\n    SELECT 1;\n    /x/chk-9: complete\\x1b\n");
}
END_TEST

START_TEST(items_of_lists_are_shown_as_what_they_mean)
{
    json_t *o, *lists, *item;

    publish_sample(sample_metadata(arena, 7, 1));
    ck_assert_ok(look("/x/chk-7", (struct inspect_options){.describe = describe}));
    ck_assert_has(buf_cstr(&out), "      list splits: split, 2 items, 10 B\n"
                                  "        split: bytes 10, path a<b>.csv\n");
    o = json_with("/x/chk-7", (struct inspect_options){.describe = describe});
    item = json_array_get(json_object_get(json_object_get(o, "snapshot"), "operators"), 0);
    item = json_array_get(json_object_get(item, "subtasks"), 0);
    lists = json_object_get(item, "lists");
    item = json_array_get(json_object_get(json_array_get(lists, 0), "items"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(item, "bytes")), 10);
    json_decref(o);
}
END_TEST

/* Bytes that only it names: what its deletion would free. chk-n has the files n, n+1, n+2. */
START_TEST(a_table_says_what_deleting_each_would_free)
{
    json_t *o = json_with(JOB_DIR, (struct inspect_options){0}), *row;
    uint64_t own;

    row = json_array_get(json_object_get(o, "checkpoints"), 0);
    own = (uint64_t)json_integer_value(json_object_get(row, "metadata_size")) +
          (uint64_t)json_integer_value(json_object_get(json_object_get(row, "sizes"), "exclusive"));
    ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(row, "only")),
                      own + scene_content(arena, 1).len); /* 2 and 3 are chk-2's too */
    row = json_array_get(json_object_get(o, "checkpoints"), 2);
    own = (uint64_t)json_integer_value(json_object_get(row, "metadata_size")) +
          (uint64_t)json_integer_value(json_object_get(json_object_get(row, "sizes"), "exclusive"));
    ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(row, "only")),
                      own + scene_content(arena, 5).len);
    ck_assert_ptr_null(json_object_get(row, "operators")); /* a line of a table */
    json_decref(o);

    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-2/_metadata", 90, 1));
    o = json_with(JOB_DIR, (struct inspect_options){0});
    row = json_array_get(json_object_get(o, "checkpoints"), 0);
    ck_assert(json_is_null(json_object_get(row, "only"))); /* chk-2 may name what 1 does */
    json_decref(o);
}
END_TEST

START_TEST(the_newest_checkpoint_of_a_job_is_shown_inside)
{
    const char *text = text_of(JOB_DIR, false);

    ck_assert_has(text, "\n" JOB_DIR "/chk-3: complete\n");
    ck_assert_has(text, "  operator Toy[k]\n");
    ck_assert_ptr_null(strstr(text, JOB_DIR "/chk-2: complete"));
}
END_TEST

/* Faults of a table are kept up to a limit, and counted beyond. */
START_TEST(thousands_of_missing_files_are_counted_and_the_first_are_named)
{
    json_t *o;

    ck_assert_ok(fs_remove_tree(fs, JOB_DIR "/shared", &err));
    o = json_of(JOB_DIR);
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_array_get(json_object_get(o, "checkpoints"), 1), "fault_count")),
                     SCENE_FILES);
    json_decref(o);
    ck_assert(damaged);
}
END_TEST

START_TEST(a_page_stands_alone_and_escapes_every_name)
{
    static const char *const outside[] = {"http:", "https:", "<script", "src=", "href=", "@import",
                                          "url("};
    struct checkpoint_metadata *m = sample_metadata(arena, 7, 1);
    const char *page;

    m->job_name = "<script>alert('x')</script>\xff";
    m->operators[0].name = "a & b \"quoted\"";
    m->operators[0].uid = "</td><b>";
    m->sql = "SELECT '<script>' AS x";
    publish_sample(m);
    page = page_of("/x");
    for (size_t i = 0; i < ARRAY_LEN(outside); i++)
        ck_assert_msg(strstr(page, outside[i]) == NULL, "has \"%s\":\n%s", outside[i], page);
    ck_assert_has(page, "<h2>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\xef\xbf\xbd</h2>");
    ck_assert_has(page, "<b>a &amp; b &quot;quoted&quot;</b>");
    ck_assert_has(page, "<code>&lt;/td&gt;&lt;b&gt;</code>");
    ck_assert_has(page, "<pre>SELECT &#39;&lt;script&gt;&#39; AS x</pre>");
    ck_assert_has(page, "split: bytes 10, path a&lt;b&gt;.csv");
    ck_assert_has(page_of("/x/chk-7"), "of job &lt;script&gt;");
}
END_TEST

/* File 3 lies in all three, 2 in the first two, 1 and 5 in one. */
START_TEST(a_page_has_the_history_a_chart_and_who_uses_which_file)
{
    char name[DIGEST_HEX_LEN + 1];
    const char *page, *row;

    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/chk-4", &err));
    page = page_of(JOB_DIR);
    ck_assert_has(page, "<span>chk-3</span>");
    ck_assert_has(page, "<span>chk-4</span></td><td></td><td class=bad>incomplete</td>");
    ck_assert_has(page, "<title>1: 5 ms</title>"); /* a bar of the durations */
    digest_hex(digest_of(scene_content(arena, 3)), name);
    row = strstr(page, name);
    ck_assert_ptr_nonnull(row);
    row = strstr(row, "<td>1..3</td>");
    ck_assert_ptr_nonnull(row);
    digest_hex(digest_of(scene_content(arena, 2)), name);
    ck_assert_ptr_nonnull(strstr(strstr(page, name), "<td>1..2</td>"));
    ck_assert_has(page, "</body></html>\n");
}
END_TEST

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

/* A browser is to open the page whatever the directory holds; what is cut is said. */
START_TEST(a_page_of_many_checkpoints_shows_what_an_eye_can_use_and_says_so)
{
    struct big_history h = {
        .root = "/big", .checkpoints = 1100, .window = 600, .step = 2, .strays = 300};
    const char *page;

    ck_assert_ok(big_history_make(fs, &h, &err));
    page = page_of("/big");
    ck_assert(!damaged);
    ck_assert_uint_eq(count_of(page, "<tr><td><span>chk-"), 1000);
    ck_assert_has(page, "The newest 1000 of 1100;");
    ck_assert_has(page, "Each bar is the largest of 3 checkpoints.");
    ck_assert_uint_eq(count_of(page, "fill=\"var(--time)\""), 367); /* 1100 / 3, rounded up */
    ck_assert_has(page, "Of the newest 64 of 1100 checkpoints. The 500 largest files; 226 smaller "
                        "ones"); /* 63 * 2 + 600 are named by those */
    ck_assert_uint_eq(count_of(page, ".sst\">"), 500);
    ck_assert_has(page, "<p class=dim>100 more are not shown; varve orphans lists them.</p>");
}
END_TEST

/* One that cannot take the pieces ends the report. */
static enum rc no_room(void *ctx UNUSED, struct bytes piece UNUSED, struct err *e)
{
    return err_set(e, RC_IO, "no room");
}

START_TEST(an_error_of_the_writer_is_the_reports)
{
    ck_assert_rc_msg(inspect_path(&scene.env, JOB_DIR, &(struct inspect_options){0}, no_room, NULL,
                                  &damaged, &err),
                     RC_IO, "inspect: no room");
}
END_TEST

START_TEST(a_path_that_is_nothing_of_ours_is_refused)
{
    ck_assert_rc_msg(look("/nowhere", (struct inspect_options){0}), RC_NOT_FOUND,
                     "inspect: stat /nowhere");
    ck_assert_rc_msg(look("/local", (struct inspect_options){0}), RC_NOT_FOUND,
                     "/local: neither a checkpoint");
    ck_assert_rc(look(JOB_DIR "/LOCK", (struct inspect_options){0}), RC_INVALID);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(looking_changes_nothing)
{
    uint64_t ops = sim_fs_op_count(fs);

    text_of("/ckpt", true);
    ck_assert_uint_eq(sim_fs_op_count(fs), ops);
}
END_TEST

TEST_MAIN("inspect", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_snapshot_is_shown_with_operators_states_key_groups_and_files);
          tcase_add_test(tc, a_jobs_directory_is_a_table_and_counts_what_nobody_names);
          tcase_add_test(tc, damage_is_listed_with_its_reason_and_told_to_the_caller);
          tcase_add_test(tc, a_root_lists_jobs_and_savepoints);
          tcase_add_test(tc, json_has_the_same_with_stable_names);
          tcase_add_test(tc, a_report_of_the_same_directory_is_the_same);
          tcase_add_test(tc, names_from_a_file_cannot_drive_the_terminal);
          tcase_add_test(tc, items_of_lists_are_shown_as_what_they_mean);
          tcase_add_test(tc, a_table_says_what_deleting_each_would_free);
          tcase_add_test(tc, the_newest_checkpoint_of_a_job_is_shown_inside);
          tcase_add_test(tc, thousands_of_missing_files_are_counted_and_the_first_are_named);
          tcase_add_test(tc, a_page_stands_alone_and_escapes_every_name);
          tcase_add_test(tc, a_page_has_the_history_a_chart_and_who_uses_which_file);
          tcase_add_test(tc, a_page_of_many_checkpoints_shows_what_an_eye_can_use_and_says_so);
          tcase_add_test(tc, an_error_of_the_writer_is_the_reports);
          tcase_add_test(tc, a_path_that_is_nothing_of_ours_is_refused);
          tcase_add_test(tc, looking_changes_nothing);)
