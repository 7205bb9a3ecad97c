"""lab.py - what scripts/lab does: see there. Python's standard library only.

The script drives the program as its users do (varve serve, varve sql -m, varve run, the verbs, REST with Flink's shapes) and believes
none of its words about results: rows, gaps, duplicates, dot files and checkpoint directories are counted from disk.
Every expectation is one line, ok or FAILED; the exit code is 0 only if none failed.
"""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

RATE = 50  # rows a second
LAST = 1_000_000_000
HEX_ID = r"[0-9a-f]{32}"
PART = re.compile(r"part-([0-9a-f-]{36})-(\d+)-(\d+)$")
DOT = re.compile(r"\.(part-[0-9a-f-]{36}-\d+-\d+)\.inprogress\.[0-9a-f-]{36}$")


# ---- expectations ----------------------------------------------------------------------------------

class Lesson:
    def __init__(self, varve, work, short):
        self.varve, self.work, self.short = varve, work, short
        self.failed, self.passed = [], 0
        self.phases = []   # (name, directory, snapshot of the sink, listing of the job's checkpoint directory)
        self.processes = []
        self.port = None

    def path(self, *names):
        return os.path.join(self.work, *names)

    def say(self, text):
        print(f"\n== {text}", flush=True)

    def expect(self, ok, what):
        print(f"  {'ok    ' if ok else 'FAILED'} {what}", flush=True)
        if ok:
            self.passed += 1
        else:
            self.failed.append(what)

    def seconds(self, long, short):
        return short if self.short else long


class Fatal(Exception):
    pass


# ---- files of the sink -----------------------------------------------------------------------------

def rows_of(text):
    """Whole lines as numbers, and the bytes of a last line without its end."""
    *lines, rest = text.split(b"\n")
    return [int(line) for line in lines], rest


def look(directory):
    """{'finished': {name: rows}, 'dots': {name: (bytes, rows, cut)}} of what is on disk now."""
    finished, dots = {}, {}
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        try:
            with open(os.path.join(directory, name), "rb") as f:
                text = f.read()
        except FileNotFoundError:  # renamed meanwhile: it is found under its final name the next time
            continue
        rows, rest = rows_of(text)
        if name.startswith("."):
            dots[name] = (len(text), rows, rest)
        else:
            if rest:
                raise Fatal(f"{directory}/{name} ends in the middle of a row: {rest!r}")
            finished[name] = rows
    return {"finished": finished, "dots": dots}


def all_rows(snapshot, uuids=None):
    return [r for name, rows in snapshot["finished"].items() for r in rows
            if uuids is None or PART.match(name).group(1) in uuids]


def uuids_of(snapshot):
    return {PART.match(name).group(1) for name in snapshot["finished"]}


class Count:
    """What the audit says about a list of numbers."""

    def __init__(self, rows):
        seen = set(rows)
        self.rows, self.distinct = len(rows), len(seen)
        self.first, self.last = (min(seen), max(seen)) if seen else (None, None)
        self.gaps = self.last - self.first + 1 - self.distinct if seen else 0
        self.duplicates = self.rows - self.distinct

    def range(self):
        return f"{self.first}..{self.last}" if self.distinct else "none"

    def __str__(self):
        return f"{self.rows} rows, {self.range()}, gaps {self.gaps}, duplicates {self.duplicates}"


