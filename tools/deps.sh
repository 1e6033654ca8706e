#!/usr/bin/env bash
# Installs the packages of tools/packages.txt that are missing. Does nothing when all are there.
set -eu
cd "$(dirname "$0")/.."

mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' tools/packages.txt)

if ! command -v dpkg-query >/dev/null; then
  echo "deps: not a Debian system; expecting these to be installed: ${wanted[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
# Node from elsewhere is as good, and Debian's npm would not go beside it.
command -v npm >/dev/null && installed+=$'\nnodejs\nnpm'
command -v chromium >/dev/null && installed+=$'\nchromium'
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "deps: not root and no sudo; ask for these packages: ${missing[*]}" >&2
    exit 77
  fi
  as_root=(sudo)
fi

apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get
  -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -qq)
echo "deps: installing ${missing[*]}"
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
