#!/usr/bin/env python3
"""reference.py - keeps docs/ true to the code.

    scripts/reference.py           rewrites the tables between <!-- table: NAME --> and <!-- end --> in docs/
    scripts/reference.py --check   changes nothing; exit 1 with the differences

Tables come from job/config_options.def (options), the function tables of job/sql/expr_*.c (functions) and the first sentences of source files
(map, in docs/ARCHITECTURE.md; not compared by --check, so that a new file needs no second change at once). Besides, every connector and format
option, REST path, metric, verb and option of a verb that the code has must be mentioned in REFERENCE.md, and every file that a page in docs/ or
README.md names by its path must be there. Run by ctest (tests/e2e/reference.sh).
"""
import difflib
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as f:
        return f.read()


def without_comments(text):
    """C text without its comments; strings stay as they are."""
    return re.sub(r'("(?:\\.|[^"\\])*")|/\*.*?\*/|//[^\n]*', lambda m: m.group(1) or " ", text, flags=re.S)


STRING = r'"(?:\\.|[^"\\])*"'


def unquote(token):
    return "".join(s[1:-1].replace('\\"', '"').replace("\\\\", "\\") for s in re.findall(STRING, token))


# ---- options -------------------------------------------------------------------------------------

def split_arguments(text, at):
    """Arguments of the call whose '(' is at text[at]; returns (list, index after the ')')."""
    out, start, depth, i = [], at + 1, 0, at + 1
    while True:
        c = text[i]
        if c == '"':
            i += re.match(STRING, text[i:]).end()
            continue
        if c == "(":
            depth += 1
        elif c == ")" and depth == 0:
            out.append(text[start:i].strip())
            return out, i + 1
        elif c == ")":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
        i += 1


def read_options():
    text, at, out = without_comments(read("job", "config_options.def")), 0, []
    while (at := text.find("OPTION(", at)) >= 0:
        (_, key, aliases, kind, default, allowed, doc), at = split_arguments(text, at + 6)
        out.append({"key": unquote(key), "aliases": [a for a in unquote(aliases).split("|") if a],
                    "type": kind.replace("OPTION_", "").lower(), "default": None if default == "NULL" else unquote(default),
                    "allowed": unquote(allowed), "doc": unquote(doc)})
    return out


def accepted(o):
    a = o["allowed"]
    if a.startswith("="):
        return f"only the default: {a[1:]}"
    if o["type"] == "enum":
        words = a.split("|")
        known, refused = [w for w in words if not w.startswith("!")], [w[1:] for w in words if w.startswith("!")]
        return ", ".join(f"`{w}`" for w in known) + (f"; not built: {', '.join(refused)}" if refused else "")
    if o["type"] == "bool":
        return "`true`, `false`"
    least, dots, most = a.partition("..")
    unit = {"duration": " ms", "memory": "", "int": "", "long": "", "double": ""}.get(o["type"], "")
    if dots and least and most:
        return f"{least} to {most}{unit}"
    if dots and least:
        return f"at least {least}{unit}"
    return ""


def options_table():
    rows = ["| option | type | default | accepted | meaning |", "| --- | --- | --- | --- | --- |"]
    for o in read_options():
        name = f"`{o['key']}`" + "".join(f"<br>also `{a}`" for a in o["aliases"])
        default = "none" if o["default"] is None else f"`{o['default']}`"
        rows.append(f"| {name} | {o['type']} | {default} | {accepted(o)} | {o['doc']} |".replace("|  |", "| |"))
    return rows


# ---- functions -----------------------------------------------------------------------------------

LETTERS = {"s": "text", "y": "text or bytes", "i": "integer", "n": "number", "d": "number", "b": "boolean", "t": "time", "x": "any", "c": "any"}
RESULTS = {"s": "STRING", "y": "BYTES", "b": "BOOLEAN", "i": "INT", "l": "BIGINT", "d": "DOUBLE", "D": "DATE", "M": "TIME", "T": "TIMESTAMP(3)",
           "Z": "TIMESTAMP_LTZ(3)", "0": "as the first argument", "1": "as the second argument", "c": "the arguments' common type"}
