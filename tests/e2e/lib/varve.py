"""varve.py - drives the real varve program for the stories of tests/e2e and tests/crash.

A story is a Python program: functions marked with @test run in the order written, each in a directory of its own
that goes when it passes; `python3 story.py WORD...` runs those whose name holds a word. Every Job is a real process.
Environment: VARVE_BIN the program, TESTS_DIR this tests directory (default: found from here), KEEP=1 keeps directories.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.environ.get("TESTS_DIR") or os.path.dirname(os.path.dirname(HERE))
BIN = os.environ.get("VARVE_BIN") or os.path.join(os.path.dirname(TESTS), "build/release/varve")
CASES = os.path.join(TESTS, "cases")
BACKENDS = ("hashmap", "rocksdb")
PATIENCE_S = 60  # a machine that does many things at once is slow; nothing waits that long when all is well


class Failed(Exception):
    pass


class TooFast(Failed):
    """The job ended by itself before it could be disturbed: nothing is wrong but the test's pace (see at_some_pace)."""


def check(condition, message, *evidence):
    """Fails the test with `message`; the evidence (outputs, lists) follows it."""
    if not condition:
        raise Failed("\n".join([message] + [str(e)[:3000] for e in evidence]))


def same(got, want, what):
    check(got == want, "%s: %r instead of %r" % (what, got, want))


def wait_until(condition, what, timeout=PATIENCE_S, step=0.01):
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < end, "after %d s still not: %s" % (timeout, what))
        time.sleep(step)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def at_some_pace(story, paces=(1, 3, 9)):
    """Runs story(pace), anew at a slower pace when the machine was too slow for the test to disturb the job in time."""
    for pace in paces:
        try:
            return story(pace)
        except TooFast:
            if pace == paces[-1]:
                raise


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


# ---- one run of the program ------------------------------------------------------------------------------


