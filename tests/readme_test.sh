#!/usr/bin/env bash
# README.md's first commands, each as the first command in a bare Debian 12 of its own that has the
# sources and nothing else: exit 0. readme_test.sh [COMMAND...], as root; without a COMMAND those of
# README.md. Exits 77 without debootstrap or a mirror.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/bare_root.sh
source tests/bare_root.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(($#)) || mapfile -t commands < <(sed -nE 's|^(\./[a-z]+\.sh( [^ #]+)*) *#.*|\1|p' README.md)
(($# == 0)) || commands=("$@")
((${#commands[@]})) || {
  echo "README.md has no such commands"
  exit 1
}
bare_root "$scratch/bare" || exit
failed=0
for command in "${commands[@]}"; do
  root=$scratch/root
  rm -rf "$root"
  cp -a "$scratch/bare" "$root"
  mkdir "$root/src"
  git ls-files -z | tar --null --files-from - --create | tar --extract --directory "$root/src"
  status=0
  in_root "$root" "cd /src && $command" >"$scratch/log" 2>&1 || status=$?
  ((status == 0)) || {
    cat "$scratch/log"
    failed=1
  }
  echo "$command: exit $status"
done
exit "$failed"
