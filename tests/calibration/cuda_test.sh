#!/usr/bin/env bash
# Without a GPU each part of steptime-cuda says so in a line and exits 6; with one, GPU 0 is measured
# and fitted. Times are not looked at. usage: cuda_test.sh FOLDER-OF-THE-PROGRAMS
set -euo pipefail
steptime=$1/steptime
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

said='^steptime: (no GPU with a driver for CUDA|this steptime-cuda was built without) '
for part in cuda nccl 'compute --backend gpu --model torch/resnet50'; do
  status=0
  # shellcheck disable=SC2086
  "$steptime" calibrate $part -o "$scratch/out.json" >"$scratch/out" 2>&1 || status=$?
  if [[ -e /dev/nvidiactl ]]; then
    # One GPU is not enough for NCCL, and a build may lack a library.
    [[ $status == 0 || $status == 6 && $part != cuda ]] || fail "$part: $status, $(cat "$scratch/out")"
    [[ $part != cuda ]] || "$steptime" calibrate fit "$scratch/out.json" >/dev/null
  else
    [[ $status == 6 && ! -e $scratch/out.json && $(<"$scratch/out") =~ $said ]] ||
      fail "$part: $status, $(cat "$scratch/out")"
    [[ $(wc -l <"$scratch/out") == 1 ]] || fail "$part says more than a line: $(cat "$scratch/out")"
  fi
done