class Job:
    """A started `varve run --json`. Its outputs go to files, so that it never waits for a reader."""

    def __init__(self, where, sql, args=(), options=None, prefix=(), user=None):
        self.where = where
        self.sql = sql
        stamp = next(_numbers)
        self.script = write(os.path.join(where, "run", "%d.sql" % stamp), sql)
        self.out_path, self.err_path = self.script[:-4] + ".out", self.script[:-4] + ".err"
        self.command = list(prefix) + [BIN, "run", "--json", "-D", "rest.port=0"]
        for key, value in (options or {}).items():
            self.command += ["-D", "%s=%s" % (key, value)]
        self.command += list(args) + [self.script]
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=where,
                                            env=clean_environment(), user=user)
        with _lock:
            _started.append(self.process)

    @property
    def out(self):
        return read(self.out_path)

    @property
    def err(self):
        return read(self.err_path)

    def said(self):
        return "$ %s\n--- exit %s\n--- stdout\n%s\n--- stderr\n%s" % (
            " ".join(self.command), self.process.poll(), self.out[-1500:], self.err[-1500:])

    # -- its end

    def wait(self, timeout=PATIENCE_S * 2):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("still running after %d s\n%s" % (timeout, self.said()))

    def kill(self):
        """kill -9, of a job that still runs."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.report():
            self.must_run("it was killed")

    def terminate(self, timeout=PATIENCE_S):
        self.process.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def finish(self):
        """Waits for a run that must end well; its report."""
        code = self.wait()
        check(code == 0, "exit code %d" % code, self.said())
        report = self.report()
        check(report is not None and report["state"] == "FINISHED", "no report of a finished job", self.said())
        return report

    def refused(self, *words, code=1):
        """Waits for a run that must fail; every word stands in what it says on stderr."""
        got = self.wait()
        check(got == code, "exit code %d instead of %d" % (got, code), self.said())
        for w in words:
            check(w in self.err, "stderr does not say %r" % w, self.said())
        return self

    def json_lines(self):
        lines = [l for l in self.out.split("\n") if l.startswith("{")]
        return [json.loads(l) for l in lines]

    def report(self):
        """The report at the end (--json), None before it."""
        found = [l for l in self.json_lines() if "state" in l and "jid" in l]
        return found[-1] if found else None

    # -- while it runs

    def alive(self):
        return self.process.poll() is None

    def must_run(self, what):
        """Fails when the process has ended; too fast when it ended well."""
        if self.alive() and not self.report():
            return
        r = self.report()
        if r is not None and r["state"] == "FINISHED":
            raise TooFast("ended before %s\n%s" % (what, self.said()))
        raise Failed("ended before %s\n%s" % (what, self.said()))

    @property
    def jid(self):
        def find():
            m = re.search(r'"jid": ?"([0-9a-f]{32})"', self.out)
            if not m:
                self.must_run("it had a job")
            return m and m.group(1)

        return wait_until(find, "a job id")

    @property
    def url(self):
        def find():
            m = re.search(r"^REST: (http://\S+)", self.err, re.M)
            if not m:
                self.must_run("it answered")
            return m and m.group(1)

        return wait_until(find, "the REST address")

    def http(self, method, path, body=None):
        """(status, decoded answer)."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read() or b"null")
        except (OSError, ValueError) as e:
            time.sleep(0.2)  # for the report, if this is its end
            self.must_run("it answered %s %s" % (method, path))
            raise Failed("%s %s: %s\n%s" % (method, path, e, self.said()))

    def get(self, path):
        status, answer = self.http("GET", path)
        check(status == 200, "GET %s: %d" % (path, status), answer)
        return answer

    def state(self):
        return self.get("/jobs/%s" % self.jid)["state"]

    def source_rows(self):
        """Rows that the sources have sent on, over a chain as over an exchange."""
        try:
            with urllib.request.urlopen(self.url + "/metrics", timeout=PATIENCE_S) as answer:
                text = answer.read().decode()
        except OSError as e:
            time.sleep(0.2)
            self.must_run("its metrics were read")
            raise Failed("GET /metrics: %s\n%s" % (e, self.said()))
        return sum(int(float(m)) for m in re.findall(r'^flink_taskmanager_job_task_operator_numRecordsOut\{[^}]*operator_name="Source:[^}]*\} (\S+)', text, re.M))

    def checkpoints(self):
        return self.get("/jobs/%s/checkpoints" % self.jid)

    def wait_rows(self, rows):
        def reached():
            self.must_run("%d rows" % rows)
            return self.source_rows() >= rows

        wait_until(reached, "%d rows of the sources" % rows)

    def wait_checkpoints(self, count):
        def reached():
            self.must_run("%d checkpoints" % count)
            return self.checkpoints()["counts"]["completed"] >= count

        wait_until(reached, "%d completed checkpoints" % count)

    def operation(self, path, poll, body):
        """Posts, polls; (operation, None) or (None, why it failed)."""
        status, answer = self.http("POST", path, body)
        if status not in (200, 202):
            return None, str(answer)

        def completed():
            a = self.get("%s/%s" % (poll, answer["request-id"]))
            return a if a["status"]["id"] == "COMPLETED" else None

        done = wait_until(completed, "the end of %s" % path)["operation"]
        if "failure-cause" in done:
            return None, done["failure-cause"]["stack-trace"]
        return done, None

    def snapshot_operation(self, path, poll, body):
        """As operation(); what comes too early, while a task still restores, is asked for again, as a user would."""
        end = time.monotonic() + PATIENCE_S
        while True:
            done, why = self.operation(path, poll, body)
            if why is None or "Not all required tasks are currently running" not in why or time.monotonic() > end:
                return done, why
            time.sleep(0.02)

    def checkpoint(self):
        """Takes a checkpoint now; the path of it."""
        base = "/jobs/%s/checkpoints" % self.jid
        done, why = self.snapshot_operation(base, base, {"checkpointType": "CONFIGURED"})
        if why is not None:
            self.must_run("its checkpoint")
        check(why is None, "no checkpoint: %s" % why, self.said())
        return path_of(self.get("%s/details/%d" % (base, done["checkpointId"]))["external_path"])

    def savepoint(self, directory):
        base = "/jobs/%s/savepoints" % self.jid
        done, why = self.snapshot_operation(base, base, {"target-directory": directory, "cancel-job": False})
        if why is not None:
            self.must_run("its savepoint")
        check(why is None, "no savepoint: %s" % why, self.said())
        return path_of(done["location"])

    def stop(self, directory, drain=False):
        """Stops with a savepoint, waits for the end of the process; the path."""
        base = "/jobs/%s" % self.jid
        done, why = self.snapshot_operation(base + "/stop", base + "/savepoints", {"targetDirectory": directory, "drain": drain})
        if why is not None:
            self.must_run("its stop")
        check(why is None, "no savepoint: %s" % why, self.said())
        same(self.wait(), 0, "exit code of the stopped job")
        return path_of(done["location"])

    def cancel(self):
        status, answer = self.http("PATCH", "/jobs/%s?mode=cancel" % self.jid)
        same(status, 202, "status of cancel")
        return self.wait()


