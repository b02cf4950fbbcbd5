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
results/NAME.csv, and for a sweep over one or two axes the figure results/NAME.svg and
results/NAME.png, into the current folder (-o DIR: into DIR).

  ./run.sh configs/quickstart.json
  ./run.sh configs/quickstart.json --set '/strategy/aggregation/collective={"type":"binary-tree"}'
USAGE
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi

# Quiet unless it fails.
build_program() {
  local log=$build/build.log
  mkdir -p "$build"
  # Only the first time: later ninja itself configures again when it must, and the tests stay in
  # the build if test.sh put them there.
  [[ -e $build/build.ninja ]] ||
    (cd "$root" && cmake --preset release -D STEPTIME_TESTS=OFF) >"$log" 2>&1 || return
  if [[ ! -e $build/steptime ]]; then
    echo "building Steptime (a minute or two)" >&2
  elif [[ -n $(find "$root"/{sim,models,netmodels,schedulers,calibration} -name '*.[hc]*' \
    -newer "$build/steptime" -print -quit) ]]; then
    echo "building what changed" >&2
  fi
  cmake --build "$build" --target steptime >"$log" 2>&1
}

# The figure for a CSV: speedup for the number of nodes, beside schedules if need be; else the step time
# over one or two axes. The axes are the columns between "point" and the results. Returns 1 for other sweeps.
figure_of() {
  local head axis nodes=0 others=0
  head=$(head -n 1 "$1")
  head=${head#point}
  head=${head%%,step_time_s,*}
  local -a axes
  IFS=, read -ra axes <<<"${head#,}"
  ((${#axes[@]} >= 1 && ${#axes[@]} <= 2)) || return
  for axis in "${axes[@]}"; do
    case $axis in
      /cluster/nodes) nodes=1 ;;
      /strategy/schedule/type) ;;
      *) others=1 ;;
    esac
  done
  if ((nodes && !others)); then echo speedup.gp; else echo sweep.gp; fi
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

# The config names the files: the CSV that was just written is the newest one.
csv=
for file in "$folder"/*.csv; do
  [[ $file -ot $started || (-n $csv && $file -ot $csv) ]] || csv=$file
done
if [[ -e $csv ]] && figure=$(figure_of "$csv"); then
  name=${csv%.csv}
  # Under a temporary name first, so that no half-drawn figure stands under its own.
  quoted=${name//\'/\'\'}  # as gnuplot's strings want it
  if ! gnuplot -e "csv='$quoted.csv'; out='$quoted.tmp'; name='${quoted##*/}'" \
    "$root/plots/$figure"; then
    rm -f "$name.tmp.svg" "$name.tmp.png"
    echo "the figure of $csv could not be drawn" >&2
    exit $((status == 0 ? 1 : status))
  fi
  mv "$name.tmp.svg" "$name.svg"
  mv "$name.tmp.png" "$name.png"
  echo "wrote $name.svg and $name.png" >&2
fi
exit "$status"
