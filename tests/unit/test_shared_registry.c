/* links: checkpoint */
/* The shared-file registry: every order of reserve, publish, end and delete that could lose or leak
 * a file. */
#include "checkpoint/shared_registry.h"

#include "base/rng.h"
#include "tests/lib/check_ext.h"

#include <signal.h>

static struct shared_registry *reg;
static struct err err;

static void setup(void)
{
    reg = shared_registry_new();
    err = (struct err){0};
}
static void teardown(void)
{
    shared_registry_free(reg);
}

static struct digest128 digest_for(const char *name)
{
    return digest_of(bytes_of_str(name));
}

static enum shared_answer reserve(uint64_t id, const char *name)
{
    enum shared_answer answer;

    ck_assert_ok(
        shared_registry_reserve(reg, id, name, strlen(name), digest_for(name), &answer, &err));
    return answer;
}

/* Reserve and, when asked, publish: a subtask that has the file ready. */
static void hold(uint64_t id, const char *name)
{
    if (reserve(id, name) == SHARED_PUBLISH)
        shared_registry_published(reg, name);
}

static void complete(uint64_t id)
{
    shared_registry_attempt_completed(reg, id);
}

/* Names handed over, joined with ','. */
static const char *condemned(void)
{
    static char out[256];
    const char *names[16];
    size_t count = shared_registry_take_condemned(reg, names, 16);

    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i > 0 ? "," : "", names[i]);
    return out;
}

/* What the cleaner does with one name; returns whether it was deleted. */
static bool clean(const char *name)
{
    if (!shared_registry_begin_delete(reg, name))
        return false;
    shared_registry_finish_delete(reg, name);
    return true;
}

START_TEST(first_reservation_publishes_and_later_ones_find_it_present)
{
    shared_registry_attempt_begin(reg, 1);
    ck_assert_int_eq(reserve(1, "x"), SHARED_PUBLISH);
    ck_assert_int_eq(reserve(1, "x"), SHARED_PUBLISH); /* another subtask, the first is not done */
    shared_registry_published(reg, "x");
    shared_registry_published(reg, "x");
    complete(1);
    shared_registry_attempt_begin(reg, 2);
    ck_assert_int_eq(reserve(2, "x"), SHARED_PRESENT);
    complete(2);
    ck_assert_uint_eq(shared_registry_use_count(reg, "x"), 2);
    shared_registry_checkpoint_dropped(reg, 1);
    ck_assert_str_eq(condemned(), "");
    shared_registry_checkpoint_dropped(reg, 2);
    ck_assert_str_eq(condemned(), "x");
    ck_assert(clean("x"));
    ck_assert_uint_eq(shared_registry_use_count(reg, "x"), 0);
}
END_TEST

/* B01: what an aborted attempt published belongs to nobody and must go. */
START_TEST(files_of_an_aborted_attempt_are_condemned_at_once)
{
    shared_registry_attempt_begin(reg, 1);
    hold(1, "a");
    hold(1, "b");
    complete(1);
    shared_registry_attempt_begin(reg, 2);
    hold(2, "b");
    hold(2, "c");
    shared_registry_attempt_aborted(reg, 2);
    ck_assert_str_eq(condemned(), "c");
    ck_assert_str_eq(condemned(), ""); /* each once */
    ck_assert(clean("c"));
    ck_assert(!clean("b"));
}
END_TEST

/* The interleaving of design section 6: attempt n aborts, the cleaner queues x, n+1 names x, the
 * cleaner comes. Without the reservation the unlink would take a file that a restorable checkpoint
 * names. */
START_TEST(abort_then_reserve_again_then_clean_keeps_the_file)
{
    shared_registry_attempt_begin(reg, 1);
    hold(1, "x");
    shared_registry_attempt_aborted(reg, 1);
    ck_assert_str_eq(condemned(), "x"); /* queued by the cleaner */
    shared_registry_attempt_begin(reg, 2);
    ck_assert_int_eq(reserve(2, "x"), SHARED_PRESENT);
    ck_assert(!shared_registry_begin_delete(reg, "x"));
    complete(2);
    ck_assert(!shared_registry_begin_delete(reg, "x"));
    shared_registry_checkpoint_dropped(reg, 2);
    ck_assert_str_eq(condemned(), "x"); /* handed over anew */
    ck_assert(clean("x"));
}
END_TEST

