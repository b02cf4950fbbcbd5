#!/usr/bin/env bash
# models/torch/layer_table.py writes again the layer tables that came from it, and the same work for
# ResNet-50, whose table was written by hand. Exits 77 without PyTorch's torchvision.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3  # Debian's, which has Debian's packages
"$python" -c 'import torchvision' 2>/dev/null || {
  echo "skipped: no torchvision: apt-get install python3-torchvision"
  exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for pair in resnet50:resnet50 densenet121:densenet121 efficientnet_b0:efficientnet-b0 vit_b_16:vit-b-16; do
  name=${pair#*:}
  "$python" models/torch/layer_table.py "torchvision.models:${pair%:*}" --name "torch/$name" -o "$scratch/$name.json"
  "$python" - "models/torch/$name.json" "$scratch/$name.json" <<'PY'
import json
import sys

kept, written = (json.load(open(path)) for path in sys.argv[1:])
keys = ("kind", "macs", "input", "output")
for a, b in zip(kept["layers"], written["layers"], strict=True):
    # Names and tensors too, but for the table that was written by hand.
    left, right = ([l.get(k) for k in keys] for l in (a, b))
    if left != right or ("layer_table.py" in kept["provenance"]["note"] and a != b):
        sys.exit(f"{sys.argv[1]}: {a} became {b}")
PY
done
