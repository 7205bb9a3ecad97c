"""Lays out the RocksDB databases of a varve checkpoint as plain directories, from docs/FORMAT.md alone: a zstd stream, a Protocol
Buffers message, files by name. It shares no code with varve.

    unpack_checkpoint.py CHK OUT

Prints a line "DIR GROUPS FIRST LAST SHAPES" for each database; DIR is below OUT. SHAPES: of the states whose values may be packed, separated by
commas, the name in hex, the size of a value, and how many bytes of it are never packed: "616363=60:0,..", or "-".
"""
import os
import shutil
import subprocess
import sys

# Field numbers of checkpoint/metadata.proto.
META_OPERATORS = 11
OPERATOR_ID, OPERATOR_SUBTASKS = 1, 7
SUBTASK_INDEX, SUBTASK_KEYED = 1, 3
KEYED_KIND, KEYED_FIRST, KEYED_LAST, KEYED_GROUPS, KEYED_STATES, KEYED_FILES = 1, 2, 3, 4, 6, 7
STATE_NAME, STATE_KIND, STATE_FIXED, STATE_TTL = 1, 2, 7, 8
FILE_LOCAL_NAME, FILE_SCOPE, FILE_PATH, FILE_CONTENT, FILE_SIZE = 1, 2, 3, 4, 5
KIND_ROCKS, SCOPE_INLINE, STATE_LIST, STATE_MAP = 1, 0, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Field number -> list of values, of one message."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError('wire type %d' % wire)
        found.setdefault(number, []).append(value)
    return found


def one(message, number, default=0):
    return message.get(number, [default])[-1]


def unpack_file(chk, out, message):
    f = fields(message)
    target = os.path.join(out, one(f, FILE_LOCAL_NAME, b'').decode())
    if one(f, FILE_SCOPE) == SCOPE_INLINE:
        with open(target, 'wb') as t:
            t.write(one(f, FILE_CONTENT, b''))
    else:
        shutil.copyfile(os.path.join(chk, one(f, FILE_PATH).decode()), target)
    if os.path.getsize(target) != one(f, FILE_SIZE):
        raise ValueError('%s: %d bytes instead of %d' % (target, os.path.getsize(target), one(f, FILE_SIZE)))


def shapes(keyed):
    out = []
    for s in map(fields, keyed.get(KEYED_STATES, [])):
        fixed, time = one(s, STATE_FIXED), 8 if one(s, STATE_TTL) else 0
        if fixed and one(s, STATE_KIND) != STATE_LIST:
            out.append('%s=%d:%d' % (one(s, STATE_NAME, b'').hex(), fixed + time, time + (one(s, STATE_KIND) == STATE_MAP)))
    return ','.join(out) or '-'


def unpack(chk, out):
    content = subprocess.run(['zstd', '-dcq', os.path.join(chk, '_metadata')], stdout=subprocess.PIPE, check=True).stdout
    for operator in map(fields, fields(content).get(META_OPERATORS, [])):
        for subtask in map(fields, operator.get(OPERATOR_SUBTASKS, [])):
            for k, keyed in enumerate(map(fields, subtask.get(SUBTASK_KEYED, []))):
                if one(keyed, KEYED_KIND) != KIND_ROCKS:
                    continue
                name = '%s-%d-%d' % (one(operator, OPERATOR_ID).decode(), one(subtask, SUBTASK_INDEX), k)
                os.makedirs(os.path.join(out, name))
                for f in keyed.get(KEYED_FILES, []):
                    unpack_file(chk, os.path.join(out, name), f)
                print(name, one(keyed, KEYED_GROUPS), one(keyed, KEYED_FIRST), one(keyed, KEYED_LAST), shapes(keyed))


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    unpack(sys.argv[1], sys.argv[2])
