"""Workload W as a batch in DuckDB: numpy makes the events, one GROUP BY takes them all. For scripts/bench.

    duckdb_w.py W THREADS [K [N]]      W: small mid large zipf window; 0: the workload's own

Prints one RESULT line. Making and loading the events does not count, the GROUP BY does."""
import resource
import sys
import time

import duckdb
import numpy as np

U = np.uint64
KEYS = {'small': 100000, 'window': 1000000, 'large': 50000000}
CHUNK = 4000000


def mixed(x):
    with np.errstate(over='ignore'):
        z = x + U(0x9E3779B97F4A7C15)
        z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
        return z ^ (z >> U(31))


def keys_of(i, k, zipf):
    h = mixed(i)
    if not zipf:
        return h % U(k)
    u = (h >> U(11)).astype(np.float64) * 2.0 ** -53
    return mixed(np.floor(np.exp(u * np.log(float(k)))).astype(U))


def checksum(key, count, total):
    with np.errstate(over='ignore'):
        h = mixed(key ^ count.astype(U) * U(0x9E3779B97F4A7C15) ^ total.astype(U) * U(0xC2B2AE3D27D4EB4F))
    return int(np.bitwise_xor.reduce(h)) if len(h) else 0


def main():
    w, threads = sys.argv[1], int(sys.argv[2])
    k, n = [int(a) for a in sys.argv[3:5] + ['0', '0']][:2]
    k = k or KEYS.get(w, 10000000)
    n = n or (50000000 if w == 'large' else 20000000)
    con = duckdb.connect()
    con.execute('SET threads=%d' % threads)
    con.execute('CREATE TABLE e(k UBIGINT, v BIGINT, w INTEGER)')
    for start in range(0, n, CHUNK):
        i = np.arange(start, min(start + CHUNK, n), dtype=U)
        con.register('chunk', {'k': keys_of(i, k, w == 'zipf'), 'v': (i & U(0xFFFF)).astype(np.int64),
                               'w': (i // U(1000000)).astype(np.int32)})
        con.execute('INSERT INTO e SELECT * FROM chunk')
        con.unregister('chunk')
    group = 'k, w' if w == 'window' else 'k'
    wall, cpu = time.time(), time.process_time()
    con.execute('CREATE TABLE r AS SELECT %s, count(*) c, sum(v)::BIGINT s, min(v) mn, max(v) mx FROM e GROUP BY %s' % (group, group))
    wall, cpu = time.time() - wall, time.process_time() - cpu
    r = con.execute('SELECT * FROM r').fetchnumpy()
    key = np.asarray(r['k'], dtype=U)
    if w == 'window':
        key = key ^ mixed(np.asarray(r['w']).astype(U))
    print('RESULT n=%d sec=%.3f rate=%.0f cpu_s=%.3f rss_mb=%d xor=%016x' % (
        n, wall, n / wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        checksum(key, np.asarray(r['c']), np.asarray(r['s']))))


main()
