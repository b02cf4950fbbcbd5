#!/usr/bin/env bash
# Nothing that a sweep has finished is lost, and no file is ever half a file: kills, signals, closed
# outputs, full disks. nothing_lost_test.sh STEPTIME CONFIG [KILLS]
set -u
steptime=$(realpath "$1")
config=$(realpath "$2")
kills=${3:-4}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$1"
  exit 1
}
now() { date +%s%N; }
# Waits until a process hears TERM, or is over.
until_it_hears() {
  local heard
  for (( ; ; )); do
    heard=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
    [[ -n $heard ]] || return 0
    ((!(0x$heard >> 14 & 1))) || return 0
    sleep 0.01
  done
}

# A point takes some milliseconds: steps of asynchronous servers.
points=(--set '/strategy/aggregation={"type": "parameter-server", "servers": 4}'
  --set '/strategy/update="asgd"' --set /cluster/nodes=16 --set /run/steps=12)
slow() { # how many points
  printf '%s' "/sweep={\"/run/seed\": {\"from\": 1, \"to\": $1, \"plus\": 1}}"
}
count=$((kills * 80))
slow=(sweep "$config" "${points[@]}" --set "$(slow "$count")")
"$steptime" "${slow[@]}" --format jsonl -j2 >"$scratch/whole.jsonl" || fail "the whole: $?"

# Killed at random instants, by KILL mostly, and resumed until it is through.
signals=(KILL TERM INT HUP)
name=$(basename "$config" .json)
RANDOM=7
for ((kill = 0; kill < kills; ++kill)); do
  signal=${signals[kill < 4 ? kill : 0]}
  "$steptime" "${slow[@]}" -o "$scratch/out" --resume -j2 >/dev/null 2>"$scratch/said" &
  child=$!
  sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
  [[ $signal == KILL ]] || until_it_hears "$child"
  before=0
  [[ ! -e $scratch/out/$name.unfinished ]] || before=$(wc -l <"$scratch/out/$name.unfinished")
  kill -s "$signal" "$child" 2>/dev/null || break # through
  start=$(now)
  wait "$child" 2>/dev/null
  status=$?
  ((status != 0)) || break
  (($(now) - start < 1300000000)) || fail "$signal was heard after $((($(now) - start) / 1000000)) ms"
  [[ $signal == KILL || $status == 130 ]] || fail "$signal: exit $status, $(cat "$scratch/said")"
  [[ ! -e $scratch/out/$name.jsonl ]] || fail "$signal: half a sweep under the name of a whole one"
  after=0
  [[ ! -e $scratch/out/$name.unfinished ]] || after=$(wc -l <"$scratch/out/$name.unfinished")
  ((after >= before)) || fail "$signal: points were lost: $before, then $after"
done
"$steptime" "${slow[@]}" -o "$scratch/out" --resume >/dev/null 2>&1 || fail "resumed: exit $?"
cmp "$scratch/whole.jsonl" "$scratch/out/$name.jsonl" || fail "resumed to other bytes"
[[ $(ls "$scratch/out") == "$name.csv"$'\n'"$name.inputs.json"$'\n'"$name.jsonl" ]] || fail "left: $(ls "$scratch/out")"

# Two sweeps into one folder: the second one says so, and changes nothing.
"$steptime" "${slow[@]}" -o "$scratch/two" >/dev/null 2>&1 &
child=$!
until [[ -e $scratch/two/$name.unfinished ]]; do sleep 0.01; done
said=$("$steptime" "${slow[@]}" -o "$scratch/two" --resume 2>&1 >/dev/null)
status=$?
kill -KILL "$child"
wait "$child" 2>/dev/null
[[ $status == 2 && $said == "steptime: $scratch/two/$name.unfinished: another steptime is writing it" ]] ||
  fail "two at once: exit $status, $said"

# A file that may not grow further, as a full disk: said, and what is there is whole.
(
  ulimit -f 16 # KiB
  "$steptime" "${slow[@]}" -o "$scratch/small" >/dev/null 2>"$scratch/said"
  echo "$?" >"$scratch/status"
)
[[ $(<"$scratch/status") == 2 && $(<"$scratch/said") == *"$name.unfinished: cannot be written: File too large" ]] ||
  fail "ulimit -f: exit $(<"$scratch/status"), $(<"$scratch/said")"
[[ $(tail -c 1 "$scratch/small/$name.unfinished" | od -An -tx1) == " 0a" ]] || fail "half a row"
"$steptime" "${slow[@]}" -o "$scratch/small" --resume >/dev/null 2>&1 || fail "after ulimit -f: $?"
cmp "$scratch/whole.jsonl" "$scratch/small/$name.jsonl" || fail "after ulimit -f: other bytes"

# A full device as the output, an output that is closed, and errors that are closed.
start=$(now)
said=$("$steptime" "${slow[@]}" --format jsonl 2>&1 >/dev/full)
status=$?
[[ $status == 2 && $said == "steptime: the output cannot be written" ]] || fail "full: $status, $said"
(($(now) - start < 1300000000)) || fail "a full output was heard late"
said=$("$steptime" "${slow[@]}" -o "$scratch/closed" 2>&1 >&-)
status=$?
[[ $status == 2 && $said == "steptime: the output cannot be written: it is closed" ]] ||
  fail "closed output: $status, $said"
[[ ! -e $scratch/closed ]] || fail "closed output: began all the same"
few=(sweep "$config" "${points[@]}" --set "$(slow 3)")
"$steptime" "${few[@]}" --format jsonl >"$scratch/few" 2>&- || fail "closed errors: $?"
cmp <(head -3 "$scratch/whole.jsonl") "$scratch/few" || fail "closed errors: other bytes"

# A reader that goes while the table, which comes at the end, is not there yet.
start=$(now)
{ "$steptime" "${slow[@]}" 2>"$scratch/said"; echo $? >"$scratch/status"; } | sleep 0.1
for ((i = 0; i < 100; ++i)); do [[ -s $scratch/status ]] && break; sleep 0.02; done
[[ $(<"$scratch/status") == 141 && ! -s $scratch/said ]] ||
  fail "no reader: $(<"$scratch/status") $(<"$scratch/said")"

# A run that does nothing but plan hears signals, too, and leaves nothing behind.
mkfifo "$scratch/fifo"
"$steptime" run - <"$scratch/fifo" 2>"$scratch/said" &
child=$!
exec 9>"$scratch/fifo" # never says anything
until_it_hears "$child"
sleep 0.2
kill -TERM "$child"
wait "$child"
status=$?
exec 9>&-
[[ $status == 130 && $(<"$scratch/said") == "steptime: interrupted: no result before the end" ]] ||
  fail "waiting for input: exit $status, $(<"$scratch/said")"

# Files that are none: one line, exit 2.
for file in "$scratch" "$scratch/fifo" /dev/zero /proc/self/mem "$scratch/absent"; do
  said=$("$steptime" run "$file" 2>&1)
  status=$?
  [[ $status == 2 && $said == "steptime: $file: "* && $(wc -l <<<"$said") == 1 ]] ||
    fail "$file: exit $status, $said"
done
# From a pipe, and from the program's input.
"$steptime" run "$config" >"$scratch/a"
(cd "$(dirname "$config")" && "$steptime" run - <"$config") >"$scratch/b" || fail "run -"
(cd "$(dirname "$config")" && cat "$config" | "$steptime" run /dev/stdin) >"$scratch/c" 2>&1
cmp "$scratch/a" "$scratch/b" || fail "run -"