START_TEST(reservation_that_meets_a_deletion_waits_and_then_publishes_anew)
{
    shared_registry_attempt_begin(reg, 1);
    hold(1, "x");
    shared_registry_attempt_aborted(reg, 1);
    ck_assert(shared_registry_begin_delete(reg, "x"));
    shared_registry_attempt_begin(reg, 2);
    ck_assert_int_eq(reserve(2, "x"), SHARED_WAIT);
    ck_assert_uint_eq(shared_registry_use_count(reg, "x"), 0);
    shared_registry_finish_delete(reg, "x");
    ck_assert_int_eq(reserve(2, "x"), SHARED_PUBLISH);
    shared_registry_published(reg, "x");
    complete(2);
    ck_assert_str_eq(condemned(), "");
}
END_TEST

/* After a failed unlink nobody knows whether the name is still there: it must be checked, not
 * believed. */
START_TEST(failed_deletion_leaves_the_name_unproven_and_is_tried_again)
{
    shared_registry_attempt_begin(reg, 1);
    hold(1, "x");
    shared_registry_attempt_aborted(reg, 1);
    ck_assert_str_eq(condemned(), "x");
    ck_assert(shared_registry_begin_delete(reg, "x"));
    shared_registry_cancel_delete(reg, "x");
    ck_assert_str_eq(condemned(), "");
    ck_assert_uint_eq(shared_registry_retry(reg), 1);
    ck_assert_uint_eq(shared_registry_retry(reg), 0);
    ck_assert_str_eq(condemned(), "x");
    shared_registry_attempt_begin(reg, 2);
    ck_assert_int_eq(reserve(2, "x"), SHARED_PUBLISH);
    shared_registry_published(reg, "x");
    shared_registry_attempt_completed(reg, 2);
    shared_registry_attempt_begin(reg, 3); /* a server that was slow may have deleted it since */
    ck_assert_int_eq(reserve(3, "x"), SHARED_PUBLISH);
    shared_registry_published(reg, "x");
    shared_registry_attempt_aborted(reg, 3);
    shared_registry_checkpoint_dropped(reg, 2);
    ck_assert_str_eq(condemned(), "x");
    ck_assert(clean("x"));
    shared_registry_attempt_begin(reg, 4);
    hold(4, "x");
    ck_assert_int_eq(reserve(4, "x"), SHARED_PRESENT); /* made anew: that deletion was answered */
    shared_registry_attempt_aborted(reg, 4);
}
END_TEST

/* A straggler publishes after its attempt was aborted: the file would otherwise stay for ever
 * (B01). */
START_TEST(publication_that_ends_after_the_abort_is_condemned_then)
{
    shared_registry_attempt_begin(reg, 1);
    ck_assert_int_eq(reserve(1, "x"), SHARED_PUBLISH);
    shared_registry_attempt_aborted(reg, 1);
    ck_assert_str_eq(condemned(), "");
    ck_assert(!shared_registry_begin_delete(reg, "x")); /* the link may come any moment */
    shared_registry_published(reg, "x");
    ck_assert_str_eq(condemned(), "x");
    ck_assert(clean("x"));

    shared_registry_attempt_begin(reg, 2);
    ck_assert_int_eq(reserve(2, "y"), SHARED_PUBLISH);
    shared_registry_attempt_aborted(reg, 2);
    shared_registry_publish_failed(reg, "y");
    ck_assert_str_eq(condemned(), "y"); /* a part of it may be there */
}
END_TEST

START_TEST(straggler_of_an_ended_attempt_is_turned_away)
{
    enum shared_answer answer;

    shared_registry_attempt_begin(reg, 1);
    ck_assert(shared_registry_attempt_runs(reg, 1));
    shared_registry_attempt_aborted(reg, 1);
    shared_registry_attempt_aborted(reg, 1); /* twice is nothing */
    ck_assert(!shared_registry_attempt_runs(reg, 1));
    ck_assert_rc_msg(shared_registry_reserve(reg, 1, "x", 1, digest_for("x"), &answer, &err),
                     RC_CANCELLED, "checkpoint 1 has ended");
    ck_assert_rc_msg(shared_registry_reserve(reg, 9, "x", 1, digest_for("x"), &answer, &err),
                     RC_CANCELLED, "checkpoint 9");
}
END_TEST

START_TEST(one_name_with_another_length_or_digest_is_corrupt)
{
    enum shared_answer answer;

    shared_registry_attempt_begin(reg, 1);
    hold(1, "x");
    ck_assert_rc_msg(shared_registry_reserve(reg, 1, "x", 2, digest_for("x"), &answer, &err),
                     RC_CORRUPT, "2 bytes, 1 at an earlier use");
    ck_assert_rc_msg(shared_registry_reserve(reg, 1, "x", 1, digest_for("y"), &answer, &err),
                     RC_CORRUPT, "digest");
    ck_assert_rc_msg(shared_registry_restore(reg, 7, "x", 3, digest_for("x"), true, &err),
                     RC_CORRUPT, "3 bytes");
    ck_assert_uint_eq(shared_registry_use_count(reg, "x"), 1);
    ck_assert_rc_msg(shared_registry_reserve(reg, 1, "a/b", 1, digest_for("x"), &answer, &err),
                     RC_LIMIT, "no '/'");
    ck_assert_rc_msg(shared_registry_reserve(reg, 1, "", 1, digest_for("x"), &answer, &err),
                     RC_LIMIT, "1 to");
}
END_TEST

