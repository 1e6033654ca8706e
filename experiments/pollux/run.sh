#!/usr/bin/env bash
# Replays Pollux's workloads; needs build/rubato (make build). Takes no arguments.
# Output: text here; JSON, HTML and Markdown in build/experiments/. Fails if a bar is missed.
set -eu
cd "$(dirname "$0")/../.."
PYTHONPATH=experiments/harness exec python3 -B experiments/pollux/run.py "$@"
