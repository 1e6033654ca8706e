"""How many items a loop goes over, read from its source and the names it sees. Nothing of the
script is run but `__len__` of what is already there."""

import argparse
import ast
import types
from typing import Any, Dict, Optional

ITEMS_MAX = 10**12


class Unknown(Exception):
    """Cannot be told without running something."""


class Scope:
    """Names as a frame sees them."""

    def __init__(self, local: Dict[str, Any], wide: Dict[str, Any]) -> None:
        self.local = local
        self.wide = wide

    def value(self, node: ast.expr) -> Any:
        """Of an expression without effects."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.Attribute):
            return attribute(self.value(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return item(self.value(node.value), self.value(node.slice))
        if isinstance(node, ast.BinOp):
            return arithmetic(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.Call):
            return self.called(node)
        raise Unknown

    def named(self, name: str) -> Any:
        for names in (self.local, self.wide):
            if name in names:
                return names[name]
        raise Unknown

    def called(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "len" and len(node.args) == 1:
            return self.length(node.args[0])
        if name in ("int", "max", "min", "abs") and not node.keywords:
            values = [self.value(argument) for argument in node.args]
            if values and all(isinstance(value, (int, float)) for value in values):
                return {"int": int, "max": max, "min": min, "abs": abs}[name](*values)
        raise Unknown

    def length(self, node: ast.expr) -> int:
        """Of what a `for` goes over."""
        if isinstance(node, ast.Call):
            return self.length_of_call(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            if any(isinstance(element, ast.Starred) for element in node.elts):
                raise Unknown
            return len(node.elts)
        return length_of(self.value(node))

    def length_of_call(self, node: ast.Call) -> int:
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in ("range", "trange"):
            numbers = [self.value(argument) for argument in node.args]
            if not numbers or not all(isinstance(number, int) for number in numbers):
                raise Unknown
            return len(range(*numbers))
        if name in ("enumerate", "tqdm", "track", "sorted", "reversed", "list", "iter", "auto",
                    "progress", "progress_bar") and node.args:
            return self.length(node.args[0])
        if name == "zip" and node.args:
            lengths = [self.possible_length(argument) for argument in node.args]
            known = [length for length in lengths if length is not None]
            if len(known) != len(lengths):
                raise Unknown
            return min(known)
        if name == "islice" and len(node.args) == 2:
            bound = self.value(node.args[1])
            length = self.possible_length(node.args[0])
            if isinstance(bound, int) and length is not None:
                return min(bound, length)
        raise Unknown

    def possible_length(self, node: ast.expr) -> Optional[int]:
        try:
            return self.length(node)
        except Unknown:
            return None


def length_of(value: Any) -> int:
    """An iterator or generator has been used up in part: its length says nothing."""
    if hasattr(type(value), "__next__") or not hasattr(type(value), "__len__"):
        raise Unknown
    try:
        length = len(value)
    except Exception as error:  # The script's own code may raise anything.
        raise Unknown from error
    if not 0 <= length <= ITEMS_MAX:
        raise Unknown
    return length


def attribute(owner: Any, name: str) -> Any:
    """Stored ones only: a property may do anything."""
    if isinstance(owner, (types.ModuleType, argparse.Namespace, types.SimpleNamespace, type)):
        if name in vars(owner):
            return vars(owner)[name]
        raise Unknown
    stored = getattr(owner, "__dict__", None)
    if isinstance(stored, dict) and name in stored:
        return stored[name]
    for kind in type(owner).__mro__:  # Defaults of data classes, named tuples.
        found = vars(kind).get(name)
        if isinstance(found, (int, float, str)):
            return found
    raise Unknown


def item(owner: Any, key: Any) -> Any:
    if type(owner) in (dict, list, tuple) and isinstance(key, (int, str)):
        try:
            return owner[key]
        except (KeyError, IndexError):
            raise Unknown from None
    raise Unknown


def arithmetic(operator: ast.operator, left: Any, right: Any) -> Any:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        raise Unknown
    try:
        if isinstance(operator, ast.Add):
            return left + right
        if isinstance(operator, ast.Sub):
            return left - right
        if isinstance(operator, ast.Mult):
            return left * right
        if isinstance(operator, ast.FloorDiv):
            return left // right
        if isinstance(operator, ast.Div):
            return left / right
        if isinstance(operator, ast.Mod):
            return left % right
    except (ZeroDivisionError, OverflowError):
        pass
    raise Unknown
