"""`rubato check`: a dry run of a script that says what will become of it under Rubato.

The first steps of the script are run several times, in processes of their own that cannot change
the user's files: as plain Python, and shared, while workers come, go and are killed. What the
script computed must be the same up to the rounding that is measured on the plain script itself.

    __main__.py     the command line
    examination.py  which runs are made, within a time limit, and the verdict
    runs.py         starts one run and reads what it left
    warm.py         forks runs from an interpreter that has loaded torch
    dry_run.py      the process of a run: the script, bounded, with a recorder
    recorder.py     what a run remembers of each step
    sketch.py       tensors, small enough to keep
    roundings.py    how the plain script's own rounding is varied
    noise.py        one of these ways
    sandbox.py      files that a run cannot change
    loops.py        the loops around a step, and how long they are
    expressions.py  lengths of what a loop goes over, without running anything
    comparison.py   two runs, step by step
    findings.py     what was found, as values
    report.py       what was found, as text
"""
