#!/bin/bash
# Accuracy against simulated time in the six training modes of MXNET-MPI (its Figures 11 and 13):
# runs each mode of configs/papers/mxnet-mpi/convergence.json, then plots/accuracy.gp.
#
#   plots/accuracy.sh [FOLDER]     writes FOLDER/accuracy.svg and .png; FOLDER: results
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-results}
steptime=${STEPTIME:-$root/build/release/steptime}
if ! [ -x "$steptime" ]; then
  echo "plots/accuracy.sh: no program at $steptime; ./run.sh builds it, STEPTIME names another" >&2
  exit 2
fi

servers='"servers": 2, "rate": "80 MB/s"'
modes=""
for update in SGD ASGD ESGD; do
  for group in dist mpi; do
    aggregation="{\"type\": \"parameter-server\", $servers}"
    if [ "$group" = mpi ]; then aggregation="{\"type\": \"hybrid\", \"clients\": 2, $servers}"; fi
    rule="{\"type\": \"${update,,}\"}"
    if [ "$update" = ESGD ]; then rule='{"type": "esgd", "interval": 4}'; fi
    "$steptime" run "$root/configs/papers/mxnet-mpi/convergence.json" -o "$folder" \
      --set "/name=$group-$update" --set "/strategy/aggregation=$aggregation" \
      --set "/strategy/update=$rule" --set /run/convergence/seeds=3 > /dev/null 2>&1
    modes="$modes $group-$update"
  done
done
gnuplot -e "folder='$folder'; modes='${modes# }'; out='$folder/accuracy'" "$root/plots/accuracy.gp"
echo "wrote $folder/accuracy.png and .svg"
