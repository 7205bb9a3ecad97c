#!/usr/bin/env python3
"""check_flink.py - what scripts/check-flink runs: a real Flink restores what varve exported, goes on, and comes back, three times around; each time
`varve state` reads what the formulas of the job say (Rounds.java). Then Flink's own classes read a varve job's totals out of its export (VarveRows.java), and Flink takes
more input into such totals (VarveTotals.java), with a snapshot in each form that it has, from which varve goes on.

    check_flink.py [--short] COMMAND...        COMMAND runs Judge.java; VARVE_BIN is the program
    check_flink.py --fixtures DIR COMMAND...   totals that Flink alone kept, in every form: what tests/conformance/golden/flink-totals holds
"""
import collections
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/lib"))
from flink_totals import KEPT, OURS, PART, THEIRS, totals_are_right, totals_sql
from varve import BACKENDS, Job, check, same, sequence, settings, varve

KEYS, RULES, BASE, HOUR = 300, 5, 1700000000000, 3600000
GROUPS = 500  # keys of the varve job


class Flink:
    """One JVM with a cluster; answers line by line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        same(self.line(), "READY", "the first line of the judge")

    def line(self):
        while True:
            line = self.process.stdout.readline()
            check(line, "the judge ended: exit code %s" % self.process.poll())
            if line.split(" ")[0].strip() in ("READY", "SNAPSHOT", "FAILED", "ROW", "DONE"):
                return line.rstrip("\n")

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        lines = [self.line()]
        while lines[-1].startswith("ROW"):
            lines.append(self.line())
        check(not lines[-1].startswith("FAILED"), "Flink, asked %s: %s" % (words, lines[-1]))
        return lines

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


# ---- the job of Rounds.java: what it holds after rounds 0 .. n - 1 --------------------------------------------------------


def expected(parallelisms):
    rounds = range(len(parallelisms))
    last = rounds[-1]
    e = collections.defaultdict(list)
    windows = collections.defaultdict(int)
    for k in range(KEYS):
        key = "k%d" % k
        e["keyed", "value"].append((key, k * 1000 + last))
        e["keyed", "list"].append((key, [k + r for r in rounds]))
        e["keyed", "map"] += [(key, "m%d" % r, k * r) for r in rounds] + [(key, "last", last)]
        e["keyed", "reducing"].append((key, sum(k + r for r in rounds)))
        e["keyed", "mean"].append((key, sum(k * r for r in rounds), len(rounds)))
        e["keyed", "ttl"].append((key, k - last))
        e["keyed", "_timer_state/event_user-timers"] += [(key, 4000000000000 + k + r * 1000000) for r in rounds]
        if k % 3 == 0:
            e["keyed", "_timer_state/processing_user-timers"].append((key, 5000000000000 + k))
        at = BASE + k * 60000
        windows["w%d" % (k % 10), at - at % HOUR] += k * len(rounds)
    e["window", "window-contents"] = [(key, start, total) for (key, start), total in windows.items()]
    e["window", "_timer_state/event_window-timers"] = [(key, start + HOUR - 1) for key, start in windows]
    for uid, of in (("source", parallelisms), ("rules-source", [1] * len(parallelisms))):
        items = [r * 100 + s for r in rounds for s in range(of[r])]
        e[uid, "list"] = [(i,) for i in items]
        e[uid, "union"] = [(-i,) for i in items]
    e["broadcast", "rules"] = [("rule%d" % i, i * 100 + last) for i in range(RULES)] * parallelisms[-1]
    return {name: sorted(rows) for name, rows in e.items()}


def milliseconds(text):
    t = datetime.datetime.strptime(text.rstrip("Z"), "%Y-%m-%d %H:%M:%S.%f")
    return int((t - datetime.datetime(1970, 1, 1)) / datetime.timedelta(milliseconds=1))


def shaped(name, r):
    """A row of `varve state` as the formulas have it."""
    if "timer" in r:
        return (r["key"], milliseconds(r["timer"]))
    if name == "window-contents":
        return (r["key"], milliseconds(r["window_start"]), r["value"])
    if name == "mean":
        return (r["key"], r["value.f0"], r["value.f1"])
    if name == "list" and "key" in r:
        return (r["key"], json.loads(r["value"]))
    return tuple(r[c] for c in ("key", "map_key", "value") if c in r)


def rows(path, *args):
    code, out, err = varve("state", "-q", path, "--format", "jsonl", *args, timeout=300)
    check(code == 0, "varve state: exit code %d" % code, out, err)
    return [json.loads(line) for line in out.splitlines()]


def compare(path, want, what):
    for (uid, name), wanted in want.items():
        got = sorted(shaped(name, r) for r in rows(path, "--operator", uid, "--name", name))
        check(got == wanted, "%s: %s of %s: %d entries instead of %d" % (what, name, uid, len(got), len(wanted)),
              "only here: %s" % [g for g in got if g not in wanted][:3], "missing: %s" % [w for w in wanted if w not in got][:3])


def export(path, to, *options, form="flink-savepoint"):
    code, out, err = varve("export", "-q", path, to, "--to", form, *options, timeout=300)
    check(code == 0, "export of %s: exit code %d" % (path, code), out, err)
    code, out, err = varve("verify", "-q", to, timeout=300)
    check(code == 0, "verify of the export of %s: exit code %d" % (path, code), out, err)
    return to


def go_around(flink, where, steps, what):
    """steps: (backend, parallelism, form of snapshot) of each round; what Flink wrote is exported, and the export is what it begins from next."""
    restore, parallelisms, most = "-", [], 128
    for r, (backend, parallelism, form) in enumerate(steps):
        parallelisms.append(parallelism)
        taken = flink.ask("round", r, backend, parallelism, form, where + "/flink", restore, most)[-1].split(" ")[1]
        named = "%s, round %d (%s, parallelism %d, %s)" % (what, r, backend, parallelism, form)
        want = expected(parallelisms)
        more = ["--max-parallelism", "300"] if r == 1 else []  # from here on the job has that many key groups
        most = 300 if more else most
        restore = export(taken, "%s/export-%d" % (where, r), *more)
        compare(restore, want, named + ", exported")
        print("ok   %s" % named, flush=True)
    # Whatever else was carried along is of no use if the last one cannot be restored.
    flink.ask("round", len(steps), "hashmap", 1, "canonical", where + "/flink", restore, most)


# Not heap-timers: Flink does not move timers out of a database that it opens as it is.
NATIVE = [("rocksdb", 1, "checkpoint"), ("rocksdb", 3, "checkpoint"), ("rocksdb", 2, "native")]


def native_around(flink, where, steps):
    """As go_around, by native savepoints of which one operator had another uid for a while: its id is Flink's hash of the old one again."""
    restore, parallelisms = "-", []
    for r, (backend, parallelism, form) in enumerate(steps):
        parallelisms.append(parallelism)
        taken = flink.ask("round", r, backend, parallelism, form, where + "/flink", restore, 128)[-1].split(" ")[1]
        away = export(taken, "%s/renamed-%d" % (where, r), "--rename", "keyed=somebody else", form="flink-native")
        restore = export(away, "%s/export-%d" % (where, r), "--rename", "somebody else=keyed", form="flink-native")
        named = "native, round %d (%s, parallelism %d, %s)" % (r, backend, parallelism, form)
        compare(restore, expected(parallelisms), named + ", exported")
        print("ok   %s" % named, flush=True)
    flink.ask("round", len(steps), "rocksdb", 1, "checkpoint", where + "/flink", restore, 128)


