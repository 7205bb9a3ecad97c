"""What scripts/bench compares varve with: Flink 2.3.0 (tests/bench/flink) and DuckDB (tests/bench/duckdb_w.py), on workload W.

Each is fetched once, into a cache outside the tree, by its ordinary package manager. What can't be had raises Missing."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DUCKDB = 'duckdb==2.0.1'
NUMPY = 'numpy'


class Missing(Exception):
    """A peer can't be had here; the text says why."""


class Failed(Exception):
    """A peer ran and did not end well."""


def cache_dir():
    return os.environ.get('VARVE_CACHE_DIR') or os.path.join(
        os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'varve')


def words(line):
    """"RESULT a=1 b=x" -> {'a': '1', 'b': 'x'}"""
    return dict(re.findall(r'(\w+)=(\S+)', line))


def execute(command, seconds, env=None, until=None, cwd=None):
    """Its output; Failed with the last lines when it does not end well. Once a line begins with `until`, how it ends does not
    matter: all that is wanted has been said."""
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                            env=dict(os.environ, **(env or {})), cwd=cwd)
    try:
        out, _ = done.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        done.kill()
        done.communicate()
        raise Failed('%s: not done after %d s' % (' '.join(command[-6:]), seconds))
    said = until and re.search('^' + until, out, re.M)
    if done.returncode != 0 and not said:
        raise Failed('%s: exit %d: %s' % (' '.join(command[-6:]), done.returncode, ' | '.join(out.strip().split('\n')[-3:])))
    return out


# ---- Flink --------------------------------------------------------------------------------------------------------------

OPENED = ('lang', 'net', 'io', 'nio', 'lang.reflect', 'text', 'time', 'util', 'util.concurrent', 'util.concurrent.atomic',
          'util.concurrent.locks')


