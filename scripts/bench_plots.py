"""The plots of scripts/bench, as SVG written by hand: two axes with ticks and units, one line a thing measured, its
name at its end."""
import math
import os

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 80, 200, 48, 64
COLORS = ('#0b6e4f', '#c1440e', '#3d5a98', '#8a6d00', '#7a3b8f')
SHAPES = ('circle', 'square', 'diamond', 'triangle', 'ring')


def escape(text):
    return text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')


class Axis:
    """Logarithmic: decades between least and most, in pixels from `start` to `end`."""

    def __init__(self, values, start, end, name):
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.high = max(self.high, self.low + 1)
        self.start, self.end, self.name = start, end, name

    def at(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        return [10.0 ** e for e in range(self.low, self.high + 1)]

    def between(self):
        return [m * 10.0 ** e for e in range(self.low, self.high) for m in range(2, 10)]


def number(value):
    """10000 -> 10,000; a power of ten above a million as 10 with an exponent."""
    if value >= 1e6:
        return '10<tspan dy="-5" font-size="9">%d</tspan>' % round(math.log10(value))
    return '{:,.0f}'.format(value) if value >= 1 else '%g' % value


def marker(shape, x, y, color):
    fill = 'fill="%s"' % color
    if shape == 'circle':
        return '<circle cx="%.1f" cy="%.1f" r="4" %s/>' % (x, y, fill)
    if shape == 'ring':
        return '<circle cx="%.1f" cy="%.1f" r="4" fill="#fff" stroke="%s" stroke-width="2"/>' % (x, y, color)
    points = {'square': ((-4, -4), (4, -4), (4, 4), (-4, 4)), 'diamond': ((0, -5), (5, 0), (0, 5), (-5, 0)),
              'triangle': ((0, -5), (5, 4), (-5, 4))}[shape]
    return '<polygon points="%s" %s/>' % (' '.join('%.1f,%.1f' % (x + dx, y + dy) for dx, dy in points), fill)


def spread(places, gap):
    """Labels that would lie on each other move apart: {key: y}."""
    out, last = {}, None
    for key, y in sorted(places.items(), key=lambda p: p[1]):
        out[key] = y if last is None else max(y, last + gap)
        last = out[key]
    return out


def plot(title, x_name, y_name, series):
    """series: {name: [(x, y), ...]}, all positive."""
    points = [p for s in series.values() for p in s]
    x = Axis([p[0] for p in points], LEFT, WIDTH - RIGHT, x_name)
    y = Axis([p[1] for p in points], HEIGHT - BOTTOM, TOP, y_name)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12"'
           ' fill="#222">' % (WIDTH, HEIGHT, WIDTH, HEIGHT), '<rect width="100%" height="100%" fill="#fff"/>',
           '<text x="%d" y="24" font-size="15" font-weight="bold">%s</text>' % (LEFT, escape(title))]
    for v in x.between():
        out.append('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#f0f0f0"/>' % (x.at(v), x.at(v), y.start, y.end))
    for v in y.between():
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#f0f0f0"/>' % (x.start, x.end, y.at(v), y.at(v)))
    for v in x.ticks():
        out.append('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#ccc"/>' % (x.at(v), x.at(v), y.start, y.end))
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % (x.at(v), y.start + 18, number(v)))
    for v in y.ticks():
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ccc"/>' % (x.start, x.end, y.at(v), y.at(v)))
        out.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (x.start - 8, y.at(v) + 4, number(v)))
    middle = (y.start + y.end) / 2
    out.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % ((x.start + x.end) / 2, HEIGHT - 20, escape(x_name)))
    out.append('<text x="20" y="%.1f" text-anchor="middle" transform="rotate(-90 20 %.1f)">%s</text>' % (middle, middle, escape(y_name)))
    labels = spread({name: y.at(sorted(s)[-1][1]) for name, s in series.items()}, 16)
    for i, (name, s) in enumerate(series.items()):
        color, shape, places = COLORS[i % len(COLORS)], SHAPES[i % len(SHAPES)], [(x.at(a), y.at(c)) for a, c in sorted(s)]
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (
            ' '.join('%.1f,%.1f' % p for p in places), color))
        out += [marker(shape, px, py, color) for px, py in places]
        out.append('<text x="%.1f" y="%.1f" fill="%s">%s</text>' % (places[-1][0] + 10, labels[name] + 4, color, escape(name)))
    return '\n'.join(out + ['</svg>', ''])


def throughput(b):
    series = {}
    for r in b.runs:
        if r['part'] == 'sizes' and r['quick'] == b.quick:
            series.setdefault(r['what'], []).append((r['keys'], r.get('late_events_per_s', r['events_per_s'])))
    memory = next((r['memory_mb'] for r in b.runs if r['part'] == 'sizes' and r['quick'] == b.quick), 0)
    return series and plot('Throughput with %s of memory, two subtasks' % ('%d GiB' % (memory // 1024) if memory >= 1024 else '%d MiB' % memory),
                           'keys in state', 'events a second', series)


def checkpoints(b):
    c = b.find('checkpoint')
    if not c:
        return None
    shares = [(float(k[3:-3]), k[:-3]) for k in c if k.startswith('at_') and k.endswith('_ms') and not k.endswith(('e2e_ms', 'sync_ms'))]
    series = {'whole checkpoint': [(s, max(c[k + '_ms'], 1)) for s, k in shares]}
    series['synchronous part'] = [(s, max(c[k + '_sync_ms'], 1)) for s, k in shares]
    flink = b.find('flink', what='checkpoints and restores')
    if flink:
        series['Flink, whole'] = [(1, flink['at_1_ms'])]
    return plot('A checkpoint of %s keys' % '{:,}'.format(int(c['keys'])), 'keys changed since the last one, percent',
                'milliseconds (1: that or less)', series)


def draw(b, directory):
    os.makedirs(directory, exist_ok=True)
    for name, svg in (('throughput', throughput(b)), ('checkpoints', checkpoints(b))):
        if svg:
            with open(os.path.join(directory, name + '.svg'), 'w') as f:
                f.write(svg)
        else:
            print('%s.svg was not drawn: nothing of it was measured' % name)
