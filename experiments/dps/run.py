"""Social welfare of the DPS auction against schedulers that do not look at what jobs are worth."""

import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "oasis"))

from welfare import RUBATO, registered, total_values  # noqa: E402

LOADS = [100, 200, 400]
SEEDS = [1, 2, 3]
CLUSTER = "24x8:A100@cloud+16x4:A100@edge"
WANTED = ["dps", "drf", "srtf", "tiresias", "fifo"]


def main():
    if not RUBATO.exists():
        print("build/rubato is missing: make build")
        return 2
    policies = [name for name in WANTED if name in registered()]
    measured = [total_values(pathlib.Path("build/experiments/dps"), policies, jobs, SEEDS, CLUSTER) for jobs in LOADS]
    print(f"Social welfare in thousands, {CLUSTER}, mean of seeds {SEEDS}; in brackets dps over this policy\n")
    print("policy    " + "".join(f"{jobs:>15} jobs" for jobs in LOADS))
    for policy in policies:
        cells = [f"{t[policy] / 1000:11.2f} ({t['dps'] / t[policy] - 1:+6.0%})" for t in measured]
        print(f"{policy:<10}" + "".join(cells))
    return check(measured)


def check(measured):
    """Bars that must hold: dps is ahead of the others, and near what it was."""
    missed = 0
    with open(HERE / "expected.csv", newline="", encoding="ascii") as rows:
        expected = {int(row["jobs"]): row for row in csv.DictReader(rows)}
    for jobs, totals in zip(LOADS, measured):
        best = max(total for policy, total in totals.items() if policy != "dps")
        row = expected[jobs]
        if totals["dps"] <= best or abs(totals["dps"] - float(row["value"])) > float(row["tolerance"]):
            print(f"MISSED: dps has {totals['dps']:.0f} at {jobs} jobs; best other {best:.0f}, expected {row['value']}")
            missed += 1
    print("\nall bars hold" if missed == 0 else f"\n{missed} bars missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