UNITS_FIRST = {"TIMESTAMPDIFF": "unit, "}
SPELLING = {"FLOOR": "FLOOR(x), FLOOR(time TO unit)", "CEIL": "CEIL(x), CEIL(time TO unit)", "EXTRACT": "EXTRACT(unit FROM time)",
            "POSITION": "POSITION(text IN text)", "LIKE": "text LIKE pattern [ESCAPE text]", "TRIM": "TRIM([BOTH, LEADING or TRAILING] [text FROM] text)",
            "SUBSTRING": "SUBSTRING(text FROM integer [FOR integer]), SUBSTRING(text, integer [, integer])",
            "OVERLAY": "OVERLAY(text PLACING text FROM integer [FOR integer])",
            "CURRENT_DATE": "CURRENT_DATE", "CURRENT_TIME": "CURRENT_TIME", "LOCALTIME": "LOCALTIME", "CURRENT_TIMESTAMP": "CURRENT_TIMESTAMP",
            "LOCALTIMESTAMP": "LOCALTIMESTAMP"}


def signature(name, args):
    if name in SPELLING:
        return SPELLING[name]
    out, depth, optional = "", 0, False
    for c in args:
        if c == "?":
            optional = True
        elif c == "*":
            out += ", ..."
        elif optional:
            out += f" [, {LETTERS[c]}" if out else f"[{LETTERS[c]}"
            depth += 1
        else:
            out += (", " if out else "") + LETTERS[c]
    return f"{name}({UNITS_FIRST.get(name, '')}{out}{']' * depth})"


def read_functions():
    out = {}
    for kind in ("math", "text", "time", "hash"):
        text = without_comments(read("job", "sql", f"expr_{kind}.c"))
        body = text[text.index(f"{kind}_funcs[] = {{"):]
        body = body[:body.index("{.name = NULL}")]
        out[kind] = []
        for m in re.finditer(r'\{\.name = "(\w+)"(.*?)\},|EXTRACT_OF\("(\w+)"', body, re.S):
            if m.group(3):
                out[kind].append((m.group(3), None, f"{m.group(3)}(time)", "BIGINT"))
                continue
            rest = m.group(2)
            canonical = re.search(r'\.canonical = "(\w+)"', rest)
            out[kind].append((m.group(1), canonical and canonical.group(1), signature(m.group(1), re.search(r'\.args = "([^"]*)"', rest).group(1)),
                              RESULTS[re.search(r"\.result = '(.)'", rest).group(1)]))
    return out


def functions_table():
    rows = ["| function | result |", "| --- | --- |"]
    for kind, functions in read_functions().items():
        rows.append(f"| **{ {'math': 'numbers', 'text': 'text', 'time': 'dates and times', 'hash': 'digests and encodings'}[kind]}** | |")
        aliases = {}
        for name, canonical, _, _ in functions:
            if canonical:
                aliases.setdefault(canonical, []).append(name)
        aliases.get("POSITION", []).extend(aliases.get("POSITION", []) and ["with a start: LOCATE(text, text, integer)"])
        for name, canonical, call, result in functions:
            if not canonical:
                also = f" (also {', '.join(aliases[name])})" if name in aliases else ""
                rows.append(f"| `{call}`{also} | {result} |")
    return rows


# ---- the map -------------------------------------------------------------------------------------

FOLDERS = ("base", "backend", "checkpoint", "checkpoint/flink", "sink", "job", "job/source", "job/format", "job/operator", "job/runtime", "job/sql", "job/rest", "job/cli")
SOURCES = (".h", ".c", ".cc", ".def", ".proto", ".y", ".re", ".html")


def first_sentence(path):
    """What a file says of itself: 'name - this.'"""
    with open(path, encoding="utf-8") as f:
        text = f.read(3000)
    comment = re.match(r"(?:\s*(?:/\* links[^\n]*\n))?\s*/\*+(.*?)\*/|((?://[^\n]*\n)+)", text, re.S)
    if not comment:
        return ""
    words = re.sub(r"\s*\n\s*(?:\*|//)?\s?", " ", comment.group(1) or comment.group(2)).replace("/*", "").replace("//", "").strip()
    words = re.sub(r"^[\w./*\[\]]+ - ", "", words)
    end = re.search(r"\.(?= |$)|  ", words)
    words = words[:end.start()] if end else words
    return (words[:words.index("; ")] if len(words) > 150 and "; " in words else words).rstrip(":")


def map_table():
    rows = []
    for folder in FOLDERS:
        names = [n for n in sorted(os.listdir(os.path.join(ROOT, folder))) if n.endswith(SOURCES)]
        stems = {}
        for n in names:
            stems.setdefault(os.path.splitext(n)[0], []).append(n)
        rows += [f"### {folder}/", "", "| file | |", "| --- | --- |"]
        for stem in sorted(stems):
            files = sorted(stems[stem], key=lambda n: SOURCES.index(os.path.splitext(n)[1]))
            pair = [f"{stem}.h", f"{stem}.c"]
            shown = ([f"{stem}.[ch]"] + [n for n in files if n not in pair]) if set(pair) <= set(files) else files
            says = next(filter(None, (first_sentence(os.path.join(ROOT, folder, n)) for n in files)), "")
            if says.startswith("see ") or not says:
                says = next((t for t in (first_sentence(os.path.join(ROOT, folder, n)) for n in files) if t and not t.startswith("see ")), says)
            says = says.replace("|", "\\|")
            rows.append(f"| {', '.join(f'`{n}`' for n in shown)} | {says} |")
        rows.append("")
    return rows


