"""Compares two outcomes of a script: everything must be equal, numbers within a band.

A band says for each number and each tensor how far it may be from that of the plain run. There are
three ways to know that (`Rule`):

rounding     the plain run is repeated with other roundings (threads, order of samples, kernels);
             what those runs differ by, times a factor, is allowed
statistical  forward draws random numbers: the plain run is repeated with other seeds
sharp        double precision: a fixed small relative difference is allowed
"""

import fnmatch
import math
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import torch

from outcome import Outcome, tensors_of_file

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\d+(?:[eE][-+]?\d+)?|nan\b|inf\b)")
PROBLEMS_MAX = 6  # That are told of one script.
# Words of Rubato's; after a progress bar they do not begin a line.
_NOTICE = re.compile(r"rubato(?: train)?: .*\n?")
ROUNDING_FACTOR = 5.0
ROUNDING_FLOOR = 4e-6  # Relative; rounding alone, before anything amplifies it.
STATISTICAL_FACTOR = 2.0
FEW_NUMBERS = 64  # The norm of so few varies more from seed to seed.
FEW_FACTOR = 6.0
SHARP_TOLERANCE = 1e-9


@dataclass
class Rule:
    """How far is too far."""

    kind: str  # rounding, statistical, sharp
    tolerance: float = SHARP_TOLERANCE
    loose: Sequence[str] = ()  # Patterns of tensors that are not compared where it is sharp.

    @property
    def is_exact(self) -> bool:
        """About what does not depend on rounding, such as the order of samples."""
        return self.kind != "statistical"

    def number(self, reference: float, others: Sequence[float], last_digit: float
               ) -> Tuple[float, float]:
        """The middle of what is allowed, and half its width."""
        if self.kind == "statistical":
            low, high = min(reference, *others), max(reference, *others)
            return (low + high) / 2, STATISTICAL_FACTOR * (high - low) + last_digit
        if self.kind == "sharp":
            return reference, self.tolerance * abs(reference) + 1.01 * last_digit
        spread = max((abs(other - reference) for other in others), default=0.0)
        floor = ROUNDING_FLOOR * abs(reference) if last_digit else 0.0
        return reference, ROUNDING_FACTOR * spread + floor + 1.01 * last_digit

    def distance(self, name: str, reference: torch.Tensor, others: Sequence[torch.Tensor]
                 ) -> float:
        """That a tensor may have from the reference, in norm."""
        size = reference.norm().item()
        if self.kind == "sharp":
            is_loose = any(fnmatch.fnmatch(name, pattern) for pattern in self.loose)
            return math.inf if is_loose else self.tolerance * size + 1e-14
        spread = max(((other - reference).norm().item() for other in others), default=0.0)
        if self.kind == "statistical":
            few = reference.numel() < FEW_NUMBERS
            return (FEW_FACTOR if few else STATISTICAL_FACTOR) * spread + 1e-6 * size
        return ROUNDING_FACTOR * spread + ROUNDING_FLOOR * size + 1e-9


@dataclass
class Comparison:
    """What was found, and the worst deviation as a part of its band."""

    problems: List[str] = field(default_factory=list)
    worst: float = 0.0
    worst_place: str = ""

    def add(self, problem: str) -> None:
        self.problems.append(problem)

    def see(self, place: str, deviation: float, allowed: float, text: str) -> None:
        if not math.isfinite(allowed):
            return
        ratio = deviation / allowed if allowed else (0.0 if deviation == 0 else math.inf)
        if ratio > self.worst or math.isnan(ratio):
            self.worst, self.worst_place = ratio, place
        if not ratio <= 1.0:
            self.add(f"{place}: {text}")


# Text.

def tokens(line: str) -> Tuple[str, List[str]]:
    """The line without its numbers, and the numbers as they are written."""
    return NUMBER.sub("\0", line), NUMBER.findall(line)


def last_digit_of(number: str) -> float:
    """The worth of the last digit; 0 for whole numbers, which are exact."""
    mantissa, _, exponent = number.lower().partition("e")
    if "." not in mantissa:
        return 0.0 if not exponent else 10.0 ** int(exponent)
    return 10.0 ** (int(exponent or "0") - len(mantissa.partition(".")[2]))


def lines_of(text: str, ignored: Iterable[str]) -> List[str]:
    for pattern in ignored:
        text = re.sub(pattern, "", text)
    return text.splitlines()