/* EEXIST is success only for what this process has proven. */
START_TEST(restored_file_is_a_use_but_is_published_again_unless_proven)
{
    ck_assert_ok(shared_registry_restore(reg, 5, "x", 1, digest_for("x"), false, &err));
    ck_assert_ok(shared_registry_restore(reg, 5, "y", 1, digest_for("y"), true, &err));
    ck_assert_ok(shared_registry_restore(reg, 6, "x", 1, digest_for("x"), false, &err));
    shared_registry_attempt_begin(reg, 7);
    ck_assert_int_eq(reserve(7, "x"), SHARED_PUBLISH);
    ck_assert_int_eq(reserve(7, "y"), SHARED_PRESENT);
    shared_registry_publish_failed(reg, "x");
    shared_registry_attempt_aborted(reg, 7);
    ck_assert_str_eq(condemned(), "");
    shared_registry_checkpoint_dropped(reg, 5);
    ck_assert_str_eq(condemned(), "y");
    shared_registry_checkpoint_dropped(reg, 6);
    ck_assert_str_eq(condemned(), "x");
    shared_registry_checkpoint_dropped(reg, 6); /* unknown by now */
    ck_assert(shared_registry_begin_delete(reg, "x"));
    ck_assert_rc_msg(shared_registry_restore(reg, 8, "x", 1, digest_for("x"), true, &err), RC_STATE,
                     "being deleted");
}
END_TEST

START_TEST(stats_add_up)
{
    struct shared_registry_stats s;

    shared_registry_attempt_begin(reg, 1);
    hold(1, "aaaa");
    hold(1, "bb");
    complete(1);
    shared_registry_attempt_begin(reg, 2);
    reserve(2, "ccc");
    hold(2, "bb");
    shared_registry_checkpoint_dropped(reg, 1);
    shared_registry_stats(reg, &s);
    ck_assert_uint_eq(s.names, 3);
    ck_assert_uint_eq(s.reserved, 1);
    ck_assert_uint_eq(s.present, 1);
    ck_assert_uint_eq(s.condemned, 1);
    ck_assert_uint_eq(s.used_bytes, 5);
    ck_assert_uint_eq(s.condemned_bytes, 4);
    ck_assert_uint_eq(s.attempts, 1);
    ck_assert_uint_eq(s.checkpoints, 0);
}
END_TEST

/* Random lives of 6 attempts over 12 names against a plain model: on "disk" there is never a used
 * name missing, and when all has ended and been cleaned, nothing is left. */
#define NAMES 12
struct model {
    bool on_disk[NAMES];
    bool used[8][NAMES]; /* by slot */
    uint64_t ids[8];
    int state[8]; /* 0 none, 1 running, 2 completed */
    int publishing[NAMES];
};
static void name_of(int i, char out[16])
{
    snprintf(out, 16, "n%02d", i);
}

static void model_clean(struct model *m)
{
    const char *names[NAMES];
    size_t count = shared_registry_take_condemned(reg, names, NAMES);

    for (size_t i = 0; i < count; i++) {
        long n = strtol(names[i] + 1, NULL, 10);

        if (shared_registry_begin_delete(reg, names[i])) {
            m->on_disk[n] = false;
            shared_registry_finish_delete(reg, names[i]);
        }
    }
}

static void model_check(const struct model *m)
{
    for (int s = 0; s < 8; s++)
        for (int n = 0; n < NAMES; n++)
            if (m->state[s] == 2 && m->used[s][n])
                ck_assert_msg(m->on_disk[n], "name %d of completed %llu is gone", n,
                              (unsigned long long)m->ids[s]);
}

static void model_end(struct model *m, int s, bool completed)
{
    if (completed) {
        complete(m->ids[s]);
        m->state[s] = 2;
    } else {
        shared_registry_attempt_aborted(reg, m->ids[s]);
        m->state[s] = 0;
    }
}

