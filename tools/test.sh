#!/usr/bin/env bash
# All tests, each once: those of the core and its fuzz corpora in the sanitizer build, all others in
# the release build, the golden ones of sim_test in both. tools/soak.sh has sanitizers for the rest.
# Later stages run even when an earlier one fails; the last lines say what happened.
set -u -o pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
logs=build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
summary=()
failed=0

# stage NAME TITLE COMMAND...: runs the command, shows its output, keeps ctest's closing lines.
stage() {
  local name=$1 title=$2 start=$SECONDS result=ok
  shift 2
  echo "== $title"
  if ! "$@" 2>&1 | tee "$logs/$name.log"; then
    result=FAILED
    failed=1
  fi
  summary+=("$(printf '%-7s %-45s %4d s' "$result" "$title" $((SECONDS - start)))")
  [ "$result" = ok ]
}

# build PRESET [CMAKE-BUILD-ARGUMENT...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" --log-level=WARNING >/dev/null &&
    cmake --build --preset "$preset" -j "$jobs" "$@"
}

if stage build-release "build release" build release; then
  stage release "test release: unit, scenario, torch, check" \
    ctest --preset release -j $((jobs + 1)) -LE '^core$'  # Many wait: for processes, for timers.
fi
if stage build-asan "build asan" build asan --target core_tests core_fuzzers; then
  stage asan "test asan: core, fuzz" \
    ctest --preset asan -j "$jobs" -L '^(core|golden|fuzz)$'
fi

echo
echo "== summary"
for name in release asan; do
  [ -f "$logs/$name.log" ] || continue
  echo "$name:"
  sed -n '/tests passed,/,$p' "$logs/$name.log" | sed -e '/^$/d' -e 's/^/  /'
done
printf '%s\n' "${summary[@]}"
if [ "$failed" -ne 0 ]; then
  echo "make test: FAILED"
  exit 1
fi
echo "make test: all passed"
