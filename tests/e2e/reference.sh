#!/usr/bin/env bash
# docs/REFERENCE.md says what the code has: options, functions, connectors, REST paths, metrics, verbs; and every file that a page names is there.
# What scripts/mutate breaks is still there to be broken.
set -euo pipefail
"$TESTS_DIR/../scripts/mutate" --check
exec "$TESTS_DIR/../scripts/reference.py" --check