class Sampler(threading.Thread):
    """Lists a sink directory every 20 ms: which finished and dot files were seen, and whether a finished one ever changed."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory, self.stop, self.samples = directory, threading.Event(), []
        self.sizes, self.changed, self.strange = {}, [], set()

    def run(self):
        while not self.stop.wait(0.02):
            names = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []
            for name in names:
                if PART.match(name):
                    try:
                        size = os.stat(os.path.join(self.directory, name)).st_size
                    except FileNotFoundError:
                        size = None
                    if self.sizes.setdefault(name, size) != size:
                        self.changed.append(name)
                elif not DOT.match(name):
                    self.strange.add(name)
            gone = [n for n in self.sizes if n not in names]
            self.changed += gone
            self.samples.append((time.time(), sum(1 for n in names if not n.startswith(".")),
                                 [n for n in names if n.startswith(".")]))

    def end(self):
        self.stop.set()
        self.join()
        return self


# ---- the checkpoint directory ----------------------------------------------------------------------

def metadata_fault(directory):
    """'' when <directory>/_metadata is there and whole by its header (docs/FORMAT.md), else what is wrong."""
    try:
        with open(os.path.join(directory, "_metadata"), "rb") as f:
            text = f.read()
    except OSError as e:
        return str(e)
    magic, skip = struct.unpack_from("<II", text, 0) if len(text) >= 8 else (0, 0)
    if magic & 0xFFFFFFF0 != 0x184D2A50:
        return f"no skippable zstd frame at the start: {text[:8].hex()}"
    frame = 8 + skip
    if len(text) < frame + 4 or struct.unpack_from("<I", text, frame)[0] != 0xFD2FB528:
        return f"no zstd frame at byte {frame} of {len(text)}"
    return ""


def local_path(uri):
    return re.sub(r"^file:/*", "/", uri)


def listing(directory):
    """Names below a job's checkpoint directory, without its lock file."""
    out = []
    for where, folders, files in os.walk(directory):
        folders.sort()
        rel = os.path.relpath(where, directory)
        out += [n if rel == "." else f"{rel}/{n}" for n in sorted(folders + files)]
    return sorted(n for n in out if not re.fullmatch("LOCK|ORIGIN|SAVEPOINT-[0-9]+", n))


def checkpoints_in(names):
    return sorted(int(m.group(1)) for m in (re.match(r"chk-(\d+)$", n) for n in names) if m)


# ---- the program -----------------------------------------------------------------------------------

def start(lesson, *arguments):
    """A varve with a REST server; returns (process, port)."""
    log = lesson.path(f"log-{len(lesson.processes)}.txt")
    with open(log, "wb") as err, open(log + ".out", "wb") as out:
        process = subprocess.Popen([lesson.varve, *arguments, "-D", "rest.port=0"], stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL)
    lesson.processes.append(process)
    process.log = log
    for _ in range(600):
        with open(log, "rb") as f:
            found = re.search(rb"REST: http://[^ :]+:(\d+)", f.read())
        if found:
            return process, int(found.group(1))
        if process.poll() is not None:
            break
        time.sleep(0.05)
    with open(log) as f:
        raise Fatal(f"{' '.join(arguments)} did not start:\n{f.read()}")


