#!/usr/bin/env bash
# Long tests: libFuzzer on every fuzz target, then all tests under sanitizers with many seeds, then
# elastic jobs that are disturbed at random, under the thread sanitizer.
# Tests see RUBATO_SOAK=1 and RUBATO_SEED; property tests get the seed through RC_PARAMS.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
seconds=${SOAK_SECONDS:-60}
rounds=${SOAK_ROUNDS:-3}

fuzz() {
  local source name subject options
  cmake --preset fuzz --log-level=WARNING >/dev/null
  cmake --build --preset fuzz -j "$jobs"
  find src/rubato -name '*_fuzz.cc' | sort | while read -r source; do
    name=$(basename "$source" .cc)
    subject=${name%_fuzz}
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
      -artifact_prefix="build-fuzz/crash-$subject-")
    [ -f "tests/corpus/$subject.dict" ] && options+=(-dict="tests/corpus/$subject.dict")
    mkdir -p "build-fuzz/corpus/$subject"
    echo "== fuzz $subject, $seconds s"
    # New inputs go to the first directory; the repository's corpus is only read.
    if [ -d "tests/corpus/$subject" ]; then
      options+=("build-fuzz/corpus/$subject" "tests/corpus/$subject")
    else
      options+=("build-fuzz/corpus/$subject")
    fi
    "build-fuzz/$name" "${options[@]}" </dev/null
  done
}

# sanitize PRESET [WRAPPER...]: all tests of that build, once per seed.
sanitize() {
  local preset=$1 seed
  shift
  # Here there is time for the checks that `make test` leaves out.
  cmake --preset "$preset" --log-level=WARNING -DRUBATO_SANITIZE_SKIP= >/dev/null
  cmake --build --preset "$preset" -j "$jobs" --target all unit_tests
  for seed in $(seq 1 "$rounds"); do
    echo "== $preset, seed $seed of $rounds"
    RUBATO_SOAK=1 RUBATO_SEED=$seed RC_PARAMS="seed=$seed max_success=1000" \
      GTEST_SHUFFLE=1 GTEST_RANDOM_SEED=$seed \
      "$@" ctest --preset "$preset" -j "$jobs" -LE '^check$' --timeout 3600
  done
}

fuzz
sanitize asan
# The thread sanitizer of g++ 12 needs its usual address layout; some kernels randomise too much.
fixed=()
if setarch -R true 2>/dev/null; then
  fixed=(setarch -R)
fi
options=${TSAN_OPTIONS:-}
both=$(mktemp)
trap 'rm -f "$both"' EXIT
cat tools/tsan.supp tools/tsan_grpc.supp >"$both"
export TSAN_OPTIONS="suppressions=$both $options"
sanitize tsan "${fixed[@]}"
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp $options"
"${fixed[@]}" python3 -B tools/soak_runtime.py --build build-tsan --seconds "$seconds"
# Ordinary scripts, alone and elastically.
cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release -j "$jobs" --target rubato rubato_python
tools/soak_scripts.sh "${SOAK_SEED:-1}"
"$(sed -n 's/^RUBATO_PYTHON:FILEPATH=//p' build/CMakeCache.txt)" -B tests/scripts/blows.py
# Ten minutes of a live session: the dashboard's memory must not grow.
cmake --build --preset release -j "$jobs" --target rubato
RUBATO_BINARY=build/rubato node web/tests/many_jobs.mjs --seconds 600
echo "make soak: all passed"
