#!/usr/bin/env bash
# The 195-job trace on 128 emulated GPUs through the live platform, beside its simulation; needs
# build/rubato (make build). About a quarter of an hour; --quick: two minutes. Fails if a bar is missed.
set -eu
cd "$(dirname "$0")/../.."
export PYTHONPATH="experiments/harness"
exec python3 -B experiments/testbed/run.py "$@"
