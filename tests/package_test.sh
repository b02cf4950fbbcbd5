#!/usr/bin/env bash
# The Debian package in a bare Debian 12: quickstart, plot, manual pages, and the Python module where
# the build has one. package_test.sh BUILD, as root. Exits 77 without debootstrap or a mirror.
set -euo pipefail
build=$(realpath "$1")
((EUID == 0)) && command -v debootstrap >/dev/null || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
cpack --config "$build/CPackConfig.cmake" -B "$scratch/package"
debootstrap --variant=minbase bookworm "$root" >"$scratch/log" 2>&1 || exit 77
cp "$scratch"/package/steptime_*.deb "$root/tmp/steptime.deb"
[[ -e $build/python ]] && touch "$root/tmp/python"
cat >"$root/tmp/try" <<'TRY'
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
# shellcheck disable=SC2016
unshare --mount bash -c 'mount -t proc proc "$1/proc"; chroot "$1" sh /tmp/try' _ "$root"
