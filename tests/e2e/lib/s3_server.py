#!/usr/bin/env python3
"""A simulated S3 server: objects in memory, signatures checked, faults on demand.

    s3_server.py [--port N]         prints the port and serves until it is ended
    server = S3Server(); server.start(); ... server.stop()        in a thread of a test

It knows what varve uses: PUT, GET with Range and If-Match, HEAD, DELETE, ListObjectsV2, multipart uploads, copies on the server, and
the conditions If-None-Match: * and If-Match. A request whose signature or payload digest is wrong is refused. Every change is noted in
`events`, from which `check_order` proves that each _metadata named only what was there, at every moment.

Faults are rules: {"method", "match" (regular expressions of the method, and in path and query), "skip", "count", "action"}. The action is one of
    status:503    that status, nothing done           before   the connection is closed, nothing done
    after         done, then closed without a word    short    half of the body, then closed
    slow:250      done after so many ms               200      200 with an error in it, nothing done
    timeout       400 RequestTimeout, nothing done
    no_condition  501 when there is an If-None-Match, nothing done
    kill:before   `victim` gets SIGKILL, nothing done kill:after   done, then SIGKILL
In a test they are set by `server.faults`, from elsewhere by PUT /_sim/faults with a JSON list; likewise /_sim/set and /_sim/reset;
/_sim/requests and /_sim/uploads answer with what happened.
"""
import argparse
import datetime
import hashlib
import hmac
import http.server
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid
from xml.etree import ElementTree
from xml.sax.saxutils import escape

ACCESS_KEY, SECRET_KEY = "varve-test-access", "varve-test-secret/+x"
NS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


class Refused(Exception):
    def __init__(self, status, code, message=""):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


def quoted(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


class Stored:
    def __init__(self, data, headers):
        self.data = data
        self.meta = {k.lower(): v for k, v in headers.items() if k.lower().startswith("x-amz-meta-")}
        self.etag = '"%s"' % hashlib.md5(data).hexdigest()
        self.changed = time.time()


class S3Server:
    def __init__(self, port=0, part_min=5 << 20, keep_conditions=True, tls=None):
        """tls: files of a certificate and its key."""
        self.lock = threading.RLock()
        self.reset(part_min, keep_conditions)
        server = self

        class Handler(S3Handler):
            sim = server

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                if not isinstance(sys.exc_info()[1], OSError):
                    super().handle_error(request, client_address)

        self.http = Server(("127.0.0.1", port), Handler)
        self.port = self.http.server_address[1]
        self.endpoint = "http%s://127.0.0.1:%d" % ("s" if tls else "", self.port)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            # The handshake is the handler's thread's: a client that stands still holds up nobody.
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)

    def reset(self, part_min=5 << 20, keep_conditions=True):
        self.buckets = {"varve": {}}
        self.uploads = {}  # id -> (bucket, key, headers, parts, began)
        self.events = []  # (operation, key, content of a _metadata)
        self.requests = []  # (method, path?query, status)
        self.busy = 0  # requests that came and are not answered yet
        self.now, self.most = {}, {}  # by method: of them those of files of state, and how many at most
        self.faults = []
        self.victim = None  # a process id
        self.lists_besides = ""  # a key that every list of objects has, asked for or not
        self.lists_in_circles = False
        self.part_min, self.keep_conditions, self.page = part_min, keep_conditions, 1000

    def start(self):
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self):
        self.http.shutdown()
        self.http.server_close()

    def environment(self):
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": "us-east-1"}

    def keys(self, prefix="", bucket="varve"):
        with self.lock:
            return sorted(k for k in self.buckets[bucket] if k.startswith(prefix))

    def put(self, bucket, key, stored):
        self.buckets[bucket][key] = stored
        self.events.append(("put", key, stored.data if key.endswith("/_metadata") else None))

    def fault_for(self, method, target):
        with self.lock:
            for rule in self.faults:
                if not re.fullmatch(rule.get("method", ".*"), method) or not re.search(rule.get("match", ""), target):
                    continue
                if rule.get("skip", 0) > 0:
                    rule["skip"] -= 1
                elif rule.get("count", 1) > 0:
                    rule["count"] = rule.get("count", 1) - 1
                    return rule["action"]
        return None

    # ---- what a test asks about -------------------------------------------------------------------------------------

    def named_by(self, key, content):
        """Keys of the files that a _metadata names: regular expressions over its message do for names that are digests."""
        text = subprocess.run(["zstd", "-dc"], input=content, capture_output=True, check=True).stdout
        folder = key[:-len("_metadata")]
        job = folder.rstrip("/").rsplit("/", 1)[0]
        names = {"%s/shared/%s" % (job, n.decode()) for n in re.findall(rb"\.\./shared/([0-9a-f]{32}\.sst)", text)}
        own = re.findall(rb"(?<!shared/)\b([0-9a-f]{32}\.sst)|\b(s-[0-9]+\.bin)", text)
        return names | {folder + (a or b).decode() for a, b in own}

    def check_order(self):
        """C2, C3, C4 over all that happened; returns how many _metadata were published."""
        there, named, published = set(), {}, 0
        with self.lock:
            events = list(self.events)
        for operation, key, content in events:
            if operation == "put":
                assert not (content is not None and key in there), "%s was written twice" % key
                there.add(key)
                if content is not None:
                    named[key] = self.named_by(key, content)
                    missing = named[key] - there
                    assert not missing, "%s names what is not there: %s" % (key, sorted(missing))
                    published += 1
            else:
                there.discard(key)
                named.pop(key, None)
                users = [m for m, names in named.items() if key in names]
                assert not users, "%s was deleted, %s name it" % (key, users)
        return published