def path_of(uri):
    return re.sub("^file:(//)?(?=/)", "", uri)


def clean_environment():
    e = {k: v for k, v in os.environ.items() if not k.startswith("VARVE_")}
    e["LC_ALL"] = "C.UTF-8"
    return e


def preloaded(**settings):
    """The prefix of a command that puts tests/preload/preload_disk.c between a process and its disk."""
    build = os.environ.get("VARVE_BUILD") or os.path.dirname(BIN)
    library = os.path.join(build, "tests", "libpreload_disk.so")
    check(os.path.exists(library), "%s: build it (VARVE_BUILD names the build directory)" % library)
    return ["env", "LD_PRELOAD=" + library] + ["%s=%s" % s for s in settings.items()]


def varve(*args, timeout=PATIENCE_S, prefix=(), user=None):
    """Runs a verb to its end: (exit code, stdout, stderr)."""
    p = subprocess.run(list(prefix) + [BIN] + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=timeout, env=clean_environment(), user=user)
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def verify(path, *options):
    """What `varve verify --json` says; its exit code has to agree."""
    code, out, err = varve("verify", "--json", path, *options)
    check(out.startswith("{"), "verify %s: exit code %d" % (path, code), out, err)
    report = json.loads(out)
    same(code, 0 if report["ok"] else 1, "exit code of verify")
    return report


def inspect(path, *options):
    code, out, err = varve("inspect", "--json", path, *options)
    check(out.startswith("{"), "inspect %s: exit code %d" % (path, code), out, err)
    return json.loads(out)


# ---- SQL ---------------------------------------------------------------------------------------------------


def settings(where, backend="hashmap", parallelism=1, interval="100 ms", mode="batch", retained=3, **more):
    """SET lines of a job with retained checkpoints below <where>/ck; underscores of `more` keys are not touched."""
    pairs = {
        "execution.runtime-mode": mode,
        "parallelism.default": parallelism,
        "state.backend.type": backend,
        "execution.checkpointing.dir": "file://%s/ck" % where,
        "execution.checkpointing.num-retained": retained,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "none",
        "pipeline.max-parallelism": 128,
        "pipeline.name": "story",
    }
    if interval:
        pairs["execution.checkpointing.interval"] = interval
    pairs.update(more)
    return "".join("SET '%s' = '%s';\n" % (k, v) for k, v in pairs.items())


def table(name, columns, **options):
    """CREATE TABLE; option names as given, also through **{'a.b': c}."""
    pairs = ", ".join("'%s' = '%s'" % (k, str(v).replace("'", "''")) for k, v in options.items())
    return "CREATE TABLE %s (%s) WITH (%s);\n" % (name, columns, pairs)


def files_table(name, columns, path, format="csv", **options):
    return table(name, columns, connector="filesystem", path=path, format=format, **options)


def sequence(name, rows, rate=None, start=1):
    options = {"connector": "datagen", "fields.id.kind": "sequence", "fields.id.start": start, "fields.id.end": rows}
    options["rows-per-second"] = rate if rate else 1000000000
    return table(name, "id BIGINT", **options)


FORMULA_COLUMNS = "k BIGINT, n BIGINT, total BIGINT, least BIGINT, most BIGINT"
FORMULA = ("SELECT MOD(id * 48271, 200003) AS k, COUNT(*), SUM(v), MIN(v), MAX(v)\n"
           "FROM (SELECT id, MOD(MOD(id, 1009) * MOD(id, 1009), 1009) - 504 AS v FROM seq)\n"
           "GROUP BY MOD(id * 48271, 200003)")


def formula_and_rows(where, rows, rate, retained):
    """Case 21's table in <where>/out, and each row of the input in <where>/raw, by rocksdb with all its files below `where`."""
    more = {"state.backend.rocksdb.localdir": where + "/local", "execution.checkpointing.data-inline-threshold": "1kb",
            "taskmanager.memory.managed.size": "24mb"}
    return (settings(where, "rocksdb", 2, "40 ms", retained=retained, **more) + sequence("seq", rows, rate) +
            files_table("o", FORMULA_COLUMNS, where + "/out") + files_table("r", "id BIGINT", where + "/raw") +
            "EXECUTE STATEMENT SET BEGIN\nINSERT INTO o %s;\nINSERT INTO r SELECT id FROM seq;\nEND;\n" % FORMULA)


