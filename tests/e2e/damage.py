#!/usr/bin/env python3
"""damage.py - a whole directory of checkpoints, as a killed job leaves it, with a bit flipped anywhere, or a file cut to any
length: `verify` and a restore refuse it with place and reason, or nobody uses those bytes (C13).

The damage is done by a program that restores as a job does, some hundred times a second (damage.c, which tells the laws).

    damage.py [WORD...]     VARVE_SOAK=1: 10,000 flips, and every length of every file; VARVE_TEST_SEED: other places"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import BACKENDS, BIN, Job, at_some_pace, check, files_table, main, same, sequence, settings, test, tree_digest, varve

SOAK = os.environ.get("VARVE_SOAK") == "1"
SEED = os.environ.get("VARVE_TEST_SEED") or "20261130"
PROGRAM = os.path.join(os.environ.get("VARVE_BUILD") or os.path.dirname(BIN), "tests", "damage")


def left_by_a_job(where, backend, keys, parallelism):
    """<where>/copy with a killed job's checkpoints, sharing files, and a savepoint; each name a file of its own."""
    sql = lambda pace: (settings(where, backend, parallelism, "50 ms", retained=4, **{"execution.checkpointing.data-inline-threshold": "300 b"}) +
                        sequence("seq", 400000, int(40000 / pace)) + files_table("o", "k BIGINT, n BIGINT, most STRING", where + "/out") +
                        "INSERT INTO o SELECT MOD(id, %d), COUNT(*), MAX(CAST(id AS STRING)) FROM seq GROUP BY MOD(id, %d);\n" % (keys, keys))

    def story(pace):
        shutil.rmtree(where + "/ck", ignore_errors=True)
        job = Job(where, sql(pace))
        job.wait_checkpoints(5)
        job.savepoint(where + "/ck")
        job.wait_checkpoints(7)
        job.kill()

    at_some_pace(story)
    shutil.copytree(where + "/ck", where + "/copy")
    code, out, err = varve("verify", "--deep", where + "/copy")
    same(code, 0, "verify of what a killed job left; " + out + err)


def damage(where, how, count):
    before = tree_digest(where + "/copy")
    os.makedirs(where + "/scratch", exist_ok=True)
    p = subprocess.run([PROGRAM, how, where + "/copy", where + "/scratch/db", str(count), SEED], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    check(p.returncode == 0, "seed %s: exit code %d" % (SEED, p.returncode), p.stderr.decode("utf-8", "replace"))
    check(tree_digest(where + "/copy") == before, "the directory is as it was")
    same(os.listdir(where + "/scratch"), [], "what restores leave in their scratch directory")
    print("%s: %s" % (how, p.stdout.decode().strip()), file=sys.stderr)
    return json.loads(p.stdout)


@test(each=BACKENDS)
def a_flipped_bit_is_refused_with_its_place_or_nobody_reads_it(where, backend):
    left_by_a_job(where, backend, 3000, 2)
    got = damage(where, "flips", 10000 if SOAK else 200)
    check(got["snapshots"] >= 5 and got["refused"] > got["damaged"] // 2, "too little was there, or in use", got)
    check(got["unused"] > 0 and got["another_taken"] > 0, "nothing was unused, or no other snapshot was taken", got)


@test(each=BACKENDS)
def a_file_cut_to_any_length_is_refused_with_its_place(where, backend):
    left_by_a_job(where, backend, 100, 2)
    got = damage(where, "cuts", 0 if SOAK else 300)
    same(got["refused"], got["damaged"], "each is refused; %s" % got)
    check(got["damaged"] >= 300, "too few", got)


main()
