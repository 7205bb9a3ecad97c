/* links: checkpoint
 *
 * Operators left out of a snapshot of Flink's, and under another uid; what is refused, by name. */
#include "checkpoint/flink/flink_edit.h"

#include "base/arena.h"
#include "checkpoint/flink/flink_uid.h"
#include "tests/lib/check_ext.h"

/* Flink's StreamGraphHasherV2 of "map". */
#define ID_OF_MAP "23ab3a59b17e9c45f95cff4c728611fc"

static struct arena *arena;
static struct flink_operator operators[3];
static struct flink_metadata m;
static const char *const uids[] = {"source", "window", "fn-uid"};

static void setup(void)
{
    arena = arena_new(0);
    memset(operators, 0, sizeof operators);
    m = (struct flink_metadata){.version = 6, .operator_count = 3, .operators = operators};
    for (size_t i = 0; i < 3; i++) {
        operators[i].name = operators[i].uid = bytes_of_str(uids[i]);
        flink_id_of_uid(operators[i].uid, operators[i].id);
        operators[i].parallelism = (int32_t)i + 1; /* tells them apart */
    }
}

static void teardown(void)
{
    arena_free(arena);
}

/* As before version 5: ids alone. */
static void forget_uids(void)
{
    m.version = 4;
    for (size_t i = 0; i < 3; i++)
        operators[i].name = operators[i].uid = bytes_of_str("");
}

static const char *hex(const struct flink_operator *op)
{
    static char id[2 * FLINK_ID_BYTES + 1];

    flink_id_hex(op->id, id);
    return id;
}

/* Words to drop and OLD=NEW ones, told apart by the '='. */
static enum rc edit(const char *const *words, size_t count, struct flink_metadata *out,
                    struct err *err)
{
    const char *drops[8];
    struct flink_rename renames[8];
    struct flink_edits e = {.drops = drops, .renames = renames};

    for (size_t i = 0; i < count; i++)
        if (strchr(words[i], '=') == NULL)
            drops[e.drop_count++] = words[i];
        else
            RETURN_IF_ERR(flink_rename_parse(words[i], arena, &renames[e.rename_count++], err));
    return flink_edit(&m, &e, arena, out, err);
}
#define EDIT(out, err, ...)                                                                        \
    edit((const char *const[]){__VA_ARGS__},                                                       \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), out, err)

static void check_refused(enum rc want, enum rc rc, struct err *err, const char *words)
{
    ck_assert_msg(rc == want, "code %d: %s", rc, err->msg);
    ck_assert_msg(strstr(err->msg, words) != NULL, "\"%s\" does not say \"%s\"", err->msg, words);
    err_clear(err);
}

START_TEST(without_edits_it_is_the_same_tree)
{
    struct flink_metadata out;
    struct err err = {0};

    ck_assert_ok(flink_edit(&m, &(struct flink_edits){0}, arena, &out, &err));
    ck_assert_ptr_eq(out.operators, operators);
    ck_assert_int_eq(out.version, 6);
}
END_TEST

START_TEST(what_is_dropped_is_gone_and_the_rest_is_as_it_was)
{
    struct flink_metadata out;
    struct err err = {0};

    ck_assert_ok(EDIT(&out, &err, "window"));
    ck_assert_uint_eq(out.operator_count, 2);
    ck_assert_mem_eq(&out.operators[0], &operators[0], sizeof operators[0]);
    ck_assert_mem_eq(&out.operators[1], &operators[2], sizeof operators[0]);
    ck_assert_uint_eq(m.operator_count, 3);
}
END_TEST

START_TEST(a_renamed_operator_has_flinks_id_of_its_new_uid)
{
    struct flink_metadata out;
    struct err err = {0};

    ck_assert_ok(EDIT(&out, &err, "window=map"));
    ck_assert(bytes_eq(out.operators[1].uid, bytes_of_str("map")));
    ck_assert_str_eq(hex(&out.operators[1]), ID_OF_MAP);
    ck_assert(bytes_eq(out.operators[1].name, bytes_of_str("window")));
    ck_assert_int_eq(out.operators[1].parallelism, 2);
    ck_assert(bytes_eq(operators[1].uid, bytes_of_str("window")));
}
END_TEST

START_TEST(an_operator_is_known_by_its_id_in_either_case)
{
    struct flink_metadata out;
    struct err err = {0};

    ck_assert_str_eq(hex(&operators[2]), "f6a927f14a15abca6721e01e25c47c41");
    ck_assert_ok(EDIT(&out, &err, "F6A927F14A15ABCA6721E01E25C47C41=map"));
    ck_assert_str_eq(hex(&out.operators[2]), ID_OF_MAP);
}
END_TEST

START_TEST(where_no_uids_are_kept_their_hash_is_looked_for_and_the_version_stays)
{
    struct flink_metadata out;
    struct err err = {0};

    forget_uids();
    ck_assert_ok(EDIT(&out, &err, "window", "source=map"));
    ck_assert_uint_eq(out.operator_count, 2);
    ck_assert_str_eq(hex(&out.operators[0]), ID_OF_MAP);
    ck_assert_int_eq(out.version, 4); /* Flink 1.x goes on reading it */
}
END_TEST

START_TEST(a_uid_that_looks_like_an_id_goes_before_the_id)
{
    struct flink_metadata out;
    struct err err = {0};

    operators[0].uid = bytes_of_str(arena_strdup(arena, hex(&operators[1])));
    flink_id_of_uid(operators[0].uid, operators[0].id);
    ck_assert_ok(EDIT(&out, &err, hex(&operators[1])));
    ck_assert_uint_eq(out.operator_count, 2);
    ck_assert(bytes_eq(out.operators[0].uid, bytes_of_str("window")));
}
END_TEST