def verb(lesson, *arguments, port=None, may_fail=False):
    target = [] if port is None else ["-m", f"localhost:{port}"]
    done = subprocess.run([lesson.varve, *arguments, *target], capture_output=True, text=True, timeout=60)
    if done.returncode != 0 and not may_fail:
        raise Fatal(f"varve {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def rest(port, path, method="GET", body=None):
    request = urllib.request.Request(f"http://localhost:{port}{path}", method=method,
                                     data=None if body is None else json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as e:
        raise Fatal(f"{method} {path}: {e.code} {e.read().decode(errors='replace')}") from e


def job_sql(lesson, name, out, recover=None, interval="1s"):
    lines = [f"SET 'execution.checkpointing.interval' = '{interval}';",
             f"SET 'execution.checkpointing.dir' = 'file://{lesson.path('checkpoints')}';",
             f"SET 'execution.checkpointing.savepoint-dir' = 'file://{lesson.path('savepoints')}';",
             "SET 'execution.checkpointing.externalized-checkpoint-retention' = 'RETAIN_ON_CANCELLATION';",
             f"SET 'pipeline.name' = '{name}';"]
    if recover:
        lines.append(f"SET 'execution.state-recovery.path' = '{recover}';")
    return "\n".join(lines) + f"""
CREATE TABLE seq (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '{RATE}',
    'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '{LAST}');
CREATE TABLE sink (id BIGINT) WITH ('connector' = 'filesystem', 'path' = 'file://{lesson.path(out)}', 'format' = 'csv');
INSERT INTO sink SELECT id FROM seq;
"""


class Job:
    def __init__(self, lesson, port, job_id, out):
        self.lesson, self.port, self.id, self.out = lesson, port, job_id, out
        self.sink, self.directory = lesson.path(out), lesson.path("checkpoints", job_id)

    def state(self):
        return rest(self.port, f"/jobs/{self.id}")["state"]

    def checkpoints(self):
        return rest(self.port, f"/jobs/{self.id}/checkpoints")

    def newest(self):
        latest = self.checkpoints()["latest"]["completed"]
        return (latest["id"], local_path(latest["external_path"])) if latest else (0, None)

    def wait(self, what, until, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            got = until()
            if got:
                return got
            time.sleep(0.03)
        raise Fatal(f"{what}: not after {seconds} s (job {self.id} is {self.state()})")

    def wait_checkpoints(self, count):
        """Until `count` periodic checkpoints have completed since the start of this job."""
        def enough():
            if self.state() in ("FAILED", "FINISHED", "CANCELED"):
                raise Fatal(f"job {self.id} is {self.state()}: {rest(self.port, f'/jobs/{self.id}/exceptions')}")
            return self.checkpoints()["counts"]["completed"] >= count
        self.wait(f"{count} checkpoints", enough, 20 + 3 * count)

    def wait_state(self, state):
        self.wait(state, lambda: self.state() == state)

    def rows_written(self):
        """Rows that the sink operator has taken so far, by GET /metrics."""
        with urllib.request.urlopen(f"http://localhost:{self.port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        return sum(int(n) for n in re.findall(rf'operator_numRecordsIn{{[^}}]*job_id="{self.id}"[^}}]*operator_name="Sink: [^}}]*}} (\d+)', text))

    def wait_next_checkpoint(self):
        now = self.newest()[0]
        self.wait("the next checkpoint", lambda: self.newest()[0] > now)
        return self.newest()

    def savepoint(self):
        trigger = rest(self.port, f"/jobs/{self.id}/savepoints", "POST",
                       {"target-directory": f"file://{self.lesson.path('savepoints')}", "cancel-job": False})["request-id"]

        def done():
            answer = rest(self.port, f"/jobs/{self.id}/savepoints/{trigger}")
            if answer["status"]["id"] != "COMPLETED":
                return None
            if "location" not in answer["operation"]:
                raise Fatal(f"savepoint failed: {answer['operation']}")
            return local_path(answer["operation"]["location"])
        return self.wait("a savepoint", done)

    def note(self, phase):
        """Keeps what is on disk at the end of a phase, for the report."""
        snapshot, names = look(self.sink), listing(self.directory)
        self.lesson.phases.append((phase, self.out, snapshot, names))
        return snapshot, names


def submit(lesson, port, name, out, **how):
    text = verb(lesson, "sql", "-e", job_sql(lesson, name, out, **how), port=port)
    found = re.search(rf"Job ID: ({HEX_ID})", text)
    if not found:
        raise Fatal(f"varve sql gave no job id:\n{text}")
    job = Job(lesson, port, found.group(1), out)
    job.wait("RUNNING", lambda: job.state() == "RUNNING")
    return job


# ---- the steps -------------------------------------------------------------------------------------

def expect_contiguous(lesson, rows, first, what):
    count = Count(rows)
    lesson.expect(count.rows > 0 and count.first == first and count.gaps == 0 and count.duplicates == 0,
                  f"{what}: {count} (expected from {first}, no gap, no duplicate)")
    return count


def expect_readable(lesson, path, what):
    fault = metadata_fault(path) if path else "no path"
    done = subprocess.run([lesson.varve, "inspect", path or "/", "--digests", "--json"], capture_output=True, text=True)
    lesson.expect(not fault and done.returncode == 0,
                  f"{what}: {path} has a readable _metadata and varve inspect --digests finds no fault"
                  + (f" ({fault or done.stdout + done.stderr})" if fault or done.returncode else ""))


def poll_newest_paths(lesson, job, count):
    """B09: what /checkpoints calls the newest is there, readable, at the moment it is answered."""
    superseded = bad = 0
    for _ in range(count):
        number, path = job.newest()
        if path is None:
            time.sleep(0.02)
            continue
        fault = metadata_fault(path)
        if fault and job.newest()[0] > number:  # it was replaced between the answer and the look
            superseded += 1
        elif fault:
            bad += 1
            print(f"         {path}: {fault}")
        time.sleep(0.02)
    lesson.expect(bad == 0 and superseded < count / 4, f"{count} times GET /jobs/:id/checkpoints: the newest path had a readable "
                  f"_metadata ({superseded} were replaced between answer and look, {bad} bad)")