def formula_table(rows):
    """FORMULA's lines for the ids 1..rows, sorted."""
    groups = {}
    for i in range(1, rows + 1):
        v = (i % 1009) * (i % 1009) % 1009 - 504
        groups.setdefault(i * 48271 % 200003, []).append(v)
    return sorted(b"%d,%d,%d,%d,%d" % (k, len(v), sum(v), min(v), max(v)) for k, v in groups.items())


def check_formula_and_rows(where, rows, what):
    got = sorted(lines_of(where + "/out"))
    check(got == formula_table(rows), "%s: the table is wrong" % what, len(got))
    same(sorted(map(int, lines_of(where + "/raw"))), list(range(1, rows + 1)), "%s: rows" % what)


# ---- what is left on disk ----------------------------------------------------------------------------------


def visible(directory):
    """Finished files: no name on the way starts with a dot or an underscore."""
    found = []
    for at, folders, names in os.walk(directory):
        folders[:] = [d for d in folders if d[0] not in "._"]
        found += [os.path.join(at, n) for n in names if n[0] not in "._"]
    return sorted(found)


def hidden(directory):
    found = []
    for at, _, names in os.walk(directory):
        found += [os.path.join(at, n) for n in names if os.path.relpath(os.path.join(at, n), directory)[0] in "._" or n[0] in "._"]
    return sorted(found)


def lines_of(directory):
    lines = []
    for path in visible(directory):
        with open(path, "rb") as f:
            lines += f.read().split(b"\n")[:-1]
    return lines