START_TEST(random_lives_never_lose_a_used_file_and_never_leak_one)
{
    struct model m = {0};
    struct rng rng;
    uint64_t next_id = 1;

    rng_seed(&rng, (uint64_t)_i + 1);
    for (int step = 0; step < 3000; step++) {
        int s = (int)rng_below(&rng, 8), n = (int)rng_below(&rng, NAMES);
        char name[16];

        name_of(n, name);
        switch (rng_below(&rng, 8)) {
        case 0:
            if (m.state[s] == 0) {
                m.ids[s] = next_id++;
                m.state[s] = 1;
                memset(m.used[s], 0, sizeof m.used[s]);
                shared_registry_attempt_begin(reg, m.ids[s]);
            }
            break;
        case 1:
        case 2:
        case 3:
            if (m.state[s] == 1) {
                enum shared_answer answer = reserve(m.ids[s], name);

                ck_assert_int_ne(answer, SHARED_WAIT);
                m.used[s][n] = true;
                if (answer == SHARED_PRESENT)
                    ck_assert_msg(m.on_disk[n], "%s said to be present", name);
                else
                    m.publishing[n]++;
            }
            break;
        case 4:
        case 5: /* a publication ends, well or not */
            if (m.publishing[n] > 0) {
                m.publishing[n]--;
                if (rng_below(&rng, 4) > 0) {
                    m.on_disk[n] = true;
                    shared_registry_published(reg, name);
                } else {
                    m.on_disk[n] = m.on_disk[n] || rng_below(&rng, 2) == 0;
                    shared_registry_publish_failed(reg, name);
                }
            }
            break;
        case 6: /* an attempt ends: completes only when all it uses is there and nothing is under
                   way */
            if (m.state[s] == 1) {
                bool whole = true;

                for (int i = 0; i < NAMES; i++)
                    whole = whole && (!m.used[s][i] || (m.on_disk[i] && m.publishing[i] == 0));
                model_end(&m, s, whole && rng_below(&rng, 3) > 0);
            } else if (m.state[s] == 2) {
                shared_registry_checkpoint_dropped(reg, m.ids[s]);
                m.state[s] = 0;
            }
            break;
        default:
            model_clean(&m);
        }
        model_check(&m);
    }
    for (int s = 0; s < 8; s++) {
        if (m.state[s] == 1)
            model_end(&m, s, false);
        else if (m.state[s] == 2)
            shared_registry_checkpoint_dropped(reg, m.ids[s]);
        m.state[s] = 0;
    }
    for (int n = 0; n < NAMES; n++)
        for (; m.publishing[n] > 0; m.publishing[n]--) {
            char name[16];

            name_of(n, name);
            m.on_disk[n] = true;
            shared_registry_published(reg, name);
        }
    model_clean(&m);
    for (int n = 0; n < NAMES; n++)
        ck_assert_msg(!m.on_disk[n], "name %d leaked", n);
}
END_TEST

START_TEST(thousands_of_names_are_found_again)
{
    char name[32];

    shared_registry_attempt_begin(reg, 1);
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "%d.sst", i);
        hold(1, name);
    }
    complete(1);
    shared_registry_attempt_begin(reg, 2);
    for (int i = 0; i < 20000; i += 2) {
        snprintf(name, sizeof name, "%d.sst", i);
        ck_assert_int_eq(reserve(2, name), SHARED_PRESENT);
    }
    complete(2);
    shared_registry_checkpoint_dropped(reg, 1);
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "%d.sst", i);
        ck_assert(clean(name) == (i % 2 == 1));
    }
}
END_TEST

START_TEST(two_attempts_of_one_id_break_a_promise)
{
    shared_registry_attempt_begin(reg, 1);
    shared_registry_attempt_begin(reg, 1);
}
END_TEST

TEST_MAIN("shared_registry", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, first_reservation_publishes_and_later_ones_find_it_present);
    tcase_add_test(tc, files_of_an_aborted_attempt_are_condemned_at_once);
    tcase_add_test(tc, abort_then_reserve_again_then_clean_keeps_the_file);
    tcase_add_test(tc, reservation_that_meets_a_deletion_waits_and_then_publishes_anew);
    tcase_add_test(tc, failed_deletion_leaves_the_name_unproven_and_is_tried_again);
    tcase_add_test(tc, publication_that_ends_after_the_abort_is_condemned_then);
    tcase_add_test(tc, straggler_of_an_ended_attempt_is_turned_away);
    tcase_add_test(tc, one_name_with_another_length_or_digest_is_corrupt);
    tcase_add_test(tc, restored_file_is_a_use_but_is_published_again_unless_proven);
    tcase_add_test(tc, stats_add_up);
    tcase_add_loop_test(tc, random_lives_never_lose_a_used_file_and_never_leak_one, 0, 20);
    tcase_add_test(tc, thousands_of_names_are_found_again);
    tcase_add_test_raise_signal(tc, two_attempts_of_one_id_break_a_promise, SIGABRT);
})
