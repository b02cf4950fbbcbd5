#!/usr/bin/env bash
# The package by pip, without a network: a wheel, installed where there is no checkout, runs the
# quickstart from its own data. Exits 77 where pip, wheel or pybind11 is not installed.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import setuptools, wheel, pip, venv' 2>/dev/null && [[ -d /usr/include/pybind11 ]] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv --system-site-packages "$scratch/builder"
"$scratch/builder/bin/pip" wheel --no-index --no-deps --no-build-isolation -w "$scratch" "$root"
"$python" -m venv "$scratch/user"
"$scratch/user/bin/pip" install --no-index "$scratch"/steptime-*.whl
cd "$scratch"
"$scratch/user/bin/python" - <<'CODE'
import pathlib, steptime

data = pathlib.Path(steptime.__file__).parent / "share/steptime"
rows = steptime.sweep(data / "configs/quickstart.json")
assert rows and all("step_time_s" in row for row in rows), rows
assert steptime.collective_time("dgx-a100", 8, "all-reduce", 2**20) > 0
CODE
