#!/usr/bin/env bash
# Builds Steptime with its tests and runs them. The last line is "N passed, N failed"; exits 0 only
# when there were tests and none failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

usage() {
  cat <<'USAGE'
usage: ./test.sh [quick | ci | all]

quick (default): gcc Release build, all tests. From nothing it compiles many files at once, as run.sh does.
ci, --ci:        quick, and layering, clang-format, equal results for one and two threads, and the
                 fuzzers, built by clang with ASan and UBSan, for some seconds each; the clang build
                 gives the same results to the byte.
all, --all:      gcc and clang, Debug with ASan and UBSan and Release, all tests in each; results
                 equal to the byte between the four builds and between one and two threads; data races
                 (TSan); a replay between four network namespaces, and under Slurm; the page of "report"
                 in Chromium; the Python module, its notebook and its package; the Debian package, and
                 README's first commands, in bare roots; cross builds for ppc64el and arm64, whose results are equal to the byte
                 (each where it can be had); headers and sources that compile alone; layering;
                 clang-format; clang-tidy; a short run of each fuzzer.

What the property tests draw: "quick" and "ci" draw the same cases in every run; "all" draws new ones
and prints their seed. STEPTIME_SEED=N sets it in each of them.

The last line counts the tests of every build, and every other check as one.
JOBS=N sets the number of parallel jobs (default: one per processor).
USAGE
}

case ${1:-quick} in
  quick | --quick) mode=quick ;;
  ci | --ci) mode=ci ;;
  all | --all) mode=all ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac
