#!/usr/bin/env bash
# Missed deadlines and waits of jobs without one, beside the values of the published code; needs
# build/rubato (make build). Takes no arguments. Fails if a bar is missed.
set -eu
cd "$(dirname "$0")/../.."
export PYTHONPATH="experiments/harness"
exec python3 -B experiments/chronus/run.py "$@"
