#!/usr/bin/env python3
"""ttl.py - table.exec.state.ttl: groups that get no row for long are forgotten, over a stop and a restore too, and by the time-to-live of
the run that goes on."""
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import BACKENDS, Job, at_some_pace, check, inspect, main, newest, same, sequence, settings, table, test, varve

ROWS, GROUPS = 6000, 20
TTL_S = 5
QUERY = ("SELECT MOD(id, %d), COUNT(*), SUM(id), MIN(CAST(id + 100000 AS STRING)), COUNT(DISTINCT id) FROM seq GROUP BY MOD(id, %d)" %
         (GROUPS, GROUPS))


def script(where, backend, seconds, ttl, query=QUERY, columns="k INT, n BIGINT, s BIGINT, least STRING, d BIGINT", rows=ROWS, **more):
    return (settings(where, backend, mode="streaming", **dict(more, **{"table.exec.state.ttl": ttl})) +
            sequence("seq", rows, max(1, int(rows / seconds))) + table("o", columns, connector="print") + "INSERT INTO o %s;\n" % query)


def results(job):
    """The table that the printed changes of a job make: key -> the other columns."""
    rows = {}
    for kind, cells in re.findall(r"^([-+][IUD])\[(.*)\]$", job.out, re.M):
        key, rest = cells.split(", ", 1)
        if kind in ("+I", "+U"):
            rows[int(key)] = rest
    return rows


def right(after):
    """Of the rows behind number `after`."""
    rows = {}
    for k in range(GROUPS):
        ids = [i for i in range(k or GROUPS, ROWS + 1, GROUPS) if i > after]
        rows[k] = "%d, %d, %s, %d" % (len(ids), sum(ids), min(str(i + 100000) for i in ids), len(ids))
    return rows


def stopped(where, backend, ttl):
    def story(pace):
        shutil.rmtree(where + "/sp", ignore_errors=True)
        job = Job(where, script(where, backend, 4 * pace, ttl))
        job.wait_rows(ROWS // 6)
        return job.stop(where + "/sp"), job.report()["rows-in"]

    return at_some_pace(story)


def ttls(path):
    return {st["ttl_ms"] for op in inspect(path)["snapshot"]["operators"] for sub in op["subtasks"] for k in sub["keyed"]
            for st in k["states"]}


@test(each=BACKENDS)
def groups_are_forgotten_over_a_stop_by_the_time_to_live_of_the_run_that_goes_on(where, backend):
    path, at = stopped(where, backend, "1 h")
    time.sleep(TTL_S)
    same(ttls(path), {3600000}, "time-to-live in the savepoint")
    other = BACKENDS[1 - BACKENDS.index(backend)]
    for backend_now, ttl, after in ((backend, "1 h", 0), (other, "0 ms", 0), (backend, "%d s" % TTL_S, at), (other, "%d s" % TTL_S, at)):
        job = Job(where, script(where, backend_now, 0.001, ttl), ["-s", path])
        job.finish()
        same(results(job), right(after), "table with %s on %s, savepoint at %d" % (ttl, backend_now, at))


@test(each=BACKENDS)
def turned_on_all_groups_are_young(where, backend):
    path, at = stopped(where, backend, "0 ms")
    same(ttls(path), {0}, "time-to-live in the savepoint")
    time.sleep(TTL_S)

    def story(pace):
        shutil.rmtree(where + "/ck", ignore_errors=True)
        job = Job(where, script(where, backend, 6 * pace, "1 h"), ["-s", path])
        job.wait_checkpoints(2)
        job.kill()

    at_some_pace(story)
    same(ttls(newest(where)), {3600000}, "time-to-live in a checkpoint")
    job = Job(where, script(where, backend, 0.001, "1 h"), ["-s", newest(where)])
    job.finish()
    same(results(job), right(0), "table")


@test(each=BACKENDS)
def a_group_that_comes_back_after_its_time_is_new(where, backend):
    """One row of `a` at the beginning and one at the end; 2 s lie between."""
    query = "SELECT CASE WHEN id = 1 OR id = 40 THEN 'a' ELSE 'b' END, COUNT(*), MAX(id) FROM seq GROUP BY CASE WHEN id = 1 OR id = 40 THEN 'a' ELSE 'b' END"
    for ttl, lines in (("1 s", ["+I[a, 1, 1]", "+I[a, 1, 40]"]), ("1 h", ["+I[a, 1, 1]", "-U[a, 1, 1]", "+U[a, 2, 40]"])):
        job = Job(where, script(where, backend, 2, ttl, query, "k STRING, n BIGINT, m BIGINT", 40))
        job.finish()
        same([l for l in job.out.split("\n") if "[a, " in l], lines, "changes of a with " + ttl)


@test()
def explain_shows_it_and_batch_mode_has_none(where):
    for mode, shown in (("streaming", True), ("batch", False)):
        sql = script(where, "hashmap", 1, "90 min").replace("INSERT INTO o", "EXPLAIN INSERT INTO o").replace("'streaming'", "'%s'" % mode)
        code, out, err = varve("sql", "-e", sql)
        check(code == 0 and ("ttl=5400000 ms" in out) == shown, "EXPLAIN in %s mode" % mode, out, err)


if __name__ == "__main__":
    main()
