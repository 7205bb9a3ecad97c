#!/usr/bin/env bash
# docs/man/varve_state.3 names every function of its header and none that is not there, and troff has nothing to say about it.
set -euo pipefail
root=$TESTS_DIR/..
page=$root/docs/man/varve_state.3
functions() { grep -ohE '\bvv_[a-z0-9_]+' "$@" | sort -u; }

declared=$(sed -n '/^VV_API/,/;/p' "$root/backend/varve_state.h" "$root/base/varve_common.h" | grep -oE '\bvv_[a-z0-9_]+\(' | tr -d '(' | sort -u)
named=$(functions "$page" | grep -vxE 'vv_(keys|sink|error)') # types
if [ "$declared" != "$named" ]; then
    echo "header (<) and page (>) differ:" >&2
    diff <(echo "$declared") <(echo "$named") >&2
    exit 1
fi
if command -v groff >/dev/null; then
    warnings=$(groff -man -ww -z "$page" 2>&1)
    [ -z "$warnings" ] || { echo "$warnings" >&2; exit 1; }
fi
if command -v mandoc >/dev/null; then
    mandoc -Tlint -Wwarning "$page"
fi
