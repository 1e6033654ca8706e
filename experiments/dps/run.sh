#!/usr/bin/env bash
# Social welfare under rising load; needs build/rubato (make build). Takes no arguments.
# Fails if a bar is missed.
set -eu
cd "$(dirname "$0")/../.."
exec python3 -B experiments/dps/run.py "$@"
