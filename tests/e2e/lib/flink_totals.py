"""flink_totals.py - the job whose totals Flink keeps in tests/flink-judge/VarveTotals.java, as varve runs it, and what it must give."""
import re

from varve import check, files_table, lines_of, settings, table

KEPT, PART = 101, 4000  # keys; how many ids varve takes at most, then Flink, then varve again
THEIRS, OURS = 100000, 200000  # the first id of each later part


def totals_sql(where, backend, parallelism, first, ttl, rate=1000000000):
    """Over PART ids. With a time-to-live (of streams alone) the changelog is printed, else the table is a file."""
    source = table("seq", "id BIGINT", connector="datagen", **{"fields.id.kind": "sequence", "fields.id.start": first, "fields.id.end": first + PART - 1,
                                                              "rows-per-second": rate})
    columns = "k INT, n BIGINT, s BIGINT, most STRING, d BIGINT"
    more = {"table.exec.state.ttl": "10000 d"} if ttl else {}
    return (settings(where, backend, parallelism, "50 ms", "streaming" if ttl else "batch", **more) + source +
            (table("o", columns, connector="print") if ttl else files_table("o", columns, where + "/out")) +
            "INSERT INTO o SELECT /*+ OPTIONS('varve.uid'='totals') */ MOD(id, %d), COUNT(*), SUM(id), MAX(CAST(id AS STRING)), "
            "COUNT(DISTINCT MOD(id, 13)) FROM seq GROUP BY MOD(id, %d);\n" % (KEPT, KEPT))


def totals_of(ids):
    groups = {}
    for i in ids:
        groups.setdefault(i % KEPT, []).append(i)
    return sorted("%d,%d,%d,%s,%d" % (k, len(v), sum(v), max(map(str, v)), len({i % 13 for i in v})) for k, v in groups.items())


def table_of(job, ttl):
    if not ttl:
        return sorted(line.decode() for line in lines_of(job.where + "/out"))
    last = {}
    for k, *row in re.findall(r"[+]U\[(\d+), (\d+), (\d+), (\d+), (\d+)\]", job.out):
        last[k] = ",".join([k] + row)
    return sorted(last.values())


def totals_are_right(job, ids, ttl, what):
    """Of a job that took PART ids from OURS on, after `ids`."""
    got, want = table_of(job, ttl), totals_of([*ids, *range(OURS, OURS + PART)])
    check(got == want, what + ": the totals are wrong", [g for g in got if g not in want][:3], want[:3], job.said())
