"""sim_webhdfs.py - a WebHDFS server over loopback, in memory: a name node and a data node in threads of this process.

    with SimWebHdfs() as hdfs:
        run varve with hdfs.uri + "/ck" ...; hdfs.files(), hdfs.read("/ck/..")

What it answers is what Hadoop 3 answers for the operations that varve uses, exceptions by their names. Trouble is planned by
hdfs.trouble(op, kind, every=n): each n-th call of that operation (at the data node for CREATE, APPEND, OPEN: "CREATE", at the name
node before it: "CREATE-NN") meets
    busy        503, nothing done          lost    done, and the connection closed without an answer
    closed      nothing done, no answer    half    half of the body arrived or is sent, then closed
    slow        done after half a second
"""
import http.server
import json
import os
import random
import threading
import time
import urllib.parse


class Refusal(Exception):
    def __init__(self, status, name, message):
        super().__init__(message)
        self.status, self.name = status, name


BROKEN = Refusal(403, "EOFException", "End of File Exception between local host is: \"a\"; destination host is: \"b\"")


class Node:
    def __init__(self, number, is_dir):
        self.number, self.is_dir, self.data, self.modified = number, is_dir, b"", 0


def parent(path):
    return path.rsplit("/", 1)[0] or "/"


class Tree:
    """The name node's names. Not locked: SimWebHdfs does."""

    def __init__(self, wall_ms):
        self.wall_ms, self.number, self.nodes = wall_ms, 16385, {}
        self.nodes["/"] = self.new(True)

    def new(self, is_dir):
        node = Node(self.number, is_dir)
        self.number += 1
        node.modified = self.wall_ms()
        return node

    def get(self, path):
        if path not in self.nodes:
            raise Refusal(404, "FileNotFoundException", "File does not exist: " + path)
        return self.nodes[path]

    def mkdirs(self, path):
        if path in self.nodes:
            if not self.nodes[path].is_dir:
                raise Refusal(403, "FileAlreadyExistsException", path + " is a file")
            return
        self.mkdirs(parent(path))
        self.nodes[path] = self.new(True)

    def below(self, path):
        prefix = path.rstrip("/") + "/"
        return sorted(p[len(prefix):] for p in self.nodes
                      if p.startswith(prefix) and p != "/" and "/" not in p[len(prefix):])

    def create(self, path, data, overwrite):
        old = self.nodes.get(path)
        if old is not None and (old.is_dir or not overwrite):
            raise Refusal(403, "FileAlreadyExistsException", path + " for client 127.0.0.1 already exists")
        self.mkdirs(parent(path))
        node = self.nodes[path] = self.new(False)
        node.data = data

    def append(self, path, data):
        node = self.get(path)
        node.data += data
        node.modified = self.wall_ms()

    def delete(self, path, recursive):
        if path not in self.nodes:
            return False
        if self.nodes[path].is_dir and self.below(path) and not recursive:
            raise Refusal(403, "PathIsNotEmptyDirectoryException", "`%s is non empty': Directory is not empty" % path)
        for p in [p for p in self.nodes if p == path or p.startswith(path + "/")]:
            del self.nodes[p]
        return True

    def rename(self, path, to, options):
        if path not in self.nodes:
            if options is None:
                return False
            raise Refusal(404, "FileNotFoundException", "rename source " + path + " is not found.")
        self.get(parent(to))
        if to in self.nodes:
            if options is None:
                return False
            if options != "OVERWRITE" or self.nodes[to].is_dir:
                raise Refusal(403, "FileAlreadyExistsException", "rename destination " + to + " already exists")
        for p in [p for p in self.nodes if p == path or p.startswith(path + "/")]:
            self.nodes[to + p[len(path):]] = self.nodes.pop(p)
        return True

    def status(self, path, suffix):
        node = self.get(path)
        return {"accessTime": node.modified, "blockSize": 0 if node.is_dir else 134217728, "childrenNum": 0,
                "fileId": node.number, "group": "supergroup", "length": len(node.data),
                "modificationTime": node.modified, "owner": "test", "pathSuffix": suffix, "permission": "755",
                "replication": 0 if node.is_dir else 1, "storagePolicy": 0,
                "type": "DIRECTORY" if node.is_dir else "FILE"}


