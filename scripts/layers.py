#!/usr/bin/env python3
"""Does the tree keep its directions, and away from calls that it bans?

    scripts/layers.py [DIR]      prints "file:line: reason" for each violation; exit 1 when there is any
    scripts/layers.py --test     checks this script itself

Rules (docs/ARCHITECTURE.md has the reasons):
  1. base <- backend <- checkpoint <- job, base <- sink <- job: a file includes from its own folder or from those to
     its left, by a path that starts at the repository root. tests/ may include everything.
  2. *_priv.h is included only in its own folder. rocksdb/ is included only by backend/rocks*.c, .cc and rocks_priv.h, and by
     tests/bench/bench_rocks*.c, which measure plain RocksDB or make databases as others write them.
  3. Nobody calls what has no bound, no error, hidden state or a hidden clock: strcpy, atoi, localtime, rand, time ...
  4. Files, directories, clocks and random numbers are touched only in base/ (and tests/, and backend/rocks_shim.cc).
"""
import os
import re
import sys

LEFT_OF = {
    "base": {"base"},
    "backend": {"base", "backend"},
    "checkpoint": {"base", "backend", "checkpoint"},
    "sink": {"base", "sink"},
    "job": {"base", "backend", "checkpoint", "sink", "job"},
    "tests": {"base", "backend", "checkpoint", "sink", "job", "tests"},
}
PUBLIC_HEADERS = {"varve_common.h"}  # included as users do: installed headers lie side by side
SOURCES = (".c", ".h", ".cc", ".y", ".re")
SKIPPED = {"build", "patches", "third_party"}

BANNED = {
    "strcpy": "no bound; use memcpy with a checked length, struct buf or snprintf",
    "strcat": "no bound; use struct buf or snprintf",
    "stpcpy": "no bound; use memcpy with a checked length",
    "sprintf": "no bound; use snprintf or buf_printf",
    "vsprintf": "no bound; use vsnprintf",
    "gets": "no bound",
    "atoi": "no error; use strtol and look at errno and the end",
    "atol": "no error; use strtol and look at errno and the end",
    "atoll": "no error; use strtoll and look at errno and the end",
    "atof": "no error; use strtod and look at the end",
    "strtok": "hidden state; use strtok_r or strcspn",
    "localtime": "hidden state; use localtime_r",
    "gmtime": "hidden state; use gmtime_r",
    "ctime": "hidden state; use strftime",
    "asctime": "hidden state; use strftime",
    "rand": "hidden state; use base/rng.h",
    "srand": "hidden state; use base/rng.h",
    "random": "hidden state; use base/rng.h",
    "srandom": "hidden state; use base/rng.h",
    "drand48": "hidden state; use base/rng.h",
    "time": "use clock_wall_ms of base/clock.h",
    "gettimeofday": "use clock_wall_ms of base/clock.h",
}

