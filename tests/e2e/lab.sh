#!/usr/bin/env bash
# The lesson, in its short form: stop and restore, a fresh run, cancel and resume, kill -9 and resume; every number recounted from disk.
set -euo pipefail
VARVE=$VARVE_BIN exec "$TESTS_DIR/../scripts/lab" --short
