/* links: base */
/* remote_lease: who holds one keeps it, who is gone loses it, and nobody takes another's for his own. */
#include "base/remote_lease.h"

#include "base/thread.h"
#include "tests/lib/check_ext.h"

#define PATH "hdfs://h:1/j/LOCK"

/* One object of a server with a clock of its own. */
static struct {
    struct mutex mutex;
    struct buf text;
    bool there, loses_answer, refuses;
    uint64_t version, writes;
    int64_t now_ms, modified_ms;
} object;
static struct lease_keeper *ours, *theirs;
static struct lease *lease, *other;
static struct err err;

static enum rc object_read(void *ctx UNUSED, const char *path, struct buf *text,
                           char version[LEASE_VERSION_MAX], int64_t *age_ms, struct err *e)
{
    enum rc rc = RC_OK;

    mutex_lock(&object.mutex);
    if (object.there) {
        buf_append(text, object.text.data, object.text.len);
        snprintf(version, LEASE_VERSION_MAX, "%llu", (unsigned long long)object.version);
        *age_ms = object.now_ms - object.modified_ms;
    } else {
        rc = err_set(e, RC_NOT_FOUND, "%s", path);
    }
    mutex_unlock(&object.mutex);
    return rc;
}

static enum rc object_write(void *ctx UNUSED, const char *path, struct bytes text,
                            char version[LEASE_VERSION_MAX], struct err *e)
{
    char found[LEASE_VERSION_MAX] = "";
    enum rc rc = RC_OK;

    mutex_lock(&object.mutex);
    if (object.there)
        snprintf(found, sizeof found, "%llu", (unsigned long long)object.version);
    if (object.refuses) {
        rc = err_set(e, RC_IO, "%s: refused", path);
    } else if (strcmp(found, version) != 0) {
        rc = err_set(e, RC_EXISTS, "%s", path);
    } else {
        buf_clear(&object.text);
        buf_append(&object.text, text.data, text.len);
        object.there = true;
        object.version++;
        object.writes++;
        object.modified_ms = object.now_ms;
        if (object.loses_answer)
            rc = err_set(e, RC_EXISTS, "%s: at the second try", path);
        else
            snprintf(version, LEASE_VERSION_MAX, "%llu", (unsigned long long)object.version);
        object.loses_answer = false;
    }
    mutex_unlock(&object.mutex);
    return rc;
}

static const struct lease_store_ops ops = {object_read, object_write};

static struct lease_keeper *keeper(int64_t ttl_ms, uint64_t seed)
{
    return lease_keeper_new(
        &ops, NULL,
        &(struct lease_config){.clock = clock_posix(), .ttl_ms = ttl_ms, .seed = seed});
}

static void setup(void)
{
    memset(&object, 0, sizeof object);
    mutex_init(&object.mutex);
    object.now_ms = 1000000;
    err = (struct err){0};
    ours = keeper(60000, 1);
    theirs = keeper(60000, 2);
    lease = other = NULL;
}

static void teardown(void)
{
    lease_release(lease);
    lease_release(other);
    lease_keeper_free(ours);
    lease_keeper_free(theirs);
    buf_release(&object.text);
}

static bool is_held(void)
{
    bool held;

    ck_assert_ok(lease_probe(theirs, PATH, &held, &err));
    return held;
}

START_TEST(what_is_held_is_not_given_and_what_is_given_back_is)
{
    ck_assert(!is_held());
    ck_assert_ok(lease_take(ours, PATH, &lease, &err));
    ck_assert(is_held());
    ck_assert_rc_msg(lease_take(theirs, PATH, &other, &err), RC_STATE, PATH);
    lease_release(lease);
    lease = NULL;
    ck_assert(!is_held());
    object.now_ms -= 999; /* a date has whole seconds: the age is below zero */
    ck_assert(!is_held());
    ck_assert_ok(lease_take(theirs, PATH, &other, &err));
    ck_assert(is_held());
}
END_TEST

/* By the server's clock, whatever ours says. */
START_TEST(who_is_silent_for_too_long_has_lost_it)
{
    ck_assert_ok(lease_take(ours, PATH, &lease, &err));
    object.now_ms += 59999;
    ck_assert_rc(lease_take(theirs, PATH, &other, &err), RC_STATE);
    object.now_ms += 1;
    ck_assert_ok(lease_take(theirs, PATH, &other, &err));
    ck_assert_rc_msg(lease_say(lease, bytes_of_str("mine\n"), &err), RC_STATE, "somebody else");
}
END_TEST

