"""Reproduces figures 6b, 8a, 8b, 9, 10 and 11 of ElasticFlow (ASPLOS'23). See README.md.

Exit code: 0, 1 if a bar is missed or a simulation failed, 2 if nothing could be run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bad_config import BadConfig
from campaign import Place, Results, find_data, run_ablation, run_figure
from child import ChildFailed
from expectation import load_expected
from record import is_program, markdown_of, origin, readme_is_current
from reference import References, load_measured, load_published, with_gains
from sections import ablation_table, expected_table, fidelity_table, figure_table, speed_table
from sensitivity import sensitivity_table
from settings import Ablation, Figure, load_ablation, load_figures
from tables import Table, as_html, as_text

HERE = Path(__file__).resolve().parent


def arguments_of(words: list[str]) -> argparse.Namespace:
    """All optional: the defaults are the experiment."""
    parser = argparse.ArgumentParser(description="Reproduce the figures of ElasticFlow.")
    parser.add_argument("--binary", type=Path, default=Path("build/rubato"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/elasticflow"))
    parser.add_argument("--output", type=Path, default=Path("build/experiments"))
    parser.add_argument("--figure", action="append", help="only this one; may be repeated")
    return parser.parse_args(words)


def provenance(place: Place) -> list[str]:
    """Commit and machine, for the result to name."""
    return [
        "command: experiments/elasticflow/run.sh (every simulation's own command is in the JSON)",
        origin(place.binary),
        "seed 0; one run each, deterministic",
        f"data: {place.data}" if place.data else "data: none",
    ]


def preface_of(place: Place, absent: list[str]) -> list[str]:
    """What a reader must know before the first number."""
    lines = provenance(place)
    if place.data is None:
        lines.append(
            "NO DATA: the public traces are not there (../shared/data/elasticflow). Traces of the "
            "same family are made up from fixed seeds instead. SKIPPED: every comparison with "
            "published or measured values, and every bar on a particular trace. Still checked: "
            "promises kept and CPU time of elasticflow."
        )
    elif absent:
        lines.append(f"SKIPPED: published values of {', '.join(absent)}, which are not there.")
    lines.append(
        "ours: accounting artifact (every round stops every running job). A deadline is met if the "
        "work is done by then, pauses included. edf and edf-ac are capped at the speed peak, as "
        "the paper says and its code does not."
    )
    return lines


def as_json(place: Place, results: Results, expected: Table, tables: list[Table]) -> str:
    """Everything, for a machine."""
    document = {
        "experiment": "elasticflow",
        "provenance": provenance(place),
        "made_up_traces": place.data is None,
        "results": [
            {"run": run, "policy": policy, "accounting": accounting} | row
            for (run, policy, accounting), row in results.rows.items()
        ],
        "failed": [
            {"run": key[0], "policy": key[1], "accounting": key[2], "reason": reason}
            for key, reason in results.failed.items()
        ],
        "skipped": results.skipped,
        "expected": [dict(zip(expected.header, row)) for row in expected.rows],
        "tables": [vars(table) for table in tables],
    }
    return json.dumps(document, indent=1) + "\n"


def measure(place: Place, figures: list[Figure], ablation: Ablation) -> Results:
    """All simulations."""
    results = Results()
    for figure in figures:
        run_figure(place, figure, results)
    names = {run.name for figure in figures for run in figure.runs}
    if names.issuperset(ablation.runs):
        run_ablation(place, figures, ablation, results)
    return results


def known_values(place: Place, figures: list[Figure]) -> tuple[References, list[str]]:
    """Values of others; none on made-up traces, where they would mean nothing."""
    if place.data is None:
        return {}, []
    published, absent = load_published(figures, place.data)
    return with_gains(load_measured(HERE / "reference.csv")) | published, absent


def report(place: Place, figures: list[Figure], ablation: Ablation, results: Results) -> int:
    """Prints and writes everything; returns the exit code."""
    known, absent = known_values(place, figures)
    names = [run.name for figure in figures for run in figure.runs]
    expectations = [
        one
        for one in load_expected(HERE / "expected.csv")
        if one.run == "*" or (place.data and one.run in names)
    ]
    stable = [figure_table(figure, results, known) for figure in figures]
    stable += [fidelity_table(figures, results, known)] if place.data else []
    stable += [ablation_table(ablation, results)] if results.ablation else []
    if results.ablation and not results.failed:
        stable.append(sensitivity_table(place, figures))
    expected, missed = expected_table(expectations, names, results, known)
    tables = [*stable, speed_table(figures, results, known), expected]
    preface = preface_of(place, absent)

    print("\n".join(preface))
    for table in tables:
        print("\n" + as_text(table))
    markdown = markdown_of(stable)
    output = place.output
    (output / "elasticflow.md").write_text(markdown, encoding="utf-8")
    page = as_html(tables, "ElasticFlow, reproduced", preface)
    (output / "elasticflow.html").write_text(page, encoding="utf-8")
    document = as_json(place, results, expected, tables)
    (output / "elasticflow.json").write_text(document, encoding="utf-8")

    print(f"\nwritten: {output}/elasticflow.json, .html, .md")
    for key, reason in results.failed.items():
        print(f"FAILED {' '.join(key)}: {reason}")
    if place.data and len(names) > 1 and not readme_is_current(HERE / "README.md", markdown):
        print(f"the tables in README.md are not these; they are in {output}/elasticflow.md")
    print(f"bars missed: {missed}; simulations failed: {len(results.failed)}")
    return 1 if missed or results.failed else 0


def main(words: list[str]) -> int:
    """Paths are relative to the folder one is in; run.sh goes to the top of the repository."""
    arguments = arguments_of(words)
    if not is_program(arguments.binary):
        print(f"{arguments.binary}: no such program; build it first: make build", file=sys.stderr)
        return 2
    try:
        figures = load_figures(HERE / "figures")
        ablation = load_ablation(HERE / "ablation.toml")
        if arguments.figure:
            figures = [figure for figure in figures if figure.figure in arguments.figure]
        binary = arguments.binary if arguments.binary.parent.name else arguments.binary.absolute()
        place = Place(binary, find_data(arguments.data), arguments.output)
        place.output.mkdir(parents=True, exist_ok=True)
        results = measure(place, figures, ablation)
        if not results.rows:
            for reason in [*results.skipped.values(), *results.failed.values()][:3]:
                print(reason, file=sys.stderr)
            print("nothing could be run", file=sys.stderr)
            return 2
        return report(place, figures, ablation, results)
    except (BadConfig, ChildFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