class Call:
    def __init__(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        self.path = "/" + urllib.parse.unquote(url.path[len("/webhdfs/v1"):]).strip("/")
        self.op = query["op"][0]
        self.query = {k: v[0] for k, v in query.items()}


class SimWebHdfs:
    PAGE = 100  # entries of a listing's page

    def __init__(self, seed=1):
        os.environ["no_proxy"] = "127.0.0.1"
        self.lock = threading.Lock()
        self.skew_ms = 0  # the server's clock against ours
        self.tree = Tree(self.wall_ms)
        self.random = random.Random(seed)
        self.plan, self.counts, self.calls, self.in_a_row = {}, {}, {}, {}
        self.hooks = []  # called with (op, path, to) under the lock, after a change
        self.old_redirects = self.old_rename = self.no_batches = self.standby = self.kerberos = False
        self.users = set()
        self.name_node = self.serve(self.at_name_node)
        self.data_node = self.serve(self.at_data_node)
        self.uri = "hdfs://127.0.0.1:%d" % self.name_node.server_address[1]

    def wall_ms(self):
        return int(time.time() * 1000) + self.skew_ms

    # ---- for tests

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in (self.name_node, self.data_node):
            server.shutdown()
            server.server_close()

    def trouble(self, op, kind, every):
        with self.lock:
            self.plan[op] = (kind, every)

    def calm(self):
        with self.lock:
            self.plan.clear()

    def files(self, below="/"):
        with self.lock:
            return sorted(p for p, n in self.tree.nodes.items() if p.startswith(below) and not n.is_dir)

    def dirs(self, below="/"):
        with self.lock:
            return sorted(p for p, n in self.tree.nodes.items() if p.startswith(below) and n.is_dir)

    def read(self, path):
        with self.lock:
            return self.tree.get(path).data

    def write(self, path, data):
        with self.lock:
            self.tree.create(path, data, True)

    def remove(self, path):
        with self.lock:
            self.tree.delete(path, True)

    # ---- servers

    def serve(self, answer):
        sim = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except ConnectionError:
                    pass  # a client that was killed

            def date_time_string(self, timestamp=None):
                return super().date_time_string(sim.wall_ms() / 1000)

            def run(self):
                try:
                    answer(self, Call(self))
                except (ConnectionError, BrokenPipeError):
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_DELETE = run

            def body(self, part=1.0):
                return self.rfile.read(int(int(self.headers.get("Content-Length") or 0) * part))

            def give(self, status, body=b"", kind="application/json", headers=()):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def give_json(self, value, status=200, headers=()):
                self.give(status, json.dumps(value).encode(), headers=headers)

            def refuse(self, r):
                self.give_json({"RemoteException": {"exception": r.name, "javaClassName": "org.apache." + r.name,
                                                    "message": str(r)}}, r.status)

            def hang_up(self):
                self.close_connection = True
                raise ConnectionError

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def trouble_for(self, op, path):
        """The kind that this call of `op` meets, or None. Calls of other threads between them could let one path's repetitions
        be the n-th each time: after three in a row it is spared, unless every call is to meet it."""
        with self.lock:
            self.calls[op] = self.calls.get(op, 0) + 1
            kind, every = self.plan.get(op) or self.plan.get("any") or (None, 0)
            if kind is None:
                return None
            self.counts[op] = self.counts.get(op, 0) + 1
            row = self.in_a_row.pop((op, path), 0)
            if self.counts[op] % every != 0 or (every > 1 and row == 3):
                return None
            self.in_a_row[op, path] = row + 1
            return kind

    def at_name_node(self, h, call):
        user = call.query.get("user.name")
        if user:
            self.users.add(user)
        if self.kerberos:
            return h.give(401, b"<html>Authentication required</html>", "text/html",
                          [("WWW-Authenticate", "Negotiate")])
        two_steps = call.op in ("CREATE", "APPEND", "OPEN")
        kind = self.trouble_for(call.op + "-NN" if two_steps else call.op, call.path)
        if kind == "busy":
            return h.give(503, b"busy", "text/plain")
        if kind in ("closed", "half"):
            h.hang_up()
        if kind == "slow":
            time.sleep(0.5)
        try:
            if self.standby:
                raise Refusal(403, "StandbyException", "Operation category READ is not supported in state standby")
            value = self.redirect(h, call) if two_steps else self.change(call)
        except Refusal as r:
            return h.refuse(r) if kind != "lost" else h.hang_up()
        if kind == "lost":
            h.hang_up()
        if value is not None and not two_steps:
            h.give_json(value)
        elif not two_steps:
            h.give(200, kind="application/octet-stream")

    def redirect(self, h, call):
        with self.lock:
            if call.op == "OPEN" and self.tree.get(call.path).is_dir:
                raise Refusal(404, "FileNotFoundException", "Path is not a file: " + call.path)
            if call.op == "APPEND":
                self.tree.get(call.path)
        url = "http://127.0.0.1:%d/webhdfs/v1%s?%s" % (
            self.data_node.server_address[1], urllib.parse.quote(call.path),
            urllib.parse.urlencode({k: v for k, v in call.query.items() if k != "noredirect"}))
        if call.query.get("noredirect") == "true" and not self.old_redirects:
            return h.give_json({"Location": url}, 200)
        return h.give(307, kind="application/octet-stream", headers=[("Location", url)])

    def change(self, call):
        with self.lock:
            value = self.do(call)
            for hook in self.hooks:
                hook(call.op, call.path, call.query.get("destination"))
            return value

    def do(self, call):
        t, q = self.tree, call.query
        if call.op == "GETFILESTATUS":
            return {"FileStatus": t.status(call.path, "")}
        if call.op == "MKDIRS":
            t.mkdirs(call.path)
            return {"boolean": True}
        if call.op == "DELETE":
            return {"boolean": t.delete(call.path, q.get("recursive") == "true")}
        if call.op == "RENAME":
            options = None if self.old_rename else q.get("renameoptions")
            done = t.rename(call.path, q["destination"], options)
            return None if options else {"boolean": done}
        if call.op == "LISTSTATUS" or (call.op == "LISTSTATUS_BATCH" and not self.no_batches):
            return self.listing(call)
        raise Refusal(400, "IllegalArgumentException", 'Invalid value for webhdfs parameter "op": ' + call.op)

    def listing(self, call):
        t = self.tree
        if not t.get(call.path).is_dir:
            entries = [t.status(call.path, "")]
            left = 0
        else:
            names = [n for n in t.below(call.path) if n > call.query.get("startAfter", "")]
            left = max(0, len(names) - self.PAGE) if call.op == "LISTSTATUS_BATCH" else 0
            names = names[:len(names) - left]
            entries = [t.status(call.path.rstrip("/") + "/" + n, n) for n in names]
        statuses = {"FileStatuses": {"FileStatus": entries}}
        if call.op == "LISTSTATUS":
            return statuses
        return {"DirectoryListing": {"partialListing": statuses, "remainingEntries": left}}

    def at_data_node(self, h, call):
        kind = self.trouble_for(call.op, call.path)
        if kind == "busy":
            h.body()
            return h.give(503, b"busy", "text/plain")
        if kind == "closed":
            h.hang_up()
        if kind == "slow":
            time.sleep(0.5)
        try:
            if call.op == "OPEN":
                if kind == "broken":
                    raise BROKEN
                return self.give_content(h, call, kind)
            data = h.body(0.5 if kind == "half" else 1.0)
            with self.lock:
                if call.op == "CREATE":
                    self.tree.create(call.path, data, call.query.get("overwrite") == "true")
                else:
                    self.tree.append(call.path, data)
                for hook in self.hooks:
                    hook(call.op, call.path, None)
        except Refusal as r:
            return h.refuse(r)
        if kind in ("lost", "half"):
            h.hang_up()
        if kind == "broken":  # between it and the name node, after that had done its part
            return h.refuse(BROKEN)
        h.give(201 if call.op == "CREATE" else 200, kind="application/octet-stream")

    def give_content(self, h, call, kind):
        with self.lock:
            data = self.tree.get(call.path).data
        begin = int(call.query.get("offset", 0))
        data = data[begin:begin + int(call.query.get("length", len(data)))]
        if kind in ("half", "lost"):
            h.send_response(200)
            h.send_header("Content-Length", str(len(data)))
            h.end_headers()
            h.wfile.write(data[:len(data) // 2])
            h.hang_up()
        h.give(200, data, "application/octet-stream")


if __name__ == "__main__":
    with SimWebHdfs() as server:
        print(server.uri, flush=True)
        threading.Event().wait()
