#!/usr/bin/env bash
# What the command line says about mistakes: exit codes 1, 2, 3, one readable message on stderr, nothing on stdout.
source "$(dirname "${BASH_SOURCE[0]}")/lib/story.sh"
mistake() { # CODE PART COMMAND...
    local code=$1 part=$2
    shift 2
    expect "$code" "$@"
    says err "$part"
    [ ! -s out ] || { cat out >&2; fail "a mistake wrote to stdout: $*"; }
}
P="-D rest.port=0"

# ---- usage ------------------------------------------------------------------------------------------
mistake 2 "usage: varve VERB" "$V"
mistake 2 "did you mean varve inspect?" "$V" inspct x
mistake 2 "there is no verb" "$V" zzzzzz
mistake 2 "did you mean --detached?" "$V" run --detachd x.sql
mistake 2 "no job: give a SQL file" "$V" run
mistake 2 "not both" "$V" run -e 'SHOW TABLES' x.sql
mistake 2 "give one of them" "$V" run -s /a --resume x.sql
mistake 2 "an argument is missing" "$V" stop
mistake 2 "too many arguments" "$V" list a
mistake 2 "--log-level loud" "$V" list --log-level loud
mistake 2 "is no address" "$V" list -m a:b:c
mistake 2 "verify: stat" "$V" verify /nowhere/x
mistake 2 "there is no verb" "$V" help nothing
expect 0 "$V" help
expect 0 "$V" help run
says out "--claim-mode"
expect 0 "$V" stop --help
says out "--drain"
expect 0 "$V" --version
says out "varve "

# ---- configuration ----------------------------------------------------------------------------------
mistake 2 "state.backend.type" "$V" run $P -D state.backend.typ=rocksdb -e 'SHOW TABLES'
mistake 2 "state.backend.type" "$V" run $P -D state.backend.type=postgres -e 'SHOW TABLES'
mistake 2 "no-such.yaml" "$V" run -c no-such.yaml -e 'SHOW TABLES'
printf 'a:\n  - [\n' >bad.yaml
mistake 2 "bad.yaml:" "$V" run -c bad.yaml -e 'SHOW TABLES'
expect 2 "$V" run $P -e "SET 'rest.port' = '1'"
says err "belongs to the process"

# ---- SQL: line, column, caret; nothing before the mistake has run -----------------------------------
printf 'CREATE TABLE t (a INT) WITH (%s);\nINSERT INTO t\n  SELECT a FORM t;\n' "'connector' = 'blackhole'" >wrong.sql
mistake 2 "wrong.sql: line 3 column " "$V" run $P wrong.sql
says err "SELECT a FORM t"
mistake 2 "no-such.sql" "$V" run $P no-such.sql
mistake 2 "has no statement" "$V" run $P -e ' -- nothing'
expect 2 "$V" run $P -e "SELECT b FROM (VALUES (1)) AS t(a)"
says err "line 1 column 8"
expect 2 "$V" run $P -e "INSERT INTO nowhere SELECT 1"
says err "nowhere"

# ---- restore ----------------------------------------------------------------------------------------
job mistakes 10 1000 "$work/rows" >job.sql
expect 2 "$V" run $P -s "$work/no-such-savepoint" job.sql
says err "no-such-savepoint"
mkdir -p damaged && echo "not a snapshot" >damaged/_metadata
expect 1 "$V" run $P -s "$work/damaged" job.sql
says err "_metadata"
expect 1 "$V" inspect damaged
expect 2 "$V" inspect "$work/no-such-directory"
says err "no-such-directory"
expect 2 "$V" inspect /dev/null

# ---- a job that fails: one message, exit code 1 -------------------------------------------------------
expect 1 "$V" run $P -e "CREATE TABLE s (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '9');
CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole'); INSERT INTO n SELECT 10 / (id - 5) FROM s;"
says err "failed: "
says err "zero"
echo 1 >plain # a restart would meet it again, so there is none
expect 1 "$V" run $P -D execution.checkpointing.interval=1s -e "CREATE TABLE s (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE f (id BIGINT) WITH ('connector' = 'filesystem', 'path' = '$work/plain', 'format' = 'csv'); INSERT INTO f SELECT id FROM s;"
says err "$work/plain: a file of that name is there"
[ "$(grep -c 'a file of that name is there' err)" -le 2 ] || fail "said three times"

# ---- the environment: exit code 3 ---------------------------------------------------------------------
mistake 3 "no varve answers at localhost:1" "$V" list -q -m localhost:1
start holder serve
port=${url##*:}
expect 3 "$V" run -D rest.port="$port" -e 'SHOW TABLES'
says err "rest.port = $port: the port is taken"
expect 1 "$V" cancel 00000000000000000000000000000000 -m "$url"
says err "not found"
expect 1 "$V" stop 00000000000000000000000000000000 -m "$url"
says err "Could not find job"
expect 2 "$V" savepoint zz -m "$url"
says err 'Cannot parse JobID from "zz"'
if [ -e /dev/full ]; then
    "$V" help >/dev/full 2>err && fail "a full disk was not noticed" || [ $? = 3 ]
    says err "standard output"
fi
kill -TERM "$pid"
ended 0
