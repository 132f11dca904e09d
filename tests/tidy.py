#!/usr/bin/env python3
"""Keeps the rules a compiler cannot: include direction, sizes, words that do not get committed.

usage: tidy.py ROOT | tidy.py --self-test
Prints `file:line: what; allowed: ...` per offence and exits 1 if there is one.
"""
import os
import re
import sys
import tempfile

MIDDLE = ["gpu", "fabric", "schema", "cluster", "ops"]
# Folder -> folders it may include, itself aside.
MAY_INCLUDE = {
    "base": [],
    "model": ["base"],
    "gpu": ["model", "base"],
    "fabric": ["base"],
    "schema": ["base"],
    "cluster": ["base"],
    "ops": ["base"],
    "actors": MIDDLE + ["model", "base"],
    "apps": ["actors"] + MIDDLE + ["model", "base"],
    "examples": ["schema", "base"],
}
# First part of an include path -> folders that may use that library.
LIBRARY_OWNERS = {
    "caf": ["actors"],
    "kj": ["schema", "examples"],
    "capnp": ["schema", "examples"],
    "prometheus": ["ops"],
    "rdma": ["fabric"],
    "toml++": ["cluster"],
    "CLI": ["apps"],
}
# Test folders that are not named after the folder they test.
TESTS_LIKE = {"sim": "actors", "e2e": "apps", "support": "actors"}
LINES_MAX = {".hpp": 150, ".cpp": 400, ".cu": 400, ".py": 400}
FUNCTION_LINES_MAX = 60
LINE_LENGTH_MAX = 100
CHECKED = (".hpp", ".cpp", ".cu", ".py", ".capnp", ".cmake", ".txt", ".toml", ".sh")
BANNED = re.compile(r"\b(" + "|".join(["TO" "DO", "FIX" "ME", "X" "XX"]) + r")\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
OPENS_FUNCTION = re.compile(r"^(?:  )?(?!namespace|class|struct|enum|union|extern|\s|\}|//)\S.*\{$")
OPENS_SCOPE = re.compile(r"^\s*(template\b.*>\s*)?(class|struct|enum|union)\b[^()]*\{$")


def folder_of(path):
    """The source folder whose rules `path` keeps, or None."""
    parts = path.split("/")
    if parts[0] in MAY_INCLUDE:
        return parts[0]
    if parts[0] != "tests" or len(parts) < 3:
        return None
    if parts[1] in ("fuzz", "bench"):
        return parts[2].split("_")[0] if parts[2].split("_")[0] in MAY_INCLUDE else None
    name = TESTS_LIKE.get(parts[1], parts[1])
    return name if name in MAY_INCLUDE else None


def check_includes(path, lines):
    folder = folder_of(path)
    if folder is None:
        return
    ours = [folder] + MAY_INCLUDE[folder]
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match[2]
        first = target.split("/")[0]
        if "/" not in target and match[1] == "<":
            continue
        if target.startswith(".."):
            yield number, f'includes "{target}"', 'paths from the root, as "base/result.hpp"'
        elif first in MAY_INCLUDE and match[1] == '"' and first not in ours:
            yield number, f"{folder}/ includes {first}/", " ".join(ours)
        elif first in LIBRARY_OWNERS and folder not in LIBRARY_OWNERS[first]:
            if folder == "actors" and path.startswith("tests/"):
                owners = LIBRARY_OWNERS[first]
                if first in ("kj", "capnp") or "actors" in owners:
                    continue  # The simulation drives whole nodes.
            yield number, f"{folder}/ uses <{first}/>", "only in " + " ".join(LIBRARY_OWNERS[first])


def check_sizes(path, lines):
    limit = LINES_MAX.get(os.path.splitext(path)[1])
    if limit and len(lines) > limit:
        yield len(lines), f"{len(lines)} lines", f"{limit}"
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_LENGTH_MAX and "http" not in line:
            yield number, f"{len(line)} columns", f"{LINE_LENGTH_MAX}"


def check_functions(path, lines):
    """Relies on clang-format: a body ends at the first `}` as far left as its opening line."""
    if not path.endswith((".hpp", ".cpp", ".cu")):
        return
    at = 0
    while at < len(lines):
        line = lines[at]
        if OPENS_FUNCTION.match(line) and not OPENS_SCOPE.match(line):
            indent = len(line) - len(line.lstrip())
            if line.lstrip().startswith(": "):  # Initialisers stand two further in than the end.
                indent -= 2
            closing = " " * indent + "}"
            end = at + 1
            is_end = re.compile(re.escape(closing) + r"(;|\s*//.*)?$").match
            while end < len(lines) and not is_end(lines[end]):
                end += 1
            if end < len(lines) and ("(" in line or line.startswith(("    ", ")"))):
                if end - at + 1 > FUNCTION_LINES_MAX:
                    yield at + 1, f"function of {end - at + 1} lines", f"{FUNCTION_LINES_MAX}"
                at = end
        at += 1


def check_header(path, lines):
    if not path.endswith(".hpp"):
        return
    if "#pragma once" not in lines:
        yield 1, "header without #pragma once", "one `#pragma once` after the opening comment"
    if not lines or not lines[0].startswith("//"):
        yield 1, "header without an opening comment", "say what the file is and is not"


def check_words(_path, lines):
    for number, line in enumerate(lines, 1):
        match = BANNED.search(line)
        if match:
            yield number, f"the word {match[1]}", "an issue, or do it now"


RULES = [check_includes, check_sizes, check_functions, check_header, check_words]


def files_below(root):
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if not n.startswith((".", "build")) and n != "corpus")
        for name in sorted(files):
            if name.endswith(CHECKED):
                yield os.path.relpath(os.path.join(folder, name), root)


