#!/usr/bin/env python3
"""Checks who includes whom under src/rubato.

The rule is tools/layers.txt: each line names a folder and the folders it may include, all of which
stand on lines above it, so the rule itself has no cycle. Indented lines below a folder say the same
of its rooms, which are its sub-folders: `.` is what stands in the folder itself, `*` every room
without a line of its own, so that a new one needs none; `-other` takes away a folder that the
others may include. Tests may include any room of their folder, and they alone what stands in
`testing/`. tools/third_party.txt says the same of other libraries: the first part of
<name/header.h>, then the folders, or * for all of them.

Usage: check_layers.py [ROOT]
"""

import re
import sys
from pathlib import Path

OURS = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
THEIRS = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)
LIBRARY = re.compile(r"\brubato_library\(\s*(\w+)([^)]*)\)")
# What is part of no library, by its name; so is what stands in `testing/`.
FOR_TESTS = re.compile(r"_(test|fuzz|bench)\.\w+$")
# Only tests may use these: files whose name has `_test` in it.
TEST_LIBRARIES = {"gtest", "gmock", "rapidcheck", "rapidcheck.h"}
# Only benchmarks may use these: files named `*_bench.cc`.
BENCH_LIBRARIES = {"benchmark"}


def read_rules(path):
    """Returns {name: [allowed...]} in the order of the file, and {name: the same of its rooms}."""
    rules = {}
    rooms = {}
    folder = None
    for line in path.read_text().splitlines():
        line = line.split("#")[0].rstrip()
        if not line:
            continue
        name, _, allowed = line.partition(":")
        if line[0].isspace() and folder is not None:
            rooms.setdefault(folder, {})[name.strip()] = allowed.split()
        else:
            folder = name.strip()
            rules[folder] = allowed.split()
    return rules, rooms


def rule_problems(layers, within=""):
    """Problems of layers.txt itself: every arrow must point to a line above."""
    above = set()
    for folder, allowed in layers.items():
        for other in allowed:
            if not other.startswith("-") and (other not in above or other == "*"):
                name = within + folder
                yield f"tools/layers.txt: {name} names {other}, which is not on a line above"
        above.add(folder)


def exclusion_problems(folder, rooms, allowed):
    """What is taken away from a room must be there to be taken away."""
    for room, names in rooms.items():
        for name in names:
            if name.startswith("-") and name[1:] not in allowed:
                yield (f"tools/layers.txt: {folder}/{room} excludes {name[1:]}, which {folder} may"
                       " not include anyway")


def build_problems(layers, cmake):
    """DEPS in CMakeLists.txt must repeat layers.txt, as far as the folders are built at all."""
    built = {name: rest for name, rest in LIBRARY.findall(cmake)}
    for folder, rest in built.items():
        match = re.search(r"\bDEPS\b(.*?)(\bLINK\b|$)", rest, re.DOTALL)
        declared = set(match.group(1).split()) if match else set()
        expected = {other for other in layers.get(folder, []) if other in built}
        if declared != expected:
            yield (
                f"CMakeLists.txt: DEPS of {folder} should be"
                f" '{' '.join(sorted(expected))}', found '{' '.join(sorted(declared))}'"
            )


def our_include_problems(where, folder, text, layers):
    """Includes of Rubato's own headers that the layers do not allow."""
    for include in OURS.findall(text):
        parts = include.split("/")
        if parts[0] != "rubato" or len(parts) < 3:
            yield f'{where}: "{include}" should be written from src/, as "rubato/<folder>/..."'
        elif parts[1] != folder and parts[1] not in layers.get(folder, []):
            yield f"{where}: {folder} may not include {parts[1]} ({include})"


def is_for_tests(parts):
    """Whether a file, of which `parts` are folder, rooms and name, is part of no library."""
    return "testing" in parts or FOR_TESTS.search(parts[-1])


def room_of(parts):
    """The room of a file; `.` if it stands in the folder itself."""
    return parts[1] if len(parts) > 2 else "."


