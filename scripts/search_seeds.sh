#!/usr/bin/env bash
# Runs the property tests with one new seed after the other until the time is up.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat >&2 <<'USAGE'
usage: scripts/search_seeds.sh TIME [FILTER]

TIME: as sleep takes it without fractions: 90, 90s, 10m, 2h. FILTER: of --gtest_filter.
Prints each failure with its seed, test and draw as it comes, and at the end how many seeds were
tried. Exits 1 if a test failed. "STEPTIME_SEED=SEED build/release/tests/property_tests
--gtest_filter=TEST" shows a failure again; what it printed is kept in build/findings.
JOBS=N sets the number of processes (default: one per processor), FIRST_SEED=N the first seed.
USAGE
  exit 2
}

[[ $# -ge 1 && $# -le 2 && $1 =~ ^([0-9]+)([smh]?)$ ]] || usage
declare -A unit=([s]=1 [m]=60 [h]=3600)
end=$(($(date +%s) + BASH_REMATCH[1] * ${unit[${BASH_REMATCH[2]:-s}]}))
export end filter=${2:-*} program=${PROPERTY_TESTS:-build/release/tests/property_tests}
if [[ ! -x $program ]]; then
  echo "search_seeds.sh: no program at $program; ./test.sh builds it" >&2
  exit 2
fi
export shards=16 findings=build/findings
scratch=$(mktemp -d)
export scratch
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$findings"

# try SEED SHARD: a file of that name in scratch says that the shard was run to its end.
try() {
  local log=$findings/seed-$1-$2.log left=$((end - $(date +%s))) status=0 failure test draws
  ((left > 0)) || return 255  # which ends xargs
  STEPTIME_SEED=$1 GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$2 \
    timeout "$left" "$program" --gtest_filter="$filter" >"$log" 2>&1 || status=$?
  mapfile -t failed < <(sed -n 's/^\[  FAILED  \] \([^ ,]*\).* ms)$/\1/p' "$log")
  # A program that broke off: the test that it was in.
  if ((status != 0 && status != 124 && ${#failed[@]} == 0)); then
    failed=("$(sed -n 's/^\[ RUN      \] //p' "$log" | tail -n 1) (exit $status)")
  fi
  for test in "${failed[@]}"; do
    draws=$(sed -n "/^\[ RUN      \] ${test%% *}\$/,/^\[  FAILED  \]/p" "$log" |
      grep -oE 'draw [0-9]+|Falsifiable after [0-9]+ tests' | paste -sd, | sed 's/,/, /g') || true
    failure="failed: seed $1: $test${draws:+, $draws}"
    printf '%s\n' "$failure" | tee -a "$scratch/failures"
  done
  ((${#failed[@]})) || rm "$log"
  ((status == 124)) || touch "$scratch/$1.$2"
}
export -f try

first=${FIRST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
for ((seed = first; $(date +%s) < end; ++seed)); do
  for ((shard = 0; shard < shards; ++shard)); do
    echo "$seed $shard"
  done
done 2>/dev/null | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'try "$@"' _ 2>/dev/null || true

touch "$scratch/failures"
tried=$(find "$scratch" -name '*.*' -printf '%f\n' | cut -d. -f1 | sort | uniq -c |
  awk -v all="$shards" '$1 == all { ++whole } END { print whole + 0 }')
printf '%d seeds tried from %d on, %d failures\n' "$tried" "$first" "$(wc -l <"$scratch/failures")"
[[ ! -s $scratch/failures ]]
