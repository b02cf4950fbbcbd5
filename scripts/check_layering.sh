#!/usr/bin/env bash
# sim/ includes no other folder, and each of its rooms only itself and those before it; models/,
# netmodels/ and schedulers/ include sim/ and themselves, calibration/ also models/. Only
# sim/events/engine.{h,cpp} advance simulated time. A type's name stands in one header. No units, a
# header with its source each, include each other round in a circle.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# In their order.
read -ra rooms < <(sed -nE '/^set\(rooms /,/\)/{s/set\(rooms|\)//g;p}' cmake/rooms.cmake | tr '\n' ' ') || true

wrong=0
# may_include FOLDER PATTERN WHAT: every #include "..." of the folder matches the pattern.
may_include() {
  local found
  found=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1" \
    --include='*.cpp' --include='*.h' | grep -vE "include[[:space:]]*\"($2)" || true)
  [[ -z $found ]] && return
  printf '%s\n' "$found" "$1/ may include only $3"
  wrong=1
}

for folder in models netmodels schedulers; do
  may_include "$folder" "(sim|$folder)/" "sim/ and $folder/"
done
may_include calibration "(sim|models|calibration)/" "sim/, models/ and calibration/"
before=
for room in "${rooms[@]}"; do
  before+=${before:+|}$room
  may_include "sim/$room" "sim/($before)/" "its own room and, of sim/, ${before//|/, }"
done
for entry in sim/*; do
  [[ " ${rooms[*]} " == *" ${entry#sim/} "* ]] || {
    echo "$entry is in no room; the rooms are: ${rooms[*]}"
    wrong=1
  }
done
# A clock is a time that is called so, or assigned; and the queues of a clock are the engine's alone.
clocks=$(grep -rnE \
  'Time (now|clock)_|\b(now|clock)_[[:space:]]*[-+]?=[^=]|events/(delivery|event)_queue\.h"' \
  sim models netmodels schedulers --include='*.cpp' --include='*.h' |
  grep -vE '^sim/events/(engine|event_queue|delivery_queue)\.(h|cpp):' || true)
[[ -z $clocks ]] || {
  printf '%s\n' "$clocks" "only sim/events/engine.{h,cpp} may advance simulated time"
  wrong=1
}
# Two types of one name in one program are one to the linker, which says nothing.
twice=$(grep -rhoE '^(struct|class|enum( class)?) [A-Za-z0-9]+( final)?( :.*)? \{' \
  sim models netmodels schedulers calibration tests --include='*.h' |
  sed -E 's/^(struct|class|enum class|enum) ([A-Za-z0-9]+).*/\2/' | sort | uniq -d)
[[ -z $twice ]] || {
  sed 's/$/: a type in more than one header/' <<<"$twice"
  wrong=1
}
circles=$(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+\.h"' \
  sim models netmodels schedulers calibration --include='*.cpp' --include='*.h' |
  sed -E 's/\.(h|cpp):.*"([^"]+)\.h"/ \2/' | LC_ALL=C tsort 2>&1 >/dev/null || true)
[[ -z $circles ]] || {
  sed 's/^tsort: //; s/^-: input contains a loop:$/these units include each other in a circle:/' \
    <<<"$circles"
  wrong=1
}
exit "$wrong"