FILE_CALLS = set("""
    open open64 openat creat fopen fopen64 freopen fdopen tmpfile mkstemp mkdtemp mkostemp
    rename renameat renameat2 unlink unlinkat remove link linkat symlink symlinkat
    mkdir mkdirat rmdir opendir fdopendir readdir scandir nftw ftw
    stat stat64 lstat fstat fstatat statx truncate ftruncate fallocate posix_fallocate
    fsync fdatasync sync_file_range syncfs flock lockf copy_file_range
""".split())
CLOCK_CALLS = set("clock_gettime clock_nanosleep nanosleep usleep sleep timespec_get".split())
RANDOM_CALLS = set("getrandom getentropy arc4random".split())
FILE_CALLS_ALLOWED = ("base/", "tests/", "backend/rocks_shim.cc")

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
CALL = re.compile(r"(?<![A-Za-z0-9_])([a-z][a-z0-9_]*)\s*\(")
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^()\\ ]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def blank(text):
    """The same text with every character but line ends made a space: positions and line numbers stay."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKEN.sub(lambda m: blank(m[0]) if m[0][:2] in ("//", "/*") else m[0], text)


def without_comments_and_strings(text):
    return TOKEN.sub(lambda m: blank(m[0]), text)


def check_include(path, quote, included):
    folder = path.split("/")[0]
    if re.match(r"rocksdb/", included):
        if not re.match(r"(backend/rocks[a-z0-9_]*\.(c|cc)|backend/rocks_priv\.h|tests/bench/bench_rocks[a-z_]*\.c)$", path):
            return "includes %s; only backend/rocks*.c, .cc and rocks_priv.h know RocksDB" % included
        return None
    if quote == "<" or folder not in LEFT_OF or included in PUBLIC_HEADERS:
        return None
    top = included.split("/")[0]
    if "/" not in included or top not in LEFT_OF:
        return 'includes "%s"; an include starts at the repository root' % included
    if top not in LEFT_OF[folder]:
        return "%s/ includes %s; it may include only from %s" % (
            folder, included, ", ".join(sorted(LEFT_OF[folder])))
    if included.endswith("_priv.h") and os.path.dirname(path) != os.path.dirname(included):
        return "includes %s, which is for %s/ only" % (included, os.path.dirname(included))
    return None


def is_member(code, at):
    """Is the name at `at` a member (a.open, a->open, ns::open)? ::open and std::open are the libc's."""
    before = code[max(0, at - 64):at].rstrip()
    if before.endswith((".", "->")):
        return True
    m = re.search(r"([A-Za-z0-9_]*)\s*::$", before)
    return bool(m) and m[1] not in ("", "std")


def check_call(path, name):
    if name in BANNED:
        return "calls %s: %s" % (name, BANNED[name])
    if path.startswith(FILE_CALLS_ALLOWED):
        return None
    if name in FILE_CALLS:
        return "calls %s: files are touched only through base/fs.h" % name
    if name in CLOCK_CALLS:
        return "calls %s: clocks are read only through base/clock.h" % name
    if name in RANDOM_CALLS:
        return "calls %s: random numbers come only from base/rng.h" % name
    return None


def violations(path, text):
    """List of (line, reason); path is relative to the repository root."""
    found = []
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        m = INCLUDE.match(line)
        reason = m and check_include(path, m[1], m[2])
        if reason:
            found.append((number, reason))
    code = without_comments_and_strings(text)
    lines = code.split("\n")
    for m in CALL.finditer(code):
        number = code.count("\n", 0, m.start()) + 1
        if path.endswith(".y") and "::=" in lines[number - 1]:
            continue  # a grammar's symbols, not calls
        if is_member(code, m.start()):
            continue
        reason = check_call(path, m[1])
        if reason:
            found.append((number, reason))
    return sorted(found)


def sources(root):
    for directory, below, files in os.walk(root):
        below[:] = sorted(d for d in below
                          if not d.startswith(".") and not (directory == root and d in SKIPPED))
        for name in sorted(files):
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(directory, name), root)


