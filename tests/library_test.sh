#!/usr/bin/env bash
# A program of another project finds the installed library and gets what steptime gets:
# library_test.sh BUILD CONFIG
set -euo pipefail
build=$(realpath "$1") config=$(realpath "$2")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/library")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --build "$build" --target steptime steptime_library
cmake --install "$build" --component development --prefix "$scratch/prefix"
cmake -S "$source" -B "$scratch/user" -D CMAKE_PREFIX_PATH="$scratch/prefix"
cmake --build "$scratch/user"
found=$("$scratch/user/user" "$config")
[[ $("$build/steptime" run "$config" --format json) == *"\"fingerprint\": \"$found\""* ]] || {
  echo "the library's fingerprint is another one: $found"
  exit 1
}