START_TEST(two_uids_can_be_swapped)
{
    struct flink_metadata out;
    struct err err = {0};

    ck_assert_ok(EDIT(&out, &err, "source=window", "window=source"));
    ck_assert(bytes_eq(out.operators[0].uid, bytes_of_str("window")));
    ck_assert_mem_eq(out.operators[0].id, operators[1].id, FLINK_ID_BYTES);
    ck_assert_mem_eq(out.operators[1].id, operators[0].id, FLINK_ID_BYTES);
}
END_TEST

START_TEST(a_uid_that_is_taken_is_refused_unless_who_has_it_goes)
{
    struct flink_metadata out;
    struct err err = {0};

    check_refused(RC_EXISTS, EDIT(&out, &err, "source=window"), &err, "that of uid window");
    check_refused(RC_EXISTS, EDIT(&out, &err, "source=x", "fn-uid=x"), &err, "that of uid x");
    ck_assert_ok(EDIT(&out, &err, "window", "source=window"));
    forget_uids();
    check_refused(RC_EXISTS, EDIT(&out, &err, "source=window"), &err, "that of uid window");
}
END_TEST

START_TEST(an_unknown_operator_is_refused_with_the_nearest_and_all_there_are)
{
    struct flink_metadata out;
    struct err err = {0};

    check_refused(RC_NOT_FOUND, EDIT(&out, &err, "windwo"), &err,
                  "--drop: there is no operator \"windwo\"; did you mean window?; there are: source, "
                  "window, fn-uid");
    check_refused(RC_NOT_FOUND, EDIT(&out, &err, "nobody-at-all=x"), &err,
                  "--rename: there is no operator \"nobody-at-all\"; there are: source");
    forget_uids();
    operators[2].name = bytes_of_str("a map");
    check_refused(RC_NOT_FOUND, EDIT(&out, &err, "nobody"), &err,
                  "f6a927f14a15abca6721e01e25c47c41 (a map)");
    check_refused(RC_NOT_FOUND, EDIT(&out, &err, ""), &err, "no operator \"\"");
}
END_TEST

START_TEST(a_message_of_many_operators_is_cut)
{
    struct flink_metadata out;
    struct err err = {0};

    m.operators = ARENA_ARRAY(arena, 50, struct flink_operator);
    m.operator_count = 50;
    for (size_t i = 0; i < 50; i++)
        m.operators[i].uid = bytes_of_str(arena_printf(arena, "op-%zu", i));
    check_refused(RC_NOT_FOUND, EDIT(&out, &err, "none"), &err, "op-19 and 30 more");
}
END_TEST

START_TEST(an_operator_is_edited_once_and_one_is_left)
{
    struct flink_metadata out;
    struct err err = {0};

    check_refused(RC_INVALID, EDIT(&out, &err, "window", "window=x"), &err,
                  "operator window has --drop already");
    check_refused(RC_INVALID, EDIT(&out, &err, "window=y", "window=x"), &err,
                  "operator window has --rename already");
    check_refused(RC_INVALID, EDIT(&out, &err, "window", "source", "fn-uid"), &err,
                  "no operator would be left");
}
END_TEST

START_TEST(a_rename_is_two_words)
{
    static const char *const bad[] = {"a", "=b", "a=", "=", ""};
    struct flink_rename r;
    struct err err = {0};
    char *text;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_refused(RC_INVALID, flink_rename_parse(bad[i], arena, &r, &err), &err, "OLD=NEW");
    check_refused(RC_INVALID, flink_rename_parse("a=\xff", arena, &r, &err), &err, "no UTF-8");
    ck_assert_ok(flink_rename_parse("a=b=c", arena, &r, &err));
    ck_assert_str_eq(r.operator, "a");
    ck_assert_str_eq(r.uid, "b=c");
    text = arena_alloc(arena, 65539);
    memset(text, 'x', 65538);
    memcpy(text, "a=", 2);
    text[65538] = '\0';
    check_refused(RC_LIMIT, flink_rename_parse(text, arena, &r, &err), &err, "65535 bytes");
    text[65537] = '\0';
    ck_assert_ok(flink_rename_parse(text, arena, &r, &err));
    ck_assert_uint_eq(strlen(r.uid), 65535);
}
END_TEST

TEST_MAIN("flink_edit", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, without_edits_it_is_the_same_tree);
          tcase_add_test(tc, what_is_dropped_is_gone_and_the_rest_is_as_it_was);
          tcase_add_test(tc, a_renamed_operator_has_flinks_id_of_its_new_uid);
          tcase_add_test(tc, an_operator_is_known_by_its_id_in_either_case);
          tcase_add_test(tc, where_no_uids_are_kept_their_hash_is_looked_for_and_the_version_stays);
          tcase_add_test(tc, a_uid_that_looks_like_an_id_goes_before_the_id);
          tcase_add_test(tc, two_uids_can_be_swapped);
          tcase_add_test(tc, a_uid_that_is_taken_is_refused_unless_who_has_it_goes);
          tcase_add_test(tc, an_unknown_operator_is_refused_with_the_nearest_and_all_there_are);
          tcase_add_test(tc, a_message_of_many_operators_is_cut);
          tcase_add_test(tc, an_operator_is_edited_once_and_one_is_left);
          tcase_add_test(tc, a_rename_is_two_words);)