def show_samples(sampler):
    """Two samples: one while a dot file grows, one right after its rename."""
    shown = 0
    for (_, before, dots), (_, after, _) in zip(sampler.samples, sampler.samples[1:]):
        if after > before and dots and shown < 2:
            print(f"         {before} finished, dot files: {', '.join(dots)}")
            print(f"         {after} finished 20 ms later")
            shown += 1


def first_run(lesson):
    lesson.say("1. first run into out1: listing while it runs, newest checkpoint path from /jobs/:id/checkpoints")
    job = submit(lesson, lesson.port, "lab-seq", "out1")
    sampler = Sampler(job.sink)
    sampler.start()
    job.wait_checkpoints(2)
    poll_newest_paths(lesson, job, lesson.seconds(200, 60))
    job.wait_checkpoints(lesson.seconds(8, 4))
    number, path = job.newest()
    print(f"         newest checkpoint by REST: {number} {path}")
    lesson.expect(path == os.path.join(job.directory, f"chk-{number}"), f"its path is <checkpoint dir>/<job id>/chk-{number}")
    names = listing(job.directory)
    lesson.expect(set(names) >= {"shared", "taskowned"} and len(checkpoints_in(names)) in (1, 2),
                  f"the job's directory holds shared, taskowned and the newest chk-n: {' '.join(names)}")
    sampler.end()
    show_samples(sampler)
    seen = [s for s in sampler.samples if s[2]]
    lesson.expect(bool(seen) and any(s[1] > 0 for s in seen), f"finished files and dot files were seen side by side "
                  f"({len(seen)} of {len(sampler.samples)} samples showed a dot file)")
    lesson.expect(not sampler.changed and not sampler.strange, "no finished file changed or went away, no other name appeared"
                  + (f": {sampler.changed} {sampler.strange}" if sampler.changed or sampler.strange else ""))
    return job


def intermediate_savepoint(lesson, job):
    lesson.say("2. an intermediate savepoint commits nothing; the next checkpoint commits what it closed")
    for _ in range(8):  # until no checkpoint completes between the two looks
        number, _ = job.wait_next_checkpoint()
        time.sleep(0.4)  # the commit of that checkpoint is done, the next one is not near
        before = look(job.sink)
        path = job.savepoint()
        after = look(job.sink)
        if job.newest()[0] == number:
            break
    else:
        lesson.expect(False, "a savepoint between two checkpoints could be looked at (8 attempts)")
        return
    lesson.expect(re.search(rf"/savepoint-{job.id[:6]}-[0-9a-f]{{12}}$", path) is not None,
                  f"its name is savepoint-<first 6 of the job id>-<12 hex>: {os.path.basename(path)}")
    lesson.expect(set(after["finished"]) == set(before["finished"]), f"no file was committed by it ({len(after['finished'])} before "
                  f"and after)")
    closed = [n for n, (size, _, _) in after["dots"].items() if n in before["dots"]]
    lesson.expect(bool(closed), f"its closed part waits as a dot file: {', '.join(closed)}")
    expect_readable(lesson, path, "the savepoint")
    job.wait_next_checkpoint()
    names = {DOT.match(n).group(1) for n in closed}
    job.wait("the commit", lambda: names <= set(look(job.sink)["finished"]) or None)
    lesson.expect(True, "the next checkpoint committed it")
    return path


def stop(lesson, job):
    lesson.say("3. STOP JOB ... WITH SAVEPOINT")
    text = verb(lesson, "sql", "-e", f"SET 'execution.checkpointing.savepoint-dir' = 'file://{lesson.path('savepoints')}'; "
                f"STOP JOB '{job.id}' WITH SAVEPOINT;", port=job.port)
    found = re.search(rf"file:\S*/savepoint-{job.id[:6]}-[0-9a-f]{{12}}", text)
    if not found:
        raise Fatal(f"STOP JOB gave no path:\n{text}")
    path = local_path(found.group(0))
    job.wait_state("FINISHED")
    snapshot, names = job.note("stop with savepoint")
    latest = job.checkpoints()["latest"]
    lesson.expect(local_path(latest["savepoint"]["external_path"]) == path and latest["completed"]["discarded"] is True,
                  "REST shows the savepoint, and the last checkpoint as discarded")
    lesson.expect(names == ["ENDED", "shared", "taskowned"],
                  f"no chk-n is left, shared and taskowned are empty, ENDED names the savepoint: {' '.join(names)}")
    lesson.expect(not snapshot["dots"], f"no dot file is left in {job.out}")
    expect_readable(lesson, path, "the savepoint")
    return path, latest["savepoint"]["id"], expect_contiguous(lesson, all_rows(snapshot), 1, job.out)


