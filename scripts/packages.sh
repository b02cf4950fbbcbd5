# shellcheck shell=bash
# The Debian 12 packages that each purpose needs, and how to get those that are missing.
# Sourced by run.sh and test.sh.

packages_of() {
  case $1 in
    build)
      echo cmake g++ ninja-build libboost-dev libboost-program-options-dev libeigen3-dev libfmt-dev \
        libprotozero-dev librandom123-dev libspdlog-dev libtbb-dev nlohmann-json3-dev zlib1g-dev
      ;;
    plot) echo gnuplot-nox ;;
    # python3: the tests of documents.
    test) echo libgtest-dev librapidcheck-dev libvalijson-dev protobuf-compiler python3 ;;
    # libclang-rt-14-dev: the sanitizers and libFuzzer, which clang-14 only recommends.
    # libsimgrid-dev: the oracle of message fidelity.
    check) echo clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev libsimgrid-dev ;;
    # Of programs that are left out without them: MPI for `calibrate mpi` and `replay`,
    # oneDNN for `calibrate compute`.
    optional) echo libopenmpi-dev openmpi-bin libdnnl-dev ;;
    # The Python module, and what its notebook and its tests use.
    python)
      echo python3-dev python3-pip python3-setuptools python3-venv python3-wheel \
        pybind11-dev python3-pandas mypy
      ;;
    # What cpack finds a package's dependencies with, and a bare root to try it in.
    package) echo dpkg-dev file debootstrap ;;
    # What test.sh all runs beside the tests: jobs under Slurm.
    slurm) echo slurmctld slurmd slurm-client munge ;;
    # The charts of a report's page, and a browser that tests it.
    browser) echo libjs-vega chromium ;;
    # And builds for other processors.
    cross) echo g++-powerpc64le-linux-gnu g++-aarch64-linux-gnu mmdebstrap qemu-user-static ;;
    *)
      echo "packages_of: unknown purpose $1" >&2
      return 70
      ;;
  esac
}

# want_packages PURPOSE...: the same, but goes on without what cannot be installed.
want_packages() { (need_packages "$@") || echo "going on without" >&2; }

# need_packages PURPOSE...: installs what is missing, and says so; does not touch apt when nothing
# is. Exits 2 when it may not install.
need_packages() {
  local purpose package log
  local -a missing=() as_root=()
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system: taking the packages for granted: $(for purpose; do
      packages_of "$purpose"
    done | paste -sd ' ')" >&2
    return 0
  fi
  for purpose; do
    for package in $(packages_of "$purpose"); do
      # The format is dpkg-query's, not the shell's.
      # shellcheck disable=SC2016
      [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
        missing+=("$package")
    done
  done
  ((${#missing[@]} == 0)) && return 0

  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "missing packages; as root: apt-get install ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  echo "installing ${missing[*]}" >&2
  log=$(mktemp)
  # Without "env" sudo would drop the variable.
  if ! { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install --yes --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "cannot install; as root: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  rm -f "$log"
}
