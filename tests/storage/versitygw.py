#!/usr/bin/env python3
"""A real S3 server for scripts/check-storage: versitygw over a directory, built from the Go module proxy.

    versitygw.py --build DIR     only builds it, once, into DIR/bin
    versitygw.py [--tls] DIR     prints "server ...", "env NAME=VALUE" lines and "uri s3://varve", ends with its standard input
"""
import os
import re
import ssl
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


def certificate(data):
    paths = [os.path.join(data, "server" + end) for end in (".pem", ".key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=versitygw", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def answers(url, ca_file):
    """Whether somebody is there, who asks for a signature."""
    try:
        urllib.request.urlopen(url, context=ssl.create_default_context(cafile=ca_file) if ca_file else None)
    except urllib.error.HTTPError:
        return True
    except OSError:
        pass
    return False


def serve(program, data, log, pair):
    """On a port that is free: it cannot be asked for any, so a few are tried."""
    for port in range(7070 + os.getpid() % 500, 9000, 500):
        tls = ["--cert", pair[0], "--key", pair[1]] if pair else []
        process = subprocess.Popen([program, "--port", "127.0.0.1:%d" % port, "--quiet"] + tls + ["posix", data], stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log, env=dict(os.environ, ROOT_ACCESS_KEY=ACCESS_KEY, ROOT_SECRET_KEY=SECRET_KEY))
        for _ in range(100):
            url = "http%s://127.0.0.1:%d" % ("s" if pair else "", port)
            if answers(url + "/", pair and pair[0]) and process.poll() is None:
                return process, url
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
    with tempfile.TemporaryDirectory(prefix="varve-versitygw.") as data, tempfile.TemporaryDirectory() as certificates, open(os.path.join(directory, "server.log"), "wb") as log:
        os.makedirs(os.path.join(data, "varve"))
        pair = certificate(certificates) if sys.argv[1] == "--tls" else None
        process, url = serve(program, data, log, pair)
        if pair:
            print("env AWS_CA_BUNDLE=" + pair[0])
        for line in ("server versitygw " + re.sub("^v", "", VERSION) + (", TLS" if pair else ""), "env AWS_ENDPOINT_URL=" + url,
                     "env AWS_ACCESS_KEY_ID=" + ACCESS_KEY, "env AWS_SECRET_ACCESS_KEY=" + SECRET_KEY, "env AWS_REGION=us-east-1",
                     "uri s3://varve"):
            print(line)
        sys.stdout.flush()
        sys.stdin.read()
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
