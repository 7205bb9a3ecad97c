#!/usr/bin/env python3
"""flink_mapping.py - `run -s` of what Flink itself wrote, by a mapping: keys and values of Strings, Tuples and Pojos go on as the state of
varve's GROUP BY and TUMBLE, whatever form they lie in, and rows are added on top to the exact results that the formulas of Flink's job give;
what would lose something, or is said wrong, is refused with its place; and whatever ends the way in, the next start is right."""
import json
import os
import random
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import BACKENDS, TESTS, Job, check, files_table, job_directories, lines_of, main, preloaded, same, settings, table, test, tree_digest, varve, write

ARCHIVE = os.path.join(TESTS, "conformance/golden/flink-state/snapshots.tar.xz")
SEED = int(os.environ.get("VARVE_TEST_SEED") or 20261201)
SAVEPOINT = "canonical-savepoint-from-rocksdb"


def unpack(where, *names):
    """The snapshots of these names, of all with none: (path, after which round, operators)."""
    with tarfile.open(ARCHIVE) as tar:
        for member in tar.getmembers():
            top = member.name.lstrip("./").split("/")[0]
            if not names or top in names or top in ["%s.expected.json" % n for n in names] or top.endswith(".jsonl"):
                tar.extract(member, where + "/theirs")
    found = []
    for name in sorted(os.listdir(where + "/theirs")):
        if name.endswith(".expected.json"):
            with open("%s/theirs/%s" % (where, name), encoding="utf-8") as f:
                expected = json.load(f)
            for s in expected.get("snapshots", []):
                path = "%s/theirs/%s/%s" % (where, name[:-len(".expected.json")], s["path"])
                found.append((path, s["afterRound"], [o["uid"] for o in expected["operators"]]))
    return found


def contents(where, after_round, uid):
    with open("%s/theirs/contents-after-round-%d.jsonl" % (where, after_round), encoding="utf-8") as f:
        return [c for c in map(json.loads, f) if c["uid"] == uid]


def said(job):
    return (job.out + job.err).replace('\\"', '"').replace("\\n", "\n")


def totals(where, backend, parallelism, columns, rows, select, results, group, uid="totals", **more):
    """A job that adds rows of a csv file to the state."""
    os.makedirs(where + "/in", exist_ok=True)
    write(where + "/in/rows.csv", "".join(r + "\n" for r in rows))
    return (settings(where, backend, parallelism, "50 ms", **more) + files_table("e", columns, where + "/in") + files_table("o", results, where + "/out") +
            "INSERT INTO o SELECT /*+ OPTIONS('varve.uid'='%s') */ %s FROM e GROUP BY %s;\n" % (uid, select, group))


def averages(where, backend="hashmap", parallelism=2):
    return totals(where, backend, parallelism, "word STRING, v BIGINT", ["key-7,1000", "new,5", "key-7,-1"], "word, COUNT(*), SUM(v), AVG(v)",
                  "word STRING, n BIGINT, s BIGINT, a BIGINT", "word")


AVERAGES = """
operators:
  - uid: keyed-string
    operator: totals
    states:
      - from: aggregating-avg          # Tuple2<Long, Long>: sum, count
        to: accState
        key: {word: key}
        value:
          COUNT(*): value.f1
          SUM(v): value.f0
          SUM(v)$count: value.f1
          AVG(v): value.f0
          AVG(v)$count: value.f1
"""


def mapping(where, text):
    write(where + "/mapping.yaml", text)
    return where + "/mapping.yaml"


def left_of_imports(where):
    return [n for n in os.listdir(where + "/ck") if n.startswith(".varve-import")] if os.path.isdir(where + "/ck") else []


def clear(where):
    for name in ("ck", "out"):
        shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)


def goes_on(where, sql, path, file, what, args=("-n",)):
    before = tree_digest(path)
    job = Job(where, sql, ["-s", path, "--mapping", file, *args])
    same(job.wait(), 0, "%s: exit code; %s" % (what, job.said()))
    same(left_of_imports(where), [], what + ": what the way in leaves")
    check(tree_digest(path) == before, what + ": the snapshot is as it was")
    return job


