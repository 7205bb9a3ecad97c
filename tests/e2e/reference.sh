#!/usr/bin/env bash
# docs/REFERENCE.md says what the code has: options, functions, connectors, REST paths, metrics, verbs; and every file that a page names is there.
set -euo pipefail
exec "$TESTS_DIR/../scripts/reference.py" --check
