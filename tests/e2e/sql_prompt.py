#!/usr/bin/env python3
"""varve sql at a terminal: completion, statements over several lines, Ctrl-C, mistakes that do not end it, history, SIGTERM."""
import os
import pty
import re
import select
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("VARVE_BIN") or os.path.join(HERE, "../../build/release/varve")


class Prompt:
    """One `varve sql` behind a pseudo terminal."""

    def __init__(self, home):
        self.seen = ""  # since the last expect
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # libedit keeps what names its functions for ever: no leak of ours.
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", HOME=home, NO_COLOR="1", ASAN_OPTIONS="detect_leaks=0")
            os.execv(BIN, [BIN, "sql", "-D", "rest.port=0"])
        self.expect("varve> ")

    def read(self, wait):
        if not select.select([self.fd], [], [], wait)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other side has gone
            data = b""
        self.seen += re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", data.decode("utf-8", "replace"))
        return bool(data)

    def expect(self, text):
        """Waits for the text and forgets what came up to it."""
        end = time.monotonic() + 60
        while text not in self.seen:
            if time.monotonic() > end:
                sys.exit("FAILED: %r did not come; seen: %r" % (text, self.seen[-2000:]))
            self.read(0.1)
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text):
        os.write(self.fd, text.encode("utf-8"))

    def end(self):
        while self.read(0.5):
            pass
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def main():
    home = tempfile.mkdtemp(prefix="varve-prompt-")
    p = Prompt(home)
    p.type("CREATE TABLE endless (id BIGINT)\r")
    p.expect("     > ")  # more has to come
    p.type("WITH ('connector' = 'datagen', 'rows-per-second' = '20');\r")
    p.expect("[INFO] Execute statement succeeded.")

    p.type("SELE\tid FROM endl\t;\r")  # a word of SQL, then a table's name
    p.expect("| +I |")
    p.expect("| +I |")
    p.type("\x03")  # ends the query, not the client
    p.expect("Received a total of ")
    p.expect("varve> ")

    p.type("SELECT 'never")
    p.expect("never")  # the editor has the terminal
    p.type("\x03")  # gives the line up
    p.expect("varve> ")
    p.type("SELEC 1;\r")
    p.expect("[ERROR] Could not execute SQL statement. Reason:")
    p.expect("line 1 column 1")
    p.expect("varve> ")
    p.type("SELECT 'grün' AS x;\r")
    p.expect("| grün |")
    p.type("HELP;\r")
    p.expect("EXPLAIN")
    p.type("QUIT;\r")
    code = p.end()
    if code != 0:
        sys.exit("FAILED: QUIT ended with %d" % code)

    with open(os.path.join(home, ".varve-sql-history"), encoding="utf-8") as f:
        history = f.read()
    for part in ("endless", "SELEC\\0401;", "grün"):
        if part not in history:
            sys.exit("FAILED: %r is not in the history: %s" % (part, history))
    if "never" in history:
        sys.exit("FAILED: an abandoned line is in the history")

    # SIGTERM: a job that runs is suspended, the client ends well.
    p = Prompt(home)
    p.type("CREATE TABLE s (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '20');"
           " CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole');\r")
    p.expect("varve> ")
    p.type("INSERT INTO n SELECT id FROM s;\r")
    p.expect("Job ID: ")
    p.expect("varve> ")
    os.kill(p.pid, signal.SIGTERM)
    p.expect("SUSPENDED")
    code = p.end()
    if code != 0:
        sys.exit("FAILED: SIGTERM ended with %d" % code)
    shutil.rmtree(home)


main()
