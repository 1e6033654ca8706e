#!/usr/bin/env bash
# Formats every C++ file that is tracked or new. With --check changes nothing and fails instead.
set -eu
cd "$(dirname "$0")/.."

mode=(-i)
if [ "${1:-}" = --check ]; then
  mode=(--dry-run --Werror)
fi
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' |
  while IFS= read -r -d '' file; do
    # A tracked file may have been deleted in the working tree.
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi
  done | xargs -0 -r clang-format --style=file "${mode[@]}"
