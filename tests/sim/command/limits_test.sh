#!/usr/bin/env bash
# What is large takes time and memory in proportion, or is refused in a line. Of a build without
# sanitizers, which take more of both. limits_test.sh STEPTIME CONFIG
set -u
steptime=$(realpath "$1")
config=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$1"
  exit 1
}

# Planning takes time in proportion to the layers: 200,000 of them take well under a second of it,
# 13 s when it grew as their square.
awk 'BEGIN {
  print "{\"format\": \"steptime-trace\", \"version\": 1, \"model\": \"m\", \"device\": \"d\", \"batch\": 1,"
  print "\"provenance\": {\"source\": \"s\", \"date\": \"2024-01-01\", \"licence\": \"none\"}, \"layers\": ["
  for (i = 0; i < 200000; ++i)
    printf "{\"name\": \"l%d\", \"forward_s\": 1e-6, \"backward_s\": 1e-6, \"params\": 1000}%s", i, i < 199999 ? ",\n" : "]}"
}' >"$scratch/many.json"
for schedule in wfbp mg-wfbp optimal fixed-buckets; do
  timeout 10 "$steptime" run "$config" --set "/workload={\"trace\": \"$scratch/many.json\"}" \
    --set "/strategy/schedule=$schedule" >/dev/null || fail "200,000 layers, $schedule: exit $?"
done

# A million clients of servers fit into 2 GiB, or are refused in a line.
said=$(ulimit -v 2097152; timeout 60 "$steptime" run "$config" --set /cluster/nodes=1000000 \
  --set '/strategy/aggregation={"type": "parameter-server", "servers": 1}' 2>&1 >/dev/null)
status=$?
[[ ($status == 0 && -z $said) || ($status == 2 && $(wc -l <<<"$said") == 1) ]] ||
  fail "a million clients: exit $status, $said"
