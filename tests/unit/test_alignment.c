/* test_alignment.c - orders of barriers, ends and aborts over channels, and what an aligner makes
 * of them.
 *
 * A script is a list of words; each gives the answer expected:
 *     "a1"    channel a delivers barrier 1      "a$"   channel a ends      "x1"   attempt 1 is
 * given up elsewhere
 *     "=1"    after it barrier 1 is whole       "!1"   barrier 1 is declined
 *     "#ab"   channels a and b are blocked now (and no other live one)
 * Barriers that may overtake when the clock says 10:
 *     "a?1"   channel a delivers barrier 1 in band     "A1"    barrier 1 is announced on channel a
 *     "T9"    the clock says 9: is an open barrier overdue?
 *     "+ab"   channels a and b have nothing more in front of the barrier that is whole (and no other)
 */
#include "job/runtime/alignment.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

static const struct {
    const char *name;
    uint32_t channels;
    bool exactly_once;
    const char *script;
} orders[] = {
    {"one channel", 1, true, "a1 =1 a2 =2"},
    {"two channels in order", 2, true, "a1 #a b1 =1 # b2 #b a2 =2 #"},
    {"three channels, last one decides", 3, true, "a1 c1 #ac b1 =1 #"},
    {"ended channel counts as aligned", 2, true, "a$ b1 =1"},
    {"end completes an alignment", 2, true, "a1 #a b$ =1 #"},
    {"both ended: nothing", 2, true, "a$ b$"},
    {"newer barrier gives the older up", 2, true, "a1 #a b2 !1 #b a2 =2 #"},
    {"older barrier after a newer one is declined", 2, true, "b2 #b a1 !1 #b a2 =2"},
    {"abort unblocks", 2, true, "a1 #a x1 # b1 # a2 #a b2 =2"},
    {"abort before any barrier", 2, true, "x1 a1 # b1 # a2 b2 =2"},
    {"abort of a newer one leaves the older alone", 2, true, "x2 a1 #a b1 =1 a2 # b2 # a3 b3 =3"},
    {"abort of a newer one while the older is open", 2, true, "a1 #a x2 b1 =1 a2 # b2 # a3 b3 =3"},
    {"more aborted ones than are remembered", 2, true,
     "x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 "
     "a18 # b18 # a1 # b1 # a19 #a b19 =19"},
    {"gaps in ids are usual", 2, true, "a3 b3 =3 a7 b7 =7"},
    {"end after barrier, then next", 3, true, "a1 b1 a$ c1 =1 b2 #b c2 =2"},
    {"end of a blocked channel's peer", 3, true, "a1 b$ #a c1 =1"},
    {"three, two skipped", 3, true, "a1 #a b2 !1 #b c3 !2 #c a3 #ac b3 =3"},
    {"at least once: no block", 2, false, "a1 # b1 =1"},
    {"at least once: two under way", 2, false, "a1 # a2 # b1 =1 b2 =2"},
    {"at least once: skipped one is declined", 2, false, "a1 a2 b2 !1 =2"},
    {"at least once: end", 2, false, "a1 a2 b$ !1 =2"},
    {"at least once: abort", 2, false, "a1 a2 x1 b1 b2 =2"},
    {"a savepoint's block stays when an older at-least-once barrier is whole", 2, false,
     "a1 #  a!2 #a b1 =1 #a b!2 =2 #"},
    {"and when that is given up", 2, false, "a1 # a!2 #a x1 #a b!2 =2 #"},
    {"at least once: late older one", 2, false, "a2 b1 !1 b2 =2"},
    /* An announcement is enough, wherever the others are. */
    {"announced: whole with the first", 3, true, "A1 =1 + # B1 # C1 # a?1 #"},
    {"announced on one, in band on another", 2, true, "A1 =1 + b?1 # A2 =2 +"},
    {"in band on one, announced on another", 3, true, "a?1 #a B1 =1 +a # c?1 #"},
    {"ended channels have nothing in front of it", 3, true, "a$ B1 =1 +a"},
    {"announced by one that has ended here", 2, true, "a$ A1 =1 +a b?1 #"},
    {"announced after all have ended", 1, true, "a$ A1 =1 +a"},
    {"announced, then given up: the next one counts", 2, true, "A1 =1 + x1 B1 # B2 =2 +"},
    {"given up before it was announced", 2, true, "x1 A1 # B1 # A2 =2 +"},
    {"a newer announcement gives an open one up", 3, true, "a?1 #a B2 !1 =2 + #"},
    {"an older announcement is behind a newer one", 2, true, "A2 =2 + B1 # b?1 #"},
    {"a channel was read past it", 2, true, "a!2 #a B1 !1 #a b!2 =2 +ab #"},
    {"a savepoint after it is aligned", 2, true, "A1 =1 + B1 a!2 #a b?1 #a b!2 =2 +ab #"},
    {"a savepoint under way is given up for it", 2, true, "a!2 #a B3 !2 =3 + #"},
    /* The timeout. */
    {"aligned in time", 2, true, "a?1 #a T9 #a b?1 =1 +ab #"},
    {"overdue: whole without the others", 3, true, "a?1 #a c?1 #ac T10 =1 +ac # b?1 #"},
    {"overdue: nothing is open", 2, true, "T10 #"},
    {"overdue: not one that may not", 2, true, "a!1 #a T10 #a b!1 =1 +ab #"},
    {"overdue after an end", 2, true, "a$ T10 # b?1 =1 +ab"},
    {"overdue, given up before", 2, true, "a?1 #a x1 # T10 # b?1 #"},
};

