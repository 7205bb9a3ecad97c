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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/lib"))
from journal import KINDS, replay
from varve import Job, TooFast, at_some_pace, check, check_formula_and_rows, formula_and_rows, inspect, main, preloaded, same, test

SOAK = os.environ.get("VARVE_SOAK") == "1"
SEED = int(os.environ.get("VARVE_TEST_SEED") or 20261130)
ROWS, RATE = 12000, 12000
CHECKPOINTS = 5  # and more: of these there are images
RESUMES = 24
OUTPUTS = ("ck", "out", "raw")
COMPLETED = re.compile(r"\bcheckpoint completed id=(\d+)")


def sql(where, retained, pace=1):
    return formula_and_rows(where, ROWS, RATE // pace, retained)


def write_journal(live, journal, text):
    shutil.rmtree(live, ignore_errors=True)
    if os.path.exists(journal):
        os.unlink(journal)
    os.makedirs(live)
    job = Job(live, text, ["--log-level", "info"], prefix=preloaded(PRELOAD_ROOT=live, PRELOAD_JOURNAL=journal))
    if job.finish()["checkpoints-completed"] < CHECKPOINTS:
        raise TooFast("too few checkpoints", job.said())


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


def check_resume(directory, what, retained):
    """From here the job comes to its end as if nothing had happened."""
    job = Job(directory, sql(directory, retained), ["--resume"])
    same(job.wait(), 0, "%s: exit code; %s" % (what, job.said()))
    check_formula_and_rows(directory, ROWS, what)


@test(each=[1, 3])
def c2_whatever_the_disk_kept_a_checkpoint_that_is_there_is_whole_and_the_job_goes_on_from_it(where, retained):
    live, journal = where + "/live", where + "/journal"
    at_some_pace(lambda pace: write_journal(live, journal, sql(live, retained, pace)))
    rng, pool = random.Random(SEED + retained), Pool(where + "/pool")
    seen, chosen, completed, ended, points = set(), [], 0, False, 0
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
            what = "retained %d, seed %d, after change %d, %s" % (retained, SEED, number, kind)
            directory = where + "/image"
            pool.build(image, directory)
            check_image(directory, image, completed, ended, what)
            shutil.rmtree(directory, ignore_errors=True)
            # A sample of all that comes, each as likely as another; kept as bytes, for files change.
            at = len(chosen) if SOAK or len(chosen) < RESUMES else rng.randrange(points)
            if SOAK or at < RESUMES:
                kept = {p: None if n is None else Kept(n.synced) for p, n in image.items()}
                chosen[at:at + 1] = [(kept, what)]
    check(completed >= CHECKPOINTS and points > 100, "too little happened", completed, points)
    for image, what in chosen:
        shutil.rmtree(live)
        pool.build(image, live, own=True)
        check_resume(live, what, retained)
    print("retained %d: %d images, %d checkpoints, %d resumed from" % (retained, points, completed, len(chosen)), file=sys.stderr)


if __name__ == "__main__":
    main()
