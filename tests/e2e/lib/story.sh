# story.sh - for the shell stories of tests/e2e: a directory of its own, started programs that end with it, checks that say what they saw.
#
# Source it first. VARVE_BIN is the program; KEEP=1 keeps the directory. Every server picks a free port.
set -Eeuo pipefail
trap 'echo "FAILED: ${BASH_SOURCE[0]##*/} line $LINENO: $BASH_COMMAND" >&2' ERR # whatever ends a story says so
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
V=${VARVE_BIN:-$here/../build/release/varve}
work=$(mktemp -d "${TMPDIR:-/tmp}/varve-e2e.XXXXXX")
pids=()
finish() {
    local code=$?
    for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null || true; done
    if [ $code != 0 ]; then
        for f in "$work"/*.err "$work"/*.out; do [ -s "$f" ] && { echo "---- $f" >&2; tail -n 20 "$f" >&2; }; done
    fi
    [ -n "${KEEP:-}" ] || rm -rf "$work"
}
trap finish EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
# expect CODE COMMAND...: its exit code is CODE; outputs in out and err.
expect() {
    local want=$1 got=0
    shift
    "$@" >out 2>err || got=$?
    [ "$got" = "$want" ] || { cat out err >&2; fail "exit code $got instead of $want: $*"; }
}
# says FILE TEXT: the text (no pattern) is in it.
says() { grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "\"$2\" is not in $1"; }; }
# says_not FILE TEXT
says_not() { ! grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "\"$2\" is in $1"; }; }
# wait_for WHAT COMMAND...: until it succeeds.
wait_for() {
    local what=$1
    shift
    for _ in $(seq 600); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.05
    done
    fail "waited too long for $what"
}
# start NAME VERB ARGS...: in the background with outputs NAME.out and NAME.err; sets pid, and url (host:port) of its REST server.
start() {
    local name=$1
    shift
    "$V" "$@" -D rest.port=0 >"$name.out" 2>"$name.err" &
    pid=$!
    pids+=("$pid")
    wait_for "the REST server of $name" grep -q '^REST: http' "$name.err"
    url=$(sed -n 's|^REST: http://\([^ ]*\).*|\1|p' "$name.err" | head -n 1)
}
# ended CODE: the program of the last start ends with CODE.
ended() {
    local got=0
    wait "$pid" || got=$?
    [ "$got" = "$1" ] || fail "process $pid ended with $got instead of $1"
}
job_id() { "$V" list -q -m "$url" | sed -n 's/.* : \([0-9a-f]\{32\}\) : .*/\1/p' | head -n 1; }
has_checkpoint() { # [JOB]
    [ -n "$(ls -d "$work"/cp/${1:-*}/chk-*/_metadata 2>/dev/null)" ]
}
running() { [ -n "$(job_id)" ]; }
# rows DIR: the finished rows there.
rows() { find "$1" -type f ! -name '.*' ! -name '_*' -exec cat {} + | sort -n; }
# A sequence into files: job NAME LAST-ID ROWS-PER-SECOND OUT-DIR
job() {
    cat <<SQL
SET 'pipeline.name' = '$1';
SET 'execution.checkpointing.interval' = '100 ms';
SET 'execution.checkpointing.dir' = 'file://$work/cp';
SET 'execution.checkpointing.savepoint-dir' = 'file://$work/sp';
SET 'execution.checkpointing.externalized-checkpoint-retention' = 'RETAIN_ON_CANCELLATION';
CREATE TABLE seq (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '$3', 'fields.id.kind' = 'sequence',
    'fields.id.start' = '1', 'fields.id.end' = '$2');
CREATE TABLE target (id BIGINT) WITH ('connector' = 'filesystem', 'path' = 'file://$4', 'format' = 'csv');
INSERT INTO target SELECT id FROM seq;
SQL
}
