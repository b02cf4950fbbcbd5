#!/usr/bin/env bash
# The program itself: signals, and the examples of --help. main_test.sh STEPTIME CONFIG
set -u
steptime=$1
config=$2
fail() {
  echo "$1"
  exit 1
}

many=(sweep "$config" --format csv -j1
  --set '/sweep={"/run/seed": {"from": 1, "to": 20000, "plus": 1}}')
"$steptime" "${many[@]}" >/dev/null || fail "with a reader: exit $?"
# A reader that leaves after one line: 141, as a victim of SIGPIPE, and not a word.
said=$({ { "$steptime" "${many[@]}"; echo "exit $?" >&3; } | head -1 >/dev/null; } 3>&1 2>&1)
[[ $said == "exit 141" ]] || fail "without a reader: $said"

# A long run hears an interrupt.
log=$(mktemp)
"$steptime" run "$config" --set /cluster/nodes=10000 --set /run/steps=100 \
  --set '/strategy/aggregation={"type": "parameter-server", "servers": 10}' 2>"$log" &
child=$!
sleep 1
kill -INT $child
wait $child
status=$?
said=$(cat "$log")
rm -f "$log"
[[ $status == 130 ]] || fail "interrupted: exit $status"
[[ $said == "steptime: interrupted: no result before the end" ]] || fail "interrupted: $said"

# Every verb's --help has an example that runs.
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
folder=$(dirname "$(realpath "$steptime")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for each in configs tests traces; do ln -s "$root/$each" "$scratch/$each"; done
cd "$scratch" || fail "no scratch folder"
export PATH=$folder:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
verbs=$(steptime --help | sed -n 's/^  \([a-z]\+\) .*/\1/p')
[[ $(wc -w <<<"$verbs") -ge 16 ]] || fail "verbs: $verbs"
for verb in $verbs; do
  # Open MPI leaves memory behind, which LeakSanitizer would take for ours.
  leaks=1
  [[ $verb != replay ]] || leaks=0
  export ASAN_OPTIONS=detect_leaks=$leaks
  example=$(steptime "$verb" --help | sed -n '/^example:$/{n;s/^  //p}')
  [[ $example == *"steptime $verb"* ]] || fail "$verb: no example: $example"
  [[ $verb != replay || -x $folder/steptime-mpi ]] || continue # where MPI is not found
  said=$(bash -c "$example" 2>&1) || fail "$verb: $example: exit $?: $said"
done

# Data that are not whole are the user's to repair: one line that names the place.
mkdir -p "$scratch/bin" "$scratch/share/steptime"
cp "$steptime" "$scratch/bin/steptime"
for each in models traces; do ln -s "$root/$each" "$scratch/share/steptime/$each"; done
for command in "run $config" "check $config" "list preset"; do
  said=$("$scratch/bin/steptime" $command 2>&1)
  status=$?
  [[ $status == 2 && $said == "steptime: $scratch/share/steptime/netmodels/presets: cannot be read: No such file or directory" ]] ||
    fail "no presets, $command: exit $status: $said"
done