class Flink:
    """A mini cluster in one JVM a run: two task slots, 4 GiB of heap (12 with the heap backend)."""

    def __init__(self):
        got = subprocess.run([ROOT + '/scripts/flink-jars', 'sql'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
        if got.returncode != 0:
            raise Missing((got.stderr.strip() or 'scripts/flink-jars failed').split('\n')[-1])
        self.jars = got.stdout.strip()
        self.work = tempfile.mkdtemp(prefix='varve-bench-flink.')
        source = ROOT + '/tests/bench/flink/src'
        classes = self.work + '/classes'
        os.mkdir(classes)
        execute(['javac', '-nowarn', '-d', classes, '-cp', self.jars + '/*'] +
                sorted('%s/bench/%s' % (source, f) for f in os.listdir(source + '/bench')), 300)
        shutil.copytree(source + '/META-INF', classes + '/META-INF')

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def run(self, w, size, backend='rocksdb', sql=False, mode='run', memory='4g', interval='10s', more=(), seconds=7200):
        """One run as a list of its lines; mode as in Main.java. `size` is (keys, rows), 0: the workload's own."""
        heap = '12g' if backend == 'hashmap' else '4g'
        data = tempfile.mkdtemp(prefix='run.', dir=self.work)
        command = ['java'] + ['--add-opens=java.base/java.%s=ALL-UNNAMED' % p for p in OPENED]
        command += ['--add-opens=java.base/sun.nio.ch=ALL-UNNAMED', '-Xmx' + heap, '-XX:+UseG1GC',
                    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', '%s/classes:%s/*' % (self.work, self.jars), 'bench.Main',
                    'w=' + w, 'backend=' + backend, 'mode=' + mode, 'dir=' + data, 'ckpt=' + interval,
                    'managed=' + ('256m' if backend == 'hashmap' else memory), 'conf.state.backend.rocksdb.use-bloom-filter=true']
        command += ['api=sql'] if sql else []
        command += ['%s=%d' % (name, n) for name, n in zip('kn', size) if n]
        try:
            # Flink's RocksDB may crash while the JVM is taken down, after the last figure.
            until = {'run': 'DISK', 'ckpt': 'PATH', 'restore': 'RESULT'}[mode]
            return execute(command + list(more), seconds, None, until, self.work).split('\n')
        finally:
            if mode != 'ckpt':  # a restore comes after it
                shutil.rmtree(data, ignore_errors=True)

    def workload(self, w, size, backend='rocksdb', sql=False, memory='4g', interval='10s'):
        lines = self.run(w, size, backend, sql, 'run', memory, interval)
        result = words(next(x for x in lines if x.startswith('RESULT')))
        done = [words(x) for x in lines if x.startswith('CKPT COMPLETED')]
        rows, cpu = int(result['n']), float(result['cpu_s'])
        figures = {'program': 'flink', 'backend': backend, 'api': 'sql' if sql else 'datastream', 'workload': w, 'rows': rows,
                   'keys': size[0], 'memory': memory, 'threads': 2, 'seconds': float(result['sec']), 'cpu_seconds': cpu,
                   'events_per_s': float(result['rate']), 'cpu_ns_per_event': 1e9 * cpu / rows,
                   'peak_rss_mb': float(result['rss_mb']), 'state_bytes': int(result['local_db_bytes']),
                   'checkpoints_completed': len(done), 'late_events_per_s': float(result['last_third_rate'])}
        if not sql:  # the table's sink takes no -U: there is no checksum
            figures['checksum'] = result['xor']
        if done:
            figures.update(first_checkpoint_ms=float(done[0]['e2e_ms']), first_checkpoint_bytes=float(done[0]['checkpointed_bytes']))
        if len(done) > 1:
            later = done[1:]
            figures.update(later_checkpoint_ms=sum(float(x['e2e_ms']) for x in later) / len(later),
                           later_checkpoint_bytes=sum(float(x['checkpointed_bytes']) for x in later) / len(later))
        return figures

    def checkpoints(self, size, memory='4g'):
        """A full checkpoint of W-mid's state and an incremental one after 1 % of the keys; then restores at 2, 1 and, from a
        checkpoint at parallelism 1, at 2."""
        figures = {'program': 'flink', 'what': 'checkpoints'}
        lines = self.run('mid', size, 'rocksdb', False, 'ckpt', memory, '1h')
        for kind, name in (('full', 'first'), ('incr1pct', 'at_1')):
            c = words(next(x for x in lines if x.startswith('CKPT %s ' % kind)))
            figures.update({name + '_ms': float(c['client_ms']), name + '_new_bytes': float(c['checkpointed_bytes']),
                            name + '_sync_ms': float(c['sync_ms'])})
        of_two = self.path(lines)
        of_one = self.path(self.run('mid', size, 'rocksdb', False, 'ckpt', memory, '1h', ['p=1']))
        for name, path, p in (('restore_2_2', of_two, 2), ('restore_2_1', of_two, 1), ('restore_1_2', of_one, 2)):
            lines = self.run('mid', size, 'rocksdb', False, 'restore', memory, '1h', ['from=' + path, 'p=%d' % p])
            figures[name + '_first_ms'] = float(words(next(x for x in lines if x.startswith('RESULT')))['submit_to_first_ms'])
        return figures

    @staticmethod
    def path(lines):
        return next(x for x in lines if x.startswith('PATH ')).split(' ', 1)[1]


# ---- DuckDB -------------------------------------------------------------------------------------------------------------


class Duckdb:
    def __init__(self):
        self.packages = os.path.join(cache_dir(), 'python-%d.%d-%s' % (sys.version_info[0], sys.version_info[1], DUCKDB.replace('==', '-')))
        if not os.path.exists(self.packages + '/.complete'):
            got = subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', '--target', self.packages, DUCKDB, NUMPY],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
            if got.returncode != 0:
                raise Missing('%s could not be installed: %s' % (DUCKDB, got.stderr.strip().split('\n')[-1][:200]))
            open(self.packages + '/.complete', 'w').close()

    def workload(self, w, size):
        out = execute([sys.executable, ROOT + '/tests/bench/duckdb_w.py', w, '2'] + [str(n) for n in size], 3600,
                      {'PYTHONPATH': self.packages})
        r = words(next(x for x in out.split('\n') if x.startswith('RESULT')))
        rows, cpu = int(r['n']), float(r['cpu_s'])
        return {'program': 'duckdb', 'workload': w, 'rows': rows, 'keys': size[0], 'threads': 2, 'seconds': float(r['sec']),
                'cpu_seconds': cpu, 'events_per_s': float(r['rate']), 'cpu_ns_per_event': 1e9 * cpu / rows,
                'peak_rss_mb': float(r['rss_mb']), 'checksum': r['xor']}
