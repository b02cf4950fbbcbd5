#!/usr/bin/env bash
# The program itself: signals. main_test.sh STEPTIME CONFIG
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
