"""What varve is wanted to reach against Flink on RocksDB, and whether a run of scripts/bench did."""

# Measured before on this class of machine (2 cores, EPYC), Flink 2.3.0 with W's own sizes: microseconds of CPU an event ...
KNOWN_US = {'small': 5.95, 'mid': 16.5, 'zipf': 10.4, 'window': 20.0}
# ... and checkpoints and restores of 10^7 keys.
KNOWN = {'at_1_ms': 411, 'at_1_new_bytes': 0.87e6, 'first_ms': 730, 'first_new_bytes': 211e6, 'restore_2_1_first_ms': 10500,
         'restore_1_2_first_ms': 10500, 'restore_2_2_first_ms': 1900}
THROUGHPUT = {'small': 40, 'mid': 25, 'zipf': 25, 'window': 25, 'large': 8}
DUCKDB_SHARE = 0.7


def flink_ns(b, w):
    """(ns of CPU an event, measured in this run?), or (None, False)."""
    r = b.find('flink', workload=w, what='Flink, RocksDB')
    if r:
        return r['cpu_ns_per_event'], True
    return (None if b.quick or w not in KNOWN_US else 1e3 * KNOWN_US[w]), False


def flink_figure(b, name):
    r = b.find('flink', what='checkpoints and restores')
    if r and name in r:
        return r[name], True
    return (None if b.quick else KNOWN[name]), False


class Mark:
    def __init__(self, what, wanted, value=None, reached=None, than=''):
        self.what, self.wanted, self.value, self.reached, self.than = what, wanted, value, reached, than

    def line(self, quick):
        verdict = 'reached' if self.reached else 'NOT REACHED'
        if self.value is None:
            verdict = 'not measured'
        elif self.reached is None:
            verdict = 'no mark'
        elif quick:  # Flink's compiler has hardly warmed up, and the state is small
            verdict = 'quick run'
        return '  %-62s %-22s %-16s %-12s %s' % (self.what, self.wanted, self.value or '', verdict, self.than)


def source(measured):
    return 'Flink in this run' if measured else 'Flink known'


def throughput(b):
    for w, wanted in THROUGHPUT.items():
        ours = b.find('engine', workload=w, what='varve, SQL, rocksdb')
        theirs, measured = flink_ns(b, w)
        what = 'W-%s, CPU an event' % w
        if ours and theirs:
            ratio = theirs / ours['cpu_ns_per_event']
            yield Mark(what, '>= %d x less' % wanted, '%.1f x' % ratio, ratio >= wanted, source(measured))
        else:
            yield Mark(what, '>= %d x less' % wanted, than='' if ours is None else 'no figure of Flink: --flink')


def final_rows(b):
    for w in THROUGHPUT:
        ours, theirs = b.find('final', workload=w), b.find('duckdb', workload=w)
        if ours and theirs:
            share = theirs['cpu_ns_per_event'] / ours['cpu_ns_per_event']
            yield Mark('W-%s, final rows only, events a CPU second' % w, '>= %.1f of DuckDB' % DUCKDB_SHARE, '%.2f' % share,
                       share >= DUCKDB_SHARE, 'DuckDB in this run')


def compared(b, what, wanted, ours, name, reached, form):
    """A figure of ours against Flink's: `form` makes text of both, `reached` says whether it will do."""
    theirs, measured = flink_figure(b, name)
    if ours is None or theirs is None:
        return Mark(what, wanted)
    return Mark(what, wanted, form(ours), reached(ours, theirs), '%s: %s' % (source(measured), form(theirs)))


def checkpoints(b):
    c = b.find('checkpoint') or {}
    ms, mb = (lambda x: '%.0f ms' % x), (lambda x: '%.2f MB' % (x / 1e6))
    yield compared(b, 'checkpoint after 1 % of the keys changed', '>= 5 x shorter', c.get('at_1_ms'), 'at_1_ms', lambda o, t: 5 * o <= t, ms)
    yield compared(b, 'bytes of files first named by it, compactions apart', '<= 1.5 x', c.get('at_1_new_bytes'), 'at_1_new_bytes',
                   lambda o, t: o <= 1.5 * t, mb)
    yield compared(b, 'first full checkpoint', 'not longer', c.get('first_ms'), 'first_ms', lambda o, t: o <= t, ms)
    yield compared(b, 'bytes of it', 'not larger', c.get('first_new_bytes'), 'first_new_bytes', lambda o, t: o <= t, mb)


def restores(b):
    r = b.find('restore')
    at = {(s['from'], s['to']): s for s in r['scenarios']} if r else {}
    ms = lambda x: '%.0f ms' % x
    same = at.get((2, 2))
    keys = ' of %d keys' % r['keys'] if r else ''
    yield Mark('restore%s, same parallelism, to the first record' % keys, '< 300 ms', same and ms(same['first_record_ms']),
               same and same['first_record_ms'] < 300, 'Flink known: 1900 ms')
    yield Mark('the same, to 90 % of the steady rate', 'reported',
               same and (ms(same['ready_ms']) if same['ready_ms'] >= 0 else 'over a minute'), None, 'Flink known: over 21 s')
    for ends in ((2, 1), (1, 2)):
        s = at.get(ends)
        yield compared(b, 'restore %d -> %d, to the first record' % ends, '>= 10 x shorter', s and s['first_record_ms'],
                       'restore_%d_%d_first_ms' % ends, lambda o, t: 10 * o <= t, ms)


def show(b):
    if not b.runs:
        return
    print('\nMarks%s' % (': a quick run proves none' if b.quick else ''))
    for group in (throughput, final_rows, checkpoints, restores):
        for mark in group(b):
            print(mark.line(b.quick))
