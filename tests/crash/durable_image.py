#!/usr/bin/env python3
"""durable_image.py - a loss of power at any call of a real run, RocksDB and all: kill -9 never tests what was synced (C2).

A job runs with tests/preload/preload_disk.c between it and the disk, which writes down each write, sync, link, rename and
deletion. After each of them the worst directories that a disk may then hold are worked out (e2e/lib/journal.py). In every one:
a checkpoint that has a _metadata is whole by its digests (C2, C3); none that the job had said to be complete is gone without a
newer one (C5). Of some, chosen by a seed that is printed, the job resumes and ends: its table is exact, each row is visible once
(C7, C8).

    durable_image.py [WORD...]     VARVE_SOAK=1: every image is resumed from"""
import os
import random
import re
import shutil
import sys

E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e")
sys.path[:0] = [E2E + "/lib", E2E]
import unaligned
from journal import KINDS, replay
from varve import Job, TooFast, at_some_pace, check, check_formula_and_rows, formula_and_rows, inspect, main, preloaded, same, test

SOAK = os.environ.get("VARVE_SOAK") == "1"
SEED = int(os.environ.get("VARVE_TEST_SEED") or 20261130)
ROWS, RATE = 12000, 12000
CHECKPOINTS = 5  # and more: of these there are images
RESUMES = 24
WINDOW_ROWS = 60000  # of the job with rows in flight
OUTPUTS = ("ck", "out", "raw")
COMPLETED = re.compile(r"\bcheckpoint completed id=(\d+)")


class Kept:
    """A file of an image as it is now; the disk's own goes on changing."""

    def __init__(self, synced):
        self.synced = synced


class Pool:
    """Writes images as directories; a content is written once and linked."""

    def __init__(self, where):
        self.where, self.known = where, {}
        os.makedirs(where)

    def build(self, image, to, own=False):
        """own: with files that may be written to."""
        for path in sorted(p for p in image if image[p] is None):
            os.makedirs(os.path.join(to, path), exist_ok=True)
        for path, node in image.items():
            if node is None:
                continue
            if node.synced not in self.known:
                self.known[node.synced] = "%s/%d" % (self.where, len(self.known))
                with open(self.known[node.synced], "wb") as f:
                    f.write(node.synced)
            (shutil.copyfile if own else os.link)(self.known[node.synced], os.path.join(to, path))


def names_of_checkpoints(image):
    return sorted(int(m.group(1)) for m in (re.fullmatch(r"ck/[0-9a-f]{32}/chk-(\d+)/_metadata", p) for p in image) if m)


def check_image(directory, image, completed, ended, what):
    """The laws that hold without running anything."""
    there = names_of_checkpoints(image)
    if completed and not ended:
        check(there and there[-1] >= completed, "%s: checkpoint %d was complete and is gone" % (what, completed), there)
    if not there:
        return
    for c in [c for j in inspect(directory + "/ck", "--digests")["jobs"] for c in j["checkpoints"]]:
        if os.path.exists(c["path"] + "/_metadata"):
            same(c["status"], "complete", "%s: %s" % (what, c["path"]))


class Story:
    """A job that is looked at: its statements in a directory, what its outputs must be in the end, and how many checkpoints it takes."""

    def __init__(self, name, checkpoints, sql, check_outputs):
        self.name, self.checkpoints, self.sql, self.check_outputs, self.pace = name, checkpoints, sql, check_outputs, 1


def write_journal(story, live, journal):
    def at(pace):
        story.pace = pace
        shutil.rmtree(live, ignore_errors=True)
        if os.path.exists(journal):
            os.unlink(journal)
        os.makedirs(live)
        job = Job(live, story.sql(live, pace), ["--log-level", "info"], prefix=preloaded(PRELOAD_ROOT=live, PRELOAD_JOURNAL=journal))
        if job.finish()["checkpoints-completed"] < story.checkpoints:
            raise TooFast("too few checkpoints", job.said())

    at_some_pace(at)


def check_resume(story, directory, what):
    """From here the job comes to its end as if nothing had happened."""
    job = Job(directory, story.sql(directory, story.pace), ["--resume"])
    same(job.wait(), 0, "%s: exit code; %s" % (what, job.said()))
    story.check_outputs(directory, what, story.pace)


def each_image_is_whole(where, story, shown=None):
    """shown(directory): of a checkpoint in an image whatever must be met at least once."""
    live, journal = where + "/live", where + "/journal"
    write_journal(story, live, journal)
    rng, pool = random.Random("%d %s" % (SEED, story.name)), Pool(where + "/pool")
    seen, chosen, completed, ended, points, met = set(), [], 0, False, 0, shown is None
    for number, disk, said in replay(journal, live):
        for m in COMPLETED.finditer(said):
            completed = int(m.group(1))
        for kind in KINDS:
            image = disk.image(kind, OUTPUTS)
            ended = ended or any(p.endswith("/ENDED") for p in image)
            key = hash(frozenset((p, None if n is None else (id(n), len(n.synced))) for p, n in image.items()))
            if (key, completed) in seen:
                continue
            seen.add((key, completed))
            points += 1
            what = "%s, seed %d, after change %d, %s" % (story.name, SEED, number, kind)
            directory = where + "/image"
            pool.build(image, directory)
            check_image(directory, image, completed, ended, what)
            met = met or (names_of_checkpoints(image) and shown(directory))
            shutil.rmtree(directory, ignore_errors=True)
            # A sample of all that comes, each as likely as another; kept as bytes, for files change.
            at = len(chosen) if SOAK or len(chosen) < RESUMES else rng.randrange(points)
            if SOAK or at < RESUMES:
                kept = {p: None if n is None else Kept(n.synced) for p, n in image.items()}
                chosen[at:at + 1] = [(kept, what)]
    check(completed >= story.checkpoints and points > 40 and met, "too little happened", completed, points, met)
    for image, what in chosen:
        shutil.rmtree(live)
        pool.build(image, live, own=True)
        check_resume(story, live, what)
    print("%s: %d images, %d checkpoints, %d resumed from" % (story.name, points, completed, len(chosen)), file=sys.stderr)


@test(each=[1, 3])
def c2_whatever_the_disk_kept_a_checkpoint_that_is_there_is_whole_and_the_job_goes_on_from_it(where, retained):
    each_image_is_whole(where, Story("retained %d" % retained, CHECKPOINTS, lambda at, pace: formula_and_rows(at, ROWS, RATE // pace, retained),
                                     lambda at, what, _: check_formula_and_rows(at, ROWS, what)))


@test
def c2_a_checkpoint_with_rows_in_flight_is_whole_with_them(where):
    def has_rows_in_flight(directory):
        return any(unaligned.in_flight(c["path"])[0] > 0 for j in inspect(directory + "/ck")["jobs"] for c in j["checkpoints"] if c["status"] == "complete")

    each_image_is_whole(where, Story("unaligned", 2, lambda at, pace: unaligned.script(at, rows=WINDOW_ROWS * pace, interval="20 ms"),
                                     lambda at, what, pace: unaligned.windows_are(at, WINDOW_ROWS * pace)), has_rows_in_flight)


if __name__ == "__main__":
    main()
