"""What real Flink wrote (tests/conformance/golden/flink-state), unpacked for a story; some of it with other bytes."""
import glob
import os
import tarfile
import threading

from varve import TESTS, check, files_below

ARCHIVE = os.path.join(TESTS, "conformance/golden/flink-state/snapshots.tar.xz")
FIXTURES = sorted({n.name.split("/")[1] for n in tarfile.open(ARCHIVE) if n.name.count("/") > 2})
_one_at_a_time = threading.Lock()


def unpack(where, *fixtures):
    with _one_at_a_time, tarfile.open(ARCHIVE) as t:
        t.extractall(where, [m for m in t.getmembers() if (m.name + "/.").split("/")[1].split(".expected")[0] in fixtures])
    return where


def newest(where, fixture):
    return os.path.dirname(sorted(glob.glob(where + "/" + fixture + "/*/**/_metadata", recursive=True))[-1])


def replaced(where, fixture, old, new):
    """The first file with these bytes, and where; others take their place."""
    unpack(where, fixture)
    for path in files_below(os.path.join(where, fixture)):
        whole = open(path, "rb").read()
        if old in whole:
            with open(path, "wb") as f:
                f.write(whole.replace(old, new, 1))
            return path
    check(False, "no file of %s has %r" % (fixture, old))
