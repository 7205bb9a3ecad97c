#!/usr/bin/env bash
# varve run -d: the caller gets the job's id and its shell back, mistakes still reach it, and the job goes on without a terminal.
source "$(dirname "${BASH_SOURCE[0]}")/lib/story.sh"
job background 100000 100 "$work/rows" >job.sql

answer=$("$V" run -d --log-file "$work/job.log" -D rest.port=0 job.sql 2>start.err) # returns although the job runs
id=${answer#Job has been submitted with JobID }
[ ${#id} = 32 ] || fail "no job id: $answer"
url=$(sed -n 's|^REST: http://\([^ ]*\).*|\1|p' start.err)
daemon=$(ss -ltnp 2>/dev/null | sed -n "s/.*:${url##*:} .*pid=\([0-9]*\).*/\1/p" | head -n 1)
[ -z "$daemon" ] || pids+=("$daemon")
wait_for "the job" running
expect 0 "$V" list -m "$url"
says out "$id : background (RUNNING)"
expect 0 "$V" stop "$id" -m "$url"
says out "Savepoint completed."
gone() { ! "$V" list -q -m "$url"; }
wait_for "the end of the process" gone
says job.log "to=FINISHED"

# A mistake: nothing stays behind.
expect 2 "$V" run -d -D rest.port=0 -e "INSERT INTO nowhere SELECT 1"
says err "nowhere"
expect 2 "$V" run -d -D rest.port=0 -e "SELECT 1"
says err "SELECT has nowhere to show its rows with -d"
expect 2 "$V" run -d -D rest.port=0 -D no.such.key=1 job.sql
