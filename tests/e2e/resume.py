#!/usr/bin/env python3
"""resume.py - `varve run --resume` goes on from the right run, or from none: after ends, edits, mistakes, and with several INSERTs. Each
row of a sequence is shown once."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import Job, at_some_pace, check, files_table, job_directories, lines_of, main, newest, same, sequence, settings, test, varve, write

ROWS = 30000
EVEN, ODD = "INSERT INTO o SELECT id FROM seq WHERE MOD(id, 2) = 0;\n", "INSERT INTO o SELECT id FROM seq WHERE MOD(id, 2) = 1;\n"
ALL = "INSERT INTO o SELECT id FROM seq;\n"


def script(where, inserts=ALL, seconds=0.001, interval="60 ms", rows=ROWS, **more):
    """Without pipeline.name: jobs have the names of their tables."""
    lines = settings(where, interval=interval, mode="streaming", **more).splitlines(True)
    return ("".join(l for l in lines if "pipeline.name" not in l) + sequence("seq", rows, int(rows / seconds)) +
            files_table("o", "id BIGINT", where + "/out") + inserts)


def at_pace(where, story):
    def from_nothing(pace):
        for name in ("ck", "out", "sp"):
            shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)
        return story(pace)

    return at_some_pace(from_nothing)


def rows_are(where, rows=ROWS):
    ids = sorted(map(int, lines_of(where + "/out")))
    check(ids == list(range(1, rows + 1)), "%d rows, %d distinct, instead of %d" % (len(ids), len(set(ids)), rows))


def resume(where, sql, *args):
    return varve("run", "--resume", *args, "-e", sql)


def has_finished(where, sql, times=1):
    code, _, err = resume(where, sql)
    check(code == 0 and err.count("has finished") == times, "a finished job was not recognized", code, err)


def refused(where, sql, *words):
    code, _, err = resume(where, sql)
    check(code == 1 and all(w in err for w in words), "not refused with %s" % (words,), code, err)


def killed(where, sql, args=(), checkpoints=2):
    job = Job(where, sql, args)
    job.wait_checkpoints(checkpoints)
    job.kill()


def cancelled_early(where, sql, args=()):
    """Before its first checkpoint."""
    job = Job(where, sql, args)
    job.wait_rows(1)
    job.cancel()


@test()
def a_finished_run_is_not_resumed_from_the_run_before_it(where):
    def story(pace):
        killed(where, script(where, seconds=3 * pace))

    at_pace(where, story)
    same(resume(where, script(where, seconds=2))[0], 0, "exit code of the resume")
    rows_are(where)
    # The killed run's statement had another pace; the very one that finished:
    has_finished(where, script(where, seconds=2))
    code, _, err = varve("run", "-s", where + "/ck", "-e", script(where, seconds=2))
    check(code == 1 and "an older checkpoint would repeat results" in err, "-s of the root", code, err)
    rows_are(where)


@test()
def twelve_inserts_into_one_table_are_twelve_jobs(where):
    sql = script(where, "".join("INSERT INTO o VALUES (%d);\n" % i for i in range(1, 13)))
    same(resume(where, sql)[0], 0, "exit code")
    rows_are(where, 12)
    has_finished(where, sql, 12)
    rows_are(where, 12)


@test()
def an_insert_that_is_added_does_not_go_on_from_another_ones_checkpoint(where):
    def story(pace):
        killed(where, script(where, EVEN, 3 * pace))
        same(resume(where, script(where, EVEN + ODD, 3 * pace))[0], 0, "exit code")

    at_pace(where, story)
    rows_are(where)


@test()
def of_two_inserts_one_after_the_other_the_second_runs_after_a_kill_in_the_first(where):
    def story(pace):
        sql = script(where, EVEN + ODD, 2 * pace, **{"table.dml-sync": "true"})
        killed(where, sql)
        same(resume(where, sql)[0], 0, "exit code")
        has_finished(where, sql, 2)

    at_pace(where, story)
    rows_are(where)


@test()
def a_mistaken_start_without_resume_loses_nothing(where):
    def story(pace):
        sql = script(where, seconds=3 * pace)
        killed(where, sql)
        cancelled_early(where, script(where, seconds=3 * pace, interval="1 h"))
        return sql

    sql = at_pace(where, story)
    same(resume(where, sql)[0], 0, "exit code")
    rows_are(where)
    has_finished(where, sql)


@test()
def a_run_started_anew_after_the_end_is_begun_again(where):
    sql = script(where, seconds=1)
    Job(where, sql).finish()
    rows_are(where)
    cancelled_early(where, sql.replace("60 ms", "1 h"))
    same(resume(where, sql.replace("60 ms", "70 ms"))[0], 0, "exit code")
    same(len(lines_of(where + "/out")), 2 * ROWS, "rows of two whole runs")


@test()
def a_stop_an_edit_kills_and_the_end_show_each_row_once(where):
    def story(pace):
        first, edited = script(where, seconds=4 * pace), script(where, seconds=4.5 * pace)
        job = Job(where, first)
        job.wait_checkpoints(2)
        job.stop(where + "/sp")
        killed(where, edited, ["--resume"])
        killed(where, edited, ["--resume"])
        same(resume(where, edited)[0], 0, "exit code")
        return first, edited

    first, edited = at_pace(where, story)
    rows_are(where)
    has_finished(where, edited)
    refused(where, first, "ENDED", "would repeat results")
    rows_are(where)


@test()
def an_end_that_cannot_be_read_is_no_way_back(where):
    def story(pace):
        killed(where, script(where, seconds=3 * pace))

    at_pace(where, story)
    sql = script(where, seconds=1)
    same(resume(where, sql)[0], 0, "exit code")
    notes = [d + "/ENDED" for d in job_directories(where) if os.path.exists(d + "/ENDED")]
    same(len(notes), 1, "notes of an end")
    write(notes[0], "what?")
    refused(where, sql, notes[0] + ": not the lines that say how a job ended")
    rows_are(where)


@test()
def a_second_run_of_a_running_job_needs_a_checkpoint_by_name(where):
    """json: parts stay open over checkpoints, and both go on with the killed run's."""
    def story(pace):
        killed(where, script(where, seconds=4 * pace).replace("'csv'", "'json'"))
        slow = script(where, seconds=4 * pace, interval="1 h").replace("'csv'", "'json'")
        first = Job(where, slow, ["--resume"])
        first.wait_rows(100)
        refused(where, slow, "is running there")
        first.must_run("the second")
        cancelled_early(where, slow, ["-s", newest(where)])
        same(first.wait(), 0, "exit code of the first; " + first.said())

    at_pace(where, story)
    ids = sorted(int(l.split(b":")[1].rstrip(b"}")) for l in lines_of(where + "/out"))
    check(ids == list(range(1, ROWS + 1)), "%d rows, %d distinct" % (len(ids), len(set(ids))))


