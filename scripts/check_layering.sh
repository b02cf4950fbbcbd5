#!/usr/bin/env bash
# sim/ includes no other folder; models/, netmodels/ and schedulers/ include sim/ and themselves.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wrong=0
for folder in sim models netmodels schedulers; do
  # Every #include "..." whose path starts neither with sim/ nor with the folder itself. Grep finds
  # nothing when all is well.
  found=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$folder" \
    --include='*.cpp' --include='*.h' | grep -vE "include[[:space:]]*\"(sim|$folder)/" || true)
  if [[ -n $found ]]; then
    printf '%s\n' "$found" "$folder/ may include only sim/ and $folder/" | sort -u
    wrong=1
  fi
done
exit "$wrong"