def restored_run(lesson, path, savepoint_id, first):
    lesson.say("4. restored from the savepoint by SET 'execution.state-recovery.path', into out2; then cancelled")
    job = submit(lesson, lesson.port, "lab-seq-restored", "out2", recover=f"file://{path}")
    job.wait_checkpoints(lesson.seconds(4, 3))
    restored = job.checkpoints()["latest"]["restored"]
    number, _ = job.newest()
    lesson.expect(restored is not None and restored["id"] == savepoint_id and restored["is_savepoint"] is True
                  and local_path(restored["external_path"]) == path, f"REST: restored from {savepoint_id}, the savepoint")
    lesson.expect(number > savepoint_id, f"checkpoint ids go on: {number} after {savepoint_id}")
    verb(lesson, "cancel", job.id, port=job.port)
    job.wait_state("CANCELED")
    snapshot, names = job.note("cancel (RETAIN)")
    kept = checkpoints_in(names)
    last = [i for i in kept if os.path.exists(os.path.join(job.directory, f"chk-{i}", "_metadata"))]
    lesson.expect(len(last) == 1 and last[0] >= number, f"RETAIN_ON_CANCELLATION keeps the last checkpoint: {' '.join(names)}")
    lesson.expect(job.newest()[0] == (last or [0])[0], "and it is the one that REST calls the newest")
    expect_contiguous(lesson, all_rows(snapshot), first, job.out)
    chk = os.path.join(job.directory, f"chk-{last[0]}")
    expect_readable(lesson, chk, "the retained checkpoint")
    return chk, Count(all_rows(snapshot))


def fresh_run(lesson, first_uuids, first_count):
    lesson.say("5. a fresh run without a savepoint, again into out1: the overlap begins at 1")
    job = submit(lesson, lesson.port, "lab-seq-fresh", "out1")
    job.wait_checkpoints(lesson.seconds(3, 2))
    text = verb(lesson, "stop", "-p", f"file://{lesson.path('savepoints')}", job.id, port=job.port)
    lesson.expect("Savepoint completed. Path: file:" in text, "varve stop -p DIR JOB says where its savepoint is")
    job.wait_state("FINISHED")
    snapshot, _ = job.note("fresh run, stopped")
    lesson.expect(sorted(all_rows(snapshot, first_uuids)) == list(range(1, first_count.last + 1)),
                  "the files of the first run are as they were")
    fresh = expect_contiguous(lesson, all_rows(snapshot, uuids_of(snapshot) - first_uuids), 1, "the new files of out1")
    check_overlap(lesson, snapshot, first_count, fresh)
    return fresh


def check_overlap(lesson, snapshot, first_count, fresh):
    rows = all_rows(snapshot)
    twice = {r for r, n in _times(rows).items() if n == 2}
    want = set(range(1, min(first_count.last, fresh.last or 0) + 1))
    lesson.expect(twice == want and len(rows) - len(set(rows)) == len(want),
                  f"twice are exactly 1..{len(want)}, and nothing three times: duplicates {len(rows) - len(set(rows))}")


def _times(rows):
    times = {}
    for r in rows:
        times[r] = times.get(r, 0) + 1
    return times


def resumed_run(lesson, chk, first):
    lesson.say("6. resumed from the retained checkpoint by its path, into out3; killed with SIGKILL")
    job = submit(lesson, lesson.port, "lab-seq-from-retained", "out3", recover=chk)
    before = listing(os.path.dirname(chk))
    job.wait_checkpoints(lesson.seconds(3, 2))
    lesson.expect(listing(os.path.dirname(chk)) == before, "NO_CLAIM: the restored checkpoint stays as it was")
    time.sleep(0.5)  # rows of no checkpoint
    server = lesson.processes[-1]
    server.send_signal(signal.SIGKILL)
    server.wait()
    snapshot, names = job.note("SIGKILL")
    expect_contiguous(lesson, all_rows(snapshot), first, job.out)
    lesson.expect(bool(checkpoints_in(names)), f"a checkpoint is there: {' '.join(names)}")
    return job


