"""Total utility of OASiS and others at 100 to 400 jobs, beside the values read off the paper's figure."""

import csv
import pathlib
import sys

from welfare import RUBATO, registered, total_values

HERE = pathlib.Path(__file__).parent
LOADS = [100, 200, 300, 400]
SEEDS = [1, 2, 3]
CLUSTER = "32x8:A100"
WANTED = ["oasis", "drf", "srtf", "tiresias", "fifo"]
# Thousands, read off the paper's figure at LOADS.
PUBLISHED = {"oasis": [3.0, 5.2, 6.7, 7.5], "drf": [2.3, 1.4, 0.9, 1.0], "fifo": [0.9, 1.1, 0.4, 0.9]}


def main():
    if not RUBATO.exists():
        print("build/rubato is missing: make build")
        return 2
    policies = [name for name in WANTED if name in registered()]
    measured = [total_values(pathlib.Path("build/experiments/oasis"), policies, jobs, SEEDS, CLUSTER) for jobs in LOADS]
    print(f"Total utility in thousands, {CLUSTER}, mean of seeds {SEEDS}\n")
    print("policy    " + "".join(f"{jobs:>7} jobs  published" for jobs in LOADS))
    for policy in policies:
        cells = [f"{totals[policy] / 1000:12.2f}" for totals in measured]
        shown = [f"{value:11.1f}" for value in PUBLISHED.get(policy, [])] or ["          -"] * len(LOADS)
        print(f"{policy:<10}" + "".join(a + b for a, b in zip(cells, shown)))
    return check(measured)


def check(measured):
    """Bars that must hold: oasis is ahead of the others, and near what it was."""
    missed = 0
    with open(HERE / "expected.csv", newline="", encoding="ascii") as rows:
        expected = {(row["policy"], int(row["jobs"])): row for row in csv.DictReader(rows)}
    for jobs, totals in zip(LOADS, measured):
        best = max(total for policy, total in totals.items() if policy != "oasis")
        if totals["oasis"] <= best:
            print(f"MISSED: oasis has {totals['oasis']:.0f} at {jobs} jobs, another has {best:.0f}")
            missed += 1
        row = expected[("oasis", jobs)]
        if abs(totals["oasis"] - float(row["value"])) > float(row["tolerance"]):
            print(f"MISSED: oasis has {totals['oasis']:.0f} at {jobs} jobs, expected {row['value']}")
            missed += 1
    print("\nall bars hold" if missed == 0 else f"\n{missed} bars missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
