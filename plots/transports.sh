#!/bin/bash
# Where a step's time goes with each of TensorFlow's transports on RI2, and samples/s against the
# number of GPUs (paper 002, Figures 3, 7 and 9): sweeps over configs/papers/tf-mpi/scaling.json, a
# table, then plots/transports.gp.
#
#   plots/transports.sh [FOLDER]     writes FOLDER/transports.{csv,png,svg}; FOLDER: results
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-results}
steptime=${STEPTIME:-$root/build/release/steptime}
if ! [ -x "$steptime" ]; then
  echo "plots/transports.sh: no program at $steptime; ./run.sh builds it, STEPTIME names another" >&2
  exit 2
fi
mkdir -p "$folder"

# The parts of the critical path of each point, which add up to its step; overlap is what kernels
# and collectives beside each other lose.
parts() { # MODEL TRANSPORT
  awk -v model="$1" -v transport="$2" '
    function value(key, from, rest) {
      rest = substr(from, index(from, "\"" key "\":") + length(key) + 3)
      sub(/[,}].*/, "", rest)
      return rest
    }
    function part(cause) {
      if (cause ~ /pass$|^slower worker/) return "compute"
      if (cause ~ /slowed by/) return "overlap"
      if (cause ~ /^copies/) return "staging"
      if (cause ~ /^encoding|^messages|^streams|^control/) return "encode"
      if (cause ~ /^coordinator/) return "negotiation"
      if (cause ~ /^sums/) return "sum"
      return "wire"
    }
    {
      split("", seconds)
      list = substr($0, index($0, "\"attribution\":["))
      list = substr(list, 1, index(list, "]"))
      count = split(list, causes, /\{"cause":"/)
      for (i = 2; i <= count; i++) {
        cause = causes[i]; sub(/".*/, "", cause)
        seconds[part(cause)] += value("seconds", causes[i])
      }
      printf "%s,%s,%d,%.3f", model, transport, value("workers", $0), value("throughput_samples_per_s", $0)
      split("compute overlap staging encode negotiation wire sum", names, " ")
      for (i = 1; i <= 7; i++) printf ",%.3f", seconds[names[i]] * 1e3
      printf ",%.3f\n", value("step_time_s", $0) * 1e3
    }'
}

csv=$folder/transports.csv
echo "model,transport,gpus,samples_per_s,compute_ms,overlap_ms,staging_ms,encode_ms,negotiation_ms,wire_ms,sum_ms,step_ms" >"$csv"
for model in tf/resnet50 tf/inception3 tf/vgg16 tf/mobilenet tf/nasnetlarge; do
  batch=64
  if [ "$model" = tf/nasnetlarge ]; then batch=16; fi
  for transport in grpc grpc-mpi grpc-verbs baidu horovod-mvapich2 horovod-nccl horovod-mpi-opt; do
    aggregation='"all-reduce"'
    schedule='"wfbp"'
    case $transport in
      horovod*) schedule='{"type": "tensor-fusion", "cycle": "0 s"}' ;;
      grpc*) aggregation='{"type": "parameter-server", "servers": 16, "sharding": "greedy", "requests": "next-step"}' ;;
    esac
    "$steptime" sweep "$root/configs/papers/tf-mpi/scaling.json" --full --format jsonl \
      --set "/workload/model=\"$model\"" --set "/workload/batch=$batch" --set /run/steps=10 \
      --set "/strategy/transport=\"$transport\"" --set "/strategy/aggregation=$aggregation" \
      --set "/strategy/schedule=$schedule" --set '/sweep={"/cluster/nodes": [2, 4, 8, 16]}' \
      2>/dev/null | parts "$model" "$transport" >>"$csv"
  done
done
column -s, -t "$csv"
gnuplot -e "csv='$csv'; out='$folder/transports'" "$root/plots/transports.gp"
echo "wrote $folder/transports.png and .svg"
