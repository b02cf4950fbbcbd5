#!/usr/bin/env bash
# Builds every program for another processor with Debian's cross compiler, runs the experiments and
# the published figures under qemu's user emulation, and compares them with this machine's, byte by
# byte. Minsky nodes are ppc64el.
#
# usage: cross.sh ppc64el|arm64 PROGRAM-OF-THIS-MACHINE
# Exits 77 where compiler, emulator or the other processor's packages cannot be had.
set -euo pipefail
reference=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
arch=$1
case $arch in
  ppc64el) target=powerpc64le-linux-gnu emulator=qemu-ppc64le-static ;;
  arm64) target=aarch64-linux-gnu emulator=qemu-aarch64-static ;;
  *)
    echo "unknown $arch; known: ppc64el, arm64" >&2
    exit 2
    ;;
esac
for tool in $target-g++ $emulator mmdebstrap; do
  command -v "$tool" >/dev/null && continue
  echo "skipped: no $tool: apt-get install g++-${target/_/-} qemu-user-static mmdebstrap"
  exit 77
done

# The libraries of the other processor, from Debian's archive; nothing of this system changes.
root=$PWD/build/sysroot-$arch
if [[ ! -e $root/complete ]]; then
  # shellcheck source=scripts/packages.sh
  source scripts/packages.sh
  # Compilers and tools are this machine's.
  packages=$({ packages_of build && packages_of optional; } | tr ' ' '\n' |
    grep -E '^(lib|nlohmann|zlib)' | paste -sd ,)
  rm -rf "$root"
  mmdebstrap --quiet --variant=extract --architectures="$arch" --include="$packages" bookworm "$root" || {
    echo "skipped: the packages of $arch cannot be had"
    exit 77
  }
  # Absolute links are meant inside of it; the emulator would look outside.
  find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfn "$(realpath --canonicalize-missing --relative-to="$(dirname "$link")" \
      "$root$(readlink "$link")")" "$link"
  done
  touch "$root/complete"
fi

build=build/cross-$arch
cmake -S . -B "$build" -G Ninja -D CMAKE_TOOLCHAIN_FILE=cmake/cross.cmake -D STEPTIME_TARGET=$target \
  -D CMAKE_SYSROOT="$root" -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
  -D STEPTIME_TESTS=OFF -D STEPTIME_PCH=ON
# All of them, so that what is not found is a failure here.
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target steptime steptime-mpi steptime-dnnl

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
emulated() { "$emulator" -L "$root" "$build/$1" "${@:2}"; }
# What the golden tests hold: every point of every experiment; of those that learn, one epoch of one
# seed.
results() {
  local file
  while IFS= read -r file; do
    if grep -q '"convergence"' "$file"; then
      "$@" run "$file" --format json --set /run/convergence/seeds=1 --set /run/convergence/epochs=1 2>/dev/null
    else
      "$@" sweep "$file" --format jsonl --jobs 1
    fi
  done < <(find configs -name '*.json' | sort)
  "$@" reproduce --format json
}
results "$reference" >"$scratch/here" &
here=$!
results emulated steptime >"$scratch/there"
wait $here
cmp "$scratch/here" "$scratch/there"
echo "$arch: $(wc -l <"$scratch/there") lines of results, the same bytes as here"
# Calibration and replay begin, and know their options.
for program in 'steptime-mpi calibrate' 'steptime-mpi replay' 'steptime-dnnl'; do
  # shellcheck disable=SC2086
  emulated $program --help >"$scratch/help" || {
    echo "$program does not begin on $arch"
    exit 1
  }
done