CHAINS = {
    "rocksdb": [("rocksdb", 1, "checkpoint"), ("hashmap", 2, "checkpoint"), ("rocksdb", 3, "heap-timers"), ("rocksdb", 2, "native")],
    "hashmap": [("hashmap", 3, "canonical"), ("rocksdb", 1, "canonical"), ("hashmap", 2, "native"), ("hashmap", 1, "checkpoint")],
}


# ---- a job of varve's ------------------------------------------------------------------------------------------------------


def totals_of_varve(flink, where, backend):
    """GROUP BY, stopped with a savepoint before its end; Flink reads the totals of every key."""
    sql = settings(where, backend, 2, interval="1 h") + sequence("seq", 40000, 20000)
    sql += "CREATE TABLE gone (k BIGINT, name STRING, n BIGINT, total BIGINT, most BIGINT) WITH ('connector' = 'blackhole');\n"
    sql += "INSERT INTO gone SELECT k, name, COUNT(*), SUM(id), MAX(id) FROM (SELECT MOD(id, %d) AS k, " % GROUPS
    sql += "'name of ' || CAST(MOD(id, %d) AS STRING) AS name, id FROM seq) GROUP BY k, name;\n" % GROUPS
    os.makedirs(where)
    job = Job(where, sql)
    job.wait_rows(8 * GROUPS)
    out = export(job.stop(where + "/sp"), where + "/exported")
    listed = [r for r in rows(out) if r["state"] == "accState"]
    same([r["entries"] for r in listed], [GROUPS], "keys")
    for in_flink, parallelism in (("hashmap", 1), ("rocksdb", 2)):
        lines = flink.ask("rows", listed[0]["operator"], GROUPS, 5, in_flink, parallelism, out)
        theirs = {int(line.split(" ")[1]): [int(v) for v in line.split(" ")[2:]] for line in lines[:-1]}
        same(sorted(theirs), list(range(GROUPS)), "keys that Flink reads")
        for k, row in theirs.items():  # COUNT; low and high half of SUM, how many; MAX
            check(len(row) == 5 and row[0] >= 1, "totals of key %d as Flink reads them: %s" % (k, row))
            # The ids of a key have one parity, so they come from one of the two subtasks, ascending.
            ids = [k + GROUPS * (i + (k == 0)) for i in range(row[0])]
            same(row, [len(ids), sum(ids), 0, len(ids), max(ids)], "totals of key %d as Flink (%s, parallelism %d) reads them" % (k, in_flink, parallelism))
    print("ok   totals of a varve job (%s), read by Flink" % backend, flush=True)