def compare_text(comparison: Comparison, place: str, texts: Sequence[List[str]],
                 found: List[str], rule: Rule) -> None:
    """`texts` are those of the plain runs, the reference first."""
    reference = texts[0]
    if len(found) != len(reference):
        comparison.add(f"{place}: {len(found)} lines instead of {len(reference)}"
                       + first_difference(reference, found))
        return
    alike = [text for text in texts[1:] if len(text) == len(reference)]
    for at, (expected, line) in enumerate(zip(reference, found)):
        template, numbers = tokens(expected)
        found_template, found_numbers = tokens(line)
        if found_template != template:
            comparison.add(f"{place}:{at + 1}: {line!r} instead of {expected!r}")
            continue
        others = [tokens(text[at]) for text in alike]
        for k, number in enumerate(numbers):
            values = [float(other[1][k]) for other in others if other[0] == template]
            compare_number(comparison, f"{place}:{at + 1}", number, values, found_numbers[k], rule)


def first_difference(reference: List[str], found: List[str]) -> str:
    for at, (expected, line) in enumerate(zip(reference, found)):
        if tokens(expected)[0] != tokens(line)[0]:
            return f"; line {at + 1} is {line!r} instead of {expected!r}"
    longer = reference if len(reference) > len(found) else found
    at = min(len(reference), len(found))
    return f"; line {at + 1} of the longer is {longer[at]!r}"


def compare_number(comparison: Comparison, place: str, expected: str, others: List[float],
                   found: str, rule: Rule) -> None:
    reference, value = float(expected), float(found)
    if math.isnan(reference) or math.isinf(reference):
        if not (value == reference or math.isnan(value) and math.isnan(reference)):
            comparison.add(f"{place}: {found} instead of {expected}")
        return
    others = [other for other in others if math.isfinite(other)] or [reference]
    middle, allowed = rule.number(reference, others, last_digit_of(expected))
    comparison.see(place, abs(value - middle), allowed,
                   f"{found} instead of {expected}, allowed {middle:.8g} +- {allowed:.2g}")


# Tensors.

def compare_values(comparison: Comparison, place: str, all_values: Sequence[Dict[str, Any]],
                   found: Dict[str, Any], rule: Rule) -> None:
    """Tensors and plain values by name; `all_values` are those of the plain runs."""
    reference = all_values[0]
    missing, extra = reference.keys() - found.keys(), found.keys() - reference.keys()
    if missing or extra:
        comparison.add(f"{place}: without {sorted(missing)[:3]}, with {sorted(extra)[:3]}")
    for name in sorted(reference.keys() & found.keys()):
        others = [values[name] for values in all_values[1:] if name in values]
        compare_value(comparison, f"{place} {name}", name, reference[name], others, found[name],
                      rule)


def compare_value(comparison: Comparison, place: str, name: str, expected: Any,
                  others: List[Any], value: Any, rule: Rule) -> None:
    if isinstance(expected, float) and isinstance(value, float):
        expected, value = torch.tensor(expected), torch.tensor(value)
        others = [torch.tensor(other) for other in others]
    if not isinstance(expected, torch.Tensor):
        if repr(expected) != repr(value):
            comparison.add(f"{place}: {value!r} instead of {expected!r}")
        return
    if not isinstance(value, torch.Tensor) or value.shape != expected.shape:
        comparison.add(f"{place}: another shape or no tensor")
        return
    if value.dtype != expected.dtype:
        comparison.add(f"{place}: {value.dtype} instead of {expected.dtype}")
        return
    if expected.is_complex():
        expected, value = torch.view_as_real(expected), torch.view_as_real(value)
        others = [torch.view_as_real(other) for other in others]
    if not expected.is_floating_point():
        varies = any(other.shape != expected.shape or not torch.equal(other, expected)
                     for other in others)
        if not varies and not torch.equal(value, expected):
            comparison.add(f"{place}: other values")
        return
    same = [other.double() for other in others if other.shape == expected.shape]
    deviation = (value.double() - expected.double()).norm().item()
    allowed = rule.distance(name, expected.double(), same)
    comparison.see(place, deviation, allowed,
                   f"differs by {deviation:.3g} in norm, allowed {allowed:.3g}, "
                   f"norm {expected.double().norm().item():.3g}")


