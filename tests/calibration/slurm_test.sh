#!/usr/bin/env bash
# Under Slurm: two tasks on the one node of a Slurm of its own measure, and replay a step; a batch job
# does the same. A sweep as an array of tasks, and by tasks that share its points. usage: slurm_test.sh FOLDER-OF-THE-PROGRAMS
# Exits 77 where Slurm or MPI is not there or cannot start: then nothing was tested.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
steptime=$(cd "$1" && pwd)/steptime
# shellcheck source=tests/slurm.sh
source "$here/../slurm.sh"
scratch=$(mktemp -d)
trap 'stop_slurm; rm -rf "$scratch"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

[[ -x $steptime-mpi ]] || {
  echo "skipped: steptime-mpi was not built: apt-get install libopenmpi-dev openmpi-bin" >&2
  exit 77
}
start_slurm || exit 77
# Tasks of one user read each other's memory, which containers may not allow.
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader
tasks=(srun --ntasks 2 --mpi=pmix)

"${tasks[@]}" "$steptime" calibrate mpi -b 4 -e 64K -f 16 --rounds 2 -o "$scratch/m.json" >"$scratch/out" 2>/dev/null
grep -q '^2 ranks on 1 node, 5 sizes from 4 to 65536 B, 2 rounds in ' "$scratch/out" ||
  fail "calibrate mpi said: $(cat "$scratch/out")"
"$steptime" calibrate fit "$scratch/m.json" -o "$scratch/lab.json" >/dev/null 2>&1
small=(--set /cluster/nodes=2 --set '/workload/compute_time="20 ms"' --steps 2 --rounds 2)
"${tasks[@]}" "$steptime" replay "$here/replay.json" "${small[@]}" --schedules wfbp,mg-wfbp \
  -o "$scratch" >"$scratch/out" 2>/dev/null
[[ $(grep -cE '^(wfbp|mg-wfbp) ' "$scratch/out") == 2 ]] || fail "replay said: $(cat "$scratch/out")"

# A job script, which the scheduler starts when the node is free.
cat >"$scratch/job" <<JOB
#!/bin/sh
#SBATCH --ntasks=2
srun --mpi=pmix "$steptime" calibrate mpi -b 4 -e 4K -f 16 --rounds 2 -o "$scratch/job.json"
JOB
sbatch --wait --output "$scratch/out" "$scratch/job" >/dev/null || fail "the job failed: $(cat "$scratch/out")"
grep -q '^2 ranks on 1 node, 4 sizes ' "$scratch/out" || fail "the job said: $(cat "$scratch/out")"

# A sweep as an array of tasks, as --emit writes it, and by tasks that share the points.
sweep=("$here/../../configs/quickstart.json")
"$steptime" sweep "${sweep[@]}" --format jsonl >"$scratch/one.jsonl"
"$steptime" sweep "${sweep[@]}" -o "$scratch/array" --emit slurm --tasks 3 >"$scratch/sweep.sh"
PATH=${steptime%/*}:$PATH sbatch --wait --output "$scratch/out" "$scratch/sweep.sh" >/dev/null ||
  fail "the array failed: $(cat "$scratch/out")"
"$steptime" merge "${sweep[@]}" -o "$scratch/array" >/dev/null 2>&1 || fail "merge: $?, $(ls "$scratch/array")"
cmp "$scratch/one.jsonl" "$scratch/array/quickstart.jsonl" || fail "an array of tasks writes something else"
"${tasks[@]}" "$steptime" sweep "${sweep[@]}" -o "$scratch/shared" >/dev/null 2>"$scratch/out" ||
  fail "srun: $(cat "$scratch/out")"
cmp "$scratch/one.jsonl" "$scratch/shared/quickstart.jsonl" || fail "srun writes something else"
srun --ntasks 2 --mpi=none "$steptime" sweep "${sweep[@]}" -o "$scratch/auto" --shard auto >/dev/null 2>"$scratch/out" ||
  fail "srun --mpi=none: $(cat "$scratch/out")"
"$steptime" merge "${sweep[@]}" -o "$scratch/auto" >/dev/null 2>&1 || fail "merge: $?, $(ls "$scratch/auto")"
cmp "$scratch/one.jsonl" "$scratch/auto/quickstart.jsonl" || fail "--shard auto writes something else"

status=0
"${tasks[@]}" "$steptime" calibrate mpi --rounds 1 -o "$scratch/x.json" >"$scratch/out" 2>&1 || status=$?
[[ $status == 2 && $(<"$scratch/out") == *'steptime: --rounds: expected 2 to 10000, got 1'* ]] ||
  fail "bad usage: $status, $(cat "$scratch/out")"
echo "calibrate, fit, replay and sweep under $(sinfo --version)"
