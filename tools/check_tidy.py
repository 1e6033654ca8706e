#!/usr/bin/env python3
"""Checks the rules about text that neither the compiler nor clang-tidy checks.

Lengths of lines and files, how headers open, whitespace, folder names, machine-specific paths,
types that share a name, names that joined sources share (unnamed_names.py), namespaces of rooms,
and what the deterministic folders may not use: clocks, threads, files, shared ownership, the
distributions of <random>.

Usage: check_tidy.py [ROOT]
"""

import os
import re
import sys
from pathlib import Path

from unnamed_names import unnamed_problems

LINE_COLUMNS_MAX = 100
HEADER_LINES_MAX = 250
SOURCE_LINES_MAX = 500

CODE = {".h", ".cc"}
LIMITED = CODE | {".py", ".sh", ".cmake"}
TEXT = LIMITED | {".md", ".json", ".yml", ".yaml", ".toml", ".html", ".css", ".js"}
TEXT_NAMES = {"CMakeLists.txt", "packages.txt", "layers.txt", "third_party.txt", "run"}
# Folders of data, whose text is not ours to shape.
DATA = ("tests/corpus", "tests/data", "tests/scenario", "experiments")
SKIPPED = re.compile(r"^(\.git|\.cache|build|build-.*|__pycache__|node_modules|third_party)$")

# Folders whose rooms, their sub-folders, have a namespace each; what tests share has none.
ROOMED = {"policy"}
HOMELESS = {"common", "misc", "util", "utils", "helper", "helpers"}
PURE = {"base", "core", "predict", "policy", "place", "engine", "metrics", "trace"}
# Rooms of other folders that are held to the same.
PURE_ROOMS = {"live/controller"}
UNSHARED = {"base", "core", "predict", "policy", "place", "engine", "sim"}
SEEDED = PURE | {"sim"}

UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:ro" r"ot|ho" r"me|wo" r"rk|Us" r"ers|workspace)/\w")

IO_INCLUDE = re.compile(r"^\s*#\s*include\s*<(fstream|iostream|filesystem)>")
THREAD_INCLUDE = re.compile(r"^\s*#\s*include\s*<(thread|future|condition_variable)>")
CLOCK = re.compile(
    r"::now\s*\(|\b(?:system|steady|high_resolution|utc)_clock\b"
    r"|\b(?:clock_gettime|gettimeofday)\b|\btime\s*\(\s*(?:nullptr|NULL|0)\s*\)"
)
ENVIRONMENT = re.compile(r"\bgetenv\s*\(")
SHARED = re.compile(r"\b(?:shared_ptr|make_shared|weak_ptr)\b")
DISTRIBUTION = re.compile(
    r"\bstd::(?:\w+_distribution|random_device|generate_canonical|shuffle|ranges::shuffle|sample)\b"
)
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
# The start of a namespace, the definition of a type, or a brace of anything else.
SCOPE = re.compile(
    r"\bnamespace\s*(?P<namespace>[\w:]*)\s*\{"
    r"|\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*)?"
    r"(?P<type>\w+(?:::\w+)*)\s*(?:final\s*)?(?::(?!:)[^;{}]*)?\{"
    r"|(?P<brace>[{}])"
)


def code_of(text):
    """The text with comments and literals emptied; line numbers stay."""

    def emptied(match):
        found = match.group(0)
        kept = "" if found.startswith("/") else '""'
        return kept + "\n" * found.count("\n")

    return COMMENT_OR_STRING.sub(emptied, text)


def text_problems(where, text, suffix):
    """Whitespace, length of lines, words that must not stay."""
    if text and not text.endswith("\n"):
        yield f"{where}: no newline at the end"
    if text.endswith("\n\n"):
        yield f"{where}: blank line at the end"
    for number, line in enumerate(text.splitlines(), start=1):
        at = f"{where}:{number}"
        if "\t" in line:
            yield f"{at}: tab"
        if line != line.rstrip():
            yield f"{at}: trailing space"
        if suffix in LIMITED and len(line) > LINE_COLUMNS_MAX:
            yield f"{at}: {len(line)} columns, at most {LINE_COLUMNS_MAX}"
        if UNFINISHED.search(line):
            yield f"{at}: unfinished work: finish it or file an issue"
        if MACHINE_PATH.search(line):
            yield f"{at}: path of one machine"


def header_problems(where, text):
    """A header says what it is in a `//` comment, then `#pragma once`."""
    if not text.startswith("//"):
        yield f"{where}:1: a header opens with a // comment saying what this is"
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() == "#pragma once":
            return
        if line.strip() and not line.startswith("//"):
            yield f"{where}:{number}: #pragma once should follow the opening comment"
            return
    yield f"{where}: no #pragma once"


