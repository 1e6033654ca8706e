#!/usr/bin/env bash
# All scripts of tests/scripts, alone and elastically: first without a supervisor, in single and in
# double precision, then by `rubato train`, where the process that runs the script is killed too.
# Needs build/ with rubato and its Python package. The argument is the seed of the events.
set -u
cd "$(dirname "$0")/.."
seed=${1:-1}
python=$(sed -n 's/^RUBATO_PYTHON:FILEPATH=//p' build/CMakeCache.txt)
run=("$python" -B tests/scripts/run.py --all --package build/python --seed "$seed")
failed=0
"${run[@]}" --mode both || failed=1
"${run[@]}" --mode one --binary build/rubato || failed=1
exit "$failed"
