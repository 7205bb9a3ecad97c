#!/usr/bin/env python3
"""A real S3 server for scripts/check-storage: versitygw over a directory, built from the Go module proxy.

    versitygw.py --build DIR     only builds it, once, into DIR/bin
    versitygw.py DIR             prints "server ...", "env NAME=VALUE" lines and "uri s3://varve", ends with its standard input
"""
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

MODULE, VERSION = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"
ACCESS_KEY, SECRET_KEY = "varve-access", "varve-secret/+x"


def build(directory):
    program = os.path.join(directory, "bin", "versitygw-" + VERSION)
    if not os.path.exists(program):
        os.makedirs(os.path.dirname(program), exist_ok=True)
        subprocess.run(["go", "install", "%s@%s" % (MODULE, VERSION)], check=True, stdout=sys.stderr,
                       env=dict(os.environ, GOBIN=os.path.dirname(program)))
        os.rename(os.path.join(os.path.dirname(program), "versitygw"), program)
    return program


def serve(program, data, log):
    """On a port that is free: it cannot be asked for any, so a few are tried."""
    for port in range(7070 + os.getpid() % 500, 9000, 500):
        process = subprocess.Popen([program, "--port", "127.0.0.1:%d" % port, "--quiet", "posix", data], stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log, env=dict(os.environ, ROOT_ACCESS_KEY=ACCESS_KEY, ROOT_SECRET_KEY=SECRET_KEY))
        for _ in range(100):
            try:
                urllib.request.urlopen("http://127.0.0.1:%d/" % port)
            except urllib.error.HTTPError:
                if process.poll() is None:
                    return process, port  # it asks for a signature
            except OSError:
                pass
            if process.poll() is not None:
                break
            time.sleep(0.1)
        process.kill()
    sys.exit("versitygw does not start; see its log")


def main():
    directory = os.path.abspath(sys.argv[-1])
    program = build(directory)
    if sys.argv[1] == "--build":
        return
    with tempfile.TemporaryDirectory(prefix="varve-versitygw.") as data, open(os.path.join(directory, "server.log"), "wb") as log:
        os.makedirs(os.path.join(data, "varve"))
        process, port = serve(program, data, log)
        for line in ("server versitygw " + re.sub("^v", "", VERSION), "env AWS_ENDPOINT_URL=http://127.0.0.1:%d" % port,
                     "env AWS_ACCESS_KEY_ID=" + ACCESS_KEY, "env AWS_SECRET_ACCESS_KEY=" + SECRET_KEY, "env AWS_REGION=us-east-1",
                     "uri s3://varve"):
            print(line)
        sys.stdout.flush()
        sys.stdin.read()
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
