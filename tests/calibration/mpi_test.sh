#!/usr/bin/env bash
# Two ranks measure, a profile is fitted, and a step is replayed: by MPI's all-reduce and by the
# messages of a program, in the order of a plan and as policies decide. Times are not looked at: the
# machine may be busy. usage: mpi_test.sh FOLDER-OF-THE-PROGRAMS CONFIG
set -euo pipefail
steptime=$1/steptime
config=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}
export ASAN_OPTIONS=detect_leaks=0 # Open MPI leaves memory behind
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none TMPDIR=$scratch
launch=(mpirun --oversubscribe --bind-to none --mca btl "self,vader" -n)
ranks() { "${launch[@]}" "$1" "$steptime" "${@:2}"; }

ranks 2 calibrate mpi -b 4 -e 64K -f 16 --rounds 2 -o "$scratch/m.json" >"$scratch/out"
grep -q '^2 ranks on 1 node, 5 sizes from 4 to 65536 B, 2 rounds in ' "$scratch/out" ||
  fail "calibrate mpi said: $(cat "$scratch/out")"
"$steptime" calibrate fit "$scratch/m.json" -o "$scratch/lab.json" >"$scratch/out" 2>/dev/null
for operation in ping-pong all-reduce reduce-scatter all-gather broadcast '2 all-reduces at once' \
  '4 all-reduces at once' host-sum; do
  grep -q "^$operation " "$scratch/out" || fail "the fit lacks $operation: $(cat "$scratch/out")"
done

small=(--set /cluster/nodes=2 --set '/workload/compute_time="20 ms"' --steps 2 --rounds 2)
ranks 2 replay "$config" "${small[@]}" --schedules wfbp,sync-easgd,tensor-fusion,priority \
  --all-reduce program -o "$scratch" >"$scratch/out" 2>/dev/null
[[ $(grep -cE '^(wfbp|sync-easgd|tensor-fusion|priority) ' "$scratch/out") == 4 ]] ||
  fail "replay said: $(cat "$scratch/out")"
grep -q '"status": "predicted"' "$scratch/ladder.prediction.json" || fail "no prediction"
grep -q 'all-reduces: measured just before;' "$scratch/out" || fail "what was measured is not said"
ranks 2 replay "$config" "${small[@]}" --compute work >/dev/null 2>&1 || fail "MPI's all-reduce"
ranks 2 replay "$config" "${small[@]}" --from profile >"$scratch/out" 2>/dev/null
grep -q "all-reduces: predicted by the config's collective;" "$scratch/out" ||
  fail "replay from a profile said: $(cat "$scratch/out")"

# MXNet's engine keeps pace with the wall; a barrier of ConCum's is a real one.
ranks 2 replay "$config" "${small[@]}" --embeddings funnel,concum,depcha >"$scratch/out" 2>/dev/null
[[ $(grep -cE '^(funnel|concum|depcha) ' "$scratch/out") == 3 ]] ||
  fail "replay of embeddings said: $(cat "$scratch/out")"

status=0
ranks 2 replay "$config" >"$scratch/out" 2>&1 || status=$?
[[ $status == 2 && $(grep -c '^steptime: .*: /cluster: has 4 workers, but mpirun started 2 ranks' \
  "$scratch/out") == 1 ]] || fail "a wrong number of ranks: $status, $(cat "$scratch/out")"

for wrong in '--tolerance nan' '--tolerance -1' '--tolerance inf' '--most-waiting nan' \
  '--most-waiting -5'; do
  status=0
  # shellcheck disable=SC2086 # two words
  ranks 2 replay "$config" "${small[@]}" $wrong >"$scratch/out" 2>&1 || status=$?
  [[ $status == 2 && $(grep -c "^steptime: ${wrong% *}: expected .*per cent.*, got ${wrong#* }$" \
    "$scratch/out") == 1 ]] || fail "$wrong: $status, $(cat "$scratch/out")"
done

# Ctrl-C ends all ranks at once: a line at most, and no file.
"${launch[@]}" 2 "$steptime" calibrate mpi --rounds 10000 -o "$scratch/x.json" >"$scratch/out" 2>&1 &
started=$SECONDS
sleep 2
kill -INT $!
status=0
wait $! || status=$?
[[ $status != 0 && ! -e $scratch/x.json && $((SECONDS - started)) -lt 20 ]] ||
  fail "an interrupt: $status after $((SECONDS - started)) s"
[[ $(grep -v '^steptime: interrupted: no result before the end$' "$scratch/out" | grep -c steptime:) == 0 ]] ||
  fail "an interrupt said: $(cat "$scratch/out")"

# Ranks share the points of a sweep: the same bytes as one process, also when it was killed once.
points=(--set '/sweep={"/run/seed": {"from": 1, "to": 2000, "plus": 1}}')
"$steptime" sweep "$config" "${points[@]}" --format jsonl >"$scratch/one.jsonl"
ranks 2 sweep "$config" "${points[@]}" -o "$scratch/two" --format jsonl >"$scratch/out" 2>/dev/null ||
  fail "a sweep by two ranks: $?"
cmp "$scratch/one.jsonl" "$scratch/out" && cmp "$scratch/one.jsonl" "$scratch/two/ladder.jsonl" ||
  fail "two ranks write something else"
[[ $(ls "$scratch/two") == $'ladder.csv\nladder.inputs.json\nladder.jsonl' ]] || fail "left behind: $(ls "$scratch/two")"
status=0
ranks 2 sweep "$config" "${points[@]}" >"$scratch/out" 2>&1 || status=$?
[[ $status == 2 ]] && grep -q '^steptime: sweep: several ranks share the points in a folder' \
  "$scratch/out" || fail "without a folder: $status, $(cat "$scratch/out")"