# Files.

def by_pattern(files: Dict[str, bytes], patterns: Sequence[str]
               ) -> Tuple[Dict[str, List[str]], List[str]]:
    """Names that match each pattern, and those that match none."""
    found: Dict[str, List[str]] = {pattern: [] for pattern in patterns}
    unexpected = []
    for name in sorted(files):
        pattern = next((p for p in patterns if fnmatch.fnmatch(name, p)), None)
        if pattern is None:
            unexpected.append(name)
        else:
            found[pattern].append(name)
    return found, unexpected


def compare_files(comparison: Comparison, plain: Sequence[Dict[str, bytes]],
                  found: Dict[str, bytes], patterns: Sequence[str], rule: Rule) -> None:
    names, unexpected = by_pattern(found, patterns)
    if unexpected:
        comparison.add(f"files that nobody expected: {unexpected}")
    of_plain = [by_pattern(files, patterns)[0] for files in plain]
    for pattern in patterns:
        expected = of_plain[0][pattern]
        if len(names[pattern]) != len(expected):
            comparison.add(f"files {pattern}: {names[pattern]} instead of {expected}")
            continue
        for at, name in enumerate(names[pattern]):
            contents = [files[chosen[pattern][at]] for files, chosen in zip(plain, of_plain)
                        if len(chosen[pattern]) == len(expected)]
            compare_content(comparison, name, contents, found[name], rule)


def compare_content(comparison: Comparison, name: str, contents: List[bytes], found: bytes,
                    rule: Rule) -> None:
    try:
        values = tensors_of_file(name, found)
    except Exception as error:
        comparison.add(f"file {name} cannot be read: {error}")
        return
    if values is not None:
        reference = [tensors_of_file(name, content) or {} for content in contents]
        compare_values(comparison, f"file {name}", reference, values, rule)
        return
    texts = [content.decode(errors="replace").splitlines() for content in contents]
    compare_text(comparison, f"file {name}", texts, found.decode(errors="replace").splitlines(),
                 rule)


# All of it.

def complaints(stderr: str) -> List[str]:
    """What the script wrote to standard error; of a traceback only the last line."""
    stderr = _NOTICE.sub("", stderr)
    lines = stderr.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("Traceback"):
            return lines[:at] + lines[-1:]
    return lines


def compare(entry: Any, plain: Sequence[Outcome], found: Outcome, rule: Rule) -> Comparison:
    """`plain` are the runs without us, the reference first; the others make the band."""
    comparison = Comparison()
    reference = plain[0]
    comparison.problems += found.remarks
    if found.exit_codes != reference.exit_codes:
        comparison.add(f"exit codes {found.exit_codes} instead of {reference.exit_codes}")
    if found.steps != reference.steps:
        comparison.add(f"{found.steps} steps instead of {reference.steps}")
    compare_text(comparison, "stdout", [lines_of(o.stdout, entry.ignored) for o in plain],
                 lines_of(found.stdout, entry.ignored), rule)
    compare_text(comparison, "stderr", [complaints(o.stderr) for o in plain],
                 complaints(found.stderr), rule)
    compare_files(comparison, [o.files for o in plain], found.files, entry.files, rule)
    compare_probes(comparison, entry, plain, found, rule)
    return comparison


def compare_probes(comparison: Comparison, entry: Any, plain: Sequence[Outcome], found: Outcome,
                   rule: Rule) -> None:
    reference = plain[0].probe
    if found.probe is None or reference is None:
        comparison.add("the probe wrote nothing")
        return
    if found.probe["batches"] != reference["batches"]:
        comparison.add(f"{found.probe['batches']} batches instead of {reference['batches']}")
    if not entry.is_random:
        if found.probe["samples"] != reference["samples"]:
            comparison.add("other samples, or in another order")
        for name, state in reference["random"].items():  # Those that the script seeds.
            if found.probe["random"].get(name) != state:
                comparison.add(f"the random generator of {name} is in another state")
    compare_values(comparison, "tensor", [o.probe["tensors"] for o in plain if o.probe],
                   found.probe["tensors"], rule)


def summary(problems: Sequence[str], limit: Optional[int] = PROBLEMS_MAX) -> List[str]:
    if limit is None or len(problems) <= limit:
        return list(problems)
    return [*problems[:limit], f"and {len(problems) - limit} more"]