def room_include_problems(where, parts, text, rooms):
    """Includes of a room, within its folder and of others, that layers.txt does not allow."""
    room = room_of(parts)
    if is_for_tests(parts):
        return
    if room not in rooms and "*" not in rooms:
        yield f"{where}: room {room} is not listed below {parts[0]} in tools/layers.txt"
        return
    allowed = rooms[room] if room in rooms else rooms["*"]
    for include in OURS.findall(text):
        target = include.split("/")[1:]
        if f"-{target[0]}" in allowed:
            yield f"{where}: {parts[0]}/{room} may not include {target[0]} ({include})"
        if target[0] == parts[0] and room_of(target) not in [room, *allowed]:
            other = room_of(target)
            yield f"{where}: {parts[0]}/{room} may not include {parts[0]}/{other} ({include})"


def testing_problems(where, parts, text):
    """Includes of what tests share in code that is no test."""
    if is_for_tests(parts):
        return
    for include in OURS.findall(text):
        if "testing" in include.split("/"):
            yield f"{where}: only tests may include {include}"


def their_include_problems(where, folder, text, libraries):
    """Includes of third-party headers in folders that may not see them."""
    stem = Path(where).stem
    for include in THEIRS.findall(text):
        library, slash, _ = include.partition("/")
        if library in TEST_LIBRARIES:
            if "_test" not in stem:
                yield f"{where}: <{include}> belongs in tests only"
        elif library in BENCH_LIBRARIES:
            if not stem.endswith("_bench"):
                yield f"{where}: <{include}> belongs in benchmarks only"
        elif slash and library not in libraries:
            yield f"{where}: <{include}> is not in tools/third_party.txt"
        elif slash and "*" not in libraries[library] and folder not in libraries[library]:
            yield f"{where}: {folder} may not use {library} (tools/third_party.txt)"


def cycle_problems(includes):
    """File-level include cycles; `includes` is {file: [file...]}."""
    state = {}

    def visit(file, path):
        state[file] = "open"
        for other in includes.get(file, []):
            if state.get(other) == "open":
                yield "include cycle: " + " -> ".join([*path[path.index(other) :], other])
            elif other not in state:
                yield from visit(other, [*path, other])
        state[file] = "done"

    for file in sorted(includes):
        if file not in state:
            yield from visit(file, [file])


def check(root):
    """Returns all problems, as lines of text."""
    root = Path(root)
    layers, rooms = read_rules(root / "tools/layers.txt")
    libraries, _ = read_rules(root / "tools/third_party.txt")
    problems = list(rule_problems(layers))
    for folder, inner in rooms.items():
        problems += rule_problems(inner, folder + "/")
        problems += exclusion_problems(folder, inner, layers.get(folder, []))
    cmake = root / "CMakeLists.txt"
    if cmake.is_file():
        problems += build_problems(layers, cmake.read_text())

    source = root / "src/rubato"
    for folder in sorted(path.name for path in source.glob("*") if path.is_dir()):
        if folder not in layers:
            problems.append(f"src/rubato/{folder}: not listed in tools/layers.txt")

    includes = {}
    files = sorted(path for path in source.rglob("*") if path.suffix in (".h", ".cc"))
    for path in files:
        where = path.relative_to(root).as_posix()
        parts = path.relative_to(source).parts
        if len(parts) < 2:
            problems.append(f"{where}: code lives in a folder of src/rubato")
            continue
        text = path.read_text(errors="replace")
        problems += our_include_problems(where, parts[0], text, layers)
        problems += their_include_problems(where, parts[0], text, libraries)
        problems += testing_problems(where, parts, text)
        if parts[0] in rooms:
            problems += room_include_problems(where, parts, text, rooms[parts[0]])
        includes["/".join(("rubato", *parts))] = OURS.findall(text)
    return problems + list(cycle_problems(includes))


def main(arguments):
    problems = check(arguments[0] if arguments else ".")
    for problem in problems:
        print(problem)
    print(f"check_layers: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