static void check_delivered(const struct alignment *a, uint64_t id, const char *want, const char *name)
{
    for (uint32_t i = 0; i < a->channel_count; i++)
        ck_assert_msg(alignment_delivered(a, i, id) == (strchr(want, (int)('a' + i)) != NULL),
                      "%s: channel %c", name, (int)('a' + i));
}

static void check_blocked(const struct alignment *a, const char *want, const char *name)
{
    for (uint32_t i = 0; i < a->channel_count; i++) {
        bool expect = strchr(want, (int)('a' + i)) != NULL;

        if (!a->channels[i].ended)
            ck_assert_msg(alignment_blocked(a, i) == expect, "%s: channel %c %sblocked", name,
                          (int)('a' + i), expect ? "not " : "");
    }
}

START_TEST(order_gives_the_expected_answers)
{
    struct alignment a;
    struct alignment_result r = {0};
    char script[256], *save = NULL;
    bool complete_seen = true;
    uint32_t aborts_seen = 0;

    snprintf(script, sizeof script, "%s", orders[_i].script);
    alignment_init(&a, orders[_i].channels);
    for (char *w = strtok_r(script, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        bool savepoint = w[1] == '!'; /* exactly once in any mode */
        bool overtakes = w[1] == '?' || (w[0] >= 'A' && w[0] <= 'C');
        uint64_t id = strtoull(w + 1 + (savepoint || w[1] == '?'), NULL, 10);
        struct barrier b = {.checkpoint_id = id,
                            .exactly_once = savepoint || orders[_i].exactly_once,
                            .overtake_mono_ns = overtakes ? 10 : 0};

        if (w[0] == '=') {
            ck_assert_msg(r.complete && r.barrier.checkpoint_id == id, "%s: at %s", orders[_i].name,
                          w);
            complete_seen = true;
        } else if (w[0] == '!') {
            bool found = false;

            for (uint32_t i = 0; i < r.aborted_count; i++)
                found |= r.aborted[i] == id;
            ck_assert_msg(found, "%s: at %s", orders[_i].name, w);
            aborts_seen++;
        } else if (w[0] == '#') {
            check_blocked(&a, w + 1, orders[_i].name);
        } else if (w[0] == '+') {
            check_delivered(&a, r.barrier.checkpoint_id, w + 1, orders[_i].name);
        } else {
            ck_assert_msg(complete_seen || !r.complete,
                          "%s: before %s: unexpected completion of %llu", orders[_i].name, w,
                          (unsigned long long)r.barrier.checkpoint_id);
            ck_assert_msg(aborts_seen == r.aborted_count, "%s: before %s: unexpected abort",
                          orders[_i].name, w);
            r = (struct alignment_result){0};
            complete_seen = false;
            aborts_seen = 0;
            if (w[0] == 'x')
                alignment_abort(&a, id);
            else if (w[0] == 'T')
                r = alignment_overdue(&a, (int64_t)id);
            else if (w[0] >= 'A' && w[0] <= 'C')
                r = alignment_overtake(&a, &b);
            else if (w[1] == '$')
                r = alignment_end(&a, (uint32_t)(w[0] - 'a'));
            else
                r = alignment_barrier(&a, (uint32_t)(w[0] - 'a'), &b);
        }
    }
    ck_assert_msg(complete_seen || !r.complete, "%s: unexpected completion at the end",
                  orders[_i].name);
    alignment_release(&a);
}
END_TEST

/* C6 whatever the order: when barrier n is whole, no channel that lives has been read past it, and
 * each has delivered it. Channels carry barriers 1..20 each, with some left out (an attempt given
 * up before that source saw it). */
START_TEST(no_channel_is_read_past_a_whole_barrier)
{
    enum { CHANNELS = 4, IDS = 20 };
    struct alignment a;
    struct rng r;
    uint32_t at[CHANNELS] = {0}, len[CHANNELS];
    uint64_t seq[CHANNELS][IDS], whole = 0;
    bool ended[CHANNELS] = {false};
    uint32_t left = CHANNELS;

    rng_seed(&r, gen_seed(5) + (uint64_t)_i);
    alignment_init(&a, CHANNELS);
    for (uint32_t c = 0; c < CHANNELS; c++) {
        len[c] = 0;
        for (uint64_t id = 1; id <= IDS; id++) {
            if (!gen_chance(&r, 15))
                seq[c][len[c]++] = id;
        }
    }
    while (left > 0) {
        uint32_t c = (uint32_t)rng_below(&r, CHANNELS);
        struct alignment_result res;

        if (ended[c] || alignment_blocked(&a, c)) {
            bool stuck = true;

            for (uint32_t i = 0; i < CHANNELS; i++)
                stuck &= ended[i] || alignment_blocked(&a, i);
            ck_assert_msg(!stuck, "all live channels are blocked: no progress");
            continue;
        }
        if (at[c] == len[c]) {
            res = alignment_end(&a, c);
            ended[c] = true;
            left--;
        } else {
            res = alignment_barrier(
                &a, c, &(struct barrier){.checkpoint_id = seq[c][at[c]++], .exactly_once = true});
        }
        if (!res.complete)
            continue;
        ck_assert_uint_gt(res.barrier.checkpoint_id, whole);
        whole = res.barrier.checkpoint_id;
        for (uint32_t i = 0; i < CHANNELS; i++) {
            if (!ended[i])
                ck_assert_uint_eq(seq[i][at[i] - 1], whole);
            else
                ck_assert(at[i] == len[i]);
        }
    }
    alignment_release(&a);
}
END_TEST

/* Event time: "a5" watermark 5 of a, "a~" idle, "a*" rows, "a$" end; then "=5" advanced to it, "~"
 * idle told. */
static const struct {
    const char *name;
    uint32_t channels;
    const char *script;
} times[] = {
    {"one channel", 1, "a5 =5 a4 a9 =9"},
    {"least of two", 2, "a5 b3 =3 b9 =5 a7 =7"},
    {"idle one holds nothing back", 2, "a5 b~ =5 a8 =8"},
    {"all idle is told once", 2, "a~ b~ ~ a~"},
    {"rows end idleness", 2, "a~ b~ ~ b* a5 b5 =5 b~ a~ ~"},
    {"back from idleness below: caught up first", 2, "a5 b~ =5 b2 a9 =9 b11 a12 =11"},
    {"ended one holds nothing back", 2, "a5 b$ =5 a6 =6"},
    {"last end tells nothing", 1, "a5 =5 a$"},
    {"nothing before all have spoken", 3, "a5 b5 c1 =1"},
};

START_TEST(event_time_is_the_least_of_those_that_count)
{
    struct event_time t;
    enum event_time_news news = EVENT_TIME_SAME;
    int64_t wm = 0;
    char script[256], *save = NULL;
    bool seen = true;

    snprintf(script, sizeof script, "%s", times[_i].script);
    event_time_init(&t, times[_i].channels);
    for (char *w = strtok_r(script, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        uint32_t c = (uint32_t)(w[0] - 'a');

        if (w[0] == '=') {
            ck_assert_msg(news == EVENT_TIME_ADVANCED && wm == strtoll(w + 1, NULL, 10),
                          "%s: at %s", times[_i].name, w);
            seen = true;
            continue;
        }
        if (w[0] == '~') {
            ck_assert_msg(news == EVENT_TIME_IDLE, "%s: at %s", times[_i].name, w);
            seen = true;
            continue;
        }
        ck_assert_msg(seen || news == EVENT_TIME_SAME, "%s: before %s", times[_i].name, w);
        seen = false;
        news = EVENT_TIME_SAME;
        if (w[1] == '~')
            news = event_time_idle(&t, c, &wm);
        else if (w[1] == '*')
            event_time_active(&t, c);
        else if (w[1] == '$')
            news = event_time_end(&t, c, &wm);
        else
            news = event_time_watermark(&t, c, strtoll(w + 1, NULL, 10), &wm);
    }
    ck_assert_msg(seen || news == EVENT_TIME_SAME, "%s: at the end", times[_i].name);
    event_time_release(&t);
}
END_TEST

TEST_MAIN("alignment",
          tcase_add_loop_test(tc, order_gives_the_expected_answers, 0, ARRAY_LEN(orders));
          tcase_add_loop_test(tc, no_channel_is_read_past_a_whole_barrier, 0, 50);
          tcase_add_loop_test(tc, event_time_is_the_least_of_those_that_count, 0, ARRAY_LEN(times)))
