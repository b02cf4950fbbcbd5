#!/usr/bin/env bash
# Builds Steptime if need be and simulates every point of a config. Exit codes: steptime's; 2 also
# for missing packages, 1 when the build or the figure fails.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$root/build/release
# shellcheck source=scripts/packages.sh
source "$root/scripts/packages.sh"

if (($# == 0)) || [[ $1 == -h || $1 == --help ]]; then
  cat >&2 <<'USAGE'
usage: ./run.sh CONFIG [options of "steptime sweep"]

Simulates every point of CONFIG's sweep and prints a table. Writes results/NAME.jsonl and
results/NAME.csv, and for a sweep over one to three axes the figure results/NAME.svg and
results/NAME.png, into the current folder (-o DIR: into DIR).

  ./run.sh configs/quickstart.json
  ./run.sh configs/quickstart.json --set '/strategy/aggregation/collective={"type":"binary-tree"}'
USAGE
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi

# Ninja's lines; where a person looks on, only how far it is.
show_progress() {
  local line built all bar
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ -t 2 && $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    built=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    printf -v bar '%*s' $((built * 40 / all)) ''
    printf '\r[%-40s] %3d %%' "${bar// /#}" $((built * 100 / all)) >&2
  done
  [[ ! -t 2 || -z ${all:-} ]] || printf '\r%50s\r' '' >&2
}

# Quiet unless it fails.
build_program() {
  local log=$build/build.log
  mkdir -p "$build"
  # Only the first time: later ninja itself configures again when it must, and the tests stay in
  # the build if test.sh put them there.
  [[ -e $build/build.ninja ]] ||
    (cd "$root" && cmake --preset release -D STEPTIME_TESTS=OFF -D STEPTIME_UNITY=ON) >"$log" 2>&1 ||
    return
  if [[ ! -e $build/steptime ]]; then
    echo "building Steptime (some minutes)" >&2
  elif [[ -n $(find "$root"/{sim,models,netmodels,schedulers,calibration} -name '*.[hc]*' \
    -newer "$build/steptime" -print -quit) ]]; then
    echo "building what changed" >&2
  fi
  cmake --build "$build" --target steptime 2>&1 | show_progress >"$log"
}

need_packages build plot
build_program || {
  cat "$build/build.log" >&2
  echo "the build failed; its log: $build/build.log" >&2
  exit 1
}

folder=results
given=()
for ((i = 2; i <= $#; ++i)); do
  case ${!i} in
    -o | --output)
      next=$((i + 1))
      folder=${!next:-}
      given=(yes)
      ;;
    -o?*) folder=${!i#-o} given=(yes) ;;
    --output=*) folder=${!i#--output=} given=(yes) ;;
  esac
done
((${#given[@]})) || set -- "$@" -o "$folder"

started=$(mktemp)
trap 'rm -f "$started"' EXIT
status=0
"$build/steptime" sweep "$@" || status=$?
# A sweep with failed points (4), or outside the calibrated domain (5), still has a figure.
case $status in
  0 | 4 | 5) ;;
  *) exit "$status" ;;
esac

# The config names the files: the results that were just written are the newest ones.
rows=
for file in "$folder"/*.jsonl; do
  [[ $file -ot $started || (-n $rows && $file -ot $rows) ]] || rows=$file
done
# A sweep over more than three axes has no figure (2): plot says so, and how to take a part of it.
if [[ -e $rows ]] && grep -q '"params": *{"' "$rows"; then
  for kind in svg png; do
    drawn=0
    "$build/steptime" plot "$rows" -o "${rows%.jsonl}.$kind" || drawn=$?
    case $drawn in
      0) ;;
      2) break ;;
      *) exit $((status == 0 ? 1 : status)) ;;
    esac
  done
fi
exit "$status"