@test()
def another_job_of_that_name_that_runs_is_not_gone_on_from(where):
    def story(pace):
        first = Job(where, script(where, EVEN, 3 * pace), ["--resume"])
        first.wait_checkpoints(1)
        code, _, err = resume(where, script(where, ODD))
        check(code == 0 and "started from nothing" in err, "the second job", code, err)
        same(first.wait(), 0, "exit code of the first; " + first.said())

    at_pace(where, story)
    rows_are(where)


@test()
def changed_statements_that_were_killed_at_once_do_not_begin_from_nothing(where):
    def story(pace):
        sql = script(where, seconds=3 * pace)
        killed(where, sql)
        return sql

    sql = at_pace(where, story)
    edited = sql.replace("INSERT", "INSERT /* edited */")
    for _ in range(2):
        job = Job(where, edited.replace("= '60 ms'", "= '1 h'"), ["--resume"])
        job.wait_rows(1)
        job.kill()
        check("its statements differ" in job.err, "it did not go on from the other's", job.said())
    code, _, err = resume(where, edited)
    check(code == 0 and "its statements differ" in err, "what it was resumed from", code, err)
    rows_are(where)


@test()
def a_start_says_from_what(where):
    def story(pace):
        sql = script(where, seconds=3 * pace)
        job = Job(where, sql)
        job.wait_checkpoints(1)
        job.stop(where + "/sp", drain=True)
        return sql

    sql = at_pace(where, story)
    code, _, err = resume(where, sql.replace("INSERT", "INSERT /* edited */"))
    check(code == 0 and "started from %s/sp/savepoint-" % where in err and "its statements differ" in err and "stopped with --drain" in err,
          "what a start says", code, err)


@test()
def a_savepoint_in_the_root_of_a_finished_job_is_no_way_back(where):
    def story(pace):
        sql = script(where, seconds=3 * pace)
        job = Job(where, sql)
        job.wait_checkpoints(1)
        job.savepoint(where + "/ck")
        job.finish()
        return sql

    sql = at_pace(where, story)
    code, _, err = varve("run", "-s", where + "/ck", "-e", sql)
    check(code == 1 and "would repeat results" in err, "-s of the root", code, err)
    rows_are(where)


if __name__ == "__main__":
    main(at_once=3)