CASES = [  # path, text, lines with a violation
    ("base/a.c", '#include "base/b.h"\n#include <time.h>\n', []),
    ("base/a.c", '#include "backend/b.h"\n', [1]),
    ("backend/a.c", '#include "base/b.h"\n#include "checkpoint/c.h"\n', [2]),
    ("checkpoint/flink/a.c", '#include "checkpoint/b.h"\n#include "backend/b.h"\n#include "sink/c.h"\n', [3]),
    ("sink/a.c", '#include "base/b.h"\n#include "backend/b.h"\n#include "sink/c.h"\n', [2]),
    ("job/a.c", '#include "sink/b.h"\n  #  include "tests/lib/c.h"\n', [2]),
    ("job/varve.h", '#include "varve_common.h"\n#include "varve_other.h"\n', [2]),
    ("tests/unit/a.c", '#include "job/b.h"\n#include "tests/lib/c.h"\n', []),
    ("job/a.c", '#include "b.h"\n', [1]),
    ("job/a.c", '/*\n#include "nowhere.h"\n*/\n// #include "b.h"\n', []),
    ("job/a.c", '#include "job/sql/plan_priv.h"\n', [1]),
    ("job/sql/a.c", '#include "job/sql/plan_priv.h"\n', []),
    ("tests/unit/a.c", '#include "job/sql/plan_priv.h"\n', [1]),
    ("backend/rocks.c", "#include <rocksdb/c.h>\n", []),
    ("backend/rocks_priv.h", "#include <rocksdb/c.h>\n", []),
    ("backend/rocks.h", "#include <rocksdb/c.h>\n", [1]),
    ("backend/rocks_shim.cc", '#include "rocksdb/db.h"\n', []),
    ("backend/state.c", "#include <rocksdb/c.h>\n", [1]),
    ("backend/rocks.h", "#include <rocksdb/c.h>\n", [1]),
    ("tests/unit/a.c", "#include <rocksdb/c.h>\n", [1]),
    ("tests/bench/bench_rocks.c", "#include <rocksdb/c.h>\n", []),
    ("tests/bench/bench_w.c", "#include <rocksdb/c.h>\n", [1]),
    ("base/a.c", "strcpy(a, b); snprintf(a, 1, b); my_strcpy(a); strcpy_x(a);\n", [1]),
    ("base/a.c", "x = atoi (s);\ny = time(NULL);\nz = rand\n    ();\n", [1, 2, 3]),
    ("base/a.c", "localtime_r(&t, &tm); gmtime_r(&t, &tm); strtok_r(a, b, &c); mtime(x); randomize(y);\n", []),
    ("tests/unit/a.c", "gmtime(&t);\nopen(a, 0);\n", [1]),
    ("base/fs_posix.c", "fd = open(path, flags);\n", []),
    ("job/a.c", "fs_open(fs); part_file_rename(p); fs->ops->rename(a, b); x.open(1); storage_link(a);\n", []),
    ("job/a.c", "fd = open(path, flags);\n", [1]),
    ("job/a.c", "if (rename(a, b) != 0 ||\n    unlink(c) != 0)\n", [1, 2]),
    ("job/a.c", 's = "open(x)"; c = \'"\'; fsync(fd); /* unlink(a) */ // mkdir(b)\n', [1]),
    ("job/a.c", 's = "it\'s \\" open(x)";\n/* a\n * link(b)\n */ link(a, b);\n', [4]),
    ("job/a.c", "enum rc (*rename)(struct fs *); struct stat st; open_files = 3; time_t time;\n", []),
    ("backend/rocks_shim.cc", "::open(a, 0);\nstd::rename(a, b);\n", []),
    ("backend/other.cc", "::open(a, 0);\nstd::rename(a, b);\nrocksdb::open(c);\nauto s = R\"(open(x) \" ' )\";\n", [1, 2]),
    ("job/sql/grammar.y", "time(A) ::= TIME LP link(B) RP. {\n    A = open(B); }\n", [2]),
    ("sink/a.c", "clock_gettime(C, &t);\ngetrandom(a, 1, 0);\nclock_mono_ns(c);\n", [1, 2]),
]


def self_test():
    failed = 0
    for path, text, want in CASES:
        got = sorted({line for line, _ in violations(path, text)})
        if got != want:
            failed += 1
            print("%s: lines %s instead of %s in:\n%s" % (path, got, want, text), file=sys.stderr)
    print("%d cases, %d failed" % (len(CASES), failed))
    return 1 if failed else 0


def main(argv):
    if argv[1:] == ["--test"]:
        return self_test()
    root = argv[1] if len(argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    bad = 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            for line, reason in violations(path, f.read()):
                bad += 1
                print("%s:%d: %s" % (path, line, reason))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