def same_rows(where, want, what):
    got = [l.decode() for l in lines_of(where + "/out")]
    same(len(got), len(want), what + ": rows")
    check(sorted(got) == sorted(want), what + ": the table is wrong", sorted(set(got) - set(want))[:5], sorted(set(want) - set(got))[:5])


def averages_are_right(where, after_round, what):
    want = {}
    for k in range(1000):
        for r in range(after_round + 1):
            if k < (1000, 100, 10)[r]:
                w = want.setdefault("" if k == 997 else "ключ-998" if k == 998 else "키-999-😀" if k == 999 else "key-%d" % k, [0, 0])
                w[0], w[1] = w[0] + 1, w[1] + 2 * k + r
    for word, v in (("key-7", 1000), ("new", 5), ("key-7", -1)):
        w = want.setdefault(word, [0, 0])
        w[0], w[1] = w[0] + 1, w[1] + v
    same_rows(where, ["%s,%d,%d,%d" % (k, n, s, s // n) for k, (n, s) in want.items()], what)


@test
def an_accumulator_goes_on_from_every_form(where):
    seen = 0
    for path, after_round, uids in unpack(where):
        if "keyed-string" not in uids:
            continue
        goes_on(where, averages(where), path, mapping(where, AVERAGES), path)
        averages_are_right(where, after_round, path)
        clear(where)
        seen += 1
    check(seen >= 20, "too few snapshots", seen)


@test(each=BACKENDS)
def any_backend_at_any_parallelism(where, backend):
    path, after_round, _ = unpack(where, SAVEPOINT)[0]
    for parallelism in (1, 2, 3):
        what = "%s at parallelism %d" % (backend, parallelism)
        goes_on(where, averages(where, backend, parallelism), path, mapping(where, AVERAGES), what)
        averages_are_right(where, after_round, what)
        clear(where)


@test
def tuples_and_pojos_are_taken_apart(where):
    path, after_round, _ = unpack(where, SAVEPOINT)[0]
    sql = totals(where, "rocksdb", 2, "num INT, word STRING, score DOUBLE", ["-5,t0,0.5", "4,t19,100"], "num, word, COUNT(*), SUM(score), MAX(score)",
                 "num INT, word STRING, n BIGINT, s DOUBLE, m DOUBLE", "num, word")
    text = """
operators:
  - uid: keyed-tuple2
    operator: totals
    states:
      - from: value-pojo
        to: accState
        key: {num: key.f1, word: key.f0}
        value: {COUNT(*): value.id, SUM(score): value.score, MAX(score): value.score}
    drop: [_timer_state/event_user-timers, _timer_state/processing_user-timers]
drop: [source, rules-source, broadcast, operator-state, keyed-string, keyed-long, keyed-pojo, window-sum, window-list, window-session]
"""
    job = goes_on(where, sql, path, mapping(where, text), "tuples", args=())  # without -n: all the rest is dropped on purpose
    check('"window-list" (id be071e82e0f59c667ecec0d905bd7b3d): as the mapping says' in said(job), "what is dropped", job.said())
    want = {(c["key"][1], c["key"][0]): [c["value-pojo"]["id"], c["value-pojo"]["score"], c["value-pojo"]["score"]] for c in contents(where, after_round, "keyed-tuple2")}
    same(len(want), 200, "keys")
    for key, v in (((-5, "t0"), 0.5), ((4, "t19"), 100.0)):
        w = want[key]
        want[key] = [w[0] + 1, w[1] + v, max(w[2], v)]
    got = {(int(f[0]), f[1]): [int(f[2]), float(f[3]), float(f[4])] for f in (l.decode().split(",") for l in lines_of(where + "/out"))}
    same(got, want, "the table")
    clear(where)
    sql = totals(where, "hashmap", 1, "who STRING, v BIGINT", ["p3,1"], "who, COUNT(*)", "who STRING, n BIGINT", "who")
    text = "operators: [{uid: keyed-pojo, operator: totals, states: [{from: count, to: accState, key: {who: key.name}, value: {COUNT(*): value}}]}]"
    goes_on(where, sql, path, mapping(where, text), "pojos")
    same_rows(where, ["%s,%d" % (c["key"][0], c["count"] + (c["key"][0] == "p3")) for c in contents(where, after_round, "keyed-pojo")], "pojos")


@test
def windows_of_a_datastream_job_go_on(where):
    """The accumulators of its WindowOperator, by the ends of their windows; its timers follow from these."""
    path = unpack(where, SAVEPOINT)[0][0]
    os.makedirs(where + "/in")
    base = 1700000000
    write(where + "/in/rows.csv", "w-7,5,%d\nnew,1,%d\nw-7,1,%d\n" % (base * 1000 + 700, base * 1000 + 42000, base * 1000 + 500000))
    sql = (settings(where, "rocksdb", 2, "50 ms", "streaming") +
           "CREATE TABLE e (word STRING, v BIGINT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', 'path' = '%s/in', 'format' = 'csv');\n" % where +
           files_table("o", "word STRING, e BIGINT, n BIGINT, s BIGINT", where + "/out") +
           "INSERT INTO o SELECT /*+ OPTIONS('varve.uid'='windows') */ word, UNIX_TIMESTAMP(CAST(CAST(window_end AS TIMESTAMP(3)) AS STRING), 'yyyy-MM-dd HH:mm:ss.SSS'), COUNT(*), SUM(v) "
           "FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY word, window_start, window_end;\n")
    text = "operators: [{uid: window-sum, operator: windows, states: [{from: window-contents, to: window-aggs, key: {word: key}, value: {COUNT(*): 1, SUM(v): value}}]}]\n"
    for old, new, words in (("window-sum", "window-session", "and none of TUMBLE of 10000 ms with an offset of 0 ms does: it was of another size or kind"),
                            ("'10' SECOND", "'7' SECOND", "ends at 2023-11-14 22:1")):
        job = Job(where, sql.replace(old, new), ["-s", path, "--mapping", mapping(where, text.replace(old, new)), "-n"])
        check(job.wait() in (1, 2) and words in said(job), "windows that are others", job.said())
        same(left_of_imports(where), [], "what the way in leaves")
    goes_on(where, sql, path, mapping(where, text), "windows")
    want = {}
    for rounds in (1000, 100, 10):
        for k in range(rounds):
            w = want.setdefault(("w-%d" % (k % 50), base + k // 100 * 10 + 10), [1, 0])
            w[1] += k
    for word, v, at in (("w-7", 5, 0), ("new", 1, 42), ("w-7", 1, 500)):
        w = want.setdefault((word, base + at // 10 * 10 + 10), [0, 0])
        w[0], w[1] = w[0] + 1, w[1] + v
    same_rows(where, ["%s,%d,%d,%d" % (*key, n, s) for key, (n, s) in want.items()], "windows")


@test(each=BACKENDS)
def a_map_goes_on_as_the_values_that_were_seen(where, backend):
    path = unpack(where, SAVEPOINT)[0][0]
    sql = totals(where, backend, 2, "word STRING, what STRING", ["key-7,m0", "key-7,m1", "key-7,other", "key-500,m2", "new,m0"], "word, COUNT(DISTINCT what)", "word STRING, n BIGINT", "word")
    text = """
operators:
  - uid: keyed-string
    operator: totals
    states:
      - {from: value-long, to: accState, key: {word: key}, value: {COUNT(DISTINCT what): 0}}
      - {from: map-string-long, to: distinctAcc_COUNT(DISTINCT what), key: {word: key}, map_key: map_key, value: value}
"""
    goes_on(where, sql, path, mapping(where, text), "a map")
    got = [l.decode() for l in lines_of(where + "/out")]
    same(len(got), 1001, "rows")
    same(sorted(l for l in got if not l.endswith(",0")), ["key-500,1", "key-7,1", "new,1"], "what was not in the maps")


@test
def a_time_to_live_goes_on_from_the_last_access(where):
    path = unpack(where, SAVEPOINT)[0][0]
    os.makedirs(where + "/in")
    write(where + "/in/rows.csv", "key-7,1\nnew,2\n")

    def sql(ttl):
        return (settings(where, "hashmap", 1, "50 ms", "streaming", **{"table.exec.state.ttl": ttl}) + files_table("e", "word STRING, v BIGINT", where + "/in") +
                table("o", "word STRING, n BIGINT, s BIGINT", connector="print") + "INSERT INTO o SELECT /*+ OPTIONS('varve.uid'='totals') */ word, COUNT(*), SUM(v) FROM e GROUP BY word;\n")

    text = "operators: [{uid: keyed-string, operator: totals, states: [{from: ttl-long, to: accState, key: {word: key}, value: {COUNT(*): 10, SUM(v): value}}]}]\n"
    job = goes_on(where, sql("36500 d"), path, mapping(where, text), "ttl")
    check("+U[key-7, 11, 8]" in job.out and "+I[new, 1, 2]" in job.out, "what goes on", job.out)
    clear(where)
    job = goes_on(where, sql("1 s"), path, mapping(where, text), "ttl")  # the snapshot is older: its entries have expired
    check("+I[key-7, 1, 1]" in job.out and "+I[new, 1, 2]" in job.out, "what has expired", job.out)


def refused(where, sql, path, text, *words, args=("-n",), looks=([], ["--dry-run"])):
    """With these words, and nothing has begun. looks: what comes before -s."""
    before = tree_digest(path)
    for more in looks:
        job = Job(where, sql, [*more, "-s", path, "--mapping", mapping(where, text), *args])
        check(job.wait() in (1, 2), "exit code", job.said())
        missing = [w for w in words if w not in said(job)]
        check(not missing, "not said: %s" % missing, job.said())
        same(left_of_imports(where), [], "what the way in leaves")
        check(not os.path.exists(where + "/out") and not job_directories(where), "something has begun", os.listdir(where))
    check(tree_digest(path) == before, "the snapshot is as it was")


@test
def what_is_said_wrong_is_refused_with_its_place(where):
    path = unpack(where, SAVEPOINT)[0][0]
    sql = averages(where)
    at = where + "/mapping.yaml:"
    for old, new, words in (
            ("aggregating-avg ", "aggregating-averages ", ['6:9: Flink\'s operator has no keyed state "aggregating-averages"']),
            ("uid: keyed-string", "uid: keyed-strings", ['3:5: the snapshot has no operator of that uid (did you mean keyed-string?)']),
            ("operator: totals", "operator: total", ['4:15: no operator of the job is called "total" (did you mean totals?): it has', 'totals "GroupAggregate[word]"']),
            ("to: accState", "to: accStates", ['6:9: operator "GroupAggregate[word]" of the job has no state "accStates" (did you mean accState?); it has accState']),
            ("SUM(v): value.f0", "SUM(v): value.f2", ['11:19: value SUM(v)$low: TupleSerializer(LongSerializer, LongSerializer) has no part "f2"; it has f0, f1']),
            ("COUNT(*): value.f1", "COUNT(*): key", ["10:21: value COUNT(*): no BIGINT is made of what StringSerializer wrote"]),
            ("AVG(v)$count: value.f1", "", ["AVG(v)$count, a BIGINT, comes from nowhere"]),
            ("aggregating-avg ", "list-long ", ['Flink\'s LIST state "list-long" is no value state of the job']),
            ("aggregating-avg ", "ttl-long ", ['time-to-live: Flink wrote "ttl-long" with one, the job has "accState" without one']),
            ("states:", "staets:", ['5:5: an operator has no key "staets" (did you mean states?); it has uid, id, operator, states, drop'])):
        check(old in AVERAGES, "the mapping has it", old)
        refused(where, sql, path, AVERAGES.replace(old, new), *[at + w if w[0].isdigit() else w for w in words])
    refused(where, sql, path, AVERAGES, "state that the job does not take over", '"keyed-string" (id', 'MAP state "map-string-long"', args=())
    refused(where, sql, path, AVERAGES + "    drop: [map-string-long, map-long]\n", at + '15:29: Flink\'s operator has no state "map-long" to drop')
    refused(where, sql, path, AVERAGES + "drop: [keyed]\n", at + '15:8: the snapshot has no operator "keyed" to drop')
    refused(where, sql, path, AVERAGES + "drop: [keyed-string]\n", at + '15:8: operator "keyed-string" is to be dropped, but line 3 lets it go on')
    refused(where, sql, path, AVERAGES + "drop: [keyed-long, 9ffc9079ae46c8da2062fcba248ae73c]\n", at + '15:20: operator "9ffc9079ae46c8da2062fcba248ae73c" is to be dropped already, by its uid or id')
    refused(where, sql, path, AVERAGES + "  - {id: 72109e4753cd9f8017460adae3d9ed0f, operator: totals}\n", at + "15:5: this operator stands already in line 3, by its uid or id")
    code, _, err = varve("run", "-e", sql, "--mapping", mapping(where, AVERAGES))
    check(code == 2 and "give it with -s" in err, "a mapping without -s", err)


@test
def what_would_lose_something_is_refused_by_key_and_value(where):
    path = unpack(where, SAVEPOINT)[0][0]
    start = [[]]  # a dry run reads no keys
    refused(where, totals(where, "hashmap", 2, "word STRING, v TINYINT", [], "word, MAX(v)", "word STRING, m TINYINT", "word"), path,
            "operators: [{uid: keyed-string, operator: totals, states: [{from: value-long, to: accState, key: {word: key}, value: {MAX(v): value}}]}]",
            'operator "GroupAggregate[word]", state "accState": key "', "value MAX(v) (value): ", "is no TINYINT: it is out of range", looks=start)
    refused(where, totals(where, "hashmap", 2, "word VARCHAR(6), v BIGINT", [], "word, COUNT(*)", "word VARCHAR(6), n BIGINT", "word"), path,
            "operators: [{uid: keyed-string, operator: totals, states: [{from: value-long, to: accState, key: {word: key}, value: {COUNT(*): 1}}]}]",
            'key "key-', "is no VARCHAR(6): it is too long", looks=start)
    refused(where, totals(where, "hashmap", 2, "word STRING, v BIGINT", [], "word, COUNT(*)", "word STRING, n BIGINT", "word"), path,
            "operators: [{uid: keyed-tuple2, operator: totals, states: [{from: value-pojo, to: accState, key: {word: key.f0}, value: {COUNT(*): 1}}]}]",
            'operator "GroupAggregate[word]", state "accState": two keys of Flink\'s become one of the job\'s: word "t', looks=start)
    refused(where, totals(where, "hashmap", 2, "word STRING, what STRING", [], "word, COUNT(DISTINCT what)", "word STRING, n BIGINT", "word"), path,
            "operators: [{uid: keyed-string, operator: totals, states: [{from: map-string-long, to: distinctAcc_COUNT(DISTINCT what), key: {word: key}, map_key: 'x', value: value}]}]",
            'two entries of maps of Flink\'s become one of the job\'s: a map key below word "', looks=start)


@test
def a_dry_run_says_what_becomes_of_each_column(where):
    path = unpack(where, SAVEPOINT)[0][0]
    args = ["-D", "rest.port=0", "--dry-run", "-n", "-s", path, "--mapping", mapping(where, AVERAGES), "-e", averages(where)]
    code, out, err = varve("run", *args)
    same(code, 0, "exit code; " + err)
    lines = ['operator "GroupAggregate[word]": state "accState" comes from "aggregating-avg"; ' + l for l in (
        "key word STRING: key, StringSerializer", "value COUNT(*) BIGINT: value.f1, LongSerializer", "value SUM(v)$low BIGINT: value.f0, LongSerializer")]
    check("converted:\n  " + "\n  ".join(lines) in out, "the columns", out)
    code, out, err = varve("run", "--json", *args)
    same(json.loads(out)["flink"]["converted"][:3], lines, "in JSON")
    check(not os.path.exists(where + "/ck") or not os.listdir(where + "/ck"), "a dry run leaves nothing")


@test
def a_draft_shows_what_of_the_job_waits_for_state(where):
    """Its user takes the # away and fills in two sources: that is a mapping."""
    path, after_round, _ = unpack(where, SAVEPOINT)[0]
    write(where + "/job.sql", averages(where))
    code, out, err = varve("inspect", path, "--mapping", "--job", where + "/job.sql")
    same(code, 0, "exit code; " + err)
    lines = out.splitlines()
    at = 1 + lines.index("  # Operators of the job that nothing goes over to yet:")
    waiting = [l.replace("  # ", "  ", 1) for l in lines[at:lines.index("# Sources and sinks begin anew in varve: nobody takes over what Flink's have.")]]
    same([l.split(" #")[0].strip() for l in waiting], ["operator: totals", "states:", "- from:", "to: accState", "key:", "word:", "value:",
                                                       "COUNT(*):", "SUM(v):", "AVG(v):", "AVG(v)$count:"], "what waits")
    code, _, err = varve("run", "-s", path, "--mapping", mapping(where, "operators:\n  # - uid: keyed-string\n"), where + "/job.sql")
    check(code == 2 and "mapping.yaml:1:11: operators is a list, and has no items yet" in err, "a draft as it is", code, err)
    text = "operators:\n  - uid: keyed-string\n" + "".join(l + "\n" for l in waiting)
    for open_, source in (("from:", "aggregating-avg"), ("word:", "key"), ("COUNT(*):", "value.f1"), ("SUM(v):", "value.f0"),
                          ("AVG(v):", "value.f0"), ("AVG(v)$count:", "value.f1")):
        text = text.replace(open_, open_ + " " + source, 1)
    goes_on(where, averages(where), path, mapping(where, text), text)
    averages_are_right(where, after_round, text)


@test
def a_draft_finds_what_was_moved_and_takes_settings(where):
    path = unpack(where, "rocksdb-incremental-file-merging")[0][0]
    job = os.path.dirname(path)
    write(where + "/job.sql", averages(where))
    how = ["inspect", path, "--mapping", "--job", where + "/job.sql"]
    plain = varve(*how)
    same(plain[0], 0, "exit code; " + plain[2])
    check(not os.path.exists(where + "/ck"), "who only looks makes no directory for checkpoints", os.listdir(where))
    os.rename(job + "/taskowned", where + "/away")  # what _metadata names by its absolute path
    for args in (how, how[:3]):
        code, out, err = varve(*args)
        check(code in (1, 2) and out == "" and "/taskowned/" in err, "without its files", code, out, err)
    rule = "file:/tmp/flinkstate/rocksdb-incremental-file-merging/%s/taskowned=%s/away" % (os.path.basename(job), where)
    same(varve(*how, "--rebase", rule)[:2], plain[:2], "with --rebase")
    same(varve(*how[:3], "--rebase", "/nowhere=/there", "--rebase", rule)[0], 0, "with two")
    code, _, err = varve("inspect", path, "--mapping", "--rebase", "nonsense")
    check(code in (1, 2) and "--rebase" in err, "a rule that is none", code, err)
    for more in ([], ["--mapping"]):
        code, _, err = varve("inspect", path, "-D", "rest.prot=1", *more)
        check(code in (1, 2) and 'unknown option "rest.prot"' in err, "settings are looked at", code, err)


@test
def whatever_ends_the_way_in_the_next_start_is_right(where):
    path, after_round, _ = unpack(where, SAVEPOINT)[0]
    before = tree_digest(path)
    file = mapping(where, AVERAGES)
    sql = averages(where, "rocksdb")
    start = ["-n", "-s", path, "--mapping", file]

    def again(what):
        check(tree_digest(path) == before, what + ": the snapshot is as it was")
        shutil.rmtree(where + "/out", ignore_errors=True)
        goes_on(where, sql, path, file, what)
        averages_are_right(where, after_round, what)
        shutil.rmtree(where + "/out")

    # Before the name of our own _metadata on the way in, and of that of the job's first checkpoint (C2, C3).
    for verb, code in (("import-flink", 1), ("run", -9)):
        job = Job(where, sql, start, prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB=verb, PRELOAD_KILL="_metadata:1"))
        same(job.wait(), code, "exit code; " + job.said())
        same(left_of_imports(where), [], "what the crash leaves of the way in")
        again("%s is killed" % verb)
    for verb in ("import-flink", "run"):
        count = where + "/count"
        job = Job(where, sql, start, prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB=verb, PRELOAD_COUNT=count))
        same(job.wait(), 0, "exit code; " + job.said())
        with open(count, encoding="utf-8") as f:
            changes = int(f.read().split()[1])
        shutil.rmtree(where + "/out")
        for k in random.Random(SEED).sample(range(1, min(changes, 40)), 4):
            job = Job(where, sql, start, prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB=verb, PRELOAD_FAIL="change:%d:28:on" % k))
            check(job.wait() != 0 and "No space left on device" in job.said(), "change %d of %s fails" % (k, verb), job.said())
            again("change %d of %s" % (k, verb))



main()