/* No look at the server tells it: only a write that the server refuses, or who asks to be certain. */
START_TEST(a_loss_is_known_once_it_was_seen_and_stays_known)
{
    struct lease_keeper *quick = keeper(1, 3); /* older than two thirds at once */

    ck_assert_ok(lease_take(quick, PATH, &lease, &err));
    mutex_lock(&object.mutex); /* taken and said in one: the keeper may look at any moment */
    buf_clear(&object.text);
    lease_format(&object.text, bytes_of_str("pid 7, job b, since noon\n/j\n"), 77, 60000, "");
    object.version++;
    mutex_unlock(&object.mutex);
    clock_sleep_ns(clock_posix(), 2 * NS_PER_MS);
    ck_assert_rc_msg(lease_check(lease, true, &err), RC_STATE,
                     "lock " PATH " was lost: somebody else took it (pid 7, job b, since noon)");
    ck_assert_rc_msg(lease_check(lease, false, &err), RC_STATE, "pid 7");
    ck_assert_rc_msg(lease_say(lease, bytes_of_str("mine\n"), &err), RC_STATE, "pid 7");
    lease_release(lease); /* writes nothing */
    lease = NULL;
    ck_assert(bytes_start_with(buf_bytes(&object.text), bytes_of_str("pid 7, job b")));
    lease_keeper_free(quick);
}
END_TEST

START_TEST(a_lock_that_somebody_deleted_is_lost)
{
    ck_assert_ok(lease_take(ours, PATH, &lease, &err));
    object.there = false;
    ck_assert_rc_msg(lease_say(lease, bytes_of_str("x\n"), &err), RC_STATE, "somebody deleted it");
}
END_TEST

/* What is fresh is believed without a request; what is not is written anew, or nobody knows. */
START_TEST(to_be_certain_costs_a_write_only_where_the_last_one_is_old)
{
    struct lease_keeper *quick = keeper(1, 3);
    struct lease *held;
    uint64_t writes;

    ck_assert_ok(lease_take(ours, PATH, &lease, &err)); /* a minute */
    writes = object.writes;
    ck_assert_ok(lease_check(lease, true, &err));
    ck_assert_uint_eq(object.writes, writes);
    lease_release(lease);
    lease = NULL;
    ck_assert_ok(lease_take(quick, PATH, &held, &err));
    mutex_lock(&object.mutex);
    object.refuses = true;
    mutex_unlock(&object.mutex);
    clock_sleep_ns(clock_posix(), 2 * NS_PER_MS);
    ck_assert_rc_msg(lease_check(held, true, &err), RC_IO, "refused");
    ck_assert_ok(lease_check(held, false, &err)); /* it is not known to be lost */
    mutex_lock(&object.mutex);
    object.refuses = false;
    mutex_unlock(&object.mutex);
    ck_assert_ok(lease_check(held, true, &err));
    lease_release(held);
    lease_keeper_free(quick);
}
END_TEST

START_TEST(it_is_written_anew_while_it_is_held)
{
    struct lease_keeper *quick = keeper(90, 3);
    struct lease *held;
    uint64_t writes = 0;

    ck_assert_ok(lease_take(quick, PATH, &held, &err));
    ck_assert_ok(lease_say(held, bytes_of_str("who\n/dir\n"), &err));
    for (int i = 0; i < 500 && writes < 6; i++) {
        clock_sleep_ns(clock_posix(), 10 * NS_PER_MS);
        mutex_lock(&object.mutex);
        writes = object.writes;
        mutex_unlock(&object.mutex);
    }
    ck_assert_uint_ge(writes, 6);
    lease_release(held);
    writes = object.writes;
    clock_sleep_ns(clock_posix(), 100 * NS_PER_MS);
    ck_assert_uint_eq(object.writes, writes); /* and not afterwards */
    ck_assert(!is_held());
    ck_assert(bytes_start_with(buf_bytes(&object.text), bytes_of_str("who lease=")));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&object.text), " ttl_ms=0 by="));
    ck_assert(bytes_end_with(buf_bytes(&object.text), bytes_of_str("\n/dir\n")));
    lease_keeper_free(quick);
}
END_TEST

/* A driver that tried again finds its own first try. */
START_TEST(a_lost_answer_is_not_taken_for_another_holder)
{
    object.loses_answer = true;
    ck_assert_ok(lease_take(ours, PATH, &lease, &err));
    ck_assert_ok(lease_say(lease, bytes_of_str("x\n"), &err));
    ck_assert_rc(lease_take(theirs, PATH, &other, &err), RC_STATE);
}
END_TEST

/* What a lost answer left there is an older text: what is to be written now is written. */
START_TEST(a_stale_version_is_no_excuse_for_not_writing)
{
    ck_assert_ok(lease_take(ours, PATH, &lease, &err));
    mutex_lock(&object.mutex);
    object.version++; /* an earlier write of ours, whose answer never came */
    mutex_unlock(&object.mutex);
    ck_assert_ok(lease_say(lease, bytes_of_str("x\n"), &err));
    ck_assert(bytes_start_with(buf_bytes(&object.text), bytes_of_str("x lease=")));
    object.loses_answer = true;
    ck_assert_ok(lease_say(lease, bytes_of_str("y\n"), &err));
    ck_assert(bytes_start_with(buf_bytes(&object.text), bytes_of_str("y lease=")));
    object.version++;
    lease_release(lease);
    lease = NULL;
    ck_assert(!is_held());
}
END_TEST

