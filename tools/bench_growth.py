#!/usr/bin/env python3
"""Prints how benchmark time grows with the size of the input.

Reads the JSON of Google Benchmark. A name such as `Decision/elasticflow/jobs:1000/gpus:10000` has a
subject (`Decision/elasticflow`) and sizes (`jobs`, `gpus`). For each size, the benchmarks that
differ in that size alone form a group; the growth exponent of a group is the slope of log(time)
against log(size), by least squares. 1 means linear, 2 quadratic. Small sizes are mostly fixed cost
and flatter the exponent, so `last` gives the slope between the two largest sizes alone; a cost of
n log n has the slope under `n log n` there.

A second table gives times as multiples of those of the baseline, `fifo`, at the same sizes in the
same run: machines differ, ratios hardly. Fails if a benchmark reported an error, such as a crossed
limit.

Usage: bench_growth.py FILE
"""

import json
import math
import sys
from collections import defaultdict

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# Parts that Google Benchmark itself appends to a name.
APPENDED = {"real_time", "process_time", "manual_time"}
APPENDED_KEYS = {"iterations", "repeats", "min_time", "min_warmup_time", "threads"}
BASELINE = "fifo"


def parse_name(name):
    """Returns (subject, {size: value}) of a benchmark's name."""
    subject, sizes = [], {}
    for part in name.split("/"):
        key, colon, value = part.partition(":")
        if colon and key in APPENDED_KEYS or part in APPENDED:
            continue
        if colon and value.isdigit():
            sizes[key] = int(value)
        else:
            subject.append(part)
    return "/".join(subject), sizes


def times(report):
    """Returns {run name: nanoseconds}: the median where runs were repeated, else the mean."""
    medians, runs = {}, defaultdict(list)
    for row in report["benchmarks"]:
        if row.get("error_occurred"):
            continue
        name = row.get("run_name", row["name"])
        clock = "real_time" if name.endswith(("/real_time", "/manual_time")) else "cpu_time"
        time = row[clock] * NANOSECONDS[row.get("time_unit", "ns")]
        if row.get("run_type", "iteration") == "iteration":
            runs[name].append(time)
        elif row.get("aggregate_name") == "median":
            medians[name] = time
    return {name: sum(found) / len(found) for name, found in runs.items()} | medians


def fit(points):
    """Returns (slope, r squared) of log(time) against log(size) for [(size, time)]."""
    xs = [math.log(size) for size, _ in points]
    ys = [math.log(time) for _, time in points]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    xx = sum((x - x_mean) ** 2 for x in xs)
    yy = sum((y - y_mean) ** 2 for y in ys)
    xy = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys))
    return xy / xx, (xy * xy / (xx * yy) if yy > 0 else 1.0)


def growth(report):
    """Returns rows (subject, size, fixed sizes, points, slope, r squared), sorted."""
    groups = defaultdict(list)
    for name, time in times(report).items():
        subject, sizes = parse_name(name)
        for key, value in sizes.items():
            fixed = tuple(sorted(item for item in sizes.items() if item[0] != key))
            if value > 0 and time > 0:
                groups[subject, key, fixed].append((value, time))
    rows = []
    for (subject, key, fixed), points in sorted(groups.items()):
        points.sort()
        if len({size for size, _ in points}) >= 2:
            rows.append((subject, key, fixed, points, *fit(points)))
    return rows


def duration(nanoseconds):
    """A time as people write it."""
    for unit in ("s", "ms", "us"):
        if nanoseconds >= NANOSECONDS[unit]:
            return f"{nanoseconds / NANOSECONDS[unit]:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def ratios(report):
    """Returns rows (subject, sizes, time, time over the baseline's), sorted."""
    found = {}
    for name, time in times(report).items():
        subject, sizes = parse_name(name)
        found[subject, tuple(sorted(sizes.items()))] = time
    rows = []
    for (subject, sizes), time in sorted(found.items()):
        group, _, member = subject.rpartition("/")
        base = found.get((f"{group}/{BASELINE}", sizes), 0)
        if member != BASELINE and base > 0:
            rows.append((subject, sizes, time, time / base))
    return rows


def errors(report):
    """Returns "name: message" of each benchmark that reported an error."""
    return [
        f"{row['name']}: {row.get('error_message', 'failed')}"
        for row in report["benchmarks"]
        if row.get("error_occurred")
    ]


def aligned(lines):
    """Rows of cells as text with straight columns."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )


def ratio_table(rows):
    """The rows of ratios() as text."""
    lines = [("benchmark", "sizes", "time", f"times {BASELINE}")]
    for subject, sizes, time, ratio in rows:
        text = " ".join(f"{name}={value}" for name, value in sizes) or "-"
        lines.append((subject, text, duration(time), f"{ratio:.1f}"))
    return aligned(lines)


def table(rows):
    """The rows as aligned text."""
    lines = [
        ("benchmark", "grows with", "fixed", "points", "from", "to", "exponent", "r2")
        + ("last", "n log n")
    ]
    for subject, key, fixed, points, slope, r2 in rows:
        (low, low_time), (high, high_time) = points[0], points[-1]
        (before, before_time) = points[-2]
        decade = math.log(high / before)
        lines.append(
            (
                subject,
                f"{key} {low}..{high}",
                " ".join(f"{name}={value}" for name, value in fixed) or "-",
                str(len(points)),
                duration(low_time),
                duration(high_time),
                f"{slope:.2f}",
                f"{r2:.3f}",
                f"{math.log(high_time / before_time) / decade:.2f}",
                f"{1 + math.log(math.log(high) / math.log(before)) / decade:.2f}",
            )
        )
    return aligned(lines)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 64
    with open(arguments[0], encoding="utf-8") as file:
        report = json.load(file)
    rows = growth(report)
    print(table(rows) if rows else "no benchmark was run at two sizes or more")
    if compared := ratios(report):
        print(f"\n{ratio_table(compared)}")
    for error in (failed := errors(report)):
        print(f"error: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