# ---- totals that Flink wrote last, in any form --------------------------------------------------------------------------------


def begun_by_varve(where, ttl):
    """A savepoint in Flink's form of a job that was stopped in the middle, and which ids it has taken."""
    job = Job(where, totals_sql(where, "rocksdb", 1, 1, ttl, PART // 4))
    job.wait_rows(PART // 4)
    path = export(job.stop(where + "/sp"), where + "/begun")
    taken = sum(r["value.f0"] for r in rows(path, "--operator", "totals", "--name", "accState"))
    check(PART // 4 <= taken < PART, "stopped in the middle", taken)
    return path, range(1, taken + 1)


# Of each: state backend, Flink's parallelism, form of snapshot (Judge.java), time-to-live.
KEPT_FORMS = [
    ("rocksdb", 2, "files", False), ("hashmap", 3, "checkpoint", False), ("rocksdb", 1, "native", True),
    ("rocksdb", 1, "files", True), ("rocksdb", 3, "checkpoint", False), ("rocksdb", 2, "full", False), ("rocksdb", 3, "full-compressed", True),
    ("rocksdb", 3, "native", False), ("rocksdb", 2, "canonical", False), ("hashmap", 1, "canonical-compressed", True),
    ("hashmap", 2, "native", False), ("hashmap", 2, "checkpoint-compressed", True), ("rocksdb", 2, "merged", False), ("rocksdb", 3, "merged-across", True),
    ("forst", 1, "checkpoint", False), ("forst", 2, "files", True),
]


def take(flink, where, form, first, restore):
    """Flink goes on with the totals, or begins them, over PART ids: the snapshot."""
    backend, parallelism, kind, ttl = form
    return flink.ask("totals", "totals", KEPT, first, first + PART, backend, parallelism, kind, where, restore, "ttl" if ttl else "-")[-1].split(" ")[1]


def goes_on_in_varve(where, taken, ids, number, ttl, named):
    """Both backends, at parallelism 1 to 3 in turn."""
    for of, (backend, parallelism) in enumerate([("hashmap", 1 + (number + 1) % 3), ("rocksdb", 1 + (number + 2) % 3)]):
        at = "%s/%d-%d" % (where, number, of)
        job = Job(at, totals_sql(at, backend, parallelism, OURS, ttl), ["-s", taken])
        same(job.wait(), 0, "%s: exit code of varve (%s, parallelism %d); %s" % (named, backend, parallelism, job.said()))
        totals_are_right(job, ids, ttl, "%s, in varve (%s, parallelism %d)" % (named, backend, parallelism))
    print("ok   " + named, flush=True)


def kept_by_flink(flink, where, forms):
    """C10: what a job goes on with depends on the snapshot alone, not on its form, nor on who had how many subtasks."""
    begun = {}
    for number, form in enumerate(forms):
        backend, parallelism, kind, ttl = form
        if ttl not in begun and backend != "forst":
            begun[ttl] = begun_by_varve("%s/begun-%s" % (where, ttl), ttl)
        path, ids = begun[ttl] if backend != "forst" else ("-", [])  # which restores no savepoint of another
        named = "totals kept by Flink: %s, parallelism %d, %s%s" % (backend, parallelism, kind, ", with time-to-live" if ttl else "")
        taken = take(flink, where + "/flink", form, THEIRS, path)
        goes_on_in_varve(where, taken, [*ids, *range(THEIRS, THEIRS + PART)], number, ttl, named)


def rescaled_by_flink(flink, where):
    """Flink's databases after it has cut and merged its own."""
    taken, ids = "-", []
    for step, parallelism in enumerate((2, 3, 1)):
        first = THEIRS + step * PART
        taken = take(flink, where + "/flink", ("rocksdb", parallelism, "files", False), first, taken)
        ids += range(first, first + PART)
        goes_on_in_varve(where, taken, ids, step, False, "totals that Flink has rescaled %d times" % step)


def changelog_is_refused(flink, where):
    taken = take(flink, where + "/flink", ("rocksdb", 2, "changelog", False), THEIRS, "-")
    for more in (["--dry-run"], []):
        job = Job(where, totals_sql(where, "rocksdb", 2, OURS, False), more + ["-s", taken])
        check(job.wait() in (1, 2) and "it has a changelog" in job.out + job.err, "a changelog is refused", job.said())
    print("ok   a changelog is refused", flush=True)


def make_fixtures(flink, where):
    for form in KEPT_FORMS + [("rocksdb", 2, "changelog", False)]:
        backend, parallelism, kind, ttl = form
        print(take(flink, "%s/%s-%d-%s%s" % (where, backend, parallelism, kind, "-ttl" if ttl else ""), form, THEIRS, "-"))


def judge(flink, where, short):
    for name, steps in CHAINS.items():
        if not short or name == "rocksdb":
            go_around(flink, os.path.join(where, name), steps[:3] if short else steps, name)
    native_around(flink, os.path.join(where, "native"), NATIVE[:2] if short else NATIVE)
    for backend in ("rocksdb",) if short else BACKENDS:
        totals_of_varve(flink, os.path.join(where, "varve-" + backend), backend)
    kept_by_flink(flink, os.path.join(where, "kept"), KEPT_FORMS[:3] if short else KEPT_FORMS)
    if not short:
        rescaled_by_flink(flink, os.path.join(where, "rescaled"))
        changelog_is_refused(flink, os.path.join(where, "changelog"))


def main():
    if sys.argv[1] == "--fixtures":
        flink = Flink(sys.argv[3:])
        make_fixtures(flink, os.path.abspath(sys.argv[2]))
        flink.close()
        return
    short = sys.argv[1] == "--short"
    command = sys.argv[2:] if short else sys.argv[1:]
    where = tempfile.mkdtemp(prefix="varve-check-flink.")
    try:
        flink = Flink(command)
        judge(flink, where, short)
        flink.close()
    finally:
        if "KEEP" in os.environ:
            print("files: %s" % where)
        else:
            shutil.rmtree(where, ignore_errors=True)


if __name__ == "__main__":
    main()