def after_the_kill(lesson, killed, first):
    lesson.say("7. varve run -s <directory of the killed job>, again into out3; stopped with a savepoint")
    script = lesson.path("resume.sql")
    with open(script, "w") as f:
        f.write(job_sql(lesson, "lab-seq-after-the-kill", "out3"))
    kept = checkpoints_in(listing(killed.directory))
    process, port = start(lesson, "run", "-s", killed.directory, script)
    found = None
    for _ in range(400):
        jobs = rest(port, "/jobs")["jobs"]
        if jobs:
            found = jobs[0]["id"]
            break
        time.sleep(0.05)
    if found is None:
        raise Fatal("varve run shows no job")
    job = Job(lesson, port, found, "out3")
    job.wait_checkpoints(lesson.seconds(3, 2))
    restored = job.checkpoints()["latest"]["restored"]
    lesson.expect(restored is not None and restored["id"] in kept, f"restored from checkpoint {restored and restored['id']} of the killed job")
    verb(lesson, "stop", "-p", f"file://{lesson.path('savepoints')}", job.id, port=port)
    code = process.wait(timeout=30)
    lesson.expect(code == 0, f"varve run ends with exit code {code} (0: the job has finished)")
    snapshot, _ = job.note("resumed after SIGKILL, stopped")
    expect_contiguous(lesson, all_rows(snapshot), first, job.out)


def pending_of_a_savepoint(lesson):
    lesson.say("8. a savepoint's waiting part is committed by the restore, at its old path, whatever the new one")
    _, port = server = start(lesson, "serve")
    job = submit(lesson, port, "lab-seq-pending", "out4", interval="1h")
    job.wait("rows", lambda: job.rows_written() >= lesson.seconds(60, 20))
    path = job.savepoint()
    verb(lesson, "cancel", job.id, port=port)
    job.wait_state("CANCELED")
    snapshot, _ = job.note("savepoint, cancel")
    held = [n for n in snapshot["dots"] if DOT.match(n)]
    lesson.expect(bool(held), f"after savepoint and cancel the part is still a dot file: {', '.join(held)}")
    other = submit(lesson, port, "lab-seq-pending-restored", "out5", recover=path, interval="1h")
    other.wait("rows", lambda: other.rows_written() >= lesson.seconds(50, 20))
    snapshot, _ = job.note("after the restore into out5")
    count = expect_contiguous(lesson, all_rows(snapshot), 1, "out4 after the restore into out5")
    verb(lesson, "stop", "-p", f"file://{lesson.path('savepoints')}", other.id, port=port)
    other.wait_state("FINISHED")
    snapshot, _ = other.note("restored into out5, stopped")
    expect_contiguous(lesson, all_rows(snapshot), (count.last or 0) + 1, "out5")
    server[0].send_signal(signal.SIGTERM)
    lesson.expect(server[0].wait(timeout=30) == 0, "varve serve ends on SIGTERM with exit code 0")


# ---- the report ------------------------------------------------------------------------------------

def table(head, rows):
    widths = [max(len(str(r[i])) for r in [head, *rows]) for i in range(len(head))]
    print("  " + " | ".join(str(c).ljust(w) for c, w in zip(head, widths)))
    print("  " + "-+-".join("-" * w for w in widths))
    for r in rows:
        print("  " + " | ".join(str(c).ljust(w) for c, w in zip(r, widths)))


