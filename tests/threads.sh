#!/usr/bin/env bash
# Data races: all tests under ThreadSanitizer, which sees what threads tell each other only where it
# was compiled in. So oneTBB, which hands out the points of sweeps, is built for it, too, from the
# source of Debian's package; else every point would be a false alarm.
#
# usage: threads.sh
# Exits 77 where that source cannot be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${JOBS:-$(nproc)}

tbb=$PWD/build/tsan-tbb
if [[ ! -e $tbb/complete ]]; then
  rm -rf "$tbb"
  mkdir -p "$tbb/source"
  /usr/lib/apt/apt-helper download-file \
    http://deb.debian.org/debian/pool/main/o/onetbb/onetbb_2021.8.0.orig.tar.xz "$tbb/source.tar.xz" \
    SHA256:7e9111b8bb59c8800bf6d0b06afe7b0891937443d2dae1ee1101c8e2ede6a7ef || {
    echo "skipped: the source of oneTBB 2021.8.0 cannot be had"
    exit 77
  }
  tar -xJf "$tbb/source.tar.xz" -C "$tbb/source" --strip-components=1
  cmake -S "$tbb/source" -B "$tbb/build" -G Ninja -D CMAKE_CXX_COMPILER=clang++-14 \
    -D CMAKE_C_COMPILER=clang-14 -D CMAKE_BUILD_TYPE=RelWithDebInfo -D TBB_TEST=OFF \
    -D TBB_STRICT=OFF -D TBBMALLOC_BUILD=OFF -D CMAKE_CXX_FLAGS=-fsanitize=thread \
    -D TBB_OUTPUT_DIR_BASE=lib
  cmake --build "$tbb/build" --parallel "$jobs" --target tbb
  touch "$tbb/complete"
fi

cmake --preset tsan -D STEPTIME_TESTS=ON -D STEPTIME_UNITY=ALL
cmake --build --preset tsan --parallel "$jobs"
export LD_LIBRARY_PATH=$tbb/build/lib_relwithdebinfo TSAN_OPTIONS=ignore_noninstrumented_modules=1
ctest --preset tsan --parallel "$jobs"
