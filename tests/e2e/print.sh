#!/usr/bin/env bash
# What print shows, as Flink's print connector shows it: row kinds, subtask prefixes, identifiers, nulls, java.time's timestamps.
set -euo pipefail
expect() { # what, sql, wanted stdout
    local got
    got=$("$VARVE_BIN" run -q -D rest.port=0 -e "$2" 2>/dev/null | grep -v '^Job has been submitted')
    [ "$got" = "$3" ] || { printf '%s:\n%s\ninstead of\n%s\n' "$1" "$got" "$3"; exit 1; }
}
expect "types" "
CREATE TABLE o (a INT, t0 TIMESTAMP(0), t3 TIMESTAMP(3), t9 TIMESTAMP(9), z TIMESTAMP_LTZ(3), d DATE, x DOUBLE, c DECIMAL(10, 2), s STRING, b BYTES)
    WITH ('connector' = 'print');
INSERT INTO o VALUES (1, TIMESTAMP '2026-01-02 03:04:00', TIMESTAMP '2026-01-02 03:04:05.120', TIMESTAMP '2026-01-02 03:04:05.000001',
    TO_TIMESTAMP_LTZ(0, 3), DATE '2026-01-02', 1E10, 1.5, 'text', X'01ff'),
    (CAST(NULL AS INT), CAST(NULL AS TIMESTAMP(0)), CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS TIMESTAMP(9)), CAST(NULL AS TIMESTAMP_LTZ(3)),
     CAST(NULL AS DATE), CAST(NULL AS DOUBLE), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS STRING), CAST(NULL AS BYTES))" \
    "+I[1, 2026-01-02T03:04, 2026-01-02T03:04:05.120, 2026-01-02T03:04:05.000001, 1970-01-01T00:00:00Z, 2026-01-02, 1.0E10, 1.50, text, [1, -1]]
+I[null, null, null, null, null, null, null, null, null, null]"
expect "changes of one key" "
CREATE TABLE o (n BIGINT) WITH ('connector' = 'print', 'print-identifier' = 'out');
INSERT INTO o SELECT COUNT(*) FROM (VALUES (1), (2)) AS v(x)" \
    "out> +I[1]
out> -U[1]
out> +U[2]"
