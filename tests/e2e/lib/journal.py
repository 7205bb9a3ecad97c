"""journal.py - replays what tests/preload/preload_disk.c wrote down, on a disk that keeps only what was synced.

    for number, disk, said in replay(journal_path, root):   after each change
    disk.image(kind)                                      {relative path: bytes}, directories as "path/": None

Kinds of images, each of which a real disk may leave behind after a loss of power:
    "synced"     names and data of what was synced, nothing else
    "names"      all names so far, of the data only what was synced
    "deletions"  as "synced", but what was deleted since is gone
"""
import struct

RECORD = struct.Struct("=IIIIQqQ")
CREATE, TRUNCATE, WRITE, SYNC, SYNC_DIR, RENAME, LINK, UNLINK, MKDIR, RMDIR, SAY = range(1, 12)
KINDS = ("synced", "names", "deletions")


class File:
    def __init__(self):
        self.data, self.synced = bytearray(), b""


class Dir:
    def __init__(self):
        self.now, self.synced = {}, {}
        self.renamed = {}  # name that a rename took away since the last sync -> (Dir, name) where it went

    def left(self, name):
        """Whether a name that was synced may be gone: it was deleted, not renamed to where it still is."""
        if name in self.now:
            return False
        where, to = self.renamed.get(name, (None, None))
        return where is None or where.now.get(to) is not self.synced[name]


class Disk:
    def __init__(self, root):
        self.root, self.top = root, Dir()
        self.inodes = {}  # of files that have or had a name: number -> File

    def place(self, path):
        """(Dir, name) of an absolute path below the root; the Dir may be missing when the process made it before."""
        parts = path[len(self.root):].strip("/").split("/")
        at = self.top
        for p in parts[:-1]:
            at = at.now[p]
        return at, parts[-1]

    def dir_of(self, path):
        if path.rstrip("/") == self.root:
            return self.top
        at, name = self.place(path)
        return at.now[name]

    def apply(self, op, inode, offset, name, second, data):
        if op == CREATE:
            at, n = self.place(name)
            at.now[n] = self.inodes[inode] = File()
        elif op == WRITE:
            f = self.inodes[inode]
            f.data.extend(bytes(max(0, offset + len(data) - len(f.data))))
            f.data[offset:offset + len(data)] = data
        elif op == TRUNCATE:
            f = self.inodes[inode]
            del f.data[offset:]
            f.data.extend(bytes(offset - len(f.data)))
        elif op == SYNC:
            f = self.inodes[inode]
            f.synced = bytes(f.data)
        elif op == SYNC_DIR:
            d = self.dir_of(name)
            d.synced, d.renamed = dict(d.now), {}
        elif op == RENAME:
            (a, x), (b, y) = self.place(name), self.place(second)
            b.now[y] = a.now.pop(x)
            a.renamed[x] = (b, y)
        elif op == LINK:
            (a, x), (b, y) = self.place(name), self.place(second)
            b.now[y] = a.now[x]
        elif op == MKDIR:
            at, n = self.place(name)
            at.now[n] = Dir()
        elif op in (UNLINK, RMDIR):
            at, n = self.place(name)
            del at.now[n]
            at.renamed.pop(n, None)

    def image(self, kind, tops=None):
        """{relative path: File}, directories as "path/": None; of the root's directories those in `tops`, or all."""
        found = {}

        def walk(d, prefix):
            names = d.now if kind == "names" else d.synced
            for n, node in names.items():
                if prefix == "" and tops is not None and n not in tops:
                    continue
                if kind == "deletions" and d.left(n):
                    continue
                if isinstance(node, Dir):
                    found[prefix + n + "/"] = None
                    walk(node, prefix + n + "/")
                else:
                    found[prefix + n] = node

        walk(self.top, "")
        return found


def records(path):
    with open(path, "rb") as f:
        while True:
            head = f.read(RECORD.size)
            if len(head) < RECORD.size:
                return
            op, name_len, second_len, _, inode, offset, data_len = RECORD.unpack(head)
            name, second = f.read(name_len).decode(), f.read(second_len).decode()
            yield op, inode, offset, name, second, f.read(data_len)


def replay(path, root):
    """(number of the change, the disk after it, what was said with it) for each record."""
    disk = Disk(root)
    for number, (op, inode, offset, name, second, data) in enumerate(records(path), 1):
        if op == SAY:
            yield number, disk, data.decode("utf-8", "replace")
        else:
            disk.apply(op, inode, offset, name, second, data)
            yield number, disk, ""
