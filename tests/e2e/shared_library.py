#!/usr/bin/env python3
"""libvarve_state.so and libvarve.so as strangers use them: what they export, loaded into a process that knows nothing of
varve, both at once, called through a foreign function interface; and the headers alone with a C and a C++ compiler."""
import ctypes as c
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ["VARVE_BUILD"]
SOURCE = os.path.join(os.environ["TESTS_DIR"], "..")
LIBS = {"varve_state": ["backend/varve_state.h", "base/varve_common.h"],
        "varve": ["backend/varve_state.h", "base/varve_common.h", "job/varve.h"]}


def path_of(name):
    return os.path.join(BUILD, "lib%s.so" % name)


def declared(headers):
    names = set()
    for h in headers:
        with open(os.path.join(SOURCE, h), encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        names |= set(re.findall(r"^VV_API[^;]*?\b(vv_[a-z0-9_]+)\(", text, flags=re.M | re.S))
    return names


def exports(name):
    out = subprocess.run(["nm", "-D", "--defined-only", path_of(name)], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def check_exports():
    for name, headers in LIBS.items():
        got, want = exports(name), declared(headers)
        assert len(want) > 60, want
        assert got == want, "lib%s.so: exports too much: %s; too little: %s" % (name, got - want, want - got)


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("message", c.c_char * 2048)]


class Bytes(c.Structure):
    _fields_ = [("data", c.c_char_p), ("len", c.c_size_t)]


class Option(c.Structure):
    _fields_ = [("key", c.c_char_p), ("value", c.c_char_p)]


class StoreConfig(c.Structure):
    _fields_ = [("name", c.c_char_p), ("first_group", c.c_uint32), ("last_group", c.c_uint32), ("group_count", c.c_uint32),
                ("options", c.POINTER(Option)), ("option_count", c.c_size_t), ("memory", c.c_void_p),
                ("restore", c.c_void_p), ("restore_count", c.c_size_t)]


class StateDesc(c.Structure):
    _fields_ = [("name", c.c_char_p), ("kind", c.c_int), ("ns", c.c_int), ("key_type", c.c_char_p),
                ("user_key_type", c.c_char_p), ("value_type", c.c_char_p), ("fixed_value_bytes", c.c_uint32),
                ("ttl_ms", c.c_uint64), ("ttl_update", c.c_int), ("ttl_visibility", c.c_int), ("functions", c.c_void_p)]


def use(lib, scratch):
    """A value goes in, a snapshot is written, the value comes out; a mistake is an answer."""
    error, store, state, snapshot, directory = Error(), c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_void_p()

    def call(name, *args):
        code = getattr(lib, name)(*args, c.byref(error))
        assert code == 0, (name, code, error.message)

    lib.vv_version.restype = c.c_char_p
    assert re.fullmatch(rb"\d+\.\d+\.\d+", lib.vv_version())
    options = (Option * 2)((b"state.backend.type", b"rocksdb"), (b"state.backend.rocksdb.localdir", scratch.encode()))
    config = StoreConfig(b"ctypes", 0, 127, 128, options, 2, None, None, 0)
    call("vv_store_open", c.byref(config), c.byref(store))
    call("vv_state_open", store, c.byref(StateDesc(b"s", 1)), c.byref(state))
    call("vv_raw_put_one", state, Bytes(b"\x05key", 4), Bytes(b"value", 5))
    got = Bytes()
    call("vv_raw_get_one", state, Bytes(b"\x05key", 4), c.byref(got))
    assert c.string_at(got.data, got.len) == b"value"
    assert lib.vv_raw_get_one(state, Bytes(b"\x85key", 4), c.byref(got), c.byref(error)) == 7  # VV_INVALID
    assert b"key group 133" in error.message, error.message
    call("vv_dir_open", os.path.join(scratch, "snapshots").encode(), c.byref(directory))
    call("vv_snapshot_begin", store, c.c_uint64(1), c.byref(snapshot))
    call("vv_dir_write", directory, snapshot, b"one", None)
    lib.vv_snapshot_free(snapshot)
    lib.vv_store_close(store)
    lib.vv_dir_close(directory)
    return os.path.exists(os.path.join(scratch, "snapshots", "one.handle"))


def check_loading(scratch):
    """Both libraries in one process, each with its own RocksDB inside: neither sees the other's."""
    for mode in (c.RTLD_LOCAL, c.RTLD_GLOBAL):
        for name in LIBS:
            assert use(c.CDLL(path_of(name), mode=mode), os.path.join(scratch, "%s-%d" % (name, mode)))


def check_headers(scratch):
    """Each header alone, as strict as it gets; C and C++."""
    for header in ("varve.h", "varve_state.h", "varve_common.h"):
        for compiler, language, std in (("cc", "c", "c99"), ("c++", "c++", "c++11")):
            source = os.path.join(scratch, "h." + ("c" if language == "c" else "cc"))
            with open(source, "w", encoding="utf-8") as f:
                f.write('#include "%s"\nint main(void) { return vv_version() == 0; }\n' % header)
            subprocess.run([compiler, "-std=" + std, "-Wall", "-Wextra", "-pedantic", "-Werror", "-I",
                            os.path.join(BUILD, "include"), source, path_of("varve"), "-o", source + ".out"], check=True)
            subprocess.run([source + ".out"], check=True, env=dict(os.environ, LD_LIBRARY_PATH=BUILD))


def main():
    if not os.path.exists(path_of("varve_state")):
        print("no shared libraries in this build (VARVE_SHARED=OFF)")
        return 77
    scratch = tempfile.mkdtemp(prefix="varve-shared-")
    check_exports()
    check_headers(scratch)
    check_loading(scratch)
    shutil.rmtree(scratch)
    print("exports, headers and two libraries in one process: ok")
    return 0


sys.exit(main())
