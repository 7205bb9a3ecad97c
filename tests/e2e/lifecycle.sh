#!/usr/bin/env bash
# A job's life through the command line: run, list, checkpoint, savepoint, stop, restore, suspend by SIGTERM, resume by the printed command,
# cancel by SIGINT, resume from the retained checkpoint. At the end every number is there once.
source "$(dirname "${BASH_SOURCE[0]}")/lib/story.sh"
job lifecycle 3000 200 "$work/rows" >job.sql
job lifecycle 3000 100000 "$work/rows" >fast.sql

# ---- the verbs on a running job ---------------------------------------------------------------------
start first run job.sql
wait_for "the job" running
id=$(job_id)
says first.out "Job has been submitted with JobID $id"
expect 0 "$V" list -m "$url"
says out "------------------ Running/Restarting Jobs -------------------"
says out " : $id : lifecycle (RUNNING)"
says out "No scheduled jobs."
expect 0 "$V" list --json -m "$url"
says out "\"jid\":\"$id\""
wait_for "a checkpoint" has_checkpoint
expect 0 "$V" checkpoint "$id" -m "$url"
says out "You can resume your program from this checkpoint with the run command."
expect 0 "$V" savepoint lifecycle -m "$url" # by name
says out "Savepoint completed. Path: file:$work/sp/savepoint-${id:0:6}-"
expect 0 "$V" savepoint -q "$id" "$work/elsewhere" -m "$url"
other=$(cat out)
expect 0 "$V" inspect "$other"
expect 0 "$V" inspect --json "$other"
python3 -c 'import json,sys; json.load(sys.stdin)' <out || fail "inspect --json is no JSON"
expect 0 "$V" savepoint -d "$other" -m "$url"
says out "Savepoint '$other' disposed."
[ ! -e "${other#file:}" ] || fail "$other is still there"

# ---- stop and restore -------------------------------------------------------------------------------
expect 0 "$V" stop "$id" -m "$url"
says out "Suspending job \"$id\" with a CANONICAL savepoint."
savepoint=$(sed -n 's/^Savepoint completed. Path: //p' out)
ended 0
says first.err "FINISHED"
expect 0 "$V" inspect "$savepoint"
start second run -s "$savepoint" job.sql
wait_for "the job" running

# ---- suspend, and resume by the command that was printed --------------------------------------------
wait_for "a checkpoint" has_checkpoint "$(job_id)"
kill -TERM "$pid"
ended 0
says second.err "SUSPENDED"
resume=$(sed -n 's/^  resume with: varve run //p' second.err)
[ -n "$resume" ] || fail "no resume command was printed"
eval "start third run $resume"
wait_for "the job" running
third=$(job_id)
wait_for "a checkpoint" has_checkpoint "$third"

# ---- cancel keeps the checkpoint; it is the end of this process with code 1 ---------------------------
kill -INT "$pid"
ended 1
says third.err "CANCELED"
has_checkpoint "$third" || fail "the retained checkpoint is gone"
expect 0 "$V" run --json -D rest.port=0 -s "$work/cp/$third" fast.sql
says out '"state":"FINISHED"'
rows "$work/rows" >got
seq 1 3000 >want
cmp -s got want || { diff got want | head >&2; fail "not every number once"; }
