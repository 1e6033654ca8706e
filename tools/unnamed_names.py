"""Names that sources which are compiled as one must not share.

The build joins several sources of a folder into one (CMAKE_UNITY_BUILD in cmake/flags.cmake), where
their unnamed namespaces are one namespace if those around them are: a name that two sources of one
room define there has two meanings. Rooms have namespaces of their own, so they can be joined.
Functions may share a name if their parameters differ, and an alias may be repeated as it is.

Reads what clang-format has written: what a namespace holds starts in the first column.
"""

import re

# What is compiled on its own, whatever its folder.
ALONE = re.compile(r"(_fuzz|_bench|/main)\.cc$|/testing/(?!.*_test\.cc$)")
# What may be joined: a folder and what is written from its templates, its part that sees libtorch,
# the tests that cross folders, the Python module.
FOLDER = re.compile(
    r"(?:src|templates)/(rubato/\w+(?:/torch(?=/))?)/|(tests)/\w+\.cc$|(python/core)/"
)

OPENED = re.compile(r"namespace ?([\w:]*) \{$")
CLOSED = re.compile(r"\}  // namespace")
# A test, a template's parameters, the end of something: no name of ours.
NAMELESS = re.compile(r"[A-Z_]+\(|template\b|requires\b|namespace\b|using namespace\b|\W")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?|concept) (\w+)")
ALIAS = re.compile(r"using (\w+) = (.*)")
DECLARATION_LINES = 6
NAME = re.compile(r"(?<!::)\b(\w+)(?:\[\w*\])*\s*$")


def group_of(where):
    """The sources that this one may be joined with; nothing if it is compiled alone."""
    folder = FOLDER.match(where)
    if not where.endswith(".cc") or ALONE.search(where) or not folder:
        return None
    return folder[folder.lastindex], where.endswith("_test.cc")


def pieces(text, separators):
    """The text split where one of the separators stands outside of all brackets."""
    depth = 0
    found = [""]
    for i, letter in enumerate(text):
        if letter in separators and depth == 0:
            found.append("")
            continue
        opens = letter in "<([{"
        closes = letter in ")]}" or (letter == ">" and text[i - 1] != "-")
        depth += opens - closes
        found[-1] += letter
    return found


def parameters_of(text):
    """The types in a list of parameters."""
    types = []
    for parameter in pieces(text, ","):
        declared = pieces(parameter, "=")[0].strip()
        types.append(re.sub(r"(?<=[\s&*>])\w+$", "", declared).replace(" ", ""))
    return types


def name_of(declaration):
    """(Name, form, detail) of what a declaration defines, or nothing."""
    if found := TYPE.match(declaration):
        return found[1], "type", None
    if found := ALIAS.match(declaration):
        return found[1], "alias", pieces(found[2], ";")[0]
    head = pieces(declaration, "({=;")[0]
    found = NAME.search(head)
    if not found or found[1] == "operator" or " " not in head.strip():
        return None
    rest = declaration[len(head) :]
    if rest.startswith("("):
        return found[1], "function", parameters_of(pieces(rest[1:], ")")[0])
    return found[1], "value", None


def hidden_names(text, code):
    """(Name with its namespaces, form, detail, line) of what unnamed namespaces hold.

    `code` is the text without comments and literals, line by line.
    """
    scopes = []
    lines = code.splitlines()
    for number, (written, line) in enumerate(zip(text.splitlines(), lines), start=1):
        if opened := OPENED.match(written):
            scopes.append(opened[1])
        elif CLOSED.match(written):
            scopes = scopes[:-1]
        elif "" in scopes and line and not line[0].isspace() and not NAMELESS.match(line):
            if found := name_of(" ".join(lines[number - 1 : number + DECLARATION_LINES])):
                name, form, detail = found
                yield "::".join([*scopes, name]), form, detail, number


def clash(one, other):
    """Whether two (form, detail) of one name cannot stand in one namespace."""
    if one[0] == other[0] == "function":
        return one[1] == other[1]
    return not one[0] == other[0] == "alias" or one[1] != other[1]


def unnamed_problems(files):
    """Names that two sources which may be joined both define; `files` has (path, text, code)."""
    known = {}
    for where, text, code in files:
        group = group_of(where)
        if group is None:
            continue
        for name, form, detail, line in hidden_names(text, code):
            others = known.setdefault((group, name), [])
            for there, at, other in others:
                if there != where and clash((form, detail), other):
                    last = name.rsplit("::", 1)[1]
                    yield f"{where}:{line}: {last} is in {there}:{at} as well; the build joins them"
                    break
            others.append((where, line, (form, detail)))
