#!/usr/bin/env bash
# varve sql: statements of a file in this process and in a varve serve give the same tables; errors stop a file; JSON; a job of a session
# that has ended goes on; SIGTERM of the server suspends it and it resumes.
source "$(dirname "${BASH_SOURCE[0]}")/lib/story.sh"
cat >t.sql <<'SQL'
CREATE TABLE seq (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '7');
SHOW TABLES;
DESCRIBE seq;
SELECT MOD(id, 3) AS m, COUNT(*) AS n FROM seq GROUP BY MOD(id, 3);
SET 'sql-client.execution.result-mode' = 'table';
SELECT MOD(id, 3) AS m, COUNT(*) AS n FROM seq GROUP BY MOD(id, 3);
SELECT 'grün' AS x, CAST(NULL AS INT) AS y, CAST(1.5 AS DECIMAL(5, 2)) AS z;
SQL
start server serve
expect 0 "$V" sql -q -D rest.port=0 -f t.sql
cp out embedded
expect 0 "$V" sql -q -m "$url" -f t.sql
cmp -s out embedded || { diff embedded out >&2 || true; fail "embedded and remote differ"; }
says out "| op |           m |                    n |"
says out "Received a total of 11 rows"
says out "| m | n |"
says out "3 rows in set"
says out "| grün | <NULL> | 1.50 |"

for where in "-D rest.port=0" "-m $url"; do
    expect 1 "$V" sql $where -e "SHOW TABLES; SELECT a FROM nothing_like_this; SHOW JOBS;"
    says err "[ERROR] Could not execute SQL statement. Reason:"
    says err "nothing_like_this"
    says_not out "job id"
    expect 0 "$V" sql --json $where -e "SELECT 1 AS a, 'x' AS b, TRUE AS c"
    says out '{"a":1,"b":"x","c":true}'
    echo "SELECT 2 AS two;" | "$V" sql -q $where >out 2>err
    says out "| +I |           2 |"
    expect 2 "$V" sql $where -f a -e b
done

# ---- a job of a session that has ended ----------------------------------------------------------------
job served 100000 100 "$work/rows" >job.sql
expect 0 "$V" sql -m "$url" -f job.sql
says out "Job ID: "
wait_for "the job" running
id=$(job_id)
wait_for "a checkpoint" has_checkpoint
expect 0 "$V" sql -m "$url" -e "SHOW JOBS"
says out "$id"
kill -TERM "$pid"
ended 0
says server.err "resume with SET 'execution.state-recovery.path'"
path=$(sed -n "s/.*resume with SET 'execution.state-recovery.path' = '\(.*\)'.*/\1/p" server.err)

start server2 serve
{ echo "SET 'execution.state-recovery.path' = '$path';"; cat job.sql; } >resumed.sql
expect 0 "$V" sql -m "$url" -f resumed.sql
wait_for "the job" running
id=$(job_id)
expect 0 "$V" sql -m "$url" -e "STOP JOB '$id' WITH SAVEPOINT"
says out "savepoint path"
rows "$work/rows" >got
last=$(tail -n 1 got)
seq 1 "$last" >want
cmp -s got want || fail "gaps or duplicates after the resume"
kill -INT "$pid"
ended 0
