"""Looking at directories: varve inspect in its three forms, varve orphans (B06, B30). On what real jobs leave."""
import html.parser
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import json_schema  # noqa: E402
from varve import TESTS, Job, at_some_pace, check, files_table, inspect, main, read, same, sequence, settings, test, tree_digest, varve, write  # noqa: E402

SCHEMA = json.loads(read(os.path.join(TESTS, "../docs/inspect.schema.json")))
ROWS = 20000


def story_sql(where, name="story", rate=20000):
    write(where + "/in/a.csv", "".join("%d\n" % i for i in range(1, ROWS)))
    return (settings(where, "rocksdb", mode="streaming", interval="150 ms", **{"pipeline.name": name})
            + files_table("rows_in", "id BIGINT", where + "/in", **{"source.monitor-interval": "1 s"})
            + files_table("out", "id BIGINT", where + "/out")
            + sequence("seq", 1000000, rate=rate)
            + "CREATE TABLE totals (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');\n"
            + "BEGIN STATEMENT SET;\nINSERT INTO out SELECT id FROM rows_in;\n"
            + "INSERT INTO totals SELECT MOD(id, 100), COUNT(*) FROM seq GROUP BY MOD(id, 100);\nEND;\n")


def left_by_a_kill(where, checkpoints=5, **more):
    """The job's directory, after that many checkpoints and a savepoint beside it."""
    def story(pace):
        for d in ("ck", "out"):
            shutil.rmtree(os.path.join(where, d), ignore_errors=True)
        job = Job(where, story_sql(where, rate=20000 // pace, **more))
        job.wait_checkpoints(checkpoints)
        job.savepoint(where + "/ck")
        job.kill()
        return "%s/ck/%s" % (where, job.jid)

    return at_some_pace(story)


def valid(report, what):
    found = json_schema.errors(report, SCHEMA)
    check(not found, "%s is not what docs/inspect.schema.json says" % what, "\n".join(found))
    try:
        import jsonschema
    except ImportError:
        return report
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(report, SCHEMA)
    return report


def items(snapshot, list_name):
    return [i for op in snapshot["operators"] for s in op["subtasks"] for l in s["lists"] if l["name"] == list_name for i in l["items"]]


@test
def each_report_keeps_to_the_schema_whole_damaged_or_incomplete(where):
    directory = left_by_a_kill(where)
    root = os.path.dirname(directory)
    report = valid(inspect(root), "the root")
    same([len(report["jobs"]), len(report["savepoints"])], [1, 1], "jobs and savepoints")
    newest = [c for c in report["jobs"][0]["checkpoints"] if c["status"] == "complete"][-1]
    check(all("operators" not in c for c in report["jobs"][0]["checkpoints"]), "a table tells more than lines")
    for path in (directory, newest["path"], report["savepoints"][0]["path"]):
        for options in ((), ("--files",), ("--files", "--digests")):
            valid(inspect(path, *options), "%s %s" % (path, options))
    check(all("operators" in c for c in inspect(directory, "--files")["checkpoints"] if c["status"] == "complete"), "--files tells all")
    os.makedirs(directory + "/chk-7777")
    write(directory + "/chk-7777/s-0.bin", "1234")
    complete = [c for c in inspect(directory)["checkpoints"] if c["status"] == "complete"]
    with open(complete[0]["path"] + "/_metadata", "r+b") as f:
        f.truncate(100)
    os.unlink(os.path.join(directory, "shared", sorted(os.listdir(directory + "/shared"))[0]))
    report = valid(inspect(directory, "--files"), "the damaged directory")
    last = report["checkpoints"][-1]
    same([last["status"], last["size"]], ["incomplete", 4], "the incomplete one")
    first = next(c for c in report["checkpoints"] if c["path"] == complete[0]["path"])
    same(first["status"], "damaged", "status of the cut one")
    check("cut at byte 100" in first["reason"] or "100" in first["reason"], "its reason", first["reason"])
    code, out, err = varve("inspect", directory)
    same(code, 1, "exit code")
    check("chk-7777" in out and "incomplete" in out and first["reason"] in out, "what is wrong stands in the table", out, err)


@test
def positions_and_pending_parts_are_readable(where):
    directory = left_by_a_kill(where)
    path = [c for c in inspect(directory)["checkpoints"] if c["status"] == "complete"][-1]["path"]
    snapshot = inspect(path)["snapshot"]
    positions = items(snapshot, "source-positions")
    same(sorted({p["what"] for p in positions}), ["file position", "reads", "row numbers"], "sorts of positions")
    at = next(p for p in positions if p["what"] == "file position")
    same([at["path"], at["line"], at["offset"]], ["a.csv", ROWS, os.path.getsize(where + "/in/a.csv")], "the file's position")
    writers = items(snapshot, "sink-writer")
    check(any(w["what"] == "sink writer" and w["path"] == where + "/out" for w in writers), "the sink's writer", writers)
    code, out, err = varve("inspect", path)
    same(code, 0, "exit code")
    for words in ("file position: path a.csv, offset", "row numbers: next", "  SQL:\n", "  set pipeline.name = story"):
        check(words in out, "inspect says %r" % words, out, err)


@test
def b30_hidden_files_that_no_checkpoint_knows_are_listed_with_whose_they_are(where):
    directory = left_by_a_kill(where)
    path = [c for c in inspect(directory)["checkpoints"] if c["status"] == "complete"][-1]["path"]
    shutil.rmtree(where + "/out/.gone", ignore_errors=True)
    before = {i["path"] for i in inspect(path)["snapshot"]["outside"]}
    uuid = next(w["uuid"] for w in items(inspect(path)["snapshot"], "sink-writer") if w["path"] == where + "/out")
    other = "01234567-89ab-4def-8123-456789abcdef"
    mine = write("%s/out/.part-%s-0-4711.inprogress.%s" % (where, uuid, uuid), "mine")
    theirs = write("%s/out/.part-%s-0-4711.inprogress.%s" % (where, other, other), "theirs")
    write(where + "/out/.hidden", "a stranger")
    found = valid(inspect(path), "with hidden files")["snapshot"]["outside"]
    same({i["path"]: (i["of"], i["size"]) for i in found if i["path"] not in before}, {mine: ("this job", 4), theirs: ("another run", 6)}, "hidden files")
    out = varve("inspect", directory)[1]
    check("hidden file: path %s, size 4, age_ms " % mine in out and ", of this job\n" in out, "the text", out)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.outside, self.text = {}, [], []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.outside += [a for a in attributes if a[0] in ("src", "href", "srcset", "action")]

    def handle_data(self, data):
        self.text.append(data)


@test
def a_page_needs_nothing_else_and_runs_nothing(where):
    directory = left_by_a_kill(where, name="<script>alert(1)</script> & \"x\"")
    code, out, err = varve("inspect", "--html", where + "/page.html", os.path.dirname(directory))
    same((code, out), (0, ""), "exit code and stdout; " + err)
    page, text = Page(), read(where + "/page.html")
    page.feed(text)
    same([page.tags.get(t, 0) for t in ("script", "link", "img", "iframe", "object")], [0] * 5, "tags that fetch or run")
    same(page.outside, [], "references to elsewhere")
    check(page.tags.get("svg", 0) >= 2 and page.tags.get("rect", 0) > 3, "the charts", page.tags)
    said = "".join(page.text)
    for words in ("<script>alert(1)</script> & \"x\"", "Which checkpoint uses which shared file", "file position: path a.csv", "INSERT INTO out", "Savepoints"):
        check(words in said, "the page says %r" % words, said)
    same(os.listdir(where).count(".page.html.tmp"), 0, "temporary files")
    same(varve("inspect", "--html", where + "/page.html", directory)[0], 0, "a second time")
    same(varve("inspect", "--html", where + "/none/page.html", directory)[0], 2, "into a directory that is not there")


@test
def b06_of_a_running_job_nothing_then_the_strangers_of_a_dead_one_and_no_young_ones(where):
    def story(pace):
        shutil.rmtree(where + "/ck", ignore_errors=True)
        job = Job(where, story_sql(where, rate=20000 // pace))
        job.wait_checkpoints(3)
        directory = "%s/ck/%s" % (where, job.jid)
        stray = write(directory + "/shared/%032x.sst" % 1, "stray")
        code, out, err = varve("orphans", where + "/ck", "--min-age", "0s", "--delete")
        job.must_run("its directory was searched")
        check(code == 1 and out == "" and "a running job holds it" in err, "of a running job: exit code %d" % code, out, err)
        check(os.path.exists(stray), "a file of a running job is gone")
        job.kill()
        return directory

    directory = at_some_pace(story)
    same(varve("orphans", directory, "--delete", "--min-age", "0s", "-q")[0], 0, "exit code of the first sweep")
    before = inspect(directory, "--files")
    planted = [write(directory + "/shared/%032x.sst" % i, "stray %d" % i) for i in range(3)]
    planted += [write(directory + "/chk-9999/s-0.bin", "never completed"), write(directory + "/shared/.tmp-0123456789abcdef", "under way")]
    write(directory + "/shared/notes.txt", "a stranger")
    for limit in (2, 8, 30):  # a slow machine takes longer than that to look
        time.sleep(limit + 0.1)
        fresh, start = write(directory + "/shared/%032x.sst" % 99, "fresh"), time.monotonic()
        code, out, err = varve("orphans", directory, "--min-age", "%ds" % limit, "--json")
        if time.monotonic() - start < limit:
            break
    report = json.loads(out)
    same(code, 0, "exit code; " + err)
    listed = report["places"][0]["orphans"]
    same(sorted(o["path"] for o in listed), sorted(planted[:3] + [directory + "/chk-9999", planted[4]]), "orphans listed")
    check(all(o["age_ms"] >= limit * 1000 and o["reason"] and o["size"] > 0 for o in listed), "age, reason and size of each", listed)
    same([report["count"], report["young"]], [5, 1], "counts")
    same(varve("orphans", directory)[1], "", "listed without a limit of its own: all younger than an hour")
    write(fresh, "fresh again")
    start = time.monotonic()
    code, out, err = varve("orphans", where + "/ck", "--min-age", "%ds" % limit, "--delete")
    same(code, 0, "exit code of --delete; " + err)
    check(not any(os.path.exists(p) for p in planted), "the five are gone")
    check(os.path.exists(fresh) or time.monotonic() - start >= limit, "the fresh one is not")
    check(os.path.exists(directory + "/shared/notes.txt"), "a stranger is nobody's to delete")
    after = inspect(directory, "--files")
    same([(c["path"], c["status"]) for c in after["checkpoints"]], [(c["path"], c["status"]) for c in before["checkpoints"]], "checkpoints")


@test
def while_a_metadata_cannot_be_read_no_shared_file_is_an_orphan(where):
    directory = left_by_a_kill(where)
    varve("orphans", directory, "--delete", "--min-age", "0s", "-q")
    stray = write(directory + "/shared/%032x.sst" % 1, "stray")
    path = [c for c in inspect(directory)["checkpoints"] if c["status"] == "complete"][0]["path"]
    with open(path + "/_metadata", "r+b") as f:
        f.truncate(50)
    code, out, err = varve("orphans", directory, "--min-age", "0s", "--delete")
    same((code, out), (1, ""), "exit code, list; " + err)
    check(os.path.exists(stray) and "unreadable: " + path in err, "it stays, and why is said", err)


@test
def who_may_only_read_sees_all_of_it_and_that_a_job_runs(where):
    """Read-only media, or a directory of another user. Root may do anything, so another one looks."""
    if os.getuid() != 0:
        return
    for at in (where, os.path.dirname(where)):
        os.chmod(at, 0o755)
    nobody = 65534

    def story(pace):
        shutil.rmtree(where + "/ck", ignore_errors=True)
        job = Job(where, story_sql(where, rate=20000 // pace))
        job.wait_checkpoints(3)
        directory = "%s/ck/%s" % (where, job.jid)
        code, out, err = varve("orphans", directory, "--min-age", "0s", user=nobody)
        job.must_run("it was looked at")
        check(code == 0 and "a running job holds it" in err, "of a running job: exit code %d" % code, out, err)
        job.kill()
        return directory

    directory = at_some_pace(story)
    write(directory + "/shared/%032x.sst" % 1, "stray")
    before = tree_digest(where + "/ck")
    code, out, err = varve("inspect", directory, user=nobody)
    same(code, 0, "exit code of inspect; " + err)
    code, out, err = varve("orphans", directory, "--min-age", "0s", user=nobody)
    check(code == 0 and "%032x.sst" % 1 in out, "exit code of orphans: %d" % code, out, err)
    code, out, err = varve("orphans", directory, "--min-age", "0s", "--delete", user=nobody)
    same(code, 3, "exit code of --delete; " + err)
    same(tree_digest(where + "/ck"), before, "the directory")


main()
