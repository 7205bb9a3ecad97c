#!/usr/bin/env python3
"""postgres.py - the jdbc sink on a real PostgreSQL server: started here, on a port of its own, as a user without rights.

Job and server are killed at random moments, the job is rescaled, restored from savepoints and older checkpoints; what a table must hold
is known. Without PostgreSQL's server on this machine: not tested (exit code 77). $VARVE_PG_KILLS: how many kills (12)."""
import glob
import os
import pwd
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from s3_server import S3Server
from varve import (Job, at_some_pace, audit_dead, check, clean_environment, inspect, job_directories, main, newest, same, sequence, settings, table,
                   test, varve, write)

PASSWORD = "dont-tell-9c1"
ROWS = 20000
KEYS = 97
KILLS = int(os.environ.get("VARVE_PG_KILLS", "12"))


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else os.path.dirname(shutil.which("initdb") or "")


class Server:
    def __init__(self):
        self.bin = programs()
        self.where = tempfile.mkdtemp(prefix="varve-postgres.")
        self.user = None
        if os.geteuid() == 0:  # the server refuses root
            self.user = "postgres" if "postgres" in [u.pw_name for u in pwd.getpwall()] else "nobody"
            os.chown(self.where, pwd.getpwnam(self.user).pw_uid, -1)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.run("initdb", "-D", self.where + "/data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()
        self.sql("CREATE ROLE writer LOGIN PASSWORD '%s'" % PASSWORD, "postgres", "owner")
        self.sql("CREATE DATABASE db OWNER writer", "postgres", "owner")
        with open(self.where + "/data/pg_hba.conf", "w") as f:
            f.write("host all writer 127.0.0.1/32 scram-sha-256\nhost all owner 127.0.0.1/32 trust\n")
        self.run("pg_ctl", "-D", self.where + "/data", "reload")

    def run(self, program, *args):
        p = subprocess.run([os.path.join(self.bin, program)] + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, user=self.user, cwd=self.where, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        check(p.returncode == 0, "%s: exit code %d" % (program, p.returncode), p.stdout.decode())

    def start(self):
        self.run("pg_ctl", "-D", self.where + "/data", "-l", self.where + "/log", "-w", "-o",
                 "-p %d -k %s -c listen_addresses=127.0.0.1 -c fsync=off" % (self.port, self.where), "start")

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "-D", self.where + "/data", "-m", mode, "-w", "stop")

    def sql(self, text, database="db", user="writer"):
        p = subprocess.run([os.path.join(self.bin, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port),
                            "-U", user, "-d", database, "-c", text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env={**clean_environment(), "PGPASSWORD": PASSWORD})
        check(p.returncode == 0, "psql: %s" % text, p.stderr.decode())
        return [line.split("|") for line in p.stdout.decode().splitlines()]

    def close(self):
        self.stop()
        shutil.rmtree(self.where, ignore_errors=True)


SERVER = None


def jdbc(name, columns, target, password=PASSWORD, **more):
    return table(name, columns, connector="jdbc", url="jdbc:postgresql://127.0.0.1:%d/db" % SERVER.port, username="writer",
                 **{"table-name": target, "password": password, **more})


def fresh():
    SERVER.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE totals (k bigint PRIMARY KEY, n bigint, s bigint);"
               "CREATE TABLE raw (id bigint)")


def both(where, rate, parallelism=2, interval="60 ms", rows=ROWS, backend="hashmap", **more):
    """Totals by key, put over one another, and each row of the input once, appended."""
    return (settings(where, backend, parallelism, interval, mode="streaming", **more) + sequence("seq", rows, rate) +
            jdbc("t", "k BIGINT, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED", "totals") + jdbc("r", "id BIGINT", "raw") +
            "EXECUTE STATEMENT SET BEGIN\nINSERT INTO t SELECT MOD(id, %d), COUNT(*), SUM(id) FROM seq GROUP BY MOD(id, %d);\n" % (KEYS, KEYS) +
            "INSERT INTO r SELECT id FROM seq;\nEND;\n")


def check_tables(what, rows=ROWS, raw=True):
    got = SERVER.sql("SELECT k, n, s FROM totals ORDER BY k")
    want = [[str(k), str(len(ids)), str(sum(ids))] for k in range(KEYS) for ids in [range(k or KEYS, rows + 1, KEYS)]]
    check(got == want, "%s: totals are wrong: %d rows" % (what, len(got)), got[:3], want[:3])
    if raw:
        same(SERVER.sql("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM raw"), [[str(rows), str(rows), "1", str(rows)]],
             "%s: rows" % what)


def no_password_in(where):
    for at, _, names in os.walk(where):
        for n in names:
            if n.endswith(".sql"):
                continue  # the user's own script
            with open(os.path.join(at, n), "rb") as f:
                check(PASSWORD.encode() not in f.read(), "the password stands in %s" % os.path.join(at, n))


def after_kill(where):
    """Every checkpoint has its logs, proven; what no checkpoint names can go, and nothing else does."""
    for directory in job_directories(where)[-1:]:
        audit_dead(directory)


@test
def kills_at_random_moments_leave_each_row_once(where):
    rng = random.Random(os.environ.get("VARVE_PG_SEED") or time.time_ns())
    fresh()
    kills = 0
    while kills < KILLS:
        parallelism = rng.choice([1, 2, 3])
        job = Job(where, both(where, ROWS // 3, parallelism, backend=rng.choice(["hashmap", "rocksdb"])), ["--resume"])
        try:
            if rng.random() < 0.2:
                time.sleep(rng.random() * 0.5)
                SERVER.stop()
                SERVER.start()
            job.process.wait(0.15 + rng.random() * 1.3)
        except subprocess.TimeoutExpired:
            job.process.kill()
            job.process.wait()
            kills += 1
            after_kill(where)
            continue
        same(job.process.returncode, 0, "exit code; " + job.said())
        check_tables("after %d kills" % kills)
        fresh()
        shutil.rmtree(where + "/ck")
    job = Job(where, both(where, None), ["--resume"])
    same(job.wait(), 0, "exit code; " + job.said())
    check_tables("after %d kills" % kills)
    same([f for d in job_directories(where)[-1:] for f in os.listdir(d + "/taskowned") if not newest(where)], [], "logs that are left")
    no_password_in(where)


@test
def a_server_that_dies_and_comes_back_is_waited_for(where):
    def story(pace):
        fresh()
        job = Job(where, both(where, ROWS // (3 * pace)))
        for _ in range(2):
            job.wait_checkpoints(2)
            SERVER.stop()
            time.sleep(0.5)
            SERVER.start()
        job.finish()
        check_tables("after two ends of the server")
        check("tries again" in job.err, "nothing was said of it", job.said())
        shutil.rmtree(where + "/ck")

    at_some_pace(story)


@test
def a_server_that_stays_away_restarts_the_job_from_its_checkpoint(where):
    def story(pace):
        fresh()
        more = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": 100, "restart-strategy.fixed-delay.delay": "100 ms"}
        sql = both(where, ROWS // (3 * pace), **more).replace("'connector' = 'jdbc'", "'connector' = 'jdbc', 'connection.max-retry-timeout' = '1 s'")
        job = Job(where, sql)
        job.wait_checkpoints(2)
        SERVER.stop()
        time.sleep(2.5)
        SERVER.start()
        job.finish()
        check_tables("after a restart of the job")
        check("restart" in job.err.lower(), "the job was not restarted", job.said())
        shutil.rmtree(where + "/ck")

    at_some_pace(story)


@test
def a_savepoint_holds_what_waits_and_can_be_moved(where):
    """Rows before a savepoint that no checkpoint came after: only the savepoint has them."""
    def story(pace):
        fresh()
        job = Job(where, both(where, ROWS // (3 * pace), interval="1 h"))
        job.wait_rows(3000)
        saved = job.savepoint(where + "/save")
        job.kill()
        same(SERVER.sql("SELECT count(*) FROM raw"), [["0"]], "rows that no complete checkpoint holds")
        logs = [f for f in os.listdir(saved) if f.endswith(".log")]
        check(logs, "the savepoint has no logs", os.listdir(saved))
        shutil.rmtree(where + "/ck")
        moved = os.path.join(where, "moved")
        os.rename(saved, moved)
        code, out, _ = varve("verify", moved)
        check(code == 0, "verify: exit code %d" % code, out)
        for more in ([], ["--max-parallelism", "64"]):
            copy = where + "/copy%d" % len(more)
            code, out, err = varve("export", moved, copy, "--to", "varve", *more)
            check(code == 0, "export: exit code %d" % code, out, err)
            same(sorted(f for f in os.listdir(copy) if f.endswith(".log")), sorted(logs), "logs of the copy")
            same([os.stat(os.path.join(copy, f)).st_nlink for f in logs], [1] * len(logs), "names of each")
            code, out, _ = varve("verify", copy)
            check(code == 0, "verify of the copy: exit code %d" % code, out)
            shutil.rmtree(copy)
        items = [i for o in inspect(moved)["snapshot"]["operators"] for s in o["subtasks"] for l in s["lists"] for i in l["items"]]
        check(any(i["what"] == "rows in logs" and i["waiting"] for i in items), "inspect shows no logs", items)
        with open(os.path.join(moved, logs[0]), "r+b") as f:
            f.seek(-1, 2)
            last = f.read(1)
            f.seek(-1, 2)
            f.write(bytes([last[0] ^ 1]))
        code, out, _ = varve("verify", moved)
        check(code != 0 and logs[0] in out, "verify of a damaged log: exit code %d" % code, out)
        Job(where, both(where, None), ["-s", moved]).refused(logs[0], "digest differs", code=1)
        with open(os.path.join(moved, logs[0]), "r+b") as f:
            f.seek(-1, 2)
            f.write(last)
        Job(where, both(where, None, parallelism=3), ["-s", moved]).finish()
        check_tables("from the savepoint")

    at_some_pace(story)


@test
def logs_beside_checkpoints_on_s3_are_sent_once(where):
    s3 = S3Server().start()
    os.environ.update(s3.environment(), AWS_ENDPOINT_URL=s3.endpoint)

    def story(pace):
        fresh()
        with s3.lock:
            s3.reset()
        sql = both(where, ROWS // (3 * pace), interval="150 ms", **{"execution.checkpointing.dir": "s3://varve/ck"})
        quick = {"varve.remote.backoff": "20 ms", "varve.remote.backoff-max": "200 ms", "varve.remote.lock-ttl": "2 s"}
        for _ in range(2):
            job = Job(where, sql, ["--resume"], quick)
            job.wait_checkpoints(2)
            job.kill()
            time.sleep(2.2)  # until the dead job's lock is deserted
        check(any("/taskowned/" in k for k in s3.keys("ck/")), "no log lies on s3", s3.keys("ck/"))
        Job(where, sql, ["--resume"], quick).finish()
        check_tables("with checkpoints on s3")

    at_some_pace(story)


@test
def an_older_checkpoint_is_refused_where_rows_would_be_twice(where):
    def story(pace):
        fresh()
        job = Job(where, both(where, ROWS // (3 * pace), retained=5))
        job.wait_checkpoints(6)
        job.kill()
        older = sorted(glob.glob(where + "/ck/*/chk-*/_metadata"), key=os.path.getmtime)[0][:-len("/_metadata")]
        Job(where, both(where, None), ["-s", older]).refused("would be there twice", "varve.sink.repeat-rows")
        keyed = both(where, None).split("EXECUTE")[0] + (
            "INSERT INTO t SELECT MOD(id, %d), COUNT(*), SUM(id) FROM seq GROUP BY MOD(id, %d);\n" % (KEYS, KEYS))
        Job(where, keyed, ["-n", "-s", older]).finish()
        check_tables("from an older checkpoint", raw=False)
        shutil.rmtree(where + "/ck")

    at_some_pace(story)


@test
def groups_that_become_empty_leave_the_table(where):
    fresh()
    sql = (settings(where, "hashmap", 2, "50 ms", mode="streaming") + sequence("seq", 500, 2000) +
           jdbc("t", "k BIGINT, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED", "totals") +
           "INSERT INTO t SELECT n, COUNT(*), CAST(NULL AS BIGINT) FROM (SELECT MOD(id, 5) AS k, COUNT(*) AS n FROM seq GROUP BY MOD(id, 5)) GROUP BY n;\n")
    Job(where, sql).finish()
    same(SERVER.sql("SELECT k, n FROM totals"), [["100", "5"]], "groups by their size")


@test
def all_types_go_in_as_they_are(where):
    SERVER.sql("CREATE TYPE mood AS ENUM ('calm'); CREATE TABLE all_types (a boolean, b smallint, c smallint, d integer, e bigint, f real, g double precision,"
               " h numeric(12,3), i text, j varchar(9), k bytea, l date, m time, n timestamp, o timestamptz, p jsonb, q uuid, r mood, s integer DEFAULT 7)")
    columns = ("a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(12, 3), i STRING, j VARCHAR(9), k BYTES, l DATE,"
               " m TIME, n TIMESTAMP(3), o TIMESTAMP_LTZ(3), p STRING, q STRING, r STRING")
    sql = (settings(where, "hashmap", 1, None, **{"table.local-time-zone": "Europe/Berlin"}) + jdbc("t", columns, "all_types") +
           "INSERT INTO t VALUES (TRUE, CAST(-1 AS TINYINT), CAST(2 AS SMALLINT), 3, CAST(4 AS BIGINT), CAST(0.5 AS FLOAT), 1e300, 12.345, "
           "'tab\there \\ and\nline', 'ß', CAST('x\\y' AS BYTES), DATE '2026-02-03', TIME '10:11:12', TIMESTAMP '2026-01-01 10:00:00.123', "
           "CAST(TIMESTAMP '2026-01-01 10:00:00.5' AS TIMESTAMP_LTZ(3)), '{\"a\": 1}', '0cdd323a-ba16-48a0-bf17-4149b332e2ff', 'calm'), "
           "(CAST(NULL AS BOOLEAN), NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', '\\N', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);\n")
    Job(where, sql).finish()
    got = SERVER.sql("SET timezone = 'UTC'; SELECT a, b, c, d, e, f, g, h, replace(replace(i, chr(9), '<tab>'), chr(10), '<lf>'), j, k, l, m, n, o, p, q, r, s"
                     " FROM all_types ORDER BY a NULLS LAST")
    same(got, [["t", "-1", "2", "3", "4", "0.5", "1e+300", "12.345", "tab<tab>here \\ and<lf>line", "ß", "\\x785c79", "2026-02-03", "10:11:12",
                "2026-01-01 10:00:00.123", "2026-01-01 09:00:00.5+00", '{"a": 1}', "0cdd323a-ba16-48a0-bf17-4149b332e2ff", "calm", "7"],
               [""] * 8 + ["", "\\N"] + [""] * 8 + ["7"]], "the row")


@test
def a_table_that_does_not_fit_is_refused_with_all_its_faults(where):
    SERVER.sql("CREATE TABLE narrow (k bigint, n integer, d numeric(4,1), ts timestamp(0), t text NOT NULL, extra text NOT NULL, made bigint"
               " GENERATED ALWAYS AS (k) STORED)")
    start = settings(where, "hashmap", 1, None) + sequence("seq", 5)
    sql = (start + jdbc("o", "k BIGINT, n BIGINT, d DECIMAL(6, 2), ts TIMESTAMP(3), t STRING, gone INT, made BIGINT, PRIMARY KEY (k) NOT ENFORCED", "narrow") +
           "INSERT INTO o SELECT id, id, 1.25, TIMESTAMP '2026-01-01 00:00:00.5', 'x', 1, id FROM seq;\n")
    Job(where, sql).refused(
        "table narrow in database db does not fit:", "column n: BIGINT does not go into integer", "column d: DECIMAL(6, 2) would lose digits in numeric(4,1)",
        "column ts: TIMESTAMP(3) would lose digits in timestamp(0)", "column t: may be null here and is NOT NULL there", "column gone INT: there is none",
        "column made: the server computes it", "column extra: is NOT NULL there without a default", "no PRIMARY KEY or UNIQUE index on (k)")
    nowhere = start + jdbc("o", "id BIGINT", "nowhere") + "INSERT INTO o SELECT id FROM seq;\n"
    Job(where, nowhere).refused("there is no table nowhere in database db")
    # A dry run asks the server, too, and makes nothing there.
    SERVER.sql("CREATE SCHEMA dry; CREATE TABLE dry.narrow (id integer); CREATE TABLE dry.wide (id bigint)")
    for text, code, said in ((sql, 1, "would lose digits in numeric(4,1)"), (nowhere, 1, "there is no table nowhere"),
                             (start + jdbc("o", "id BIGINT", "dry.narrow") + "INSERT INTO o SELECT id FROM seq;\n", 1, "BIGINT does not go into integer"),
                             (start + jdbc("o", "id BIGINT", "dry.wide") + "INSERT INTO o SELECT id FROM seq;\n", 0, "")):
        got, out, err = varve("run", "--dry-run", write(where + "/dry.sql", text))
        check(got == code and said in out + err, "dry run", got, out, err)
    same(SERVER.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'dry'"), [["2"]], "tables after a dry run")
    gone = text.replace(":%d/" % SERVER.port, ":1/")
    got, out, err = varve("run", "--dry-run", write(where + "/dry.sql", gone))
    check(got == 1 and "127.0.0.1" in out + err, "dry run without a server", got, out, err)


@test
def without_a_checkpoint_directory_it_is_refused_before_anything_starts(where):
    sql = jdbc("o", "id BIGINT", "raw") + sequence("seq", 5) + "INSERT INTO o SELECT id FROM seq;\n"
    Job(where, sql).refused("table o: the connector 'jdbc' needs execution.checkpointing.dir", code=2)
    got, out, err = varve("run", "--dry-run", write(where + "/dry.sql", sql))
    check(got == 1 and "needs execution.checkpointing.dir" in out + err, "dry run", got, out, err)


@test
def what_the_server_refuses_is_said_with_its_words_and_without_the_password(where):
    SERVER.sql("CREATE TABLE checked (id bigint CHECK (id <> 3)); CREATE TABLE one (k bigint PRIMARY KEY, v text)")
    start = settings(where, "hashmap", 1, None) + sequence("seq", 5)
    job = Job(where, start + jdbc("o", "id BIGINT", "checked") + "INSERT INTO o SELECT id FROM seq;\n")
    job.refused("checked: new row for relation \"checked\" violates check constraint", "Failing row contains (3)", "line 3")
    same(SERVER.sql("SELECT count(*) FROM checked"), [["0"]], "rows of the transaction")
    job = Job(where, start + jdbc("o", "id BIGINT", "checked", password="wrong-4711") + "INSERT INTO o SELECT id FROM seq;\n", options={
        "restart-strategy.type": "none"})
    job.refused("password authentication failed")
    for text in (job.err, job.out):
        check("wrong-4711" not in text, "the password is shown", text)
    code, out, err = varve("sql", "-e", jdbc("o", "id BIGINT", "checked") + "; SHOW CREATE TABLE o;")
    check(code == 0 and PASSWORD not in out + err and "'password' = '******'" in out, "SHOW CREATE TABLE", out, err)
    bad = jdbc("o", "id BIGINT", "checked", **{"sink.buffer-flush.interval": "1 s"}) + "INSERT INTO o VALUES (1);"
    code, out, err = varve("run", "-e", bad)
    check(code != 0 and PASSWORD not in out + err and "rows leave when their checkpoint is complete" in err, "a mistake beside the password", out, err)


@test
def a_text_with_a_nul_is_refused_before_a_checkpoint_holds_it(where):
    fresh()
    SERVER.sql("CREATE TABLE texts (id bigint, t text)")
    sql = (settings(where, "hashmap", 1, "50 ms", mode="streaming", **{"restart-strategy.type": "none"}) + sequence("seq", 1000, 2000) +
           jdbc("o", "id BIGINT, t STRING", "texts") +
           "INSERT INTO o SELECT id, CASE WHEN id = 700 THEN CAST(X'610062' AS STRING) ELSE 'a' END FROM seq;\n")
    Job(where, sql).refused("table texts: column t: a text of 3 bytes has a NUL at byte 2")
    Job(where, sql.replace("X'610062'", "X'6162'"), ["--resume"]).finish()  # no checkpoint has the row
    same(SERVER.sql("SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE t = 'ab') FROM texts"), [["1000", "1000", "1"]], "rows")


@test
def sql_of_a_running_job_is_shown_without_the_password(where):
    fresh()
    job = Job(where, both(where, 2000, rows=20000))
    job.wait_checkpoints(2)
    for path in ("/jobs", "/jobs/%s" % job.jid, "/jobs/%s/config" % job.jid, "/jobs/%s/checkpoints" % job.jid, "/jobs/%s/plan" % job.jid):
        status, answer = job.http("GET", path)
        check(PASSWORD not in str(answer), "%s shows the password" % path, answer)
    code, out, err = varve("inspect", job_directories(where)[-1], "--files", "--sql")
    check(PASSWORD not in out + err, "inspect shows the password")
    job.kill()
    no_password_in(where)


def run_all():
    global SERVER
    if not programs():
        print("no PostgreSQL server on this machine: not tested", file=sys.stderr)
        sys.exit(77)
    SERVER = Server()
    try:
        main(at_once=1)  # one server, and it is killed
    finally:
        SERVER.close()


if __name__ == "__main__":
    run_all()
