#!/usr/bin/env bash
# The Debian package in a bare Debian 12: quickstart, plot, manual pages, and the Python module where
# the build has one. package_test.sh BUILD, as root. Exits 77 without debootstrap or a mirror.
set -euo pipefail
# shellcheck source=tests/bare_root.sh
source "$(dirname "${BASH_SOURCE[0]}")/bare_root.sh"
build=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
bare_root "$root" || exit
cpack --config "$build/CPackConfig.cmake" -B "$scratch/package"
cp "$scratch"/package/steptime_*.deb "$root/tmp/steptime.deb"
[[ ! -e $build/python ]] || touch "$root/tmp/python"
in_root "$root" "$(cat <<'TRY'
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends /tmp/steptime.deb gnuplot-nox man-db \
  $([ -e /tmp/python ] && echo python3)
cd /tmp
steptime sweep /usr/share/steptime/configs/quickstart.json -o results
steptime plot results/quickstart.jsonl -o figure.svg
grep -q '<svg' figure.svg
man steptime | grep -q '^STEPTIME(1)'
man steptime run | grep -q '^STEPTIME-RUN(1)'
[ ! -e /tmp/python ] || python3 -c '
import steptime
rows = steptime.sweep("/usr/share/steptime/configs/quickstart.json")
assert all("step_time_s" in row for row in rows), rows'
TRY
)"
