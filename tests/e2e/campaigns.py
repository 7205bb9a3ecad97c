#!/usr/bin/env python3
"""campaigns.py - many checkpoints in a row while the database is compacted all the time: each tenth is set aside by hard links, so that
whoever writes to a published file is found (C4), and restored to the end of the input, where the table must be exact.

Short form by default. VARVE_SOAK=1: 300 checkpoints, and how long they take with 1, 4 and 16 states."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (Job, at_some_pace, check, files_table, inspect, lines_of, main, same, sequence, settings, snapshot_files,
                   test)

SOAK = os.environ.get("VARVE_SOAK") == "1"
CHECKPOINTS, ROWS, RATE = (300, 1200000, 8000) if SOAK else (30, 100000, 8000)
KEYS = 20011


def job(where, rate, states=1, out="out", **more):
    columns = "k BIGINT, n BIGINT, s BIGINT" + "".join(", t%d STRING" % i for i in range(1, states))
    calls = "".join(", MAX(CONCAT('%d-', CAST(id AS STRING)))" % i for i in range(1, states))
    options = {"taskmanager.memory.managed.size": "24mb", **more}
    return (settings(where, "rocksdb", 2, "50 ms", retained=15, **options) + sequence("seq", ROWS, rate) +
            files_table("o", columns, "%s/%s" % (where, out)) +
            "INSERT INTO o SELECT MOD(id * 48271, %d) AS k, COUNT(*), SUM(id)%s FROM seq GROUP BY MOD(id * 48271, %d);\n" % (
                KEYS, calls, KEYS))


def check_table(lines, what):
    want = {}
    for i in range(1, ROWS + 1):
        n, s = want.get(i * 48271 % KEYS, (0, 0))
        want[i * 48271 % KEYS] = (n + 1, s + i)
    got = {k: (n, s) for k, n, s in (tuple(map(int, l.split(b",")[:3])) for l in lines)}
    check(len(lines) == len(got) and got == want, "the table is wrong: " + what, len(lines))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def set_aside(directory, number, to):
    """The files of a checkpoint under names of our own; {path there: digest}. None: it has been subsumed meanwhile."""
    try:
        snapshot = inspect("%s/chk-%d" % (directory, number), "--files")["snapshot"]
        files = snapshot_files(snapshot) + [os.path.join(snapshot["path"], "_metadata")]
        digests = {}
        for f in files:
            there = os.path.join(to, os.path.relpath(f, directory))
            os.makedirs(os.path.dirname(there), exist_ok=True)
            os.link(f, there)
            digests[there] = digest(there)
        return digests
    except FileNotFoundError:
        return None


@test
def c4_of_many_checkpoints_each_tenth_restores_exactly_and_no_published_file_ever_changes(where):
    def story(pace):
        running = Job(where, job(where, RATE // pace))
        kept, at = {}, 0
        while at < CHECKPOINTS:
            running.wait_checkpoints(at + 10)
            number = running.checkpoints()["latest"]["completed"]["id"]
            to = "%s/kept/%d/%s" % (where, number, running.jid)
            digests = set_aside("%s/ck/%s" % (where, running.jid), number, to)
            check(digests is not None, "checkpoint %d went while it was looked at" % number)
            kept["%s/chk-%d" % (to, number)] = digests
            at += 10
        same(running.checkpoints()["counts"]["failed"], 0, "failed checkpoints")
        running.kill()
        return kept

    kept = at_some_pace(story)
    sets = [{os.path.basename(f) for f in d if "/shared/" in f} for d in kept.values()]
    check(any(sets[0] - s for s in sets[1:]), "no compaction: files of the first are in all")
    for i, (path, digests) in enumerate(kept.items()):
        for f, before in digests.items():
            same(digest(f), before, "digest of " + f)
        out = "out%d" % i
        Job(where, job(where, None, out=out), ["-s", path]).finish()
        check_table(lines_of("%s/%s" % (where, out)), path)


@test(each=(1, 4, 16) if SOAK else (4,))
def checkpoints_with_several_states(where, states):
    def story(pace):
        running = Job(where, job(where, RATE // pace, states))
        for count in (5, 10, 15, 20):
            running.wait_checkpoints(count)
        summary = running.checkpoints()
        running.kill()
        return summary

    summary = at_some_pace(story)
    took, state = summary["summary"]["end_to_end_duration"], summary["latest"]["completed"]["state_size"]
    print("%d states: 20 checkpoints, %d ms on average, %d ms at most; %d KB of state" % (
        states, took["avg"], took["max"], state // 1024))
    same(summary["counts"]["failed"], 0, "failed checkpoints")


if __name__ == "__main__":
    main()