class S3Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sim = None

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=(), short=False):
        data = body if isinstance(body, bytes) else body.encode()
        with self.sim.lock:
            self.sim.requests.append((self.command, self.path, status))
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:len(data) // 2] if short else data)
        if short:
            self.hang_up()

    def refuse(self, status, code, message=""):
        self.answer(status, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>"
                    % (code, escape(message)), [("Content-Type", "application/xml")])

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def handle_any(self):
        sim, method = self.sim, self.command
        of_state = int(self.path.split("?")[0].endswith(".sst"))
        with sim.lock:
            sim.busy += 1
            sim.now[method] = sim.now.get(method, 0) + of_state
            sim.most[method] = max(sim.now[method], sim.most.get(method, 0))
        try:
            self.handle_one()
        finally:
            with sim.lock:
                sim.busy -= 1
                sim.now[method] -= of_state

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/_sim/"):
            return self.simulation(body)
        action = self.sim.fault_for(self.command, self.path)
        if action and action.startswith("slow:"):
            time.sleep(int(action[5:]) / 1000)
        if action == "kill:before":
            os.kill(self.sim.victim, signal.SIGKILL)
        if action in ("before", "kill:before"):
            return self.hang_up()
        if action and action.startswith("status:"):
            return self.refuse(int(action[7:]), "SlowDown", "Please reduce your request rate.")
        if action == "no_condition":
            if self.headers.get("if-none-match"):
                return self.refuse(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
            action = None
        if action == "timeout":
            return self.refuse(400, "RequestTimeout", "Your socket connection was not read from or written to in time.")
        if action == "200":
            return self.answer(200, "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>We encountered an internal "
                               "error. Please try again.</Message></Error>")
        try:
            self.check_signature(body)
            status, headers, data = self.work(body)
        except Refused as refused:
            return self.refuse(refused.status, refused.code, refused.message)
        if action == "kill:after":
            os.kill(self.sim.victim, signal.SIGKILL)
        if action in ("after", "kill:after"):
            return self.hang_up()
        return self.answer(status, data, headers, short=action == "short")

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

    def simulation(self, body):
        with self.sim.lock:
            if self.path == "/_sim/faults":
                self.sim.faults = json.loads(body)
            elif self.path == "/_sim/reset":
                self.sim.reset()
            elif self.path == "/_sim/set":
                for name, value in json.loads(body).items():
                    setattr(self.sim, name, value)
            what = {"/_sim/requests": self.sim.requests, "/_sim/uploads": sorted(self.sim.uploads)}.get(self.path, [])
            text = json.dumps(what)
            if self.path == "/_sim/requests":
                self.sim.requests = []
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # ---- signature ------------------------------------------------------------------------------------------------------

    def check_signature(self, body):
        given = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request,\s*SignedHeaders=([^,]+),"
                             r"\s*Signature=([0-9a-f]{64})", self.headers.get("authorization", ""))
        if not given:
            raise Refused(403, "AccessDenied", "there is no signature")
        access, day, region, names, signature = given.groups()
        if access != ACCESS_KEY:
            raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
        names = names.split(";")
        must = {"host"} | {k.lower() for k in self.headers if k.lower().startswith("x-amz-")}
        stamp, digest = self.headers.get("x-amz-date", ""), self.headers.get("x-amz-content-sha256", "")
        if names != sorted(names) or not must <= set(names) or stamp[:8] != day:
            raise Refused(403, "AccessDenied", "not all is signed")
        age = time.time() - datetime.datetime.strptime(stamp + "+0000", "%Y%m%dT%H%M%SZ%z").timestamp()
        if abs(age) > 900:
            raise Refused(403, "RequestTimeTooSkewed", "The difference between the request time and the server's time is too large.")
        if digest != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match.")
        path, _, query = self.path.partition("?")
        pairs = sorted((quoted(urllib.parse.unquote(k)), quoted(urllib.parse.unquote(v))) for k, _, v in
                       (p.partition("=") for p in query.split("&") if p))
        canonical = "\n".join([
            self.command, quoted(urllib.parse.unquote(path), "/"), "&".join("%s=%s" % p for p in pairs),
            "".join("%s:%s\n" % (n, " ".join(self.headers.get(n, "").split())) for n in names), ";".join(names), digest])
        scope = "%s/%s/s3/aws4_request" % (day, region)
        text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (stamp, scope, hashlib.sha256(canonical.encode()).hexdigest())
        key = ("AWS4" + SECRET_KEY).encode()
        for part in (day, region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        if hmac.new(key, text.encode(), hashlib.sha256).hexdigest() != signature:
            raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.")

    # ---- objects --------------------------------------------------------------------------------------------------------

    def work(self, body):
        path, _, query = self.path.partition("?")
        parts = urllib.parse.unquote(path).lstrip("/").split("/", 1)
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        bucket, key = parts[0], parts[1] if len(parts) > 1 else ""
        with self.sim.lock:
            if bucket not in self.sim.buckets:
                raise Refused(404, "NoSuchBucket", "The specified bucket does not exist")
            if not key:
                return self.on_bucket(bucket, query)
            if "uploads" in query and self.command == "POST":
                return self.begin_upload(bucket, key)
            if "uploadId" in query:
                return self.on_upload(bucket, key, query, body)
            return self.on_object(bucket, key, body)

    def check_conditions(self, bucket, key):
        there = self.sim.buckets[bucket].get(key)
        if self.sim.keep_conditions and self.headers.get("if-none-match") == "*" and there:
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        if self.headers.get("if-match") is not None:
            if not there:
                raise Refused(404, "NoSuchKey", "The specified key does not exist.")
            if self.headers["if-match"] != there.etag:
                raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")

    def source(self):
        bucket, _, key = urllib.parse.unquote(self.headers["x-amz-copy-source"]).lstrip("/").partition("/")
        stored = self.sim.buckets.get(bucket, {}).get(key)
        if not stored:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.")
        return stored

    def on_object(self, bucket, key, body):
        stored = self.sim.buckets[bucket].get(key)
        if self.command == "PUT":
            self.check_conditions(bucket, key)
            if self.headers.get("x-amz-copy-source"):
                source = self.source()
                made = Stored(source.data, source.meta)
                self.sim.put(bucket, key, made)
                return 200, [], "<CopyObjectResult %s><ETag>%s</ETag></CopyObjectResult>" % (NS, escape(made.etag))
            made = Stored(body, self.headers)
            self.sim.put(bucket, key, made)
            return 200, [("ETag", made.etag)], b""
        if self.command == "DELETE":
            if self.sim.buckets[bucket].pop(key, None):
                self.sim.events.append(("delete", key, None))
            return 204, [], b""
        if not stored:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.")
        self.check_conditions(bucket, key)
        headers = [("ETag", stored.etag), ("Last-Modified", self.date_time_string(stored.changed))] + list(stored.meta.items())
        if self.command == "HEAD":
            return 200, headers + [("Content-Length", str(len(stored.data)))], b""
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        if not asked:
            return 200, headers, stored.data
        first, last = int(asked[1]), min(int(asked[2]), len(stored.data) - 1)
        if first >= len(stored.data):
            raise Refused(416, "InvalidRange", "The requested range is not satisfiable")
        return 206, headers + [("Content-Range", "bytes %d-%d/%d" % (first, last, len(stored.data)))], stored.data[first:last + 1]

    # ---- multipart ------------------------------------------------------------------------------------------------------

    def begin_upload(self, bucket, key):
        name = uuid.uuid4().hex + "/+"  # must be escaped
        self.sim.uploads[name] = (bucket, key, dict(self.headers.items()), {}, time.time())
        return 200, [], ("<InitiateMultipartUploadResult %s><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId>"
                         "</InitiateMultipartUploadResult>" % (NS, bucket, escape(key), name))

    def on_upload(self, bucket, key, query, body):
        name = query["uploadId"]
        upload = self.sim.uploads.get(name)
        if not upload or upload[:2] != (bucket, key):
            raise Refused(404, "NoSuchUpload", "The specified upload does not exist.")
        if self.command == "DELETE":
            del self.sim.uploads[name]
            return 204, [], b""
        if self.command == "PUT":
            copies = self.headers.get("x-amz-copy-source")
            if copies:
                first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["x-amz-copy-source-range"]).groups()
                body = self.source().data[int(first):int(last) + 1]
            part = Stored(body, {})
            upload[3][int(query["partNumber"])] = part
            if copies:
                return 200, [], "<CopyPartResult %s><ETag>%s</ETag></CopyPartResult>" % (NS, escape(part.etag))
            return 200, [("ETag", part.etag)], b""
        return self.complete(bucket, key, name, upload, body)

    def complete(self, bucket, key, name, upload, body):
        self.check_conditions(bucket, key)
        listed = [(int(p.findtext("{*}PartNumber")), p.findtext("{*}ETag")) for p in ElementTree.fromstring(body)]
        if [n for n, _ in listed] != sorted({n for n, _ in listed}) or not listed:
            raise Refused(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
        for number, etag in listed:
            part = upload[3].get(number)
            if not part or part.etag != etag:
                raise Refused(400, "InvalidPart", "One or more of the specified parts could not be found.")
            if len(part.data) < self.sim.part_min and number != listed[-1][0]:
                raise Refused(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
        made = Stored(b"".join(upload[3][n].data for n, _ in listed), upload[2])
        self.sim.put(bucket, key, made)
        del self.sim.uploads[name]
        return 200, [], ("<CompleteMultipartUploadResult %s><Key>%s</Key><ETag>%s</ETag></CompleteMultipartUploadResult>"
                         % (NS, escape(key), escape(made.etag)))

    # ---- lists ----------------------------------------------------------------------------------------------------------

    def on_bucket(self, bucket, query):
        if self.command == "HEAD":
            return 200, [], b""
        if self.command != "GET":
            raise Refused(501, "NotImplemented")
        if "uploads" in query:
            return self.list_uploads(bucket, query)
        if query.get("list-type") != "2" or query.get("encoding-type") != "url":
            raise Refused(501, "NotImplemented")
        return self.list_objects(bucket, query)

    def list_objects(self, bucket, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        most = min(int(query.get("max-keys", 1000)), self.sim.page)
        after = urllib.parse.unquote(query.get("continuation-token", ""))
        lines, seen, last, more = [], set(), "", False
        for key in sorted(k for k in self.sim.buckets[bucket] if k.startswith(prefix)):
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key[:cut + 1] if cut >= 0 else key
            if name <= after or name in seen:
                continue
            if len(seen) == most:
                more = True
                break
            seen.add(name)
            last = name
            if cut >= 0:
                lines.append("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % quoted(name, "/"))
            else:
                stored = self.sim.buckets[bucket][key]
                stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stored.changed))
                lines.append("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size></Contents>"
                             % (quoted(key, "/"), stamp, escape(stored.etag), len(stored.data)))
        if self.sim.lists_besides:
            lines.append("<Contents><Key>%s</Key><Size>1</Size></Contents>" % self.sim.lists_besides)
        if self.sim.lists_in_circles:
            more, last = True, "again"
        token = "<NextContinuationToken>%s</NextContinuationToken>" % quoted(last) if more else ""
        return 200, [], ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult %s><Name>%s</Name><IsTruncated>%s</IsTruncated>"
                         "%s%s</ListBucketResult>" % (NS, bucket, "true" if more else "false", token, "".join(lines)))

    def list_uploads(self, bucket, query):
        lines = ["<Upload><Key>%s</Key><UploadId>%s</UploadId><Initiated>%s</Initiated></Upload>"
                 % (quoted(key, "/"), name, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)))
                 for name, (of, key, _, _, began) in sorted(self.sim.uploads.items())
                 if of == bucket and key.startswith(query.get("prefix", ""))]
        more = "<IsTruncated>false</IsTruncated>"
        if self.sim.lists_in_circles:
            more = ("<IsTruncated>true</IsTruncated><NextKeyMarker>again</NextKeyMarker>"
                    "<NextUploadIdMarker>1</NextUploadIdMarker>")
        return 200, [], "<ListMultipartUploadsResult %s>%s%s</ListMultipartUploadsResult>" % (NS, more, "".join(lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    server = S3Server(arguments.port)
    sys.stdout.write("%d\n" % server.port)
    sys.stdout.flush()
    server.http.serve_forever()


if __name__ == "__main__":
    main()
