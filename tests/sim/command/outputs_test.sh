#!/usr/bin/env bash
# No verb writes over a file that it has not written: it says so and ends with 2, and the file stays.
# What it wrote before it replaces. Of a pipe that nobody reads it does not wait.
# outputs_test.sh STEPTIME SOURCES
set -u
steptime=$(realpath "$1")
root=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
fail() {
  echo "$1"
  exit 1
}
printf '{"name": "mine", "description": "a config"}\n' >other.json
printf 'a,b\n1,2\n' >other.csv
printf '\x89PNG\r\n\x1a\nthe photo of somebody' >other.png
printf '<!doctype html>\n<title>Mine</title>\n' >other.html
printf '[\n 1, 2\n]\n' >other.list
printf '<?xml version="1.0"?>\n<svg>Produced by GNUPLOT</svg>\n' >other.svg

# writes KIND FILE COMMAND...: the command writes the file, which is of that kind.
writes() {
  local kind=$1 file=$2 other said status
  shift 2
  timeout 60 "$steptime" "$@" >/dev/null 2>said || fail "$*: exit $?: $(cat said)"
  [[ -s $file ]] || fail "$*: no $file"
  timeout 60 "$steptime" "$@" >/dev/null 2>said || fail "$* again: exit $?: $(cat said)"
  for other in other.*; do
    for place in "$file" "$file.partial"; do
      # Half a file is known by its beginning only.
      [[ $place == "$file" || $other == other.json ]] || continue
      rm -f "$file"
      cp "$other" "$place"
      said=$(timeout 60 "$steptime" "$@" 2>&1 >/dev/null)
      status=$?
      [[ $status == 2 && $said == "steptime: $place: expected no file yet, or $kind; another file is not written over" ]] ||
        fail "$* over $other as $place: exit $status, $said"
      cmp "$other" "$place" || fail "$* changed $other as $place"
      rm -f "$place"
    done
  done
  mkfifo "$file"
  said=$(timeout 60 "$steptime" "$@" 2>&1 >/dev/null)
  status=$?
  rm -f "$file"
  [[ $status == 2 && ($said == "steptime: $file: cannot be written: is no regular file" ||
    $said == "steptime: $file: cannot be written: is a pipe that nobody reads") ]] ||
    fail "$* into a pipe: exit $status, $said"
}
quickstart=$root/configs/quickstart.json
few=(--set '/sweep={"/cluster/nodes": [2, 4]}')
writes "a result of steptime run" out/quickstart.json run "$quickstart" -o out
writes "a Chrome timeline of steptime run" t.json run "$quickstart" --timeline t.json
writes "a Perfetto timeline of steptime run" t.pftrace run "$quickstart" --timeline t.pftrace
writes "rows of steptime sweep" out/quickstart.jsonl sweep "$quickstart" "${few[@]}" -o out
writes "a table of steptime sweep" out/quickstart.csv sweep "$quickstart" "${few[@]}" -o out
writes "inputs of steptime sweep" out/quickstart.inputs.json sweep "$quickstart" "${few[@]}" -o out
writes "results of steptime pin" pins/quickstart.json pin "$quickstart" "${few[@]}" -o pins
writes "a page of steptime man" man/steptime-run.1 man -o man
writes "a trace of steptime" trace.json import kineto \
  "$root/tests/data/imports/kineto_resnet50_1xV100.json.gz" --model resnet50 --device V100 --batch 32 \
  -o trace.json
writes "a table of steptime import" sizes.csv import nccl-tests "$root/traces/nccl/v100_4.csv" \
  --device V100 -o sizes.csv
writes "a profile of steptime calibrate" lab.json calibrate fit "$root/traces/nccl/v100_4.csv" \
  --ranks 4 --nodes 1 --source vTrain --date 2023-11-27 --licence MIT -o lab.json
"$steptime" sweep "$quickstart" "${few[@]}" -o rows >/dev/null 2>&1 || fail "rows"
if command -v gnuplot >/dev/null; then
  for kind in svg png pdf; do
    writes "a figure of steptime plot" "figure.$kind" plot rows/quickstart.jsonl -o "figure.$kind"
  done
fi
if [[ -e /usr/share/javascript/vega/vega-util.min.js ]]; then
  writes "a page of steptime report" page.html report "$quickstart" -o page.html
fi

# Rows on their way: no file of one line, of half a line, and no pipe.
rm -rf out
mkdir out
journal=out/quickstart.unfinished
for text in 'my notes\n' 'my notes' 'my notes\nof two lines\n'; do
  for option in --full --resume; do
    printf "$text" >"$journal"
    said=$(timeout 60 "$steptime" sweep "$quickstart" -o out $option 2>&1 >/dev/null)
    status=$?
    [[ $status == 2 && $said == "steptime: $journal: expected no file yet, or rows of an unfinished sweep; another file is not written over" ]] ||
      fail "$option over notes: exit $status, $said"
    cmp <(printf "$text") "$journal" || fail "$option: the notes are lost"
  done
done
rm "$journal"
refuses_pipe() { # FILE ARGUMENT...
  local file=$1 said status
  shift
  mkfifo "$file"
  said=$(timeout 60 "$steptime" "$@" 2>&1 >/dev/null)
  status=$?
  rm "$file"
  [[ $status == 2 && ($said == "steptime: $file: cannot be read: is no regular file" ||
    $said == "steptime: $file: cannot be written: is a pipe that nobody reads") ]] ||
    fail "$* with a pipe as $file: exit $status, $said"
}
refuses_pipe "$journal" sweep "$quickstart" -o out
refuses_pipe out/quickstart.1-of-2.shard sweep "$quickstart" -o out --shard 1/2
refuses_pipe out/quickstart.1-of-2.shard merge "$quickstart" -o out

# Text of files: an error has 2,000 bytes at most, and neither it nor a table moves the cursor or turns
# a line around.
long=$(printf '%0120000d' 0)
said=$("$steptime" run "$quickstart" --set "/strategy/$long=1" 2>&1 >/dev/null)
[[ $said == "steptime: --set /strategy/000"*" ... "* || $said == "steptime: $quickstart"*" ... "* ]] ||
  fail "a long key: ${said:0:300}"
((${#said} <= 2010)) || fail "an error of ${#said} bytes"
# By its bytes: the shell spells it out where the locale is C.
name=$'a\xe2\x80\xaetxt'
said=$("$steptime" run "$quickstart" --set "/name=$name" 2>&1)
[[ $said == 'a\u202etxt: googlenet on '* ]] || fail "a name in a table: ${said:0:80}"
said=$("$steptime" run "$name" 2>&1)
[[ $said == 'steptime: a\u202etxt: cannot be read: No such file or directory' ]] || fail "a name in an error: $said"
[[ $("$steptime" run "$quickstart" --set "/name=$name" --format jsonl 2>/dev/null) == *$'"name":"a\xe2\x80\xaetxt"'* ]] ||
  fail "JSON has another name"

# A name with the longest suffix of a file has 255 bytes at most.
name=$(printf '%0231d' 0)
said=$("$steptime" check "$quickstart" --set "/name=$name" 2>&1)
status=$?
[[ $status == 2 && $said == "steptime: $quickstart: /name: expected at most 230 bytes, as it becomes a file's name, got 231" ]] ||
  fail "a long name: exit $status, $said"
"$steptime" sweep "$quickstart" --set "/name=${name:1}" "${few[@]}" -o named \
  --shard 1000000/1000000 >/dev/null 2>said || fail "a name of 230 bytes: $(cat said)"