def judge(expected, *outputs):
    """check_case.py as the judge."""
    p = subprocess.run([sys.executable, os.path.join(CASES, "check_case.py"), expected] + list(outputs),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(p.returncode == 0, "%s is not %s" % (outputs[0], expected), p.stdout.decode("utf-8", "replace"))


def named_files(job_directory, report=None):
    """Every file that the readable snapshots of a job directory name, absolute."""
    named = set()
    r = report or inspect(job_directory, "--files")
    for c in r["checkpoints"]:
        if c["status"] != "complete":
            continue
        named.add(os.path.join(c["path"], "_metadata"))
        for f in snapshot_files(c):
            named.add(f)
    return named


def snapshot_files(snapshot):
    """Files (not the inline ones) that one snapshot of an inspect report names, absolute."""
    found = []
    for op in snapshot["operators"]:
        for s in op["subtasks"]:
            for k in s["keyed"]:
                found += [os.path.normpath(os.path.join(snapshot["path"], f["path"])) for f in k["files"] if f["path"]]
            found += [os.path.normpath(os.path.join(snapshot["path"], f["path"])) for f in s["logs"]]
    return found


NOTE = re.compile("LOCK|ORIGIN|ENDED|SAVEPOINT-[0-9]+")  # what is neither state nor _metadata


def audit(job_directory, finished=False):
    """A job directory holds what its snapshots name, and nothing else. `finished`: its process ended by itself, so no
    incomplete checkpoint may lie there either. The count is ours, from the listing; varve's own must agree."""
    r = inspect(job_directory, "--files")
    named, there = named_files(job_directory, r), set()
    for at, _, names in os.walk(job_directory):
        there |= {os.path.join(at, n) for n in names}
    there = {f for f in there if not NOTE.fullmatch(os.path.basename(f))}
    incomplete = [c["path"] for c in r["checkpoints"] if c["status"] != "complete"]
    strangers = sorted(there - named)
    if not finished:  # a killed process leaves the attempt under way; a restore never offers it
        strangers = [f for f in strangers if os.path.dirname(f) not in incomplete]
    missing = sorted(named - there)
    check(not missing, "%s: named and not there" % job_directory, missing)
    if finished:
        check(not strangers, "%s: files that no snapshot names" % job_directory, strangers)
        check(not incomplete, "%s: incomplete checkpoints" % job_directory, incomplete)
        same(r["shared"]["unreferenced_files"], 0, "inspect's own count of unreferenced files")
    return strangers


def audit_dead(job_directory):
    """Of a job whose process is gone: what it offers is whole, and once orphans has deleted what the end left, nothing else lies there."""
    damaged = [c for c in inspect(job_directory, "--digests")["checkpoints"] if c["status"] not in ("complete", "incomplete")]
    check(not damaged, "%s: damaged checkpoints" % job_directory, damaged)
    code, out, err = varve("orphans", job_directory, "--delete", "--min-age", "0s", "-q")
    check(code == 0, "orphans %s: exit code %d" % (job_directory, code), out, err)
    audit(job_directory, finished=True)


def wait_audit(job, job_directory, timeout=30):
    """As audit(), of a job that runs, in a moment between two checkpoints: what it no longer needs goes a moment after the one that
    says so."""
    end = time.monotonic() + timeout
    while True:
        try:
            return audit(job_directory, finished=True)
        except Failed:
            job.must_run("its directory was clean")
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def files_below(directory):
    return sorted(os.path.join(at, n) for at, _, names in os.walk(directory) for n in names)


def tree_digest(directory):
    """Names and contents of a whole tree, to see that nothing in it changed."""
    import hashlib

    all_ = {}
    for at, folders, names in os.walk(directory):
        for n in names:
            with open(os.path.join(at, n), "rb") as f:
                all_[os.path.relpath(os.path.join(at, n), directory)] = hashlib.sha256(f.read()).hexdigest()
        for n in folders:
            all_[os.path.relpath(os.path.join(at, n), directory) + "/"] = ""
    return all_


def job_directories(where):
    """Directories of jobs that came as far as making them."""
    return sorted(d for d in glob.glob(where + "/ck/*")
                  if re.fullmatch("[0-9a-f]{32}", os.path.basename(d)) and os.path.isdir(d + "/taskowned"))


def newest(where):
    """The newest complete checkpoint below <where>/ck, or None."""
    found = []
    for m in glob.glob(where + "/ck/*/chk-*/_metadata"):
        try:
            found.append((os.stat(m).st_mtime_ns, os.path.dirname(m)))
        except FileNotFoundError:
            pass  # subsumed meanwhile
    return max(found)[1] if found else None


# ---- the stories' runner -----------------------------------------------------------------------------------

_tests, _started, _lock = [], [], threading.Lock()
_numbers = iter(range(1, 1 << 30))


def test(fn=None, *, each=None):
    """Marks a test: fn(where), or fn(where, value) for each value."""
    def mark(f):
        for value in each if each is not None else [None]:
            label = f.__name__ if each is None else "%s[%s]" % (
                f.__name__, ",".join(map(str, value)) if isinstance(value, tuple) else value)
            _tests.append((label, f, () if each is None else value if isinstance(value, tuple) else (value,)))
        return f

    return mark(fn) if fn is not None else mark


def _run(entry, root):
    label, fn, args = entry
    where = os.path.join(root, re.sub("[^A-Za-z0-9_.-]+", "-", label))
    os.makedirs(where)
    start = time.monotonic()
    try:
        fn(where, *args)
        error = None
        if not os.environ.get("KEEP"):
            shutil.rmtree(where, ignore_errors=True)
    except Failed as e:
        error = str(e)
    except Exception:
        error = traceback.format_exc()
    with _lock:
        print("%-6s %6.2f s  %s" % ("ok" if error is None else "FAILED", time.monotonic() - start, label))
        if error is not None:
            print("    " + error.replace("\n", "\n    ") + "\n    files: %s" % where)
        sys.stdout.flush()
    return error is None


def main(at_once=2):
    """Runs the story's tests, `at_once` at a time: most of their time is waiting."""
    check(os.access(BIN, os.X_OK), "VARVE_BIN: %s is no program" % BIN)
    words = [a for a in sys.argv[1:] if not a.startswith("-")]
    wanted = [t for t in _tests if not words or any(w in t[0] for w in words)]
    root = tempfile.mkdtemp(prefix="varve-%s." % os.path.basename(sys.argv[0]).replace(".py", ""))
    os.chmod(root, 0o755)
    try:
        with ThreadPoolExecutor(at_once) as pool:
            results = list(pool.map(lambda t: _run(t, root), wanted))
    finally:
        for p in _started:
            if p.poll() is None:
                p.kill()
    failed = results.count(False)
    print("%d tests, %d failed" % (len(results), failed))
    if not failed and not os.environ.get("KEEP"):
        shutil.rmtree(root, ignore_errors=True)
    sys.exit(1 if failed or not results else 0)