def report(lesson, first_uuids, first_count, fresh):
    lesson.say("report: every number counted from disk")
    now = {out: look(lesson.path(out)) for out in sorted(os.listdir(lesson.work)) if re.match(r"out\d$", out)}
    first_run_files = [r for r in all_rows(now["out1"], first_uuids)]
    chain = first_run_files + all_rows(now["out2"]) + all_rows(now["out3"])
    every = all_rows(now["out1"]) + all_rows(now["out2"]) + all_rows(now["out3"])
    lines = []
    for out, s in now.items():
        c, dots = Count(all_rows(s)), [len(r) for _, r, _ in s["dots"].values()]
        lines.append((out, len(s["finished"]), c.rows, c.range(), c.gaps, c.duplicates, f"{len(dots)} ({sum(dots)} rows)"))
    for what, rows in (("first run + out2 + out3", chain), ("out1 + out2 + out3", every),
                       ("out4 + out5", all_rows(now["out4"]) + all_rows(now["out5"])) if "out5" in now else (None, None)):
        if what:
            c = Count(rows)
            lines.append((what, "", c.rows, c.range(), c.gaps, c.duplicates, ""))
    table(("directory", "files", "rows", "range", "gaps", "duplicates", "dot files"), lines)

    print()
    table(("at the end of", "sink", "files", "rows", "range", "dot files", "checkpoint directory"),
          [(phase, out, len(s["finished"]), Count(all_rows(s)).rows, Count(all_rows(s)).range(),
            ", ".join(f"{size} B" for size, _, _ in s["dots"].values()) or "none",
            " ".join(n for n in names if "/" not in n)) for phase, out, s, names in lesson.phases])

    print()
    saves = sorted(os.listdir(lesson.path("savepoints")))
    print(f"  savepoints: {' '.join(saves)}")
    lesson.expect(all(not metadata_fault(lesson.path("savepoints", s)) for s in saves), "all savepoints are still whole")
    c = Count(chain)
    lesson.expect((c.first, c.gaps, c.duplicates) == (1, 0, 0),
                  f"stop/restore, cancel/resume and kill/resume together: {c} (expected from 1, no gap, no duplicate)")
    c, overlap = Count(every), min(first_count.last, fresh.last or 0)
    lesson.expect((c.first, c.gaps, c.duplicates) == (1, 0, overlap), f"with the fresh run: {c} (expected the overlap 1..{overlap}, {overlap} duplicates)")
    if "out5" in now:
        expect_contiguous(lesson, all_rows(now["out4"]) + all_rows(now["out5"]), 1, "out4 and out5 together")
    done = subprocess.run([lesson.varve, "inspect", lesson.path("checkpoints"), "--json"], capture_output=True, text=True)
    lesson.expect(done.returncode == 0, "varve inspect of all checkpoint directories finds nothing damaged")


def run(lesson):
    _, lesson.port = start(lesson, "serve")
    job = first_run(lesson)
    intermediate_savepoint(lesson, job)
    path, number, first_count = stop(lesson, job)
    first_uuids = uuids_of(look(job.sink))
    chk, second = restored_run(lesson, path, number, first_count.last + 1)
    fresh = fresh_run(lesson, first_uuids, first_count)
    killed = resumed_run(lesson, chk, second.last + 1)
    after_the_kill(lesson, killed, second.last + 1)
    pending_of_a_savepoint(lesson)
    report(lesson, first_uuids, first_count, fresh)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--short"]
    if len(arguments) != 1:
        print("usage: scripts/lab [--short]", file=sys.stderr)
        return 2
    keep = os.environ.get("KEEP")
    if keep:
        os.makedirs(keep, exist_ok=True)
        if os.listdir(keep):
            print(f"KEEP={keep}: the directory is not empty", file=sys.stderr)
            return 2
    work = os.path.abspath(keep) if keep else tempfile.mkdtemp(prefix="varve-lab.")
    lesson, began = Lesson(os.path.abspath(arguments[0]), work, "--short" in sys.argv), time.time()
    try:
        run(lesson)
    except (Fatal, subprocess.TimeoutExpired) as e:
        lesson.expect(False, f"the lesson could go on: {e}")
        for p in lesson.processes[-1:]:
            with open(p.log) as f:
                print("".join(f.readlines()[-30:]), file=sys.stderr)
    finally:
        for p in lesson.processes:
            if p.poll() is None:
                p.kill()
                p.wait()
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    print(f"\n{lesson.passed} expectations held, {len(lesson.failed)} failed, {time.time() - began:.0f} s")
    for what in lesson.failed:
        print(f"FAILED: {what}")
    return 1 if lesson.failed else 0


if __name__ == "__main__":
    sys.exit(main())