START_TEST(a_server_that_refuses_is_no_holder)
{
    object.refuses = true;
    ck_assert_rc_msg(lease_take(ours, PATH, &lease, &err), RC_IO, "refused");
}
END_TEST

static const struct {
    const char *text;
    bool is_lease;
    uint64_t id;
    int64_t ttl_ms;
    const char *by;
} texts[] = {
    {" lease=00000000000000ff ttl_ms=5 by=\n", true, 255, 5, ""},
    {"pid 1, job a lease=0000000000000001 ttl_ms=0 by=x-1-2\n/dir\n", true, 1, 0, "x-1-2"},
    {"a lease=x lease=0000000000000001 ttl_ms=7 by=y\n", true, 1, 7, "y"},
    {"a lease=0000000000000001 ttl_ms=99999999999999999999 by=\n", true, 1, 86400000, ""},
    {"", false, 0, 0, ""},
    {"\n lease=0000000000000001 ttl_ms=7 by=\n", false, 0, 0, ""},
    {"a lease=0000000000000001 ttl_ms=7 by=", false, 0, 0, ""}, /* cut */
    {"a lease=000000000000001 ttl_ms=7 by=\n", false, 0, 0, ""},
    {"a lease=0000000000000001 ttl_ms= by=\n", false, 0, 0, ""},
    {"a lease=0000000000000001 ttl_ms=7\n", false, 0, 0, ""},
    {"a lease=0000000000000001 ttl_ms=7x by=\n", false, 0, 0, ""},
    {"a lease=0000000000000001 ttl_ms=-7 by=\n", false, 0, 0, ""},
    {"a lease=0000000000000001 ttl_ms=7 by=0123456789012345678901234567890123456789012345678901234567890123\n",
     false, 0, 0, ""},
    {"pid 12 on h\n/dir\n", false, 0, 0, ""},
};

START_TEST(a_text_is_a_lease_or_not)
{
    char by[PROCESS_MARK_MAX];
    int64_t ttl_ms = 0;
    uint64_t id = 0;

    ck_assert(lease_parse(bytes_of_str(texts[_i].text), &id, &ttl_ms, by) == texts[_i].is_lease);
    if (!texts[_i].is_lease)
        return;
    ck_assert_uint_eq(id, texts[_i].id);
    ck_assert_int_eq(ttl_ms, texts[_i].ttl_ms);
    ck_assert_str_eq(by, texts[_i].by);
}
END_TEST

/* Who is restarted after a kill -9 does not wait for the time-to-live. */
START_TEST(a_dead_process_of_this_machine_holds_nothing)
{
    char mark[PROCESS_MARK_MAX], *last = mark;

    process_mark(mark);
    ck_assert_msg(mark[0] != '\0', "/proc does not tell");
    object.there = true;
    object.modified_ms = object.now_ms;
    lease_format(&object.text, bytes_of_str("who"), 1, 60000, mark);
    ck_assert(is_held());
    buf_clear(&object.text);
    last += strlen(mark) - 1;
    *last = *last == '0' ? '1' : (char)(*last - 1); /* one that had this process's id before */
    lease_format(&object.text, bytes_of_str("who"), 1, 60000, mark);
    ck_assert(!is_held());
    ck_assert_ok(lease_take(ours, PATH, &lease, &err));
    ck_assert(is_held());
}
END_TEST

TEST_MAIN("remote_lease", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_held_is_not_given_and_what_is_given_back_is);
    tcase_add_test(tc, who_is_silent_for_too_long_has_lost_it);
    tcase_add_test(tc, a_loss_is_known_once_it_was_seen_and_stays_known);
    tcase_add_test(tc, a_lock_that_somebody_deleted_is_lost);
    tcase_add_test(tc, to_be_certain_costs_a_write_only_where_the_last_one_is_old);
    tcase_add_test(tc, it_is_written_anew_while_it_is_held);
    tcase_add_test(tc, a_lost_answer_is_not_taken_for_another_holder);
    tcase_add_test(tc, a_dead_process_of_this_machine_holds_nothing);
    tcase_add_test(tc, a_stale_version_is_no_excuse_for_not_writing);
    tcase_add_test(tc, a_server_that_refuses_is_no_holder);
    tcase_add_loop_test(tc, a_text_is_a_lease_or_not, 0, (int)ARRAY_LEN(texts));
})