def size_problems(where, text, suffix):
    """Files that have grown a second idea."""
    limit = HEADER_LINES_MAX if suffix == ".h" else SOURCE_LINES_MAX
    lines = len(text.splitlines())
    if lines > limit:
        yield f"{where}: {lines} lines, at most {limit}"


def purity_problems(where, parts, text):
    """What a folder may not use. Tests may read files and draw numbers as they like."""
    folder = parts[2]
    is_test = Path(where).stem.endswith(("_test", "_fuzz", "_bench"))
    is_pure_room = "/".join(parts[2:4]) in PURE_ROOMS and not is_test
    banned = []
    if folder in PURE or is_pure_room:
        banned += [(THREAD_INCLUDE, "no threads here"), (CLOCK, "no clocks: time is passed in")]
    if (folder in PURE or is_pure_room) and not is_test:
        banned += [(IO_INCLUDE, "no input or output here"), (ENVIRONMENT, "no environment here")]
    if folder in UNSHARED:
        banned += [(SHARED, "no shared ownership here")]
    if folder in SEEDED and not is_test:
        banned += [(DISTRIBUTION, "use rubato/base/random.h: <random> differs between libraries")]
    for number, line in enumerate(code_of(text).splitlines(), start=1):
        for pattern, message in banned:
            if pattern.search(line):
                yield f"{where}:{number}: {message}"


def namespace_problems(where, parts, text):
    """The words of a room stand in its own namespace, so that they are free in all others."""
    if parts[2] not in ROOMED or len(parts) < 5 or parts[3] == "testing":
        return
    expected = f"rubato::{parts[2]}::{parts[3]}"
    for number, line in enumerate(text.splitlines(), start=1):
        named = re.match(r"namespace ([\w:]+) \{", line)
        if named and named[1] != expected:
            yield f"{where}:{number}: namespace {named[1]} should be {expected}"


def types_of(text):
    """(Qualified name, line) of each type that other files can see, whether they mean to or not."""
    code = code_of(text)
    scopes = []  # Names of namespaces; None for other braces, which hide what they hold.
    for match in SCOPE.finditer(code):
        if match["brace"] == "}":
            if scopes:
                scopes.pop()
        elif match["namespace"] is not None:
            scopes.append(match["namespace"] or None)
        else:
            if match["type"] and None not in scopes:
                line = code.count("\n", 0, match.start("type")) + 1
                yield "::".join([*scopes, match["type"]]), line
            scopes.append(None)


def name_problems(files):
    """Two types of one name in one program are one type to the linker, which keeps either."""
    first = {}
    for where, text in files:
        for name, line in types_of(text):
            if first.setdefault(name, where) != where:
                yield f"{where}:{line}: {name} is defined in {first[name]} as well"


def files_of(root):
    """All (path, path relative to root) that are ours, sorted."""
    for directory, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not SKIPPED.match(name))
        for name in sorted(names):
            path = Path(directory) / name
            yield path, path.relative_to(root).as_posix()


def file_problems(path, where):
    """All problems of one file."""
    suffix = path.suffix
    if where.startswith(DATA) and suffix not in CODE:
        return
    if suffix not in TEXT and path.name not in TEXT_NAMES:
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    yield from text_problems(where, text, suffix)
    if suffix in CODE:
        yield from size_problems(where, text, suffix)
    if suffix == ".h":
        yield from header_problems(where, text)
    parts = where.split("/")
    if suffix in CODE and parts[:2] == ["src", "rubato"] and len(parts) > 3:
        yield from purity_problems(where, parts, text)
        yield from namespace_problems(where, parts, text)


def check(root):
    """Returns all problems, as lines of text."""
    problems = []
    homeless = set()
    sources = []
    for path, where in files_of(root):
        parents = where.split("/")[:-1]
        homeless.update(
            "/".join(parents[: i + 1]) for i, name in enumerate(parents) if name in HOMELESS
        )
        problems += file_problems(path, where)
        if path.suffix in CODE:
            sources.append((where, path.read_text(encoding="utf-8", errors="replace")))
    problems += name_problems([each for each in sources if each[0].startswith("src/")])
    problems += unnamed_problems([(where, text, code_of(text)) for where, text in sources])
    problems += [f"{folder}: name the folder after what it holds" for folder in sorted(homeless)]
    return problems


def main(arguments):
    problems = check(arguments[0] if arguments else ".")
    for problem in problems:
        print(problem)
    print(f"check_tidy: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
