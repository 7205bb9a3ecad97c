"""varve run --dry-run: what it says is what a start then does, and it writes nothing."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import Job, at_some_pace, check, files_table, inspect, main, same, sequence, settings, test, tree_digest, varve, write  # noqa: E402

QUERY = "SELECT MOD(id, 100), COUNT(*), SUM(id) FROM seq GROUP BY MOD(id, 100)"
OTHER = "SELECT MOD(id, 7), MAX(id), 0 FROM seq GROUP BY MOD(id, 7)"


def script(where, queries=(QUERY,), seconds=0.001, rows=20000, out="out", backend="rocksdb", **more):
    text = settings(where, backend, parallelism=more.pop("parallelism", 1), **more) + sequence("seq", rows, rate=int(rows / seconds))
    for i in range(len(queries)):
        text += files_table("t%d" % i, "k BIGINT, n BIGINT, total BIGINT", "%s/%s%d" % (where, out, i))
    inserts = "".join("INSERT INTO t%d %s;\n" % (i, q) for i, q in enumerate(queries))
    return text + ("BEGIN STATEMENT SET;\n%sEND;\n" % inserts if len(queries) > 1 else inserts)


def killed(where, queries=(QUERY,), checkpoints=3, **more):
    """The directory of a killed run and its newest whole checkpoint."""
    def story(pace):
        for d in ("ck", "first0", "first1"):
            shutil.rmtree(os.path.join(where, d), ignore_errors=True)
        job = Job(where, script(where, queries, seconds=6 * pace, out="first", **more))
        job.wait_checkpoints(checkpoints)
        job.kill()
        directory = "%s/ck/%s" % (where, job.jid)
        return directory, [c["path"] for c in inspect(directory)["checkpoints"] if c["status"] == "complete"][-1]

    return at_some_pace(story)


def dry_run(where, sql, *args):
    """(exit code, report); nothing is written meanwhile."""
    path = write(where + "/dry.sql", sql)
    before = tree_digest(where)
    code, out, err = varve("run", "--dry-run", "--json", *(list(args) + [path]))
    same(tree_digest(where), before, "all files")
    lines = [l for l in out.split("\n") if l]
    same(len(lines), 1, "reports; " + out + err)
    report = json.loads(lines[0])
    same(report["would_start"], code == 0, "verdict and exit code %d; %s" % (code, out))
    return code, report


def starts_as_said(where, sql, report, *args):
    """The real start does what the dry run said."""
    job = Job(where, sql, args)
    if report["would_start"]:
        job.finish()
    else:
        check(job.wait() != 0, "it starts; " + job.said())
        reason = report["reason"].split("\n")[0]
        check(reason in job.err, "the start fails for another reason", reason, job.said())
    return job


def operator(report, word):
    found = [o for o in report["operators"] if word in o["name"]]
    same(len(found), 1, "operators named %s" % word)
    return found[0]


@test
def the_same_job_goes_on_from_the_positions_that_it_says(where):
    directory, path = killed(where)
    code, report = dry_run(where, script(where), "-s", path)
    same(code, 0, "exit code")
    same([report["start"]["path"], report["start"]["same_statements"]], [path, False], "start")  # another rate and sink
    same([o["fate"] for o in report["operators"] if "Aggregate" in o["name"] or "Source" in o["name"]], ["state restored"] * 2, "fates")
    same(operator(report, "GroupAggregate")["aggregates"], {"kept": ["COUNT(*)", "SUM(id)"], "new": [], "dropped": []}, "aggregates")
    same([s["fate"] for s in operator(report, "GroupAggregate")["states"]], ["kept"], "states")
    positions = [i for op in inspect(path)["snapshot"]["operators"] for s in op["subtasks"] for l in s["lists"]
                 if l["name"] == "source-positions" for i in l["items"]]
    same(operator(report, "Source")["positions"], positions, "positions")
    same(report["max_parallelism"], 128, "max parallelism")
    starts_as_said(where, script(where), report, "-s", path)
    code, out, err = varve("run", "--dry-run", "-s", path, where + "/dry.sql")
    same(code, 0, "exit code of the text; " + err)
    for words in ('would start\n', "start: from " + path, "goes on at row numbers: next", "  kept: COUNT(*), SUM(id)\n", "possible parallelism: 1 to 128"):
        check(words in out, "it says %r" % words, out)


@test
def changed_aggregates_and_keys_are_shown_side_by_side(where):
    directory, path = killed(where)
    changed = script(where, [QUERY.replace("SUM(id)", "MAX(id)")])
    code, report = dry_run(where, changed, "-s", path)
    same(code, 0, "exit code")
    op = operator(report, "GroupAggregate")
    same(op["aggregates"], {"kept": ["COUNT(*)"], "new": ["MAX(id)"], "dropped": ["SUM(id)"]}, "aggregates")
    state = op["states"][0]
    same(state["fate"], "rewritten", "the state")
    check("SUM(id)" in state["was"]["value"] and "MAX(id)" in state["is"]["value"], "its types", state)
    starts_as_said(where, changed, report, "-s", path)
    other_key = script(where, [QUERY.replace("MOD(id, 100)", "CAST(MOD(id, 100) AS STRING)").replace("SELECT CAST(MOD(id, 100) AS STRING)", "SELECT 1")],
                       out="none")
    code, report = dry_run(where, other_key, "-s", path)
    same(code, 1, "exit code")
    check("was INT, is STRING" in report["reason"], "the key's types", report["reason"])
    starts_as_said(where, other_key, report, "-s", path)


@test
def state_that_nobody_takes_needs_n_and_is_counted(where):
    directory, path = killed(where, (QUERY, OTHER))
    one = script(where, (QUERY,))
    code, report = dry_run(where, one, "-s", path)
    same([code, report["allow_non_restored_state"]], [1, False], "exit code, -n")
    dropped = [d for d in report["dropped"] if "GroupAggregate" in d["name"]]
    check(len(dropped) == 1 and dropped[0]["size"] > 0, "what would be dropped", report["dropped"])
    starts_as_said(where, one, report, "-s", path)
    code, report = dry_run(where, one, "-n", "-s", path)
    same([code, [d for d in report["dropped"] if "GroupAggregate" in d["name"]]], [0, dropped], "with -n")
    starts_as_said(where, one, report, "-n", "-s", path)
    changed = script(where, (QUERY, OTHER.replace("7", "8")), out="changed")
    code, report = dry_run(where, changed, "-s", path)
    lone = [o for o in report["operators"] if o["fate"] == "starts empty" and "GroupAggregate" in o["name"]]
    same([code, [o["nearest"] for o in lone]], [1, [dropped[0]["name"]]], "an aggregate whose key was changed, and whose state it may want")


@test
def missing_files_are_listed_and_the_operators_all_the_same(where):
    directory, path = killed(where)
    gone = sorted(os.listdir(directory + "/shared"))
    for name in gone:
        os.unlink("%s/shared/%s" % (directory, name))
    code, report = dry_run(where, script(where), "-s", path)
    same(code, 1, "exit code")
    check(report["files"]["faults"] and all(f["reason"] == "missing" and f["operator"] for f in report["files"]["faults"]), "faults", report["files"])
    same(operator(report, "GroupAggregate")["fate"], "state restored", "what would become of the operator")
    starts_as_said(where, script(where), report, "-s", path)
    code, report = dry_run(where, script(where), "-s", directory + "/chk-4711")
    same([code, report["operators"], report["start"]], [1, [], None], "of a checkpoint that is not there")


@test
def a_parallelism_above_the_key_groups_is_refused_and_the_most_is_said(where):
    directory, path = killed(where, **{"pipeline.max-parallelism": 4})
    sql = script(where, parallelism=5, **{"pipeline.max-parallelism": 4}).replace("SET 'pipeline.max-parallelism' = '4';\n", "")
    code, report = dry_run(where, sql, "-s", path)
    same([code, report["max_parallelism"]], [1, 4], "exit code, max parallelism")
    check("parallelism 5" in report["reason"] and "4" in report["reason"], "the reason", report["reason"])
    starts_as_said(where, sql, report, "-s", path)
    sql = sql.replace("'parallelism.default' = '5'", "'parallelism.default' = '4'")
    code, report = dry_run(where, sql, "-s", path)
    same([code, report["max_parallelism"]], [0, 4], "exit code at four, max parallelism")
    same([operator(report, "GroupAggregate")[n] for n in ("was_parallelism", "parallelism")], [1, 4], "parallelism then and now")
    starts_as_said(where, sql, report, "-s", path)


@test
def a_resume_passes_over_what_is_damaged(where):
    directory, path = killed(where)
    with open(path + "/_metadata", "r+b") as f:
        f.truncate(100)
    sql = script(where, seconds=6, out="first")
    code, report = dry_run(where, sql, "--resume")
    same(code, 0, "exit code")
    check(report["start"]["path"] != path and [s["path"] for s in report["passed_over"]] == [path], "start, passed over", report["start"], report["passed_over"])
    code, report = dry_run(where, script(where, out="none"))
    same([code, report["start"]], [0, None], "a fresh start")


main()