def offences(root):
    for path in files_below(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        if lines and lines[-1] == "":
            lines.pop()
        for rule in RULES:
            for number, what, allowed in rule(path, lines):
                yield rule.__name__, f"{path}:{number}: {what}; allowed: {allowed}"


HEADER = "// What it is.\n#pragma once\n"
# (rule, path, text) that must be found.
MUST_FAIL = [
    ("check_includes", "base/a.hpp", HEADER + '#include "model/config.hpp"\n'),
    ("check_includes", "gpu/a.cpp", '#include "fabric/region.hpp"\n'),
    ("check_includes", "schema/a.cpp", '#include "actors/protocol.hpp"\n'),
    ("check_includes", "examples/a.cpp", '#include "cluster/config.hpp"\n'),
    ("check_includes", "tests/gpu/a_test.cpp", '#include "actors/protocol.hpp"\n'),
    ("check_includes", "tests/fuzz/cluster_config_fuzz.cpp", '#include "schema/convert.hpp"\n'),
    ("check_includes", "gpu/b.cpp", '#include "../base/result.hpp"\n'),
    ("check_includes", "apps/a.cpp", "#include <caf/all.hpp>\n"),
    ("check_includes", "actors/a.cpp", "#include <kj/async.h>\n"),
    ("check_includes", "actors/b.cpp", "#include <prometheus/counter.h>\n"),
    ("check_includes", "gpu/c.cpp", "#include <rdma/fabric.h>\n"),
    ("check_includes", "base/c.cpp", "#include <toml++/toml.h>\n"),
    ("check_sizes", "base/long.hpp", HEADER + "int a;\n" * 149),
    ("check_sizes", "base/long.cpp", "int a;\n" * 401),
    ("check_sizes", "tests/base/long_test.cpp", "int a;\n" * 401),
    ("check_sizes", "base/wide.cpp", "// " + "a" * 98 + "\n"),
    ("check_functions", "base/f.cpp", "void f() {\n" + "  g();\n" * 59 + "}\n"),
    ("check_functions", "base/m.cpp", "class c {\n  int f() {\n" + "    g();\n" * 59 + "  }\n};\n"),
    ("check_header", "base/once.hpp", "// What it is.\nint a;\n"),
    ("check_header", "base/bare.hpp", "#pragma once\n"),
    ("check_words", "base/w.cpp", "// TO" "DO: later\n"),
    ("check_words", "base/CMakeLists.txt", "# FIX" "ME\n"),
]
# Nothing here may be found.
MUST_PASS = [
    ("base/ok.hpp", HEADER + "#include <vector>\n" + "int a;\n" * 147),
    ("base/ok.cpp", '#include "base/ok.hpp"\nvoid f() {\n' + "  g();\n" * 58 + "}\n"),
    ("model/ok.cpp", '#include "base/ok.hpp"\nstruct s {\n' + "  int a;\n" * 90 + "};\n"),
    ("gpu/ok.cpp", '#include "model/config.hpp"\nnamespace a {\n' + "int b;\n" * 90 + "}\n"),
    ("actors/ok.cpp", '#include "gpu/device.hpp"\n#include <caf/all.hpp>\n// mastodon XXXL\n'),
    ("schema/ok.cpp", "#include <capnp/message.h>\n#include <kj/async.h>\n"),
    ("examples/ok.cpp", '#include "schema/inference.capnp.h"\n#include <capnp/ez-rpc.h>\n'),
]


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


def self_test():
    failed = 0
    for rule, path, text in MUST_FAIL:
        with tempfile.TemporaryDirectory() as root:
            write(root, path, text)
            found = list(offences(root))
            if len(found) != 1 or found[0][0] != rule:
                failed += 1
                print(f"{path}: expected one offence of {rule}, got {found}")
    with tempfile.TemporaryDirectory() as root:
        for path, text in MUST_PASS:
            write(root, path, text)
        for _, text in offences(root):
            failed += 1
            print(f"must not be found: {text}")
    print(f"tidy self-test: {len(MUST_FAIL)} offences, {len(MUST_PASS)} clean, {failed} wrong")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print(__doc__, file=sys.stderr)
        return 2
    found = [text for _, text in offences(arguments[0])]
    print("\n".join(found + [f"tidy: {len(found)} offences"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