TABLES = {"REFERENCE.md": {"options": options_table, "functions": functions_table}, "ARCHITECTURE.md": {"map": map_table}}
NOT_COMPARED = {"map"}


def missing_files():
    """Files that pages name by a path from the root, and that are not there."""
    pages = ["README.md"] + [f"docs/{n}" for n in sorted(os.listdir(os.path.join(ROOT, "docs"))) if n.endswith(".md")]
    for page in pages:
        for token in re.findall(r"`((?:base|backend|checkpoint|sink|job|tests|scripts|docs|examples)/[\w./\[\]*-]+)`", read(page)):
            if any(c in token for c in "*<"):
                continue
            names = [token.replace("[ch]", e) for e in "ch"] if "[ch]" in token else [token]
            for name in names:
                if not os.path.exists(os.path.join(ROOT, name)):
                    yield f"{page} names {name}, which is not there"


# ---- what must be mentioned ----------------------------------------------------------------------

def mentions():
    connector = without_comments(read("job", "sql", "connector.c"))
    for key in re.findall(r'\{"([a-z.-]+)", VALUE_', connector):
        yield "connector option", f"`{key}`"
    words = re.search(r"field_words\[\] = \{(.*?)\}", connector, re.S).group(1)
    for word in re.findall(r'"([a-z-]+)"', words):
        yield "datagen option", f"`fields.#.{word}`"
    for file in ("csv_format.c", "json_format.c"):
        for key in re.findall(r'\{"((?:csv|json)\.[a-z.-]+)"', without_comments(read("job", "format", file))):
            yield "format option", f"`{key}`"
    for method, path in re.findall(r'\{"([A-Z]+)", "(/[^"]*)", api_', read("job", "rest", "routes.c")):
        yield "REST path", f"`{method} {path}`"
    for name in re.findall(r'^    \{"(\w+)", \w+\},$', read("job", "rest", "metrics_api.c"), re.M):
        yield "metric", f"`{name}`"
    for name in re.findall(r'\.name = "(\w+)",\n    \.arguments', read("job", "cli", "verbs.c")) + re.findall(r'NOT_YET\(\w+, "(\w+)"', read("job", "cli", "verbs.c")):
        yield "verb", f"`varve {name}"
    for file in sorted(os.listdir(os.path.join(ROOT, "job", "cli"))):
        if file.endswith((".c", ".h")):
            for option in re.findall(r'\.name = "(--[a-zA-Z-]+)"', read("job", "cli", file)):
                yield f"option of a verb ({file})", f"`{option}`"
    call = without_comments(read("job", "sql", "expr_call.c"))
    for name in re.findall(r'\{"([A-Z_]+)", "', call[call.index("refused[] = {"):call.index("no_such_function")]):
        yield "refused function", f"`{name}`"
    parser = without_comments(read("job", "sql", "plan_group.c"))
    for name in re.findall(r'\{"([A-Z_]+)", AGG_', parser):
        yield "aggregate", f"`{name}("


# ---- all of it -----------------------------------------------------------------------------------

def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    wrong, reference = [], ""
    for page, tables in TABLES.items():
        before = after = read("docs", page)
        for name, make in tables.items():
            pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
            if not pattern.search(after):
                wrong.append(f"docs/{page} has no <!-- table: {name} --> ... <!-- end -->")
            elif not (check and name in NOT_COMPARED):
                after = pattern.sub(lambda m: m.group(1) + "\n".join(make()).rstrip() + "\n" + m.group(2), after)
        if check and after != before:
            wrong.append(f"docs/{page} differs from the code (scripts/reference.py rewrites its tables):")
            wrong += list(difflib.unified_diff(before.splitlines(), after.splitlines(), f"docs/{page}", "the code", n=0, lineterm=""))
        elif after != before:
            with open(os.path.join(ROOT, "docs", page), "w", encoding="utf-8") as f:
                f.write(after)
        reference = after if page == "REFERENCE.md" else reference
    wrong += [f"docs/REFERENCE.md does not mention the {what} {text.strip('`')}" for what, text in mentions() if text not in reference]
    wrong += list(missing_files())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
