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

# Less memory than a trace or a config of many values takes: one line. Destructors of JSON values
# allocate, too, where no exception can say so.
awk 'BEGIN {
  print "{\"name\": \"many\", \"sweep\": {\"/run/seed\": ["
  for (i = 1; i < 1000000; ++i) print i ","
  print "1000000]}}"
}' >"$scratch/values.json"
refused=0
for megabytes in 40 50 60 70 80 100 120; do
  for command in "run $config --set /workload={\"trace\":\"$scratch/many.json\"}" \
    "check $scratch/values.json" "sweep $scratch/values.json -j 2"; do
    said=$(ulimit -v $((megabytes * 1024)); timeout 60 "$steptime" $command 2>&1 >/dev/null)
    status=$?
    [[ $status == 0 || ($status == 2 && $(wc -l <<<"$said") == 1) ]] ||
      fail "$command in $megabytes MiB: exit $status, $said"
    [[ $said != "steptime: out of memory: this run needs more than there is" ]] || ((++refused))
  done
done
((refused >= 3)) || fail "memory was enough but for $refused times"