if (($# > 1)); then
  usage >&2
  exit 2
fi

jobs=${JOBS:-$(nproc)}
passed=0
failed=0
timings=()
scratch=$(mktemp -d)

# Also after a failed command: nothing leaves without the closing line.
close() {
  local status=$?
  rm -rf "$scratch"
  if ((${#timings[@]})); then
    printf '\n'
    printf '%s\n' "${timings[@]}"
  fi
  ((status == 0 || failed > 0)) || failed=1  # something else than a test broke
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((status != 0 || (failed == 0 && passed > 0))) || status=1
  exit "$status"
}

# stage NAME COMMAND...: runs it, prints its time; what it says only if it fails. Counting is left
# to the command. A command that cannot test anything here exits 77.
stage() {
  local name=$1 start=$SECONDS result=ok status=0
  shift
  printf '== %s\n' "$name"
  "$@" || status=$?
  ((status == 0)) || result=FAILED
  ((status != 77)) || result=skip
  timings+=("$(printf '%-28s %6s %5d s' "$name" "$result" $((SECONDS - start)))")
  return "$status"
}

quietly() {
  local log=$scratch/log status
  "$@" >"$log" 2>&1 && return
  status=$?
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking) ' "$log" || true  # what went well
  return "$status"
}

# A check that counts as one test.
check() {
  local status=0
  stage "$@" || status=$?
  case $status in
    0) passed=$((passed + 1)) ;;
    77) ;;
    *) failed=$((failed + 1)) ;;
  esac
}

# build PRESET [SETTING...]: the settings are for a build from nothing; one that is there keeps its own.
build() {
  local preset=$1
  shift
  [[ ! -e build/$preset/build.ninja ]] || set --
  quietly cmake --preset "$preset" -D STEPTIME_TESTS=ON "$@" || return
  quietly cmake --build --preset "$preset" --parallel "$jobs"
}

# The value of an attribute of the report's first element of that name.
attribute() { sed -n "/<$1 /,/>/s/.*[[:space:]]$2=\"\\([0-9]*\\)\".*/\\1/p" "$3" | head -n 1; }

# Of what processes of many tests say, without the tests that passed.
without_passed() {
  awk '/^\[ RUN      \]/ { started = $0; next }
       /^\[       OK \]/ { started = ""; next }
       started != "" { print started; started = "" }
       /^\[----------\]/ || /^\[==========\]/ || /^$/ { next }
       { print; fflush() }'
}

# count NAME STATUS REPORT: a program that ctest ran, whose tests are in its own report if it has one.
# One that ended before it wrote it is one failure, and so is one that failed without a failed test.
count() {
  local total=1 broken=0 idle=0
  [[ $2 == run ]] || broken=1
  [[ $2 != notrun && $2 != disabled ]] || broken=0 idle=1
  if [[ -e $3 ]]; then
    total=$(attribute testsuites tests "$3")
    idle=$(($(attribute testsuites disabled "$3") + $(grep -c 'result="skipped"' "$3" || true)))
    local reported
    reported=$(($(attribute testsuites failures "$3") + $(attribute testsuites errors "$3")))
    ((broken == 0 || reported > 0)) || reported=1
    broken=$reported
    sed -n '/<testcase /{h;d};/<failure /{x;s/.* name="\([^"]*\)".* classname="\([^"]*\)".*/failed: \2.\1/p;x}' "$3" |
      uniq
  elif ((broken)); then
    echo "failed: $1"
  fi
  if ((idle > 0)); then
    echo "$idle tests of $1 are disabled or skipped"
  fi
  passed=$((passed + total - broken - idle))
  failed=$((failed + broken))
}

run_tests() {
  local report=$scratch/$1.xml reports=build/$1/tests/reports status=0 before=$failed name result
  rm -rf "$reports"
  ctest --preset "$1" --parallel "$jobs" --output-junit "$report" | without_passed || status=$?
  [[ -e $report ]] || return 1
  while read -r name result; do
    count "$name" "$result" "$reports/$name.xml"
  done < <(sed -n 's/.*<testcase name="\([^"]*\)".* status="\([a-z]*\)".*/\1 \2/p' "$report")
  # ctest fails with zero tests too.
  if ((status != 0 && failed == before)); then
    failed=$((failed + 1))
  fi
  return "$status"
}

# A build that fails is one failure, and its tests do not run.
build_and_test() {
  if stage "build $1" build "$@"; then
    stage "test $1" run_tests "$1" || true
  else
    failed=$((failed + 1))
  fi
}

# sweep_configs PRESET THREADS FOLDER: the rows of every experiment but of those that learn, which
# take minutes; as many experiments at once as there are jobs.
sweep_configs() {
  mkdir -p "$3"
  xargs -0 -P "$jobs" -n 1 bash -c \
    '"$0" sweep "$3" --format jsonl --jobs "$1" >"$2/${3//\//-}"' "build/$1/steptime" "$2" "$3" \
    < <(grep -rLZ '"convergence"' configs --include='*.json')
}
# same_results PRESET...: by the first with one thread and two, and by the others with two.
same_results() {
  local run preset threads output reference=$scratch/results/reference
  for run in "$1 1" "${@/%/ 2}"; do
    read -r preset threads <<<"$run"
    output=$scratch/results/$preset-$threads
    sweep_configs "$preset" "$threads" "$output" || return
    if [[ ! -e $reference ]]; then
      mv "$output" "$reference"
    elif ! diff -rq "$reference" "$output"; then
      echo "$preset with $threads threads differs from $1 with 1"
      return 1
    fi
  done
  [[ -n $(find "$reference" -size +0 -print -quit) ]]
}

sources() { find "$@" \( -name '*.cpp' -o -name '*.h' \) -print0; }
# Names the files that clang-format would change.
check_format() {
  local log=$scratch/format
  sources sim models netmodels schedulers calibration tests |
    xargs -0 clang-format-14 --dry-run --Werror >"$log" 2>&1 && return
  sed -n 's/:[0-9]*:[0-9]*: error: .*/: not formatted/p' "$log" | sort -u
  return 1
}
# tidy FOLDER UNITY [ARGUMENT...]: clang-tidy on all that is compiled. Of what is built here: a
# program whose library is not there is not.
tidy() {
  local folder=$1 unity=$2
  shift 2
  cmake --preset tidy -B "$folder" -D STEPTIME_UNITY="$unity" || return
  cmake --build "$folder" --target commit || return
  sed -nE 's%^ *"file": "(.*\.(cpp|cxx))".*%\1%p' "$folder/compile_commands.json" | sort -u |
    tr '\n' '\0' | xargs -0 -n 1 -P "$jobs" clang-tidy-14 --quiet "$@" -p "$folder"
}
# Many files at once, as what it does with headers takes most of its time.
check_tidy() { tidy build/tidy ALL; }
# Each source compiles without what others include before it. Without any check it does nothing.
check_alone() { tidy build/alone OFF '--checks=-*,google-build-using-namespace'; }
check_headers() {
  cmake --build --preset dev --parallel "$jobs" --target all_verify_interface_header_sets
}

# fuzz PRESET NAME CORPUS...: eight seconds from the shipped files; the new inputs are thrown away,
# what breaks is kept.
fuzz() {
  local preset=$1 name=$2 found=$scratch/$2
  shift 2
  mkdir -p "$found" build/findings
  "build/$preset/tests/fuzz/$name" -max_total_time=8 -timeout=60 -rss_limit_mb=4096 \
    -artifact_prefix="build/findings/$name-" "$found" "$@"
}
fuzz_all() {
  check "fuzz config" quietly fuzz "$1" fuzz_config configs tests/fuzz/corpus/config
  check "fuzz trace" quietly fuzz "$1" fuzz_trace traces tests/fuzz/corpus/trace
  check "fuzz table" quietly fuzz "$1" fuzz_table traces/k80/allreduce tests/fuzz/corpus/table
  check "fuzz layer table" quietly fuzz "$1" fuzz_layer_table models
  check "fuzz import" quietly fuzz "$1" fuzz_import tests/fuzz/corpus/import
}
build_fuzzers() {
  quietly cmake --preset fuzz || return
  quietly cmake --build --preset fuzz --parallel "$jobs" --target steptime fuzz_config fuzz_trace \
    fuzz_table fuzz_layer_table fuzz_import
}

# The Python module has a build of its own, without the tests of the others.
build_python() {
  quietly cmake --preset python || return
  quietly cmake --build --preset python --parallel "$jobs"
}

trap close EXIT
case $mode in
  quick)
    need_packages build plot test
    want_packages optional
    build_and_test release -D STEPTIME_UNITY=ON
    ;;
  ci)
    need_packages build plot test check
    want_packages optional
    check layering quietly scripts/check_layering.sh
    check format quietly check_format
    build_and_test release -D STEPTIME_UNITY=ON
    check "build fuzz" build_fuzzers
    check "same results" quietly same_results release fuzz
    fuzz_all fuzz
    ;;
  all)
    need_packages build plot test check
    want_packages optional
    want_packages slurm
    want_packages browser
    want_packages python package
    want_packages cross
    # What the tests draw: other cases each time, where "quick" and "ci" draw the same ones.
    export STEPTIME_SEED=${STEPTIME_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    echo "STEPTIME_SEED=$STEPTIME_SEED"
    # Where the tests keep the experiments that they drew, for the test of the Python module.
    export STEPTIME_DRAWN=$PWD/build/drawn.jsonl
    check layering quietly scripts/check_layering.sh
    check format quietly check_format
    STEPTIME_DRAWS=2000 build_and_test release -D STEPTIME_UNITY=ON
    for preset in dev clang clang-dev; do
      build_and_test "$preset" -D STEPTIME_UNITY=ALL
    done
    check "same results" quietly same_results release dev clang clang-dev
    check "data races" quietly tests/threads.sh
    check "library of others" quietly tests/library_test.sh build/release configs/quickstart.json
    check "50 kills" quietly tests/sim/command/nothing_lost_test.sh build/release/steptime \
      configs/quickstart.json 50
    check "replay in namespaces" tests/calibration/namespaces.sh build/release
    check "layers on the CPU" tests/calibration/layers_test.sh build/release
    check "layer tables by PyTorch" tests/models/layer_table_test.sh
    check "report in a browser" tests/sim/drawing/report_browser_test.py build/release/steptime
    if stage "build python" build_python; then
      stage "test python" run_tests python || true
    else
      failed=$((failed + 1))
    fi
    check "Python package" quietly tests/python/pip_test.sh
    check "Debian package" quietly tests/package_test.sh build/python
    check "README in bare roots" quietly tests/readme_test.sh
    check "under Slurm" tests/calibration/slurm_test.sh build/release
    check "cross ppc64el" quietly tests/cross.sh ppc64el build/release/steptime
    check "cross arm64" quietly tests/cross.sh arm64 build/release/steptime
    check headers quietly check_headers
    check "files alone" quietly check_alone
    check tidy quietly check_tidy
    fuzz_all clang-dev
    ;;
esac
