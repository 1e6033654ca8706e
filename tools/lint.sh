#!/usr/bin/env bash
# Format, repository rules, clang-tidy. Needs a configured build-lint/ (make lint sees to it).
set -u
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
failed=0

echo "== format"
tools/format.sh --check || failed=1
echo "== repository rules"
python3 -B tools/check_layers.py . || failed=1
python3 -B tools/check_tidy.py . || failed=1

echo "== clang-tidy"
# What includes libtorch is left out, as STYLE says: clang-tidy 14 was not done with one such file
# after five minutes.
files='/src/rubato/(?!runtime/(?:torch|testing/pretend_cuda)/).*(?<!_test)\.cc$'
if [ -n "${LINT_TESTS:-}" ]; then
  files='/(src/rubato/(?!runtime/(?:torch|testing/pretend_cuda)/)|tests/).*\.cc$'
fi
# Warnings of the compiler are g++'s affair; clang-tidy only runs its own checks.
run-clang-tidy -quiet -p build-lint -j "$jobs" -extra-arg=-Wno-unknown-warning-option \
  -extra-arg=-Wno-error "$files" >build-lint/clang-tidy.log 2>&1 || failed=1
sed 's/\x1b\[[0-9;]*m//g' build-lint/clang-tidy.log | grep -E '(warning|error): ' | sort -u

if [ "$failed" -ne 0 ]; then
  echo "make lint: FAILED (clang-tidy's full output is in build-lint/clang-tidy.log)"
  exit 1
fi
echo "make lint: clean"
